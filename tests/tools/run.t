#!/usr/bin/env bash
# Does tests/run tell good test programs from bad ones?
. tests/tools/tap.sh

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# program NAME LINES: a test program that runs these lines of shell
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/$1"
    chmod +x "$scratch/$1"
}
program good 'echo "ok 1 - a"; echo "ok 2 - b # SKIP no such device"; echo 1..2'
program nothing 'echo "1..0 # SKIP nothing here"'
program bad 'echo "ok 1 - a"; echo "not ok 2 - x"; echo 1..2; exit 1'
program silent 'echo "not ok 1 - x"; echo 1..1'
program planless 'echo "ok 1 - a"'
program chatty 'for i in $(seq 100); do echo "not ok $i - x"; done; echo 1..100'
program short 'echo "ok 1 - a"; echo 1..2'
program crash 'echo "ok 1 - a"; echo 1..1; kill -s SEGV $$'
program status 'echo "ok 1 - a"; echo 1..1; exit 3'
program mute ':'
program bail 'echo "ok 1 - a"; echo "Bail out! no answer"; exit 3'

# judge PROGRAM...: $said, $status
judge() {
    said=$(B=$scratch/build tests/run "${@/#/$scratch/}" 2>&1)
    status=$?
}

judge good nothing
is "$status" 0 "a good and a skipping program: status 0"
is "$(tail -n 1 <<<"$said")" "1 passed, 0 failed, 2 skipped" "and the counts"
like "$said" "skipped: .*good: no such device" "the reason of a skipped test"
like "$said" "skipped: .*nothing: nothing here" "the reason of a skipped program"
judge nothing
ok $((status == 0)) "where nothing passed, it failed"
for name in bad silent planless short crash status mute bail missing; do
    judge good $name
    ok $((status == 0)) "$name: fails"
    like "$said" "(failed|broken): .*$name" "$name: is named"
    like "$(tail -n 1 <<<"$said")" '^[12] passed, [1-9] failed, 1 skipped$' "$name: is counted"
done

# What is printed, where.
program noisy 'echo "RACE_RAW x2" >&2; echo "# global"; echo "ok 1 - a"; echo 1..1'
program why 'echo "RACE_RAW x2"; echo "not ok 1 - x"; echo "#   got 3" >&2; echo "ok 2 - y"; echo 1..2; exit 1'
judge noisy why
ok $(($(grep -c 'RACE_RAW x2' <<<"$said") != 0)) "what a program prints beside its checks is not shown"
ok $(($(grep -c '# global' <<<"$said") != 0)) "nor are the remarks of one that passed"
like "$said" 'not ok 1 - x.*#   got 3' "... but what failed, with the reasons"
ok $(($(grep -c 'ok 2 - y' <<<"$said") != 0)) "... but not what passed"
like "$said" '2 of 2 files  ' "how many files there are"
judge chatty
ok $(($(wc -l <<<"$(grep '^    ' <<<"$said")") != 41)) "of many failures 40 are shown"
V=1 judge noisy
like "$said" 'RACE_RAW x2' "V=1: all is shown"
program slow 'sleep 2; echo "ok 1 - a"; echo 1..1'
if command -v script >/dev/null; then
    said=$(B=$scratch/build script -qec "tests/run $scratch/slow $scratch/good" /dev/null </dev/null 2>&1)
    like "$said" '1 of 2 files, 1 checks passed: slow [12] s' "on a terminal: a line of how far it is, while a program says nothing"
else
    skip "the line on a terminal" "there is no script to make one"
fi
judge
is "$status" 2 "no programs: refused"
done_testing
