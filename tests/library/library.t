#!/usr/bin/env bash
# libgemm09 and libattention13 as files: do they export the functions of their headers and nothing else, can they
# neither print nor end a process, do they need no library but C's, are the headers C11 and C++, and do the programs say
# in a line why they do not run? What needs a GPU is in on_gpu.t. Without nvcc: does make library say what is missing?
. tests/tools/tap.sh
CC=${CC:-gcc}
source=beyond/09_every_shape/library
library=$B/library
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

said=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s NVCC= library 2>&1)
status=$?
ok $((status == 0)) "make library without nvcc: fails"
is "$(grep -v '^make' <<<"$said")" "the libraries cannot be built: nvcc was not found" "... and says in a line what it needs"

for language in c c++; do
    headers="$source/gemm09.h beyond/13_attention/library/attention13.h"
    standard=$([ $language = c ] && echo c11 || echo c++11)
    if ! $CC -x $language -fsyntax-only - </dev/null 2>/dev/null; then
        skip "the headers are $standard" "$CC has no compiler of C++"
        continue
    fi
    said=$($CC -x $language -std=$standard -Wall -Wextra -pedantic -Werror -fsyntax-only $headers 2>&1)
    ok $? "the headers are $standard"
    [ -z "$said" ] || explain "$said"
done
grep -h '^#include' $headers | grep -qv 'std'
ok $(($? != 1)) "... and include headers of C alone"

if [ -n "${NO_NVCC:-}" ]; then
    skip "the library" "$NO_NVCC"
    done_testing
fi

# ---- what is exported

declared=$(sed -n '/^[A-Za-z].*gemm09_[a-z_]*(/s/.*\(gemm09_[a-z_]*\)(.*/\1/p' "$source/gemm09.h" | sort | tr '\n' ' ')
is "$declared" "gemm09_create gemm09_destroy gemm09_launch gemm09_load_plans gemm09_plan gemm09_save_plans gemm09_workspace_bytes " "gemm09.h declares"
# shared FILE, static FILE: the symbols that another program sees
shared() { nm -D --defined-only "$1" | sed 's/.* //; s/@.*//' | sort | tr '\n' ' '; }
static() { nm -g --defined-only "$1" | sed -n 's/^[0-9a-f].* //p' | sort | tr '\n' ' '; }
is "$(shared "$library/libgemm09.so")" "$declared" "libgemm09.so exports that, and nothing else"
is "$(static "$library/libgemm09.a")" "$declared" "libgemm09.a exports that, and nothing else"
is "$(shared "$library/libattention13.so") $(static "$library/libattention13.a")" "attention13_launch  attention13_launch " "libattention13 exports its function, either way"
# Would it notice?
echo 'int more(void); int more(void) { return 1; }' >"$scratch/more.c"
$CC -shared -fPIC "$scratch/more.c" -Wl,--whole-archive "$library/libgemm09.a" -Wl,--no-whole-archive -o "$scratch/more.so"
is "$(shared "$scratch/more.so")" "${declared}more " "seen: a library that exports more"
like "$(static "$library/gemm09.o")" "gemm09_chapter" "seen: an object that is not localised"

# ---- what is called

# bad OBJECT: what of it prints or ends the process
bad() { nm -u "$1" | sed 's/.* //; s/@.*//' | grep -xE '_?_?v?f?d?printf(_chk)?|f?puts|putchar|fwrite|write|perror|stderr|stdout|_?exit|_Exit|abort|__assert_fail|raise|kill'; }
# gemm_fails() prints where it is given no GemmError; the library gives one. fprintf() writes the file of plans.
is "$(bad "$library/gemm09.o" | sort | tr '\n' ' ')" "fprintf stderr vfprintf " "what is compiled of 09 ends nothing, and prints by gemm_fails() alone"
is "$("$B/tests/library/refusals" 2>&1 | grep -vE '^(ok [0-9]+ - |1\.\.)')" "" "... which print nothing while it refuses"
printf '#include <stdio.h>\n#include <stdlib.h>\nvoid f(int i) { fprintf(stderr, "%%d", i); abort(); }\n' >"$scratch/prints.c"
$CC -c "$scratch/prints.c" -o "$scratch/prints.o"
is "$(bad "$scratch/prints.o" | sort | tr '\n' ' ')" "abort fprintf stderr " "seen: an object that does"
needed=$(objdump -p "$library/libgemm09.so" | sed -n 's/.*NEEDED *//p' | grep -vE '^(libc|libm|libdl|librt|libpthread|ld-linux[-a-z0-9_]*)\.so')
is "$needed" "" "libgemm09.so needs the C library alone"
like "$(objdump -p "$library/libgemm09.so")" "SONAME +libgemm09.so" "... and has its name"

# ---- the programs

for program in example example_static; do
    said=$("$library/$program" 2>&1)
    status=$?
    if [ $status -eq 0 ]; then
        skip "$program without a GPU" "there is a Hopper GPU"
    else
        is "$status $(wc -l <<<"$said")" "2 1" "$program without a GPU: the library's status, and one line"
        like "$said" "^example: (cuda|device )." "... that says why"
    fi
done
done_testing
