# PatchBuild.pm - builds a patched chapter, and shows it to readers: break, solve, map, lab. A part of
# tests/tools/patches.
package Patches;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Cwd 'getcwd';
use File::Basename 'dirname';
use File::Path qw(make_path remove_tree);
use File::Temp 'tempdir';
our %NOUN;

# ---- building --------------------------------------------------------------------------------------------------------

# copied(PATCH): the directory in which it is built: a copy of its chapter's source with the patch in it, or with `text`
# in its place; and a link to common/ next to it. What was built there stays as long as the source does.
sub copied ($p) {
    my ($directory, $new) = ($p->{build}, "$p->{build}.new");
    my $top = getcwd();
    remove_tree($new);
    make_path(dirname("$new/$p->{source}"));
    must(join ' ', 'cp', glob("$p->{chapter}/*.cu $p->{chapter}/*.h"), "$new/$p->{chapter}");
    symlink "$top/common", "$new/common" or fail(3, "$new/common: $!");
    if (defined $p->{text}) {
        store("$new/$p->{source}", $p->{text});
    } elsif (!$p->{as_it_is}) {
        apply($p, $new);
    }
    if ((output("diff -r $new/$p->{chapter} $directory/$p->{chapter}"))[1] == 0) {
        remove_tree($new);
    } else {
        remove_tree($directory);
        rename $new, $directory or fail(3, "$directory: $!");
    }
    return $directory;
}

# link_model(OBJECT, MAIN, PROGRAM): a program that runs on the model alone.
sub link_model ($object, $main, $program) {
    my ($link, $objects, $libraries, $b) = map { from_make($_) } qw(LINK OBJECTS LIBS B);
    must("$link $object $b/patches/$main $objects $libraries -o $program");
}

# link_gpu(DIRECTORY, OBJECT, TITLE, PROGRAM): links that object and model.o there to a program for GPU and model.
sub link_gpu ($directory, $object, $title, $program) {
    my ($link, $objects, $libraries, $b) = map { from_make($_) } qw(GPU_LINK GPU_OBJECTS LIBS B);
    must("$link $directory/$object $directory/model.o $b/harness/main_$title.o $objects $libraries -o $directory/$program");
}

# build(PATCH): its directory with model.o and program, for the model. Compiled from there, so that reports show the
# changed copy's lines. Warnings are errors in a lab alone, where a learner would meet them.
sub build ($p) {
    my $directory = copied($p);
    my $asked = $p->{kind} ne 'bugs' ? '' : 'BUG=' . ($p->{is_own} || $p->{build} !~ m{^build/} ? $p->{path} : $p->{name});
    my $cc = from_make('CC');
    $cc =~ s/ -w$// if $p->{kind} eq 'labs';
    must("cd $directory && $cc -DCHAPTER_PATCH='\"$asked\"' -x c -c $p->{source} -o model.o");
    link_model("$directory/model.o", "main_$p->{title}.o", "$directory/program");
    return $directory;
}

# unbroken(PATCH): the program of its chapter as it is, for the model alone, which make has built.
sub unbroken { return from_make('B') . "/patches/$_[0]{title}" }

# gpus(PATCH): those that it is compiled for; none if this nvcc is too old. for_gpus(PATCH): so says nvcc's command.
my $TOO_OLD = 'this nvcc does not know sm_100a';
sub for_gpus {
    my @gpus = gpus($_[0]) or fail(3, "$_[0]{id}: $TOO_OLD");
    return join ' ', map { "-gencode arch=compute_$_,code=sm_$_" } @gpus;
}
sub gpus ($p) {
    return $p->{number} <= 5 ? '90' : '90a' if !is_for_blackwell($p);
    my ($nvcc) = split ' ', from_make('NVCC');
    my ($known) = output("$nvcc --list-gpu-code");
    return map { "${_}a" } grep { $known =~ /^sm_$_$/m } 100, 103;
}

# compiled(PATCH, SYMBOL): its directory with SYMBOL.o, for the GPU, SYMBOL.cubin and SYMBOL.ptxas; without the first
# two if it does not compile. Does nothing if that is done already, from the same source and headers and by the same
# command.
sub compiled ($p, $symbol) {
    need_nvcc($p->{id});
    my $directory = copied($p);
    my $nvcc = from_make('NVCC');
    $nvcc =~ s/ -w / --Werror all-warnings / if $p->{kind} eq 'labs';
    my $command = join ' ', $nvcc, for_gpus($p), "-Xptxas=-v -Dgpu_chapter_$p->{title}=$symbol",
        "-c $p->{source} -o $symbol.o --keep";
    my $base = "$directory/$symbol";
    my ($newer) = output("find common/*.h common/device -newer $base.ptxas");
    return $directory if $newer eq '' && -e "$base.nvcc" && contents("$base.nvcc") eq $command;
    print STDERR "  NVCC   $base.o\n";
    unlink "$base.nvcc", "$base.o";
    my $scratch = tempdir(CLEANUP => 1);
    output("cd $directory && $command --keep-dir $scratch >$symbol.ptxas 2>&1 && mv \$(ls $scratch/$p->{title}*.cubin | head -n 1) $symbol.cubin");
    remove_tree($scratch);
    store("$base.nvcc", $command);
    return $directory;
}

sub symbol { return "gpu_$NOUN{$_[0]{kind}}_$_[0]{id}" }

# object(PATCH): compiled() with the symbol of its id: "ok" or what is wrong, and remarks of ptxas in short. A bug may
# be anything and a lab must compile, an exercise and an experiment must not make ptxas remark what fails the build of a
# chapter, except where `# ptxas:` says that this is the point: then there must be something. Of what is wrong there is
# no object.
sub object ($p) {
    return ('ok', "not compiled: $TOO_OLD") if !from_make('NO_NVCC') && !gpus($p);
    my $base = compiled($p, symbol($p)) . '/' . symbol($p);
    my $report = contents("$base.ptxas");
    my %notes = map { $_ => 1 } $report =~ /C75\d\d/g;
    my $notes = join ' ', sort(keys %notes), $report =~ /[1-9]\d* bytes spill/ ? 'spills' : ();
    my ($error) = $report =~ /^(.*error.*)/im;
    if (!-e "$base.o" && $error) {
        return ($p->{kind} eq 'bugs' ? 'ok' : $error, 'does not compile: ' . $error =~ s/[^\w .,:;()<>-]//gr);
    }
    return ('ok', $notes) if $p->{kind} =~ /^(?:bugs|labs)$/;
    my ($remarks, $status) = output("tests/tools/ptxas_check $base.ptxas");
    my $fault = value($p, 'ptxas') eq '' ? $remarks : $status ? '' : 'its header has "# ptxas:", but ptxas remarks nothing';
    unlink "$base.o" if $fault;
    return ($fault || 'ok', $notes);
}

# build_for_gpu(PATCH): its directory with a program for GPU and model, and remarks of ptxas.
sub build_for_gpu ($p) {
    my $symbol = "gpu_chapter_$p->{title}";
    my $directory = compiled($p, $symbol);
    build($p);
    my $report = contents("$directory/$symbol.ptxas");
    fail(3, $report) if !-e "$directory/$symbol.o";
    link_gpu($directory, "$symbol.o", $p->{title}, 'program');
    my %notes = map { $_ => 1 } $report =~ /C75\d\d/g;
    return ($directory, join ' ', sort keys %notes);
}

# ---- for readers: break, solve, map ----------------------------------------------------------------------------------

# stage(ON): model or gpu, which must be there.
sub stage ($on) {
    $on = 'model' if $on eq '';
    fail(2, "ON=$on: accepted are model and gpu") if $on !~ /^(?:model|gpu)$/;
    need_nvcc('ON=gpu') if $on eq 'gpu';
    return $on;
}

# shown(COMMAND): runs it, its output goes on to stdout: what it said, and its exit status.
sub shown {
    my $said = '';
    open my $pipe, '-|', "exec 2>&1; $_[0]" or fail(3, "$_[0]: $!");
    while (my $line = <$pipe>) {
        print $line;
        $said .= $line;
    }
    close $pipe;
    return ($said, $? >> 8);
}

sub break_chapter ($number, $bug = '', $on = '') {
    if ($bug eq '') {
        my @bugs = all('bugs', $number);
        printf "%-42s %s\n", $_->{name}, value($_, 'lesson') for @bugs;
        print "chapter $number has no bugs\n" if !@bugs;
        return 0;
    }
    my $p = one_of('bugs', $number, $bug, 'BUG');
    $on = stage($on);
    my ($run, $verdict) = (value($p, 'run'), value($p, 'verdict'));
    my $expected = $verdict || 'nothing: the patch has no line "# verdict: "';
    print "$p->{diff}\n", map { "with     $p->{chapter}/$_.patch\n" } @{ $p->{head}{on} // [] };
    print 'lesson   ', value($p, 'lesson'), "\nexpected $expected\n", map { sprintf "%-9s%s\n", uc, value($p, $_) } cards($p);
    print map { "seen     $_\n" } seen($p);
    if ($verdict eq 'BUILD' && $on eq 'model') {
        my $said = build_fault($p);
        print $said eq '' ? "nothing, without nvcc\n" : $said;
        return $said eq '' || index($said, value($p, 'names')) >= 0 ? 0 : 1;
    }
    if ($on eq 'model') {
        my $directory = build($p);
        print "running  (cd $directory && ./program --on model $run)\n\n";
        my ($said, $status) = shown("cd $directory && ./program --on model $run");
        my ($rule) = $said =~ /^model: ([A-Z0-9_]+): /m;
        print "\nexit status $status", $rule ? ", first report $rule" : '', "\n";
        return 0 if $verdict eq ''; # a patch of one's own that promises nothing
        my $named = grep { $_ eq ($rule // 'REFUSED') } split / or /, $verdict;
        return $named && $status == ($verdict eq 'REFUSED' ? 3 : 4) ? 0 : 1;
    }
    my ($directory, $notes) = build_for_gpu($p);
    print "ptxas    $notes\n" if $notes;
    # The patch's own size, and two at which more CTAs and more tiles are under way.
    for my $size ('', '--m 1024 --n 1024 --k 1024', '--m 3000 --n 5000 --k 1000') {
        my $options = "--on gpu --no-bench --data integers --repeat 100 $run $size";
        print "\nrunning  ./program $options\n";
        my (undef, $status) = shown("cd $directory && timeout --kill-after=2 20 ./program $options");
        print $status == 0 ? 'right in 100 of 100 launches' : $status == 124 || $status == 137 ? 'hang: killed after 20 s'
            : "exit status $status", "\n";
    }
    return 0;
}

sub solve ($number, $exercise = '', $on = '', @options) {
    if ($exercise eq '') {
        my @exercises = exercises($number);
        for my $p (@exercises) {
            my $text = wrapped(90, value($p, 'question')) . wrapped(90, 'Hint: ' . value($p, 'hint'))
                . "Begin: make lab-$number EX=$p->{name}; have it judged: make check-$number EX=$p->{name}\n";
            print value($p, 'order'), ". $p->{name}\n", $text =~ s/^/   /mgr, "   Solution: make solve-$number EX=$p->{name}\n\n";
        }
        print "chapter $number has no exercises\n" if !@exercises;
        return 0;
    }
    my $p = one_of('exercises', $number, $exercise, 'EX');
    $on = stage($on);
    print "$p->{diff}\n", map { sprintf '%-9s%s', $_->[0], wrapped(101, value($p, $_->[1])) =~ s/\n(?=.)/\n         /gr }
        [ 'question', 'question' ], [ 'effect', 'effect' ];
    my ($directory) = $on eq 'gpu' ? build_for_gpu($p) : build($p);
    my $command = join ' ', "$directory/program --on $on", $on eq 'gpu' ? () : value($p, 'run'), @options;
    print "compare  make run-$number\n" if $on eq 'gpu';
    print "running  $command\n\n";
    my (undef, $status) = shown($command);
    return $status if $on eq 'gpu' || $status;
    my ($before, $after) = map { $_->[0] =~ s/^/         /mgr } effect($p, "$directory/program", "$directory/$p->{source}");
    print "\neffect   ", value($p, 'show'), "\n         before:\n$before         after:\n$after";
    return 0;
}

sub map_chapter ($number, $bug = '', @options) {
    my ($title) = chapter_of($number) =~ m{([^/]+)$};
    my ($run, $object, $program) = ('', from_make('B') . "/model/$title.o", from_make('B') . "/patches/drawn_$title");
    if ($bug ne '') {
        my $p = one_of('bugs', $number, $bug, 'BUG');
        my $directory = build($p);
        ($run, $object, $program) = (value($p, 'run'), "$directory/model.o", "$directory/map");
    }
    link_model($object, "map_$title.o", $program);
    my (undef, $status) = shown("$program $run @options");
    return $status == 1 ? 0 : $status; # wrong is what it draws
}

# in_my(CHAPTER, TEXT, BESIDE...): a chapter's text as it stands in my/, from where its own headers and common/ lie
# elsewhere, except those that are put next to it.
sub in_my ($chapter, $text, @beside) {
    my $from = sub {
        my $path = "$chapter/$_[0]";
        return $_[0] if grep { $_ eq $path } @beside;
        1 while $path =~ s{[^/]+/\.\./}{};
        return "../$path";
    };
    return $text =~ s/^(#include ")([^"]+)/$1 . $from->($2)/gemr;
}

# rule(NAME): the title of a rule of the model, and what a GPU does if it is broken.
sub rule ($name) {
    (my $text = contents('common/model/rules.h')) =~ s/"\s+"//g; # a string in two parts
    return ($1, $2) if $text =~ /^RULE\(\Q$name\E,\s*"([^"]*)",\s*"([^"]*)"\)/m;
    fail(2, "RULE=$name: there is no such rule; there are: " . join ' ', sort $text =~ /^RULE\((\w+)/mg);
}

# lab(NUMBER, RULE, BUG, EX): my/NN_chapter.cu as a learner starts from it, and what to do.
sub lab ($number, $rule = '', $bug = '', $exercise = '') {
    my $chapter = chapter_of($number);
    my ($title) = $chapter =~ m{([^/]+)$};
    my ($file, $check) = ("my/$title.cu", "make check-$number");
    my $as_it_is = contents("$chapter/$title.cu");
    my ($text, $say, %beside);
    fail(2, 'RULE=, BUG= or EX=: one of them') if 1 < grep { $_ ne '' } $rule, $bug, $exercise;
    if ($bug ne '') {
        my $p = one_of('bugs', $number, $bug, 'BUG');
        ($bug, $check) = ($p->{name}, "$check BUG=$p->{name}");
        my @changed = changed($p, \&contents);
        fail(2, "BUG=$bug: it is not in $p->{source} alone") if @changed != 1 || $changed[0][0] ne $p->{source};
        $text = "/* Chapter $number with a bug in it, $bug. Find it and mend it; `$check` judges. */\n\n" . $changed[0][2];
        $say = 'there is a bug in it: mend it';
    } elsif ($rule ne '') {
        my ($means, $on_gpu) = rule($rule);
        $check .= " RULE=$rule";
        $text = "/* Chapter $number, in which a report is to be provoked. Change the kernel until the model reports this first:\n *\n"
            . wrapped(110, "$rule: $means.") =~ s/^/ *     /mgr . " *\n"
            . wrapped(110, "On a GPU: $on_gpu. What the rule asks is in book/rules.md; `$check` judges.") =~ s/^/ * /mgr
            . " */\n\n$as_it_is";
        $say = "make the model report $rule: $means";
    } elsif ($exercise ne '') {
        my $p = one_of('exercises', $number, $exercise, 'EX');
        $check .= " EX=$p->{name}";
        %beside = map { $_->[0] ne $p->{source} ? ($_->[0] => $_->[1]) : () } changed($p, \&contents);
        $text = "/* Chapter $number, exercise $p->{name}.\n *\n" . wrapped(110, value($p, 'question')) =~ s/^/ * /mgr
            . " *\n" . wrapped(110, "`$check` judges.") =~ s/^/ * /mgr . " */\n\n$as_it_is";
        $say = 'the question stands at its top; change the code until its answer runs';
    } else {
        my ($p) = all('labs', $number) or fail(2, "chapter $number has no lab; these have one: "
            . join ' ', map { $_->{number} } all('labs'));
        $text = (changed($p, \&contents))[0][2];
        my $gaps = () = $text =~ m{^ */\* GAP \d}mg;
        $say = "fill $gaps gaps, GAP 1 to GAP $gaps; delete the comment of each; of the code, only what it announces goes";
    }
    my %new = map { ('my/' . s{.*/}{}r => $beside{$_}) } keys %beside;
    $new{$file} = $text =~ s/^( \* Run +).*?( \*\/)?$/"$1$check, at the top" . ($2 \/\/ '')/mer;
    my ($there) = grep { -e } sort keys %new;
    fail(1, "$there is there already and stays as it is. To start afresh, first: mv $there $there.old") if $there;
    make_path('my');
    store($_, in_my($chapter, $new{$_}, keys %beside)) for keys %new;
    print join(' ', $file, grep { $_ ne $file } sort keys %new), "\n  $say\n  then: $check\n";
    return 0;
}

1;
