/* ranks.h - one product on several GPUs. */
#ifndef RANKS_H
#define RANKS_H

#include "beyond.h"

/* One multiplication on the GPUs of several ranks. Each has all of A and its part of B's rows, and wants all of C. Every
 * pointer here is valid on this rank's device. */
enum { MAX_RANKS = 8 };
typedef struct Ranks {
    int count, rank;    /* 0 <= rank < count */
    bf16 *c[MAX_RANKS]; /* c[r]: the complete C of rank r, [m][ldc], in its memory */
    int *flags
        [MAX_RANKS]; /* flags[r]: flag_bytes(problem) bytes in the memory of rank r, zero before the first launch */
    int epoch;       /* 1 in the first launch with these flags, one more in each that follows; the same on all ranks */
} Ranks;

/* The first column of C, and row of B, that is rank `rank`'s; n for rank == count. Columns are dealt out by 8, so that
 * each part begins at a multiple of 16 bytes. The last ranks may have none. */
HOST_DEVICE int rank_first_column(int n, int count, int rank) {
    long long first = (long long)ceil_div(ceil_div(n, count), 8) * 8 * rank;
    return first < n ? (int)first : n;
}

#endif
