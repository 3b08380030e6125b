#!/usr/bin/env bash
# Do the code fragments in the book and in the notes compile? Each page's fragments for a target (see extract here) are one file: C11 for
# the C compiler, sm_90a and sm_100a for nvcc, where ptxas must neither spill nor serialise a wgmma. What they compute,
# as far as a CPU can tell, is tested by test_fragments.c. And would this test notice a fragment that does not compile?
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# compile TARGET FILE: $said, $status. A file with a kernel is also judged by what ptxas reports.
compile() {
    local arch=${1#sm_}
    if [ "$1" = c11 ]; then
        said=$($CC $C_SUBSET -Ibeyond/09_every_shape/library -Wno-unused-function -fsyntax-only -x c "$2" 2>&1)
        status=$?
        return
    fi
    said=$("$NVCC" -std=c++17 -O3 --Werror all-warnings -Xcompiler -Wall,-Wextra,-Wno-missing-field-initializers \
        -Xptxas=-v -Icommon -gencode "arch=compute_$arch,code=sm_$arch" -c "$2" -o "$scratch/object.o" 2>&1)
    status=$?
    if [ $status -eq 0 ] && grep -q __global__ "$2"; then
        printf '%s\n' "$said" >"$scratch/report"
        said=$(tests/tools/ptxas_check "$scratch/report" 2>&1)
        status=$?
    fi
}

# can TARGET: is there a compiler for it? $reason
can() {
    reason=
    [ "$1" != c11 ] || return 0
    reason=${NO_NVCC:-this nvcc does not know $1}
    [ -z "${NO_NVCC:-}" ] && "$NVCC" --list-gpu-code | grep -qx "${1%a}"
}

# ---- the pages

pages=(book/*.md [0-9]*/notes.md beyond/*/notes.md beyond/*/README.md)
for i in "${!pages[@]}"; do
    [[ ${pages[i]} != *.zh.md ]] || unset "pages[i]" # its blocks are those of the English page
done
list=$(tests/book/extract "${pages[@]}" 2>"$scratch/errors")
ok $? "the fragments are marked as they should be"
[ ! -s "$scratch/errors" ] || explain "$(cat "$scratch/errors")"
for known in "book/blackwell.md sm_100a" "beyond/11_w4a8/notes.md c11" "beyond/09_every_shape/README.md c11"; do
    grep -qxF "$known" <<<"$list"
    ok $? "there are fragments: $known"
done
while read -r page target; do
    name=$(basename "$page" .md)_${target}
    file=$scratch/$name.$([ "$target" = c11 ] && echo c || echo cu)
    tests/book/extract "--target=$target" "$page" >"$file"
    if ! can "$target"; then
        skip "$page: its fragments compile for $target" "$reason"
        continue
    fi
    compile "$target" "$file"
    ok "$status" "$page: its fragments compile for $target"
    [ "$status" -eq 0 ] || explain "$said"
done <<<"$list"

# ---- would it notice?

# broken TARGET PAGE SED PATTERN NAME: the page, edited, must not compile, for a reason that matches
broken() {
    if ! can "$1"; then
        skip "$5" "$reason"
        return
    fi
    sed "$3" "$2" >"$scratch/page.md"
    ! cmp -s "$2" "$scratch/page.md"
    ok $? "$5: the edit changes the page"
    tests/book/extract "--target=$1" "$scratch/page.md" >"$scratch/broken.$([ "$1" = c11 ] && echo c || echo cu)"
    compile "$1" "$scratch"/broken.c*
    rm -f "$scratch"/broken.c*
    ok $((status == 0)) "$5: refused"
    like "$said" "$4" "$5: the reason is named"
}
broken c11 beyond/11_w4a8/notes.md 's/0xf0f0f0f0/0xf0f0f0f0 +/' 'page.md:[0-9]+:.*error' "a C fragment with a syntax error"
broken sm_100a book/blackwell.md 's/tcgen05_cp_32x128b/tcgen05_cp_32x64b/' '"tcgen05_cp_32x64b" is undefined' \
    "an instruction that does not exist"
# refused TEXT PATTERN NAME: a page with this text
refused() {
    printf '%s\n' "$1" >"$scratch/page.md"
    said=$(tests/book/extract "$scratch/page.md" 2>&1 >/dev/null)
    is "$?:$(wc -l <<<"$said")" 2:1 "$3: refused in one line"
    like "$said" "$2" "$3: named"
}
refused $'text\n```cuda sm_80a\n```' 'page.md:2: there is no target "sm_80a"' "an unknown target"
refused $'```c c11\nint i;' 'page.md:1: the block has no end' "a block without an end"
printf '%s\n' '```c' 'excerpt' '```' '```sh else' '```' '```c c11 sm_90a' 'int a;' '```' '```cuda sm_90a' 'int b;' '```' '````c c11' '```' '````' \
    >"$scratch/page.md"
is "$(tests/book/extract --target=sm_90a "$scratch/page.md" | tr '\n' ' ')" \
    "#line 7 \"$scratch/page.md\" int a; #line 10 \"$scratch/page.md\" int b; " \
    "fragments of a target in order, with their lines; excerpts are left alone"
is "$(tests/book/extract "$scratch/page.md" | sed 's/.* //' | tr '\n' ' ')" "c11 sm_90a " "the targets of a page"
done_testing
