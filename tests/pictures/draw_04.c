/* draw_04.c - fragments in flight: four stages and two sets of fragments, step by step across two borders between
 * k-tiles. */
#include "picture.h"

#define SOURCE "04_regfile_double_buffer/04_regfile_double_buffer.cu"

/* The main loop's step s of k-tile i is column i * steps + s. */
enum { COLUMNS = 9, LEFT = 112, PROLOGUE = 118, WIDE = 79, TOP = 132, HIGH = 38, PITCH = 44, SETS = 2, STRIP = 11 };
enum { MANY = 8 };

static int column(int step) { return LEFT + PROLOGUE + step * WIDE; }

static void two_lines(int x, int y, const char *first, const char *then, int number) {
    paragraph("t s c", x, y + 16, 14, "%s\n%s %d", first, then, number);
}

static void strip(int x, int y, int stage) { cell(hue(stage), x, y, STRIP, HIGH, "t s c", 23, "%d", stage); }

PICTURE(fragments) {
    int stages = constant(SOURCE, "STAGES"), steps = constant(SOURCE, "BK") / 16;
    must_contain(SOURCE, "STEPS = BK / 16,");
    must_contain(SOURCE, "if (step == STEPS - 1) {");
    must_contain(SOURCE, "load_fragments(&fragments[(step + 1) % 2], s->a[stage], s->b[stage], warp_m, warp_n,");
    must_contain(SOURCE, "if (step == 1) {");
    must_contain(SOURCE, "load_stage(s, &p, tile, k_tile + STAGES - 1);");
    must_contain(SOURCE, "multiply(acc, &fragments[step % 2]);");
    must_contain(SOURCE, "cp_async_wait_group(STAGES - 2);");
    int sets = TOP + stages * PITCH + 26, bottom = sets + SETS * PITCH + 4;

    begin("04_regfile_double_buffer/in_flight.svg", bottom + 62,
          "Fragments in flight: each step multiplies one set of fragments and loads the other");
    lead("Time goes to the right; a column is one step, 16 of k. In each, ldmatrix brings the next step's\n"
         "fragments out of a stage into one set of registers (violet); the tensor cores multiply the other set\n"
         "(green). The strip at the left of a set's box names the stage that the fragments come from.");
    text("t h c", LEFT + PROLOGUE / 2, TOP - 12, "prologue");
    for (int k_tile = 0; k_tile * steps < COLUMNS; k_tile++) {
        int first = k_tile * steps, end = first + steps < COLUMNS ? first + steps : COLUMNS;
        text("t h c", (column(first) + column(end)) / 2, TOP - 34, "k-tile %d", k_tile);
        line(column(first) + 3, TOP - 28, column(end) - 3, TOP - 28);
    }
    paragraph("t h", MARGIN, TOP - 28, 16, "shared\nmemory");
    text("t h", MARGIN, sets - 8, "registers");
    for (int c = 0; c < COLUMNS; c++) {
        text("m s c", column(c) + WIDE / 2, TOP - 12, "step %d", c % steps);
        if (c % steps == steps - 1) {
            line(column(c), TOP - 22, column(c), bottom);
        }
    }

    /* Column -1 is the prologue. For each stage: when it was last read, when its copies began, what they are of. */
    int read_until[MANY], from[MANY], k_tile_in[MANY];
    for (int stage = 0; stage < stages; stage++) {
        int y = TOP + stage * PITCH;
        colour(stage, MARGIN, y, LEFT - MARGIN - 10, HIGH);
        text("t h", MARGIN + 8, y + 24, "stage %d", stage);
        read_until[stage] = -2;
        from[stage] = LEFT + 2;
        k_tile_in[stage] = stage < stages - 1 ? stage : -1;
    }
    for (int set = 0; set < SETS; set++) {
        int y = sets + set * PITCH;
        text("t h", MARGIN + 8, y + 24, "set %d", set);
    }

    int holds[SETS] = {-1, -1}; /* the step that a set has the fragments of, as a column */
    for (int c = -1; c < COLUMNS; c++) {
        int step = c < 0 ? steps - 1 : c % steps, next = c + 1;
        int stage = next / steps % stages, set = next % SETS, x = c < 0 ? LEFT + 58 : column(c) + 4;
        int wide = c < 0 ? PROLOGUE - 60 : WIDE - 6;
        if (step == steps - 1) { /* all have waited for this k-tile, and met */
            need(k_tile_in[stage] == next / steps, "in_flight.svg: k-tile %d is not in stage %d", next / steps, stage);
            int to = c < 0 ? LEFT + 54 : column(c) - 2;
            box("load", from[stage], TOP + stage * PITCH, to - from[stage], HIGH);
            if (c >= 0) {
                text("t s c", (from[stage] + to) / 2, TOP + stage * PITCH + 23, "k-tile %d lands", next / steps);
            } else {
                two_lines((from[stage] + to) / 2, TOP + stage * PITCH, "lands:", "k-tile", 0);
            }
        }
        box("frag", x, TOP + stage * PITCH, wide, HIGH);
        two_lines(x + wide / 2, TOP + stage * PITCH, "ldmatrix", "step", next % steps);
        read_until[stage] = c;
        box("frag", x, sets + set * PITCH, wide, HIGH);
        two_lines(x + (wide + STRIP) / 2, sets + set * PITCH, "loads", "step", next % steps);
        strip(x, sets + set * PITCH, stage);
        if (c >= 0) {
            int other = c % SETS;
            need(other != set && holds[other] == c, "in_flight.svg: set %d does not hold step %d", other, c);
            box("math", x, sets + other * PITCH, wide, HIGH);
            two_lines(x + (wide + STRIP) / 2, sets + other * PITCH, "mma.sync", "step", step);
            strip(x, sets + other * PITCH, c / steps % stages);
        }
        holds[set] = next;
        if (c >= 0 && step == 1) { /* into the stage of the k-tile before */
            int k_tile = c / steps + stages - 1, into = k_tile % stages;
            need(read_until[into] < c - step - 1, "in_flight.svg: stage %d is filled too early", into);
            from[into] = column(c + 1);
            k_tile_in[into] = k_tile;
            int y = TOP + into * PITCH;
            box("load", x, y, wide, HIGH);
            two_lines(x + wide / 2, y, "copies of", "k-tile", k_tile);
        }
    }
    for (int stage = 0; stage < stages; stage++) { /* what is still on its way at the right edge */
        int y = TOP + stage * PITCH;
        if (k_tile_in[stage] > COLUMNS / steps) {
            box("load", from[stage], y, column(COLUMNS) - from[stage], HIGH);
            text("t s c", (from[stage] + column(COLUMNS)) / 2, y + 23, "k-tile %d lands", k_tile_in[stage]);
        }
    }
    paragraph("t", MARGIN, bottom + 22, 18,
              "At each line, before the last step of a k-tile: wait_group %d, then the barrier. From there on the next "
              "k-tile is\n"
              "read, and nobody reads the stage of this one: its last fragments are in registers. Copies fill it two "
              "steps later.",
              stages - 2);
    end();
}
