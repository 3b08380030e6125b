#!/usr/bin/perl
# Does tests/tools/launch_check accept launch bounds that fit, and name those that do not?
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

my $scratch = tempdir(CLEANUP => 1);
sub check {
    my ($source) = @_;
    open my $out, '>', "$scratch/kernel.cu" or die "$scratch: $!\n";
    print $out $source;
    close $out;
    my $said = `tests/tools/launch_check $scratch/kernel.cu 2>&1`;
    return ($? >> 8, $said =~ s/^\Q$scratch\E\///mgr);
}
my $launch = "LaunchShape shape = {.grid = 4, .block = THREADS, .shared_bytes = 0};\n";
my $moving = "enum { CTAS = 1, MORE = 2 };\nvoid __launch_bounds__(THREADS, CTAS) kernel(void) { setmaxnreg_inc(240); }\n$launch";
for (
    [ "void __launch_bounds__(THREADS, 2) kernel(void);\n$launch", '', 'two CTAs without setmaxnreg' ],
    [ $moving, '', 'a constant that is 1' ],
    [ $moving =~ s/, CTAS\)/, MORE)/r, 'kernel.cu:2: launch bounds of 2 CTAs an SM, in a kernel with setmaxnreg: 1 is accepted', 'a constant that is 2' ],
    [ $moving =~ s/, CTAS\)/)/r, 'kernel.cu:2: launch bounds of no number of CTAs an SM, in a kernel with setmaxnreg: 1 is accepted', 'none' ],
    [ "/* two\nlines */\nvoid __launch_bounds__(THREADS - 128, 2) kernel(void);\n$launch",
        'kernel.cu:3: launch bounds of THREADS - 128 threads; the launch has .block = THREADS', 'fewer threads' ],
) {
    my ($source, $expected, $name) = @$_;
    my ($status, $said) = check($source);
    is($said, $expected && "$expected\n", $expected ? "$name: named" : "$name: accepted");
    is($status, $expected ? 1 : 0, "$name: exit status");
}
done_testing();
