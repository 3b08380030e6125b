#!/usr/bin/env bash
# Do the figures in the READMEs and the picture of the ladder agree with the CSVs in tests/bench/results? And would
# tests/bench/figures and tests/bench/ladder say so if they did not?
. "$(dirname "$0")/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# try COMMAND...: keeps what it says and its status
try() {
    said=$("$@" 2>&1)
    status=$?
}

try "$top/tests/bench/figures" --check
ok $status "the figures in the READMEs are those of the CSVs"
[ $status -eq 0 ] || explain "$said"
try "$top/tests/bench/ladder" --check
ok $status "the picture of the ladder is drawn from the newest CSV"
[ $status -eq 0 ] || explain "$said"
grep -q '^<!-- figures: ladder -->$' "$top/README.md"
ok $? "the front README has the ladder"
grep -q 'tests/bench/results/ladder.svg' "$top/README.md"
ok $? "and its picture"

# ---- a small repository with the same tools and figures that can be checked by hand ----

copy=$scratch/copy
results=$copy/tests/bench/results
mkdir -p "$results" "$copy/01_one" "$copy/02_two" "$copy/07_seven" "$copy/build"
cp "$top"/tests/bench/{figures,figures.awk,ladder,ladder.gnuplot} "$copy/tests/bench/"

# run DATE COMMIT TFLOPS: a whole run. cuBLAS has 100 TFLOP/s; the chapters 02 and 07 have half of it and as much as
# TFLOPS says; 07 is 128 times as fast at 16384 cubed, so that its geometric mean over seven shapes is twice its ratio.
run() {
    local size
    echo gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w
    for size in 8192,8192,8192 4096,4096,4096 2048,2048,2048 1024,1024,1024 16384,16384,16384 4096,14336,4096 \
                8192,7168,2048 4096,4096,14336 512,7168,7168 128,8192,8192; do
        awk -v size=$size -v run="A GPU,$1,$2,paused" -v tflops="$3" 'BEGIN {
            row(1, "cublas", 100)
            row(1, "02", 50)
            row(size ~ /^16384/ ? 128 : 1, "07", tflops)
        }
        function row(times, kernel, t) {
            printf "%s,%s,%s,%g,%g,%g,%.4f,1980,700\n", run, size, kernel, times * t, t, 200 * t, times * t / 100
        }'
    done
}
run 2026-01-02 newer 90 >"$results/a_gpu_2026-01-02.csv"
run 2026-01-01 older 70 >"$results/a_gpu_2026-01-01.csv"
cat >"$results/a_gpu_2026-01-02_sustained.csv" <<'TEXT'
gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w
A GPU,2026-01-02,newer,sustained,8192,8192,8192,07,800,790,810,1.25,1500,600
A GPU,2026-01-02,newer,sustained,8192,8192,8192,cublas,640,630,650,1.0000,1400,640
TEXT
cat >"$results/a_gpu_2026-01-01_limits.csv" <<'TEXT'
gpu,date,commit,limit,unit,median,min,max
A GPU,2026-01-01,older,wgmma of some shape,TFLOP/s,200.00,199.00,201.00
A GPU,2026-01-01,older,mma.sync of some shape,TFLOP/s,150.00,149.00,151.00
TEXT
cat >"$copy/README.md" <<'TEXT'
# Front
<!-- figures: ladder -->
<!-- /figures -->
between
<!-- figures: sustained -->
<!-- /figures -->
<!-- figures: limits -->
<!-- /figures -->
```
<!-- figures: this is a text -->
```
end
TEXT
cat >"$copy/07_seven/README.md" <<'TEXT'
<!-- figures: chapter 07 -->
old
<!-- /figures -->
<!-- figures: shapes -->
<!-- /figures -->
TEXT
printf '<!-- figures: nonsense -->\n' >"$copy/build/README.md" # not the repository's

try "$copy/tests/bench/figures" --check
is $status 1 "empty blocks: not up to date"
for block in 'README.md:2: the block "ladder"' 'README.md:5: the block "sustained"' \
             'README.md:7: the block "limits"' \
             '07_seven/README.md:1: the block "chapter 07"' '07_seven/README.md:4: the block "shapes"'; do
    like "$said" "$block" "named: $block"
done
try "$copy/tests/bench/figures"
is $status 0 "the blocks are written"
try "$copy/tests/bench/figures" --check
is "$status:$said" "0:" "and then up to date"

# row FILE START: the first row of a table that begins so
row() { grep -F -m 1 "$2" "$copy/$1"; }
is "$(row README.md '| [07_seven]')" \
   "| [07_seven](07_seven/) | 90.0 | 90.0 | 90.0 | 0.900 | 0.900 | 0.900 | 1.800 [0.900] | 0.45 |" \
   "ladder: the newest run, the geometric mean of the seven, the share of wgmma alone"
is "$(row README.md '| [02_two]')" \
   "| [02_two](02_two/) | 50.0 | 50.0 | 50.0 | 0.500 | 0.500 | 0.500 | 0.500 [0.500] | 0.33 |" \
   "ladder: the share of mma.sync alone"
is "$(row README.md '| [01_one]')" "| [01_one](01_one/) | – | – | – | – | – | – | – | – |" \
   "ladder: what was not run"
is "$(row README.md '| [07_seven](07_seven/) | 8192³ | 800')" \
   "| [07_seven](07_seven/) | 8192³ | 800.0 | 790.0 to 810.0 | 1.250 | 1500 | 600 | 0.750 | 0.750 |" \
   "sustained: watts over TFLOP/s, and their ratio"
is "$(row README.md '| wgmma')" "| wgmma of some shape | 200.00 | 199.00 to 201.00 | TFLOP/s |" "limits"
is "$(row 07_seven/README.md '| 16384³ | 11520')" \
   "| 16384³ | 11520.0 | 90.0 to 18000.0 | 115.200 | 50.0 | 0.500 | 230.40 |" "chapter 07 beside chapter 02"
is "$(row 07_seven/README.md '| 4096 x 14336 x 4096 | 100')" \
   "| 4096 x 14336 x 4096 | 100 | – | 0.500 | 0.900 | – |" "shapes"
like "$(cat "$copy/README.md")" \
     "A GPU, 2026-01-02, commit newer, mode paused: .*\(tests/bench/results/a_gpu_2026-01-02.csv\)" "the run is named"
like "$(cat "$copy/07_seven/README.md")" "\(../tests/bench/results/a_gpu_2026-01-02.csv\)" \
     "a link starts from the file it is in"
is "$(sed -n '/^```/,$p' "$copy/README.md")" $'```\n<!-- figures: this is a text -->\n```\nend' "the rest is left alone"

# stale NAME BLOCK: --check must name the block, and writing it anew must end that
stale() {
    try "$copy/tests/bench/figures" --check
    is $status 1 "$1: noticed"
    like "$said" "$2" "$1: the block is named"
}
good() {
    try "$copy/tests/bench/figures" --check
    is "$status:$said" "0:" "$1"
}

sed -i 's/1\.800 \[0\.900\]/1.801 [0.900]/' "$copy/README.md"
stale "a digit changed in the text" 'README.md:2: the block "ladder"'
is "$(grep -c 'the block' <<<"$said")" 1 "a digit changed in the text: no other block is named"
"$copy/tests/bench/figures" >/dev/null
good "put right"
csv=$results/a_gpu_2026-01-02.csv
cp "$csv" "$scratch/csv"
sed -i 's/,2048,2048,2048,07,90,90,18000,0.9000/,2048,2048,2048,07,90,90,18000,0.8000/' "$csv"
stale "a digit changed in the CSV" 'README.md:2: the block "ladder"'
like "$said" '07_seven/README.md:1: the block "chapter 07"' "a digit changed in the CSV: every block of it"
cp "$scratch/csv" "$csv"
good "put right"

# ---- a new chapter ----

mkdir "$copy/09_nine"
stale "a chapter without figures" 'README.md:2: the block "ladder"'
"$copy/tests/bench/figures" >/dev/null
good "put right"
is "$(row README.md '| [09_nine]')" "| [09_nine](09_nine/) | – | – | – | – | – | – | – | – |" "its row is empty"
like "$(cat "$copy/README.md")" " 09 has not been measured yet\." "and the text says why"
try "$copy/tests/bench/figures" --print bars
is "$(grep -c nine <<<"$said")" 0 "no bar is drawn for it"
rmdir "$copy/09_nine"
"$copy/tests/bench/figures" >/dev/null
good "gone again"

# ---- what recording costs ----

mkdir -p "$copy/tests/timeline/results"
costs=$copy/tests/timeline/results/a_gpu_2026-01-02.csv
cat >"$costs" <<'TEXT'
gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent,flop_percent
A GPU,2026-01-02,newer,4096,4096,1024,01,900.0,909.0,1.0,10,0,0.0,0.0
A GPU,2026-01-02,newer,4096,4096,1024,07,100.0,112.5,12.5,10,0,61.2,59.8
A GPU,2026-01-02,newer,4096,4096,4096,07,400.0,410.0,2.5,10,0,81.2,79.8
TEXT
good "another kind of CSV changes no text of the others"
for block in recording 'recording 01' 'recording 02' 'recording 07'; do
    printf '<!-- figures: %s -->\n<!-- /figures -->\n' "$block"
done >"$copy/tests/timeline/README.md"
stale "recording" 'tests/timeline/README.md:1: the block "recording"'
"$copy/tests/bench/figures" >/dev/null
good "put right"
is "$(row tests/timeline/README.md '| [07_seven](../../07_seven/) | 4096 x')" \
   "| [07_seven](../../07_seven/) | 4096 x 4096 x 1024 | 100.0 | 112.5 | 12.5 | 61.2 | 59.8 |" "recording: a row"
is "$(row tests/timeline/README.md '| [01_one]')" \
   "| [01_one](../../01_one/) | 4096 x 4096 x 1024 | 900.0 | 909.0 | 1.0 | – | – |" "recording: no tensor cores"
is "$(grep -c '^| \[07_seven\]' "$copy/tests/timeline/README.md")" 2 "recording: both sizes"
said=$(tr '\n' ' ' <"$copy/tests/timeline/README.md")
like "$said" "12\.5 % slower; in .* busy for 61\.2 % of the time by the events and 59\.8 % by FLOP " "recording 07: a sentence"
like "$said" "1\.0 % slower \(A GPU, 2026-01-02" "recording 01: a sentence without tensor cores"
like "$said" "has not been measured yet" "recording 02: not measured"
sed -i 's/,12\.5,10,/,12.6,10,/' "$costs"
stale "a digit changed in the CSV of recording" 'tests/timeline/README.md:1: the block "recording"'
like "$said" 'the block "recording 07"' "... in the sentence too"
is "$(grep -c 'the block "recording 01"' <<<"$said")" 0 "... and in no other"
rm -r "$copy/tests/timeline"
good "gone again"

# ---- which run counts ----

run 2026-01-03 partial 80 | grep -v ',16384,' >"$results/a_gpu_2026-01-03.csv"
good "a later run that lacks a shape does not count"
run 2026-01-03 whole 80 | tail -n +2 >>"$results/a_gpu_2026-01-03.csv"
stale "a later whole run" 'README.md:2: the block "ladder"'
rm "$results/a_gpu_2026-01-03.csv"
run 2026-01-02 later 80 | tail -n +2 >>"$csv"
try "$copy/tests/bench/figures" --print ladder
like "$said" "commit later" "of two runs of a day the later counts"
cp "$scratch/csv" "$csv"

# ---- what is refused ----

cp "$copy/README.md" "$scratch/README"
# refused TEXT PATTERN NAME: a README with this text
refused() {
    printf '%s\n' "$1" >"$copy/README.md"
    printf '<!-- figures: limits -->\nold\n<!-- /figures -->\n' >"$copy/02_two/README.md"
    for option in --check ""; do
        try "$copy/tests/bench/figures" $option
        is "$status:$(wc -l <<<"$said")" 2:1 "$3: refused in one line"
        like "$said" "$2" "$3: named"
    done
    is "$(sed -n 2p "$copy/02_two/README.md")" old "$3: no file is changed"
    rm "$copy/02_two/README.md"
}
refused $'<!-- figures: nonsense -->\n<!-- /figures -->' 'README.md:1: there is no block "nonsense"' "an unknown block"
refused $'<!-- figures: chapter 09 -->\n<!-- /figures -->' 'there is no chapter "09"' "an unknown chapter"
refused $'x\n<!-- figures: limits -->' 'README.md:2: .*no line <!-- /figures -->' "a block without an end"
refused $'<!-- figures: limits -->\n<!-- figures: ladder -->\n<!-- /figures -->' 'README.md:1: .*no line' \
        "a block in a block"
refused $'<!-- /figures -->' 'README.md:1: ' "an end without a start"
cp "$scratch/README" "$copy/README.md"
echo "A GPU,2026-01-02,newer,paused,8192" >>"$csv"
try "$copy/tests/bench/figures" --check
is $status 2 "a broken row: refused"
like "$said" "a_gpu_2026-01-02.csv:32" "a broken row: named"
cp "$scratch/csv" "$csv"
try "$copy/tests/bench/figures" --chekc
is "$status:$(wc -l <<<"$said")" 2:1 "an unknown option: refused in one line"

# ---- the picture, with a gnuplot of a few lines and then, where it is installed, the real one ----

cat >"$scratch/gnuplot" <<'TEXT'
#!/bin/sh
printf '<?xml version="1.0"?>\n<svg>\n<text>%s</text>\n' "$5" >"$4"
cat "$3" >>"$4"
echo '</svg>' >>"$4"
TEXT
chmod +x "$scratch/gnuplot"
svg=$results/ladder.svg
draw() { try env GNUPLOT="$1" "$copy/tests/bench/ladder"; }
# judge EXPECTED PATTERN NAME
judge() {
    try "$copy/tests/bench/ladder" --check
    is $status "$1" "$3"
    like "$said" "$2" "$3: named"
}
judge 1 "ladder.svg is missing" "no picture"
draw "$scratch/no/gnuplot"
is "$status:$(wc -l <<<"$said")" 0:1 "without gnuplot nothing is drawn"
like "$said" "apt install gnuplot" "and a line says how to get it"
[ ! -e "$svg" ]
ok $? "no picture is left behind"
for gnuplot in "$scratch/gnuplot" gnuplot; do
    which=${gnuplot##*/}
    [ "$gnuplot" = gnuplot ] && which="the real gnuplot"
    if ! command -v "$gnuplot" >/dev/null; then
        skip "$which draws" "gnuplot was not found"
        continue
    fi
    draw "$gnuplot"
    is $status 0 "$which draws"
    judge 0 '^$' "$which: up to date"
    cp "$svg" "$scratch/svg"
    draw "$gnuplot"
    cmp -s "$svg" "$scratch/svg"
    ok $? "$which: the same CSV gives the same file"
    like "$(sed -n 2p "$svg")" "a_gpu_2026-01-02.csv, commit newer" "$which: the picture names CSV and commit"
    sed -i 's/,2048,2048,2048,07,90,90,18000,0.9000/,2048,2048,2048,07,90,90,18000,0.9001/' "$csv"
    judge 1 'says "<!-- drawn from' "$which: a digit changed in the CSV"
    cp "$scratch/csv" "$csv"
    sed -i '3,$s/newer/never/' "$svg"
    judge 1 "changed after it was drawn" "$which: a letter changed in the picture"
    run 2026-01-04 newest 90 >"$results/a_gpu_2026-01-04.csv"
    cp "$scratch/svg" "$svg"
    judge 1 "a_gpu_2026-01-04.csv" "$which: there is a newer run"
    rm "$results/a_gpu_2026-01-04.csv"
done

done_testing
