# PatchFiles.pm - what patches there are, what stands in them, and what they change. A part of tests/tools/patches.
package Patches;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use File::Path qw(make_path);
use File::Temp 'tempdir';
use Text::Wrap ();
our %NOUN = (bugs => 'bug', exercises => 'exercise', experiments => 'experiment', labs => 'lab');
our @CARDS = qw(h200 h100);
our %NOT_RUN = (h200 => 'not run yet', h100 => 'not run yet', b200 => 'not run: no Blackwell GPU here');

# ---- errors, files, commands -----------------------------------------------------------------------------------------

# fail(STATUS, TEXT): ends what is being done. problem(ERROR): its text.
sub fail { die { status => $_[0], text => $_[1] } }
sub problem { return ref $_[0] ? $_[0]{text} : $_[0] }

sub contents ($path) {
    open my $in, '<', $path or fail(2, "$path: $!");
    local $/;
    return scalar <$in>;
}

sub store ($path, $text) {
    open my $out, '>', $path or fail(2, "$path: $!");
    print $out $text;
    close $out or fail(2, "$path: $!");
}

# output(COMMAND): runs it by the shell: what it says on both streams, and its exit status.
sub output {
    my $said = `exec 2>&1; $_[0]`;
    return ($said, $? >> 8);
}

# must(COMMAND): runs it; fails with what it says.
sub must {
    my ($said, $status) = output($_[0]);
    fail(3, $said =~ s/\s+\z//r) if $status;
}

# from_make(NAME): a variable that patches.mk exports.
sub from_make {
    return $ENV{"PATCH_$_[0]"} // fail(3, 'the compilers are not known here: call it by make patches ARGS="COMMAND ..."');
}

sub need_nvcc { fail(3, "$_[0]: " . from_make('NO_NVCC')) if from_make('NO_NVCC') }

# wrapped(COLUMNS, TEXT): the text in lines of at most so many columns.
sub wrapped ($columns, $text) {
    local ($Text::Wrap::columns, $Text::Wrap::unexpand, $Text::Wrap::huge) = ($columns + 1, 0, 'overflow');
    return Text::Wrap::wrap('', '', join ' ', split ' ', $text) . "\n";
}

# ---- chapters and patches --------------------------------------------------------------------------------------------

# chapters(): their directories, by number.
sub chapters {
    return grep { m{([^/]+)$} && -e "$_/$1.cu" } map { s{/$}{}r } glob '[0-9][0-9]_*/ beyond/[0-9][0-9]_*/';
}

sub chapter_of ($number) {
    my ($chapter) = grep { m{(?:^|/)\Q$number\E_} } chapters();
    return $chapter // fail(2, "there is no chapter $number");
}

# load(PATH): a patch: path, kind, number, name, id; chapter (its directory), source and title (07_warp_specialized);
# head (its lines `# KEY: VALUE` as lists), diff; build (where it is built: a patch outside of the tree next to itself).
# The file leaves out what goes without saying, the lines --- and +++ of the chapter's source and a record `not run
# yet`, and tells two cards at once where they did the same. Options that a bug does not name in a line `# run:` are
# those of the chapter's file bugs/run. What an exercise asks stands in the chapter's README. A file of any other path
# is a patch of KIND of chapter NUMBER, where these are given.
sub load ($path, @given) {
    my ($number, $kind, $name) = $path =~ m{^(?:.*/)?(\d\d)_[^/]*/(?:(\w+)/)?(\w+)\.patch$};
    ($number, $kind, $name) = (@given, $path =~ m{([^/]*?)(?:\.\w+)?$} ? $1 =~ s/\W/_/gr : '') if @given && !($kind && $NOUN{$kind});
    $kind //= 'labs' if defined $name && $name eq 'lab';
    fail(2, "$path: the path of a patch is NN_chapter/KIND/NAME.patch") if !$kind || !$NOUN{$kind};
    my $id = "${number}_$name";
    my ($head, $diff) = contents($path) =~ s/^# h200, h100: (.*\n)/# h200: $1# h100: $1/mr =~ /\A(.*?)(^(?:---|@@) .*|\z)/ms;
    my %head;
    push @{ $head{$1} }, $2 while $head =~ /^# ([a-z0-9]+(?: [A-Z_]+)?): *(.*)$/mg;
    my $chapter = chapter_of($number);
    my ($title) = $chapter =~ m{([^/]+)$};
    my $inside = $path =~ m{^\Q$chapter\E/};
    my $source = "$chapter/$title.cu";
    my $p = {
        path => $path, kind => $kind, number => $number, name => $name, id => $id,
        chapter => $chapter, title => $title, source => $source,
        head => \%head, comment => $head, diff => $diff =~ s/\A(?=@)/names_of($source)/er,
        build => $inside ? "build/$kind/$id" : $path =~ s/\.patch$//r,
    };
    $head{run} //= [ contents("$chapter/bugs/run") =~ s/\n\z//r ] if $kind eq 'bugs' && -e "$chapter/bugs/run";
    if ($kind eq 'exercises' && (my $told = told_in_readme($chapter)->{$name})) { @head{ keys %$told } = map { [ $_ ] } values %$told }
    $head{$_} //= [ $NOT_RUN{$_} ] for grep { $kind eq 'bugs' || $_ eq 'b200' } cards($p);
    return $p;
}

# told_in_readme(CHAPTER): its exercises there by name: order, question, hint and effect.
sub told_in_readme ($chapter) {
    my ($section) = -e "$chapter/README.md" ? contents("$chapter/README.md") =~ /^## Exercises\n(.*?)(?=^## |\z)/ms : ();
    my %told;
    while (($section // '') =~ m{^\*\*(\d)\.\ (\w+)\.\*\*\s(.*?)\s\*Hint:\*\s(.*?)\n\n\[Solution\]\(exercises/\2\.patch\)\n
            \n<details><summary>What\ changes</summary>\n\n(.*?)\n\n</details>}gmsx) {
        my ($order, $name) = ($1, $2);
        @{ $told{$name} }{qw(order question hint effect)} = map { s/\s+/ /gr } $order, $3, $4, $5;
    }
    return \%told;
}

# names_of(FILE): the two lines of a diff that name it. as_stored(PATCH): what its file has.
sub names_of { return "--- a/$_[0]\n+++ b/$_[0]\n" }
sub as_stored ($p) {
    return $p->{comment} =~ s/^# h200: (.*\n)# h100: \1/# h200, h100: $1/mr . $p->{diff} =~ s/\A\Q@{[ names_of($p->{source}) ]}\E//r;
}

# is_for_blackwell(PATCH): does its chapter need such a GPU? cards(PATCH): those that it has header lines for.
sub is_for_blackwell { return contents($_[0]{source}) =~ /\bNEEDS_SM100A\b/ }
sub cards { return is_for_blackwell($_[0]) ? 'b200' : @CARDS }

# all(KIND [, NUMBER]): the patches of the tree.
sub all ($kind, $number = undef) {
    my @chapters = grep { !defined $number || m{(?:^|/)\Q$number\E_} } chapters();
    return map { load($_) } map { $kind eq 'labs' ? grep { -e } "$_/lab.patch" : sort glob "$_/$kind/*.patch" } @chapters;
}

# chosen(WORD...): the patches that the words name.
sub chosen {
    my @tree;
    my @found = map {
        my $word = $_;
        @tree = map { all($_) } sort keys %NOUN if !@tree && $word !~ /\.patch$/;
        my @these = $word =~ /\.patch$/ ? load($word)
            : $word eq 'stale' ? grep { $_->{kind} eq 'bugs' && (stale($_) || outdated($_)) } @tree
            : grep { $word eq $_->{id} || "$_->{kind}/$_->{id}" =~ m{^\Q$word\E(?:$|/|(?<=/\d\d)_)} } @tree;
        fail(2, "$word: there is no such patch") if !@these && !$NOUN{$word} && $word ne 'stale';
        @these;
    } @_;
    return @found;
}

# one_of(KIND, NUMBER, NAME, VARIABLE): the patch that a reader asks for by VARIABLE=NAME, or by the path of a file.
sub one_of ($kind, $number, $name, $variable) {
    if ($name =~ m{/|\.patch$} && ($name =~ m{/} || -f $name)) {
        my $patch = load($name, $number, $kind);
        @$patch{qw(build is_own)} = ("build/$kind/own_$patch->{id}", 1) if $patch->{build} !~ m{^build/};
        return $patch if "$kind/$number" eq "$patch->{kind}/$patch->{number}";
        fail(2, "$variable=$name: that is no $NOUN{$kind} of chapter $number");
    }
    my @these = all($kind, $number);
    (my $plain = $name) =~ s/^\Q$number\E_|\.patch$//g;
    my ($patch) = grep { $_->{name} eq $plain } @these;
    return $patch if $patch;
    fail(2, "$variable=$name: chapter $number has no such $NOUN{$kind}; it has: " . join ' ', map { $_->{name} } @these);
}

# seen(PATCH): where its mistake was made before: links, from its row of book/field_bugs.md.
sub seen ($p) {
    my @rows = split /^(?=\| \[)/m, -e 'book/field_bugs.md' ? contents('book/field_bugs.md') : '';
    return map { (split /\|/)[2] =~ /\]\(([^)]*)/g } grep { /^\| \[[^]]*\]\(\.\.\/\Q$p->{path}\E\)/ } @rows;
}

# value(PATCH, KEY): the values of its header lines as one text; empty if there is none.
sub value { return join " ", @{ $_[0]{head}{ $_[1] } // [] } }

# ---- diffs -----------------------------------------------------------------------------------------------------------

# ground(PATCH, READ): where it stands on another, `# on: KIND/NAME` of the same chapter: what that one makes of its
# files, by path, each as from changed().
sub ground ($p, $read) {
    my $on = value($p, 'on');
    return $on eq '' ? () : map { $_->[0] => $_ } changed(load("$p->{chapter}/$on.patch"), $read);
}

# changed(PATCH, READ): what it makes of its files, together with the patch that it stands on, as lists of path, text
# before and text after. READ(path) gives the text.
sub changed ($p, $read) {
    my %ground = ground($p, $read);
    my @changed;
    for my $part (split /^(?=--- )/m, $p->{diff}) {
        my ($file) = $part =~ m{^\+\+\+ [^/\s]+/(\S+)}m or fail(1, "$p->{path}: a part of it names no file");
        fail(1, "$p->{path}: it changes $file, not the source of chapter $p->{number}")
            if $file !~ m{^\Q$p->{chapter}\E/(?:steps/)?[^/]+$};
        my ($first, $before) = $ground{$file} ? @{ delete $ground{$file} }[1, 2] : ($read->($file)) x 2;
        my $after = hunks_applied($p->{path}, $file, $before, $part);
        fail(1, "$p->{path}: $file is the same after it as before") if $after eq $before;
        push @changed, [ $file, $first, $after ];
    }
    fail(1, "$p->{path}: it changes no file") if !@changed;
    return (@ground{ sort keys %ground }, @changed);
}

# hunks_applied(PATH, FILE, TEXT, DIFF): the text with the diff's hunks in it. Stricter than patch(1): the lines that a
# hunk names must stand there exactly once. Their numbers may be off: a patch outlives edits elsewhere in the chapter,
# but never lands in another place than the one it was written for.
sub hunks_applied ($path, $file, $text, $diff) {
    my (undef, @hunks) = split /^(?=@@ )/m, $diff;
    for my $hunk (@hunks) {
        my ($line, @lines) = split /^/, $hunk;
        my $old = join '', map { /^[- ](.*)/s ? $1 : '' } @lines;
        my $new = join '', map { /^[+ ](.*)/s ? $1 : '' } @lines;
        my @at;
        for (my $at = $old eq q() ? -1 : index $text, $old; $at >= 0; $at = index $text, $old, $at + 1) {
            push @at, $at if $at == 0 || substr($text, $at - 1, 1) eq "\n";
        }
        $line =~ /-(\d+)/;
        my $places = @at ? @at . ' places' : 'no place';
        fail(1, "$path: the lines of its hunk at line $1 stand in $places of $file") if @at != 1;
        substr($text, $at[0], length $old) = $new;
    }
    return $text;
}

sub apply ($p, $directory) {
    for my $change (changed($p, \&contents)) {
        my ($file, undef, $text) = @$change;
        make_path("$directory/$file" =~ s{/[^/]*$}{}r);
        store("$directory/$file", $text);
    }
}

# difference(FILE, BEFORE, AFTER, LEAST): a unified diff in which each hunk has the least context, LEAST lines or more,
# that makes it clear to changed().
sub difference ($file, $before, $after, $least = 1) {
    my $scratch = tempdir(CLEANUP => 1);
    store("$scratch/before", $before);
    store("$scratch/after", $after);
    for my $context ($least .. 100) {
        my @parts = split /^(?=@@ )/m, `diff -U$context --label a/$file --label b/$file $scratch/before $scratch/after`;
        my $is_clear = sub { eval { hunks_applied($file, $file, $before, join '', @_) eq $after } };
        next if !$is_clear->(@parts);
        for my $i ((1 .. $#parts) x ($context - $least)) { # is it without its first line and its last?
            my @less = @parts;
            $less[$i] =~ s{^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n [^\n]*\n(.*\n) [^\n]*\n\z}
                          {sprintf "@@ -%d,%d +%d,%d @@\n%s", $1 + 1, $2 - 2, $3 + 1, $4 - 2, $5}es or next;
            @parts = @less if $is_clear->(@less);
        }
        return join '', @parts;
    }
    fail(1, "$file: what changes is not clear with any context");
}

# carried_over(PATCH, COMMIT): as changed(), for a patch that applies to the chapter of that commit only. A merge takes
# changes of neighbouring lines for a conflict, so here a line of another kind stands between any two.
sub carried_over ($p, $commit) {
    my $scratch = tempdir(CLEANUP => 1);
    my @then = changed($p, sub {
        my ($text, $status) = output("git show '$commit:$_[0]'");
        fail(1, "$commit has no $_[0]") if $status;
        return $text;
    });
    return map {
        my ($file, $before, $after) = @$_;
        my $now = contents($file);
        my %text = (before => $before, after => $after, now => $now);
        store("$scratch/$_", $text{$_} =~ s/\n/\n\cA\n/gr) for keys %text;
        my $merged = `git merge-file -p $scratch/now $scratch/before $scratch/after 2>/dev/null`;
        fail(1, "$p->{path}: what it changes in $file has changed since $commit") if $?;
        [ $file, $now, $merged =~ s/\n\cA\n/\n/gr ];
    } @then;
}

sub refresh {
    my $from = @_ && $_[0] eq '--from' ? (splice @_, 0, 2)[1] : undef;
    my ($anew, $stale) = (0, 0);
    for my $p (sort { value($a, 'on') cmp value($b, 'on') } chosen(@_ ? @_ : sort keys %NOUN)) {
        my @changed = eval { changed($p, \&contents) };
        my $problem = $@;
        @changed = eval { carried_over($p, $from) } if $problem && defined $from;
        if (!@changed) {
            print STDERR problem($@ || $problem), "\n";
            $stale++;
            next;
        }
        my %ground = ground($p, \&contents);
        $p->{diff} = join '', map {
            my ($file, $before, $after) = ($_->[0], $ground{ $_->[0] } ? $ground{ $_->[0] }[2] : $_->[1], $_->[2]);
            $before eq $after ? () : difference($file, $before, $after, $p->{kind} eq 'labs' ? 0 : 1); # a gap is its own context
        } @changed;
        next if as_stored($p) eq contents($p->{path});
        store($p->{path}, as_stored($p));
        $anew++;
    }
    print "$anew patches were made anew", $stale ? "; $stale do not apply" : '', "\n";
    return $stale ? 1 : 0;
}

1;
