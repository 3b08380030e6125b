#!/usr/bin/perl
# Does each lab put a file before a learner that compiles, is wrong, and differs from the chapter in its gaps alone? And
# would this test notice if not? tests/grade/bugs shows that it is wrong with every single gap.
use strict;
use warnings;
use Cwd 'getcwd';
use File::Temp 'tempdir';
use lib 'tests/tools';
use Test::More;
use PatchTest;

my $top = getcwd();
my @labs = Patches::all('labs');
is_deeply([ map { $_->{chapter} } @labs ], [ grep { !/^01_/ } Patches::chapters() ],
    'each chapter that has one before it has a lab');

each_is_accepted('judge', 'labs');

# ---- labs that must fail

judged_as('labs/07_lab', @$_) for (
    [ sub { s/^# verdict: .*/# verdict: RACE_WAR/m }, '\d+ runs are not as stated: reported ', 'not accepted: another verdict' ],
    [ sub { s/(GAP 3: .*)\*\//join "\n+ *", "$1", 1 .. 4, "*\/"/e }, 'the comment of gap 3 has more than 5 lines',
        'not accepted: a long comment' ],
    [ sub { s/^(\+ .*GAP 3.*)/join "\n+", $1, ('(void)0;') x 5/me }, 'the stub of gap 3 has more than 4 lines', 'not accepted: a long stub' ],
    [ sub { $_ .= "\@\@ -103,2 +92,2 \@\@\n-KERNEL_ENTRY(gemm_kernel, Params);\n+KERNEL_ENTRY(gemm_kernel,  Params);\n" },
        'line \d+ of the chapter is changed outside of a gap', 'not accepted: a change outside of a gap' ],
    [ sub { s/^\+( *\(void\)&thread)/+ int unused;\n+$1/m }, 'it cannot be built: .*unused', 'not accepted: a warning' ],
);

# ---- with nvcc: no warning there either

SKIP: {
    skip("the labs, compiled for the GPU: $ENV{NO_NVCC}", 1) if $ENV{NO_NVCC};
    each_is_accepted('object', 'labs');
    my ($said) = tool('object ' . edited('labs/07_lab', sub { s/^\+( *\(void\)&thread)/+ int unused = 0;\n+$1/m }));
    like($said, qr/^07_lab\t.*unused/m, 'not accepted: a warning of nvcc');
}

# ---- make lab-NN, in a tree of its own: what a learner has written is nobody else's

my $tree = tempdir(CLEANUP => 1);
symlink "$top/$_", "$tree/$_" or die "$_: $!\n" for grep { !m{^(?:build|my)$} } glob '*';
my $cc = ($ENV{CC} // 'gcc') . ' ' . ($ENV{C_SUBSET} // '-std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror');
sub lab { return said("cd $tree && tests/tools/patches lab $_[0]") }
sub written { return Patches::contents("$tree/my/$_[0].cu") }

# without_run(TEXT): but for the line that says how to run it.
sub without_run { return $_[0] =~ s/^ \* Run .*\n//mr }

for my $p (looked_at('labs')) {
    my ($said, $status) = lab($p->{number});
    is($status, 0, "make lab-$p->{number}");
    like($said, qr{\Amy/$p->{title}\.cu\n.*GAP 1 to GAP \d.*\n.*make check-$p->{number}\n\z}s, 'says what to do');
    my (undef, undef, $start) = @{ (Patches::changed($p, \&Patches::contents))[0] };
    is(without_run(written($p->{title})) =~ s/^#include.*\n//mgr, without_run($start) =~ s/^#include.*\n//mgr, 'writes the starting file');
    like(written($p->{title}), qr{^ \* Run +make check-$p->{number}, at the top \*/$}m, 'which says how to run it');
    ($said, $status) = said("cd $tree && $cc -Wno-psabi -DGEMM_MODEL -fsyntax-only -x c my/$p->{title}.cu");
    is("$status$said", '0', 'which compiles where it is');
}
Patches::store("$tree/my/05_tma_mbarrier.cu", "mine\n");
for my $words ('05', '05 DEADLOCK', '05 "" parity_never_flips') {
    my ($said, $status) = lab($words);
    is($status, 1, "lab $words does not overwrite what is there");
    like($said, qr{\Amy/05_tma_mbarrier.cu is there already.*afresh.*mv my/05_tma_mbarrier.cu .*\n\z}, 'says how to start afresh');
    is(written('05_tma_mbarrier'), "mine\n", 'and it stays');
}
for ([ '07 DEADLOCK no_full_wait', qr/\ARULE=, BUG= or EX=: one of them\n\z/ ],
    [ '07 "" "" no_such_exercise', qr/\AEX=no_such_exercise: .* three_consumers.*\n\z/ ]) {
    my ($words, $pattern) = @$_;
    my ($said, $status) = lab($words);
    is($status, 2, "lab $words: exit status 2");
    like($said, $pattern, 'in a line');
}

# ---- a report to provoke, a bug to mend

unlink glob "$tree/my/*";
my $chapter = Patches::contents('07_warp_specialized/07_warp_specialized.cu');
my ($said, $status) = lab('07 PROXY_FENCE');
is($status, 0, 'RULE=PROXY_FENCE');
like($said, qr/PROXY_FENCE: Ordinary access.*make check-07 RULE=PROXY_FENCE/s, 'says what to provoke');
$chapter = without_run($chapter);
like(without_run(written('07_warp_specialized')), qr{\A/\*[^/]*PROXY_FENCE: Ordinary.*fence[.]proxy[.]async.*On a GPU: .*? \*/\n\n\Q$chapter\E\z}s, 'the chapter, and above it the task');
Patches::rule($_) for Patches::contents('common/model/rules.h') =~ /^RULE\((\w+)/mg; # each rule can be asked for
unlink glob "$tree/my/*";
($said, $status) = lab('07 "" no_full_wait');
is($status, 0, 'BUG=no_full_wait');
like($said, qr/bug.*make check-07 BUG=no_full_wait/s, 'says what to do');
my ($bug) = Patches::chosen('bugs/07_no_full_wait');
my $broken = without_run((Patches::changed($bug, \&Patches::contents))[0][2]);
like(without_run(written('07_warp_specialized')), qr{\A/\* [^/]*no_full_wait[^/]*\*/\n\n\Q$broken\E\z}, 'the broken chapter');
unlink glob "$tree/my/*";
is((lab('01 RACE_WAW'))[1], 0, 'a chapter without a lab can be made to report');
my @elsewhere = grep { my @c = eval { Patches::changed($_, \&Patches::contents) }; @c != 1 || $c[0][0] ne $_->{source} } Patches::all('bugs');
for my $p (@elsewhere) {
    ($said, $status) = lab("$p->{number} '' $p->{name}");
    like("$status:$said", qr/^2:BUG=$p->{name}: it is not in \S+ alone$/m, "$p->{id} changes several files, and is not given out");
}

# ---- an exercise

unlink glob "$tree/my/*";
for my $p (looked_at('exercises')) {
    ($said, $status) = lab("$p->{number} '' '' $p->{name}");
    is($status, 0, "EX=$p->{name}");
    like($said, qr{^my/$p->{title}\.cu.*make check-$p->{number} EX=$p->{name}\n\z}s, 'says what to do');
    my ($task, $text) = written($p->{title}) =~ m{\A(/\*.*? \*/\n)\n(.*)}s;
    is(join(' ', $task =~ /^ \* (?!`make)(\S.*?)$/mg), Patches::value($p, 'question'), 'the question stands at its top');
    is(without_run($text) =~ s/^#include.*\n//mgr, without_run(Patches::contents($p->{source})) =~ s/^#include.*\n//mgr, 'over the chapter');
    for (grep { /\.h$/ } glob "$tree/my/*") { # a header that the solution changes is next to it, and is the one that is included
        my ($header) = m{([^/]+)$};
        like((said("cd $tree && $cc -DGEMM_MODEL -MM -x c my/$p->{title}.cu"))[0], qr{ my/\Q$header\E\b}, "with $header");
    }
    unlink glob "$tree/my/*";
}

# ---- the pages

my %word = map { (qw(no one two three four five six))[$_] => $_ } 0 .. 6;
for my $p (@labs) {
    my ($told) = Patches::contents("$p->{chapter}/README.md") =~ /`make lab-$p->{number}` (?:puts|writes) the chapter with these (\w+) gaps/;
    my $gaps = () = $p->{diff} =~ m{^\+ */\* GAP \d}mg;
    is($word{ $told // 'no' }, $gaps, "the page of $p->{title} tells its lab, and how many gaps it has");
}

# ---- by make, and kept from git

($said, $status) = said('make -s lab-01');
is($status, 2, 'make lab-01 fails');
like($said, qr/^chapter 01 has no lab; these have one: 02 /m, 'since there is none, and says where there is one');
for my $target (qw(run-77 lab-77 chek-07 77)) {
    ($said, $status) = said("make -s $target");
    is($status, 2, "make $target fails");
    like($said, qr/^make $target: there is no such target\. A chapter is one of 01 02 .*, as in make 07, .* one of run .* lab check/m, 'and says what there is');
}
($said, $status) = said('make -s lab-07 RULE=NO_SUCH_RULE BUG=');
like($said, qr/^RULE=NO_SUCH_RULE: there is no such rule; there are: .*\bDEADLOCK\b/m, 'make hands RULE over');
($said, $status) = said('make -s lab-07 BUG=no_such_bug');
like($said, qr/^BUG=no_such_bug: .* no_full_wait/m, 'and BUG');
SKIP: {
    skip('this is no git checkout', 1) if (said('git rev-parse --is-inside-work-tree'))[1];
    is((said('git check-ignore -q my/07_warp_specialized.cu'))[1], 0, 'git does not see what a learner writes');
}
done_testing();
