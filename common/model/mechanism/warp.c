/* warp.c - what the 32 threads of a warp execute together, except wgmma: shuffles, ldmatrix, mma.sync. */
#include "../data/matrix.h"
#include "../judge/clock.h"
#include "../tell/count.h"
#include "../tell/observe.h"
#include "../model.h"
#include "../judge/provenance.h"
#include "../judge/bug_report.h"
#include "../core/schedule.h"
#include "../judge/shadow.h"
#include "../tell/steps.h"

/* ---- time, for the timeline -------------------------------------------------------------------------------------- */

/* The lanes go on together, not before `from`, and take `cost` steps. Returns when they began. */
static uint64_t warp_time(Warp *w, uint64_t from, uint64_t cost) {
    uint64_t begin = from;
    for (int lane = 0; lane < w->lanes; lane++) {
        begin = w->thread[lane].time > begin ? w->thread[lane].time : begin;
    }
    for (int lane = 0; lane < w->lanes; lane++) {
        w->thread[lane].time = begin + cost;
    }
    return begin;
}

/* Steps in which an ldmatrix or stmatrix of each of the CTA's warps passes through shared memory. */
static uint64_t shared_steps(const Warp *w) {
    return 4 * WARP_SIZE * 4 * (uint64_t)w->cta->warps / SHARED_BYTES_A_STEP;
}

/* Fragments are on their way while the warp goes on: whoever uses the register waits. */
static uint64_t *fragment_time(Warp *w, const void *lane_0, int make) {
    uintptr_t address = (uintptr_t)lane_0;
    unsigned slot = (unsigned)(address >> 4) % FRAGMENT_TIMES;
    if (make) {
        w->fragment[slot].address = address >> 4;
    }
    return w->fragment[slot].address == address >> 4 ? &w->fragment[slot].time : NULL;
}

static void fragment_loaded(Warp *w, const void *lane_0) {
    uint64_t begin = warp_time(w, 0, COST_LDMATRIX);
    w->shared_time = (w->shared_time > begin ? w->shared_time : begin) + shared_steps(w);
    *fragment_time(w, lane_0, 1) = w->shared_time + SHARED_LATENCY;
    trace_work(w, TRACE_FRAGMENTS, begin, begin + COST_LDMATRIX);
}

static void product_time(Warp *w, const void *a, const void *b) {
    const uint64_t *a_time = fragment_time(w, a, 0), *b_time = fragment_time(w, b, 0);
    uint64_t from = a_time != NULL ? *a_time : 0;
    from = b_time != NULL && *b_time > from ? *b_time : from;
    /* Each of the SM's four tensor cores serves every fourth warp. */
    uint64_t cost = STEPS_A_MMA * (uint64_t)((w->cta->warps + 3) / 4);
    uint64_t begin = warp_time(w, from, cost);
    trace_work(w, TRACE_MMA, begin, begin + cost);
}

static void whole_warp(Warp *w, CollectiveKind kind, Site site) {
    if (w->lanes < WARP_SIZE) {
        report_misuse(RULE_CONVERGENCE, site, 1, "%s in a warp of %d threads: it needs all 32", collective_text(kind),
                      w->lanes);
    }
}

/* ---- shuffles ---------------------------------------------------------------------------------------------------- */

void model_syncwarp(uint32_t mask, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    if (!warp_meet(t, COLLECTIVE_SYNCWARP, mask, site_of(here))) {
        return;
    }
    Clock *together = NULL;
    for (uint32_t lanes = w->arrived; lanes != 0; lanes &= lanes - 1) {
        thread_release(&w->thread[__builtin_ctz(lanes)], &together);
    }
    for (uint32_t lanes = w->arrived; lanes != 0; lanes &= lanes - 1) {
        thread_acquire_own(&w->thread[__builtin_ctz(lanes)], together);
    }
    clock_unref(together);
    warp_go(w);
}

uint32_t model_shfl(ModelShuffle how, uint32_t mask, uint32_t value, int which, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    w->operands[t->lane].u[0] = value;
    w->operands[t->lane].i[0] = which;
    if (warp_meet(t, COLLECTIVE_SHUFFLE, mask, site_of(here))) {
        for (int lane = 0; lane < w->lanes; lane++) {
            int operand = w->operands[lane].i[0];
            int from = how == MODEL_SHFL_INDEX ? operand & 31
                       : how == MODEL_SHFL_XOR ? lane ^ operand
                       : how == MODEL_SHFL_UP  ? lane - operand
                                               : lane + operand;
            if (from < 0 || from >= w->lanes) {
                from = lane;
            }
            w->result[lane] = (uint32_t)w->operands[from].u[0];
        }
        count_add(COUNT_SHUFFLES, 1);
        uint64_t begin = warp_time(w, 0, COST_SHUFFLE);
        if (how == MODEL_SHFL_XOR) { /* a transpose: the epilogue begins */
            trace_work(w, TRACE_EPILOGUE, begin, begin + COST_SHUFFLE);
        }
        warp_go(w);
    }
    return w->result[t->lane];
}

int model_elect_one(const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    if (warp_meet(t, COLLECTIVE_ELECT, 0xffffffffu, site_of(here))) {
        warp_go(w);
    }
    return t->lane == 0;
}

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------------ */

/* Lane's address as an offset in shared memory. */
static uint32_t row_offset(Warp *w, int lane, const void *row, const char *what, Site site) {
    uint32_t offset = shared_offset(&w->thread[lane], row, CHUNK_BYTES, what, site);
    if (offset % CHUNK_BYTES != 0) {
        report_misuse(RULE_ALIGNMENT, site, 1, "%s: lane %d gives byte %u of shared memory, not a multiple of 16", what,
                      lane, offset);
    }
    return offset;
}

void model_ldmatrix_x4(uint32_t *r, const void *row, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Site site = site_of(here);
    w->operands[t->lane].p[0] = r;
    w->operands[t->lane].p[1] = row;
    if (!warp_meet(t, COLLECTIVE_LDMATRIX, 0xffffffffu, site)) {
        return;
    }
    whole_warp(w, COLLECTIVE_LDMATRIX, site);
    uint32_t *out[WARP_SIZE];
    const void *in[WARP_SIZE];
    Tag tag[WARP_SIZE];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        out[lane] = (uint32_t *)(uintptr_t)w->operands[lane].p[0];
        in[lane] = w->operands[lane].p[1];
        uint32_t offset = row_offset(w, lane, in[lane], "ldmatrix", site);
        Actor actor = actor_plain(&w->thread[lane], ACCESS_LDMATRIX, site);
        shadow_read(w->cta, &actor, offset, CHUNK_BYTES);
        tag[lane] = *shadow_tag(w->cta, offset);
    }
    count_matrix(0, in);
    count_fragment(w, out[0]);
    matrix_ldmatrix_x4(out, in);
    observe_ldmatrix(w, out, in, site);
    provenance_ldmatrix(w, out[0], tag, site);
    w->fragments_touched = 1;
    fragment_loaded(w, out[0]);
    warp_go(w);
}

void model_stmatrix_x4(void *row, const uint32_t *r, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    Site site = site_of(here);
    w->operands[t->lane].p[0] = r;
    w->operands[t->lane].p[1] = row;
    if (!warp_meet(t, COLLECTIVE_STMATRIX, 0xffffffffu, site)) {
        return;
    }
    whole_warp(w, COLLECTIVE_STMATRIX, site);
    void *out[WARP_SIZE];
    const uint32_t *in[WARP_SIZE];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        in[lane] = w->operands[lane].p[0];
        out[lane] = (void *)(uintptr_t)w->operands[lane].p[1];
        uint32_t offset = row_offset(w, lane, out[lane], "stmatrix", site);
        Actor actor = actor_plain(&w->thread[lane], ACCESS_STMATRIX, site);
        shadow_write(w->cta, &actor, offset, CHUNK_BYTES);
    }
    count_matrix(1, (const void *const *)out);
    matrix_stmatrix_x4(out, in);
    uint64_t begin = warp_time(w, 0, shared_steps(w));
    trace_work(w, TRACE_EPILOGUE, begin, begin + shared_steps(w));
    warp_go(w);
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

void model_mma_m16n8k16(float *d, const uint32_t *a, const uint32_t *b, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    LaneOperands *mine = &w->operands[t->lane];
    mine->p[0] = d;
    mine->p[1] = a;
    mine->p[2] = b;
    t->math = 1;
    if (!warp_meet(t, COLLECTIVE_MMA, 0xffffffffu, site_of(here))) {
        return;
    }
    Site site = site_of(here);
    whole_warp(w, COLLECTIVE_MMA, site);
    float *ds[WARP_SIZE];
    const uint32_t *as[WARP_SIZE], *bs[WARP_SIZE];
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        ds[lane] = (float *)(uintptr_t)w->operands[lane].p[0];
        as[lane] = w->operands[lane].p[1];
        bs[lane] = w->operands[lane].p[2];
    }
    if (model_bits(ds[0][0]) == UNSET_BITS || as[0][0] == UNSET_BITS || bs[0][0] == UNSET_BITS) {
        report_misuse(RULE_REGISTERS_UNINIT, site, 0, "mma.sync on registers that were never set");
    }
    provenance_mma(w, as[0], bs[0], ds[0], site);
    count_mma(w, as[0], bs[0]);
    matrix_mma_m16n8k16(ds, as, bs);
    observe_mma(w, ds, as, bs, site);
    product_time(w, as[0], bs[0]);
    warp_go(w);
}
