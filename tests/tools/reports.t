#!/usr/bin/perl
# Do reports of the CPU model fit the page, and lead to their rule? Does a wrong result lead to the map that draws it?
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;

# built(PATCH): builds a copy of it outside of the tree, once: other tests build the same ones. The command that runs
# it.
my %built;
sub built {
    my ($id) = @_;
    return $built{$id} //= do {
        my ($p) = Patches::chosen($id =~ /\.patch$/ ? $id : edited($id, sub { }, $id =~ s{.*/}{}r));
        'cd ' . Patches::build($p) . ' && ./program --on model ' . Patches::value($p, 'run');
    };
}

# ---- the rule's place ----------------------------------------------------------------------------------------------

my @rules = Patches::contents('common/model/rules.h') =~ /^RULE\((\w+),/mg;
my $page = Patches::contents('book/rules.md');
cmp_ok(scalar @rules, '>=', 30, 'rules.h has ' . @rules . ' rules');
my @told = $page =~ /^\| <a id="(\w+)"><\/a>/mg;
is_deeply([ sort @told ], [ sort map { lc } @rules ], 'book/rules.md has a line for each, and no other');
my @unlike = grep { $page !~ /^\| <a id="\L$_\E"><\/a>$_ \| \S.*\|$/m } @rules;
is("@unlike", '', 'each line begins with the rule that its anchor names, and says what mends it');

my $released = built('bugs/07_released_before_wgmma_wait');
my ($said, $status) = said($released);
is($status, 4, 'a bug: exit status 4');
like($said, qr/^  replay .*\n  more     book\/rules\.md#race_war\n/m, 'its report ends with its place there');

# ---- as wide as the page -------------------------------------------------------------------------------------------

sub longest { return (sort { $b <=> $a } map { length } split /\n/, $_[0])[0] }
my ($report) = $said =~ /^(model: .*?#race_war\n)/ms;
cmp_ok(longest($report), '<=', 100, 'no line has more than 100 columns');
like($report, qr/^  missing  the wgmma .*\n {13}\S/m, 'one that is longer is folded');
like($report, qr/^ {15}\S.*\.\.\.$/m, "what is quoted is cut");

# ---- a wrong result ------------------------------------------------------------------------------------------------

# Accumulators that begin with 3: nothing that a rule forbids.
my $wrong = edited('bugs/02_no_sync_after_store', sub {
    my ($line) = Patches::contents('02_smem_tiled/02_smem_tiled.cu') =~ /^(    float acc\[.*\n)/m;
    s/^@@.*//ms;
    $_ .= "@@ -1,1 +1,1 @@\n-$line+" . ($line =~ s/\{0\}/{3}/r);
}, 'begins_with_3');
my $command = built($wrong);
($said, $status) = said($command =~ s/ --m .*/ --m 70 --n 130 --k 33 --data normal --policy lazy --schedule-seed 7/r);
is($status, 1, 'a wrong result: exit status 1') or diag($said);
my ($map) = $said =~ /^map      (make map-02 BUG=\S+ ARGS=".*")$/m;
is($map, "make map-02 BUG=$wrong ARGS=\"--m 70 --n 130 --k 33 --data normal --policy lazy --schedule-seed 7\"",
    'it leads to the map of this patch, with what this launch needs');
($said, $status) = said($map =~ s/^make map-02 BUG=(\S+) ARGS="(.*)"$/tests\/tools\/patches map 02 $1 $2/r);
is($status, 0, 'which can be drawn');
like($said, qr/^WRONG .*^C\[70\]\[130\], a character.*^ +0 .*[+#]/ms, 'and shows it');
like((said("$map -n NVCC="))[0], qr{patches map 02 '\Q$wrong\E' --m 70}, 'make passes all of it on');
($said) = said($command);
like($said, qr/^map .*ARGS="--m 128 --n 128 --k 256 --policy random"$/m, 'defaults are left out');
is((tool("map 03 $wrong"))[1], 2, 'a patch of another chapter is refused');

done_testing();
