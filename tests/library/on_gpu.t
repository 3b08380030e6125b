#!/usr/bin/env bash
# The programs that 09's page shows, on a Hopper GPU: is the one in C right, linked either way, and has the one in
# PyTorch the same bits, on a stream of its own and replayed from a graph? Do all take the plans that the first one has
# saved?
. tests/tools/tap.sh
source=beyond/09_every_shape/library
library=$B/library
[ -z "${NO_NVCC:-}" ] || skip_all "$NO_NVCC"

plans=$(mktemp -u) || exit 1
trap 'rm -f "$plans"' EXIT
said=$("$library/example" "$plans" 2>&1)
status=$?
[ $status -eq 0 ] || ! grep -q 'no Hopper GPU' <<<"$said" || skip_all "${said#example: }"
is $status 0 "example"
[ $status -eq 0 ] || explain "$said"
sizes=$(grep -c ' x ' <<<"$said")
is "$(grep -c ': right, checksum [0-9a-f]*, by its plan [0-9a-f]*$' <<<"$said")" "$sizes" "... is right at each size"
ok $((sizes < 4)) "... of at least 4"
is "$(tail -n 1 <<<"$said")" "0 plans loaded, $sizes measured" "... and has measured a plan for each"
said=${said/0 plans loaded, $sizes measured/$sizes plans loaded, 0 measured}
is "$("$library/example_static" "$plans" 2>&1)" "$said" "example_static loads them, and has the same bits"
sed 's/^end .*/end 9/' "$plans" >"$plans.damaged"
like "$("$library/example" "$plans.damaged" 2>&1)" "a file of plans is not accepted: .*accepted is end $sizes" "a damaged file is refused, and named"
rm -f "$plans.damaged"
is "$("$library/attention" 2>&1 | grep -c ': right, ')" 1 "attention, of libattention13, is right"

torch=$(python3 "$source/example_torch.py" "$library/libgemm09.so" "$plans" 2>&1)
status=$?
if [ $status -eq 127 ] || [ $status -eq 3 ]; then
    skip "example_torch.py" "$(tail -n 1 <<<"$torch")"
else
    is $status 0 "example_torch.py"
    is "$torch" "$said" "... says the same: its bits are those of the program in C"
fi
done_testing
