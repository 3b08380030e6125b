/* FlashAttention-3's forward kernels in bf16 for heads of 64 and 128, by a function of C, for attention.py. Built by
 * make bench-attention PEERS=1. */
#include "flash_fwd_launch_template.h"

/* Pointers to q, k, v, o and the logarithms; strides of q, k, v and o in elements, from batch to batch, head to head,
 * token to token. `counter` is an int of device memory, FlashAttention's own place for the number of the next tile.
 * Returns 0, or a value of cudaError_t. */
extern "C" int flash3(void *const tensors[5], const long long strides[4][3], int batches, int heads, int kv_heads,
                      int queries, int keys, int d, int causal, float scale, int *counter, int sm_count,
                      cudaStream_t stream) {
    Flash_fwd_params p = {};
    p.q_ptr = tensors[0], p.k_ptr = tensors[1], p.v_ptr = tensors[2], p.o_ptr = tensors[3];
    p.softmax_lse_ptr = tensors[4];
    p.q_batch_stride = strides[0][0], p.q_head_stride = strides[0][1], p.q_row_stride = strides[0][2];
    p.k_batch_stride = strides[1][0], p.k_head_stride = strides[1][1], p.k_row_stride = strides[1][2];
    p.v_batch_stride = strides[2][0], p.v_head_stride = strides[2][1], p.v_row_stride = strides[2][2];
    p.o_batch_stride = strides[3][0], p.o_head_stride = strides[3][1], p.o_row_stride = strides[3][2];
    p.v_dim_stride = 1;
    p.b = p.b_k = batches, p.h = heads, p.h_k = kv_heads, p.seqlen_q = queries, p.seqlen_k = keys;
    p.d = p.d_rounded = p.dv = p.dv_rounded = d;
    p.scale_softmax = scale;
    p.is_bf16 = true, p.is_causal = causal, p.num_splits = 1, p.arch = 90, p.num_sm = sm_count;
    p.window_size_left = keys - 1, p.window_size_right = causal ? 0 : queries - 1;
    p.tile_count_semaphore = counter;
    cudaError_t status = cudaMemsetAsync(counter, 0, sizeof(int), stream);
    if (status == cudaSuccess) {
        if (d == 64) {
            run_mha_fwd_<90, cutlass::bfloat16_t, 64, 64, false, false, false, false>(p, stream);
        } else {
            run_mha_fwd_<90, cutlass::bfloat16_t, 128, 128, false, false, false, false>(p, stream);
        }
        status = cudaGetLastError();
    }
    return status;
}
