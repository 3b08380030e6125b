#!/usr/bin/perl
# Does each measured figure in running text say where it comes from? A number with a unit of measurement passes if
#
#     its section holds a table of `make figures`, or links to a CSV, to experiments or to the tables of measuring.md,
#     or names a data sheet, a section of the PTX manual or somebody else's page;
#     its paragraph names the card and the date, or a commit, or links to a section of the notes;
#     a CSV has it, to the digits given, and it has at least three;
#     or it is in figures_in_prose.tsv: page, figure, reason. A row that nothing needs is wrong, too.
#
# Numbers of TFLOP/s are looked up one by one in texts.t.
use strict;
use warnings;
use utf8;
use Test::More;
use lib 'tests/book';
use Markdown qw(files lines prose);
binmode $_, ':utf8' for *STDOUT, *STDERR, map { Test::More->builder->$_ } qw(output failure_output);

my $UNIT = qr{µs|ms|ns|W|J|MHz|GHz|GB/s|TB/s|GB|%|million (?:sectors|bank)};
my $FIGURE = qr{(?<![\w.,])(\d[\d,]*(?:\.\d+)?)[ \n]+($UNIT)(?![\w/])};
my $SOURCE = qr{^<!-- (?:figures|experiment):|results/|\.csv\b|experiments\.md#|measuring\.md#|data sheet|\]\(https?:|\bPTX|\[(?:9\.7|8\.9|5\.5)\b};
my $MEASURED = qr{\bH[12]00\b[^.]*\b20\d\d-\d\d-\d\d|commit [0-9a-f]{7}|\]\(notes\.md#}s;
my %measured = map { $_ => 1 } grep { /^\d+(?:\.\d+)?$/ } map { split /,/ } map { lines($_) } glob 'tests/*/results/*.csv book/patterns/*.csv';

# in_a_csv(NUMBER): does a CSV have it, to that many digits, and are they three or more?
sub in_a_csv {
    my ($number) = @_;
    my $digits = $number =~ /\.(\d+)/ ? length $1 : 0;
    return ($number =~ s/^0\.0*//r =~ tr/0-9//) >= 3 && grep { sprintf("%.${digits}f", $_) eq $number } keys %measured;
}

# unfounded(LINES): the figures of a page that nothing backs, each [line, figure].
sub unfounded {
    my @lines = @_;
    my @prose = prose(@lines);
    my (@found, $inside, @section);
    my ($sourced, $first) = (0, 0);
    for my $i (0 .. $#lines + 1) {
        if ($i > $#lines || $prose[$i] =~ /^#/) { # a section ends
            push @found, @section if !$sourced;
            (@section, $sourced) = ();
            last if $i > $#lines;
        }
        $sourced ||= $lines[$i] =~ $SOURCE;
        $inside = 1 if $lines[$i] =~ /^<!-- (?:figures|experiment|pattern|cards)\b/;
        $inside = 0 if $lines[$i] =~ m{^<!-- (?:/|end of )};
        # A paragraph ends with an empty line, a row of a table with its line.
        my $row = $prose[$i] =~ /^\s*\|/;
        $first = $i if $row || $i == 0 || $prose[ $i - 1 ] !~ /\S/;
        next if $inside || !($row || $i == $#lines || $prose[ $i + 1 ] !~ /\S/);
        my $paragraph = join "\n", @prose[ $first .. $i ];
        next if $paragraph =~ $MEASURED;
        while ($paragraph =~ /$FIGURE/g) {
            my ($number, $unit, $at) = ($1, $2, $first + 1 + (substr($paragraph, 0, $-[0]) =~ tr/\n//));
            push @section, [ $at, "$number $unit" ] if !in_a_csv($number =~ tr/,//dr);
        }
    }
    return @found;
}

my %reason = map { /^([^#\t][^\t]*\t[^\t]+)\t\S/ ? ($1 => 0) : () } lines('tests/book/figures_in_prose.tsv');
my @wrong;
for my $page (grep { !/\.zh\.md$/ } files()) {
    for (unfounded(lines($page))) {
        my ($line, $figure) = @$_;
        if (exists $reason{"$page\t$figure"}) {
            $reason{"$page\t$figure"}++;
        } else {
            push @wrong, "$page:$line: $figure";
        }
    }
}
is(join("\n", @wrong), q{}, 'each measured figure in running text has a source, or a reason in figures_in_prose.tsv');
is(join("\n", grep { !$reason{$_} } sort keys %reason), q{}, 'each reason is needed');

# Pages of its own: what it must see, and what it must let pass.
my %seen = (
    'a figure without a source' => [ "## A\n\nIt gains 7 %.", '7 %' ],
    'a figure in a table written by hand' => [ "## A\n\n| a | b |\n| --- | --- |\n| c | 31 µs |", '31 µs' ],
    'a source in another section' => [ "## A\n\n[rows](tests/bench/results/a.csv)\n\n## B\n\nIt takes 12 ms.", '12 ms' ],
    'a figure across two lines' => [ "## A\n\nIt draws 9\nW then.", '9 W' ],
);
for my $what (sort keys %seen) {
    my ($text, $figure) = @{ $seen{$what} };
    is_deeply([ map { $_->[1] } unfounded(split /\n/, $text) ], [$figure], "seen: $what");
}
my %passes = (
    'a CSV in its section' => "## A\n\nIt gains 7 %.\n\n[rows](tests/bench/results/a.csv)",
    'card and date' => "## A\n\nIt gains 7 % (H200, 2026-11-22).",
    'a code block' => "## A\n\n```\n7 %\n```",
    'a table of make figures' => "## A\n\n<!-- figures: x -->\n| 7 % |\n<!-- /figures -->",
);
is_deeply([ map { $_->[1] } unfounded(split /\n/, $passes{$_}) ], [], "passes: $_") for sort keys %passes;
done_testing();
