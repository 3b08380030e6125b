/* event.h - what happens in the model, as records. A mechanism, or model.c, posts one of each thing, right before it is done
 * unless said otherwise: so that a rule can be asked first, and one that stops the launch does not return. Judges and tellers
 * say beside each function at which kind it is called. */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "access.h"
#include "core/memory.h"
#include "core/state.h"
#include "mechanism/barrier.h"
#include "mechanism/copy.h"
#include "mechanism/group.h"
#include "mechanism/mbarrier.h"
#include "mechanism/registers.h"
#include "mechanism/tma.h"
#include "mechanism/tmem.h"
#include "mechanism/warp.h"
#include "mechanism/wgmma.h"

/* Behind each kind, what its record has besides `thread` and `site`. */
typedef enum {
    /* ---- the launch: model.c */
    EVENT_CONFIGURED, /* this and SHUTDOWN: also for those who are not wanted */
    EVENT_LAUNCH_BEGIN,
    EVENT_LAUNCHES_DONE, /* all of its threads have returned */
    EVENT_LAUNCH_END,    /* everything is taken down */
    EVENT_SHUTDOWN,      /* memory kept from launch to launch goes */
    EVENT_CLUSTER_BEGIN, /* cluster: it has no CTA yet */
    EVENT_CLUSTER_END,   /* cluster: its CTAs are gone */
    EVENT_CTA_BEGIN,     /* cta: its threads are set up */
    EVENT_CTA_RETURNED,  /* cta: all of its threads have */
    EVENT_CTA_END,       /* cta: it is taken down */
    EVENT_THREAD_RETURNED,
    EVENT_SHARED_MEMORY,  /* cta: the kernel has named its shared memory */
    EVENT_SHARED_ADDRESS, /* cta, p: it asks for an address in it */
    EVENT_TILE,           /* row, column of the tile of C that the thread takes */
    EVENT_STUCK,          /* no thread can go on, and nothing asynchronous is left. Nobody returns */

    /* ---- ordinary accesses: plain.c. All: p, size, write */
    EVENT_SHARED_ACCESS,
    EVENT_GLOBAL_ACCESS,
    EVENT_ACCUMULATOR_ACCESS, /* registers that wgmma knows as accumulators or fragments, or that lie between such */
    EVENT_STACK_STORE,        /* by lane 0 */
    EVENT_MISALIGNED_ACCESS,  /* ends the launch */
    EVENT_UNKNOWN_ACCESS,     /* of memory that is none of a kernel's: ends the launch */

    /* ---- global memory: global.c */
    EVENT_GLOBAL_FREE, /* allocation */
    EVENT_ATOMIC,      /* of 4 bytes, of shared memory too: p, what, atomic, order, at_least */
    EVENT_ATOMIC_DONE, /* p, atomic, order, before, after; site of a store */
    EVENT_FENCE,       /* fence.acq_rel.gpu; system: .sys */
    EVENT_GRID_WAIT,

    EVENT_EXPONENTIAL, /* by the thread: warp.c */

    /* ---- a warp, whose lanes have all come: warp.c, registers.c. All: warp */
    EVENT_WARP_APART,    /* thread, instruction, mask: lanes of the mask are elsewhere, or gone. Nobody returns */
    EVENT_WARP_TOGETHER, /* all lanes of the warp are at one instruction */
    EVENT_SYNCWARP,
    EVENT_EXCHANGE,       /* the lanes give each other words: shuffle, vote, match. transposes: shuffles by XOR */
    EVENT_SHUFFLE_SOURCE, /* lane, from: it reads from one that takes no part */
    EVENT_WARP_ACCESS,    /* access, size, rows; registers: that ldmatrix loads to. transposes */
    EVENT_MMA,            /* type, d, a, b */
    EVENT_MMA_DONE,       /* the same: the product has been added to d */
    EVENT_SETMAXNREG,     /* increase, count */

    /* ---- a thread's copies, and groups of them: copy.c, group.c */
    EVENT_COPY, /* p, size, access: writes here, in CTA `rank`. from, from_size, from_access: what it reads; NULL: registers. Over
                 * with a phase of `barrier`, or, NULL, with the thread's open `group` */
    EVENT_GROUP_COMMIT, /* group */
    EVENT_GROUP_WAIT,   /* group, newest, done */

    /* ---- barriers of the CTA and of the cluster: barrier.c */
    EVENT_BARRIER_ARRIVE,   /* id, expected (0: all that have not returned), waits, or goes on at once */
    EVENT_BARRIER_COMPLETE, /* cta, id: all who wait for it are in its list, the last one too */
    EVENT_BARRIER_PASSED,   /* id: the thread, which waited, goes on */
    EVENT_CLUSTER_ARRIVE,   /* release */
    EVENT_CLUSTER_COMPLETE, /* cluster */
    EVENT_CLUSTER_WAIT,
    EVENT_CLUSTER_PASSED,

    /* ---- shared memory of other CTAs: cluster.c */
    EVENT_CLUSTER_ACCESS, /* p, size, write; rank: of the CTA in which it lies, if there is one */

    /* ---- cluster launch control: launch_control.c */
    EVENT_LAUNCH_ASKED,   /* its COPY for each CTA that gets the answer follows */
    EVENT_LAUNCH_LANDING, /* cta, p: the answer has come there, and its barrier counts it next */
    EVENT_LAUNCH_ANSWER,  /* amount: the thread finds a yes, 1, a no, 0, or no answer, -1 */

    /* ---- mbarriers: mbarrier.c */
    EVENT_MBARRIER_INIT, /* barrier, amount: one of so many */
    EVENT_MBARRIER_INIT_FENCE,
    EVENT_MBARRIER_REACH, /* p, rank, what, by_engine: one at the place of p in CTA `rank` is wanted */
    EVENT_MBARRIER_USE,   /* barrier, what: it is there */
    EVENT_MBARRIER_INVAL, /* barrier: its life ends */
    /* All that follow: barrier */
    EVENT_MBARRIER_ARRIVE,        /* amount, what, scope: those beyond barrier->pending do not count */
    EVENT_MBARRIER_COPIES,        /* it gets an arrival when the thread's copies so far are done */
    EVENT_MBARRIER_COPIES_ARRIVE, /* they are */
    EVENT_MBARRIER_ANNOUNCED,     /* amount: the bytes are part of barrier->tx */
    EVENT_MBARRIER_LANDED,      /* amount: the bytes are no more. thread: has completed them; NULL: they are a load's */
    EVENT_MBARRIER_LACKS_BYTES, /* all arrivals have come */
    EVENT_MBARRIER_COMPLETE,
    EVENT_MBARRIER_PHASE,      /* it has completed: the next phase has begun */
    EVENT_MBARRIER_WAIT,       /* parity: the thread asks for this phase; then it waits, or not */
    EVENT_MBARRIER_WAIT_TOKEN, /* phase, of: with a token of that barrier; NULL: it is no token */
    EVENT_MBARRIER_ASKED,      /* asked: test_wait or try_wait gets a yes, else a no */
    EVENT_MBARRIER_PASSED,     /* phase: the thread waited for it, or, if asked, has found it complete */
    EVENT_MBARRIER_CHANGED,    /* change, amount: after it has happened */

    /* ---- the copy engine: tma.c */
    EVENT_TENSOR_MAP,          /* map: tensor_map_2d() has made it */
    EVENT_TENSOR_MAP_PREFETCH, /* map */
    EVENT_BULK_COPY, /* p, from, size, what: between shared and global memory, before the events of a load or store */
    EVENT_TMA_LOAD_ASKED, /* copy: its operands are known, */
    EVENT_TMA_LOAD,       /* load: and now its targets and barriers */
    EVENT_TMA_LANDING,    /* load: a piece of it has come, and its barriers count it next */
    EVENT_TMA_STORE,      /* copy */
    EVENT_TMA_STORED,     /* store: it has written global memory */
    EVENT_BULK_COMMIT,
    EVENT_BULK_WAIT,   /* newest, done; read: from shared memory, or else written to global memory */
    EVENT_FENCE_PROXY, /* fence */

    /* ---- wgmma: wgmma.c */
    EVENT_WGMMA_FENCE, /* warp */
    EVENT_WGMMA_WARP,  /* warp, wanted: all lanes have come */
    EVENT_WGMMA_PART,  /* warp, wanted, product: with d in the lanes' operands. first: no other warp has issued its own.
                         * product->tile is NULL if there are too many */
    EVENT_WGMMA_UNSET, /* a product adds to accumulators that were never set */
    EVENT_WGMMA_ISSUED,      /* warpgroup, product: all four warps have issued it */
    EVENT_WGMMA_DONE,        /* warpgroup, product: it has been executed, and is about to go */
    EVENT_WGMMA_COMMIT,      /* warp */
    EVENT_WGMMA_WAIT,        /* warp, newest */
    EVENT_WGMMA_WAITED,      /* warp, newest, done */
    EVENT_REGISTERS_SETTLED, /* accumulators, count: the compiler has been told that they have changed */
    EVENT_FRAGMENT_HOLDS,    /* fragment, matrix, element_bytes, row, k: the thread says what its registers hold */

    /* ---- tensor memory: tmem.c. A warp's: warp, taddr (an address there), columns */
    EVENT_TMEM_GROUP,   /* thread, what, pair, targets: an instruction that says cta_group, before its own event */
    EVENT_TMEM_ALLOC,   /* pair. taddr: the first column, -1: there is no room */
    EVENT_TMEM_DEALLOC, /* pair */
    EVENT_TMEM_RELINQUISH,
    EVENT_TMEM_ACCESS,  /* write, registers_are: columns is the N of .xN; the lanes' addresses are in the meeting */
    EVENT_TMEM_WAIT,    /* warp, group: all of its lanes' accesses are over */
    EVENT_TMEM_FENCE,   /* thread, behind: after_thread_sync */
    EVENT_TMEM_PRODUCT, /* thread, tmem_product */
    EVENT_TMEM_COPY,    /* thread, tmem_copy */

    EVENT_KINDS
} EventKind;

typedef struct {
    EventKind kind;
    Site site;
    const char *what; /* the instruction, for reports */

    Thread *thread;
    Barrier *barrier;
    union {
        Warp *warp;
        Warpgroup *warpgroup;
        Cta *cta;
        Cluster *cluster;
    };

    const void *p; /* an address that a kernel has named */
    uint32_t size;
    int write, rank, by_engine;
    GroupKind group;
    AccessKind access;
    union {
        struct {
            AtomicKind atomic;
            MemoryOrder order;
            const int *at_least; /* a load waits until the word is this or more; NULL: it does not */
            uint32_t before, after;
        };
        Allocation *allocation;
        struct {
            WarpInstruction instruction;
            uint32_t mask;
        };
        struct {
            int lane, from_lane;
        };
        struct { /* by lane */
            uint32_t *const *registers;
            const void *const *rows;
            int transposes;
        };
        struct { /* by lane */
            float *const *d;
            const uint32_t *const *a, *const *b;
            MatrixType type;
        };
        struct {
            const void *from;
            uint32_t from_size;
            AccessKind from_access;
        };
        struct {
            unsigned long long done; /* groups that are over then */
            int newest, read;
        };
        struct {
            int id, expected, waits, release;
        };
        struct {
            long long amount;
            unsigned long long phase;
            const Barrier *of;
            uint32_t parity;
            int asked;
            Scope scope;
            MbarrierChange change;
        };
        int system;
        struct {
            uint32_t taddr;
            int columns, behind;
            int pair;    /* cta_group::2 */
            int targets; /* CTAs that a commit tells, a mask */
            Tcgen05Registers registers_are;
            const TmemProduct *tmem_product;
            const TmemCopy *tmem_copy;
        };
        const ProxyFence *fence;
        const TensorMap *map;
        const TmaCopy *copy;
        const TmaLoad *load;
        const TmaStore *store;
        struct {
            Product *product;
            const Product *wanted;
            int first;
        };
        struct {
            const float *accumulators;
            int count, increase;
        };
        struct {
            const uint32_t *fragment;
            const char *matrix;
            int element_bytes, row, column, k;
        };
    };
} Event;

/* ---- who listens ------------------------------------------------------------------------------------------------- */

/* LISTENER(name, for which launches), in this order: rules first, then who tells. `first` is for programs: none of the
 * model's. */
#define LISTENERS(LISTENER)                                       \
    LISTENER(first, 1)                                            \
    LISTENER(clock, 1)                                            \
    LISTENER(world, 1)                                            \
    LISTENER(convergence, 1)                                      \
    LISTENER(phases, 1)                                           \
    LISTENER(order, 1)                                            \
    LISTENER(cells, 1)                                            \
    LISTENER(transfers, 1)                                        \
    LISTENER(tmem, 1)                                             \
    LISTENER(products, 1)                                         \
    LISTENER(provenance, 1)                                       \
    LISTENER(results, 1)                                          \
    LISTENER(sums, 1)                                             \
    LISTENER(deadlock, 1)                                         \
    LISTENER(bug_report, 1)                                       \
    LISTENER(count, device.options.count)                         \
    LISTENER(observe, device.options.observer != NULL)            \
    LISTENER(barrier_rows, device.options.barriers)               \
    LISTENER(journal, device.options.journal != NULL)             \
    LISTENER(steps, device.options.trace || device.options.count) \
    LISTENER(laps, 1)                                             \
    LISTENER(depends, 1)
typedef enum {
#define LISTENER(name, wanted) LISTENER_##name,
    LISTENERS(LISTENER)
#undef LISTENER
        LISTENER_COUNT
} ListenerId;

/* What a listener does at a kind of event: ON(listener, KIND) { ... } has an Event *e. HEARS() is for what others do, too: a
 * function that is there already. */
typedef void Hear(const Event *e);
typedef struct {
    ListenerId listener;
    EventKind kind;
    Hear *hear;
} Hearing;
#define HEARS(name, KIND, function)                                                       \
    static const Hearing name##_hears_##KIND = {LISTENER_##name, EVENT_##KIND, function}; \
    __attribute__((used, section("model_hearings"))) static const Hearing *const name##_##KIND = &name##_hears_##KIND
#define ON(name, KIND)            \
    static Hear on_##KIND;        \
    HEARS(name, KIND, on_##KIND); \
    static void on_##KIND(const Event *e __attribute__((unused)))

/* Of each kind those who hear it in this launch, then NULL. */
extern Hear *event_heard[EVENT_KINDS][LISTENER_COUNT + 1];

/* model.c: options have changed, or a launch begins. */
void event_connect(void);

/* Of a kind that somebody hears. */
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
