#!/usr/bin/env bash
# Makes as strangers start them: two at once in one tree, in a tree that may not be written to, without perl, from
# beyond/ and from a chapter's directory. In a copy of the tree.
. tests/tools/tap.sh

copy=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
programs=$(for d in $CHAPTER_DIRS; do echo "./$d/${d##*/}"; done)
find . -name build -prune -o -name '.?*' -prune -o -name results -prune -o -type f -print | grep -vxF "$programs" |
    tar -cf - -T - | tar -xf - -C "$copy" || exit 1
cd "$copy" || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL DEBUG
export CFLAGS=-O0 NVCC=
chapter=07_warp_specialized

# ---- two at once, in a tree where nothing is built: the same target, and another one

makes() { for target in 07 07 01; do make "$target" >"$1.$target.$((count += 1))" 2>&1 & pids+=" $!"; done; }
count=0 pids= failed=0
makes said
for pid in $pids; do wait "$pid" || failed=$((failed + 1)); done
is "$failed" 0 "three makes at once: all succeed" || explain "$(grep -h 'Error\|cannot' said.*)"
$chapter/$chapter --m 64 --n 64 --k 64 >/dev/null
is "$?" 0 "and what they have built runs"
is "$(find build -name '*.[0-9]*' ! -name '*.inc' ! -name '*.[od]')" "" "and nothing half written is left"
make 07 | grep -q '^  '
is "$?" 1 "and nothing is built again"
# Compiled while another make replaces it: whoever looks sees the old program or the new one.
touch common/harness/options.c
make 07 >/dev/null 2>&1 &
pid=$! broken=0
while kill -0 "$pid" 2>/dev/null; do $chapter/$chapter --help >/dev/null 2>&1 || broken=$((broken + 1)); done
is "$broken" 0 "a program can be started at any time while make replaces it"

# ---- a tree that may not be written to

as_reader=
if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null && as_reader='setpriv --reuid=65534 --regid=65534 --clear-groups'
fi
if [ "$(id -u)" -eq 0 ] && [ -z "$as_reader" ]; then
    skip "a tree that may not be written to" "root may write everywhere, and there is no setpriv to be somebody else"
else
    chmod -R a+rX "$copy" && chmod -R a-w "$copy"
    $as_reader touch build/written 2>/dev/null
    ok $(($? == 0)) "the tree may not be written to"
    said=$($as_reader make run-07 ARGS='--m 64 --n 64 --k 64' 2>&1)
    like "$?:$said" '^0:.*right' "make run-07 runs what has been built"
    chmod -R u+w "$copy"
fi

# ---- without perl

said=$(make PERL=/no/such/perl 07 2>&1)
like "$?:$said" '^2:.*perl was not found at /no/such/perl.*apt install perl' "without perl, make says so"
is "$(wc -l <<<"$said")" 1 "... in one line"

# ---- elsewhere than at the top

last=$(printf '%s\n' $CHAPTER_DIRS | sed -n 's/^beyond\/\([0-9]*\)_.*/\1/p' | tail -n 1)
said=$(make -C beyond "diff-$last" 2>&1)
like "$?:$said" "^0:.*[+]{3} beyond/${last}_" "make -C beyond diff-$last is that of the top"
said=$(make -n -C $chapter test 2>&1)
like "$said" "the tests of $chapter on the model; make test at the top" "make test in a chapter's directory says what it tests"
like "$said" 'CHAPTER=07 tests/run tests/quick.t' "... and tests that chapter"
done_testing
