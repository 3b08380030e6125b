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
store("$in-01_limits.csv", $EXPERIMENTS . <<'TEXT');
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,200,199,201,TFLOP/s
NVIDIA H200,2026-01-01,older,limits,wgmma of some shape,0,0,0,1980,1980,1980,MHz
NVIDIA H200,2026-01-01,older,limits,mma.sync of some shape,0,0,0,150,149,151,TFLOP/s
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
swizzle | 02 | 02 | | 8 16
swizzle | 02 without | 02_without | | 8 16
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
NVIDIA H200,2026-01-02,new,swizzle,02,8,8,8,200,190,210,TFLOP/s
NVIDIA H200,2026-01-02,new,swizzle,02 without,8,8,8,100,90,110,TFLOP/s
NVIDIA H200,2026-01-02,new,swizzle,02 without,16,16,16,0,0,0,hang
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
my $expected = <<'TEXT';
| 07: before the copies | 8192³ | 200 | 90.0 to 210 | 1.000 | 1500 | 12 |
| 07: after the copies | 8192³ | 50.0 | 45.0 to 55.0 | 0.250 | – | – |
| 07: after the copies | 2048 x 4096 x 64 | hang | | | | |
TEXT
prints('experiment expect_tx', qr/^\| --- .*\|\n\Q$expected\E\nMeasured: NVIDIA H200, 2026-01-02, commit new \(.*\(\Q$tried\E\)\)\.$/m,
    'the newest run, in the order of the plan, and nothing else');
prints('experiment swizzle', qr/^\| 02 \| 200 \(190 to 210\) 1\.000 \| \|\n\| 02 without \| 100 \(90\.0 to 110\) 0\.500 \| hang \|$/m, 'of two sizes each has a column');
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

# ---- in Chinese ----

make_path("$copy/tests/book");
system 'cp', 'tests/book/Chinese.pm', "$copy/tests/book/";
my %adds = ('01_one' => 'one thread for each element of C', '02_two' => 'cp.async into a ring of stages', '07_seven' => 'wgmma from shared memory, asynchronous math');
store("$_/$_.cu", qq{.adds = "$adds{$_}"}) for keys %adds;
store("$_/README.zh.md", "<!-- figures: front -->\n<!-- /figures -->\n") for '07_seven', 'book';
put_right('blocks of Chinese pages');
utf8::decode(my $chinese = slurp('book/README.zh.md'));
like($chinese, qr{^\| \[07_seven\]\(\.\./07_seven/README\.zh\.md\) \| wgmma 直接.* \| 90\.0 \| 0\.900 \|$}m, 'a row leads to the Chinese page');
like($chinese, qr{^\| \[02_two\]\(\.\./02_two/\) }m, '... and to the English one where there is no other');
edit('book/README.zh.md', sub { s/\| 90\.0 /| 91.0 / });
stale('a stale figure in Chinese', 'book/README.zh.md:1: the block "front"');
store('02_two/02_two.cu', '.adds = "something new"');
try($figures);
is("$status:" . ($said =~ tr/\n//), '2:1', 'words without Chinese ones: refused in one line');
like($said, qr/has no phrase for "something new"/, '... and named');
unlink map { "$copy/$_/README.zh.md" } '07_seven', 'book';
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
store("tests/bench/results/nvidia_h100_2026-01-05.csv", $HEADER . "NVIDIA H100 80GB HBM3,2026-01-05,one,sustained 30 s,8,8,8,07,60,59,61,1,1400,500\n");
prints("sustained nvidia_h100", qr/^\| \[07_seven.*Each for 30 s\. NVIDIA H100/ms, "... and how long a sustained row ran");

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
for ([ $csv, 'NVIDIA H200,2026-01-02,newer,paused,8192', 38 ], [ $tried, 'NVIDIA H200,2026-01-02,new,expect_tx,x,1,1', 16 ],
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
