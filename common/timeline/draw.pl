# draw.pl - the last part of the drawer, after events.pl, rows.pl, text.pl and svg.pl: writes JSON, and runs the drawer.
#
#     perl - WHAT FD CTA [FILE.csv]
#
# reads this script, all parts in this order, from the standard input, and draws CTA to the open file FD. If CTA is -1,
# that is the lowest CTA, or the one of which FILE has all events. Without FILE the events follow after __END__. WHAT:
#
#     text      the CTA, for a terminal; svg: a picture of it
#     json      all CTAs of its SM, for Perfetto
#     events    the events of its SM, as a file
#     kept      those of these events that the pictures show

# ---- JSON: the Trace Event Format, which ui.perfetto.dev and chrome://tracing read. A process is a CTA; a thread is a
# track: a role, or a slot of an asynchronous unit, so that the spans of a track never overlap. Times are whole
# nanoseconds; a step of the model is shown as a microsecond. No name has a quotation mark or a backslash: they are
# identifiers of C, or made here.

my $MAX_SLOTS = 16;

my %WAITS = (copy_wait => 'copies', wgmma_wait => 'wgmma', store_wait => 'stores');

sub event_name ($e) {
    my ($kind, $index) = @$e{qw(kind index)};
    my $barrier = $e->{stage} >= 0 ? "$e->{name}\[$e->{stage}]" : $e->{name};
    return "wait for $barrier, parity $index" if $kind eq 'wait';
    return "load for $barrier, $e->{bytes} bytes" if $kind eq 'load';
    return "wait for $WAITS{$kind}, all but $index groups" if $WAITS{$kind};
    return $kind eq 'barrier' ? "barrier $index" : $kind =~ /^(?:copy|store|wgmma)$/ ? "$kind group $index" : $kind;
}

sub drawn_json ($r) {
    my ($ns_a_unit, @out) = is_time($r) ? 1e9 / $r->{units_a_second} : 1000;
    my $ns = sub ($time) { return int($time * $ns_a_unit + 0.5) };
    my $microseconds = sub ($time) { return sprintf '%d.%03d', $time / 1000, $time % 1000 };
    my $event = sub ($phase, $pid, $tid, $name, $rest) {
        push @out, qq({"ph":"$phase","pid":$pid,"tid":$tid,"name":"$name",$rest});
    };
    for my $cta (map { $_->{kind} eq 'cta' ? $_ : () } @{ $r->{events} }) {
        my ($t, $pid) = (timeline($r, $cta->{cta}, 1), $cta->{cta});
        $event->('M', $pid, 0, 'process_name', qq("args":{"name":"${\cta_text($r, $pid)} on SM $cta->{sm}"}));
        for my $i (0 .. $#{ $t->{rows} }) {
            my ($row, @until) = $t->{rows}[$i];
            my $track = ($i + 1) * $MAX_SLOTS;
            for my $s (grep { $_->{event} } @{ $row->{spans} }) {
                my ($begin, $end) = map { $ns->($s->{$_}) } qw(begin end);
                my $slot = (first { ($until[$_] // 0) <= $begin } 0 .. $MAX_SLOTS - 2) // $MAX_SLOTS - 1;
                $begin = max $begin, $until[$slot] // 0; # more than the slots: no track overlaps
                $until[$slot] = $end = max $end, $begin + 1;
                $event->('X', $pid, $track + $slot, event_name($s->{event}),
                    qq("ts":${\$microseconds->($begin)},"dur":${\$microseconds->($end - $begin)}));
            }
            my $label = $row->{label} =~ s/^ +//r;
            $label = ($row->{kind} eq 'products' ? 'tensor cores ' : $label =~ /^stage/ ? 'loads: ' : '') . $label;
            for my $slot (0 .. $#until) {
                my ($tid, $name) = ($track + $slot, $slot ? sprintf '%s (%d)', $label, $slot + 1 : $label);
                $event->('M', $pid, $tid, 'thread_name', qq("args":{"name":"$name"}));
                $event->('M', $pid, $tid, 'thread_sort_index', qq("args":{"sort_index":$tid}));
            }
        }
        for my $tile (@{ $t->{tiles} }) {
            my $begin = $microseconds->($ns->($tile->{begin}));
            $event->('i', $pid, ($tile->{line} + 1) * $MAX_SLOTS, $tile->{name}, qq("ts":$begin,"s":"t"));
        }
    }
    my $unit = is_time($r) ? 'nanoseconds' : '1 us is a step of the model, which is no time';
    return qq({"displayTimeUnit":"ns",\n"otherData":{"chapter":"$r->{chapter}","unit":"$unit","lost":$r->{lost}},\n)
        . qq("traceEvents":[\n) . join(",\n", @out) . "\n]}\n";
}

# ---- which events, and how they are drawn

# Does a picture show this event? Of the CTA that is drawn it shows the products, and what the warps that have a row and
# the asynchronous units do. Of other CTAs it shows all, or, if no CTA uses the tensor cores, only when the SM begins
# and ends.
sub is_shown ($t, $e) {
    my $r = $t->{recording};
    return $r->{peak} > 0 || $e->{warp} < 0 && ($e->{begin} == 0 || $e->{end} == $r->{end}) if $e->{cta} != $t->{cta};
    my $warp = $e->{kind} eq 'copy' ? $e->{unit} : $e->{warp};
    return $warp < 0 || $e->{kind} eq 'mma' || grep { $_->{kind} eq 'warp' && $_->{number} == $warp } @{ $t->{rows} };
}

# The columns of the terminal that this file is; if it is none, those that COLUMNS names; otherwise 100.
sub terminal_columns ($file) {
    my ($TIOCGWINSZ, $size) = (0x5413, pack 'S4');
    my $columns = ioctl($file, $TIOCGWINSZ, $size) && (unpack 'S4', $size)[1];
    return min max($columns || ($ENV{COLUMNS} // '') =~ /^(\d+)/ && $1 || 100, 60), 400;
}

sub draw ($what, $out, $cta, $path = undef) {
    my $in = \*DATA;
    die "$path: cannot be read\n" if defined $path && !open $in, '<', $path;
    my $r = read_recording($in, $path // 'what was recorded');
    keep_sm($r, $cta);
    $cta = whole_cta($r) if defined $path && $cta < 0;
    return drawn_json($r) if $what eq 'json';
    my $t = timeline($r, $cta);
    return $what eq 'text' ? drawn_text($t, terminal_columns($out)) : $what eq 'svg' ? drawn_svg($t)
        : written($r, $what eq 'kept' ? grep { is_shown($t, $_) } @{ $r->{events} } : thinned($r, $t->{cta}));
}

my ($what, $fd, @of) = @ARGV;
open my $out, '>&=', $fd or die "draw: file $fd: $!\n";
my $drawn = eval { draw($what, $out, @of) };
print STDERR $@ and exit 2 if !defined $drawn;
my $is_printed = print {$out} $drawn;
exit(close($out) && $is_printed ? 0 : 3);
__END__
