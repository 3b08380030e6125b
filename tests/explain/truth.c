/* truth.c - does --explain tell the truth? TAP.
 *
 * It is asked for random elements of C, in every chapter, at sizes with and without edges. Then the whole problem runs
 * with random data, somebody looks at the register that it has named, and what is there must be that element's sum, to
 * the bit. So that this can fail: the registers and lanes next to it must hold something else.
 *
 *     truth          two elements for each chapter and size; TIER=long: three
 *     truth 20 07    20 of them, only chapters whose name contains "07" */
#include "harness/explain.c"

#include "device/swizzle.h"
#include "tap.h"

#include "../model/chapters.h"

enum { SMS = 4 };

typedef struct {
    int m, n, k;
    const char *variant; /* of chapters that have it; NULL: the chapter chooses */
} Case;

static const Case cases[] = {
    {1, 1, 1, NULL},
    {64, 8, 16, NULL},
    {129, 257, 65, NULL},
    {200, 300, 333, NULL},
    {512, 384, 64, NULL},
    {300, 530, 100, "cooperative_128x256_cluster_2x2"},
    {300, 530, 100, "pingpong_128x128"},
    {300, 530, 100, "cooperative_256x200"},
    {300, 530, 100, "cooperative_192x128_cluster_2x1"},
};

static int below(int n) { return rand() % n; } /* the same in each run */

static float sum_of(const Gemm *g, int row, int column) {
    float sum = 0;
    for (int k = 0; k < g->k; k++) {
        sum += matrix_float(g->a[(size_t)row * (size_t)g->lda + (size_t)k]) *
               matrix_float(g->b[(size_t)column * (size_t)g->ldb + (size_t)k]);
    }
    return sum;
}

/* The whole problem once more, with somebody looking at accumulator `index` of a thread. Returns 1 if its last value
 * for this tile is `sum`. */
static int holds(Explanation *e, const ElementPath *path, int thread, int index, float sum) {
    ModelObserver *seen = e->seen;
    memset(seen, 0, sizeof *seen);
    seen->cta = path->cta;
    seen->thread = thread;
    seen->index = index;
    seen->low = path->low;
    seen->high = path->high;
    seen->stored.thread = -1;
    seen->c_at = e->gemm.c + (size_t)path->row * (size_t)e->gemm.ldc + (size_t)path->column;
    ModelOptions options = {.policy = MODEL_RANDOM, .seed = (unsigned)thread, .sms = SMS, .observer = seen};
    model_configure(&options);
    GemmStatus status = e->chapter->launch(&e->gemm, NULL);
    model_configure(&(ModelOptions){.sms = SMS});
    if (status != GEMM_OK) {
        return 0;
    }
    if (path->accumulators == 0) { /* the thread keeps its sum in a variable: who stores it held it */
        return seen->stored.thread == thread && seen->stored.cta == path->cta;
    }
    return path->tile < seen->values && path->tile < FACT_VALUES && seen->value[path->tile] == sum;
}

/* Does shared memory have element k of a row there? Every tile begins with a row that is a multiple of 8, on a multiple
 * of 1024 bytes. */
static int lies_at(uint32_t offset, int row, int k) {
    return (int)(offset % 1024) == 2 * (swizzled_index(row % 8, k % 64 / 8) + k % 8);
}

static int wrong_places, wrong_places_hold;

static void check_element(Explanation *e, const char *what, int row, int column, int k) {
    ElementPath path;
    problem_fill_operands(&e->problem, DATA_ZEROS);
    GemmStatus status = explain_element(e, row, column, k, &path);
    if (!ok(status == GEMM_OK && path.is_right, "%s: C[%d][%d] at k = %d has a path", what, row, column, k)) {
        diag("status %d", (int)status);
        return;
    }
    const OperandFact *a = &e->seen->operand_a, *b = &e->seen->operand_b;
    int placed = path.accumulators == 0 || (lies_at(a->offset, row, k) && lies_at(b->offset, column, k));
    e->problem.seed = (uint64_t)below(1 << 30);
    problem_fill_operands(&e->problem, DATA_INTEGERS);
    float sum = sum_of(&e->gemm, row, column);
    if (!ok(holds(e, &path, path.thread, path.index, sum) && placed, "%s: C[%d][%d] is where it says", what, row,
            column)) {
        diag("CTA %d thread %d accumulator %d of %d, tile %d: %g, not %g", path.cta, path.thread, path.index,
             path.accumulators, path.tile, path.tile < FACT_VALUES ? (double)e->seen->value[path.tile] : 0,
             (double)sum);
    }
    if (e->gemm.k > 16) { /* else equal sums are not rare */
        wrong_places += 2;
        wrong_places_hold += holds(e, &path, path.thread ^ 4, path.index, sum);
        wrong_places_hold += path.accumulators > 0 && holds(e, &path, path.thread, path.index ^ 4, sum);
    }
}

/* All CTAs together read every tile of C once. */
static void check_tiles(Explanation *e, const char *what) {
    forget(e, e->seen);
    GemmStatus status = launch(e, e->seen, 1, 0, 0);
    const int m = e->gemm.m, n = e->gemm.n;
    uint8_t *times = calloc((size_t)m, (size_t)n);
    int others = 0;
    for (const TileFact *t = e->seen->tile; times != NULL && t < e->seen->tile + e->seen->tiles; t++) {
        const TileFact tile = tile_of(e->seen, t->cta, t->number);
        for (int row = tile.a_first; row <= tile.a_last && row < m; row++) {
            for (int column = tile.b_first; column <= tile.b_last && column < n; column++) {
                times[row * n + column]++;
            }
        }
    }
    for (int i = 0; times != NULL && i < m * n; i++) {
        others += times[i] != 1;
    }
    if (!ok(status == GEMM_OK && times != NULL && others == 0, "%s: its tiles are all of C, each once", what)) {
        diag("%d tiles; %d elements are in none or in several", e->seen->tiles, others);
    }
    free(times);
}

static void check_case(const Chapter *chapter, const Case *c, int elements) {
    const DeviceInfo device = {.sm_count = SMS, .shared_bytes = 227 * 1024};
    Shape shape = {.m = c->m, .n = c->n, .k = c->k, .pad = 8, .kind = KIND_BF16};
    Explanation e;
    char what[160];
    snprintf(what, sizeof what, "%s %s%s%d x %d x %d", chapter->name, c->variant ? c->variant : "",
             c->variant ? ", " : "", c->m, c->n, c->k);
    if (!ok(explain_open(&e, chapter, &device, shape, (Tuning){.variant = c->variant}) == GEMM_OK,
            "%s: the launch is recorded", what)) {
        return;
    }
    ok(e.launch->grid > 0 && e.launch->products == 0, "%s: ... and nothing runs", what);
    check_tiles(&e, what);
    for (int i = 0; i < elements; i++) {
        /* The corner with the edges first. */
        check_element(&e, what, i == 0 ? c->m - 1 : below(c->m), i == 0 ? c->n - 1 : below(c->n),
                      i == 0 ? c->k - 1 : below(c->k));
    }
    explain_close(&e);
}

int main(int argc, char **argv) {
    const char *tier = getenv("TIER");
    int elements = argc > 1 ? atoi(argv[1]) : tier != NULL && strcmp(tier, "long") == 0 ? 3 : 2;
    for (int i = 0; i < CHAPTERS; i++) {
        if (kind_of(chapters[i]) != KIND_BF16) {
            continue; /* --explain-element does not follow it: tests/tools/explain.t */
        }
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            Case each = cases[c];
            /* A kernel that exchanges A and B and adds up parts of k is not followed: tests/tools/explain.t. */
            if (each.variant == NULL && names_variant(chapters[i], "split_128x16_by_2")) {
                each.variant = "cooperative_128x64";
            }
            if ((argc <= 2 || strstr(chapters[i]->name, argv[2])) &&
                (!each.variant || names_variant(chapters[i], each.variant))) {
                check_case(chapters[i], &each,
                           chapters[i]->needs == NEEDS_SM100A ? 0 : elements); /* it refuses those */
            }
        }
    }
    /* A chapter by itself has a few of them, of which one or two hold an equal sum. */
    if (argc <= 2 && !ok(wrong_places_hold * 5 < wrong_places, "other registers and lanes hold other elements")) {
        diag("%d of %d wrong places hold the same sum", wrong_places_hold, wrong_places);
    }
    printf("# %d of %d wrong places held an equal sum\n", wrong_places_hold, wrong_places);
    model_shutdown();
    return tap_done();
}
