/* problem.c - buffers, data, reference and check of one multiplication. */
#include "problem.h"

/* Elements before and after C: enough rows for a tile that is written without clipping, but not more than 16 MiB. The
 * start of C stays 256-byte aligned. */
static size_t guard_elements(int ldc) {
    size_t rows = 256 * (size_t)ldc, most = (size_t)8 << 20;
    return ((rows < most ? rows : most) + 127) / 128 * 128;
}

static int padded(int columns, int extra) { return (columns + 7) / 8 * 8 + extra; }

Gemm problem_gemm(Shape shape, const DeviceInfo *device) {
    Gemm gemm;
    memset(&gemm, 0, sizeof gemm);
    gemm.m = shape.m;
    gemm.n = shape.n;
    gemm.k = shape.k;
    gemm.lda = padded(shape.k, shape.pad);
    gemm.ldb = padded(shape.k, 2 * shape.pad);
    gemm.ldc = padded(shape.n, 3 * shape.pad);
    gemm.sm_count = device->sm_count;
    gemm.shared_bytes = device->shared_bytes;
    return gemm;
}

/* In double: sizes near INT_MAX overflow 64 bits. */
static double problem_bytes(const Gemm *gemm) {
    double elements = (double)gemm->m * gemm->lda + (double)gemm->n * gemm->ldb + (double)gemm->m * gemm->ldc;
    double guards = 2 * (double)guard_elements(gemm->ldc);
    return (elements + guards) * sizeof(bf16) + (double)gemm->m * gemm->n * (sizeof(double) + sizeof(float));
}

int problem_fits(Shape shape, const Chapter *chapter, const DeviceInfo *device, char message[OPTIONS_MESSAGE_SIZE]) {
    const double gib = 1 << 30;
    Gemm gemm = problem_gemm(shape, device);
    double bytes = problem_bytes(&gemm), there = (double)device->free_bytes;
    if (bytes <= there && chapter && chapter->workspace_bytes) {
        bytes += (double)chapter->workspace_bytes(&gemm);
    }
    if (bytes <= there) {
        return 1;
    }
    snprintf(message, OPTIONS_MESSAGE_SIZE,
             "--m %d --n %d --k %d: needs %.1f GiB with its reference; what fits in the %.1f GiB free on %.60s is "
             "accepted",
             shape.m, shape.n, shape.k, bytes / gib, there / gib, device->name);
    return 0;
}

GemmStatus problem_open(Problem *problem, const Backend *backend, const DeviceInfo *device, Shape shape,
                        uint64_t seed) {
    memset(problem, 0, sizeof *problem);
    problem->backend = backend;
    problem->seed = seed;
    problem->gemm = problem_gemm(shape, device);
    problem->gemm.stream = device->stream;
    Gemm *gemm = &problem->gemm;
    ResultView *view = &problem->view;
    view->m = gemm->m;
    view->n = gemm->n;
    view->ldc = gemm->ldc;
    view->guard = guard_elements(gemm->ldc);
    size_t outputs = (size_t)gemm->m * (size_t)gemm->n;
    GemmStatus status = GEMM_OK;
    struct {
        Buffer *buffer;
        size_t bytes;
        const char *name;
    } wanted[] = {
        {&problem->a, (size_t)gemm->m * (size_t)gemm->lda * sizeof(bf16), "A"},
        {&problem->b, (size_t)gemm->n * (size_t)gemm->ldb * sizeof(bf16), "B"},
        {&problem->block, block_elements(view) * sizeof(bf16), "C"},
        {&problem->expected, outputs * sizeof(double), "reference"},
        {&problem->magnitude, outputs * sizeof(float), "reference sizes"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == GEMM_OK; i++) {
        status = backend->allocate(wanted[i].buffer, wanted[i].bytes, wanted[i].name);
    }
    if (status != GEMM_OK) {
        problem_close(problem);
        return status;
    }
    gemm->a = (const bf16 *)problem->a.data;
    gemm->b = (const bf16 *)problem->b.data;
    gemm->c = (bf16 *)problem->block.data + view->guard;
    view->block = (const bf16 *)problem->block.data;
    view->expected = (const double *)problem->expected.data;
    view->magnitude = (const float *)problem->magnitude.data;
    if (backend->is_model) {
        backend->name_matrix(gemm->a, "A", gemm->m, gemm->k, gemm->lda);
        backend->name_matrix(gemm->b, "B", gemm->n, gemm->k, gemm->ldb);
        backend->name_matrix(gemm->c, "C", gemm->m, gemm->n, gemm->ldc);
    }
    return GEMM_OK;
}

GemmStatus problem_fill(Problem *problem, DataKind data) {
    const Backend *backend = problem->backend;
    const Gemm *gemm = &problem->gemm;
    problem->data = data;
    problem->view.exact = data != DATA_NORMAL;
    problem->view.eps = accumulation_eps(gemm->k);
    GemmStatus status =
        backend->fill((bf16 *)problem->a.data, gemm->m, gemm->k, gemm->lda, data, problem->seed, MATRIX_A);
    if (status == GEMM_OK) {
        status = backend->fill((bf16 *)problem->b.data, gemm->n, gemm->k, gemm->ldb, data, problem->seed, MATRIX_B);
    }
    if (status == GEMM_OK) {
        status = backend->reference(gemm, (double *)problem->expected.data, (float *)problem->magnitude.data);
    }
    return status;
}

GemmStatus problem_poison(const Problem *problem) { return problem->backend->poison(&problem->view); }

GemmStatus problem_check(const Problem *problem, Tally *tally) {
    return problem->backend->check(&problem->view, 0, tally);
}

/* Fetches what is known about the wrong element at `place` (row * n + column). a_row and b_row are [k]. */
static GemmStatus fetch_mismatch(const Problem *problem, uint64_t place, Mismatch *mismatch, bf16 *a_row, bf16 *b_row) {
    const Backend *backend = problem->backend;
    const ResultView *view = &problem->view;
    const Gemm *gemm = &problem->gemm;
    int row = (int)(place / (uint64_t)view->n), column = (int)(place % (uint64_t)view->n);
    float magnitude;
    mismatch->row = row;
    mismatch->column = column;
    mismatch->mirrored = NAN;
    GemmStatus status =
        backend->copy_out(&mismatch->got, gemm->c + (size_t)row * (size_t)view->ldc + column, sizeof(bf16));
    if (status == GEMM_OK) {
        status = backend->copy_out(&mismatch->expected, view->expected + place, sizeof(double));
    }
    if (status == GEMM_OK) {
        status = backend->copy_out(&magnitude, view->magnitude + place, sizeof magnitude);
        mismatch->allowed = allowed_error(view, mismatch->expected, (double)magnitude);
    }
    if (status == GEMM_OK && column < view->m && row < view->n) {
        status = backend->copy_out(&mismatch->mirrored, view->expected + (size_t)column * (size_t)view->n + (size_t)row,
                                   sizeof(double));
    }
    size_t row_bytes = (size_t)gemm->k * sizeof(bf16);
    if (status == GEMM_OK && a_row && b_row) {
        mismatch->a_row = a_row;
        mismatch->b_row = b_row;
        status = backend->copy_out(a_row, gemm->a + (size_t)row * (size_t)gemm->lda, row_bytes);
        if (status == GEMM_OK) {
            status = backend->copy_out(b_row, gemm->b + (size_t)column * (size_t)gemm->ldb, row_bytes);
        }
    }
    return status;
}

GemmStatus problem_explain(const Problem *problem, const Tally *tally, FILE *out) {
    Mismatch list[MISMATCHES_SHOWN];
    memset(list, 0, sizeof list);
    size_t k = (size_t)problem->gemm.k;
    /* Without memory for the rows the hint about k is left out. */
    bf16 *rows = malloc(2 * MISMATCHES_SHOWN * k * sizeof *rows);
    GemmStatus status = GEMM_OK;
    int count = 0;
    for (uint64_t place = tally->first; place != NOWHERE && count < MISMATCHES_SHOWN && status == GEMM_OK; count++) {
        bf16 *a_row = rows ? rows + (size_t)(2 * count) * k : NULL;
        status = fetch_mismatch(problem, place, &list[count], a_row, a_row ? a_row + k : NULL);
        Tally rest;
        tally_start(&rest);
        if (status == GEMM_OK && count + 1 < MISMATCHES_SHOWN) {
            status = problem->backend->check(&problem->view, place + 1, &rest);
        }
        place = rest.first;
    }
    if (status == GEMM_OK) {
        print_mismatches(out, &problem->view, problem->gemm.k, tally, list, count);
    }
    free(rows);
    return status;
}

void problem_close(Problem *problem) {
    if (problem->backend) {
        Buffer *buffers[] = {&problem->a, &problem->b, &problem->block, &problem->expected, &problem->magnitude};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
            problem->backend->release(buffers[i]);
        }
    }
    memset(problem, 0, sizeof *problem);
}

GemmStatus run_open(ChapterRun *run, const Problem *problem, const Chapter *chapter) {
    memset(run, 0, sizeof *run);
    run->chapter = chapter;
    run->gemm = problem->gemm;
    run->problem = problem;
    size_t bytes = chapter->workspace_bytes ? chapter->workspace_bytes(&run->gemm) : 0;
    GemmStatus status = problem->backend->allocate(&run->workspace, bytes, "workspace");
    if (status == GEMM_OK) {
        status = problem->backend->clear(&run->workspace);
        run->gemm.workspace = run->workspace.data;
    }
    if (status != GEMM_OK) {
        run_close(run);
    }
    return status;
}

GemmStatus run_launch(void *run) {
    const ChapterRun *chapter_run = (const ChapterRun *)run;
    return chapter_run->chapter->launch(&chapter_run->gemm);
}

/* Counts the bytes of the workspace that are not zero, a piece at a time. */
static GemmStatus count_left(const ChapterRun *run, uint64_t *left) {
    enum { PIECE = 1 << 16 };
    unsigned char piece[PIECE];
    *left = 0;
    for (size_t at = 0; at < run->workspace.bytes; at += PIECE) {
        size_t bytes = run->workspace.bytes - at < PIECE ? run->workspace.bytes - at : PIECE;
        GemmStatus status =
            run->problem->backend->copy_out(piece, (const unsigned char *)run->workspace.data + at, bytes);
        if (status != GEMM_OK) {
            return status;
        }
        for (size_t i = 0; i < bytes; i++) {
            *left += piece[i] != 0;
        }
    }
    return GEMM_OK;
}

GemmStatus run_checked(ChapterRun *run, Tally *tally) {
    const Problem *problem = run->problem;
    GemmStatus status = problem_poison(problem);
    if (status == GEMM_OK) {
        status = run_launch(run);
    }
    if (status == GEMM_OK) {
        status = problem->backend->synchronise(run->chapter->name);
    }
    if (status == GEMM_OK) {
        status = problem_check(problem, tally);
    }
    if (status == GEMM_OK) {
        status = count_left(run, &tally->workspace_left);
    }
    return status;
}

void run_close(ChapterRun *run) {
    if (run->problem) {
        run->problem->backend->release(&run->workspace);
    }
    memset(run, 0, sizeof *run);
}
