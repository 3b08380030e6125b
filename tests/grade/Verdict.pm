# Verdict.pm - what a learner's file gets points for. A part of tests/grade/grade; Judge.pm builds and launches it.
package Grade;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use JSON::PP;
use POSIX ();
require './tests/grade/Judge.pm';

sub part ($result, $key, $what, $share, $of, $note) {
    push @{ $result->{parts} }, { key => $key, what => $what, points => $of * $share, of => $of, note => $note // '' };
}

# first_line(TEXT): the first that names an error, or the first.
sub first_line {
    my ($line) = ($_[0] =~ /^(.*\berror\b.*)/m, split /\n/, $_[0]);
    return $line // '';
}

# Of a launch: the first rule that was reported; did it come to an end?
sub reported { return $_[0]{reports} ? $_[0]{reports}[0] : '' }
sub ended { return $_[0]{outcome} =~ /^(?:right|wrong|reported)$/ }

# place(LAUNCH), what_of(LAUNCH): where it was, and what is wrong with it.
sub place { return size_text($_[0]) . ", $_[0]{policy}" . ($_[0]{variant} ? ", $_[0]{variant}" : '') }
sub what_of { return $_[0]{why} // ($_[0]{outcome} eq 'refused' ? 'launch() refused it' : 'C is wrong') }

sub share ($good, @lists) {
    my $full = grep { my $list = $_; !grep { !$good->($_) } @$list } @lists;
    return @lists ? $full / @lists : 0;
}

# found(RESULT, SUBMISSION, LAUNCH...): the first report among these launches is what is shown, and how to see it again.
sub found ($r, $s, @launches) {
    my ($first) = grep { $_->{reports} } @launches;
    return if !$first;
    @$r{qw(report rule replay)} = ($first->{text}, reported($first), "$s->{build}/program --on model " . options($first));
    return;
}

# judge_numbers(RESULT, SUBMISSION, CONFIG, LIST...): the parts right and rules, from launches by size.
sub judge_numbers ($r, $s, $config, @lists) {
    my @all = map { @$_ } @lists;
    my ($bad) = grep { !$_->{right} } @all;
    part($r, 'right', 'C is right: ' . @all . ' launches, ' . @lists . ' sizes', share(sub { $_[0]{right} }, @lists),
        $config->{points}{right}, $bad ? what_of($bad) . ': ' . place($bad) : '');
    my %at;
    $at{ reported($_) } //= $_ for grep { $_->{reports} } @all;
    $r->{rules} = [ sort keys %at ];
    part($r, 'rules', 'and no rule is broken', share(sub { $_[0]{outcome} eq 'right' }, @lists), $config->{points}{rules},
        join '; ', map { "$_ at " . place($at{$_}) } @{ $r->{rules} });
    found($r, $s, @all);
    return if !$bad || $r->{report};
    $r->{wrong} = ($bad->{why} ? "$bad->{why}\n" : '') . $bad->{said} =~ s/^(?:chapter|device|problem|kernel|ranks|count|map) .*\n//gmr;
    $r->{replay} = ($bad->{outcome} eq 'wrong' ? map_of($s) : "$s->{build}/program --on model") . ' ' . options($bad);
    return;
}

sub judge_technique ($r, $s, $config) {
    my @criteria = criteria($s->{number}, $config) or return;
    my %launch = map { my @size = @{ $_->{size} };
        ("@size" => launch(m => $size[0], n => $size[1], k => $size[2], sms => $size[3], more => '--count')) } @criteria;
    judged($s, $config, @launch{ sort keys %launch });
    my ($bad) = grep { $_->{outcome} ne 'right' } values %launch;
    if ($bad) {
        part($r, 'technique', 'the technique is used', 0, $config->{points}{technique},
            'this is checked only when C is right and no rule is broken');
        return;
    }
    $_->{counts} = counts($s, $config, $_) for values %launch;
    for my $c (@criteria) {
        my $counts = $launch{"@{ $c->{size} }"}{counts};
        part($r, 'technique', $c->{what}, value($c->{condition}, $counts) ? 1 : 0, $config->{points}{technique} / @criteria,
            $c->{wrong} =~ s/\{(.*?)\}/value($1, $counts)/ger . ', at ' . size_text($launch{"@{ $c->{size} }"}));
    }
    return;
}

# judge_exercise(RESULT, SUBMISSION, CONFIG, PATCH): the output of the exercise's command is as after its solution.
sub judge_exercise ($r, $s, $config, $p) {
    my ($before, $after) = Patches::effect($p, "$s->{build}/program", $s->{file});
    my @lines = split /\n/, $before->[0];
    my @asked = map { my $key = $_; map { [ $key, $_ ] } @{ $p->{head}{$key} } } qw(before after);
    for (@asked) {
        my ($key, $pattern) = @$_;
        my ($line) = $key eq 'before' ? grep { /$pattern/ } @lines : ();
        my $seen = $after->[0] =~ /$pattern/m;
        my ($what, $wrong) = defined $line ? ('a line that the chapter prints is gone: "' . $line =~ s/^count +//r =~ s/ +/ /gr . '"', 'it is still printed')
            : ('a line is printed as by a solution', 'it is not printed');
        part($r, 'technique', $what, ($key eq 'after' ? $seen : !$seen) && !$after->[1] ? 1 : 0,
            $config->{points}{technique} / @asked, $after->[1] ? 'the command below fails' : "$wrong: see below");
    }
    push @{ $r->{advice} }, 'a hint: ' . Patches::value($p, 'hint') if grep { $_->{points} < $_->{of} } @{ $r->{parts} };
    my $command = Patches::value($p, 'show') =~ s{\$PROGRAM}{$s->{build}/program}gr =~ s/\$SOURCE/$s->{file}/gr;
    $r->{effect} = "$command\n" . $after->[0] =~ s/^/    /mgr;
    return;
}

# judge_rule(RESULT, SUBMISSION, RULE, CONFIG, LIST...): it is to be reported, first.
sub judge_rule ($r, $s, $rule, $config, @lists) {
    my @all = map { @$_ } @lists;
    my $always = grep { my $list = $_; !grep { !ended($_) || reported($_) ne $rule } @$list } @lists;
    my @other = grep { !ended($_) || (reported($_) ne '' && reported($_) ne $rule) } @all;
    my $of = $config->{points}{right} + $config->{points}{rules} + $config->{points}{technique};
    part($r, 'rules', "$rule is reported, at one size at least under every policy", $always > 0, $of / 2, 'at no size');
    part($r, 'rules', 'and nothing else is reported before it', $always > 0 && !@other, $of / 2,
        @other ? (reported($other[0]) || what_of($other[0])) . ' at ' . place($other[0]) : '');
    found($r, $s, @other, @all);
    my $right = grep { $_->{right} } @all;
    push @{ $r->{advice} }, "C was right in $right of " . @all . ' launches: a test of numbers alone would have passed them';
    return;
}

# launches_of(CONFIG, PATCH): the launches of its lines `# run:` and `# also:`, a list for each.
sub launches_of ($config, $p) {
    return map {
        my %size = /--([mnk]) (\d+)/g;
        my $more = s/--[mnk] \d+//gr;
        [ map { launch(%size, more => $more, policy => $_) } @{ $config->{policies} } ];
    } map { @{ $p->{head}{$_} // [] } } qw(run also);
}

# judge_gpu(RESULT, SUBMISSION, CONFIG, BUILT): with nvcc, and further where there is a GPU.
sub judge_gpu ($r, $s, $config, $built) {
    my ($remarks, $error) = @$built;
    part($r, 'gpu_builds', 'builds for the GPU, and ptxas repairs nothing', $error eq '' && $remarks eq '',
        $config->{points}{gpu_builds}, first_line($error || $remarks));
    return if $error ne '';
    my $on_gpu = sub { my ($program, $options, $l) = @_; return run($config, $program, "--on gpu $options " . options_on_gpu($l)) };
    my $timed = launch(of_size($config->{gpu_timed}), pad => 0, data => 'normal');
    my ($first, $outcome) = $on_gpu->("$s->{build}/program_gpu", '--no-bench', $timed);
    if ($outcome eq 'refused' && $first =~ /^\S+ needs .*; found: .*/m) {
        push @{ $r->{notes} }, "not run on a GPU: $&";
        return;
    }
    my $chapter = { %$s, kind => 'submission', as_it_is => 1, build => "build/check/chapter_$s->{number}" };
    my @launches = map { launch(of_size($_)) } @{ $config->{gpu_size} };
    my @told = map { [ ($on_gpu->("$s->{build}/program_gpu", '--no-bench', $_))[ 1, 2 ] ] } @launches;
    my ($directory) = Patches::build_for_gpu($chapter);
    my %speed;
    for my $program ("$directory/program", "$s->{build}/program_gpu", "$directory/program", "$s->{build}/program_gpu") {
        my ($said, @end) = $on_gpu->($program, '--bench', $timed);
        $speed{$program} += $1 if $said =~ /^speed +([\d.]+)/m;
        next if $program !~ /program_gpu$/;
        push @launches, $timed;
        push @told, \@end;
    }
    my @bad = grep { $told[$_][0] ne 'right' } 0 .. $#told;
    part($r, 'gpu_right', 'C is right on the GPU: ' . @launches . ' launches', 1 - @bad / @launches, $config->{points}{gpu_right},
        @bad ? what_of({ outcome => $told[ $bad[0] ][0], why => $told[ $bad[0] ][1] }) . ': ' . size_text($launches[ $bad[0] ]) : '');
    my $own = grep({ $_->[0] ne 'right' } @told[ -2, -1 ]) ? 0 : $speed{"$s->{build}/program_gpu"};
    my $ratio = $own / ($speed{"$directory/program"} || fail(3, 'the chapter could not be timed'));
    my $share = $ratio / $config->{speed};
    part($r, 'gpu_speed', sprintf("%.2f of the chapter's speed at %s", $ratio, size_text($timed)), $share < 1 ? $share : 1,
        $config->{points}{gpu_speed}, '');
    return;
}

sub options_on_gpu { return join ' ', map { "--$_ $_[0]{$_}" } qw(m n k pad data seed) }

# gaps(FILE): those that a learner has left open, by number and line.
sub gaps {
    my ($number, @open) = (0);
    for (split /\n/, Patches::contents($_[0])) {
        $number++;
        push @open, "GAP $1 (line $number)" if m{/\* GAP (\d+):};
    }
    return @open;
}

# judge(SUBMISSION, CONFIG, TASK): the result: parts, and of what was found the first. TASK: ex, bug or rule => name,
# no_gpu.
sub judge ($s, $config, $task) {
    my $r = { parts => [], advice => [], notes => [], rules => [], chapter => $s->{title}, file => $s->{file},
        gaps => [ gaps($s->{file}) ] };
    my @patches = map { Patches::one_of($_->[1], $s->{number}, $task->{ $_->[0] }, uc $_->[0]) }
        grep { defined $task->{ $_->[0] } } [ ex => 'exercises' ], [ bug => 'bugs' ];
    eval { build($s, $config) };
    if ($@) {
        die $@ if !ref $@ || $@->{status} == 2;
        $r->{wrong} = Patches::problem($@);
        part($r, $_->[0], $_->[1], 0, $config->{points}{ $_->[0] }, $_->[0] eq 'builds' ? first_line($r->{wrong}) : '')
            for [ builds => 'builds for the model' ], [ right => 'C is right' ], [ rules => 'no rule is broken' ],
            [ technique => 'the technique is used' ];
        return finished($r);
    }
    part($r, 'builds', 'builds for the model', 1, $config->{points}{builds}, '');
    my $gpu = !$task->{no_gpu} && !defined $task->{rule} && Patches::from_make('NO_NVCC') eq ''
        ? in_background(sub { build_for_gpu($s, $config) }) : undef;
    my @kernels = choices($s, $config);
    my @lists = launches($s, $config);
    push @lists, map { launches_of($config, $_) } @patches;
    push @lists, variants($config, @kernels);
    judged($s, $config, map { @$_ } @lists);
    if (defined $task->{rule}) {
        judge_rule($r, $s, $task->{rule}, $config, @lists);
    } else {
        judge_numbers($r, $s, $config, @lists);
        defined $task->{ex} ? judge_exercise($r, $s, $config, $patches[0]) : judge_technique($r, $s, $config);
    }
    judge_gpu($r, $s, $config, $gpu->()) if $gpu;
    return finished($r);
}

# in_background(CODE): begins it in a process of its own; call what it returns for its value, a text, and its error.
sub in_background ($code) {
    my $pid = open my $answer, '-|';
    fail(3, "fork: $!") if !defined $pid;
    return sub { local $/; return JSON::PP->new->decode(scalar <$answer>) } if $pid;
    my $said = eval { $code->() };
    print JSON::PP->new->encode([ $said // '', $@ ? Patches::problem($@) : '' ]);
    close STDOUT;
    POSIX::_exit(0);
}

sub finished ($r) {
    my @parts = @{ $r->{parts} };
    $r->{full} = grep({ $_->{points} < $_->{of} } @parts) ? 0 : 1;
    for my $key (qw(points of)) {
        my $sum = 0;
        $sum += $_->{$key} for @parts;
        $_->{$key} = 0 + sprintf '%.1f', $_->{$key} for @parts;
        $r->{$key} = 0 + sprintf '%.1f', $sum;
    }
    return $r;
}

1;
