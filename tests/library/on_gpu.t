#!/usr/bin/env bash
# The programs that 09's page shows, on a Hopper GPU: is the one in C right, linked either way, and has the one in
# PyTorch the same bits, on a stream of its own and replayed from a graph? Do all take the plans that the first one has
# saved? Builds nothing (`make library` does).
. tests/tools/tap.sh
library=$B/library
[ -z "${NO_NVCC:-}" ] || skip_all "$NO_NVCC"
plans=$(mktemp -u) || exit 1
trap 'rm -f "$plans"' EXIT

# step COMMAND ...: what the command says is in `said`, its status in `status`.
step() {
    said=$("$@" 2>&1)
    status=$?
}

step "$library/example" "$plans"
[ $status -ne 2 ] || skip_all "${said#example: }"
is $status 0 "example"
[ $status -eq 0 ] || explain "$said"
sizes=$(grep -c ' x ' <<<"$said")
is "$(grep -c ': right, checksum [0-9a-f]*, by its plan [0-9a-f]*$' <<<"$said")" "$sizes" "... is right at each size"
ok $((sizes < 4)) "... of at least 4"
is "$(tail -n 1 <<<"$said")" "0 plans loaded, $sizes measured" "... and has measured a plan for each"
expected=${said/0 plans loaded, $sizes measured/$sizes plans loaded, 0 measured}
step "$library/example_static" "$plans"
is "$said" "$expected" "example_static loads them, and has the same bits"
step python3 beyond/09_every_shape/library/example_torch.py "$library/libgemm09.so" "$plans"
if [ $status -eq 127 ] || [ $status -eq 3 ]; then
    skip "example_torch.py" "$(tail -n 1 <<<"$said")"
else
    is $status 0 "example_torch.py"
    is "$said" "$expected" "... says the same: its bits are those of the program in C"
fi
done_testing
