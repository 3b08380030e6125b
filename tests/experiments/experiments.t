#!/usr/bin/env bash
# Can the plan be read? Does the program that times its variants strike out what
# is wrong, hangs or fails, and do counters and page say what was measured?
. tests/tools/tap.sh
PLAN=tests/experiments/plan
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

said=$(tests/experiments/rows 2>&1)
ok $? "the plan can be read"
is "$(grep -vc -e '^ROW(' -e '^MISSING(' <<<"$said")" 0 "and becomes rows, nothing else"

# ---- the program, with a GPU of a few lines of C

cat >"$scratch/experiments.inc" <<'TEXT'
ROW(mock_right, "first", "right", RUN_CHAPTER, 0, "", "16 8x16x24")
ROW(mock_right, "first", "first element wrong", RUN_CHAPTER, 0, "--tile-group 3", "16")
ROW(mock_hang, "first", "hangs", RUN_CHAPTER, 0, "", "16 8x16x24")
ROW(mock_fail, "first", "fails", RUN_CHAPTER, 0, "", "16")
ROW(mock_crash, "first", "crashes", RUN_CHAPTER, 0, "", "16")
ROW(mock_turn, "first", "turns wrong", RUN_CHAPTER, 0, "", "16")
MISSING("first", "missing", RUN_CHAPTER, 0, "", "16")
MISSING("second", "alone", RUN_WGMMA, 64, "", "16")
ROW(mock_right, "second", "zeros", RUN_CHAPTER, 0, "--data zeros", "16")
ROW(mock_right, "second", "sustained", RUN_CHAPTER, 0, "--data integers sustained", "16")
TEXT
if $CC $C_SUBSET $CFLAGS -I"$scratch" -Itests/experiments -DGEMM_NO_MODEL tests/experiments/experiments.c \
    tests/experiments/mock_gpu.c common/harness/{check,cublas,nvml,options,problem,report,timing}.c $LDFLAGS -lm -ldl -lrt \
    -lpthread -o "$scratch/program" 2>"$scratch/errors"; then
    ok 0 "the program is built with a mock of a GPU"
else
    ok 1 "the program is built with a mock of a GPU"
    explain "$(head -n 20 "$scratch/errors")"
fi
run() { COMMIT=abc "$scratch/program" --rounds 2 --sustained 1 --patience 1 "$@"; }
said=$(run --csv "$scratch/all.csv" 2>&1)
is $? 1 "variants without a figure: exit status 1"
like "$said" '3 experiments and sizes, 0 of them left out' "all were gone through"
for struck in "first element wrong" hangs fails crashes "turns wrong" missing; do
    like "$said" "without a figure:.*$struck \(first\)" "struck out: $struck"
done
# row VARIANT SIZE UNIT: median and what follows
row() { grep -F ",$1,$2," "$scratch/all.csv" | grep ",$3\$" | cut -d , -f 9-; }
is "$(head -n 1 "$scratch/all.csv")" "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit" "the CSV has a header"
is "$(row right 16,16,16 TFLOP/s)" "$(awk 'BEGIN { x = 2 * 16 ^ 3 / 5 * 1e-9; printf "%.5g,%.5g,%.5g,TFLOP/s", x, x, x }')" \
   "right: 8192 operations in 5 ms"
is "$(row right 16,16,16 MHz)" "1500,1500,1500,MHz" "right: its clock"
like "$(row right 8,16,24 TFLOP/s)" TFLOP "right at another size, where a neighbour hangs"
is "$(row "first element wrong" 16,16,16 wrong)" "0,0,0,wrong" "wrong"
is "$(row hangs 16,16,16 hang)" "0,0,0,hang" "hangs"
is "$(row hangs 8,16,24 '.*')" "" "what has hung is not tried again"
is "$(row fails 16,16,16 error)" "0,0,0,error" "fails"
is "$(row crashes 16,16,16 error)" "0,0,0,error" "crashes"
is "$(row "turns wrong" 16,16,16 wrong)" "0,0,0,wrong" "right when checked, wrong when timed"
is "$(row missing 16,16,16 'not built')" "0,0,0,not built" "what could not be built"
is "$(row alone 16,16,16 TFLOP/s)" "12800,12800,12800,TFLOP/s" "an instruction alone: its own operations"
like "$(row zeros 16,16,16 TFLOP/s)" TFLOP "other data take part in the same rounds"
like "$(row sustained 16,16,16 TFLOP/s)" TFLOP "sustained"
is "$(cut -d , -f 1,3 "$scratch/all.csv" | sort -u | grep -v gpu)" "Mock GPU,abc" "rows name GPU and commit"
said=$(run --only second --csv "$scratch/second.csv" 2>&1)
is "$?:$(cut -d , -f 4 "$scratch/second.csv" | sort -u | tr '\n' ' ')" "0:experiment second " "--only, and exit status 0"
said=$(run --only third 2>&1)
is "$?:$(wc -l <<<"$said")" 2:1 "--only with an unknown name is refused in one line"
said=$(run --once --only second 2>&1)
is "$said" "launched,Mock GPU,second,zeros,16,16,16,right
launched,Mock GPU,second,sustained,16,16,16,right" "--once launches each and names it"

# ---- counters, with an ncu of a few lines

cat >"$scratch/runner" <<'TEXT'
#!/bin/sh
echo "launched,A GPU,swizzle,02,8,8,8,right"
echo "launched,A GPU,swizzle,02 without,8,8,8,${RESULT:-right}"
echo "launched,A GPU,tile_order,groups of 1,8,8,8,right"
TEXT
cat >"$scratch/ncu" <<'TEXT'
#!/bin/sh
while [ "$1" != "${1%%/runner}" ] || [ "${1#/}" = "$1" ]; do shift; done
"$@"
echo '==PROF== something'
echo '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
for id in 0 1 2; do
    for metric in dram__bytes_read.sum l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum lts__t_sectors_op_read.sum; do
        [ "$id$metric" != "$LEFT_OUT" ] || continue
        echo "\"$id\",\"7\",\"gemm_kernel(Gemm)\",\"$metric\",\"\",\"${id},500,000,000\""
    done
done
TEXT
sed -i 's/^while .*/while [ "$1" != "$RUNNER" ]; do shift; done/' "$scratch/ncu"
chmod +x "$scratch/runner" "$scratch/ncu"
count() { RUNNER=$scratch/runner NCU=$scratch/ncu COMMIT=abc tests/experiments/counters "$scratch/counts.csv" 2>&1; }
echo header >"$scratch/counts.csv"
export RUNNER=$scratch/runner
said=$(count)
is $? 0 "counters: exit status 0"
is "$(tail -n +2 "$scratch/counts.csv" | cut -d , -f 1,3-)" \
"A GPU,abc,swizzle,02,8,8,8,500,500,500,million bank conflicts
A GPU,abc,swizzle,02 without,8,8,8,1500,1500,1500,million bank conflicts
A GPU,abc,tile_order,groups of 1,8,8,8,2.5,2.5,2.5,GB read from DRAM
A GPU,abc,tile_order,groups of 1,8,8,8,2500,2500,2500,million sectors read from L2" \
    "each experiment's own counts, in units of the page"
said=$(LEFT_OUT=2dram__bytes_read.sum count)
is $? 1 "a count is missing: exit status 1"
like "$said" "3 counts of 3 launches; 1 are missing" "and said"
said=$(RESULT=wrong count)
is $? 1 "a wrong result: exit status 1"
like "$said" "02 without \(swizzle\) is wrong" "and said"
said=$(NCU=/no/ncu tests/experiments/counters "$scratch/counts.csv" 2>&1)
is "$?:$said" "3:counters: ncu (Nsight Compute) was not found" "without ncu"

# ---- the page

said=$(tests/experiments/page --check 2>&1)
ok $? "the tables of book/experiments.md are those of the CSVs"
[ -z "$said" ] || explain "$said"
page=book/experiments.md
is "$(sed -n 's/^<!-- experiment: \(.*\) -->$/\1/p' $page | sort)" \
   "$({ grep -v -e '^#' -e '^ *$' "$PLAN" | cut -d ' ' -f 1; echo exercises; } | sort -u)" \
   "the page has each experiment of the plan, and the exercises, once"
is "$(grep -c '^\*\*Prediction\.\*\* ' $page):$(grep -c '^\*\*Question\.\*\* ' $page)" \
   "$(grep -c '^<!-- experiment: ' $page):$(grep -c '^<!-- experiment: ' $page)" \
   "each has a question and a prediction"

copy=$scratch/copy
mkdir -p "$copy/tests/experiments/results" "$copy/book"
cp tests/experiments/{page,table.awk,plan} "$copy/tests/experiments/"
printf 'before\n<!-- experiment: expect_tx -->\n<!-- /experiment -->\nafter\n' >"$copy/book/experiments.md"
try() { said=$("$copy/tests/experiments/page" "$@" 2>&1) && status=0 || status=$?; }
try
is "$status:$(sed -n 4p "$copy/book/experiments.md")" \
   "0:Not measured: no CSV in tests/experiments/results has this experiment." "without a CSV the page says so"
cat >"$copy/tests/experiments/results/a_gpu_2026-01-02.csv" <<'TEXT'
gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit
A GPU,2026-01-02,old,expect_tx,07: before the copies,8192,8192,8192,100,90,110,TFLOP/s
A GPU,2026-01-02,new,expect_tx,07: after the copies,8192,8192,8192,50,45,55,TFLOP/s
A GPU,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,200,90,210,TFLOP/s
A GPU,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,1500,1500,1500,MHz
A GPU,2026-01-02,new,expect_tx,07: before the copies,8192,8192,8192,12,12,12,GB read from DRAM
A GPU,2026-01-02,new,expect_tx,07: after the copies,2048,4096,64,0,0,0,hang
TEXT
cat >"$copy/tests/experiments/results/a_gpu_2026-01-01.csv" <<'TEXT'
gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit
A GPU,2026-01-01,older,expect_tx,07: before the copies,8192,8192,8192,7,7,7,TFLOP/s
TEXT
try --check
is $status 1 "a new CSV: the table is not up to date"
like "$said" "experiments.md:2: the table of expect_tx" "and named"
try
is "$(sed -n '/^| 07/p' "$copy/book/experiments.md")" \
"| 07: before the copies | 8192³ | 200 | 90.0 to 210 | 1.000 | 1500 | 12 |
| 07: after the copies | 8192³ | 50.0 | 45.0 to 55.0 | 0.250 | – | – |
| 07: after the copies | 2048 x 4096 x 64 | hang | | | | |" "the newest run, in the order of the plan"
echo "A GPU,2026-01-02,new,setmaxnreg,07,8,8,8,100,90,110,TFLOP/s
A GPU,2026-01-02,new,setmaxnreg,08: cooperative 128 x 256,8,8,8,200,90,110,TFLOP/s
A GPU,2026-01-02,new,setmaxnreg,08: cooperative 128 x 256 without,8,8,8,100,90,110,TFLOP/s" \
    >>"$copy/tests/experiments/results/a_gpu_2026-01-02.csv"
is "$("$copy/tests/experiments/page" --print setmaxnreg | sed -n '/^| 0/p' | cut -d '|' -f 6 | tr -d ' ' | paste -sd ' ')" \
   "1.000 1.000 0.500" "a ratio is to the last variant that the plan marks"
like "$(cat "$copy/book/experiments.md")" "Measured: A GPU, 2026-01-02, commit new \(.*a_gpu_2026-01-02.csv\)" "its source"
is "$(sed -n -e 1p -e '$p' "$copy/book/experiments.md" | paste -sd ' ')" "before after" "the rest is left alone"
try --check
is "$status:$said" "0:" "then it is up to date"
sed -i 's/0\.250/0.251/' "$copy/book/experiments.md"
try --check
is $status 1 "a digit changed: noticed"
echo "A GPU,2026-01-02,new,expect_tx,x,1,1" >>"$copy/tests/experiments/results/a_gpu_2026-01-02.csv"
try --check
is $status 2 "a broken row: refused"
sed -i '$d' "$copy/tests/experiments/results/a_gpu_2026-01-02.csv"
printf '<!-- experiment: none -->\n<!-- /experiment -->\n' >"$copy/book/experiments.md"
try
is $status 2 "an unknown experiment: refused"
like "$said" 'no experiment "none"' "and named"
done_testing
