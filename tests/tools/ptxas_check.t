#!/usr/bin/env bash
# Does tests/tools/ptxas_check accept a good report, and does it name every bad thing in a bad one?
. "$(dirname "$0")/tap.sh"
check=$(dirname "$0")/ptxas_check
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
report=$scratch/report

# report NOTE FRAME STORES LOADS: what ptxas prints about one kernel
report() {
    cat >"$report" <<TEXT
ptxas info    : ${1:-0 bytes gmem}
ptxas info    : Compiling entry function '_Z11gemm_kernel6Params' for 'sm_90a'
ptxas info    : Function properties for _Z11gemm_kernel6Params
    $2 bytes stack frame, $3 bytes spill stores, $4 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers
ptxas info    : Compile time = 91.300 ms
TEXT
}

judge() {
    said=$("$check" "$@" 2>&1)
    status=$?
}

# rejects PATTERN NAME
rejects() {
    judge "$report"
    is $status 1 "$2: refused"
    like "$said" "$1" "$2: named"
    is "$(wc -l <<<"$said")" 1 "$2: one line"
}

report "" 0 0 0
judge "$report"
is "$status:$said" "0:" "a clean report passes without a word"

report "" 0 4 0
rejects "_Z11gemm_kernel6Params.*4 bytes of spill stores" "spill stores"
report "" 0 0 16
rejects "16 bytes of spill loads" "spill loads"
report "" 256 0 0
rejects "256 bytes of stack frame" "a stack frame"
report "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry." 0 0 0
rejects "C7508.*setmaxnreg" "setmaxnreg ignored"
for code in 10 11 12 13 14 15 16 17 18 19; do
    report "(C75$code) Potential Performance Loss: wgmma.mma_async instructions are serialized" 0 0 0
    rejects "C75$code.*wgmma" "note C75$code"
done

for code in 18 19; do
    report "(C75$code) warpgroup.arrive is injected in around line 38877 by compiler" 0 0 0
    judge most_bytes=64 "$report"
    is $status $((code == 18)) "note C75$code in a copy that records"
done

: >"$report"
rejects "no kernel" "an empty report"
report "" 0 0 0
cp "$report" "$scratch/good"
report "" 0 8 8
judge "$scratch/good" "$report"
is "$status:$(wc -l <<<"$said")" "1:2" "the second of two reports counts as much as the first"
judge "$scratch/missing"
ok $((status == 0)) "a report that is not there is refused"
report "" 0 0 0
sed 's/.*bytes stack frame.*/    (no properties)/' "$report" >"$scratch/changed" && mv "$scratch/changed" "$report"
rejects "does not say" "a report whose wording has changed"

done_testing
