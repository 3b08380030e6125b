/* ranks.h - one product on the GPUs of several ranks: how the work is divided, and the data that each rank must have
 * about the others. */
#ifndef RANKS_H
#define RANKS_H

#include "../../common/beyond.h"

/* The data that cross the links. C = A B^T is the whole product, m x n x k. */
typedef enum {
    GATHER_C,       /* a rank has all of A and its rows of B; it ends with all of C */
    GATHER_A,       /* a rank has its rows of A and its rows of B; it ends with all of A, and its columns of C */
    REDUCE_SCATTER, /* a rank has its columns of A and B; it ends with its rows of C */
    ALL_REDUCE,     /* the same, and it ends with all of C */
    PATTERNS
} Pattern;

static inline const char *pattern_name(int pattern) {
    static const char *const names[PATTERNS] = {"gather_c", "gather_a", "reduce_scatter", "all_reduce"};
    return names[pattern];
}
static inline int is_sum(int pattern) { return pattern == REDUCE_SCATTER || pattern == ALL_REDUCE; }

enum {
    MAX_RANKS = 8,
    ROWS_BY = 128,  /* rows of A and C are divided in units of as many: whole tiles */
    COLUMNS_BY = 8, /* rows of B, which are columns of C: each part begins at a multiple of 16 bytes */
    K_BY = 64       /* columns of A and B: whole k-tiles */
};

/* Every pointer is valid on this rank's device. m, n and k of the Gemm are the whole product's; its a and b are this
 * rank's share: all of A or this rank's columns of it; this rank's rows of B or its columns of it. */
typedef struct Ranks {
    Pattern pattern;
    int count, rank; /* 0 <= rank < count */
    int is_pushed;   /* GATHER_A: the host has its copy engines push this rank's rows of A, 128 at a time, and set a
                             * flag for each; 0: the kernel does */
    int epoch;       /* 1 in the first launch with these flags, one more in each that follows; the same on all ranks */
    bf16 *a[MAX_RANKS]; /* GATHER_A: a[r] is memory of rank r for all of A, [m][lda], where its own rows are already */
    bf16 *c[MAX_RANKS]; /* c[r]: memory of rank r for all of C, [m][ldc] */
    bf16 *inbox[MAX_RANKS]; /* sums: ranks_inbox_bytes() in the memory of rank r */
    int *flags[MAX_RANKS];  /* ranks_flag_bytes() in the memory of rank r, zero before the first launch */
} Ranks;

/* The first row, column or step of k of rank `rank`, if `total` of them are divided in units of `by`; `total` for rank
 * == count. The last ranks may have none. */
HOST_DEVICE int rank_first(int total, int count, int rank, int by) {
    long long first = (long long)ceil_div(ceil_div(total, count), by) * by * rank;
    return first < total ? (int)first : total;
}

/* The number of rows, columns or steps of k of rank `rank`. */
HOST_DEVICE int rank_share(int total, int count, int rank, int by) {
    return rank_first(total, count, rank + 1, by) - rank_first(total, count, rank, by);
}

/* The most flags that one rank sets in the memory of another, for any pattern and any width of a tile. */
HOST_DEVICE int ranks_flags_of_one(const Gemm *g) {
    return 1 + 2 * ceil_div(g->m, 128) * (ceil_div(g->n, 128) + ceil_div(g->k, 128));
}
HOST_DEVICE size_t ranks_flag_bytes(const Gemm *g, int count) {
    return (size_t)count * (size_t)ranks_flags_of_one(g) * sizeof(int);
}
/* The flags in the memory of rank `in` that rank `by` sets. Flag READY says that the launch of `by` has begun, so the
 * memory of `by` may be written. The other flags say that `by` has written a tile or a piece there. A flag is set to
 * the launch's epoch and is never reset. */
enum { READY, FIRST_FLAG };
HOST_DEVICE int *ranks_flags(const Ranks *ranks, const Gemm *g, int in, int by) {
    return ranks->flags[in] + (size_t)by * (size_t)ranks_flags_of_one(g);
}

/* The most elements that one rank sends to another as partial sums: the receiver's rows of C, in whole tiles. */
HOST_DEVICE size_t ranks_inbox_of_one(const Gemm *g, int count) {
    return (size_t)rank_first(ceil_div(g->m, 128) * 128, count, 1, ROWS_BY) * (size_t)ceil_div(g->n, 256) * 256;
}
HOST_DEVICE size_t ranks_inbox_bytes(const Gemm *g, int count) {
    return (size_t)count * ranks_inbox_of_one(g, count) * sizeof(bf16);
}

#endif
