#!/usr/bin/perl
# Does tests/bench/survey draw the same shapes from a seed, of each kind as it says, and say of measured rows what they
# say?
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;
require './tests/tools/patches';
require './tests/bench/survey';

my $scratch = tempdir(CLEANUP => 1);
my @drawn = Survey::shapes(7, 240);
my @shapes = map { [ split /x/ ] } @drawn;
is(scalar @shapes, 240, 'as many shapes as are wanted');
is_deeply([ Survey::shapes(7, 12) ], [ @drawn[ 0 .. 11 ] ], 'more shapes begin with the same');
isnt("@{[ Survey::shapes(8, 240) ]}", "@drawn", 'another seed draws others');
is(scalar(grep { $_->[1] % 8 || $_->[2] % 8 } @shapes), 0, 'N and K are multiples of 8');
cmp_ok(scalar(grep { !grep { $_ % 128 } @$_ } @shapes), '>=', 60, 'a quarter at least is of multiples of 128');
cmp_ok(scalar(grep { $_->[0] < 64 } @shapes), '>=', 30, 'some have few rows');

# SEED=commit is made from the hash of the commit that is measured.
is(Survey::seed_of_commit('0012abcdef'), 1000 + 0x12abc, 'seven digits of it, and 1000');
is((Patches::output('COMMIT=unknown tests/bench/survey commit 12'))[1], 255, 'none without a commit');

# Without a GPU nothing is measured, and what an earlier survey of this seed has measured is not shown.
Patches::store("$scratch/bench", "#!/bin/sh\necho no GPU\nexit 3\n");
chmod 0755, "$scratch/bench";
mkdir 'build';
is(join(' ', Patches::output("BENCH=$scratch/bench tests/bench/survey 7 12")), "no GPU\n 3", 'it ends as the bench has ended');
isnt((Patches::output('BENCH=false tests/bench/survey 7 12'))[1], 0, '... and fails where the bench has written no CSV');
unlink 'build/survey_7';
# made_up(FILES): those whose seed is not that of each row's commit.
sub made_up {
    return grep { my $seed = Survey::seed_of($_); grep { $seed != (Survey::seed_of_commit((split /,/)[2]) // 0) } grep { !/^gpu,/ } split /^/, Patches::contents($_) } @_;
}
is(join(' ', made_up(glob 'tests/bench/results/*_survey_*.csv')), '', 'no seed was chosen by hand');
Patches::store("$scratch/a_survey_1018.csv", "gpu,date\nA GPU,2026-01-02,0000012,survey\n");
Patches::store("$scratch/a_survey_1019.csv", "gpu,date\nA GPU,2026-01-02,0000012,survey\n");
is(join(' ', made_up(glob "$scratch/*.csv")), "$scratch/a_survey_1019.csv", 'seen: one that was');

# Ten shapes of 100 TFLOP/s by cuBLAS; the n-th has 10 n % of it.
my %cells = map {
    my %rate = (cuBLAS => 100, cuBLASLt => 200, '09 planned' => 10 * $_, '09 by formula' => 50);
    $drawn[$_] => { map { $_ => { median => $rate{$_} } } keys %rate }
} 1 .. 10;
my $said = Survey::said(7, \%cells);
my %line = map { my ($name, @ratios) = @$_; $name => join ' ', map { sprintf '%.3g', $_ } Survey::shares(@ratios) } @{ $said->{lines} };
is($line{'09 planned, to cuBLAS'}, '10 0.453 0.1 0.1 0.1 0.3 0.5', 'how many, geometric mean, least, and what 5, 10, 25 and 50 % are below');
like($line{'09 planned, to the best of eight of cuBLASLt'}, qr/^10 0\.22[67] /, 'compared with cuBLASLt');
like($line{'09 by its formula, to cuBLAS'}, qr/^10 0\.5 0\.5/, 'what the formula reaches');
like($line{'09 by its formula, to 09 planned'}, qr/^10 1\.1 0\.5/, '... of the plan');
is_deeply($said->{points}[0], [ join('x', @{ $shapes[1] }), 1, 0.1 ], 'the worst shape first, with its kind');
for ('', '7', '7 0', 'none.csv') {
    is((Patches::output("tests/bench/survey $_"))[1], 2, "survey $_: refused");
}
done_testing();
