#!/usr/bin/env bash
# Are links, tables, figures and sections of the texts as they should be, and would check_texts say so if they were not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_texts
cd "$top" || exit 1
said=$("$check" 2>&1)
like "$?:$said" '^0:[0-9]{3,} figures, [0-9]{3,} links, [0-9]{3,} sections, [0-9]{3,} tables$' "all texts are right, and there are some"
[ "$tap_failed" -eq 0 ] || explain "$said"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p part/deep build 01_one beyond/02_two tests/bench/results
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
echo '/* PTX 9.7.20 */' >page.h
touch part/deep/a.svg build/page.md 01_one/page.md beyond/02_two/page.md
printf 'gpu,m,median_tflops,sm_mhz\nA,8192,803.64,1980\nA,8192,1234.56,1979\n' >tests/bench/results/a.csv
printf 'gpu,limit,median,min,max\nA,wgmma,920.44,919.83,920.81\n' >tests/bench/results/b.csv
# CHECK, file, exit status, what is said, the text below a heading; lines end in \n.
while IFS='@' read -r kind page status said text; do
    printf '# Front page\n\n%b\n' "$text" >"$page"
    got=$("$check" "$kind" ${page#README.md} 2>&1)
    like "$?:$got" "^$status:($page:)?$said" "$kind: $text"
done <<'LIST'
links@README.md@0@7 links$@[good](part/page.md#first-heading) [named](part/page.md#own_name)
links@README.md@0@10 links$@[01](01_one/page.md) [chapter 02](beyond/02_two/) [02_two and more](beyond/02_two/page.md) [64_byte](part/page.md) [0123](part/)
links@README.md@0@7 links$@[第 01 章](01_one/page.md) [中文](part/page.zh.md#第一节code-与-abc)
links@README.md@1@4: .*no such file@text\n[file](part/none.md)
links@README.md@1@3: .*no such file@[out](../../etc/passwd)
links@README.md@1@3: .*no such file@[root](/part/page.md)
links@README.md@1@3: .*no such file@![picture](part/deep/b.svg)
links@README.md@1@3: .*part/page.md has no such heading@[anchor](part/page.md#second-heading)
links@README.md@1@3: .*README.md has no such heading@[anchor](#first-heading)
links@README.md@1@3: .*moves with every change@[line](part/deep/a.svg#L3)
links@README.md@1@3: .*no such file@[reference]: part/none.md
links@README.md@1@3: .*its text names chapter 02@[02](01_one/page.md)
links@README.md@1@3: .*its text names chapter 01@[Chapter 01](#front-page)
links@README.md@1@3: .*its text names chapter 02@[第 02 章](01_one/page.md)
links@README.md@1@3: .*part/page.zh.md has no such heading@[中文](part/page.zh.md#第一节)
links@README.md@1@3: .*no such file@<img src="part/none.svg">
links@README.md@1@3: .*no such file@[only a build makes it](build/page.md)
tables@page.md@0@1 tables@| a | b |\n| --- | ---: |\n| c | d \\| e |
tables@page.md@0@2 tables@| a |\n| --- |\n\n| a | b |\n|---|---|\n
tables@page.md@0@0 tables@```\n| a |\n| b | c |\n```
tables@page.md@1@5: 1 columns, the head has 2@| a | b |\n| --- | --- |\n| c |
tables@page.md@1@5: 3 columns, the head has 2@| a | b |\n| --- | --- |\n| c | `d|e` |
tables@page.md@1@3: a table without@| a | b |\n| c | d |
tables@page.md@1@4: the section .* already@## One\n## One
tables@page.md@1@4: a line of text begins@Text\n<!-- bugs: x -->32 of 139<!-- end --> and more
tables@page.md@1@3: a line of text begins@- <!-- bugs: x -->32<!-- end --> **more**
tables@page.md@1@4: a line of text begins@<!-- two\nlines --> and text
tables@page.md@0@0 tables@Text <!-- bugs: x -->32<!-- end -->\n\n<!-- figures: y -->\n<!-- a --> <img>\n\n```\n<!-- in --> a block\n```
sections@page.md@0@4 sections@PTX 9.1: 9.7.9.27.1.2, (8.9.5)\n## mbarrier [9.7.13.15]\nnever two behind [.16]
sections@page.md@0@0 sections@version 1.9.7.9, 12.9.7.2 and [.9] of nothing
sections@page.md@1@3: .*has no section 9.7.9.25.5.2@PTX 9.1, 9.7.9.25.5.2
sections@page.md@1@4: .*has no section 9.7.13.15.18@## mbarrier [9.7.13.15]\nPTX 9.1 [.18]
sections@page.md@1@3: .*not the edition@PTX 9.7.9.25.2, of CUDA 9.1.85
sections@README.md@1@.*page.h:1: .*has no section 9.7.20@PTX 9.1
figures@page.md@0@1 figures@It reaches 804 TFLOP/s.
figures@page.md@0@3 figures@It reaches 803.6 TFLOP/s. It lies at 920.8 TFLOP/s, and 1,235 TFLOPS.
figures@page.md@0@2 figures@It lies at 919.83 to 920.8 TFLOP/s.
figures@page.md@0@1 figures@> The data sheet has 3,958\n> TFLOPS.
figures@page.md@1@3: no CSV has 803.7@It reaches 803.7 TFLOP/s.
figures@page.md@1@3: no CSV has 1980@It reaches 1980 TFLOP/s.
figures@page.md@1@4: no CSV has 700@> It lies\n> at 700 TFLOP/s.
figures@page.md@0@0 figures@<!-- figures: ladder -->\n1 TFLOP/s\n<!-- /figures -->
figures@page.md@0@0 figures@**Prediction.** It will reach\n12 TFLOP/s.
figures@page.md@1@5: no CSV has 12@**Prediction.** It will.\n\nIt reaches 12 TFLOP/s.
figures@page.md@0@0 figures@```\n1 TFLOP/s\n```
figures@page.md@0@0 figures@| x | 1 TFLOP/s |
figures@page.zh.md@0@0 figures@800 TFLOP/s
figures@page.md@1@5: 7 %: nothing says@## A\n\nIt gains 7 %.
figures@page.md@1@7: 31 µs@## A\n\n| a | b |\n| --- | --- |\n| c | 31 µs |
figures@page.md@1@9: 12 ms@## A\n\n[rows](tests/bench/results/a.csv)\n\n## B\n\nIt takes 12 ms.
figures@page.md@1@5: 9 W@## A\n\nIt draws 9\nW then.
figures@page.md@0@1 figures@## A\n\nIt gains 7 %.\n\n[rows](tests/bench/results/a.csv)
figures@page.md@0@0 figures@## A\n\nIt gains 7 % (H200, 2026-11-22).
figures@page.md@0@1 figures@## A\n\nIt runs at 1979 MHz.
figures@page.md@0@0 figures@## A\n\n```\n7 %\n```
figures@page.md@0@0 figures@## A\n\n<!-- figures: x -->\n| 7 % |\n<!-- /figures -->
LIST
done_testing
