#!/usr/bin/env bash
# Are the three bugs of a workshop put into their chapters unnamed, and has the handout the plan's minutes?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# ---- the bugs without a name ----

cp -r book tests 0*_* "$scratch" # a tree that is in no repository
for n in 1 2 3; do
    said=$(cd "$scratch" && book/room/blind $n 2>&1)
    like "$?:$said" "^0:there is a bug in 0[57]_.*make 0" "bug $n"
    bug=$(sed -n "s/^$n) bug=\(.*\) ;;/\1/p" book/room/blind)
    case $said in *"${bug#*_}"*) ! : ;; esac
    ok $? "bug $n is not named"
    chapter=$(echo "${bug%%_*}"_*)
    cmp -s "$scratch/$chapter/$chapter.cu" "$chapter/$chapter.cu"
    is $? 1 "bug $n is in $chapter"
    cp "$chapter/$chapter.cu" "$scratch/$chapter/"
done
said=$(book/room/blind 4 2>&1)
is "$?:$said" "2:make blind-1, blind-2 or blind-3" "there are three"

# ---- the plan is the same in both texts ----

minutes() { perl -ne 'print "$1 " if /^\| \d:\d\d \| (\d+) \|/; last if /^## A full day/' "$1"; }
is "$(minutes book/room/handout.md)" "$(minutes book/teaching.md)" "the handout has the minutes of the plan"
is "$(minutes book/teaching.md | awk '{ for (i = 1; i <= NF; i++) s += $i } END { print s }')" 240 "which are four hours"

done_testing
