# rows.pl - a part of the drawer (draw.pl): events become rows: which warp plays which role, what a wait waits for.

# What a stretch of a row shows, in the order of legends: its name there, its letter in the terminal, its class in the
# SVG, and whether it counts as waiting.
my (%LOOK, @LOOKS);
for ([ other => 'other instructions', '-', 'o', 0 ], # instructions that are not recorded
    [ load => 'load on its way', '=', 'l', 0 ],
    [ data => 'waits for data', '.', 'd', 1 ],
    [ room => 'waits for a free stage', '_', 'r', 1 ], # a producer
    [ turn => 'waits for its turn', '~', 'u', 1 ], # for another consumer
    [ barrier => 'waits for other warps', ':', 'b', 1 ],
    [ fragments => 'loads fragments', 'f', 'f', 0 ],
    [ math => 'multiplies', '#', 'm', 0 ],
    [ products => 'waits for its products', 'w', 'p', 0 ], # the tensor cores work
    [ exponentials => 'computes exponentials', 'x', 'f', 0 ],
    [ epilogue => 'epilogue', 'E', 'e', 0 ],
    [ stores => 'waits for stores', ',', 't', 1 ],
    [ store => 'store on its way', 's', 's', 0 ]) {
    my ($look, @style) = @$_;
    push @LOOKS, $look;
    @{ $LOOK{$look} }{qw(legend letter css is_wait)} = @style;
}
my %LOOK_OF = (copy_wait => 'data', mma => 'math', wgmma => 'math', wgmma_wait => 'products', store_wait => 'stores',
    copy => 'load', map { $_ => $_ } qw(barrier fragments exponentials epilogue load store));
my ($MAX_WARP_ROWS, $WINDOW_TILES, $WINDOW_K_TILES, $DETAIL_TILES) = (4, 4, 18, 3);

sub look_of ($e) {
    return $LOOK_OF{ $e->{kind} } // 'other' if $e->{kind} ne 'wait';
    return $e->{name} eq 'empty' ? 'room' : $e->{name} eq 'turn' ? 'turn' : 'data';
}

# A span has a begin, an end and a look; its level is how many of the tensor cores have work, in other rows 4; event is
# undefined for the gap between two events.
sub span_add ($spans, $begin, $end, $look, $event = undef, $level = $CORES) {
    push @$spans, { begin => $begin, end => $end, look => $look, level => $level, event => $event } if $end > $begin;
}

# The events of a warp, one at a time, and the gaps between them. A wait inside an epilogue splits it.
sub warp_spans ($part, @events) {
    my ($until, @spans) = $part->{begin};
    for my $e (@events) {
        my ($last, $begin) = (@spans ? $spans[-1] : undef, $e->{begin});
        if ($begin < $until && $last && $last->{event} && $last->{event}{kind} eq 'epilogue' && $e->{end} < $until) {
            my $rest = { %$last, begin => $e->{end}, end => $until };
            $last->{end} = $begin;
            span_add(\@spans, $begin, $e->{end}, look_of($e), $e);
            push @spans, $rest;
            next;
        }
        $begin = max $begin, $until;
        span_add(\@spans, $until, $begin, 'other');
        span_add(\@spans, $begin, $e->{end}, look_of($e), $e);
        $until = max $until, $e->{end};
    }
    return \@spans;
}

# How many of the SM's tensor cores these products keep busy: a span for each stretch of the same number.
sub tensor_spans ($part, @products) {
    my (@edges, @spans);
    for my $e (@products) {
        my @cores = $e->{kind} eq 'wgmma' ? 0 .. $CORES - 1 : $e->{warp} % $CORES;
        push @edges, [ $e->{begin}, 1, @cores ], [ $e->{end}, -1, @cores ];
    }
    @edges = sort { $a->[0] <=> $b->[0] } @edges;
    my ($level, $since, @pieces) = (0, $part->{begin}, (0) x $CORES);
    for my $i (0 .. $#edges) {
        my ($time, $change, @cores) = @{ $edges[$i] };
        $pieces[$_] += $change for @cores;
        my $now = grep { $_ > 0 } @pieces;
        next if $now == $level || $i < $#edges && $edges[ $i + 1 ][0] == $time;
        span_add(\@spans, $since, $time, 'math', undef, $level) if $level > 0;
        ($level, $since) = ($now, $time);
    }
    return \@spans;
}

# Rows follow the data from top to bottom: loads, warps, tensor cores, stores. The kind of a row is async (loads of a
# stage, copies, stores), warp, tensor (the cores as one) or products (of a warpgroup, or of the CTAs that share the
# cores).
sub add_rows ($t, $part, $all_warps) {
    my ($r, $cta) = ($t->{recording}, $part->{cta});
    my @events = @{ $r->{of_cta}{$cta} // [] };
    my $row = sub ($kind, $label, $spans, $number = 0) {
        push @{ $t->{rows} }, { kind => $kind, cta => $cta, label => $label, number => $number, spans => $spans };
    };
    my $async = sub ($kind, $label, $what, $is_of = sub { 1 }) {
        my @spans;
        span_add(\@spans, @$_{qw(begin end)}, look_of($_), $_) for grep { $_->{kind} eq $what && $is_of->() } @events;
        $row->($kind, $label, \@spans);
    };
    # The warps' events show their roles: a producer waits for an empty stage, and a consumer warpgroup has products.
    # Products that a single thread starts (14) do not count.
    my (%of_warp, %kinds, %produces, %has_products);
    for my $e (@events) {
        push @{ $of_warp{ $e->{warp} } }, $e if $e->{warp} >= 0;
        $kinds{ $e->{kind} } = 1;
        $produces{ $e->{warp} } = 1 if $e->{kind} eq 'wait' && $e->{name} eq 'empty';
        $has_products{ $e->{unit} } = 1 if $e->{kind} eq 'wgmma' && $e->{unit} >= 0;
    }
    my @loads = grep { $_->{kind} eq 'load' } @events;
    for my $stage (@loads ? 0 .. max map { $_->{stage} } @loads : ()) {
        $async->('async', ($stage ? '       ' : 'loads: ') . "stage $stage", 'load',
            sub { $_->{stage} == $stage && $_->{name} eq $loads[-1]{name} });
    }
    $async->('async', 'loads of warp 0', 'copy', sub { $_->{unit} == 0 }) if $kinds{copy};
    my ($consumers, $shown) = (0, 0);
    my @groups = sort { $a <=> $b } keys %has_products;
    my %name = map { $_ => %produces ? 'consumer ' . $consumers++ : "warpgroup $_" } @groups;
    for my $warp (sort { $a <=> $b } keys %of_warp) {
        my $label = !@groups ? "warp $warp" : $produces{$warp} ? 'producer'
            : $warp % 4 == 0 ? $name{ $warp / 4 } : undef;
        next if !defined $label;
        last if !@groups && !$all_warps && $shown++ == $MAX_WARP_ROWS;
        $row->('warp', $label, warp_spans($part, grep { $_->{kind} ne 'tile' } @{ $of_warp{$warp} }), $warp);
    }
    if ($r->{peak} > 0 && (launches($r) == 1 || $kinds{mma} || $kinds{wgmma})) {
        my @products = grep { $_->{end} > $part->{begin} && $_->{begin} < $part->{end} } @{ $r->{products} };
        my $others = tensor_spans($part, grep { $_->{cta} != $cta } @products);
        $row->('tensor', 'tensor cores', tensor_spans($part, @products));
        if (@$others) {
            $row->('products', '  for this CTA', tensor_spans($part, grep { $_->{cta} == $cta } @products));
            $row->('products', '  for other CTAs', $others);
        }
    }
    for my $group (@groups) {
        $async->('products', "  for $name{$group}", 'wgmma', sub { $_->{unit} == $group });
    }
    $async->('async', 'stores', 'store') if $kinds{store};
}

# The tiles of C that the warps of each row take, in the order of the rows.
sub find_tiles ($t) {
    for my $i (grep { $t->{rows}[$_]{kind} eq 'warp' } 0 .. $#{ $t->{rows} }) {
        my $row = $t->{rows}[$i];
        push @{ $t->{tiles} }, map { { begin => $_->{begin}, name => "tile $_->{row},$_->{col}", line => $i } }
            grep { $_->{kind} eq 'tile' && $_->{warp} == $row->{number} } @{ $t->{recording}{of_cta}{ $row->{cta} } };
    }
}

# ---- the window: the part of the CTA's life that is drawn

sub begins ($row, $look) { return map { $_->{begin} } grep { $_->{look} eq $look } @{ $row->{spans} } }

# When each k-tile of the first row that multiplies begins: its waits show this.
sub k_tiles ($t) {
    my @warps = grep { $_->{kind} eq 'warp' } @{ $t->{rows} };
    my $row = first { begins($_, 'math') || begins($_, 'products') } @warps or return;
    my @waits = begins($row, 'data');
    my @barriers = begins($row, 'barrier'); # 02 waits at two in a k-tile; a GPU records no other wait
    return @waits ? @waits : map { $barriers[ 2 * $_ ] } 0 .. @barriers / 2 - 1;
}

# A CTA of many tiles is cut where the first few are done; any other CTA after a number of k-tiles.
sub default_window_end ($t) {
    return $t->{end} if @{ $t->{parts} } > 1;
    my @taken = grep { $_->{line} == $t->{tiles}[0]{line} } @{ $t->{tiles} }; # by the producer, if there is one
    return $taken[$WINDOW_TILES]{begin} if @taken > $WINDOW_TILES;
    return (@taken < 2 ? (k_tiles($t))[$WINDOW_K_TILES] : undef) // $t->{end};
}

# A part of the window to enlarge, because the spans of a warp that loads fragments are thin: three k-tiles in the
# middle of the CTA. Returns its begin and end, or nothing if no warp loads fragments or the window lacks the part.
sub detail ($t) {
    my @tiles = k_tiles($t);
    return if @tiles < 2 * $DETAIL_TILES || !grep { begins($_, 'fragments') } @{ $t->{rows} };
    my ($begin, $end) = @tiles[ int(@tiles / 2) - 2, int(@tiles / 2) - 2 + $DETAIL_TILES ];
    return $begin >= $t->{window_begin} && $end <= $t->{window_end} ? ($begin, $end) : ();
}

# Sets the shares of the window in which each row's warp waits, but for its products, and in which its unit has work.
sub find_shares ($t) {
    my ($from, $to) = @$t{qw(window_begin window_end)};
    for my $row (@{ $t->{rows} }) {
        my ($waiting, $busy, $until) = (0, 0, $from);
        for my $s (@{ $row->{spans} }) {
            my ($begin, $end) = (max($s->{begin}, $from), min($s->{end}, $to));
            $waiting += $end - $begin if $end > $begin && $LOOK{ $s->{look} }{is_wait};
            $begin = max $begin, $until;
            ($busy, $until) = ($busy + ($end - $begin) * $s->{level}, $end) if $end > $begin;
        }
        $row->{waiting} = $waiting / ($to - $from);
        $row->{busy} = $busy / ($to - $from) / $CORES;
    }
}

# ---- a CTA

# The rows of this CTA (-1: the lowest), and of one CTA of each other launch. With $all, only this CTA, but all of its
# warps and its time. parts: for each launch its CTA (-1: none ran on this SM), its begin and end, and the number of
# rows up to its last one.
sub timeline ($r, $cta, $all = 0) {
    $cta = min(map { $_->{cta} } grep { $_->{kind} eq 'cta' } @{ $r->{events} }) // -1 if $cta < 0;
    my %t = (recording => $r, cta => $cta, rows => [], tiles => [], parts => []);
    my $wanted = launch_of($r, $cta);
    for my $launch ($all ? $wanted : 0 .. launches($r) - 1) {
        my $own = $launch == $wanted ? $cta : cta_of_launch($r, $launch, -1);
        my $events = $r->{of_cta}{$own} // [];
        my $part = { launch => $launch, cta => @$events ? $own : -1 };
        ($part->{begin}, $part->{end}) = (min(map { $_->{begin} } @$events), max(map { $_->{end} } @$events));
        add_rows(\%t, $part, $all) if @$events;
        $part->{rows} = @{ $t{rows} };
        push @{ $t{parts} }, $part;
    }
    my @there = grep { $_->{cta} >= 0 } @{ $t{parts} };
    ($t{begin}, $t{end}) = (min(map { $_->{begin} } @there), max(map { $_->{end} } @there));
    find_tiles(\%t);
    $t{window_begin} = $t{begin};
    $t{window_end} = $all ? $t{end} : default_window_end(\%t);
    find_shares(\%t);
    return \%t;
}

# The step of an axis: 1, 2 or 5 times a power of ten, at least `least`.
sub step_of ($least) {
    my ($step, $i) = (1, 0);
    $step /= 10 while $step > $least;
    $step = $i++ % 3 == 1 ? $step / 2 * 5 : $step * 2 while $step < $least;
    return $step;
}
