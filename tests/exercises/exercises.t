#!/usr/bin/env bash
# Is every exercise's solution right, and does it show the effect that is promised? And would this test notice if not?
. tests/tools/tap.sh
unset MAKEFLAGS MFLAGS MAKELEVEL # what make says to a sub-make would stand among the output
. tests/exercises/exercises.sh

[ -n "$HAVE_MODEL" ] || skip_all "there is no CPU model"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# ---- the solutions

for chapter in $CHAPTERS; do
    build_unbroken "$chapter" || exit 1
done
mutant_names | xargs -P "$(nproc)" -n 3 tests/exercises/judge | sort >"$scratch/results"
while IFS=$'\t' read -r name verdict; do
    [ "$verdict" = ok ]
    ok $? "$name"
    [ "$verdict" = ok ] || explain "$verdict"
    if [ "$(header "$name" needs)" = nvcc ] && [ -n "$NO_NVCC" ]; then
        skip "$name: its effect" "$NO_NVCC"
    fi
done <"$scratch/results"
is "$(cut -f 1 "$scratch/results" | tr '\n' ' ')" "$(mutant_names | tr '\n' ' ')" "each of them was judged"

# ---- on the GPU: compiled, without spills, and nothing that ptxas had to repair

if [ -n "$NO_NVCC" ]; then
    skip "the solutions, compiled for the GPU" "$NO_NVCC"
else
    tests/exercises/compile_for_gpu 2>/dev/null | sort >"$scratch/compiled"
    while IFS=$'\t' read -r name verdict; do
        is "$verdict" ok "$name, compiled for the GPU"
    done <"$scratch/compiled"
    is "$(cut -f 1 "$scratch/compiled" | tr '\n' ' ')" "$(mutant_names | tr '\n' ' ')" "each of them was compiled"
fi

# ---- three in every chapter, and its README tells them

# orders CHAPTER: the numbers of its exercises.
orders() { for name in $(exercises "${1%%_*}"); do header "$name" order; done | paste -sd ' '; }

# told README: its section of exercises.
told() { awk '/^## / { inside = /^## Exercises$/ } /^## Further reading$/ { exit } inside' "$1"; }

for chapter in $CHAPTERS; do
    is "$(orders "$chapter")" "1 2 3" "$chapter has exercises 1, 2 and 3"
    is "$(told "$chapter/README.md")" "$(tests/exercises/section "${chapter%%_*}")" \
        "its README tells them as the patches do (make exercises-text writes the section)"
done

# ---- patches that must fail

sound=02_padding_instead_of_swizzle
mkdir "$scratch/patches"

# edit SED-SCRIPT PATTERN NAME: with this edit the patch is not accepted, for this reason.
edit() {
    local result unsound=02_unsound
    sed "$1" "$PATCHES/$sound.patch" >"$scratch/patches/$unsound.patch"
    result=$(PATCHES=$scratch/patches tests/exercises/judge "$unsound")
    like "$result" "^$unsound	$2" "$3"
}

edit '' 'ok$' "an exercise as it is, in another place, is accepted"
edit '/^# hint/d' "it has no line .# hint:" "not accepted: no hint"
edit '/^# run/d' "it has 0 lines .# run:" "not accepted: no options"
edit 's/^# run:.*/&\n&/' "it has 2 lines .# run:" "not accepted: options twice"
edit 's/^# run:.*/&\n# needs: a GPU/' ".# needs:. is not nvcc" "not accepted: it needs something else than nvcc"
edit 's|^+++ b/.*|+++ b/common/device/swizzle.h|' "it changes common" "not accepted: it changes another file"
edit 's/^# before:.*/# before: no such line/' "before: no line matches" "not accepted: nothing matches before"
edit 's/^# after:.*/# after: no such line/' "after: no line matches" "not accepted: nothing matches after"
edit 's/^# before:.*/# before: ./' "before: .*matches after, too" "not accepted: what stands before stands after, too"
edit 's/^# after:.*/# after: ./' "after: .*matches before, too" "not accepted: the other way round"
edit 's/^# show:.*/# show: false/' "its command fails before" "not accepted: its command fails"
edit 's/^# show:.*/# show: $PROGRAM.missing | cat/' "its command fails before" "not accepted: the program in its command fails"
edit 's/^-/-not in the source /' "it cannot be built.*occur nowhere" "not accepted: it does not apply"
edit 's/^+.*ldmatrix.*/+ this is not C/' "it cannot be built" "not accepted: it does not compile"
edit 's/^+.*\[row \* ROW + chunk \* 8\].*/+        *(uint4 *)\&tile[row * ROW + (chunk ^ (row \& 1)) * 8] = data;/' "exit status [14] with --m" "not accepted: it is wrong"
rm -rf "$BUILT/02_unsound"

if [ -z "$NO_NVCC" ]; then
    # A fragment whose index is not known when the kernel is compiled moves to local memory.
    sed 's/^+.*ldmatrix.*f->a\[i\].*/+        ldmatrix_x4(f->a[(i + lane) % (WM \/ 16)], \&tile_a[row * ROW]);/' \
        "$PATCHES/$sound.patch" >"$scratch/patches/02_unsound.patch"
    said=$(PATCHES=$scratch/patches BUILT=$scratch/built tests/exercises/compile_for_gpu 2>/dev/null)
    is "$?" 1 "a solution with an array in local memory: exit status 1"
    like "$said" "^02_unsound	.*bytes of stack frame" "and it is said why"
fi

# ---- make exercise-NN, make solve-NN

said=$(make -s exercise-02 2>&1)
like "$said" "^1[.] .*2[.] .*3[.] .*Hint: .*make solve-02 EX=" "make exercise-02 lists the exercises of chapter 02"
said=$(tests/exercises/solve 02 no_such_exercise 2>&1)
is "$?" 2 "an unknown EX: exit status 2"
like "$said" "^EX=no_such_exercise: .* ${sound#*_}" "in a line that lists the names"
said=$(tests/exercises/solve 02 "${sound#*_}" 2>&1)
is "$?" 0 "a known one: exit status 0"
like "$said" "^--- a/02.*effect .*right .*before:.*after:" "diff, run and effect"
done_testing
