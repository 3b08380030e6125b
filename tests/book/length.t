#!/usr/bin/env bash
# Is each lesson short, and the front page? Words that are read: no code, no measured tables. At 200 a minute 1500 are 8
# minutes, 2300 are 12.
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
count=$top/tests/book/count_words
command -v perl >/dev/null || skip_all "perl was not found"
cd "$top" || exit 1

for page in [0-9][0-9]_*/README.md beyond/[0-9][0-9]_*/README.md; do
    [ -e "$page" ] || continue
    words=$("$count" "$page")
    words=${words%% *}
    case $page in
    0[1-4]_*) most=1500 ;;
    *) most=2300 ;;
    esac
    [ "${words:-9999}" -le "$most" ] && [ "$words" -gt 500 ]
    ok $? "$page: $words words of at most $most"
done
words=$("$count" README.md)
words=${words%% *}
[ "${words:-9999}" -le 900 ] && [ "$words" -gt 300 ]
ok $? "README.md: $words words of at most 900"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/page.md" <<'TEXT'
# One two
three [four](http://not/counted) 5 | six |
```
not counted
```
<!-- figures: ladder -->
not counted
<!-- /figures -->
| seven | 8 | `eight` |
TEXT
is "$("$count" "$scratch/page.md")" "7 $scratch/page.md" "what counts as a word"
printf '# 一二\nthree 四五六七 [八九](http://not/counted)，十 1\n' >"$scratch/page.zh.md"
is "$("$count" "$scratch/page.zh.md")" "5 $scratch/page.zh.md" "two characters of a Chinese text are one"

done_testing
