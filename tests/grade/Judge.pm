# Judge.pm - builds a learner's file, launches it, and says what the launches did. A part of tests/grade/grade.
#
# What is asked is asked of the program that the file becomes, by options that anybody can type: is C right, does the
# model report anything (--policy and others), what did a launch do (--count, --trace-events)?
package Grade;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Config;
use File::Path 'make_path';
require './tests/tools/patches';

my $CRITERIA = 'tests/grade/criteria';
my @POLICIES = qw(eager lazy random pct);

sub fail { Patches::fail(@_) }
sub quoted { return join ' ', map { "'" . s/'/'\\''/gr . "'" } @_ }

# ---- what is asked ---------------------------------------------------------------------------------------------------

# config(FILE): points by name; lists of size, variants and gpu_size; and what else the file says, each in one line.
my %VALUES = (points => 2, size => 4, variants => 4, technique => 4, gpu_size => 3, gpu_timed => 3, map { $_ => 1 }
    qw(seeds speed seconds compile_seconds)); # how many follow the word
sub config ($file) {
    my %c = (size => [], variants => [], gpu_size => [], points => {}, file => $file);
    for (split /\n/, Patches::contents($file)) {
        my ($key, @values) = split ' ', s/#.*//r or next;
        my $known = $key eq 'policies' ? !grep { my $v = $_; !grep { $_ eq $v } @POLICIES } @values : @values == ($VALUES{$key} // -1);
        fail(2, "$file: \"$_\" is not understood") if !$known || $key eq 'points' && $values[1] !~ /^\d+$/;
        if ($key eq 'points') { $c{points}{ $values[0] } = $values[1] }
        elsif (ref $c{$key}) { push @{ $c{$key} }, \@values }
        else { $c{$key} = ($VALUES{$key} // 0) == 1 ? $values[0] : \@values }
    }
    for (qw(policies technique gpu_timed seeds speed seconds compile_seconds)) {
        fail(2, "$file: it has no line $_") if !defined $c{$_};
    }
    fail(2, "$file: it has no line size") if !@{ $c{size} };
    return \%c;
}

# criteria(NUMBER, CONFIG): those of a chapter: what, condition, size, and what is wrong where it does not hold.
sub criteria ($number, $config) {
    my @usual = @{ $config->{technique} };
    my @criteria;
    for (grep { /^[\d ]*\b$number\b/ } split /\n/, Patches::contents($CRITERIA)) {
        my (undef, $what, $asked, $wrong) = split / \| /;
        my ($condition, $size) = split / @ /, $asked;
        my @size = defined $size ? (split(' ', $size), $usual[3]) : @usual;
        push @criteria, { what => $what, condition => $condition, size => \@size, wrong => $wrong };
    }
    return @criteria;
}

# value(EXPRESSION, COUNTS): what it comes to; dies on a name that is not counted.
sub value ($expression, $counts) {
    (my $numbers = $expression) =~ s/([a-z]\w*)/$counts->{$1} \/\/ fail(2, "$CRITERIA: nothing is called $1")/ge;
    fail(2, "$CRITERIA: \"$expression\" is not understood") if $numbers !~ m{^[-\d\s<>=&|()+*/.!]+$};
    my $value = eval $numbers;
    fail(2, "$CRITERIA: \"$expression\": $@") if !defined $value;
    return $value || 0;
}

# drawn(TEXT): a number, or one of a range.
sub drawn {
    my ($low, $high) = $_[0] =~ /^(\d+)(?:-(\d+))?$/ or fail(2, "\"$_[0]\" is no number and no range");
    return defined $high ? $low + int rand $high - $low + 1 : $low;
}

# launch(OPTION => VALUE...): one launch, what is not given drawn or usual.
sub launch {
    my %l = (pad => 8 * int rand 2, data => 'integers', seed => 1 + int rand 1e9, schedule_seed => 1 + int rand 1e6,
        policy => 'eager', sms => 4, @_);
    return \%l;
}

# options(LAUNCH): those of the program that launch it.
sub options ($l) {
    return join ' ', map({ defined $l->{$_} ? '--' . tr/_/-/r . " $l->{$_}" : () }
        qw(m n k pad sms data seed policy schedule_seed variant producer_barrier)), $l->{more} // ();
}

sub size_text { return join ' x ', @{ $_[0] }{qw(m n k)} }

# ---- building it -----------------------------------------------------------------------------------------------------

# submission(NUMBER, FILE, DIRECTORY): a file that is to be this chapter, to be built in that directory.
sub submission ($number, $file, $build) {
    my $chapter = Patches::chapter_of($number);
    my ($title) = $chapter =~ m{([^/]+)$};
    return { number => $number, chapter => $chapter, title => $title, source => "$chapter/$title.cu",
        file => $file // "my/$title.cu", build => $build, id => $title };
}

# compiled(SUBMISSION, CONFIG, COMPILER, OUTPUT): the file where it lies, so that errors and reports name its lines.
# What it includes may be named as from the chapter, or as from my/.
sub compiled ($s, $config, $compiler, $output) {
    my ($said, $status) = Patches::output("timeout $config->{compile_seconds} $compiler -I$s->{chapter} -c "
        . quoted($s->{file}) . " -o $s->{build}/$output");
    fail(1, "it took more than $config->{compile_seconds} s to compile") if $status == 124;
    fail(1, $said) if $status;
    return $said;
}

# build(SUBMISSION, CONFIG): model.o and program. Fails with what is wrong.
sub build ($s, $config) {
    make_path($s->{build});
    my ($bounds) = Patches::output('tests/tools/launch_check ' . quoted($s->{file}));
    fail(1, $bounds) if $bounds ne '';
    # A misspelt function is to be told with its line, not by the linker.
    my $compiler = Patches::from_make('CC') =~ s/ -w$/ -Wno-error -Werror=implicit-function-declaration/r;
    compiled($s, $config, "$compiler -x c", 'model.o');
    my ($names) = Patches::output("nm $s->{build}/model.o");
    fail(1, "$s->{file} has no record CHAPTER($s->{title}, ...)") if $names !~ / model_chapter_$s->{title}$/m;
    Patches::link_model("$s->{build}/model.o", "main_$s->{title}.o", "$s->{build}/program");
    unlink "$s->{build}/map";
    return;
}

# build_for_gpu(SUBMISSION, CONFIG): program_gpu; returns remarks of ptxas that would fail the build of a chapter.
sub build_for_gpu ($s, $config) {
    Patches::store("$s->{build}/gpu.ptxas",
        compiled($s, $config, join(' ', Patches::from_make('NVCC'), Patches::for_gpus($s), '-Xptxas=-v -x cu'), 'gpu.o'));
    Patches::link_gpu($s->{build}, 'gpu.o', $s->{title}, 'program_gpu');
    return (Patches::output("tests/tools/ptxas_check $s->{build}/gpu.ptxas"))[0];
}

# ---- running it ------------------------------------------------------------------------------------------------------

# run(CONFIG, PROGRAM, OPTIONS): what it says, and what became of it: right, wrong, reported, refused, late or died;
# with a sentence for the last two.
my %OUTCOME = (0 => 'right', 1 => 'wrong', 2 => 'refused', 3 => 'refused', 4 => 'reported');
my @SIGNALS = split ' ', $Config{sig_name};
sub run ($config, $program, $options) {
    my ($seconds, $wall) = ($config->{seconds}, 6 * $config->{seconds});
    my ($said, $status) = Patches::output("ulimit -c 0; ulimit -S -t $seconds; timeout -k 1 $wall $program $options; exit \$?");
    my $signal = $status > 128 ? $SIGNALS[ $status - 128 ] // '' : '';
    return ($said, 'late', "a launch took more than $seconds s and was stopped") if $status == 124 || $signal =~ /^(?:XCPU|KILL)$/;
    return ($said, 'died', "the program crashed: $1") if $said =~ /^(.*: signal .*, outside of a kernel)$/m;
    return ($said, 'died', "the program crashed: signal SIG$signal") if $signal;
    my $told = $status > 1 || $said =~ ($status ? qr/^WRONG /m : qr/^right /m);
    return ($said, 'died', "the program ended by itself, with exit status $status") if !$told || !$OUTCOME{$status};
    return ($said, $OUTCOME{$status});
}

# judged(SUBMISSION, CONFIG, LAUNCH...): the launches on the model, each with what run() tells; reports (rules) and text
# (the first report); is C right, whatever is reported? Nothing more is launched when one has gone on for too long.
sub judged ($s, $config, @launches) {
    for my $l (@launches) {
        if ($s->{slow}) {
            @$l{qw(outcome why)} = ('late', "not run, because an earlier launch took too long");
            next;
        }
        @$l{qw(said outcome why)} = run($config, "$s->{build}/program", '--on model ' . ($l->{more} // '') . ' ' . options($l));
        $l->{right} = $l->{outcome} eq 'right';
        my @reports = $l->{said} =~ /^model: (\w+): /mg;
        if (@reports) {
            $l->{reports} = \@reports;
            ($l->{text}) = $l->{said} =~ /^(model: .*?)(?=^model: \w+: |^the model found|\z)/ms;
        }
        $s->{slow} = $l->{outcome} eq 'late' || "@reports" =~ /ENDLESS/;
        $l->{right} = (run($config, map_of($s), options($l)))[0] =~ /^right /m if $l->{outcome} eq 'reported' && !$s->{slow};
    }
    return @launches;
}

# map_of(SUBMISSION): its program that draws where C is wrong, and continues after reports.
sub map_of ($s) {
    my $map = "$s->{build}/map";
    Patches::link_model("$s->{build}/model.o", "map_$s->{title}.o", $map) if !-e $map;
    return $map;
}

# launches(CONFIG): those of the sizes, as lists of one size each.
sub launches ($s, $config) {
    return map { [ in_policies($s, $config, of_size($_)) ] } @{ $config->{size} };
}

# of_size(NUMBERS OR RANGES): options of a launch.
sub of_size {
    my ($m, $n, $k, $sms) = map { drawn($_) } @{ $_[0] };
    return (m => $m, n => $n, k => $k, defined $sms ? (sms => $sms) : ());
}

sub in_policies ($s, $config, @options) {
    my @all = map { ($_) x ($_ eq 'random' || $_ eq 'pct' ? $config->{seeds} : 1) } @{ $config->{policies} };
    my @barrier = $s->{producer_barrier} ? (undef, 'yes', 'no') : undef;
    return map { launch(@options, policy => $all[$_], data => $_ % 2 ? 'normal' : 'integers',
        producer_barrier => $barrier[ $_ % @barrier ]) } 0 .. $#all;
}

# choices(SUBMISSION, CONFIG): asks whether it has `producer_barrier`, and returns its variants, a list for each kernel:
# [name, CTAs of a cluster]. It asks the list itself, because a message has no space for all.
sub choices ($s, $config) {
    return if Patches::contents($s->{file}) !~ /CHOOSES_|\.variants\b/;
    my ($said) = Patches::output('timeout ' . 6 * $config->{seconds} . ' ' . map_of($s) . ' --choices');
    my @kernels;
    $s->{producer_barrier} = $said =~ /^producer_barrier$/m;
    push @{ $kernels[$1] }, [ $2, $3 ] while $said =~ /^(\d+) (\w+) (\d+)$/mg;
    return @kernels;
}

# variants(CONFIG, KERNEL...): launches of a variant of each of these kernels, a list for each size; of the next kernel
# the next variant, so that each way in which CTAs share is launched. A cluster gets the SMs that it needs.
sub variants ($config, @kernels) {
    my @policies = @{ $config->{policies} };
    my $turn = int rand 100;
    return if !@kernels;
    return map {
        my $numbers = $_;
        [ map {
            my ($name, $cluster) = @{ $_->[ $turn++ % @$_ ] };
            my %size = of_size($numbers);
            launch(%size, sms => $size{sms} > $cluster ? $size{sms} : $cluster, variant => $name, policy => $policies[rand @policies]);
        } @kernels ];
    } @{ $config->{variants} };
}

# ---- what a launch did -----------------------------------------------------------------------------------------------

# counts(SUBMISSION, CONFIG, LAUNCH): by the names of the criteria. Those of common/model/model_count.h, and of what the
# last launch's first CTA did on its SM:
#   stages                    different barriers that its loads by TMA complete
#   loads, loads_under_products, products; product_turns: how often the products go from one warpgroup's to another's
#   multiplying_warpgroups; exponentials, exponentials_under_own: of the same warpgroup, spans in which it computes some
sub counts ($s, $config, $l) {
    my %name = reverse Patches::contents('common/model/model_count.h') =~ /COUNT\((\w+), "([^"]*)"\)/g;
    my %count = (map({ $_ => $l->{$_} } qw(m n k sms)), map({ lc $_ => 0 } values %name));
    $count{ lc $name{$1} } = $2 while $l->{said} =~ /^count +(.*?) +(\d+)$/mg;
    my $file = "$s->{build}/events";
    run($config, "$s->{build}/program", "--on model --trace-events $file " . options($l));
    my ($head, @lines) = split /^kind,.*\n|\n/m, Patches::contents($file);
    my @launches = $head =~ /^# launch .* (\d+)$/mg;
    pop @launches;
    my $first = 0;
    $first += $_ for @launches;
    my (@products, @loads, @exponentials, %stages);
    for (@lines) {
        my ($kind, $cta, undef, $warp, $unit, undef, $stage, undef, undef, undef, $name, $spans) = split /,/;
        next if !defined $spans || $cta != $first;
        my @spans = map { [ split(/:/), $kind eq 'wgmma' ? $unit : int $warp / 4 ] } split ' ', $spans;
        push @products, @spans if $kind =~ /^w?g?mma$/;
        push @loads, @spans if $kind =~ /^(?:load|copy)$/;
        push @exponentials, @spans if $kind eq 'exponentials';
        $stages{"$name $stage"} = 1 if $kind eq 'load';
    }
    @products = sort { $a->[0] <=> $b->[0] } @products;
    my %warpgroups = map { $_->[2] => 1 } @products;
    my $under = grep { my $l = $_; grep { $_->[0] < $l->[1] && $l->[0] < $_->[1] } @products } @loads;
    my $under_own = grep { my $x = $_; grep { $_->[0] < $x->[1] && $x->[0] < $_->[1] && $_->[2] == $x->[2] } @products } @exponentials;
    my $turns = grep { $products[$_][2] != $products[ $_ - 1 ][2] } 1 .. $#products;
    return { %count, stages => scalar keys %stages, loads => scalar @loads, loads_under_products => $under,
        products => scalar @products, product_turns => $turns, exponentials => scalar @exponentials,
        exponentials_under_own => $under_own, multiplying_warpgroups => scalar keys %warpgroups };
}

1;
