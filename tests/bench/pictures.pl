# pictures.pl - a part of figures: the ladder, the survey and the crossover of 12, in SVG.
use strict;
use warnings;
use experimental 'signatures';

our @LADDER;

sub svg_head {
    my ($width, $height, $run, $title) = @_;
    my $source = ($run->{file} =~ s{.*/}{}r) . ", commit $run->{commit}";
    return <<"SVG";
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height" role="img">
<!-- drawn by tests/bench/figures from $source -->
<title>$title</title>
<style>
text{font:12px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}.mid{text-anchor:middle}.end{text-anchor:end}
.page{fill:#fff}.grid{stroke:#d8dee4}.axis{stroke:#59636e}.one{stroke:#c8324a;stroke-width:1.5}text.one{fill:#c8324a;stroke:none}
.a{fill:#2f5f9e}.b{fill:#58a68f}.c{fill:#f0c05a}.on{font-size:9.5px;text-anchor:middle}text.on{fill:#101418}text.on.a{fill:#fff}
text.low{font-size:10px;text-anchor:middle}
\@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#2b323b}.axis{stroke:#9198a1}.one{stroke:#ff7b8f}text.one{fill:#ff7b8f}
}
</style>
<rect class="page" width="$width" height="$height"/>
SVG
}

# Lines at these ratios from one x to another, and the ratios to the left of them. $y->(RATIO) is where one is.
sub y_grid ($from, $to, $y, @ticks) {
    return join '', map { sprintf qq(<path class="grid" d="M$from %sH$to"/><text class="end" x="%d" y="%s" dy="4">%.1f</text>\n), $y->($_), $from - 8, $y->($_), $_ } @ticks;
}

# A row for each rung of the ladder and each peer: a bar for the first size, marks for the others, as ratios to cuBLAS.
# The three differ in shape and brightness.
sub picture {
    my $run = whole_run($_[0]);
    my @rows = map { [ $_->{kernel}, $_->{kernel}, $_->{name} ] } rungs($run);
    push @rows, map { [ $_, '', $_ ] } grep { my $p = $_; !grep { !has($run, $_, $p) } @LADDER } peers_of($run);
    @rows = grep { my $kernel = $_->[0]; grep { has($run, $_, $kernel) } @LADDER } @rows;
    my ($left, $unit, $top, $step) = (262, 430, 56, 22); # unit: the length of cuBLAS
    my ($width, $base) = (800, $top + $step * @rows);
    my $height = $base + 30;
    my $title = "$run->{gpu}, $run->{date}, commit $run->{commit}; cuBLAS " . listed(map { tflops_at($run, $_, 'cublas') } @LADDER) . ' TFLOP/s';
    my $svg = svg_head($width, $height, $run, 'The ladder: speed of each step, as a ratio to cuBLAS') . qq(<text x="8" y="18">$title</text>\n);
    my @mark = ('<rect class="a" x="-6" y="-6" width="12" height="12"/>', '<circle class="b" r="5"/>', '<path class="c" d="M0 -6L6 5H-6Z"/>');
    for my $s (0 .. 2) {
        my $x = $left + 6 + 100 * $s;
        $svg .= qq(<g transform="translate($x 36)">$mark[$s]<text x="12" y="4">) . shape_text($LADDER[$s]) . "</text></g>\n";
    }
    for my $tick (map { $_ / 10 } 0, 2, 4, 6, 8, 10, 12) {
        my ($x, $y) = ($left + $unit * $tick, $base + 18);
        $svg .= qq(<path class="grid" d="M$x ${top}V$base"/><text class="mid" x="$x" y="$y">) . sprintf('%.1f', $tick) . "</text>\n";
    }
    for my $i (0 .. $#rows) {
        my ($kernel, $number, $name) = @{ $rows[$i] };
        my $y = $top + $step * $i + $step / 2;
        my ($text, $end) = ($y + 4, $left - 8);
        $svg .= qq(<text x="8" y="$text">$number</text><text x="46" y="$text">$name</text>);
        my $x = $left;
        for my $s (grep { has($run, $LADDER[$_], $kernel) } 0 .. 2) {
            my $ratio = $run->{cell}{ $LADDER[$s] }{$kernel}{ratio};
            my $at = sprintf '%.1f', $left + $unit * $ratio;
            $x = $at if $at > $x;
            $svg .= $s == 0 ? sprintf qq(<rect class="a" x="$left" y="%d" width="%.1f" height="12"/>), $y - 6, $unit * $ratio
                : qq(<g transform="translate($at $y)">$mark[$s]</g>);
        }
        my ($first) = map { $run->{cell}{ $LADDER[0] }{$kernel}{ratio} } grep { has($run, $LADDER[0], $kernel) } 1;
        $svg .= qq(<text x="@{[ $x + 10 ]}" y="$text">) . ratio_text($first) . '</text>' if defined $first;
        $svg .= "\n";
    }
    my $one = $left + $unit;
    return $svg . qq(<path class="axis" d="M$left ${top}V$base"/><path class="one" d="M$one ${top}V$base"/>)
        . qq(<text class="one mid" x="$one" y="@{[ $top - 6 ]}">cuBLAS = 1</text>\n</svg>\n);
}

# Shapes of the survey: what there is to compute against the ratio, a mark for each, by kind.
sub surveyed {
    my ($run, $said) = said_survey(@_);
    my @points = @{ $said->{points} };
    my ($width, $height, $left, $base, $decade) = (760, 318, 64, 270, 110); # from 0.01 GFLOP on
    my ($low, $high) = map { my $least = $_; (sort { $a <=> $b } map { $_->[2] } @points)[$least] } 0, -1;
    $low = int($low * 5) / 5;
    my $unit = ($base - 44) / (int($high * 5 + 1) / 5 - $low);
    my $svg = svg_head($width, $height, $run, 'Shapes that a seed has drawn: speed of 09, as a ratio to cuBLAS')
        . qq(<text x="$left" y="18">$run->{gpu}, $run->{date}, commit $run->{commit}, seed ) . Survey::seed_of($run->{file}) . "</text>\n";
    my $mark = sub {
        my ($kind, $x, $y, $text) = @_;
        my $shape = ('circle r="4"', 'rect x="-3.5" y="-3.5" width="7" height="7"', 'path d="M0 -5L5 4H-5Z"')[$kind];
        return sprintf qq(<g transform="translate(%.1f %.1f)"><$shape class="%s"/>$text</g>\n), $x, $y, (qw(a b c))[$kind];
    };
    for my $kind (0 .. 2) {
        $svg .= $mark->($kind, $left + 130 * $kind, $base + 36, qq(<text x="9" y="4">$Survey::KINDS[$kind]</text>));
    }
    $svg .= y_grid($left, $width, sub { sprintf '%.1f', $base - $unit * ($_[0] - $low) }, grep { $_ >= $low - 0.01 && $base - $unit * ($_ - $low) > 40 } map { $_ / 5 } 0 .. 20);
    for my $power (-2 .. 4) {
        $svg .= sprintf qq(<text class="mid" x="%d" y="%d">%s</text>\n), $left + $decade * ($power + 2), $base + 16, 10**$power;
    }
    my ($half, $end, $one) = (($base + 44) / 2, $width - 8, sprintf '%.1f', $base - $unit * (1 - $low));
    $svg .= qq{<text class="mid" transform="translate(16 $half) rotate(-90)">ratio to cuBLAS</text>}
        . qq(<text class="end" x="$end" y=") . ($base + 40) . qq(">GFLOP</text>\n<path class="axis" d="M$left ${base}H$width"/><path class="one" d="M$left ${one}H$width"/>\n);
    for (@points) {
        my ($shape, $kind, $ratio) = @$_;
        my ($m, $n, $k) = split /x/, $shape;
        my $decades = log(2 * $m * $n * $k / 1e7) / log(10);
        $svg .= $mark->($kind, $left + $decade * ($decades > 0 ? $decades : 0), $base - $unit * ($ratio - $low),
            '<title>' . shape_text($shape) . ': ' . three_digits($ratio) . '</title>');
    }
    return "$svg</svg>\n";
}

# The patterns of 12 on several GPUs: M against the ratio to cuBLAS, then NCCL; a panel for each number of GPUs.
sub crossover {
    my ($card) = @_;
    my @shown = grep { defined } map { several($card, $_) } 2 .. 8;
    my $cube = sub { my (undef, $n, $k) = split /x/, $_[0]; return $n == 8192 && $k == 8192 };
    refuse_block('no CSV has rows of mode several') if !@shown;
    my ($panel, $left, $base, $top, $low, $high) = (400, 52, 250, 50, 0.8, 2.0);
    my $y = sub { my ($ratio) = @_; return sprintf '%.1f', $base - ($base - $top) * ($ratio - $low) / ($high - $low) };
    my $svg = svg_head($panel * @shown, 300, $shown[-1], 'Chapter 12 on several GPUs: speed at M x 8192 x 8192, as a ratio to cuBLAS, then NCCL');
    for my $i (0 .. $#shown) {
        my $run = $shown[$i];
        my ($from, $to) = ($panel * $i + $left, $panel * ($i + 1) - 92);
        my $x = sub { my ($m) = @_; return sprintf '%.1f', $from + ($to - $from) * log($m / 128) / log(128) };
        $svg .= qq(<text x="$from" y="18">$run->{gpu}, $run->{date}</text>\n);
        $svg .= y_grid($from, $to, $y, map { $_ / 5 } 4 .. 10);
        $svg .= sprintf qq(<text class="mid" x="%s" y="%d">%d</text>\n), $x->(2**$_), $base + 18, 2**$_ for 7, 9, 11, 13;
        $svg .= sprintf qq(<text class="mid" x="%s" y="%d">M</text>\n), $x->(1448), $base + 38;
        my @sizes = sort { rows_of($a) <=> rows_of($b) } grep { $cube->($_) } sizes_of($run);
        my (@ends, $dash);
        for my $pattern (qw(gather_c gather_a reduce_scatter all_reduce)) {
            my @points = map { my $ratio = over(median_at($run, $_, "$pattern 12"), median_at($run, $_, "$pattern nccl")); $ratio ? [ $x->(rows_of($_)), $y->($ratio) ] : () } @sizes;
            next if !@points;
            $svg .= '<path class="axis" fill="none" stroke-dasharray="' . ($dash += 2) . ' 2" d="M' . join('L', map { "@$_" } @points) . "\"/>\n"
                . join('', map { qq(<circle class="a" cx="$_->[0]" cy="$_->[1]" r="2.5"/>) } @points) . "\n";
            push @ends, [ $points[-1][1], $pattern ];
        }
        my $last = 0;
        for my $end (sort { $a->[0] <=> $b->[0] } @ends) { # labels do not touch
            $last = $end->[0] > $last + 14 ? $end->[0] : $last + 14;
            $svg .= sprintf qq(<text x="%d" y="%s" dy="4">%s</text>\n), $to + 6, $last, $end->[1];
        }
        $svg .= sprintf qq(<path class="axis" d="M$from ${base}H$to"/><path class="one" d="M$from %sH$to"/>\n), $y->(1);
    }
    return "$svg</svg>\n";
}

1;
