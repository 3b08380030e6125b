/* event.h - what happens in the model, as records: the one journal that judges check and tellers read, while it
 * happens. event_kinds.h lists the kinds and their fields; ON() at a function says which kinds it reads. */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "access.h"
#include "core/memory.h"
#include "core/state.h"
#include "mechanism/barrier.h"
#include "mechanism/group.h"
#include "mechanism/mbarrier.h"
#include "mechanism/registers.h"
#include "mechanism/tma.h"
#include "mechanism/tmem.h"
#include "mechanism/warp.h"
#include "mechanism/wgmma.h"

typedef enum {
#define EVENT(kind, ...) EVENT_##kind,
#define TOLD(kind, name, ...) EVENT_##kind,
#include "event_kinds.h"
#undef EVENT
#undef TOLD
    EVENT_KINDS
} EventKind;

/* Of a kind, the fields that event_kinds.h names; the rest is zero. */
typedef struct {
    EventKind kind;
    Site site;
    const char *what; /* the instruction, for reports */
    Thread *thread;
    Barrier *barrier;
    Warp *warp;
    Warpgroup *warpgroup;
    Cta *cta;
    Cluster *cluster;

    const void *p, *from; /* addresses that a kernel has named */
    uint32_t size, from_size;
    AccessKind access, from_access;
    int write, rank, by_engine;
    AtomicKind atomic;
    MemoryOrder order;
    const int *at_least; /* a load waits until the word is this or more; NULL: it does not wait */
    uint32_t before, after;
    Allocation *allocation;
    int system;
    unsigned spaces; /* mask */

    uint32_t mask;
    int lane, from_lane, transposes;
    uint32_t *const *registers; /* this and the next: by lane */
    const void *const *rows;
    float *const *d;
    const uint32_t *const *a, *const *b;
    int count, increase;

    GroupKind group;
    unsigned long long done; /* groups that are complete then */
    int newest, read;
    int id, expected, waits, release;
    long long amount;
    unsigned long long phase;
    uint32_t parity;
    int asked;
    Scope scope;
    MbarrierChange change;

    const TensorMap *map;
    const TmaCopy *copy;
    const TmaLoad *load;
    const TmaStore *store;
    Product *product;
    const Product *wanted;
    int first;
    const float *accumulators;
    int row, column;

    uint32_t taddr;
    int columns, after_sync;
    int pair, targets; /* cta_group::2; the CTAs that a commit tells, a mask */
    const TmemProduct *tmem_product;
    const TmemCopy *tmem_copy;
} Event;

/* ---- who listens ------------------------------------------------------------------------------------------------- */

/* In this order: judges first, then tellers. `first` is for programs, not for the model. */
typedef enum {
    LISTENER_first,
    /* judge/ */
    LISTENER_clock,
    LISTENER_world,
    LISTENER_convergence,
    LISTENER_phases,
    LISTENER_order,
    LISTENER_cells,
    LISTENER_transfers,
    LISTENER_tmem,
    LISTENER_products,
    LISTENER_provenance,
    LISTENER_results,
    LISTENER_sums,
    LISTENER_deadlock,
    LISTENER_bug_report,
    /* tell/ */
    LISTENER_count,
    LISTENER_observe,
    LISTENER_barrier_rows,
    LISTENER_journal,
    LISTENER_steps,
    LISTENER_laps,
    LISTENER_depends,
    LISTENER_COUNT
} ListenerId;

/* What a listener does at a kind of event: ON(listener, KIND) { ... } has an Event *e, and its thread t, warp w, cta
 * and barrier b, NULL if the kind has no such field. HEARS() names a function. */
typedef void Hear(const Event *e);
typedef void Hearer(const Event *e, Thread *t, Warp *w, Cta *cta, Barrier *b);
typedef struct {
    ListenerId listener;
    EventKind kind;
    Hear *hear;
} Hearing;
#define HEARS(name, KIND, function)                                                       \
    static const Hearing name##_hears_##KIND = {LISTENER_##name, EVENT_##KIND, function}; \
    __attribute__((used, section("model_hearings"))) static const Hearing *const name##_##KIND = &name##_hears_##KIND
#define ON(name, KIND)                                                                                  \
    static inline Hearer does_##KIND;                                                                   \
    static void on_##KIND(const Event *e) { does_##KIND(e, e->thread, e->warp, e->cta, e->barrier); }   \
    HEARS(name, KIND, on_##KIND);                                                                       \
    static inline void does_##KIND(const Event *e NOT_ALWAYS, Thread *t NOT_ALWAYS, Warp *w NOT_ALWAYS, \
                                   Cta *cta NOT_ALWAYS, Barrier *b NOT_ALWAYS)
#define NOT_ALWAYS __attribute__((unused))

/* For each kind, the functions that hear it in this launch, then NULL. */
extern Hear *event_heard[EVENT_KINDS][LISTENER_COUNT + 1];

/* model.c: options have changed, or a launch begins. */
void event_connect(void);

/* For a kind that has at least one listener. */
static inline void event_post(const Event *e) {
    Hear *const *hear = event_heard[e->kind];
    do {
        (*hear++)(e);
    } while (*hear != NULL);
}
#define POST(KIND, ...)                                              \
    do {                                                             \
        if (event_heard[EVENT_##KIND][0] != NULL) {                  \
            event_post(&(Event){.kind = EVENT_##KIND, __VA_ARGS__}); \
        }                                                            \
    } while (0)

#endif
