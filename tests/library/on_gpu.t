#!/usr/bin/env bash
# The programs that 09's page shows, on a Hopper GPU: is the one in C right, linked either way, and has the one in PyTorch the
# same bits, on a stream of its own and replayed from a graph?
. tests/tools/tap.sh
source=beyond/09_every_shape/library
library=$B/library
[ -z "${NO_NVCC:-}" ] || skip_all "$NO_NVCC"

said=$("$library/example" 2>&1)
status=$?
[ $status -eq 0 ] || ! grep -q 'no Hopper GPU' <<<"$said" || skip_all "${said#example: }"
is $status 0 "example"
[ $status -eq 0 ] || explain "$said"
is "$(grep -c ': right, checksum [0-9a-f]*$' <<<"$said")" "$(wc -l <<<"$said")" "... is right at each size"
ok $(($(wc -l <<<"$said") < 4)) "... of at least 4"
is "$("$library/example_static" 2>&1)" "$said" "example_static says the same"
is "$("$library/attention" 2>&1 | grep -c ': right, ')" 1 "attention, of libattention13, is right"

torch=$(python3 "$source/example_torch.py" "$library/libgemm09.so" 2>&1)
status=$?
if [ $status -eq 127 ] || [ $status -eq 3 ]; then
    skip "example_torch.py" "$(tail -n 1 <<<"$torch")"
else
    is $status 0 "example_torch.py"
    is "$torch" "$said" "... says the same: its bits are those of the program in C"
fi
done_testing
