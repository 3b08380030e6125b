/* event.c - who listens to what, and in which order: rules first, then what is told. Nothing happens here itself. */
#include "event.h"

#include "judge/bug_report.h"
#include "judge/clock.h"
#include "judge/conflicts.h"
#include "judge/convergence.h"
#include "judge/deadlock.h"
#include "judge/phases.h"
#include "judge/products.h"
#include "judge/provenance.h"
#include "judge/results.h"
#include "judge/shadow.h"
#include "judge/transfers.h"
#include "judge/world.h"
#include "place/dwarf.h"
#include "tell/barrier_rows.h"
#include "tell/count.h"
#include "tell/journal.h"
#include "tell/laps.h"
#include "tell/observe.h"
#include "tell/steps.h"

/* ---- the launch -------------------------------------------------------------------------------------------------- */

void event_configured(void) { steps_forget(); }

void event_launch_begin(void) {
    report_launch_begin();
    clock_launch_begin();
    conflicts_launch_begin();
    count_launch_begin();
    observe_launch();
    steps_launch_begin();
    laps_launch_begin();
    journal_launch_begin();
}

void event_launches_done(void) { conflicts_launches_done(); }

void event_launch_end(void) {
    world_launch_end();
    clock_launch_end();
    journal_launch_end();
    report_launch_end();
}

void event_shutdown(void) {
    shadow_shutdown();
    conflicts_shutdown();
    steps_shutdown();
    laps_shutdown();
    model_forget_reports();
    dwarf_close();
}

void event_cluster_begin(Cluster *cluster) { clock_cluster_begin(cluster); }
void event_cluster_end(Cluster *cluster) { clock_cluster_end(cluster); }

void event_cta_begin(Cta *cta) {
    cta->roles = cta_alloc(cta, sizeof *cta->roles);
    cta->fragments = cta_alloc(cta, sizeof *cta->fragments);
    cta->results = cta_alloc(cta, sizeof *cta->results);
    cta->phases = cta_alloc(cta, sizeof *cta->phases);
    cta->convergence = cta_alloc(cta, sizeof *cta->convergence);
    cta->transfers = cta_alloc(cta, sizeof *cta->transfers);
    clock_cta_begin(cta);
    world_cta_begin(cta);
    shadow_cta_begin(cta);
    products_cta_begin(cta);
    steps_cta_begin(cta);
}

void event_cta_returned(Cta *cta) {
    phases_cta_returned(cta);
    steps_cta_returned(cta);
}

void event_cta_end(Cta *cta) {
    products_cta_end(cta);
    convergence_cta_end(cta);
    phases_cta_end(cta);
    world_cta_end(cta);
    clock_cta_end(cta);
    steps_cta_end(cta);
    count_cta_end(cta);
    laps_cta_end(cta);
}

void event_thread_returned(Thread *t) {
    products_returned(t);
    transfers_returned(t);
    convergence_returned(t);
    clock_thread_returned(t);
    journal_returned(t);
}

void event_shared_memory(const Cta *cta) { observe_shared(launch_of(cta)); }
void event_shared_address(const Cta *cta, const void *p) { shadow_address(cta, p); }
void event_tile(Thread *t, int row, int col) {
    steps_tile(t, row, col);
    journal_tile(t, row, col);
}
void event_stuck(void) { report_deadlock(); }

/* ---- ordinary accesses, global memory ---------------------------------------------------------------------------- */

void event_shared_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    conflicts_spin(t, p, size, write, site);
    shadow_access(t, p, size, write, site);
    if (write && size == CHUNK_BYTES) {
        provenance_stored(t, (uint32_t)((const uint8_t *)p - t->cta->shared));
    }
    count_access(t, write ? COUNTED_SHARED_STORE : COUNTED_SHARED_LOAD, p, size, site);
    if (t->steps != NULL) {
        steps_plain(t, 0, write, size);
    }
}

void event_global_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    conflicts_plain(t, p, size, write, site);
    if (write) {
        results_stored(t, p, size, site);
    } else if (size == CHUNK_BYTES) {
        provenance_loaded(t, p);
    }
    count_access(t, write ? COUNTED_GLOBAL_STORE : COUNTED_GLOBAL_LOAD, p, size, site);
    if (device.options.observer != NULL) {
        observe_global(t, p, size, write, site);
    }
    if (t->steps != NULL) {
        steps_plain(t, 1, write, size);
    }
}

void event_accumulator_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    products_accessed(t, p, size, write, site);
}

void event_stack_store(Thread *t, const void *p, uint32_t size, Site site) {
    provenance_forget(t->warp, p, size);
    products_stored(t->warp, p, size, site);
}

void event_unknown_access(Thread *t, const void *p, uint32_t size, int write, Site site) {
    conflicts_unknown(t, p, size, site, write ? "store" : "load");
}

void event_misaligned(Thread *t, const void *p, uint32_t size, int write, Site site) {
    conflicts_misaligned(t, p, size, site, write ? "store" : "load");
}

void event_global_free(Allocation *allocation) { conflicts_free(allocation); }

void event_atomic(Thread *t, const void *p, AtomicKind kind, MemoryOrder order, const char *what, const int *wanted,
                  Site site) {
    conflicts_atomic(t, p, kind, order, what, wanted, site);
    if (global_is(p)) {
        count_add(COUNT_ATOMICS, 1);
        observe_global(t, p, 4, kind != ATOMIC_LOAD, site);
    }
}

void event_atomic_done(Thread *t, const void *p, MemoryOrder order, uint32_t before, uint32_t value) {
    if (global_is(p)) {
        world_raised(t, p, order, before, value);
    }
}

void event_fence(Thread *t, int system) { world_fence(t, system); }
void event_grid_wait(Thread *t) { clock_grid_wait(t); }

/* ---- warps ------------------------------------------------------------------------------------------------------- */

void event_warp_apart(Thread *t, WarpInstruction instruction, uint32_t mask, Site site) {
    convergence_apart(t, instruction, mask, site);
}

void event_warp_together(Warp *w) {
    convergence_together(w);
    count_together(w);
}
void event_syncwarp(Warp *w) { clock_syncwarp(w); }

void event_shuffle_source(Warp *w, int lane, int from) { convergence_shuffle_source(w, lane, from); }

void event_shuffle(Warp *w, int transposes) {
    count_add(COUNT_SHUFFLES, 1);
    steps_shuffle(w, transposes);
}

void event_shuffle_width(int width, Site site) { convergence_shuffle_width(width, site); }

void event_vote(Warp *w) { steps_shuffle(w, 0); }

void event_ldmatrix(Warp *w, uint32_t *const r[WARP_SIZE], const void *const row[WARP_SIZE], int trans, Site site) {
    products_ldmatrix(w, r, row, trans, site);
    count_ldmatrix(w, r[0], row);
    if (!trans) {
        observe_ldmatrix(w, r, row, site);
    }
    journal_ldmatrix(w, row, site);
    steps_ldmatrix(w, r[0]);
}

void event_stmatrix(Warp *w, void *const row[WARP_SIZE], Site site) {
    products_stmatrix(w, row, site);
    count_stmatrix(row);
    journal_stmatrix(w, row, site);
    steps_stmatrix(w);
}

void event_mma(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
               const uint32_t *const b[WARP_SIZE], Site site) {
    products_mma(w, type, d, a, b, site);
    count_mma(w, type, a[0], b[0]);
    steps_mma(w, a[0], b[0]);
}

void event_mma_done(Warp *w, MatrixType type, float *const d[WARP_SIZE], const uint32_t *const a[WARP_SIZE],
                    const uint32_t *const b[WARP_SIZE], Site site) {
    observe_mma(w, type, d, a, b, site);
}

/* ---- cp.async ---------------------------------------------------------------------------------------------------- */

void event_copy(Thread *t, void *dst, const void *src, int bytes, Site site) {
    transfers_copy(t, dst, src, bytes, site);
    count_access(t, COUNTED_COPY_FROM, src, (uint32_t)bytes, site);
    count_access(t, COUNTED_COPY_TO, dst, CHUNK_BYTES, site);
    if (bytes > 0) {
        observe_global(t, src, (uint32_t)bytes, 0, site);
    }
    steps_copy(t);
}

/* ---- groups of a thread's copies --------------------------------------------------------------------------------- */

void event_group_commit(Thread *t, GroupKind kind, Site site) {
    count_group_commit(t, kind);
    observe_group_commit(t, kind, site);
    steps_group_commit(t, kind);
}

void event_group_wait(Thread *t, GroupKind kind, int newest, uint32_t done, Site site) {
    report_negative(RULE_ALIGNMENT, site, group_text(kind)->wait, newest);
    clock_group_wait(t, kind, done);
    count_group_wait(t, kind);
    steps_group_wait(t, kind, newest, done);
}

/* ---- barriers of the CTA and of the cluster, registers ----------------------------------------------------------- */

void event_barrier_arrive(Thread *t, int id, int expected, int waits, Site site) {
    convergence_arrive(t, id, expected, site);
    observe_sync(id, expected > 0 ? expected : t->cta->threads - t->cta->exited, site);
    if (waits) {
        count_barrier(t, expected == 0 ? COUNT_SYNCTHREADS : COUNT_NAMED_BARRIERS);
    }
    journal_sync(t, id, expected, waits, site);
    steps_barrier_arrive(t, id);
}

void event_barrier_complete(Cta *cta, int id) {
    convergence_complete(cta, id);
    journal_sync_complete(cta, id);
    steps_barrier_complete(cta, id);
}

void event_barrier_passed(Thread *t, int id) { steps_barrier_passed(t, id); }

void event_cluster_arrive(Thread *t, int release, Site site) {
    convergence_cluster_arrive(t, site);
    clock_cluster_arrive(t, release);
    steps_cluster_arrive(t);
}

void event_cluster_complete(Cluster *cluster) {
    clock_cluster_complete(cluster);
    steps_cluster_complete(cluster);
}

void event_cluster_wait(Thread *t, Site site) { convergence_cluster_wait(t, site); }

void event_cluster_passed(Thread *t) {
    clock_cluster_passed(t);
    steps_cluster_passed(t);
}

void event_cluster_access(Thread *t, int rank, const void *p, uint32_t size, int write, Site site) {
    transfers_cluster_access(t, rank, p, size, write, site);
    if (t->steps != NULL) {
        steps_plain(t, 0, write, size);
    }
}

void event_st_async(Thread *t, Barrier *b, const void *p, uint32_t size, Site site) {
    transfers_st_async(t, b, p, size, site);
    steps_st_async(t, b);
}

void event_setmaxnreg(Warp *w, int increase, int registers, Site site) {
    convergence_setmaxnreg(w, increase, registers, site);
    observe_registers(w, increase, registers, site);
    journal_registers(w, increase, registers, site);
}

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

void event_mbarrier_init(Thread *t, Barrier *b, int how_many, Site site) {
    phases_init(t, b, how_many, site);
    barrier_row(b, MBARRIER_INIT, 0);
    journal_use(t, site);
    journal_barrier(b, MBARRIER_INIT, 0);
    observe_barrier(b, how_many, site);
}

void event_mbarrier_init_fence(Thread *t) { phases_init_fence(t); }

void event_mbarrier_reach(Thread *t, int rank, const void *bar, Site site, const char *what, int by_engine) {
    phases_reach(t, rank, bar, site, what, by_engine);
}

void event_mbarrier_use(Thread *t, Barrier *b, Site site, const char *what) {
    phases_use(t, b, site, what);
    journal_use(t, site);
}

void event_mbarrier_inval(Thread *t, Barrier *b, Site site) { phases_inval(t, b, site); }

void event_mbarrier_arrive(Thread *t, Barrier *b, int count, Site site, const char *what) {
    phases_arrive(t, b, count, site, what);
    if (b->pending > 0) {
        count_add(COUNT_MBARRIER_ARRIVALS, (unsigned)count);
        steps_mbarrier_arrive(t, b);
    }
}

void event_mbarrier_copies(Thread *t, Barrier *b, Site site) {
    phases_copies(t, b, site);
    transfers_tracked(t);
    steps_copies(t, b);
}

void event_mbarrier_copies_arrive(Thread *t, Barrier *b) {
    phases_copies_arrive(t, b);
    count_add(COUNT_MBARRIER_ARRIVALS, b->pending > 0);
}

void event_mbarrier_announced(Thread *t, Barrier *b, int bytes, Site site) {
    phases_announced(t, b, bytes, site);
    observe_announcement(b, bytes);
}

void event_mbarrier_landed(Barrier *b, Thread *by, uint32_t bytes, Site site) {
    phases_landed(b, by, site);
    barrier_row(b, MBARRIER_LANDED, bytes);
    journal_landed(b, by, bytes);
}

void event_mbarrier_lacks_bytes(Barrier *b) { phases_lack_bytes(b); }

void event_mbarrier_complete(Barrier *b) {
    phases_complete(b);
    barrier_row(b, MBARRIER_COMPLETE, 0);
    count_add(COUNT_MBARRIER_PHASES, 1);
    steps_mbarrier_complete(b);
}

void event_mbarrier_phase(const Barrier *b) { journal_phase(b); }

void event_mbarrier_wait(Thread *t, Barrier *b, uint32_t parity, Site site) {
    phases_wait(t, b, parity, site);
    journal_wait(t, b, parity, site);
    steps_mbarrier_wait(t);
}

void event_mbarrier_wait_token(Thread *t, Barrier *b, const Barrier *of, uint64_t phase, Site site) {
    phases_wait_token(b, of, phase, site);
    steps_mbarrier_wait(t);
}

void event_mbarrier_passed(Thread *t, Barrier *b, uint64_t phase, int asked, Site site) {
    phases_passed(t, b, phase, asked, site);
    count_add(COUNT_MBARRIER_WAITS, 1);
    journal_passed(t, b, phase, site);
    steps_mbarrier_passed(t, b);
}

void event_mbarrier_changed(const Barrier *b, MbarrierChange how, long long amount) {
    barrier_row(b, how, amount);
    journal_barrier(b, how, amount);
}

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

void event_tensor_map(const TensorMap *map) { observe_map(map); }
void event_tensor_map_prefetch(const TensorMap *map, Site site) { transfers_prefetch(map, site); }
void event_bulk_copy(Thread *t, const void *shared, const void *global, int bytes, const char *what, Site site) {
    transfers_bulk(t, shared, global, bytes, what, site);
}

void event_tma_load_asked(const TmaCopy *copy) { transfers_load_asked(copy); }

void event_tma_load(const TmaLoad *load) {
    for (int i = 0; i < load->targets; i++) {
        phases_load(load->barrier[i], &load->copy, tensor_box_bytes(&load->map));
        transfers_load(load, i);
        observe_load(load, i);
    }
    count_load(load);
    journal_load(load);
    steps_load(load);
}

void event_tma_landing(const TmaLoad *load) { journal_landing(load); }

void event_tma_store(const TmaCopy *copy) {
    transfers_store(copy);
    count_store(copy);
    observe_store(copy);
    journal_store(copy);
    steps_store(copy);
}

void event_tma_stored(const TmaStore *store) {
    observe_stored(store);
    journal_stored(store);
}

void event_bulk_commit(Thread *t) {
    journal_bulk_commit(t);
    steps_bulk_commit(t);
}

void event_bulk_wait(Thread *t, int newest, int read, uint32_t done, Site site) {
    report_negative(RULE_TMA_OPERAND, site, "bulk_wait_group", newest);
    clock_group_wait(t, GROUP_READS, done);
    if (!read) {
        clock_group_wait(t, GROUP_WRITES, done);
    }
    journal_bulk_wait(t, newest, read, site);
    steps_bulk_wait(t, newest, read, done);
}

void event_fence_proxy(Thread *t, int shared, int global) {
    if (shared) {
        clock_fence(t);
        journal_fence_proxy(t);
    }
    if (global) {
        world_fence_proxy(t);
    }
    count_add(COUNT_PROXY_FENCES, 1);
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

void event_wgmma_fence(Warp *w, Site site) { products_fence(w, site); }
void event_wgmma_warp(Warp *w, const Product *wanted) { products_warp(w, wanted); }

void event_wgmma_part(Warp *w, Product *product, const Product *wanted, int first) {
    products_part(w, product, wanted, first);
    if (first) {
        count_wgmma(product);
    }
    journal_part(w, product);
    steps_wgmma_part(w, product);
}

void event_wgmma_unset(Site site) { products_unset(site); }

void event_wgmma_issued(Warpgroup *g, const Product *product) {
    observe_issued(g, product);
    journal_issued(g, product);
    steps_wgmma_issued(g, product);
}

void event_wgmma_done(Warpgroup *g, Product *product) {
    products_done(product);
    observe_done(g, product);
    journal_done(g, product);
}

void event_wgmma_commit(Warp *w) {
    products_commit(w);
    journal_commit(w);
    count_add(COUNT_WGMMA_GROUPS, w->id % 4 == 0);
}

void event_wgmma_wait(Warp *w, int newest, Site site) {
    report_negative(RULE_WGMMA_OPERANDS, site, "wgmma_wait_group", newest);
    products_wait(w, newest, site);
    journal_wgmma_wait(w, newest, site);
    count_add(COUNT_WGMMA_WAITS, w->id % 4 == 0);
}

void event_fragment_holds(Thread *t, const uint32_t *a, const char *matrix, int element_bytes, int row, int k) {
    if (t->lane == 0) {
        provenance_declared(t->warp, a, matrix, element_bytes, row, k);
    }
}

void event_wgmma_settled(Thread *t, const float *d, int count) { products_settled(t, d, count); }

void event_wgmma_waited(Warp *w, int newest, uint64_t done) {
    clock_wgmma_waited(w, done);
    products_waited(w, done);
    journal_waited(w, done);
    steps_wgmma_waited(w, newest, done);
}
