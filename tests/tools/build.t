#!/usr/bin/env bash
# Does the Makefile build what it promises, also as strangers start it: two makes at once in one tree, in a tree that
# may not be written to, without perl, from beyond/ and from a chapter's directory? In a copy of the tree, so that the
# programs under test stay as they are.
. tests/tools/tap.sh

copy=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
copied_tree "$copy" && cd "$copy" || exit 1

# remake [ARGUMENT...]: make in the copy, as a user would call it: $said, $status
unset MAKEFLAGS MFLAGS MAKELEVEL DEBUG
export CFLAGS=-O0 # which is compiled in half of the time
remake() {
    said=$(make "$@" 2>&1)
    status=$?
}

# builds PATTERN NAME: was there a line of this kind? leaves PATTERN NAME: none?
builds() { grep -q "$1" <<<"$said"; ok $? "$2"; }
leaves() { ! grep -q "$1" <<<"$said"; ok $? "$2"; }

remake help
# Those of chapter 07, and blind-1, stand for all; run-coverage and the like are called by others.
targets=$(make -pn help 2>/dev/null | sed -n 's/^\.PHONY: //p' | tr ' ' '\n' | grep -E '^[a-z]+(-[a-z]+(64)?)*(-07|-1|-fp8|-w4a8)?$|^07$' |
    grep -vE '^(run|one)-[a-z]' | sort -u)
is "$(grep -x '[a-z]*:' <<<"$said" | tr '\n' ' ')" "learn: measure: maintain: " "in three parts"
listed=$(sed -n -e 's/^  make, make all /  make all /' -e 's/^  make \([a-z0-9-]*\) .*/\1/p' <<<"$said" | sed 's/-08$/-07/' | sort -u)
is "$listed" "$targets" "make help lists every target, and nothing else"

previous=
for chapter in $CHAPTER_DIRS; do
    number=${chapter##*/}
    number=${number%%_*}
    other=$(sed -n 's/^COMPARE_WITH := //p' "$chapter/build.mk" 2>/dev/null)
    previous=${other:-$previous}
    remake "diff-$number"
    like "$status:$said" "^0:.*${previous:+--- $previous/}" "make diff-$number compares with ${previous:-nothing, and says so}"
    previous=$chapter
done

# ---- two at once, in a tree where nothing is built: each makes everything

# A chapter whose waits on barriers differ in the debug build.
chapter=$(for c in $CHAPTERS; do echo "$c"; done | grep -m 1 '^05_' || echo "${CHAPTERS%% *}")
number=${chapter%%_*}
pids= failed=0
for n in 1 2; do
    make NVCC= "$number" >"said.$n" 2>&1 &
    pids+=" $!"
done
for pid in $pids; do wait "$pid" || failed=$((failed + 1)); done
is "$failed" 0 "two makes at once: both succeed" || explain "$(grep -h 'Error\|cannot' said.*)"
"$chapter/$chapter" --m 64 --n 64 --k 64 >/dev/null
is "$?" 0 "and what they have built runs"
is "$(find build -name '*.[0-9]*' ! -name '*.inc' ! -name '*.[od]')" "" "and nothing half written is left"
remake NVCC= "$number"
leaves '^  ' "and nothing is built again"
# Compiled while another make replaces it: an observer sees the old program or the new one.
touch common/harness/options.c
make NVCC= "$number" >/dev/null 2>&1 &
pid=$! broken=0
while kill -0 "$pid" 2>/dev/null; do "$chapter/$chapter" --help >/dev/null 2>&1 || broken=$((broken + 1)); done
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
    said=$($as_reader make NVCC= "run-$number" ARGS='--m 64 --n 64 --k 64' 2>&1)
    like "$?:$said" '^0:.*right' "make run-$number runs what has been built"
    chmod -R u+w "$copy"
fi

# ---- without perl

remake PERL=/no/such/perl "$number"
like "$status:$said" '^2:.*perl was not found at /no/such/perl.*apt install perl' "without perl, make says so"
is "$(wc -l <<<"$said")" 1 "... in one line"

# ---- elsewhere than at the top

last=$(printf '%s\n' $CHAPTER_DIRS | sed -n 's/^beyond\/\([0-9]*\)_.*/\1/p' | tail -n 1)
remake -C beyond "diff-$last"
like "$status:$said" "^0:.*[+]{3} beyond/${last}_" "make -C beyond diff-$last is that of the top"
remake -n -C "$chapter" test
like "$said" "the tests of $chapter on the model; make test at the top" "make test in a chapter's directory says what it tests"
like "$said" "CHAPTER=$number tests/run tests/quick.t" "... and tests that chapter"

said=$(cd "$chapter" && make "$number" 2>&1 && "./$chapter" --help)
is "$?" 0 "in its directory: make $number && ./$chapter --help"
remake -C "$chapter"
leaves '^  ' "make there again builds nothing"
remake "$number"
leaves '^  ' "nor does make $number at the top"
remake -C "$chapter" diff
like "$said" "[+]+ $chapter/" "there, make diff is make diff-$number"
remake -C "$chapter" "run-$number" ARGS=--help
like "$said" "usage: $chapter/" "and make run-$number that of the top"
remake -C "$chapter" no-such-target
ok $((status == 0)) "what the top does not have is refused there too"

touch common/harness/options.h
remake "$number"
builds 'CC .*harness/options.o' "a changed header of the harness: what includes it is compiled"
builds "LINK .*$chapter" "and the program linked"
leaves 'gpu/' "but no kernel"
kernel=build/release/$([ -n "$NO_NVCC" ] && echo model || echo gpu)/$chapter.o
touch -r common/device/mbarrier.h before
touch common/device/mbarrier.h
remake "$kernel"
builds "/$chapter.o" "a changed header of common/device: the kernel is compiled"
touch -r before common/device/mbarrier.h # else its other objects would be compiled again

# Last, since all else would be compiled again.
other_flags() {
    remake CFLAGS=-O1 build/release/harness/check.o
    builds 'CC .*harness/check.o' "other CFLAGS: the harness is compiled"
    done_testing
}
if [ -n "$NO_NVCC" ]; then
    skip "device code" "$NO_NVCC"
    other_flags
fi

has_bounded_waits() { grep -q 'waited %d ms for barrier' "$chapter/$chapter"; }
remake DEBUG=1 "$number"
has_bounded_waits
ok $? "make DEBUG=1 $number: the program has bounded waits"
"$chapter/$chapter" --on model --m 100 --n 100 --k 100 >/dev/null 2>&1
is $? 0 "and is right on the model"
remake "$number"
! has_bounded_waits
ok $? "make $number: it has none again"
builds "LINK .*$chapter" "since it was linked again"
leaves 'CC ' "from the objects that were there"

older=build/release/older
new=$(grep -l NEEDS_SM100A beyond/*/[0-9]*.cu | head -n 1)
hello=$(ls "${new%/*}"/hello_*.cu | sed -n '1s/.*\///p')
new=$(basename "$new" .cu) hello=$new.${hello%.cu}
remake NVCC_VERSION=12.4 B=$older "$older/gpu/$new.o" "$older/traced/$new.o" "$older/gpu/$hello.o"
made=$(printf '%s\n' "$said" | sort | tr '\n' ' ') # in any order: make starts several at once
like "$status:$made" "^0:.*CC .*gpu/$hello.o.*CC .*gpu/$new.o.*CC .*traced/$new.o" \
    "an nvcc before 12.8: stubs by the C compiler for what it cannot compile"

first=${CHAPTERS%% *}
cat >>"$first/$first.cu" <<'CUDA'
static __global__ void keeps_its_array_in_memory(int *p, int n) {
    int array[64];
    for (int i = 0; i < 64; i++) array[i] = p[i + threadIdx.x];
    for (int i = 0; i < n; i++) p[i] = array[p[i] % 64];
}
const void *used(void) { return (const void *)keeps_its_array_in_memory; }
CUDA
for again in '' ' again'; do
    remake "build/release/gpu/$first.o"
    like "$status:$said" '^[1-9]:.*keeps_its_array_in_memory.*stack frame' "a kernel with a stack frame: make fails$again, and says why"
done
[ ! -e "build/release/gpu/$first.o" ]
ok $? "and leaves no object"
other_flags
