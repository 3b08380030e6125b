#!/usr/bin/perl
# Do the figures in the texts and the picture of the ladder agree with the CSVs in tests/bench/results? And would
# tests/bench/figures say so if they did not?
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Temp 'tempdir';
use Test::More;

my ($said, $status);
sub try { $said = `exec 2>&1; @_`; $status = $? >> 8; return $said }

try('tests/bench/figures --check');
is($status, 0, 'the figures in the texts and the picture of the ladder are those of the CSVs') or diag($said);

sub contents { my ($path) = @_; open my $in, '<', $path or die "$path: $!"; local $/; return scalar <$in> }

# ---- the texts of this repository

my $page = contents('book/experiments.md');
my %group = map { (split / *\|/)[0] => 1 } grep { /^[^#\s]/ } split /\n/, contents('tests/bench/plans/experiments');
my @shown = map { contents($_) =~ /^<!-- experiment: (\S+)(?: \S+)? -->$/mg } glob 'book/*.md [0-9]*_*/*.md beyond/*/*.md';
is_deeply([ sort @shown ], [ sort keys %group ], 'the texts have each experiment of the plan, once');
is_deeply([ map { scalar(() = $page =~ /^\*\*$_\.\*\* /mg) } qw(Question Prediction) ], [ (scalar(() = $page =~ /^<!-- experiment: /mg)) x 2 ],
    'each has a question and a prediction');

# ---- would it notice? In a copy of what it reads and writes

my $directory = tempdir(CLEANUP => 1);
system "cp --parents README.md [0-9]*_*/*.md [0-9]*_*/*.cu [0-9]*_*/steps/*.cu tests/tools/Steps.pm beyond/*/*.md beyond/*/*.cu book/*.md tests/book/Chinese.pm tests/book/zh.tsv "
    . "tests/bench/figures tests/bench/*.pl tests/bench/survey tests/bench/plans/* tests/bench/results/* $directory";
my $figures = "$directory/tests/bench/figures";
sub store { my ($path, $text) = @_; open my $out, '>', "$directory/$path" or die "$path: $!"; print $out $text; close $out or die "$path: $!" }
sub slurp { return contents("$directory/$_[0]") }
# edit(PATH, CODE): CODE changes the file's text as $_; returns what it was.
sub edit { my ($path, $code) = @_; local $_ = my $was = slurp($path); $code->(); isnt($_, $was, "$path: edited"); store($path, $_); return $was }
sub good { my ($name) = @_; is(try("$figures --check") . $status, 0, $name) }
# stale(NAME, PATTERN...): --check must name these, and as many.
sub stale {
    my ($name, @blocks) = @_;
    try("$figures --check");
    is($status, 1, "$name: noticed");
    like($said, qr/^$_/m, "$name: named: $_") for @blocks;
    is(scalar(() = $said =~ /the block|is not what nvidia/g), scalar @blocks, "$name: and no other") or diag($said);
}
good('the copy is up to date');

my $results = 'tests/bench/results';
my ($newest) = grep { /h200/ } reverse map { s{^\Q$directory\E/}{}r } sort glob "$directory/$results/*_ladder.csv";
my $of = sub { my ($page, $block) = @_; return qr/\Q$page\E:\d+: the block "$block"/ };
my $svg = "$results/ladder.svg";
my $picture = qr/\Q$svg\E is not what nvidia_h200_[-\w]+_ladder.csv, commit \w+ says/;
for (
    [ 'book/measuring.md', sub { s/(<!-- figures: ladder -->.*?\| \d)\d/${1}x/s }, $of->('book/measuring.md', 'ladder') ],
    [ '02_smem_tiled/README.zh.md', sub { s/(<!-- figures: headline.*?)\d\d\d/$1???/s }, $of->('02_smem_tiled/README.zh.md', 'headline 02') ],
    [ 'book/experiments.md', sub { s/(<!-- experiment: swizzle -->.*?\| )\d/${1}x/s }, $of->('book/experiments.md', 'swizzle') ],
    [ $svg, sub { s/commit \w+ -->/commit never -->/ }, $picture ],
    [ 'tests/bench/plans/experiments', sub { s/^swizzle \| \K([^|]+)/another/m }, $of->('book/experiments.md', 'swizzle') ],
) {
    my ($file, $change, @blocks) = @$_;
    my $was = edit($file, $change);
    stale("a change in $file", @blocks);
    try($figures) if $file !~ /plans/;
    is(slurp($file), $was, '... and written as it was') if $file !~ /plans/;
    store($file, $was);
}
unlink "$directory/$svg";
stale('no picture', $picture);
try($figures);
good('and drawn again');

# A run counts if it is whole and the newest.
my ($h, @rows) = grep { /^gpu|,paused,/ } split /^/, slurp($newest);
my $later = "$results/a_later_ladder.csv"; # read first: its date counts
my @again = map { s/,20\d\d-\d\d-\d\d,\w+,/,2099-01-01,later,/r } @rows;
store($later, join '', $h, grep { !/,16384,/ } @again);
good('a later run that lacks a shape does not count');
store($later, join '', $h, @again);
try("$figures --check");
is($status, 1, 'a later whole run does');
like($said, qr/^    should be .*2099-01-01/m, '... and the line is shown');
store($later, join '', $h, map { s/NVIDIA H200/NVIDIA H1000/r } @again);
good('one of another card changes no text');
like(try("$figures --print 'ladder nvidia_h1000'"), qr/^NVIDIA H1000, 2099-01-01, commit later/m, '... but may be asked for');
unlink "$directory/$later";
like(try("$figures --print 'fp8 nvidia_h1000'"), qr/^Not measured on nvidia_h1000: no CSV has/, 'a card that has none');

# By hand: twice as fast at one of seven shapes is 2^(1/7) on average.
my $made = "$results/nvidia_made_2099-01-01_ladder.csv";
store($made, join '', $h, map { my @f = split /,/, s/NVIDIA H200/NVIDIA MADE/r; $f[7] eq '07' ? do { my $t = $f[4] == 16384 ? 256 : 128; join ',', @f[ 0 .. 7 ], $t, $t, $t, $t / 128, @f[ 12 .. $#f ] } : join ',', @f } @again);
like(try("$figures --print 'ladder nvidia_made'"), qr/^\| \[07_\w+\]\(\S+\) [\w, ]+ \| \d+ \| 128 \| 128 \| 128 \| 1\.000 \| 1\.104 \[1\.000\] \|/m, 'the geometric mean, and the least');
my ($variant) = contents('tests/bench/plans/experiments') =~ /^swizzle \| ([^|]*?) *\|/m;
store($made, "${h}NVIDIA MADE,2099-01-01,later,swizzle,8,8,8,$variant,4,4,4,,1500,100,1.0,13.0,\n");
my $counts = "$results/nvidia_made_2099-01-01_counts.csv";
store($counts, "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit\nNVIDIA MADE,2099-01-01,later,swizzle,$variant,8,8,8,7,7,7,million conflicts\n"
    . join '', map { "NVIDIA MADE,2099-01-01,later,swizzle,$_,8,8,8,0,0,0," . ($_ eq '03' ? 'hang' : 'million conflicts') . "\n" } '03', '05');
like(try("$figures --print 'experiment swizzle nvidia_made'"), qr/^\| at 8³ \|.*^\| \Q$variant\E \| 4\.0 \| 1\.000 \| 1500 \| 7 \| 100 \| 25\.000 \|\n\nWithout a figure: \w.*_ladder\.csv\)\)\.$/ms,
    'an experiment, with power and counts, what has no figure, and the file of the figures');
unlink "$directory/$counts";
unlink "$directory/$made";

# A survey by hand: two shapes of the seed, at 0.8 and 1.25 of cuBLAS.
require './tests/bench/survey';
my @drawn = map { s/x/,/gr } Survey::shapes(1234, 2);
$made = "$results/nvidia_made_2099-01-01_survey_1234.csv";
store($made, "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit\n" . join '',
    map { "NVIDIA MADE,2099-01-01,later,survey,cuBLAS,$drawn[$_],100,1,1,TFLOP/s\nNVIDIA MADE,2099-01-01,later,survey,09 planned,$drawn[$_]," . (80, 125)[$_] . ",1,1,TFLOP/s\n" } 0, 1);
like(try("$figures --print 'survey nvidia_made'"), qr/^\| 09 planned, to cuBLAS \| 2 \| 1\.000 \| 0\.800 \|.*^Seed 1234\. NVIDIA MADE/ms,
    'the survey of a seed');
like(try("$figures --print 'survey 1235 nvidia_made'"), qr/^Not measured/, 'another seed has none');
is(try("$figures --print 'survey 1234 nvidia_made'"), try("$figures --print 'survey nvidia_made'"), 'named, it is the same');
my ($shape) = join ' x ', split /,/, $drawn[0];
like(try("$figures --print 'surveyed nvidia_made'"), qr/^<g transform="translate\([\d.]+ 270\.0\)"><circle.*<title>\Q$shape\E: 0\.800</m, 'its picture has a mark for each shape, that says which');
(my $other = $made) =~ s/1234/1235/;
my ($drawn) = map { s/x/,/gr } Survey::shapes(1235, 1);
store($other, "${h}NVIDIA MADE,2099-01-01,later,survey,$drawn,cuBLAS,2,2,2,,,,1.0,13.0,\nNVIDIA MADE,2099-01-01,later,survey,$drawn,09 planned,1,1,1,,,,1.0,13.0,\n");
like(try("$figures --print 'survey $_->[0] nvidia_made'"), qr/^\| 09 planned, to cuBLAS \| $_->[1] .*^Seed $_->[0]\. /ms, "of two seeds at one commit, $_->[0]") for [ 1234, 2 ], [ 1235, 1 ];
unlink "$directory/$made", "$directory/$other";

# ---- what is refused

# refused(PATTERN, NAME): nothing is written, and one line says why.
sub refused {
    my ($pattern, $name) = @_;
    my $was = edit('book/measuring.md', sub { s/(<!-- figures: ladder -->\n).*?(<!-- \/figures -->)/$1$2/s });
    try($figures);
    is("$status:" . ($said =~ tr/\n//), '2:1', "$name: refused in one line") or diag($said);
    like($said, $pattern, "$name: named");
    like(slurp('book/measuring.md'), qr/<!-- figures: ladder -->\n<!--/, "$name: no file is changed");
    store('book/measuring.md', $was);
}
for (
    [ "<!-- figures: nonsense -->\n<!-- /figures -->", qr/README.md:1: there is no block "nonsense"/, 'an unknown block' ],
    [ "<!-- figures: headline 99 -->\n<!-- /figures -->", qr/there is no chapter "99"/, 'an unknown chapter' ],
    [ "<!-- experiment: none -->\n<!-- /experiment -->", qr/README.md:1: there is no experiment "none"/, 'an unknown experiment' ],
    [ "x\n<!-- figures: limits -->", qr/README.md:2: .*no line <!-- \/figures -->/, 'a block without an end' ],
    [ "<!-- figures: limits -->\n<!-- figures: ladder -->\n<!-- /figures -->", qr/README.md:1: .*no line/, 'a block in a block' ],
    [ '<!-- /figures -->', qr/README.md:1: /, 'an end without a start' ],
) {
    my ($text, $pattern, $name) = @$_;
    my $was = slurp('README.md');
    store('README.md', "$text\n");
    refused($pattern, $name);
    store('README.md', $was);
}
for (map { s{^\Q$directory\E/}{}r } map { glob "$directory/$results/*h200*_$_.csv" } qw(ladder experiments)) {
    my $was = edit($_, sub { $_ .= "NVIDIA H200,2026-01-02,new,1,1\n" });
    refused(qr/\Q$_\E:\d+: ".*" is not a row/, "a broken row in $_");
    store($_, $was);
}
store($later, "a,b\n");
refused(qr/has the first line "a,b"/, 'a CSV of another kind');
store($later, '');
refused(qr/has the first line ""/, 'an empty CSV');
unlink "$directory/$later";
try("$figures --chekc");
is("$status:" . ($said =~ tr/\n//), '2:1', 'an unknown option: refused in one line');
my $was = edit('03_cp_async_multistage/03_cp_async_multistage.cu', sub { s/\.adds = "[^"]*"/.adds = "something new"/ });
like(try("$figures --check"), qr/has no phrase for "something new"/, 'words without Chinese ones');
done_testing();
