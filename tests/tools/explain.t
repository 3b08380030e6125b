#!/usr/bin/env bash
# Does --explain show what is there, and refuse what it cannot explain? That the paths of elements are true is shown by
# tests/explain.
. tests/tools/tap.sh

if [ -z "${HAVE_MODEL:-}" ]; then
    skip_all "there is no CPU model"
fi

# run DIRECTORY [ARGUMENT...]: $out, $status
run() {
    local directory=$1
    shift
    out=$("$directory/${directory##*/}" --on model "$@" 2>&1 </dev/null)
    status=$?
}

for chapter in $CHAPTER_DIRS; do
    run "$chapter" --explain --m 500 --n 700 --k 300 --sms 8
    ok $status "$chapter: --explain"
    kind=$(sed -n 's/.*\.kind = KIND_\([A-Z0-9_]*\).*/\1/p' "$chapter/${chapter##*/}.cu")
    for part in 'launch  ' 'constants ' 'shared  ' 'tiles  ' 'wave  ' 'first wave reads'; do
        if [ "$kind" != W4A8 ] || [[ $part != *wave* ]]; then # whose packed weights have no rows
            like "$out" "$part" "$chapter: --explain shows: $part"
        fi
    done
    run "$chapter" --explain-element 499,699,299 --m 500 --n 700 --k 300
    if [ -n "$kind" ]; then
        is $status 2 "$chapter: --explain-element is refused"
        like "$out" "it follows a bf16 of A and one of B .* multiplies ${kind,,};" "$chapter: ... and says why"
        continue
    fi
    ok $status "$chapter: --explain-element of the last element"
    like "$out" 'held by    CTA [0-9]+ warp [0-9]+ lane [0-9]+' "$chapter: ... says who holds it"
    like "$out" 'C.499..699. became 15' "$chapter: ... and its value"
done

run beyond/09_every_shape --explain-element 3,5,7 --m 16 --n 128 --k 128
is $status 1 "09 with few rows: --explain-element says that it does not follow this kernel"
like "$out" '--explain-element follows .* [(]--variant may choose another' "... and what would help"

# Two kernels in one launch of a chapter: both are shown; and a chapter of another kind.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/06_wgmma_ss/experiments" "$work/08_persistent_pingpong/exercises"
cp tests/timeline/06_wgmma_ss/experiments/*.patch "$work/06_wgmma_ss/experiments"
cp 08_persistent_pingpong/exercises/bias_gelu.patch "$work/08_persistent_pingpong/exercises"
two=$(tests/tools/patches build "$work/06_wgmma_ss/experiments/two_kernels.patch")/program
behind=$(tests/tools/patches build "$work/06_wgmma_ss/experiments/kernel_behind.patch")/program
gelu=$(tests/tools/patches build "$work/08_persistent_pingpong/exercises/bias_gelu.patch")/program
out=$($two --on model --explain --m 256 --n 512 --k 100 2>&1)
ok $? "two kernels: --explain"
like "$out" "launches   2 kernels, one after the other" "two kernels: ... says how many"
like "$out" "kernel 1 of 2.launch     clear_kernel: 32 CTAs of 256 threads .*kernel 2 of 2.launch     gemm_kernel: 4 CTAs of 256 threads" \
    "two kernels: ... and shows both"
like "${out%%kernel 2 of 2*}" "shared     0 bytes a CTA" "two kernels: ... the first has no shared memory"
is "$(grep -c '^mbarriers' <<<"$out")" 1 "two kernels: ... the second alone has mbarriers"
like "${out##*kernel 2 of 2}" "mbarriers  full.*tiles      128 x 256 of C each" "two kernels: ... and tiles"
out=$($two --on model --explain-element 255,511,99 --m 256 --n 512 --k 100 2>&1)
ok $? "two kernels: --explain-element looks at the one that writes the result"
like "$out" "product    wgmma .*C.255..511. became 15" "two kernels: ... its product"
out=$($behind --on model --explain-element 255,511,99 --m 256 --n 512 --k 100 2>&1)
ok $? "a kernel behind the product: --explain-element looks at the one before"
like "$out" "product    wgmma .*C.255..511. became 15" "a kernel behind the product: ... its product"
out=$($gelu --on model --explain --m 256 --n 320 --k 100 2>&1)
ok $? "bias and GELU: --explain"
like "$out" "problem    C.256..320. = gelu.A.256..100. . B.320..100..T . bias. on .*first wave reads" "bias and GELU: ... with its problem and its tiles"
out=$($gelu --on model --explain-element 1,2 2>&1)
is $? 2 "bias and GELU: --explain-element is refused"
like "$out" "it follows a bf16 of A and one of B to their sum in C, and 08_persistent_pingpong multiplies bias_gelu;" "bias and GELU: ... and says why"

# What is set up stands in the source, too: the two must agree.
constant() { sed -n "s/.*\b$2 = \([0-9]*\)[,; ].*/\1/p" "$1/$1.cu" | head -n 1; }
seven=07_warp_specialized
run $seven --explain --m 8192 --n 8192 --k 8192 --sms 132
like "$out" "launch     gemm_kernel: 2048 CTAs of 384 threads" "$seven: 64 x 32 tiles"
like "$out" "full\[$(constant $seven STAGES)\] from byte [0-9]+: 1 arrival a phase and 49152 bytes: A 16384, B 32768" \
    "$seven: arrivals and bytes of full"
like "$out" "empty\[$(constant $seven STAGES)\] from byte [0-9]+: 2 arrivals a phase \(" "$seven: arrivals of empty, no bytes"
like "$out" "A: bf16, rank 2, sizes \{8192, 8192\}, stride \{16400 bytes\}, box \{64, 128\} = 16384 bytes" "$seven: map of A"
like "$out" "warpgroup 0: setmaxnreg.dec $(constant $seven PRODUCER_REGISTERS)" "$seven: the producer's registers"
like "$out" "warpgroup 2: setmaxnreg.inc $(constant $seven CONSUMER_REGISTERS)" "$seven: the consumers' registers"
like "$out" "warpgroup 2  s->a\[3\]\[4096\] +s->b\[3\]\[0\] +\+ 0 32 64 96" "$seven: descriptors of the last stage"
like "$out" "reads 8 panels of A \(128 rows\) and 17 of B \(256 rows\): 84.0 MiB" "$seven: panels of a wave of 132 CTAs"

run 03_cp_async_multistage --explain
like "$out" "cp.async   16 copies of 16 bytes in a thread's group, 32768 bytes in those of all threads" \
    "03_cp_async_multistage: what a stage brings"

run 08_persistent_pingpong --explain --m 1024 --n 1024 --k 128
like "$out" "barrier.sync 1: 128 threads \(.*barrier.sync 2: 128 threads \(" "08_persistent_pingpong: the consumers' own barriers"

for bad in 512,0 0,512 0,0,512; do
    run $seven --explain-element $bad
    ok "$([ $status -eq 2 ] && [ "$(wc -l <<<"$out")" -eq 1 ] && [[ $out =~ 'is outside of'.*'0 to 511' ]]; echo $?)" \
        "$seven: --explain-element $bad is refused in one line"
done
run 08_persistent_pingpong --explain --variant none
ok "$([ $status -eq 2 ]; echo $?)" "08_persistent_pingpong: --explain --variant none is refused"
done_testing
