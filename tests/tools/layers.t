#!/usr/bin/perl
# Do calls go one way? Read from the object files by nm: between the model's files, by the levels of
# common/model/README.md, and between the layers device < model < timeline < harness. #include lines may not point up
# either, and headers declare what the .c of their name defines. Then the same with one call too many, which must be seen.
use strict;
use warnings;
use File::Find;
use File::Temp qw(tempdir);
use Test::More;

plan skip_all => 'there is no CPU model' unless $ENV{HAVE_MODEL};
my $B = $ENV{B} or die "layers.t needs B, the build directory: make test sets it\n";
my $CC = $ENV{CC} || 'gcc';

# From the bottom up: what the path of an object begins with.
my @levels = map { "model_core/$_" } qw(core/ data/ place/ judge/ tell/ event.o mechanism/ model.o);
my @layers = qw(model_core/ timeline/ harness/);

# files(DIRECTORY, PATTERN): those below it, in order.
sub files {
    my ($directory, $pattern) = @_;
    my @found;
    find({no_chdir => 1, wanted => sub { push @found, $_ if /$pattern/ }}, $directory) if -d $directory;
    return sort @found;
}

# Symbols of an object file: {defined => {name => type}, wanted => [names]}.
sub symbols {
    my ($path) = @_;
    my %s = (defined => {}, wanted => []);
    open my $nm, '-|', 'nm', '-g', $path or die "nm: $!\n";
    while (<$nm>) {
        if (/^\s+U (\w+)/) { push @{$s{wanted}}, $1 }
        elsif (/^[0-9a-f]+ ([A-Zuvw]) (\w+)/) { $s{defined}{$2} = $1 }
    }
    close $nm or die "nm $path failed\n";
    return \%s;
}

# The rank of an object: the number of the first prefix that it has; undef if it has none.
sub rank {
    my ($name, $prefixes) = @_;
    my ($rank) = grep { index($name, $prefixes->[$_]) == 0 } 0 .. $#$prefixes;
    return $rank;
}

# uses(OBJECTS): {object => {object that it uses => symbol}}. OBJECTS: {name => symbols}.
sub uses {
    my ($objects) = @_;
    my (%home, %uses);
    for my $name (sort keys %$objects) { $home{$_} = $name for keys %{$objects->{$name}{defined}} }
    for my $name (sort keys %$objects) {
        for my $symbol (@{$objects->{$name}{wanted}}) {
            my $to = $home{$symbol};
            $uses{$name}{$to} //= $symbol if defined $to && $to ne $name;
        }
    }
    return \%uses;
}

# Calls from a lower to a higher rank, in words.
sub upward {
    my ($objects, $prefixes) = @_;
    my ($uses, @found) = (uses($objects));
    for my $from (sort keys %$uses) {
        for my $to (sort keys %{$uses->{$from}}) {
            my ($f, $t) = (rank($from, $prefixes), rank($to, $prefixes));
            push @found, "$from uses $uses->{$from}{$to} of $to" if defined $f && defined $t && $f < $t;
        }
    }
    return @found;
}

# A circle of calls, in words; nothing if there is none.
sub circle {
    my ($uses) = @_;
    my (%state, @path, $visit);
    $visit = sub {
        my ($at) = @_;
        return join ' -> ', @path, $at if ($state{$at} // '') eq 'open';
        return if $state{$at};
        $state{$at} = 'open';
        push @path, $at;
        for my $to (sort keys %{$uses->{$at} || {}}) {
            my $found = $visit->($to);
            return $found if $found;
        }
        pop @path;
        $state{$at} = 'done';
        return;
    };
    for my $at (sort keys %$uses) {
        my $found = $visit->($at);
        return $found if $found;
    }
    return;
}

# The layer of a file in common/.
sub layer { return $_[0] =~ m{^common/(device|model|timeline|harness)/} ? $1 : '' }

# Lines of a text that include a file of a higher layer, in words. A kernel's headers may include the model's interface.
sub includes_upward {
    my ($path, $text) = @_;
    my %rank = (device => 0, model => 1, timeline => 2, harness => 3);
    my @found;
    for my $included ($text =~ /^\s*#\s*include\s*"([^"]+)"/mg) {
        my @parts = split m{/}, $path =~ s{/[^/]*$}{}r;
        for my $part (split m{/}, $included) { $part eq '..' ? pop @parts : push @parts, $part }
        my $target = join '/', @parts;
        $target = "common/$included" if !-e $target && -e "common/$included";
        my ($from, $to) = (layer($path), layer($target));
        next if $target eq 'common/model/model.h' || $from eq '' || $to eq '';
        push @found, "$path includes $target" if $rank{$from} < $rank{$to};
    }
    return @found;
}

sub read_text {
    open my $in, '<', $_[0] or die "$_[0]: $!\n";
    local $/;
    return scalar <$in>;
}

sub is_none {
    my ($name, @found) = @_;
    ok(!@found, $name) or diag(map { "$_\n" } @found);
}

# ---- the model's files and the layers

# An object whose source has been moved since is none of the model's.
my %objects = map { (my $name = $_) =~ s{^\Q$B\E/}{}; $name => symbols($_) }
    grep { !m{/model_core/(.*)\.o$} || -e "common/model/$1.c" } map { files("$B/$_", qr/\.o$/) } map { s{/$}{}r } @layers;
my %model = map { $_ => $objects{$_} } grep { /^model_core/ } keys %objects;
cmp_ok(scalar keys %model, '>', 20, 'the model has objects');
is_none('every file of the model has a level', grep { !defined rank($_, \@levels) } sort keys %model);
is_none('no file of the model calls upward', upward(\%model, \@levels));
my $circle = circle(uses(\%model));
is_none('the calls between its files form no circle', defined $circle ? $circle : ());
# A build of the model alone lacks what lies above it.
my @missing = map { "$B/$_" } grep { my $layer = $_; !grep { index($_, $layer) == 0 } keys %objects } @layers;
my $NOTHING = "no objects in @missing: make test builds them";
SKIP: {
    skip $NOTHING, 1 if @missing;
    is_none('no layer calls upward', upward(\%objects, \@layers));
}

my @sources = map { files("common/$_", qr/\.(c|h|cu)$/) } qw(device model timeline harness);
is_none('no file includes one of a higher layer', map { includes_upward($_, read_text($_)) } @sources);
is_none('a mechanism sees no header of a judge or a teller',
    grep { read_text($_) =~ m{/(?:judge|tell)/\w+\.h} } files("$B/model_core/mechanism", qr/\.d$/));

# ---- headers

# What a header declares: functions without a body.
sub declared {
    my $text = read_text($_[0]);
    $text =~ s{/\*.*?\*/}{}gs;
    $text =~ s{\\\n}{ }g;
    $text =~ s{^\s*#.*$}{}mg;
    1 while $text =~ s/\{[^{}]*\}/;/g;
    my %inline = map { $_ => 1 } $text =~ /^static inline [^;(]*?\b(\w+)\(/mg;
    return grep { !$inline{$_} } map { /^\s*+(?!static\b|typedef\b|_Static_assert|[A-Z_]+\()[\w\s*]*?\b(\w+)\(/ ? $1 : () } split /;/, $text;
}

my %public = map { $_ => 1 } map { declared($_) } glob 'common/model/*.h';
my (@foreign, @hidden, @alone);
for my $source (files('common/model', qr/\.c$/)) {
    (my $object = $source) =~ s{^common/model/(.*)\.c$}{model_core/$1.o};
    (my $header = $source) =~ s/\.c$/.h/;
    my %defined = %{$model{$object}{defined}};
    push @alone, $source unless -e $header;
    my %declared = -e $header ? map { $_ => 1 } declared($header) : ();
    push @hidden, map { "$_ of $source" }
        grep { $defined{$_} eq 'T' && !$declared{$_} && !$public{$_} && !/^__tsan|^model_fiber_switch$/ } sort keys %defined;
    next if $header !~ m{^common/model/\w+/};
    push @foreign, map { "$_ of $header" } grep { !$defined{$_} } sort keys %declared;
}
for my $header (files('common/model', qr{^common/model/\w+/.*\.h$})) {
    push @alone, $header if declared($header) && !-e $header =~ s/\.h$/.c/r;
}
is_none('every .c has its header, and every header that declares functions its .c', @alone);
is_none('what a .c defines for others, its header or a public one declares', @hidden);
is_none('what a header declares, the .c of its name defines', @foreign);

# Names that several of these files have, in words; a device header and the mechanism behind it share theirs.
sub named_twice {
    my %of;
    push @{ $of{ s{.*/}{}r } }, $_ for @_;
    return grep { !m{^common/device/(\w+\.h) common/model/mechanism/\1$} } map { "@$_" } grep { @$_ > 1 } values %of;
}
my @named = map { files($_, qr/\.(?:c|h|cu|mk|pm|t)$/) } qw(common tests);
is_none('no name stands for two files', named_twice(@named));

# ---- all this would be seen

my $scratch = tempdir(CLEANUP => 1);

# with(NAME, SOURCE, ...): the objects, and more that are compiled here.
sub with {
    my %more = %objects;
    while (my ($name, $source) = splice @_, 0, 2) {
        open my $out, '>', "$scratch/extra.c" or die "$scratch: $!\n";
        print $out $source;
        close $out;
        system($CC, '-c', "$scratch/extra.c", '-o', "$scratch/extra.o") == 0 or die "$CC failed\n";
        $more{$name} = symbols("$scratch/extra.o");
    }
    return \%more;
}

my $call = sub { "void $_[1](void); void $_[0](void); void $_[0](void) { $_[1](); }\n" };
is(scalar upward(with('model_core/core/extra.o', $call->('extra', 'model_syncthreads')), \@levels), 1,
    'seen: core calls a mechanism');
is(scalar upward(with('model_core/judge/extra.o', $call->('extra', 'event_fence_proxy')), \@levels), 1,
    'seen: a judge calls an event');
is(scalar upward(with('model_core/mechanism/extra.o', $call->('extra', 'event_fence_proxy')), \@levels), 0,
    'allowed: a mechanism calls an event');
SKIP: {
    skip $NOTHING, 2 if @missing;
    is(scalar upward(with('model_core/extra.o', $call->('extra', 'model_backend')), \@layers), 1,
        'seen: the model calls the harness');
    is(scalar upward(with('timeline/extra.o', $call->('extra', 'model_backend')), \@layers), 1,
        'seen: the timeline calls the harness');
}
ok(defined circle(uses(with('model_core/judge/x.o', $call->('x', 'y'), 'model_core/judge/y.o', $call->('y', 'x')))),
    'seen: two files of one level call each other');
ok(!defined rank('model_core/extra/extra.o', \@levels), 'seen: a file without a level');
is(scalar includes_upward('common/device/extra.h', qq(#include "../harness/report.h"\n)), 1,
    'seen: a device header includes the harness');
is(scalar includes_upward('common/model/judge/extra.c', qq(#include <stdio.h>\n# include "../../harness/report.h"\n)), 1,
    'seen: the model includes the harness');
is(scalar includes_upward('common/device/extra.h', qq(#include "../model/model.h"\n)), 0,
    "allowed: a device header includes the model's interface");
is(scalar named_twice(@named, 'tests/tools/report.c'), 1, 'seen: a name that stands for two files');
done_testing();
