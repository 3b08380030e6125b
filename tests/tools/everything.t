#!/usr/bin/env bash
# Does tests/gpu/everything take up where its log ends, stop in time, and say what failed? With a make and an nvidia-smi
# that only pretend, since there may be no GPU.
. tests/tools/tap.sh
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
cat >"$scratch/bin/make" <<'SH'
#!/bin/sh
echo "make $*" >>"$CALLS"
case "$*" in
*print-nvcc*) echo /pretended/nvcc ;;
*check-gpu*) echo "not ok 1 - a chapter"; exit 2 ;;
*solve-02*) echo "make: *** [x.mk:1: solve-02] Error 3"; exit 2 ;;
*solve-01*) sleep "${SLOW:-0}" ;;
esac
SH
printf '#!/bin/sh\necho "GPU 0: pretended"\n' >"$scratch/bin/nvidia-smi"
chmod +x "$scratch/bin/"*
export CALLS=$scratch/calls PATH=$scratch/bin:$PATH

# everything ARGUMENT...: $said, $status
everything() { said=$(tests/gpu/everything "$@" 2>&1 </dev/null); status=$?; }
exercises=$(ls 01_*/exercises/*.patch | wc -l)
everything "$scratch/log" 60 '^(build|exercise 01|check-gpu)'
is "$status" 1 "a step that fails: status 1"
like "$said" "$((exercises + 1)) steps have passed, 1 have failed, 0 are left" "... and how many passed"
like "$said" '== check-gpu: failed, status 2' "... and which failed"
like "$(cat "$scratch/log")" '    not ok 1 - a chapter' "what it said is in the log"
: >"$CALLS"
everything "$scratch/log" 60 '^(exercise 01|check-gpu)'
is "$(grep -vc print-nvcc "$CALLS")" 0 "called again: what the log has is not run again"
everything "$scratch/second" 60 '^exercise 02'
like "$status:$said" '^0:.*exercise 02_[a-z0-9_]*: not run, it needs another device' "a step that needs another device is not run, and said so"
SLOW=30 everything "$scratch/other" 8 '^(build|exercise 01)'
is "$status" 1 "a step that takes longer than a whole call fails"
JOBS=1 SLOW=2 everything "$scratch/third" 3 '^(build|exercise 01)'
like "$said" '[1-9] are left' "no step begins after the time is over"
rm "$scratch/bin/nvidia-smi"
if ! command -v nvidia-smi >/dev/null; then
    everything "$scratch/log"
    is "$status:$said" "3:everything: nvidia-smi names no GPU" "without a GPU: status 3 and a line"
fi
everything
like "$status:$said" '^2:usage: tests/gpu/everything LOG' "without a log: how it is called"
done_testing
