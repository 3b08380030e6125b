#!/usr/bin/env python3
"""example_torch - libgemm09 in PyTorch: on the current stream, captured in a CUDA graph, and by a plan.

Run           make library, then python3 beyond/09_every_shape/library/example_torch.py [libgemm09.so [FILE]]
              FILE: plans that example.c has saved

It makes the matrices that example.c makes, and prints the same lines, with the same bits. Exit status 3: no PyTorch, or
no GPU.
"""
import ctypes
import os
import sys

try:
    import torch
except ImportError:
    print("example_torch: python3 has no module torch", file=sys.stderr)
    sys.exit(3)

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [(1, 1, 1), (16, 1024, 2048), (300, 521, 1003), (512, 640, 768)]  # m, n, k


class Problem(ctypes.Structure):
    """Gemm09Problem of gemm09.h."""

    _fields_ = [(name, ctypes.c_int64) for name in ("m", "n", "k")] + [
        ("a", ctypes.c_void_p), ("lda", ctypes.c_int64),
        ("b", ctypes.c_void_p), ("ldb", ctypes.c_int64),
        ("c", ctypes.c_void_p), ("ldc", ctypes.c_int64),
        ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
        ("stream", ctypes.c_void_p), ("plan", ctypes.c_int),
    ]


class Gemm09:
    """A handle for the current device."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.gemm09_workspace_bytes.restype = ctypes.c_size_t
        self.library.gemm09_destroy.argtypes = [ctypes.c_void_p]
        self.plans = {}  # (m, n, k, lda, ldb, ldc): plan
        self.handle = ctypes.c_void_p()
        self.call(self.library.gemm09_create, ctypes.byref(self.handle))

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.gemm09_destroy(self.handle)

    def call(self, function, *arguments):
        text = ctypes.create_string_buffer(256)
        status = function(*arguments, text, ctypes.c_size_t(len(text)))
        if status != 0:
            raise RuntimeError(text.value.decode())

    def load(self, path):
        """Plans of an earlier process. A damaged file, or one of another card, raises an error that names the line."""
        problems, count = (Problem * 4096)(), ctypes.c_size_t(4096)
        self.call(self.library.gemm09_load_plans, self.handle, path.encode(), problems, ctypes.byref(count))
        for p in problems[: count.value]:
            self.plans[(p.m, p.n, p.k, p.lda, p.ldb, p.ldc)] = p.plan

    def workspace(self):
        """One for each stream, and one for each graph."""
        return torch.zeros(self.library.gemm09_workspace_bytes(), dtype=torch.uint8, device="cuda")

    def multiply(self, a, b, c, workspace, plan=False):
        """c = a @ b.T on the current stream. bf16; rows may be padded, elements of a row are neighbours.

        With plan, the first call of a shape measures the likely kernels, and the later ones take the fastest.
        """
        for x, shape in ((a, (a.size(0), a.size(1))), (b, (b.size(0), a.size(1))), (c, (a.size(0), b.size(0)))):
            if x.dtype != torch.bfloat16 or x.device.type != "cuda" or x.shape != shape or x.stride(1) != 1:
                raise ValueError(f"accepted is a matrix {shape} of bfloat16 on the GPU whose rows are contiguous")
        problem = Problem(a.size(0), b.size(0), a.size(1), a.data_ptr(), a.stride(0), b.data_ptr(), b.stride(0),
                          c.data_ptr(), c.stride(0), workspace.data_ptr(), workspace.numel(),
                          torch.cuda.current_stream().cuda_stream)
        shape = (problem.m, problem.n, problem.k, problem.lda, problem.ldb, problem.ldc)
        problem.plan = self.plans.get(shape, 0) if plan else 0
        measures = plan and problem.plan == 0
        function = self.library.gemm09_plan if measures else self.library.gemm09_launch
        self.call(function, self.handle, ctypes.byref(problem))
        if measures:
            self.plans[shape] = problem.plan


def matrix(rows, columns):
    """Of bf16 NaN, with rows padded to 16 bytes, as the library wants them."""
    return torch.full((rows, (columns + 7) // 8 * 8), float("nan"), dtype=torch.bfloat16, device="cuda")[:, :columns]


def filled(rows, columns, seed):
    """As filled() of example.c."""
    h = (torch.arange(rows * columns, device="cuda") * 2654435761 + seed * 40503) & 0xFFFFFFFF
    values = ((h >> 24) - 128).float() * torch.exp2(-(h >> 16 & 7).float())
    x = matrix(rows, columns)
    x.copy_(values.view(rows, columns))
    return x


def checksum(c):
    bits = c.contiguous().view(torch.int16).flatten().long() & 0xFFFF
    return int((bits * torch.arange(1, bits.numel() + 1, device="cuda")).sum()) & (2**64 - 1)


def is_right(c, a, b):
    reference = a.double() @ b.double().T
    magnitude = a.double().abs() @ b.double().abs().T
    return bool(((c.double() - reference).abs() <= reference.abs() / 256 + magnitude * 1e-6 * a.size(1) ** 0.5).all())


def main():
    if not torch.cuda.is_available():
        print("example_torch: torch sees no GPU", file=sys.stderr)
        return 3
    built = os.path.join(HERE, "../../../build/release/library/libgemm09.so")
    gemm = Gemm09(sys.argv[1] if len(sys.argv) > 1 else built)
    plans = sys.argv[2] if len(sys.argv) > 2 else None
    if plans:
        gemm.load(plans)
    loaded = len(gemm.plans)
    wrong = 0
    stream = torch.cuda.Stream()
    for m, n, k in SIZES:
        a, b, c = filled(m, k, 1), filled(n, k, 2), matrix(m, n)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            gemm.multiply(a, b, c, gemm.workspace())
        stream.synchronize()
        right = is_right(c, a, b)

        # Captured while A is NaN: a replay computes with what is there then.
        a_input, c2, workspace = matrix(m, k), matrix(m, n), gemm.workspace()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gemm.multiply(a_input, b, c2, workspace)
        a_input.copy_(a)
        graph.replay()
        right = right and torch.equal(c2, c)

        # A plan may add in another order than the formula's choice; it has the same bits every time.
        planned = [matrix(m, n), matrix(m, n)]
        for c3 in planned:
            gemm.multiply(a, b, c3, gemm.workspace(), plan=True)
        right = right and is_right(planned[0], a, b) and torch.equal(planned[0], planned[1])
        wrong += not right
        print(f"{m} x {n} x {k}: {'right' if right else 'WRONG'}, checksum {checksum(c):016x}, "
              f"by its plan {checksum(planned[0]):016x}")
    print(f"{loaded} plans loaded, {len(gemm.plans) - loaded} measured")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
