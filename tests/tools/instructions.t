#!/usr/bin/perl
# Does the device code of each chapter of the ladder have the instructions that the chapter teaches, and none that a
# later one introduces? Reads the PTX that the Makefile kept for each architecture next to the object. Of a chapter
# beyond the ladder that no GPU here can run, checks/instructions.txt lists the SASS.
use strict;
use warnings;
use Test::More;

# The instruction's name at the start of a statement, and for each chapter: + must have it, - must not, . may.
my ($head, @rows) = map { [ split ] } split /\n/, <<'TABLE';
instruction                           01 02 03 04 05 06 07 08
ldmatrix\.sync                        -  +  +  +  +  .  .  .
mma\.sync                             -  +  +  +  +  .  .  .
cp\.async\.c[ag]\.shared              -  -  +  +  .  .  .  .
mbarrier\.init                        -  -  -  -  +  +  +  +
mbarrier\.arrive\.expect_tx           -  -  -  -  +  +  +  +
mbarrier\.try_wait                    -  -  -  -  +  +  +  +
cp\.async\.bulk\.tensor\.2d\.shared   -  -  -  -  +  +  +  +
wgmma\.mma_async                      -  -  -  -  -  +  +  +
wgmma\.wait_group                     -  -  -  -  -  +  +  +
setmaxnreg\.dec                       -  -  -  -  -  -  +  +
setmaxnreg\.inc                       -  -  -  -  -  -  +  +
cp\.async\.bulk\.tensor\.2d\.global   -  -  -  -  -  -  -  +
elect\.sync                           -  -  -  -  +  +  +  +
cp\.async\.bulk\.shared               -  -  -  -  .  .  .  .
TABLE
# What no chapter of the ladder has.
push @rows, map { [ $_, ('-') x $#$head ] } qw(
    barrier\.cluster\.wait griddepcontrol\.wait atom\.relaxed\.gpu st\.release\.sys ld\.acquire\.sys st\.async barrier\.arrive
    wgmma\.mma_async.*e4m3 cp\.async\.bulk\.tensor\.5d\.shared ex2\.approx tcgen05\. clusterlaunchcontrol\.try_cancel
);

# faults(CHAPTER, PTX): the rows that it breaks, in words. A statement may follow another one, a brace, a label or a
# predicate; comments and file names do not count.
sub faults {
    my ($number, $ptx) = (substr($_[0], 0, 2), $_[1] =~ s|;[ \t]+|;\n|gr =~ s|^[ \t{]*+(?:\w+:[ \t]+)?(?:@!?%?\w+[ \t]+)?||mgr);
    my ($column) = grep { $head->[$_] eq $number } 1 .. $#$head;
    return "the table has no column for chapter $number" if !$column;
    return map {
        my ($pattern, $mark) = @$_[ 0, $column ];
        my $has = $ptx =~ /^$pattern/m;
        my $name = $pattern =~ s/\\//gr;
        $mark eq '+' && !$has ? "lacks $name" : $mark eq '-' && $has ? "has $name, which a later chapter introduces" : ();
    } @rows;
}
is(scalar(grep { grep { !/^[-+.]$/ } @$_[ 1 .. $#$head ] or @$_ != @$head } @rows), 0, 'each row has a mark for each chapter');

my $sample = join "\n", map { "\t$_" } '// begin inline asm', 'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];', '// end inline asm',
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1};', '.file 1 "mbarrier.init/cp.async.cg.shared"', '// cp.async.cg.shared.global';
my @later = map { "has $_.sync, which a later chapter introduces" } 'ldmatrix', 'mma';
is_deeply([ faults('02_sample', $sample) ], [], 'a sample of chapter 02 passes as 02');
is_deeply([ faults('01_sample', $sample) ], \@later, 'the same is refused as 01');
is_deeply([ faults('03_sample', $sample) ], ['lacks cp.async.c[ag].shared'], 'and as 03');
like(join("\n", faults('02_sample', "$sample\n\t{ @!p setmaxnreg.dec.sync.aligned.u32 40; }\n\t@%p1 wgmma.wait_group.sync.aligned 0;")),
    qr/has wgmma\.wait_group.*has setmaxnreg\.dec/s, 'a statement after a brace or a predicate is seen');
like(join("\n", faults('02_sample', "$sample\n\t{ .reg .pred p; elect.sync _|p, 0xffffffff; }\n\tagain: mbarrier.try_wait.parity.b64 p, [%r1], %r2;")),
    qr/has mbarrier\.try_wait.*has elect\.sync/s, '... and after another statement or a label');
is_deeply([ faults('00_sample', $sample) ], ['the table has no column for chapter 00'], 'a chapter that the table does not know is refused');

SKIP: {
    skip "instructions of the chapters: $ENV{NO_NVCC}", 1 if $ENV{NO_NVCC};
    for my $chapter (grep { /^0[1-8]/ } split ' ', $ENV{CHAPTERS}) {
        my @files = glob "$ENV{B}/gpu/$chapter.ptx/*.ptx";
        ok(@files && !grep({ !-s } @files), "$chapter: its PTX was kept");
        for my $file (@files) {
            open my $in, '<', $file or die "$file: $!\n";
            is_deeply([ faults($chapter, do { local $/; <$in> }) ], [], "$chapter: instructions in " . $file =~ s{.*/}{}r);
        }
    }
}
# names(SASS): of its instructions.
sub names { return $_[0] =~ /^\s+\/\*[0-9a-f]+\*\/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)/mg }

# The SASS of book/cutlass.md: is each instruction in the program named?
SKIP: {
    skip "SASS: $ENV{NO_NVCC}", 1 if $ENV{NO_NVCC};
    my ($cuobjdump) = grep { system("$_ --version >/dev/null 2>&1") == 0 } $ENV{NVCC} =~ s/nvcc[^\/]*$/cuobjdump/r, 'cuobjdump';
    skip 'SASS: there is no cuobjdump', 1 if !$cuobjdump;
    open my $in, '<', 'book/cutlass.md' or die "book/cutlass.md: $!\n";
    my ($table) = join('', <$in>) =~ /^\| PTX \| SASS \| in \|\n(.*?)\n\n/ms or die "book/cutlass.md: no table\n";
    my (%sass, $looked_at);
    for (map { [ split /\s*\|\s*/ ] } grep { !/^\| ---/ } split /\n/, $table) {
        my (undef, $ptx, $names, $program) = @$_;
        my ($file) = $program eq 'patterns' ? "$ENV{B}/book/patterns/run_gpu" : glob "$ENV{B}/gpu/${program}_*.o";
        $sass{$program} //= { map { $_ => 1 } names(scalar `$cuobjdump -sass $file`) };
        for my $name ($names =~ /`([^`]+)`/g) {
            ok(scalar(grep { /^\Q$name\E(?:\.|$)/ } keys %{ $sass{$program} }), "$program has $name: $ptx");
            $looked_at++;
        }
    }
    cmp_ok($looked_at, '>', 30, 'there are some');

    # Where a chapter lists its SASS, on each of its GPUs: the instructions of tensor cores, tensor memory and the copy
    # engine are these, and no other; and none of local memory, so nothing spills.
    for my $list (glob 'beyond/*/checks/instructions.txt') {
        my ($chapter) = $list =~ m{([^/]+)/checks};
        next if grep { $chapter eq $_ } split ' ', $ENV{TOO_NEW};
        open my $in, '<', $list or die "$list: $!\n";
        my $all = join ' ', map { /^#/ ? () : split } <$in>;
        for my $gpu (`$cuobjdump -lelf $ENV{B}/gpu/$chapter.o` =~ /\.(sm_\w+)\.cubin/g) {
            my $sass = `$cuobjdump -sass -arch $gpu $ENV{B}/gpu/$chapter.o`;
            my %has = map { $_ => 1 } grep { /MMA|^(?:UT|UGET|LDTM|STTM|LDL|STL|LDSM|STSM|LDGSTS)/ && !/^HFMA2_MMA/ } names($sass);
            is(join(' ', sort keys %has), $all, "$chapter for $gpu has these, and no others");
        }
    }
}
done_testing();
