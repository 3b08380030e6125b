# exercises.sh - what the scripts here share. Source it at the top of the tree.
# shellcheck shell=bash disable=SC2034 # for mutants.sh
PATCHES=${PATCHES:-tests/exercises}
BUILT=${BUILT:-build/exercises}
. tests/mutants/mutants.sh

# text NAME KEY: the values of a header line that may stand several times, as one line.
text() { header "$1" "$2" | paste -sd ' '; }

# exercises NN: the names of a chapter's exercises in their order, one a line.
exercises() {
    local name
    for name in $(mutant_names "${1}_"); do
        echo "$(header "$name" order) $name"
    done | sort -n | cut -d ' ' -f 2
}

# show NAME PROGRAM SOURCE: what the exercise's command prints with this program, whose source this is.
show() {
    PROGRAM=$2 SOURCE=$3 bash -o pipefail -c "$(header "$1" show)" 2>&1
}
