#!/usr/bin/env bash
# Are the tables, sections and paragraphs of the texts whole, and would check_tables say so if one were not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_tables
command -v perl >/dev/null || skip_all "perl was not found"
cd "$top" || exit 1

said=$("$check" 2>&1)
like "$?:$said" '^0:[1-9][0-9]+ tables$' "each row of a table has as many columns as its head, no section is there twice, and no line of text begins with a comment"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
while read -r status said text; do
    printf '# A page\n%b\n' "$text" >page.md
    like "$("$check"):$?" "$said.*:$status\$" "$text"
done <<'LIST'
0 1.tables | a | b |\n| --- | ---: |\n| c | d \\| e |
0 2.tables | a |\n| --- |\n\n| a | b |\n|---|---|\n
0 0.tables ```\n| a |\n| b | c |\n```
1 page.md:4:.1.columns,.the.head.has.2 | a | b |\n| --- | --- |\n| c |
1 page.md:4:.3.columns,.the.head.has.2 | a | b |\n| --- | --- |\n| c | `d|e` |
1 page.md:2:.a.table.without | a | b |\n| c | d |
1 page.md:3:.the.section.*already ## One\n## One
1 page.md:3:.a.line.of.text.begins Text\n<!-- bugs: x -->32 of 139<!-- end --> and more
1 page.md:2:.a.line.of.text.begins - <!-- bugs: x -->32<!-- end --> **more**
1 page.md:3:.a.line.of.text.begins <!-- two\nlines --> and text
0 0.tables Text <!-- bugs: x -->32<!-- end -->\n\n<!-- figures: y -->\n<!-- a --> <img>\n\n```\n<!-- in --> a block\n```
LIST

done_testing
