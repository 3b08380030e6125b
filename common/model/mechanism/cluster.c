/* cluster.c - shared memory of the other CTAs of a cluster: loads, stores, and stores that an mbarrier counts. What
 * kernels call is in model.h. */
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

enum { STORE_LIMIT = 16 };

/* A store on its way. */
typedef struct {
    Flight flight;
    Barrier *barrier;
    uint8_t *to;
    uint32_t bytes;
    uint8_t data[STORE_LIMIT];
} PeerStore;

static uint8_t *at_peer(const Thread *t, int rank, const void *p) {
    return t->cta->cluster->cta[rank]->shared + shared_offset(t->cta, p);
}

void model_cluster_access(int store, const void *p, int rank, void *value, int bytes, const char *here) {
    Thread *t = current_thread();
    POST(CLUSTER_ACCESS, .thread = t, .rank = rank, .p = p, .size = (uint32_t)bytes, .write = store,
         .site = site_of(here));
    uint8_t *at = at_peer(t, rank, p);
    memcpy(store ? at : value, store ? value : at, (size_t)bytes);
}

static void store_step(Agent *agent, int whole) {
    PeerStore *store = (PeerStore *)(void *)agent;
    (void)whole;
    memcpy(store->to, store->data, store->bytes);
    mbarrier_land(store->barrier, store->bytes, "", store->to);
    flight_end(&store->flight);
}

void model_st_async(const void *p, int rank, const void *from, int bytes, void *bar, const char *here) {
    Thread *t = current_thread();
    Site site = site_of(here);
    Barrier *b = mbarrier_reach(t, rank, bar, site, "st.async", 1);
    POST(COPY, .thread = t, .p = p, .size = (uint32_t)bytes, .access = ACCESS_ST_ASYNC, .rank = rank, .barrier = b,
         .what = "st.async", .site = site);
    PeerStore *store = flight_begin(sizeof *store, t, GROUP_KINDS, store_step);
    store->barrier = b;
    store->to = at_peer(t, rank, p);
    store->bytes = (uint32_t)bytes;
    memcpy(store->data, from, (size_t)bytes);
    memset(store->to, 0xff, (size_t)bytes);
    thread_pause(t);
}
