/* backend_checks.h - does a backend of the harness do what backend.h says? Its data, reference, poison and comparison
 * must be those of the host, whatever computes them. For the tests of the GPU and of plain memory. */
#ifndef BACKEND_CHECKS_H
#define BACKEND_CHECKS_H

#include "../../beyond/13_attention/kind.h"
#include "harness/problem.h"
#include "tap.h"

static inline void *fetch(const Backend *backend, const Buffer *buffer) {
    void *copy = malloc(buffer->bytes);
    if (backend->copy_out(copy, buffer->data, buffer->bytes) != GEMM_OK) {
        printf("Bail out! copy_out of %s failed\n", buffer->name);
        exit(1);
    }
    return copy;
}

/* Bytes of an operand that are not as kind.h says, its padding included. */
static inline int bytes_that_differ(const Problem *p, const OperandShape *shape, const Buffer *buffer) {
    DataSource source = {p->shape.kind, p->data, p->seed, p->gemm.k};
    unsigned char *right = malloc(buffer->bytes), *here = fetch(p->backend, buffer);
    fill_on_host(right, shape, &source);
    int faults = 0;
    for (size_t i = 0; i < buffer->bytes; i++) {
        faults += right[i] != here[i];
    }
    free(right);
    free(here);
    return faults;
}

/* Reference values that are not the sums of what kind.h says the operands hold. */
static inline int reference_faults(const Problem *p) {
    const Gemm *g = &p->gemm;
    DataSource source = {p->shape.kind, p->data, p->seed, g->k};
    double *expected = fetch(p->backend, &p->expected);
    float *magnitude = fetch(p->backend, &p->magnitude);
    int faults = 0;
    for (int row = 0, expert = 0; row < g->m; row++) {
        while (p->host_first_row && p->host_first_row[expert + 1] <= row) {
            expert++;
        }
        for (int column = 0; column < g->n; column++) {
            double sum = 0, size = 0;
            for (int k = 0; k < g->k; k++) {
                double product = source_a(&source, g, row, k) * source_b(&source, g, expert, column, k);
                sum += product;
                size += fabs(product);
            }
            if (p->shape.kind == KIND_BIAS_GELU) {
                sum += (double)bf16_value((bf16)element_bits(&source, OPERAND_BIAS, TYPE_BF16, (uint64_t)column));
                size += 1;
                sum = gelu(sum);
            } else {
                faults += !p->view.exact && !(fabs((double)magnitude[row * g->n + column] - size) <= 1e-6 * size);
            }
            faults += !(fabs(expected[row * g->n + column] - sum) <= 1e-13 * size);
        }
    }
    free(expected);
    free(magnitude);
    return faults;
}

/* What the backend's reference of attention makes of what it holds, compared with the host's. */
static inline int attention_faults(const Problem *p) {
    const size_t outputs = (size_t)p->gemm.m * (size_t)p->gemm.n;
    void *q = fetch(p->backend, &p->a), *k = fetch(p->backend, &p->b), *v = fetch(p->backend, &p->v);
    double *expected = fetch(p->backend, &p->expected), *right = malloc(outputs * sizeof *right);
    float *magnitude = fetch(p->backend, &p->magnitude), *sizes = malloc(outputs * sizeof *sizes);
    float *lse = fetch(p->backend, &p->expected_lse), *logarithms = malloc(p->expected_lse.bytes);
    ReferencePart part = {.kind = p->shape.kind, .gemm = p->gemm, .end_row = p->gemm.m};
    Attention *a = (Attention *)part.operands.other;
    *a = attention_of(&p->shape, &p->gemm);
    a->lse = logarithms;
    if (part.kind == KIND_ATTENTION) {
        a->q = q, a->k = k, a->v = v;
    } else {
        AttentionE4m3 *e = (AttentionE4m3 *)part.operands.other;
        e->q = q, e->k = k, e->v = v;
    }
    reference_part_on_host(&part, right, sizes);
    int faults = 0;
    for (size_t i = 0; i < outputs; i++) {
        faults += !(fabs(expected[i] - right[i]) <= 1e-12) || !(fabsf(magnitude[i] - sizes[i]) <= 1e-5f * sizes[i]);
    }
    for (size_t i = 0; i < p->expected_lse.bytes / sizeof *lse; i++) {
        faults += !(lse[i] == logarithms[i] || fabsf(lse[i] - logarithms[i]) <= 1e-5f * fabsf(lse[i]));
    }
    void *all[] = {q, k, v, expected, right, magnitude, sizes, lse, logarithms};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
    return faults;
}

/* Operands and reference, of either data. */
static inline void check_contents(const Problem *p) {
    const Backend *backend = p->backend;
    const Buffer *buffers[OPERANDS] = {&p->a, &p->b, &p->bias, &p->scale_a, &p->scale_b, &p->first_row, &p->v};
    OperandShape list[OPERANDS];
    int count = kind_record(p->shape.kind)->operands(&p->shape, &p->gemm, list);
    for (int i = 0; i < count; i++) {
        if (list[i].id == OPERAND_FIRST_ROW) {
            int *rows = fetch(backend, &p->first_row);
            ok(memcmp(rows, p->host_first_row, p->first_row.bytes) == 0, "the experts' rows are there");
            free(rows);
        } else {
            is_int(bytes_that_differ(p, &list[i], buffers[list[i].id]), 0, list[i].name);
        }
    }
    if (p->shape.kind == KIND_W4A8) {
        void *b = fetch(backend, &p->b), *scale_b = fetch(backend, &p->scale_b);
        ok(memcmp(b, p->operands.w4a8.weights, p->b.bytes) == 0 &&
               memcmp(scale_b, p->operands.w4a8.scale_b, p->scale_b.bytes) == 0,
           "the chapter sees the same weights on the host");
        free(b);
        free(scale_b);
    }
    is_int(has_heads(p->shape.kind) ? attention_faults(p) : reference_faults(p), 0,
           "the reference is the sums of what they hold");
}

/* Does the backend's comparison find what the host finds in a copy of the same block? */
static inline int same_tally(const Problem *p, uint64_t from) {
    ResultView view = p->view;
    bf16 *block = fetch(p->backend, &p->block);
    double *expected = fetch(p->backend, &p->expected);
    float *magnitude = fetch(p->backend, &p->magnitude);
    view.block = block;
    view.expected = expected;
    view.magnitude = magnitude;
    Tally host, here;
    check_block(&view, from, &host);
    GemmStatus status = p->backend->check(&p->view, from, &here);
    free(block);
    free(expected);
    free(magnitude);
    int same = status == GEMM_OK && here.wrong == host.wrong && here.nan == host.nan &&
               here.unwritten == host.unwritten && here.first == host.first && here.row_min == host.row_min &&
               here.row_max == host.row_max && here.column_min == host.column_min &&
               here.column_max == host.column_max && here.guard_before == host.guard_before &&
               here.guard_rows == host.guard_rows && here.guard_after == host.guard_after &&
               here.guard_first == host.guard_first && here.worst == host.worst && here.fingerprint == host.fingerprint;
    return same ||
           diag("status %d: %llu wrong, %llu NaN, %llu unwritten, first %llu; the host: %llu, %llu, %llu, %llu",
                (int)status, (unsigned long long)here.wrong, (unsigned long long)here.nan,
                (unsigned long long)here.unwritten, (unsigned long long)here.first, (unsigned long long)host.wrong,
                (unsigned long long)host.nan, (unsigned long long)host.unwritten, (unsigned long long)host.first);
}

/* Writes an integer to one element of the block, wherever the block is. */
static inline void poke(const Problem *p, size_t index) {
    const bf16 three = 0x4040;
    p->backend->copy_in((bf16 *)p->block.data + index, &three, sizeof three);
}

static inline void check_backend_at(const Backend *backend, const DeviceInfo *device, Shape shape) {
    Problem p;
    if (!ok(problem_open(&p, backend, device, shape, 5) == GEMM_OK, "%s: %s, %d x %d x %d opens", backend->name,
            kind_record(shape.kind)->name, shape.m, shape.n, shape.k)) {
        return;
    }
    for (DataKind data = 0; data < DATA_KINDS; data++) {
        ok(problem_fill(&p, data) == GEMM_OK && problem_poison(&p) == GEMM_OK &&
               backend->synchronise("fill") == GEMM_OK,
           "%s is filled in", data_names[data]);
        check_contents(&p);
        bf16 *block = fetch(backend, &p.block);
        int faults = 0;
        for (size_t i = 0; i < block_elements(&p.view); i++) {
            faults += block[i] != unwritten_pattern(&p.view, i);
        }
        is_int(faults, 0, "C is unwritten, with guards around it");
        free(block);

        ok(same_tally(&p, 0), "an unwritten result: the comparison finds what the host finds");
        OperandShape like_c = {OPERAND_B, "C", TYPE_BF16, 0, p.gemm.m, p.gemm.n, p.gemm.ldc};
        DataSource other = {KIND_BF16, DATA_NORMAL, 6, shape.k};
        backend->fill(p.gemm.c, &like_c, &other);
        ok(same_tally(&p, 0), "a result of random numbers, guards behind its rows overwritten");
        ok(same_tally(&p, (uint64_t)p.gemm.m * (uint64_t)p.gemm.n / 2), "the same from the middle on");
        problem_poison(&p);
        size_t guard = p.view.guard, all = block_elements(&p.view);
        const size_t ends[] = {0, guard - 1, guard, all - guard - 1, all - guard, all - 1};
        for (int i = 0; i < 6; i++) {
            poke(&p, ends[i]);
        }
        ok(same_tally(&p, 0), "the first and last elements of C and of the guards overwritten");
    }
    problem_close(&p);
}

static inline void check_backend(const Backend *backend, const DeviceInfo *device) {
    static const int sizes[][4] = {{1, 1, 1, 0}, {5, 11, 40, 8}, {130, 70, 100, 8}, {64, 192, 257, 0}};
    for (int i = 0; i < 4; i++) {
        check_backend_at(backend, device,
                         (Shape){sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], KIND_BF16, 1, {0}});
    }
    for (Kind kind = KIND_BF16 + 1; kind < KINDS; kind++) {
        check_backend_at(backend, device, (Shape){1, 1, 1, 0, kind, 1, {0}});
        check_backend_at(backend, device, (Shape){70, 130, 300, 8, kind, kind == KIND_W4A8 ? 4 : 1, {0}});
        check_backend_at(backend, device, (Shape){4, 130, 1000, 8, kind, 1, {0}});
    }
    for (Kind kind = KIND_ATTENTION; kind <= KIND_ATTENTION_E4M3; kind++) {
        check_backend_at(backend, device, (Shape){70, 256, 50, 8, kind, 1, {64, 2, 2, 1, 0}});
    }
}

#endif
