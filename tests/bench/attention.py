#!/usr/bin/env python3
"""attention.py - 13_attention compared with PyTorch and FlashAttention-3, in one process and in the same rounds.

    attention.py [--flash3 FILE] [--more] [--rounds R] [--pause MS] [--csv FILE]

make bench-attention calls it. --flash3: peers/flash3.cu as a library. --more: other points, instead of the twelve with
16384 tokens and 2048 = heads x head size: lengths that are no multiple of a tile, few keys, few queries, fewer heads of
K and V. --csv: as bench's.

Every result is compared with sums in fp64 before it is timed; a wrong result gets no figure, and the exit status is 1.
A sample is a graph of launches that takes 4 ms or more, with a pause before it, so that the host's time for a call does
not count. All rows take turns, and the median counts, as in bench.c.
COMMIT in the environment names the commit in the CSV. Exit status 3: no PyTorch, or no GPU."""
import argparse
import ctypes
import datetime
import os
import re
import statistics
import sys
import time

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    print("attention.py: python3 has no module torch", file=sys.stderr)
    sys.exit(3)

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "beyond/13_attention/library"))
from attention13 import Attention13, strides  # noqa: E402

SAMPLE_MS = 4
# batches, heads, heads of K and V, queries, keys, head size, causal
POINTS = [(16384 // s, 2048 // d, 2048 // d, s, s, d, causal)
          for d in (64, 128) for causal in (False, True) for s in (1024, 4096, 16384)]
MORE = [(16, 16, 16, 1000, 1000, 128, True), (8, 16, 16, 2047, 2047, 128, True), (4, 32, 8, 4096, 4096, 128, True),
        (2, 16, 16, 8190, 8190, 128, True), (1, 16, 16, 1536, 512, 128, False), (8, 16, 16, 1536, 512, 128, False),
        (4, 16, 16, 512, 8192, 128, True), (16, 32, 32, 577, 577, 64, False), (8, 32, 8, 1, 8192, 128, False)]
HEADER = ("gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w,driver,cuda,"
          "cublas")


class Flash3:
    """flash3() of peers/flash3.cu."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.counter = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def __call__(self, q, k, v, causal, out, lse):
        tensors = (ctypes.c_void_p * 5)(*(x.data_ptr() for x in (q, k, v, out, lse)))
        status = self.library.flash3(
            tensors, (ctypes.c_int64 * 3 * 4)(*(strides(x) for x in (q, k, v, out))), q.size(0), q.size(1), k.size(1),
            q.size(2), k.size(2), q.size(3), causal, ctypes.c_float(q.size(3) ** -0.5),
            ctypes.c_void_p(self.counter.data_ptr()), self.sms,
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if status != 0:
            raise RuntimeError(f"flash3: CUDA error {status}")
        return out


def sdpa(backend):
    """PyTorch's mask begins in the upper left corner, so it has no problem with a mask and other lengths."""
    def run(q, k, v, causal, out, lse):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=k.size(1) != q.size(1))
    return run


def ours(path):
    call = Attention13(path)
    return lambda q, k, v, causal, out, lse: call(q, k, v, causal, out=out, lse=lse)[0]


PYTORCH = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}


def operands(point):
    """Normal; as a projection leaves them: [batch][token][head][size], seen as [batch][head][token][size]."""
    batches, heads, kv_heads, queries, keys, d, _ = point
    torch.manual_seed(1)
    return [torch.randn((batches, tokens, h, d), dtype=torch.bfloat16, device="cuda").transpose(1, 2)
            for tokens, h in ((queries, heads), (keys, kv_heads), (keys, kv_heads))]


def roundings(k):
    return 2**-23 * min(k, 16 + 4 * k**0.5)


def references(q, k, v, causal):
    """Of the first and the last head: batch, head, what O should be, and what an element may be off by. That is the
    bound of common/harness/kind.h, where it is derived: weights are rounded to bf16, scores and sums to fp32, then O to
    bf16."""
    for batch, head in ((0, 0), (-1, -1)):
        a, b, c = (x[batch, head].double() for x in (q, k, v))  # head 0 or -1: also of grouped K and V
        scale, parts = a.size(1) ** -0.5, []
        for first in range(0, a.size(0), 2048):
            rows = a[first:first + 2048]
            score, score_size = rows @ b.T * scale, rows.abs() @ b.abs().T * scale
            if causal:
                unseen = torch.ones_like(score, dtype=torch.bool).triu(first + 1 + b.size(0) - a.size(0))
                score, score_size = score.masked_fill(unseen, -torch.inf), score_size.masked_fill(unseen, 0)
            weight = score.softmax(1)
            want, size, squares = weight @ c, weight @ c.abs(), weight.square() @ c.square()
            weight_error = (roundings(a.size(1)) + 2**-22) * score_size.amax(1, True) + roundings(b.size(0)) + 2**-20
            of_weights = torch.minimum(8 * squares.sqrt(), size)
            parts.append((want, 2**-8 * (want.abs() + of_weights) + 2 * weight_error * size))
        yield batch, head, torch.cat([x for x, _ in parts]), torch.cat([x for _, x in parts])


def is_right(out, expected):
    """And the root mean square of what is off is by far less than 2^-8 of O's."""
    for batch, head, want, allowed in expected:
        error = (out[batch, head].double() - want).abs()
        if not (bool((error <= allowed).all()) and float(error.square().sum()) <= 2**-16 * float(want.square().sum())):
            return False
    return True


def graph_of(run, launches):
    """So many launches, one after the other."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(launches):
            run()
    return graph


def sample(graph, launches):
    """Milliseconds of a launch. The graph waits for a spin, so that the host is ahead."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(800_000)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / launches


def measure(point, contestants, options):
    """Yields name and TFLOP/s of each round; None instead where the result is wrong."""
    batches, heads, kv_heads, queries, keys, d, causal = point
    q, k, v = operands(point)
    out, lse = torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device="cuda")
    seen = sum(max(0, i + 1 + keys - queries) for i in range(queries)) if causal and options.more else (
        queries * keys / (2 if causal else 1))
    flop = 4 * batches * heads * d * seen
    expected, rows = list(references(q, k, v, causal)), []
    for name, call in contestants:
        if name in PYTORCH and causal and queries != keys:
            continue
        out.fill_(float("nan"))
        run = lambda call=call: call(q, k, v, causal, out, lse)  # noqa: E731
        try:
            result = run()
        except RuntimeError as error:
            print(f"  {name:20} refuses: {str(error).splitlines()[0]}")
            continue
        if is_right(result, expected):
            launches = max(2, int(-(-SAMPLE_MS // sample(graph_of(run, 2), 2))))
            rows.append((name, graph_of(run, launches), launches, []))
        else:
            yield name, None
    for _ in range(options.rounds):
        for _, graph, launches, values in rows:
            time.sleep(options.pause / 1000)
            values.append(flop / sample(graph, launches) / 1e9)
    for name, _, _, values in rows:
        yield name, values


def csv_of(point, more):
    """mode, m, n, k. Of the other points the mode says which lengths and heads differ."""
    batches, heads, kv_heads, queries, keys, d, causal = point
    other = f"_{queries}_queries" * (queries != keys) + f"_{kv_heads}_of_kv" * (kv_heads != heads)
    return f"attention{'_more' * more}_{d}{'_causal' * causal}{other},{batches * queries},{heads * d},{keys}"


def driver_version():
    """ "580.65.06"; empty if the driver does not say. """
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii") as said:
            return re.search(r"  (\d+[.\d]*)  ", said.read()).group(1)
    except (OSError, AttributeError):
        return ""


def write_row(path, gpu, place, name, tflops, ratio=""):
    """Appends a row to a CSV of the bench. place: its mode, m, n and k; tflops: of each round."""
    with open(path, "a", encoding="ascii") as csv:
        if csv.tell() == 0:
            print(HEADER, file=csv)
        print(gpu, datetime.date.today(), os.environ.get("COMMIT", "unknown"), place, name,
              *("%.4g" % x for x in (statistics.median(tflops), min(tflops), max(tflops))),
              ratio, "", "", driver_version(), torch.version.cuda, "", sep=",", file=csv)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--flash3")
    parser.add_argument("--csv")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause", type=int, default=200)
    parser.add_argument("--more", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("attention.py: torch sees no GPU", file=sys.stderr)
        return 3
    contestants = [("13", ours(os.path.join(TOP, "build/release/library/libattention13.so")))]
    contestants += [(name, sdpa(backend)) for name, backend in PYTORCH.items()]
    if options.flash3:
        contestants.append(("FlashAttention-3", Flash3(options.flash3)))
    gpu, wrong = torch.cuda.get_device_name(0), 0
    print(f"{gpu}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    path = options.csv or os.path.join(
        TOP, f"tests/bench/results/{re.sub('[^a-z0-9]', '_', gpu.lower())}_{datetime.date.today()}_attention"
        f"{'_more' * options.more}.csv")
    for point in MORE if options.more else POINTS:
        print(csv_of(point, options.more))
        for name, values in measure(point, contestants, options):
            wrong += values is None
            print(f"  {name:20} " + ("wrong" if values is None else "%.1f TFLOP/s (%.1f to %.1f)" % (
                statistics.median(values), min(values), max(values))), flush=True)
            if values:
                write_row(path, gpu, csv_of(point, options.more), name, values)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
