#!/usr/bin/env bash
# Are the pictures in the chapters what the functions give today, byte for byte, the Chinese ones what zh.tsv makes of
# them, and does a text show each of them?
. tests/tools/tap.sh

made=$(mktemp -d) || exit 1
trap 'rm -rf "$made" "$made.new"' EXIT
for directory in $CHAPTER_DIRS; do
    mkdir -p "$made/$directory"
done
"$B/tests/pictures/pictures" "$made"
ok $? "the pictures are drawn"
for chapter in 0[1-8]_*; do
    cp "$chapter/timeline.svg" "$made/$chapter"
done
tests/pictures/chinese "$made"
ok $? "each of their texts has its Chinese"
cp -r "$made" "$made.new" && sed -i 's/>k-tile 0</>something new</' "$made.new/03_cp_async_multistage/ring.svg"
! said=$(tests/pictures/chinese "$made.new") && [[ $said == *': something new: has no row in zh.tsv' ]]
ok $? "... and one without would be seen"
pictures=$(cd "$made" && find . -name '*.svg' | sed 's|^\./||' | sort)
like "$(wc -l <<<"$pictures")" '^[1-9]' "there are some"
for picture in $pictures; do
    cmp -s "$made/$picture" "$picture"
    ok $? "$picture is what make pictures draws"
    case $picture in *.zh.svg) pages=README.zh.md ;; *) pages='README.md notes.md' ;; esac
    (cd "${picture%/*}" && cat $pages) | grep -q "](${picture##*/})"
    ok $? "... and a text of ${picture%/*} shows it"
    [ "$(grep -c '<svg ' "$picture")" -eq 1 ] && grep -q prefers-color-scheme:dark "$picture" && [ "$(tail -n 1 "$picture")" = '</svg>' ]
    ok $? "... whole, for light and dark"
done
# too_large DIRECTORY: the pictures in it above 60 kB
too_large() {
    find "$1" -mindepth 1 \( -name '.*' -o -path ./build \) -prune -o \
        -name '*.svg' -size +60000c -print
}
is "$(too_large .)" "" "no picture is larger than 60 kB"
head -c 60001 /dev/zero >"$made/large.svg"
is "$(too_large "$made")" "$made/large.svg" "... and one that is would be seen"
done_testing
