#!/usr/bin/env bash
# Do both compilers take every wrapper of these headers, with its PTX? What no chapter and no case of tests/conform
# calls, which `make test` compiles, stands in wrappers.cu.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
SOURCE=tests/tools/wrappers.cu
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
    awk '/^DEVICE/ && before !~ /\*\/$/ { sub(/\(.*/, ""); print $NF }
         { before = $0 }' "$@"
}

output=$(mktemp -d) || exit 1
trap 'rm -rf "$output"' EXIT
for header in $HEADERS; do
    # shellcheck disable=SC2086 # a list of files
    is "$(missing "common/device/$header.h" $CALLERS)" "" "every wrapper of $header.h is called"
done
like "$(missing common/device/mbarrier.h $SOURCE)" "mbarrier_inval" "one that is not called is seen"

# calls HEADER...: a source with a kernel for each wrapper, which calls it with all constants that it takes: kinds,
# shapes, numbers; one more if they can be of a pair
calls() {
    printf "#include \"$PWD/%s.h\"\n" ../gemm "$@"
    perl -0777 -ne '
        my @nums = map { 1 << $_ } 0 .. 7;
        my @of = map { my ($shape, $most) = @$_; map { "$shape, $_" } grep { $_ <= $most } @nums }
            [ 4, 128 ], map { ([ $_, 128 ], [ $_ + 1, 128 ], [ $_ + 2, 64 ], [ $_ + 3, 32 ]) } 0, 8;
        my %constants = (mma => [ 0, 1 ], mma_ts => [ 0, 1 ], mma_scaled => [ 2 .. 5 ], mma_scaled_ts => [ 2 .. 5 ],
            cp => [ 0 .. 5 ], ld => [ @nums, 40 ], st => [ @nums, 40 ], ld_of => \@of, st_of => \@of);
        while (/^DEVICE \w+ ((?:tcgen05_)?(\w+))\(((?:const int \w+, )*)([^)]*)\)/mg) {
            my ($name, $taken, $chosen, $types) = ($1, $constants{$2} // [""], $3, $4);
            my @names = $types eq "void" ? () : map { /(\w+)$/ } split /,/, $types;
            for my $pair ($chosen =~ /pair/ ? (0, 1) : "") {
                print "CALLER void call_$name$pair($types) {\n",
                    (map { "    $name(" . join(", ", (grep { $_ ne "" } $_, $pair), @names) . ");\n" } @$taken), "}\n";
            }
        }' "${@/%/.h}"
}
(cd common/device && calls tcgen05 launch_control) >"$output/tcgen05.cu"
(cd common/device && calls launch_control) >"$output/launch_control.cu"
for header in tcgen05 launch_control; do
    is "$(missing common/device/$header.h "$output/tcgen05.cu")" "" "every wrapper of $header.h is called"
done

is "$(wordless common/device/*.h)" "" "every wrapper has a comment above it"
is "$(sed '/^\/\* One arrival\. Releases/d' common/device/mbarrier.h | wordless)" "mbarrier_arrive" "one without is seen"

compile_model() { $CC $C_SUBSET -DGEMM_MODEL -DCALLER='static inline' -Wno-psabi -fsyntax-only "${@:2}" -x c "$1" 2>&1; }
is "$(compile_model $SOURCE)$(compile_model "$output/tcgen05.cu")" "" "the model takes them"
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
    $NVCC -std=c++17 -Icommon -DCALLER=__global__ --Werror all-warnings -gencode "arch=compute_$2,code=sm_$2" -c "$1" \
        -o "$output/wrappers.o" "${@:3}" 2>&1
}
is "$(compile_cuda $SOURCE 90a)" "" "nvcc and ptxas take them for sm_90a"
for gpu in 100a 103a 110a; do
    if ! $NVCC --list-gpu-code | grep -qx "sm_${gpu%a}"; then
        skip "those of tcgen05.h for sm_$gpu" "this nvcc does not know it"
        continue
    fi
    is "$(compile_cuda "$output/tcgen05.cu" $gpu)" "" "those of tcgen05.h for sm_$gpu"
    is "$(compile_cuda "$output/tcgen05.cu" $gpu -Xptxas -g-tmem-access-check)" "" "with ptxas's check of tensor memory"
done
if $NVCC --list-gpu-code | grep -qx sm_120; then
    is "$(compile_cuda "$output/launch_control.cu" 120a)" "" "those of launch_control.h for sm_120a"
else
    skip "those of launch_control.h for sm_120a" "this nvcc does not know it"
fi
done_testing
