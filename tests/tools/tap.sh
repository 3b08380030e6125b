# tap.sh - TAP output for test scripts in bash. Source it, call the functions, end with done_testing.

tap_count=0
tap_failed=0

# ok STATUS NAME: passes if STATUS is 0; returns it.
ok() {
    tap_count=$((tap_count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_count - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $2"
        echo "# failed: $2" >&2
    fi
    return "$1"
}

# is GOT EXPECTED NAME: passes if the two strings are equal.
is() {
    [ "$1" = "$2" ]
    ok $? "$3" || printf 'got      %s\nexpected %s\n' "$1" "$2" | sed 's/^/#   /' >&2
}

# like TEXT PATTERN NAME: passes if the extended regular expression matches in TEXT.
like() {
    [[ $1 =~ $2 ]]
    ok $? "$3" || printf 'got           %s\ndoes not match %s\n' "$1" "$2" | sed 's/^/#   /' >&2
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# skip_all REASON: the whole script has nothing to do here.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# explain TEXT: lines about the last failure.
explain() { sed 's/^/#   /' <<<"$1" >&2; }

# copied_tree DIRECTORY: there a copy of the tree, but for pictures, measurements and what has been built.
copied_tree() {
    local programs
    programs=$(for d in $CHAPTER_DIRS; do echo "./$d/${d##*/}"; done)
    find . \( -name build -o -name '.?*' -o -name results -o -name '*.svg' \) -prune -o -type f -print |
        grep -vxF "$programs" | tar -cf - -T - | tar -xf - -C "$1"
}

done_testing() {
    echo "1..$tap_count"
    [ "$tap_failed" -eq 0 ]
    exit
}
