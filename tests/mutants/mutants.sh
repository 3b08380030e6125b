# mutants.sh - what the scripts here share. Source it at the top of the tree.
#
# How to build comes from mutants.mk and gpu.mk by the environment, in MUTANT_CC and the like.
# shellcheck shell=bash disable=SC2046,SC2086 # these are lists of words

MUTANTS=tests/mutants
# Where the patches lie and where patched copies are built; tests/exercises sets its own.
PATCHES=${PATCHES:-$MUTANTS}
BUILT=${BUILT:-build/mutants}

# mutant_names [NN]: all patches, or those of a chapter, one a line.
mutant_names() {
    local patch
    for patch in "$PATCHES/${1:-}"*.patch; do
        [ ! -e "$patch" ] || basename "$patch" .patch
    done
}

# header NAME KEY: the values of the header lines `# KEY: ...` of a patch, one a line.
header() { sed -n -e '/^---/q' -e "s/^# $2: *//p" "$PATCHES/$1.patch"; }

# chapter_of NAME: the chapter that a mutant breaks, 07_warp_specialized.
chapter_of() {
    local chapter
    for chapter in [0-9][0-9]_*/; do
        [ "${chapter%%_*}" != "${1%%_*}" ] || { echo "${chapter%/}" && return; }
    done
    echo "$1: there is no chapter ${1%%_*}" >&2
    return 1
}

# copy_mutant PATCH DIRECTORY: a copy of its chapter's directory with the bug in it, and a link to common/ beside it.
copy_mutant() {
    local chapter
    chapter=$(chapter_of "$(basename "$1")") || return 1
    rm -rf "$2"
    mkdir -p "$2/$chapter"
    cp "$chapter/$chapter.cu" "$chapter/Makefile" "$2/$chapter"
    ln -s "$PWD/common" "$2/common"
    "$MUTANTS/apply" "$1" "$2"
}

# build_for_model PATCH: $BUILT/NAME/program, which runs on the model alone.
build_for_model() {
    local name directory chapter
    name=$(basename "$1" .patch)
    directory=$BUILT/$name
    copy_mutant "$1" "$directory" && chapter=$(chapter_of "$name") || return 1
    # From the directory, so that reports show the broken copy's lines.
    (cd "$directory" && $MUTANT_CC -x c -c "$chapter/$chapter.cu" -o model.o) || return 1
    $MUTANT_LINK "$directory/model.o" "$MUTANT_MAINS/main_$chapter.o" $MUTANT_OBJECTS $MUTANT_LIBS \
        -o "$directory/program"
}

# build_unbroken CHAPTER: $BUILT/unbroken/CHAPTER/program, the chapter as it is, for the model alone.
build_unbroken() {
    mkdir -p "$BUILT/unbroken/$1"
    $MUTANT_LINK "$MUTANT_CHAPTERS/$1.o" "$MUTANT_MAINS/main_$1.o" $MUTANT_OBJECTS $MUTANT_LIBS \
        -o "$BUILT/unbroken/$1/program"
}

# build_for_gpu NAME: $BUILT/NAME/program once more, for GPU and model, with the chapter's own flags of nvcc.
build_for_gpu() {
    local directory=$BUILT/$1 chapter
    build_for_model "$PATCHES/$1.patch" && chapter=$(chapter_of "$1") || return 1
    compile_for_gpu "$directory" "$chapter" || { cat "$directory/gpu.ptxas" >&2 && return 1; }
    $MUTANT_GPU_LINK "$directory/gpu.o" "$directory/model.o" "$MUTANT_GPU_MAINS/main_$chapter.o" $MUTANT_GPU_OBJECTS \
        $MUTANT_LIBS -o "$directory/program"
}

# arch_of CHAPTER: nvcc's options for it.
arch_of() {
    case $1 in
    0[1-5]_*) echo "-gencode arch=compute_90,code=sm_90" ;;
    *) echo "-gencode arch=compute_90a,code=sm_90a" ;;
    esac
}

# compile_for_gpu DIRECTORY CHAPTER [OPTION]: gpu.o there; what ptxas remarks in gpu.ptxas.
compile_for_gpu() {
    (cd "$1" && $MUTANT_NVCC $(arch_of "$2") -Xptxas=-v ${3:+"$3"} -c "$2/$2.cu" -o gpu.o >gpu.ptxas 2>&1)
}

# gpu_object NAME SYMBOL: $BUILT/gpu/NAME/gpu.o, which exports its record as SYMBOL, and gpu.ptxas beside it.
# Without the object if it does not compile. Does nothing if that is done already.
gpu_object() {
    local directory=$BUILT/gpu/$1 chapter
    copy_mutant "$PATCHES/$1.patch" "$directory.new" && chapter=$(chapter_of "$1") || return 1
    if cmp -s "$directory.new/$chapter/$chapter.cu" "$directory/$chapter/$chapter.cu" &&
        [ -z "$(find common/*.h common/device "$directory/gpu.ptxas" -newer "$directory/gpu.ptxas" 2>&1)" ]; then
        rm -r "$directory.new"
        return
    fi
    rm -rf "$directory"
    mv "$directory.new" "$directory"
    echo "  NVCC   $directory/gpu.o"
    compile_for_gpu "$directory" "$chapter" "-Dgpu_chapter_$chapter=$2" || rm -f "$directory/gpu.o"
}

# gpu_notes DIRECTORY: what is worth telling of its gpu.ptxas, in a line: notes on wgmma and setmaxnreg, spills, errors.
gpu_notes() {
    local directory=$1 notes
    notes=$(grep -o 'C75[0-9][0-9]' "$directory/gpu.ptxas" | sort -u | paste -sd ' ')
    if grep -q '[1-9][0-9]* bytes spill' "$directory/gpu.ptxas"; then
        notes+=${notes:+ }spills
    fi
    if [ ! -e "$directory/gpu.o" ]; then
        notes="does not compile: $(grep -m 1 -i 'error' "$directory/gpu.ptxas" | tr -cd '[:alnum:] .,:;()<>_-')"
    fi
    echo "$notes"
}
