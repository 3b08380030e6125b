# PatchTexts.pm - what the texts tell of the patches. A part of tests/tools/patches.
package Patches;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
our @CARDS;

# exercises(NUMBER): those of a chapter in their order.
sub exercises { return sort { value($a, 'order') cmp value($b, 'order') } all('exercises', $_[0]) }

# in_short(OUTCOME): the outcome in a cell of that table; what the words mean stands above the table in book/bugs.md.
sub in_short ($outcome) {
    return join ', ', map {
        s/ by ptxas.*| by the driver| yet$| (?:at [\dx]|\(cuda|in \d+ runs).*//r =~ s/^wrong in (\d+) of (\d+).*/$1 == $2 ? 'wrong' : "wrong in $1"/er
            =~ s/^the same machine code.*/same code/r
    } split /; /, $outcome;
}

# bug_table(): all bugs by chapter, for book/bugs.md.
sub bug_table {
    my $text = '';
    for my $chapter (chapters()) {
        my ($number, $title) = $chapter =~ m{((\d\d)_[^/]*)$} ? ($2, $1) : ();
        my @bugs = all('bugs', $number) or next;
        my $ran = !!grep { my $p = $_; grep { recorded($p, $_) } cards($p) } @bugs;
        $text .= "\n### $title\n\n" . line_of('bug', 'the model says', ('an H200, an H100') x $ran, 'lesson') . line_of(('---') x (3 + $ran));
        for my $p (@bugs) {
            my ($one, @other) = map { in_short(outcome($p, $_)) . ('†' x defined((recorded($p, $_))[5])) } cards($p);
            $text .= line_of("[$p->{name}](../$p->{path})", value($p, 'verdict') =~ s/ or /, /gr, (join(' / ', $one, grep { $_ ne $one } @other)) x $ran,
                value($p, 'lesson'));
        }
    }
    return "$text\n";
}

# outcome(PATCH, CARD): what that card did with a bug.
sub outcome ($p, $card) {
    return (recorded($p, $card))[0] // value($p, $card);
}

# symptom(PATCH, CARD): the class of that, from 0.
my @SYMPTOMS = ('Hangs in every run', 'The launch fails', 'Hangs or fails at some sizes only', 'Wrong in every run',
    'Wrong in some runs', 'Right in all 300 runs, and wrong all the same', 'Repaired by the compiler',
    'Refused before the launch', 'Does not compile');
my ($EVERY_RUN, $SOME_RUNS, $NO_RUN) = (3, 4, 5);
sub symptom ($p, $card) {
    my $did = outcome($p, $card);
    return 0 if $did eq 'hang';
    return 1 if $did =~ /^trap \(.*\)$/;
    return 7 if $did =~ /^refused /;
    return 8 if $did eq 'does not compile';
    return 2 if $did =~ /hang at|trap \(|hang before/;
    return $1 == $2 ? $EVERY_RUN : $SOME_RUNS if $did =~ /^wrong in (\d+) of (\d+) runs/;
    return 6 if $did =~ /the same machine code|repaired by /;
    return $NO_RUN if $did =~ /^right in /;
    fail(1, "$p->{path}: what is \"$did\"?");
}

# symptom_table(SAY): how many bugs did what on an H200, for book/troubleshooting.md, and what the model says of them:
# how often it names a rule, without those of a single bug where there are many. SAY puts a phrase into the language of
# the page.
sub symptom_table ($say) {
    my @classes;
    for my $p (grep { recorded($_, 'h200') } all('bugs')) {
        my $class = $classes[ symptom($p, 'h200') ] //= {};
        $class->{count}++;
        $class->{rules}{$_}++ for split / or /, value($p, 'verdict');
    }
    my $text = line_of(map { $say->($_) } 'on an H200', 'bugs', 'the model says') . line_of('---', '---:', '---');
    for my $class (grep { $classes[$_] } 0 .. $#SYMPTOMS) {
        my ($count, $rules) = @{ $classes[$class] }{qw(count rules)};
        my @rules = sort { $rules->{$b} <=> $rules->{$a} || $a cmp $b } keys %$rules;
        @rules = grep { $rules->{$_} > 1 } @rules if @rules > 3;
        $text .= line_of($say->($SYMPTOMS[$class]), $count, join ', ', map { "$_ $rules->{$_}" } @rules);
    }
    return "\n$text\n";
}

# told(WHAT): what stands in a text between <!-- bugs: WHAT --> and <!-- end -->: a count of the records, or one of
# them.
sub told ($what) {
    my @bugs = grep { recorded($_, 'h200') } all('bugs');
    my $of = sub { my $count = grep { $_[0]->() } @bugs; return "$count of " . @bugs };
    my $is = sub { my ($card, $class) = @_; return recorded($_, $card) && symptom($_, $card) == $class };
    return scalar @bugs if $what eq 'recorded';
    return $of->(sub { $is->('h200', $NO_RUN) }) if $what eq 'right on an H200';
    return $of->(sub { $is->('h200', $NO_RUN) && $is->('h100', $NO_RUN) }) if $what eq 'right on both';
    if ($what eq 'races on an H200') {
        my @races = grep { value($_, 'verdict') =~ /RACE_/ } @bugs;
        my ($every, $some, $no) = map { my $class = $_; scalar grep { $is->('h200', $class) } @races } $EVERY_RUN, $SOME_RUNS, $NO_RUN;
        return @races . " bugs that the model calls a race, an H200 showed $every in every launch, $some in some and $no in none; "
            . (@races - $every - $some - $no) . ' hung or failed';
    }
    if ($what =~ /^(\d\d_\w+) on an (\w+)$/) {
        my ($id, $card) = ($1, lc $2);
        my ($p) = grep { $_->{id} eq $id } all('bugs') or fail(1, "there is no bug $id");
        return outcome($p, $card);
    }
    fail(1, "\"bugs: $what\": nothing is known of that");
}

# say(PAGE): puts a phrase into the language of that page.
sub say ($page) {
    return sub { $_[0] } if $page !~ /\.zh\.md$/;
    require './tests/book/Chinese.pm';
    return \&Chinese::in_chinese;
}

# pages(): the texts.
sub pages { return glob '*.md book/*.md book/*/*.md [0-9][0-9]_*/*.md beyond/*/*.md common/*/*.md tests/*/*.md' }

# line_of(CELL...): a row of a table.
sub line_of { return '| ' . join(' | ', @_) . " |\n" }

# tables(MODE): writes all of it into the texts, or with --check names what is not up to date.
sub tables ($mode) {
    fail(2, 'tables: --write or --check') if ($mode // '') !~ /^--(?:write|check)$/;
    my %new;
    for ([ 'book/bugs.md', 'bugs', \&bug_table ], [ 'book/troubleshooting.md', 'symptoms', \&symptom_table ],
        [ 'book/troubleshooting.zh.md', 'symptoms', \&symptom_table ]) {
        my ($page, $mark, $table) = @$_;
        next if $page =~ /\.zh\.md$/ && !-e $page;
        ($new{$page} = contents($page)) =~ s/(?<=^<!-- $mark -->\n).*?(?=^<!-- end of $mark -->$)/$table->(say($page))/mse
            or fail(1, "$page: it has no lines <!-- $mark --> and <!-- end of $mark -->");
    }
    for my $page (pages()) {
        my $text = $new{$page} // contents($page);
        $new{$page} = $text if $text =~ s/(<!-- bugs: ([^>]*?) -->).*?(?=<!-- end -->)/$1 . say($page)->(told($2))/gse;
    }
    my @stale = grep { $new{$_} ne contents($_) } sort keys %new;
    if ($mode eq '--check') {
        print STDERR "$_: it does not tell the patches as they are; make texts brings it up to date\n" for @stale;
        return @stale ? 1 : 0;
    }
    store($_, $new{$_}) for @stale;
    print "wrote $_\n" for @stale;
    return 0;
}

1;
