#!/usr/bin/perl
# Does tests/tools/ptxas_check accept a good report, and does it name every bad thing in a bad one?
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

my ($scratch, $number) = (tempdir(CLEANUP => 1), 0);

# report(NOTE, FRAME, STORES, LOADS): what ptxas prints about one kernel.
sub report {
    my ($note, @bytes) = @_;
    return "ptxas info    : $note\n" . sprintf <<'TEXT', map { $_ // 0 } @bytes[ 0 .. 2 ];
ptxas info    : Compiling entry function '_Z11gemm_kernel6Params' for 'sm_90a'
ptxas info    : Function properties for _Z11gemm_kernel6Params
    %d bytes stack frame, %d bytes spill stores, %d bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers
TEXT
}
my $good = report('0 bytes gmem');

# said(REPORT...): what is said of them, and the exit status. The first may be an option.
sub said {
    my @files = map {
        my $path = /^most_bytes/ ? $_ : "$scratch/" . ++$number;
        open my $out, '>', $path or die if $path ne $_;
        print $out $_ if $out;
        $path;
    } @_;
    my $said = `tests/tools/ptxas_check @files 2>&1`;
    return ($said =~ s/^\Q$scratch\E\/\d+: //mgr, $? >> 8);
}

for (
    [ '', 'a clean report', $good ],
    [ 'for .*: 4 bytes of spill stores', 'spill stores', report('', 0, 4) ],
    [ 'for .*: 16 bytes of spill loads', 'spill loads', report('', 0, 0, 16) ],
    [ "_Z11gemm_kernel6Params for 'sm_90a': 256 bytes of stack frame", 'a stack frame', report('', 256) ],
    [ '\(C7508\).*setmaxnreg', 'setmaxnreg ignored', report("(C7508) Potential Performance Loss: 'setmaxnreg' ignored") ],
    (map { [ "\\(C75$_\\).*wgmma", "note C75$_", report("(C75$_) Potential Performance Loss: wgmma is serialized") ] } 10 .. 19),
    [ '', 'note C7519 and a few bytes in a copy that records', 'most_bytes=64', report('(C7519) warpgroup.arrive is injected', 0, 64) ],
    [ '\(C7518\)', 'note C7518 in one', 'most_bytes=64', report('(C7518) wgmma is serialized') ],
    [ '65 bytes', 'more bytes than it may', 'most_bytes=64', report('', 65) ],
    [ 'no kernel', 'an empty report', '' ],
    [ '8 bytes', 'the second of two reports', $good, report('', 0, 8) ],
    [ 'does not say', 'a report whose wording has changed', $good =~ s/bytes stack frame.*/properties/r ],
) {
    my ($pattern, $name, @reports) = @$_;
    my ($said, $status) = said(@reports);
    is($status, $pattern eq '' ? 0 : 1, "$name: " . ($pattern eq '' ? 'accepted' : 'refused'));
    like($said, $pattern eq '' ? qr/\A\z/ : qr/\A.*$pattern.*\n\z/, "$name: named, in one line");
}
isnt(system("tests/tools/ptxas_check $scratch/missing 2>/dev/null"), 0, 'a report that is not there is refused');
done_testing();
