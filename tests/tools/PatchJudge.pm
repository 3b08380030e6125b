# PatchJudge.pm - is a patch as its header says? A part of tests/tools/patches.
package Patches;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use File::Temp 'tempdir';
my $PLAN = 'tests/bench/plans/experiments';
my @POLICIES = qw(eager lazy random pct);
# A run's limit: seconds of a processor, which a machine with much else to do does not use up; and in all.
my $LIMITED = 'ulimit -S -t 60 && timeout 900';

# on_all_cores(JUDGE, PATCH...): calls JUDGE(PATCH), which returns "ok" or what is wrong, and more, and prints that as a
# line after the id, separated by tabs. 0 if all are ok, else 1.
sub on_all_cores ($judge, @patches) {
    pipe my $from, my $to or fail(3, "pipe: $!");
    syswrite $to, pack 'N*', 0 .. $#patches; # each worker takes the next number
    close $to;
    my @workers;
    for (1 .. (`nproc 2>/dev/null` || 1)) {
        my $pid = fork;
        fail(3, "fork: $!") if !defined $pid;
        push @workers, $pid;
        next if $pid;
        my $bad = 0;
        while (sysread $from, my $number, 4) {
            my $p = $patches[ unpack 'N', $number ];
            my @fields = eval { $judge->($p) };
            @fields = problem($@) if $@;
            $bad = 1 if $fields[0] ne 'ok';
            s/\s+/ /g, s/ $// for @fields;
            syswrite STDOUT, substr(join("\t", $p->{id}, @fields), 0, 3000) . "\n";
        }
        exit $bad;
    }
    my $bad = grep { waitpid($_, 0) && $? } @workers;
    return $bad ? 1 : 0;
}

# answers(JUDGE, PATCH...): what on_all_cores() would print, for each id the list of fields.
sub answers ($judge, @patches) {
    my $pid = open my $said, '-|';
    fail(3, "fork: $!") if !defined $pid;
    exit on_all_cores($judge, @patches) if !$pid;
    return map { chomp; my ($id, @fields) = split /\t/, $_, -1; ($id => \@fields) } <$said>;
}

my %JUDGE = (bugs => \&judge_bug, exercises => \&judge_exercise, experiments => \&judge_experiment, labs => \&judge_lab);
sub judge { return on_all_cores(sub { $JUDGE{ $_[0]{kind} }->($_[0]) }, chosen(@_)) }

# has_one(PATCH, KEY...): fails unless its header has exactly one line of each.
sub has_one ($p, @keys) {
    for my $key (@keys) {
        my @values = @{ $p->{head}{$key} // [] };
        fail(1, 'it has ' . @values . " lines `# $key:`, not one") if @values != 1;
        fail(1, "its `# $key:` is empty") if $values[0] !~ /\S/;
    }
}

# A bug: runs it in every policy and seed. The first report of a run counts: those after it are often consequences. It
# must name
#   # verdict: RULE or RULE ...     one of these rules (several where the schedule decides which side of a race comes
#                                   first); REFUSED: no kernel starts, exit status 3 and one line say why
#   # names: TEXT                   this text
#   # at: CODE                      the place of a line of the changed source that contains this
# `# names RULE:` and `# at RULE:` hold for reports of that rule alone.
# The verdict WRONG: no report, but the result is wrong. BUILD: the model sees nothing, but the build fails and says
# what stands after `# names:`.

# build_fault(PATCH): why its build fails; '' if only nvcc could tell, and there is none. Dies if nothing fails.
sub build_fault ($p) {
    my ($said) = output('tests/tools/launch_check ' . copied($p) . "/$p->{source}");
    return $said if $said ne '' || from_make('NO_NVCC');
    my $symbol = symbol($p);
    ($said) = output('tests/tools/ptxas_check ' . compiled($p, $symbol) . "/$symbol.ptxas");
    return $said || fail(1, 'its build does not fail');
}

sub judge_bug ($p) {
    has_one($p, qw(verdict run lesson), cards($p));
    if (value($p, 'verdict') eq 'BUILD') {
        has_one($p, 'names');
        my $said = build_fault($p);
        return ('ok', 'needs nvcc: not judged') if $said eq '';
        return (index($said, value($p, 'names')) >= 0 ? 'ok' : "the build fails otherwise: $said", 'BUILD');
    }
    for my $rule (split / or /, value($p, 'verdict')) {
        next if $rule eq 'WRONG' || expected($p, 'names', $rule) || expected($p, 'at', $rule);
        fail(1, "for $rule it says neither `# names:` nor `# at:`");
    }
    return (judged_by_reports($p), value($p, 'silent') ne '' ? 'silent' : in_default_run($p));
}

# A lab: the starting file differs from the chapter in gaps alone, and is as wrong as its `# verdict:` says: WRONG, or
# the rule of the first report, or either. tests/grade/bugs checks that the file is wrong with each single gap, so that
# no stub is right.
sub judge_lab ($p) {
    has_one($p, qw(verdict run));
    fail(1, "its `# verdict:` is a hang, which a GPU does not report") if value($p, 'verdict') =~ /LOCK|ENDLESS/;
    my @changed = changed($p, \&contents);
    fail(1, 'it changes more than the source') if @changed != 1;
    check_gaps(@{ $changed[0] }[ 1, 2 ]);
    return judged_by_reports($p);
}

# check_gaps(CHAPTER, START): fails unless the texts differ in gaps alone, 3 to 6, numbered from 1. A gap is a comment
# of at most 5 lines and a stub of at most 4, in place of at most 20 lines.
sub check_gaps {
    my ($scratch, $number, $taken, $end) = (tempdir(CLEANUP => 1), 0);
    store("$scratch/$_", $_[$_]) for 0, 1;
    my (undef, @changes) = split /^(?=@@ )/m, `diff -U0 $scratch/0 $scratch/1`;
    for my $change (@changes) {
        my ($from, $count) = $change =~ /^@@ -(\d+)(?:,(\d+))?/;
        my $at = $from - (($count //= 1) > 0); # lines before it
        my (undef, @gaps) = split m{^(?= */\* GAP )}m, "\n" . join '', $change =~ /^\+(.*\n)/mg;
        # Without a comment it is the rest of a stub.
        fail(1, "line $from of the chapter is changed outside of a gap") if !@gaps && (!$number || $at > $end + 3);
        for my $text (@gaps) {
            $number++;
            my ($comment, $stub) = $text =~ m{\A *(/\* GAP $number: .*?\*/)\n(.*)\z}s or fail(1, "gap $number has another number");
            fail(1, "the comment of gap $number has more than 5 lines") if ($comment =~ tr/\n//) > 4;
            fail(1, "the stub of gap $number has more than 4 lines") if (() = $stub =~ /^.*\S/mg) > 4;
        }
        $taken = $count + (@gaps ? 0 : $taken);
        fail(1, "gap $number takes more than 20 lines of the chapter") if $taken > 20 * (@gaps || 1);
        $end = $at + $count;
    }
    fail(1, "it has $number gaps, not 3 to 6") if $number < 3 || $number > 6;
}

# A test takes all of something with TIER=long, else a part of it, by the patch's name, so that a failure comes again.
# name_number(PATCH): of its name. seeds(PATCH): of the schedules, one or five.
sub is_long { return ($ENV{TIER} // '') eq 'long' }
sub name_number { return unpack '%32C*', $_[0]{id} }
sub seeds { return is_long() ? 1 .. 5 : 1 + name_number($_[0]) % 5 }

# judged_by_reports(PATCH): runs it in every policy and seed. "ok" or what is not as stated, and what was seen.
sub judged_by_reports ($p) {
    my $directory = eval { build($p) } or fail(1, 'it cannot be built: ' . problem($@));
    my %lines; # file:line => text
    for my $file (glob "$directory/$p->{chapter}/*") {
        my ($name, $number) = (substr($file, 1 + length $directory), 0);
        $lines{"$name:" . ++$number} = $_ for split /\n/, contents($file);
    }
    my ($run, %seen, @wrong) = (value($p, 'run'));
    for my $policy (@POLICIES) {
        for my $seed (seeds($p)) {
            my $how = "--policy $policy --schedule-seed $seed";
            my $said = `cd $directory && $LIMITED ./program --on model --data integers $run $how 2>&1 >/dev/null`;
            my $status = $? >> 8;
            my ($rule) = $said =~ /^model: (\w+): /m;
            $seen{ $rule // ($status == 1 ? 'WRONG' : "exit status $status") }++;
            my $wrong = report_fault($p, $said, $status, \%lines);
            push @wrong, "$wrong ($how)" if $wrong;
        }
    }
    my $seen = join ', ', map { "$_ x$seen{$_}" } sort { $seen{$b} <=> $seen{$a} || $a cmp $b } keys %seen;
    return (@wrong ? @wrong . " runs are not as stated: $wrong[0]" : 'ok', $seen);
}

# in_default_run(PATCH): by which rule the run without options of what has been built reports a bug first; SUMS if it
# says which products a wrong result has twice; else how it ends.
sub in_default_run {
    my $said = `cd $_[0]{build} && $LIMITED ./program --on model 2>&1 >said`;
    my $status = $? >> 8;
    return 'WRONG' if $status == 1 && value($_[0], 'verdict') =~ /\bWRONG\b/;
    return $1 if $said =~ /^model: (\w+): /m;
    return 'SUMS' if $status == 1 && contents("$_[0]{build}/said") =~ /^sums /m;
    return $status == 3 ? 'REFUSED' : "exit status $status";
}

# expected(PATCH, KEY, RULE): the values of `# KEY:` and `# KEY RULE:`.
sub expected ($p, $key, $rule) {
    return map { @{ $p->{head}{$_} // [] } } $key, "$key $rule";
}

# report_fault(PATCH, STDERR, STATUS, LINES): what a run's report lacks; '' if it is as stated.
sub report_fault ($p, $said, $status, $lines) {
    $said =~ s/\n {13}(?! )/ /g; # folded lines
    my $verdict = value($p, 'verdict');
    my ($rule, $report, $exit) = ('REFUSED', $said, 3);
    if ($status == 1 && $verdict =~ /\bWRONG\b/ && $said !~ /^model: /m) {
        ($rule, $exit) = ('WRONG', 1);
    } elsif ($verdict ne 'REFUSED') {
        ($report, $rule) = $said =~ /^(model: (\w+): .*?)(?=^model: |\z)/ms or return "no report, exit status $status";
        $exit = 4;
    }
    return "reported $rule" if !grep { $_ eq $rule } split / or /, $verdict;
    return "exit status $status" if $status != $exit;
    for my $text (expected($p, 'names', $rule)) {
        return "the report does not say `$text`" if index($report, $text) < 0;
    }
    for my $code (expected($p, 'at', $rule)) {
        my @at = sort grep { index($lines->{$_}, $code) >= 0 } keys %$lines;
        return "no line of the source has `$code`" if !@at;
        return "the report does not name $at[0], `$code`" if !grep { $report =~ /\Q$_\E\b/ } @at;
    }
    return '';
}

# right_at(PATCH, SIZE...): fails unless it can be built and is right with these options, under policies and with both
# kinds of data.
sub right_at ($p, @sizes) {
    my $directory = eval { build($p) } or fail(1, 'it cannot be built: ' . problem($@));
    my @policies = qw(eager lazy pct);
    @policies = $policies[ name_number($p) % 3 ] if !is_long();
    for my $size (@sizes) {
        for my $policy ('random', @policies) {
            my ($said, $status) = output("$LIMITED $directory/program --on model $size --policy $policy --schedule-seed 3");
            fail(1, "exit status $status with $size --policy $policy: $said") if $status;
            my $right = () = $said =~ /^right/mg;
            fail(1, "$size --policy $policy checked something else than two kinds of data: $said") if $right != 2;
            last if !is_long() && $said =~ /^order .*: this holds for every one/m; # then the other finds the same
        }
    }
}

# judge_exercise(PATCH): fails unless the result is right at all sizes and with `# run:` and `# also:`, and the output
# of the command is what the header says. A formula of its own is an option of the problem that the chapter refuses,
# such as --window. The sizes: one element; an edge in every direction; more k-tiles than stages; more tiles than the
# model's SMs.
my @EXERCISE_SIZES = ('--m 1 --n 1 --k 1', '--m 100 --n 130 --k 70', '--m 129 --n 136 --k 330', '--m 260 --n 390 --k 66');
sub judge_exercise ($p) {
    has_one($p, qw(run show));
    for my $key (qw(before after)) {
        fail(1, "it has no line `# $key:`") if value($p, $key) eq '';
    }
    right_at($p, @EXERCISE_SIZES, value($p, 'run'), @{ $p->{head}{also} // [] });
    my %said;
    @said{ 'before', 'after' } = map { $_->[0] } my @outputs = effect($p, "$p->{build}/program", "$p->{build}/$p->{source}");
    for my $i (0, 1) {
        fail(1, 'its command fails ' . ('before', 'after')[$i] . ": $outputs[$i][0]") if $outputs[$i][1];
    }
    for my $key ('before', 'after') {
        my $other = $key eq 'before' ? 'after' : 'before';
        for my $pattern (@{ $p->{head}{$key} }) {
            fail(1, "$key: no line matches /$pattern/: $said{$key}") if $said{$key} !~ /$pattern/m;
            fail(1, "$key: /$pattern/ matches $other, too") if $said{$other} =~ /$pattern/m;
        }
    }
    return 'ok';
}

# effect(PATCH, PROGRAM, SOURCE): what the exercise's command prints with the chapter's program, and with this one of
# the source, each with the exit status.
sub effect ($p, $program, $source) {
    local @ENV{qw(PROGRAM SOURCE SHOW)} = (unbroken($p), $p->{source}, value($p, 'show'));
    my @before = output('exec bash -o pipefail -c "$SHOW"');
    @ENV{qw(PROGRAM SOURCE)} = ($program, $source);
    return (\@before, [ output('exec bash -o pipefail -c "$SHOW"') ]);
}

# An experiment: right over some sizes, with the options of each line of the plan that runs it.
sub judge_experiment ($p) {
    has_one($p, 'about');
    my %options = map { $_->[3] => 1 } grep { $_->[2] eq $p->{id} } plan();
    fail(1, "no line of $PLAN runs it") if !%options;
    right_at($p, map { my $options = $_; map { "$_ $options" } '--m 128 --n 256 --k 640', '--m 200 --n 300 --k 333', '--m 7 --n 13 --k 1' } sort keys %options);
    return 'ok';
}

# plan(): its lines as lists of fields.
sub plan {
    my @lines = grep { /\S/ && !/^#/ } split /\n/, contents($PLAN);
    return map { [ map { s/^ *(?:= )?| *$//gr } split /\|/, $_, -1 ] } @lines;
}

1;
