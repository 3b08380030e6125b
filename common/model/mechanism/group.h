/* group.h - copies on their way, and groups in which a thread waits for its own: cp.async, TMA stores and others. */
#ifndef MODEL_GROUP_H
#define MODEL_GROUP_H

#include "../core/types.h"

/* Kinds of groups: GROUP(id, the copies in it, what closes it, what waits for it: names in reports). A thread has one
 * open group of each kind, and waits until at most N closed groups are unfinished. */
#define GROUPS(GROUP)                                                       \
    GROUP(COPIES, "cp.async", "commit_group", "cp.async.wait_group")        \
    GROUP(READS, "TMA store", "bulk_commit_group", "bulk_wait_group_read")  \
    GROUP(WRITES, "TMA store", "bulk_commit_group", "bulk_wait_group")      \
    GROUP(TMEM, "tcgen05.mma", "tcgen05.commit", "tcgen05.commit")          \
    GROUP(TMEM_LOADS, "tcgen05.ld", "tcgen05.wait::ld", "tcgen05.wait::ld") \
    GROUP(TMEM_STORES, "tcgen05.st", "tcgen05.wait::st", "tcgen05.wait::st")

typedef enum {
#define GROUP(id, copies, commit, wait) GROUP_##id,
    GROUPS(GROUP)
#undef GROUP
        GROUP_KINDS
} GroupKind;

typedef struct {
    const char *copies, *commit, *wait;
} GroupText;

static inline const GroupText *group_text(GroupKind kind) {
    static const GroupText text[] = {
#define GROUP(id, copies, commit, wait) {copies, commit, wait},
        GROUPS(GROUP)
#undef GROUP
    };
    return &text[kind];
}

/* Of a thread and a kind. */
typedef struct ThreadGroups {
    uint32_t committed; /* closed groups: the open one's number */
    uint32_t open;      /* copies in the open one */
    uint32_t waited;    /* groups that a wait has covered */
    /* Bit i: no commit has closed group committed - 1 - i, but an arrival at an mbarrier, which counts its copies. For
     * waits it is part of the next one. */
    uint64_t closed_by_barrier;
} ThreadGroups;

/* ---- for the mechanisms ------------------------------------------------------------------------------------------ */

/* A copy on its way: the first member of its mechanism's struct. */
typedef struct Flight {
    Agent agent;
    struct Flight *next, **link;
    Thread *thread;
    int kind;       /* GroupKind; GROUP_KINDS: it is in no group */
    uint32_t group; /* the number of its group */
} Flight;

/* A new copy of the thread's, `bytes` large, zeroed but for its Flight; in the thread's open group, if it has a kind.
 * The schedule steps it until flight_end(). What is left when its cluster has ended is finished if it is in a group,
 * and dropped if not; what is left of an abandoned launch is dropped. */
void *flight_begin(size_t bytes, Thread *t, int kind, void (*step)(Agent *agent, int whole));
/* Nothing of it is left to do: frees it. */
void flight_end(Flight *flight);
/* Calls finish() for what is on its way of the thread's first `done` groups. */
void flights_finish(Thread *t, GroupKind kind, uint32_t done, void (*finish)(Flight *flight));

/* An instruction of the current thread that closes its open group, and one that waits: with their events, and the
 * flights that the wait covers, which it makes happen now. Returns how many groups those are. */
void group_commit(GroupKind kind, const char *here);
uint32_t group_wait(GroupKind kind, int newest, const char *here);
/* The parts of these that every form has: the number of groups that a wait covers; the state afterwards. */
static inline uint32_t groups_covered(const ThreadGroups *g, int newest) {
    if (g->closed_by_barrier == 0) {
        return g->committed > (uint32_t)newest ? g->committed - (uint32_t)newest : 0;
    }
    uint64_t closed_by_barrier = g->closed_by_barrier;
    uint32_t covered = g->committed;
    for (; covered > 0 && (newest > 0 || (closed_by_barrier & 1)); covered--) {
        newest -= !(closed_by_barrier & 1);
        closed_by_barrier >>= 1;
    }
    return covered;
}
static inline void groups_close(ThreadGroups *g) {
    g->open = 0;
    g->committed++;
    g->closed_by_barrier <<= 1;
}
static inline void groups_close_by_barrier(ThreadGroups *g) {
    groups_close(g);
    g->closed_by_barrier |= 1;
}
static inline void groups_waited(ThreadGroups *g, uint32_t done) { g->waited = done > g->waited ? done : g->waited; }

/* ---- for model.c ------------------------------------------------------------------------------------------------- */

/* A CTA begins: each mechanism makes its part of it. */
void barriers_begin(Cta *cta);
void copies_begin(Cta *cta);
void groups_begin(Cta *cta);
void mbarriers_begin(Cta *cta);
void collectives_begin(Cta *cta);
void registers_begin(Cta *cta);
void wgmma_begin(Cta *cta);
void tmem_begin(Cta *cta);
/* All threads of a cluster have returned; the launch ends. */
void flights_cluster_end(const Cluster *cluster);
void flights_end(void);

#endif
