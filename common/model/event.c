/* event.c - who listens to what, and in which order: rules first, then what is told. */
#include "event.h"

#include <string.h>

#include "judge/bug_report.h"
#include "judge/cells.h"
#include "judge/clock.h"
#include "judge/transfers.h"
#include "judge/world.h"

Hear *event_heard[EVENT_KINDS][MOST_LISTENERS + 1];

void event_connect(void) {
    static const Listener *const listeners[] = {
#define LISTENER(name) &name##_listener,
        LISTENERS(LISTENER)
#undef LISTENER
    };
    _Static_assert(sizeof listeners / sizeof listeners[0] <= MOST_LISTENERS, "there is room for all who listen");
    memset(event_heard, 0, sizeof event_heard);
    for (size_t i = 0; i < sizeof listeners / sizeof listeners[0]; i++) {
        int wanted = listeners[i]->wanted == NULL || listeners[i]->wanted();
        for (int kind = 0; kind < EVENT_KINDS; kind++) {
            if (!wanted && kind != EVENT_CONFIGURED && kind != EVENT_SHUTDOWN) {
                continue;
            }
            Hear **next = event_heard[kind];
            while (*next != NULL) {
                next++;
            }
            *next = listeners[i]->hear[kind];
        }
    }
}

static void rules_launch_begin(const Event *e) {
    (void)e;
    clock_launch_begin();
    order_launch_begin();
    cells_launch_begin();
}
static void rules_launches_done(const Event *e) {
    (void)e;
    cells_launches_done();
}
static void rules_launch_end(const Event *e) {
    (void)e;
    world_launch_end();
    clock_launch_end();
}
static void rules_shutdown(const Event *e) {
    (void)e;
    cells_shutdown();
}
static void rules_cluster_begin(const Event *e) { clock_cluster_begin(e->cluster); }
static void rules_cluster_end(const Event *e) { clock_cluster_end(e->cluster); }
static void rules_cta_begin(const Event *e) {
    Cta *cta = e->cta;
    cta->transfers = cta_alloc(cta, sizeof *cta->transfers);
    clock_cta_begin(cta);
    world_cta_begin(cta);
    cells_cta_begin(cta);
}
static void rules_cta_end(const Event *e) {
    world_cta_end(e->cta);
    clock_cta_end(e->cta);
}
static void rules_thread_returned(const Event *e) {
    transfers_returned(e->thread);
    clock_thread_returned(e->thread);
}
static void rules_shared_address(const Event *e) { shared_address(e->cta, e->p); }
static void rules_shared_access(const Event *e) {
    access_plain(e->thread, SPACE_SHARED, e->p, e->size, e->write, e->site);
}
static void rules_global_access(const Event *e) {
    access_plain(e->thread, SPACE_GLOBAL, e->p, e->size, e->write, e->site);
}
static void rules_unknown_access(const Event *e) {
    access_unknown(e->thread, e->p, e->size, e->site, e->write ? "store" : "load");
}
static void rules_misaligned_access(const Event *e) {
    access_misaligned(e->thread, e->p, e->size, e->site, e->write ? "store" : "load");
}
static void rules_global_free(const Event *e) { cells_free(e->allocation); }
static void rules_atomic(const Event *e) {
    access_atomic(e->thread, e->p, e->atomic, e->order, e->what, e->at_least, e->site);
}
static void rules_atomic_done(const Event *e) {
    if (global_is(e->p)) {
        world_raised(e->thread, e->p, e->order, e->before, e->after);
    }
}
static void rules_fence(const Event *e) { world_fence(e->thread, e->system); }
static void rules_grid_wait(const Event *e) { clock_grid_wait(e->thread); }
static void rules_syncwarp(const Event *e) { clock_syncwarp(e->warp); }
static void rules_copy(const Event *e) {
    transfers_copy(e->thread, (void *)(uintptr_t)e->p, e->from, (int)e->size, e->site);
}
static void rules_group_wait(const Event *e) {
    report_negative(RULE_ALIGNMENT, e->site, group_text(e->group)->wait, e->newest);
    clock_group_wait(e->thread, e->group, (uint32_t)e->done);
}
static void rules_cluster_arrive(const Event *e) { clock_cluster_arrive(e->thread, e->release); }
static void rules_cluster_complete(const Event *e) { clock_cluster_complete(e->cluster); }
static void rules_cluster_passed(const Event *e) { clock_cluster_passed(e->thread); }
static void rules_cluster_access(const Event *e) {
    transfers_cluster_access(e->thread, e->rank, e->p, e->size, e->write, e->site);
}
static void rules_st_async(const Event *e) { transfers_st_async(e->thread, e->barrier, e->p, e->size, e->site); }
static void rules_mbarrier_copies(const Event *e) { transfers_tracked(e->thread); }
static void rules_tensor_map_prefetch(const Event *e) { transfers_prefetch(e->map, e->site); }
static void rules_bulk_copy(const Event *e) {
    transfers_bulk(e->thread, e->p, e->from, (int)e->size, e->what, e->site);
}
static void rules_tma_load_asked(const Event *e) { transfers_load_asked(e->copy); }
static void rules_tma_load(const Event *e) {
    for (int i = 0; i < e->load->targets; i++) {
        transfers_load(e->load, i);
    }
}
static void rules_tma_store(const Event *e) { transfers_store(e->copy); }
static void rules_bulk_wait(const Event *e) {
    report_negative(RULE_TMA_OPERAND, e->site, "bulk_wait_group", e->newest);
    clock_group_wait(e->thread, GROUP_READS, (uint32_t)e->done);
    if (!e->read) {
        clock_group_wait(e->thread, GROUP_WRITES, (uint32_t)e->done);
    }
}
static void rules_fence_proxy(const Event *e) {
    clock_fence_proxy(e->thread, (unsigned)e->shared << SPACE_SHARED | (unsigned)e->global << SPACE_GLOBAL);
}
static void rules_wgmma_waited(const Event *e) { clock_wgmma_waited(e->warp, e->done); }
const Listener rules_listener = {.hear = {[EVENT_LAUNCH_BEGIN] = rules_launch_begin,
                                          [EVENT_LAUNCHES_DONE] = rules_launches_done,
                                          [EVENT_LAUNCH_END] = rules_launch_end,
                                          [EVENT_SHUTDOWN] = rules_shutdown,
                                          [EVENT_CLUSTER_BEGIN] = rules_cluster_begin,
                                          [EVENT_CLUSTER_END] = rules_cluster_end,
                                          [EVENT_CTA_BEGIN] = rules_cta_begin,
                                          [EVENT_CTA_END] = rules_cta_end,
                                          [EVENT_THREAD_RETURNED] = rules_thread_returned,
                                          [EVENT_SHARED_ADDRESS] = rules_shared_address,
                                          [EVENT_SHARED_ACCESS] = rules_shared_access,
                                          [EVENT_GLOBAL_ACCESS] = rules_global_access,
                                          [EVENT_UNKNOWN_ACCESS] = rules_unknown_access,
                                          [EVENT_MISALIGNED_ACCESS] = rules_misaligned_access,
                                          [EVENT_GLOBAL_FREE] = rules_global_free,
                                          [EVENT_ATOMIC] = rules_atomic,
                                          [EVENT_ATOMIC_DONE] = rules_atomic_done,
                                          [EVENT_FENCE] = rules_fence,
                                          [EVENT_GRID_WAIT] = rules_grid_wait,
                                          [EVENT_SYNCWARP] = rules_syncwarp,
                                          [EVENT_COPY] = rules_copy,
                                          [EVENT_GROUP_WAIT] = rules_group_wait,
                                          [EVENT_CLUSTER_ARRIVE] = rules_cluster_arrive,
                                          [EVENT_CLUSTER_COMPLETE] = rules_cluster_complete,
                                          [EVENT_CLUSTER_PASSED] = rules_cluster_passed,
                                          [EVENT_CLUSTER_ACCESS] = rules_cluster_access,
                                          [EVENT_ST_ASYNC] = rules_st_async,
                                          [EVENT_MBARRIER_COPIES] = rules_mbarrier_copies,
                                          [EVENT_TENSOR_MAP_PREFETCH] = rules_tensor_map_prefetch,
                                          [EVENT_BULK_COPY] = rules_bulk_copy,
                                          [EVENT_TMA_LOAD_ASKED] = rules_tma_load_asked,
                                          [EVENT_TMA_LOAD] = rules_tma_load,
                                          [EVENT_TMA_STORE] = rules_tma_store,
                                          [EVENT_BULK_WAIT] = rules_bulk_wait,
                                          [EVENT_FENCE_PROXY] = rules_fence_proxy,
                                          [EVENT_WGMMA_WAITED] = rules_wgmma_waited}};
