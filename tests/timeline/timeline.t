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

my ($draw, $checks) = map { "$ENV{B}/tests/timeline/$_" } qw(draw checks);
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

# Without its media queries and without CSS variables every class still has a fill or a stroke of its own or sets type
# only, and every shape has a class.
sub svg_is_plain {
    my ($svg) = @_;
    my ($style) = $svg =~ /<style>(.*?)<\/style>/s or return 0;
    $style =~ s/\@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}//gs;
    return 0 if $style =~ /var\(|\@/ || $style !~ /text\{[^}]*fill:#/;
    my %said = map { $_ => 1 } qw(title small end mid), $style =~ /\.(\w+)\{[^}]*(?:fill|stroke):(?:#[0-9a-f]{6}|url)/g;
    while ($svg =~ /<(\w+)([^<>]*)>/g) {
        my ($name, $rest) = ($1, $2);
        next unless $name =~ /^(?:rect|path)$/ || $rest =~ /class="[^"]/;
        return 0 unless $rest =~ /class="([^"]+)"/;
        $said{$_} or return 0 for split / /, $1;
    }
    return 1;
}

# ---- JSON: what is wrong with a trace in the Trace Event Format, by the format's public description. Complete events
# (X) of a track nest, every track has a name, a flow (s, f) has both ends, each inside a span of its track, in order of
# time.

sub json_faults {
    my ($text) = @_;
    my $trace = eval { decode_json($text) } or return 'no JSON';
    my $events = ref $trace eq 'HASH' && $trace->{traceEvents};
    return 'no array traceEvents' if ref $events ne 'ARRAY';
    my (%track, %named, %process, %flow, @faults);
    for my $e (@$events) {
        my ($ph, $pid, $tid) = @$e{qw(ph pid tid)};
        my $fault = sub { push @faults, "$_[0]: " . encode_json($e) };
        if (!defined $ph || $ph !~ /^[XMsfi]$/) { $fault->('phase'); next }
        $fault->('pid, tid') unless defined $pid && defined $tid && "$pid$tid" =~ /^\d+$/;
        $fault->('name') unless defined $e->{name} && length $e->{name};
        if ($ph eq 'M') {
            $named{"$pid/$tid"} = 1 if $e->{name} eq 'thread_name';
            $process{$pid} = 1 if $e->{name} eq 'process_name';
            next;
        }
        $fault->('ts') unless ($e->{ts} // '') =~ /^\d+(\.\d+)?$/;
        if ($ph eq 'X') {
            $fault->('dur') unless ($e->{dur} // '') =~ /^\d+(\.\d+)?$/ && $e->{dur} > 0;
            push @{$track{"$pid/$tid"}}, $e;
        } elsif ($ph eq 'i') {
            $fault->('scope') unless ($e->{s} // '') =~ /^[gpt]$/;
        } else {
            $fault->('id') unless defined $e->{id};
            $fault->('twice') if $flow{$e->{id}}{$ph};
            $flow{$e->{id}}{$ph} = $e;
        }
    }
    my $ns = sub { int($_[0] * 1000 + 0.5) }; # whole nanoseconds, as viewers keep them
    for my $t (sort keys %track) {
        my ($pid) = split m{/}, $t;
        push @faults, "track $t has no name" unless $named{$t};
        push @faults, "process $pid has no name" unless $process{$pid};
        my @open;
        for my $e (sort { $a->{ts} <=> $b->{ts} || $b->{dur} <=> $a->{dur} } @{$track{$t}}) {
            my ($begin, $end) = ($ns->($e->{ts}), $ns->($e->{ts}) + $ns->($e->{dur}));
            pop @open while @open && $open[-1] <= $begin;
            push @faults, "track $t: \"$e->{name}\" at $e->{ts} overlaps the one before" if @open && $end > $open[-1];
            push @open, $end;
        }
    }
    for my $id (sort { $a <=> $b } keys %flow) {
        my ($s, $f) = @{$flow{$id}}{qw(s f)};
        if (!$s || !$f) { push @faults, "flow $id has one end"; next }
        push @faults, "flow $id goes back in time" if $f->{ts} < $s->{ts};
        for my $end ($s, $f) {
            my $at = $ns->($end->{ts});
            push @faults, "flow $id: its $end->{ph} is in no span"
                unless grep { $ns->($_->{ts}) <= $at && $at < $ns->($_->{ts}) + $ns->($_->{dur}) }
                @{$track{"$end->{pid}/$end->{tid}"} || []};
        }
    }
    push @faults, 'nothing in it' unless %track;
    return join "\n", @faults;
}

# ---- every chapter on the model

my (%busy, %json);
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
        ($busy{$chapter}) = $out =~ /^tensor cores had work in ([0-9.]+) %/m;
    }
    runs("$program --timeline-svg $files.svg --trace $files.json --trace-events $files.csv", "$chapter: SVG, JSON and events");
    my $svg = slurp("$files.svg");
    ok(svg_is_whole($svg), "$chapter: the SVG's elements are closed");
    ok(svg_is_plain($svg), "$chapter: its colours need no CSS variables and no media query");
    is(() = $svg =~ /enlarged/g, $chapter =~ /^(?:0[2-5]|12)/ ? 1 : 0,
        "$chapter: a part is enlarged where fragments are loaded");
    $json{$chapter} = slurp("$files.json");
    is(json_faults($json{$chapter}), '', "$chapter: the JSON is a trace whose spans nest");
    runs("$checks $files.csv", "$chapter: its events pass every check");
    runs("$draw kept $files.csv >$files.kept.csv && $checks $files.kept.csv", "$chapter: and those that are drawn of them");
    for my $events ("$files.csv", "$files.kept.csv") {
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
    runs("$checks $kept", "$kept passes every check");
    next if slurp("$chapter/timeline.svg") =~ /<desc>[^<]*CPU model/;
    runs("$draw svg $kept | cmp - $chapter/timeline.svg", "$chapter/timeline.svg is drawn from it");
}
# Barriers of recorded launches: the one that most warps of a CTA meet at, time after time. How often did a warp leave
# before the last one had come? (The clock must not be read before the barrier holds the warp.)
sub leaves_early {
    my ($csv) = @_;
    my (%spans, $early);
    for (split /\n/, $csv) {
        my ($kind, $cta, undef, $warp, undef, $id, undef, undef, undef, undef, undef, $times) = split /,/;
        push @{ $spans{"$cta $id"}{$warp} }, map { [ split /:/ ] } split / /, $times if $kind eq 'barrier';
    }
    for my $warps (values %spans) {
        my @of = values %$warps;
        my ($fewest) = sort { $a <=> $b } map { scalar @$_ } @of;
        for my $i (0 .. $fewest - 1) {
            my ($last) = sort { $b <=> $a } map { $_->[$i][0] } @of;
            $early += grep { $_->[$i][1] < $last } @of;
        }
    }
    return $early // 0;
}
is(leaves_early(slurp($_)), 0, "$_: no warp leaves a barrier before all have come") for @kept;
is(leaves_early("barrier,0,1,0,0,0,-1,0,0,0,,5:9 20:31\nbarrier,0,1,1,0,0,-1,0,0,0,,8:9 30:30\n"), 0, 'two barriers as they should be');
is(leaves_early("barrier,0,1,0,0,0,-1,0,0,0,,5:7 20:31\nbarrier,0,1,1,0,0,-1,0,0,0,,8:9 30:30\n"), 1, 'and one that is left early: seen');

# ---- what the talk's pictures show

my ($slow, $hidden, $buffered) = map { int $busy{$_} } qw(02_smem_tiled 03_cp_async_multistage 04_regfile_double_buffer);
ok($slow < $hidden && $hidden < $buffered,
    "tensor cores are busier in 03 than in 02 ($slow %, $hidden %) and in 04 than in 03 ($buffered %)");
my (@epilogues, @products, %tiles);
for (split /\n/, slurp("$work/08_persistent_pingpong.csv")) {
    my ($kind, undef, undef, $warp, $unit, undef, undef, undef, $row, $column, undef, $spans) = split /,/;
    push @epilogues, map { [split /:/] } split / /, $spans if $kind eq 'epilogue' && $warp == 4;
    push @products, map { [split /:/] } split / /, $spans if $kind eq 'wgmma' && $unit == 2;
    $tiles{"$row,$column"} = 1 if $kind eq 'tile' && $warp >= 4;
}
ok((grep { my $e = $_; grep { $_->[0] < $e->[1] && $_->[1] > $e->[0] } @products } @epilogues),
    '08: an epilogue of consumer 0 lies under the math of consumer 1');
cmp_ok(scalar keys %tiles, '>=', 3, '08: over at least three tiles');

# ---- json_faults can fail: each fault alone, put into a trace that is right

for ([qr/dur/, sub { s/("ph":"X".*"dur":)[0-9.]+/${1}0/ }, 'a span that takes no time'],
    [qr/overlaps/, sub { s/("dur":)([0-9.]+)(.*"wait for full)/$1 . ($2 + 500) . $3/e }, 'a span that overlaps the next'],
    [qr/one end/, sub { s/^.*"ph":"f".*\n//m }, 'an arrow with one end'],
    [qr/back in time/, sub { s/("ph":"s".*"ts":)[0-9.]+/${1}15000000/ }, 'an arrow back in time'],
    [qr/no span/, sub { s/("ph":"s".*"tid":)[0-9]+/${1}9999/ }, 'an arrow from nowhere'],
    [qr/no name/, sub { s/"thread_name"/"thread_nome"/ }, 'a track without a name'],
    [qr/no JSON/, sub { $_ = substr $_, 0, 2000 }, 'half a file']) {
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
    my @kernels = grep { ($_->{cat} // '') eq 'kernel' && $_->{ph} eq 'X' } @{decode_json($json)->{traceEvents}};
    is(join(' ', map { $_->{name} } @kernels), 'clear_kernel gemm_kernel', '... with a track for each kernel');
    cmp_ok($kernels[0]{ts} + $kernels[0]{dur}, '<=', $kernels[1]{ts}, '... one after the other');
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
    -c '/dev/full' ? [qr{/dev/full.*could not be written}, '--trace-events /dev/full'] : ()) {
    my ($said, $options) = @$_;
    my $out = `$program $options 2>&1 >/dev/null`;
    is($? >> 8, 2, "$options: exit status");
    like($out, qr/^.*$said.*\n\z/, '... with one line that says why');
}
ok(!-e '/dev/full' || -c _, '/dev/full is still there');
system "$program --timeline=77 --trace $work/left.json >$work/out 2>&1";
ok(!-e "$work/left.json", 'a file that was not written is not left behind');
is(`FROM=cpu B=$ENV{B} tests/timeline/picture 07_warp_specialized 2>&1`, "FROM=cpu: gpu, recorded or model is accepted\n",
    'picture: where from, of three');
is($? >> 8, 2, '... and its exit status');
like(`$draw svg $work/none.csv 2>&1`, qr/^.*none\.csv: cannot be read\n\z/, 'draw refuses a file that is not there');
is($? >> 8, 2, '... with exit status 2');

done_testing;
