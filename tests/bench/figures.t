#!/usr/bin/perl
# Do the figures in the texts and the picture of the ladder agree with the CSVs in tests/bench/results? And would
# tests/bench/figures say so if they did not?
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Path qw(make_path remove_tree);
use File::Temp 'tempdir';
use Test::More;

my ($said, $status);
sub try { $said = `exec 2>&1; @_`; $status = $? >> 8; return $said }

try('tests/bench/figures --check');
is($status, 0, 'the figures in the texts and the picture of the ladder are those of the CSVs') or diag($said);

my $copy = tempdir(CLEANUP => 1) . '/copy';
my $results = "$copy/tests/bench/results";
my $figures = "$copy/tests/bench/figures";

sub store {
    my ($path, $text) = @_;
    my ($directory) = "$copy/$path" =~ m{(.*)/};
    make_path($directory);
    open my $out, '>', "$copy/$path" or die "$path: $!";
    print $out $text;
    close $out or die "$path: $!";
}
sub contents { my ($path) = @_; open my $in, '<', $path or die "$path: $!"; local $/; return scalar <$in> }
sub slurp { return contents("$copy/$_[0]") }
# edit(PATH, CODE): CODE changes the file's text as $_; returns what it was.
sub edit { my ($path, $code) = @_; local $_ = my $was = slurp($path); $code->(); store($path, $_); return $was }

# ---- the texts of this repository

my $page = contents('book/experiments.md');
my %group = map { (split / *\|/)[0] => 1 } grep { /^[^#\s]/ } split /\n/, contents('tests/bench/plans/experiments');
my @shown = map { contents($_) =~ /^<!-- experiment: (\S+) -->$/mg } glob 'book/*.md [0-9]*_*/*.md beyond/*/*.md';
is_deeply([ sort @shown ], [ sort keys %group ], 'the texts have each experiment of the plan, once');
is_deeply([ map { scalar(() = $page =~ /^\*\*$_\.\*\* /mg) } qw(Question Prediction) ], [ (scalar(() = $page =~ /^<!-- experiment: /mg)) x 2 ],
    'each has a question and a prediction');
like(contents('README.md'), qr/^<!-- figures: front -->$/m, 'the front README has the ladder at one size');
like(contents('README.md'), qr/^<!-- figures: beyond -->$/m, '... and a table of what comes after it');
like(contents('README.md'), qr/^\| \[\Q$_\E\]\(beyond\/$_\/\) \|/m, "... with $_") for map { m{beyond/(.*)/} } glob 'beyond/[0-9][0-9]_*/';
my %block = (10 => [ 'fp8' ], 11 => [ 'w4a8', 'grouped' ], 12 => [ 'two' ]);
for my $path (glob 'beyond/1[0-2]_*/') {
    my ($number) = $path =~ m{/(\d\d)_};
    my $pages = join '', map { contents($_) } glob "$path*.md";
    like($pages, qr/^<!-- figures: $_ -->$/m, "$path has $_") for "headline $number", @{ $block{$number} };
}
like(contents('book/measuring.md'), qr/^<!-- figures: $_ -->$/m, "book/measuring.md has $_") for qw(ladder shapes limits sustained), 'ladder nvidia_h100';
like(contents('README.md'), qr{\(tests/bench/results/ladder\.svg\)}, 'and its picture');
cmp_ok(-s 'tests/bench/results/ladder.svg', '<', 20_000, 'which is below 20 kB');

# ---- a small repository with the same tool and figures that can be checked by hand ----

# run(DATE, COMMIT, TFLOPS [, CARD]): a whole run. cuBLAS has 100 TFLOP/s; the chapters 02 and 07 have half of it and as much as
# TFLOPS says; 07 is 128 times as fast at 16384 cubed, so that its geometric mean over seven shapes is twice its ratio.
my $HEADER = "gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w\n";
my @SHAPES = split ' ', '8192,8192,8192 4096,4096,4096 2048,2048,2048 1024,1024,1024 16384,16384,16384 4096,14336,4096 ' .
    '8192,7168,2048 4096,4096,14336 512,7168,7168 128,8192,8192 64,8192,8192 16,8192,8192';
sub run {
    my ($date, $commit, $tflops, $card) = @_;
    my $text = '';
    for my $size (@SHAPES) {
        for ([ 1, 'cublas', 100 ], [ 1, '02', 50 ], [ $size =~ /^16384/ ? 128 : 1, '07', $tflops ]) {
            my ($times, $kernel, $t) = @$_;
            $text .= sprintf "%s,$date,$commit,paused,$size,$kernel,%g,%g,%g,%.4f,1980,700\n", $card // 'NVIDIA H200',
                $times * $t, $t, 200 * $t, $times * $t / 100;
        }
    }
    return $text;
}
my $EXPERIMENTS = "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit\n";
make_path($results, map { "$copy/$_" } qw(01_one 02_two 07_seven build book));
system 'cp', 'tests/bench/figures', 'tests/bench/blocks.pl', "$copy/tests/bench/";
my $in = 'tests/bench/results/nvidia_h200_2026-01';
my $csv = "$in-02.csv";
store($csv, $HEADER . run('2026-01-02', 'newer', 90));
store("$in-01.csv", $HEADER . run('2026-01-01', 'older', 70));
store("$in-02_sustained.csv", $HEADER . <<'TEXT');
NVIDIA H200,2026-01-02,newer,sustained,8192,8192,8192,07,800,790,810,1.25,1500,600
NVIDIA H200,2026-01-02,newer,sustained,8192,8192,8192,cublas,640,630,650,1.0000,1400,640
TEXT
store("$in-01_limits.csv", $EXPERIMENTS . <<'TEXT');
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,200,199,201,TFLOP/s
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,1980,1980,1980,MHz
NVIDIA H200,2026-01-01,older,limits,mma.sync of some shape,0,0,0,150,149,151,TFLOP/s
NVIDIA H200,2026-01-01,older,loads,from far away,0,0,0,250,249,251,ns
NVIDIA H200,2026-01-01,older,sums,normal data in the tensor cores,64,128,128,30,30,30,millionths
NVIDIA H200,2026-01-01,older,sums,normal data promoted,64,128,128,30,30,30,millionths
NVIDIA H200,2026-01-01,older,sums,normal data in the tensor cores,64,128,512,5432.1,5432.1,5432.1,millionths
NVIDIA H200,2026-01-01,older,sums,normal data promoted,64,128,512,30.55,30.55,30.55,millionths
TEXT
my $costs = "$in-02_recording.csv";
store($costs, <<'TEXT');
gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent,flop_percent
NVIDIA H200,2026-01-02,newer,4096,4096,1024,01,900.0,909.0,1.0,10,0,0.0,0.0
NVIDIA H200,2026-01-02,newer,4096,4096,1024,07,100.0,112.5,12.5,10,0,61.2,59.8
NVIDIA H200,2026-01-02,newer,4096,4096,4096,07,400.0,410.0,2.5,10,0,81.2,79.8
TEXT
store('tests/bench/plans/experiments', <<'TEXT');
# a remark
expect_tx | 07: before the copies | 07 | | 8192
expect_tx | 07: after the copies | 07_after | | 8192
setmaxnreg | 07 | 07 | | 8
setmaxnreg | = 08: cooperative | 08 | | 8
setmaxnreg | 08: cooperative without | 08_without | | 8
setmaxnreg | = 09 | 09 | | 8
setmaxnreg | 09: without | 09_without | | 8
not_run | 07 | 07 | | 8192
TEXT
my $tried = "$in-02_experiments.csv";
store($tried, $EXPERIMENTS . <<'TEXT');
NVIDIA H200,2026-01-02,old,expect_tx,07: before the copies,8192,8192,8192,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: after the copies,8192,8192,8192,50,45,55,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,200,90,210,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,1500,1500,1500,MHz
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,12,12,12,GB read from DRAM
NVIDIA H200,2026-01-02,new,expect_tx,07: after the copies,2048,4096,64,0,0,0,hang
NVIDIA H200,2026-01-02,new,expect_tx,07: not in the plan any more,8192,8192,8192,60,45,55,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,07,8,8,8,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,08: cooperative,8,8,8,200,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,08: cooperative without,8,8,8,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,09: without,8,8,8,100,90,110,TFLOP/s
TEXT
store("$in-01_experiments.csv", $EXPERIMENTS . "NVIDIA H200,2026-01-01,older,expect_tx,07: before the copies,8192,8192,8192,7,7,7,TFLOP/s\n");
store("$_/$_.cu", qq{CHAPTER($_, .adds = "what $_ adds");\n}) for qw(01_one 02_two 07_seven);

# prints(BLOCK [, PATTERN, NAME]...): what it prints has all of these.
sub prints {
    my ($block, @wanted) = @_;
    my $printed = try("$figures --print '$block'");
    while (my ($pattern, $name) = splice @wanted, 0, 2) {
        like($printed, $pattern, "$block: $name");
    }
    return $printed;
}
prints('ladder',
    qr/^\| \[07_seven\]\(07_seven\/\) \| 90\.0 \| 90\.0 \| 90\.0 \| 0\.900 \| 0\.900 \| 0\.900 \| 1\.800 \[0\.900\] \| 0\.45 \|$/m,
    'the newest run, the geometric mean of the seven, the share of wgmma alone',
    qr/^\| \[02_two\]\(02_two\/\) \| 50\.0 \| 50\.0 \| 50\.0 \| 0\.500 \| 0\.500 \| 0\.500 \| 0\.500 \[0\.500\] \| 0\.33 \|$/m, 'the share of mma.sync alone',
    qr/^\| \[01_one\]\(01_one\/\)(?: \| –){8} \|$/m, 'what was not run');
prints('front', qr/^\| \[07_seven\]\(07_seven\/\) \| what 07_seven adds \| 90\.0 \| 0\.900 \|\n\| cuBLAS \| [^|]* \| 100 \| 1 \|\n/m, 'what a chapter adds, one size',
    qr/^\| \[01_one\]\(01_one\/\) \| what 01_one adds \| – \| – \|$/m, 'what was not run',
    qr/least\), \[07_seven\]\(07_seven\/\) has 1\.800 \[0\.900\] of cuBLAS\.$/m, 'the mean and the least of the last chapter',
    qr{^Figures: \[NVIDIA H200 2026-01-02\]\(\Q$csv\E\)\.$}m, 'the run is named');
prints('sustained', qr/^\| \[07_seven\]\(07_seven\/\) \| 8192³ \| 800\.0 \| 790\.0 to 810\.0 \| 1\.250 \| 1500 \| 600 \| 0\.750 \| 0\.750 \|$/m, 'watts over TFLOP/s, and their ratio');
prints('limits', qr/^\| wgmma of some shape \| 200\.00 \| 199\.00 to 201\.00 \| TFLOP\/s \|$/m, 'a row');
prints('loads', qr/^\| from far away \| 250\.00 \| 249\.00 to 251\.00 \| ns \|$/m, 'a row');
prints('sums', qr/^\| 128 \| 0\.003 % \| 0\.003 % \| – \| – \|\n\| 512 \| 0\.543 % \| 0\.00305 % \| – \| – \|$/m, 'what each way loses, by K');
prints('chapter 07', qr/^\| 16384³ \| 11520\.0 \| 90\.0 to 18000\.0 \| 115\.200 \| 50\.0 \| 0\.500 \| 230\.4 \|$/m, 'beside chapter 02',
    qr/^\| 8192 x 7168 x 2048 .* \| 1\.800 \|$/m, 'by their ratio, to three digits below 10');
prints('shapes', qr/^\| 4096 x 14336 x 4096 \| 100 \| – \| 0\.500 \| 0\.900 \| – \|$/m, 'a row');
prints('peers', qr/^Not measured: no peer was linked/, 'none in this run');
prints('recording', qr/^\| \[07_seven\]\(07_seven\/\) \| 4096 x 4096 x 1024 \| 100\.0 \| 112\.5 \| 12\.5 \| 61\.2 \| 59\.8 \|\n\| \[07_seven\].* 4096³ /m, 'both sizes',
    qr/^\| \[01_one\]\(01_one\/\) \| 4096 x 4096 x 1024 \| 900\.0 \| 909\.0 \| 1\.0 \| – \| – \|$/m, 'no tensor cores');
prints('recording 07', qr/12\.5 % slower;\nin .* busy for 61\.2 % of the time by the events and 59\.8 % by FLOP\n/, 'a sentence');
prints('recording 01', qr/1\.0 % slower\n\(NVIDIA H200, 2026-01-02/, 'a sentence without tensor cores');
prints('recording 02', qr/has not been measured yet/, 'not measured');
my $expected = <<'TEXT';
| 07: before the copies | 8192³ | 200 | 90.0 to 210 | 1.000 | 1500 | 12 |
| 07: after the copies | 8192³ | 50.0 | 45.0 to 55.0 | 0.250 | – | – |
| 07: after the copies | 2048 x 4096 x 64 | hang | | | | |
TEXT
prints('experiment expect_tx', qr/^\| --- .*\|\n\Q$expected\E\nMeasured: NVIDIA H200, 2026-01-02, commit new \(.*\(\Q$tried\E\)\)\.$/m,
    'the newest run, in the order of the plan, and nothing else');
prints('experiment not_run', qr/^Not measured: no CSV in tests\/bench\/results has this experiment\.$/, 'without a CSV it says so');
my $ratios = prints('experiment setmaxnreg', qr/^Not measured yet: 09\.$/m, 'what is missing');
is(join(' ', map { (split / *\| */)[5] } grep { /^\| 0/ } split /\n/, $ratios), '1.000 1.000 0.500 –',
    'a ratio is to the last variant that the plan marks; none where that has no figure');

# ---- written into texts, and compared with them ----

store('README.md', <<'TEXT');
# Front
<!-- figures: ladder -->
<!-- /figures -->
between
<!-- figures: limits -->
<!-- /figures -->
```
<!-- figures: this is a text -->
```
end
TEXT
store('07_seven/README.md', "<!-- figures: chapter 07 -->\nold\n<!-- /figures -->\n<!-- experiment: expect_tx -->\n<!-- /experiment -->\n"
    . "<!-- figures: recording 07 -->\n<!-- /figures -->\n<!-- figures: recording 01 -->\n<!-- /figures -->\n");
store('build/README.md', "<!-- figures: nonsense -->\n"); # not the repository's
# stale(NAME, BLOCK...): --check must name these, and as many. good(NAME): all is up to date.
sub stale {
    my ($name, @blocks) = @_;
    try("$figures --check");
    is($status, 1, "$name: noticed");
    like($said, qr/^$_/m, "$name: named: $_") for @blocks;
    is(scalar(() = $said =~ /the block|is not what nvidia/g), scalar @blocks, "$name: and no other");
}
sub good { my ($name) = @_; is(try("$figures --check") . $status, 0, $name) }
sub put_right { my ($name) = @_; try($figures); is($status, 0, "$name: written") or diag($said); good("$name: then up to date") }
my ($ladder, $limits) = map { qr/README\.md:\d+: the block "$_"/ } 'ladder', 'limits';
my ($chapter, $copies, $recorded, $recorded_01) = map { qr/07_seven\/README\.md:\d+: the block "$_"/ } 'chapter 07', 'expect_tx', 'recording 07', 'recording 01';
my $svg = 'tests/bench/results/ladder.svg';
my $picture = qr/\Q$svg\E is not what nvidia_h200_2026-01-02.csv, commit newer says/;
stale('empty blocks', $ladder, $limits, $chapter, $copies, $recorded, $recorded_01, $picture);
put_right('empty blocks');
like(slurp('README.md'), qr/^between\n.*^```\n<!-- figures: this is a text -->\n```\nend\n\z/ms, 'the rest is left alone');
like(slurp('07_seven/README.md'), qr{\(\.\./\Q$csv\E\)}, 'a link starts from the file it is in');
my $drawn = slurp($svg);
like($drawn, qr/^<!-- drawn by \S+ from nvidia_h200_2026-01-02\.csv, commit newer -->$/m, 'the picture names CSV and commit');
is(scalar(() = $drawn =~ /<rect class="[abc]" [^>]*y="[\d.]+" width="32"/g), 6, 'a bar for each figure');
like($drawn, qr/height="126\.0".*>0\.90</, 'as high as it should be');
for (
    [ 'README.md', sub { s/1\.800 \[0\.900\]/1.801 [0.900]/ }, $ladder ],
    [ $csv, sub { s/,2048,2048,2048,07,90,90,18000,0.9000/,2048,2048,2048,07,90,90,18000,0.8000/ }, $ladder, $chapter, $picture ],
    [ "$in-01_limits.csv", sub { s/wgmma of some shape,0,0,0,200/wgmma of some shape,0,0,0,201/ }, $ladder, $limits ],
    [ $tried, sub { s/after the copies,8192,8192,8192,50/after the copies,8192,8192,8192,51/ }, $copies ],
    [ $costs, sub { s/,12\.5,10,/,12.6,10,/ }, $recorded ],
    [ $svg, sub { s/newer/never/ }, $picture ],
) {
    my ($file, $change, @blocks) = @$_;
    my $was = edit($file, $change);
    stale("a character changed in $file", @blocks);
    like($said, qr/has .*1\.801.*\n.*should be .*1\.800/, '... and the line is shown') if $file eq 'README.md';
    store($file, $was);
}
unlink "$copy/$svg";
stale('no picture', $picture);
put_right('no picture');
is(slurp($svg), $drawn, 'the same CSV gives the same picture');
my $good_csv = edit($csv, sub { $_ .= join '', map { "NVIDIA H200,2026-01-02,newer,paused,$_,CUTLASS ping-pong,80,80,80,0.8,1980,\n" } @SHAPES[ 0 .. 2 ] });
is(scalar(() = prints('picture') =~ /<rect class="[abc]" [^>]*y="[\d.]+" width="32"/g), 9, 'a peer has bars, too');
prints('peers', qr/^\| 2048³ \|.* 0\.800 \|$/m, 'a column');
store($csv, $good_csv);

# ---- a new chapter, at the top or beyond it ----

make_path("$copy/09_nine", "$copy/beyond/13_ten");
store('tests/bench/plans/ladder', join '', map { "ladder | $_ | $_ | | 8192\n" } qw(01 02 07));
good('a chapter that plans/ladder does not time has neither row nor column');
unlink "$copy/tests/bench/plans/ladder";
stale('a chapter without figures', $ladder);
unlike(prints('ladder', qr/^\| \[09_nine\]\(09_nine\/\)(?: \| –){8} \|$/m, 'its row is empty', qr/ 09 has not been measured yet\./, 'and the text says why'), qr/13_ten/,
    'what is beyond the ladder has no row in it');
prints('shapes', qr/^\| M x N x K \| cuBLAS.* 09 \| 13 \|/m, '... but a column');
unlike(prints('picture'), qr/nine/, 'no bar is drawn for it');
prints('chapter 13', qr/\| 09 TFLOP\/s \| 09 ratio \| 13 \/ 09 \|/, 'it is compared with the chapter before it');
remove_tree("$copy/09_nine", "$copy/beyond");
good('gone again');

# ---- chapters with a problem of their own ----

my @beyond = map { "$copy/beyond/$_" } qw(09_nine 10_ten 11_eleven 12_twelve 13_later);
make_path(@beyond);
my $kinds = "$in-05_kinds.csv";
prints('headline 10', qr/^Not measured: no CSV has rows of mode fp8\.$/, 'without rows of its mode: said');
is_deeply([ map { (split / *\| */)[4] } grep { /^\| \[/ } split /\n/, prints('beyond') ], [ ('not measured yet') x 5 ], 'beyond: what has not been measured');
my $own = $HEADER . <<'TEXT';
NVIDIA H200,2026-01-05,own,fp8,0,0,0,copy,4,3.9,4.1,,1500,
NVIDIA H200,2026-01-05,own,fp8,4096,2112,7168,10,640,630,650,,1400,
NVIDIA H200,2026-01-05,own,fp8,4096,2112,7168,DeepGEMM fp8,1000,990,1010,,1400,
NVIDIA H200,2026-01-05,own,fp8,8192,8192,8192,10,1000,990,1010,,1400,
NVIDIA H200,2026-01-05,own,fp8,8192,8192,8192,DeepGEMM fp8,700,690,710,,1400,
NVIDIA H200,2026-01-05,own,fp8,8192,8192,8192,cublas,900,890,910,,1400,
NVIDIA H200,2026-01-05,own,fp8,8192,8192,8192,cublaslt,1000,890,910,,1400,
NVIDIA H200,2026-01-05,own,fp8,16,8192,8192,10,100,90,110,,1400,
NVIDIA H200,2026-01-05,own,fp8,16,8192,8192,DeepGEMM fp8,80,70,90,,1400,
NVIDIA H200,2026-01-05,own,w4a8,0,0,0,copy,4,3.9,4.1,,1500,
NVIDIA H200,2026-01-05,own,w4a8,16,8192,8192,11,150,140,160,,1400,
NVIDIA H200,2026-01-05,own,w4a8,16,8192,8192,10,100,90,110,,1400,
NVIDIA H200,2026-01-05,own,w4a8,16,8192,8192,CUTLASS 55,120,110,130,,1400,
NVIDIA H200,2026-01-05,own,w4a8,256,8192,8192,11,500,490,510,,1400,
NVIDIA H200,2026-01-05,own,w4a8,256,8192,8192,10,800,790,810,,1400,
NVIDIA H200,2026-01-05,own,w4a8,64,8192,8192,11,480,470,490,,1400,
NVIDIA H200,2026-01-05,own,w4a8,64,8192,8192,10,300,290,310,,1400,
NVIDIA H200,2026-01-05,own,w4a8,16,512,512,11,2,1,3,,1400,
NVIDIA H200,2026-01-05,own,w4a8,16,512,512,10,1,1,1,,1400,
NVIDIA H200,2026-01-05,own,grouped,384,4096,7168,11,300,290,310,,1400,
NVIDIA H200,2026-01-05,own,grouped,384,4096,7168,10 in a loop,200,190,210,,1400,
NVIDIA H200,2026-01-05,own,grouped,384,4096,7168,11 uneven,280,270,290,,1400,
2 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,gemm alone,1700,1690,1710,1.7,1500,
2 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,cublas+nccl,1000,990,1010,1,,
2 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,09 in pieces,1250,1240,1260,1.25,,
2 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,12,1600,1590,1610,1.6,,
4 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,cublas+nccl,2000,1990,2010,1,,
4 x NVIDIA H200,2026-01-05,own,two,8192,8192,8192,12,3000,2990,3010,1.5,,
TEXT
store($kinds, $own);
my $where = qr/^(?:2 x )?NVIDIA H200, 2026-01-05, commit own, with pauses between samples: \[\S+\]\(\Q$kinds\E\)$/m;
prints('headline 10', qr/^\*\*0\.800 \[0\.640\] of the better of DeepGEMM and cuBLASLt, mean of six shapes \[least\]\*\* \(NVIDIA H200, 2026-01-05; \[all shapes\]\(notes\.md#measured\)\)$/m,
    'the geometric mean of its ratio to whichever is faster');
prints('fp8', $where, 'the run is named', qr/^\| 4096 x 2112 x 7168 \| 640 \| 630 to 650 \| 1000 \| – \| – \| 0\.640 \|$/m, 'what refuses a shape has no figure',
    qr/^\| 8192³ \| 1000 \| .* \| 700 \| 900 \| 1000 \| 1\.000 \|$/m, 'the better of the others counts',
    qr/^\| mean of six \[least\] \|.*\| 0\.800 \[0\.640\] \|$/m, 'the mean',
    qr/^\| 16 x 8192 x 8192 \| 100 \|.*\| 1\.250 \| 3\.14 \| 0\.79 \|$/m, 'few rows: bytes a second, and their share of a copy');
prints('headline 11', qr/^\*\*1\.50 to 2\.00 times the speed of fp8 at M = 16 to 64\*\* /m, 'the least and the most of its ratios to 10 at few rows');
prints('w4a8', $where, 'the run is named',
    qr/^\| 8192 x 8192 \| 16 \| 150 \| 140 to 160 \| 100 \| 120 \| 1\.500 \| 1\.250 \| 2\.44 \| 0\.61 \|\n\| 8192 x 8192 \| 64 \|.*\n\| 8192 x 8192 \| 256 /m,
    'in the order of M; ratios to 10 and to each peer',
    qr/^Of the measured M, fp8 is faster from M = 256 at 8192 x 8192; at no M here at 512 x 512\.$/m, 'from where fp8 is faster');
prints('grouped', qr/^\| 384 x 4096 x 7168 \| alike \| 75\.2 \| 72\.7 to 77\.8 \| 112\.7 \| 107\.4 to 118\.7 \| 1\.500 \|$/m, 'times, and the ratio of speeds',
    qr/^\| 384 x 4096 x 7168 \| uneven \| 80\.5 \| [^|]* \| – \| – \| – \|$/m, 'a draw of its own, without its loop');
prints('headline 12', qr/^\*\*8192³ on two GPUs in 0\.687 ms; cuBLAS, then NCCL: 1\.100 ms\*\* \(2 x NVIDIA H200, /m, '12 and what it is compared with, on two GPUs');
prints('two', $where, 'the run is named', qr/^\| \(b\) 09 in pieces, [^|]* \| 8192³ \| 0\.880 \| 0\.873 to 0\.887 \| 1250 \| 1\.250 \|$/m, 'ms and the ratio to cuBLAS and NCCL',
    qr/^\| 2 x NVIDIA H200 \|.*^\| 4 x NVIDIA H200 \|.*^\| \(c\) 12, [^|]* \| 8192³ \| 0\.367 \| [^|]* \| 3000 \| 1\.500 \|$/ms, 'a table for each number of GPUs');
prints('beyond', qr{^\| \[10_ten\]\(beyond/10_ten/\) \| e4m3 [^|]* \| [^|]* \| 0\.800 \[0\.640\] of the better of [^|]* \|$}m, 'what, why, its figure',
    qr{^\| \[13_later\]\(beyond/13_later/\) \| – \| – \| not measured yet \|$}m, 'also of a chapter that the tool has no words for');
prints('fp8 nvidia_h100', qr/^Not measured on nvidia_h100: /, 'a block may name another card');
edit($kinds, sub { s/^2 x .*,12,.*\n//mg });
prints('headline 12', qr/^Not measured: /, 'without a row of 12');
store($kinds, $own);

# ---- in Chinese ----

make_path("$copy/tests/book");
system 'cp', 'tests/book/Chinese.pm', "$copy/tests/book/";
my %adds = ('01_one' => 'one thread for each element of C', '02_two' => 'cp.async into a ring of stages', '07_seven' => 'wgmma from shared memory, asynchronous math');
store("$_/$_.cu", qq{.adds = "$adds{$_}"}) for keys %adds;
store('07_seven/README.zh.md', "<!-- figures: headline 07 -->\n<!-- /figures -->\n<!-- figures: recording 07 -->\n<!-- /figures -->\n");
store('book/README.zh.md', "<!-- figures: front -->\n<!-- /figures -->\n<!-- figures: beyond -->\n<!-- /figures -->\n");
put_right('blocks of Chinese pages');
for ([ '07_seven', qr{^\*\*50\.0 → 90\.0 TFLOP/s（8192³），是 cuBLAS 的 0\.900 倍\*\*（第 02 章 → 第 07 章；NVIDIA H200，2026-01-02；\[所有形状\]\(notes\.md#measured\)）$}m, 'a headline' ],
    [ '07_seven', qr/^做记录会让一次/m, 'what recording costs' ],
    [ 'book', qr{^\| 章 \| 新增内容 \| 8192³ 时的 TFLOP/s \| 与 cuBLAS 之比 \|$}m, 'the front page: heads' ],
    [ 'book', qr{^\| \[07_seven\]\(\.\./07_seven/README\.zh\.md\) \| wgmma 直接.* \| 90\.0 \| 0\.900 \|$}m, '... a row, which leads to the Chinese page' ],
    [ 'book', qr{^\| \[02_two\]\(\.\./02_two/\) }m, '... and to the English one where there is no other' ],
    [ 'book', qr{^\| \[10_ten\]\(\.\./beyond/10_ten/\) \| e4m3，[^|]* \| 字节减半[^|]* \| 是 DeepGEMM 与 cuBLASLt 中较快者的 0\.800 \[0\.640\] 倍}m, '... what is beyond: 10' ],
    [ 'book', qr{ \| M = 16 到 64 时，速度是 fp8 的 1\.50 到 2\.00 倍 \|$}m, '... 11' ],
    [ 'book', qr{ \| 两块 GPU 上 8192³ 用 0\.687 ms；先 cuBLAS 再 NCCL：1\.100 ms \|$}m, '... 12' ],
    [ 'book', qr{^\| \[13_later\]\(\.\./beyond/13_later/\) \| – \| – \| 尚未测量 \|$}m, '... and one without words' ]) {
    my ($directory, $pattern, $name) = @$_;
    utf8::decode(my $text = slurp("$directory/README.zh.md"));
    like($text, $pattern, "in Chinese: $name");
}
edit('book/README.zh.md', sub { s/\| 90\.0 /| 91.0 / });
stale('a stale figure in Chinese', 'book/README.zh.md:1: the block "front"');
store('02_two/02_two.cu', '.adds = "something new"');
try($figures);
is("$status:" . ($said =~ tr/\n//), '2:1', 'words without Chinese ones: refused in one line');
like($said, qr/has no phrase for "something new"/, '... and named');
remove_tree("$copy/beyond");
unlink map { "$copy/$_" } $kinds, '07_seven/README.zh.md', 'book/README.zh.md';
good('without Chinese pages as before');

# ---- which run counts ----

my $later = "$in-03.csv";
store($later, $HEADER . join '', grep { !/,16384,/ } map { "$_\n" } split /\n/, run('2026-01-03', 'partial', 80));
good('a later run that lacks a shape does not count');
edit($later, sub { $_ .= run('2026-01-03', 'whole', 80) });
stale('a later whole run', $ladder, $chapter, '.*ladder.svg is not what nvidia_h200_2026-01-03.csv, commit whole says');
unlink "$copy/$later";
store($csv, $good_csv . run('2026-01-02', 'later', 80));
prints('ladder', qr/commit later/, 'of two runs of a day the later counts');
store($csv, $good_csv);
store('tests/bench/results/nvidia_h100_2026-01-04.csv', $HEADER . run('2026-01-04', 'smaller', 60, 'NVIDIA H100 80GB HBM3'));
good("a later run of another card changes no text");
unlike(prints('ladder nvidia_h100', qr/\| \[07_seven\]\(07_seven\/\) \| 60\.0 .*\nNVIDIA H100 80GB HBM3, 2026-01-04, commit smaller/s, 'a block may name it'), qr/Ceiling/, '... and takes nothing from the first');
prints('sustained nvidia_h100', qr/^Not measured on nvidia_h100: no CSV has/, 'it says what that card has not');
like(try("$figures --print ladder $results/nvidia_h100_2026-01-04.csv"), qr/commit smaller/, 'a CSV may be named, too');

# ---- what is refused ----

# refused(PATTERN, NAME): nothing is written, and one line says why.
my $readme = slurp('README.md');
store('02_two/README.md', "<!-- figures: limits -->\nold\n<!-- /figures -->\n");
sub refused {
    my ($pattern, $name) = @_;
    for my $option ('--check', '') {
        try("$figures $option");
        is("$status:" . ($said =~ tr/\n//), '2:1', "$name: refused in one line") or diag($said);
        like($said, $pattern, "$name: named");
    }
    like(slurp('02_two/README.md'), qr/^old$/m, "$name: no file is changed");
}
for (
    [ "<!-- figures: nonsense -->\n<!-- /figures -->", qr/README.md:1: there is no block "nonsense"/, 'an unknown block' ],
    [ "<!-- figures: chapter 09 -->\n<!-- /figures -->", qr/there is no chapter "09"/, 'an unknown chapter' ],
    [ "<!-- experiment: none -->\n<!-- /experiment -->", qr/README.md:1: there is no experiment "none"/, 'an unknown experiment' ],
    [ "x\n<!-- figures: limits -->", qr/README.md:2: .*no line <!-- \/figures -->/, 'a block without an end' ],
    [ "<!-- figures: limits -->\n<!-- figures: ladder -->\n<!-- /figures -->", qr/README.md:1: .*no line/, 'a block in a block' ],
    [ '<!-- /figures -->', qr/README.md:1: /, 'an end without a start' ],
    [ '<!-- /experiment -->', qr/README.md:1: /, "an experiment's end without a start" ],
) {
    my ($text, $pattern, $name) = @$_;
    store('README.md', "$text\n");
    refused($pattern, $name);
}
store('README.md', $readme);
for ([ $csv, 'NVIDIA H200,2026-01-02,newer,paused,8192', 38 ], [ $tried, 'NVIDIA H200,2026-01-02,new,expect_tx,x,1,1', 13 ],
    [ $costs, 'NVIDIA H200,2026-01-02,newer,1,1,1,01,fast', 5 ]) {
    my ($file, $line, $number) = @$_;
    my $was = edit($file, sub { $_ .= "$line\n" });
    refused(qr/\Q$file\E:$number/, "a broken row in $file");
    store($file, $was);
}
store($later, "a,b\n");
refused(qr/has the first line "a,b"/, 'a CSV of another kind');
unlink "$copy/$later", "$copy/02_two/README.md";
try("$figures --chekc");
is("$status:" . ($said =~ tr/\n//), '2:1', 'an unknown option: refused in one line');
good('at the end as before');
done_testing();
