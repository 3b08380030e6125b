"""attention13 - libattention13 in PyTorch: attention13.Attention13(path)(q, k, v) is softmax(q k^T * scale) v, on the
current stream. Forward only; make library builds build/release/library/libattention13.so."""
import ctypes
import math

import torch


class Problem(ctypes.Structure):
    """Attention13 of attention13.h."""

    _fields_ = (
        [(name, ctypes.c_int64) for name in ("batches", "heads", "kv_heads", "queries", "keys", "head_size")]
        + [(name, ctypes.c_void_p) for name in ("q", "k", "v", "o", "lse")]
        + [(name + "_stride", ctypes.c_int64 * 3) for name in "qkvo"]
        + [("stream", ctypes.c_void_p), ("causal", ctypes.c_int32), ("scale", ctypes.c_float)]
    )


def strides(x):
    """Of [batch][head][token][size]. PyTorch gives a dimension of one element any stride."""
    return (ctypes.c_int64 * 3)(*(x.stride(i) if x.size(i) > 1 else x.size(3) for i in range(3)))


class Attention13:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, q, k, v, causal=False, scale=None, out=None, lse=None):
        """q is [batch][heads][queries][size], k and v are [batch][kv_heads][keys][size], in any order of strides.
        Returns the output, in q's order, and the logarithms of the sums."""
        for x in (q, k, v):
            if x.dtype != torch.bfloat16 or x.device.type != "cuda" or x.dim() != 4 or x.stride(3) != 1:
                raise ValueError("accepted are tensors of bfloat16 on the GPU with 4 dimensions, the last one "
                                 "contiguous")
        if k.shape != v.shape or k.size(0) != q.size(0) or k.size(3) != q.size(3):
            raise ValueError(f"the sizes do not fit: {tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}")
        out = torch.empty_like(q) if out is None else out
        lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device) if lse is None else lse
        problem = Problem(
            q.size(0), q.size(1), k.size(1), q.size(2), k.size(2), q.size(3),
            q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr(), lse.data_ptr(),
            strides(q), strides(k), strides(v), strides(out),
            torch.cuda.current_stream().cuda_stream, causal, scale or 1 / math.sqrt(q.size(3)),
        )
        text = ctypes.create_string_buffer(512)
        if self.library.attention13_launch(ctypes.byref(problem), text, ctypes.c_size_t(len(text))) != 0:
            raise RuntimeError(text.value.decode())
        return out, lse
