#!/usr/bin/perl
# Does every bug that was seen elsewhere lead to a thread on github.com, and does book/field_bugs.md tell them as the patches
# do? And is what has another form refused?
use strict;
use warnings;
use lib 'tests/tools';
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;
use PatchTest;

# ---- the patches of this tree

my @bugs = grep { Patches::value($_, 'seen') ne '' } Patches::all('bugs');
cmp_ok(scalar @bugs, '>=', 25, @bugs . ' bugs were seen elsewhere, 25 or more');
my $page = Patches::contents('book/field_bugs.md');
for my $p (@bugs) {
    my @threads = eval { Patches::seen($p) };
    is(Patches::problem($@), '', "$p->{id}: what is said of it has the form");
    my @bad = grep { $_ !~ m{^https://github\.com/[\w.-]+/[\w.-]+/issues/[1-9]\d*$} } map { Patches::link_to($_) } @threads;
    is_deeply(\@bad, [], "$p->{id}: " . @threads . ' links that lead to github.com');
    my @missing = grep { index($page, "[$_->[0]#$_->[1]](@{[ Patches::link_to($_) ]}): ") < 0 } @threads;
    is_deeply(\@missing, [], "$p->{id}: book/field_bugs.md has them");
}
my ($told) = $page =~ /^<!-- field -->\n(.*?)^<!-- end of field -->$/ms;
ok(($told // '') eq Patches::field_list(), 'book/field_bugs.md: as the patches have it (make texts writes it)');

# ---- other forms

my $sound = 'bugs/05_loads_more_k_tiles_than_it_uses';
sub with { my ($seen) = @_; return sub { s/(?:^# seen: .*\n)+/$seen/m } }
for (
    [ "# seen: a tutorial\n", 'does not begin with', 'without a thread' ],
    [ "# seen: #2944 - It was wrong. (fix: so)\n", 'does not begin with', 'without a repository' ],
    [ "# seen: https://example.org/a/b#2 - It was wrong. (fix: so)\n", 'does not begin with', 'another host' ],
    [ "# seen: a/b#2 - It was wrong.\n", 'seen: a/b#2` is not: what happened', 'without a fix' ],
    [ "# seen: a/b#2 - (fix: so)\n", 'seen: a/b#2` is not', 'nothing happened' ],
    [ "# seen: a/b#2 - It was wrong. (fix: so)\n# seen: a/c#3 - It\n# seen: was wrong\n", 'seen: a/c#3` is not', 'the second of two' ],
) {
    my ($seen, $pattern, $name) = @$_;
    judged_as($sound, with($seen), ".*\Q$pattern\E", "refused: $name");
}

# ---- a page of a small tree, whose records are known

my $here = Cwd::getcwd();
my $tree = tempdir(CLEANUP => 1);
chdir $tree or die;
make_path(qw(01_one/bugs book tests));
symlink "$here/tests/tools", 'tests/tools' or die;
Patches::store('01_one/01_one.cu', "one\n");
my $diff = "--- a/01_one/01_one.cu\n+++ b/01_one/01_one.cu\n@@ -1 +1 @@\n-one\n+two\n";
my %did = (
    right => [ 'right in 300 runs, 2026-01-01, nvcc 1.2.3, 0123456789ab', 'right in 300 runs, 2026-01-02, nvcc 1.2.3, 0123456789ab' ],
    half => [ 'right in 300 runs, 2026-01-01, nvcc 1.2.3, 0123456789ab', 'wrong in 1 of 300 runs, 2026-01-01, nvcc 1.2.3, 0123456789ab' ],
    mended => [ ('right in 300 runs; repaired by ptxas (C7514), 2026-01-01, nvcc 1.2.3, 0123456789ab') x 2 ],
    new => [ 'right in 300 runs, 2026-01-01, nvcc 1.2.3, 0123456789ab', 'not run yet' ],
);
for my $name (sort keys %did) {
    Patches::store("01_one/bugs/$name.patch", "# verdict: RACE_RAW\n# h200: $did{$name}[0]\n# h100: $did{$name}[1]\n"
        . "# seen: a/b#7 - It was\n# seen: wrong. (fix: so)\n# seen: a/$name#8 - It hung. (fix: thus)\n$diff");
}
Patches::store('01_one/bugs/ours.patch', "# verdict: RACE_RAW\n# h200: right in 300 runs, 2026-01-01, nvcc 1.2.3, 0123456789ab\n$diff");
my $list = Patches::field_list();
like($list, qr/^5 threads, 4 bugs of .*\s3 have been run on both GPUs, and 1 of these\s+were\s+right/m, 'what is counted') or diag $list;
like($list, qr/^\[half\]\(\.\.\/01_one\/bugs\/half\.patch\): `make break-01 BUG=half`\. .* An\s+H200: right in 300 runs\.\s+An\s+H100:\s+wrong in 1 of 300 runs\.$/m, 'where the GPUs differ');
like($list, qr/Both\s+GPUs: right in 300 runs\.\n\n- \[a\/b#7\]\(https:\/\/github\.com\/a\/b\/issues\/7\): It was wrong\. Fix: so\.\n- \[a\/right#8\]/, 'and where not, with two threads');
unlike($list, qr/ours/, 'a bug that was not seen elsewhere is left out');
chdir $here or die;
done_testing();
