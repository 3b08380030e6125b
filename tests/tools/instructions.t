#!/usr/bin/env bash
# Does the device code of every chapter have the instructions that the chapter teaches, and none that a later one
# introduces? Reads the PTX that the Makefile kept for each architecture beside the chapter's object.
. tests/tools/tap.sh

# The instruction's name at the start of a statement, and for each chapter: + must have it, - must not, . may.
TABLE='
    name                                 01 02 03 04 05 06 07 08 09 10 11 12
    ldmatrix\.sync                        -  +  +  +  +  .  .  .  .  .  .  .
    mma\.sync                             -  +  +  +  +  .  .  .  .  .  .  .
    cp\.async\.c[ag]\.shared              -  -  +  +  .  .  .  .  .  .  .  .
    mbarrier\.init                        -  -  -  -  +  +  +  +  +  +  +  +
    mbarrier\.arrive\.expect_tx           -  -  -  -  +  +  +  +  +  +  +  +
    mbarrier\.try_wait                    -  -  -  -  +  +  +  +  +  +  +  +
    cp\.async\.bulk\.tensor\.2d\.shared   -  -  -  -  +  +  +  +  +  +  +  +
    wgmma\.mma_async                      -  -  -  -  -  +  +  +  +  +  +  +
    wgmma\.wait_group                     -  -  -  -  -  +  +  +  +  +  +  +
    setmaxnreg\.dec                       -  -  -  -  -  -  +  +  +  +  .  +
    setmaxnreg\.inc                       -  -  -  -  -  -  +  +  +  +  .  +
    cp\.async\.bulk\.tensor\.2d\.global   -  -  -  -  -  -  -  +  +  +  .  +
    elect\.sync                           -  -  -  -  +  +  +  +  +  +  +  +
    barrier\.cluster\.wait                -  -  -  -  -  -  -  -  +  +  +  .
    griddepcontrol\.wait                  -  -  -  -  -  -  -  -  +  .  +  .
    atom\.relaxed\.gpu                    -  -  -  -  -  -  -  -  +  .  .  .
    st\.release\.sys                      -  -  -  -  -  -  -  -  -  -  -  +
    ld\.acquire\.sys                      -  -  -  -  -  -  -  -  -  -  -  +
    wgmma\.mma_async.*e4m3                -  -  -  -  -  -  -  -  -  +  +  -
    cp\.async\.bulk\.shared               -  -  -  -  .  .  .  .  .  .  +  .
    st\.async                             -  -  -  -  -  -  -  -  +  .  +  .
'

# has PATTERN FILE: a statement may follow a brace, a label or a predicate; comments and file names do not count.
has() {
    sed 's,//.*,,' "$2" | grep -qE "^[[:space:]{]*(@!?%?[A-Za-z_0-9]+[[:space:]]+)?$1"
}

# verdicts CHAPTER FILE: one line for every row that the file breaks
verdicts() {
    local chapters row pattern marks i column=-1
    while read -r -a row; do
        [ ${#row[@]} -gt 0 ] || continue
        pattern=${row[0]}
        marks=("${row[@]:1}")
        if [ "$pattern" = name ]; then
            for i in "${!marks[@]}"; do
                [ "${marks[i]}" != "${1%%_*}" ] || column=$i
            done
            [ "$column" -ge 0 ] || echo "the table has no column for chapter ${1%%_*}"
            continue
        fi
        [ "$column" -ge 0 ] || continue
        case ${marks[column]} in
        +) has "$pattern" "$2" || echo "lacks ${pattern//\\/}" ;;
        -) ! has "$pattern" "$2" || echo "has ${pattern//\\/}, which a later chapter introduces" ;;
        .) ;;
        *) echo "the table's row $pattern has no mark for chapter ${1%%_*}" ;;
        esac
    done <<<"$TABLE"
}

checks_itself() {
    local sample
    sample=$(mktemp) || exit 1
    printf '\t%s\n' '// begin inline asm' 'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%r2];' '// end inline asm' \
        'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1};' '.file 1 "mbarrier.init/cp.async.cg.shared"' \
        '// cp.async.cg.shared.global' >"$sample"
    is "$(verdicts 02_sample "$sample")" "" "a sample of chapter 02 passes as 02"
    is "$(verdicts 01_sample "$sample")" "has ldmatrix.sync, which a later chapter introduces
has mma.sync, which a later chapter introduces" "the same is refused as 01"
    is "$(verdicts 03_sample "$sample")" "lacks cp.async.c[ag].shared" "and as 03"
    printf '\t%s\n' '{ @!p setmaxnreg.dec.sync.aligned.u32 40; }' '@%p1 wgmma.wait_group.sync.aligned 0;' >>"$sample"
    like "$(verdicts 02_sample "$sample")" "has wgmma.wait_group.*has setmaxnreg.dec" \
        "a statement behind a brace or a predicate is seen"
    like "$(verdicts 90_sample "$sample")" "no column for chapter 90" "a chapter that the table does not know is refused"
    rm -f "$sample"
}

checks_itself
if [ -n "${NO_NVCC:-}" ]; then
    skip "instructions of the chapters" "$NO_NVCC"
    done_testing
fi
ok $((${#CHAPTERS} == 0)) "there are chapters"
for chapter in $CHAPTERS; do
    files=("$B/gpu/$chapter.ptx/"*.ptx)
    [ -s "${files[0]}" ]
    ok $? "$chapter: its PTX was kept"
    [ -e "${files[0]}" ] || continue
    for file in "${files[@]}"; do
        broken=$(verdicts "$chapter" "$file")
        is "$broken" "" "$chapter: instructions in $(basename "$file")"
    done
done
done_testing
