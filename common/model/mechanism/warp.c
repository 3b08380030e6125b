/* warp.c - see warp.h. */
#include "warp.h"

#include <stdlib.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

void collectives_begin(Cta *cta) { CTA_GIVE(cta, cta->warp, cta->warps, collective); }

/* The instruction in progress changes places with the i-th of the others, or with a free place if i is past the
 * last. */
static void exchange(WarpCollective *m, int i) {
    const WarpPart now = m->now;
    m->now = (WarpPart){.arrived = 0};
    if (i < m->parts) {
        m->now = m->part[i];
        m->part[i] = m->part[--m->parts];
    }
    if (now.arrived != 0) {
        m->part[m->parts++] = now;
    }
}

/* A lane comes with this mask: the collective of that mask becomes the one in progress, or none
 * does. If lanes that it needs wait at a collective of another mask, no lane can go on, and that collective is
 * reported. */
static void turn_to(WarpCollective *m, uint32_t mask, int lane) {
    int i = m->parts;
    if (m->now.arrived == 0 || m->now.mask != mask) {
        for (i = 0; i < m->parts && m->part[i].mask != mask;) {
            i++;
        }
        exchange(m, i);
    }
    for (i = 0; i < m->parts; i++) {
        if ((m->part[i].arrived & mask) != 0 && (m->part[i].mask >> lane & 1)) {
            exchange(m, i);
            return;
        }
    }
}

/* Apart from warp_join(), which needs no room for a record then: 32 lanes call it at each instruction. */
static _Noreturn __attribute__((noinline)) void post_apart(Thread *t, const char *instruction, uint32_t mask,
                                                           Site site) {
    POST(WARP_APART, .thread = t, .what = instruction, .mask = mask, .site = site);
    abort(); /* the handler of the signal ends the launch */
}
static __attribute__((noinline)) void post_together(Warp *w) { POST(WARP_TOGETHER, .warp = w); }

int warp_join(Thread *t, const char *instruction, uint32_t mask, Site site) {
    Warp *w = t->warp;
    WarpCollective *m = w->collective;
    WarpPart *now = &m->now;
    mask &= w->all;
    if (m->parts > 0 || (now->arrived != 0 && now->mask != mask)) {
        turn_to(m, mask, t->lane);
    }
    if (now->arrived == 0) {
        *now = (WarpPart){instruction, site, mask, 0};
    }
    if (instruction != now->instruction || site != now->site || mask != now->mask ||
        (mask & (w->exited | w->in_sync)) != 0 || !(mask >> t->lane & 1)) {
        post_apart(t, instruction, mask, site);
    }
    now->arrived |= 1u << t->lane;
    if ((now->arrived & mask) == mask) {
        if (mask == w->all) {
            post_together(w);
        }
        return 1;
    }
    t->wait.kind = WAIT_WARP;
    t->wait.site = site;
    t->wait.what = instruction;
    thread_sleep(t);
    return 0;
}

void warp_go(Warp *w) {
    uint32_t others = w->collective->now.arrived & ~(1u << current_thread()->lane);
    if (schedule_explorer != NULL) {
        schedule_explorer->joined(w, w->collective->now.arrived);
    }
    w->collective->now.arrived = 0;
    w->ready |= others;
    while (others != 0) {
        Thread *t = &w->thread[__builtin_ctz(others)];
        others &= others - 1;
        t->state = THREAD_READY;
        t->wait.kind = WAIT_NONE;
    }
}

/* ---- shuffles ---------------------------------------------------------------------------------------------------- */

void model_syncwarp(uint32_t mask, const char *here) {
    Thread *t = current_thread();
    if (warp_join(t, "__syncwarp", mask, site_of(here))) {
        POST(SYNCWARP, .warp = t->warp);
        warp_go(t->warp);
    }
}

/* PTX 9.7.9.6: which lane a lane reads; its own if that lane is outside its part of the warp. */
static int source_of(ModelShuffle how, int lane, int operand, int width) {
    int first = lane & -width, last = first + width - 1, b = operand & 31;
    int from = how == MODEL_SHFL_INDEX ? first | (b & (width - 1))
               : how == MODEL_SHFL_XOR ? lane ^ b
               : how == MODEL_SHFL_UP  ? lane - b
                                       : lane + b;
    return how == MODEL_SHFL_UP ? (from >= first ? from : lane) : from <= last ? from : lane;
}

uint64_t model_shfl(ModelShuffle how, uint32_t mask, uint64_t value, int which, int width, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    WarpCollective *m = w->collective;
    m->word[0][t->lane] = value;
    m->word[1][t->lane] = (uint64_t)width;
    m->number[t->lane] = which;
    if (warp_join(t, WARP_SHUFFLE, mask, site_of(here))) {
        POST(EXCHANGE, .warp = w, .transposes = how == MODEL_SHFL_XOR);
        /* A lane that takes no part may still have to pick up the result of the last one. */
        for (uint32_t lanes = m->now.arrived; lanes != 0; lanes &= lanes - 1) {
            int lane = __builtin_ctz(lanes);
            int from = source_of(how, lane, m->number[lane], (int)m->word[1][lane]);
            if (from >= w->lanes) {
                from = lane;
            }
            if (!(m->now.arrived >> from & 1)) {
                POST(SHUFFLE_SOURCE, .warp = w, .lane = lane, .from_lane = from);
            }
            m->result[lane] = m->word[0][from];
        }
        warp_go(w);
    }
    return m->result[t->lane];
}

/* The lanes of the mask that come with this lane's value. */
static uint32_t lanes_alike(const char *instruction, uint32_t mask, uint64_t value, const char *here) {
    Thread *t = current_thread();
    WarpCollective *m = t->warp->collective;
    m->word[0][t->lane] = value;
    if (warp_join(t, instruction, mask, site_of(here))) {
        POST(EXCHANGE, .warp = t->warp);
        for (int lane = 0; lane < WARP_SIZE; lane++) {
            uint64_t same = 0;
            for (int other = 0; other < WARP_SIZE; other++) {
                same |= (uint64_t)(m->word[0][other] == m->word[0][lane]) << other;
            }
            m->result[lane] = m->now.arrived >> lane & 1 ? same & m->now.arrived : m->result[lane];
        }
        warp_go(t->warp);
    }
    return (uint32_t)m->result[t->lane];
}

uint32_t model_vote(ModelVote how, uint32_t mask, int predicate, const char *here) {
    const uint32_t alike = lanes_alike("vote.sync", mask, predicate != 0, here),
                   all = mask & current_thread()->warp->all, ballot = predicate ? alike : all & ~alike;
    return how == MODEL_VOTE_BALLOT ? ballot : how == MODEL_VOTE_ANY ? ballot != 0 : ballot == all;
}

uint32_t model_match(uint32_t mask, uint64_t value, int *all, const char *here) {
    const uint32_t alike = lanes_alike("match.sync", mask, value, here);
    if (all == NULL) {
        return alike;
    }
    *all = alike == (mask & current_thread()->warp->all);
    return *all ? alike : 0;
}

uint32_t model_activemask(void) { return 1u << current_thread()->lane; }

/* Others go first: also where a thread otherwise goes on until it has to wait. */
void model_nanosleep(unsigned ns) {
    Thread *t = current_thread();
    (void)ns;
    thread_pause(t); /* an endless loop is noticed here */
    if (device.order == NULL) {
        thread_give_way(t);
    }
}

/* 2^x. Only its time is the hardware's. */
float model_exp2(float x) {
    POST(EXPONENTIAL, .thread = current_thread());
    return exp2f(x);
}

/* The same lane each time; PTX 9.7.13.14 does not say which. */
static int elected(const Warp *w) {
    const ModelOptions *o = &device.options;
    const int first = device.order != NULL || schedule_explorer != NULL || o->policy == MODEL_EAGER ||
                      (o->policy == MODEL_RANDOM && o->seed % 2 == 1);
    return first ? 0 : (o->policy == MODEL_LAZY ? WARP_SIZE - 1 : (int)(o->seed * 7 + 5) % WARP_SIZE) % w->lanes;
}

int model_elect_one(const char *here) {
    Thread *t = current_thread();
    if (warp_join(t, "elect.sync", 0xffffffffu, site_of(here))) {
        warp_go(t->warp);
    }
    return t->lane == elected(t->warp);
}

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------------ */

void model_matrix_x4(int store, uint32_t *r, const void *row, const char *here) {
    Thread *t = current_thread();
    WarpCollective *m = t->warp->collective;
    m->pointer[0][t->lane] = r;
    m->pointer[1][t->lane] = row;
    if (!warp_join(t, store ? "stmatrix" : "ldmatrix", 0xffffffffu, site_of(here))) {
        return;
    }
    uint32_t *const *registers = (uint32_t *const *)m->pointer[0];
    POST(WARP_ACCESS, .warp = t->warp, .access = store ? ACCESS_STMATRIX : ACCESS_LDMATRIX, .size = CHUNK_BYTES,
         .registers = registers, .rows = m->pointer[1], .site = m->now.site);
    if (store) {
        matrix_stmatrix_x4((void *const *)m->pointer[1], (const uint32_t *const *)registers);
    } else {
        matrix_ldmatrix_x4(registers, m->pointer[1]);
    }
    warp_go(t->warp);
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

void model_mma(float *d, const uint32_t *a, const uint32_t *b, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    WarpCollective *m = w->collective;
    m->pointer[0][t->lane] = d;
    m->pointer[1][t->lane] = a;
    m->pointer[2][t->lane] = b;
    if (!warp_join(t, "mma.sync", 0xffffffffu, site_of(here))) {
        return;
    }
    float *const *ds = (float *const *)m->pointer[0];
    const uint32_t *const *as = (const uint32_t *const *)m->pointer[1], *const *bs =
                                                                            (const uint32_t *const *)m->pointer[2];
    POST(MMA, .warp = w, .d = ds, .a = as, .b = bs, .site = m->now.site);
    matrix_mma(ds, as, bs);
    POST(MMA_DONE, .warp = w, .d = ds, .a = as, .b = bs, .site = m->now.site);
    warp_go(w);
}
