#!/usr/bin/env bash
# Does `make tune` fit 09's costs.h to the surveys for fitting, and to no other?
. tests/tools/tap.sh
tune=$PWD/$B/tests/bench/tune
costs=beyond/09_every_shape/costs.h

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/beyond/09_every_shape" && cp $costs "$copy/$costs"
cp tests/bench/results/nvidia_h100*_survey_30.csv "$copy/h100_survey_30.csv"
cd "$copy" || exit 1

said=$("$tune" --steps 0 h100_survey_30.csv)
is $? 0 "it reads a survey"
like "$said" '^NVIDIA H100[^:]*: [1-9][0-9]* shapes, [01]\.[0-9]+ \[0\.[0-9]+\] of cuBLAS' "and says how good the choice is"
sed -E 's/,(pingpong_128x128,[0-9]+,[0-9]+,[0-9]+),/,\1,9/' h100_survey_30.csv >faster_survey_30.csv
said=$("$tune" --steps 3000 h100_survey_30.csv) && cp $costs fitted
grep -o '[01]\.[0-9]* of the best' <<<"$said" | sort -cu
is $? 0 "the network brings the choice nearer to the best variants"
"$tune" --steps 3000 faster_survey_30.csv >/dev/null
cmp -s fitted $costs
is $? 1 "where a variant is faster the numbers are others"
cp h100_survey_30.csv h100_survey_1000.csv
message=$("$tune" h100_survey_1000.csv 2>&1)
is $? 2 "a seed from 1000 on"
like "$message" "not for fitting" "... is refused"
sed 's/NVIDIA H100 80GB HBM3/NVIDIA B200/' h100_survey_30.csv >b200_survey_30.csv
message=$("$tune" b200_survey_30.csv 2>&1)
is $? 2 "a card that it does not know"
like "$message" "does not know" "... is refused"
message=$("$tune" 2>&1)
is $? 2 "without a file"
like "$message" "make survey" "... it says what measures one"
done_testing
