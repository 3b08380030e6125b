#!/usr/bin/env bash
# Does --count agree with what one can compute? tests/model/internals.c has it for patterns of access; this is about
# whole chapters, at a size that their tiles divide.
. tests/tools/tap.sh
M=256 N=256 K=128

# amount NAME: the count of that name in $counts; 0 if it is not there
amount() {
    local n
    n=$(sed -n "s/^count  *$1  *\([0-9]*\)\$/\1/p" <<<"$counts")
    echo "${n:-0}"
}

for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/} k=$K variant=() products=2 devices=1 scales=0 # C's; percent of the loads that are scales
    outputs=$((M * N * 2)) a=$((M * k * 2)) b=$((N * k * 2))               # bytes, of A and of B, too
    loads=('global loads' 'cp.async' 'TMA loads')
    [ ! -e "$directory/checks/count.sh" ] || . "$directory/checks/count.sh" # where this chapter differs
    counts=$("$directory/$chapter" --on model "${variant[@]}" --m $M --n $N --k $k --pad 0 --data integers --count | grep '^count ')
    like "$counts" "CTAs +[1-9].*threads of a CTA +[1-9]" "$chapter: --count prints counts"
    loaded=0
    for load in "${loads[@]}"; do loaded=$((loaded + $(amount "$load, bytes"))); done
    is "$(($(amount 'global stores, bytes') + $(amount 'TMA stores, bytes')))" $((devices * outputs)) \
        "every element is stored once, on each device"
    whole=1 # without B once, twice and so on there remains A, once or more
    for ((rest = loaded - b; rest >= a; rest -= b)); do
        [ $((rest % a * 100)) -gt $((loaded * scales)) ] || whole=0
    done
    ok $whole "A and B are loaded a whole number of times each: $loaded bytes of $a and $b"
    case $chapter in
    01_*) # a warp computes 2 x 16 elements: each k takes a load of A, 2 lines, and one of B, 16 (its README)
        is "$(amount 'global loads, lines')" $((M * N / 32 * k * 18)) "18 lines for each two loads of a warp" ;;
    *)
        is "$(amount 'FLOP of the tensor cores')" $((products * M * N * k)) "the tensor cores do $products M N K FLOP"
        is "$(grep ', conflicts ' <<<"$counts" | grep -v ' 0$')" "" "there are no bank conflicts" ;;
    esac
done

first=${CHAPTERS%% *}
said=$("$first/$first" --on gpu --count 2>&1)
is "$?:$said" "2:--count: only the CPU model counts, not --on gpu" "--count --on gpu is refused"
is "$("$first/$first" --on model --m 32 --n 32 --k 8 | grep -c '^count')" 0 "nothing is counted unless asked for"
done_testing
