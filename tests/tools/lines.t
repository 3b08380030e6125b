#!/usr/bin/env bash
# Does make lines count all lines, once, and each kind of test data?
. tests/tools/tap.sh
said=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s lines 2>&1)
is "$?" 0 "make lines"
[ -n "$(git ls-files 2>/dev/null)" ] || skip_all "this is no checkout of git"
all=$(sed -n 's/^ *\([0-9]*\)  in all.*/\1/p' <<<"$said")
# sum NUMBERS: lines of numbers
sum() { echo "$(($(tr '\n' '+' <<<"$1")0))"; }
kinds=$(sed -n 's/^ \{0,8\}\([0-9]\{1,8\}\)  [^ ].*/\1/p' <<<"$(grep -v 'in all' <<<"$said")")
is "$(sum "$kinds")" "$all" "the kinds add up to all"
data=$(sed -n 's/^ *\([0-9]*\)  test data$/\1/p' <<<"$said")
parts=$(grep -A 4 'test data$' <<<"$said" | sed -n 's/^ \{9,\}\([0-9]*\)  .*/\1/p')
is "$(sum "$parts")" "$data" "the kinds of test data add up to all of it"
like "$said" 'longest script: [0-9]+ lines, [a-z]+/' "the longest script is named"
done_testing
