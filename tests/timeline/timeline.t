#!/usr/bin/perl
# Does every chapter draw its timeline on the model, in the terminal, as SVG and as JSON, from events that make sense?
# Are the kept pictures what the kept events give? And is what cannot be drawn or written refused? B, CHAPTER_DIRS: from
# the Makefile.
use strict;
use warnings;
use File::Temp 'tempdir';
use JSON::PP;
use Test::More;
require './tests/tools/patches';

my $draw = 'tests/timeline/draw';
my $work = tempdir(CLEANUP => 1);

*slurp = \&Patches::contents;
sub runs { my ($command, $name) = @_; my $out = `$command 2>&1`; is($?, 0, $name) or diag($out); return $out }

# ---- SVG: its elements are closed in the right order

sub svg_is_whole {
    my ($svg) = @_;
    $svg =~ s/<style>.*?<\/style>//s;
    my @open;
    while ($svg =~ /<(\/?)([a-zA-Z]+)((?:\s+[a-zA-Z:-]+="[^"<]*")*)\s*(\/?)>/g) {
        if ($1) { return 0 unless @open && pop @open eq $2 } elsif (!$4) { push @open, $2 }
    }
    $svg =~ s/<[^<>]*>//g;
    return !@open && $svg !~ /[<>]/ && $svg =~ /\S/;
}

# Before its media query every class has its rule, without CSS variables, and every shape has a class.
sub svg_is_plain {
    my ($svg) = @_;
    my ($style) = $svg =~ /<style>(.*?)\@media/s or return 0;
    my @classes = map { split } $svg =~ /class="([^"]+)"/g;
    return $style !~ /var\(/ && $svg !~ /<(?:rect|path)(?![^>]*class=)/ && !grep { $style !~ /\.$_\{[^{}]+\}/ } @classes;
}

# ---- JSON: what is wrong with a trace in the Trace Event Format, by the format's public description: every track has a
# name, and its spans (X) do not overlap.

sub json_faults {
    my $trace = eval { decode_json($_[0]) } or return 'no JSON';
    my (%track, %named, @faults);
    for my $e (@{ $trace->{traceEvents} }) {
        my $at = "$e->{pid}/$e->{tid}";
        push @faults, "no name: $at" if ($e->{name} // '') eq '';
        $named{$at} = 1 if $e->{name} eq 'thread_name' && $e->{args}{name} ne '';
        push @{ $track{$at} }, $e if $e->{ph} eq 'X';
    }
    for my $at (sort keys %track) {
        my $until = 0; # in whole nanoseconds, as viewers keep them
        push @faults, "track $at has no name" if !$named{$at};
        for my $e (sort { $a->{ts} <=> $b->{ts} } @{ $track{$at} }) {
            my ($begin, $ns) = map { int(1000 * $e->{$_} + 0.5) } qw(ts dur);
            push @faults, "track $at: $e->{name} overlaps another, or takes no time" if $begin < $until || $ns <= 0;
            $until = $begin + $ns;
        }
    }
    push @faults, 'nothing in it' if !%track;
    return join "\n", @faults;
}

# ---- events: what is wrong with those of a file that --trace-events has written

# events(CSV): its events.
sub events {
    my ($csv) = @_;
    my @events;
    for (grep { !/^(?:#|kind,)/ } split /\n/, $csv) {
        my %e;
        (@e{qw(kind cta sm warp unit index stage bytes row column name)}, my $spans) = split /,/;
        push @events, map { my ($begin, $end) = split /:/; +{ %e, begin => $begin, end => $end } } split / /, $spans;
    }
    return @events;
}

sub event_faults {
    my @events = events($_[0]);
    my (%of, %of_warp, @faults);
    my $fault = sub { my ($what, $e) = @_; push @faults, "$what: $e->{kind} $e->{name} of CTA $e->{cta}, warp $e->{warp}, $e->{begin} to $e->{end}" };
    my %life = map { $_->{kind} eq 'cta' ? ($_->{cta} => $_) : () } @events;
    for my $e (@events) {
        $fault->('takes no time', $e) if $e->{kind} eq 'tile' ? $e->{end} != $e->{begin} : $e->{end} <= $e->{begin};
        my $life = $life{ $e->{cta} };
        $fault->('outside of its CTA', $e) if !$life || $e->{begin} < $life->{begin} || $e->{end} > $life->{end};
        push @{ $of_warp{"$e->{cta} $e->{warp}"} }, $e if $e->{warp} >= 0;
        push @{ $of{ $e->{kind} }{ $e->{kind} =~ /copy/ ? $e->{cta} : "$e->{cta} $e->{stage} $e->{name}" } }, $e;
    }
    # Of a warp's events one lies inside of another, or they do not touch.
    for my $of_one (values %of_warp) {
        my @open;
        for my $e (sort { $a->{begin} <=> $b->{begin} || $b->{end} <=> $a->{end} } @$of_one) {
            pop @open while @open && $open[-1]{end} <= $e->{begin};
            $fault->('overlaps another', $e) if @open && $e->{end} > $open[-1]{end};
            push @open, $e;
        }
    }
    # A wait ends when the latest load that was started for its barrier has landed, and each load is waited for before
    # the next one into its stage is started.
    for my $barrier (keys %{ $of{load} }) {
        my ($loads, $waits) = map { $of{$_}{$barrier} // [] } qw(load wait);
        for my $wait (@$waits) {
            $fault->('lands after the wait for it', $_) for grep { $_->{begin} < $wait->{end} && $_->{end} > $wait->{end} } @$loads;
        }
        for my $load (@$loads) {
            my ($next) = sort { $a <=> $b } grep { $_ >= $load->{end} } map { $_->{begin} } @$loads;
            $fault->('is not waited for', $load) if !grep { $_->{end} >= $load->{end} && $_->{end} <= ($next // $_->{end}) } @$waits;
        }
    }
    for my $copy (map { @$_ } values %{ $of{copy} }) {
        $fault->('lands after the wait for it', $copy)
            if !grep { $_->{warp} == $copy->{unit} && $_->{end} >= $copy->{end} } @{ $of{copy_wait}{ $copy->{cta} } // [] };
    }
    return join "\n", @faults;
}

# says_busy(NAME, FILE): the share of busy time below the picture is that of the drawn row; in a GPU's picture it agrees
# with the FLOP.
sub says_busy {
    my ($name, $file) = @_;
    my $text = runs("COLUMNS=400 $draw text $file", "$name: drawn in the terminal");
    my ($window, $own, $whole) = $text =~ /^tensor cores had work in ([\d.]+) % of the window, ([\d.]+) % of .* time(?:, ([\d.]+) % of the \d+ \w+ of its SM)?$/m
        or return;
    like($text, qr/^tensor cores .* ${\sprintf '%.0f', $window}% busy$/m, "$name: the share of busy time is that of the row") if $window !~ /\.5$/;
    my ($flop) = $text =~ /^FLOP of the SM's tiles \/ \(its cycles x peak\): ([\d.]+) %/m;
    is(defined $flop, $text !~ /they are not time/, "$name: FLOP / (cycles x peak) is said of a GPU alone");
    cmp_ok(abs(($whole // $own) / $flop - 1), '<', 0.1, '... and agrees within 10 %') if $flop && $name =~ /^(?:0[6-9]|1)/;
}

# ---- every chapter on the model

my %json;
for my $directory (split ' ', $ENV{CHAPTER_DIRS}) {
    my ($chapter) = $directory =~ m{([^/]+)$};
    my ($program, $files) = ("$directory/$chapter --on model", "$work/$chapter");
    for my $columns (80, 132) {
        my $out = runs("COLUMNS=$columns $program --timeline", "$chapter: --timeline");
        my ($picture) = $out =~ /^(timeline of (?:CTA|[23] launches).*)/ms;
        is(join('', grep { length > $columns } split /\n/, $picture), '', "$chapter: it fits into $columns columns");
        like($out, qr/right  .*recorded/, "$chapter: the launch is checked");
        like($picture, qr/steps show order and overlap; they are not time/, "$chapter: says that steps are no time");
        like($picture, qr/^(?:warp|consumer|warpgroup) \d .*E/m, "$chapter: shows the epilogue") unless $chapter =~ /^01/;
    }
    runs("$program --timeline-svg $files.svg --trace $files.json --trace-events $files.csv", "$chapter: SVG, JSON and events");
    my $svg = slurp("$files.svg");
    ok(svg_is_whole($svg), "$chapter: the SVG's elements are closed");
    ok(svg_is_plain($svg), "$chapter: its colours need no CSS variables and no media query");
    is(() = $svg =~ /enlarged/g, $chapter =~ /^(?:0[2-5]|12)/ ? 1 : 0,
        "$chapter: a part is enlarged where fragments are loaded");
    $json{$chapter} = slurp("$files.json");
    is(json_faults($json{$chapter}), '', "$chapter: the JSON is a trace whose spans nest");
    runs("$draw kept $files.csv >$files.kept.csv", "$chapter: what is drawn of its events");
    for my $events ("$files.csv", "$files.kept.csv") {
        is(event_faults(slurp($events)), '', "$chapter: ${\($events =~ s{.*/}{}r)}: its events are as they should be");
        says_busy($chapter, $events);
        runs("$draw svg $events | cmp - $files.svg", "$chapter: is drawn again from them, the same");
    }
}
my $svg = slurp("$work/07_warp_specialized.svg");
ok(!svg_is_whole("$svg</svg>"), 'an element that is not open: seen');
for my $edit ([qr/\.m\{fill:#[0-9a-f]+\}/, ''], [qr/#12693f/, 'var(--m)'], [qr/class="page"/, '']) {
    (my $edited = $svg) =~ s/$edit->[0]/$edit->[1]/;
    ok(!svg_is_plain($edited), "an SVG with $edit->[0] changed is not plain");
}

# ---- the events that are kept, unless the pictures were drawn anew from the model

my @kept = glob 'tests/timeline/recorded/*.csv';
for my $kept (@kept) {
    my ($name) = $kept =~ m{([^/]+)\.csv$};
    my ($chapter) = grep { m{(?:^|/)$name$} } split ' ', $ENV{CHAPTER_DIRS};
    is(event_faults(slurp($kept)), '', "$kept: its events are as they should be");
    says_busy($name, $kept);
    next if slurp("$chapter/timeline.svg") =~ /<desc>[^<]*CPU model/;
    runs("$draw svg $kept | cmp - $chapter/timeline.svg", "$chapter/timeline.svg is drawn from it");
}
# Barriers of recorded launches: the one that most warps of a CTA meet at, time after time. How often did a warp leave
# before the last one had come? (The clock must not be read before the barrier holds the warp.)
sub leaves_early {
    my @events = events($_[0]);
    my (%spans, $early);
    push @{ $spans{"$_->{cta} $_->{index}"}{ $_->{warp} } }, $_ for grep { $_->{kind} eq 'barrier' } @events;
    for my $warps (values %spans) {
        my @of = values %$warps;
        my ($fewest) = sort { $a <=> $b } map { scalar @$_ } @of;
        for my $i (0 .. $fewest - 1) {
            my ($last) = sort { $b <=> $a } map { $_->[$i]{begin} } @of;
            $early += grep { $_->[$i]{end} < $last } @of;
        }
    }
    return $early // 0;
}
is(leaves_early(slurp($_)), 0, "$_: no warp leaves a barrier before all have come") for @kept;
is(leaves_early("barrier,0,1,0,0,0,-1,0,0,0,,5:9 20:31\nbarrier,0,1,1,0,0,-1,0,0,0,,8:9 30:30\n"), 0, 'two barriers as they should be');
is(leaves_early("barrier,0,1,0,0,0,-1,0,0,0,,5:7 20:31\nbarrier,0,1,1,0,0,-1,0,0,0,,8:9 30:30\n"), 1, 'and one that is left early: seen');

# ---- made-up events: a producer (warp 0), a consumer (warp 4), two stages, three k-tiles; in the order of a file

my $right = <<'CSV';
# chapter 07_warp_specialized
# kernel pingpong: 5 tiles of 128 x 128 on 2 CTAs
# source a <made-up> "GPU"
# date 2026-01-02
# commit abc
# m 128
# n 256
# k 192
# sms 2
# ctas 2
# unit cycles
# units_a_second 2000000000
# lost 7
kind,cta,sm,warp,unit,index,stage,bytes,row,col,name,spans
wait,0,0,0,0,0,0,0,0,0,empty,25:320
wait,0,0,4,0,0,0,0,0,0,full,30:115
wait,0,0,4,0,0,1,0,0,0,full,130:205
wait,0,0,4,0,1,0,0,0,0,full,330:500
wgmma_wait,0,0,4,0,0,-1,0,0,0,,510:602
wgmma_wait,0,0,4,0,1,-1,0,0,0,,210:317
store_wait,0,0,4,0,0,-1,0,0,0,,700:720
epilogue,0,0,4,0,0,-1,0,0,0,,610:850
tile,0,0,0,0,0,-1,0,3,4,,0:0
tile,0,0,4,0,0,-1,0,3,4,,0:0
cta,0,0,-1,0,0,-1,0,0,0,,0:900
load,0,0,-1,0,0,0,4096,0,0,full,10:100 12:110 325:490
load,0,0,-1,0,0,1,4096,0,0,full,20:200
wgmma,0,0,-1,1,0,-1,0,0,0,,116:316
wgmma,0,0,-1,1,1,-1,0,0,0,,206:416
wgmma,0,0,-1,1,2,-1,0,0,0,,501:601
CSV
my $made = "$work/made.csv";
# edited(FROM, TO): their text, which is then in the file, with the first FROM replaced.
sub edited { my $text = $right =~ s/\Q$_[0]\E/$_[1]/r; Patches::store($made, $text); return $text }
is(event_faults(edited('', '')), '', 'right events have no fault');
is(runs("$draw kept $made", 'and are written'), $right, '... as they were read');
for ([ 'takes no time', '610:850', '610:610', 'an epilogue that takes no time' ],
    [ 'takes no time', ',4,,0:0', ',4,,0:1', 'the taking of a tile that takes time' ],
    [ 'overlaps another', '510:602', '510:611', 'a wait that reaches into the epilogue' ],
    [ 'outside of its CTA', '610:850', '610:901', 'an epilogue that ends after its CTA' ],
    [ 'outside of its CTA', '0:900', '11:900', 'what begins before its CTA' ],
    [ 'lands after the wait', '12:110', '12:116', 'a load that lands after the wait for it' ],
    [ 'lands after the wait', '325:490', '325:501', 'a later load that does' ],
    [ 'is not waited for', '130:205', '15:19', 'a load that nobody waits for' ]) {
    my ($said, $from, $to, $name) = @$_;
    like(event_faults(edited($from, $to)), qr/^$said/m, "is found: $name");
}
my @copies = map { "${right}copy,0,0,-1,1,0,-1,0,0,0,,5:60\ncopy_wait,0,0,1,0,0,-1,0,0,0,,10:$_\n" } 60, 59;
is(event_faults($copies[0]), '', 'a group of copies that is waited for');
like(event_faults($copies[1]), qr/^lands after the wait for it: copy /m, 'is found: one that lands after the wait for it');
edited('', '');
for (map { 60 + 45 * $_ } 0 .. 4) {
    my $text = runs("COLUMNS=$_ $draw text $made", "drawn in $_ columns");
    my ($longest) = sort { $b <=> $a } map { length } split /\n/, $text;
    ok($text =~ /^[\n -~]*\z/ && $longest <= $_ && $longest + 20 > $_, "... which it fills, in ASCII alone") or diag($text);
    like($text, qr/7\s+events\s+were\s+lost/, '... with what was lost');
}
like(runs("COLUMNS=200 $draw text $made", 'its figures'), qr/cycles x peak\): 68\.3 %/, '... FLOP of 128 x 256 x 192 / 5 in 900 cycles of 2048'); # 0.6827
like(`COLUMNS=200 $draw text $made`, qr/^tensor cores had work in 44\.4 % of the window, 44\.4 % of this CTA's time, 44\.4 % of the 900 /m,
    '... and products from 116 to 416 and from 501 to 601, which overlap, of 900 cycles');
edited('wgmma,', "mma,0,0,1,0,0,-1,0,0,0,,100:200\nmma,0,0,5,0,0,-1,0,0,0,,150:250\nmma,0,0,2,0,0,-1,0,0,0,,100:200\nwgmma,");
Patches::store($made, Patches::contents($made) =~ s/^wgmma,.*\n//mgr);
like(`COLUMNS=200 $draw text $made`, qr/^tensor cores had work in 6\.9 % of the window/m, '... or of 250 core cycles of warps 1 and 5, on one core, and 2');
edited('# units_a_second 2000000000', '# units_a_second 0');
unlike(runs("$draw text $made", 'steps are no cycles'), qr/cycles x peak/, '... and have no such figure');
unlike(runs("$draw text tests/timeline/recorded/01_naive.csv", '01 has no tensor cores'), qr/tensor cores|peak/, '... and neither figure');
# What is no such file is refused in a line.
for ([ $right, '', 'an empty file' ], [ 'warp,', '', 'other columns' ], [ '# m ', '# colour ', 'another header' ],
    [ 'epilogue,', 'epilogux,', 'an unknown kind' ], [ '610:850', '610:85', 'an end before the begin' ],
    [ '10:100 ', '10:100,', 'something else between spans' ], [ '0:0', '', 'an event without its times' ],
    [ substr($right, index($right, 'wait,')), '', 'no event at all' ]) {
    my ($from, $to, $name) = @$_;
    edited($from, $to);
    my $said = `$draw text $made 2>&1`;
    is(($? >> 8) . ' ' . ($said =~ tr/\n//), '2 1', "$name: refused in a line") or diag($said);
}

# ---- what the page of 08 says

my @of_08 = events(slurp("$work/08_persistent_pingpong.csv"));
my @epilogues = grep { $_->{kind} eq 'epilogue' && $_->{warp} == 4 } @of_08;
my @products = grep { $_->{kind} eq 'wgmma' && $_->{unit} == 2 } @of_08;
my %tiles = map { $_->{kind} eq 'tile' && $_->{warp} >= 4 ? ("$_->{row},$_->{column}" => 1) : () } @of_08;
ok((grep { my $e = $_; grep { $_->{begin} < $e->{end} && $_->{end} > $e->{begin} } @products } @epilogues),
    '08: an epilogue of consumer 0 lies under the math of consumer 1');
cmp_ok(scalar keys %tiles, '>=', 3, '08: over at least three tiles');

# ---- json_faults can fail: each fault alone, put into a trace that is right

for ([ qr/takes no time/, sub { s/("ph":"X".*"dur":)[0-9.]+/${1}0/ }, 'a span that takes no time' ],
    [ qr/overlaps/, sub { s/("wait for full.*"dur":)([0-9.]+)/$1 . ($2 + 500)/e }, 'a span that overlaps the next' ],
    [ qr/no name/, sub { s/"thread_name"/"thread_nome"/ }, 'a track without a name' ],
    [ qr/no JSON/, sub { $_ = substr $_, 0, 2000 }, 'half a file' ]) {
    my ($said, $break, $name) = @$_;
    local $_ = $json{'07_warp_specialized'};
    $break->();
    like(json_faults($_), $said, "is found: $name");
}

# ---- two kernels in one launch of a chapter: both are drawn, on one time axis

{
    my $two = "$work/06_wgmma_ss/experiments";
    system "mkdir -p $two && cp tests/timeline/06_wgmma_ss/experiments/two_kernels.patch $two";
    my ($patch) = Patches::chosen("$two/two_kernels.patch");
    my $run = Patches::build($patch) . '/program --on model --m 256 --n 256 --k 256';
    my $out = runs("$run --timeline --trace $work/two.json --trace-events $work/two.csv --timeline-svg $work/two.svg",
        'two kernels: drawn');
    like($out, qr/^timeline of 2 launches, steps 0 to (\d+) of \1$/m, '... of both launches, from the first to the last event');
    my ($marks) = $out =~ /^kernels {10}(.*)$/m;
    like($marks // '', qr/^\|clear_kernel +\|gemm_kernel/, '... a line says where each begins');
    my ($clear, $gemm) = $out =~ /^clear_kernel, CTA 0 of 32, from 0 to \d+\n(.*?)^gemm_kernel, CTA 0 of 2, from \d+ to \d+\n(.*?)^-/ms;
    ok($clear && $gemm, '... then the rows of a CTA of the first, and of the second') or diag($out);
    like($clear // '', qr/^warp 0 +E/m, '... the first stores');
    unlike($clear // '', qr/tensor cores/, '... and has no products');
    my $boundary = 17 + index $marks // '', '|gemm';
    for (map { split /\n/ } $gemm // '') {
        next unless /^(?:warpgroup|loads| +stage|tensor)/;
        (my $row = substr $_, 17) =~ s/ +\d+% \w+$//;
        my ($blank) = $row =~ /^( *)/;
        cmp_ok(17 + length $blank, '>=', $boundary, '... nothing of the second before its begin') or diag($_);
    }
    my $json = slurp("$work/two.json");
    is(json_faults($json), '', '... its JSON is right');
    like($json, qr/"clear_kernel, CTA 0 of 32 on SM 0".*"gemm_kernel, CTA 0 of 2 on SM 0"/s, '... a process is a CTA of one of them');
    my $svg = slurp("$work/two.svg");
    ok(svg_is_whole($svg) && svg_is_plain($svg), '... its SVG is right');
    like($svg, qr/>clear_kernel<.*>gemm_kernel</s, '... and the names');
    my $again = runs("$draw text $work/two.csv", '... and can be drawn again');
    like($again, qr/^kernels {10}\|clear_kernel +\|gemm_kernel/m, '... with both');
    like(runs("$run --timeline=33", 'two kernels: a CTA of the second'), qr/^gemm_kernel, CTA 1 of 2, from /m, '... is numbered on from the first');
    like(`$run --timeline=34 2>&1 >/dev/null`, qr/no events of CTA 34/, '... and the next one is not there');
    my $one = runs('06_wgmma_ss/06_wgmma_ss --on model --timeline --m 256 --n 256 --k 256', 'one kernel');
    unlike($one, qr/^kernels|launches/m, '... has no such line');
}

# ---- refused: one line on stderr, and no file is left

my $program = '07_warp_specialized/07_warp_specialized --on model';
for ([qr{no/such/dir}, "--trace $work/no/such/dir/x.json"],
    [qr/--timeline-svg.*opened/, "--timeline-svg $work"],
    [qr/no events of CTA 77/, "--timeline=77"],
    -c '/dev/full' ? map { [qr{/dev/full.*could not be written}, "$_ /dev/full"] } qw(--trace-events --timeline-svg) : ()) {
    my ($said, $options) = @$_;
    my $out = `$program $options 2>&1 >/dev/null`;
    is($? >> 8, 2, "$options: exit status");
    like($out, qr/^.*$said.*\n\z/, '... with one line that says why');
}
ok(!-e '/dev/full' || -c _, '/dev/full is still there');
{
    local $ENV{PATH} = $work;
    is(`$program --trace $work/left.json 2>&1 >$work/out`, "perl, which draws timelines, could not be run or failed\n", 'without perl: said');
    is($? >> 8, 3, '... with exit status 3');
}
# Two blocks of a file have space for what the program says itself, and not for the picture.
is(`trap '' XFSZ; ulimit -f 2; $program --timeline --trace /dev/null 2>&1 >$work/out`, qq(--timeline: "standard output" could not be written\n),
    'a terminal that takes no more: said');
is($? >> 8, 2, '... with exit status 2');
system "$program --timeline=77 --trace $work/left.json >$work/out 2>&1";
ok(!-e "$work/left.json", 'a file that was not written is not left behind');
is(`FROM=cpu B=$ENV{B} tests/timeline/picture 07_warp_specialized 2>&1`, "FROM=cpu: gpu, recorded or model is accepted\n",
    'picture: where from, of three');
is($? >> 8, 2, '... and its exit status');
like(`$draw svg $work/none.csv 2>&1`, qr/^.*none\.csv: cannot be read\n\z/, 'draw refuses a file that is not there');
is($? >> 8, 2, '... with exit status 2');

done_testing;
