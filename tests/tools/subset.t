#!/usr/bin/env bash
# Are the chapters and common/device in the common subset of C11 and CUDA C++? Each header compiles on its own as C11:
# as host C, the build that the harness and the tests use; for the model; and as an editor reads it, with what otherwise
# only nvcc does. So does each chapter and step, whose build for the model shows the rest.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
EDITOR='-DGEMM_MODEL -DGEMM_EDITOR -Wno-psabi -Wno-uninitialized -Wno-unused-parameter'

# compiles NAME FILE [FLAG...]: is the file a C11 translation unit?
compiles() {
    said=$($CC $C_SUBSET "${@:3}" -fsyntax-only -x c "$2" 2>&1)
    ok $? "$1" || explain "$said"
}

for header in common/*.h common/device/*.h; do
    compiles "$header compiles as host C" - <<<"#include \"${header#common/}\""
    compiles "$header compiles for the model" - -DGEMM_MODEL <<<"#include \"${header#common/}\""
    compiles "$header compiles as an editor reads it" - $EDITOR <<<"#include \"${header#common/}\""
done
for directory in [0-9][0-9]_*/ beyond/[0-9][0-9]_*/; do
    [ -e "$directory/$(basename "$directory").cu" ]
    ok $? "chapter $directory has its source"
done
for source in $(find $CHAPTER_DIRS -name '[0-9]*.cu' -o -name 'hello_*.cu' | sort); do
    compiles "$source compiles as an editor reads it" "$source" $EDITOR
done
while read -r line; do
    ! $CC $C_SUBSET $EDITOR -fsyntax-only -x c - 2>/dev/null <<<"#include \"gemm.h\""$'\n'"$line"
    ok $? "seen: $line"
done <<'LIST'
template <int N> int f(void);
DEVICE void f(int &n) { n++; }
DEVICE int f(int n) { return std::max(n, 2); }
DEVICE int f(int n) { auto g = [&](int i) { return i + n; }; return g(1); }
DEVICE int *f(void) { return new int; }
LIST
done_testing
