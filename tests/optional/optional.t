#!/usr/bin/env bash
# Can programs that few machines can run be built, and do they say in a line what is missing? These are the programs of
# several GPUs, with a stub of MPI, and with a real MPI if there is one; PyTorch's callers, on a mock of torch; and the
# peers' adapters, if somebody has fetched their sources (tests/bench/peers/get).
. tests/tools/tap.sh
here=tests/optional
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# ---- the programs of several GPUs

programs=$(ls beyond/*/*_mpi.c)
like "$programs" '_mpi\.c' "there is a program of several GPUs"
for source in $programs; do
    name=$(basename "$source" .c)
    # Built by make, where there is an MPI.
    if [ -e "${source%.c}" ]; then
        like "$("${source%.c}" --help 2>&1)" 'mpirun -n' "$name, with the MPI of this machine, starts"
    else
        skip "$name with a real MPI" "nvcc or mpicc was not found"
    fi
    if [ -n "${NO_NVCC:-}" ]; then
        skip "$name runs" "$NO_NVCC"
        continue
    fi
    # One process of the stub. status ARGUMENT...: $said, $status
    run() { said=$("$B/$here/${source%.c}" "$@" 2>&1 </dev/null); status=$?; }
    run --help
    is "$status" 0 "$name --help: status 0"
    like "$said" '--csv' "... and it lists --csv"
    for wrong in '--no-such-option' '--m 0' '--csv' '--on model' '--m 8 surplus'; do
        # shellcheck disable=SC2086
        run $wrong
        is "$status $(wc -l <<<"$said")" "2 1" "$name $wrong: refused with a line"
    done
    run --m 64 --csv "$scratch/rows.csv"
    if [ "$status" -eq 0 ]; then
        skip "$name without a GPU" "there is one"
    else
        is "$status $(wc -l <<<"$said")" "3 1" "$name without a GPU: status 3 and a line"
        like "$said" 'GPU' "... that says what it lacks"
    fi
done

# ---- the ranks of one host: whoever does not agree, or dies, ends all of them

if [ -z "${NO_NVCC:-}" ]; then
    ranks() { said=$(timeout 60 "$B/$here/group" "$@" 2>&1 </dev/null); status=$?; }
    ranks agrees --ranks 4
    is "$status $said" "0 4 ranks agree" "four ranks start and agree"
    ranks disagrees --ranks 3
    is "$status $(wc -l <<<"$said")" "2 1" "ranks of other sizes: all end, with a line"
    like "$said" 'rank 1 has --m 64 --n 64 --k 128, and rank 0 --m 64 --n 64 --k 64' "... that says who has what"
    ranks dies --ranks 3
    is "$status $said" "3 rank 1 was ended by signal 9: the other ranks are ended, too" "a rank that dies ends the others"
    ranks reaches --ranks 3
    sentence='0: rank 1 cannot reach the memory of rank 2: peer access is not supported between these two devices'
    is "$status $said" "0 $sentence"$'\n'"$sentence"$'\n'"$sentence" "GPUs that do not reach each other: every rank knows which"
    ranks reaches --ranks 2
    is "$status $said" $'0 1: \n1: ' "GPUs that do"
    said=$(cat tests/bench/results/*_several.csv | perl -F, -ane '
        my ($pattern, $way) = split / /, $F[7], 2;
        $rate{"$F[1] $F[2]"}{"$1 @F[4 .. 6] $pattern"}{$way} = $F[8] if $F[3] eq "several" && $F[0] =~ /^(\d+) x/;
        END {
            for my $run (values %rate) {
                for my $at (grep { $run->{$_}{12} } sort keys %$run) {
                    my $of = $run->{$at};
                    my ($fastest, @slower) = sort { $of->{$b} <=> $of->{$a} } grep { /^(?:nccl|12(?: copies)?)$/ } keys %$of;
                    my $measured = join ",", "", map({ s/ /_/r } $fastest, @slower), "";
                    chomp(my $chosen = qx{echo "$at $measured" | "$ENV{B}/tests/optional/group" rule});
                    my $times = $of->{$chosen} ? $of->{$fastest} / $of->{$chosen} : 9;
                    printf "%s: %s, %.3f of the time of %s\n", $at, $chosen, $times, $fastest;
                    $worst = $times if $times > ($worst // 0);
                }
            }
            printf "at most %.3f\n", $worst // 9;
        }')
    worst=${said##* }
    [ "${worst/./}" -le 1030 ]
    ok $? "12: at each measured size the way that the rule chooses takes at most 1.03 of the fastest way's time" || explain "$said"
    ranks agrees --ranks 9
    is "$status $said" '2 --ranks: "9" is not a number of ranks from 1 to 8' "too many ranks"
    said=$(timeout 60 beyond/12_several_gpus/12_several_gpus_ranks --ranks 3 --m 64 2>&1 </dev/null) && status=0 || status=$?
    if [ "$status" -eq 0 ]; then
        skip "ranks without GPUs" "there are three"
    else
        is "$status $(wc -l <<<"$said")" "3 1" "more ranks than GPUs: status 3 and a line"
    fi
fi

# ---- PyTorch's callers

if ! command -v python3 >/dev/null; then
    skip "PyTorch's callers" "python3 was not found"
    done_testing
fi
export PYTHONDONTWRITEBYTECODE=1
# with_torch TORCH FILE: what FILE says with TORCH in place of PyTorch. A mock supplies the other names of PyTorch that
# FILE uses.
with_torch() {
    python3 -c "
import runpy, sys
from unittest.mock import MagicMock
torch = $1
for name in 'torch', 'torch.nn', 'torch.nn.attention':
    sys.modules[name] = torch
runpy.run_path('$2', run_name='__main__')" 2>&1
}
for file in $(grep -lr --include='*.py' 'import torch' beyond tests | grep -v attention13.py); do
    said=$(with_torch 'MagicMock(**{"cuda.is_available.return_value": False})' "$file")
    is "$?:$said" "3:$(basename "$file" .py | sed 's/^attention$/attention.py/'): torch sees no GPU" "$file: imported with torch, it says that there is no GPU"
    said=$(with_torch None "$file")
    is "$?" 3 "$file without torch: status 3"
    like "$said" 'has no module torch$' "... and a line"
done

# ---- the peers' adapters

if [ -n "${NO_NVCC:-}" ] || [ ! -d tests/bench/peers/.src ]; then
    skip "the peers' adapters" "${NO_NVCC:-their sources are not here: tests/bench/peers/get fetches them}"
else
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s PEERS=1 peers >"$scratch/said" 2>&1
    ok $? "the peers' adapters compile" || explain "$(cat "$scratch/said")"
fi
done_testing
