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
    for part in 'launch  ' 'constants ' 'shared  ' 'tiles  ' 'wave  ' 'first wave reads'; do
        like "$out" "$part" "$chapter: --explain shows: $part"
    done
    run "$chapter" --explain-element 499,699,299 --m 500 --n 700 --k 300
    ok $status "$chapter: --explain-element of the last element"
    like "$out" 'held by    CTA [0-9]+ warp [0-9]+ lane [0-9]+' "$chapter: ... says who holds it"
    like "$out" 'C.499..699. became 15' "$chapter: ... and its value"
done

run beyond/09_every_shape --explain-element 3,5,7 --m 16 --n 128 --k 128
is $status 1 "09 with few rows: --explain-element says that it does not follow this kernel"
like "$out" '--explain-element follows .* [(]--variant may choose another' "... and what would help"

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
