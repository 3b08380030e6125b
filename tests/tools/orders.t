#!/usr/bin/perl
# Is each call of the chapters that orders something noticed when it is taken out, or weakened, as the chapters'
# orders.tsv say? Of all of them with TIER=long; else of a few, others at each commit (tests/run); TURN=n: those.
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;
require './tests/tools/orders';

my $SAMPLE = 5;

# ---- the table

my @changes = Orders::changes();
my %row = Orders::rows();
cmp_ok(scalar @changes, '>', 250, @changes . ' changes');
sub is_none { my ($name, @found) = @_; is(join("\n", @found), '', $name) }
is_none('the tables have each change (else make orders ARGS="write WORD...")', grep { !exists $row{$_} } map { $_->{id} } @changes);
my %now = map { $_->{id} => 1 } @changes;
is_none('and no other', grep { !$now{$_} } sort keys %row);
is_none('where nothing notices one, it has its reason', grep { $row{$_} =~ /^-\t$/ } sort keys %row);

my %count = Orders::summary(%row);
my $named = $count{all}{default} // 0;
my ($told) = Patches::contents('common/model/README.md') =~ s/\s+/ /gr =~ /(names \d+ of these \d+ changes)/;
is($told, "names $named of these " . @changes . " changes", 'the README of the model counts them');

# ---- a sample of it

my $turn = $ENV{TURN} // 0;
note("TURN=$turn");
my %chosen = map { ($turn * $SAMPLE + $_) * 101 % @changes => 1 } 0 .. $SAMPLE - 1;
my @looked_at = Patches::is_long() ? @changes : @changes[ sort { $a <=> $b } keys %chosen ];
for my $said (Orders::try_all(@looked_at)) {
    my ($id, $verdict, $rule, $where) = @$said;
    my $name = $id =~ tr/\t/ /r;
    is("$verdict, $where", "ok, " . ($row{$id} // '') =~ s/^[^\t]*\t//r, "$name: noticed there") or next;
    is($rule, ($row{$id} // '') =~ s/\t.*//r, '... by this report') if Patches::is_long();
}

# ---- would it notice?

my ($same) = Orders::changes('02', 'taken out');
$same->{text} = Patches::contents($same->{source});
is((Orders::try_all($same))[0][1], 'nothing notices it, and it has no reason', 'seen: a call whose absence changes nothing');

done_testing();
