/* costs.h - how many steps things take, only for the timeline.
 *
 * A step is about a clock cycle of an H200's SM that has its data in L2. These are proportions, so that a picture shows
 * what waits for what and what overlaps; they are no prediction of a speed. Nothing that the model judges depends on
 * them. Where the warps of a CTA share a unit, each is charged as if all used it at once. */
#ifndef COSTS_H
#define COSTS_H

enum {
    /* Issuing, in the thread that does it. */
    COST_WAIT = 4,     /* a wait that finds what it waits for */
    COST_BARRIER = 20, /* from the last arrival to everybody's going on */
    COST_SHUFFLE = 2,
    COST_COPY = 1, /* cp.async */
    COST_TMA = 4,  /* a TMA load or store */
    COST_LDMATRIX = 2,
    COST_WGMMA = 2,
    COST_EXPONENTIAL = 8, /* of a warp: an SM computes 16 a clock, 4 for each of four warps */

    /* Shared memory: one ldmatrix or stmatrix of a warp moves 512 bytes. */
    SHARED_BYTES_A_STEP = 128,
    SHARED_LATENCY = 24,

    /* Tensor cores: mma.sync, 16 x 8 x 16 on one of the SM's four; wgmma, 64 x n x 16 on all of them. */
    STEPS_A_MMA = 8,
    WGMMA_COLUMNS_A_STEP = 2,

    /* To and from L2. */
    LOAD_BYTES_A_STEP = 96,
    LOAD_LATENCY = 400, /* plain loads and cp.async */
    TMA_LATENCY = 500,
    STORE_BYTES_A_STEP = 32,
    CTA_START = 100, /* from one CTA's end to the next one's begin on the same SM */
};

#endif
