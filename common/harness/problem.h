/* problem.h - one multiplication with its buffers: operands, guarded result, reference; and a chapter that runs it. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include "../variants.h"
#include "backend.h"
#include "check.h"

typedef struct Problem {
    const Backend *backend;
    Shape shape;
    Gemm gemm;         /* c points into the block; workspace is NULL */
    Beyond beyond;     /* what gemm.beyond points to: a Problem stays where it was opened */
    Operands operands; /* what beyond.operands points to */
    ResultView view;   /* of the block that holds C; expected and magnitude are of the data last filled in */
    DataKind data;
    uint64_t seed;
    int fills;      /* calls of problem_fill() */
    int one_device; /* a chapter's own code for several is not used */
    Buffer a, b, bias, scale_a, scale_b, first_row, v, block, expected, magnitude;
    Buffer lse, expected_lse;    /* the second result of a kind that has one */
    void *host_b, *host_scale_b; /* what a chapter sees in host memory; NULL: nothing */
    int *host_first_row;
} Problem;

/* A chapter (or a peer with the same record) on a problem. */
typedef struct {
    const Chapter *chapter;
    Gemm gemm;     /* the problem's, with this chapter's workspace */
    Beyond beyond; /* what gemm.beyond points to, with what the chapter has prepared: a run stays where it was opened */
    const Problem *problem;
    Buffer workspace, prepared;
    int prepared_for;         /* the problem's count of fills when `prepared` was packed */
    const struct Devices *on; /* how it runs: on one device, or on the model by the chapter's own code on several */
    void *devices;            /* what that code keeps; NULL: one device */
} ChapterRun;

/* How a run does its work: the harness's way on one device, or on the model a chapter's own code for several. */
typedef struct Devices {
    GemmStatus (*open)(ChapterRun *run);   /* sets run->devices; close() follows even if it fails then */
    GemmStatus (*launch)(ChapterRun *run); /* does not wait */
    GemmStatus (*poison)(const ChapterRun *run);
    GemmStatus (*check)(ChapterRun *run, Tally *tally);
    GemmStatus (*explain)(const ChapterRun *run, const Tally *tally, FILE *out);
    void (*describe)(const ChapterRun *run, FILE *out); /* a line for each way of sharing */
    void (*close)(ChapterRun *run);
    const char *recorded; /* the variant of a recorded launch, where none is asked for: one way of sharing, not all */
} Devices;

/* The problem without its matrices: sizes, leading dimensions as problem_open() makes them, what the device has. */
Gemm problem_gemm(Shape shape, const DeviceInfo *device);

/* 1 if a problem's buffers and the chapter's workspace (chapter NULL: none) fit in the device's memory; otherwise 0 and
 * one line in `message` that names the sizes, what they need and what there is. */
int problem_fits(Shape shape, const Chapter *chapter, const DeviceInfo *device, char message[OPTIONS_MESSAGE_SIZE]);

/* Allocates, for a problem of shape.kind. Rows are padded to a multiple of 16 bytes, and by pad (A), 2 pad (B), 3
 * pad (C) more, of e4m3 by twice as many, so that no leading dimension can stand in for another. Fill before use. */
GemmStatus problem_open(Problem *problem, const Backend *backend, const DeviceInfo *device, Shape shape, uint64_t seed);
/* For what a chapter sees in host memory: zeros, which problem_close() frees. */
GemmStatus allocate_on_host(void **memory, size_t bytes, const char *name);
/* Only the operands. */
GemmStatus problem_fill_operands(Problem *problem, DataKind data);
/* The reference result for the operands as they are; for each expert that has rows. */
GemmStatus problem_refer(const Problem *problem);
/* The operands, and the reference result for them. */
GemmStatus problem_fill(Problem *problem, DataKind data);
/* C to NaN, guards to their pattern. */
GemmStatus problem_poison(const Problem *problem);
/* Compares all of C and the guards. */
GemmStatus problem_check(const Problem *problem, Tally *tally);
/* Prints what is wrong with a result that did not pass, with hints at the cause. */
GemmStatus problem_explain(const Problem *problem, const Tally *tally, FILE *out);
/* Frees everything; safe after a failed problem_open(). */
void problem_close(Problem *problem);

/* Allocates the workspace. The chapter is of the problem's kind. Close runs before their problem. */
GemmStatus run_open(ChapterRun *run, const Problem *problem, const Chapter *chapter);
/* One launch; does not wait. The first one after problem_fill() prepares the operands, if the chapter does that.
 * `run` is a ChapterRun (a Contestant's launch function). */
GemmStatus run_launch(void *run);
/* Poison, launch, wait, compare; workspace too. The status says whether it could be done, the tally what came out. */
GemmStatus run_checked(ChapterRun *run, Tally *tally);
/* As problem_explain(), of the C that is wrong. */
GemmStatus run_explain(const ChapterRun *run, const Tally *tally, FILE *out);
void run_close(ChapterRun *run);
/* Has the chapter pack the operands as they are; run_launch() calls it where it must. */
GemmStatus run_prepare(ChapterRun *run);

#endif
