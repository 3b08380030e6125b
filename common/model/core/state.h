/* state.h - the state of the modelled device, shared by the files of the model.
 *
 * One OS thread runs everything. A CUDA thread is a fiber; a warp is what the scheduler picks; asynchronous work is an
 * agent that the scheduler steps. Nothing here is visible to kernels (model.h) or the harness (model_host.h). */
#ifndef CORE_H
#define CORE_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include "fiber.h"
#include "../data/matrix.h"
#include "../model_host.h"
#include "../data/tensor_map.h"

enum {
    CHUNK_BYTES = 16,
    SHARED_LIMIT = 227 * 1024,  /* dynamic shared memory a CTA may ask for */
    SHARED_RESERVED = 1024,     /* what the system keeps at the start of the window: addresses begin here */
    SHARED_STRIDE = 256 * 1024, /* from one CTA's shared memory to the next */
    CLUSTER_LIMIT = 8,
    THREAD_LIMIT = 1024,
    WARP_LIMIT = THREAD_LIMIT / WARP_SIZE,
    NAMED_BARRIERS = 16,
    TX_LIMIT = (1 << 20) - 1,
    REGISTER_FILE = 65536,
    COPY_TIMES = 16,
    FRAGMENT_TIMES = 64, /* a power of two */
    BARRIER_HISTORY = 8,
    ACCUMULATOR_TILES = 8,
    GROUP_HISTORY = 64,
};

/* What stack memory holds before a kernel's thread first writes it: a NaN that arithmetic does not make. */
#define UNSET_BITS 0x7fa5a5a5u

/* A place in the program, relative to where the program is loaded: an instruction's address for a plain access, the
 * address of a "file:line" literal for a wrapper. 0 is unknown. */
typedef uint32_t Site;

typedef struct Thread Thread;
typedef struct Warp Warp;
typedef struct Warpgroup Warpgroup;
typedef struct Cta Cta;
typedef struct Cluster Cluster;
typedef struct Barrier Barrier;

/* ---- clocks (clock.c) -------------------------------------------------------------------------------------------- */

/* Happens-before by vector clocks. A component counts for a thread or for a way in which asynchronous work completes: a
 * barrier's phases, a warpgroup's wgmma groups, a thread's cp.async or bulk groups. An access's epoch is (component,
 * value); a thread knows it if its clock's value is at least that. Each component has a second value: up to where
 * accesses through the generic proxy are covered by a proxy fence. */

typedef uint16_t Component;

typedef struct {
    uint32_t known;
    uint32_t fenced;
} Tick;

/* Immutable once shared: threads that have passed the same barriers share one. */
typedef struct Clock {
    int refs;
    int count;
    Tick tick[];
} Clock;

enum { PRIVATE_LIMIT = 6 };

/* What a thread knows beyond its shared clock: its own component and those only it waits for. */
typedef struct {
    Component component;
    Tick tick;
} PrivateTick;

typedef struct {
    Clock *base; /* may be NULL: knows nothing */
    PrivateTick own[PRIVATE_LIMIT];
    int own_count; /* own[0] is the thread's own component */
} ThreadClock;

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

typedef enum {
    WAIT_NONE,
    WAIT_WARP,      /* for the other lanes, at a warp-wide instruction */
    WAIT_WARPGROUP, /* for the other warps, at setmaxnreg or to issue their part of a wgmma */
    WAIT_MBARRIER,
    WAIT_NAMED, /* also __syncthreads: id 0 */
    WAIT_CLUSTER,
    WAIT_REGISTERS,
    WAIT_COUNTER, /* for a counter in global memory to change */
    WAIT_POLL,    /* test_wait in a loop, for the barrier to change */
    WAIT_INIT,    /* for an mbarrier to be initialised */
} WaitKind;

typedef struct {
    WaitKind kind;
    Site site;
    const char *what; /* the instruction, for reports */
    Barrier *barrier; /* WAIT_MBARRIER, WAIT_POLL */
    uint64_t phase;   /* WAIT_MBARRIER: the phase waited for */
    uint32_t parity;
    int id; /* WAIT_NAMED; WAIT_INIT: offset in shared memory of `cta` */
    Cta *cta;
    int amount;          /* WAIT_REGISTERS: registers wanted by the warp */
    const void *address; /* WAIT_COUNTER */
    uint32_t value;      /* ... the value it had */
} Wait;

/* ---- threads and warps ------------------------------------------------------------------------------------------- */

typedef enum { THREAD_READY, THREAD_BLOCKED, THREAD_EXITED } ThreadState;

/* A 16-byte copy of cp.async that has not happened. */
typedef struct {
    uint8_t *dst;
    const uint8_t *src;
    uint8_t bytes;
    uint32_t group;
} PendingCopy;

struct Thread {
    Fiber fiber;
    Cta *cta;
    Warp *warp;
    int id; /* in the CTA */
    int lane;
    ThreadState state;
    Wait wait;
    Thread *next_waiter;
    ThreadClock clock;
    uint64_t time; /* steps, for the timeline */

    /* Stack addresses [guarded, guarded + guarded_bytes) hold accumulators that wgmma knows. */
    uintptr_t guarded;
    uintptr_t guarded_bytes;

    /* cp.async: a ring of copies that have not happened, in the order of issue. */
    PendingCopy *copies;
    uint32_t copies_head, copies_tail; /* counters; index modulo the capacity */
    uint32_t copies_capacity;          /* a power of two */
    uint32_t copy_groups;              /* committed */
    uint32_t copies_in_group;          /* issued since the last commit */
    uint32_t copy_data_group;          /* last group that has a copy in it, + 1; 0: none */
    int copy_component;                /* index in clock.own; 0: none yet */
    Site copy_site;
    /* For the timeline: when the last groups were committed, and when they have landed; the path is busy until. */
    uint64_t copy_commit[COPY_TIMES], copy_ready[COPY_TIMES], copy_path;
    int loading; /* ordinary loads whose values are not used yet: since load_begin */
    uint64_t load_begin, load_ready;
    int load_groups;

    /* Bulk stores. */
    uint32_t store_groups;    /* committed */
    uint32_t stores_in_group; /* issued since the last commit */
    uint32_t store_data_group;
    uint32_t stores_read, stores_written;  /* groups that this thread has waited for */
    int read_component, written_component; /* indices in clock.own; 0: none yet */
    Site store_site;
    /* For the timeline: when the last groups have been read, and when all is written. */
    uint64_t store_begin, store_read[COPY_TIMES], store_ready;

    int wgmma_component; /* index in clock.own of the warpgroup's component */

    /* Polling of a counter or by test_wait: the last answer, to tell a loop from a single question. */
    const void *poll_address;
    uint64_t poll_version;
    uint32_t poll_count;

    uint8_t loads, math; /* has started TMA loads; has issued products: what reports call its role */
    uint8_t cluster_arrived;
    int cluster_generation;         /* of its arrival */
    int named_seen[NAMED_BARRIERS]; /* 1 + the generation in which it arrived last */
};

typedef enum {
    COLLECTIVE_NONE,
    COLLECTIVE_SYNCWARP,
    COLLECTIVE_SHUFFLE,
    COLLECTIVE_ELECT,
    COLLECTIVE_LDMATRIX,
    COLLECTIVE_STMATRIX,
    COLLECTIVE_MMA,
    COLLECTIVE_SETMAXNREG,
    COLLECTIVE_WGMMA_FENCE,
    COLLECTIVE_WGMMA,
    COLLECTIVE_WGMMA_COMMIT,
    COLLECTIVE_WGMMA_WAIT,
    COLLECTIVE_KINDS
} CollectiveKind;

/* Operands of a warp-wide instruction, one set a lane. */
typedef struct {
    const void *p[3];
    uint64_t u[2];
    int i[3];
} LaneOperands;

/* ---- agents ------------------------------------------------------------------------------------------------------ */

typedef enum { AGENT_LOAD, AGENT_STORE, AGENT_WGMMA, AGENT_COPIES } AgentKind;

typedef struct {
    AgentKind kind;
    int priority;
    int queued; /* index in the scheduler's list, -1: not there */
} Agent;

struct Warp {
    Cta *cta;
    Warpgroup *warpgroup;
    int id; /* in the CTA */
    int lanes;
    uint32_t all; /* mask of its lanes */
    uint32_t exited;
    uint32_t ready;
    int first_lane; /* random policies start a turn at a random lane */
    Thread *thread; /* lanes threads */

    CollectiveKind collective; /* in progress */
    Site collective_site;
    uint32_t collective_mask; /* who must come */
    uint32_t arrived;
    LaneOperands operands[WARP_SIZE];
    uint32_t result[WARP_SIZE];

    int queued; /* index in the scheduler's list of ready warps, -1: not there */
    int priority;
    int registers;    /* a thread, setmaxnreg */
    Site sync_site;   /* of the last __syncthreads() of one of its lanes, */
    int sync_seen;    /* ... and 1 + its generation */
    uint32_t in_sync; /* lanes that wait there */
    struct {
        int seen;     /* 1 + the generation that the rest is about */
        int credited; /* lanes that have returned were counted */
        uint32_t arrived;
    } named[NAMED_BARRIERS];
    /* wgmma */
    int registers_touched; /* accumulators were accessed since the last wgmma.fence */
    Site registers_site;   /* where; 0: there was no fence yet */
    int fragments_touched; /* the same for A in registers */
    uint64_t products;     /* issued */
    uint64_t groups;       /* committed */
    uint64_t committed;    /* products */
    uint64_t waited;       /* groups that a wait has covered */
    Site product_site;

    Agent copies;            /* cp.async of all lanes */
    struct WarpCount *count; /* count.c */

    /* For the timeline: what the warp does now; when the shared memory's path is free for it; fragments on their way. */
    struct {
        int busy, kind;
        uint64_t begin, end;
    } work;
    uint64_t shared_time;
    struct {
        uintptr_t address;
        uint64_t time;
    } fragment[FRAGMENT_TIMES];

    /* Tags of 8x8 matrices in registers, by the address of lane 0's register. provenance.c */
    struct MatrixTag *matrix_tags;
};

/* ---- provenance -------------------------------------------------------------------------------------------------- */

enum { TENSOR_UNKNOWN = 0, TENSOR_ZEROS = 0xffff };

/* Which 8 elements a chunk of 16 bytes holds: 8 columns of a row. */
typedef struct {
    uint16_t tensor; /* TENSOR_UNKNOWN, TENSOR_ZEROS or an index of device.tensor[] */
    uint16_t unused;
    int32_t row;
    int32_t column;
} Tag;

typedef struct MatrixTag {
    uintptr_t address; /* of lane 0's register; 0: none */
    Tag tag[8];        /* of the rows of the 8x8 matrix */
    int regular;       /* all known, row after row */
    Site site;
} MatrixTag;
enum { MATRIX_TAGS = 256 };

/* ---- shadow of shared memory (shadow.c) -------------------------------------------------------------------------- */

typedef enum {
    ACCESS_NONE,
    ACCESS_PLAIN_READ,
    ACCESS_PLAIN_WRITE,
    ACCESS_LDMATRIX,
    ACCESS_STMATRIX,
    ACCESS_CP_ASYNC,
    ACCESS_TMA_LOAD,
    ACCESS_TMA_STORE,
    ACCESS_WGMMA_A,
    ACCESS_WGMMA_B,
    ACCESS_KINDS
} AccessKind;

static inline int access_is_async_proxy(AccessKind kind) {
    return kind == ACCESS_TMA_LOAD || kind == ACCESS_TMA_STORE || kind == ACCESS_WGMMA_A || kind == ACCESS_WGMMA_B;
}

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

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

/* A wait that has been let through. */
typedef struct {
    Thread *thread;
    uint32_t epoch;
    uint64_t products; /* wgmmas that its warp had issued */
    Site site;
} Observer;

/* A thread's last wait on a barrier. */
typedef struct LastWait {
    int waited;        /* at all */
    uint64_t observed; /* phases that it has so seen complete */
    uint32_t epoch;    /* the thread's, then */
    uint64_t groups;   /* of wgmma that its warp had committed */
    Site site;
} LastWait;

struct Barrier {
    Cta *cta;
    uint32_t offset; /* in the CTA's shared memory */
    char name[40];   /* "full[2]" */
    int array;       /* barriers of one mbarrier_init() share a number */
    int expected, pending;
    int64_t tx;
    uint64_t phase;
    Component component; /* its clock value: phases completed */

    Clock *arriving; /* what the arrivals of this phase release */
    Clock *released; /* of the last completed phase */
    uint64_t arriving_time, released_time;

    /* This phase. */
    uint64_t announced, brought; /* bytes */
    uint64_t issued;             /* bytes of loads started */
    uint64_t load_phase;         /* 1 + the last phase for which a load was started; 0: none */
    Site load_site;
    Thread *load_thread;
    uint64_t observed; /* phases that some thread has seen complete */
    /* Waits that this phase has let through: they must be over when it completes, or the parity has come round. */
    Observer *observer;
    struct LastWait *last_wait; /* by thread of the CTA; NULL before the first wait */
    int observers, observers_capacity;

    Component init_component;
    uint32_t init_epoch;
    uint32_t init_fence; /* value of the CTA's fence component that publishes it; 0: not fenced */
    Site init_site;
    Thread *init_thread;

    /* The last few who arrived or announced bytes, for reports. */
    struct {
        Thread *thread;
        Site site;
        uint64_t phase;
    } arrival[BARRIER_HISTORY];
    uint32_t arrival_count;

    Thread *waiters;
};

typedef struct {
    int expected; /* of the generation in progress; 0: none in progress */
    int arrived;
    int generation;
    Clock *arriving;
    uint64_t arriving_time;
    Thread *waiters;
    Site site; /* of the first arrival */
    Thread *first;
    int uses_all; /* __syncthreads(): expects all threads that have not exited */
} NamedBarrier;

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

typedef struct {
    int n;
    int rs; /* A from registers */
    uint64_t a, b;
    int accumulate, a_major, b_major;
    Site site;
    uint8_t issued_by; /* mask of warps */
    uint64_t group;    /* from 0 */
    struct AccumulatorTile *tile;
    float *a_values; /* RS: [16][64] */
    Clock *base;     /* the first issuer's, which was enough to allow its reads; else NULL */
    uint64_t time;   /* of the last issue */
} Product;

/* 64 x n accumulators of a warpgroup. While products work on it the values are here, and NaN in the registers. */
typedef struct AccumulatorTile {
    float *d[WARPGROUP_SIZE]; /* the threads' registers */
    int n;
    uint8_t taken;    /* mask of warps whose registers are here */
    uint64_t last[4]; /* by warp: 1 + number of its last product on it */
    uint64_t used;    /* 1 + number of the last product, of all warps */
    Site site;
    Tag a_tag, b_tag; /* row of A and of B that it is the product of */
    float *tile;      /* [64][n] */
} AccumulatorTile;

struct Warpgroup {
    Agent agent;
    Cta *cta;
    int id;
    int component;          /* its clock value: groups completed; -1: none yet */
    Product *product;       /* numbers first .. issued - 1, modulo the capacity, a power of two */
    uint64_t first, issued; /* oldest not executed; next one of the warp that is furthest */
    uint32_t capacity;
    AccumulatorTile tile[ACCUMULATOR_TILES];
    Thread *issue_waiters;                                          /* wait for other warps to issue their part */
    uint64_t group_begin[GROUP_HISTORY], group_time[GROUP_HISTORY]; /* for the timeline */
    uint64_t groups_begun, groups_traced;
    uint64_t group_end[GROUP_HISTORY]; /* 1 + the last product of a group */
    /* setmaxnreg */
    int register_arrivals, register_increase, register_count;
    Site register_site;
    Thread *register_waiters;
};

/* ---- CTA, cluster, device ---------------------------------------------------------------------------------------- */

struct Cta {
    Cluster *cluster;
    int slot; /* its place among the running ones */
    int block, rank;
    int threads, warps, live, exited;
    Thread *thread; /* threads */
    Warp *warp;
    Warpgroup *warpgroup;
    int warpgroups;
    uint8_t *shared;
    uint32_t shared_bytes;
    Chunk *chunk; /* shared_bytes / 16, rounded up */
    struct ShadowPool *pool;
    uint8_t *stacks;
    Component first_component; /* of thread 0 */

    Barrier **barrier; /* [barriers] */
    int barriers, barriers_capacity, barrier_arrays;
    uint16_t *barrier_at;      /* by offset / 8: 1 + index; 0: none */
    Component fence_component; /* counts mbarrier_init_fence() */
    uint32_t fences;

    NamedBarrier named[NAMED_BARRIERS];
    int free_registers; /* of setmaxnreg's pool */
    Thread *register_waiters;
    Clock *exit_clock;    /* what all exited threads knew */
    uint32_t *touched_by; /* by component: last epoch in which a thread of another CTA touched this one's barriers */
    Site *touched_site;
    /* For the timeline. */
    int sm;
    uint64_t start_time;
    uint64_t tma_time;    /* the copy engine's loads are busy until here */
    uint64_t store_time;  /* its stores are */
    uint64_t tensor_time; /* the tensor cores are */
};

struct Cluster {
    int first_block, size;
    int live; /* threads */
    Cta *cta[CLUSTER_LIMIT];
    int components, capacity;
    Thread **thread_of; /* by component: the thread, or the one whose work it counts */
    Barrier **barrier_of;
    Warpgroup **warpgroup_of;
    uint32_t serial; /* different in every cluster of every launch */
    /* cluster barrier */
    int arrived;
    int generation;
    Clock *arriving, *released;
    uint64_t arriving_time, released_time;
    Thread *waiters;
};

typedef struct {
    ModelOptions options;
    int running;     /* a launch is in progress */
    Thread *current; /* whose code runs; NULL: the host's */
    Fiber host;      /* the context that called model_launch() */
    Fiber *context;  /* whose stack is in use */
    jmp_buf escape;  /* out of the launch, from the host's stack */
    uint64_t random; /* state of the generator */
    uint64_t step;   /* scheduling steps */
    int stop;        /* the launch is to be abandoned */

    /* launch */
    void (*entry)(const void *);
    const void *params;
    const char *kernel_name;
    int grid, block, cluster_size, shared_bytes, sms;
    int next_block, end_block;
    const char *shared_type, *shared_variable, *shared_file; /* how the kernel names its shared memory; NULL: not yet */
    Cluster **cluster;
    int clusters;
    uint32_t launches;
    uint32_t serial; /* clusters so far, over all launches */

    /* scheduler */
    Warp **ready;
    int ready_count, ready_capacity;
    Agent **agent;
    int agent_count, agent_capacity;
    uint64_t pct_next;
    Thread *pollers;     /* who polls something that does not change */
    uint64_t poll_wakes; /* times they were woken without anything having happened */
    uint64_t counter_version;

    uint8_t *shared_base;
    size_t shared_span;
    uintptr_t image_base;
    uintptr_t code_begin, code_end; /* relative to image_base */
} Device;

extern Device device;

static inline Thread *current_thread(void) { return device.current; }

/* The place of a "file:line" literal, and of an instruction. */
static inline Site site_of(const void *p) { return (Site)((uintptr_t)p - device.image_base); }

static inline uint64_t random_next(void) {
    uint64_t x = device.random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static inline uint32_t random_below(uint32_t n) { return (uint32_t)((random_next() >> 32) * n >> 32); }

/* ---- memory that must be there ----------------------------------------------------------------------------------- */

/* The model cannot go on without memory: these end the process with one line on stderr. */
void *model_alloc(size_t bytes);
void *model_alloc_zero(size_t bytes);
void *model_realloc(void *p, size_t bytes);

#endif
