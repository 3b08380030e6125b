# kinds.pl - a part of figures: the figures and tables of chapters with a problem of their own, and the survey.
use strict;
use warnings;
use experimental 'signatures';

our ($NONE, @LADDER, @FP8, $FEW, %MODE, %BEYOND, @runs, @every);

sub mode_run ($mode, $card) {
    return newest($mode, $card) // refuse_block("no CSV has rows of mode $mode");
}
sub sizes_of { my ($run) = @_; my %seen; return grep { !/^0x/ && !$seen{$_}++ } map { $_->[0] } @{ $run->{rows} } }
sub rows_of { return (split /x/, $_[0])[0] }
sub median_at { my ($run, $size, $kernel) = @_; my $cell = $run->{cell}{$size}{$kernel}; return $cell && $cell->{median} > 0 ? $cell->{median} : undef }
sub over { my ($x, $y) = @_; return $x && $y ? $x / $y : undef }
sub or_none { my ($x, $text) = @_; return defined $x ? $text->($x) : $NONE }
sub two_digits { return sprintf '%.2f', $_[0] }
sub three_digits { return sprintf '%.3f', $_[0] }

# Milliseconds of a launch at this many TFLOP/s.
sub ms_of { my ($size, $tflops) = @_; my ($m, $n, $k) = split /x/, $size; return 2 * $m * $n * $k / $tflops * 1e-9 }

# The kernels of a run that are not ours, in their order, without the copy; and of them the fastest at a size.
sub others { my ($run) = @_; my %seen; return grep { !/^(?:\d|copy)/ && !$seen{$_}++ } map { $_->[1] } @{ $run->{rows} } }
sub peers_of { return grep { !/^cublas/ } others($_[0]) }
sub best_other { my ($run, $size) = @_; return (sort { $b <=> $a } grep { defined } map { median_at($run, $size, $_) } others($run))[0] }
sub fp8_mean { my ($run) = @_; return mean_of(map { over(median_at($run, $_, 10), best_other($run, $_)) } @FP8) }

# The newest run on this number of GPUs.
sub several ($card, $gpus) { return newest('several', $card, sub { $_[0]{gpu} =~ /^$gpus x / }) }

# What a chapter of beyond/ came to, in one sentence without an end; dies where it is not measured.
sub figure_of_kind ($card, $number) {
    my $mode = $MODE{$number};
    my $run = run_of_kind($card, $number) // refuse_block('no CSV has ' . ($mode ? "rows of mode $mode" : 'a whole run with pauses'));
    if (!$mode) {
        my $mean = mean_text($run, $number);
        refuse_block("no CSV has $number at one of the seven shapes") if $mean eq $NONE;
        return "$mean of cuBLAS, mean of seven large shapes [least]";
    } elsif ($mode eq 'fp8') {
        my $mean = fp8_mean($run) // refuse_block('no CSV has 10 beside another at one of the six shapes');
        return "$mean of the better of " . listed(sort { $a cmp $b } map { s/ fp8$//r } peers_of($run))
            . ' and cuBLASLt, mean of six shapes [least]';
    } elsif ($mode eq 'w4a8') {
        my @few = grep { rows_of($_) >= 16 && rows_of($_) <= $FEW } sizes_of($run);
        my @ratios = sort { $a <=> $b } grep { defined } map { over(median_at($run, $_, 11), median_at($run, $_, 10)) } @few;
        refuse_block('no CSV has 11 beside 10 at few rows') if !@ratios;
        return two_digits($ratios[0]) . ' to ' . two_digits($ratios[-1]) . " times the speed of fp8 at M = 16 to $FEW";
    } elsif ($mode eq 'attention') {
        return attention_mean($run) . ' of the faster of cuDNN and FlashAttention-3, mean of twelve problems [least]';
    }
    my $size = $LADDER[0];
    my ($own, $base) = map { median_at($run, $size, $_) // refuse_block('no CSV has ' . shape_text($size) . " on two GPUs by $_") } 'gather_c 12', 'gather_c nccl';
    return shape_text($size) . ' on two GPUs in ' . three_digits(ms_of($size, $own)) . ' ms; cuBLAS, then NCCL: ' . three_digits(ms_of($size, $base)) . ' ms';
}

# The run that its figure is of; undef if there is none.
sub run_of_kind ($card, $number) {
    return $number == 12 ? several($card, 2) : newest($MODE{$number} // 'paused', $card);
}

sub headline_of_kind ($card, $number) {
    my $run = run_of_kind($card, $number) // refuse_block("no CSV has rows of mode $MODE{$number}");
    return '**' . figure_of_kind($card, $number) . "** ($run->{gpu}, $run->{date}; [all shapes](notes.md#measured))\n";
}

# The front page's table of what stands in beyond/.
sub beyond {
    my ($card) = @_;
    my $text = line('chapter', 'what it is', 'why', 'its figure') . line(('---') x 4);
    for my $c (grep { !$_->{top} } @every) {
        my ($what, $why) = @{ $BEYOND{ $c->{number} } // [ $NONE, $NONE ] };
        my $figure = eval { figure_of_kind($card, $c->{number}) };
        die $@ if !defined $figure && !(ref $@ && $@->{instead});
        $text .= line(chapter_link($c), $what, $why, $figure // 'not measured yet');
    }
    my %seen;
    my @runs = grep { $_ && !$seen{ $_->{file} }++ } map { run_of_kind($card, $_->{number}) } grep { !$_->{top} } @every;
    return "$text\n" . sources(@runs) . "\n";
}

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
        my @sizes = grep { (rows_of($_) <= $FEW) == $few } sizes_of($run) or next;
        $text .= head('M x N x K', '10 TFLOP/s', (map { label($_) } @others), '10 / the best of them',
            $few ? 'of a copy' : ());
        for my $size (@sizes) {
            my $own = $run->{cell}{$size}{10};
            my $rate = median_at($run, $size, 10);
            my $moved = $rate && moved($size, $rate, 8);
            $text .= line(shape_text($size), $own ? spread_text($own, \&tflops_text) : $NONE,
                (map { tflops_at($run, $size, $_) } @others), or_none(over($rate, best_other($run, $size)), \&three_digits),
                $few ? or_none(over($moved, $copy), \&two_digits) : ());
        }
        $text .= $few ? "\nOf a copy: each operand read once, C written once, as a share of what a device copy moves"
            . ($copy ? ', ' . two_digits($copy) . ' TB/s' : '') . ".\n"
            : line('mean of six [least]', '', ('') x @others, fp8_mean($run) // $NONE)
            . "\nMean: geometric, over the six. $NONE: it refuses the shape.\n\n";
    }
    return "$text\n" . source_text($run) . "\n";
}

sub w4a8 {
    my ($card) = @_;
    my $run = mode_run('w4a8', $card);
    my @others = others($run);
    my $copy = copy_rate($run);
    my $text = head('N x K', 'M', '11 TFLOP/s', '10_fp8', (map { label($_) } @others), '11 / 10',
        (map { '11 / ' . label($_) } @others), 'of a copy');
    my @slower;
    my %seen;
    for my $weights (grep { !$seen{$_}++ } map { s/^\d+x//r } sizes_of($run)) {
        my $from;
        for my $size (sort { rows_of($a) <=> rows_of($b) } grep { /^\d+x\Q$weights\E$/ } sizes_of($run)) {
            my ($m, $n, $k) = split /x/, $size;
            my ($own, $fp8, $rate) = ($run->{cell}{$size}{11}, median_at($run, $size, 10), median_at($run, $size, 11));
            my $moved = $rate && moved($size, $rate, 4);
            $text .= line("$n x $k", $m, $own ? spread_text($own, \&tflops_text) : $NONE,
                (map { tflops_at($run, $size, $_) } 10, @others), (map { or_none(over($rate, median_at($run, $size, $_)), \&three_digits) } 10, @others),
                or_none(over($moved, $copy), \&two_digits));
            $from //= $m if $rate && $fp8 && $rate < $fp8;
        }
        push @slower, (defined $from ? "from M = $from at " : 'at no M here at ') . $weights =~ s/x/ x /r;
    }
    return $text . "\nOf a copy: weights, scales and activations read once, C written once, as a share of what a device copy moves"
        . ($copy ? ', ' . two_digits($copy) . ' TB/s' : '') . ".\nOf the measured M, fp8 is faster " . join('; ', @slower) . ".\n\n" . source_text($run) . "\n";
}

# Milliseconds of each pattern in each way, and how many times as fast as with NCCL chapter 12 is; crossover() draws the
# other sizes.
sub of_several {
    my ($card) = @_;
    my @runs = grep { defined } map { several($card, $_) } 2 .. 8;
    refuse_block('no CSV has rows of mode several') if !@runs;
    my @ways = ([ 'product', 'the product only' ], [ 'link', 'the bytes only' ], [ 'nccl', 'cuBLAS and NCCL' ], [ 'copies', 'cuBLAS and copies' ],
        [ '12', '12' ], [ '12 copies', '12, A by copy engines' ], [ 'torch nccl', 'PyTorch and NCCL' ], [ 'torch fused', 'PyTorch, fused' ]);
    my $text = '';
    for my $run (@runs) {
        my @shown = grep { my $way = $_->[0]; grep { $_->[1] =~ / \Q$way\E$/ } @{ $run->{rows} } } @ways;
        $text .= "\n" if $text ne '';
        $text .= head($run->{gpu}, 'M x N x K', (map { "$_->[1], ms" } @shown), '12 to NCCL');
        for my $size (grep { /^(?:8192x8192x8192|2048x8192x8192|4096x14336x4096)$/ } sizes_of($run)) {
            for my $pattern (qw(gather_c gather_a reduce_scatter all_reduce)) {
                my ($own, $nccl) = map { median_at($run, $size, "$pattern $_") } '12', 'nccl';
                next if !$own;
                $text .= line($pattern, shape_text($size), (map { or_none(median_at($run, $size, "$pattern $_->[0]"), sub { three_digits(ms_of($size, $_[0])) }) } @shown),
                    or_none(over($own, $nccl), \&three_digits));
            }
        }
        $text .= "\n" . source_text($run) . "\n";
    }
    return $text;
}

sub attention_mean { my ($run) = @_; return mean_of(map { over(median_at($run, $_, 13), best_other($run, $_)) } sizes_of($run)) // refuse_block('no CSV has 13 beside another') }

# Modes: attention, or attention_more, the points of attention.py --more: lengths that are no multiple of a tile, few
# keys, few queries, grouped heads.
sub attention ($card, $mode) {
    my $run = mode_run($mode, $card);
    my @others = others($run);
    my $text = head('heads', 'queries', 'keys', '13, µs', '13 TFLOP/s', (map { label($_) } @others), '13 / the fastest of them');
    for my $size (sizes_of($run)) {
        my ($m, $n, $keys, $d, $rest) = $size =~ /^(\d+)x(\d+)x(\d+) (\d+)(.*)/;
        my $causal = $rest =~ /causal/;
        my $queries = $rest =~ /_(\d+)_queries/ ? $1 : $keys;
        my $kv = $rest =~ /_(\d+)_of_kv/ ? " and $1" : '';
        my $own = $run->{cell}{$size}{13} or next;
        my $seen = !$causal ? $queries * $keys : $mode eq 'attention' ? $queries * $keys / 2 : $queries * ($keys - ($queries - 1) / 2);
        my $us = 4 * ($m / $queries) * $n * $seen / $own->{median} / 1e6;
        $text .= line($n / $d . "$kv of $d", $m / $queries . " x $queries" . ($causal ? ', causal' : ''), $keys, sprintf('%.1f', $us), spread_text($own, \&tflops_text),
            (map { tflops_at($run, $size, $_) } @others), or_none(over($own->{median}, best_other($run, $size)), \&three_digits));
    }
    $text .= line('mean [least]', ('') x (4 + @others), attention_mean($run)) if $mode eq 'attention';
    return "$text\n" . source_text($run) . "\n";
}

# The newest survey of this card, or that of a seed.
sub said_survey {
    my ($card, $seed) = @_;
    require './tests/bench/survey';
    my $run = newest('experiment survey', $card, sub { my $of = Survey::seed_of($_[0]{file}) // 0; return $of == ($seed // $of) })
        // refuse_block("no CSV in tests/bench/results has a survey");
    return ($run, Survey::said(Survey::seed_of($run->{file}), $run->{cell}));
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

1;
