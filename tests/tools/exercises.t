#!/usr/bin/perl
# Is every exercise's solution right, and does it show the effect that is promised? Are the experiments' variants right,
# before they are timed on a GPU? And would this test notice if not?
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;

each_is_accepted('judge', $_) for 'exercises', 'experiments';

# ---- with nvcc: compiled for the GPU, without spills, and nothing that ptxas had to repair

SKIP: {
    skip("the solutions, compiled for the GPU: $ENV{NO_NVCC}", 1) if $ENV{NO_NVCC};
    each_is_accepted('object', 'exercises');
}

# ---- three or four in every chapter of the ladder, and its README tells each

for my $chapter (Patches::chapters()) {
    my ($number) = $chapter =~ m{(\d\d)_[^/]*$};
    my $orders = join ' ', map { Patches::value($_, 'order') } Patches::exercises($number);
    like($orders, qr/^1 2 3(?: 4)?$/, "$chapter has exercises 1, 2, 3 and perhaps 4") if $chapter !~ m{/} || $orders ne '';
}

# ---- patches that must fail; what fails for every kind, bugs.t shows

my $sound = 'exercises/02_padding_instead_of_swizzle';
judged_as($sound, @$_) for (
    [ sub { s/^# after.*\n//mg }, 'it has no line `# after:`', 'not accepted: nothing that shows after' ],
    [ sub { s/^# before:.*/# before: no such line/m }, 'before: no line matches', 'not accepted: nothing matches before' ],
    [ sub { s/^# after:.*/# after: no such line/m }, 'after: no line matches', 'not accepted: nothing matches after' ],
    [ sub { s/^# show:.*/# show: false/m }, 'its command fails before', 'not accepted: its command fails' ],
    [ sub { s/^\+.*\[row \* ROW \+ chunk \* 8\].*/+        *(uint4 *)&tile[row * ROW + (chunk ^ (row & 1)) * 8] = data;/m },
        'exit status [14] with --m', 'not accepted: it is wrong' ],
);

judged_as('experiments/07_wait_group_0', sub { s/^\+.*wgmma_wait_group\(0\)/+            wgmma_wait_group(2)/m }, 'exit status 4 with .* model: ',
    'not accepted: an experiment that is wrong', 'wait_group_0');
judged_as('experiments/07_wait_group_0', sub { }, '.*no line of .* runs it', 'not accepted: one that is not in the plan', 'other');

# ---- make exercise-NN, make solve-NN

my ($said, $status) = said('make -s exercise-02');
like($said, qr/^1[.] .*2[.] .*3[.] .*Hint: .*make solve-02 EX=/s, 'make exercise-02 lists the exercises of chapter 02');
($said, $status) = tool('solve 02 padding_instead_of_swizzle');
is($status, 0, 'a known one: exit status 0');
like($said, qr/^--- a\/02.*effect .*right .*before:.*after:/s, 'diff, run and effect');
($said, $status) = tool('solve 02 padding_instead_of_swizzle model --m 0');
is($status, 2, "an option that the program refuses: the program's exit status");
done_testing();
