#!/usr/bin/env bash
# Does a chapter own what is its own? In a copy of the tree, beyond/14_tcgen05 becomes beyond/16_mine, and nothing else
# changes: make, run, diff, break, lab and check must work for 16. And nothing in common/, the Makefile or tests/tools
# may name a chapter beyond 08.
. tests/tools/tap.sh

# names FILE...: the lines that name a chapter beyond 08
beyond=$(for d in $CHAPTER_DIRS; do echo "$d"; done | sed -n 's/^beyond\/\([0-9]*\)_.*/\1/p' | paste -sd '|')
names() {
    # shellcheck disable=SC2016 # perl's variables
    NUMBERS=$beyond perl -ne 'BEGIN { $n = $ENV{NUMBERS} }
        print "$ARGV:$.: $_" if m{(?<![\w.-])(?:$n)_[a-z]\w*|["\x27](?:$n)["\x27]|\bchapters?[ ](?:$n)\b|\b(?:$n)\x27s\b|beyond/(?:$n)
            |gpu_chapter_(?:$n)|\b(?:run|diff|profile|break|map|exercise|solve|lab|check|timeline|one|make)[- ](?:$n)\b}x
            || $ARGV =~ /Makefile|[.]mk$/ && s/clang-format \d+//r =~ m{(?<![\w.-])(?:$n)(?![\w.%])}; close ARGV if eof' "$@"
}
list=$(find Makefile common tests/tools -type f ! -name own_chapter.t)
# shellcheck disable=SC2086 # a list of files
is "$(names $list)" "" "nothing in common/, the Makefile and tests/tools names a chapter beyond 08"
first=${beyond%%|*}
for line in "if chapter is ${first}_every" "strcmp(name, \"$first\")" "as chapter $first does" "# $first's choice" "make run-$first"; do
    like "$(names <(echo "$line"))" "$first" "seen: $line"
done

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
copied_tree "$copy" || exit 1
mkdir -p "$copy/$B" && cp -a "$B"/harness "$B"/timeline "$B"/model_core "$B"/flags.* "$copy/$B" && cp -a build/flags.link "$copy/build" || exit 1
cd "$copy" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL

# mine ARGUMENT...: make for the new chapter: $said, $status
mine() {
    said=$(make NVCC="$NVCC" "$@" 2>&1)
    status=$?
}

cp -a beyond/14_tcgen05 beyond/16_mine
rm -f beyond/16_mine/{14_tcgen05,hello_*} # two programs less to build
mv beyond/16_mine/14_tcgen05.cu beyond/16_mine/16_mine.cu
find beyond/16_mine -type f -exec sed -i s/14_tcgen05/16_mine/g {} +
mine 16
is "$status" 0 "make 16" || explain "$said"
mine run-16
like "$status:$said" '^0:.*right    normal.*right    500 x 600 x 333 on 2 SMs' "make run-16: right, at its own sizes too"
mine diff-16
like "$status:$said" '^0:.*--- 08_persistent' "make diff-16: with the chapter that its build.mk names"
mine break-16 BUG=no_fence_after_acc_full
like "$status:$said" '^0:.*expected TCGEN05_FENCE' "make break-16: names the bug"
mine lab-16
like "$status:$said" '^0:my/16_mine.cu' "make lab-16"
mine check-16 FILE=beyond/16_mine/16_mine.cu
like "$status:$said" '^0:' "make check-16 of the chapter as it is"
mine exercise-16
like "$status:$said" '^0:1[.]' "make exercise-16"
done_testing
