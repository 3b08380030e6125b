/* transfers.h - the rules of cp.async and of the copy engine: operands, the memory on both sides, groups that somebody
 * must wait for. All for event.c. */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "clock.h"

/* A thread's last copy in groups of each kind: its place, and its group + 1; 0: there was none. */
typedef struct CtaTransfers {
    struct {
        Site site;
        uint32_t group;
    } last[GROUP_KINDS][THREAD_LIMIT];
} CtaTransfers;

void transfers_returned(Thread *t);

/* An mbarrier counts the copies of the thread so far. */
void transfers_tracked(Thread *t);
void transfers_copy(Thread *t, void *dst, const void *src, int bytes, Site site);

void transfers_cluster_access(Thread *t, int rank, const void *p, uint32_t size, int write, Site site);
void transfers_st_async(Thread *t, Barrier *b, const void *p, uint32_t size, Site site);

void transfers_prefetch(const TensorMap *map, Site site);
void transfers_bulk(Thread *t, const void *shared, const void *global, int bytes, const char *what, Site site);
void transfers_load_asked(const TmaCopy *copy);
/* Into one of its targets. */
void transfers_load(const TmaLoad *load, int target);
void transfers_store(const TmaCopy *copy);

#endif
