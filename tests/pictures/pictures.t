#!/usr/bin/perl
# Does the code still do what each picture shows: does the file that a line `<!-- holds while FILE has: CODE -->` names
# have that code? Are the Chinese pictures what zh.tsv makes of the English ones? And does a text show each of them?
use strict;
use warnings;
use File::Path 'make_path';
use File::Temp 'tempdir';
use Test::More;

sub contents { my ($path) = @_; open my $in, '<', $path or return ''; local $/; return scalar <$in> }
sub store { my ($path, $text) = @_; open my $out, '>', $path or die "$path: $!\n"; print $out $text; close $out }

# faults(TEXT): what no longer holds of a picture.
sub faults {
    return map { my ($file, $code) = @$_; contents($file) =~ /(?<!\w)\Q$code\E(?!\w)/ ? () : "$file no longer has: $code" }
        map { [ /(\S+) has: (.*)/ ] } $_[0] =~ m{^<!-- holds while (.*) -->$}mg;
}

my @pictures = grep { !/^build/ } glob '[0-9]*_*/*.svg beyond/*/*.svg';
cmp_ok(scalar @pictures, '>', 40, @pictures . ' pictures');
my $held = 0;
for my $picture (@pictures) {
    my $text = contents($picture);
    is(join("\n", faults($text)), '', "$picture: the code does what it shows");
    $held += () = $text =~ /holds while/g;
    my ($directory, $name) = $picture =~ m{(.*)/(.*)};
    my $pages = join '', map { contents("$directory/$_") } $name =~ /\.zh\./ ? 'README.zh.md' : qw(README.md notes.md);
    ok(index($pages, "]($name)") >= 0, '... a text shows it');
    ok($text =~ /\A<svg [^<]*>\n(?:(?!<svg ).)*prefers-color-scheme: ?dark(?:(?!<svg ).)*<\/svg>\n\z/s, '... it is whole, for light and dark');
}
my $moving = contents('book/steps/too_early.svg');
is(join("\n", faults($moving)), '', 'the moving picture: the code does what it shows');
like($moving, qr/prefers-color-scheme:dark.*prefers-reduced-motion:reduce\)\{g\{animation:none/s,
    '... for light and dark, with motion and without');
is(join(' ', grep { -s > 60000 } @pictures, glob 'book/*/*.svg tests/*/*/*.svg'), '', 'no picture is larger than 60 kB');
cmp_ok($held, '>', 60, "$held lines of code are looked for");
is(join(' ', faults("<!-- holds while 02_smem_tiled/02_smem_tiled.cu has: BM = 12 -->\n<!-- holds while Makefile has: all: -->\n")),
    '02_smem_tiled/02_smem_tiled.cu no longer has: BM = 12', 'seen: another constant');

# ---- the Chinese ones

my $made = tempdir(CLEANUP => 1);
for (grep { /^0[1-8]_/ && !/\.zh\.svg$/ } @pictures) {
    make_path("$made/" . s{/[^/]*$}{}r);
    store("$made/$_", contents($_));
}
is(system("tests/pictures/chinese $made"), 0, 'each text of a picture has its Chinese');
my @chinese = grep { /\.zh\.svg$/ } @pictures;
is_deeply([ map { s{^\Q$made/\E}{}r } sort glob "$made/*/*.zh.svg" ], [ sort @chinese ], 'the Chinese pictures are there');
is(contents($_), contents("$made/$_"), "$_ is what make pictures writes") for @chinese;
my $ring = "$made/03_cp_async_multistage/ring.svg";
store($ring, contents($ring) =~ s/>k-tile 0</>something new</r);
my $said = `tests/pictures/chinese $made`;
ok($? && $said =~ /: something new: has no row in zh\.tsv$/m, 'seen: a text without');
done_testing();
