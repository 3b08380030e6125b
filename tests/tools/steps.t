#!/usr/bin/perl
# Does each step of 02, 04 and 08 add one idea, in few lines, with a title and a reason? And do the other chapters stay
# as close to the chapter before as they were? `make diff-NN` and `make NN STEP=k` are tried too.
use strict;
use warnings;
use lib 'tests/tools';
use File::Temp 'tempdir';
use Test::More;
use PatchTest;
use Steps;

my $MOST = 80; # lines of code that a step may add
my %AS_IT_WAS = ('03' => 50, '05' => 65, '06' => 26, '07' => 39); # and a chapter without steps, to the chapter before: 2026-11-28
my $LESSONS = 2148; # lines of code of all of them; comments do not count

my ($before, $lines) = ('', 0);
for my $source (map { m{([^/]+)$} ? "$_/$1.cu" : () } grep { /^0/ } Patches::chapters()) {
    my ($number) = $source =~ /^(\d\d)/;
    my @steps = Steps::of($source);
    for my $step (@steps) {
        my $added = Steps::added($before, $step->{file});
        cmp_ok($added, '<=', $MOST, "step $step->{number} of $number adds $added lines of code");
        like($step->{reason}, qr/^[A-Z][^.]*(?:\.[^ ][^.]*)*\. [A-Z].*\.$/, "... for a reason in sentences: $step->{title}");
        my $record = $step->{file} eq $source ? qr/^CHAPTER\(\Q$step->{id}\E,/m : qr/^CHAPTER\(\Q$step->{id}\E, \.adds = "\Q$step->{title}\E"/m;
        like(Patches::contents($step->{file}), $record, '... and its record has its name and title');
        $before = $step->{file};
    }
    if (!@steps && defined $AS_IT_WAS{$number}) {
        my $added = Steps::added($before, $source);
        cmp_ok($added, '<=', $AS_IT_WAS{$number}, "$number adds $added lines of code to the chapter before");
    }
    $before = $source;
}
$lines += Steps::code($_) for glob '0[1-8]_*/*.cu 0[1-8]_*/steps/*.cu';
cmp_ok($lines, '<=', $LESSONS, "the lessons have $lines lines of code");
my $of_08 = Steps::code('08_persistent_pingpong/08_persistent_pingpong.cu');
cmp_ok($of_08, '<=', 205, "08's own source has $of_08 lines of code");

# ---- would it notice?

my $scratch = tempdir(CLEANUP => 1);
Patches::store("$scratch/1.cu", Patches::contents('01_naive/01_naive.cu'));
Patches::store("$scratch/2.cu", Patches::contents('01_naive/01_naive.cu') . join '', map { "int a$_; /* $_ */\n/* $_ */\n" } 1 .. 81);
is(Steps::added("$scratch/1.cu", "$scratch/2.cu"), 81, 'seen: 81 lines that are added; comments do not count');
Patches::store("$scratch/2.cu", Patches::contents('01_naive/01_naive.cu') =~ s{"\.\./common}{"../../common}gr =~ s{^(?!#)}{    }gmr);
is(Steps::added("$scratch/1.cu", "$scratch/2.cu"), 0, 'the way to common/ and blanks do not');

# ---- the commands

my ($said, $status) = said('tests/tools/diff 08_persistent_pingpong/08_persistent_pingpong.cu 07_warp_specialized/07_warp_specialized.cu');
is($status, 0, 'make diff-08 walks through the steps');
is_deeply([ $said =~ /^Step (\d) of (\d): /mg ], [ map { ($_, 4) } 1 .. 4 ], '... in order');
like($said, qr/^Before: .*\nNow: .*\n\n--- \Q07_warp_specialized\E.*\n\+\+\+ \Q08_persistent_pingpong\/steps\/1_persistent.cu\E/m, '... each with its figure and its changes');
unlike($said, qr/^[-+]#include "[^"]*gemm\.h"/m, '... and no line that differs by the way to common/ alone');
($said) = said('tests/tools/diff 08_persistent_pingpong/08_persistent_pingpong.cu 07_warp_specialized/07_warp_specialized.cu 2');
is_deeply([ $said =~ /^Step (\d) of /mg ], [2], 'STEP=2: that one');
like((said("PATH=/nowhere $^X tests/tools/diff 04_regfile_double_buffer/04_regfile_double_buffer.cu 03_cp_async_multistage/03_cp_async_multistage.cu 1 2>&1 >/dev/null"))[0],
    qr/^git, which compares, could not be run or failed$/m, 'without git: said');
($said) = said('tests/tools/diff 04_regfile_double_buffer/04_regfile_double_buffer.cu 03_cp_async_multistage/03_cp_async_multistage.cu 1');
my $new_text = Steps::text('04_regfile_double_buffer/steps/1_double_buffer.cu');
is_deeply([ grep { index("\n$new_text", "\n$_\n") < 0 } $said =~ /^\+\+\+ .*?\n(.*)/ms ? $1 =~ /^[ +](.*)/mg : 'nothing' ], [],
    'lines that both files have are shown as the new one has them');
is_deeply([ $said =~ /^[-+ ] \* (What is new|What holds it back|Run)\b/mg ], ['What holds it back'], 'of the comment at the top, what holds it back');
for ([ 'make -s 06 STEP=1', 'STEP=1: chapter 06 has no steps' ], [ 'make -s diff-03 STEP=2', 'STEP=2: chapter 03 has no steps' ],
    [ 'make -s run-08 STEP=7', 'STEP=7: chapter 08 has the steps 1 to 4, of which the last is the chapter itself' ]) {
    my ($command, $message) = @$_;
    ($said, $status) = said($command);
    is($status, 2, "$command is refused");
    like($said, qr/^\Q$message\E/m, '... and says why');
}
like((said('make -n run-08 STEP=2'))[0], qr{^08_persistent_pingpong/steps/2_ping_pong}m, 'make run-08 STEP=2 runs that step');
like((said('make -n run-08 STEP=4'))[0], qr{^08_persistent_pingpong/08_persistent_pingpong}m, 'the last is the chapter');
done_testing();
