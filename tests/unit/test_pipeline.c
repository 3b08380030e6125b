/* Does PipelineState name the right stage and parity? Against a model of the two barriers of each stage that counts
 * phases without wrapping them: k-tile i uses stage i mod S in lap i / S; its consumer waits for the end of phase i / S
 * of `full`, its producer for the end of phase i / S - 1 of `empty`. */
#include "device/pipeline.h"
#include "tap.h"

enum { MAX_STAGES = 9, K_TILES = 200 };

/* One barrier: the number of phases that have completed since it was made. */
typedef struct {
    int completed;
} CountedBarrier;

/* What mbarrier.try_wait.parity answers: only the running phase and the one before it can be told apart, and the phase
 * before the first counts as complete. */
static int parity_is_complete(CountedBarrier barrier, uint32_t parity) {
    return (barrier.completed & 1) != (int)parity;
}

/* Runs a producer and a consumer over K_TILES k-tiles in a ring, with the producer `lead` k-tiles ahead where the ring
 * allows it. Nonzero if every wait ended exactly when the counted phases say that it may. */
static int ring_works(int stages, int lead) {
    CountedBarrier full[MAX_STAGES] = {{0}}, empty[MAX_STAGES] = {{0}};
    PipelineState producer = producer_start_state(), consumer = consumer_start_state();
    int produced = 0, consumed = 0;
    while (consumed < K_TILES) {
        int stage = produced % stages, lap = produced / stages;
        int is_free = empty[stage].completed == lap;
        if (produced < K_TILES && produced - consumed < lead) {
            if (producer.index != stage || parity_is_complete(empty[stage], producer.phase) != is_free) {
                return diag("k-tile %d of %d stages: the producer is at stage %d, parity %u", produced, stages,
                            producer.index, producer.phase);
            }
            if (is_free) {
                full[stage].completed++;
                produced++;
                pipeline_advance(&producer, stages);
                continue;
            }
        }
        stage = consumed % stages;
        lap = consumed / stages;
        int is_full = full[stage].completed == lap + 1;
        if (consumer.index != stage || !is_full || !parity_is_complete(full[stage], consumer.phase)) {
            return diag("k-tile %d of %d stages: the consumer is at stage %d, parity %u", consumed, stages,
                        consumer.index, consumer.phase);
        }
        CountedBarrier not_yet = {lap};
        if (parity_is_complete(not_yet, consumer.phase)) {
            return diag("k-tile %d of %d stages: the consumer would not wait for the load", consumed, stages);
        }
        empty[stage].completed++;
        consumed++;
        pipeline_advance(&consumer, stages);
    }
    return 1;
}

static int same(PipelineState a, PipelineState b) { return a.index == b.index && a.phase == b.phase; }

/* pipeline_advance_by(n) from every position of two laps is n times pipeline_advance(). */
static int advance_by_repeats_advance(int stages) {
    for (int start = 0; start < 2 * stages; start++) {
        PipelineState stepped = consumer_start_state();
        for (int i = 0; i < start; i++) {
            pipeline_advance(&stepped, stages);
        }
        PipelineState from = stepped;
        for (int k_tiles = 0; k_tiles < 5 * stages + 2; k_tiles++) {
            PipelineState jumped = from;
            pipeline_advance_by(&jumped, k_tiles, stages);
            if (!same(jumped, stepped)) {
                return diag("%d stages, from %d by %d: stage %d parity %u, expected stage %d parity %u", stages, start,
                            k_tiles, jumped.index, jumped.phase, stepped.index, stepped.phase);
            }
            pipeline_advance(&stepped, stages);
        }
    }
    return 1;
}

int main(void) {
    for (int stages = 1; stages <= MAX_STAGES; stages++) {
        int right = 1;
        for (int lead = 1; lead <= stages + 2; lead++) {
            right = right && ring_works(stages, lead);
        }
        ok(right, "a ring of %d stages, producer up to %d k-tiles ahead", stages, stages + 2);
        ok(advance_by_repeats_advance(stages), "pipeline_advance_by() in a ring of %d stages", stages);
    }
    /* The two parities swapped must not pass: this is what the brute force is there to see. */
    CountedBarrier fresh = {0};
    ok(!parity_is_complete(fresh, consumer_start_state().phase), "a consumer waits at a fresh barrier");
    ok(parity_is_complete(fresh, producer_start_state().phase), "a producer passes a fresh barrier");
    return tap_done();
}
