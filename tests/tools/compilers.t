#!/usr/bin/perl
# Does a_registers, which `make compilers` calls, notice a register of A that is overwritten before the wait, and only
# that?
use strict;
use warnings;
use Test::More;

# found(LINE...): what it says of a kernel with these instructions, and its exit status.
sub found {
    my $at = 0;
    my $listing = ".text.kernel:\n" . join '', map { /^\.L/ ? "$_:\n" : sprintf "        /*%04x*/   %s ;\n", $at += 16, $_ } @_;
    open my $out, '>', "$ENV{B}/a_registers.in" or die $!;
    print $out $listing;
    close $out;
    my $said = `tests/tools/a_registers t <'$ENV{B}/a_registers.in'`;
    return ($said, $? >> 8);
}
my $product = 'HGMMA.64x256x16.F32.BF16 R24, R4, gdesc[UR4], R24';
my $wait = 'WARPGROUP.DEPBAR.LE gsb0, 0x0';
for (
    [ 'none overwritten', 0, 'a write after the wait', "$product, gsb0", $wait, 'MOV R4, R0' ],
    [ 'overwritten early', 1, 'a write before the wait', "$product, gsb0", 'MOV R7, R0', $wait ],
    [ 'none overwritten', 0, 'a write to the next register', "$product, gsb0", 'MOV R8, R0', $wait ],
    [ 'overwritten early', 1, 'a load of four registers that reaches them', "$product, gsb0", 'LDS.128 R0, [R20]', 'LDS.128 R4, [R20]', $wait ],
    [ 'overwritten early', 1, 'a wait that leaves the group open', "$product, gsb0", 'WARPGROUP.DEPBAR.LE gsb0, 0x1', 'MOV R5, R0' ],
    [ 'overwritten early', 1, 'a write at the top of the next round', '.L_x_1', 'MOV R5, R0', "$product, gsb0", '@P0 BRA `(.L_x_1)', $wait ],
    [ 'none overwritten', 0, 'a wait in each round', '.L_x_1', 'MOV R5, R0', "$product, gsb0", $wait, '@P0 BRA `(.L_x_1)' ],
    [ '', 0, 'a product with A in shared memory', 'HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4], R24, gsb0', 'MOV R4, R0', $wait ],
) {
    my ($says, $status, $what, @code) = @$_;
    my ($said, $got) = found(@code);
    ok($got == $status && ($says eq '' ? $said eq '' : $said =~ /\Q$says/), $what) or diag("status $got: $said");
}
done_testing();
