/* cells.h - what is remembered of every piece of memory: who wrote it last, and who has read it since. */
#ifndef CELLS_H
#define CELLS_H

#include "order.h"
#include "provenance.h"

typedef struct {
    Access write;
    uint32_t others; /* index of the last read, atomic access, or write of the other byte; 0: there is none */
} Cell;

enum { CHUNK_CELLS = 8 };

/* 16 bytes. One cell for all of them, or, once accessed in parts, a cell for every 2 bytes. */
typedef struct Chunk {
    Cell cell;
    uint32_t split;   /* index of 8 cells; 0: not split */
    uint32_t era;     /* what is here counts if it is that of its Cells */
    uint8_t written;  /* bit i: bytes 2i, 2i + 1 of shared memory have been written */
    uint8_t barriers; /* bit i: its bytes 8i .. 8i + 7 hold an mbarrier */
    Tag tag;          /* what it holds */
} Chunk;

/* Of a CTA's shared or tensor memory, or of all global memory. */
typedef struct Cells {
    Chunk *chunk; /* of shared or tensor memory; an Allocation has its own */
    uint32_t era;
    uint32_t kept; /* others of a cell */
    struct Other *other;
    uint32_t others, free_other;
    Cell (*split)[CHUNK_CELLS];
    uint32_t splits, free_split; /* linked by the first cell's `others` */
    int other_capacity, split_capacity;
} Cells;

/* ---- for the other judges ---------------------------------------------------------------------------------------- */

/* The access is made: judges it, and remembers it. offset and size in bytes, inside the shared memory of the CTA, p in
 * global memory; any alignment. Stops the launch if p is outside every allocation. order_settle() reports the rest. */
void cells_shared(Cta *cta, Actor *actor, uint32_t offset, uint32_t size);
void cells_global(Actor *actor, const void *p, uint32_t size);
/* Tensor memory: columns of a lane; what is freed. */
void cells_tensor(Cta *cta, Actor *actor, int lane, int column, int columns);
void cells_tensor_forget(Cta *cta, int column, int columns);
/* An operand in shared memory, of which the actor reads every step-th chunk: as cells_shared(); leaves their tags. One
 * that lies outside breaks the rule and ends the launch. Returns 1 if of one of them nobody knows where it is from. */
int cells_operand(Cta *cta, Actor *actor, ModelRule rule, const WgmmaDescriptor *d, MatrixType type, int mn_major,
                  int rows, int step, Tag *tag);
/* Judges a read of one aligned chunk of shared memory, and does not remember it. */
void cells_look(Cta *cta, Actor *actor, uint32_t offset);

static inline Tag *shared_tag(Cta *cta, uint32_t offset) { return &cta->cells->chunk[offset / CHUNK_BYTES].tag; }
/* The last write to this byte; its kind is ACCESS_NONE if there was none. */
Access shared_writer(const Cta *cta, uint32_t offset);
/* A barrier lives in these 8 bytes. */
void shared_set_barrier(Cta *cta, uint32_t offset);
/* Offset of p in the thread's own CTA. Reports and stops if p is elsewhere or [p, p + bytes) leaves the CTA's memory.
 * */
uint32_t shared_bounds(const Thread *t, const void *p, uint32_t bytes, const char *what, Site site);

#endif
