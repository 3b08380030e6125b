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
# edit(PATH, CODE): CODE changes the file's text as $_.
sub edit { my ($path, $code) = @_; local $_ = slurp($path); $code->(); store($path, $_) }
sub put_right { try($figures) }

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
make_path($results, map { "$copy/$_" } qw(01_one 02_two 07_seven build));
system 'cp', 'tests/bench/figures', 'tests/bench/blocks.pl', "$copy/tests/bench/";
my $csv = 'tests/bench/results/nvidia_h200_2026-01-02.csv';
store($csv, $HEADER . run('2026-01-02', 'newer', 90));
store('tests/bench/results/nvidia_h200_2026-01-01.csv', $HEADER . run('2026-01-01', 'older', 70));
store('tests/bench/results/nvidia_h200_2026-01-02_sustained.csv', $HEADER . <<'TEXT');
NVIDIA H200,2026-01-02,newer,sustained,8192,8192,8192,07,800,790,810,1.25,1500,600
NVIDIA H200,2026-01-02,newer,sustained,8192,8192,8192,cublas,640,630,650,1.0000,1400,640
TEXT
store('tests/bench/results/nvidia_h200_2026-01-01_limits.csv', <<'TEXT');
gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,200,199,201,TFLOP/s
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,1980,1980,1980,MHz
NVIDIA H200,2026-01-01,older,limits,mma.sync of some shape,0,0,0,150,149,151,TFLOP/s
NVIDIA H200,2026-01-01,older,loads,from far away,0,0,0,250,249,251,ns
TEXT
store('README.md', <<'TEXT');
# Front
<!-- figures: ladder -->
<!-- /figures -->
between
<!-- figures: sustained -->
<!-- /figures -->
<!-- figures: limits -->
<!-- /figures -->
```
<!-- figures: this is a text -->
```
end
TEXT
store('07_seven/README.md', <<'TEXT');
<!-- figures: chapter 07 -->
old
<!-- /figures -->
<!-- figures: shapes -->
<!-- /figures -->
TEXT
store('build/README.md', "<!-- figures: nonsense -->\n"); # not the repository's
my @empty = ('README.md:2: the block "ladder"', 'README.md:5: the block "sustained"', 'README.md:7: the block "limits"',
    '07_seven/README.md:1: the block "chapter 07"', '07_seven/README.md:4: the block "shapes"', 'ladder.svg is not');
try("$figures --check");
is($status, 1, 'empty blocks: not up to date');
like($said, qr/\Q$_/, "named: $_") for @empty;
try($figures);
is($status, 0, 'the blocks are written') or diag($said);
is(try("$figures --check") . $status, 0, 'and then up to date');

# row(FILE, START): the first row of a table that begins so.
sub row { my ($file, $start) = @_; return (grep { index($_, $start) == 0 } split /\n/, slurp($file))[0] }
is(row('README.md', '| [07_seven]'), '| [07_seven](07_seven/) | 90.0 | 90.0 | 90.0 | 0.900 | 0.900 | 0.900 | 1.800 [0.900] | 0.45 |',
    'ladder: the newest run, the geometric mean of the seven, the share of wgmma alone');
is(row('README.md', '| [02_two]'), '| [02_two](02_two/) | 50.0 | 50.0 | 50.0 | 0.500 | 0.500 | 0.500 | 0.500 [0.500] | 0.33 |',
    'ladder: the share of mma.sync alone');
is(row('README.md', '| [01_one]'), '| [01_one](01_one/) | – | – | – | – | – | – | – | – |', 'ladder: what was not run');
is(row('README.md', '| [07_seven](07_seven/) | 8192³ | 800'), '| [07_seven](07_seven/) | 8192³ | 800.0 | 790.0 to 810.0 | 1.250 | 1500 | 600 | 0.750 | 0.750 |',
    'sustained: watts over TFLOP/s, and their ratio');
store("$_/$_.cu", qq{CHAPTER($_, .adds = "what $_ adds");\n}) for qw(01_one 02_two 07_seven);
my $front = try("$figures --print front");
like($front, qr/^\| \[07_seven\]\(07_seven\/\) \| what 07_seven adds \| 90\.0 \| 0\.900 \|\n\| cuBLAS \| [^|]* \| 100 \| 1 \|\n/m,
    'front: what a chapter adds, one size');
like($front, qr/^\| \[01_one\]\(01_one\/\) \| what 01_one adds \| – \| – \|$/m, 'front: what was not run');
like(try("$figures --print peers"), qr/^Not measured: no peer was linked/, 'peers: none in this run');
like($front, qr/least\), \[07_seven\]\(07_seven\/\) has 1\.800 \[0\.900\] of cuBLAS\.$/m, 'front: the mean and the least of the last chapter');
is(row('README.md', '| wgmma'), '| wgmma of some shape | 200.00 | 199.00 to 201.00 | TFLOP/s |', 'limits');
like(try("$figures --print loads"), qr/^\| from far away \| 250\.00 \| 249\.00 to 251\.00 \| ns \|$/m, 'loads');
is(row('07_seven/README.md', '| 16384³ | 11520'), '| 16384³ | 11520.0 | 90.0 to 18000.0 | 115.200 | 50.0 | 0.500 | 230.4 |', 'chapter 07 beside chapter 02');
like(row('07_seven/README.md', '| 8192 x 7168 x 2048'), qr/ \| 1\.800 \|$/, '... by their ratio, to three digits below 10');
is(row('07_seven/README.md', '| 4096 x 14336 x 4096 | 100'), '| 4096 x 14336 x 4096 | 100 | – | 0.500 | 0.900 | – |', 'shapes');
like($front, qr{^Figures: \[NVIDIA H200 2026-01-02\]\(\Q$csv\E\)\.$}m, 'the run is named');
like(slurp('07_seven/README.md'), qr{\(\.\./\Q$csv\E\)}, 'a link starts from the file it is in');
like(slurp('README.md'), qr/^```\n<!-- figures: this is a text -->\n```\nend\n\z/m, 'the rest is left alone');

# stale(NAME, BLOCK): --check must name the block. good(NAME): all is up to date.
sub stale {
    my ($name, $block) = @_;
    try("$figures --check");
    is($status, 1, "$name: noticed");
    like($said, qr/\Q$block/, "$name: the block is named");
}
sub good { my ($name) = @_; is(try("$figures --check") . $status, 0, $name) }

edit('README.md', sub { s/1\.800 \[0\.900\]/1.801 [0.900]/ });
stale('a digit changed in the text', 'README.md:2: the block "ladder"');
is(scalar(() = $said =~ /the block/g), 1, 'a digit changed in the text: no other block is named');
like($said, qr/has .*1\.801.*\n.*should be .*1\.800/, 'a digit changed in the text: the line is shown');
put_right();
good('put right');
my $good_csv = slurp($csv);
edit($csv, sub { s/,2048,2048,2048,07,90,90,18000,0.9000/,2048,2048,2048,07,90,90,18000,0.8000/ });
stale('a digit changed in the CSV', 'README.md:2: the block "ladder"');
like($said, qr/07_seven\/README\.md:1: the block "chapter 07"/, 'a digit changed in the CSV: every block of it');
store($csv, $good_csv);
good('put right');

# ---- the picture ----

my $svg = 'tests/bench/results/ladder.svg';
my $drawn = slurp($svg);
like($drawn, qr/^<!-- drawn by \S+ from nvidia_h200_2026-01-02\.csv, commit newer -->$/m, 'the picture names CSV and commit');
is(scalar(() = $drawn =~ /<rect class="[abc]" [^>]*y="[\d.]+" width="32"/g), 6, 'a bar for each figure');
like($drawn, qr/height="126\.0".*>0\.90</, 'as high as it should be');
for (([ 'a digit changed in the CSV', $csv, sub { s/,2048,2048,2048,07,90,90,18000,0.9000/,2048,2048,2048,07,90,90,18000,0.8000/ } ],
    [ 'a letter changed in the picture', $svg, sub { s/newer/never/ } ])) {
    my ($name, $file, $change) = @$_;
    edit($file, $change);
    stale($name, 'ladder.svg is not what nvidia_h200_2026-01-02.csv, commit newer says');
    store($csv, $good_csv);
    store($svg, $drawn);
}
unlink "$copy/$svg";
stale('no picture', 'ladder.svg is not');
put_right();
is(slurp($svg), $drawn, 'the same CSV gives the same picture');
edit($csv, sub { $_ .= join '', map { "NVIDIA H200,2026-01-02,newer,paused,$_,CUTLASS ping-pong,80,80,80,0.8,1980,\n" } @SHAPES[ 0 .. 2 ] });
try("$figures --print picture");
is(scalar(() = $said =~ /<rect class="[abc]" [^>]*y="[\d.]+" width="32"/g), 9, 'a peer has bars, too');
like(try("$figures --print peers"), qr/^\| 2048³ \|.* 0\.800 \|$/m, '... and a column');
store($csv, $good_csv);
good('put right');

# ---- a new chapter, at the top or beyond it ----

make_path("$copy/09_nine", "$copy/beyond/13_ten");
stale('a chapter without figures', 'README.md:2: the block "ladder"');
make_path("$copy/tests/bench/plans");
store('tests/bench/plans/ladder', join '', map { "ladder | $_ | $_ | | 8192\n" } qw(01 02 07));
good('a chapter that plans/ladder does not time has neither row nor column');
unlink "$copy/tests/bench/plans/ladder";
put_right();
good('put right');
is(row('README.md', '| [09_nine]'), '| [09_nine](09_nine/) | – | – | – | – | – | – | – | – |', 'its row is empty');
like(slurp('README.md'), qr/ 09 has not been measured yet\./, 'and the text says why');
unlike(slurp('README.md'), qr/13_ten/, 'what is beyond the ladder has no row in it');
like(row('07_seven/README.md', '| M x N x K | cuBLAS'), qr/ 09 \| 13 \|/, '... but a column in the table of shapes');
unlike(try("$figures --print picture"), qr/nine/, 'no bar is drawn for it');
store('beyond/13_ten/README.md', "<!-- figures: chapter 13 -->\n<!-- /figures -->\n");
put_right();
like(row('beyond/13_ten/README.md', '| M x N x K'), qr/\| 09 TFLOP\/s \| 09 ratio \| 13 \/ 09 \|/, 'it is compared with the chapter before it');
like(slurp('beyond/13_ten/README.md'), qr{\(\.\./\.\./\Q$csv\E\)}, 'and its links start there');
remove_tree("$copy/09_nine", "$copy/beyond");
put_right();
good('gone again');

# ---- chapters with a problem of their own ----

make_path(map { "$copy/beyond/$_" } qw(09_nine 10_ten 11_eleven 12_twelve 13_later));
put_right();
my $kinds = 'tests/bench/results/nvidia_h200_2026-01-05_kinds.csv';
like(try("$figures --print 'headline 10'"), qr/^Not measured: no CSV has rows of mode fp8\.$/, 'without rows of its mode: said');
is_deeply([ map { (split / *\| */)[4] } grep { /^\| \[/ } split /\n/, try("$figures --print beyond") ], [ ('not measured yet') x 5 ],
    'beyond: what has not been measured');
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
good('they change no text of the ladder');
my $lost = 'tests/bench/results/nvidia_h200_2026-01-05_sums.csv';
store($lost, <<'TEXT');
gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit
NVIDIA H200,2026-01-05,own,sums,normal data in the tensor cores,64,128,128,30,30,30,millionths
NVIDIA H200,2026-01-05,own,sums,normal data promoted,64,128,128,30,30,30,millionths
NVIDIA H200,2026-01-05,own,sums,normal data in the tensor cores,64,128,512,5432.1,5432.1,5432.1,millionths
NVIDIA H200,2026-01-05,own,sums,normal data promoted,64,128,512,30.55,30.55,30.55,millionths
TEXT
like(try("$figures --print sums"), qr/^\| 128 \| 0\.003 % \| 0\.003 % \| – \| – \|\n\| 512 \| 0\.543 % \| 0\.00305 % \| – \| – \|$/m, 'sums: what each way loses, by K');
unlink "$copy/$lost";
like(try("$figures --print sums"), qr/^Not measured: no CSV has what sums of e4m3 lose; /, '... without them');
store('beyond/10_ten/README.md', join '', map { "<!-- figures: $_ -->\n<!-- /figures -->\n" } 'headline 10', 'fp8');
store('beyond/11_eleven/README.md', join '', map { "<!-- figures: $_ -->\n<!-- /figures -->\n" } 'headline 11', 'w4a8', 'grouped');
store('beyond/12_twelve/README.md', join '', map { "<!-- figures: $_ -->\n<!-- /figures -->\n" } 'headline 12', 'two');
store('book/front.md', "<!-- figures: beyond -->\n<!-- /figures -->\n");
stale('new blocks', "beyond/$_") for '10_ten/README.md:3: the block "fp8"', '11_eleven/README.md:5: the block "grouped"', '12_twelve/README.md:1: the block "headline 12"';
put_right();
good('put right');
my @of = ('10_ten', '11_eleven', '12_twelve');
my ($ten, $eleven, $twelve) = map { slurp("beyond/$_/README.md") } @of;
like($ten, qr/^\*\*0\.800 \[0\.640\] of the better of DeepGEMM and cuBLASLt, mean of six shapes \[least\]\*\* \(NVIDIA H200, 2026-01-05; \[all shapes\]\(notes\.md#measured\)\)$/m,
    'headline 10: the geometric mean of its ratio to whichever is faster');
like($ten, qr/^\| 4096 x 2112 x 7168 \| 640 \| 630 to 650 \| 1000 \| – \| – \| 0\.640 \|$/m, 'fp8: what refuses a shape has no figure');
like($ten, qr/^\| 8192³ \| 1000 \| .* \| 700 \| 900 \| 1000 \| 1\.000 \|$/m, 'fp8: the better of the others counts');
like($ten, qr/^\| mean of six \[least\] \|.*\| 0\.800 \[0\.640\] \|$/m, 'fp8: the mean');
like($ten, qr/^\| 16 x 8192 x 8192 \| 100 \|.*\| 1\.250 \| 3\.14 \| 0\.79 \|$/m, 'fp8, few rows: bytes a second, and their share of a copy');
like($eleven, qr/^\*\*1\.50 to 2\.00 times the speed of fp8 at M = 16 to 64\*\* /m, 'headline 11: the least and the most of its ratios to 10 at few rows');
my @elevens = grep { /^\| 8192 x 8192 \|/ } split /\n/, $eleven;
is(join(' ', map { (split / *\| */)[2] } @elevens), '16 64 256', 'w4a8: in the order of M');
is($elevens[0], '| 8192 x 8192 | 16 | 150 | 140 to 160 | 100 | 120 | 1.500 | 1.250 | 2.44 | 0.61 |', 'w4a8: ratios to 10 and to each peer');
like($eleven, qr/^Of the measured M, fp8 is faster from M = 256 at 8192 x 8192; at no M here at 512 x 512\.$/m, 'w4a8: from where fp8 is faster');
like($eleven, qr/^\| 384 x 4096 x 7168 \| alike \| 75\.2 \| 72\.7 to 77\.8 \| 112\.7 \| 107\.4 to 118\.7 \| 1\.500 \|$/m, 'grouped: times, and the ratio of speeds');
like($eleven, qr/^\| 384 x 4096 x 7168 \| uneven \| 80\.5 \| [^|]* \| – \| – \| – \|$/m, 'grouped: a draw of its own, without its loop');
like($twelve, qr/^\*\*8192³ on two GPUs in 0\.687 ms; cuBLAS, then NCCL: 1\.100 ms\*\* \(2 x NVIDIA H200, /m, 'headline 12: 12 and what it is compared with, on two GPUs');
like($twelve, qr/^\| \(b\) 09 in pieces, [^|]* \| 8192³ \| 0\.880 \| 0\.873 to 0\.887 \| 1250 \| 1\.250 \|$/m, 'two: ms and the ratio to cuBLAS and NCCL');
like($twelve, qr/^\| 2 x NVIDIA H200 \|.*^\| 4 x NVIDIA H200 \|.*^\| \(c\) 12, [^|]* \| 8192³ \| 0\.367 \| [^|]* \| 3000 \| 1\.500 \|$/ms, '... a table for each number of GPUs');
like($_, qr{^(?:2 x )?NVIDIA H200, 2026-01-05, commit own, with pauses between samples: \[\S+\]\(\.\./\.\./\Q$kinds\E\)$}m, 'the run is named') for $ten, $eleven, $twelve;
like(slurp('book/front.md'), qr{^\| \[10_ten\]\(\.\./beyond/10_ten/\) \| e4m3 [^|]* \| [^|]* \| 0\.800 \[0\.640\] of the better of [^|]* \|$}m, 'beyond: what, why, its figure');
like(slurp('book/front.md'), qr{^\| \[13_later\]\(\.\./beyond/13_later/\) \| – \| – \| not measured yet \|$}m, '... also of a chapter that the tool has no words for');
for ([ '8192,8192,8192,10,1000', '8192,8192,8192,10,1100', 'beyond/10_ten/README.md:1: the block "headline 10"', 'book/front.md:1: the block "beyond"' ],
    [ '64,8192,8192,11,480', '64,8192,8192,11,460', 'beyond/11_eleven/README.md:' ], [ ',11,300,', ',11,301,', '"grouped"' ],
    [ '09 in pieces,1250', '09 in pieces,1251', '"two"' ], [ 'w4a8,0,0,0,copy,4,', 'w4a8,0,0,0,copy,5,', '"w4a8"' ]) {
    my ($old, $changed, @blocks) = @$_;
    my $was = slurp($kinds);
    edit($kinds, sub { s/\Q$old\E/$changed/ });
    stale("a digit changed in the CSV: $old", $_) for @blocks;
    store($kinds, $was);
}
like(try("$figures --print 'fp8 nvidia_h100'"), qr/^Not measured on nvidia_h100: /, 'a block may name another card');
edit($kinds, sub { s/^2 x .*,12,.*\n//mg });
like(try("$figures --print 'headline 12'"), qr/^Not measured: /, 'headline 12 without a row of 12');
remove_tree("$copy/beyond", "$copy/book/front.md");
unlink "$copy/$kinds";
put_right();
good('gone again');

# ---- what recording costs ----

my $costs = 'tests/bench/results/nvidia_h200_2026-01-02_recording.csv';
store($costs, <<'TEXT');
gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent,flop_percent
NVIDIA H200,2026-01-02,newer,4096,4096,1024,01,900.0,909.0,1.0,10,0,0.0,0.0
NVIDIA H200,2026-01-02,newer,4096,4096,1024,07,100.0,112.5,12.5,10,0,61.2,59.8
NVIDIA H200,2026-01-02,newer,4096,4096,4096,07,400.0,410.0,2.5,10,0,81.2,79.8
TEXT
good('another kind of CSV changes no text of the others');
store('tests/timeline/README.md', join '', map { "<!-- figures: $_ -->\n<!-- /figures -->\n" } 'recording', 'recording 01', 'recording 02', 'recording 07');
stale('recording', 'tests/timeline/README.md:1: the block "recording"');
put_right();
good('put right');
is(row('tests/timeline/README.md', '| [07_seven](../../07_seven/) | 4096 x'),
    '| [07_seven](../../07_seven/) | 4096 x 4096 x 1024 | 100.0 | 112.5 | 12.5 | 61.2 | 59.8 |', 'recording: a row');
is(row('tests/timeline/README.md', '| [01_one]'), '| [01_one](../../01_one/) | 4096 x 4096 x 1024 | 900.0 | 909.0 | 1.0 | – | – |', 'recording: no tensor cores');
is(scalar(() = slurp('tests/timeline/README.md') =~ /^\| \[07_seven\]/mg), 2, 'recording: both sizes');
my $text = slurp('tests/timeline/README.md') =~ tr/\n/ /r;
like($text, qr/12\.5 % slower; in .* busy for 61\.2 % of the time by the events and 59\.8 % by FLOP /, 'recording 07: a sentence');
like($text, qr/1\.0 % slower \(NVIDIA H200, 2026-01-02/, 'recording 01: a sentence without tensor cores');
like($text, qr/has not been measured yet/, 'recording 02: not measured');
edit($costs, sub { s/,12\.5,10,/,12.6,10,/ });
stale('a digit changed in the CSV of recording', 'tests/timeline/README.md:1: the block "recording"');
like($said, qr/the block "recording 07"/, '... in the sentence too');
unlike($said, qr/the block "recording 01"/, '... and in no other');
remove_tree("$copy/tests/timeline");
good('gone again');

# ---- experiments, in any text ----

store('tests/bench/plans/experiments', <<'TEXT');
# a remark
expect_tx | 07: before the copies | 07 | | 8192
expect_tx | 07: after the copies | 07_after | | 8192
setmaxnreg | 07 | 07 | | 8
setmaxnreg | = 08: cooperative | 08 | | 8
setmaxnreg | 08: cooperative without | 08_without | | 8
setmaxnreg | = 09 | 09 | | 8
setmaxnreg | 09: without | 09_without | | 8
TEXT
store('book/experiments.md', "before\n<!-- experiment: expect_tx -->\n<!-- /experiment -->\nafter\n");
put_right();
is((split /\n/, slurp('book/experiments.md'))[3], 'Not measured: no CSV in tests/bench/results has this experiment.', 'without a CSV the page says so');
my $tried = 'tests/bench/results/nvidia_h200_2026-01-02_experiments.csv';
my $columns = "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit\n";
store($tried, $columns . <<'TEXT');
NVIDIA H200,2026-01-02,old,expect_tx,07: before the copies,8192,8192,8192,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: after the copies,8192,8192,8192,50,45,55,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,200,90,210,TFLOP/s
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,1500,1500,1500,MHz
NVIDIA H200,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,12,12,12,GB read from DRAM
NVIDIA H200,2026-01-02,new,expect_tx,07: after the copies,2048,4096,64,0,0,0,hang
NVIDIA H200,2026-01-02,new,expect_tx,07: not in the plan any more,8192,8192,8192,60,45,55,TFLOP/s
TEXT
store('tests/bench/results/nvidia_h200_2026-01-01_experiments.csv', $columns
    . "NVIDIA H200,2026-01-01,older,expect_tx,07: before the copies,8192,8192,8192,7,7,7,TFLOP/s\n");
stale('a new CSV', 'book/experiments.md:2: the block "expect_tx"');
put_right();
is(join("\n", grep { /^\| 07/ } split /\n/, slurp('book/experiments.md')), <<'TEXT' =~ s/\n\z//r, 'the newest run, in the order of the plan, and nothing else');
| 07: before the copies | 8192³ | 200 | 90.0 to 210 | 1.000 | 1500 | 12 |
| 07: after the copies | 8192³ | 50.0 | 45.0 to 55.0 | 0.250 | – | – |
| 07: after the copies | 2048 x 4096 x 64 | hang | | | | |
TEXT
edit($tried, sub { $_ .= <<'TEXT' });
NVIDIA H200,2026-01-02,new,setmaxnreg,07,8,8,8,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,08: cooperative,8,8,8,200,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,08: cooperative without,8,8,8,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,setmaxnreg,09: without,8,8,8,100,90,110,TFLOP/s
TEXT
try("$figures --print 'experiment setmaxnreg'");
is(join(' ', map { (split / *\| */)[5] } grep { /^\| 0/ } split /\n/, $said), '1.000 1.000 0.500 –',
    'a ratio is to the last variant that the plan marks; none where that has no figure');
like($said, qr/^Not measured yet: 09\.$/m, '... which is said');
like(slurp('book/experiments.md'), qr{^Measured: NVIDIA H200, 2026-01-02, commit new \(.*\(\.\./\Q$tried\E\)\)\.$}m, 'its source');
like(slurp('book/experiments.md'), qr/\Abefore\n.*\nafter\n\z/s, 'the rest is left alone');
good('then it is up to date');
edit('book/experiments.md', sub { s/0\.250/0.251/ });
stale('a digit changed in the table', 'book/experiments.md:2: the block "expect_tx"');
put_right();

# ---- which run counts ----

my $later = 'tests/bench/results/nvidia_h200_2026-01-03.csv';
store($later, $HEADER . join '', grep { !/,16384,/ } map { "$_\n" } split /\n/, run('2026-01-03', 'partial', 80));
good('a later run that lacks a shape does not count');
edit($later, sub { $_ .= run('2026-01-03', 'whole', 80) });
stale('a later whole run', 'README.md:2: the block "ladder"');
unlink "$copy/$later";
store($csv, $good_csv . run('2026-01-02', 'later', 80));
like(try("$figures --print ladder"), qr/commit later/, 'of two runs of a day the later counts');
store($csv, $good_csv);
store('tests/bench/results/nvidia_h100_2026-01-04.csv', $HEADER . run('2026-01-04', 'smaller', 60, 'NVIDIA H100 80GB HBM3'));
good("a later run of another card changes no text");
like(try("$figures --print 'ladder nvidia_h100'"), qr/\| \[07_seven\]\(07_seven\/\) \| 60\.0 .*\nNVIDIA H100 80GB HBM3, 2026-01-04, commit smaller/s, 'a block may name it');
unlike($said, qr/Ceiling/, '... and takes nothing from the first');
like(try("$figures --print 'sustained nvidia_h100'"), qr/^Not measured on nvidia_h100: no CSV has/, '... and says what it has not');
like(try("$figures --print ladder $results/nvidia_h100_2026-01-04.csv"), qr/commit smaller/, 'a CSV may be named, too');
unlink "$copy/tests/bench/results/nvidia_h100_2026-01-04.csv";

# ---- in Chinese ----

make_path("$copy/tests/book");
system 'cp', 'tests/book/Chinese.pm', "$copy/tests/book/";
store("$_->{path}", $_->{text}) for { path => '01_one/01_one.cu', text => '.adds = "one thread for each element of C"' },
    { path => '02_two/02_two.cu', text => '.adds = "cp.async into a ring of stages"' },
    { path => '07_seven/07_seven.cu', text => '.adds = "wgmma from shared memory, asynchronous math"' };
store('07_seven/README.zh.md', "<!-- figures: headline 07 -->\n<!-- /figures -->\n<!-- figures: recording 07 -->\n<!-- /figures -->\n");
mkdir "$copy/book";
store('book/README.zh.md', "<!-- figures: front -->\n<!-- /figures -->\n<!-- figures: beyond -->\n<!-- /figures -->\n");
make_path(map { "$copy/beyond/$_" } qw(09_nine 10_ten 11_eleven 12_twelve 13_later));
store($kinds, $own);
try($figures);
is($status, 0, 'blocks of Chinese pages are written') or diag($said);
is(try("$figures --check") . $status, 0, '... and then up to date');
{
    my $decoded = sub { my $text = slurp($_[0]); utf8::decode($text); return $text };
    my $zh = $decoded->('07_seven/README.zh.md');
    like($zh, qr{^\*\*50\.0 → 90\.0 TFLOP/s（8192³），是 cuBLAS 的 0\.900 倍\*\*（第 02 章 → 第 07 章；NVIDIA H200，2026-01-02；\[所有形状\]\(notes\.md#measured\)）$}m, 'a headline');
    like($zh, qr/^(?:做记录会让一次|做记录会让本章慢多少)/m, 'what recording costs');
    $zh = $decoded->('book/README.zh.md');
    like($zh, qr{^\| 章 \| 新增内容 \| 8192³ 时的 TFLOP/s \| 与 cuBLAS 之比 \|$}m, 'the front page: heads');
    like($zh, qr{^\| \[07_seven\]\(\.\./07_seven/README\.zh\.md\) \| wgmma 直接.* \| 90\.0 \| 0\.900 \|$}m, '... a row, which leads to the Chinese page');
    like($zh, qr{^\| \[10_ten\]\(\.\./beyond/10_ten/\) \| e4m3，[^|]* \| 字节减半[^|]* \| 是 DeepGEMM 与 cuBLASLt 中较快者的 0\.800 \[0\.640\] 倍}m, '... what is beyond: 10');
    like($zh, qr{ \| M = 16 到 64 时，速度是 fp8 的 1\.50 到 2\.00 倍 \|$}m, '... 11');
    like($zh, qr{ \| 两块 GPU 上 8192³ 用 0\.687 ms；先 cuBLAS 再 NCCL：1\.100 ms \|$}m, '... 12');
    like($zh, qr{^\| \[13_later\]\(\.\./beyond/13_later/\) \| – \| – \| 尚未测量 \|$}m, '... and one without words');
    like($zh, qr{^\| \[02_two\]\(\.\./02_two/\) }m, '... and to the English one where there is no other');
}
edit('book/README.zh.md', sub { s/\| 90\.0 /| 91.0 / });
try("$figures --check");
like("$status$said", qr{^1book/README\.zh\.md:1: the block "front"}, 'a stale figure in Chinese: named');
store('02_two/02_two.cu', '.adds = "something new"');
try($figures);
is("$status:" . ($said =~ tr/\n//), '2:1', 'words without Chinese ones: refused in one line');
like($said, qr/has no phrase for "something new"/, '... and named');
remove_tree("$copy/beyond");
unlink map { "$copy/$_" } $kinds, '07_seven/README.zh.md', 'book/README.zh.md', '01_one/01_one.cu', '02_two/02_two.cu', '07_seven/07_seven.cu';
put_right();
good('without Chinese pages as before');

# ---- what is refused ----

my $readme = slurp('README.md');
# refused(TEXT, PATTERN, NAME): a README with this text.
sub refused {
    my ($text, $pattern, $name) = @_;
    store('README.md', "$text\n");
    store('02_two/README.md', "<!-- figures: limits -->\nold\n<!-- /figures -->\n");
    for my $option ('--check', '') {
        try("$figures $option");
        is("$status:" . ($said =~ tr/\n//), '2:1', "$name: refused in one line") or diag($said);
        like($said, $pattern, "$name: named");
    }
    like(slurp('02_two/README.md'), qr/^old$/m, "$name: no file is changed");
    unlink "$copy/02_two/README.md";
}
refused("<!-- figures: nonsense -->\n<!-- /figures -->", qr/README.md:1: there is no block "nonsense"/, 'an unknown block');
refused("<!-- figures: chapter 09 -->\n<!-- /figures -->", qr/there is no chapter "09"/, 'an unknown chapter');
refused("<!-- experiment: none -->\n<!-- /experiment -->", qr/README.md:1: there is no experiment "none"/, 'an unknown experiment');
refused("x\n<!-- figures: limits -->", qr/README.md:2: .*no line <!-- \/figures -->/, 'a block without an end');
refused("<!-- figures: limits -->\n<!-- figures: ladder -->\n<!-- /figures -->", qr/README.md:1: .*no line/, 'a block in a block');
refused('<!-- /figures -->', qr/README.md:1: /, 'an end without a start');
refused('<!-- /experiment -->', qr/README.md:1: /, "an experiment's end without a start");
store('README.md', $readme);
for ([ $csv, 'NVIDIA H200,2026-01-02,newer,paused,8192', 38 ], [ $tried, 'NVIDIA H200,2026-01-02,new,expect_tx,x,1,1', 13 ],
    [ $costs, 'NVIDIA H200,2026-01-02,newer,1,1,1,01,fast', 5 ]) {
    my ($file, $line, $number) = @$_;
    my $before = slurp($file);
    store($file, "$before$line\n");
    try("$figures --check");
    is($status, 2, "a broken row in $file: refused");
    like($said, qr/\Q$file\E:$number/, '... and named');
    store($file, $before);
}
store($later, "a,b\n");
try("$figures --check");
is("$status:" . ($said =~ tr/\n//), '2:1', 'a CSV of another kind: refused in one line');
unlink "$copy/$later";
try("$figures --chekc");
is("$status:" . ($said =~ tr/\n//), '2:1', 'an unknown option: refused in one line');
good('at the end as before');
done_testing();
