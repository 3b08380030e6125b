#!/usr/bin/env bash
# Do the commands in the texts run as written, and print what the texts show? In a copy of the tree with what has been
# built, so that nothing under test is touched; and would check_commands say so if they did not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_commands
command -v perl >/dev/null || skip_all "perl was not found"
[ "${B:-build/release}" = build/release ] || skip_all "the texts speak of the release build"
[ -n "${HAVE_MODEL-yes}" ] || skip_all "there is no CPU model"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$top/tests/book/texts" >"$scratch/said" 2>"$scratch/errors"
ok $? "the commands of the texts: $(grep -c '^ok' "$scratch/said") checks"
grep '^#' "$scratch/said"
[ "$tap_failed" -eq 0 ] || sed 's/^/#   /' "$scratch/errors" >&2
like "$(grep -c '^ok' "$scratch/said")" '^[1-9][0-9]+$' "and there are some"

# ---- texts that are wrong ----

mkdir -p "$scratch/book/01_one/bugs"
cd "$scratch/book" || exit 1
printf 'all:\n\techo one\n\techo two; echo three\nfail:\n\texit 1\n01 02 bench break-01 break-07:\n\techo ran >>ran\n' >Makefile
: >01_one/bugs/bug.patch
printf '#!/bin/sh\n' >01_one/01_one
chmod +x 01_one/01_one
unset MAKEFLAGS MFLAGS MAKELEVEL # what make says to a sub-make would stand among the output
fence='```'
# judge STATUS PATTERN NAME: with the text on stdin
judge() {
    cat >README.md
    said=$("$check" 2>&1)
    is "$?" "$1" "$3"
    like "$said" "$2" "$3: said"
}
judge 0 'ok 2 - README.md:5: is what the commands above print' "output that is shown in part, with a remark" <<TEXT
$fence
make -s
$fence

$fence
two      the second
three
$fence
TEXT
judge 0 'ok 2 ' "lines left out" <<TEXT
${fence}sh
make -s
$fence
$fence
one
...
three
$fence
TEXT
judge 1 'the text shows "zwei"' "output that is another, shown as a diff" <<TEXT
${fence}sh
make -s
$fence
${fence}diff
zwei
$fence
TEXT
judge 1 'the text shows "zwei"' "output that is another" <<TEXT
$fence
make -s
$fence
$fence
one
zwei
$fence
TEXT
judge 1 'where it prints "two"' "a line is missing" <<TEXT
$fence
make -s
$fence
$fence
one
three
$fence
TEXT
judge 1 'the text shows "one"' "lines in another order" <<TEXT
$fence
make -s
$fence
$fence
two
...
one
$fence
TEXT
judge 1 'exit status 2 instead of 0' "a command that fails" <<TEXT
$fence
make fail
$fence
TEXT
judge 0 'ok 1 ' "a command that fails as stated" <<TEXT
${fence}sh exit=2
make fail
$fence
TEXT
judge 1 'exit status 0 instead of 2' "a command that does not fail as stated" <<TEXT
${fence}sh exit=2
make
$fence
TEXT
judge 1 'exit status 127 instead of 0' "a command that does not exist" <<TEXT
${fence}sh
no_such_command
$fence
TEXT
judge 0 'not run: 2: needs a GPU' "commands for a GPU" <<TEXT
${fence}sh gpu
make break-01
$fence
$fence
not looked at
$fence
and
$fence
make bench
$fence
TEXT
[ ! -e ran ]
ok $? "commands for a GPU: not run"
judge 1 '"cpu" is known' "an unknown word" <<TEXT
${fence}sh cpu
make
$fence
TEXT
judge 0 '# 1 commands were run' "a command that comes twice runs once" <<TEXT
$fence
make
make
$fence
TEXT
judge 1 'does not say before how chapter 01 is made|how 01_one/01_one is made' "a program that no make before has built" <<TEXT
$fence
make 02 && 01_one/01_one
make 01
$fence
TEXT
judge 0 'ok 2' "a program that a make before has built" <<TEXT
$fence
make 01
01_one/01_one
$fence
TEXT
judge 0 'ok 1 ' "inline commands" <<TEXT
As \`make break-01 BUG=bug\` does, and \`make ARGS="--m 1 --n 2" bench\`, \`make break-NN BUG=name\` and \`make -j fail # so\`
TEXT
judge 1 'line 1: .make nothing.: there is no target nothing' "an inline target that does not exist" <<TEXT
As \`make nothing\` does
TEXT
judge 1 'there is no exercise bug' "an inline exercise that does not exist" <<TEXT
As \`make break-01 EX=bug\` does
TEXT
judge 1 'there is no bug worm' "an inline bug that does not exist" <<TEXT
As \`make break-01 BUG=worm\` does
TEXT
printf '#!/bin/sh\necho "  --sms N   how many"\n' >01_one/01_one
judge 0 'options between its backticks exist' "inline options" <<TEXT
With \`--sms 4\` it has four
TEXT
judge 1 'line 2: no program has --stages' "an inline option that does not exist" <<TEXT
With
\`--stages 4\` it has four
TEXT
printf '%s\nno_such_command\n%s\n' "${fence}sh" "$fence" >README.zh.md
judge 0 '# 1 commands were run' "a Chinese page is left to check_languages" <<TEXT
$fence
make
$fence
TEXT
rm README.zh.md

# ---- texts that are brought up to date ----

# rewritten STATUS LINES NAME: so --write leaves the text on stdin
rewritten() {
    cat >README.md
    said=$("$check" --write 2>&1)
    is "$?" "$1" "$3"
    is "$(sed -n "/^$fence\$/,\$p" README.md | grep -v "^$fence")" "$2" "$3: what it shows"
}
printf 'all:\n\techo a.cu:12: here; echo "    line 12"; echo three; echo b.cu:7: there; echo end\nfail: all\n\texit 1\n' >Makefile
rewritten 0 "a.cu:12: here
    line 12    the line
...
b.cu:7: there" "numbers have moved" <<TEXT
${fence}sh
make -s
$fence
$fence
a.cu:9: here
    line 9    the line
...
b.cu:70: there
$fence
TEXT
rewritten 0 "three
b.cu:7: there
end" "one line of three is another" <<TEXT
${fence}sh
make -s
$fence
$fence
drei
b.cu:8: there
end
$fence
TEXT
rewritten 1 "drei
vier
end" "most lines are others: left alone" <<TEXT
${fence}sh
make -s
$fence
$fence
drei
vier
end
$fence
TEXT
rewritten 1 "a.cu:9: here" "the command fails: left alone" <<TEXT
${fence}sh
make -s fail
$fence
$fence
a.cu:9: here
$fence
TEXT
rewritten 0 "a.cu:12: here" "the command fails as stated" <<TEXT
${fence}sh exit=2
make -s fail
$fence
$fence
a.cu:9: here
$fence
TEXT

done_testing
