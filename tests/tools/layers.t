#!/usr/bin/perl
# Do calls go one way? Read from the object files by nm: between the model's files, by the levels of
# common/model/README.md, and between the layers device < model < timeline < harness. #include lines may not point up
# either. Then the same with one call too many, which must be seen.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;

my $B = $ENV{B} or die "layers.t needs B, the build directory: make test sets it\n";
my $CC = $ENV{CC} || 'gcc';
my $scratch = tempdir(CLEANUP => 1);

# From the bottom up: what the path of an object begins with.
my @ranks = ((map { "model_core/$_" } qw(data/ core/ place/ judge/ tell/ event.o mechanism/ model.o)), 'timeline/', 'harness/');

sub read_text { open my $in, '<', $_[0] or die "$_[0]: $!\n"; local $/; return scalar <$in> }
sub found { return sort map { s/\n//r } `find @_` }
sub is_none { my ($name, @found) = @_; ok(!@found, $name) or diag(map { "$_\n" } @found) }

# symbols(OBJECT...): of each what it defines, as {name => type}, and what it wants.
sub symbols {
    my %of;
    for (`nm -gAP @_`) {
        my ($name, $symbol, $type, $at) = m{\b((?:model_core|timeline|harness)/\S+): (\w+) (\w)(?: ([0-9a-f]))?} or next;
        if ($type eq 'U') { push @{ $of{$name}{wanted} }, $symbol }
        elsif (defined $at) { $of{$name}{defined}{$symbol} = $type }
    }
    return \%of;
}

# with(NAME, SOURCE, ...): the same of the objects built, and of more that are compiled here.
my @built = grep { !m{/model_core/(.*)\.o$} || -e "common/model/$1.c" } # an object whose source has been moved is none of the model's
    found((grep { -d } map { "$B/$_" } qw(model_core timeline harness)), "-name '*.o'");
sub with {
    my @more;
    while (my ($name, $source) = splice @_, 0, 2) {
        make_path("$scratch/$name" =~ s{/[^/]*$}{}r);
        open my $to, '|-', "$CC -x c -c - -o $scratch/$name" or die "$CC: $!\n";
        print $to $source;
        close $to or die "$CC failed\n";
        push @more, "$scratch/$name";
    }
    return symbols(@built, @more);
}

sub rank { my ($name) = @_; return (grep { index($name, $ranks[$_]) == 0 } 0 .. $#ranks)[0] }

# uses(OBJECTS): [object, object that it uses, by which symbol].
sub uses ($objects) {
    my %home = map { my $name = $_; map { $_ => $name } keys %{ $objects->{$name}{defined} } } keys %$objects;
    return map { my $from = $_; map { [ $from, $home{$_}, $_ ] } grep { ($home{$_} // $from) ne $from } @{ $objects->{$from}{wanted} } } sort keys %$objects;
}

# upward(OBJECTS): calls from a lower to a higher rank, in words. circle(OBJECTS): a circle of calls in the model, as
# tsort has it.
sub upward { return map { "$_->[0] uses $_->[2] of $_->[1]" } grep { (rank($_->[0]) // 99) < (rank($_->[1]) // 0) } uses($_[0]) }
sub circle {
    open my $to, '>', "$scratch/uses" or die "$scratch: $!\n";
    print $to map { "$_->[0] $_->[1]\n" } grep { "$_->[0] $_->[1]" =~ /^model_core\S+ model_core/ } uses($_[0]);
    close $to;
    return `tsort $scratch/uses 2>&1 >/dev/null`;
}

# includes_upward(PATH, TEXT): its lines that include a file of a higher layer. A kernel's headers may include the
# model's interface.
my %above = (device => 'model|timeline|harness', model => 'timeline|harness', timeline => 'harness');
sub includes_upward ($path, $text) {
    my ($layer) = $path =~ m{^common/(device|model|timeline)/} or return;
    return map { "$path includes $_" } grep { !m{model/model\.h$} } $text =~ m{^\s*#\s*include\s*"([^"]*\b(?:$above{$layer})/[^"]*)"}mg;
}

# unknown(DEPENDENCIES, TEXT): headers that an object of this directory includes, itself or by way of others, and must
# not. Judges and tellers may see what a mechanism keeps, as they see its events.
my %hidden = (data => 'core|place|judge|tell|mechanism', core => 'place|judge|tell|mechanism', place => 'judge|tell|mechanism',
    judge => 'tell', mechanism => 'judge|tell');
sub unknown ($path, $text) {
    my ($directory) = $path =~ m{/model_core/(\w+)/\w+\.d$} or return;
    return exists $hidden{$directory} ? map { "$path has $_" } $text =~ m{(\S*/(?:$hidden{$directory})/\w+\.h)(?=\s)}g : ();
}

my $objects = symbols(@built);
my @model = grep { /^model_core/ } sort keys %$objects;
cmp_ok(scalar @model, '>', 20, 'the model has objects');
is_none('every file of the model has a level', grep { !defined rank($_) } @model);
is_none('no layer and no file of the model calls upward', upward($objects));
is_none('the calls between its files form no circle', circle($objects));
is_none('no file includes one of a higher layer', map { includes_upward($_, read_text($_)) } found("common -name '*.[ch]' -o -name '*.cu'"));
is_none('no file of the model includes what it must not know', map { unknown($_, read_text($_)) } glob "$B/model_core/*/*.d");

# ---- all this would be seen

sub call { my ($name, $called) = @_; return "void $called(void); void $name(void); void $name(void) { $called(); }\n" }
is(scalar upward(with("$_->[0]/extra.o", call('extra', $_->[1]))), $_->[2], ($_->[2] ? 'seen' : 'allowed') . ": $_->[0] calls $_->[1]")
    for [ 'model_core/core', 'model_syncthreads', 1 ], [ 'model_core/judge', 'event_connect', 1 ], [ 'model_core/mechanism', 'event_connect', 0 ];
SKIP: {
    skip 'make test builds what lies above the model', 2 if grep { !-d "$B/$_" } qw(timeline harness);
    is(scalar upward(with("$_/extra.o", call('extra', 'model_backend'))), 1, "seen: $_ calls the harness") for 'model_core/core', 'timeline';
}
isnt(circle(with('model_core/judge/x.o', call('x', 'y'), 'model_core/judge/y.o', call('y', 'x'))), '', 'seen: two files of one level call each other');
ok(!defined rank('model_core/extra/extra.o'), 'seen: a file without a level');
is(scalar includes_upward(@$_[0, 1]), $_->[2], ($_->[2] ? 'seen' : 'allowed') . ": $_->[0] has $_->[1]")
    for [ 'common/device/extra.h', '#include "../harness/report.h"', 1 ], [ 'common/model/judge/extra.c', '# include "harness/report.h"', 1 ],
    [ 'common/device/extra.h', '#include "../model/model.h"', 0 ];
is(scalar unknown("x/model_core/$_->[0]/extra.d", "extra.o: a.c \\\n ../$_->[1]\n"), $_->[2], ($_->[2] ? 'seen' : 'allowed') . ": a file of $_->[0]/ includes $_->[1]")
    for [ 'core', 'mechanism/warp.h', 1 ], [ 'mechanism', 'judge/clock.h', 1 ], [ 'judge', 'mechanism/warp.h', 0 ];
done_testing();
