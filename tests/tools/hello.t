#!/usr/bin/env bash
# The hello programs: is each at most 60 lines, shown in its chapter's text with its output (which tests/book/commands.t
# compares), right under every policy of the model with the same words, the same on a GPU where there is one, and clear
# about options that it does not have?
. tests/tools/tap.sh

most=60
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT

sources=$(for directory in $CHAPTER_DIRS; do ls "$directory"/hello_*.cu 2>/dev/null; done)
ok $(($(wc -w <<<"$sources") < 4)) "there are hello programs"
for source in $sources; do
    hello=${source%.cu}
    ok $(($(wc -l <"$source") > most)) "$source has at most $most lines"
    grep -q -- "^$hello --on model" "${hello%/*}/README.md"
    ok $? "... and ${hello%/*}/README.md shows what it prints"

    "$hello" --on model >"$said" 2>&1
    is $? 0 "$hello on the model"
    for policy in eager lazy random pct; do
        for seed in 1 2 3; do
            "$hello" --on model --policy $policy --schedule-seed $seed 2>&1 | cmp - "$said"
            is "${PIPESTATUS[*]}" "0 0" "... with --policy $policy, seed $seed"
        done
    done

    "$hello" --on gpu >"$said.gpu" 2>&1
    status=$?
    if [ $status -eq 3 ] && ! grep -q failed "$said.gpu"; then
        is "$(wc -l <"$said.gpu")" 1 "... says in a line why it does not run on a GPU"
    else
        is $status 0 "... on a GPU"
        cmp "$said.gpu" "$said"
        ok $? "... where it prints the same"
    fi
    rm -f "$said.gpu"

    message=$("$hello" --m 100 2>&1)
    is "$?" 2 "... refuses an option of the chapters"
    like "$message" '^--m: accepted are .*--on gpu\|model' "... and says what it accepts"
done
done_testing
