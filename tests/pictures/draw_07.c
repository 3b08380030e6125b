/* draw_07.c - the ring of stages, from pipeline.h. */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/pipeline.h"

static void draw_ring(const char *directory) {
    enum { STAGES = 4, K_TILES = 12, WIDE = 66, LEFT = 150, TOP = 96, HIGH = 40 };
    begin(directory, "07_warp_specialized/ring.svg", 392,
          "The ring of stages: indices, phases and parities over three laps");
    text("t", MARGIN, 26,
         "One column a k-tile, one colour a stage; the ring has %d. Both roles call pipeline_advance() after each "
         "k-tile. "
         "A wait names the parity",
         STAGES);
    text("t", MARGIN, 44,
         "of the phase that it waits for; parity is all that it can name. It goes on when that phase is complete.");
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
        colour(consumer.index, x, y_of[0], WIDE - 4, HIGH);
        text("t h c", x + WIDE / 2 - 2, y_of[0] + 25, "%d", consumer.index);
        colour(producer.index + (producer.phase ? 4 : 0), x, y_of[1], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[1] + 15, "empty[%d]", producer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[1] + 29, "parity %u", producer.phase);
        if (lap == 0) {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "at once");
        } else {
            text("m s c", x + WIDE / 2 - 2, y_of[2] + 25, "%d", lap - 1);
        }
        colour(consumer.index + (consumer.phase ? 4 : 0), x, y_of[3], WIDE - 4, HIGH - 6);
        text("t s c", x + WIDE / 2 - 2, y_of[3] + 15, "full[%d]", consumer.index);
        text("t h s c", x + WIDE / 2 - 2, y_of[3] + 29, "parity %u", consumer.phase);
        text("m s c", x + WIDE / 2 - 2, y_of[4] + 25, "%d", lap);
        if ((uint32_t)(lap & 1) != consumer.phase || (uint32_t)((lap + 1) & 1) != producer.phase) {
            fprintf(stderr, "pictures: the phases in ring.svg no longer fit pipeline.h\n");
            exit(1);
        }
        if (consumer.index == 0) {
            line(x - 3, TOP - 4, x - 3, TOP + 5 * HIGH + 26);
            text("m s", x + 3, TOP + 5 * HIGH + 42, "lap %d", lap);
        }
        pipeline_advance(&producer, STAGES);
        pipeline_advance(&consumer, STAGES);
    }
    text("t", MARGIN, 366,
         "Lap 0: a fresh empty barrier counts the phase before phase 0 (parity 1) as complete. Stronger colour: "
         "parity 1.");
    end();
}

void draw_07(const char *directory) { draw_ring(directory); }
