#!/usr/bin/env bash
# Is each speed in running text one of a CSV, and would check_prose_figures say so if one were not?
. "$(dirname "$0")/../tools/tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
check=$top/tests/book/check_prose_figures
command -v perl >/dev/null || skip_all "perl was not found"
cd "$top" || exit 1

said=$("$check" 2>&1)
is "$?:${said##*[0-9] }" "0:speeds in running text" "the speeds in running text are those of the CSVs"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p tests/bench/results
printf 'gpu,m,median_tflops,sm_mhz\nA,8192,803.64,1980\nA,8192,1234.56,1979\n' >tests/bench/results/a.csv
printf 'gpu,limit,median,min,max\nA,wgmma,920.44,919.83,920.81\n' >tests/bench/results/b.csv
while IFS='|' read -r status text; do
    printf '# A page\n\n%b\n' "$text" >page.md
    said=$("$check" 2>&1)
    is "$?" "$status" "$text"
    [ "$status" -eq 0 ] || like "$said" '^page.md:[345]: no CSV has ' "$text: named"
done <<'LIST'
0|It reaches 804 TFLOP/s, or 803.6 TFLOP/s.
0|It lies at 919.83 to 920.8 TFLOP/s, and 1,235 TFLOPS.
0|> The data sheet has 3,958\n> TFLOPS.
1|It reaches 805 TFLOP/s.
1|It reaches 803.7 TFLOP/s.
1|It lies at 919.83 to 920.9 TFLOP/s.
1|It reaches 1980 TFLOP/s.
1|> It lies\n> at 700 TFLOP/s.
0|<!-- figures: ladder -->\n1 TFLOP/s\n<!-- /figures -->
0|**Prediction.** It will reach\n12 TFLOP/s.
1|**Prediction.** It will.\n\nIt reaches 12 TFLOP/s.
0|```\n1 TFLOP/s\n```
0|\x7c x \x7c 1 TFLOP/s \x7c
LIST
printf 'It reaches 804 TFLOP/s.\n' >page.md
printf '800 TFLOP/s\n' >page.zh.md
is "$("$check" 2>&1)" "1 speeds in running text" "a Chinese page is left to check_languages"

done_testing
