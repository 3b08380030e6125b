/* draw_07.c - roles, stages and barriers at one moment; the ring over three laps. From pipeline.h and the chapter's
 * numbers. */
#include "picture.h"

#include <string.h>

#include "device/pipeline.h"

static const char source[] = "07_warp_specialized/07_warp_specialized.cu";

/* ---- one moment: how far each role has come ---- */

enum { CONSUMERS = 2, STARTED = 7, LANDED = 6 }; /* k-tiles; of the next one only A has landed */
static const int issued[CONSUMERS] = {5, 4}, released[CONSUMERS] = {4, 3};

/* How many of the first `k_tiles` k-tiles have been in a stage. */
static int laps(int k_tiles, int stage, int stages) { return (k_tiles - stage + stages - 1) / stages; }

static PipelineState after(PipelineState state, int k_tiles, int stages) {
    pipeline_advance_by(&state, k_tiles, stages);
    return state;
}

/* Ends the program if a wait at a barrier of which `complete` phases are over does not end as the picture says. */
static void check_wait(const char *who, int complete, PipelineState state, int passes) {
    need((((uint32_t)complete & 1) != state.phase) == passes,
         "roles.svg: the wait of the %s is not as the picture says", who);
}

PICTURE(roles) {
    enum { LEFT = 150, STEP = 200, WIDE = 148, LANE = 158 };
    enum { PRODUCER = 58, FULL = 148, STAGE = 226, EMPTY_TOP = 320, CONSUMER = 416, BOX = 58, BAND = 48 };
    int stages = constant(source, "STAGES");
    int bm = constant(source, "BM"), bn = constant(source, "BN"), bk = constant(source, "BK");
    int bytes_a = bm * bk * 2, bytes = (bm + bn) * bk * 2;
    PipelineState producer = after(producer_start_state(), STARTED, stages), consumer[CONSUMERS];
    for (int c = 0; c < CONSUMERS; c++) {
        consumer[c] = after(consumer_start_state(), issued[c], stages);
        check_wait("consumer", laps(LANDED, consumer[c].index, stages), consumer[c], 1);
    }
    check_wait("producer", laps(released[1], producer.index, stages), producer, 0);
    need(stages == 4 && bm / 64 == CONSUMERS && laps(released[0], producer.index, stages) == 1,
         "roles.svg is drawn for four stages and two consumers");

    begin("07_warp_specialized/roles.svg", 530, "Producer, consumers, and the ring of stages with its barriers");
    paragraph("t", MARGIN, 24, 18,
              "One CTA at one moment of its main loop. The roles share nothing but the ring, and each of its %d stages "
              "has two barriers. From left\n"
              "to right: a stage that is being multiplied, one that has landed, one that is landing, and one that is "
              "nearly free.",
              stages);
    box("load", LEFT, PRODUCER, 3 * STEP + WIDE + 42, BAND);
    text("t h", LEFT + 12, PRODUCER + 20, "producer: one thread of warpgroup 0");
    text("t", LEFT + 12, PRODUCER + 38,
         "has started the loads of k-tiles 0 to %d; for k-tile %d it waits for phase %d of empty[%d]", STARTED - 1,
         STARTED, STARTED / stages - 1, producer.index);

    text("t h e", LEFT - 14, FULL + 20, "full");
    paragraph("m s e", LEFT - 14, FULL + 36, 14, "1 arrival and\n%d bytes a phase", bytes);
    text("t h e", LEFT - 14, STAGE + 20, "stage");
    paragraph("m s e", LEFT - 14, STAGE + 36, 14, "A %d x %d\nB %d x %d", bm, bk, bn, bk);
    text("t h e", LEFT - 14, EMPTY_TOP + 20, "empty");
    paragraph("m s e", LEFT - 14, EMPTY_TOP + 36, 14, "%d arrivals\na phase", CONSUMERS);

    static const char *const state_of[] = {"read by consumer 0", "landed, not read yet", "landing: B is missing",
                                           "read by consumer 1"};
    for (int s = 0; s < stages; s++) {
        int x = LEFT + s * STEP, complete = laps(LANDED, s, stages), arrived = laps(STARTED, s, stages) - complete;
        box("n", x, FULL, WIDE, BOX);
        text("t h", x + 10, FULL + 19, "full[%d], phase %d", s, complete);
        text("t s", x + 10, FULL + 35, "%d of 1 arrivals", arrived);
        text("t s", x + 10, FULL + 49, arrived ? "%d of %d bytes" : "phase %d is complete",
             arrived ? bytes_a : complete - 1, bytes);

        int k_tile = (laps(STARTED, s, stages) - 1) * stages + s;
        colour(s, x, STAGE, WIDE, BOX);
        text("t h", x + 10, STAGE + 19, "stage %d: k-tile %d", s, k_tile);
        text("t s", x + 10, STAGE + 40, "%s", state_of[s]);

        int first = laps(released[0], s, stages), second = laps(released[1], s, stages);
        int free = first < second ? first : second;
        box("n", x, EMPTY_TOP, WIDE, BOX);
        text("t h", x + 10, EMPTY_TOP + 19, "empty[%d], phase %d", s, free);
        text("t s", x + 10, EMPTY_TOP + 35, "%d of %d arrivals", first + second - 2 * free, CONSUMERS);
        if (first > second) {
            text("t s", x + 10, EMPTY_TOP + 49, "by consumer 0");
        } else {
            text("t s", x + 10, EMPTY_TOP + 49, "phase %d is complete", free - 1);
        }
    }

    /* The stage that lands. */
    int x = LEFT + 2 * STEP;
    arrow("generic", x + 20, PRODUCER + BAND, x + 20, FULL - 2);
    text("t s", x + 28, FULL - 16, "arrive.expect_tx");
    shape("async", "M%d %dV%dH%d", x + LANE + 6, PRODUCER + BAND, STAGE + 30, x + WIDE + 2);
    text("t s e", x + LANE, STAGE - 6, "copies");
    arrow("async", x + 60, STAGE, x + 60, FULL + BOX + 2);
    text("t s", x + 68, STAGE - 6, "bytes");
    /* The one that is nearly free. */
    x = LEFT + 3 * STEP;
    shape("lead", "M%d %dH%dV%d", x, EMPTY_TOP + 30, x - 16, PRODUCER + BAND + 2);
    text("t s", x - 10, FULL - 16, "the producer waits");
    arrow("generic", x + 20, CONSUMER, x + 20, EMPTY_TOP + BOX + 2);
    text("t s", x + 28, CONSUMER - 14, "will arrive");
    /* Who reads. */
    for (int c = 0; c < CONSUMERS; c++) {
        x = LEFT + (issued[c] - 1) % stages * STEP;
        shape("async", "M%d %dH%dV%d", x + WIDE, STAGE + 40, x + LANE + 6, CONSUMER - 2);
        text("t s e", x + LANE, CONSUMER - 14, "wgmma");
    }
    /* The one that is next. */
    x = LEFT + consumer[0].index * STEP;
    shape("lead", "M%d %dH%dV%d", x + WIDE, FULL + 30, x + LANE + 6, CONSUMER - 2);
    text("t s e", x + LANE, CONSUMER - 14, "lets consumer 0 go on");

    for (int c = 0; c < CONSUMERS; c++) {
        x = LEFT + 2 * c * STEP;
        box("math", x, CONSUMER, STEP + WIDE + 42 - (c == 0) * 6, BAND);
        text("t h", x + 12, CONSUMER + 20, "consumer %d: warpgroup %d, rows %d to %d", c, c + 1, 64 * c, 64 * c + 63);
        text("t", x + 12, CONSUMER + 38, "multiplies k-tile %d; next: full[%d], phase %d", issued[c] - 1,
             consumer[c].index, issued[c] / stages);
    }
    int y = CONSUMER + BAND + 34;
    arrow("generic", LEFT, y - 4, LEFT + 34, y - 4);
    text("t s", LEFT + 42, y, "an arrival by one thread");
    arrow("async", LEFT + 196, y - 4, LEFT + 230, y - 4);
    text("t s", LEFT + 238, y, "the copy engine or the tensor cores at work");
    arrow("lead", LEFT + 540, y - 4, LEFT + 574, y - 4);
    text("t s", LEFT + 582, y, "a wait, from the barrier to who waits");
    end();
}

/* ---- three laps ---- */

PICTURE(ring) {
    enum { STAGES = 4, K_TILES = 12, WIDE = 66, LEFT = 150, TOP = 96, HIGH = 40 };
    begin("07_warp_specialized/ring.svg", 392, "The ring of stages: indices, phases and parities over three laps");
    lead("A column is a k-tile, a colour is a stage; the ring has %d. Both roles call pipeline_advance() after each "
         "k-tile. A wait names\n"
         "the parity of the phase that it waits for; it cannot name more. It goes on when that phase is complete.",
         STAGES);
    PipelineState producer = producer_start_state(), consumer = consumer_start_state();
    text("t h e", LEFT - 12, TOP - 10, "k-tile");
    static const char *const rows[] = {"stage", "producer waits", "for phase", "consumers wait", "for phase"};
    static const int y_of[] = {TOP, TOP + HIGH + 16, TOP + 2 * HIGH + 10, TOP + 3 * HIGH + 36, TOP + 4 * HIGH + 30};
    for (int i = 0; i < 5; i++) {
        text(i == 2 || i == 4 ? "m s e" : "t h e", LEFT - 12, y_of[i] + 25, "%s", rows[i]);
    }
    for (int k_tile = 0; k_tile < K_TILES; k_tile++) {
        int x = LEFT + k_tile * WIDE, lap = k_tile / STAGES;
        text("t c", x + WIDE / 2, TOP - 10, "%d", k_tile);
        cell(hue(consumer.index), x, y_of[0], WIDE - 4, HIGH, "t h c", 25, "%d", consumer.index);
        colour(producer.index + (producer.phase ? 4 : 0), x, y_of[1], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[1] + 15, "empty[%d]", producer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[1] + 29, "parity %u", producer.phase);
        if (lap == 0) {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "before 0");
        } else {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "%d", lap - 1);
        }
        colour(consumer.index + (consumer.phase ? 4 : 0), x, y_of[3], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[3] + 15, "full[%d]", consumer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[3] + 29, "parity %u", consumer.phase);
        text("m s c", x + WIDE / 2 - 2, y_of[4] + 25, "%d", lap);
        need((uint32_t)(lap & 1) == consumer.phase && (uint32_t)((lap + 1) & 1) == producer.phase,
             "the phases in ring.svg no longer fit pipeline.h");
        if (consumer.index == 0) {
            line(x - 3, TOP - 4, x - 3, TOP + 5 * HIGH + 26);
            text("m s", x + 3, TOP + 5 * HIGH + 42, "lap %d", lap);
        }
        pipeline_advance(&producer, STAGES);
        pipeline_advance(&consumer, STAGES);
    }
    text("t", MARGIN, 366,
         "Lap 0: on a fresh barrier the phase before phase 0 (parity 1) counts as complete, so the producer goes on at "
         "once. Stronger colour: parity 1.");
    end();
}
