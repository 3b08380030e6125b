/* provenance.c - tags on 16-byte chunks.
 *
 * A copy that knows where its data comes from (TMA, or cp.async from a described matrix) leaves a tag with each chunk;
 * an ordinary store removes it. When an operand is read, the tags must advance as the operand's rows and k do: a wrong
 * swizzle, descriptor or lane address breaks that even if the numbers happen to be equal. Operands without tags, and
 * zeros from outside a matrix, fit everywhere. */
#include "provenance.h"

#include <stdio.h>
#include <string.h>

#include "bug_report.h"

#include "cells.h"

enum { TENSORS = 128, MATRIX_TAGS = 256 };

typedef struct {
    uintptr_t base;
    const char *name;
    int of_map;       /* known from a tensor map: for one launch */
    size_t row_bytes; /* 0: it has no place in memory that is known */
    int first_row;    /* of the matrix, here */
    int rows, element_bytes;
} Tensor;

static struct {
    Tensor tensor[TENSORS]; /* from 1 */
    int count;
    /* The last map that was asked for: its tensor, and where in it the map begins. */
    uintptr_t last_base;
    uint64_t last_pitch;
    Tag last;
} known = {.tensor[0].name = "", .count = 1};

static int tensor_add(const Tensor *tensor) {
    for (int i = 1; i < known.count; i++) {
        if (known.tensor[i].base == tensor->base) {
            return i;
        }
    }
    if (known.count == TENSORS) {
        return TENSOR_UNKNOWN;
    }
    known.tensor[known.count] = *tensor;
    return known.count++;
}

/* Where the map begins: in a matrix that was described and has its pitch, or in a tensor of its own. */
static Tag tag_of_base(const TensorMap *map) {
    Tag tag = tag_of_global((const void *)(uintptr_t)map->base);
    if (tag.tensor != TENSOR_UNKNOWN &&
        (known.tensor[tag.tensor].base == map->base ||
         (known.tensor[tag.tensor].row_bytes == map->stride[0] && tag.element_bytes == map->element_bytes))) {
        return tag;
    }
    Tensor tensor = {.base = (uintptr_t)map->base, .name = map->name != NULL ? map->name : "tensor", .of_map = 1};
    return (Tag){(uint16_t)tensor_add(&tensor), 0, 0, 0};
}

Tag tag_of_map(const TensorMap *map, const int64_t *coord) {
    if (map->rank != 2) {
        return (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    }
    if (known.last_base != map->base || known.last_pitch != map->stride[0]) {
        known.last = tag_of_base(map);
        known.last_base = map->base;
        known.last_pitch = map->stride[0];
    }
    return (Tag){known.last.tensor, map->element_bytes, known.last.row + (int32_t)coord[1],
                 known.last.column + (int32_t)coord[0]};
}

void model_describe_rows(const void *base, const char *name, int first_row, int rows, int ld, int element_bytes) {
    Tensor tensor = {.base = (uintptr_t)base,
                     .name = name,
                     .row_bytes = (size_t)ld * (size_t)element_bytes,
                     .first_row = first_row,
                     .rows = rows,
                     .element_bytes = element_bytes};
    known.last_base = 0;
    Allocation *a = strcmp(name, "C") == 0 || strcmp(name, "O") == 0 ? global_find(tensor.base, 0) : NULL;
    if (a != NULL) {
        uintptr_t end = tensor.base + (size_t)rows * tensor.row_bytes;
        a->matrix = a->matrix != 0 && a->matrix < tensor.base ? a->matrix : tensor.base;
        a->matrix_end = a->matrix_end > end ? a->matrix_end : end;
    }
    const int number = tensor_add(&tensor);
    if (number != TENSOR_UNKNOWN) {
        known.tensor[number] = tensor; /* if it was known, by a map alone */
    }
}

Tag tag_of_global(const void *p) {
    Tag tag = {TENSOR_UNKNOWN, 0, 0, 0};
    for (int i = 1; i < known.count; i++) {
        const Tensor *tensor = &known.tensor[i];
        uintptr_t offset = (uintptr_t)p - tensor->base;
        if (tensor->row_bytes != 0 && offset / tensor->row_bytes < (uintptr_t)tensor->rows) {
            tag.tensor = (uint16_t)i;
            tag.element_bytes = (uint16_t)tensor->element_bytes;
            tag.row = tensor->first_row + (int32_t)(offset / tensor->row_bytes);
            tag.column = (int32_t)(offset % tensor->row_bytes) / tensor->element_bytes;
            break;
        }
    }
    return tag;
}

/* ---- by way of registers ----------------------------------------------------------------------------------------- */

/* A thread has loaded 16 bytes of global memory; it has stored 16 bytes of shared memory. */
ON(provenance, GLOBAL_ACCESS) {
    CtaFragments *f = t->cta->fragments;
    if (e->write || e->size != CHUNK_BYTES || (uintptr_t)e->p % CHUNK_BYTES != 0 ||
        tag_of_global(e->p).tensor == TENSOR_UNKNOWN) {
        return;
    }
    if (f->carried == NULL) {
        f->carried = cta_alloc(t->cta, (size_t)t->cta->threads * sizeof *f->carried);
    }
    f->carried[t->id].chunk[f->carried[t->id].count++ % CARRIED] = e->p;
}

ON(provenance, SHARED_ACCESS) {
    const CtaFragments *f = t->cta->fragments;
    if (e->write && e->size == CHUNK_BYTES && f->carried != NULL && f->carried[t->id].count > 0 &&
        (uintptr_t)e->p % CHUNK_BYTES == 0) {
        *shared_tag(t->cta, shared_offset(t->cta, e->p)) =
            (Tag){TENSOR_CARRIED, 0, t->id, (int32_t)f->carried[t->id].count};
    }
}

/* Of the chunks that the thread had loaded before it stored here, the only one with this content. A chunk that ends in
 * zeros may be a part of one: it has no place. */
static Tag carried_tag(const Cta *cta, uint32_t offset, Tag tag) {
    const Tag unknown = {TENSOR_UNKNOWN, 0, 0, 0};
    const uint32_t *here = (const uint32_t *)(cta->shared + offset);
    const void *match = NULL;
    if (here[3] == 0) {
        return unknown;
    }
    uint32_t last = (uint32_t)tag.column, now = cta->fragments->carried[tag.row].count;
    for (uint32_t i = last; i > 0 && i + CARRIED > now && i + CARRIED / 2 > last; i--) {
        const void *chunk = cta->fragments->carried[tag.row].chunk[(i - 1) % CARRIED];
        if (memcmp(here, chunk, CHUNK_BYTES) == 0 && match != chunk) {
            if (match != NULL) {
                return unknown;
            }
            match = chunk;
        }
    }
    return match != NULL ? tag_of_global(match) : unknown;
}

Tag provenance_of(Cta *cta, uint32_t offset) {
    Tag *tag = shared_tag(cta, offset);
    if (tag->tensor == TENSOR_CARRIED) {
        *tag = carried_tag(cta, offset, *tag);
    }
    return *tag;
}

const char *tag_matrix(Tag tag) { return tag.tensor < TENSORS ? known.tensor[tag.tensor].name : ""; }

const char *tag_text(Tag tag, char *text) {
    if (tag.tensor == TENSOR_UNKNOWN) {
        snprintf(text, PHRASE_SIZE, "data of unknown origin");
    } else if (tag.tensor == TENSOR_ZEROS) {
        snprintf(text, PHRASE_SIZE, "zeros");
    } else if (tag.tensor == TENSOR_STAGED) {
        snprintf(text, PHRASE_SIZE, "a tile of results");
    } else {
        snprintf(text, PHRASE_SIZE, "%s(%d,%d)", known.tensor[tag.tensor].name, tag.row, tag.column);
    }
    return text;
}

void provenance_forget_memory(const void *p, size_t bytes) {
    for (int i = 1; i < known.count; i++) {
        if (known.tensor[i].base - (uintptr_t)p < bytes || known.tensor[i].of_map) {
            known.tensor[i] = (Tensor){.base = UINTPTR_MAX, .name = ""};
        }
    }
    known.last_base = 0;
    while (known.count > 1 && known.tensor[known.count - 1].base == UINTPTR_MAX) {
        known.count--;
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int has_place(Tag tag) { return tag.tensor != TENSOR_UNKNOWN && tag.tensor < TENSORS; }

/* The operand that pieces are checked for. */
typedef struct {
    Thread *t;
    const char *name;
    int element_bytes, mn_major;
    Site site;
    Tag origin; /* of (0, 0), once a piece is known */
} Operand;

/* Reports that the piece at (row, k) of the operand is `got`, where the pieces seen so far ask for `expected`. */
static void report_piece(const Operand *o, int row, int k, Tag expected, Tag got) {
    if (report_begin(RULE_PROVENANCE)) {
        report_place("now", o->t, o->site, o->name);
        if (o->mn_major) {
            report_line("operand", "rows %d to %d, k %d: expected the chunk of %s, fetched the chunk of %s", row,
                        row + CHUNK_BYTES / o->element_bytes - 1, k, tag_text(expected, PHRASE), tag_text(got, PHRASE));
        } else {
            report_line("operand", "row %d, k %d to %d: expected the chunk of %s, fetched the chunk of %s", row, k,
                        k + CHUNK_BYTES / o->element_bytes - 1, tag_text(expected, PHRASE), tag_text(got, PHRASE));
        }
        report_line("see", "swizzle, descriptor (start, strides, mode), and the address each lane gives");
        report_end(0);
    }
}

/* One piece of an operand: fits or is reported. */
static int check_piece(Operand *o, Tag tag, int row, int k) {
    if (!has_place(tag) || tag.element_bytes != o->element_bytes) {
        return 1;
    }
    Tag *origin = &o->origin;
    int down = o->mn_major ? k : row, right = o->mn_major ? row : k;
    if (origin->tensor == TENSOR_UNKNOWN) {
        *origin = (Tag){tag.tensor, tag.element_bytes, tag.row - down, tag.column - right};
        return 1;
    }
    if (tag.tensor == origin->tensor && tag.row == origin->row + down && tag.column == origin->column + right) {
        return 1;
    }
    Tag expected = {origin->tensor, origin->element_bytes, origin->row + down, origin->column + right};
    int last_row = known.tensor[tag.tensor].first_row + known.tensor[tag.tensor].rows - 1;
    if (tag.tensor == origin->tensor && tag.column == expected.column && tag.row == last_row &&
        expected.row > last_row) {
        return 1; /* rows outside the matrix may repeat its last row: what they give is not stored */
    }
    report_piece(o, row, k, expected, tag);
    return 0;
}

/* Row and column of (0, 0) as the operand's row and k. */
static Tag origin_of(const Operand *o) {
    Tag origin = o->origin;
    return o->mn_major ? (Tag){origin.tensor, origin.element_bytes, origin.column, origin.row} : origin;
}

Tag provenance_operand(Thread *t, const char *operand, const Tag *tag, MatrixType type, int mn_major, int rows,
                       Site site) {
    Operand o = {t, operand, matrix_element_bytes(type), mn_major, site, {TENSOR_UNKNOWN, 0, 0, 0}};
    int k_step = CHUNK_BYTES / o.element_bytes;
    for (int i = 0; i < 2 * rows; i++) {
        if (!check_piece(&o, tag[i], wgmma_chunk_row(mn_major, i), mn_major ? i % 16 : i % 2 * k_step)) {
            return (Tag){TENSOR_UNKNOWN, 0, 0, 0};
        }
    }
    return origin_of(&o);
}

static void report_pair(Thread *t, const char *what, Tag a, Tag b, Site site) {
    REPORT(RULE_PROVENANCE, report_place("now", t, site, what),
           report_line("operand", "A begins with the chunk of %s, B with the chunk of %s", tag_text(a, PHRASE),
                       tag_text(b, PHRASE)));
}

/* Its first row is in its matrix, as far as that is known: what becomes of rows outside does not matter. */
static int is_inside(Tag tag) {
    const Tensor *tensor = &known.tensor[tag.tensor];
    return tensor->rows == 0 || tag.row < tensor->first_row + tensor->rows;
}

void provenance_accumulators(Warpgroup *g, int tile, int write) {
    CtaFragments *fragments = g->cta->fragments;
    if (write) {
        fragments->tile[g->id][tile].a = fragments->tile[g->id][tile].b = (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    } else {
        fragments->tile[g->id][tile].unread = 0;
    }
}

static void check_discarded(Thread *t, const Product *product, int unread, Tag a, Tag b, Site before) {
    if (unread == 0 || !has_place(a) || !is_inside(a) || !is_inside(b) || !report_begin(RULE_PRODUCT_DISCARDED)) {
        return;
    }
    report_place("now", t, product->site, "wgmma that replaces its accumulators (accumulate 0)");
    report_place("before", NULL, before, "the last product in them");
    report_line("operand", "no thread has read what was there: rows from %d of %s and %d of %s, products so far: %d",
                a.row, known.tensor[a.tensor].name, b.row, known.tensor[b.tensor].name, unread);
    report_end(0);
}

int provenance_product(Thread *t, const Product *product, Tag a, Tag b) {
    const Warpgroup *g = t->warp->warpgroup;
    CtaFragments *fragments = t->cta->fragments;
    ptrdiff_t tile = product->tile - g->products->tile;
    Tag *tile_a = &fragments->tile[g->id][tile].a, *tile_b = &fragments->tile[g->id][tile].b;
    int *unread = &fragments->tile[g->id][tile].unread;
    if (!product->accumulate) {
        check_discarded(t, product, *unread, *tile_a, *tile_b, fragments->tile[g->id][tile].site);
        *tile_a = *tile_b = (Tag){TENSOR_UNKNOWN, 0, 0, 0};
        *unread = 0;
    }
    ++*unread;
    fragments->tile[g->id][tile].site = product->site;
    if (!has_place(a) || !has_place(b)) {
        return 0;
    }
    if (a.column != b.column) {
        report_pair(t, "product of pieces with different k", a, b, product->site);
        return 0;
    }
    if (has_place(*tile_a) &&
        (tile_a->tensor != a.tensor || tile_a->row != a.row || tile_b->tensor != b.tensor || tile_b->row != b.row)) {
        REPORT(RULE_PROVENANCE,
               report_place("now", t, product->site, "product added to a tile of other rows or columns"),
               report_line("operand", "the tile began with rows %d of %s and %d of %s; now A begins with %s, B with %s",
                           tile_a->row, known.tensor[tile_a->tensor].name, tile_b->row,
                           known.tensor[tile_b->tensor].name, tag_text(a, PHRASE), tag_text(b, PHRASE)));
        return 0;
    }
    int first = !has_place(*tile_a);
    *tile_a = a;
    *tile_b = b;
    return first;
}

/* ---- fragments --------------------------------------------------------------------------------------------------- */

/* An 8x8 matrix in registers. */
typedef struct MatrixTag {
    uintptr_t address; /* of lane 0's register; 0: none */
    Tag tag[8];        /* of the rows of the matrix, as they lie in memory */
    uint8_t regular;   /* all known, row after row */
} MatrixTag;

static MatrixTag *matrix_tag(Warp *w, const void *register0, int make) {
    MatrixTag *table = w->cta->fragments->warp[w->id];
    uintptr_t address = (uintptr_t)register0;
    unsigned first = (unsigned)(address / 4) % MATRIX_TAGS;
    for (unsigned i = 0; i < 8; i++) {
        MatrixTag *tag = &table[(first + i) % MATRIX_TAGS];
        if (tag->address == address) {
            return tag;
        }
        if (tag->address == 0) {
            tag->address = make ? address : 0;
            return make ? tag : NULL;
        }
    }
    return make ? &table[first] : NULL;
}

void provenance_ldmatrix(Warp *w, const uint32_t *r0, const Tag tag[WARP_SIZE]) {
    MatrixTag **table = &w->cta->fragments->warp[w->id];
    if (*table == NULL) {
        *table = cta_alloc(w->cta, MATRIX_TAGS * sizeof **table);
    }
    for (int i = 0; i < 4; i++) {
        MatrixTag *matrix = matrix_tag(w, &r0[i], 1);
        matrix->address = (uintptr_t)&r0[i];
        memcpy(matrix->tag, &tag[8 * i], sizeof matrix->tag);
        matrix->regular = 1;
        for (int row = 0; row < 8; row++) {
            Tag first = tag[8 * i], here = tag[8 * i + row];
            matrix->regular &= has_place(here) && here.tensor == first.tensor && here.row == first.row + row &&
                               here.column == first.column;
        }
    }
}

/* Fragments there are no longer what was loaded. */
ON(provenance, STACK_STORE) {
    w = t->warp;
    if (w->cta->fragments->warp[w->id] == NULL) {
        return;
    }
    uintptr_t begin = (uintptr_t)e->p & ~(uintptr_t)3;
    for (uintptr_t address = begin; address < (uintptr_t)e->p + e->size; address += 4) {
        MatrixTag *tag = matrix_tag(w, (const void *)address, 0);
        if (tag != NULL) {
            /* The place in the table stays occupied: a search may have to pass it. */
            memset(tag->tag, 0, sizeof tag->tag);
            tag->regular = 0;
        }
    }
}

/* Matrix `matrix` of a fragment holds rows row0.. and k k0..; 1 if it is where `origin` says without a closer look. */
static int fits_quickly(const MatrixTag *matrix, const Operand *o, int row0, int k0) {
    Tag origin = o->origin;
    return matrix->regular && matrix->tag[0].tensor == origin.tensor &&
           matrix->tag[0].element_bytes == o->element_bytes && matrix->tag[0].row == origin.row + row0 &&
           matrix->tag[0].column == origin.column + k0;
}

/* The 8x8 matrix that register r, lane 0's, is a part of, at row row0 and k k0 of the operand: fits or is reported. */
static int check_matrix(Warp *w, Operand *o, const uint32_t *r, int row0, int k0) {
    const MatrixTag *matrix = matrix_tag(w, r, 0);
    if (matrix == NULL) {
        return 1;
    }
    for (int i = 0; i < 8 && !fits_quickly(matrix, o, row0, k0); i++) {
        if (!check_piece(o, matrix->tag[i], row0 + i, k0)) {
            return 0;
        }
    }
    return 1;
}

/* The four registers of A from a0 on. */
static int check_fragment_a(Warp *w, Operand *o, const uint32_t *a0) {
    int fits = 1;
    for (int i = 0; i < 4 && fits; i++) {
        fits = check_matrix(w, o, &a0[i], i % 2 * 8, i / 2 * (CHUNK_BYTES / o->element_bytes));
    }
    return fits;
}

Tag provenance_fragment(Warp *w, MatrixType type, const uint32_t *a0, Site site) {
    Operand o = {&w->thread[0], "wgmma, fragment of A", matrix_element_bytes(type), 0, site, {TENSOR_UNKNOWN, 0, 0, 0}};
    if (w->cta->fragments->warp[w->id] == NULL || !check_fragment_a(w, &o, a0)) {
        return (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    }
    Tag origin = origin_of(&o);
    origin.row -= w->id % 4 * 16;
    return origin;
}

int provenance_mma(Warp *w, const uint32_t *a0, const uint32_t *b0, Site site, Tag *a, Tag *b) {
    *a = *b = (Tag){TENSOR_UNKNOWN, 0, 0, 0};
    if (w->cta->fragments->warp[w->id] == NULL) {
        return 0;
    }
    enum { BYTES = 2, CHUNK = CHUNK_BYTES / BYTES }; /* bf16 */
    Operand operands[2] = {
        {&w->thread[0], "mma.sync, fragment of A", BYTES, 0, site, {TENSOR_UNKNOWN, 0, 0, 0}},
        {&w->thread[0], "mma.sync, fragment of B", BYTES, 0, site, {TENSOR_UNKNOWN, 0, 0, 0}},
    };
    if (!check_fragment_a(w, &operands[0], a0) || !check_matrix(w, &operands[1], &b0[0], 0, 0) ||
        !check_matrix(w, &operands[1], &b0[1], 0, CHUNK)) {
        return 0;
    }
    *a = origin_of(&operands[0]);
    *b = origin_of(&operands[1]);
    if (!has_place(*a) || !has_place(*b)) {
        return 0;
    }
    if (a->column != b->column) {
        report_pair(&w->thread[0], "product of fragments with different k", *a, *b, site);
    }
    return 1;
}

ON(provenance, CTA_BEGIN) { cta->fragments = cta_alloc(cta, sizeof *cta->fragments); }
