# Chinese.pm - what tools write into a .zh.md page, in Chinese: of the blocks of tests/bench/figures those on the pages
# that have a Chinese version, and of tests/tools/patches the phrases and tables about bugs. Strings are bytes.
package Chinese;
use strict;
use warnings;
use File::Basename 'dirname';

# zh.tsv has the phrases, in each line one in English and in Chinese. A {} in the English stands for anything, {#} for a
# number; {1}, {2} in the Chinese for that, as it is; {=1} for that in Chinese. The first that fits counts.
open my $in, '<', dirname(__FILE__) . '/zh.tsv' or die "zh.tsv: $!\n";
my @PHRASES = map { chomp; split /\t/ } <$in>;

# in_chinese(TEXT): dies if it is English and no phrase fits. A number, a size, a link and a name in capitals are
# neither.
sub in_chinese {
    my ($text) = @_;
    return $text if $text !~ /[A-Za-z]/ || $text =~ /^(?:[A-Z0-9_]+|cudaError\w+|[\dx]+|\[[\w.]+\]\([^)]*\))$/;
    $text =~ s/\s+/ /g;
    for (my $i = 0; $i < @PHRASES; $i += 2) {
        my $pattern = join '', map { $_ eq '{}' ? '(.+?)' : $_ eq '{#}' ? '([\d.]+)' : quotemeta } split /(\{#?\})/, $PHRASES[$i];
        my @parts = $text =~ /^$pattern$/i or next;
        return $PHRASES[ $i + 1 ] =~ s/\{(=?)(\d)\}/$1 ? in_chinese($parts[$2 - 1]) : $parts[$2 - 1]/ger;
    }
    die "tests/book/zh.tsv has no phrase for \"$text\"\n";
}

# block(TEXT): the same for a block of Markdown: tables by cells, anything else by paragraphs.
sub block {
    my ($text) = @_;
    my @made;
    for my $part (split /\n\n+/, $text) {
        if ($part =~ /^\|/) {
            push @made, join "\n", map {
                /^\|(?: -+:? \|)+$/ ? $_ : join '|', map { /^(\s*)(.*?)(\s*)$/ ? $1 . in_chinese($2) . $3 : $_ } split /\|/, $_, -1
            } split /\n/, $part;
        } else {
            push @made, in_chinese($part =~ s/\s+\z//r);
        }
    }
    return join("\n\n", @made) . "\n";
}

1;
