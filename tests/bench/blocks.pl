# blocks.pl - a part of figures: the tables of chapters with a problem of their own, the survey, and the pictures.
use strict;
use warnings;

our ($NONE, @LADDER, @FP8, $FEW, @chapters);

my %LABEL = (cublas => 'cuBLASLt, its first choice', cublaslt => 'best of eight of cuBLASLt');
sub label { return $LABEL{ $_[0] } // $_[0] }
sub copy_rate { my ($run) = @_; return median_at($run, '0x0x0', 'copy') }

# TB/s, if each operand is read once and C written: with `bits` a weight.
sub moved {
    my ($size, $tflops, $bits) = @_;
    my ($m, $n, $k) = split /x/, $size;
    my $scales = $bits == 4 ? 2 * $n * $k / 128 : 4 * ($m * $k / 128 + $n * $k / 128 / 128);
    return ($n * $k * $bits / 8 + $scales + $m * $k + 2 * $m * $n) / ms_of($size, $tflops) * 1e-9;
}

sub fp8 {
    my ($card) = @_;
    my $run = mode_run('fp8', $card);
    my @others = others($run);
    my $copy = copy_rate($run);
    my $text = '';
    for my $few (0, 1) {
        my @sizes = sizes_with($run, $few) or next;
        $text .= head('M x N x K', '10 TFLOP/s', 'least to most', (map { label($_) } @others), '10 / the best of them',
            $few ? ('10 TB/s', 'of a copy') : ());
        for my $size (@sizes) {
            my $own = $run->{cell}{$size}{10};
            my $rate = median_at($run, $size, 10);
            my $moved = $rate && moved($size, $rate, 8);
            $text .= line(shape_text($size), tflops_at($run, $size, 10), $own ? range_text($own, \&tflops_text) : $NONE,
                (map { tflops_at($run, $size, $_) } @others), or_none(over($rate, best_other($run, $size)), \&three_digits),
                $few ? (or_none($moved, \&two_digits), or_none(over($moved, $copy), \&two_digits)) : ());
        }
        $text .= $few ? "\nTB/s: each operand read once, C written once; beside it the share of what a device copy moves"
            . ($copy ? ', ' . two_digits($copy) . ' TB/s' : '') . ".\n"
            : line('mean of six [least]', '', '', ('') x @others, fp8_mean($run) // $NONE)
            . "\nMean: geometric, over the six. $NONE: it refuses the shape.\n\n";
    }
    return "$text\n" . source_text($run, 'paused') . "\n";
}

# The sizes with few rows, or the others: those of @FP8 first.
sub sizes_with {
    my ($run, $few) = @_;
    my %listed = map { $_ => 1 } @FP8;
    my @sizes = grep { (rows_of($_) <= $FEW) == $few } sizes_of($run);
    my %there = map { $_ => 1 } @sizes;
    return ((grep { $there{$_} } @FP8), grep { !$listed{$_} } @sizes);
}

# The sizes of a run with these weights, by M.
sub by_rows { my ($run, $weights) = @_; return sort { rows_of($a) <=> rows_of($b) } grep { /^\d+x\Q$weights\E$/ } sizes_of($run) }
sub weights_of { my ($run) = @_; my %seen; return grep { !$seen{$_}++ } map { s/^\d+x//r } sizes_of($run) }

sub w4a8 {
    my ($card) = @_;
    my $run = mode_run('w4a8', $card);
    my @others = others($run);
    my $copy = copy_rate($run);
    my $text = head('N x K', 'M', '11 TFLOP/s', 'least to most', '10_fp8', (map { label($_) } @others), '11 / 10',
        (map { '11 / ' . label($_) } @others), '11 TB/s', 'of a copy');
    my @slower;
    for my $weights (weights_of($run)) {
        my $from;
        for my $size (by_rows($run, $weights)) {
            my ($m, $n, $k) = split /x/, $size;
            my ($own, $fp8, $rate) = ($run->{cell}{$size}{11}, median_at($run, $size, 10), median_at($run, $size, 11));
            my $moved = $rate && moved($size, $rate, 4);
            $text .= line("$n x $k", $m, tflops_at($run, $size, 11), $own ? range_text($own, \&tflops_text) : $NONE,
                (map { tflops_at($run, $size, $_) } 10, @others), (map { or_none(over($rate, median_at($run, $size, $_)), \&three_digits) } 10, @others),
                or_none($moved, \&two_digits), or_none(over($moved, $copy), \&two_digits));
            $from //= $m if $rate && $fp8 && $rate < $fp8;
        }
        push @slower, (defined $from ? "from M = $from at " : 'at no M here at ') . $weights =~ s/x/ x /r;
    }
    return $text . "\nTB/s: weights, scales and activations read once, C written once; beside it the share of what a device copy moves"
        . ($copy ? ', ' . two_digits($copy) . ' TB/s' : '') . ".\nOf the measured M, fp8 is faster " . join('; ', @slower) . ".\n\n" . source_text($run, 'paused') . "\n";
}

# Milliseconds of each pattern in each way, and how many times as fast as with NCCL chapter 12 is.
sub of_several {
    my ($card) = @_;
    my @runs = grep { defined } map { several($card, $_) } 2 .. 8;
    refuse_block('no CSV has rows of mode several') if !@runs;
    my @ways = ([ 'product', 'the product only' ], [ 'nccl', 'cuBLAS and NCCL' ], [ 'copies', 'cuBLAS and copies' ], [ '12', '12' ],
        [ '12 copies', '12, A by copy engines' ]);
    my $text = '';
    for my $run (@runs) {
        my @shown = grep { my $way = $_->[0]; grep { $_->[1] =~ / \Q$way\E$/ } @{ $run->{rows} } } @ways;
        $text .= "\n" if $text ne '';
        $text .= head($run->{gpu}, 'M x N x K', (map { "$_->[1], ms" } @shown), '12 to NCCL');
        for my $size (sizes_of($run)) {
            for my $pattern (qw(gather_c gather_a reduce_scatter all_reduce)) {
                my ($own, $nccl) = map { median_at($run, $size, "$pattern $_") } '12', 'nccl';
                next if !$own;
                $text .= line($pattern, shape_text($size), (map { or_none(median_at($run, $size, "$pattern $_->[0]"), sub { ms_text(ms_of($size, $_[0])) }) } @shown),
                    or_none(over($own, $nccl), \&three_digits));
            }
        }
        $text .= "\n" . source_text($run, 'paused') . "\n";
    }
    return $text;
}

sub attention_mean { my ($run) = @_; return mean_of(map { over(median_at($run, $_, 13), best_other($run, $_)) } sizes_of($run)) // refuse_block('no CSV has 13 beside another') }

sub attention {
    my ($card) = @_;
    my $run = mode_run('attention', $card);
    my @others = others($run);
    my $text = head('head size', 'tokens', 'mask', '13 TFLOP/s', 'least to most', (map { label($_) } @others), '13 / the fastest of them');
    for my $size (sizes_of($run)) {
        my ($m, undef, $k, $d, $causal) = split /[x _]/, $size;
        my $own = $run->{cell}{$size}{13} or next;
        $text .= line($d, $m / $k . " x $k", $causal ? 'causal' : '', tflops_text($own->{median}), range_text($own, \&tflops_text),
            (map { tflops_at($run, $size, $_) } @others), or_none(over($own->{median}, best_other($run, $size)), \&three_digits));
    }
    return $text . line('mean [least]', ('') x (4 + @others), attention_mean($run)) . "\n" . source_text($run, 'paused') . "\n";
}

# The points of attention.py --more: lengths that are no multiple of a tile, few keys, few queries, grouped heads.
sub attention_more {
    my ($card) = @_;
    my $run = mode_run('attention_more', $card);
    my @others = others($run);
    my $text = head('heads', 'queries', 'keys', '13, µs', '13 TFLOP/s', (map { label($_) } @others), '13 / the fastest of them');
    for my $size (sizes_of($run)) {
        my ($m, $n, $keys, $d, $rest) = $size =~ /^(\d+)x(\d+)x(\d+) (\d+)(.*)/;
        my $causal = $rest =~ /causal/;
        my $queries = $rest =~ /_(\d+)_queries/ ? $1 : $keys;
        my $kv = $rest =~ /_(\d+)_of_kv/ ? " and $1" : '';
        my $own = $run->{cell}{$size}{13} or next;
        my $seen = $causal ? $queries * ($keys - ($queries - 1) / 2) : $queries * $keys;
        my $us = 4 * ($m / $queries) * $n * $seen / $own->{median} / 1e6;
        $text .= line($n / $d . "$kv of $d", $m / $queries . " x $queries" . ($causal ? ', causal' : ''), $keys, sprintf('%.1f', $us), tflops_text($own->{median}),
            (map { tflops_at($run, $size, $_) } @others), or_none(over($own->{median}, best_other($run, $size)), \&three_digits));
    }
    return "$text\n" . source_text($run, 'paused') . "\n";
}

# ---- the picture ---------------------------------------------------------------------------------------------------

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

# A row for each rung of the ladder and each peer: a bar for the first size, marks for the others, as ratios to cuBLAS. The three
# differ in shape and brightness.
sub picture {
    my $run = whole_run($_[0]);
    my @rows = map { [ $_->{kernel}, $_->{kernel}, $_->{name} ] } rungs($run);
    my %seen = map { $_ => 1 } 'cublas', 'cublaslt', (map { $_->[0] } @rows), map { $_->{number} } @chapters;
    push @rows, map { [ $_, '', $_ ] } grep { my $p = $_; !grep { !has($run, $_, $p) } @LADDER } grep { !$seen{$_}++ } map { $_->[1] } @{ $run->{rows} };
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

# The newest survey of this card, or that of a seed.
sub said_survey {
    my ($card, $seed) = @_;
    require './tests/bench/survey';
    my $run = newest('experiment survey', $card, sub { my $of = Survey::seed_of($_[0]{file}) // 0; return $of == ($seed // $of) })
        // refuse_block("no CSV in tests/bench/results has a survey");
    return ($run, Survey::said($run->{file}));
}

sub survey {
    my ($run, $said) = said_survey(@_);
    my $text = head('', 'shapes', 'geometric mean', 'least', '5 % are below', '10 %', '25 %', '50 %');
    for (@{ $said->{lines} }) {
        my ($name, @ratios) = @$_;
        my ($count, @shares) = Survey::shares(@ratios);
        $text .= line($name, $count, map { three_digits($_) } @shares);
    }
    return "$text\nSeed " . Survey::seed_of($run->{file}) . '. ' . source_text($run) . ".\n";
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
    for (my $tick = $low; $base - $unit * ($tick - $low) > 40; $tick += 0.2) {
        my ($y, $end) = (sprintf('%.1f', $base - $unit * ($tick - $low)), $left - 8);
        $svg .= qq(<path class="grid" d="M$left ${y}H$width"/><text class="end" x="$end" y="$y" dy="4">) . sprintf('%.1f', $tick) . "</text>\n";
    }
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

# How many kernels 09 needs: their number against the mean, the tenth percentile and the least ratio to cuBLAS.
sub kernel_curve {
    my ($card) = @_;
    my $run = newest('experiment kernels', $card) // refuse_block('no CSV has the curve of kernels');
    my %at = %{ $run->{cell}{'0x0x0'} };
    my ($width, $height, $left, $base, $top, $low, $high) = (640, 300, 56, 250, 34, 0.7, 1.12);
    my $y = sub { my ($ratio) = @_; return sprintf '%.1f', $base - ($base - $top) * ($ratio - $low) / ($high - $low) };
    my $x = sub { my ($count) = @_; return sprintf '%.1f', $left + ($width - $left - 90) * $count / 80 };
    my $svg = svg_head($width, $height, $run, 'Kernels of 09: how many, against the ratio to cuBLAS')
        . qq(<text x="$left" y="18">$run->{gpu}, $run->{date}, commit $run->{commit}</text>\n);
    for my $tick (map { $_ / 10 } 7 .. 11) {
        $svg .= sprintf qq(<path class="grid" d="M$left %sH$width"/><text class="end" x="%d" y="%s" dy="4">%.1f</text>\n), $y->($tick), $left - 8, $y->($tick), $tick;
    }
    $svg .= sprintf qq(<text class="mid" x="%s" y="%d">%d</text>\n), $x->(10 * $_), $base + 18, 10 * $_ for 1 .. 8;
    $svg .= sprintf qq(<text class="mid" x="%s" y="%d">kernels</text>\n), $x->(40), $base + 38;
    my @counts = sort { $a <=> $b } grep { /^\d+$/ } keys %at;
    for ([ 'a', 'mean', 'mean' ], [ 'b', '10 %', '10 % are below' ], [ 'c', 'least', 'least' ]) {
        my ($class, $unit, $name) = @$_;
        for my $count (grep { ($at{$_}{more}{$unit} // 0) >= $low } @counts) {
            $svg .= sprintf qq(<circle class="$class" cx="%s" cy="%s" r="2.5"/>\n), $x->($count), $y->($at{$count}{more}{$unit});
        }
        $svg .= sprintf qq(<text x="%s" y="%s" dy="4">%s</text>\n), $x->(81), $y->($at{ $counts[-1] }{more}{$unit}), $name;
    }
    return $svg . sprintf qq(<path class="axis" d="M$left ${base}H$width"/><path class="one" d="M$left %sH$width"/>\n</svg>\n), $y->(1);
}

1;
