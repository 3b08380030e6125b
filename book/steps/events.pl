# events.pl - a part of frames: what each kind of event of a run does to what there is, and what a frame says of it.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';

our (%barrier, @stage, %region, @thread, @tile, @product, %buffer, %waited, %over, %early, %laps, %come, %answer, %packed);
our ($threads, %role, $ctas, $ring, $rows, @barriers, @groups, @frames, $key, %asked, %option, %on);

# Each tells first and then changes what there is: a frame that begins ends the previous frame as things were.

# The barrier and phase of an event, and the threads that cause it, as parts of its fact.
sub of ($e) {
    return (map({ defined $e->{$_} ? ($_ => $e->{$_}) : () } qw(barrier phase)),
        threads => [ $e->{thread} // warp_threads($e->{warp}) ]);
}

$on{init} = sub ($e) {
    show("init $e->{cta}", $e, f => 'init', threads => [ $e->{thread} ]); # without the barrier: all in one
    if (!$barrier{ $e->{barrier} }) {
        push @barriers, $e->{barrier};
        $ring++ if $e->{cta} == 0 && $e->{barrier} =~ /^full/;
    }
    now_is($e);
};

$on{announce} = sub ($e) {
    show("fill " . both($e->{barrier}) . " $e->{phase}", $e, of($e), f => 'announce', bytes => $e->{amount});
    now_is($e);
    $thread[ $e->{thread} ] = [ 'load', $e->{barrier} ];
};

$on{arrive} = sub ($e) {
    return committed($e) if $e->{what} eq 'arrive' && ($role{ group_of($e->{thread}) } // '') eq 'multiplier';
    my @fact = ("arrive $e->{barrier} $e->{phase} " . group_of($e->{thread}), $e, of($e), f => 'arrive',
        has => $e->{expected} - $e->{pending}, of => $e->{expected},
        $e->{barrier} =~ /^answer/ ? (answer => $answer{ $e->{thread} }) : ());
    # The last one has a frame of its own if others have come between.
    $e->{pending} > 0 ? show_once(@fact) : show(@fact);
    now_is($e);
    $thread[ $e->{thread} ] = [ 'arrived', $e->{barrier}, $e->{phase} ];
    # It releases a stage, and has not waited for the products of its own that read it.
    my ($stage) = $e->{barrier} =~ /^empty\[(\d+)\]/ or return;
    my ($warp, $group) = (int($e->{thread} / 32), group_of($e->{thread}));
    push @{ $early{$stage} }, 4 * $group if grep { $_->{warpgroup} == $group && $_->{group} >= ($waited{$warp} // 0)
        && grep { $_ == $stage } @{ $_->{stages} } } @product;
};
$on{arrive_remote} = $on{arrive};

# A product of tensor memory. Its thread goes on; a commit arrives at the stage's barrier when it is over.
$on{mma} = sub ($e) {
    my $first = stage_of($e->{a}) // return;
    my @stages = map { $first + $ring * $_ } 0 .. $ctas - 1;
    my $k = $stage[$first]{k};
    show("mma $first $stage[$first]{lap}", $e, of($e), f => 'mma', stages => \@stages, k => $k, amount => 1);
    $thread[ $e->{thread} ] = ['mma'];
    for my $stage (@stages) {
        my ($product) = grep { $_->{stages}[0] == $stage } @product;
        push @product, $product = { warpgroup => group_of($e->{thread}), group => 0, state => 'running', issued => 0, done => 0,
            stages => [$stage], k => $k } if !$product;
        $product->{issued}++;
        is_read($stage, $e->{thread} >> 5);
    }
};
sub committed ($e) {
    show("commit $e->{barrier} $e->{phase}", $e, of($e), f => 'commit');
    now_is($e);
    @product = grep { $_->{stages}[0] != stage_at($e->{barrier}) } @product if $e->{barrier} =~ /^empty/;
}

# Launch control: the answer is asked for, for a CTA; a thread has read it.
$on{cancel} = sub ($e) {
    my $answer = buffer_of($e->{name});
    show("fill " . both($e->{barrier}) . " $e->{phase}", $e, of($e), f => 'cancel', buffer => $answer);
    $asked{"load $e->{offset}"} = $e->{at};
    $buffer{$answer} = ['asked'];
    $thread[ $e->{thread} ] = [ 'ask', both($answer) ];
};
$on{answer} = sub ($e) {
    $answer{ $e->{thread} } = $e->{amount};
    $thread[ $e->{thread} ] = [ 'answer', $e->{amount} ];
};

$on{load} = sub ($e) {
    my $stage = stage_at($e->{barrier}, $e->{cta});
    my $k_tile = int($e->{coord}[0] / $e->{box}[0]);
    $region{$stage}{ $e->{map} } = [ $e->{offset}, $e->{bytes} ] if !$region{$stage}{ $e->{map} };
    # Where it goes, which a bug may have made another stage than the one of the barrier.
    my $into = stage_of($e->{offset}) // $stage;
    show("fill " . both($e->{barrier}) . " $barrier{ $e->{barrier} }{phase}", $e, of($e), f => 'load', map => $e->{map},
        k => $k_tile, stage => $into, bytes => $e->{bytes});
    my $s = $stage[$into] // {};
    if (($s->{state} // '') ne 'loading' || $s->{loaded}{ $e->{map} }) {
        my $fragments = ($s->{state} // '') eq 'reading' && !@product ? $s->{by} : [];
        $s = { k => $k_tile, loaded => {}, by => @$fragments ? $fragments : readers($into),
            tile => $tile[ group_of($e->{thread}) ], lap => $laps{$into}++ // 0 };
    }
    $s->{state} = 'loading';
    $s->{loaded}{ $e->{map} } = [ 0, $e->{bytes} ];
    $stage[$into] = $s;
    $asked{"load $e->{offset}"} = $e->{at};
    $thread[ $e->{thread} ] = [ 'load', $e->{barrier} ];
};

$on{landed} = sub ($e) {
    my $stage = defined $e->{offset} ? stage_of($e->{offset}) : undef;
    my $box = defined $stage && !$option{'--only'} ? $stage[$stage]{loaded}{ $e->{map} } : undef;
    # A box is shown when all of it has landed; where one barrier is all that is shown, each piece is.
    my $here = $box ? $come{ $e->{barrier} }{"$stage $e->{map}"} += $e->{amount} : $e->{amount};
    return $rows++ if $box && $here < $box->[1];
    delete $come{ $e->{barrier} }{"$stage $e->{map}"} if $box;
    show("landed $e->{barrier} $e->{phase} " . join(' ', map { $_ // '' } @{$e}{qw(map into)}), $e, f => 'landed',
        barrier => $e->{barrier}, phase => $e->{phase}, $ctas > 1 ? (cta => $e->{into}) : (), map => $e->{map}, amount => $here,
        has => $e->{brought} - in_part($e->{barrier}), of => $e->{announced}, asked => 'load ' . ($e->{offset} // ''));
    now_is($e);
    $box->[0] = $here if $box;
    $buffer{"answer[" . stage_at($e->{barrier}, 0) . "] of CTA $e->{into}"} = ['answer'] if ($e->{map} // '') eq 'answer';
};

# Whose products may still read a stage: no warp of theirs has waited for them.
sub readers ($stage) {
    my %by = map { $_ => 1 } @{ $early{$stage} // [] },
        map { $groups[ $_->{warpgroup} ][0] } grep { $_->{group} >= ($over{ $_->{warpgroup} } // 0)
        && grep { $_ == $stage } @{ $_->{stages} } } @product;
    return [ sort { $a <=> $b } keys %by ];
}

$on{phase} = sub ($e) {
    my ($array) = $e->{barrier} =~ /^(\w+)/;
    # This fact belongs to the previous frame, whatever that shows.
    push @{ $frames[-1]{say} }, { f => 'complete', barrier => $e->{barrier}, phase => $e->{phase} - 1 };
    $key = undef;
    delete $come{ $e->{barrier} };
    now_is($e);
    for my $index ($array eq 'full' ? map({ stage_at($e->{barrier}, $_) } 0 .. $ctas - 1) : ()) {
        next if !$stage[$index];
        delete $early{$index};
        $stage[$index]{state} = 'full' if !grep { $_->[0] < $_->[1] } values %{ $stage[$index]{loaded} };
    }
    my $index = stage_at($e->{barrier});
    $stage[$index] = { %{ $stage[$index] }, state => 'free', by => readers($index) } if $array eq 'empty' && $stage[$index];
};

$on{wait} = sub ($e) {
    return $thread[ $e->{thread} ] = [ 'pass', $e->{barrier}, $e->{parity} ] if !$e->{blocks};
    show_once("wait $e->{barrier} $e->{phase} " . group_of($e->{thread}), $e, of($e), f => 'wait', parity => $e->{parity});
    $thread[ $e->{thread} ] = [ 'wait', $e->{barrier}, $e->{parity}, $e->{phase} ];
};

$on{passed} = sub ($e) {
    # That a wait finds what it waits for is worth a frame if somebody had to wait, or if the phase never was.
    # Of a pair's fresh barriers, once for each part.
    my $new = 'passed ' . ($ctas > 1 && $e->{passed} < 0 ? '' : "$e->{barrier} $e->{passed} ") . group_of($e->{thread});
    show_once($new, $e, of($e), f => 'passed', phase => $e->{passed}, parity => $e->{passed} & 1,
        fresh => $e->{passed} < 0 ? 1 : 0)
        if $thread[ $e->{thread} ][0] eq 'wait' || ($key // '') eq $new || $e->{passed} < 0;
    $thread[ $e->{thread} ] = [ 'passed', $e->{barrier}, $e->{passed} ];
};

$on{sync} = sub ($e) {
    $thread[ $e->{thread} ] = [ 'sync', $e->{id} ] if $e->{waits};
    $asked{"meet $e->{id}"} = $e->{at};
};

$on{met} = sub ($e) {
    # Without empty barriers this is how a stage becomes free: all have read it, and the products are over.
    my @freed = $e->{id} != 0 || grep({ /^empty/ } @barriers) ? ()
        : grep { $stage[$_] && $stage[$_]{state} =~ /^(?:reading|read)$/ && !@{ readers($_) } } 0 .. $#stage;
    # The cluster barrier, -1, is for all threads of both CTAs.
    my $cta = $e->{id} < 0 ? -1 : $e->{cta};
    show("met $cta $e->{step}", $e, f => 'met', stages => \@freed, asked => "meet $e->{id}", $ctas > 1 ? (cta => $cta) : ())
        if $e->{id} <= 0;
    $stage[$_] = { %{ $stage[$_] }, state => 'free', by => [] } for @freed;
    for my $t (grep { $cta < 0 || int($_ / $threads) == $cta } 0 .. $#thread) {
        $thread[$t] = [ 'met', $e->{id} ] if $thread[$t][0] eq 'sync' && $thread[$t][1] == $e->{id};
    }
};

$on{registers} = sub ($e) {
    $role{ group_of(32 * $e->{warp}) } = $e->{increase} ? 'consumer' : 'producer';
    warps_do($e->{warp}, 'registers', $e->{registers});
};

sub is_read ($stage, @warps) {
    my $s = $stage[$stage];
    my %by = map { $_ => 1 } @{ $s->{by} // [] }, @warps;
    $s->{by} = [ sort { $a <=> $b } keys %by ];
    $s->{state} = 'reading' if $s->{state} ne 'loading';
}

$on{ldmatrix} = sub ($e) {
    my $stage = stage_of($e->{offset});
    return if !defined $stage || "@{ $thread[ 32 * $e->{warp} + 1 ] }" eq "fragments $stage";
    my $k = $stage[$stage]{k};
    show_once("read $stage $k " . int($e->{warp} / 4), $e, of($e), f => 'fragments', stage => $stage, k => $k);
    warps_do($e->{warp}, 'fragments', $stage);
    is_read($stage, $e->{warp});
};

# The buffer of results that a name in shared memory belongs to: without its last subscripts.
sub buffer_of { return $_[0] =~ /^\w+->(\w+(?:\[\d+\]){1,2})\S*( of CTA \d)?/ ? $1 . ($2 // '') : $_[0] }

$on{stmatrix} = sub ($e) {
    my $out = buffer_of($e->{name});
    return if "@{ $thread[ 32 * $e->{warp} ] }" eq "pack $out";
    show_once("pack $out " . ($packed{$out} // 0), $e, of($e), f => 'pack', buffer => $out);
    warps_do($e->{warp}, 'pack', $out);
    $buffer{$out} = ['written'];
};

$on{part} = sub ($e) {
    warps_do($e->{warp}, 'issue');
};

sub product_of ($e) { return grep { $_->{warpgroup} == $e->{warpgroup} && $_->{group} == $e->{group} } @product }

$on{issued} = sub ($e) {
    my ($product) = product_of($e);
    my %stages = map { $_ => 1 } @{ $product ? $product->{stages} : [] },
        grep { defined } map { defined $_ ? stage_of($_) : undef } @{$e}{qw(a b)};
    my @stages = map { 0 + $_ } sort { $a <=> $b } keys %stages;
    my $k = @stages ? $stage[ $stages[0] ]{k} : undef;
    show("issue $e->{warpgroup} $e->{group}", $e, f => 'issue', warpgroup => $e->{warpgroup}, stages => \@stages, k => $k,
        amount => 1);
    push @product, $product = { warpgroup => $e->{warpgroup}, group => $e->{group}, state => 'running', issued => 0, done => 0 }
        if !$product;
    @$product{qw(stages k)} = (\@stages, $k);
    $product->{issued}++;
    $asked{"product $e->{warpgroup}"} = $e->{at};
    is_read($_, 4 * $e->{warpgroup}) for @stages;
};

$on{done} = sub ($e) {
    my ($product) = product_of($e) or return;
    show_once("done $e->{warpgroup} $e->{group}", $e, f => 'done', warpgroup => $e->{warpgroup}, k => $product->{k},
        asked => "product $e->{warpgroup}");
    $product->{state} = 'over' if ++$product->{done} == $product->{issued};
};

$on{wgmma_wait} = sub ($e) {
    warps_do($e->{warp}, 'products', $e->{newest});
    $asked{"wait $e->{warp}"} = $e->{at};
};

$on{waited} = sub ($e) {
    my $group = int($e->{warp} / 4);
    my $new = "done $group " . ($e->{done} - 1);
    show_once(($key // '') eq $new ? $new : "waited $group $e->{done}", $e, of($e), f => 'waited', group => $e->{done} - 1,
        asked => "wait $e->{warp}");
    warps_do($e->{warp}, 'waited', $e->{done});
    $waited{ $e->{warp} } = $e->{done};
    $over{$group} = $e->{done} if ($over{$group} // 0) < $e->{done};
    for my $stage (map { @{ $_->{stages} } } grep { $_->{warpgroup} == $group && $_->{group} < $e->{done} } @product) {
        $stage[$stage]{state} = 'read' if $stage[$stage]{state} eq 'reading' && !@{ readers($stage) };
    }
    # Shown until all four warps know it.
    return if grep { ($waited{$_} // 0) < $e->{done} } 4 * $group .. 4 * $group + 3;
    @product = grep { $_->{warpgroup} != $group || $_->{group} >= $e->{done} } @product;
};

$on{tile} = sub ($e) {
    my $group = group_of($e->{thread});
    my $is_new = "@{ $tile[$group] // [] }" ne "$e->{row} $e->{col}" && %role;
    show("tile $group $e->{row} $e->{col}", $e, f => 'tile', row => $e->{row}, col => $e->{col}, warpgroup => $group) if $is_new;
    $tile[$group] = [ $e->{row}, $e->{col} ];
    $thread[ $e->{thread} ] = [ 'tile', $e->{row}, $e->{col} ] if $is_new;
};

# The frame of a store, and what it says of the buffer: the many small stores of an epilogue share one for each tile.
sub in_frame ($e, $out) {
    my $group = group_of($e->{thread});
    return ("$e->{what} $out " . ($packed{$out} // 0), buffer => $out) if ($role{$group} // '') ne 'epilogue';
    return ("$e->{what} $group @{ $tile[$group] }", buffer => $out =~ s/\[\d+\]/[*]/gr);
}

$on{store} = sub ($e) {
    my $out = buffer_of($e->{name});
    $packed{$out}++ if ($key // '') ne "store $out " . ($packed{$out} // 0);
    my ($new, @buffer) = in_frame($e, $out);
    show_once($new, $e, of($e), f => 'store', @buffer, amount => 1);
    $asked{"store $out"} = $e->{at};
    $thread[ $e->{thread} ] = [ 'store', $out ];
    $buffer{$out} = [ 'leaving', ($buffer{$out}[0] // '') eq 'leaving' ? $buffer{$out}[1] + 1 : 1, 0 ];
};

$on{stored} = sub ($e) {
    my $out = buffer_of($e->{name});
    my ($new, @buffer) = in_frame($e, $out);
    show_once($new, $e, f => 'stored', @buffer, amount => 1, asked => "store $out");
    my $b = $buffer{$out};
    return if !$b || $b->[0] ne 'leaving';
    $b->[2]++;
    $buffer{$out} = ['stored'] if $b->[2] == $b->[1];
};

$on{bulk_wait} = sub ($e) {
    $thread[ $e->{thread} ] = [ 'stores', $e->{newest}, $e->{read} ];
};

$on{fence_proxy} = sub { $thread[ $_[0]{thread} ] = ['fence'] };
$on{returned} = sub { $thread[ $_[0]{thread} ] = ['returned'] };

1;
