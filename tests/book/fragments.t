#!/usr/bin/env bash
# Do the code fragments of the pages compile? A fenced block with c11 or sm_100a behind its language is one; those of a
# page for one target are one file.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
object=$(mktemp) || exit 1
trap 'rm -f "$object"' EXIT

# fragments PAGE TARGET
fragments() { awk -v target="$2" -v page="$1" '/^```/ { on = $0 ~ "^```(c|cuda) " target "$"; if (on) printf "#line %d \"%s\"\n", NR + 1, page; next } on' "$1"; }
# compile TARGET: stdin; $said, and its status
compile() {
    if [ "$1" = c11 ]; then
        said=$($CC $C_SUBSET -Ibeyond/09_every_shape/library -Wno-unused-function -fsyntax-only -x c - 2>&1)
    else
        said=$("$NVCC" -std=c++17 --Werror all-warnings -Icommon -arch="$1" -c -x cu - -o "$object" 2>&1)
    fi
}

mapfile -t pages < <(grep -oE '^```(c|cuda) (c11|sm_100a)$' book/*.md beyond/*/README.md beyond/*/notes.md | sed 's/:.* / /' | sort -u)
ok $((${#pages[@]} < 2)) "there are some"
for page in "${pages[@]}"; do
    if [ "${page#* }" != c11 ] && ! { [ -z "${NO_NVCC:-}" ] && "$NVCC" --list-gpu-code | grep -qx sm_100; }; then
        skip "$page" "${NO_NVCC:-this nvcc does not know it}"
        continue
    fi
    # shellcheck disable=SC2086 # two words
    compile "${page#* }" < <(fragments $page)
    ok $? "$page" || explain "$said"
done
! compile c11 < <(fragments beyond/09_every_shape/README.md c11 | sed 's/ = /& +* /')
ok $? "seen: a slip"
like "$said" '09_every_shape/README.md:[0-9]+:.*error' "... by its line"
done_testing
