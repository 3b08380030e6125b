/* results.c - see results.h.
 *
 * Nobody follows a number through a thread's registers. But a CTA may store only what it has computed: elements of C
 * whose row and column are in a tile that its warps have multiplied. That is enough to name an operand or an epilogue
 * that takes the wrong rows. Where operands are of unknown origin, nothing is asked. */
#include "results.h"

#include <string.h>

#include "../data/tensor_map.h"
#include "bug_report.h"
#include "cells.h"

static int is_matrix(Tag tag, const char *name) { return strcmp(tag_matrix(tag), name) == 0; }

void results_tile(Warpgroup *g, Tag a, Tag b, int rows, int columns) {
    int exchanged = is_matrix(a, "B") && is_matrix(b, "A");
    if (!exchanged && !(is_matrix(a, "A") && is_matrix(b, "B"))) {
        return;
    }
    WarpgroupResults *r = &g->cta->results->warpgroup[g->id];
    uint32_t i = r->count++ % RESULT_PLACES;
    r->place[i].row = exchanged ? b.row : a.row;
    r->place[i].column = exchanged ? a.row : b.row;
    r->place[i].rows = exchanged ? columns : rows;
    r->place[i].columns = exchanged ? rows : columns;
    g->cta->results->any = 1;
}

void results_fragment(Cta *cta, Tag a, Tag b) {
    CtaResults *r = cta->results;
    if (r->row_end == 0) {
        if (!is_matrix(a, "A") || !is_matrix(b, "B")) {
            return;
        }
        r->row_begin = a.row;
        r->column_begin = b.row;
        r->any = 1;
    }
    r->row_begin = a.row < r->row_begin ? a.row : r->row_begin;
    r->row_end = a.row + 16 > r->row_end ? a.row + 16 : r->row_end;
    r->column_begin = b.row < r->column_begin ? b.row : r->column_begin;
    r->column_end = b.row + 8 > r->column_end ? b.row + 8 : r->column_end;
}

static int is_in_tile(const WarpgroupResults *r, int row, int column) {
    for (uint32_t i = r->count; i > 0 && i + RESULT_PLACES > r->count; i--) {
        uint32_t at = (i - 1) % RESULT_PLACES;
        if (row >= r->place[at].row && row < r->place[at].row + r->place[at].rows && column >= r->place[at].column &&
            column < r->place[at].column + r->place[at].columns) {
            return 1;
        }
    }
    return 0;
}

/* One of the CTA's products belongs to this element of C. */
static int is_covered(const Thread *t, int row, int column) {
    const CtaResults *r = t->cta->results;
    int covered = is_in_tile(&r->warpgroup[t->warp->warpgroup->id], row, column) ||
                  (row >= r->row_begin && row < r->row_end && column >= r->column_begin && column < r->column_end);
    for (int i = 0; i < t->cta->warpgroups && !covered; i++) {
        covered = is_in_tile(&r->warpgroup[i], row, column);
    }
    return covered;
}

static void check_place(Thread *t, int row, int column, const char *what, Site site) {
    const CtaResults *r = t->cta->results;
    if (is_covered(t, row, column) || !report_begin(RULE_RESULT_PLACE)) {
        return;
    }
    report_place("now", t, site, what);
    report_line("place", "C(%d,%d): no product of this CTA is of row %d of A and row %d of B", row, column, row,
                column);
    const WarpgroupResults *own = &r->warpgroup[t->warp->warpgroup->id];
    if (own->count > 0) {
        uint32_t last = (own->count - 1) % RESULT_PLACES;
        report_line("operand", "the warpgroup's last product is of rows %d to %d of A and %d to %d of B",
                    own->place[last].row, own->place[last].row + own->place[last].rows - 1, own->place[last].column,
                    own->place[last].column + own->place[last].columns - 1);
    } else if (r->row_end > 0) {
        report_line("operand", "the CTA has multiplied rows %d to %d of A and %d to %d of B", r->row_begin,
                    r->row_end - 1, r->column_begin, r->column_end - 1);
    }
    report_line("see", "the rows that each warpgroup's operands begin with, and the place that the epilogue stores to");
    report_end(0);
}

ON(results, GLOBAL_ACCESS) {
    const CtaResults *r = t->cta->results;
    if (!e->write || !r->any || r->unknown) {
        return;
    }
    Tag tag = tag_of_global(e->p);
    if (tag.tensor != TENSOR_UNKNOWN && is_matrix(tag, "C")) {
        check_place(t, tag.row, tag.column, "store", e->site);
        check_place(t, tag.row, tag.column + (int)(e->size / sizeof(bf16)) - 1, "store", e->site);
    }
}

/* ---- staged tiles ------------------------------------------------------------------------------------------------ */

Tag results_staged(Cta *cta, int matrix, int row) {
    cta->results->staged += matrix == 0 && row == 0;
    return (Tag){TENSOR_STAGED, 0, (int32_t)(cta->results->staged * 4 + (uint32_t)matrix), row};
}

/* Eight rows that stmatrix has stored together are eight rows of the tile, one below the other. */
static void check_staged(const TmaCopy *copy, Tag above, Tag here, int column, int row) {
    if (here.tensor != TENSOR_STAGED || here.column == 0 || above.tensor != TENSOR_STAGED ||
        (above.row == here.row && above.column == here.column - 1) || !report_begin(RULE_RESULT_PLACE)) {
        return;
    }
    report_place("now", copy->thread, copy->site, copy->what);
    report_line("operand",
                "by its tensor map, columns %d to %d of row %d of the box lie where an stmatrix has stored row %d of a "
                "matrix, and not below the row before",
                column, column + 7, row, here.column);
    report_line("see", "the swizzle of the tensor map, and that of the addresses that the tile was staged with");
    report_end(0);
}

void results_tma_store(const TmaCopy *copy) {
    enum { COLUMNS = 32 };
    Cta *cta = copy->thread->cta;
    if (copy->map->rank != 2) {
        return;
    }
    uint32_t offset = (uint32_t)((const uint8_t *)copy->shared - cta->shared);
    TensorWalk walk = tensor_walk_store(copy->map, copy->coord, SHARED_RESERVED + offset);
    Tag above[COLUMNS];
    memset(above, 0, sizeof above);
    int placed = cta->results->any && !cta->results->unknown && is_matrix(tag_of_map(copy->map, walk.coord), "C");
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        int column = (int)(chunk.coord[0] - copy->coord[0]), row = (int)(chunk.coord[1] - copy->coord[1]);
        Tag here = *shared_tag(cta, offset + chunk.offset);
        if (column / 8 < COLUMNS) {
            if (row > 0) {
                check_staged(copy, above[column / 8], here, column, row);
            }
            above[column / 8] = here;
        }
        if (placed && chunk.end > 0) {
            Tag place = tag_of_map(copy->map, chunk.coord);
            check_place(copy->thread, place.row, place.column, copy->what, copy->site);
        }
    }
}

ON(results, CTA_BEGIN) { cta->results = cta_alloc(cta, sizeof *cta->results); }
