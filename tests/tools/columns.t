#!/usr/bin/env bash
# Is no line of a source longer than 120 columns? And would columns notice one, and break it where it is a comment?
. tests/tools/tap.sh
said=$(tests/tools/columns)
is "$said" "" "no line of a source is longer than 120 columns" || explain "$said"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
word=abcdefghi
line=$(for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '%s ' $word; done)
printf '/* %send */\nint a; /* %s */\n/* %sb\n * next\n */\n' "$line" "$line" "$line" >"$scratch/a.c"
said=$(tests/tools/columns "$scratch/a.c")
is "$(wc -l <<<"$said")" 3 "seen: three lines of C"
said=$(tests/tools/columns --write "$scratch/a.c")
is "$?:$said" "1:$scratch/a.c:3: 133 columns" "comments of whole lines are broken, others named"
is "$(sed -n 2p "$scratch/a.c")" " * $word end */" "... a comment's end takes a word with it"
like "$(sed -n 5p "$scratch/a.c")" "^ \* $word b next$" "... and the next line the rest"
printf '#!/bin/sh\necho %s\n# %s\n' "$line" "$line" >"$scratch/b"
is "$(tests/tools/columns "$scratch/b")" "$scratch/b:3: 122 columns" "of a script only comments count"
done_testing
