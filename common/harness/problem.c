/* problem.c - buffers, data, reference and check of one multiplication. */
#include "problem.h"

/* Elements before and after C: enough rows for a tile that is written without clipping, but not more than 16 MiB. The
 * start of C stays 256-byte aligned. */
static size_t guard_elements(int ldc) {
    size_t rows = 256 * (size_t)ldc, most = (size_t)8 << 20;
    return ((rows < most ? rows : most) + 127) / 128 * 128;
}

/* A row of this many elements, padded to 16 bytes and by `extra` elements of bf16 more. */
static int padded(int columns, int extra, int unit) { return (columns + unit - 1) / unit * unit + extra * (unit / 8); }

Gemm problem_gemm(Shape shape, const DeviceInfo *device) {
    Gemm gemm;
    int unit = kind_row_unit(shape.kind);
    memset(&gemm, 0, sizeof gemm);
    gemm.m = shape.m;
    gemm.n = shape.n;
    gemm.k = shape.k;
    int columns_a = shape.k, columns_b = shape.k;
    if (kind_record(shape.kind)->sizes) {
        kind_record(shape.kind)->sizes(&shape, &gemm, &columns_a, &columns_b);
    }
    gemm.lda = padded(columns_a, shape.pad, unit);
    gemm.ldb = kind_record(shape.kind)->has_experts ? shape.k : padded(columns_b, 2 * shape.pad, unit);
    gemm.ldc = padded(gemm.n, 3 * shape.pad, 8);
    gemm.sm_count = device->sm_count;
    gemm.shared_bytes = device->shared_bytes;
    return gemm;
}

/* In double: sizes near INT_MAX overflow 64 bits. */
static double problem_bytes(const Gemm *gemm, Shape shape) {
    OperandShape list[OPERANDS];
    int count = kind_record(shape.kind)->operands(&shape, gemm, list);
    double guards = 2 * (double)guard_elements(gemm->ldc);
    double bytes = ((double)gemm->m * gemm->ldc + guards) * sizeof(bf16) +
                   (double)gemm->m * gemm->n * (sizeof(double) + sizeof(float));
    for (int i = 0; i < count; i++) {
        bytes += (double)list[i].rows * list[i].ld * type_bytes(list[i].type);
    }
    return bytes;
}

int problem_fits(Shape shape, const Chapter *chapter, const DeviceInfo *device, char message[OPTIONS_MESSAGE_SIZE]) {
    const double gib = 1 << 30;
    Gemm gemm = problem_gemm(shape, device);
    Operands operands;
    ChapterBeyond more;
    Beyond beyond = {.operands = &operands};
    memset(&operands, 0, sizeof operands);
    memset(&more, 0, sizeof more);
    if (kind_record(shape.kind)->has_experts) {
        operands.w4a8.experts = shape.experts;
    }
    if (chapter) {
        more = chapter_beyond(chapter);
    }
    gemm.beyond = &beyond;
    double bytes = problem_bytes(&gemm, shape), there = (double)device->free_bytes;
    if (bytes <= there && chapter && chapter->workspace_bytes) {
        bytes += (double)chapter->workspace_bytes(&gemm);
    }
    if (bytes <= there && more.prepared_bytes) {
        bytes += (double)more.prepared_bytes(&gemm);
    }
    if (bytes <= there) {
        return 1;
    }
    snprintf(message, OPTIONS_MESSAGE_SIZE,
             "--m %d --n %d --k %d: needs %.1f GiB with its reference; what fits in %.1f GiB is accepted, %s %.60s",
             shape.m, shape.n, shape.k, bytes / gib, there / gib,
             device->capability ? "which are free on" : "a quarter of this machine's memory, on the", device->name);
    return 0;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static Buffer *buffer_of(Problem *problem, OperandId id) {
    Buffer *const buffers[OPERANDS] = {[OPERAND_A] = &problem->a,
                                       [OPERAND_B] = &problem->b,
                                       [OPERAND_BIAS] = &problem->bias,
                                       [OPERAND_SCALE_A] = &problem->scale_a,
                                       [OPERAND_SCALE_B] = &problem->scale_b,
                                       [OPERAND_FIRST_ROW] = &problem->first_row,
                                       [OPERAND_V] = &problem->v};
    return buffers[id];
}

static int operands_of(const Problem *problem, OperandShape list[OPERANDS]) {
    return kind_record(problem->shape.kind)->operands(&problem->shape, &problem->gemm, list);
}

/* The copy of it that the chapter sees in host memory. */
static void **host_copy_of(Problem *problem, OperandId id) {
    return id == OPERAND_B ? &problem->host_b : &problem->host_scale_b;
}

/* Where the operands are. on_host: what the chapter gets; otherwise what the reference reads. */
static Operands place_operands(const Problem *problem, int on_host) {
    Operands at;
    memset(&at, 0, sizeof at);
    if (kind_record(problem->shape.kind)->place) {
        kind_record(problem->shape.kind)->place(problem, on_host, &at);
    }
    return at;
}

GemmStatus allocate_on_host(void **memory, size_t bytes, const char *name) {
    *memory = calloc(1, bytes);
    if (*memory == NULL) {
        return gemm_fails(NULL, GEMM_DEVICE, "out of memory: %zu bytes for %s on the host", bytes, name);
    }
    return GEMM_OK;
}

static GemmStatus open_operands(Problem *problem) {
    const Backend *backend = problem->backend;
    OperandShape list[OPERANDS];
    int count = operands_of(problem, list);
    for (int i = 0; i < count; i++) {
        const OperandShape *o = &list[i];
        Buffer *buffer = buffer_of(problem, o->id);
        size_t bytes = (size_t)o->rows * (size_t)o->ld * (size_t)type_bytes(o->type);
        GEMM_TRY(backend->allocate(buffer, bytes, o->name));
        if (o->on_host) {
            GEMM_TRY(allocate_on_host(host_copy_of(problem, o->id), bytes, o->name));
        } else if (backend->is_model) {
            model_describe_rows(buffer->data, o->name, 0, (int)o->rows, o->ld, type_bytes(o->type));
        }
    }
    const KindRecord *kind = kind_record(problem->shape.kind);
    return kind->open ? kind->open(problem) : GEMM_OK;
}

GemmStatus problem_open(Problem *problem, const Backend *backend, const DeviceInfo *device, Shape shape,
                        uint64_t seed) {
    memset(problem, 0, sizeof *problem);
    problem->backend = backend;
    problem->seed = seed;
    shape.experts = shape.experts > 0 ? shape.experts : 1;
    problem->shape = shape;
    problem->gemm = problem_gemm(shape, device);
    problem->gemm.stream = device->stream;
    Gemm *gemm = &problem->gemm;
    ResultView *view = &problem->view;
    view->m = gemm->m;
    view->n = gemm->n;
    view->ldc = gemm->ldc;
    view->guard = guard_elements(gemm->ldc);
    size_t outputs = (size_t)gemm->m * (size_t)gemm->n;
    GemmStatus status = open_operands(problem);
    struct {
        Buffer *buffer;
        size_t bytes;
        const char *name;
    } wanted[] = {
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
    if (shape.kind == KIND_BF16 || shape.kind == KIND_BIAS_GELU) {
        gemm->a = (const bf16 *)problem->a.data;
        gemm->b = (const bf16 *)problem->b.data;
    }
    gemm->beyond = &problem->beyond;
    problem->beyond.operands = shape.kind == KIND_BF16 ? NULL : &problem->operands;
    gemm->c = (bf16 *)problem->block.data + view->guard;
    problem->operands = place_operands(problem, 1);
    view->block = (const bf16 *)problem->block.data;
    view->expected = (const double *)problem->expected.data;
    view->magnitude = (const float *)problem->magnitude.data;
    if (backend->is_model) {
        model_describe_rows(gemm->c, kind_record(shape.kind)->sizes ? "O" : "C", 0, gemm->m, gemm->ldc, sizeof(bf16));
    }
    return GEMM_OK;
}

static DataSource source_of(const Problem *problem) {
    return (DataSource){problem->shape.kind, problem->data, problem->seed, problem->gemm.k};
}

GemmStatus problem_refer(const Problem *problem) {
    const int *rows = problem->host_first_row;
    ReferencePart part = {.kind = problem->shape.kind,
                          .gemm = problem->gemm,
                          .operands = place_operands(problem, 0),
                          .end_row = problem->gemm.m,
                          .eps = problem->view.eps};
    for (int e = 0; e < problem->shape.experts; e++) {
        part.expert = e;
        if (rows) {
            part.first_row = rows[e];
            part.end_row = rows[e + 1];
        }
        if (part.first_row < part.end_row) {
            GEMM_TRY(
                problem->backend->reference(&part, (double *)problem->expected.data, (float *)problem->magnitude.data));
        }
    }
    return GEMM_OK;
}

GemmStatus problem_fill_operands(Problem *problem, DataKind data) {
    const Backend *backend = problem->backend;
    OperandShape list[OPERANDS];
    int count = operands_of(problem, list);
    problem->data = data;
    problem->fills++;
    problem->view.exact = kind_is_exact(problem->shape.kind, data);
    problem->view.eps = kind_eps(problem->shape.kind, problem->gemm.k);
    DataSource source = source_of(problem);
    for (int i = 0; i < count; i++) {
        if (list[i].id == OPERAND_FIRST_ROW) {
            continue;
        }
        const Buffer *buffer = buffer_of(problem, list[i].id);
        GEMM_TRY(backend->fill(buffer->data, &list[i], &source));
        if (list[i].on_host) {
            GEMM_TRY(backend->copy_out(*host_copy_of(problem, list[i].id), buffer->data, buffer->bytes));
        }
    }
    return GEMM_OK;
}

GemmStatus problem_fill(Problem *problem, DataKind data) {
    GEMM_TRY(problem_fill_operands(problem, data));
    return problem_refer(problem);
}

GemmStatus problem_poison(const Problem *problem) {
    const KindRecord *kind = kind_record(problem->shape.kind);
    GEMM_TRY(kind->poison ? kind->poison(problem) : GEMM_OK);
    return problem->backend->poison(&problem->view);
}

GemmStatus problem_check(const Problem *problem, Tally *tally) {
    GEMM_TRY(problem->backend->check(&problem->view, 0, tally));
    const KindRecord *kind = kind_record(problem->shape.kind);
    return kind->check ? kind->check(problem, tally) : GEMM_OK;
}

static int expert_of(const Problem *problem, int row) {
    int expert = 0;
    while (problem->host_first_row && problem->host_first_row[expert + 1] <= row) {
        expert++;
    }
    return expert;
}

/* Fetches what is known about the wrong element at `place` (row * n + column). a_row and b_row are [k], or NULL. */
static GemmStatus fetch_mismatch(const Problem *problem, uint64_t place, Mismatch *mismatch, double *a_row,
                                 double *b_row) {
    const Backend *backend = problem->backend;
    const ResultView *view = &problem->view;
    const Gemm *gemm = &problem->gemm;
    int row = (int)(place / (uint64_t)view->n), column = (int)(place % (uint64_t)view->n);
    float magnitude;
    mismatch->row = row;
    mismatch->column = column;
    mismatch->mirrored = NAN;
    GEMM_TRY(backend->copy_out(&mismatch->got, gemm->c + (size_t)row * (size_t)view->ldc + column, sizeof(bf16)));
    GEMM_TRY(backend->copy_out(&mismatch->expected, view->expected + place, sizeof(double)));
    GEMM_TRY(backend->copy_out(&magnitude, view->magnitude + place, sizeof magnitude));
    mismatch->allowed = allowed_error(view, mismatch->expected, (double)magnitude);
    if (column < view->m && row < view->n) {
        GEMM_TRY(backend->copy_out(&mismatch->mirrored, view->expected + (size_t)column * (size_t)view->n + (size_t)row,
                                   sizeof(double)));
    }
    /* After GELU, and with a softmax, an element is no sum of shares. */
    if (a_row && b_row && kind_record(problem->shape.kind)->is_sum) {
        DataSource source = source_of(problem);
        int expert = expert_of(problem, row);
        for (int k = 0; k < gemm->k; k++) {
            a_row[k] = source_a(&source, gemm, row, k);
            b_row[k] = source_b(&source, gemm, expert, column, k);
        }
        mismatch->a_row = a_row;
        mismatch->b_row = b_row;
    }
    return GEMM_OK;
}

GemmStatus problem_explain(const Problem *problem, const Tally *tally, FILE *out) {
    Mismatch list[MISMATCHES_SHOWN];
    memset(list, 0, sizeof list);
    size_t k = (size_t)problem->gemm.k;
    /* Without memory for the rows the hint about k is left out. */
    double *rows = malloc(2 * MISMATCHES_SHOWN * k * sizeof *rows);
    GemmStatus status = GEMM_OK;
    int count = 0;
    for (uint64_t place = tally->first; place != NOWHERE && count < MISMATCHES_SHOWN && status == GEMM_OK; count++) {
        double *a_row = rows ? rows + (size_t)(2 * count) * k : NULL;
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
        Buffer *buffers[] = {&problem->a,         &problem->b,         &problem->bias,  &problem->scale_a,
                             &problem->scale_b,   &problem->first_row, &problem->block, &problem->expected,
                             &problem->magnitude, &problem->v,         &problem->lse,   &problem->expected_lse};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
            problem->backend->release(buffers[i]);
        }
    }
    free(problem->host_b);
    free(problem->host_scale_b);
    free(problem->host_first_row);
    memset(problem, 0, sizeof *problem);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

GemmStatus run_prepare(ChapterRun *run) {
    Gemm gemm = run->gemm;
    Beyond beyond = run->beyond;
    void *packed = NULL;
    gemm.workspace = NULL;
    beyond.prepared = NULL;
    gemm.beyond = &beyond;
    GemmStatus status = allocate_on_host(&packed, run->prepared.bytes, run->prepared.name);
    status = status == GEMM_OK ? run->chapter->beyond->prepare(&gemm, packed, NULL) : status;
    status =
        status == GEMM_OK ? run->problem->backend->copy_in(run->prepared.data, packed, run->prepared.bytes) : status;
    if (status == GEMM_OK) {
        if (run->problem->backend->is_model) {
            model_global_constant(run->prepared.data);
        }
        run->beyond.prepared = run->prepared.data;
        run->prepared_for = run->problem->fills;
    }
    free(packed);
    return status;
}

static GemmStatus launch_one(ChapterRun *run) {
    if (run->prepared.data && run->prepared_for != run->problem->fills) {
        GEMM_TRY(run_prepare(run));
    }
    return run->chapter->launch(&run->gemm, NULL);
}

static GemmStatus poison_one(const ChapterRun *run) { return problem_poison(run->problem); }
static GemmStatus check_one(ChapterRun *run, Tally *tally) { return problem_check(run->problem, tally); }
static GemmStatus explain_one(const ChapterRun *run, const Tally *tally, FILE *out) {
    return problem_explain(run->problem, tally, out);
}

static const Devices one_device = {
    .launch = launch_one, .poison = poison_one, .check = check_one, .explain = explain_one};

GemmStatus run_launch(void *run) { return ((ChapterRun *)run)->on->launch((ChapterRun *)run); }
GemmStatus run_explain(const ChapterRun *run, const Tally *tally, FILE *out) {
    return run->on->explain(run, tally, out);
}

/* What a chapter needs on the device, or on several. */
static GemmStatus allocate_run(ChapterRun *run) {
    const Backend *backend = run->problem->backend;
    const Chapter *chapter = run->chapter;
    ChapterBeyond more = chapter_beyond(chapter);
    GEMM_TRY(backend->allocate(&run->workspace, chapter->workspace_bytes ? chapter->workspace_bytes(&run->gemm) : 0,
                               "workspace"));
    GEMM_TRY(backend->clear(&run->workspace));
    size_t bytes = more.prepared_bytes ? more.prepared_bytes(&run->gemm) : 0;
    run->gemm.workspace = run->workspace.data;
    GEMM_TRY(backend->allocate(&run->prepared, bytes, "prepared"));
    if (backend->is_model && more.devices && !run->problem->one_device) {
        run->on = more.devices;
        return run->on->open(run);
    }
    return GEMM_OK;
}

GemmStatus run_open(ChapterRun *run, const Problem *problem, const Chapter *chapter) {
    memset(run, 0, sizeof *run);
    Kind kind = kind_of(chapter);
    if (kind != problem->shape.kind) {
        return gemm_fails(NULL, GEMM_USAGE, "%s multiplies %s, and the problem is of kind %s", chapter->name,
                          kind_record(kind)->name, kind_record(problem->shape.kind)->name);
    }
    run->chapter = chapter;
    run->gemm = problem->gemm;
    run->beyond = problem->beyond;
    run->gemm.beyond = &run->beyond;
    run->problem = problem;
    run->on = &one_device;
    GemmStatus status = allocate_run(run);
    if (status != GEMM_OK) {
        run_close(run);
    }
    return status;
}

/* Counts the bytes of the workspace that are not zero, a piece at a time. */
static GemmStatus count_left(const ChapterRun *run, uint64_t *left) {
    enum { PIECE = 1 << 16 };
    unsigned char piece[PIECE];
    *left = 0;
    for (size_t at = 0; at < run->workspace.bytes; at += PIECE) {
        size_t bytes = run->workspace.bytes - at < PIECE ? run->workspace.bytes - at : PIECE;
        GEMM_TRY(run->problem->backend->copy_out(piece, (const unsigned char *)run->workspace.data + at, bytes));
        for (size_t i = 0; i < bytes; i++) {
            *left += piece[i] != 0;
        }
    }
    return GEMM_OK;
}

GemmStatus run_checked(ChapterRun *run, Tally *tally) {
    GEMM_TRY(run->on->poison(run));
    GEMM_TRY(run->on->launch(run));
    GEMM_TRY(run->problem->backend->synchronise(run->chapter->name));
    GEMM_TRY(run->on->check(run, tally));
    return count_left(run, &tally->workspace_left);
}

void run_close(ChapterRun *run) {
    if (run->problem) {
        if (run->devices) {
            run->on->close(run);
        }
        run->problem->backend->release(&run->workspace);
        run->problem->backend->release(&run->prepared);
    }
    memset(run, 0, sizeof *run);
}
