#!/usr/bin/perl
# Is no line of a source longer than 120 columns, and no script longer than 450 lines? Is every C and CUDA file laid out
# as .clang-format says? `make format` lays them out. Another version of clang-format breaks lines elsewhere, so only
# the one that .clang-format names counts.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use File::Temp 'tempdir';
use Test::More;

my $wanted = 14;
my ($tool) = grep { (`$_ --version 2>/dev/null` // '') =~ /version $wanted\./ } "clang-format-$wanted", 'clang-format';

# The files below these directories, but for what is built, and what a learner writes.
my @files = sort map { s{^\./|\n}{}gr } `find . -mindepth 1 \\( -name '.*' -o -path ./build -o -path ./my \\) -prune -o \\( -name '*.[ch]' -o -name '*.cu' \\) -print`;
exec $tool, '-i', @files if $tool && @ARGV && $ARGV[0] eq '--write';
cmp_ok(scalar @files, '>', 50, 'there are files');

# ---- columns and lines

# long(PATH, TEXT): the lines of a source that are too long. Of scripts in perl and sh only comments count; what is
# neither these nor C, Python or a makefile does not.
sub long {
    my ($path, $text) = @_;
    my ($script, $line) = ($path !~ /\.(?:c|h|cu|cpp|py|mk)$|Makefile$/, 0);
    return if $script && $path !~ /\.(?:t|pm|pl)$/ && $text !~ /^#!/;
    return map { $line++; length > 120 && !/^##/ && (!$script || m{^\s*(?:#|//)}) ? "$path:$line" : () } split /\n/, $text;
}
my @long = map { my $path = $_; open my $in, '<', $path or die "$path: $!\n"; long($path, do { local $/; <$in> // '' }) }
    grep { !-l && -T } split /\n/, `git ls-files`;
is(join(' ', @long), '', 'no line of a source has more than 120 columns');
my ($fits, $long) = ('x' x 120, 'x' x 121);
is(join(' ', long('a.c', "$fits\n$long\n"), long('b', "#!/bin/sh\n$long\n# $fits\n# short\n"), long('c.md', $long)), 'a.c:2 b:3', 'seen: a line of C, a comment of a script');
like(`tests/tools/lines`, qr/^longest script: (?:\d\d|[1-3]\d\d|4[0-4]\d|450) lines, [a-z]/m, 'make lines: no script has more than 450 lines');

# ---- layout

SKIP: {
    skip("clang-format $wanted was not found", 1) if !$tool;
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
}
done_testing();
