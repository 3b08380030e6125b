#!/usr/bin/env bash
# Are the chapters and common/device in the common subset of C11 and CUDA C++?
#   - every header of common/device compiles on its own as host C, the build that the harness and the tests use;
#   - every chapter and header compiles as C11 against the declarations of the CPU model;
#   - none has a word that only C++ knows, also where only nvcc reads it.
. tests/tools/tap.sh
CC=${CC:-gcc}
C_SUBSET=${C_SUBSET:--std=c11 -D_GNU_SOURCE -Icommon -Wall -Wextra -Werror}
MODEL=common/model/model.h

# compiles TEXT [FLAG...]: is the text a C11 translation unit?
compiles() {
    said=$($CC $C_SUBSET "${@:2}" -fsyntax-only -x c - 2>&1 <<<"$1")
}

# C++ words in a file, comments and strings aside. `::` alone does not count: it stands in asm statements.
CPP_WORDS='template|class|namespace|using|typename|constexpr|consteval|constinit|decltype|auto|nullptr|operator|virtual'
CPP_WORDS+='|public|private|protected|friend|mutable|explicit|new|delete|try|catch|throw|noexcept|concept|requires'
CPP_WORDS+='|static_cast|reinterpret_cast|const_cast|dynamic_cast|typeid'
cpp_words() {
    $CC -fpreprocessed -dD -E -x c - <"$1" 2>/dev/null | sed -E 's/"([^"\\]|\\.)*"/""/g; /^# [0-9]/d' |
        grep -nEw -e "$CPP_WORDS" -e '[A-Za-z_]+::[A-Za-z_]+' -e '\[[&=]\] *\(.*'
}

checks_itself() {
    local sample
    sample=$(mktemp) || exit 1
    local line
    for line in 'template <int N> int f(void);' 'int n = std::max(1, 2);' 'auto f = [&](int i) { return i; };' \
        'int *p = new int;' '#define TYPE constexpr int'; do
        printf '%s\n' "$line" >"$sample"
        cpp_words "$sample" >/dev/null
        ok $? "the search sees: $line"
    done
    printf '%s\n' '/* a new class of templates, using std::max */' '// private' 'const char *s = "a \"new\" class";' \
        'asm volatile("bar.sync 0;" ::"r"(n) : "memory");' 'int newest, classes[2];' >"$sample"
    cpp_words "$sample" >/dev/null
    ok $(($? != 1)) "the search passes over comments, strings, asm operands and parts of names"
    rm -f "$sample"
    ! compiles 'int f(int &x);'
    ok $? "the compiler refuses a reference"
    ! compiles 'int f(int x = 1);'
    ok $? "the compiler refuses a default argument"
}

# compiles_here NAME TEXT [FLAG...]
compiles_here() {
    compiles "${@:2}"
    ok $? "$1"
    [ -z "$said" ] || explain "$said"
}

checks_itself

headers=(common/*.h common/device/*.h)
ok $((${#headers[@]} < 2)) "common/device has headers"
for header in "${headers[@]}"; do
    compiles_here "$header compiles as host C" "#include \"${header#common/}\""
done

for directory in [0-9][0-9]_*/ beyond/[0-9][0-9]_*/; do
    [ -d "$directory" ] || continue
    directory=${directory%/}
    [ -e "$directory/${directory##*/}.cu" ]
    ok $? "chapter $directory has its source"
done
ok $((${#CHAPTERS} == 0)) "there are chapters"

for header in "${headers[@]}"; do
    if [ -e $MODEL ]; then
        compiles_here "$header compiles for the model" "#include \"${header#common/}\"" -DGEMM_MODEL
    else
        skip "$header compiles for the model" "$MODEL does not exist"
    fi
done
for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/}
    if [ -e $MODEL ]; then
        compiles_here "$chapter compiles for the model" "#include \"$PWD/$directory/$chapter.cu\"" -DGEMM_MODEL
    else
        skip "$chapter compiles for the model" "$MODEL does not exist"
    fi
done

for source in "${headers[@]}" $(find $CHAPTER_DIRS -maxdepth 1 "(" -name "*.cu" -o -name "*.h" ")" | sort); do
    words=$(cpp_words "$source")
    ok $(($? != 1)) "$source has no C++ words"
    [ -z "$words" ] || explain "$words"
done

done_testing
