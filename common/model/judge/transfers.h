/* transfers.h - the rules of cp.async and of the copy engine: operands, the memory on both sides, groups that somebody
 * must wait for. All for event.c. */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "clock.h"

/* Of a CTA, by thread: the last copy and the last group that has one in it, + 1; 0: none. */
typedef struct CtaTransfers {
    struct {
        Site copy_site, store_site;
        uint32_t copy_group, store_group;
    } thread[THREAD_LIMIT];
} CtaTransfers;

void transfers_cta_begin(Cta *cta);
void transfers_returned(Thread *t);

void transfers_copy(Thread *t, void *dst, const void *src, int bytes, Site site);
void transfers_copy_commit(Thread *t);
void transfers_copy_wait(int newest, Site site);

void transfers_prefetch(const TensorMap *map, Site site);
void transfers_load_asked(const TmaCopy *copy);
/* Into one of its targets. */
void transfers_load(const TmaLoad *load, int target);
void transfers_store(const TmaCopy *copy);
void transfers_bulk_commit(Thread *t);
void transfers_bulk_wait(int newest, Site site);

#endif
