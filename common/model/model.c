/* model.c - a kernel from its launch to its end: clusters, CTAs and threads are made, run and taken down. What kernels
 * and the harness call is in model.h and model_host.h.
 *
 * A device has a few SMs, each with space for one CTA. Clusters run one after the other, which is quick and finds the
 * same bugs, since what counts is the order that synchronisation enforces, not the one that happens. The next one
 * starts next to it if all threads wait and one of them polls for another CTA, and under random policies where a thread
 * has executed an atomic.
 *
 * What runs is a set of launches: one, or those that the host has held, of several streams and devices. A launch may
 * begin when the previous launch of its stream has ended; otherwise their clusters are one pool. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"
#include "core/schedule.h"
#include "event.h"
#include "judge/bug_report.h"
#include "place/dwarf.h"

enum {
    DEFAULT_SMS = 4,
    /* A guard costs two mappings, of which a process has 65530. What overflows does so in the first CTAs too. */
    GUARDED_STACKS = 16 * THREAD_LIMIT,
    PAINTED_BYTES = 6 * 1024, /* of a new thread's stack: registers that were never set show as UNSET_BITS */
    STREAMS_KEPT = 16,
    PARAMS_ALIGNMENT = 64, /* of a tensor map */
};

/* Stacks and CTA slots are kept from launch to launch. */
static struct {
    struct {
        uint8_t *stacks;
        int threads; /* stacks mapped there */
        Cta *cta;    /* running there */
    } * slot;
    int slots;
    int hold; /* launches are kept for model_run_launches() */
    int capacity;
    LaunchFacts last[STREAMS_KEPT]; /* of each stream; device.last 0: free */
    int next_last;
} launch;

/* ---- a thread ---------------------------------------------------------------------------------------------------- */

static void thread_main(void) {
    Thread *t = device.current;
    Cta *cta = t->cta;
    launch_of(cta)->entry(launch_of(cta)->params);
    POST(THREAD_RETURNED, .thread = t);
    t->state = THREAD_EXITED;
    t->warp->exited |= 1u << t->lane;
    cta->exited++;
    cta->live--;
    cta->cluster->live--;
    barriers_thread_exit(t);
    if (cta->live == 0) {
        POST(CTA_RETURNED, .cta = cta);
    }
    thread_leave(t);
}

/* ---- CTAs -------------------------------------------------------------------------------------------------------- */

static void warp_begin(Cta *cta, int id) {
    Warp *w = &cta->warp[id];
    int rest = cta->threads - id * WARP_SIZE;
    w->cta = cta;
    w->id = id;
    w->thread = &cta->thread[id * WARP_SIZE];
    w->warpgroup = &cta->warpgroup[id / 4];
    w->lanes = rest < WARP_SIZE ? rest : WARP_SIZE;
    w->all = w->ready = w->lanes == WARP_SIZE ? 0xffffffffu : (1u << w->lanes) - 1;
}

static void thread_begin(Cta *cta, int id) {
    Thread *t = &cta->thread[id];
    uint8_t *stack = fiber_stack(launch.slot[cta->slot].stacks, id);
    t->cta = cta;
    t->warp = &cta->warp[id / WARP_SIZE];
    t->id = id;
    t->lane = id % WARP_SIZE;
    t->state = THREAD_READY;
    uint32_t *paint = (uint32_t *)(void *)(stack + FIBER_STACK_BYTES - stack_shift(id) - PAINTED_BYTES);
    for (int word = 0; word < PAINTED_BYTES / 4; word++) {
        paint[word] = UNSET_BITS;
    }
    fiber_start(&t->fiber, stack, stack_shift(id), thread_main);
}

static void map_stacks(int slot, int threads) {
    if (launch.slot[slot].threads < threads) {
        fiber_stacks_unmap(launch.slot[slot].stacks, launch.slot[slot].threads);
        launch.slot[slot].stacks = model_checked(fiber_stacks_map(threads, slot * threads < GUARDED_STACKS));
        launch.slot[slot].threads = threads;
    }
}

static Cta *cta_new(Cluster *cluster, int slot, int rank) {
    Cta *cta = model_alloc_zero(sizeof *cta);
    cta->cluster = cluster;
    cta->slot = slot;
    cta->rank = rank;
    cta->block = cluster->first_block + rank;
    cta->threads = cta->live = cluster->launch->block;
    cta->warps = (cta->threads + WARP_SIZE - 1) / WARP_SIZE;
    cta->warpgroups = (cta->threads + WARPGROUP_SIZE - 1) / WARPGROUP_SIZE;
    cta->thread = cta_alloc(cta, (size_t)cta->threads * sizeof *cta->thread);
    cta->warp = cta_alloc(cta, (size_t)cta->warps * sizeof *cta->warp);
    cta->warpgroup = cta_alloc(cta, (size_t)cta->warpgroups * sizeof *cta->warpgroup);
    cta->shared = device.shared_base + (size_t)slot * SHARED_STRIDE;
    cta->shared_bytes = (uint32_t)cluster->launch->shared_bytes;
    /* A read of bytes that no thread has written gives NaN, not what the last CTA left. */
    memset(cta->shared, 0xff, cta->shared_bytes);
    map_stacks(slot, cta->threads);
    barriers_begin(cta);
    copies_begin(cta);
    groups_begin(cta);
    mbarriers_begin(cta);
    collectives_begin(cta);
    registers_begin(cta);
    wgmma_begin(cta);
    tmem_begin(cta);
    for (int i = 0; i < cta->warpgroups; i++) {
        cta->warpgroup[i].cta = cta;
        cta->warpgroup[i].id = i;
    }
    for (int i = 0; i < cta->warps; i++) {
        warp_begin(cta, i);
    }
    for (int i = 0; i < cta->threads; i++) {
        thread_begin(cta, i);
    }
    launch.slot[slot].cta = cta;
    POST(CTA_BEGIN, .cta = cta);
    return cta;
}

static void cta_free(Cta *cta) {
    POST(CTA_END, .cta = cta);
    for (int i = 0; i < cta->warps; i++) {
        agent_dequeue(&cta->warp[i].copies);
    }
    for (int i = 0; i < cta->warpgroups; i++) {
        agent_dequeue(&cta->warpgroup[i].products->agent);
    }
    tmem_free(cta);
    launch.slot[cta->slot].cta = NULL;
    cta_free_memory(cta);
    free(cta);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* Can the launch's next cluster start? It has one, what is before it in its stream has ended, and SMs are free. */
static int can_start(const Launch *l) {
    const Launch *before = l->follows >= 0 ? &device.launch[l->follows] : NULL;
    int free_slots = 0, first = l->facts.device * device.sms;
    for (int i = first; i < first + device.sms; i++) {
        free_slots += launch.slot[i].cta == NULL;
    }
    return l->next_block < l->end_block && free_slots >= l->cluster_size &&
           (before == NULL || (before->next_block >= before->end_block && before->running == 0));
}

/* One of the launches that can start a cluster, by the policy; NULL if there is none. */
static Launch *next_launch(void) {
    int count = 0;
    Launch *next = NULL;
    for (int i = 0; i < device.launched; i++) {
        Launch *l = &device.launch[i];
        if (can_start(l) && (count++ == 0 || device.options.policy == MODEL_LAZY ||
                             (device.options.policy >= MODEL_RANDOM && random_below((uint32_t)count) == 0))) {
            next = l;
        }
    }
    return next;
}

/* Starts one more cluster, if there is one and SMs are free for it. */
static int start_cluster(void) {
    Launch *l = next_launch();
    if (l == NULL) {
        return 0;
    }
    Cluster *cluster = model_alloc_zero(sizeof *cluster);
    cluster->barrier = model_alloc_zero(sizeof *cluster->barrier);
    cluster->launch = l;
    cluster->first_block = clusters_take(l);
    cluster->size = l->cluster_size;
    cluster->live = cluster->size * l->block;
    cluster->serial = l->facts.first + 1 + (uint32_t)((cluster->first_block - l->facts.first_block) / l->cluster_size);
    l->running++;
    device.cluster[device.clusters++] = cluster;
    POST(CLUSTER_BEGIN, .cluster = cluster);
    for (int rank = 0, slot = l->facts.device * device.sms; rank < cluster->size; slot++) {
        if (launch.slot[slot].cta == NULL) {
            cluster->cta[rank] = cta_new(cluster, slot, rank);
            rank++;
        }
    }
    for (int rank = 0; rank < cluster->size; rank++) {
        for (int i = 0; i < cluster->cta[rank]->warps; i++) {
            schedule_add_warp(&cluster->cta[rank]->warp[i]);
        }
    }
    return 1;
}

static void take_down(Cluster *cluster) {
    for (int rank = 0; rank < cluster->size; rank++) {
        cta_free(cluster->cta[rank]);
    }
    POST(CLUSTER_END, .cluster = cluster);
    cluster->launch->running--;
    free(cluster->barrier);
    free(cluster);
}

/* Takes down clusters that have ended and starts the next one if none is left. 0 when all grids are done. */
static int next_cluster(void) {
    for (int i = 0; i < device.clusters; i++) {
        if (device.cluster[i]->live == 0) {
            flights_cluster_end(device.cluster[i]);
            take_down(device.cluster[i]);
            device.cluster[i--] = device.cluster[--device.clusters];
        }
    }
    if (device.clusters > 0 || start_cluster()) {
        return 1;
    }
    POST(LAUNCHES_DONE);
    return 0;
}

/* All threads wait and no asynchronous work is left. Whoever polls, or waits for another to come first, may wait for a
 * CTA that has not begun, or may give up. */
static void stuck(void) {
    if (!(anybody_waits() && start_cluster()) && !anybody_wakes()) {
        POST(STUCK);
    }
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

static void unmap_shared(void) {
    if (device.shared_base != NULL) {
        munmap(device.shared_base - SHARED_GUARD, device.shared_span + 2 * SHARED_GUARD);
        device.shared_base = NULL;
    }
}

static void set_up(int slots) {
    fault_catch();
    if (launch.slots < slots) {
        launch.slot = model_realloc(launch.slot, (size_t)slots * sizeof *launch.slot);
        memset(&launch.slot[launch.slots], 0, (size_t)(slots - launch.slots) * sizeof *launch.slot);
        unmap_shared();
        /* What lies below or above is still known to be meant for shared memory. */
        device.shared_span = (size_t)slots * SHARED_STRIDE;
        uint8_t *map = mmap(NULL, device.shared_span + 2 * SHARED_GUARD, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        int opened = map != MAP_FAILED && mprotect(map + SHARED_GUARD, device.shared_span, PROT_READ | PROT_WRITE) == 0;
        device.shared_base = model_checked(opened ? map + SHARED_GUARD : NULL);
        launch.slots = slots;
    }
}

/* The last launch of this stream; NULL if there was none. */
static LaunchFacts *last_of(int on, const void *stream) {
    for (int i = 0; i < STREAMS_KEPT; i++) {
        LaunchFacts *last = &launch.last[i];
        if (last->last != 0 && last->device == on && last->stream == stream) {
            return last;
        }
    }
    return NULL;
}

/* Nothing is left of the set. */
static void forget_set(void) {
    for (int i = 0; i < device.launched && launch.hold; i++) {
        free(device.launch[i].params);
    }
    device.launched = 0;
    launch.hold = 0;
}

/* The index of the previous launch in this stream, in the set that is being made; -1: none. */
static int followed(int on, const void *stream) {
    int i = device.launched - 1;
    while (i >= 0 && (device.launch[i].facts.device != on || device.launch[i].facts.stream != stream)) {
        i--;
    }
    return i;
}

/* Runs the set to its end. */
static GemmStatus run_set(void) {
    device.devices = 1;
    for (int i = 0; i < device.launched; i++) {
        int devices = device.launch[i].facts.device + 1;
        device.devices = devices > device.devices ? devices : device.devices;
    }
    set_up(device.devices * device.sms);
    device.running = 1;
    device.clusters = 0;
    device.cluster = model_alloc((size_t)(device.devices * device.sms) * sizeof *device.cluster);
    device.sets++;
    event_connect();
    POST(LAUNCH_BEGIN);
    schedule_begin();

    fault_launch_begin();
    schedule_run(next_cluster, stuck, start_cluster);
    fault_launch_end();

    flights_end();
    while (device.clusters > 0) { /* only if the launch was abandoned */
        take_down(device.cluster[--device.clusters]);
    }
    schedule_end();
    POST(LAUNCH_END);
    for (int i = 0; i < device.launched; i++) {
        const LaunchFacts *facts = &device.launch[i].facts;
        LaunchFacts *last = last_of(facts->device, facts->stream);
        *(last != NULL ? last : &launch.last[launch.next_last++ % STREAMS_KEPT]) = *facts;
    }
    forget_set();
    free(device.cluster);
    device.cluster = NULL;
    device.running = 0;
    return report_count() > 0 ? GEMM_MODEL_BUG : GEMM_OK;
}

GemmStatus model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                        int overlap, const void *params, const void *stream, GemmError *error) {
    const ModelOptions *o = &device.options;
    ModelKernel *code = (ModelKernel *)(uintptr_t)kernel;
    int sms = device.sms = o->sms > 0 ? o->sms : DEFAULT_SMS;
    int cluster_size = cluster > 0 ? cluster : 1, limit = o->shared > 0 ? o->shared : SHARED_LIMIT;
    char bytes[64];
    snprintf(bytes, sizeof bytes, "0 to %d bytes", limit);
    const struct {
        int is_wrong, value;
        const char *what, *accepted;
    } asked[] = {{cluster < 0 || cluster > CLUSTER_LIMIT, cluster, "the cluster size", "0 to 8"},
                 {grid < 1, grid, "the grid", "1 or more"},
                 {block < 1 || block > THREAD_LIMIT, block, "the number of threads in a CTA", "1 to 1024"},
                 {grid % cluster_size != 0, grid, "the grid", "a multiple of the cluster size"},
                 {shared_bytes < 0 || shared_bytes > limit, shared_bytes, "the shared memory of a CTA", bytes}};
    if (device.running) {
        return gemm_fails(error, GEMM_DEVICE, "launch of %s: a kernel cannot launch another one", name);
    }
    if (cluster_size > sms && cluster <= CLUSTER_LIMIT) { /* before the grid, which may be 0 for that reason */
        return gemm_fails(
            error, GEMM_DEVICE,
            "launch of %s: a cluster of %d CTAs needs as many SMs, and the device has %d: --sms %d or more", name,
            cluster, sms, cluster);
    }
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (asked[i].is_wrong) {
            return gemm_fails(error, GEMM_DEVICE, "launch of %s: %s is %d, accepted is %s", name, asked[i].what,
                              asked[i].value, asked[i].accepted);
        }
    }
    if (++device.asked != o->launch && o->launch != 0) {
        return GEMM_OK;
    }
    code->launched = 1;
    const LaunchFacts *before = last_of(device.using_device, stream);
    uint32_t clusters = (uint32_t)(grid / cluster_size);
    Launch l = {.entry = code->entry,
                .params = (void *)(uintptr_t)params,
                .params_bytes = code->params_bytes,
                .name = name,
                .grid = grid,
                .block = block,
                .cluster_size = cluster_size,
                .shared_bytes = shared_bytes,
                .ctas_per_sm = code->alignment > 64 ? __builtin_ctzl(code->alignment / 64) : 1,
                .overlap = overlap,
                .facts = {.first = device.serial,
                          .last = device.serial + clusters,
                          .block = block,
                          .cluster_size = cluster_size,
                          .first_block = o->first_block,
                          .device = device.using_device,
                          .stream = stream},
                .before = before != NULL ? *before : (LaunchFacts){.last = 0},
                .follows = followed(device.using_device, stream),
                .next_block = o->first_block,
                .end_block = o->blocks != 0 && o->first_block + o->blocks < grid ? o->first_block + o->blocks : grid,
                .first_cta = device.launched > 0 ? device.launch[device.launched - 1].first_cta +
                                                       device.launch[device.launched - 1].grid
                                                 : 0};
    if (launch.hold) {
        size_t pieces = (code->params_bytes + PARAMS_ALIGNMENT - 1) / PARAMS_ALIGNMENT;
        l.params = model_checked(aligned_alloc(PARAMS_ALIGNMENT, pieces * PARAMS_ALIGNMENT));
        memcpy(l.params, params, code->params_bytes);
    }
    device.serial += clusters;
    device.launch = model_grow(device.launch, device.launched + 1, &launch.capacity, sizeof *device.launch);
    device.launch[device.launched++] = l;
    return launch.hold ? GEMM_OK : run_set();
}

/* ---- several devices --------------------------------------------------------------------------------------------- */

void model_use_device(int number) { device.using_device = number >= 0 && number < DEVICE_LIMIT ? number : 0; }

void model_hold_launches(void) {
    forget_set();
    launch.hold = 1;
}

GemmStatus model_run_launches(void) {
    GemmStatus status = device.launched > 0 ? run_set() : GEMM_OK;
    launch.hold = 0;
    return status;
}

void model_configure(const ModelOptions *options) {
    device.options = *options;
    device.asked = 0;
    event_connect();
    POST(CONFIGURED);
    fault_catch();
}

void model_shutdown(void) {
    for (int i = 0; i < launch.slots; i++) {
        fiber_stacks_unmap(launch.slot[i].stacks, launch.slot[i].threads);
    }
    forget_set();
    free(launch.slot);
    free(device.launch);
    device.launch = NULL;
    memset(&launch, 0, sizeof launch);
    unmap_shared();
    for (const Allocation *a; (a = global_at(0)) != NULL;) {
        model_global_free((void *)a->begin);
    }
    global_release();
    POST(SHUTDOWN);
    dwarf_close();
}

/* ---- what kernels ask and announce ------------------------------------------------------------------------------- */

ModelIndex model_thread_idx(void) { return (ModelIndex){(unsigned)device.current->id, 0, 0}; }
ModelIndex model_block_idx(void) { return (ModelIndex){(unsigned)device.current->cta->block, 0, 0}; }
ModelIndex model_block_dim(void) { return (ModelIndex){(unsigned)launch_of(device.current->cta)->block, 1, 1}; }
ModelIndex model_grid_dim(void) { return (ModelIndex){(unsigned)launch_of(device.current->cta)->grid, 1, 1}; }
int model_cluster_cta_rank(void) { return device.current->cta->rank; }

void *model_shared_memory(const char *type, const char *variable, const char *file) {
    Cta *cta = device.current->cta;
    Launch *l = launch_of(cta);
    l->shared_type = type;
    l->shared_variable = variable;
    l->shared_file = file;
    return cta->shared;
}

uint32_t model_shared_address(const void *p) {
    Cta *cta = device.current->cta;
    POST(SHARED_ADDRESS, .cta = cta, .p = p);
    return SHARED_RESERVED + shared_offset(cta, p);
}

void model_tile_taken(int row, int col) {
    if (device.current != NULL) {
        POST(TILE, .thread = device.current, .row = row, .column = col);
    }
}
