/* event_kinds.h - what happens in the model: a row for each kind of event, with the fields of its record.
 *
 *     EVENT(KIND, field, ...)
 *     TOLD(KIND, "name", field, ...)   --steps writes a line of this name; NULL: journal.c chooses the name, or none
 *
 * Every record may also have `site`, the place in the source. tests/tools/events.t compares this table with each POST()
 * and each ON(). A mechanism, or model.c, posts an event right before it happens, unless a comment says otherwise: a
 * rule can be checked first, and a rule that stops the launch does not return. */

/* ---- the launch: model.c */
EVENT(CONFIGURED, none) /* this and SHUTDOWN reach also the listeners that a launch does not want */
EVENT(LAUNCH_BEGIN, none)
EVENT(LAUNCHES_DONE, none)    /* all of its threads have returned */
EVENT(LAUNCH_END, none)       /* everything is taken down */
EVENT(SHUTDOWN, none)         /* memory that was kept from launch to launch goes */
EVENT(CLUSTER_BEGIN, cluster) /* it has no CTA yet */
EVENT(CLUSTER_END, cluster)   /* its CTAs are gone */
EVENT(CTA_BEGIN, cta)         /* its threads are set up */
EVENT(CTA_RETURNED, cta)      /* all of its threads have returned */
EVENT(CTA_END, cta)           /* it is taken down */
TOLD(THREAD_RETURNED, "returned", thread)
EVENT(SHARED_ADDRESS, cta, p)           /* the kernel asks for the address of p in it */
TOLD(TILE, "tile", thread, row, column) /* the thread takes this tile of C */
EVENT(STUCK, none)                      /* no thread can go on, and no asynchronous work is left. No listener returns */

/* ---- ordinary accesses: plain.c */
EVENT(SHARED_ACCESS, thread, p, size, write)
EVENT(GLOBAL_ACCESS, thread, p, size, write)
EVENT(ACCUMULATOR_ACCESS, thread, p, size, write) /* of registers that wgmma uses, or that lie between such */
EVENT(STACK_STORE, thread, p, size, write)        /* by lane 0 */
EVENT(MISALIGNED_ACCESS, thread, p, size, write)  /* ends the launch */
EVENT(UNKNOWN_ACCESS, thread, p, size, write)     /* of memory that is none of a kernel's: ends the launch */

/* ---- global memory: global.c */
EVENT(GLOBAL_FREE, allocation)
EVENT(ATOMIC, thread, p, atomic, order, what, at_least) /* of 4 bytes, also of shared memory */
EVENT(ATOMIC_DONE, thread, p, atomic, order, before, after)
EVENT(FENCE, thread, system) /* fence.acq_rel.gpu, or .sys */
EVENT(GRID_WAIT, thread)

/* ---- a warp, all of whose lanes have arrived: warp.c, registers.c */
EVENT(EXPONENTIAL, thread)
EVENT(WARP_APART, thread, what, mask) /* lanes of the mask are elsewhere, or gone. No listener returns */
EVENT(WARP_TOGETHER, warp)            /* all lanes are at one instruction */
EVENT(SYNCWARP, warp)
EVENT(EXCHANGE, warp, transposes)                            /* shuffle, vote or match; transposes: a shuffle by XOR */
EVENT(SHUFFLE_SOURCE, warp, lane, from_lane)                 /* the lane reads from one that takes no part */
TOLD(WARP_ACCESS, NULL, warp, access, size, rows, registers) /* registers: the target of ldmatrix */
EVENT(MMA, warp, d, a, b)
EVENT(MMA_DONE, warp, d, a, b) /* after the product has been added to d */
TOLD(SETMAXNREG, "registers", warp, increase, count)

/* ---- a thread's copies, and groups of them: copy.c, group.c */
/* It writes p in CTA `rank` as `access`, and reads `from` as `from_access`; from NULL: registers. It completes with a
 * phase of `barrier`, or, if that is NULL, with the thread's open `group`. */
TOLD(COPY, "cancel", thread, p, size, access, rank, from, from_size, from_access, barrier, group, what)
EVENT(GROUP_COMMIT, thread, group)
EVENT(GROUP_WAIT, thread, group, newest, done)

/* ---- barriers of the CTA and of the cluster: barrier.c */
TOLD(BARRIER_ARRIVE, "sync", thread, id, expected, waits) /* expected 0: all threads that have not returned */
TOLD(BARRIER_COMPLETE, "met", cta, id)                    /* the barrier's list holds all who wait, also the last */
EVENT(BARRIER_PASSED, thread, id)                         /* the thread, which waited, goes on */
TOLD(CLUSTER_ARRIVE, "sync", thread, release)
TOLD(CLUSTER_COMPLETE, "met", cluster)
EVENT(CLUSTER_WAIT, thread)
EVENT(CLUSTER_PASSED, thread)

/* ---- shared memory of other CTAs: cluster.c */
EVENT(CLUSTER_ACCESS, thread, rank, p, size, write) /* rank: of the CTA that p lies in, if there is such a CTA */

/* ---- cluster launch control: launch_control.c */
EVENT(LAUNCH_ASKED, thread)                   /* a COPY follows for each CTA that gets the answer */
TOLD(LAUNCH_ANSWER, "answer", thread, amount) /* the thread reads 1, yes; 0, no; or -1, no answer yet */

/* ---- mbarriers: mbarrier.c */
TOLD(MBARRIER_INIT, "init", thread, barrier, amount) /* one of `amount` */
EVENT(MBARRIER_INIT_FENCE, thread)
EVENT(MBARRIER_REACH, thread, rank, p, what, by_engine) /* a barrier at the place of p in CTA `rank` is wanted */
EVENT(MBARRIER_USE, thread, barrier, what)              /* it is there */
EVENT(MBARRIER_ARRIVE, thread, barrier, what, scope)    /* beyond barrier->pending it does not count */
EVENT(MBARRIER_COPIES, thread, barrier, group)          /* an arrival will follow when its copies so far are done */
EVENT(MBARRIER_COPIES_ARRIVE, thread, barrier, group)
EVENT(MBARRIER_ANNOUNCED, thread, barrier, amount) /* after the bytes have been added to barrier->tx */
/* After the bytes have been subtracted. thread NULL: a copy has landed; what has been copied, and to where. */
TOLD(MBARRIER_LANDED, "landed", barrier, thread, amount, what, p)
EVENT(MBARRIER_LACKS_BYTES, barrier) /* all arrivals have come */
EVENT(MBARRIER_COMPLETE, barrier)
TOLD(MBARRIER_PHASE, "phase", barrier)                     /* after the next phase has begun */
TOLD(MBARRIER_WAIT, "wait", thread, barrier, parity, what) /* the thread asks for this phase; it may have to wait */
EVENT(MBARRIER_ASKED, thread, barrier, asked)              /* test_wait or try_wait returns `asked` */
TOLD(MBARRIER_PASSED, "passed", thread, barrier, phase, asked, scope) /* asked: by a question, not by a wait */
TOLD(MBARRIER_CHANGED, NULL, thread, barrier, change, amount)         /* after it has happened */

/* ---- the copy engine: tma.c */
EVENT(TENSOR_MAP, map) /* after tensor_map_2d() has made it */
EVENT(TENSOR_MAP_PREFETCH, map)
EVENT(BULK_COPY, thread, p, from, size,
      what)                                /* between shared and global memory; a load's or a store's event follows */
EVENT(TMA_LOAD_ASKED, thread, copy)        /* its operands are known */
TOLD(TMA_LOAD, "load", thread, load, what) /* and now its targets and barriers */
TOLD(TMA_STORE, "store", thread, copy)
TOLD(TMA_STORED, "stored", thread, store) /* after it has written global memory */
TOLD(BULK_COMMIT, "bulk_commit", thread)
TOLD(BULK_WAIT, "bulk_wait", thread, newest, done, read) /* read: until shared memory has been read, not written to */
TOLD(FENCE_PROXY, "fence_proxy", thread, spaces)

/* ---- wgmma: wgmma.c */
EVENT(WGMMA_FENCE, warp)
/* All lanes have arrived. product->tile is NULL if there are too many. first: of the four warps */
TOLD(WGMMA_PART, "part", warp, product, wanted, first)
EVENT(WGMMA_UNSET, none)                         /* a product adds to accumulators that were never set */
TOLD(WGMMA_ISSUED, "issued", warpgroup, product) /* all four warps have issued it */
TOLD(WGMMA_DONE, "done", warpgroup, product)     /* after it has been executed */
TOLD(WGMMA_COMMIT, "commit", warp)
TOLD(WGMMA_WAIT, "wgmma_wait", warp, newest)
TOLD(WGMMA_WAITED, "waited", warp, newest, done)
EVENT(REGISTERS_SETTLED, thread, accumulators, count) /* the compiler has been told that they have changed */

/* ---- tensor memory: tmem.c. taddr: an address there */
EVENT(TMEM_GROUP, thread, what, pair, targets) /* before the event of an instruction that has a cta_group */
EVENT(TMEM_ALLOC, warp, taddr, columns, pair)  /* taddr: the first column, or -1 if there is not enough left */
EVENT(TMEM_DEALLOC, warp, taddr, columns, pair)
EVENT(TMEM_RELINQUISH, warp)
EVENT(TMEM_ACCESS, warp, taddr, columns, write) /* columns: N of .xN; the warp's collective has addresses */
EVENT(TMEM_WAIT, warp, group)                   /* all of its lanes' accesses are complete */
EVENT(TMEM_FENCE, thread, after_sync)           /* after_sync: after_thread_sync */
TOLD(TMEM_PRODUCT, "mma", thread, tmem_product)
EVENT(TMEM_COPY, thread, tmem_copy)
