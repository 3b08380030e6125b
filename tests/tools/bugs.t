#!/usr/bin/perl
# Does the CPU model name the bugs that are put into the chapters, whatever the schedule, and only then? And would this
# test notice if not?
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use PatchTest;

my @bugs = Patches::all('bugs');
cmp_ok(scalar @bugs, '>=', 60, 'there are ' . @bugs . ' bugs, 60 or more');
cmp_ok(scalar(grep { Patches::seen($_) } @bugs), '>=', 25, '25 of them or more were seen elsewhere, as book/field_bugs.md says');
my @results = each_is_accepted('judge', 'bugs');

# Whoever runs a program without options must not need luck: that run has several sizes, policies and variants.
my @ran = grep { ($_->[3] // '') ne '' } @results;
my @green = map { $_->[3] =~ /^[A-Z]/ ? () : $_->[0] } @ran;
my %silent = map { $_->{id} => 1 } grep { Patches::value($_, 'silent') ne '' } @bugs;
is(join(' ', grep { !$silent{$_} } @green), '', 'a run without options names ' . (@ran - @green) . ' of ' . @ran . ' bugs, all that it can');

# ---- the chapters without them, with the same options: no report, and right; in one policy, another at each commit, or
# in all

my @policies = qw(eager lazy random pct);
@policies = $policies[ ($ENV{TURN} // 0) % 4 ] if !Patches::is_long();
my %runs = map { ("$_->{title} " . Patches::value($_, 'run') => $_) } looked_at('bugs');
my @runs = map { { %{ $runs{$_} }, id => $_ } } sort keys %runs;
sub is_right {
    my ($p) = @_;
    my ($seed, @more) = Patches::seeds($p);
    for my $policy (@policies) {
        my ($said, $status) = said(Patches::unbroken($p) . " --on model --data integers @{[ Patches::value($p, 'run') ]} "
            . "--policy $policy --schedule-seed $seed --schedules @{[ 1 + @more ]}");
        return "--policy $policy: $said" if $status;
    }
    return 'ok';
}
my %unbroken = Patches::answers(\&is_right, @runs);
is("@{ $unbroken{$_} }", 'ok', "unbroken, in @policies: $_") for sort keys %unbroken;
is_deeply([ sort keys %unbroken ], [ sort keys %runs ], 'each of them was run');

# ---- what the GPUs did with them

is(Patches::stale($_), '', "$_->{id}: its records are of its source, or it has none") for @bugs;
my ($recorded) = grep { Patches::recorded($_, 'h200') && $_->{diff} =~ /^\+[^+]/m } @bugs;
my ($edited) = Patches::load(edited($recorded->{id}, sub { s/^(\+[^+].*)/$1;/m }, $recorded->{name}));
like(Patches::stale($edited), qr/recorded with another source/, 'one whose patch has changed since: not accepted');

# ---- what the texts tell of patches of any kind

my ($tables, $stale) = tool('tables --check');
is($stale, 0, 'the texts tell the patches as they are') or diag($tables);

# ---- patches that must fail

my $sound = 'bugs/07_no_wgmma_fence';
for (
    [ sub { }, 'ok\t', 'accepted: as it is, in another place' ],
    [ sub { s/^# verdict: .*/# verdict: RACE_RAW/m }, '\d+ runs are not as stated: reported WGMMA_FENCE', 'another verdict' ],
    [ sub { s/^# lesson.*\n//m }, '.*0 lines `# lesson:`', 'a header line is missing' ],
    [ sub { s/^# at: .*/# at: wgmma_commit_group();/m }, '.*does not name ', 'another source line' ],
    [ sub { s/^# at: .*/# names: full[7]/m }, '.*does not say `full', 'another barrier' ],
    [ sub { s/^# at.*\n//m }, '.*neither', 'no barrier and no source line' ],
    [ sub { s/^( .*UNROLL)/+            (void)0;\n+            wgmma_fence();\n$1/m }, '.*no report, exit status 0',
        'it changes nothing that matters' ],
    [ sub { s/^( .*UNROLL)/+            this is not C\n$1/m }, 'it cannot be built', 'it does not compile' ],
    [ sub { s/^\+\+\+.*/+++ b\/common\/device\/wgmma.h/m }, 'it cannot be built.*it changes common', 'it changes another file' ],
) {
    my ($edit, $pattern, $name) = @$_;
    judged_as($sound, $edit, $pattern, $name =~ /^accepted/ ? $name : "not accepted: $name");
}

judged_as('bugs/07_launch_bounds_for_fewer_threads', sub { s/^# names: .*/# names: something else/m }, 'the build fails otherwise: ',
    'not accepted: a build that fails with other words');

# ---- make break-NN

my ($said, $status) = said('make -s break-07');
is(scalar(split /\n/, $said), scalar Patches::all('bugs', '07'), 'make break-07 lists the bugs of chapter 07');
($said, $status) = tool('break 07 no_wgmma_fence');
is($status, 0, 'a known one: exit status 0');
like($said, qr/\A--- a\/07.*-            wgmma_fence.*lesson .*model: WGMMA_FENCE: .*exit status 4/s, 'diff, lesson and report');
($said, $status) = tool('break 07 no_wgmma_fence tpu');
is("$status:$said", "2:ON=tpu: accepted are model and gpu\n", 'ON=tpu: refused');

# ---- make map-NN, whose pictures book/troubleshooting.md shows

is((said('CELL=8 tests/tools/patches map 06 ""'))[1], 2, 'make map with a CELL that is not RxC: exit status 2');
done_testing();
