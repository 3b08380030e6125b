/* barrier.h - barriers of part of a CTA. PTX 9.7.13.1.
 *
 * Every CTA has 16 named barriers. __syncthreads() is number 0 with all threads of the CTA. Code of a single role uses
 * another number and its own count, because in a role __syncthreads() would wait for threads that never arrive. These
 * barriers order earlier accesses to shared and global memory for the threads that sync. */
#ifndef BARRIER_H
#define BARRIER_H

#include "cuda_c.h"

#ifdef PTX_FUNCTIONS

/* Arrives at barrier `id` (1..15) and waits until `threads` threads, a multiple of 32, have arrived. Whole warps. */
DEVICE void named_barrier_sync(int id, int threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Arrives without waiting; together with another role's sync, a one-way signal. Whole warps. */
DEVICE void named_barrier_arrive(int id, int threads) {
    asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#elif defined(GEMM_MODEL)

#define named_barrier_sync(id, threads) model_named_barrier_sync(id, threads, HERE)
#define named_barrier_arrive(id, threads) model_named_barrier_arrive(id, threads, HERE)

#endif
#endif
