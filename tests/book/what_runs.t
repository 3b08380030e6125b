#!/usr/bin/env bash
# Is everything that the texts name run by some tier? And would what_runs notice a name that nothing runs?
. tests/tools/tap.sh
said=$(tests/book/what_runs --check 2>&1)
like "$?:$said" '^0:[0-9]{2,} names have a tier$' "every target, program and option that a text names has its tier"
[ "$tap_failed" -eq 0 ] || explain "$said"

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
git clone -q . "$copy" 2>/dev/null || skip_all "this is no checkout of git"
rm -rf "${copy:?}/tests"
cp -r tests "$copy/" && cd "$copy" || exit 1
# seen NAME TEXT: a page that names what nothing runs
seen() {
    printf '# A page\n\nTry `%s`.\n' "$2" >book/a_page.md
    said=$(tests/book/what_runs --check 2>&1)
    like "$?:$said" "^1:.*book/a_page.md names .*${1}" "seen: $1"
}
seen 'nobody-runs-it, which no tier runs' 'make nobody-runs-it ARGS=1'
seen '77, which no tier runs' 'make 77'
seen '--nobody-takes-it, which no tier runs' '--nobody-takes-it 4'
seen 'BUG=worm, which no chapter has' 'make break-07 BUG=worm'
seen 'EX=no_full_wait, which no chapter has' 'make exercise-07 EX=no_full_wait'
rm book/a_page.md
printf 'make gone\tnever\tno reason\n' >>tests/book/what_runs.tsv
said=$(tests/book/what_runs --check 2>&1)
like "$?:$said" '^1:.*what_runs.tsv has make gone, which no text names' "seen: a reason for what no text names"
done_testing
