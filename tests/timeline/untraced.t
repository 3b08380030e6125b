#!/usr/bin/env bash
# Is a build that records nothing the same as if the hooks in common/device were not there? Takes them out of a copy and
# compares what nvcc makes of both: the PTX of every chapter, and the machine code of one.
. tests/tools/tap.sh
[ -n "${NVCC:-}" ] || skip_all "${NO_NVCC:-nvcc was not found}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/with" "$work/without"
cp -r common "$work/with"
cp -r common "$work/without"
for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/}
    mkdir "$work/with/$chapter" "$work/without/$chapter"
    find "$directory" -maxdepth 1 "(" -name "*.cu" -o -name "*.h" ")" -exec cp -t "$work/with/$chapter" {} + -exec cp -t "$work/without/$chapter" {} +
done

# Hooks stand in lines of their own, TRACED(...), or in blocks of #ifdef GEMM_TRACE.
(
    cd "$work/without/common/device" || exit 1
    rm trace.h
    for header in *.h; do
        sed -i -e '/^#ifdef GEMM_TRACE$/,/^#endif$/d' -e '/^#if defined(GEMM_TRACE)/,/^#endif$/d' -e '/^ *TRACED(/d' \
            -e 's/ TRACED_VOLATILE//' -e 's/^\(#define NO_SHARED_MEMORY\) .*/\1/' "$header"
    done
) || exit 1
left=$(sed -e '/model_trace/d' -e 's,/\*.*,,' "$work/without"/common/device/*.h | grep -nE 'TRACE|trace_' | head -n 3)
is "$left" "" "nothing of the hooks is left in the copy"

# compile SIDE CHAPTER OUTPUT OPTION...
compile() {
    (cd "$work/$1" && "$NVCC" -std=c++17 -O3 -w -gencode "arch=compute_90a,code=${4:-compute_90a}" "${@:5}" -Icommon \
        "$2/$2.cu" -o "$3")
}
for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/}
    compile with "$chapter" with.ptx compute_90a -ptx && compile without "$chapter" without.ptx compute_90a -ptx
    grep -q '\.entry' "$work/with/with.ptx" && cmp -s "$work/with/with.ptx" "$work/without/without.ptx"
    ok $? "$chapter: the same PTX with the hooks and without"
done
chapter=07_warp_specialized
compile with $chapter with.cubin sm_90a -cubin && compile without $chapter without.cubin sm_90a -cubin
[ -s "$work/with/with.cubin" ] && cmp -s "$work/with/with.cubin" "$work/without/without.cubin"
ok $? "$chapter: the same machine code"

# The comparison sees what it should see: the copy that records, and one more instruction.
compile with $chapter traced.ptx compute_90a -ptx -DGEMM_TRACE
! cmp -s "$work/with/traced.ptx" "$work/without/without.ptx"
ok $? "the copy that records has another PTX"
sed -i 's/^\(DEVICE void wgmma_fence(void) {\)/\1\n    asm volatile("fence.proxy.async;" ::: "memory");/' \
    "$work/with/common/device/wgmma.h"
compile with $chapter changed.ptx compute_90a -ptx
! cmp -s "$work/with/changed.ptx" "$work/without/without.ptx"
ok $? "one instruction more is seen"
done_testing
