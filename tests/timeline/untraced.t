#!/usr/bin/perl
# Is recording only where it belongs? common/device has no word of it, the PTX of a normal build has nothing of it, that
# of a traced copy all, and what kernels call is either recorded or known not to be. Reads the PTX that the Makefile
# kept.
use strict;
use warnings;
use Test::More;

sub slurp { local (@ARGV, $/) = @_; return <> }

# ---- the headers

my $headers = join '', map { slurp($_) } glob 'common/device/*.h';

sub words_of_recording {
    my ($text) = @_;
    return join ' ', $text =~ /\w*(?:trace|record|timeline)\w*/gi;
}

is(words_of_recording($headers), '', 'no header of common/device has a word of recording');
is(words_of_recording("#ifdef GEMM_TRACE\n trace_tile(m, n);"), 'GEMM_TRACE trace_tile',
    '... which would be seen');

# ---- record.h: every call of a chapter's kernel is recorded, or listed here

my @not_recorded = qw(
    bulk_load cluster_arrive_relaxed cluster_cta_rank cluster_sync cluster_wait cp_async_16 cp_async_16_zfill elect_one fence_proxy_async
    fence_proxy_async_global global_counter_add global_counter_read global_counter_set grid_dependency_launch grid_dependency_wait launch_query_cancel
    launch_try_cancel_multicast log2_approx mbarrier_arrive mbarrier_arrive_expect_tx_remote mbarrier_arrive_release_cluster mbarrier_arrive_remote
    mbarrier_init_fence mbarrier_test_wait_parity mbarrier_try_wait_parity mbarrier_wait_parity_cluster memcpy memset named_barrier_arrive recomputed
    registers_settled setmaxnreg_dec setmaxnreg_inc st_async_v4 system_flag_set_release system_flag_wait_acquire tcgen05_alloc tcgen05_alloc_pair
    tcgen05_commit tcgen05_commit_pair tcgen05_dealloc tcgen05_dealloc_pair tcgen05_descriptor tcgen05_fence_after tcgen05_fence_before tcgen05_ld
    tcgen05_mma_f16 tcgen05_mma_f16_pair tcgen05_relinquish tcgen05_relinquish_pair tcgen05_wait_ld tma_load_2d_pair tma_prefetch_map warp_uniform
    wgmma_commit_group wgmma_descriptor wgmma_descriptor_mn wgmma_rs_e4m3 wgmma_ss_e4m3
);

# What headers define for the model is what a kernel may call; of epilogue.h it is the functions that store. Those that
# chapters use, and that are neither recorded nor listed.
sub forgotten {
    my ($headers, $record, $chapters) = @_;
    my %call = map { $_ => 1 } $headers =~ /^DEVICE void (store_\w+)\(/gm;
    while ($headers =~ /^#elif defined\(GEMM_MODEL\)\n(.*?)^#endif/gms) {
        $call{$_} = 1 for $1 =~ /^#define (\w+)\(/gm;
    }
    delete @call{@not_recorded, $record =~ /^#define (\w+)/gm};
    return join ' ', sort grep { $chapters =~ /\b$_\b/ } keys %call;
}

my $record = slurp('common/timeline/record.h');
my $chapters = join '', map { slurp($_) } glob '[0-9]*/[0-9]*.cu beyond/*/[0-9]*.cu common/device/pipeline.h common/device/epilogue.h';
is(forgotten($headers, $record, $chapters), '', 'record.h has every call that is not known to be left out');
(my $less = $record) =~ s/^#define (?:tma_store_2d|wgmma_wait_group)\b.*\n//gm;
is(forgotten("$headers\nDEVICE void store_rows(int row) {", $less, "$chapters store_rows(0);"), 'store_rows tma_store_2d wgmma_wait_group',
    '... and what it lacks would be seen');

# ---- the PTX; waits of a debug build read the timer

sub recording_in {
    my ($ptx) = @_;
    my %found = map { $_ => 1 } map { /\btrace_\w+|%clock\w*|%globaltimer/g } grep { !/^\s*\.file\b/ } split /\n/, $ptx;
    delete $found{'%globaltimer'} if $ENV{B} =~ /debug/;
    return join ' ', sort keys %found;
}

is(recording_in("mov.u32 %r1, %clock;\n"), '%clock', 'a hook would be seen in the PTX');
SKIP: {
    skip $ENV{NO_NVCC} || 'nvcc was not found', 1 unless $ENV{NVCC};
    for my $chapter (split ' ', $ENV{CHAPTERS}) {
        my ($plain, $traced) = map { [glob "$ENV{B}/$_/$chapter.ptx/*.ptx"] } qw(gpu traced);
        ok(@$plain && @$plain == @$traced, "$chapter: PTX was kept");
        is(recording_in(slurp($_)), '', "$chapter: nothing of recording in $_") for @$plain;
        like(recording_in(slurp($_)), qr/%clock.*trace_at.*trace_buffers/, "$chapter: recording in $_") for @$traced;
    }
}
done_testing;
