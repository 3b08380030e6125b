/* model.c - a kernel from its launch to its end: clusters, CTAs and threads are made, run, checked and taken down.
 *
 * The device has a few SMs, each with room for one CTA. Clusters run one after the other, which is quick and finds the
 * same bugs, since what counts is the order that synchronisation enforces, not the one that happens. Only if all
 * threads wait and one of them polls for another CTA, or nothing else helps, the next cluster starts beside. */
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agents.h"
#include "judge/clock.h"
#include "tell/count.h"
#include "place/dwarf.h"
#include "tell/observe.h"
#include "mechanism/global.h"
#include "place/line.h"
#include "model.h"
#include "judge/provenance.h"
#include "judge/bug_report.h"
#include "core/schedule.h"
#include "judge/shadow.h"
#include "sync.h"
#include "tell/steps.h"

enum {
    DEFAULT_SMS = 4,
    PAINTED_BYTES = 6 * 1024, /* of a new thread's stack: registers that were never set show as UNSET_BITS */
};

Device device;

/* Stacks and CTA slots are kept from launch to launch. */
static struct {
    uint8_t **stacks; /* by slot */
    int *threads;     /* stacks mapped there */
    Cta **cta;        /* running there */
    int slots;
} pool;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *checked(void *p) {
    if (p == NULL) {
        fprintf(stderr, "the CPU model ran out of memory\n");
        exit(3);
    }
    return p;
}
void *model_alloc(size_t bytes) { return checked(malloc(bytes > 0 ? bytes : 1)); }
void *model_alloc_zero(size_t bytes) { return checked(calloc(1, bytes > 0 ? bytes : 1)); }
void *model_realloc(void *p, size_t bytes) { return checked(realloc(p, bytes)); }

/* ---- a thread ---------------------------------------------------------------------------------------------------- */

static void take_down(Cluster *cluster);

static void thread_main(void) {
    Thread *t = device.current;
    fiber_arrived();
    device.entry(device.params);
    Cta *cta = t->cta;
    Warp *w = t->warp;
    wgmma_exit_check(t);
    copies_exit_check(t);
    stores_exit_check(t);
    if (w->arrived & w->collective_mask) {
        Thread *waiting = &w->thread[__builtin_ctz(w->arrived)];
        report_misuse(RULE_CONVERGENCE, w->collective_site, 1,
                      "%s in lane %d, which all lanes of the warp must execute; lane %d has returned from the kernel",
                      collective_text(w->collective), waiting->lane, t->lane);
    }
    if (cta->exit_clock == NULL) {
        cta->exit_clock = clock_new();
    }
    thread_release(t, &cta->exit_clock);
    t->state = THREAD_EXITED;
    w->exited |= 1u << t->lane;
    cta->exited++;
    cta->live--;
    cta->cluster->live--;
    barriers_thread_exit(t);
    if (cta->live == 0) {
        trace_cta_end(cta);
        mbarrier_exit_check(cta);
    }
    thread_leave(t);
}

/* ---- CTAs -------------------------------------------------------------------------------------------------------- */

Component cluster_component(Cluster *cluster, Thread *t, Barrier *b, Warpgroup *g) {
    if (cluster->components == cluster->capacity) {
        fprintf(stderr, "the CPU model ran out of clock components: a CTA has too many barriers\n");
        exit(3);
    }
    int component = cluster->components++;
    cluster->thread_of[component] = t;
    cluster->barrier_of[component] = b;
    cluster->warpgroup_of[component] = g;
    return (Component)component;
}

static Cta *cta_new(Cluster *cluster, int slot, int rank) {
    Cta *cta = model_alloc_zero(sizeof *cta);
    cta->cluster = cluster;
    cta->slot = slot;
    cta->rank = rank;
    cta->block = cluster->first_block + rank;
    cta->threads = cta->live = device.block;
    cta->warps = (device.block + WARP_SIZE - 1) / WARP_SIZE;
    cta->warpgroups = (device.block + WARPGROUP_SIZE - 1) / WARPGROUP_SIZE;
    cta->thread = model_alloc_zero((size_t)cta->threads * sizeof *cta->thread);
    cta->warp = model_alloc_zero((size_t)cta->warps * sizeof *cta->warp);
    cta->warpgroup = model_alloc_zero((size_t)cta->warpgroups * sizeof *cta->warpgroup);
    cta->shared = device.shared_base + (size_t)slot * SHARED_STRIDE;
    cta->shared_bytes = (uint32_t)device.shared_bytes;
    shadow_new(cta);
    cta->barrier_at = model_alloc_zero((cta->shared_bytes / 8 + 1) * sizeof *cta->barrier_at);
    int registers = REGISTER_FILE / device.block / 8 * 8;
    registers = registers > 256 ? 256 : registers;
    if (pool.threads[slot] < device.block) {
        fiber_stacks_unmap(pool.stacks[slot], pool.threads[slot]);
        pool.stacks[slot] = checked(fiber_stacks_map(device.block));
        pool.threads[slot] = device.block;
    }
    for (int i = 0; i < cta->warpgroups; i++) {
        Warpgroup *g = &cta->warpgroup[i];
        g->agent.kind = AGENT_WGMMA;
        g->agent.queued = -1;
        g->cta = cta;
        g->id = i;
        g->component = -1;
    }
    for (int i = 0; i < cta->warps; i++) {
        Warp *w = &cta->warp[i];
        w->cta = cta;
        w->id = i;
        w->thread = &cta->thread[i * WARP_SIZE];
        w->warpgroup = &cta->warpgroup[i / 4];
        w->lanes = cta->threads - i * WARP_SIZE < WARP_SIZE ? cta->threads - i * WARP_SIZE : WARP_SIZE;
        w->all = w->lanes == WARP_SIZE ? 0xffffffffu : (1u << w->lanes) - 1;
        w->ready = w->all;
        w->registers = registers;
        w->registers_touched = 1;
        w->copies.kind = AGENT_COPIES;
        w->copies.queued = -1;
    }
    for (int i = 0; i < cta->threads; i++) {
        Thread *t = &cta->thread[i];
        t->cta = cta;
        t->warp = &cta->warp[i / WARP_SIZE];
        t->id = i;
        t->lane = i % WARP_SIZE;
        t->state = THREAD_READY;
        t->clock.own_count = 1;
        t->clock.own[0].component = cluster_component(cluster, t, NULL, NULL);
        t->clock.own[0].tick.known = 1;
        /* Stacks lie a multiple of 4096 bytes apart: without a shift, the same variable of all 32 lanes would compete
         * for the same few lines of the L1 cache. */
        size_t skip = (size_t)(i * 7 % 32) * 128;
        uint8_t *stack = fiber_stack(pool.stacks[slot], i);
        fiber_recycle(stack);
        uint32_t *paint = (uint32_t *)(void *)(stack + FIBER_STACK_BYTES - skip - PAINTED_BYTES);
        for (int word = 0; word < PAINTED_BYTES / 4; word++) {
            paint[word] = UNSET_BITS;
        }
        fiber_start(&t->fiber, stack, skip, thread_main);
    }
    cta->first_component = cta->thread[0].clock.own[0].component;
    trace_cta_begin(cta);
    pool.cta[slot] = cta;
    return cta;
}

static void cta_free(Cta *cta) {
    count_cta_end(cta);
    for (int i = 0; i < cta->threads; i++) {
        clock_unref(cta->thread[i].clock.base);
        copies_free(&cta->thread[i]);
    }
    for (int i = 0; i < cta->warps; i++) {
        free(cta->warp[i].matrix_tags);
        agent_dequeue(&cta->warp[i].copies);
    }
    for (int i = 0; i < cta->warpgroups; i++) {
        agent_dequeue(&cta->warpgroup[i].agent);
        wgmma_free(&cta->warpgroup[i]);
    }
    barriers_cta_free(cta);
    mbarriers_free(cta);
    shadow_free(cta);
    clock_unref(cta->exit_clock);
    free(cta->barrier_at);
    free(cta->touched_by);
    free(cta->touched_site);
    free(cta->thread);
    free(cta->warp);
    free(cta->warpgroup);
    pool.cta[cta->slot] = NULL;
    free(cta);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

static int free_slots(void) {
    int free_count = 0;
    for (int i = 0; i < device.sms; i++) {
        free_count += pool.cta[i] == NULL;
    }
    return free_count;
}

/* For every thread, its cp.async, its two kinds of bulk groups; for every CTA, barriers and warpgroups. */
static int component_limit(void) { return device.cluster_size * (4 * device.block + SHARED_LIMIT / 256 + 16) + 8; }

static void start(void) {
    Cluster *cluster = model_alloc_zero(sizeof *cluster);
    cluster->first_block = device.next_block;
    cluster->size = device.cluster_size;
    cluster->live = device.cluster_size * device.block;
    cluster->capacity = component_limit();
    cluster->thread_of = model_alloc_zero((size_t)cluster->capacity * sizeof *cluster->thread_of);
    cluster->barrier_of = model_alloc_zero((size_t)cluster->capacity * sizeof *cluster->barrier_of);
    cluster->warpgroup_of = model_alloc_zero((size_t)cluster->capacity * sizeof *cluster->warpgroup_of);
    cluster->serial = ++device.serial;
    device.next_block += device.cluster_size;
    device.cluster[device.clusters++] = cluster;
    for (int rank = 0, slot = 0; rank < cluster->size; slot++) {
        if (pool.cta[slot] == NULL) {
            cluster->cta[rank] = cta_new(cluster, slot, rank);
            rank++;
        }
    }
    for (int rank = 0; rank < cluster->size; rank++) {
        for (int i = 0; i < cluster->cta[rank]->warps; i++) {
            schedule_add_warp(&cluster->cta[rank]->warp[i]);
        }
    }
}

int launch_start_cluster(void) {
    if (device.next_block >= device.end_block || free_slots() < device.cluster_size) {
        return 0;
    }
    start();
    return 1;
}

static void take_down(Cluster *cluster) {
    for (int rank = 0; rank < cluster->size; rank++) {
        cta_free(cluster->cta[rank]);
    }
    clock_unref(cluster->arriving);
    clock_unref(cluster->released);
    free(cluster->thread_of);
    free(cluster->barrier_of);
    free(cluster->warpgroup_of);
    free(cluster);
}

int launch_next_cluster(void) {
    for (int i = 0; i < device.clusters; i++) {
        if (device.cluster[i]->live == 0) {
            tma_cluster_end(device.cluster[i]);
            take_down(device.cluster[i]);
            device.cluster[i--] = device.cluster[--device.clusters];
        }
    }
    return device.clusters > 0 || launch_start_cluster();
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

static int refuse(const char *name, const char *what, int value, const char *accepted) {
    fprintf(stderr, "launch of %s: %s is %d, accepted is %s\n", name, what, value, accepted);
    return 3;
}

static void unmap_shared(void) {
    if (device.shared_base != NULL) {
        munmap(device.shared_base - SHARED_STRIDE, device.shared_span + 2 * SHARED_STRIDE);
        device.shared_base = NULL;
    }
}

static void set_up(int sms) {
    line_init();
    if (pool.slots < sms) {
        pool.stacks = model_realloc(pool.stacks, (size_t)sms * sizeof *pool.stacks);
        pool.threads = model_realloc(pool.threads, (size_t)sms * sizeof *pool.threads);
        pool.cta = model_realloc(pool.cta, (size_t)sms * sizeof *pool.cta);
        for (int i = pool.slots; i < sms; i++) {
            pool.stacks[i] = NULL;
            pool.threads[i] = 0;
            pool.cta[i] = NULL;
        }
        unmap_shared();
        /* What lies a little below or above is still known to be meant for shared memory. */
        device.shared_span = (size_t)sms * SHARED_STRIDE;
        uint8_t *map = mmap(NULL, device.shared_span + 2 * SHARED_STRIDE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        checked(map == MAP_FAILED ? NULL : map);
        device.shared_base = map + SHARED_STRIDE;
        pool.slots = sms;
    }
}

int model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                 const void *params) {
    int sms = device.options.sms > 0 ? device.options.sms : DEFAULT_SMS;
    int cluster_size = cluster > 0 ? cluster : 1;
    if (device.running) {
        fprintf(stderr, "launch of %s: a kernel cannot launch another one\n", name);
        return 3;
    }
    if (grid < 1) {
        return refuse(name, "the grid", grid, "1 or more");
    }
    if (block < 1 || block > THREAD_LIMIT) {
        return refuse(name, "the number of threads in a CTA", block, "1 to 1024");
    }
    if (cluster < 0 || cluster > CLUSTER_LIMIT || cluster_size > sms) {
        return refuse(name, "the cluster size", cluster, "0 to 8, and not more than the device has SMs");
    }
    if (grid % cluster_size != 0) {
        return refuse(name, "the grid", grid, "a multiple of the cluster size");
    }
    if (shared_bytes < 0 || shared_bytes > SHARED_LIMIT) {
        return refuse(name, "the shared memory of a CTA", shared_bytes, "0 to 232448 bytes");
    }
    set_up(sms);
    device.running = 1;
    device.stop = 0;
    device.entry = (void (*)(const void *))(uintptr_t)kernel;
    device.params = params;
    device.kernel_name = name;
    device.grid = grid;
    device.block = block;
    device.cluster_size = cluster_size;
    device.shared_bytes = shared_bytes;
    device.sms = sms;
    device.next_block = device.options.first_block;
    device.end_block = device.options.blocks == 0 ? grid : device.options.first_block + device.options.blocks;
    device.end_block = device.end_block < grid ? device.end_block : grid;
    device.shared_type = NULL;
    device.clusters = 0;
    device.cluster = model_alloc((size_t)sms * sizeof *device.cluster);
    device.current = NULL;
    device.context = &device.host;
    device.launches++;
    observe_launch();
    report_launch_begin();
    clock_set_capacity(component_limit());
    schedule_begin();
    trace_launch_begin();
    count_launch_begin();

    schedule_run();

    device.current = NULL;
    tma_end();
    while (device.clusters > 0) { /* only if the launch was abandoned */
        take_down(device.cluster[--device.clusters]);
    }
    schedule_end();
    clock_flush();
    report_launch_end();
    free(device.cluster);
    device.cluster = NULL;
    device.running = 0;
    return report_count() > 0 ? 4 : 0;
}

void model_configure(const ModelOptions *options) { device.options = *options; }

void model_shutdown(void) {
    for (int i = 0; i < pool.slots; i++) {
        fiber_stacks_unmap(pool.stacks[i], pool.threads[i]);
    }
    free(pool.stacks);
    free(pool.threads);
    free(pool.cta);
    memset(&pool, 0, sizeof pool);
    unmap_shared();
    global_free_all();
    shadow_free_all();
    model_forget_reports();
    trace_free();
    dwarf_close();
}

/* ---- what kernels ask about themselves --------------------------------------------------------------------------- */

ModelIndex model_thread_idx(void) { return (ModelIndex){(unsigned)device.current->id, 0, 0}; }
ModelIndex model_block_idx(void) { return (ModelIndex){(unsigned)device.current->cta->block, 0, 0}; }
ModelIndex model_block_dim(void) { return (ModelIndex){(unsigned)device.block, 1, 1}; }
ModelIndex model_grid_dim(void) { return (ModelIndex){(unsigned)device.grid, 1, 1}; }
void *model_shared_memory(const char *type, const char *variable, const char *file) {
    device.shared_type = type;
    device.shared_variable = variable;
    device.shared_file = file;
    observe_shared();
    return device.current->cta->shared;
}
int model_cluster_cta_rank(void) { return device.current->cta->rank; }

void agent_step(Agent *agent, int whole) {
    switch (agent->kind) {
    case AGENT_LOAD: load_step(agent, whole); break;
    case AGENT_STORE: store_step(agent, whole); break;
    case AGENT_WGMMA: wgmma_step(agent, whole); break;
    case AGENT_COPIES: copies_step(agent, whole); break;
    }
}
