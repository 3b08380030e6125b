#!/usr/bin/env bash
# Does the CPU model name every bug that is put into the chapters, whatever the schedule, and only then? And would this
# test notice if not? Prints the table of mutants to stderr at its end.
. tests/tools/tap.sh
unset MAKEFLAGS MFLAGS MAKELEVEL # what make says to a sub-make would stand among the output
. tests/mutants/mutants.sh

[ -n "$HAVE_MODEL" ] || skip_all "there is no CPU model"
least=60
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# judge FILE...: tests/mutants/judge of all, on every core.
judge() { printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 "$MUTANTS/judge"; }

# ---- the mutants

count=$(mutant_names | wc -l)
ok $((count < least)) "there are $count mutants, $least or more"
judge "$MUTANTS"/*.patch | sort >"$scratch/results"
while IFS=$'\t' read -r name seen verdict; do
    [ "$verdict" = ok ]
    ok $? "$name: ${seen:-not run}"
    [ "$verdict" = ok ] || explain "$verdict"
done <"$scratch/results"
is "$(cut -f 1 "$scratch/results" | tr '\n' ' ')" "$(mutant_names | tr '\n' ' ')" "each of them was judged"

# ---- the chapters without them, with the same options: no report, and right

# unbroken CHAPTER OPTIONS...
unbroken() {
    local program=build/mutants/unbroken/$1/program policy said
    shift
    for policy in eager lazy random pct; do
        said=$("$program" --on model --data integers "$@" --policy "$policy" --schedule-seed 1 --schedules 5 2>&1) ||
            { echo "--policy $policy: $said" && return 1; }
    done
}
export -f unbroken

runs=$(for name in $(mutant_names); do echo "$(chapter_of "$name") $(header "$name" run)"; done | sort -u)
for chapter in $(cut -d ' ' -f 1 <<<"$runs" | sort -u); do
    build_unbroken "$chapter" || exit 1
done
xargs -P "$(nproc)" -d '\n' -n 1 bash -c '
    said=$(unbroken $0) && said=ok
    printf "%s\t%s\n" "$(tr "\n\t" "  " <<<"$said" | sed "s/ *$//")" "$0"' <<<"$runs" | sort >"$scratch/unbroken"
while IFS=$'\t' read -r verdict run; do
    [ "$verdict" = ok ]
    ok $? "unbroken, 4 policies x 5 seeds: $run"
    [ "$verdict" = ok ] || explain "$verdict"
done <"$scratch/unbroken"
is "$(wc -l <"$scratch/unbroken")" "$(wc -l <<<"$runs")" "each of them was run"

# ---- the table in README.md

is "$(sed -n '/^<!-- table -->$/,/^<!-- end of table -->$/p' "$MUTANTS/README.md")" \
    "$(echo '<!-- table -->' && "$MUTANTS/table" && echo '<!-- end of table -->')" \
    "the table in README.md is that of the patches (make mutants-table writes it)"

is "$(sed -n '/^<!-- symptoms -->$/,/^<!-- end of symptoms -->$/p' book/troubleshooting.md)" \
    "$(echo '<!-- symptoms -->' && "$MUTANTS/symptoms" && echo '<!-- end of symptoms -->')" \
    "the tables in book/troubleshooting.md are those of the patches (make mutants-table writes them)"

covered=$(sed -n '/^## What they cover/,/^## All/p' "$MUTANTS/README.md" | grep -o '0[2-8]_[a-z0-9_]*' | sort -u)
is "$covered" "$(mutant_names)" "what README.md says they cover names all of them and no others"

# ---- patches that must fail

sound=$MUTANTS/07_no_wgmma_fence.patch
unsound=$scratch/07_unsound.patch

# refused PATTERN NAME: the patch in $unsound is not accepted, for this reason.
refused() {
    local result
    result=$("$MUTANTS/judge" "$unsound")
    like "$result" "^07_unsound	.*$1" "not accepted: $2"
}

# edit SED-SCRIPT: makes $unsound of the sound one.
edit() { sed "$1" "$sound" >"$unsound"; }

cp "$sound" "$unsound"
refused '	ok$' "nothing, that is: unchanged it is"
edit 's/^# verdict: .*/# verdict: RACE_RAW/'
refused "20 runs are not as stated: reported WGMMA_FENCE" "another verdict"
edit '/^# lesson/d'
refused "0 lines .# lesson:" "a header line is missing"
edit 's/^# at: .*/# at: wgmma_commit_group();/'
refused "does not name line" "another source line"
edit 's/^# at: .*/# at: no such line/'
refused "no line of .* has" "a source line that does not exist"
edit '/^# at/d; s/^# lesson/# names: full[7]\n&/'
refused "does not say .full" "another barrier"
edit '/^# at/d'
refused "neither" "no barrier and no source line"
edit 's/^-            wgmma_fence/-            wgmma_fense/'
refused "cannot be built.*occur nowhere" "it does not apply"
edit 's/^ .*UNROLL/+            wgmma_fence();\n&/'
refused "cannot be built.*the same after it" "it changes nothing"
edit 's/^ .*UNROLL/+            (void)0;\n+            wgmma_fence();\n&/'
refused "no report, exit status 0" "it changes nothing that matters"
edit 's/^ .*UNROLL/+            this is not C\n&/'
refused "cannot be built" "it does not compile"
sed '/^@@/,$d' "$sound" >"$unsound"
printf '%s\n' '@@ -1,1 +1,1 @@' '-            }' '+            } ;' >>"$unsound"
refused "cannot be built.*occur in [0-9]+ places" "its place is not clear"
rm -rf build/mutants/07_unsound

# ---- make break-NN

said=$(make -s break-07 2>&1)
is "$(wc -l <<<"$said")" "$(mutant_names 07_ | wc -l)" "make break-07 lists the mutants of chapter 07"
said=$("$MUTANTS/break" 07 no_such_bug 2>&1)
is "$?" 2 "an unknown BUG: exit status 2"
like "$said" "^BUG=no_such_bug: .* no_wgmma_fence" "in a line that lists the names"
is "$(wc -l <<<"$said")" 1 "in one line"
said=$("$MUTANTS/break" 07 no_wgmma_fence 2>&1)
is "$?" 0 "a known one: exit status 0"
like "$said" "^--- a/07.*-            wgmma_fence.*lesson .*model: WGMMA_FENCE: .*exit status 4" "diff, lesson and report"

# ---- make map-NN

said=$(CELL=1x8 "$MUTANTS/map" 06 stride_and_leading_offset_swapped 2>&1)
is "$?" 0 "a map of a wrong result: exit status 0"
like "$said" "PROVENANCE.*WRONG .*C.128.*a character for 1 rows x 8 columns" "rule, what is wrong, and the map"
is "$(grep -c '^ *[0-9]* \.#\{15\}$' <<<"$said")" 24 "the first 8 columns of each row are right, the others wrong"
said=$("$MUTANTS/map" 06 "" "--m 100 --n 130 --k 70" 2>&1)
like "$said" "^right    13000 elements" "the chapter itself is right"
is "$(grep -c '^ *[0-9]* \.\{17\}$' <<<"$said")" 7 "in every cell"
"$MUTANTS/map" 06 no_such_bug >/dev/null 2>&1
is "$?" 2 "a map with an unknown BUG: exit status 2"
CELL=8 "$MUTANTS/map" 06 "" >/dev/null 2>&1
is "$?" 2 "with a CELL that is not RxC: the same"

{
    printf '\n%-44s %s\n' mutant "reported first, in 4 policies x 5 seeds"
    awk -F '\t' '{ printf "%-44s %s%s\n", $1, $2, $3 == "ok" ? "" : "  NOT AS STATED" }' "$scratch/results"
} >&2
done_testing
