# Markdown.pm - reads the repository's Markdown files for the tests of the texts: lines, fenced blocks, headings, links.
# As far as these files use Markdown, and as GitHub reads it. perl-base is enough.
package Markdown;
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use Exporter 'import';
our @EXPORT_OK = qw(files lines prose after_comment blocks without_blocks headings anchors links resolved english chinese save wrong);
our $bad = 0;

# files(): the paths of all Markdown files below the current directory, in reading order: the front page, the chapters,
# the rest. What git does not track does not count, as far as git can be asked.
sub files {
    my @found = grep { /\.md$/ } tracked();
    return sort { rank($a) cmp rank($b) } @found;
}

sub rank { return ($_[0] =~ m{/} ? '1' : '0') . $_[0]; }

# tracked(): the paths of all files of the repository, below the current directory.
sub tracked {
    my @paths = -e '.git' ? `git ls-files --cached --others --exclude-standard 2>/dev/null` : ();
    @paths = `find . -name build -prune -o -name '.?*' ! -name .github ! -name .devcontainer ! -name .ci -prune -o -type f -print` if !@paths;
    chomp @paths;
    s{^\./}{} for @paths;
    return grep { -e $_ } @paths;
}

# lines(PATH): its lines, without their ends.
sub lines ($path) {
    open my $file, '<:utf8', $path or die "$path: $!\n";
    my @lines = <$file>;
    close $file;
    s/\r?\n$// for @lines;
    return @lines;
}

# save(PATH, LINES): writes them.
sub save ($path, @lines) {
    open my $out, '>:utf8', $path or die "$path: $!\n";
    print $out map { "$_\n" } @lines;
    close $out or die "$path: $!\n";
}

# wrong(PATH, LINE, TEXT): names what is wrong, and sets $bad.
sub wrong ($path, $line, $text) {
    print "$path:$line: $text\n";
    $bad = 1;
}

# blocks(LINES): the fenced blocks. Each is {line: number of its first fence, info, lines, gap: whether a line of text
# stands between it and the block before}, and open where it has no end.
sub blocks {
    my @lines = @_;
    my (@blocks, $block, $fence);
    my $gap = 1;
    for my $i (0 .. $#lines) {
        if ($block) {
            if ($lines[$i] =~ /^ {0,3}$fence\s*$/) {
                push @blocks, $block;
                undef $block;
                $gap = 0;
            } else {
                push @{ $block->{lines} }, $lines[$i];
            }
        } elsif ($lines[$i] =~ /^ {0,3}(`{3,}|~{3,})\s*([^`]*?)\s*$/) {
            $fence = $1;
            $block = { line => $i + 1, info => $2, lines => [], gap => $gap };
        } elsif ($lines[$i] =~ /\S/) {
            $gap = 1;
        }
    }
    push @blocks, { %$block, open => 1 } if $block;
    return @blocks;
}

# without_blocks(LINES): the same number of lines, with those of fenced blocks made empty.
sub without_blocks {
    my @lines = @_;
    for my $block (blocks(@lines)) {
        $lines[$_] = '' for grep { $_ < @_ } $block->{line} - 1 .. $block->{line} + @{ $block->{lines} };
    }
    return @lines;
}

# prose(LINES): without_blocks(), with HTML comments made empty, too.
sub prose {
    my $text = join "\n", without_blocks(@_);
    $text =~ s{(<!--.*?-->)}{ $1 =~ s/[^\n]//gr }gse;
    return split /\n/, $text, -1;
}

# after_comment(LINES): the numbers of the lines where a comment comes first and text after it. Markdown takes them for
# HTML.
sub after_comment {
    my $text = join "\n", without_blocks(@_);
    my @numbers;
    # Also in a list or a quotation, and after a comment of several lines. A line of HTML may follow.
    while ($text =~ /^[ ]*(?:(?:[-*+>]|\d+[.)])[ ]+)*<!--(?:(?!-->).)*-->(?:\s*?<!--(?:(?!-->).)*-->)*[ \t]*(?=([^\n]*))/gms) {
        my $end = pos $text;
        next if $1 eq '' || $1 =~ /^<(?!!--)/;
        push @numbers, 1 + (substr($text, 0, $end) =~ tr/\n//);
    }
    return @numbers;
}

# slug(HEADING): its anchor, as GitHub makes it, without the number of a repeated one.
sub slug ($heading) {
    $heading =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
    $heading =~ s/<[^>]*>//g;
    $heading = lc $heading;
    $heading =~ s/[^\w\- ]//g;
    $heading =~ tr/ /-/;
    return $heading;
}

# headings(LINES): each as [line number, level, text, anchor].
sub headings {
    my @prose = prose(@_);
    my (@found, %seen);
    for my $i (0 .. $#prose) {
        next if $prose[$i] !~ /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
        my ($level, $text, $slug) = (length $1, $2, slug($2));
        my $times = $seen{$slug}++;
        push @found, [ $i + 1, $level, $text, $times ? "$slug-$times" : $slug ];
    }
    return @found;
}

# anchors(LINES): a hash of the anchors of all headings, and of those that stand as <a id="..."> in the text.
sub anchors { return { map { $_ => 1 } map({ $_->[3] } headings(@_)), map { /<a id="([\w-]+)">/g } prose(@_) } }

# links(LINES): all links and images, [line number, target, text]; the text is '' where it has brackets itself, or the
# link is no [..](..).
sub links {
    my @found;
    my @lines = prose(@_);
    my $text = join "\n", @lines;
    $text =~ s{(`+)(?!`)(.+?)(?<!`)\1(?!`)}{ (my $code = $2) =~ s/[^\n]/_/g; $code }gse;
    while ($text =~ /\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^ {0,3}\[[^\]]+\]:[ ]*(\S+)[ ]*$|<(?:a|img)\b[^>]*?(?:href|src)="([^"]+)"/gm) {
        my $target = defined $1 ? $1 : defined $2 ? $2 : $3;
        my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
        my ($name) = substr($text, 0, $-[0]) =~ /\[([^\[\]]*)\z/;
        push @found, [ $line, $target, $name // '' ];
    }
    return @found;
}

# resolved(PATH, TARGET): the file or directory that a link of that page names, from the top, undefined if it leads out
# of the tree; and its anchor.
sub resolved ($path, $target) {
    my ($file, $anchor) = $target =~ /^([^#]*)(?:#(.*))?$/;
    return ($path, $anchor) if $file eq '';
    return (undef, $anchor) if $file =~ m{^/};
    my @parts = $path =~ m{^(.*)/} ? split m{/}, $1 : ();
    for my $part (grep { !/^\.?$/ } split m{/}, $file) {
        return (undef, $anchor) if $part eq '..' && !@parts;
        $part eq '..' ? pop @parts : push @parts, $part;
    }
    return (join('/', @parts) || '.', $anchor);
}

# english(PATH), chinese(PATH): the same page or picture in that language, whether it exists or not. The front page
# stands in book/ in Chinese.
sub english { my ($path) = @_; return $path eq "book/README.zh.md" ? "README.md" : $path =~ s{\.zh(?=\.(?:md|svg)$)}{}r }
sub chinese { my ($path) = @_; return $path eq "README.md" ? "book/README.zh.md" : $path =~ s{(?<!\.zh)(?=\.(?:md|svg)$)}{.zh}r }

1;
