/* launch_control.c - cluster launch control: a cluster asks for one that has not started. Kernels call model.h.
 *
 * What the answer is, is decided when it comes. In some runs of random policies it is no, though clusters are left:
 * they start then. */
#include <string.h>

#include "../core/schedule.h"
#include "../event.h"
#include "../model.h"

enum { NO_ODDS = 8 };

typedef struct {
    uint32_t yes; /* YES or NO: any other value is no answer */
    uint32_t first_cta;
    uint32_t none[2];
} Answer;
enum { YES = 0x434c4359, NO = 0x434c434e };

/* On its way. */
typedef struct {
    Flight flight;
    const Cluster *cluster;
    uint32_t offset;
    Barrier *barrier[CLUSTER_LIMIT];
} Asked;

static void answer_step(Agent *agent, int whole) {
    const Asked *asked = (Asked *)(void *)agent;
    Launch *l = asked->cluster->launch;
    const int early = device.options.policy >= MODEL_RANDOM && random_below(NO_ODDS) == 0;
    Answer answer = {NO, 0, {0, 0}};
    (void)whole;
    if (l->next_block < l->end_block && !early) {
        answer.yes = YES;
        answer.first_cta = (uint32_t)clusters_take(l);
    }
    for (int i = 0; i < asked->cluster->size; i++) {
        uint8_t *to = asked->barrier[i]->cta->shared + asked->offset;
        memcpy(to, &answer, sizeof answer);
        mbarrier_land(asked->barrier[i], sizeof answer, "answer", to);
    }
    flight_end((Flight *)(void *)agent);
}

void model_launch_try_cancel_multicast(void *to, void *bar, const char *here) {
    Thread *t = current_thread();
    Cluster *cluster = t->cta->cluster;
    Site site = site_of(here);
    Asked asked = {.cluster = cluster, .offset = shared_offset(t->cta, to)};
    POST(LAUNCH_ASKED, .thread = t, .site = site);
    for (int rank = 0; rank < cluster->size; rank++) {
        Barrier *b = asked.barrier[rank] = mbarrier_reach(t, rank, bar, site, access_name[ACCESS_TRY_CANCEL], 1);
        POST(COPY, .thread = t, .p = to, .size = sizeof(Answer), .access = ACCESS_TRY_CANCEL, .rank = rank,
             .barrier = b, .what = access_name[ACCESS_TRY_CANCEL], .site = site);
        memset(cluster->cta[rank]->shared + asked.offset, 0xff, sizeof(Answer));
    }
    Asked *flight = flight_begin(sizeof *flight, t, GROUP_KINDS, answer_step);
    asked.flight = flight->flight;
    *flight = asked;
    thread_pause(t);
    clusters_mix();
}

int model_launch_query_cancel(const void *from, int *first_cta, const char *here) {
    Thread *t = current_thread();
    Answer answer;
    POST(SHARED_ACCESS, .thread = t, .p = from, .size = sizeof answer, .site = site_of(here));
    memcpy(&answer, from, sizeof answer);
    const int yes = answer.yes == YES;
    POST(LAUNCH_ANSWER, .thread = t, .amount = yes || answer.yes == NO ? yes : -1, .site = site_of(here));
    *first_cta = yes ? (int)answer.first_cta : *first_cta;
    return yes;
}
