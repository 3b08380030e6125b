"""several.py - PyTorch's fused operators for several GPUs, and its own NCCL, as rows of the bench's CSV.

    python3 tests/bench/several.py RANKS CSV M,N,K [M,N,K ...]

One process for each GPU of this host. gather_a: rows of A are gathered while they are multiplied; reduce_scatter: the
product of each rank's part of K is scattered while it is computed. A launch takes as long as on the slowest rank."""
import os
import statistics
import sys
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # no NVLink multicast, as in chapter 12
os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attention import graph_of, torch, write_row  # noqa: E402
if not torch.cuda.is_available():
    print("several: torch sees no GPU", file=sys.stderr)
    sys.exit(3)
import torch.distributed as dist
import torch.distributed._symmetric_memory  # registers torch.ops.symm_mem
import torch.multiprocessing as mp

ROUNDS, PAUSE_S, LAUNCHES = 5, 0.2, 10  # in a graph, since PyTorch's host takes longer for a launch than the GPU


def ways_of(rank, ranks, m, n, k):
    """Name and function of each way, for this rank."""
    group = dist.group.WORLD.group_name
    bf16 = {"dtype": torch.bfloat16, "device": "cuda"}
    torch.manual_seed(rank)
    a_rows, b_rows = torch.randn(m // ranks, k, **bf16), torch.randn(n // ranks, k, **bf16)
    a_part, b_part = torch.randn(m, k // ranks, **bf16), torch.randn(n, k // ranks, **bf16)
    a_all = torch.empty(m, k, **bf16)
    c_rows = torch.empty(m // ranks, n, **bf16)

    def gather_nccl():
        dist.all_gather_into_tensor(a_all, a_rows)
        return a_all @ b_rows.t()

    def scatter_nccl():
        dist.reduce_scatter_tensor(c_rows, a_part @ b_part.t())

    return {
        "gather_a torch nccl": gather_nccl,
        "gather_a torch fused": lambda: torch.ops.symm_mem.fused_all_gather_matmul(a_rows, [b_rows.t()], 0, group),
        "reduce_scatter torch nccl": scatter_nccl,
        "reduce_scatter torch fused": lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(
            a_part, b_part.t(), "sum", 0, group),
    }


def sample(graph):
    """Milliseconds of one launch on the slowest rank."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    time.sleep(PAUSE_S)
    dist.barrier()
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    ms = torch.tensor([begin.elapsed_time(end) / LAUNCHES], device="cuda")
    dist.all_reduce(ms, dist.ReduceOp.MAX)
    return ms.item()


def run(rank, ranks, csv, shapes):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29511", rank=rank, world_size=ranks,
                            device_id=torch.device("cuda", rank))
    for m, n, k in shapes:
        ways = ways_of(rank, ranks, m, n, k)
        # All ways run before the first graph is captured: a fused way that needs a larger workspace frees the old one,
        # whose address would be in the graphs of the other ways.
        for way in [*ways.values()] * 3:
            way()
        torch.cuda.synchronize()
        graphs = {name: graph_of(way, LAUNCHES) for name, way in ways.items()}
        times = {name: [] for name in graphs}
        for _ in range(ROUNDS):
            for name, graph in graphs.items():
                times[name].append(sample(graph))
        for name in graphs if rank == 0 else ():
            tflops, base = ([2e-9 * m * n * k / ms for ms in times[of]] for of in (name, name.replace("fused", "nccl")))
            print(f"{name:28} {m} x {n} x {k}: {statistics.median(times[name]):.4f} ms")
            write_row(csv, f"{ranks} x {torch.cuda.get_device_name()}", f"several,{m},{n},{k}", name, tflops,
                      f"{statistics.median(tflops) / statistics.median(base):.4f}")
        torch.cuda.synchronize()
        graphs.clear()  # before the communicator that they use
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, (int(sys.argv[1]), sys.argv[2], [tuple(map(int, s.split(","))) for s in sys.argv[3:]]),
             int(sys.argv[1]))
