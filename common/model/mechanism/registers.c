/* registers.c - see registers.h. */
#include "registers.h"

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

enum { REGISTER_FILE = 65536, MOST_REGISTERS = 256 };

void registers_begin(Cta *cta) {
    int registers = REGISTER_FILE / cta->threads / launch_of(cta)->ctas_per_sm / 8 * 8;
    cta->registers = cta_alloc(cta, sizeof *cta->registers);
    for (int i = 0; i < cta->warps; i++) {
        cta->warp[i].registers = registers > MOST_REGISTERS ? MOST_REGISTERS : registers;
    }
    CTA_GIVE(cta, cta->warpgroup, cta->warpgroups, registers);
}

/* All four warps of a warpgroup execute it: the last one lets the others go on. */
static void wait_for_warpgroup(Thread *t, int increase, int registers, Site site) {
    Warpgroup *g = t->warp->warpgroup;
    int warps = t->cta->warps - g->id * 4 < 4 ? t->cta->warps - g->id * 4 : 4;
    g->registers->increase = increase;
    g->registers->count = registers;
    if (++g->registers->arrivals < warps) {
        thread_block_in(t, &g->registers->waiters, (Wait){.kind = WAIT_WARPGROUP, .site = site, .what = "setmaxnreg"});
    } else {
        g->registers->arrivals = 0;
        threads_wake(&g->registers->waiters);
    }
}

void model_setmaxnreg(int increase, int registers, const char *here) {
    Thread *t = current_thread();
    Warp *w = t->warp;
    RegisterPool *pool = t->cta->registers;
    Site site = site_of(here);
    w->collective->number[t->lane] = registers;
    if (!warp_join(t, "setmaxnreg", 0xffffffffu, site)) {
        return;
    }
    POST(SETMAXNREG, .warp = w, .increase = increase, .count = registers, .site = site);
    wait_for_warpgroup(t, increase, registers, site);
    int amount = WARP_SIZE * (registers - w->registers);
    while (increase && pool->free < amount) {
        thread_block_in(t, &pool->waiters,
                        (Wait){.kind = WAIT_REGISTERS, .site = site, .what = "setmaxnreg.inc", .amount = amount});
    }
    pool->free -= amount;
    w->registers = registers;
    if (!increase) {
        threads_wake(&pool->waiters);
    }
    warp_go(w);
}
