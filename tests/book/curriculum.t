#!/usr/bin/env bash
# Is each of the 200 items of the talk and the articles taught somewhere, and would check_curriculum say so if not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_curriculum
command -v perl >/dev/null || skip_all "perl was not found"
cd "$top" || exit 1

said=$("$check" tests/book/curriculum.tsv 200 2>&1)
is "$?:$said" "0:200 items" "every item has its place, and every place exists"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
cat >page.md <<'TEXT'
# A `page`, with more
## Same
## Same
```
# no heading
```
## [Linked](other.md) *words*, and 中文
TEXT
table() { printf '# a remark\n%b' "$1" >table.tsv; }

table '1\tpage.md#same-1\ttopic\n2\tpage.md#a-page-with-more page.md#linked-words-and-中文\ttopic\topinion\n'
said=$("$check" table.tsv 2 2>&1)
is "$?:$said" "0:2 items" "a good table"

# refused TABLE PATTERN NAME
refused() {
    table "$1"
    said=$("$check" table.tsv 2 2>&1)
    is "$?" 1 "$3: noticed"
    like "$said" "$2" "$3: named"
}
good='1\tpage.md#same\ttopic\n'
refused "$good" 'missing: 2' "an item is missing"
refused "$good${good}2\tpage.md#same\ttopic\n" 'table.tsv:3: item 1 is in line 2 already' "an item comes twice"
refused "${good}3\tpage.md#same\ttopic\n" '"3" is no number from 1 to 2' "a number too large"
refused "${good}2\tpage.md#other\ttopic\n" 'page.md has no heading #other' "a heading that does not exist"
refused "${good}2\tpage.md#no-heading\ttopic\n" 'has no heading #no-heading' "a heading in a block of code"
refused "${good}2\tpage.md#same-2\ttopic\n" 'has no heading #same-2' "a heading that is repeated once less"
refused "${good}2\tother.md#same\ttopic\n" 'there is no file other.md' "a file that does not exist"
refused "${good}2\tpage.md\ttopic\n" 'not file#heading' "a place without a heading"
refused "${good}2\t\ttopic\n" 'item 2 has no place' "no place"
refused "${good}2\tpage.md#same\ttopic\tboring\n" '"boring" is no mark' "an unknown mark"
refused "${good}2\tpage.md#same\n" 'not three or four columns' "too few columns"

done_testing
