# PatchRecords.pm - what a GPU did with the bugs. A part of tests/tools/patches.
package Patches;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Digest::SHA 'sha256_hex';
our (@CARDS, %NOT_RUN);

# A record is a header line `# h200:` or `# h100:`, or `# h200, h100:` for both: "TEXT, DATE, COMPILER, SOURCE/CODE", as
# in "right in 300 runs, 2026-11-22, nvcc 13.0.88, 0123456789ab/ba9876543210", with a fingerprint of the source and one
# of the machine code, which a bug that does not compile lacks. Without that line it has not been run. A record of an
# earlier source, which no card has run anew since, ends with ", of COMMIT": the commit whose source was run.

# fingerprint(PATCH, COMPILER): 12 hex digits that change when what was run would: the chapter's source with the patch
# in it, but for comments, blanks, assertions and the parameter that takes the text of an error, its options, and the
# compiler. Not the wrappers of common/device: a new one would make every record stale.
sub fingerprint ($p, $compiler) {
    my %source = map { $_ => contents($_) } glob "$p->{chapter}/[0-9]*.cu $p->{chapter}/*.h";
    $source{ $_->[0] } = $_->[2] for changed($p, \&contents);
    my $code = join '', map { "$source{$_}\n" } sort keys %source;
    $code =~ s{("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|/\*.*?\*/|//[^\n]*}{$1 // ' '}gse;
    $code =~ s{\bstatic_assert\s*(\((?:[^()"]|"(?:[^"\\]|\\.)*"|(?1))*\))\s*;}{}g;
    $code =~ s{,\s*(?:GemmError\s*\*\s*)?error\s*\)}{)}g;
    return substr sha256_hex("$compiler\n" . value($p, 'run') . "\n" . $code =~ s/\s+//gr), 0, 12;
}

# machine_code(PATCH): 12 hex digits that change when what object(PATCH) made for the GPU does, or the options of its
# run: the sections with instructions, constants, variables, and what a launch needs to know of registers and shared
# memory. Names of kernels, the order of sections, lines and notes do not count.
sub machine_code ($p) {
    my $file = "$p->{build}/" . symbol($p) . '.cubin';
    my $cubin = contents($file);
    my @parts;
    for (`readelf -SW $file 2>/dev/null`) {
        my ($kind, $type, $from, $size) = /\] \.(text|nv\.(?:constant\d+|global|info|shared))(?:\.\S*)? +(\S+) +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) / or next;
        push @parts, "$kind $size " . ($type eq 'NOBITS' ? '' : sha256_hex(substr $cubin, hex $from, hex $size));
    }
    fail(3, "$p->{id}: there is no machine code in its cubin") if !grep { /^text/ } @parts;
    return substr sha256_hex(join "\n", value($p, 'run'), sort @parts), 0, 12;
}

# recorded(PATCH, CARD): text, date, compiler, the two fingerprints of its record, and the commit of an earlier source;
# nothing if there is none.
sub recorded ($p, $card) {
    return value($p, $card) =~ m{^(.*), (20\d\d-\d\d-\d\d), (nvcc [\d.]+), ([0-9a-f]{12})(?:/([0-9a-f]{12}))?(?:, of ([0-9a-f]{8}))?$};
}

# of_another_source(PATCH, CARD): is its record of a source that is not today's?
sub of_another_source ($p, $card) {
    my (undef, undef, $compiler, $was) = recorded($p, $card) or return 0;
    return $was ne fingerprint($p, $compiler);
}

# outdated(PATCH): does one of its records wait for a card, be it stale or of an earlier source that it names?
sub outdated ($p) {
    return grep { of_another_source($p, $_) } cards($p);
}

# stale(PATCH): what is wrong with its records; '' if nothing is.
sub stale ($p) {
    for my $card (cards($p)) {
        next if value($p, $card) eq $NOT_RUN{$card};
        my @record = recorded($p, $card) or return "`# $card:` is no record";
        return "`# $card:` was recorded with another source (make bugs-gpu, or patches earlier)" if !$record[5] && of_another_source($p, $card);
        return "`# $card:` is of today's source and says that it is not" if $record[5] && !of_another_source($p, $card);
    }
    return '';
}

# earlier(COMMIT, PATCH...): see the usage.
sub earlier ($commit, @words) {
    fail(2, "earlier: COMMIT is 8 hexadecimal digits, not '$commit'") if $commit !~ /^[0-9a-f]{8}$/;
    my $marked = 0;
    for my $p (chosen(@words ? @words : 'bugs')) {
        my $before = $p->{comment};
        for my $card (grep { my @record = recorded($p, $_); @record && !$record[5] && of_another_source($p, $_) } cards($p)) {
            $p->{comment} =~ s{^(# [^:\n]*\b$card\b[^:\n]*: .*[0-9a-f])$}{$1, of $commit}m;
        }
        next if $p->{comment} eq $before;
        store($p->{path}, as_stored($p));
        $marked++;
    }
    print "$marked patches name the commit of their records\n";
    return 0;
}

# unchanged(TITLE): a chapter as it is, as if it were a patch.
sub unchanged ($chapter) {
    my ($title, $number) = $chapter =~ m{((\d\d)_[^/]*)$};
    return { kind => 'bugs', number => $number, id => "${number}_as_it_is", chapter => $chapter, title => $title,
        source => "$chapter/$title.cu", head => {}, as_it_is => 1, build => "build/bugs/${number}_as_it_is" };
}

# with_chapters(PATCH...): and the chapters of the bugs among them, as they are.
sub with_chapters {
    my %chapters = map { $_->{kind} eq 'bugs' ? ($_->{chapter} => 1) : () } @_;
    return (@_, map { unchanged($_) } sort keys %chapters);
}

# compiler(): the one of object().
sub compiler {
    my ($nvcc) = split ' ', from_make('NVCC');
    my ($said) = output("$nvcc --version");
    return $said =~ /, V([\d.]+)/ ? "nvcc $1" : fail(3, "$nvcc does not tell its version");
}

# changes_the_host(PATCH): does it change a chapter's source after its kernels, where it launches them?
sub changes_the_host {
    my ($p) = @_;
    return grep { my ($before, $after) = map { /^static GemmStatus launch\(.*/ms ? $& : '' } @$_[ 1, 2 ]; $before ne $after } changed($p, \&contents);
}

# same(PATCH...): see the usage. A record without a fingerprint of the machine code gets one, if its source is the
# recorded one. What a mistake outside of the machine code does, its fingerprint does not tell.
sub same {
    my @bugs = grep { my $p = $_; outdated($p) || grep { my @record = recorded($p, $_); @record && !$record[4] && $record[0] ne 'does not compile' } @CARDS }
        chosen(@_ ? @_ : 'bugs');
    my $compiler = compiler();
    return on_all_cores(sub {
        my ($p) = @_;
        object($p);
        my $now = fingerprint($p, $compiler);
        my $code = -e "$p->{build}/" . symbol($p) . '.o' ? '/' . machine_code($p) : '';
        for my $card (@CARDS) {
            my ($text, undef, $with, $source, $recorded, $of) = recorded($p, $card) or next;
            return "`# $card:` was recorded with $with, this is $compiler" if $with ne $compiler;
            if ($source ne $now) {
                return "`# $card:`: the mistake is not in the machine code" if $text =~ /the same machine code/ && changes_the_host($p);
                next if defined $of && $code ne "/$recorded"; # it says so already
                return "`# $card:`: it is other machine code" if $code ne (defined $recorded ? "/$recorded" : $text eq 'does not compile' ? '' : 'unknown');
            }
            $p->{comment} =~ s{^(# $card: .*?, )[0-9a-f]{12}[0-9a-f/]*(?:, of [0-9a-f]{8})?$}{$1$now$code}m;
        }
        store($p->{path}, as_stored($p));
        return 'ok';
    }, @bugs);
}

# gpu_table(PATCH...): for tests/gpu/bugs.c.
sub gpu_table {
    my $compiler = compiler();
    for my $p (grep { !is_for_blackwell($_) } chosen(@_ ? @_ : 'bugs')) {
        my (undef, $notes) = object($p);
        my $symbol = symbol($p);
        my $compiles = -e "$p->{build}/$symbol.o";
        my $fingerprint = fingerprint($p, $compiler);
        if ($compiles) {
            my $unchanged = unchanged($p->{chapter});
            $unchanged->{head}{run} = $p->{head}{run};
            object($unchanged);
            my $code = machine_code($p);
            $notes .= ($notes eq '' ? '' : ' ') . 'same machine code' if machine_code($unchanged) eq $code;
            $fingerprint .= "/$code";
        }
        my $fields = join ', ', map { "\"$_\"" } $p->{id}, value($p, 'run'), $notes, "$compiler, $fingerprint";
        print $compiles ? "EACH_BUG($symbol, $fields)\n" : "EACH_MISSING($fields)\n";
    }
    return 0;
}

# summary(SIZE...): all sizes, as ["128x256x640", "wrong in 3 of 100"], in one phrase: "wrong in 3 of 300 runs".
sub summary {
    my @sizes = grep { $_->[1] ne 'not run' } @_;
    my ($wrong, $runs, $other, @wrong_at, %others) = (0, 0, 0);
    for my $size (@sizes) {
        my ($where, $what) = @$size;
        if ($what =~ /^(right|wrong) in (\d+) of (\d+)/) {
            $runs += $3;
            next if $1 eq 'right';
            $wrong += $2;
            push @wrong_at, $where if $2 > 0;
        } else {
            $what =~ s/^trap: .*\((cudaError\w+)\).*/trap ($1)/
                or $what =~ s/^trap: .* was not launched.*: invalid argument\b.*/trap (cudaErrorInvalidValue)/
                or $what =~ s/^trap: .*refused.*/refused by the driver/;
            push @{ $others{$what} }, $where;
            $other++;
        }
    }
    my @parts;
    if ($runs) {
        push @parts, $wrong ? "wrong in $wrong of $runs runs" : "right in $runs runs";
        $parts[0] .= ", all at $wrong_at[0]" if $wrong && @wrong_at == 1 && $runs > 100;
    }
    for my $what (sort keys %others) {
        push @parts, $other == @sizes && keys %others == 1 ? $what : "$what at " . join ' and ', @{ $others{$what} };
    }
    return join '; ', @parts;
}

sub record {
    my %bugs = map { $_->{id} => $_ } all('bugs');
    my ($date, $card, $recorded) = ('', '', 0);
    for my $file (@_) {
        for my $line (split /\n/, contents($file)) {
            $date = $1 if $line =~ /^# date (\S+?),/;
            ($card) = grep { $line =~ /\b$_\b/i } @CARDS or fail(1, "$file: bugs are recorded on: @CARDS") if $line =~ /^# device /;
            next if $line =~ /^#/;
            my ($id, @fields) = split /\t/, $line;
            my ($notes) = map { /^notes: (.*)/ } @fields;
            my ($what) = map { /^source: (.*)/ } @fields or fail(1, "$file: $id: it does not say of which source");
            my $text = summary(map { /^(\d+x\d+x\d+): (.*)/ ? [ $1, $2 ] : () } @fields);
            if (defined $notes && $notes =~ /does not compile/) {
                $text = 'does not compile';
            } elsif (defined $notes && $notes =~ /C75/) {
                $text .= '; repaired by ptxas (' . join(', ', $notes =~ /(C75\d\d)/g) . ')';
            }
            $text .= '; the same machine code as without it' if ($notes // '') =~ /same machine code/;
            my $p = $bugs{$id};
            if (!$p) {
                print STDERR "$file: there is no bug $id\n";
                next;
            }
            my $line = "# $card: $text, $date, $what\n";
            $p->{comment} =~ s/^# $card: .*\n/$line/m or $p->{comment} .= $line;
            next if as_stored($p) eq contents($p->{path});
            store($p->{path}, as_stored($p));
            $recorded++;
        }
    }
    print "$recorded patches changed\n";
    return 0;
}

1;
