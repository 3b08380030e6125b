/* laps.c - how often each ring of mbarriers has wrapped around, and which kernels have run. model_unreached()
 * (model_host.h) names what they have not reached.
 *
 * A ring is an array of mbarriers of one mbarrier_init(). It has wrapped around as often as the slowest of
 * them has completed a phase, in the CTA where that is most: only from the second lap on is a stage refilled that
 * somebody may still read, and waited for by both parities. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../event.h"
#include "../model.h"

enum { LAPS_WANTED = 2 };

typedef struct {
    const char *kernel;
    char array[sizeof((Barrier *)0)->array];
    int barriers;
    uint64_t laps;
} RingLaps;

static struct {
    RingLaps *ring;
    int rings, capacity;
} laps;

/* All kernels of the program: KERNEL_ENTRY() lists them. */
extern ModelKernel *const __start_model_kernels[] __attribute__((weak));
extern ModelKernel *const __stop_model_kernels[] __attribute__((weak));

static RingLaps *ring_of(const char *kernel, const Barrier *b, int barriers) {
    for (RingLaps *r = laps.ring; r < laps.ring + laps.rings; r++) {
        if (r->kernel == kernel && r->barriers == barriers && strcmp(r->array, b->array) == 0) {
            return r;
        }
    }
    laps.ring = model_grow(laps.ring, laps.rings + 1, &laps.capacity, sizeof *laps.ring);
    RingLaps *r = &laps.ring[laps.rings++];
    *r = (RingLaps){.kernel = kernel, .barriers = barriers};
    memcpy(r->array, b->array, sizeof r->array);
    return r;
}

ON(laps, CTA_END) {
    const CtaBarriers *all = cta->mbarriers;
    for (int first = 0, next; first < all->count; first = next) {
        uint64_t least = UINT64_MAX;
        int used = 0;
        for (next = first; next < all->count && all->list[next]->array_number == all->list[first]->array_number;
             next++) {
            const Barrier *b = all->list[next];
            least = b->phase < least ? b->phase : least;
            used |= b->phase > 0 || b->pending != b->expected;
        }
        if (used && next - first > 1) {
            RingLaps *r = ring_of(launch_of(cta)->name, all->list[first], next - first);
            r->laps = least > r->laps ? least : r->laps;
        }
    }
}

const char *model_unreached(int index) {
    static char text[256];
    for (ModelKernel *const *k = __start_model_kernels; k < __stop_model_kernels; k++) {
        if (!(*k)->launched && index-- == 0) {
            snprintf(text, sizeof text, "%s was never launched", (*k)->name);
            return text;
        }
    }
    for (const RingLaps *r = laps.ring; r < laps.ring + laps.rings; r++) {
        if (r->laps < LAPS_WANTED && index-- == 0) {
            snprintf(text, sizeof text,
                     "the ring %s[%d] of %s has wrapped around %s: bugs of a refilled stage do not show", r->array,
                     r->barriers, r->kernel, r->laps == 0 ? "less than once" : "only once");
            return text;
        }
    }
    return NULL;
}

ON(laps, SHUTDOWN) {
    free(laps.ring);
    memset(&laps, 0, sizeof laps);
}
