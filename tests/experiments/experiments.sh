# experiments.sh - what the scripts here share. Source it at the top of the tree.
#
# An experiment's variant may be a patch of a chapter: tests/experiments/NN_name.patch, or an exercise's solution,
# tests/exercises/NN_name.patch with the header line `# speed: yes`.
# shellcheck shell=bash disable=SC2046,SC2086 # these are lists of words
. tests/mutants/mutants.sh

EXPERIMENTS=tests/experiments
PLAN=$EXPERIMENTS/plan
COPIES=build/experiments

# experiment_patches: the paths of all patches.
experiment_patches() {
    local patch
    for patch in "$EXPERIMENTS"/[0-9][0-9]_*.patch; do
        [ ! -e "$patch" ] || echo "$patch"
    done
    grep -ls '^# speed: *yes' tests/exercises/[0-9][0-9]_*.patch || true
}

# value_of PATCH KEY: the values of the header lines `# KEY: ...`, one a line.
value_of() { sed -n -e '/^---/q' -e "s/^# $2: *//p" "$1"; }

# key_of PATCH: what names its copy and its record: experiment_07_n64, exercise_07_name.
key_of() {
    case $1 in
    tests/exercises/*) echo "exercise_$(basename "$1" .patch)" ;;
    *) echo "experiment_$(basename "$1" .patch)" ;;
    esac
}

# copy_patched PATCH DIRECTORY: as copy_mutant; a patch that changes common/ gets a copy of it instead of a link.
copy_patched() {
    local chapter
    chapter=$(chapter_of "$(basename "$1")") || return 1
    rm -rf "$2"
    mkdir -p "$2/$chapter"
    cp "$chapter/$chapter.cu" "$2/$chapter"
    if grep -q '^+++ [^/]*/common/' "$1"; then
        mkdir "$2/common"
        cp -r common/gemm.h common/device common/model common/timeline common/harness "$2/common"
    else
        ln -s "$PWD/common" "$2/common"
    fi
    "$MUTANTS/apply" "$1" "$2"
}

# build_patched_for_gpu PATCH: build/experiments/KEY/gpu.o, which exports its record as gpu_KEY. What tests/tools/ptxas_check
# finds fails it, except where the patch says by `# ptxas: what` that this is its point: then there must be something.
build_patched_for_gpu() {
    local key directory chapter
    key=$(key_of "$1")
    directory=$COPIES/$key
    copy_patched "$1" "$directory" && chapter=$(chapter_of "$(basename "$1")") || return 1
    if ! compile_for_gpu "$directory" "$chapter" "-Dgpu_chapter_$chapter=gpu_$key"; then
        cat "$directory/gpu.ptxas" >&2
        return 1
    fi
    if tests/tools/ptxas_check "$directory/gpu.ptxas" 2>"$directory/gpu.remarks"; then
        [ -n "$(value_of "$1" ptxas)" ] || return 0
        echo "$1: its header has \"# ptxas:\", but ptxas remarks nothing" >&2
    else
        [ -z "$(value_of "$1" ptxas)" ] || return 0
        cat "$directory/gpu.remarks" >&2
    fi
    rm -f "$directory/gpu.o"
    return 1
}

# build_patched_for_model PATCH: build/experiments/model_KEY/program.
build_patched_for_model() {
    local directory chapter
    directory=$COPIES/model_$(key_of "$1")
    copy_patched "$1" "$directory" && chapter=$(chapter_of "$(basename "$1")") || return 1
    (cd "$directory" && $MUTANT_CC -g0 -x c -c "$chapter/$chapter.cu" -o model.o) || return 1
    $MUTANT_LINK "$directory/model.o" "$MUTANT_MAINS/main_$chapter.o" $MUTANT_OBJECTS $MUTANT_LIBS \
        -o "$directory/program"
}
