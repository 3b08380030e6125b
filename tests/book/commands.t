#!/usr/bin/env bash
# Do the commands in the texts run as written, and print what the texts show? In a copy of the tree with what has been
# built, so that nothing under test is touched; and would check_commands say so if they did not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_commands
[ "${B:-build/release}" = build/release ] || skip_all "the texts speak of the release build"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$top/tests/book/texts" >"$scratch/said" 2>"$scratch/errors"
ok $? "the commands of the texts: $(grep -c '^ok' "$scratch/said") checks$(sed -n 's/^not ok [0-9]* - /; not /p' "$scratch/said" | tr -d '\n')"
grep '^#' "$scratch/said"
[ "$tap_failed" -eq 0 ] || sed 's/^/#   /' "$scratch/errors" >&2
like "$(grep -c '^ok' "$scratch/said")" '^[1-9][0-9]+$' "and there are some"

# ---- texts that are wrong: exit status, what is said, a name, the text; its lines end in \n

mkdir -p "$scratch/book/01_one"
cd "$scratch/book" || exit 1
printf 'all:\n\techo one\n\techo two; echo three\nfail:\n\texit 1\n01 02 bench break-01 break-07:\n\techo ran >>ran\n' >Makefile
printf '#!/bin/sh\n' >01_one/01_one
chmod +x 01_one/01_one
unset MAKEFLAGS MFLAGS MAKELEVEL # what make says to a sub-make would stand among the output
while IFS='@' read -r status pattern name text; do
    printf '%b\n' "$text" >README.md
    said=$("$check" 2>&1)
    is "$?" "$status" "$name"
    like "$said" "$pattern" "$name: said"
done <<'LIST'
0@ok 2 - README.md:5: is what the commands above print@output that is shown in part, with a remark@```\nmake -s\n```\n\n```\ntwo      the second\nthree\n```
0@ok 2 @lines left out@```sh\nmake -s\n```\n```\none\n...\nthree\n```
1@the text shows "zwei"@output that is another, shown as a diff@```sh\nmake -s\n```\n```diff\nzwei\n```
1@where it prints "two"@a line is missing@```\nmake -s\n```\n```\none\nthree\n```
1@the text shows "one"@lines in another order@```\nmake -s\n```\n```\ntwo\n...\none\n```
1@exit status 2 instead of 0@a command that fails@```\nmake fail\n```
0@ok 1 @a command that fails as stated@```sh exit=2\nmake fail\n```
0@not run: 2: needs a GPU@commands for a GPU@```sh gpu\nmake break-01\n```\n```\nnot looked at\n```\nand\n```\nmake bench\n```
1@does not say before how chapter 01 is made|how 01_one/01_one is made@a program that no make before has built@```\nmake 02 && 01_one/01_one\nmake 01\n```
0@ok 2@a program that a make before has built@```\nmake 01\n01_one/01_one\n```
LIST
printf '```sh gpu\nmake break-01\n```\n\nand\n\n```\nmake bench\n```\n' >README.md
rm -f ran
"$check" >/dev/null 2>&1
[ ! -e ran ]
ok $? "commands for a GPU: not run"
printf '```sh\nno_such_command\n```\n' >README.zh.md
printf '```\nmake\n```\n' >README.md
like "$("$check" 2>&1)" '# 1 commands were run' "a Chinese page is left to check_languages"
rm README.zh.md

# ---- texts that are brought up to date: exit status, what is shown then, a name, the command and what is shown before

printf 'all:\n\techo a.cu:12: here; echo "    line 12"; echo three; echo b.cu:7: there; echo end\nfail: all\n\texit 1\n' >Makefile
while IFS='@' read -r status shown name command text; do
    printf '```sh%s\n```\n```\n%b\n```\n' "${command/:/$'\n'}" "$text" >README.md
    "$check" --write >/dev/null 2>&1
    is "$?" "$status" "$name"
    is "$(sed '1,3d' README.md | grep -v '^```')" "$(printf '%b' "$shown")" "$name: what it shows"
done <<'LIST'
0@a.cu:12: here\n    line 12    the line\n...\nb.cu:7: there@numbers have moved@:make -s@a.cu:9: here\n    line 9    the line\n...\nb.cu:70: there
0@three\nb.cu:7: there\nend@one line of three is another@:make -s@drei\nb.cu:8: there\nend
1@a.cu:9: here@the command fails: left alone@:make -s fail@a.cu:9: here
0@a.cu:12: here@the command fails as stated@ exit=2:make -s fail@a.cu:9: here
LIST

done_testing
