#!/usr/bin/perl
# Is recording only where it belongs? common/device has no word of it, the PTX of a normal build has nothing of it, that of
# a traced copy all, and what kernels call is either recorded or known not to be. Reads the PTX that the Makefile kept.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

sub text {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!";
    local $/;
    return scalar <$in>;
}

# ---- the headers. The model's hook has a name of its own.

my @headers = glob 'common/device/*.h';
my $headers = join '', map { text($_) } @headers;

sub words_of_recording {
    my ($text) = @_;
    $text =~ s/\bmodel_trace_\w+//g;
    return join ' ', $text =~ /\w*(?:trace|record|timeline)\w*/gi;
}

cmp_ok(scalar @headers, '>', 10, 'common/device has headers');
is(words_of_recording($headers), '', 'none has a word of recording');
is(words_of_recording("#ifdef GEMM_TRACE\n    trace_tile(m, n);\n    model_trace_tile(m, n);"), 'GEMM_TRACE trace_tile',
    'such words are seen');

# ---- record.h: every call of a kernel is recorded, or listed here.

my @not_recorded = qw(
    cluster_arrive_relaxed cluster_cta_rank cluster_sync cluster_wait cp_async_16 cp_async_16_zfill fence_proxy_async
    global_counter_add global_counter_read global_counter_set grid_dependency_launch grid_dependency_wait mbarrier_arrive
    mbarrier_arrive_remote mbarrier_init_fence mbarrier_test_wait_parity named_barrier_arrive registers_settled
    setmaxnreg_dec setmaxnreg_inc tma_prefetch_map wgmma_commit_group wgmma_descriptor
);

# What headers define for the model is what a kernel may call; of epilogue.h it is the functions that store.
sub calls {
    my ($headers) = @_;
    my %call = map { $_ => 1 } $headers =~ /^DEVICE void (store_\w+)\(/gm;
    while ($headers =~ /^#if(?:def GEMM_MODEL| defined\(GEMM_MODEL\))\n(.*?)^#el/gms) {
        $call{$_} = 1 for $1 =~ /^#define (\w+)\(/gm;
    }
    return \%call;
}

sub unknown {
    my ($headers, $record) = @_;
    my %known = map { $_ => 1 } @not_recorded, $record =~ /^#define (\w+)/gm;
    $known{mbarrier_init} = 1 if $known{mbarrier_init_named}; # which it calls
    return join ' ', grep { !$known{$_} } sort keys %{calls($headers)};
}

my $record = text('common/timeline/record.h');
cmp_ok(scalar keys %{calls($headers)}, '>', 40, 'kernels have calls');
is(unknown($headers, $record), '', 'record.h has each of them, but for those that are not recorded');
is(join(' ', grep { !calls($headers)->{$_} || $record =~ /^#define $_\b/m } @not_recorded), '', '... which exist and are not');
(my $less = $record) =~ s/^#define (?:tma_store_2d|wgmma_wait_group)\b.*\n//gm;
is(unknown("$headers\nDEVICE void store_rows(int row) {", $less), 'store_rows tma_store_2d wgmma_wait_group',
    'one that is forgotten is seen');

# ---- the PTX. Waits of a debug build read the timer.

my $build = $ENV{B} // 'build/release';

sub recording_in {
    my ($ptx) = @_;
    my @lines = grep { !/^\s*\.file\b/ } split /\n/, $ptx;
    my %found = map { $_ => 1 } map { /\btrace_\w+|%clock\w*|%globaltimer/g } @lines;
    delete $found{'%globaltimer'} if $build =~ /debug/;
    return join ' ', sort keys %found;
}

SKIP: {
    skip $ENV{NO_NVCC} || 'nvcc was not found', 1 unless $ENV{NVCC};
    for my $chapter (split ' ', $ENV{CHAPTERS}) {
        my @plain = glob "$build/gpu/$chapter.ptx/*.ptx";
        my @traced = glob "$build/traced/$chapter.ptx/*.ptx";
        ok(@plain && @traced == @plain, "$chapter: PTX was kept");
        is(recording_in(text($_)), '', "$chapter: nothing of recording in $_") for @plain;
        for my $ptx (@traced) {
            my $found = recording_in(text($ptx));
            is(join(' ', grep { index($found, $_) < 0 } qw(%clock trace_at trace_buffers)), '', "$chapter: recording in $ptx");
        }
    }

    # With a hook in a header it is not.
    my $work = tempdir(CLEANUP => 1);
    my $chapter = '06_wgmma_ss';
    system('cp', '-r', 'common', $chapter, $work) == 0 or die;
    my $header = "$work/common/device/wgmma.h";
    (my $hooked = text($header)) =~ s/^(DEVICE void wgmma_fence.*{)/$1 uint32_t trace_begin; asm volatile("mov.u32 %0, %%clock;" : "=r"(trace_begin));/m;
    open my $out, '>', $header or die;
    print $out $hooked;
    close $out;
    isnt(words_of_recording($hooked), '', 'a hook in wgmma.h is seen');
    my $status = system("cd $work && '$ENV{NVCC}' -std=c++17 -w -gencode arch=compute_90a,code=compute_90a -Icommon -ptx $chapter/$chapter.cu -o hooked.ptx");
    is($status, 0, 'it compiles');
    isnt(recording_in(text("$work/hooked.ptx")), '', '... and is seen in the PTX');
}
done_testing;
