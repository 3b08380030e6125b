#!/usr/bin/perl
# Does tests/tools/patches find patches, put them in and make them anew, compile them when it must and only then, and
# say in a line what is wrong? In a small tree of its own.
use strict;
use warnings;
use Cwd 'getcwd';
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;

my $top = getcwd();
my $tree = tempdir(CLEANUP => 1);
chdir $tree or die;
delete @ENV{ grep { /^PATCH_/ } keys %ENV };
make_path(qw(common/device 01_one/bugs 01_one/exercises beyond/90_two/bugs beyond/90_two/experiments book tests));
symlink "$top/tests/tools", 'tests/tools' or die;

# said(COMMAND): what the tool says on both streams. ends(STATUS, COMMAND, PATTERN, NAME): how it ends, and with which
# words.
sub said { my ($command) = @_; return scalar `exec 2>&1; tests/tools/patches $command` }
sub ends {
    my ($status, $command, $pattern, $name) = @_;
    my $said = said($command);
    is($? >> 8, $status, $name);
    like($said, $pattern, "$name: said");
}
sub store { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!\n"; print $out $text; close $out }
sub contents { my ($path) = @_; open my $in, '<', $path or return ''; local $/; return scalar <$in> }

my @lines = map { "line $_\n" } 1 .. 20;
store('01_one/01_one.cu', join '', @lines);
store('beyond/90_two/90_two.cu', "the kernel\n");
store('beyond/90_two/choice.h', "one\ntwo\nthree\n");
store('01_one/bugs/run', "--m 1\n"); # for those that name no options
store('01_one/bugs/first.patch', <<'TEXT');
# verdict: RACE_RAW
# lesson: a lesson
# names: one
# names: two
@@ -4,3 +4,3 @@
 line 4
-line 5
+line five
 line 6
@@ -14,3 +14,2 @@
 line 14
-line 15
 line 16
TEXT
my $choice = <<'TEXT';
--- a/beyond/90_two/choice.h
+++ b/beyond/90_two/choice.h
@@ -1,3 +1,3 @@
 one
-two
+2
 three
TEXT
store('beyond/90_two/bugs/choice.patch', "# verdict: DEADLOCK\n# run:\n# h200: hang, 2026-01-01\n# lesson: another\n$choice");
store('beyond/90_two/experiments/choice.patch', "# about: a\n$choice");

# ---- which patches there are

ends(0, 'help', qr/\Apatches COMMAND/, 'help');
is(said('list'), "bugs\t01_first\t01_one/bugs/first.patch\t01_one\n"
    . "bugs\t90_choice\tbeyond/90_two/bugs/choice.patch\tbeyond/90_two\n"
    . "experiments\t90_choice\tbeyond/90_two/experiments/choice.patch\tbeyond/90_two\n", 'list, beyond too');
for ([ 'bugs', 2 ], [ 'bugs/90', 1 ], [ '90_choice', 2 ], [ 'bugs/90_choice', 1 ], [ '01_one/bugs/first.patch', 1 ]) {
    is(scalar(split /\n/, said("list $_->[0]")), $_->[1], "list $_->[0]");
}
ends(2, 'list 01_fir', qr/\A01_fir: there is no such patch\n\z/, 'a part of an id');
is(said('show 01_first names'), "one\ntwo\n", 'show of a key with two values');
is(said('show 01_first'), contents('01_one/bugs/first.patch') =~ s/^(?=@@)/--- a\/01_one\/01_one.cu\n+++ b\/01_one\/01_one.cu\n/mr, 'show: a whole diff');
is(said('show 01_first h100'), "not run yet\n", 'show of a record that there is not');
ends(2, 'show 90_choice', qr/\A90_choice: that is bugs.90_choice and experiments.90_choice\n\z/, 'an id in two kinds');
ends(2, 'show 01_one/first.patch', qr/\A01_one.first.patch: the path of a patch is .*\n\z/, 'a path of another form');
ends(3, 'build 01_first', qr/\Athe compilers are not known here.*make patches.*\n\z/, 'without what make hands over');
is(said('break 90'), sprintf("%-42s %s\n", 'choice', 'another'), "break lists beyond's bugs");
ends(2, 'break 90 nothing', qr/\ABUG=nothing: chapter 90 has no such bug; it has: choice\n\z/, 'break of a bug that is not there');
ends(2, 'map 07 choice', qr/\Athere is no chapter 07\n\z/, 'a chapter that is not there');

store('01_one/lab.patch', "# verdict: WRONG\n" . contents('01_one/bugs/first.patch') =~ s/^#.*\n//mgr =~ s/^\+line five/+\/* GAP 1: 5 *\//mr);
is(said('list 01_lab'), "labs\t01_lab\t01_one/lab.patch\t01_one\n", 'a lab');
ends(0, 'refresh labs', qr/\A1 patches were made anew\n\z/, 'a lab made anew');
like(contents('01_one/lab.patch'), qr/\A#.*\n@@ -5 \+5 @@\n-line 5\n\+.*\n@@ -15 \+14,0 @@\n-line 15\n\z/, '... without context, as its gaps are clear');
unlink '01_one/lab.patch';

# ---- put in

ends(0, 'apply 01_first copy', qr/\A\z/, 'apply');
is(contents('copy/01_one/01_one.cu'), join('', @lines[ 0 .. 3 ], "line five\n", @lines[ 5 .. 13, 15 .. 19 ]), 'both hunks are in the copy');
ends(0, 'apply bugs/90_choice copy', qr/\A\z/, 'apply to another file of the chapter than its .cu');
is(contents('copy/beyond/90_two/choice.h'), "one\n2\nthree\n", 'and that is in the copy');
store('01_one/bugs/two.patch', "# verdict: X\n@@ -4,0 +5 @@\n+new\n");
ends(1, 'apply 01_two .', qr/hunk at line 4 stand in no place of 01_one.01_one.cu\n\z/, 'a hunk that names no line');
store('01_one/bugs/two.patch', "# verdict: X\n" . contents('01_one/bugs/first.patch') =~ s/^#.*\n//mgr =~ s/^-line 15/-line 15 or so/mr);
ends(1, 'apply 01_two .', qr/hunk at line 14 stand in no place of 01_one.01_one.cu\n\z/, 'a hunk that does not apply');
is(contents('01_one/01_one.cu'), join('', @lines), 'nothing of that patch is in the file');
unlink '01_one/bugs/two.patch';


# ---- on another patch

my $on = "# on: experiments/choice\n" . $choice =~ s/^-two$/-2/mr =~ s/^\+2$/+II/mr;
store('beyond/90_two/bugs/on.patch', $on);
ends(0, 'apply 90_on copy', qr/\A\z/, 'apply on another patch');
is(contents('copy/beyond/90_two/choice.h'), "one\nII\nthree\n", 'both are in the copy');
ends(0, 'refresh 90_on', qr/\A0 patches were made anew\n\z/, 'refresh: what the other one changes is not in it');
store('beyond/90_two/bugs/on.patch', $on =~ s/^# on.*\n//mr);
ends(1, 'apply 90_on copy', qr/hunk at line 1 stand in no place/, 'without that line it does not apply');
unlink 'beyond/90_two/bugs/on.patch';

# ---- made anew

ends(0, 'refresh', qr/\A0 patches were made anew\n\z/, 'refresh where nothing has moved');
my $patch = contents('01_one/bugs/first.patch');
store('01_one/01_one.cu', join '', @lines, @lines[ 3 .. 5 ]);
store('01_one/bugs/first.patch', $patch =~ s/-4,3 \+4,3/-3,5 +3,5/r =~ s/^( line 4)/ line 3\n$1/mr =~ s/^ line 6\n/$& line 7\n/mr);
ends(0, 'refresh', qr/\A0 patches were made anew\n\z/, 'refresh: only the hunk that needs it has more context');
store('01_one/bugs/first.patch', $patch);
store('01_one/01_one.cu', join '', "new\n", "new\n", @lines);
ends(0, 'refresh', qr/\A1 patches were made anew\n\z/, 'refresh where lines have moved');
is(contents('01_one/bugs/first.patch'), $patch =~ s/^@@ -4,3 \+4,3/@@ -6,3 +6,3/mr =~ s/-14,3 \+14,2/-16,3 +16,2/r, 'the numbers have moved, and no more');
store('01_one/01_one.cu', join '', @lines, @lines[ 0 .. 5 ], "another\n");
ends(1, 'refresh', qr/hunk at line 6 stand in 2 places.*1 do not apply\n\z/s, 'a place that is not clear any more');
is(contents('01_one/bugs/first.patch') =~ /-(\d+)/ && $1, 6, 'that patch is left alone');
# ---- carried over from another commit

store('01_one/01_one.cu', join '', @lines);
store('01_one/bugs/first.patch', $patch);
system('git init -q . && git add -A 01_one && git -c user.name=a -c user.email=b commit -q -m first');
store('01_one/01_one.cu', join('', @lines) =~ s/^line 4$/line four/mr =~ s/^line 17$/line seventeen/mr);
ends(1, 'refresh 01_first', qr/hunk at line 4 stand in no place/, 'a line beside it has changed');
ends(0, 'refresh --from HEAD bugs/01', qr/\A1 patches were made anew\n/, 'with --from it is carried over');
like(contents('01_one/bugs/first.patch'), qr/^# names: two\n@@.*\n line four\n-line 5\n\+line five\n line 6\n/m, 'with the new context');
system('git checkout -q 01_one/bugs');
store('01_one/01_one.cu', join('', @lines) =~ s/^line 5$/line 5, and more/mr);
ends(1, 'refresh --from HEAD 01_first', qr/first.patch: what it changes in 01_one.01_one.cu has changed since HEAD\n/, 'what it changes has changed');
is(contents('01_one/bugs/first.patch'), $patch, 'it is left alone');
store('01_one/01_one.cu', join '', @lines);

# ---- compiled for a GPU when it must be

store('nvcc', <<'TEXT');
#!/bin/sh
[ "$1" != --version ] || { echo 'Cuda compilation tools, release 9.9, V9.9.1' && exit; }
echo run >>"$TREE/runs"
cat "$TREE/report"
for word; do
    case $before in
    -c) source=${word##*/} ;;
    -o) object=$word ;;
    --keep-dir) kept=$word ;;
    esac
    before=$word
done
case $PWD in */90_choice) code=other ;; *) code=same ;; esac
grep -q error "$TREE/report" || { : >"$object" && cp "$TREE/cubin_$code" "$kept/${source%.cu}.cubin"; }
TEXT
chmod 0755, 'nvcc';
# cubin(NAME, CODE): an ELF file with that code.
sub cubin {
    open my $as, '|-', "as -o $_[0] -" or die;
    print $as ".section .text.kernel,\"ax\"\n.ascii \"$_[1]\"\n";
    close $as or die;
}
my $report = "ptxas info : Compiling entry function 'k' for 'sm_90a'\nptxas info : Function properties for k\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
store('report', $report);
cubin('cubin_same', 'same');
cubin('cubin_other', 'other');
store('common/gemm.h', '');
@ENV{qw(TREE PATCH_NVCC PATCH_NO_NVCC PATCH_B)} = ($tree, "$tree/nvcc", '', 'build/release');
sub compiles {
    my ($times, $name) = @_;
    unlink 'runs';
    ends(0, 'object bugs/01_first experiments/90_choice', qr/^01_first\tok\t?$/m, $name);
    is(scalar(() = contents('runs') =~ /run/g), $times, "$name: $times are compiled, with the bug's chapter");
}
compiles(3, 'at first');
ok(-e 'build/bugs/01_first/gpu_bug_01_first.o' && -e 'build/experiments/90_choice/gpu_experiment_90_choice.o', 'the objects are there');
compiles(0, 'again');
store('01_one/bugs/first.patch', $patch =~ s/line five/line 5.0/r);
compiles(1, 'a changed patch');
store('01_one/01_one.cu', join '', @lines, "more\n");
compiles(2, 'a changed chapter');
utime time + 10, time + 10, 'common/gemm.h';
compiles(3, 'a changed header');
$ENV{PATCH_NVCC} .= ' -DOTHER';
compiles(3, 'another command');
store('report', $report . "error: no\n");
$ENV{PATCH_NVCC} .= ' -DMORE';
ends(1, 'object experiments', qr/^90_choice\terror: no\t/m, 'an experiment that does not compile');
ends(0, 'object bugs/01', qr/^01_first\tok\tdoes not compile: error: no/m, 'a bug may');
# table(): gpu-table, x and y for the fingerprints of source and machine code.
sub table { return said('gpu-table 2>/dev/null') =~ s/, [0-9a-f]{12}(\/[0-9a-f]{12})?"/', x' . ($1 ? '\/y"' : '"')/ger }
is(table(), "EACH_MISSING(\"01_first\", \"--m 1\", \"does not compile: error: no\", \"nvcc 9.9.1, x\")\n"
    . "EACH_MISSING(\"90_choice\", \"\", \"does not compile: error: no\", \"nvcc 9.9.1, x\")\n", 'the table says so');
store('report', $report =~ s/0 bytes spill stores/8 bytes spill stores/r . "ptxas info : (C7510) Potential Performance Loss\n");
$ENV{PATCH_NVCC} .= ' -DSPILLS';
ends(1, 'object experiments', qr/8 bytes of spill stores.*C7510/, 'an experiment that spills');
ok(!-e 'build/experiments/90_choice/gpu_experiment_90_choice.o', 'it has no object');
is(table(), "EACH_BUG(gpu_bug_01_first, \"01_first\", \"--m 1\", \"C7510 spills same machine code\", \"nvcc 9.9.1, x/y\")\n"
    . "EACH_BUG(gpu_bug_90_choice, \"90_choice\", \"\", \"C7510 spills\", \"nvcc 9.9.1, x/y\")\n",
    'a bug may; one is the same machine code as its chapter');
store('beyond/90_two/experiments/choice.patch', "# about: a\n# ptxas: it spills\n$choice");
$ENV{PATCH_NVCC} .= ' -DMEANT';
ends(0, 'object experiments', qr/^90_choice\tok\tC7510 spills/m, 'an experiment that spills, as it says');
store('report', $report);
$ENV{PATCH_NO_NVCC} = 'nvcc was not found';
ends(1, 'object bugs/01', qr/^01_first\t01_first: nvcc was not found$/m, 'without nvcc');

# ---- what a GPU did

# of(CALL): what a function of the tool returns. fingerprint(ID, COMPILER): of a bug's source. stale(): what is wrong
# with the records of the bug 01_first.
sub of { return scalar `exec 2>&1; perl -e 'require qq{./tests/tools/patches}; print Patches::$_[0]'` }
sub fingerprint { return of("fingerprint(Patches::chosen(qq{bugs/$_[0]}), qq{$_[1]})") }
sub stale { return of('stale(Patches::chosen(qq{bugs/01_first}))') }
my %source = map { $_->[0] => 'nvcc 1.2.3, ' . fingerprint($_->[1], 'nvcc 1.2.3') } [ first => '01_first' ], [ choice => '90_choice' ];

store('results', <<"TEXT");
# date 2026-02-03, 100 launches a size
# device NVIDIA H200, 132 SMs
01_first\t128x256x640: wrong in 3 of 100 (0.5 of C)\t1024x1024x1024: right in 100 of 100\t3000x5000x1000: right in 100 of 100\tsource: $source{first}
90_choice\t1x1x1: hang\t1024x1024x1024: hang\t3000x5000x1000: not run\tsource: $source{choice}
02_none\t1x1x1: hang\tsource: nvcc 1.2.3, 0123456789ab
TEXT
ends(0, 'record results', qr/there is no bug 02_none\n2 patches changed\n\z/, 'record');
is(said('show 01_first h200'), "wrong in 3 of 300 runs, all at 128x256x640, 2026-02-03, $source{first}\n", 'a race that shows at one size');
is(said('show bugs/90_choice h200'), "hang, 2026-02-03, $source{choice}\n", 'a hang');
store('results', "# date 2026-02-04, x\n# device NVIDIA H100 80GB HBM3\n01_first\t1x1x1: trap: a kernel failed (cudaErrorLaunchFailure)\t"
    . "2x2x2: right in 100 of 100\t3x3x3: wrong in 7 of 100\tsource: $source{first}\n"
    . "90_choice\t1x1x1: right in 100 of 100\tnotes: C7514 spills C7517 same machine code\tsource: $source{choice}\n");
ends(0, 'record results', qr/\A2 patches changed\n\z/, 'record again');
is(said('show 01_first h100'), "wrong in 7 of 200 runs, all at 3x3x3; trap (cudaErrorLaunchFailure) at 1x1x1, 2026-02-04, $source{first}\n", 'a trap and a race');
is(said('show bugs/90_choice h100'),
    "right in 100 runs; repaired by ptxas (C7514, C7517); the same machine code as without it, 2026-02-04, $source{choice}\n", 'what ptxas repairs');
store('results', "# date 2026-02-04, x\n# device NVIDIA A100\n01_first\t1x1x1: hang\tsource: $source{first}\n");
ends(1, 'record results', qr/^results: bugs are recorded on: h200 h100$/m, 'another GPU');
store('results', "# date 2026-02-04, x\n# device NVIDIA H100\n01_first\t1x1x1: hang\n");
ends(1, 'record results', qr/^results: 01_first: it does not say of which source$/m, 'a line without its source');

my $both = contents('01_one/bugs/first.patch') =~ s/^# h100: .*\n//mr;
store('01_one/bugs/first.patch', $both =~ s/^# h200:/# h200, h100:/mr);
is(said('show 01_first h100'), said('show 01_first h200'), 'one line for both cards');
store('results', "# date 2026-02-05, x\n# device NVIDIA H100\n01_first\t1x1x1: hang\tsource: $source{first}\n");
said('record results');
like(contents('01_one/bugs/first.patch'), qr/^# h200: wrong.*\n# h100: hang, 2026-02-05/m, '... until they did otherwise');
is(stale(), '', 'a record of the source as it is');
my $source = contents('01_one/01_one.cu');
store('01_one/01_one.cu', "/* a new comment */ line   0\n$source");
isnt(stale(), '', 'a line more: stale');
store('01_one/01_one.cu', "/* a new comment */\n" . $source =~ s/ 2\n/   2 \/\/ two\n/r);
is(stale(), '', 'other comments and blanks: as it was');
store('01_one/01_one.cu', "static_assert(f(1) == (2), \"a ) and ;\");\n$source");
is(stale(), '', 'an assertion more: as it was');
store('01_one/01_one.cu', $source);
my $first = contents('01_one/bugs/first.patch');
store('01_one/bugs/first.patch', $first =~ s/^\+line .*/+line six/mr);
like(stale(), qr/^`# h200:` was recorded with another source/, 'another bug: stale');
store('01_one/bugs/first.patch', $first =~ s/nvcc 1\.2\.3/nvcc 1.2.4/r);
like(stale(), qr/^`# h200:` was recorded with another source/, 'another compiler: stale');
store('01_one/bugs/first.patch', $first);

$ENV{PATCH_NO_NVCC} = '';
ends(1, 'same', qr/^01_first\t`# h200:` was recorded with nvcc 1\.2\.3, this is nvcc 9\.9\.1$/m, 'same, with another compiler');
store('01_one/bugs/first.patch', $first =~ s/nvcc 1\.2\.3, \w+/nvcc 9.9.1, @{[ fingerprint('01_first', 'nvcc 9.9.1') ]}/gr);
ends(0, 'same 01_first', qr/^01_first\tok$/m, 'same, for a record without a fingerprint of the machine code');
my $record = said('show 01_first h200');
like($record, qr{nvcc 9\.9\.1, [0-9a-f]{12}/[0-9a-f]{12}$}, 'it has one then');
store('01_one/01_one.cu', "more\n$source");
is(said('list stale'), "bugs\t01_first\t01_one/bugs/first.patch\t01_one\n", 'the chapter is another: stale');
isnt(stale(), '', 'and its record is not accepted');
ends(0, 'earlier 0123abcd', qr/^1 patches name the commit of their records$/m, 'unless it names the commit of its source');
like(said('show 01_first h200'), qr{/[0-9a-f]{12}, of 0123abcd$}, 'which it does then');
is(stale(), '', 'then it is accepted');
is(said('list stale'), "bugs\t01_first\t01_one/bugs/first.patch\t01_one\n", 'and still waits for a card');
ends(2, 'earlier today', qr/^earlier: COMMIT is 8 hexadecimal digits, not 'today'$/m, 'what is no commit');
ends(0, 'same stale', qr/^01_first\tok$/m, 'same, where the machine code is');
is(said('list stale'), '', 'then it is not');
is(said('show 01_first h200') =~ s{, [0-9a-f]+(?=/)}{}r, $record =~ s{, [0-9a-f]+(?=/)}{}r, 'and the rest of the record as it was');
store('01_one/01_one.cu', $source);
cubin('cubin_same', 'some');
ends(1, 'same', qr/^01_first\t`# h200:`: it is other machine code$/m, 'same, where the machine code is another');
is(said('list stale'), "bugs\t01_first\t01_one/bugs/first.patch\t01_one\n", 'then it stays stale');
ends(0, 'earlier 0123abcd', qr/^1 patches/m, '... until it names the commit of its source');
ends(0, 'same 01_first', qr/^01_first\tok$/m, 'same, where a record already does');
like(said('show 01_first h200'), qr{, of 0123abcd$}, 'such a record stays');
store('01_one/bugs/first.patch', $first);

# ---- what the texts tell; how, the pages of the tree show, which bugs.t compares

store('book/bugs.md', "# Bugs\n<!-- bugs -->\n<!-- end of bugs -->\nend\n");
store('book/troubleshooting.md', "# Trouble\n<!-- symptoms -->\nold\n<!-- end of symptoms -->\n");
ends(1, 'tables --check', qr/\Abook.bugs.md: .*\nbook.troubleshooting.md: .*\n\z/, 'tables that are not up to date are named');
ends(0, 'tables --write', qr/\Awrote book.bugs.md\nwrote book.troubleshooting.md\n\z/, 'and written');
ends(0, 'tables --check', qr/\A\z/, 'then they are');

# ---- what an exercise asks

store("01_one/exercises/$_.patch", "# run: --m 1\n" . $patch =~ s/^#.*\n//mgr) for 'change', 'other';
store('01_one/README.md', "# One\n\n## Exercises\n\n**1. other.** More?\n*Hint:* no\n\n[Solution](exercises/other.patch)\n"
    . "\n<details><summary>What changes</summary>\n\nthis\n\n</details>\n\n**2. change.** What\nfor? *Hint:*\nso\n\n[Solution](exercises/change.patch)\n"
    . "\n<details><summary>What changes</summary>\n\nthe one\nthing\n\n</details>\n\n## Further reading\n");
is(join('|', map { said("show exercises/01_change $_") } qw(order question hint effect)), "2\n|What for?\n|so\n|the one thing\n", 'stands in the README');
like(said('solve 01'), qr/^1. other\n   More\?.*^2. change\n   What for\?.*Hint: so.*make solve-01 EX=change/ms, 'and exercise-NN tells it, in that order');
done_testing();
