#!/usr/bin/perl
# What stands in .github/: are workflow and issue forms YAML of the shape that GitHub takes, are actions pinned, are the
# commands of the workflow shell, and does what the forms name exist? And would this test say so if not? Links and commands of
# CONTRIBUTING.md are tested with those of all pages.
use strict;
use warnings;
use File::Temp 'tempdir';
use Test::More;

eval { require CPAN::Meta::YAML } or plan skip_all => 'perl has no CPAN::Meta::YAML here';
-d '.github' or plan skip_all => 'there is no .github';

sub contents { my ($path) = @_; open my $in, '<', $path or die "$path: $!\n"; local $/; return scalar <$in> }

# parsed(TEXT): the document, and what is wrong with it.
sub parsed {
    my ($text) = @_;
    my $yaml = eval { CPAN::Meta::YAML->read_string($text) };
    return (undef, "no YAML: $@") if !$yaml || !ref $yaml->[0];
    return ($yaml->[0], '');
}

# strings(DATA): all texts in it.
sub strings {
    my ($data) = @_;
    return map { strings($_) } @$data if ref $data eq 'ARRAY';
    return map { strings($_) } values %$data if ref $data eq 'HASH';
    return defined $data ? $data : ();
}

# wrong_workflow(TEXT): what is wrong with it, one a line.
sub wrong_workflow {
    my ($flow, $wrong) = parsed($_[0]);
    return $wrong if $wrong;
    my @wrong;
    push @wrong, 'it has no name, no event or no job' if grep { !$flow->{$_} } qw(name on jobs);
    my $permissions = $flow->{permissions};
    push @wrong, 'it may do more than read' if ref $permissions ne 'HASH' || join(' ', %$permissions) ne 'contents read';
    for my $name (sort keys %{ $flow->{jobs} }) {
        my $job = $flow->{jobs}{$name};
        push @wrong, "$name: no runner, no limit of time or no steps" if grep { !$job->{$_} } qw(runs-on timeout-minutes steps);
        push @wrong, "$name: permissions of its own" if $job->{permissions};
        my $checked_out = 0;
        for my $step (@{ $job->{steps} || [] }) {
            my $what = $step->{name} // '(no name)';
            my ($run, $uses) = @$step{qw(run uses)};
            push @wrong, "$name: $what: neither run nor uses, or both" if defined $run == defined $uses;
            $checked_out ||= ($uses // '') =~ m{^actions/checkout@};
            push @wrong, "$name: $what: $uses is not pinned to a commit" if defined $uses && $uses !~ m{^[\w.-]+/[\w.-]+@[0-9a-f]{40}(?: #.*)?$};
            next if !defined $run;
            push @wrong, "$name: $what: puts an expression into a command" if $run =~ /\$\{\{/; # the environment is for that
            my $file = tempdir(CLEANUP => 1) . '/run';
            open my $out, '>', $file or die;
            print $out $run;
            close $out;
            my $said = `bash -n $file 2>&1`;
            push @wrong, "$name: $what: no shell: $said" if $?;
            for my $path ($run =~ m{(?:^|\s)(\.\w[\w./-]*)}mg) {
                push @wrong, "$name: $what: $path is no program here" if !-x $path;
                push @wrong, "$name: $what: $path before the checkout" if !$checked_out;
            }
        }
    }
    return join "\n", @wrong;
}

# wrong_form(TEXT): the same for an issue form.
my %TYPE = map { $_ => 1 } qw(markdown input textarea dropdown checkboxes);
my $targets;
sub wrong_form {
    my ($form, $wrong) = parsed($_[0]);
    return $wrong if $wrong;
    my (@wrong, %id);
    push @wrong, 'it has no name, no description or no body' if grep { !$form->{$_} } qw(name description body);
    for my $part (@{ $form->{body} || [] }) {
        my ($type, $attributes) = @$part{qw(type attributes)};
        my $name = $part->{id} // $type // '';
        push @wrong, "$name: there is no type \"" . ($type // '') . '"' if !$TYPE{ $type // '' };
        push @wrong, "$name: no value" if ($type // '') eq 'markdown' && !$attributes->{value};
        next if ($type // '') eq 'markdown';
        push @wrong, "$name: no id, or one that is there already" if !defined $part->{id} || $part->{id} !~ /^[\w-]+$/ || $id{$name}++;
        push @wrong, "$name: no label" if !$attributes->{label};
        push @wrong, "$name: no options" if ($type // '') eq 'dropdown' && ref $attributes->{options} ne 'ARRAY';
    }
    my @words = map { /`([^`]+)`/g } strings($form);
    push @words, map { $_->{attributes}{placeholder} // () } @{ $form->{body} || [] };
    for my $words (@words) {
        push @wrong, map { "there is no $_" } grep { !-e && !-e "$_.cu" } $words =~ m{(?<![\w./])((?:[\w-]+/)*[\w-]+\.md|(?:[\w-]+/)+[\w.-]+)}g;
        next if $words !~ /^make /;
        $targets //= { map { $_ => 1 } `make --no-print-directory -pnR help 2>/dev/null` =~ /^([\w.\/-]+):(?!=)/mg };
        push @wrong, map { "there is no target $_" } grep { !/=/ && !$targets->{$_} } split ' ', $words =~ s/^make |"[^"]*"//gr;
        push @wrong, map { "there is no bug $_" } grep { my @found = glob "*/bugs/$_.patch"; !@found } $words =~ /BUG=(\w+)/g;
    }
    return join "\n", @wrong;
}

my @workflows = glob '.github/workflows/*.yml';
my @forms = grep { !/config\.yml$/ } glob '.github/ISSUE_TEMPLATE/*.yml';
cmp_ok(@workflows, '>=', 1, 'there is a workflow');
cmp_ok(@forms, '>=', 3, 'there are forms');
is(wrong_workflow(contents($_)), '', $_) for @workflows;
is(wrong_form(contents($_)), '', $_) for @forms;
is((parsed(contents('.github/ISSUE_TEMPLATE/config.yml')))[1], '', 'config.yml');
like(join('', map { contents($_) } @workflows), qr/^        run: \.ci\/run$/m, 'the workflow runs .ci/run');

# ---- would it notice? ----

# noticed(CHECK, TEXT, EDIT, PATTERN, NAME): the text so edited is wrong in that way.
sub noticed {
    my ($check, $text, $edit, $pattern, $name) = @_;
    local $_ = $text;
    $edit->();
    isnt($_, $text, "$name: the edit changes the text");
    like($check->($_), $pattern, "$name: named");
}
my ($flow, $form) = map { contents(".github/$_") } 'workflows/test.yml', 'ISSUE_TEMPLATE/figure.yml';
noticed(\&wrong_workflow, $flow, @$_) for
    [ sub { s/^jobs:/jobs/m }, qr/no YAML/, 'no YAML' ],
    [ sub { s/^name:.*//m }, qr/no name/, 'no name' ],
    [ sub { s/contents: read/contents: write/ }, qr/more than read/, 'another permission' ],
    [ sub { s/\@[0-9a-f]{40}/\@v4/ }, qr/Check out: actions\/checkout\@v4.* is not pinned/, 'an action by its tag' ],
    [ sub { s/^    timeout-minutes.*//m }, qr/no limit of time/, 'no limit' ],
    [ sub { s/(dpkg -i )/$1"/ }, qr/no shell/, 'a quotation mark more' ],
    [ sub { s/run: \.ci\/run/run: .ci\/ran/ }, qr/\.ci\/ran is no program here/, 'a script that is not there' ],
    [ sub { s/\$TOOLKIT/\${{ matrix.toolkit }}/ }, qr/an expression into a command/, 'an expression in a command' ],
    [ sub { s/uses: actions\/checkout.*/run: true/ }, qr/\.ci\/run before the checkout/, 'nothing checked out' ];
noticed(\&wrong_form, $form, @$_) for
    [ sub { s/type: input/type: field/ }, qr/there is no type "field"/, 'an unknown type' ],
    [ sub { s/id: rows/id: page/ }, qr/page: no id, or one that is there already/, 'an id that comes twice' ],
    [ sub { s/label: .*// }, qr/no label/, 'no label' ],
    [ sub { s/measuring\.md/measures.md/ }, qr/there is no book\/measures\.md/, 'a page that does not exist' ],
    [ sub { s/make limits/make limit/ }, qr/there is no target limit$/m, 'a target that does not exist' ],
    [ sub { s/^body:/parts:/m }, qr/no body/, 'no body' ];
noticed(\&wrong_form, contents('.github/ISSUE_TEMPLATE/wrong_verdict.yml'), sub { s/BUG=\w+/BUG=no_such/ }, qr/there is no bug no_such/, 'a bug that does not exist');
done_testing();
