#!/usr/bin/perl
# Does a run without options reach each line of the kernels, as gcov counts them? Of all chapters with TIER=long; else
# of one, another at each commit (tests/run); TURN=n: that one.
use strict;
use warnings;
use lib 'tests/tools';
use Test::More;
use File::Temp 'tempdir';
use PatchTest;

plan skip_all => "$ENV{CC} is not a gcc that has its gcov" if (said("$ENV{CC} --version"))[0] !~ /Free Software/ || (said('gcov --version'))[1];

# unreached(CHAPTER'S DIRECTORY, OPTIONS): lines of its kernels that such a run does not execute, and its exit status.
sub unreached {
    my ($chapter, $options) = @_;
    my ($title) = $chapter =~ m{([^/]*)$};
    my $scratch = tempdir(CLEANUP => 1);
    my $cc = Patches::from_make('CC') . ' -fprofile-arcs -ftest-coverage -DCHAPTER_PATCH=\'""\'';
    Patches::must("$cc -x c -c $chapter/$title.cu -o $scratch/model.o");
    local $ENV{PATCH_LINK} = Patches::from_make('LINK') . ' --coverage';
    Patches::link_model("$scratch/model.o", "main_$title.o", "$scratch/program");
    my (undef, $status) = said("$scratch/program --on model $options");
    my ($counted) = said("gcov -t -o $scratch $scratch/model.gcda");
    my ($source, $in_kernel, @lines) = ('', 0);
    for my $line (split /\n/, $counted) {
        my ($count, $number, $text) = $line =~ /^ *(\S+?)\*?: *(\d+):(.*)/ or next;
        $source = $1 if $text =~ /^Source:(.*)/;
        $in_kernel = $text =~ /^(?:HOST_)?DEVICE|__global__/ if $text =~ /^\w/;
        push @lines, "$number: $text" if $source eq "$chapter/$title.cu" && $in_kernel && $count eq '#####';
    }
    return ($status, @lines);
}

my @chapters = Patches::chapters();
my $turn = $ENV{TURN} // 0;
note("TURN=$turn");
for my $chapter (Patches::is_long() ? @chapters : $chapters[ $turn % @chapters ]) {
    my ($status, @lines) = unreached($chapter, '');
    is($status, 0, "$chapter is right without options");
    is(join("\n", @lines), '', '... which reach each line of its kernels');
}
my ($status, @lines) = unreached('02_smem_tiled', '--m 128 --n 128 --k 64');
cmp_ok(scalar @lines, '>', 0, 'seen: a size without edges leaves out lines of 02');
done_testing();
