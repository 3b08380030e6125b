#!/usr/bin/perl
# Is every C and CUDA file laid out as .clang-format says? `make format` lays them out. Another version of clang-format
# breaks lines elsewhere, so only the one that .clang-format names counts.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

my $wanted = 14;
my ($tool) = grep { (`$_ --version 2>/dev/null` // '') =~ /version $wanted\./ } "clang-format-$wanted", 'clang-format';
plan skip_all => "clang-format $wanted was not found" unless $tool;

# The files below these directories, but for what is built, and what a learner writes.
my @files = sort map { s{^\./|\n}{}gr } `find . -mindepth 1 \\( -name '.*' -o -path ./build -o -path ./my \\) -prune -o \\( -name '*.[ch]' -o -name '*.cu' \\) -print`;
exec $tool, '-i', @files if @ARGV && $ARGV[0] eq '--write';
cmp_ok(scalar @files, '>', 50, 'there are files');

# One more, with two blanks, which must be seen.
my $sample = tempdir(CLEANUP => 1) . '/sample.c';
open my $out, '>', $sample or die "$sample: $!";
print $out "int  f(void);\n";
close $out;
my %wrong;
for (`$tool --style=file:.clang-format --dry-run @files $sample 2>&1`) {
    $wrong{$1} .= "$2\n" if /^([^\s:]+):(\d+:\d+: .*)/;
}
is($wrong{$_} // '', '', $_) for @files;
like($wrong{$sample} // '', qr/code should be clang-formatted/, 'two blanks are a difference');
done_testing();
