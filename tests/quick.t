#!/usr/bin/perl
# For `make quick`: is each chapter right on the model at odd sizes, and is one of its bugs named? Another one at each
# commit (tests/run); TURN=n: that one. CHAPTER=07: all bugs, of that chapter alone, for `make test-07`. That the judge
# notices what is not as stated, bugs.t shows.
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
    next if ($ENV{CHAPTER} // $number) ne $number;
    for my $size ('--m 1 --n 1 --k 1', '--m 130 --n 72 --k 200') {
        my ($said, $status) = said(Patches::unbroken({ title => $title }) . " --on model $size --policy random --schedule-seed $turn");
        is($status, 0, "$title is right with $size --schedule-seed $turn") or diag($said);
    }
    my @bugs = Patches::all('bugs', $number) or next;
    for my $bug (defined $ENV{CHAPTER} ? @bugs : $bugs[ $turn % @bugs ]) {
        my ($said, $status) = tool("judge $bug->{id}");
        is($status, 0, "its bug $bug->{id} is named") or diag($said);
    }
}
done_testing();
