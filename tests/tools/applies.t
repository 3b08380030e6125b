#!/usr/bin/perl
# Does every patch apply to its chapter as it is? Tests that build patches take a sample at each commit; this takes all.
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchFiles;

for my $kind (sort keys %Patches::NOUN) {
    my @not;
    for my $p (Patches::all($kind)) {
        push @not, "$p->{id}: " . Patches::problem($@) if !eval { my @files = Patches::changed($p, \&Patches::contents); @files || die "it changes nothing\n" };
    }
    is(join('', @not), '', "$kind: all apply");
}
done_testing;
