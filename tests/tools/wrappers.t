#!/usr/bin/env bash
# Do both compilers take every wrapper of common/device, with its PTX, also those that no chapter and no case of
# tests/conform calls? A source with a kernel for each wrapper is made from the headers and compiled; nobody runs it.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
HEADERS='mbarrier cluster cp_async tma tma_nd bulk_copy mma_sync system_flag e4m3'

# wordless HEADER...: functions under PTX_FUNCTIONS without a comment above them, which an editor shows
wordless() {
    awk '/^DEVICE/ && before !~ /\*\/$/ { sub(/\(.*/, ""); print $NF }
         { before = $0 }' "$@"
}

output=$(mktemp -d) || exit 1
trap 'rm -rf "$output"' EXIT

# calls HEADER...: a source with a kernel for each wrapper, which calls it with all constants that it takes: kinds,
# shapes, numbers; one more if they can be of a pair. What only other wrappers call is left out.
calls() {
    printf "#include \"$PWD/common/%s.h\"\n" gemm "${@/#/device/}"
    perl -0777 -ne '
        my @nums = map { 1 << $_ } 0 .. 7;
        my %constants = (mma_scaled => [ 1, 2 ], ld => [ @nums, 40 ], st => [ @nums, 40 ]);
        while (/^DEVICE (\w+) ((?:tcgen05_)?(\w+))\(((?:const int \w+, )*)([^)]*)\)/mg) {
            my ($returns, $name, $taken, $chosen, $types) = ($1, $2, $constants{$3} // [""], $4, $5);
            next if $name =~ /^(?:mbarrier_init_named|mbarrier_wait_parity_bounded|cluster_address)$/;
            my $void = $returns eq "void" ? "" : "(void)";
            my @names = $types eq "void" ? () : map { /(\w+)(?:\[\d\])?$/ } split /,/, $types;
            for my $pair ($chosen =~ /pair/ ? (0, 1) : "") {
                print "CALLER void call_$name$pair($types) {\n",
                    (map { "    $void$name(" . join(", ", (grep { $_ ne "" } $_, $pair), @names) . ");\n" } @$taken), "}\n";
            }
        }' $(printf 'common/device/%s.h ' "$@")
}
# shellcheck disable=SC2086 # a list of headers
calls $HEADERS >"$output/hopper.cu"
calls tcgen05 launch_control >"$output/tcgen05.cu"
calls launch_control >"$output/launch_control.cu"
for source in hopper:40 tcgen05:20 launch_control:2; do
    ok $(($(grep -c ^CALLER "$output/${source%:*}.cu") < ${source#*:})) "there are wrappers of ${source%:*}"
done

is "$(wordless common/device/*.h)" "" "every wrapper has a comment above it"
is "$(sed '/^\/\* One arrival\. Releases/d' common/device/mbarrier.h | wordless)" "mbarrier_arrive" "one without is seen"

compile_model() { $CC $C_SUBSET -DGEMM_MODEL -DCALLER='static inline' -Wno-psabi -fsyntax-only "${@:2}" -x c "$1" 2>&1; }
for source in hopper tcgen05; do
    is "$(compile_model "$output/$source.cu")" "" "the model takes those of $source"
done
is "$(compile_model "$output/hopper.cu" -DGEMM_EDITOR -Wno-uninitialized -Wno-unused-parameter)" "" "and an editor, which reads their PTX side"
cat >"$output/shared.cu" <<EOF
#include "$PWD/common/gemm.h"
static __shared__ float tile[4];
EOF
like "$(compile_model "$output/shared.cu")" "the model has no __shared__ variables" "a __shared__ variable is refused"

if [ -n "${NO_NVCC:-}" ] || [ -z "${NVCC:-}" ]; then
    skip "nvcc takes them" "${NO_NVCC:-NVCC is not set}"
    done_testing
fi
# compile_cuda SOURCE GPU [OPTION...]
compile_cuda() {
    local name="nvcc and ptxas take those of $1 for sm_$2 ${*:3}"
    if ! $NVCC --list-gpu-code | grep -qx "sm_${2%a}"; then
        skip "$name" "this nvcc does not know it"
        return
    fi
    is "$($NVCC -std=c++17 -Icommon -DCALLER=__global__ --Werror all-warnings -gencode "arch=compute_$2,code=sm_$2" \
        -c "$output/$1.cu" -o "$output/wrappers.o" "${@:3}" 2>&1)" "" "$name"
}
compile_cuda hopper 90a
for gpu in 100a 103a 110a; do
    compile_cuda tcgen05 $gpu
    compile_cuda tcgen05 $gpu -Xptxas -g-tmem-access-check # its check of tensor memory
done
compile_cuda launch_control 120a
done_testing
