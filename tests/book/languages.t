#!/usr/bin/env bash
# Do the Chinese pages say what the English ones say, as far as a program can tell, and would check_languages say so if
# not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_languages
cd "$top" || exit 1

said=$("$check" 2>&1)
ok $? "each page of the list has a Chinese one, which says the same"
like "$said" '^[1-9][0-9] Chinese pages$' "and there are some"
[ "$tap_failed" -eq 0 ] || explain "$said"

# ---- two small pages ----

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p 02_two book
: >picture.svg
printf '# Two\n[中文](README.zh.md)\n## First part\n## Second part\n' >02_two/README.md
printf '# 二\n[English](README.md)\n## 第一部分\n## 第二部分\n' >02_two/README.zh.md
cat >page.md <<'TEXT'
# Page
[中文](page.zh.md) · [next](02_two/)

<!-- figures: headline 01 -->
written in English: 1
<!-- /figures -->

## Three x 4 tiles
It has 98,304 bytes and 4096 x 4096 x 1024 elements, 53.6 % of 8192³, on an H200; see [there](02_two/README.md#second-part).
On an H200 it was <!-- bugs: a -->wrong in 6 of 300 runs<!-- end -->: `make break-01`,
16-bit `a b`. The `a
b` again.

![the picture](picture.svg)

```sh exit=3
make 01   # in English
```

### Rules
| rule | value |
| --- | ---: |
| one, 2026-11-22 | 1,024 `x` |
| two | 3 and 3 |
TEXT
cat >page.zh.md <<'TEXT'
# 页
[English](page.md) · [下一章](02_two/README.zh.md)

<!-- figures: headline 01 -->
中文：2
<!-- /figures -->

## 三乘 4 分块
在 H200 上，它有 98304 字节和 4096×4096×1024 个元素，占 8192³ 的 53.6%；`a b`，16 位，`make break-01`，见[那里](02_two/README.zh.md#第二部分)，<!-- bugs: a -->300
次中 6 次<!-- end -->。

![图](picture.svg)

```sh exit=3
make 01   # in English
```

### 规则
| 规则 | 值 |
| --- | ---: |
| 一，2026 年 11 月 22 日 | 1024 `x` |
| 二 | 3 和 3 |
TEXT
"$check" --confirm page.zh.md >/dev/null
cp -r . "$scratch.good"
trap 'rm -rf "$scratch" "$scratch.good"' EXIT
# judge STATUS PATTERN NAME
judge() {
    said=$("$check" page.zh.md 2>&1)
    is "$?" "$1" "$3"
    like "$said" "$2" "$3: said"
}
judge 0 '^1 Chinese pages$' "two pages that say the same"

# What is changed in which page by sed; what is said of it.
while IFS='@' read -r name page edit pattern; do
    sed -i "$edit" "$page"
    ! cmp -s "$page" "$scratch.good/$page"
    ok $? "$name: the edit changes the page"
    judge 1 "$pattern" "$name"
    cp "$scratch.good/$page" "$page"
done <<'LIST'
a heading is missing@page.zh.md@/^### /d@^page.zh.md:[0-9]+: headings: English has 3, Chinese 2; the first that differ: ### Rules, none$
a changed command@page.zh.md@s/^make 01/make 02/@^page.zh.md:8: "Three x 4 tiles" \(page.md:8\): fenced blocks: only in English: 2: make 01   # in English; only in Chinese: 2: make 02
a block is missing@page.zh.md@/^```/,/^```/d@fenced blocks: only in English: 1: ```sh exit=3$
a stale figure@page.md@s/53.6/54.6/@^page.zh.md:8: "Three x 4 tiles" \(page.md:8\): numerals: only in English: 54.6; only in Chinese: 53.6
another card@page.zh.md@s/H200/H100/@numerals: only in English: H200; only in Chinese: H100
a row is missing@page.zh.md@/^. 二/d@tables: only in English: 3 rows and 6 cells; only in Chinese: 2 rows and 4 cells
a dropped picture@page.zh.md@/^!/d@^page.zh.md:8: "Three x 4 tiles" \(page.md:8\): pictures and links: only in English: picture.svg
a link to another heading@page.zh.md@s/#第二部分/#第一部分/@links: only in English: 02_two/README.md#second-part; only in Chinese: 02_two/README.md#first-part
a link into English@page.zh.md@s,02_two/README.zh.md),02_two/),@^page.zh.md:2: \(02_two/\): leads to the English page; there is 02_two/README.zh.md
other code@page.zh.md@s/break-01/break-02/@code: only in English: `make break-01`; only in Chinese: `make break-02`
another phrase of a tool@page.zh.md@s/bugs: a/bugs: b/@comments: only in English: <!-- bugs: a -->; only in Chinese: <!-- bugs: b -->
no way to the Chinese page@page.md@s/^\[中文[^·]*· //@^page.md:1: does not link to page.zh.md
no way to the English page@page.zh.md@s/^\[English[^·]*· //@^page.zh.md:1: does not link to page.md
other English words@page.md@s/It has/It seldom has/@^page.zh.md:8: "Three x 4 tiles" \(page.md:8\): the English words are others than those that this page was confirmed for
no blank@page.zh.md@s/在 H200/在H200/@^page.zh.md:9: "在H": no blank between Chinese and Latin
Latin punctuation@page.zh.md@s,个元素，,个元素\,,@^page.zh.md:9: "素,": Latin punctuation
a page that was never confirmed@page.zh.md@/^<!-- of/d@has no line <!-- of: ... -->
LIST
sed -i 's/^It has/It\nhas/; s/written in English: 1/written otherwise/; s/wrong in 6/wrong in 7/' page.md
judge 0 '^1 Chinese' "other line breaks, and what tools write, are not what a page is confirmed for"
cp "$scratch.good"/page*.md .

# ---- what is written ----

sed -i 's/^make 01/make 02/; s/It has/It seldom has/' page.md
said=$("$check" --write page.zh.md 2>&1)
is "$(grep -c . <<<"$said"):$(grep '^make' page.zh.md)" "1:make 02   # in English" "--write brings over commands, and only the words are wrong"
"$check" --confirm page.zh.md >/dev/null
judge 0 '^1 Chinese' "--confirm"
is "$(grep -c '^<!-- of' page.zh.md)" 1 "one line of sums, the last"
# ---- the list, the front page ----

printf '# Front\n[中文](book/README.zh.md) [page](page.md) [two](02_two/)\n' >README.md
printf '# 首页\n[English](../README.md) [页](../page.zh.md) [二](../02_two/README.zh.md)\n' >book/README.zh.md
said=$("$check" --confirm book/README.zh.md)
is "$?:$said" '0:1 Chinese pages' "the front page, in another directory"
said=$("$check")
is "$?" 1 "pages of the list are missing"
like "$said" 'book/rules.zh.md:1: is missing: the Chinese version of book/rules.md' "... and named"
like "$said" '02_two/README.zh.md:4: has no line' "a page whose Chinese version was never confirmed is named"
rm 02_two/README.zh.md
like "$("$check")" '02_two/README.zh.md:1: is missing' "a page of the list was lost"
: >book/other.zh.md
like "$("$check")" 'book/other.zh.md:1: has no English page: there is no book/other.md' "a Chinese page without an English one"
said=$("$check" page.md 2>&1)
is "$?:$said" "2:usage: check_languages [--write | --confirm] [PAGE.zh.md...]" "bad usage"

done_testing
