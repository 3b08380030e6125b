#!/usr/bin/perl
# Can the plans be read? Does the measuring program time what is right, strike out what is wrong, hangs or fails, and
# say so? With a GPU of a few lines of C that has a clock of its own (mock.c): nothing here depends on real time.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;
require './tests/tools/patches';

my $scratch = tempdir(CLEANUP => 1);
delete $ENV{MOCK_NO_CUBLAS};
$ENV{COMMIT} = 'abc';

sub store { Patches::store("$scratch/$_[0]", $_[1]) }
sub slurp { Patches::contents("$scratch/$_[0]") }

# run(OPTION...): what the program says, and its exit status; rows go to all.csv.
my $status;
sub run {
    my ($said, $got) = Patches::output("$scratch/mock/bench @_");
    $status = $got;
    return $said;
}

# ---- the plans of the tree, read by the program with all its chapters, without patches

my %planned = map { $_ => 1 } map { Patches::contents($_) =~ /^[^#|]*\|[^|]*\| *(\d\d_\w+) *\|/mg } glob 'tests/bench/plans/*';
for my $plan (glob 'tests/bench/plans/*') {
    my ($name) = $plan =~ m{([^/]+)$};
    SKIP: {
        skip("plan $name: $ENV{NO_NVCC}", 1) if $ENV{NO_NVCC};
        is((Patches::output("$ENV{B}/tests/bench/bench $name --only none"))[0], qq(bench: --only: "none" is not in the plan\n),
            "plan $name: every row is something that runs, with options that it takes");
    }
    my %seen;
    ok(!(grep { $seen{$_}++ } map { /^([^#|]*\|[^|]*)\|.*\|(.*)/ ? "$1|$2" : () } split /\n/, Patches::contents($plan)),
        "plan $name: no row stands there twice");
}
my %patch = map { $_->{id} => 1 } map { Patches::all($_) } qw(experiments exercises);
is_deeply([ grep { !$patch{$_} } sort keys %planned ], [], 'what plans name as patches are experiments or exercises');
ok(!(grep { my $id = $_->{id}; grep { $_->{id} eq $id } Patches::all('experiments') } Patches::all('exercises')),
    'no exercise has the name of an experiment');

# ---- the program

mkdir "$scratch/mock" or die;
store('mock/chapters.inc', join '', map { "EACH_CHAPTER($_)\n" }
    qw(02_right 03_hangs 04_fails 05_crashes 06_turns_wrong 07_refuses 08_larger 09_plans 12_fp8 13_w4a8));
store('mock/steps.inc', "EACH_STEP(02_1_step)\n");
store('mock/patches.inc', "EACH_PATCH(02_patched)\nEACH_PATCH(02_missing)\n");
my $objects = "$ENV{B}/harness/{backend_model,check,kind*,options,problem,report,timing}.o $ENV{B}/model_core/{*,*/*}.o";
my ($built, $error) = Patches::output("bash -c '$ENV{CC} $ENV{C_SUBSET} $ENV{CFLAGS} -O0 -I$scratch/mock tests/bench/{bench,plan,runner,measure,mock}.c $objects $ENV{LDFLAGS} -lm -o $scratch/mock/bench'");
is($error, 0, 'the program is built with a mock of a GPU') or diag($built);
store('plan', <<'TEXT');
# a remark
first | right | 02 | | 16 8x16x24
first | first element wrong | 02 | --tile-group 3 | 16
first | hangs | 03 | | 16 8x16x24
first | fails | 04 | | 16
first | crashes | 05 | | 16
first | = turns wrong | 06 | | 16
first | missing | 02_missing | | 16
first | refuses | 07 | | 16
first | larger | 08 | | 16
second | alone | wgmma | | -
second | copied | copy | | -
third | zeros | 02_patched | --data zeros | 16
third | step | 02.1 | --data zeros | 16
third | sustained | 02 | --data integers sustained | 16
survey | planned | 09 | planned | 16
survey | by formula | 09 | | 16
TEXT
my $said = run("$scratch/plan --rounds 2 --csv $scratch/all.csv");
is($status, 1, 'rows without a figure: exit status 1');
like($said, qr/^5 groups and shapes; /m, 'all were gone through');
my %why = ('first element wrong' => 'wrong', hangs => 'hang', fails => 'error', crashes => 'error', 'turns wrong' => 'wrong',
    missing => 'not built', refuses => 'refused', larger => 'left out');
my @csv = split /\n/, slurp('all.csv');
# row(LABEL, SHAPE): median, clock and power of each such row.
sub row { my ($label, $shape) = @_; return map { /,\Q$shape,$label\E,([^,]*),.*,(\d*),(\d*),1\.0,13\.0,13\.0\.0$/ ? "$1 $2 $3" : () } @csv }
for my $label (sort keys %why) {
    like($said, qr/without a figure:.*\b\Q$label\E \(first, 16 x 16 x 16: $why{$label}\)/, "struck out: $label: $why{$label}");
    is_deeply([ row($label, '16,16,16') ], [], "$label: no figure in the CSV");
}
is_deeply([ row('right', '16,16,16') ], ['1.6384e-06 1500 '], 'right: 8192 operations in 5 ms, and its clock');
is(scalar(row('right', '8,16,24')), 1, 'right at another shape, where a neighbour hangs');
is_deeply([ row('hangs', '8,16,24') ], [], 'what has hung is not tried again');
like($said, qr/hangs \(first, 8 x 16 x 24: hang\)/, '... and named');
is_deeply([ row('planned', '16,16,16') ], ['4.096e-06 1500 '], 'planned: the fastest of the likeliest');
is_deeply([ row('by formula', '16,16,16') ], ['1.6384e-06 1500 '], 'by the formula: what it likes best');
is_deeply([ row('alone', '0,0,0') ], ['200 1500 '], 'an instruction alone: its own operations');
is_deeply([ row('copied', '0,0,0') ], ['2000 1500 '], 'a copy of 5 us: bytes; that the host takes 10 does not count');
is(scalar(row('zeros', '16,16,16')), 1, 'other data take part in the same rounds; a patch that is built');
is(scalar(row('step', '16,16,16')), 1, 'a step of a chapter');
is_deeply([ row('sustained', '16,16,16') ], ['1.6384e-06 1400 500'], 'sustained: clock and power while it runs');
is_deeply([ grep { !/^(gpu|Mock GPU),(date|[-\d]+),(commit|abc),/ } @csv ], [], 'rows name GPU and commit');

$said = run("$scratch/plan --only second --csv $scratch/second.csv");
is($status, 0, '--only a group without faults: exit status 0');
like($said, qr/^1 groups and shapes; without a figure: none$/m, '... and says so');
unlike(slurp('second.csv'), qr/first|third/, '... and nothing else is timed');
$said = run("$scratch/plan --only first,third --kernels zeros,right --shapes 4,5x6x7 --csv $scratch/some.csv");
is_deeply([ map { /,(\w+,\d+,\d+,\d+,\w+),/ ? $1 : () } split /\n/, slurp('some.csv') ],
    [ 'first,4,4,4,right', 'first,5,6,7,right', 'third,4,4,4,zeros', 'third,5,6,7,zeros' ], '--kernels and --shapes');
like(run("$scratch/plan --only third --kernels zeros --shapes " . join(',', (4) x 64) . " --csv $scratch/again.csv"), qr/^1 groups and shapes/m, 'a shape that is named again counts once');
{
    local $ENV{MOCK_BAD_END} = 1;
    like(run("$scratch/plan --only second --csv $scratch/end.csv"), qr/^bench: broken off while no row was under way$/m, 'a child that dies when all is timed: said');
    is($status, 3, '... with exit status 3, and no child comes after it');
}

# ---- the ladder, peers

store('ladder', <<'TEXT');
ladder | 02 | 02 | | 16 20x24x28
ladder | peer2 | peer2 | |
ladder | peer7 | peer7 | |
ladder | cublas | cublas | |
ladder | cublaslt | cublaslt | | 16
TEXT
$said = run("$scratch/ladder --csv $scratch/ladder.csv");
is($status, 0, 'ladder: what a peer refuses is no failure');
like($said, qr/peer2 \(ladder, 16 x 16 x 16: left out\)/, '... but named');
is(slurp('ladder.csv') =~ s/\d{4}-\d\d-\d\d/DATE/gr, <<'TEXT', 'ladder: its columns; of three proposals, one wrong, the fastest');
gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w,driver,cuda,cublas
Mock GPU,DATE,abc,paused,16,16,16,02,1.6384e-06,1.6384e-06,1.6384e-06,0.8000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,paused,16,16,16,cublas,2.048e-06,2.048e-06,2.048e-06,1.0000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,paused,16,16,16,cublaslt,4.096e-06,4.096e-06,4.096e-06,2.0000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,paused,20,24,28,02,5.376e-06,5.376e-06,5.376e-06,0.8000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,paused,20,24,28,cublas,6.72e-06,6.72e-06,6.72e-06,1.0000,1500,,1.0,13.0,13.0.0
TEXT
{
    local $ENV{MOCK_NO_CUBLAS} = 1;
    $said = run("$scratch/ladder --shapes 16 --csv $scratch/no.csv");
    is($status, 0, 'without cuBLAS');
    like($said, qr/no cuBLAS: the mock was told so.*cublas \(ladder, 16 x 16 x 16: left out\)/s, '... which is said');
    like(slurp('no.csv'), qr/,02,1\.6384e-06,1\.6384e-06,1\.6384e-06,,1500,,1\.0,13\.0,$/m, '... there is no ratio');
}

# ---- fp8 and w4a8

store('kinds', <<'TEXT');
fp8 | copy | copy | | -
fp8 | 12 | 12 | | 16x24x256
fp8 | peer5 | peer5 | |
fp8 | cublas | cublas fp8 | |
fp8 | cublaslt | cublaslt fp8 | |
w4a8 | 13 | 13 | | 16x24x256
w4a8 | 12 | 12 | |
TEXT
$said = run("$scratch/kinds --rounds 1 --csv $scratch/kinds.csv");
is($status, 0, 'kinds of problem: all are right') or diag($said);
is(slurp('kinds.csv') =~ s/\d{4}-\d\d-\d\d/DATE/gr, <<'TEXT', '... modes by group, a copy in TB/s');
gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w,driver,cuda,cublas
Mock GPU,DATE,abc,fp8,0,0,0,copy,2000,2000,2000,,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,fp8,16,24,256,12,3.9322e-05,3.9322e-05,3.9322e-05,1.6000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,fp8,16,24,256,peer5,3.9322e-05,3.9322e-05,3.9322e-05,1.6000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,fp8,16,24,256,cublas,2.4576e-05,2.4576e-05,2.4576e-05,1.0000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,fp8,16,24,256,cublaslt,9.8304e-05,9.8304e-05,9.8304e-05,4.0000,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,w4a8,16,24,256,13,9.8304e-05,9.8304e-05,9.8304e-05,,1500,,1.0,13.0,13.0.0
Mock GPU,DATE,abc,w4a8,16,24,256,12,3.9322e-05,3.9322e-05,3.9322e-05,,1500,,1.0,13.0,13.0.0
TEXT

{
    local $ENV{MOCK_SMALL} = 1;
    store('packed', "w4a8 | first | 13 | | 16x24x256\nw4a8 | second | 13 | |\n");
    like(run("$scratch/packed --rounds 1 --csv $scratch/packed.csv"), qr/without a figure: second \(w4a8, 16 x 24 x 256: error\)$/m, 'a row for which memory is missing is struck out, and no other');
    like(slurp('packed.csv'), qr/,first,9\.8304e-05,/, '... which has its figure');
}

store('other.csv', "gpu,date\n");
$said = run("$scratch/kinds --rounds 1 --csv $scratch/other.csv");
like($said, qr/^--csv: "\S*other.csv" has another first line than "gpu,date,commit,mode,[a-z_,]*,driver,cuda,cublas"/m, 'a table with other columns is not added to');
is(slurp('other.csv'), "gpu,date\n", '... and stays as it is');

# ---- where the rows go, and what is refused

mkdir "$scratch/$_" or die for qw(tests tests/bench tests/bench/results);
$said = (Patches::output("cd $scratch && mock/bench ./plan --only second"))[0];
ok(-s (glob "$scratch/tests/bench/results/mock_gpu_????-??-??_plan.csv")[0], 'without --csv: tests/bench/results, by card, date and plan')
    or diag($said);
# refused(OPTIONS, PATTERN): exit status 2 and one line.
sub refused {
    my ($options, $pattern) = @_;
    my $said = run("$options >/dev/null");
    is("$status:" . ($said =~ tr/\n//), '2:1', "refused in one line: $options") or diag($said);
    like($said, $pattern, '... which says why');
}
refused("$scratch/plan --only fourth", qr/--only: "fourth" is not in the plan/);
refused("$scratch/plan --shapes 1x2", qr/--shapes: "1x2" is no shape/);
refused("$scratch/plan --shapes 1234567890", qr/--shapes: "1234567890" is no shape/);
refused("$scratch/plan --only second --csv /dev/full", qr{--csv: "/dev/full" cannot be written}) if -c '/dev/full';
refused("$scratch/plan --rounds many", qr/--rounds: "many"/);
refused("$scratch/plan --fast", qr/--fast: not accepted/);
refused("$scratch/plan other", qr/"other": one plan is accepted/);
refused('nonsense', qr{plans/nonsense cannot be read});
refused("$scratch/plan --only second --csv /no/file", qr{/no/file});
my %bad = (
    "first | a | 02 |" => qr/:1: a line has five fields/,
    "first | a | 99 | | 16" => qr/:1: "99" is nothing that runs/,
    "first | a | wg | | -" => qr/:1: "wg" is nothing that runs/,
    "first | a | 02 | --nonsense | 16" => qr/:1: --nonsense/,
    "# nothing" => qr/has no row that is wanted/,
);
for my $text (sort keys %bad) {
    store('bad', "$text\n");
    refused("$scratch/bad", $bad{$text});
}

done_testing();
