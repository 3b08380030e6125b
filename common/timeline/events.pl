# events.pl - a part of the drawer (draw.pl): the events of a launch, and what can be said of them without drawing.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use List::Util qw(first max min);

my $COLUMNS = 'kind,cta,sm,warp,unit,index,stage,bytes,row,col,name,spans';
# The names of TraceKind of model_trace.h, in its order, because a program writes a kind as a number.
my @KINDS = qw(barrier wait copy_wait fragments mma wgmma_wait store_wait exponentials epilogue tile cta
    copy load store wgmma);
my %PLACE_OF_KIND = map { $KINDS[$_] => $_ } 0 .. $#KINDS;
my %IN_HEAD = map { $_ => 1 } qw(chapter kernel source date commit m n k sms ctas launch unit units_a_second lost);
my ($SPANS_A_LINE, $CORES) = (12, 4); # an SM's tensor cores: warp w uses number w % 4, a warpgroup all

# A recording has what the head of the file says, by name; the lines of the head; launches; events. An event has its
# columns by name, its begin and end, and `line`, a key which is equal for events that differ only in their times, and
# which sorts as a file does.
sub read_recording ($in, $path) {
    my %r = (head => [], launches => [], events => [], kernel => '', lost => 0);
    my ($number, $columns) = (0, 0);
    while (my $line = <$in>) {
        $number++;
        chomp $line;
        if (my ($name, $value) = $line =~ /^# (\w+) ?(.*)/) {
            die "$path, line $number: not a line that --trace-events writes\n"
                if !$IN_HEAD{$name} || $name eq 'launch' && !read_launch($value, \%r);
            $r{$name} = $value;
            push @{ $r{head} }, $line;
        } elsif (!$columns) {
            $columns = $line eq $COLUMNS or die "$path, line $number: not the columns that --trace-events writes\n";
        } else {
            read_event($line, \%r) or die "$path, line $number: not an event\n";
        }
    }
    die "$path, line 1: the file holds no recorded events\n" if !@{ $r{events} } || !$r{unit} || !$r{chapter};
    return \%r;
}

# "KERNEL CTAS"; a name may have blanks: "kernel of device 1".
sub read_launch ($value, $r) {
    my ($name, $ctas) = $value =~ /^(.+) (\d+)$/ or return 0;
    my $before = $r->{launches}[-1] // { first_cta => 0, ctas => 0 };
    push @{ $r->{launches} }, { name => $name, ctas => $ctas, first_cta => $before->{first_cta} + $before->{ctas} };
    return 1;
}

sub read_event ($line, $r) {
    my ($kind, $numbers, $name, $spans) =
        $line =~ /^(\w+),(-?\d+(?:,-?\d+){8}),([^,]*),(\d+:\d+(?: \d+:\d+)*)$/ or return 0;
    my ($cta, $sm, @others) = split /,/, $numbers;
    $kind = $KINDS[$kind] // return 0 if $kind =~ /^\d/;
    my %e = (kind => $kind, name => $name);
    @e{qw(cta sm warp unit index stage bytes row col)} = ($cta, $sm, @others);
    my $place = $PLACE_OF_KIND{$kind} // return 0;
    $e{line} = pack 'N10 a*', map({ $_ + 1 } $cta, $sm, $place, @others), $name; # a number may be -1
    for (split / /, $spans) {
        my ($begin, $end) = split /:/;
        return 0 if $begin > $end;
        push @{ $r->{events} }, { %e, begin => $begin, end => $end };
    }
    return 1;
}

# Keeps the events of the SM on which this CTA ran (-1: the lowest), in order of their begin; the first begins at 0.
sub keep_sm ($r, $cta) {
    my $events = $r->{events};
    my $lowest = min map { $_->{cta} } @$events;
    my $of = first { $_->{cta} == ($cta < 0 ? $lowest : $cta) } @$events
        or die "--timeline: there are no events of CTA $cta; the launch had $r->{ctas} CTAs\n";
    @$events = grep { $_->{sm} == $of->{sm} } @$events;
    my $origin = min map { $_->{begin} } @$events;
    ($_->{begin}, $_->{end}) = ($_->{begin} - $origin, $_->{end} - $origin) for @$events;
    @$events = sort { $a->{begin} <=> $b->{begin} || $b->{end} <=> $a->{end} || $a->{line} cmp $b->{line} } @$events;
    push @{ $r->{of_cta}{ $_->{cta} } }, $_ for @$events;
    $r->{products} = [ grep { is_product($_) } @$events ];
    $r->{end} = max map { $_->{end} } @$events;
    # The most multiply-adds of the tensor cores in a cycle: 0 in 01, which multiplies in the FMA units.
    $r->{peak} = (grep { $_->{kind} eq 'wgmma' } @$events) ? 2048 : $r->{chapter} =~ /^01/ ? 0 : 1024;
}

sub is_product ($e) { return $e->{kind} eq 'mma' || $e->{kind} eq 'wgmma' }
sub is_time ($r) { return ($r->{units_a_second} // 0) > 0 } # and no steps of the model

# ---- several launches: the numbers of a launch's CTAs continue those of the previous launch

sub launches ($r) { return max 1, scalar @{ $r->{launches} } }

sub launch_of ($r, $cta) {
    return (first { $cta >= $r->{launches}[$_]{first_cta} } reverse 1 .. launches($r) - 1) // 0;
}

sub cta_text ($r, $cta) {
    return "CTA $cta of $r->{ctas}" if launches($r) == 1;
    my $launch = $r->{launches}[ launch_of($r, $cta) ];
    return "$launch->{name}, CTA " . ($cta - $launch->{first_cta}) . " of $launch->{ctas}";
}

# The CTA of this launch that is drawn: `cta` if it belongs to the launch, otherwise the lowest; -1 if there is none.
sub cta_of_launch ($r, $launch, $cta) {
    my @ctas = grep { launch_of($r, $_) == $launch } keys %{ $r->{of_cta} };
    return (first { $_ == $cta } @ctas) // min(@ctas) // -1;
}

# The CTA of which a file has all events; -1 if there is none.
sub whole_cta ($r) {
    my $e = first { $_->{warp} >= 0 && $_->{kind} ne 'tile' && $_->{kind} ne 'mma' } @{ $r->{events} };
    return $e ? $e->{cta} : -1;
}

# ---- figures

# The share of this time in which the SM's tensor cores had work: the mean of the four, products that overlap counted
# once.
sub busy ($r, $begin, $end) {
    my ($busy, @until) = (0, ($begin) x $CORES); # counted up to here
    for my $e (@{ $r->{products} }) {
        for my $core ($r->{peak} == 0 ? () : $e->{kind} eq 'wgmma' ? 0 .. $CORES - 1 : $e->{warp} % $CORES) {
            my ($from, $to) = (max($e->{begin}, $until[$core]), min($e->{end}, $end));
            ($busy, $until[$core]) = ($busy + $to - $from, $to) if $to > $from;
        }
    }
    return $end > $begin ? $busy / ($end - $begin) / $CORES : 0;
}

# FLOP of the SM's tiles / (its cycles x peak). 0 on the model, whose steps are no cycles.
sub efficiency ($r) {
    my %here = map { $_->{kind} eq 'tile' ? ("$_->{cta} $_->{row} $_->{col}" => 1) : () } @{ $r->{events} };
    # The tiles of the launch: as many as the chapter says, or one for each CTA. Which of several launches computes C is
    # not known.
    my $tiles = launches($r) > 1 ? 0 : $r->{kernel} =~ /^[^:]+: (\d+) tiles/ ? $1 : $r->{ctas};
    return 0 if !$r->{end} || !$r->{peak} || $tiles == 0 || !is_time($r);
    return keys(%here) / $tiles * $r->{m} * $r->{n} * $r->{k} / ($r->{end} * $r->{peak});
}

# ---- writing a file

sub written ($r, @events) {
    my ($out, $line, $spans) = (join("\n", @{ $r->{head} }, $COLUMNS), '', 0);
    for my $e (sort { $a->{line} cmp $b->{line} || $a->{begin} <=> $b->{begin} || $a->{end} <=> $b->{end} } @events) {
        if ($e->{line} ne $line || $spans == $SPANS_A_LINE) {
            $out .= "\n" . join(',', @$e{qw(kind cta sm warp unit index stage bytes row col name)}) . ',';
            ($line, $spans) = ($e->{line}, 0);
        }
        $out .= ($spans++ ? ' ' : '') . "$e->{begin}:$e->{end}";
    }
    return "$out\n";
}

# Of the drawn CTA, or of several launches one CTA of each, everything; of others only what their tensor cores did.
sub thinned ($r, $cta) {
    my %whole = map { cta_of_launch($r, $_, $cta) => 1 } 0 .. launches($r) - 1;
    return grep { $whole{ $_->{cta} } || is_product($_) || $_->{kind} =~ /^(?:cta|tile)$/ } @{ $r->{events} };
}
