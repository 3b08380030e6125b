/* explain.h - --explain and --explain-element: what a chapter sets up for a size, and the path of one element of C.
 *
 * All of it comes from the chapter's own code, run on the CPU model with an observer (common/model/model_explain.h).
 * A large problem is not computed for this: its launch is recorded, and then a few of its CTAs run, with a shorter K
 * where that is enough. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "problem.h"

#include "../model/model_explain.h"

/* A chapter with a problem of its own in the model's memory. */
typedef struct {
    const Chapter *chapter;
    Problem problem;
    ChapterRun run;
    Gemm gemm;             /* the run's */
    void *a, *b;           /* the problem's; b NULL: packed */
    int launches, which;   /* kernels that launch() starts; the one that is looked at, from 1 */
    ModelObserver *launch; /* that one's launch, recorded, with none of its CTAs run */
    ModelObserver *seen;   /* of the last run */
    ModelObserver observer[2];
} Explanation;

/* The path of C[row][column], and of the product A[row][k] * B[column][k] that is added to it. */
typedef struct {
    int row, column, k;
    int cta, thread;         /* who holds it */
    int index, accumulators; /* which of the thread's accumulators; 0 of 0 in a kernel without mma.sync and wgmma */
    size_t low, high;        /* for another run that looks at the same accumulator: ModelObserver */
    int tile;                /* of this warp, from 0 */
    int is_right; /* with only A[row][k] and B[column][k] not 0, C[row][column] is their product, and both operands were
                                where the rest says; what this accumulator holds arrives in C[row][column] */
} ElementPath;

/* Allocates, and records the launch; if there are several kernels, that of the last one. Prints what fails. `device`
 * says how many SMs and how much shared memory there are. */
GemmStatus explain_open(Explanation *e, const Chapter *chapter, const DeviceInfo *device, Shape shape, Tuning tuning);
void explain_close(Explanation *e);

/* Finds the path. e->seen then holds its details. The caller has checked that the element exists. */
GemmStatus explain_element(Explanation *e, int row, int column, int k, ElementPath *path);

/* The program's --explain and --explain-element. `chapter` is the model's; device: for which to explain. */
GemmStatus explain_chapter(const Options *options, const Chapter *chapter, const DeviceInfo *device, Shape shape);

#endif
