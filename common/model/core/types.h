/* types.h - names that all files of the model share, and what a thread may wait for. */
#ifndef MODEL_TYPES_H
#define MODEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "../data/matrix.h"
#include "../data/tensor_map.h"

enum {
    CHUNK_BYTES = 16,
    SHARED_LIMIT = 227 * 1024,  /* dynamic shared memory a CTA may ask for */
    SHARED_RESERVED = 1024,     /* what the system keeps at the start of the window: addresses begin here */
    SHARED_STRIDE = 256 * 1024, /* from one CTA's shared memory to the next */
    CLUSTER_LIMIT = 8,
    DEVICE_LIMIT = 8,
    THREAD_LIMIT = 1024,
    WARP_LIMIT = THREAD_LIMIT / WARP_SIZE,
    WARPGROUP_LIMIT = THREAD_LIMIT / WARPGROUP_SIZE,
};

/* Below and above all of it: reached by a wrong index of an int. */
#define SHARED_GUARD ((size_t)1 << 31)

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

/* An atomic access, and what it orders: bits. Its scope is .gpu, or with SYSTEM all devices. */
typedef enum { ATOMIC_LOAD, ATOMIC_STORE, ATOMIC_CHANGE } AtomicKind;
typedef enum { ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL, ORDER_SYSTEM } MemoryOrder;

/* Asynchronous work, which the scheduler steps: all of it if `whole`, or as much as chance says. The step leaves the
 * scheduler's list (agent_dequeue()) when nothing is left. Part of the struct of the mechanism whose work it is. */
typedef struct Agent {
    void (*step)(struct Agent *agent, int whole);
    int priority;
    int queued; /* index in the scheduler's list, -1: not there */
} Agent;

typedef enum {
    WAIT_NONE,
    WAIT_WARP,      /* for the other lanes, at a warp-wide instruction */
    WAIT_WARPGROUP, /* for the other warps, at setmaxnreg or to issue their part of a wgmma */
    WAIT_MBARRIER,
    WAIT_NAMED, /* also __syncthreads: id 0 */
    WAIT_CLUSTER,
    WAIT_PEER, /* for a warp of the pair's other CTA to execute the same */
    WAIT_REGISTERS,
    WAIT_COUNTER, /* for a counter in memory to change */
    WAIT_POLL,    /* test_wait in a loop, for the barrier to change */
    WAIT_INIT,    /* for an mbarrier to be initialised */
} WaitKind;

typedef struct {
    WaitKind kind;
    Site site;
    const char *what;         /* the instruction, for reports */
    Barrier *barrier;         /* WAIT_MBARRIER, WAIT_POLL */
    unsigned long long phase; /* ... the phase waited for */
    uint32_t parity;
    int id; /* WAIT_NAMED; WAIT_INIT: offset in shared memory of `cta` */
    Cta *cta;
    int amount;          /* WAIT_REGISTERS: registers wanted by the warp */
    const void *address; /* WAIT_COUNTER */
    uint32_t value;      /* ... the value it had */
    int knows, wanted;   /* ... the value waited for, if it knows one: that or more */
} Wait;

#endif
