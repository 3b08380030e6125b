#!/usr/bin/env bash
# Are the chapters and common/device in the common subset of C11 and CUDA C++?
#   - every header of common/device compiles on its own, as host C, the build that the harness and the tests use, and
#     for the model; that every chapter does, its build shows;
#   - none has a word that only C++ knows, also where only nvcc reads it.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}

# compiles NAME TEXT [FLAG...]: is the text a C11 translation unit?
compiles() {
    said=$($CC $C_SUBSET "${@:3}" -fsyntax-only -x c - 2>&1 <<<"$2")
    ok $? "$1"
    [ -z "$said" ] || explain "$said"
}

# C++ words in a file, comments and strings aside. `::` alone does not count: it stands in asm statements.
CPP_WORDS='template|class|namespace|using|typename|constexpr|consteval|constinit|decltype|auto|nullptr|operator|virtual'
CPP_WORDS+='|public|private|protected|friend|mutable|explicit|new|delete|try|catch|throw|noexcept|concept|requires'
CPP_WORDS+='|static_cast|reinterpret_cast|const_cast|dynamic_cast|typeid'
cpp_words() {
    $CC -fpreprocessed -dD -E -x c - <"$1" 2>/dev/null | sed -E 's/"([^"\\]|\\.)*"/""/g; /^# [0-9]/d' |
        grep -nEw -e "$CPP_WORDS" -e '[A-Za-z_]+::[A-Za-z_]+' -e '\[[&=]\] *\(.*'
}

while read -r line; do
    cpp_words <(echo "$line") >/dev/null
    ok $? "the search sees: $line"
done <<'LIST'
template <int N> int f(void);
int n = std::max(1, 2);
auto f = [&](int i) { return i; };
int *p = new int;
#define TYPE constexpr int
LIST
is "$(cpp_words /dev/stdin <<'TEXT'
/* a new class of templates, using std::max */
// private
const char *s = "a \"new\" class";
asm volatile("bar.sync 0;" ::"r"(n) : "memory");
int newest, classes[2];
TEXT
)" "" "the search passes over comments, strings, asm operands and parts of names"

for header in common/*.h common/device/*.h; do
    compiles "$header compiles as host C" "#include \"${header#common/}\""
    compiles "$header compiles for the model" "#include \"${header#common/}\"" -DGEMM_MODEL
done
for directory in [0-9][0-9]_*/ beyond/[0-9][0-9]_*/; do
    [ -e "$directory/$(basename "$directory").cu" ]
    ok $? "chapter $directory has its source"
done
for source in common/*.h common/device/*.h $(find $CHAPTER_DIRS -maxdepth 1 "(" -name "*.cu" -o -name "*.h" ")" | sort); do
    is "$(cpp_words "$source")" "" "$source has no C++ words"
done
done_testing
