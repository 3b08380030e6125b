#!/usr/bin/env bash
# Is 09's cards.h what `make tune` writes from the recorded runs, and does that program see what it fits?
. tests/tools/tap.sh
tune=$PWD/$B/tests/bench/tune
top=$PWD
cards=beyond/09_every_shape/cards.h

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/tests/bench/results" "$copy/beyond/09_every_shape"
cp tests/bench/results/*_tune.csv "$copy/tests/bench/results/"
cd "$copy" || exit 1

"$tune"
is $? 0 "it runs"
cmp "$cards" "$top/$cards"
ok $? "$cards is what it writes"

csv=$(ls tests/bench/results/nvidia_h100*_tune.csv)
cp "$csv" kept
# All of ping-pong 128 x 208 with 6 rows twice as fast: then that is what 8192 cubed gets, and its speed is higher.
sed -E 's/,pingpong_128x208 g6,([0-9]+,[0-9]+,[0-9]+),([0-9.]+),/,pingpong_128x208 g6,\1,1999,/' kept >"$csv"
"$tune"
like "$(<$cards)" 'H100[^}]*"pingpong_128x208", 6, [1-9]\.' "a faster group is taken, and its speed"
grep -v ',memory,' kept >"$csv"
message=$("$tune" 2>&1)
is "$?" 2 "without the memory's speed it refuses"
like "$message" "no row with the memory's speed" "... and says so"
"$tune" --memory 3352 "$csv" && "$tune"
is $? 0 "... and appends it"
cmp "$cards" "$top/$cards"
ok $? "... as it was recorded"
sed 's/pingpong_128x208 g6/pingpong_1x1 g6/' kept >"$csv"
message=$("$tune" 2>&1)
is "$?" 2 "a variant that 09 does not have"
like "$message" "does not know" "... is refused"
done_testing
