#!/usr/bin/env bash
# Does the CPU model work on 64-bit Arm, as in the host of a GH200 and in a container on Apple silicon? Chapters,
# cross-compiled in a copy of the tree and run under qemu: right at a size that is no multiple of a tile; and a bug's
# report, which must be the one of this machine, line by line. `make check-aarch64` calls it.
. tests/tools/tap.sh
compiler=aarch64-linux-gnu-gcc
command -v $compiler >/dev/null || skip_all "$compiler was not found (Debian and Ubuntu: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) ||
    skip_all "qemu-aarch64 was not found (Debian and Ubuntu: qemu-user-static)"
bug=07_no_full_wait
chapters='01_naive 03_cp_async_multistage 05_tma_mbarrier 07_warp_specialized 08_persistent_pingpong 13_attention 14_tcgen05'

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
"$PWD/build/bugs/$bug/program" --on model >"$copy/here" 2>&1
tar -cf - --exclude=./build --exclude=./.git --exclude=results . | tar -xf - -C "$copy" && cd "$copy" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL DEBUG CFLAGS
# shellcheck disable=SC2086
make NVCC= CC=$compiler LDFLAGS=-static $(printf 'build/release/patches/%s ' $chapters) >"$copy/said" 2>&1
ok $? "$chapters: cross-compiled" || explain "$(tail -n 20 "$copy/said")"
for chapter in $chapters; do
    said=$("$qemu" "build/release/patches/$chapter" --m 130 --n 72 --k 200 2>&1)
    like "$?:$said" '^0:.*right    integers.*right    normal' "$chapter is right"
done
# It is built; the last step, to run it, needs qemu.
make NVCC= CC=$compiler LDFLAGS=-static break-07 BUG=${bug#*_} >"$copy/said" 2>&1
"$qemu" "build/bugs/$bug/program" --on model >"$copy/there" 2>&1
is "$?" 4 "$bug: the model reports a bug"
ok $(($(grep -c '^ *\(now\|before\|missing\|barrier\|replay\) ' "$copy/there") < 5)) "... with both places, what is missing, the barrier and how to run it again"
said=$(diff "$copy/here" "$copy/there")
ok $? "... in the words that this machine has" || explain "$said"
done_testing
