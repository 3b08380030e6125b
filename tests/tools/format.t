#!/usr/bin/perl
# Is every C and CUDA file laid out as .clang-format says? `make format` lays them out. Another version of clang-format
# breaks lines elsewhere, so only the one that .clang-format names counts.
use strict;
use warnings;
use Test::More;

my $wanted = 14;
my ($tool) = grep { (`$_ --version 2>/dev/null` // '') =~ /version $wanted\./ } "clang-format-$wanted", 'clang-format';
plan skip_all => "clang-format $wanted was not found" unless $tool;

# The files below these directories, but for what is built, and what a learner writes.
my @files = split /\n/, `find . -mindepth 1 \\( -name '.*' -o -path ./build -o -path ./my \\) -prune -o \\( -name '*.[ch]' -o -name '*.cu' \\) -print`;
s{^\./}{} for @files;
@files = sort @files;

if (@ARGV && $ARGV[0] eq '--write') {
    exec $tool, '-i', @files;
}

sub differs {
    my ($file) = @_;
    return `$tool $file | diff $file - | head -n 4`;
}

cmp_ok(scalar @files, '>', 50, 'there are files');
for my $file (@files) {
    my $diff = differs($file);
    is($diff, '', $file);
}

# It sees what it should see.
my $sample = ($ENV{TMPDIR} // '/tmp') . "/format_$$.c";
open my $out, '>', $sample or die "$sample: $!";
print $out "int  f(void);\n";
close $out;
isnt(`$tool --style=file:.clang-format $sample | diff $sample -`, '', 'two blanks are a difference');
unlink $sample;
done_testing;
