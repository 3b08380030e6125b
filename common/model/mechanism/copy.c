/* copy.c - cp.async: 16-byte copies that each thread starts, groups and waits for.
 *
 * A copy happens some time between its issue and the wait that covers it; until then its destination holds NaN. */
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

/* A copy that has not happened, or an arrival at `barrier` once those before it have. */
typedef struct {
    uint8_t *dst;
    const uint8_t *src;
    uint8_t bytes;
    uint32_t group;
    Barrier *barrier; /* NULL: a copy */
} PendingCopy;

/* Of a thread: such copies from head on, in the order of issue. */
typedef struct ThreadCopies {
    PendingCopy *pending;
    int head, tail, capacity;
} ThreadCopies;

static PendingCopy *pending_add(Thread *t) {
    ThreadCopies *c = t->copies;
    if (c->tail == c->capacity && c->head > c->capacity / 2) { /* those that have happened make room */
        c->tail -= c->head;
        memmove(c->pending, &c->pending[c->head], (size_t)c->tail * sizeof *c->pending);
        c->head = 0;
    }
    c->pending = cta_grow(t->cta, c->pending, c->tail + 1, &c->capacity, sizeof *c->pending);
    return &c->pending[c->tail++];
}

static void copy_oldest(Thread *t) {
    const PendingCopy *copy = &t->copies->pending[t->copies->head++];
    if (copy->barrier != NULL) {
        mbarrier_copies_arrive(t, copy->barrier, GROUP_COPIES);
        return;
    }
    memcpy(copy->dst, copy->src, copy->bytes);
    memset(copy->dst + copy->bytes, 0, CHUNK_BYTES - (size_t)copy->bytes);
}

/* Those of all lanes. */
static void copies_step(Agent *agent, int whole) {
    Warp *w = (Warp *)(void *)((char *)agent - offsetof(Warp, copies));
    int left = 0;
    int chosen = (int)random_below(WARP_SIZE);
    for (int lane = 0; lane < w->lanes; lane++) {
        Thread *t = &w->thread[lane];
        if (whole) {
            while (t->copies->head != t->copies->tail) {
                copy_oldest(t);
            }
        } else if (t->copies->head != t->copies->tail && (lane ^ chosen) % 4 == 0) {
            copy_oldest(t);
        }
        left |= t->copies->head != t->copies->tail;
    }
    if (!left) {
        agent_dequeue(agent);
    }
}

void copies_begin(Cta *cta) {
    CTA_GIVE(cta, cta->thread, cta->threads, copies);
    for (int i = 0; i < cta->warps; i++) {
        cta->warp[i].copies = (Agent){.step = copies_step, .queued = -1};
    }
}

void model_cp_async_16(void *dst, const void *src, int bytes, const char *here) {
    Thread *t = current_thread();
    POST(COPY, .thread = t, .p = dst, .size = CHUNK_BYTES, .access = ACCESS_CP_ASYNC, .rank = t->cta->rank, .from = src,
         .from_size = (uint32_t)bytes, .from_access = ACCESS_CP_ASYNC_FROM, .group = GROUP_COPIES, .what = "cp.async",
         .site = site_of(here));
    memset(dst, 0xff, CHUNK_BYTES);
    *pending_add(t) = (PendingCopy){dst, src, (uint8_t)bytes, t->groups[GROUP_COPIES].committed, NULL};
    t->groups[GROUP_COPIES].open++;
    agent_queue(&t->warp->copies);
}

void model_cp_async_commit_group(const char *here) { group_commit(GROUP_COPIES, here); }

void model_cp_async_wait_group(int newest, const char *here) {
    Thread *t = current_thread();
    const ThreadCopies *c = t->copies;
    uint32_t done = group_wait(GROUP_COPIES, newest, here);
    while (c->head != c->tail && c->pending[c->head].group < done) {
        copy_oldest(t);
    }
}

void model_cp_async_mbarrier_arrive(void *bar, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    ThreadGroups *g = &t->groups[GROUP_COPIES];
    Barrier *b = mbarrier_reach(t, t->cta->rank, bar, site, "cp.async.mbarrier.arrive", 0);
    mbarrier_await_copies(t, b, GROUP_COPIES, site);
    *pending_add(t) = (PendingCopy){.group = g->committed, .barrier = b};
    groups_close_by_barrier(g);
    agent_queue(&t->warp->copies);
    thread_pause(t);
}
