#!/usr/bin/env bash
# Do the programs of the chapters refuse bad input in one line with exit status 2, say in one line what is missing where
# they cannot run (3), and run where they can (0)? tests/unit/test_options.c has the refusals in full.
. tests/tools/tap.sh
errors=$(mktemp) || exit 1
trap 'rm -f "$errors"' EXIT

# run PROGRAM [ARGUMENT...]: $out, $err, $status
run() {
    out=$(timeout 120 "$@" 2>"$errors" </dev/null)
    status=$?
    err=$(<"$errors")
}

# one_line STATUS PATTERN NAME: the last run ended so, and stderr is one line that matches
one_line() {
    [ "$status" -eq "$1" ] && [ "$(wc -l <<<"$err")" -eq 1 ] && [[ $err =~ $2 ]] && [ -z "$out" ]
    ok $? "$3" || explain "exit status $status; stdout: $out; stderr: $err"
}

[ -n "$CHAPTERS" ]
ok $? "there are chapters"
for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/} program=$directory/${directory##*/}
    run "$program" --m 0
    one_line 2 '--m.*"0".*1 to [0-9]+' "$chapter: --m 0"
    run "$program" --help
    is "$status:$err" "0:" "$chapter: --help ends well"
    like "$out" "usage: .*$chapter.*--k K" "$chapter: --help shows the usage"
    if [ -n "$NO_NVCC" ]; then
        run "$program" --on gpu --m 64 --n 64 --k 64
        one_line 3 'nvcc|GPU' "$chapter: --on gpu, built without nvcc"
    fi
    run "$program" --m 64 --n 64 --k 64 --no-bench
    is "$status:$err" "0:" "$chapter: runs at 64 x 64 x 64"
    run "$program" --on model --m 2000000000 --n 2000000000 --k 8
    one_line 2 '--m 2000000000.*accepted' "$chapter: refuses what does not fit in memory"
done

# What depends on the chapter, each with a part of the line it must get.
while IFS='|' read -r number arguments pattern; do
    # shellcheck disable=SC2086 # a list of words
    run "$(ls -d {,beyond/}"$number"_*/"$number"_*.cu 2>/dev/null | sed 's/\.cu$//')" $arguments
    one_line 2 "$pattern" "$number: $arguments"
done <<'LIST'
01|--on model --variant wide|--variant: 01_naive does not have that choice
01|--on model --experts 2|--experts: 01_naive has no experts
01|--on model --causal|--head-size, --kv-heads, --batches, --causal, --window: 01_naive has no heads
13|--on model --n 256 --kv-heads 3|--kv-heads 3: N = 256 are 2 heads of 128; a divisor of that is accepted
13|--on model --m 30 --k 2000000000 --batches 2|--batches 2 of 2000000000 rows: 2147418112 rows in all are accepted
08|--on model --variant pingpong_128x128 --meet no|--meet: 08_persistent_pingpong does not have that choice
LIST

# What 09 divides by comes from options: none of them may be zero.
nine="beyond/09_every_shape/09_every_shape --on model --m 200 --n 300 --k 70"
run $nine --sms 1 --variant cooperative_128x256_cluster_2x1
is "$status" 2 "09: a cluster of two on one SM is refused"
like "$err" "^09_every_shape has no variant 'cooperative_128x256_cluster_2x1' for a GPU of 1 SMs; it has more than these: pingpong_128x128 pingpong_128x160 .*cooperative_128x256_cluster_2x1 .from 2 SMs on." "... said"
[[ $out != *$'\nkernel '* ]]
ok $? "... and nothing is said of a kernel that there is not"
for group in 1 3 1073741824 2147418112; do
    for variant in cooperative_128x256_cluster_2x2 cooperative_256x200 pingpong_128x192; do
        run $nine --data integers --variant $variant --tile-group $group
        is "$status:$err" "0:" "09: $variant, --tile-group $group"
    done
done
done_testing
