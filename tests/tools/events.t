#!/usr/bin/perl
# Does common/model/event_kinds.h say what the events of the model hold? A POST() sets only the fields of its kind, each
# field is set by one of them, and an ON() reads no other. Then the same of code that is wrong, which must be seen.
use strict;
use warnings;
use Test::More;

sub read_text { open my $in, '<', $_[0] or die "$_[0]: $!\n"; local $/; return scalar <$in> }
my $PARENTHESES = qr/(\((?:[^()]|(?-1))*\))/;
my $BLOCK = qr/(\{(?:[^{}]|(?-1))*\})/;

# faults(TABLE, CODE): what is wrong, in words. Every record may have a site.
sub faults {
    my ($table, $code) = @_;
    my (%has, %set, %posted, @wrong);
    for ($table =~ /^(?:EVENT|TOLD)\(([^)]*)\)/mg) {
        my ($kind, @fields) = grep { !/"|NULL|^none$/ } split /,\s*/;
        $has{$kind} = { map { $_ => 1 } @fields };
    }
    # check(KIND, WHAT, FIELD...)
    my $check = sub {
        my ($kind, $what, @fields) = @_;
        push @wrong, map { "$what of $kind: $_" } $has{$kind} ? grep { !$has{$kind}{$_} && !/^(?:site|kind)$/ } @fields : 'no such kind';
        return if $what ne 'POST';
        $posted{$kind} = 1;
        $set{$kind}{$_} = 1 for @fields;
    };
    while ($code =~ /\bPOST$PARENTHESES/g) {
        my $inside = substr $1, 1, -1;
        1 while $inside =~ s/$PARENTHESES//;
        $check->($inside =~ /^(\w+)/, 'POST', $inside =~ /,\s*\.(\w+) =/g) if $inside !~ /^KIND\b/;
    }
    $check->($1, 'POST', qw(thread p size write)) while $code =~ /\btell\(EVENT_(\w+),/g; # plain.c
    my %body; # of a function that hears several kinds; where it looks at the kind, it may read more
    $body{$1} = $2 while $code =~ /\b(\w+)\(const Event \*e\) $BLOCK/g;
    my %parameter = (t => 'thread', w => 'warp', cta => 'cta', b => 'barrier'); # of an ON(), unless it sets them itself
    while ($code =~ /^ON\((\w+), (\w+)\) $BLOCK/mg) {
        my ($name, $kind, $body) = ($1, $2, $3);
        (my $bare = $body) =~ s/"[^"]*"|\/\*.*?\*\/|(?:\.|->)\w+//gs;
        $body .= " e->$parameter{$_}" for grep { $bare =~ /\b$_\b/ && $bare !~ /\b$_(?: = |;)/ } sort keys %parameter;
        $body{"$name on_$kind"} = $body;
        $check->($kind, 'ON', $body =~ /\be->(\w+)/g) if $body !~ /e->kind\b/;
    }
    while ($code =~ /^HEARS\((\w+), (\w+), (\w+)\)/mg) {
        my ($kind, $body) = ($2, $body{$3} // $body{"$1 $3"} // next);
        $check->($kind, 'HEARS', $body =~ /\be->(\w+)/g) if $body !~ /e->kind\b/;
    }
    for my $kind (sort keys %has) {
        push @wrong, map { "no POST of $kind sets $_" } grep { !$set{$kind}{$_} } sort keys %{ $has{$kind} };
        push @wrong, "nobody posts $kind" if !$posted{$kind};
    }
    return @wrong;
}

my $table = read_text('common/model/event_kinds.h');
my $code = join '', map { read_text($_) } glob 'common/model/*.c common/model/*/*.c tests/model/e*.c';
cmp_ok(scalar(() = $code =~ /\bPOST\(/g), '>', 80, 'events are posted');
is(join("\n", faults($table, $code)), '', 'the table is right');

my $right = 'void f(void) { POST(COPY, .thread = g(1, .p = 2), .p = p, .site = 0); } ';
is(join(',', faults("EVENT(COPY, thread, p)\n", "$right$_->[0]")), $_->[1], $_->[1] ? "seen: $_->[1]" : 'as it should be')
    for [ '', '' ], [ 'POST(COPY, .q = 1)', 'POST of COPY: q' ], [ 'POST(NONE)', 'POST of NONE: no such kind' ],
    [ "\nON(x, COPY) { if (e->p) { e->q(); } }", 'ON of COPY: q' ], [ "\nON(x, COPY) { f(t, b->p); }", 'ON of COPY: barrier' ], [ "\nstatic void h(const Event *e) { g(e->r); }\nHEARS(x, COPY, h);", 'HEARS of COPY: r' ];
is(join(',', faults("EVENT(COPY, thread, p, q)\nTOLD(REST, \"rest\", p)\n", $right)), 'no POST of COPY sets q,no POST of REST sets p,nobody posts REST', 'seen: rows of which nobody posts all');
done_testing();
