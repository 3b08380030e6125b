#!/usr/bin/perl
# Does each file of `make one` hold a kernel and what the kernel needs, and nothing else? Nothing in it is unused; the
# line at its top builds it, without a warning; its kernels have the machine code of the chapter's. `make test` takes a
# sample.
use strict;
use warnings;
use File::Basename;
use File::Temp 'tempdir';
use Test::More;

my $work = tempdir(CLEANUP => 1);
my $warnings = '--Werror all-warnings -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers';
my $is_long = ($ENV{TIER} // '') eq 'long';

sub slurp { my ($path) = @_; open my $in, '<:raw', $path or return ''; local $/; return scalar <$in> }
sub put { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!"; print $out $text; close $out }

# The sources, by the names of their files.
my %source = map { /^(\w+)=(\S+)$/ ? ($1, $2) : () } `make -s one-sources`;
cmp_ok(scalar keys %source, '>=', 9, 'there are sources');

# ---- nothing is unused

# Functions, macros, types and constants of a file that it names only where it defines them.
sub unused {
    my ($text) = @_;
    $text =~ s{/\*.*?\*/|"(?:[^"\\\n]|\\.)*"}{}gs;
    my %times;
    $times{$_}++ for $text =~ /\b([A-Za-z_]\w*)\b/g;
    my @defined = ($text =~ /^#define (\w+)/gm, $text =~ /^(?:DEVICE|HOST_DEVICE|static)\b[^;{]*?(?<!_)\b([a-z]\w*)\([^;]*?\) \{/gm,
        $text =~ /^\} (\w+);/gm, $text =~ /^typedef [^{}]*?\b(\w+);/gm);
    return join ' ', grep { $times{$_} == 1 && $_ ne 'main' } @defined;
}

my %text;
for my $name (sort keys %source) {
    $text{$name} = `tests/one/one $source{$name} $name 2>&1`;
    is($? >> 8, 0, "$name is written") or diag($text{$name});
    is(unused($text{$name}), '', "$name has nothing that it does not use");
    unlike($text{$name}, qr/GEMM_(?:MODEL|DEBUG)|\@NAME\@|KERNEL_ENTRY\(\w+, \w+\);$|#include "/, '... and nothing of the model or of a debug build');
    put("$work/$name.cu", $text{$name});
}
my ($last) = grep { /^08_p/ } sort keys %source; # the one that takes most from the headers
is(unused("$text{$last}\nDEVICE int spare(int x) { return x; }\n#define SPARE 1\ntypedef int Spare;\n"), 'SPARE spare Spare', 'what is not used is seen');

# ---- the machine code

if ($ENV{NO_NVCC} || !$ENV{NVCC}) {
    SKIP: { skip 'they compile, with the machine code of their chapters: ' . ($ENV{NO_NVCC} || 'NVCC is not set'), 1 }
    done_testing();
    exit;
}

# The instructions of each kernel of a cubin.
sub kernels {
    my ($cubin) = @_;
    my $bytes = slurp($cubin);
    my %code;
    for (`readelf -SW $cubin 2>/dev/null`) {
        $code{$1} = substr $bytes, hex $2, hex $3 if /\s\.text\.(\S+)\s+PROGBITS\s+\S+\s+(\S+)\s+(\S+)/;
    }
    return \%code;
}

# Builds $work/NAME.cu by the line at its top; what the compiler says, and the cubin.
sub build {
    my ($name) = @_;
    my ($line) = slurp("$work/$name.cu") =~ /^ \*     nvcc (.*)$/m or return ("$name has no line that builds it", '');
    mkdir "$work/$name.keep";
    my $said = `cd $work && $ENV{NVCC} $line $warnings -keep -keep-dir $name.keep 2>&1`;
    my ($cubin) = grep { !/dlink/ } glob "$work/$name.keep/*.cubin";
    $said .= "no program" if !-x "$work/$name";
    return ($said, $cubin // '');
}

# The kernels of a source whose machine code the one file does not have.
sub differing {
    my ($source, $cubin) = @_;
    system "$ENV{NVCC} -O3 -std=c++17 -gencode arch=compute_90a,code=sm_90a -Icommon -cubin -o $work/chapter.cubin $source";
    my ($chapter, $one) = (kernels("$work/chapter.cubin"), kernels($cubin));
    return 'no kernel' if !%$chapter;
    return join ' ', grep { ($one->{$_} // '') ne $chapter->{$_} } sort keys %$chapter;
}

for my $name ($is_long ? sort keys %source : $last) {
    my ($said, $cubin) = build($name);
    is($said, '', "$name is built by the line at its top, without a warning");
    is(differing($source{$name}, $cubin), '', "... with the machine code of $source{$name}");
}

# A warning and another instruction are seen.
my ($first) = sort keys %source;
put("$work/changed.cu", $text{$first} =~ s/\b$first\b/changed/gr =~ s/float sum = 0;/float sum = 1; int spare;/r);
my ($said, $cubin) = build('changed');
like($said, qr/spare/, 'a warning is seen');
put("$work/changed.cu", slurp("$work/changed.cu") =~ s/ int spare;//r);
($said, $cubin) = build('changed');
like(differing($source{$first}, $cubin), qr/gemm_kernel/, 'another instruction is seen');

done_testing();
