#!/usr/bin/env bash
# Does the Makefile build what it promises? In a copy of the tree, so that the programs under test stay as they are.
. tests/tools/tap.sh

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
programs=$(for d in $CHAPTER_DIRS; do echo "./$d/${d##*/}"; done)
find . -name build -prune -o -name '.?*' -prune -o -name results -prune -o -type f -print | grep -vxF "$programs" |
    tar -cf - -T - | tar -xf - -C "$copy" || exit 1
cd "$copy" || exit 1

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

# One chapter whose waits on barriers differ in the debug build.
chapter=$(for c in $CHAPTERS; do echo "$c"; done | grep -m 1 '^05_' || echo "${CHAPTERS%% *}")
number=${chapter%%_*}
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

remake DEBUG=1 NVCC= "$number"
"$chapter/$chapter" --on model --m 100 --n 100 --k 100 >/dev/null 2>&1
is $? 0 "make DEBUG=1 $number without nvcc: it is right on the model"

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
