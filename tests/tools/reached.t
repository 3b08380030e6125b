#!/usr/bin/perl
# Does a run without options do what --help promises, and reach each line of the kernels, as gcov counts them? With
# TIER=long this tests all chapters, otherwise one, which TURN=n chooses; tests/run sets another TURN at each commit.
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use File::Temp 'tempdir';
use PatchTest;

plan skip_all => "$ENV{CC} is not a gcc that has its gcov" if (said("$ENV{CC} --version"))[0] !~ /Free Software/ || (said('gcov --version'))[1];

# unreached(CHAPTER'S DIRECTORY, OPTIONS): what such a run says, its exit status, and lines of its kernels that it does
# not execute.
sub unreached {
    my ($chapter, $options) = @_;
    my ($title) = $chapter =~ m{([^/]*)$};
    my $scratch = tempdir(CLEANUP => 1);
    my $cc = Patches::from_make('CC') . ' -fprofile-arcs -ftest-coverage -DCHAPTER_PATCH=\'""\'';
    Patches::must("$cc -x c -c $chapter/$title.cu -o $scratch/model.o");
    local $ENV{PATCH_LINK} = Patches::from_make('LINK') . ' --coverage';
    Patches::link_model("$scratch/model.o", "main_$title.o", "$scratch/program");
    my ($said, $status) = said("$scratch/program --on model $options");
    my ($counted) = said("gcov -t -o $scratch $scratch/model.gcda");
    my ($source, $in_kernel, @lines) = ('', 0);
    for my $line (split /\n/, $counted) {
        my ($count, $number, $text) = $line =~ /^ *(\S+?)\*?: *(\d+):(.*)/ or next;
        $source = $1 if $text =~ /^Source:(.*)/;
        $in_kernel = $text =~ /^(?:HOST_)?DEVICE|__global__/ if $text =~ /^\w/;
        push @lines, "$number: $text" if $source eq "$chapter/$title.cu" && $in_kernel && $count eq '#####';
    }
    return ($said, $status, @lines);
}

my @chapters = Patches::chapters();
my $turn = $ENV{TURN} // 0;
note("TURN=$turn");
for my $chapter (Patches::is_long() ? @chapters : $chapters[ $turn % @chapters ]) {
    my ($title) = $chapter =~ m{([^/]*)$};
    my ($said, $status, @lines) = unreached($chapter, '');
    is($status, 0, "$title is right without options");
    is(join("\n", @lines), '', '... which reach each line of its kernels');
    # Each ring wraps twice, because otherwise bugs of a refilled stage would not show. The output depends on the record
    # of the chapter: on its variants, and on the kind of problem, whose result may not be exact.
    my $source = Patches::contents("$chapter/$title.cu");
    my $variants = $source =~ /\.variants = / ? qr/, (?:each of \d+ variants|\d+ of \d+ variants in turns)/ : qr//;
    my $size = -e "$chapter/build.mk" && Patches::contents("$chapter/build.mk") =~ /^MODEL_SIZE := (\d+)/m ? $1 : 512;
    my $elements = $size * $size;
    my ($problem, $right) = $source =~ /\.kind = / ? (qr/[CO][^\n]* = /, 'exact|within tolerance') : (qr/C\[$size\]\[$size\]/, 'exact');
    like($said, qr/^problem  $problem.*^right    integers: $elements .*^right    normal: $elements /ms, 'the default size');
    like($said, qr/^right    200 x 300 x 333: integers (?:$right), --policy eager, lazy, pct$variants(?:, \d+ experts)?\nright    260 x 264 x 40 on 2 SMs: /m,
        'two odd sizes, in several policies and all variants, in a line each');
    unlike($said, qr/^hidden /m, 'nothing that it has not reached');
}
my ($said, $status, @lines) = unreached('02_smem_tiled', '--m 128 --n 128 --k 64');
cmp_ok(scalar @lines, '>', 0, 'seen: a size without edges leaves out lines of 02');
is("$status:" . (() = $said =~ /^right /mg), '0:2', '... and is all that is run');
for my $option ('--policy random', '--seed 1') {
    my ($one, $ended) = said(Patches::unbroken({ title => '02_smem_tiled' }) . " --on model $option");
    is($ended . ':' . (() = $one =~ /^right /mg), '0:2', "$option: that alone");
}
done_testing();
