# blocks.pl - a part of figures: words and cells of tables, and the tables of the ladder, of limits and of experiments.
use strict;
use warnings;
use experimental 'signatures';

our ($NONE, $RESULTS, $SMALL, $COUNT, $root, @BOUND, @SHAPES, @LADDER, %MODE, @runs, @chapters, %chapter);

# ---- text ----------------------------------------------------------------------------------------------------------

sub shape_text {
    my ($m, $n, $k) = split /x/, $_[0];
    return $NONE if !$m;
    return $m == $n && $n == $k ? "$m³" : "$m x $n x $k";
}
sub tflops_text { my ($x) = @_; return sprintf $x >= 99.95 ? '%.0f' : $x >= 9.995 ? '%.1f' : '%.2f', $x }
sub ratio_text { my ($x) = @_; return sprintf $x >= 0.0995 ? '%.3f' : '%.4f', $x }
sub figure_text { my ($x) = @_; return sprintf $x < 100 ? '%.1f' : '%.0f', $x }
sub range_text { my ($cell, $text) = @_; return $text->($cell->{min}) . ' to ' . $text->($cell->{max}) }
# spread_text(CELL, FORMAT): the median, and its least and most in brackets where they differ by more than 1 % of it.
sub spread_text ($cell, $text) {
    return $text->($cell->{median}) . ($cell->{max} - $cell->{min} > 0.01 * $cell->{median} ? ' (' . range_text($cell, $text) . ')' : '');
}
sub listed { my $last = pop; return @_ ? join(', ', @_) . " and $last" : $last }

sub tflops_at { my ($run, $size, $kernel) = @_; my $cell = $run->{cell}{$size}{$kernel}; return $cell ? tflops_text($cell->{median}) : $NONE }
sub ratio_at ($run, $size, $kernel) {
    return $kernel eq 'cublas' ? 1 : has($run, $size, $kernel) ? ratio_text($run->{cell}{$size}{$kernel}{ratio}) : $NONE;
}

# "1.013 [0.996]": the geometric mean of ratios, and the least; undef if there is none.
sub mean_of {
    my @ratios = sort { $a <=> $b } grep { $_ } @_;
    my $logs = 0;
    $logs += log for @ratios;
    return @ratios ? ratio_text(exp($logs / @ratios)) . ' [' . ratio_text($ratios[0]) . ']' : undef;
}
# Of a kernel's ratios to cuBLAS over the compute-bound shapes.
sub mean_text ($run, $kernel) {
    return $kernel eq 'cublas' ? 1 : mean_of(map { has($run, $_, $kernel) ? $run->{cell}{$_}{$kernel}{ratio} : () } @BOUND) // $NONE;
}

# What such means had to leave out; '' if nothing.
sub gaps_text ($run, @kernels) {
    my ($text, @partly) = '';
    for my $kernel (@kernels) {
        my $gaps = grep { !has($run, $_, $kernel) } @BOUND;
        $text .= " $kernel has not been measured yet." if $gaps == @BOUND;
        push @partly, $kernel if $gaps && $gaps < @BOUND;
    }
    return $text . (@partly ? ' ' . listed(@partly) . ' was measured at only some of these seven, and its mean covers those.' : '');
}

sub link_text { my ($file) = @_; return '[' . ($file =~ s{.*/}{}r) . "]($root$file)" }
sub chapter_link { my ($c) = @_; return "[$c->{name}]($root$c->{path})" }
sub source_text { my ($run) = @_; return "$run->{gpu}, $run->{date}, commit $run->{commit}: " . link_text($run->{file}) }
# On the front page a link has to do: each CSV says card, date, commit and how.
sub sources { return 'Figures: ' . join(', ', map { "[$_->{gpu} $_->{date}]($root$_->{file})" } @_) . '.' }
sub line { return join('', map { $_ eq '' ? '| ' : "| $_ " } @_) . "|\n" }

# The head of a table whose columns are right-aligned but for the first.
sub head { return line(@_) . line('---', ('---:') x $#_) }

# ---- blocks --------------------------------------------------------------------------------------------------------

sub whole_run {
    return newest('paused', $_[0]) // refuse_block('no CSV has a whole run with pauses: cuBLAS and the chapters from 02 at all twelve shapes');
}
sub chapter_named { return $chapter{ $_[0] } // refuse("there is no chapter \"$_[0]\"; chapters are ", join ' ', map { $_->{name} } @chapters) }
# Ends a block with a sentence in place of its figures.
sub refuse_block { die { instead => "Not measured: $_[0].\n" } }

# The speed of this kernel's instruction alone, in TFLOP/s; 0 if there is none.
sub ceiling ($limits, $kernel) {
    my $instruction = $kernel =~ /^(?:01|02\.1)$/ ? 'none' : $kernel =~ /^0[2-5]\b/ ? 'mma.sync ' : 'wgmma ';
    my ($name) = grep { index($_, $instruction) == 0 } map { $_->[1] } @{ $limits->{rows} // [] };
    return defined $name ? $limits->{cell}{'0x0x0'}{$name}{median} : 0;
}

sub ladder {
    my ($card) = @_;
    my $run = whole_run($card);
    my $limits = newest('experiment limits', $run->{card}) // {};
    my @rungs = rungs($run);
    my $text = head('step, and its idea', 'lines changed', 'TFLOP/s at 8192³', '4096³', '2048³', 'ratio to cuBLAS at 8192³', 'mean ratio [least]', 'of the ceiling');
    my $before;
    my @rows = map {
        my $changed = defined $before ? Steps::added($before, $_->{file}) : $NONE;
        $before = $_->{file};
        [ "$_->{link} $_->{adds}", $_->{kernel}, $changed ];
    } @rungs;
    for my $row (@rows, [ 'cuBLAS', 'cublas', $NONE ], [ 'best of eight cuBLASLt', 'cublaslt', $NONE ]) {
        my ($label, $kernel, $changed) = @$row;
        my ($best, $cell) = (ceiling($limits, $kernel), $run->{cell}{ $LADDER[0] }{$kernel});
        $text .= line($label, $changed, (map { tflops_at($run, $_, $kernel) } @LADDER), ratio_at($run, $LADDER[0], $kernel), mean_text($run, $kernel), $best && $cell ? sprintf('%.2f', $cell->{median} / $best) : $NONE);
    }
    $text .= "\nLines changed: lines of code, without comments, that the row above does not have. Mean: the geometric mean of the ratio to cuBLAS over the seven compute-bound shapes, "
        . listed(map { shape_text($_) } @BOUND) . '; the least of the seven is in brackets.' . gaps_text($run, map { $_->{kernel} } @rungs) . "\n";
    if ($limits->{file}) {
        my $same = $limits->{date} eq $run->{date} && $limits->{commit} eq $run->{commit};
        $text .= 'Ceiling: the speed at 8192³ as a share of mma.sync alone (02 to 05; ' . tflops_text(ceiling($limits, '02'))
            . ' TFLOP/s) or wgmma alone (06 to 08, cuBLAS; ' . tflops_text(ceiling($limits, '08')) . ' TFLOP/s), from '
            . link_text($limits->{file}) . ($same ? '' : " of $limits->{date}, commit $limits->{commit}") . ".\n";
    }
    return "$text\n" . source_text($run) . "\n";
}

# A row for each of the twelve shapes, with cells by a function of the shape, and a row of means.
sub by_shape ($run, $head, $cells, $means, $remark, @kernels) {
    return head('M x N x K', @$head) . join('', map { line(shape_text($_), $cells->($_)) } @SHAPES) . line('mean of seven [least]', @$means)
        . "\n${remark}Mean: geometric, $SMALL." . gaps_text($run, @kernels) . "\n\n" . source_text($run) . "\n";
}

# Others' kernels that were linked into the run, next to the last two chapters.
sub peers {
    my ($card) = @_;
    # The newest ladder with peers: they are not linked each time.
    my $run = newest('paused', $card, sub { is_whole($_[0]) && peers_of($_[0]) }) // refuse_block('no peer was linked: make bench PEERS=1 measures them');
    my @columns = ((map { $_->{number} } @chapters[ -2, -1 ]), peers_of($run));
    return by_shape($run, \@columns, sub { my ($size) = @_; map { ratio_at($run, $size, $_) } @columns }, [ map { mean_text($run, $_) } @columns ],
        'Ratios to cuBLAS. ', @columns);
}

# The ladder of the front page: what each step and each chapter without steps adds, and one size; of the last chapters
# also the mean.
sub front {
    my $run = whole_run($_[0]);
    my $text = line('chapter', 'adds', "TFLOP/s at 8192³", 'ratio to cuBLAS') . line('---', '---', '---:', '---:');
    for my $rung (rungs($run)) {
        $text .= line($rung->{link}, $rung->{adds}, tflops_at($run, $LADDER[0], $rung->{kernel}), ratio_at($run, $LADDER[0], $rung->{kernel}));
    }
    my @last = grep { defined } (grep { $_->{top} } @chapters)[-1], grep { !$_->{top} } @chapters;
    return $text . line('cuBLAS', 'its default choice', tflops_at($run, $LADDER[0], 'cublas'), 1)
        . "\nOn average over seven large shapes (the least in brackets), "
        . listed(map { chapter_link($_) . ' reaches ' . mean_text($run, $_->{number}) } @last) . " of cuBLAS.\n\n" . sources($run) . "\n";
}

# The line that a chapter opens with.
sub headline {
    my ($card, $number) = @_;
    chapter_named($number);
    return headline_of_kind($card, $number) if $MODE{$number};
    my $run = whole_run($card);
    my ($before) = (sort { $b cmp $a } grep { $_ lt $number } map { $_->{number} } @chapters)[0];
    my $source = "; $run->{gpu}, $run->{date}; [all shapes](" . ($chapter{$number}{top} ? "${root}book/measuring.md#all-shapes" : 'notes.md#measured') . "))\n";
    if (!$chapter{$number}{top}) {
        return '**' . join(' → ', map { mean_text($run, $_) } $before, $number) . ' of cuBLAS, mean of seven large shapes [least]**'
            . " (chapter $before → chapter $number$source";
    }
    my @of = map { tflops_at($run, $LADDER[0], $_) } grep { defined } $before, $number;
    return '**' . join(' → ', @of) . ' TFLOP/s at ' . shape_text($LADDER[0]) . ', ' . ratio_at($run, $LADDER[0], $number) . ' of cuBLAS**'
        . (defined $before ? " (chapter $before → chapter $number" : " (chapter $number") . $source;
}

sub shapes {
    my $run = whole_run($_[0]);
    my @numbers = map { $_->{number} } @chapters;
    return by_shape($run, [ 'cuBLAS TFLOP/s', @numbers, 'cuBLASLt' ],
        sub { my ($size) = @_; return (tflops_at($run, $size, 'cublas'), map { ratio_at($run, $size, $_) } @numbers, 'cublaslt') },
        [ '', map { mean_text($run, $_) } @numbers, 'cublaslt' ], 'Ratios to cuBLAS; cuBLASLt is the best of eight algorithms. ', @numbers);
}

sub limits {
    my ($card) = @_;
    my $run = newest('experiment limits', $card) // refuse_block('no CSV has what the chip can do at best; make limits writes one');
    my $text = head('alone', 'median', 'least to most', 'unit');
    for my $row (@{ $run->{rows} }) {
        my $cell = $run->{cell}{ $row->[0] }{ $row->[1] };
        $text .= line($row->[1], sprintf('%.2f', $cell->{median}), sprintf('%.2f to %.2f', @$cell{qw(min max)}), $cell->{unit}) if $cell->{unit};
    }
    return "$text\n" . source_text($run) . "\n";
}

# The variants of an experiment in the order of the plan, as [ NAME, the variant that it is compared with ].
sub variants ($name) {
    my ($base, @variants);
    for my $line (split /\n/, contents('tests/bench/plans/experiments')) {
        my ($group, $variant) = map { s/^\s+|\s+$//gr } split /\|/, $line;
        next if $line =~ /^(?:#|\s*$)/ || $group ne $name;
        $base = $variant if $variant =~ s/^= // || !defined $base;
        push @variants, [ $variant, $base ];
    }
    return @variants ? @variants : refuse("there is no experiment \"$name\" in tests/bench/plans/experiments");
}

# latency's launches take a + b K / 64. b between the first K and the third, and between the last two, where L2 does not
# keep the operands.
sub latency ($run, @variants) {
    my @sizes = sort { (split /x/, $a)[2] <=> (split /x/, $b)[2] } sizes_of($run);
    my @k_tiles = map { (split /x/)[2] / 64 } @sizes;
    my ($text, $rows) = (head('µs', map({ 'K = ' . 64 * $_ } @k_tiles), 'a', 'b', "b from K = ${\(64 * $k_tiles[-2])}"), '');
    for my $variant (@variants) {
        my @tflops = grep { $_ } map { $run->{cell}{$_}{$variant}{median} } @sizes;
        next if @tflops < @sizes;
        my @us = map { 1000 * ms_of($sizes[$_], $tflops[$_]) } 0 .. $#sizes;
        my ($b, $far) = map { ($us[ $_->[1] ] - $us[ $_->[0] ]) / ($k_tiles[ $_->[1] ] - $k_tiles[ $_->[0] ]) } [ 0, 2 ], [ -2, -1 ];
        $rows .= line($variant, map { two_digits($_) } @us, $us[0] - $b * $k_tiles[0], $b, $far);
    }
    return ($text, $rows);
}

# A size has its rows, if there is one or something was counted; of several sizes each has a column.
sub experiment {
    my ($card, $name) = @_;
    my @variants = variants($name);
    my $run = newest("experiment $name", $card) // refuse_block("no CSV in $RESULTS has this experiment");
    my @units = @{ $run->{units} // [] };
    for my $of (values %{ $run->{cell} }) { # what was counted alone has no figure
        delete @$of{ grep { !defined $of->{$_}{median} } keys %$of };
    }
    my %seen;
    my @sizes = grep { !$seen{$_}++ } map { $_->[0] } @{ $run->{rows} };
    my @missing = grep { my $variant = $_; !grep { $run->{cell}{$_}{$variant} } @sizes } map { $_->[0] } @variants;
    my $ratio = sub {
        my ($cell, $base) = @_;
        return $base ? sprintf('%.3f', $cell->{median} / $base->{median}) : $NONE;
    };
    my ($text, $rows);
    if ($name eq 'latency') {
        ($text, $rows) = latency($run, map { $_->[0] } @variants);
    } elsif (@sizes > 1 && !@units) {
        $text = head('TFLOP/s, ratio', map { shape_text($_) } @sizes);
        for my $variant (@variants) {
            my @cells = map {
                my ($cell, $base) = @{ $run->{cell}{$_} }{@$variant};
                $cell ? spread_text($cell, \&figure_text) . ', ' . $ratio->($cell, $base) : '';
            } @sizes;
            $rows .= line($variant->[0], @cells) if grep { $_ ne '' } @cells;
        }
    } else {
        my $is_one = @sizes == 1;
        $text = head($is_one ? 'at ' . shape_text($sizes[0]) : ('variant', 'M x N x K'), 'TFLOP/s', 'ratio', 'SM MHz', @units);
        $text =~ s/---:/---/ if !$is_one;
        for my $size (@sizes) {
            for my $variant (@variants) {
                my ($cell, $base) = @{ $run->{cell}{$size} }{@$variant};
                next if !$cell;
                $rows .= line($variant->[0], $is_one ? () : shape_text($size), spread_text($cell, \&figure_text), $ratio->($cell, $base),
                    defined $cell->{more}{MHz} ? sprintf('%.0f', $cell->{more}{MHz}) : $NONE, map { $cell->{more}{$_} // $NONE } @units);
            }
        }
    }
    refuse_block("no CSV in $RESULTS has this experiment") if !defined $rows;
    return $text . $rows . (@missing ? "\nWithout a figure: " . listed(@missing) . ".\n" : '')
        . "\nMeasured: $run->{gpu}, $run->{date}, commit $run->{commit} (" . link_text($run->{file}) . ").\n";
}

1;
