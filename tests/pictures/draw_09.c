/* draw_09.c - a stage that two CTAs of a cluster fill by multicast, and two launches that overlap; from choice.h. */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../beyond/09_every_shape/choice.h"

static const Variant variants[] = {
#define ROW(text, kernel, ...) {.name = text, COLUMNS(__VA_ARGS__)},
    EACH_VARIANT(ROW)
#undef ROW
};
enum { VARIANT_COUNT = sizeof variants / sizeof variants[0] };

static const char source[] = "beyond/09_every_shape/09_every_shape.cu";

static const Variant *variant_in_a_cluster(void) {
    for (const Variant *v = variants; v < variants + VARIANT_COUNT; v++) {
        if (strcmp(v->name, "cooperative_128x256_cluster_2x1") == 0) { /* the one that the lesson names */
            return v;
        }
    }
    fprintf(stderr, "pictures: choice.h has no cooperative_128x256_cluster_2x1\n");
    exit(1);
}

PICTURE(cluster) {
    enum { WIDE = 440, STEP = 480, GLOBAL = 74, STAGE = 186, BARRIERS = 292, CONSUMERS_Y = 392, HIGH = 40 };
    const Variant *v = variant_in_a_cluster();
    int bk = constant(source, "BK"), consumers = v->bm / 64;
    int a_bytes = v->bm * bk * (int)sizeof(bf16), part_bytes = v->bn / v->cluster * bk * (int)sizeof(bf16);
    begin("beyond/09_every_shape/cluster.svg", 494, "A stage in two CTAs of a cluster that share B by multicast");
    lead("Stage s of %s. The CTAs' tiles lie below each other: both need the same %d columns of B.\n"
         "Each CTA loads one half of them, into both. Solid arrows: copies. Dashed: arrivals.",
         v->name, v->bn);
    text("m s", MARGIN, GLOBAL + 14, "global memory");
    for (int cta = 0; cta < v->cluster; cta++) {
        int x = MARGIN + cta * STEP;
        box("n", x, STAGE - 34, WIDE, CONSUMERS_Y + HIGH + 48 - STAGE);
        text("t h", x + 12, CONSUMERS_Y + 24, "CTA %d", cta);
        text("t s", x + 62, CONSUMERS_Y + 24, "stage s");
    }
    static const int a_x[] = {130, 710}, part_x[] = {330, 510};
    for (int cta = 0; cta < v->cluster; cta++) {
        int x = MARGIN + cta * STEP, from = a_x[cta] + 60, part = part_x[cta] + 60;
        cell(hue(cta * 2), a_x[cta], GLOBAL, 120, HIGH, "t s c", 17, "A, rows of tile %d", cta);
        text("t s c", from, GLOBAL + 31, "%d x %d", v->bm, bk);
        cell(hue(4 + cta * 2 + 1), part_x[cta], GLOBAL, 120, HIGH, "t s c", 17, "B, half %d", cta);
        text("t s c", part, GLOBAL + 31, "%d x %d", v->bn / v->cluster, bk);

        cell(hue(cta * 2), x + 20, STAGE, 120, HIGH, "t s c", 17, "A");
        text("t s c", x + 80, STAGE + 31, "%d KB", a_bytes / 1024);
        arrow("async", from, GLOBAL + HIGH, x + 80, STAGE);
        for (int half = 0; half < v->cluster; half++) {
            int at = x + 160 + half * 130;
            cell(hue(4 + half * 2 + 1), at, STAGE, 120, HIGH, "t s c", 17, "B, half %d", half);
            text("t s c", at + 60, STAGE + 31, "%d KB, from CTA %d", part_bytes / 1024, half);
            arrow("async", part_x[half] + 60, GLOBAL + HIGH, at + 60, STAGE);
        }
        cell("load", x + 20, BARRIERS, 190, HIGH, "t h s c", 16, "full[s]");
        text("t s c", x + 115, BARRIERS + 31, "1 arrival, %d bytes", a_bytes + v->cluster * part_bytes);
        cell("math", x + 230, BARRIERS, 190, HIGH, "t h s c", 16, "empty[s]");
        text("t s c", x + 325, BARRIERS + 31, "%d arrivals: %d consumers x %d CTAs", consumers * v->cluster, consumers,
             v->cluster);
        text("m s", x + 20, STAGE + HIGH + 22, "Its own producer announces all the bytes that land here;");
        text("m s", x + 20, STAGE + HIGH + 36, "each copy counts its bytes at full[s] of the CTA where it lands.");
        cell("math", x + 120, CONSUMERS_Y, 200, HIGH, "t s c", 17, "its %d consumers", consumers);
        text("t s c", x + 220, CONSUMERS_Y + 31, "read A and both halves of B");
        for (int to = 0; to < v->cluster; to++) {
            arrow("generic", x + 220 + (to ? 30 : -30), CONSUMERS_Y, MARGIN + to * STEP + 325 + (cta ? 30 : -30),
                  BARRIERS + HIGH);
        }
    }
    text("t", MARGIN, 482,
         "A stage is free when the consumers of both CTAs have read it: each producer writes into both. So a release "
         "goes to both.");
    end();
}

/* In units of time: from the end of a launch to the first instruction of the next one, its set-up, a CTA's loads and
 * math of a tile, its epilogue. */
enum { START = 5, SET_UP = 3, MATH = 8, EPILOGUE = 4 };

static void run_bar(const char *class, int x, int y, int from, int to, int scale, const char *name) {
    if (to > from) {
        cell(class, x + from * scale, y, (to - from) * scale, 20, "t s c", 14, "%s", name);
    }
}

/* One CTA from its set-up on; its work begins at `work`. Returns when it ends. */
static int draw_cta(int x, int y, int scale, int begin_at, int work) {
    run_bar("n", x, y, begin_at, begin_at + SET_UP, scale, "set-up");
    run_bar("wait", x, y, begin_at + SET_UP, work, scale, "waits");
    run_bar("math", x, y, work, work + MATH, scale, "loads, math");
    run_bar("epi", x, y, work + MATH, work + MATH + EPILOGUE, scale, "writes C");
    return work + MATH + EPILOGUE;
}

PICTURE(overlap) {
    enum { LEFT = 210, SCALE = 14, LATER = 7, TOP = 92 };
    begin("beyond/09_every_shape/overlap.svg", 432, "Two launches, one after the other, and overlapping");
    lead("Two layers on two SMs: launch 2 reads as its A what launch 1 writes as its C. In units of time: from one "
         "launch's end to the next\n"
         "one's start %d, set-up %d, loads and math %d, epilogue %d. On SM 1 launch 1 comes %d later.",
         START, SET_UP, MATH, EPILOGUE, LATER);
    int x = LEFT, plain = 0, overlapping = 0, ended = 0;
    for (int overlap = 0; overlap < 2; overlap++) {
        int y = TOP + overlap * 108;
        text("t h", MARGIN, y - 4, overlap ? "Overlapping" : "In turn");
        int free[2];
        for (int sm = 0; sm < 2; sm++) {
            int begin_at = sm * LATER;
            text("t s e", x - 8, y + sm * 46 + 14, "SM %d, launch 1", sm);
            free[sm] = draw_cta(x, y + sm * 46, SCALE, begin_at, begin_at + SET_UP);
        }
        ended = free[0] > free[1] ? free[0] : free[1];
        for (int sm = 0; sm < 2; sm++) {
            int begin_at = overlap ? free[sm] : ended + START, ready = begin_at + SET_UP;
            int end_at = draw_cta(x, y + sm * 46 + 22, SCALE, begin_at, ready > ended ? ready : ended);
            text("t s e", x - 8, y + sm * 46 + 36, "launch 2");
            *(overlap ? &overlapping : &plain) = end_at;
        }
        line(x + ended * SCALE, y - 8, x + ended * SCALE, y + 88);
        text("m s e", x + ended * SCALE - 4, y - 2, "launch 1 has ended");
    }
    need(overlapping < plain, "overlapping launches are no faster than others");
    text("t h", MARGIN, TOP + 228, "Overlapping: launch 2 on SM 0, role by role");
    int begin_at = SET_UP + MATH + EPILOGUE, wait = begin_at + SET_UP, y = TOP + 240;
    for (int role = 0; role < 2; role++) {
        text("t s e", x - 8, y + role * 26 + 14, role ? "consumers" : "producer");
        run_bar("n", x, y + role * 26, begin_at, wait, SCALE, "set-up");
        run_bar("hot", x, y + role * 26, wait, ended, SCALE, "waits");
    }
    run_bar("load", x, y, ended, ended + MATH - 1, SCALE, "loads");
    run_bar("wait", x, y + 26, ended, ended + 2, SCALE, "full");
    run_bar("math", x, y + 26, ended + 2, ended + MATH, SCALE, "math");
    run_bar("epi", x, y + 26, ended + MATH, ended + MATH + EPILOGUE, SCALE, "C");
    paragraph("t s", MARGIN, y + 70, 16,
              "Framed: grid_dependency_wait(). The producer needs it: launch 1 may still write A or B, and count at "
              "the same meeting. Consumers write C, which launch 1 may\n"
              "still read; but they wait for what the producer loads, and so come after its wait.");
    end();
}
