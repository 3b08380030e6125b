#!/usr/bin/perl
# Does the judge of learners' code give full marks to what is right, whatever it looks like, and not to what a learner
# may well have before that: the chapter before, a bug, code that does not compile or never ends? Does it say so in
# words that help? Of every second chapter, others at each commit (TURN); all of them, and all sizes: TIER=long. Bugs,
# and labs with a gap left open or filled wrongly: tests/grade/bugs.
use strict;
use warnings;
use File::Temp 'tempdir';
use JSON::PP;
use Test::More;
require './tests/grade/grade';

delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
my $scratch = tempdir(CLEANUP => 1);
# Fewer sizes, and less patience.
Patches::store("$scratch/small", "points builds 10\npoints right 30\npoints rules 30\npoints technique 30\npoints gpu_builds 0\n"
    . "points gpu_right 0\npoints gpu_speed 0\nspeed 0.9\nsize 60-90 60-90 330-400 4\nsize 300 100-130 321 2\npolicies eager lazy\n"
    . "seeds 1\ngpu_timed 8 8 8\ntechnique 384 512 640 4\nseconds 5\ncompile_seconds 60\n");
my $weights = ($ENV{TIER} // '') eq 'long' ? 'tests/grade/weights' : "$scratch/small";

my @chapters = grep { !/01_/ } Patches::chapters();
# is_in_turn(NUMBER): is this chapter looked at?
sub is_in_turn { return ($ENV{TIER} // '') eq 'long' || ($_[0] + ($ENV{TURN} // 0)) % 2 == 0 }
my (@jobs, %asked);

# to_judge(TEST, NUMBER, TEXT, CONFIG, TASK, CHECK): later; CHECK(result) is '' or what is wrong.
sub to_judge {
    my ($test, $number, $text, $config, $task, $check) = @_;
    my $id = 'job' . @jobs;
    Patches::store("$scratch/$id.cu", $text);
    push @jobs, { id => $id, test => $test, number => $number, config => $config, task => $task, check => $check };
}
sub full { return $_[0]{full} ? '' : "$_[0]{points} of $_[0]{of}: " . all_of($_[0]) }
sub less { return $_[0]{full} ? 'full marks' : '' }
sub all_of { return join '; ', map { $_ // () } map({ $_->{note} } @{ $_[0]{parts} }), $_[0]{wrong} }
sub told { my ($text) = @_; return sub { index(all_of($_[0]), $text) >= 0 ? less($_[0]) : all_of($_[0]) } }

# What a criterion names, the model counts, or counts() does.
my %counted = map { lc $_ => 1 } qw(m n k sms), Patches::contents('common/model/model_count.h') =~ /COUNT\((\w+), "/g,
    Patches::contents('tests/grade/Judge.pm') =~ /return \{ %count, (.*?) \}/s ? $1 =~ /(\w+) =>/g : ();
for (grep { /^\d/ } split /\n/, Patches::contents('tests/grade/criteria')) {
    my (undef, $what, $condition) = split / \| /;
    is(join(' ', grep { !$counted{$_} } $condition =~ /([a-z]\w*)/g), '', "what is counted for: $what");
}

my ($before, $before_id);
sub kind_of { return $_[0] =~ /\.kind = (\w+)/ ? $1 : '' }
for my $chapter (@chapters) {
    my ($id, $number) = $chapter =~ m{((\d\d)_[^/]*)$};
    my $text = Patches::contents("$chapter/$id.cu");
    to_judge("$id: its source has full marks", $number, $text, $weights, {}, \&full) if is_in_turn($number);
    if (is_in_turn($number) && defined $before && kind_of($before) eq kind_of($text) && !grep { /choice/ } $text =~ /#include "(\w+)/g) {
        (my $posing = $before) =~ s/CHAPTER\($before_id,/CHAPTER($id,/;
        to_judge("$id: the chapter before in its place lacks the technique", $number, $posing, "$scratch/small", {}, sub {
            my @lacking = grep { $_->{points} < $_->{of} } @{ $_[0]{parts} };
            my @why = map { $_->{note} } @lacking;
            return @lacking && !grep({ $_->{key} ne 'technique' } @lacking) && !grep({ /[{}]|^this is checked only/ || !/ / } @why) ? '' : all_of($_[0]);
        });
    }
    ($before, $before_id) = ($text, $id);
}
# Other right answers; an exercise, a rule that is to be reported, a bug that is to be mended.
sub text_of { return (Patches::changed((Patches::chosen($_[0]))[0], \&Patches::contents))[0][2] }
my ($five, $seven) = map { Patches::contents("$_/$_.cu") } qw(05_tma_mbarrier 07_warp_specialized);
my ($raced, $unfenced) = map { text_of("bugs/07_$_") } qw(released_before_wgmma_wait no_wgmma_fence);
sub small { my ($test, $number, $text, $task, $check) = @_; to_judge($test, $number, $text, "$scratch/small", $task, $check) }
small("another right answer: $_", substr($_, 0, 2), text_of("exercises/$_"), {}, \&full)
    for qw(02_padding_instead_of_swizzle 06_a_from_registers 07_three_consumers);
small('EX: the solution has full marks', '05', text_of('exercises/05_empty_barriers'), { ex => 'empty_barriers' }, \&full);
small('EX: the chapter has not, and is told so without the pattern', '05', $five, { ex => 'empty_barriers' }, sub {
    return all_of($_[0]) =~ /it is still printed: see below/ && all_of($_[0]) !~ /\+[\d\[]|\$/ ? less($_[0]) : all_of($_[0]);
});
small('RULE: a bug that breaks it has full marks', '07', $raced, { rule => 'RACE_WAR' }, \&full);
small('RULE: a bug that breaks another one has not', '07', $unfenced, { rule => 'RACE_WAR' }, told('WGMMA_FENCE at'));
small('RULE: the chapter has not', '07', $seven, { rule => 'RACE_WAR' }, \&less);
small('BUG: mended, full marks', '07', $seven, { bug => 'no_wgmma_fence' }, \&full);
small('BUG: as it was, its rule', '07', $unfenced, { bug => 'no_wgmma_fence' }, told('WGMMA_FENCE at'));

# What is no full marks, in words; and a gap that is open although nothing is missing.
small("a learner's mistake: $_->[0]", '07', ($seven =~ $_->[1] ? $seven =~ s/$_->[1]/$_->[2]/r : die "$_->[0]: not in 07"), {}, told($_->[3])) for
    [ 'no compile', qr/(BN = 256)/, '$1;', 'job' ], # the name of the file that was handed in
    [ 'no record', qr/CHAPTER\(07_\w+/, 'CHAPTER(07_mine', 'has no record CHAPTER(07_warp_specialized, ...)' ],
    [ 'launch() crashes', qr/(?=    if \(tensor_map_2d)/, "    *(volatile int *)8 = 1;\n", 'the program crashed: ' ],
    [ 'launch() never ends', qr/(?=    if \(tensor_map_2d)/, "    for (volatile int i = 0; i < 1;) { }\n", 'a launch took more than 5 s' ];
small('a gap left open is told with full marks', '07', $seven =~ s{(?=KERNEL_ENTRY)}{/* GAP 3: fill me. */\n}r, {},
    sub { return full($_[0]) || ("@{ $_[0]{gaps} }" =~ /^GAP 3 \(line \d+\)$/ ? '' : "gaps: @{ $_[0]{gaps} }") });

sub judge {
    my ($job) = @_;
    srand 1;
    my $s = Grade::submission($job->{number}, "$scratch/$job->{id}.cu", "$scratch/build_$job->{id}");
    return $job->{check}->(Grade::judge($s, Grade::config($job->{config}), { no_gpu => 1, %{ $job->{task} } })) || 'ok';
}
my %verdict = Patches::answers(\&judge, @jobs);
is("@{ $verdict{ $_->{id} } // ['nothing'] }", 'ok', $_->{test}) for @jobs;

# ---- a class

for ([ 'ann', $seven ], [ 'bob', $raced ], [ 'eve', $seven =~ s/(consumer_release)\(s->empty/$1s(s->empty/r ]) {
    File::Path::make_path("$scratch/class/$_->[0]");
    Patches::store("$scratch/class/$_->[0]/07_warp_specialized.cu", $_->[1]);
}
my ($said, $status) = Patches::output("tests/grade/grade --no-gpu --seed 7 --config $scratch/small --json $scratch/out.json $scratch/class");
is($status, 1, 'a class in which not all have full marks: exit status 1');
is(join('|', sort split /\n/, $said =~ s/\t07_warp_specialized\t/ /gr =~ s/:\d+:\d+: error: .*(?=\t)/ has an error/r), "An aid for teachers, not an "
    . "examination: it can be deceived, and code of strangers should be graded in a container.|ann ok\t100 of 100|bob RACE_WAR\t40 of 100|"
    . "eve $scratch/class/eve/07_warp_specialized.cu has an error\t0 of 100", 'what it is, and a line for each');
my $json = eval { decode_json(Patches::contents("$scratch/out.json")) } // {};
is_deeply([ map { "$_->{student} $_->{points}" } @{ $json->{results} } ], [ 'ann 100', 'bob 40', 'eve 0' ], 'the same in JSON');
is($json->{seed}, 7, 'with the seed');
is((Patches::output("tests/grade/grade $scratch"))[0], "$scratch: there is no STUDENT/NN_name.cu in it\n", 'nobody has written anything');

# ---- make check-NN

Patches::store("$scratch/mine.cu", $seven =~ s/STAGES = 4/STAGES = 3/r);
($said, $status) = Patches::output("make -s check-07 FILE=$scratch/mine.cu SEED=3 ARGS='--no-gpu --config $scratch/small'");
is($status, 0, 'make check-07 of a right file: exit status 0') or diag($said);
like($said, qr/seed 3 .*C is right: 4 launches, 2 sizes.*few threads start.*together +100 of  100.*full marks/s, 'a table');
Patches::store("$scratch/mine.cu", $raced);
($said, $status) = Patches::output("make -s check-07 FILE=$scratch/mine.cu SEED=3 ARGS='--no-gpu --config $scratch/small'");
isnt($status, 0, 'of a wrong one: not');
like($said, qr/RACE_WAR at.*^model: RACE_WAR.*perhaps .*make break-07 BUG=.*next .*see it again: build\/check\/07\/program/ms,
    'report, hint and what is next');
my ($again) = $said =~ /see it again: (.*)$/m;
like((Patches::output($again || 'false'))[0], qr/^model: RACE_WAR/m, 'which reports it again');
for ([ 'RULE=NO_SUCH', qr/RULE=NO_SUCH: there is no such rule; there are: .*RACE_RAW/ ],
    [ 'BUG=none', qr/BUG=none: chapter 07 has no such bug/ ],
    [ 'FILE=none.cu', qr/none.cu: there is no such file/ ]) {
    like((Patches::output("make -s check-07 FILE=$scratch/mine.cu $_->[0]"))[0], $_->[1], "$_->[0]: said in a line");
}

# ---- a bug of one's own, by path: with a header as the chapters' have, or as git diff writes it

my $fence = Patches::contents('07_warp_specialized/bugs/no_wgmma_fence.patch');
my $heading = "diff --git a/07_warp_specialized/07_warp_specialized.cu b/07_warp_specialized/07_warp_specialized.cu\n"
    . join '', map { "$_/07_warp_specialized/07_warp_specialized.cu\n" } '--- a', '+++ b';
Patches::store("$scratch/mine.patch", $fence);
Patches::store("$scratch/diff", $heading . $fence =~ s/^#.*\n//mgr);
Patches::store("$scratch/mine.cu", $seven);
for my $patch ("$scratch/mine.patch", "$scratch/diff") {
    ($said, $status) = Patches::output("make -s break-07 BUG=$patch");
    ok($status == 0 && $said =~ /first report WGMMA_FENCE/, 'make break of a patch by path') or diag($said);
    ($said, $status) = Patches::output("make -s map-07 BUG=$patch");
    ok($status == 0 && $said =~ /^the model reports WGMMA_FENCE.*^C\[/ms, 'make map') or diag($said);
}
($said, $status) = Patches::output("make -s check-07 FILE=$scratch/mine.cu SEED=3 BUG=$scratch/mine.patch ARGS='--no-gpu --config $scratch/small'");
ok($status == 0 && $said =~ /C is right: 6 launches, 3 sizes/, 'make check, with the launch of that patch') or diag($said);
ok(!-e "$scratch/mine", 'nothing is built beside the patch');
done_testing();
