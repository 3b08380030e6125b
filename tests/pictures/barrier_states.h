/* barrier_states.h - what an mbarrier holds after each of some events, from the model's own mbarrier functions, which
 * tests/conform holds to an H200. */
#ifndef BARRIER_STATES_H
#define BARRIER_STATES_H

typedef enum { ON_INIT, ON_ARRIVE_EXPECT_TX, ON_ARRIVE, ON_EXPECT_TX, ON_BYTES } BarrierEvent;

typedef struct {
    BarrierEvent event;
    int amount; /* of init: arrivals; else bytes */
    /* Afterwards. */
    int phase, pending, tx;
    int passes[2]; /* does a wait for this parity return? */
} BarrierState;

/* Goes through `count` events of one barrier, the first of which is its init, and fills in the states. */
void barrier_states(BarrierState *states, int count);

#endif
