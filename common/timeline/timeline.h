/* timeline.h - one CTA's events as rows of a picture, and the pictures. */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "recording.h"

/* What a stretch of a row shows, and how. */
typedef enum {
    LOOK_OTHER, /* instructions that are not recorded */
    LOOK_LOAD,
    LOOK_DATA_WAIT, /* for data */
    LOOK_ROOM_WAIT, /* a producer, for a free stage */
    LOOK_TURN_WAIT, /* for another consumer */
    LOOK_BARRIER,   /* for other warps */
    LOOK_FRAGMENTS,
    LOOK_MATH,
    LOOK_MATH_WAIT, /* for products: the tensor cores work */
    LOOK_EXPONENTIALS,
    LOOK_EPILOGUE,
    LOOK_STORE_WAIT,
    LOOK_STORE,
    LOOKS
} Look;

extern const struct LookStyle {
    const char *legend;
    char letter; /* in the terminal */
    char css[4]; /* class in the SVG */
    int is_wait; /* counts as waiting */
} looks[LOOKS];

enum { TENSOR_CORES = 4 }; /* of an SM: warp w uses number w % 4, a warpgroup all */

typedef struct {
    uint64_t begin, end; /* from the SM's first event */
    Look look;
    int level;               /* of the tensor cores, how many have work; TENSOR_CORES in rows of other things */
    const TraceEvent *event; /* NULL: between events, or a union */
} Span;

typedef enum {
    ROW_ASYNC, /* an asynchronous unit: loads of a stage, copies, stores */
    ROW_WARP,
    ROW_TENSOR,   /* the tensor cores as one: how many of the SM's four have work */
    ROW_PRODUCTS, /* ... for one warpgroup, or one of the CTAs that share them */
} RowKind;

typedef struct {
    RowKind kind;
    int cta;
    char label[40];
    int number; /* warp, stage or unit */
    Span *span; /* in order of their begin; those of a warp do not overlap, those of an asynchronous row may */
    size_t count;
    double waiting; /* of the window: share in which the warp waits, products aside */
    double busy;    /* of the window: share in which an asynchronous unit has work */
} Row;

/* A load, and the wait that it ends. */
typedef struct {
    const TraceEvent *load, *wait;
    int load_row, wait_row;
} LandedLoad;

/* A tile of C in a consumer's hands: from its mark to the next. */
typedef struct {
    uint64_t begin, end;
    int row, col; /* of C, in tiles */
    int line;     /* the Row of the warp that took it */
} TileMark;

/* What is drawn of one launch: a CTA. */
typedef struct {
    int launch, cta; /* cta -1: none of it ran on this SM */
    uint64_t begin, end;
    int rows; /* of Timeline.row: from the part's before up to here */
} Part;

typedef struct {
    const Recording *recording;
    int cta;                       /* the one asked for, or the first part's */
    uint64_t begin, end;           /* of its life, or that of all parts; times of spans are on the same clock */
    Part part[MAX_TRACE_LAUNCHES]; /* one for each launch, in their order; or only that CTA */
    int parts;
    uint64_t window_begin, window_end; /* what is drawn */
    Row *row;
    int rows;
    LandedLoad *landed;
    size_t landed_count;
    TileMark *tile;
    size_t tiles;
} Timeline;

/* What to draw. */
typedef struct {
    int cta;       /* -1: the lowest */
    int all_warps; /* 0: no more than the first four of those that do the same; 1: and no other launch's CTA */
    int whole;     /* 0: of a CTA that has many tiles or k-tiles the first of them */
} TimelineView;

/* Rows of one CTA of a recording that recording_keep_sm() has reduced to its SM. Returns 1; 0 after a line on stderr.
 * Close it in any case. */
int timeline_open(Timeline *timeline, const Recording *recording, const TimelineView *view);
void timeline_close(Timeline *timeline);

/* A part of the window for a second look, where a warp's stretches are thin: three k-tiles in the middle of a CTA whose
 * warps load fragments. Returns 0 if there is none. */
int timeline_detail(const Timeline *timeline, uint64_t *begin, uint64_t *end);

/* Of an axis: 1, 2 or 5 times a power of ten, and at least `least`. */
double timeline_step(double least);

/* In text of `columns` columns, with the figures about the tensor cores and what was lost. */
void timeline_print(FILE *out, const Timeline *timeline, int columns);
/* Of the terminal that `out` is; otherwise of COLUMNS; otherwise 100. */
int terminal_columns(FILE *out);

/* A picture for a page of 960 pixels. */
void timeline_svg(FILE *out, const Timeline *timeline);

/* The SM's CTAs for Perfetto and chrome://tracing. */
void trace_json(FILE *out, const Recording *recording);

#endif
