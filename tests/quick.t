#!/usr/bin/perl
# For `make quick`: is each chapter right on the model at odd sizes, and is one of its bugs named? Another one at each commit
# (tests/run); TURN=n: that one. That the judge notices what is not as stated, bugs.t shows.
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;

my $turn = $ENV{TURN} // 0;
note("TURN=$turn");
for my $chapter (Patches::chapters()) {
    my ($number) = $chapter =~ m{(\d\d)_[^/]*$};
    my ($title) = $chapter =~ m{([^/]*)$};
    for my $size ('--m 1 --n 1 --k 1', '--m 130 --n 72 --k 200') {
        my ($said, $status) = said(Patches::unbroken({ title => $title }) . " --on model $size --policy random --schedule-seed $turn");
        is($status, 0, "$title is right with $size --schedule-seed $turn") or diag($said);
    }
    my @bugs = Patches::all('bugs', $number) or next;
    my $bug = $bugs[ $turn % @bugs ]{id};
    my ($said, $status) = tool("judge $bug");
    is($status, 0, "its bug $bug is named") or diag($said);
}
done_testing();
