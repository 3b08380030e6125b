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
    for arguments in '--help' '--on model --m 64 --n 64 --k 64'; do
        # shellcheck disable=SC2086 # a list of words
        err=$("$program" $arguments 2>&1 >/dev/full)
        is "$?:$err" "3:standard output could not be written: No space left on device" "$chapter $arguments: a full disk is noticed"
    done
    run "$program" --on model --m 2000000000 --n 2000000000 --k 8
    one_line 2 '--m 2000000000.*accepted' "$chapter: refuses what does not fit in memory"
done

# What a chapter says of its own options, in its checks/options.txt: exit status, options and a pattern of what it says.
for directory in $CHAPTER_DIRS; do
    [ -e "$directory/checks/options.txt" ] || continue
    while IFS='|' read -r expected arguments pattern; do
        # shellcheck disable=SC2086 # a list of words
        run "$directory/${directory##*/}" --on model $arguments
        [ "$expected" != 2 ] || [[ $out != *$'\nkernel '* ]]
        is "$expected:$?" "$status:0" "${directory##*/} $arguments"
        like "$err" "$pattern" "... says so"
    done < <(grep -v '^#' "$directory/checks/options.txt")
done
done_testing
