# Steps.pm - the steps of a chapter, NN_name/steps/K_name.cu, of which its own source is the last: their titles, their
# reasons and what each changes. Used by tests/tools/diff, tests/tools/steps.t and tests/bench/figures.
package Steps;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use File::Temp 'tempdir';

sub contents ($path) {
    open my $in, '<', $path or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

sub store ($path, $text) {
    open my $out, '>', $path or die "$path: $!\n";
    print $out $text;
    close $out or die "$path: $!\n";
}

# of(SOURCE OF A CHAPTER): its steps in order, as hashes: number (1, 2, ...), kernel (the name of its figures in a CSV:
# 02.1 or, of the last, 02), file, id (02_1_shared_tiles, or the chapter's name), title, reason. None, if the chapter
# has no steps.
sub of ($source) {
    my ($directory, $chapter) = $source =~ m{^(.*)/([^/]+)\.cu$} or die "$source is not the source of a chapter\n";
    my ($number) = $chapter =~ /^(\d\d)_/;
    my @files = sort glob "$directory/steps/[0-9]_*.cu";
    return if !@files;
    my @steps;
    for my $file (@files, $source) {
        my ($comment) = contents($file) =~ m{\A/\*(.*?)\*/}s or die "$file has no comment at its top\n";
        my $last = $file eq $source;
        my $part = $last ? 'Last step' : 'What is new';
        my ($text) = $comment =~ m{^ \* \Q$part\E +(.*?)(?=^ \* \S|\z)}ms or die "$file: its comment has no part \"$part\"\n";
        $text =~ s/\n \* +/ /g;
        $text =~ s/\s+\z//;
        my ($title) = $last ? $text =~ s/^(.*?)\. // ? $1 : '' : $comment =~ /^ \S+, step \d - (.*)\.$/m;
        die "$file: its comment names no title\n" if !defined $title || $title eq '';
        my ($name) = $file =~ m{([^/]+)\.cu$};
        push @steps, { number => @steps + 1, kernel => $last ? $number : "$number." . (@steps + 1), file => $file,
            id => $last ? $chapter : "${number}_$name", title => $last ? lcfirst $title : $title, reason => $text };
    }
    return @steps;
}

# text(FILE): a source as the others of its chapter have it: headers are named as from a chapter at the top.
sub text ($file) {
    return contents($file) =~ s{^#include "\K(?:\.\./)+(?=common/)}{../}gmr;
}

# code(FILE): its lines without comments, empty lines and indentation.
sub code ($file) {
    return grep { $_ ne '' } map { s/\s+/ /gr =~ s/^ | $//gr } split /\n/, text($file) =~ s{/\*.*?\*/}{}gsr;
}

# added(BEFORE, FILE): how many lines of code FILE has that BEFORE does not have.
sub added {
    my $scratch = tempdir(CLEANUP => 1);
    store("$scratch/$_", join '', map { "$_\n" } code($_[$_])) for 0, 1;
    return scalar grep { /^>/ } `diff $scratch/0 $scratch/1`;
}

# figure(KERNEL): of the newest ladder of an H200 that has it at 8192 x 8192 x 8192: TFLOP/s, ratio to cuBLAS, card and
# date.
sub figure ($kernel) {
    for my $csv (reverse sort glob 'tests/bench/results/nvidia_h200_*_ladder.csv') {
        my ($header, @lines) = split /\n/, contents($csv);
        my @names = split /,/, $header;
        my $found;
        for my $line (@lines) {
            my %row;
            @row{@names} = split /,/, $line, -1;
            $found = \%row if $row{kernel} eq $kernel && "$row{m} $row{n} $row{k}" eq '8192 8192 8192' && $row{mode} eq 'paused';
        }
        return $found if $found;
    }
    return;
}

1;
