#!/usr/bin/perl
# Does the judge mark down wrong code in each gap of the labs? The code is made by rules from what a gap's patch takes
# out: the chapter's own lines with one mistake, or the gap as the lab leaves it. Some of them, others at each commit
# (TURN);
# all: TIER=long. FILLS='lab 05' in the environment: those whose names have that in them.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;
require './tests/grade/grade';

# How many `make test` tries, and the sizes with which it tries them.
my $SAMPLE = 3;
my @SIZES = ('size 60-90 60-90 330-400 4', 'size 300 100-130 321 2', 'size 128 256 640 2', 'size 300-400 400-520 129-200 2',
    'variants 512 384 64 2');

# What goes wrong: rule, what of the code, and what in its place.
my $ARGUMENTS = qr/(?:[^();]|\((?:[^();]|\([^();]*\))*\))*/;
my %OTHER = (row => 'col', col => 'row', column => 'row');
my @RULES = (
    [ 'missing', qr/^ *\K\w*(?:fence|wait|arrive|sync|acquire|release|commit|expect|advance)\w*\($ARGUMENTS\);/m, sub { ';' } ],
    [ 'neighbouring stage', qr/\[\K(?:\w+(?:->|\.))?(?:index|stage|previous)(?=\])/, sub { "($_[0]) ^ 1" } ],
    [ 'other operand', qr/\bmap_[ab]\b|\bs->[ab]\b/, sub { $_[0] =~ tr/ab/ba/r =~ s/mbp/map/r } ],
    [ 'other side of C', qr/\btile\.[mn]\b/, sub { $_[0] =~ s/\.([mn])/$1 eq 'm' ? '.n' : '.m'/er } ],
    [ 'other consumer', qr/\bconsumer\b(?= *\*)/, sub { "(1 - $_[0])" } ],
    [ 'other CTA', qr/\bat->(?:row|col)(?!\w)|\b(?:row|column)_mask\b/,
        sub { $_[0] =~ s/(row|col(?:umn)?)(?=_mask|$)/$OTHER{$1}/r =~ s/\bcol_/column_/r } ],
    [ 'nobody is told', qr/\breturn \K(?=below\b)/, sub { '0 && ' } ],
    [ 'one arrival more', qr/\bmbarrier_init\($ARGUMENTS(?=\);)/, sub { "$_[0] + 1" } ],
    [ 'twice the arrivals', qr/\bmbarrier_init\($ARGUMENTS(?=\);)/, sub { $_[0] =~ s/, ([^,]*(?:\([^()]*\))?[^,]*)$/, 2 * ($1)/r } ],
    [ 'fewer bytes', qr/\bSTAGE_BYTES\b|\bstage_bytes\b/, sub { "($_[0] - 16)" } ],
    [ 'one group more in flight', qr/\bwait_group\w*\(\K\d+(?=\))/, sub { $_[0] + 1 } ],
    [ 'next k-tile', qr/\bk_tile(?= \* BK\b)/, sub { '(k_tile + 1)' } ],
);

# Those that are right, and why: name, reason. None of them may lose points.
my @HARMLESS = map { [ "lab $_, gap @{[ $_ eq '05' ? 2 : 1 ]}, missing: mbarrier_init_fence();",
    'the fence is for the other CTAs of a cluster; __syncthreads() publishes barriers in the CTA' ] } qw(05 07);

# changes(LINE...): the text of a hunk's lines before the patch, with one mistake each in a line that the patch takes
# out: rule, line, text. Comments stay as they are.
sub changes {
    my @lines = @_;
    my $code = join '', map { substr $_, 1 } @lines;
    my $taken = join '', map { (/^-/ ? 'x' : ' ') x (length($_) - 1) } @lines;
    my $masked = $code =~ s{/\*.*?\*/}{$& =~ s/[^\n]/ /gr}gesr;
    my @changes;
    for (@RULES) {
        my ($rule, $what, $instead) = @$_;
        while ($masked =~ /$what/g) {
            my ($at, $length) = ($-[0], $+[0] - $-[0]);
            next if substr($taken, $at, 1) ne 'x';
            my $text = $code;
            substr($text, $at, $length) = $instead->(substr $code, $at, $length);
            my ($line) = (substr($code, 0, $at) =~ /(.*)\z/)[0] . (substr($code, $at) =~ /(.*)/)[0];
            push @changes, [ $rule, $line =~ s{^\s+|\s*(?:/\*.*)?$}{}gr, $text ] if $text ne $code;
        }
    }
    return @changes;
}

# fills(LAB): its chapter's source with one gap filled wrongly each: gap, rule, line, text.
sub fills {
    my ($lab) = @_;
    my $source = Patches::contents($lab->{source});
    my (undef, @hunks) = split /^(?=@@ )/m, $lab->{diff};
    my ($gap, @fills) = ('');
    for (@hunks) {
        my (undef, @lines) = split /^/;
        my ($old, $new) = map { my $side = $_; join '', map { /^[$side ](.*)/s ? $1 : () } @lines } '-', '+';
        $gap = $1 if $new =~ /GAP (\d+)/;
        my $at = index $source, $old;
        die "$lab->{path}: the lines of gap $gap are not in $lab->{source}\n" if $at < 0;
        my $in_place = sub { my $text = $source; substr($text, $at, length $old) = $_[0]; return $text };
        push @fills, [ $gap, 'left open', '', $in_place->($new) ],
            map { [ $gap, $_->[0], $_->[1], $in_place->($_->[2]) ] } changes(grep { /^[- ]/ } @lines);
    }
    return @fills;
}

my $scratch = tempdir(CLEANUP => 1);
my $is_long = ($ENV{TIER} // '') eq 'long';
my $points = join '', map { "points $_\n" } 'builds 10', 'right 30', 'rules 30', 'technique 30', map { "gpu_$_ 0" } qw(builds right speed);
Patches::store("$scratch/weights", $points . "speed 0.9\npolicies eager lazy random\nseeds 1\ngpu_timed 8 8 8\ntechnique 384 512 640 4\n"
    . "seconds 5\ncompile_seconds 60\n" . join '', map { "$_\n" } @SIZES);
my %harmless = map { ($_->[0] => $_->[1]) } @HARMLESS;
my @all;
for my $lab (Patches::all('labs')) {
    my %times;
    for (fills($lab)) {
        my ($gap, $rule, $line, $text) = @$_;
        my $what = "lab $lab->{number}, gap $gap, $rule" . ($line ne '' ? ": $line" : '');
        my $nth = ++$times{$what};
        push @all, { number => $lab->{number}, text => $text, id => 'fill' . @all, what => $nth > 1 ? "$what ($nth)" : $what };
    }
}
my %is_there = map { $_->{what} => 1 } @all;
is(join("\n", grep { !$is_there{$_} } sort keys %harmless), '', 'what is called harmless is made by a rule');
my ($turn, $step) = ($ENV{TURN} // 0, int(@all / $SAMPLE));
@all = defined $ENV{FILLS} ? grep({ $_->{what} =~ /$ENV{FILLS}/ } @all)
    : $is_long ? @all : @all[ grep { ($_ + 11 * $turn) % $step == 0 } 0 .. $#all ];

my $pid = open my $judged, '-|';
die "fork: $!\n" if !defined $pid;
exit Patches::on_all_cores(\&judge, @all) if !$pid;
sub judge {
    my ($fill) = @_;
    srand 1;
    Patches::store("$scratch/$fill->{id}.cu", $fill->{text});
    my $s = Grade::submission($fill->{number}, "$scratch/$fill->{id}.cu", "$scratch/build_$fill->{id}");
    my $r = Grade::judge($s, Grade::config("$scratch/weights"), { no_gpu => 1 });
    my ($first) = map { $_->{note} } grep { $_->{points} < $_->{of} } @{ $r->{parts} };
    File::Path::remove_tree("$scratch/build_$fill->{id}");
    return ($r->{full}, ($first // '') =~ s/\s+/ /gr);
}
my %verdict = map { chomp; my ($id, @fields) = split /\t/; ($id => \@fields) } <$judged>;
for my $fill (@all) {
    my ($full, $why) = @{ $verdict{ $fill->{id} } // [ 1, 'nothing was judged' ] };
    my $reason = $harmless{ $fill->{what} };
    ok(defined $reason ? $full : !$full, $fill->{what} . (defined $reason ? " ($reason)" : '')) or diag($why // '');
    note($why) if ($why // '') ne '';
}
done_testing();
