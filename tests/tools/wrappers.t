#!/usr/bin/env bash
# Do both compilers take every wrapper of these headers, with its PTX? What no chapter and no case of tests/conform calls, which
# `make test` compiles, stands in wrappers.cu.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
SOURCE=tests/tools/wrappers.cu
TCGEN05=tests/tools/tcgen05.cu
CALLERS="$SOURCE tests/conform/kernels.h $(printf '%s/*.cu ' $CHAPTER_DIRS)"
HEADERS='mbarrier cluster cp_async tma tma_nd bulk_copy mma_sync system_flag fragment e4m3'

# missing HEADER SOURCE...: wrappers of the header that the sources do not call; some are only called by others
missing() {
    local name
    for name in $(sed -nE "s/^DEVICE [a-z0-9_]+ ([a-z0-9_]+)\(.*/\1/p; s/^#define ([a-z0-9_]+)\(.* model_.*/\1/p" "$1" |
        sort -u); do
        case $name in mbarrier_init_named | mbarrier_wait_parity_bounded | cluster_address) continue ;; esac
        grep -qE "(^|[^a-z0-9_])$name\(" "${@:2}" || echo "$name"
    done
}

# wordless HEADER...: functions under PTX_FUNCTIONS without a comment above them, which an editor shows
wordless() {
    awk '/^DEVICE/ && before !~ /\*\/$/ && !/mbarrier_(init_named|wait_parity_bounded)/ { sub(/\(.*/, ""); print $NF }
         { before = $0 }' "$@"
}

output=$(mktemp -d) || exit 1
trap 'rm -rf "$output"' EXIT
for header in $HEADERS; do
    # shellcheck disable=SC2086 # a list of files
    is "$(missing "common/device/$header.h" $CALLERS)" "" "every wrapper of $header.h is called"
done
like "$(missing common/device/mbarrier.h $SOURCE)" "mbarrier_inval" "one that is not called is seen"

for header in tcgen05 launch_control; do
    # shellcheck disable=SC2086 # a list of files
    is "$(missing common/device/$header.h $TCGEN05 $CALLERS)" "" "every wrapper of $header.h is called"
done

is "$(wordless common/device/*.h)" "" "every wrapper has a comment above it"
is "$(sed '/^\/\* One arrival\. Releases/d' common/device/mbarrier.h | wordless)" "mbarrier_arrive" "one without is seen"

compile_model() { $CC $C_SUBSET -DGEMM_MODEL -Wno-psabi -fsyntax-only "${@:2}" -x c "$1" 2>&1; }
is "$(compile_model $SOURCE)$(compile_model $TCGEN05)" "" "the model takes them"
is "$(compile_model $SOURCE -DGEMM_EDITOR -Wno-uninitialized -Wno-unused-parameter)" "" "and an editor, which reads their PTX side"
cat >"$output/shared.cu" <<EOF
#include "$PWD/common/gemm.h"
static __shared__ float tile[4];
EOF
like "$(compile_model "$output/shared.cu")" "the model has no __shared__ variables" "a __shared__ variable is refused"

if [ -n "${NO_NVCC:-}" ] || [ -z "${NVCC:-}" ]; then
    skip "nvcc takes them, and those of tcgen05.h" "${NO_NVCC:-NVCC is not set}"
    done_testing
fi
# compile_cuda SOURCE GPU [OPTION...]
compile_cuda() {
    $NVCC -std=c++17 -Icommon --Werror all-warnings -gencode "arch=compute_$2,code=sm_$2" -c "$1" \
        -o "$output/wrappers.o" "${@:3}" 2>&1
}
is "$(compile_cuda $SOURCE 90a)" "" "nvcc and ptxas take them for sm_90a"
for gpu in 100a 103a 110a; do
    if ! $NVCC --list-gpu-code | grep -qx "sm_${gpu%a}"; then
        skip "those of tcgen05.h for sm_$gpu" "this nvcc does not know it"
        continue
    fi
    is "$(compile_cuda $TCGEN05 $gpu)" "" "those of tcgen05.h for sm_$gpu"
    is "$(compile_cuda $TCGEN05 $gpu -Xptxas -g-tmem-access-check)" "" "with ptxas's check of tensor memory"
done
if $NVCC --list-gpu-code | grep -qx sm_120; then
    is "$(compile_cuda $TCGEN05 120a -DLAUNCH_CONTROL_ALONE -Xcudafe --diag_suppress=177)" "" "those of launch_control.h for sm_120a"
else
    skip "those of launch_control.h for sm_120a" "this nvcc does not know it"
fi
done_testing
