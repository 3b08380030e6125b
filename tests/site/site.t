#!/usr/bin/env bash
# Does the site that `make book` writes open without an error, its links included: every page in a headless Chromium,
# and the search in both languages? Sphinx, whose warnings are errors, knows pages that nothing leads to. And would each
# check say so? What is missing, Sphinx, Chromium or Playwright, is said.
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$scratch/tree" "$scratch/book"

# ---- what is missing is said in one line: a Python that is too old, without venv, without a network
mkdir "$scratch/bin"
# tools SCRIPT: what make book-tools says where python3 is this.
tools() {
    printf '#!/bin/sh\n%s\n' "$1" >"$scratch/bin/python3"
    chmod +x "$scratch/bin/python3"
    rm -rf "$scratch/tree/build"
    (cd "$scratch/tree" && PATH=$scratch/bin:$PATH "$top/book/site/tools" 2>&1)
}
while IFS='|' read -r script pattern; do
    said=$(tools "$script")
    is "$? $(wc -l <<<"$said")" "1 1" "make book-tools: fails with one line"
    like "$said" "^make book-tools: .*$pattern" "make book-tools: $pattern"
done <<'LIST'
[ "$1" = --version ] && echo Python 3.9.2; exit 1|Python 3.9.2 is too old
if [ "$1" = -m ]; then echo no ensurepip >&2; exit 1; fi|apt install python3-venv
if [ "$1" = -m ]; then mkdir -p build/venv/bin; cp /bin/false build/venv/bin/pip; fi|is there a network
LIST

# ---- the check finds what is wrong
# page NAME BODY
page() { printf '<!DOCTYPE html>\n<html><head><title>x</title></head><body id="top">%s</body></html>\n' "$2" >"$scratch/small/$1.html"; }
mkdir "$scratch/small"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
for with_playwright in "$top/build/venv/bin/python3" python3 ''; do
    "$with_playwright" -c 'import playwright' 2>/dev/null && break
done
[ -n "$with_playwright" ] || chromium=
no_chromium="Chromium, or Playwright (make book-tools), was not found"
browse() { "$with_playwright" "$top/tests/site/browse" "$@"; }
if [ -n "$chromium" ]; then
    page index '<a href="other.html?q#there">x</a><a href="https://example.org/">y</a>'
    page other '<p id="there"><a href="#top">up</a></p>'
    page lost '<a href="none.html">x</a>'
    page misses '<a href="other.html#here">x</a>'
    page throws '<script>nothing.at.all();</script>'
    page complains '<script>console.error("it is wrong");</script>'
    page lacks '<script src="none.js"></script>'
    page blank '<img src="none.svg">'
    page asks '<script src="https://example.org/a.js"></script>'
    said=$(cd "$scratch/small" && browse load index.html other.html lost.html misses.html throws.html complains.html lacks.html blank.html asks.html 2>&1)
    is $? 1 "browse: bad pages"
    like "$said" '9 pages' "browse: all are loaded"
    for pattern in 'throws.html: ReferenceError: nothing' 'complains.html: console: it is wrong' 'lacks.html: .*ERR_FILE_NOT_FOUND.*none.js' \
        'blank.html: no picture: none.svg' 'asks.html: .*example.org/a.js' 'lost.html: leads nowhere: file:.*none.html' 'misses.html: no such anchor: file:.*#here'; do
        like "$said" "$pattern" "browse: $pattern"
    done
    [[ $said != *index.html:* && $said != *other.html:* ]]
    ok $? "browse: nothing about good pages"
else
    skip "bad pages in a browser" "$no_chromium"
fi

# ---- the site
if ! python=$(book/site/build --python 2>&1); then
    skip "the site" "$python"
    done_testing
fi

# A small one: a chapter in two languages, with a step, in one file, and with a header that it links to.
mkdir -p "$scratch/part" && cd "$scratch/part" || exit 1
mkdir -p book tests/book build/one 01_part out/steps
cp -r "$top/book/site" book/
cp "$top/tests/book/Markdown.pm" tests/book/
[ ! -e "$top/build/venv" ] || ln -s "$top/build/venv" build/venv
touch build/one/01_part.cu out/steps/some.js
printf 'int a; /* < */\n' >01_part/a.h
printf '# Glossary\n\n| barrier | 屏障 |\n| --- | --- |\n' >book/glossary.md
printf '# Front\n\n[a](01_part/) `[f](none)`\n' >README.md
printf '# 首页\n\n[一](../01_part/README.zh.md)\n' >book/README.zh.md
printf '# 01: Part\n\n[b](README.md#one-heading) [c](a.h)\n\n## One heading\n\n<!-- step: some -->\n\n<!-- step: none -->\n' >01_part/README.md
printf '# 01\n\n第一行\n第二行\n[上](../README.md)\n\n## 标题\n' >01_part/README.zh.md
said=$(book/site/build out 2>&1)
is "$? $(grep -v '^  SPHINX ' <<<"$said")" "0 " "a small site is built" || explain "$said"
part=$(cat out/en/01_part/index.html)
like "$part" 'href="index.html#one-heading">b</a>.*href="../source/01_part/a.h.html">c</a>' "links become those of the site"
like "$part" '<h1>01: Part.*<p class="one">.*<a href="../one/01_part.cu" download>' "a chapter's page offers the chapter in one file"
like "$part" '<div class="step" data-step="some"></div>.*<script src="../../steps/step.js">' "a step that there is has its place"
[[ $part != *data-step=\"none\"* ]]
ok $? "one that there is not leaves no trace"
like "$(cat out/zh/01_part/index.html)" '第一行第二行<a [^>]*href="../../en/index.html">上' "a line's end between Chinese characters is none"
like "$(cat out/en/source/01_part/a.h.html)" 'a.h</title>.*int a; <i>/\* &lt; \*/</i>' "a file that is linked gets a page"
cd "$top" || exit 1

# All pages.
[ ! -e build/book/steps/index.html ] || cp -R build/book/steps "$scratch/book/"
said=$(book/site/build "$scratch/book" 2>&1)
is "$? $(grep -v '^  SPHINX ' <<<"$said")" "0 " "the site is built, without a warning" || explain "$said"
size=$(du -sb "$scratch/book" | cut -f1)
ok $((size > 15000000)) "it has at most 15 MB: $size bytes"
if [ -z "$chromium" ]; then
    skip "every page in a browser, and the search" "$no_chromium"
    done_testing
fi
# Pages that show a source come from one template: one for each extension is loaded.
find "$scratch/book/en" "$scratch/book/zh" -name '*.html' 2>/dev/null | sort >"$scratch/pages"
perl -ne 'print if !m{/source/} || m{/[^/.]*([^/]*)$} && !$seen{$1}++' "$scratch/pages" >"$scratch/loaded"
said=$(browse load - <"$scratch/loaded" 2>&1)
ok $? "every page, or one that shows a file with its extension, loads without an error: $(wc -l <"$scratch/loaded") of $(wc -l <"$scratch/pages") pages are loaded" \
    || explain "$said"

# Of each search: the language, the words, a page that it finds; none: nothing is found.
searches=(
    'en|empty+barrier|07_warp_specialized/index.html'
    'en|empty+barrier|08_persistent_pingpong/index.html'
    'en|empty+barrier|book/rules.html'
    'en|wgmma|06_wgmma_ss/index.html'
    'en|nosuchword|'
    'zh|阶段|07_warp_specialized/index.html'
    'zh|阶段|book/rules.html'
    'zh|生产者等待|07_warp_specialized/index.html'
    'zh|鲸鱼|'
)
urls=()
for search in "${searches[@]}"; do
    IFS='|' read -r language words page <<<"$search"
    urls+=("$scratch/book/$language/search.html?q=$words")
done
mapfile -t found < <(browse results "${urls[@]}" 2>&1)
for i in "${!searches[@]}"; do
    IFS='|' read -r language words page <<<"${searches[i]}"
    if [ -n "$page" ]; then
        like " ${found[i]-none} " " $page " "a search for $words finds $page ($language)"
    else
        is "${found[i]-none}" "" "a search for $words finds nothing ($language)"
    fi
done

done_testing
