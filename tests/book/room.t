#!/usr/bin/env bash
# Are the slides and the handout made, and are they as a room needs them? And would the checks say so if they were not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# ---- the bugs without a name ----

cp -r book tests 0*_* "$scratch" # a tree that is in no repository
for n in 1 2 3; do
    said=$(cd "$scratch" && book/room/blind $n 2>&1)
    like "$?:$said" "^0:there is a bug in 0[57]_.*make 0" "bug $n"
    bug=$(sed -n "s/^$n) bug=\(.*\) ;;/\1/p" book/room/blind)
    case $said in *"${bug#*_}"*) ! : ;; esac
    ok $? "bug $n is not named"
    chapter=$(echo "${bug%%_*}"_*)
    cmp -s "$scratch/$chapter/$chapter.cu" "$chapter/$chapter.cu"
    is $? 1 "bug $n is in $chapter"
    cp "$chapter/$chapter.cu" "$scratch/$chapter/"
done
said=$(book/room/blind 4 2>&1)
is "$?:$said" "2:make blind-1, blind-2 or blind-3" "there are three"

# ---- the plan is the same in all three texts ----

minutes() { perl -ne 'print "$1 " if /^\| \d:\d\d \| (\d+) \|/; last if /^## A full day/' "$1"; }
is "$(minutes book/room/handout.md)" "$(minutes book/teaching.md)" "the handout has the minutes of the plan"
is "$(minutes book/teaching.md | awk '{ for (i = 1; i <= NF; i++) s += $i } END { print s }')" 240 "which are four hours"
of_slides=$(perl -0ne 'print "$1 " while /^## \d · [^\n]*\n\n(\d+) minutes/mg' book/room/slides.md)
of_plan=$(perl -ne 'print "$1 " if /^\| \d:\d\d \| (\d+) \| \d+ \| \d /; last if /^## A full day/' book/teaching.md)
is "$of_slides" "$of_plan" "the slides say the minutes of the plan"

# ---- slides and handout ----

missing=
for tool in pandoc chromium pdfinfo; do
    command -v $tool >/dev/null || missing="$missing $tool"
done
if [ -n "$missing" ]; then
    skip "slides and handout" "not found:$missing"
    done_testing
fi
for page in slides handout; do
    said=$(book/room/build $page "$scratch/out" 2>&1)
    like "$?:$said" "^0:.*$page.pdf$" "$page are built"
done
pages() { pdfinfo "$1" | sed -n 's/^Pages: *//p'; }
is "$(pages "$scratch/out/handout.pdf")" 2 "the handout has two pages"
like "$(pdfinfo "$scratch/out/handout.pdf")" 'A4' "of A4"
is "$(pages "$scratch/out/slides.pdf")" "$(grep -c '^##\? ' book/room/slides.md)" "a page for each slide"
said=$(tests/book/check_slides "$scratch/out/slides.html" 2>&1)
like "$?:$said" '^0:[0-9]+ slides$' "the slides: all fits, can be read, has a note, and is in the file"

# Everything wrong at once: a browser takes its time to start.
perl -0pe '
    s{(slide-2".*?</h2>)}{$1 . "<p>much</p>" x 30}se;
    s{(slide-3".*?<aside>).*?</aside>}{$1</aside>}s;
    s{(slide-6".*?<img src=")[^"]*}{$1none.svg}s;
    s{(slide-7".*?<pre><code>)}{$1 . "x" x 300 . "\n"}se;
    s{(slide-8" style="--code: )[^"]*}{${1}0.7rem};
    s{<style>}{<link rel="stylesheet" href="https://example.org/a.css"><style>\@font-face { src: url(f.woff) }};
    s{</body>}{<script src="b.js"></script></body>};
    s{(<section.*?</aside>)}{$1$1}s' "$scratch/out/slides.html" >"$scratch/wrong.html"
said=$(tests/book/check_slides "$scratch/wrong.html" 2>&1)
is $? 1 "slides that are wrong"
while IFS='|' read -r name pattern; do
    like "$said" "$pattern" "$name: named"
done <<'LIST'
too much on a slide|slide 3, "After[^"]*": p does not fit
no note|slide 4, [^:]*: it has no note
a missing picture|slide 7, [^:]*: its picture is too small, or missing
a line that is too long|slide 8, [^:]*: [^:]*: a line of code does not fit
code that is too small|slide 9, [^:]*: code of 14px is too small
a style from elsewhere|it fetches https://example.org/a.css
a font from elsewhere|it fetches f.woff
a script that is not in the file|it fetches b.js
too many slides|41 slides are too many
LIST

# Pages that do not fit, from a copy of the sources.
cp -r LICENSE README.md "$scratch"
{ cat book/room/handout.md; perl -e 'print "much more\n\n" x 80'; } >"$scratch/book/room/handout.md"
(cd "$scratch" && book/room/build handout out >/dev/null 2>&1)
is "$(pages "$scratch/out/handout.pdf")" 3 "too much on the handout is a third page"

done_testing
