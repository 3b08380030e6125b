# text.pl - a part of the drawer (draw.pl): a timeline in the terminal. One column is a stretch of time, and its letter
# says what took most of that time.

my ($LABEL_COLUMNS, $SHARE_COLUMNS) = (17, 10);

# The letters of the columns: each is that of the look that takes most of the column's time, if it takes a third or
# more.
sub letters ($t, $row, $width) {
    my ($from, $length) = ($t->{window_begin}, $t->{window_end} - $t->{window_begin});
    my @begin = map { $from + int($length * $_ / $width) } 0 .. $width;
    my (@taken, $line);
    for my $s (@{ $row->{spans} }) {
        my $column = $s->{begin} <= $from ? 0 : max 0, int(($s->{begin} - $from) * $width / $length) - 1;
        for (; $column < $width && $begin[$column] < $s->{end}; $column++) {
            my $end = max $begin[ $column + 1 ], $begin[$column] + 1;
            my $time = min($s->{end}, $end) - max($s->{begin}, $begin[$column]);
            $taken[$column]{ $s->{look} } += $time * $s->{level} if $time > 0;
        }
    }
    for my $column (0 .. $width - 1) {
        my $taken = $taken[$column] // {};
        my $least = int(max($begin[ $column + 1 ] - $begin[$column], 1) * $CORES / 3);
        my ($most) = sort { $taken->{$b} <=> $taken->{$a} } grep { ($taken->{$_} // 0) > $least } @LOOKS;
        $line .= $most ? $LOOK{$most}{letter} : ' ';
    }
    return $line;
}

# A line of text with labels at their times, as many as fit; with $cut, a label may lose its end. Also returns how many
# labels the line has.
sub labels ($t, $width, $cut, @labels) {
    my ($line, $count, $length) = (' ' x $width, 0, $t->{window_end} - $t->{window_begin});
    for (@labels) {
        my ($time, $label) = @$_;
        my $column = int(max($time - $t->{window_begin}, 0) * $width / $length);
        $label = substr $label, 0, $width - $column if $cut;
        next if $column + length $label > $width;
        substr $line, $column, length $label, $label;
        $count++;
    }
    return ($line, $count);
}

sub axis ($t, $width) {
    my ($from, $to) = map { $t->{$_} - $t->{begin} } qw(window_begin window_end);
    my $step = int step_of(max(($to - $from) * 12 / $width, 1));
    my @marks = map { $_ * $step } int(($from + $step - 1) / $step) .. int(($to - 1) / $step);
    my ($line) = labels($t, $width, 0, map { [ $t->{begin} + $_, "|$_" ] } @marks);
    return ' ' x $LABEL_COLUMNS . "$line $t->{recording}{unit}\n";
}

# The text above the rows of a launch, if there are several launches.
sub part_text ($t, $i) {
    my ($part, $r) = ($t->{parts}[$i], $t->{recording});
    my $launch = $r->{launches}[ $part->{launch} ];
    return "\n$launch->{name}, $launch->{ctas} CTAs: none ran on this SM\n" if $part->{cta} < 0;
    my $has_rows = $part->{rows} > ($i > 0 ? $t->{parts}[ $i - 1 ]{rows} : 0);
    return "\n" . cta_text($r, $part->{cta}) . ', from ' . ($part->{begin} - $t->{begin})
        . ($has_rows ? ' to ' . ($part->{end} - $t->{begin}) : '; nothing else of it is recorded') . "\n";
}

# The words in lines, of which the first has another indentation than the rest.
sub wrapped ($columns, $indent, $between, @words) {
    my ($out, $line) = ('', shift @words);
    for my $word (@words) {
        if (length("$line$between$word") > $columns) {
            $out .= "$line\n";
            $line = "$indent$word";
        } else {
            $line .= "$between$word";
        }
    }
    return "$out$line\n";
}

sub figures ($t, $columns) {
    my $r = $t->{recording};
    my @texts;
    if ($r->{peak} > 0) {
        my $busy = sub { return 100 * busy($r, @_) };
        push @texts, sprintf 'tensor cores had work in %.1f %% of the window, %.1f %% of %s time',
            $busy->(@$t{qw(window_begin window_end)}), $busy->(@$t{qw(begin end)}),
            @{ $t->{parts} } > 1 ? "all launches'" : "this CTA's";
        $texts[0] .= sprintf ', %.1f %% of the %d %s of its SM', $busy->(0, $r->{end}), @$r{qw(end unit)}
            if $r->{ctas} > 1;
    }
    push @texts, sprintf "FLOP of the SM's tiles / (its cycles x peak): %.1f %%, at %d multiply-adds a cycle at best",
        100 * efficiency($r), $r->{peak} if efficiency($r) > 0;
    push @texts, "$r->{lost} events were lost: there was no room for them" if $r->{lost};
    return map { wrapped($columns, '    ', ' ', split / /) } @texts;
}

sub drawn_text ($t, $columns) {
    my ($r, $width, @parts) = ($t->{recording}, $columns - $LABEL_COLUMNS - $SHARE_COLUMNS, @{ $t->{parts} });
    my $several = @parts > 1;
    my $out = sprintf "timeline of %s, %s %d to %d of %d\n", $several ? @parts . ' launches' : "CTA $t->{cta}",
        $r->{unit}, map { $t->{$_} - $t->{begin} } qw(window_begin window_end end);
    $out .= "(--trace FILE has what follows)\n" if $t->{window_end} < $t->{end};
    $out .= "(steps show order and overlap; they are not time)\n" if !is_time($r);
    $out .= axis($t, $width);
    # A bar where each launch begins, and after the bar the name of its kernel.
    my @begun = grep { $_->{cta} >= 0 && $several } @parts;
    my ($begun) = labels($t, $width, 1, map { [ $_->{begin}, "|$r->{launches}[ $_->{launch} ]{name}" ] } @begun);
    $out .= sprintf "%-${LABEL_COLUMNS}s%s\n", 'kernels', $begun if $several;
    my $part = 0;
    for my $i (0 .. $#{ $t->{rows} }) {
        my $row = $t->{rows}[$i];
        my $starts = $i > 0 && $row->{kind} ne $t->{rows}[ $i - 1 ]{kind} && $row->{kind} ne 'products'; # other things
        while ($several && $part < @parts && ($part == 0 || $parts[ $part - 1 ]{rows} <= $i)) {
            $out .= part_text($t, $part++);
            $starts = 0;
        }
        $out .= "\n" if $starts;
        my @tiles = grep { $_->{line} == $i && $_->{begin} < $t->{window_end} } @{ $t->{tiles} };
        my ($names, $count) = labels($t, $width, 0, map { [ $_->{begin}, "|$_->{name}" ] } @tiles);
        $out .= ' ' x $LABEL_COLUMNS . "$names\n" if $count > 1;
        $out .= sprintf "%-${LABEL_COLUMNS}s%s", $row->{label}, letters($t, $row, $width);
        my ($share, $what) = $row->{kind} eq 'warp' ? ($row->{waiting}, 'wait') : ($row->{busy}, 'busy');
        # No shares for 01: its waits are hidden in one long span.
        $out .= ($r->{peak} > 0 ? sprintf '%4d%% %s', int(100 * $share + 0.5), $what : '') . "\n";
    }
    $out .= part_text($t, $part++) while $several && $part < @parts;
    my %used = map { $_->{look} => 1 } map { @{ $_->{spans} } } @{ $t->{rows} };
    $out .= "\n" . wrapped($columns, '', '  ', map { "$LOOK{$_}{letter} $LOOK{$_}{legend}" } grep { $used{$_} } @LOOKS);
    return join '', $out, figures($t, $columns);
}
