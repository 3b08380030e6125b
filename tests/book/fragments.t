#!/usr/bin/env bash
# Do the code fragments of the pages compile? A fenced block with sm_100a behind its language is one; those of a page are
# one file.
. tests/tools/tap.sh
[ -z "${NO_NVCC:-}" ] || skip_all "$NO_NVCC"
"$NVCC" --list-gpu-code | grep -qx sm_100 || skip_all "this nvcc does not know sm_100"
object=$(mktemp) || exit 1
trap 'rm -f "$object"' EXIT

fragments() { awk -v page="$1" '/^```/ { on = /^```cuda sm_100a$/; if (on) printf "#line %d \"%s\"\n", NR + 1, page; next } on' "$1"; }
# compile: stdin; $said, and its status
compile() { said=$("$NVCC" -std=c++17 --Werror all-warnings -Icommon -arch=sm_100a -c -x cu - -o "$object" 2>&1); }

mapfile -t pages < <(grep -lE '^```cuda sm_100a$' book/*.md beyond/*/README.md beyond/*/notes.md)
ok $((${#pages[@]} < 1)) "there are some"
for page in "${pages[@]}"; do
    compile < <(fragments "$page")
    ok $? "$page" || explain "$said"
done
! compile < <(fragments "${pages[0]}" | sed 's/ = /& +* /')
ok $? "seen: a slip"
like "$said" "${pages[0]}.[0-9]+.*error" "... by its line"
done_testing
