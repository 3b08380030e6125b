#!/usr/bin/perl
# Are the experiments' variants right, before they are timed on a GPU? And would this test notice if not?
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;

my @experiments = Patches::all('experiments');
cmp_ok(scalar @experiments, '>=', 25, 'there are ' . @experiments . ' patches, 25 or more');
each_is_accepted('judge', 'experiments');
my $sound = 'experiments/07_wait_group_0';
judged_as($sound, sub { s/^\+.*wgmma_wait_group\(0\)/+            wgmma_wait_group(2)/m }, '.*status 4: model: ', 'not accepted: it is wrong',
    'wait_group_0');
judged_as($sound, sub { }, '.*no line of .* runs it', 'not accepted: it is not in the plan', 'other');
done_testing();
