#!/usr/bin/env bash
# Does --explain show what is there, and refuse what it cannot explain? That the paths of elements are true is shown by
# tests/explain.
. tests/tools/tap.sh

for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/} program="$directory/${directory##*/} --on model --m 500 --n 700 --k 300"
    out=$($program --explain --sms 8 2>&1)
    ok $? "$chapter: --explain"
    kind=$(sed -n 's/.*\.kind = KIND_\([A-Z0-9_]*\).*/\1/p' "$directory/$chapter.cu")
    for part in 'launch  ' 'shared  ' 'tiles  ' 'wave  ' 'first wave reads'; do
        if [ "$kind" != W4A8 ] || [[ $part != *wave* ]]; then # whose packed weights have no rows
            like "$out" "$part" "$chapter: --explain shows: $part"
        fi
    done
    out=$($program --explain-element 499,699,299 2>&1)
    status=$?
    if [ -n "$kind" ]; then
        like "$status:$out" "^2:.*it follows a bf16 of A and one of B .* multiplies ${kind,,};" "$chapter: --explain-element is refused"
    elif [[ $chapter == 1[45]_* ]]; then
        like "$status:$out" "^2:.*it does not follow sums in tensor memory, where $chapter has them" "$chapter: --explain-element is refused"
    else
        like "$status:$out" '^0:.*held by    CTA [0-9]+ warp [0-9]+ lane [0-9]+.*C.499..699. became 15' \
            "$chapter: --explain-element of the last element: who holds it, and its value"
    fi
done

# Two kernels in one launch of a chapter; a kernel after the product; a chapter of another kind.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/06_wgmma_ss/experiments" "$work/08_persistent_pingpong/exercises"
cp tests/timeline/06_wgmma_ss/experiments/*.patch "$work/06_wgmma_ss/experiments"
cp 08_persistent_pingpong/exercises/bias_gelu.patch "$work/08_persistent_pingpong/exercises"
for name in two_kernels kernel_behind from_zeros; do
    tests/tools/patches build "$work/06_wgmma_ss/experiments/$name.patch" >/dev/null
done
tests/tools/patches build "$work/08_persistent_pingpong/exercises/bias_gelu.patch" >/dev/null
two=$work/06_wgmma_ss/experiments/two_kernels/program
behind=$work/06_wgmma_ss/experiments/kernel_behind/program
zeros=$work/06_wgmma_ss/experiments/from_zeros/program
gelu=$work/08_persistent_pingpong/exercises/bias_gelu/program
seven=07_warp_specialized/07_warp_specialized

# What is set up stands in the source, too: the two must agree.
constant() { sed -n "s/.*\b$1 = \([0-9]*\)[,; ].*/\1/p" $seven.cu | head -n 1; }
large='--m 8192 --n 8192 --k 8192 --sms 132'

# Program, options, exit status, what is shown.
while IFS='@' read -r program options expected pattern; do
    # shellcheck disable=SC2086 # a list of words
    out=$("${!program}" --on model $options 2>&1)
    like "$?:$out" "^$expected:.*$pattern" "$program $options: $pattern"
done <<LIST
two@--explain --m 256 --n 512 --k 100@0@launches   2 kernels, one after the other
two@--explain --m 256 --n 512 --k 100@0@kernel 1 of 2.launch     clear_kernel: 32 CTAs of 256 threads .*shared     0 bytes a CTA.*kernel 2 of 2.launch     gemm_kernel: 4 CTAs of 256 threads.*mbarriers  full.*tiles      128 x 256 of C each
behind@--explain-element 255,511,99 --m 256 --n 512 --k 100@0@product    wgmma .*C.255..511. became 15
zeros@--explain-element 3,5,7 --m 128 --n 256 --k 200@0@row 3, column 5 of D; number 0 of its tile, which is number 0 of warpgroup 0
gelu@--explain --m 256 --n 320 --k 100@0@problem    C.256..320. = gelu.A.256..100. . B.320..100..T . bias. on .*first wave reads
seven@--explain $large@0@launch     gemm_kernel: 2048 CTAs of 384 threads
seven@--explain $large@0@full\[$(constant STAGES)\] from byte [0-9]+: 1 arrival a phase and 49152 bytes: A 16384, B 32768
seven@--explain $large@0@empty\[$(constant STAGES)\] from byte [0-9]+: 2 arrivals a phase \(
seven@--explain $large@0@A: bf16, rank 2, sizes \{8192, 8192\}, stride \{16400 bytes\}, box \{64, 128\} = 16384 bytes
seven@--explain $large@0@warpgroup 2  s->a\[3\]\[4096\] +s->b\[3\]\[0\] +\+ 0 32 64 96
seven@--explain $large@0@reads 8 panels of A \(128 rows\) and 17 of B \(256 rows\): 84.0 MiB
LIST
is "$($two --on model --explain --m 256 --n 512 --k 100 2>&1 | grep -c '^mbarriers')" 1 "two kernels: the second alone has mbarriers"
for bad in 512,0 0,512 0,0,512; do
    out=$($seven --on model --explain-element $bad 2>&1)
    like "$?:$(wc -l <<<"$out"):$out" "^2:1:.*is outside of.*0 to 511" "$seven: --explain-element $bad is refused in one line"
done
done_testing
