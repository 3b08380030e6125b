/* shadow.h - for every piece of shared memory, who wrote it last and who has read it since. */
#ifndef SHADOW_H
#define SHADOW_H

#include "../core/state.h"

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

static inline Tag *shadow_tag(Cta *cta, uint32_t offset) { return &cta->chunk[offset / CHUNK_BYTES].tag; }
/* The last write to this byte; its kind is ACCESS_NONE if there was none. */
const Access *shadow_writer(const Cta *cta, uint32_t offset);
/* A barrier lives in these 8 bytes, or does no more. */
void shadow_set_barrier(Cta *cta, uint32_t offset, int alive);

/* Offset of p in the thread's own CTA. Reports and stops if it lies elsewhere or [p, p + bytes) leaves it. */
uint32_t shared_offset(Thread *t, const void *p, uint32_t bytes, const char *what, Site site);

void shadow_new(Cta *cta);
void shadow_free(Cta *cta);
void shadow_free_all(void);

const char *access_text(AccessKind kind);

#endif
