# svg.pl - a part of the drawer (draw.pl): a timeline as SVG for a page of 960 pixels, for light and dark.

# The plot is right of the labels, left of the shares, under the title. Heights are those of a row of a warp or of the
# tensor cores, of a lane of an asynchronous unit, and of the names of tiles above a row.
my ($WIDTH, $LEFT, $RIGHT, $TOP) = (960, 126, 872, 62);
my ($ROW_HEIGHT, $LANE_HEIGHT, $TILE_HEIGHT, $GAP, $GROUP_GAP) = (20, 7, 12, 4, 10);
my ($MAX_LANES, $MOST_LINES) = (8, 48); # lines from loads to waits: more are not readable

# Waits are equally pale, so each has a pattern of its own; all other looks differ in brightness, because pictures are
# also read in grey.
my @PATTERNS = ([ 'idle', 'rect width="2" height="6"', 6, 45 ], [ 'r', 'circle cx="2" cy="2" r="1"', 5, 45 ],
    [ 'u', 'rect width="2" height="6"', 6, -45 ], [ 'b', 'rect width="4" height="1.5"', 4, 0 ],
    [ 't', 'rect width="1.5" height="4"', 4, 0 ]);

# Colours are plain values, and those of a dark page are in a media query: a program that knows neither media queries
# nor CSS variables shows the light picture.
my $STYLE = <<'END' =~ s/\\\n//gr; # a line that ends in a backslash goes on in the next
<style>
text{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;font-size:11px;fill:#1f2328}
.title{font-size:15px;font-weight:600}.soft{fill:#59636e}.small{font-size:9.5px}.end{text-anchor:end}\
.mid{text-anchor:middle}
.page{fill:#ffffff}.grid{stroke:#d8dee4;stroke-width:1}.land{stroke:#2f74d0;stroke-width:.8;opacity:.55;fill:none}
.tile{stroke:#1f2328;stroke-width:1;opacity:.6}.frame{stroke:#1f2328;stroke-width:1;fill:none}
.m{fill:#12693f}.p{fill:#d5eede}.f{fill:#7a4bd0}.d{fill:#f2b5a7}.l{fill:#2f74d0}.e{fill:#e6b010}.s{fill:#a8730d}\
.o{fill:#7d8690}
.idle{fill:url(#idle)}.idle0{fill:#fbe3df}.idle1{fill:#e9a79c}.r{fill:url(#r)}.r0{fill:#eef1f4}.r1{fill:#98a2ad}
.u{fill:url(#u)}.u0{fill:#f0def5}.u1{fill:#b06fc4}.b{fill:url(#b)}.b0{fill:#fdf0dc}.b1{fill:#d99a3d}\
.t{fill:url(#t)}.t0{fill:#f3ecd2}.t1{fill:#a8965a}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.soft{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#2b323b}.land{stroke:#5a9bf2}
.tile{stroke:#e6edf3}.frame{stroke:#e6edf3}
.m{fill:#66eaac}.p{fill:#1b482f}.f{fill:#8c63d6}.d{fill:#b8442f}.l{fill:#5a9bf2}.e{fill:#c9951f}.s{fill:#c08d2e}\
.o{fill:#4a525b}
.idle0{fill:#33191a}.idle1{fill:#7d3a34}.r0{fill:#20262d}.r1{fill:#6b7681}.u0{fill:#43274b}.u1{fill:#a468b4}\
.b0{fill:#49341a}.b1{fill:#b07d36}.t0{fill:#3a3219}.t1{fill:#8d7a40}}
</style>
END

sub escaped ($text) {
    my %entity = ('<' => '&lt;', '>' => '&gt;', '&' => '&amp;', '"' => '&quot;');
    return $text =~ s/([<>&"])/$entity{$1}/gr;
}

sub svg_text ($x, $y, $class, $text) {
    return '' if $text eq '';
    return sprintf qq(<text x="%.1f" y="%.1f" class="%s">%s</text>\n), $x, $y, $class, escaped($text =~ s/^ +//r);
}

sub head ($height, $title, $what) {
    my $patterns = join '', map {
        my ($name, $mark, $size, $turn) = @$_;
        my $square = qq(width="$size" height="$size");
        qq(<pattern id="$name" $square patternUnits="userSpaceOnUse" patternTransform="rotate($turn)">)
            . qq(<rect $square class="${name}0"/><$mark class="${name}1"/></pattern>\n)
    } @PATTERNS;
    my $page = qq(width="$WIDTH" height="$height");
    return qq(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $WIDTH $height" $page role="img">\n)
        . qq(<title>$title</title>\n<desc>${\escaped($what)}</desc>\n$STYLE<defs>$patterns</defs>\n)
        . qq(<rect $page class="page"/>\n);
}

# ---- a panel: the rows over a stretch of time, from begin to end. An enlarged panel repeats a part of the picture
# above it, without loads, names of tiles and shares. places has each row's y, height and lanes, and whether its tiles
# are named.

sub x_of ($panel, $time) {
    my $share = ($time - $panel->{begin}) / ($panel->{end} - $panel->{begin});
    return min max($LEFT + $share * ($RIGHT - $LEFT), $LEFT), $RIGHT;
}

sub is_within ($panel, $s) { return $s->{end} > $panel->{begin} && $s->{begin} < $panel->{end} }

sub grid ($t, $panel) {
    my ($out, $step, $bottom) = ('', step_of(($panel->{end} - $panel->{begin}) / 9), $panel->{bottom});
    for (my $at = 0; $t->{begin} + $at <= $panel->{end}; $at += $step) {
        next if $t->{begin} + $at < $panel->{begin};
        my $x = x_of($panel, $t->{begin} + $at);
        $out .= sprintf(qq(<path class="grid" d="M%.1f %.1fV%.1f"/>), $x, $panel->{y} - 6, $bottom + 4)
            . svg_text($x, $bottom + 16, 'soft small mid', sprintf '%g', $at);
    }
    return $out . svg_text($RIGHT + 30, $bottom + 16, 'soft small', $t->{recording}{unit});
}

# Gives each span of an asynchronous row a lane: the first that is free. Returns how many there are.
sub find_lanes ($row) {
    my @until;
    for my $s (@{ $row->{spans} }) {
        $s->{lane} = (first { ($until[$_] // 0) <= $s->{begin} } 0 .. $MAX_LANES - 2) // $MAX_LANES - 1;
        $until[ $s->{lane} ] = $s->{end};
    }
    return max 1, scalar @until;
}

sub place_rows ($t, $panel) {
    my ($y, $before, %tiles) = $panel->{y};
    $tiles{ $_->{line} }++ for @{ $t->{tiles} };
    my $several = (max(values %tiles) // 0) > 1;
    for my $i (0 .. $#{ $t->{rows} }) {
        my ($row, $place) = ($t->{rows}[$i], { height => 0 });
        push @{ $panel->{places} }, $place;
        next if $panel->{enlarged} && $row->{kind} eq 'async';
        $y += $GROUP_GAP if defined $before && $row->{kind} ne $before && $row->{kind} ne 'products';
        $before = $row->{kind};
        my $lanes = $row->{kind} eq 'async' ? find_lanes($row) : 1;
        my $tiles = !$panel->{enlarged} && $several && $tiles{$i};
        $y += $TILE_HEIGHT if $tiles;
        my $height = $row->{kind} =~ /^(?:warp|tensor)$/ ? $ROW_HEIGHT : $lanes * $LANE_HEIGHT + ($lanes == 1 ? 3 : 0);
        %$place = (y => $y, height => $height, lanes => $lanes, tiles => $tiles);
        $y += $height + $GAP;
    }
    $panel->{bottom} = $y;
}

# A path of rectangles. Its moves are relative and in tenths of a pixel, which keeps it short; it need not be closed to
# be filled. A gap separates consecutive loads. at: where the pen is.
sub tenths ($n) { return ($n < 0 ? '-' : '') . int(abs($n) / 10) . ($n % 10 ? '.' . abs($n) % 10 : '') }
sub bar_path ($at, $begin, $end, $top, $height, $look) {
    my $width = $end - $begin - ($look eq 'load' ? 0.7 : 0);
    my ($x, $y, $down, $right) = map { int($_ * 10 + 0.5) } $begin, $top, $height, max($width, 0.4);
    my @move = map { tenths($_) } $x - $at->[0], $y - $at->[1], $right, $down, -$right;
    my $between = $y < $at->[1] ? '' : ' ';
    @$at = ($x, $y + $down);
    return "m$move[0]$between$move[1]h$move[2]v$move[3]h$move[4]";
}

# One path for the spans of one look and level, as high as the share of the tensor cores that have work. Spans less than
# half a pixel apart become one.
sub look_path ($panel, $place, $height, $look, $level, @spans) {
    my ($out, $gap, @at, @open) = ('', $place->{lanes} > 1 ? 1 : 0, 0, 0);
    my $bar = ($height - $gap) * $level / $CORES;
    my $put = sub ($lane) {
        my $top = $place->{y} + $lane * $height + ($height - $gap - $bar);
        $out .= bar_path(\@at, @{ $open[$lane] }, $top, $bar, $look) if $open[$lane];
    };
    for my $s (@spans) {
        my ($lane, @span) = ($s->{lane} // 0, map { x_of($panel, $s->{$_}) } qw(begin end));
        if ($open[$lane] && $span[0] - $open[$lane][1] < 0.5 && $look ne 'load') {
            $open[$lane][1] = $span[1];
        } else {
            $put->($lane);
            $open[$lane] = \@span;
        }
    }
    $put->($_) for 0 .. $#open;
    return qq(<path class="$LOOK{$look}{css}" d="$out"/>\n);
}

sub tile_names ($t, $panel, $line) {
    my ($out, $y, $height) = ('', @{ $panel->{places}[$line] }{qw(y height)});
    for my $tile (grep { $_->{line} == $line && $_->{begin} < $panel->{end} } @{ $t->{tiles} }) {
        my $x = x_of($panel, $tile->{begin});
        $out .= sprintf qq(<path class="tile" d="M%.1f %.1fV%.1f"/>), $x, $y - $TILE_HEIGHT + 2, $y + $height;
        $out .= svg_text($x + 3, $y - 3, 'soft small', $tile->{name}) if $x < $RIGHT - 40;
    }
    return $out;
}

sub drawn_rows ($t, $panel) {
    my $out = grid($t, $panel);
    for my $i (0 .. $#{ $t->{rows} }) {
        my ($row, $place) = ($t->{rows}[$i], $panel->{places}[$i]);
        my ($kind, $y, $height) = ($row->{kind}, @$place{qw(y height)});
        next if $height <= 0;
        my $soft = $kind eq 'products' || $kind eq 'async' ? 'soft ' : '';
        $out .= svg_text($LEFT - 8, $y + $height / 2 + 4, "${soft}end", $row->{label});
        if ($kind eq 'tensor') {
            my $part = first { $_->{rows} > $i } @{ $t->{parts} };
            my ($begin, $end) = map { x_of($panel, $part->{$_}) } qw(begin end);
            $out .= sprintf qq(<rect x="%g" y="%.1f" width="%.1f" height="%d" class="idle"/>\n), $begin, $y,
                $end - $begin, $height;
        }
        my %spans; # by look and level
        push @{ $spans{"$_->{look} $_->{level}"} }, $_ for grep { is_within($panel, $_) } @{ $row->{spans} };
        my $lane_height = $place->{lanes} > 1 ? $LANE_HEIGHT : $height;
        for my $of (grep { $spans{$_} } map { my $look = $_; map { "$look $_" } 1 .. $CORES } @LOOKS) {
            $out .= look_path($panel, $place, $lane_height, split(/ /, $of), @{ $spans{$of} });
        }
        if (!$panel->{enlarged} && $t->{recording}{peak} > 0) { # 01: its waits are hidden in one long span
            my ($what, $share) = $kind eq 'warp' ? ('waits', $row->{waiting}) : ('works', $row->{busy});
            my $text = sprintf '%s %.0f %%', $what, 100 * $share;
            $out .= svg_text($RIGHT + 10, $y + $height / 2 + 4, "${soft}small", $text);
        }
        $out .= tile_names($t, $panel, $i) if $place->{tiles};
    }
    return $out;
}

# Does this wait show that the load has landed? The caller takes the first such wait of a row.
sub is_wait_for ($wait, $load) {
    return 0 if $wait->{look} ne 'data' || $wait->{end} < $load->{end};
    my ($w, $l) = ($wait->{event}, $load->{event});
    return $w->{cta} == $l->{cta} && ($l->{kind} eq 'copy' ? $w->{kind} eq 'copy_wait' && $w->{warp} == $l->{unit}
        : $w->{kind} eq 'wait' && $w->{stage} == $l->{stage} && $w->{name} eq $l->{name});
}

# Lines from the end of a load to the end of the first wait for it, one for all loads of a stage that land together.
sub drawn_landed ($t, $panel) {
    my ($last, @lines) = 0;
    for my $row (grep { $t->{rows}[$_]{kind} eq 'async' } 0 .. $#{ $t->{rows} }) {
        for my $load (grep { $_->{look} eq 'load' } @{ $t->{rows}[$row]{spans} }) {
            my ($wait, $wait_row);
            for my $i (grep { $t->{rows}[$_]{kind} eq 'warp' } 0 .. $#{ $t->{rows} }) {
                my $found = first { is_wait_for($_, $load) } @{ $t->{rows}[$i]{spans} };
                ($wait, $wait_row) = ($found->{event}, $i) if $found && (!$wait || $found->{end} < $wait->{end});
            }
            next if !$wait || $wait == $last || $load->{end} < $panel->{begin} || $wait->{end} > $panel->{end};
            $last = $wait;
            my ($from, $to) = @{ $panel->{places} }[ $row, $wait_row ];
            push @lines, sprintf 'M%.1f %.1fL%.1f %.1f', x_of($panel, $load->{end}), $from->{y} + $from->{height},
                x_of($panel, $wait->{end}), $to->{y};
        }
    }
    return @lines && @lines <= $MOST_LINES ? qq(<path class="land" d="@{[join '', @lines]}"/>\n) : '';
}

# A line where each launch but the first begins, and the names of all launches.
sub drawn_launches ($t, $panel) {
    my $out = '';
    for my $part (grep { @{ $t->{parts} } > 1 && $_->{cta} >= 0 && is_within($panel, $_) } @{ $t->{parts} }) {
        my $x = x_of($panel, $part->{begin});
        $out .= sprintf qq(<path class="tile" stroke-dasharray="4 3" d="M%.1f %.1fV%.1f"/>), $x, $panel->{y} - 14,
            $panel->{bottom} if $part->{begin} > $panel->{begin};
        $out .= svg_text($x + 3, $panel->{y} - 8, 'soft small', $t->{recording}{launches}[ $part->{launch} ]{name});
    }
    return $out;
}

# A frame around the part that the panel below enlarges: the rows from that of the first warp on.
sub drawn_frame ($t, $panel, $part) {
    my $warp = first { $t->{rows}[$_]{kind} eq 'warp' } 0 .. $#{ $t->{rows} };
    my ($x, $end, $y) = (x_of($panel, $part->{begin}), x_of($panel, $part->{end}), $panel->{places}[$warp]{y} - 3);
    return sprintf qq(<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="frame"/>\n), $x, $y, $end - $x,
        $panel->{bottom} - $y - 1;
}

# The legend of the looks that the panel shows, and the y below the legend.
sub legend ($t, $panel, $y) {
    my ($x, $out, $window, %drawn) = ($LEFT, '', $panel->{end} - $panel->{begin});
    for my $s (grep { is_within($panel, $_) } map { @{ $_->{spans} } } @{ $t->{rows} }) {
        $drawn{ $s->{look} } += $s->{end} - $s->{begin};
    }
    my @seen = grep { ($drawn{$_} // 0) > int($window / ($_ eq 'other' ? 10 : 100)) } @LOOKS;
    my @idle = $t->{recording}{peak} > 0 ? [ 'tensor cores idle', 'idle' ] : ();
    for ((map { [ @{ $LOOK{$_} }{qw(legend css)} ] } @seen), @idle) {
        my ($name, $class, $width) = (@$_, 6 * length $_->[0]);
        ($x, $y) = ($LEFT, $y + 17) if $x + 24 + $width > $WIDTH - 8;
        $out .= sprintf qq(<rect x="%.1f" y="%.1f" width="%d" height="%d" class="%s"/>), $x, $y - 9, 14, 10, $class;
        $out .= svg_text($x + 19, $y, 'soft', $name);
        $x += 34 + $width;
    }
    return ($out, $y + 8);
}

sub drawn_svg ($t) {
    my $r = $t->{recording};
    my %all = (begin => $t->{window_begin}, end => $t->{window_end}, y => $TOP);
    place_rows($t, \%all);
    my %part = (enlarged => 1, y => $all{bottom} + 52);
    my $is_enlarged = (@part{qw(begin end)} = detail($t));
    place_rows($t, \%part) if $is_enlarged;
    my ($legend, $y) = legend($t, \%all, ($is_enlarged ? $part{bottom} : $all{bottom}) + 40);
    $y += 14;
    my $ctas = @{ $t->{parts} } > 1 ? @{ $t->{parts} } . ' launches' : cta_text($r, $t->{cta});
    my $source = "$r->{source}, $r->{date}" . (is_time($r) ? ", commit $r->{commit}, a recorded launch."
        : '. Steps show order and overlap; they are not time.');
    my $out = head(int($y) + 24, "$r->{chapter}: $ctas", "Timeline of a CTA. $source");
    $out .= svg_text(12, 24, 'title', "$r->{chapter}, $ctas: C is $r->{m} x $r->{n}, K = $r->{k}");
    $out .= svg_text(12, 42, 'soft', $source);
    $out .= drawn_rows($t, \%all) . drawn_landed($t, \%all) . drawn_launches($t, \%all);
    if ($is_enlarged) {
        $out .= drawn_frame($t, \%all, \%part) . svg_text($LEFT, $part{y} - 14, '', 'What is framed above, enlarged:');
        $out .= drawn_rows($t, \%part);
    }
    my $busy = sprintf "Of the time drawn, the SM's tensor cores had work in %.0f %%.",
        100 * busy($r, @all{qw(begin end)});
    $out .= $legend . svg_text($LEFT, $y, '',
        $r->{peak} > 0 ? $busy : 'This chapter multiplies in the FMA units, not in the tensor cores.');
    $out .= svg_text($LEFT + 420, $y, '', "$r->{lost} events were lost.") if $r->{lost};
    return "$out</svg>\n";
}
