/* shadow.h - for every piece of shared memory, who wrote it last and who has read it since. */
#ifndef SHADOW_H
#define SHADOW_H

#include "clock.h"
#include "provenance.h"

/* Kinds of access: ACCESS(id, name in reports, 1 if it is made through the async proxy). */
#define ACCESSES(ACCESS)                                        \
    ACCESS(NONE, "nothing", 0)                                  \
    ACCESS(PLAIN_READ, "load", 0)                               \
    ACCESS(PLAIN_WRITE, "store", 0)                             \
    ACCESS(ATOMIC, "atomic access", 0)                          \
    ACCESS(LDMATRIX, "ldmatrix", 0)                             \
    ACCESS(STMATRIX, "stmatrix", 0)                             \
    ACCESS(CP_ASYNC, "cp.async", 0)                             \
    ACCESS(TMA_LOAD, "TMA load", 1)                             \
    ACCESS(TMA_STORE, "TMA store (reading shared memory)", 1)   \
    ACCESS(BULK_LOAD, "bulk load", 1)                           \
    ACCESS(BULK_STORE, "bulk store (reading shared memory)", 1) \
    ACCESS(WGMMA_A, "wgmma reading A", 1)                       \
    ACCESS(WGMMA_B, "wgmma reading B", 1)                       \
    ACCESS(CLUSTER_READ, "ld.shared::cluster", 0)               \
    ACCESS(CLUSTER_WRITE, "st.shared::cluster", 0)              \
    ACCESS(ST_ASYNC, "st.async", 0)

typedef enum {
#define ACCESS(id, name, is_async) ACCESS_##id,
    ACCESSES(ACCESS)
#undef ACCESS
} AccessKind;

typedef struct {
    uint32_t epoch;
    Site site;
    Component component;
    Component issuer; /* component of the thread that issued it */
    uint8_t kind;     /* AccessKind */
    uint8_t bytes;    /* of the cell's two, if it covers two: bit 0 the low one, bit 1 the high one */
} Access;

enum { CELL_READS = 2, CHUNK_CELLS = 8 };

typedef struct {
    Access write;
    Access read[CELL_READS];
    uint32_t more_reads; /* index of a ReadBlock; 0: none */
    uint32_t reads;
} Cell;

/* 16 bytes. One cell for all of them, or, once accessed in parts, a cell for every 2 bytes. */
typedef struct {
    Cell cell;
    uint32_t split;   /* index of 8 cells in the pool; 0: not split */
    uint8_t written;  /* bit i: bytes 2i, 2i + 1 have been written */
    uint8_t barriers; /* bit i: bytes 8i .. 8i + 7 hold an mbarrier */
    Tag tag;
} Chunk;

/* Of a CTA. Kept for the next one in its place. */
typedef struct CtaShadow {
    Chunk *chunk; /* for every 16 bytes of its shared memory */
    uint32_t chunks;
    Cell (*split)[CHUNK_CELLS]; /* from 1 */
    uint32_t splits, splits_capacity;
    uint32_t free_split;     /* linked by the first cell's more_reads */
    struct ReadBlock *block; /* from 1 */
    uint32_t blocks, blocks_capacity;
    uint32_t free_block;
    int atomics; /* there have been some: they are kept among the reads */
} CtaShadow;

/* An access to be checked and recorded. */
typedef struct {
    Thread *thread; /* who issues it, and whose knowledge counts */
    Warp *warp;     /* not NULL: what any lane of this warp knows counts (wgmma) */
    AccessKind kind;
    Component component; /* its epoch, by the way it completes */
    uint32_t epoch;
    Site site;
    const Barrier *barrier; /* a TMA load's; for reports */
    /* The last epoch found to be in order: neighbouring chunks mostly have the same. */
    Component passed;
    uint32_t passed_epoch;
    uint8_t bytes;   /* of a cell, while parts of a chunk are accessed */
    int beyond_base; /* set if what lane 0 shares with others was not enough knowledge */
} Actor;

/* An ordinary access of the thread, or one that is done when the instruction is (ldmatrix). */
Actor actor_plain(Thread *t, AccessKind kind, Site site);

/* Check and record. offset and size in bytes, inside the CTA's shared memory; any alignment. */
void shadow_read(Cta *cta, Actor *actor, uint32_t offset, uint32_t size);
void shadow_write(Cta *cta, Actor *actor, uint32_t offset, uint32_t size);
/* Check a read of one aligned chunk without recording it. */
void shadow_check_read(Cta *cta, Actor *actor, uint32_t offset);

static inline Tag *shadow_tag(Cta *cta, uint32_t offset) { return &cta->shadow->chunk[offset / CHUNK_BYTES].tag; }
/* The last write to this byte; its kind is ACCESS_NONE if there was none. */
const Access *shadow_writer(const Cta *cta, uint32_t offset);
/* A barrier lives in these 8 bytes. */
void shadow_set_barrier(Cta *cta, uint32_t offset);
/* It does no more: the actor has ended it, and what the bytes hold nobody knows. */
void shadow_end_barrier(Cta *cta, Actor *actor, uint32_t offset);

/* Offset of p in the thread's own CTA. Reports and stops if it lies elsewhere or [p, p + bytes) leaves it. */
uint32_t shadow_bounds(const Thread *t, const void *p, uint32_t bytes, const char *what, Site site);
/* For event.c: p is to become an address in the shared-memory window. */
void shadow_address(const Cta *cta, const void *p);
/* An ordinary access to shared memory, and an atomic one to 4 bytes; for event.c and conflicts.c. */
void shadow_access(Thread *t, const void *p, uint32_t size, int write, Site site);
void shadow_atomic(Thread *t, const void *p, Site site);

/* For event.c: a CTA begins; the model shuts down. */
void shadow_cta_begin(Cta *cta);
void shadow_shutdown(void);

const char *access_text(AccessKind kind);

#endif
