#!/usr/bin/perl
# The programs of book/patterns: are they small, right as they are, reported without each of their lines, and does the
# page show what they say?
use strict;
use warnings;
use Test::More;
use File::Temp 'tempdir';

my ($MOST_LINES, $LEAST) = (40, 16);
my $run = "$ENV{B}/book/patterns/run";

sub said { my ($command) = @_; my $said = `$command 2>&1`; return ($said, $? >> 8) }
sub store { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!\n"; print $out $text; close $out }

my ($all, $status) = said($run);
is($status, 0, 'they all run');
my %verdict;
for (split /\n/, $all) {
    my ($name, $line, $rule) = split ' ';
    $verdict{$name}{$line} = $rule;
}
cmp_ok(scalar keys %verdict, '>=', $LEAST, 'there are enough of them');
is_deeply([ sort keys %verdict ], [ sort map { /^(\w+)_0$/ } split ' ', (said('book/patterns/page --forms'))[0] ], 'each of the pages');
for my $name (sort keys %verdict) {
    open my $in, '<', "$ENV{B}/book/patterns/$name.cu" or die "$name: $!\n";
    my @text = <$in>;
    cmp_ok(scalar @text, '<=', $MOST_LINES, "$name: at most $MOST_LINES lines");
    my %of = %{ $verdict{$name} };
    is(delete $of{0}, '-', "$name: right, and nothing is reported, in every policy");
    cmp_ok(scalar keys %of, '>', 0, '... with lines that can be taken out');
    is_deeply([ grep { $of{$_} !~ /^[A-Z]+(?:_[A-Z]+)*$/ || $of{$_} eq 'WRONG' } sort keys %of ], [], '... each of which is missed');
    is_deeply([ sort keys %of ], [ 1 .. keys %of ], '... numbered from 1');
}
is_deeply([ said("$run refill 3") ], [ "refill 3: there is no such program or line\n", 2 ], 'a line that there is not');
like((said("$run refill 1"))[0], qr/PROXY_FENCE.*refill\.cu:\d+.*^reported$/ms, 'one alone, with its report');

# ---- the page

is_deeply([ said("RUN=$run book/patterns/page --check") ], [ '', 0 ], 'the page has what they say');
for (['ring_2_cp_async', 'ring_1_barriers'], ['ring_4_roles', 'ring_3_mbarrier']) {
    my ($new, $old) = @$_;
    my ($diff) = (said('cat book/you_know_syncthreads.md'))[0] =~ /<!-- pattern: $new after $old -->\n\n```diff\n(.*?)```/s or die "no $new\n";
    my %of = map { my $sign = $_; $sign => join '', map { /^(?:$sign| |$)(.*)/ ? "$1\n" : () } split /\n/, $diff } '\+', '-';
    my %file = map { $_ => (said("cat $ENV{B}/book/patterns/$_.cu"))[0] =~ s/\s+/ /gr } $new, $old;
    ok(index($file{$new}, $of{'\+'} =~ s/\s+/ /gr) > 0, "the page makes $new");
    ok(index($file{$old}, $of{'-'} =~ s/\s+/ /gr) > 0, "... of $old");
}
my $scratch = tempdir(CLEANUP => 1);
system "mkdir $scratch/book && cp -r book/patterns book/memory_model.md book/you_know_syncthreads.md $scratch/book" and die;
my $page = "cd $scratch && RUN='cat all' book/patterns/page";
store("$scratch/all", $all =~ s/^(refill +1 +)PROXY_FENCE/$1RACE_WAR/mr);
is((said("$page --check"))[1], 1, 'another verdict: the page would change');
store("$scratch/all", "${all}another 0 - every schedule\n");
like((said("$page --check"))[0], qr/no page shows another/, 'a program that the page does not show');
store("$scratch/book/patterns/card_2026-01-02.csv", "gpu,date\n");
like((said("$page --check"))[0], qr/card_2026-01-02\.csv: another head/, 'a CSV of something else');

SKIP: {
    skip 'there is no nvcc', 1 if $ENV{NO_NVCC};
    my ($gpu, $ended) = said("$ENV{B}/book/patterns/run_gpu 1");
    like("$ended:$gpu", qr/^3:.*there is no Hopper GPU|^0:.*gpu,date/s, 'without a GPU it says so; with one it writes a CSV');
}
done_testing();
