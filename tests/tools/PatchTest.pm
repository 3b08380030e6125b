# PatchTest.pm - what the tests of bugs, exercises, experiments and labs share.
package PatchTest;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Exporter 'import';
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;
our @EXPORT = qw(said tool looked_at each_is_accepted edited judged_as);
require './tests/tools/patches';
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)}; # what make says to a sub-make would stand among the output

# said(COMMAND): what it says on both streams, and its exit status. tool(ARGUMENTS): the same of tests/tools/patches.
sub said { return Patches::output($_[0]) }
sub tool { return said("tests/tools/patches $_[0]") }

# looked_at(KIND): the patches that are judged: all with TIER=long, otherwise one in EACH, of which TURN=n chooses the
# first; tests/run sets another TURN at each commit. The list is in the order of chapters, so most of them take part.
my $turn = $ENV{TURN} // 0;
my %EACH = (bugs => 10, exercises => 7, experiments => 7, labs => 3);
sub looked_at ($kind) {
    my @all = Patches::all($kind);
    return Patches::is_long() ? @all : @all[ grep { ($_ + $turn) % $EACH{$kind} == 0 } 0 .. $#all ];
}

# each_is_accepted(COMMAND, KIND): a test for each that is looked at, which COMMAND of the tool must call ok; and all of
# that kind must apply. Returns what it said, as lists of id, verdict, remarks.
sub each_is_accepted ($command, $kind) {
    my @ids = map { "$kind/$_->{id}" } looked_at($kind);
    note("TURN=$turn");
    my @results = sort { $a->[0] cmp $b->[0] } map { [ split /\t/, $_ ] } split /\n/, `tests/tools/patches $command @ids 2>/dev/null`;
    for my $result (@results) {
        my ($id, $verdict, $remarks) = @$result;
        is($verdict, 'ok', "$command $id" . ($remarks ? ": $remarks" : ''));
    }
    is_deeply([ map { "$kind/$_->[0]" } @results ], [ sort @ids ], "$command: " . @ids . " of the $kind were looked at");
    my @fail = grep { !eval { Patches::changed($_, \&Patches::contents) } } Patches::all($kind);
    is(join(' ', map { $_->{id} } @fail), '', "each of the $kind applies");
    return @results;
}

# edited(PATCH, EDIT [, NAME]): the path of a copy outside of the tree, which EDIT has changed as $_.
my $scratch = tempdir(CLEANUP => 1);
sub edited ($id, $edit, $name = undef) {
    my ($p) = Patches::chosen($id);
    $name //= $p->{kind} eq 'labs' ? 'lab' : 'unsound';
    my $directory = "$scratch/$p->{title}" . ($p->{kind} eq 'labs' ? '' : "/$p->{kind}");
    make_path($directory);
    local $_ = $p->{comment} . $p->{diff};
    $edit->();
    Patches::store("$directory/$name.patch", $_);
    return "$directory/$name.patch";
}

# judged_as(PATCH, EDIT, PATTERN, TEST [, NAME]): so edited, the tool judges it so.
sub judged_as ($id, $edit, $pattern, $test, $name = undef) {
    my ($said) = tool('judge ' . edited($id, $edit, $name));
    like($said, qr/^\d\d_\w+\t$pattern/, $test);
}

1;
