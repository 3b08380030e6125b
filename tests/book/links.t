#!/usr/bin/env bash
# Does every link within the repository lead where it says, and would check_links say so if one did not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_links
command -v perl >/dev/null || skip_all "perl was not found"
cd "$top" || exit 1

said=$("$check" 2>&1)
ok $? "every link of every Markdown file leads where it says"
like "$said" '^[1-9][0-9][0-9]+ links$' "and there are some"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p part/deep
cat >part/page.md <<'TEXT'
# First heading
[up](../README.md) [anchor](../README.md#front-page) [own](#first-heading) [a
link over two lines](deep/) ![picture](deep/a.svg) [web](https://example.org/none) `[code](none.md)`
and <a id="own_name"></a>
[9.7]: four of them
``` text
[block](none.md)
```
TEXT
printf '# 第一节：`code` 与 A（B）、C³\n' >part/page.zh.md
: >part/deep/a.svg
mkdir -p 01_one beyond/02_two
: >01_one/page.md
: >beyond/02_two/page.md
# judge STATUS PATTERN NAME
judge() {
    said=$("$check" 2>&1)
    is "$?" "$1" "$3"
    like "$said" "$2" "$3: named"
}
front() { printf '# Front page\n\n%s\n' "$1" >README.md; }
front '[good](part/page.md#first-heading) [named](part/page.md#own_name)'
judge 0 '^7 links$' "good links"
front '[01](01_one/page.md) [chapter 02](beyond/02_two/) [02_two and more](beyond/02_two/page.md) [64_byte](part/page.md) [0123](part/)'
judge 0 '^10 links$' "links that name a chapter, and numbers that are none"
front '[第 01 章](01_one/page.md) [中文](part/page.zh.md#第一节code-与-abc)'
judge 0 '^7 links$' "a Chinese heading, without its punctuation as on GitHub"
while IFS="|" read -r link pattern; do
    front "text
$link"
    judge 1 "^README.md:4: .*$pattern" "$link"
done <<'LIST'
[file](part/none.md)|no such file
[file](part/Page.md)|no such file
[out](../../etc/passwd)|no such file
[root](/part/page.md)|no such file
![picture](part/deep/b.svg)|no such file
[anchor](part/page.md#second-heading)|part/page.md has no such heading
[anchor](part/page.md#other_name)|part/page.md has no such heading
[anchor](#first-heading)|README.md has no such heading
[line](part/deep/a.svg#L3)|moves with every change
[reference]: part/none.md|no such file
[02](01_one/page.md)|its text names chapter 02
[01 some bug](beyond/02_two/page.md)|its text names chapter 01
[Chapter 01](#front-page)|its text names chapter 01
[第 02 章](01_one/page.md)|its text names chapter 02
[02 章](01_one/page.md)|its text names chapter 02
[中文](part/page.zh.md#第一节)|part/page.zh.md has no such heading
<img src="part/none.svg">|no such file
LIST
mkdir build && : >build/page.md
front '[built](build/page.md)'
judge 1 'no such file' "a file that only a build makes"

done_testing
