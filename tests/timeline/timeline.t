#!/usr/bin/env bash
# Does every chapter draw its timeline on the model, in the terminal, as SVG and as JSON, from events that make sense?
# And is what cannot be drawn or written refused? B, CHAPTERS, HAVE_MODEL: from the Makefile.
. tests/tools/tap.sh

if [ -n "${NO_BACKEND:-}" ]; then
    skip_all "no program could be built: $NO_BACKEND"
elif [ -z "${HAVE_MODEL:-}" ]; then
    skip_all "there is no CPU model"
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
json=
perl -MJSON::PP -e 1 2>/dev/null && json=yes

# svg_is_whole FILE: its elements are closed in the right order
svg_is_whole() {
    perl -0ne 's/<style>.*?<\/style>//s;
               my @open;
               while (/<(\/?)([a-zA-Z]+)((?:\s+[a-zA-Z:-]+="[^"<]*")*)\s*(\/?)>/g) {
                   if ($1) { exit 1 unless @open && pop @open eq $2 } elsif (!$4) { push @open, $2 }
               }
               s/<[^<>]*>//g;
               exit(@open || /[<>]/ || !/\S/ ? 1 : 0)' "$1"
}

# svg_is_plain FILE: without its media queries and without CSS variables, every class still has a fill or a stroke of its own
# or sets type only, and every shape has a class.
svg_is_plain() {
    perl -0ne 'my ($style) = /<style>(.*?)<\/style>/s or exit 1;
               $style =~ s/\@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}//gs;
               exit 1 if /var\(/ || $style =~ /\@/;
               my %said = map { $_ => 1 } qw(title small end mid);
               $said{$1} = 1 while $style =~ /\.(\w+)\{[^}]*(?:fill|stroke):(?:#[0-9a-f]{6}|url)/g;
               exit 1 if $style !~ /text\{[^}]*fill:#/;
               while (/<(\w+)([^<>]*)>/g) {
                   my ($name, $rest) = ($1, $2);
                   next unless $name =~ /^(?:rect|path)$/ || $rest =~ /class="[^"]/;
                   exit 1 unless $rest =~ /class="([^"]+)"/;
                   $said{$_} || exit 1 for split / /, $1;
               }' "$1"
}

for directory in $CHAPTER_DIRS; do
    chapter=${directory##*/}
    program=$directory/$chapter
    for columns in 80 132; do
        out=$(COLUMNS=$columns "$program" --on model --timeline 2>"$work/err")
        ok $? "$chapter: --timeline"
        picture=$(sed -n '/^timeline of CTA/,$p' <<<"$out")
        is "$(awk -v most=$columns 'length > most' <<<"$picture")" "" "$chapter: it fits into $columns columns"
    done
    like "$out" "right  .*recorded" "$chapter: the launch is checked"
    like "$picture" "steps show order and overlap; they are not time" "$chapter: says that steps are no time"
    "$program" --on model --timeline-svg "$work/$chapter.svg" --trace "$work/$chapter.json" \
        --trace-events "$work/$chapter.csv" >/dev/null
    ok $? "$chapter: SVG, JSON and events"
    svg_is_whole "$work/$chapter.svg"
    ok $? "$chapter: the SVG's elements are closed"
    svg_is_plain "$work/$chapter.svg"
    ok $? "$chapter: its colours need no CSS variables and no media query"
    case $chapter in
        0[2-5]_*) enlarged=1 ;;
        *) enlarged=0 ;;
    esac
    is "$(grep -c enlarged "$work/$chapter.svg")" $enlarged "$chapter: a part is enlarged where fragments are loaded, only there"
    if [ $json ]; then
        is "$(tests/timeline/json_check "$work/$chapter.json" 2>&1)" "" "$chapter: the JSON is a trace whose spans nest"
    else
        skip "$chapter: the JSON is a trace whose spans nest" "perl's JSON::PP was not found"
    fi
    if out=$("$B/tests/timeline/checks" "$work/$chapter.csv" 2>&1); then
        ok 0 "$chapter: its events pass every check"
    else
        ok 1 "$chapter: its events pass every check"
        explain "$out"
    fi
    "$B/tests/timeline/draw" "$work/$chapter.csv" "$work/again.svg"
    ok $? "$chapter: is drawn again from its events"
    cmp -s "$work/$chapter.svg" "$work/again.svg"
    ok $? "$chapter: ... the same"
done
"$B/tests/timeline/draw" "$work/all.svg" "$work"/*.csv
ok $? "all chapters are drawn on one axis"
svg_is_whole "$work/all.svg"
ok $? "... in whole elements"
svg_is_plain "$work/all.svg"
ok $? "... in plain colours"
for edit in 's/\.m\{fill:#[0-9a-f]+\}//' 's/#1a7f4e/var(--m)/' 's/class="page"//'; do
    perl -pe "$edit" "$work/all.svg" >"$work/variables.svg"
    ! svg_is_plain "$work/variables.svg"
    ok $? "... and with $edit it is not"
done

# Recorded events that are kept must make sense too.
for kept in tests/timeline/recorded/*.csv; do
    [ -f "$kept" ] || continue
    out=$("$B/tests/timeline/checks" "$kept" 2>&1)
    status=$?
    ok $status "$kept passes every check"
    [ $status -eq 0 ] || explain "$out"
    directory=$(printf "%s\n" $CHAPTER_DIRS | grep "$(basename "$kept" .csv)\$")
    grep -q "<desc>[^<]*CPU model" "$directory/timeline.svg" && continue # drawn anew from the model
    "$B/tests/timeline/draw" "$kept" "$work/kept.svg" && cmp -s "$work/kept.svg" "$directory/timeline.svg"
    ok $? "$directory/timeline.svg is drawn from it"
done
if [ -f tests/timeline/recorded/01_naive.csv ] && ! grep -q "<desc>[^<]*CPU model" tests/timeline/all.svg; then
    "$B/tests/timeline/draw" "$work/kept.svg" tests/timeline/recorded/*.csv && cmp -s "$work/kept.svg" tests/timeline/all.svg
    ok $? "tests/timeline/all.svg is drawn from all of them"
fi

# What the talk's pictures show.
share() { sed -n 's/^tensor cores had work in [0-9.]* % of the window, \([0-9]*\).*/\1/p'; }
busy() { "$1/$1" --on model --timeline | share; }
slow=$(busy 02_smem_tiled) hidden=$(busy 03_cp_async_multistage) buffered=$(busy 04_regfile_double_buffer)
[ "$slow" -lt "$hidden" ] && [ "$hidden" -lt "$buffered" ]
ok $? "tensor cores are busier in 03 than in 02 ($slow %, $hidden %) and in 04 than in 03 ($buffered %)"
overlap=$(awk -F, '$1 == "epilogue" && $6 == 4 { begin[n] = $2; end[n++] = $3 }
                   $1 == "wgmma" && $7 == 2 { from[w] = $2; to[w++] = $3 }
                   END { for (i = 0; i < n; i++) for (j = 0; j < w; j++)
                             if (from[j] < end[i] && to[j] > begin[i]) found = 1
                         print found + 0 }' "$work/08_persistent_pingpong.csv")
is "$overlap" 1 "08: an epilogue of consumer 0 lies under the math of consumer 1"
tiles=$(awk -F, '$1 == "tile" && $6 >= 4 { tile[$11 "," $12] = 1 } END { for (t in tile) n++; print n + 0 }' \
    "$work/08_persistent_pingpong.csv")
[ "$tiles" -ge 3 ]
ok $? "08: over at least three tiles ($tiles)"

# json_check can fail: each fault alone, put into a trace that is right.
if [ $json ]; then
    while IFS='|' read -r name pattern edit; do
        perl -pe "$edit" "$work/07_warp_specialized.json" >"$work/broken.json"
        cmp -s "$work/07_warp_specialized.json" "$work/broken.json"
        ok $((1 - ($? != 0))) "a trace is broken: $name"
        out=$(tests/timeline/json_check "$work/broken.json" 2>&1)
        ok $((1 - ($? == 1))) "... and refused"
        like "$out" "$pattern" "... for that"
    done <<'LIST'
a span that takes no time|dur|if (/"ph":"X"/ && !$n++) { s/"dur":[0-9.]+/"dur":0/ }
a span that overlaps the next|overlaps|if (/"wait for full/ && !$n++) { s/"dur":([0-9.]+)/'"dur":' . ($1 + 500)/e }
an arrow with one end|one end|s/.*// if /"ph":"f"/ && !$n++
an arrow back in time|back in time|if (/"ph":"s"/ && !$n++) { s/"ts":[0-9.]+/"ts":15000000/ }
an arrow from nowhere|no span|if (/"ph":"s"/ && !$n++) { s/"tid":[0-9]+/"tid":9999/ }
a track without a name|no name|$n ||= s/"thread_name"/"thread_nome"/
half a file|no JSON|last if $. > 20
LIST
else
    skip "json_check can fail" "perl's JSON::PP was not found"
fi

# refused STATUS PATTERN ARGUMENT...: one line on stderr, and no file is left
program=07_warp_specialized/07_warp_specialized
refused() {
    local status=$1 pattern=$2
    shift 2
    out=$("$program" --on model "$@" 2>&1 >/dev/null)
    is $? "$status" "$*: exit status $status"
    is "$(wc -l <<<"$out")" 1 "... with one line"
    like "$out" "$pattern" "... that says why"
}
refused 2 'no/such/dir' --trace "$work/no/such/dir/x.json"
refused 2 '--timeline-svg.*opened' --timeline-svg "$work"
refused 2 'no events of CTA 77' --timeline=77
refused 2 'ends .* after its begin' --timeline --timeline-window 10000000:20000000
refused 2 '"5" is not of the form A:B' --timeline --timeline-window 5
refused 2 '"9:5" ends before it begins' --timeline --timeline-window 9:5
refused 2 'no picture' --timeline-window 5:9
refused 2 '--repeat' --timeline --repeat 2
refused 2 'empty' --trace ''
refused 2 '"x"' --timeline=x
if [ -c /dev/full ]; then
    refused 2 '/dev/full.*could not be written' --trace-events /dev/full
    [ -c /dev/full ]
    ok $? "... and /dev/full is still there"
fi
"$program" --on model --timeline=77 --trace "$work/left.json" >/dev/null 2>&1
[ ! -e "$work/left.json" ]
ok $? "a file that was not written is not left behind"
out=$(FROM=cpu B=$B tests/timeline/picture 07_warp_specialized 2>&1)
is "$?:$out" "2:FROM=cpu: gpu, recorded or model is accepted" "picture: where from, of three"
"$B/tests/timeline/draw" "$work/none.csv" "$work/none.svg" 2>"$work/err"
is "$?:$(wc -l <"$work/err")" 2:1 "draw refuses a file that is not there"

done_testing
