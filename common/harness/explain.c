/* explain.c - see explain.h. Above: experiments on the model; below: what is printed. */
#include "explain.h"

#include "../model/data/matrix.h"
#include "../model/model_host.h"

enum {
    SHORT_K = 1024,         /* enough k-tiles for every stage of every ring */
    SHORT_K_TILES = 64,     /* ... and for each of several consumers */
    SM_SHARED = 228 * 1024, /* shared memory of an SM of Hopper, */
    CTA_RESERVED = 1024,    /* ... of which the system takes so much for each CTA */
    SM_THREADS = 2048,
    SM_CTAS = 32,
    MAX_MEMBERS = 16,
    SHOWN_TILES = 6, /* of a CTA that takes several */
    TEXT = 160,
};

/* What the traced elements of A and B hold, exact in bf16 as is their product. */
static const float A_VALUE = 3, B_VALUE = 5;

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Of A and of B. */
static int element_bytes(const Explanation *e) { return 16 / kind_row_unit(kind_of(e->chapter)); }

static void forget(const Explanation *e, ModelObserver *seen) {
    const Gemm *g = &e->gemm;
    memset(seen, 0, sizeof *seen);
    seen->a = e->a;
    seen->b = e->b;
    seen->a_row = (size_t)(g->lda * element_bytes(e));
    seen->b_row = (size_t)(g->ldb * element_bytes(e));
    seen->a_rows = g->m;
    seen->b_rows = e->b ? g->n : 0;
    seen->thread = seen->stored.thread = seen->packed.thread = -1;
    seen->operand_a.load.thread = seen->operand_b.load.thread = -1;
}

static int names_variant(const Chapter *chapter, const char *name) {
    for (int i = 0; chapter->variants && i < chapter->variants->count; i++) {
        if (strcmp(chapter->variants->variant[i].name, name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Launches with this K and runs `blocks` CTAs from `first` on, of the kernel that is looked at. */
static GemmStatus launch(Explanation *e, ModelObserver *seen, int k, int first, int blocks) {
    Gemm g = e->gemm;
    Beyond beyond = beyond_of(&g);
    g.k = k;
    g.beyond = &beyond;
    if (e->launch->kernel != NULL) {
        if (e->launches == 1 || names_variant(e->chapter, e->launch->kernel)) {
            beyond.tuning.variant = e->launch->kernel; /* a shorter K would make a chapter choose another one */
        }
        beyond.tuning.producer_barrier = CHOICE_NO; /* the CTAs that it would wait for do not run */
    }
    ModelOptions options = {
        .seed = 1, .sms = g.sm_count, .first_block = first, .blocks = blocks, .launch = e->which, .observer = seen};
    model_configure(&options);
    GemmStatus status = e->chapter->launch(&g, NULL);
    model_configure(&(ModelOptions){.sms = g.sm_count});
    return status;
}

/* Matrices of zeros, and what belongs to them: on one device, also where the chapter has several. */
static GemmStatus open_problem(Explanation *e, const DeviceInfo *device, Shape shape, Tuning tuning) {
    DeviceInfo as_large = {.sm_count = device->sm_count, .shared_bytes = device->shared_bytes};
    GEMM_TRY(problem_open(&e->problem, model_backend(), &as_large, shape, 1));
    e->problem.beyond.tuning = tuning;
    e->problem.one_device = 1;
    GEMM_TRY(run_open(&e->run, &e->problem, e->chapter));
    GEMM_TRY(e->run.prepared.data ? run_prepare(&e->run) : GEMM_OK);
    e->gemm = e->run.gemm;
    e->a = e->problem.a.data;
    e->b = kind_record(shape.kind)->has_experts ? NULL : e->problem.b.data; /* rows of packed weights are not traced */
    return GEMM_OK;
}

/* Records the launch of kernel `which`, or of all: then the last one's is seen. */
static GemmStatus look_at(Explanation *e, int which) {
    e->which = which;
    forget(e, e->launch);
    return launch(e, e->launch, e->gemm.k, 0, -1);
}

GemmStatus explain_open(Explanation *e, const Chapter *chapter, const DeviceInfo *device, Shape shape, Tuning tuning) {
    memset(e, 0, sizeof *e);
    e->chapter = chapter;
    e->launch = &e->observer[0];
    e->seen = &e->observer[1];
    GemmStatus status = open_problem(e, device, shape, tuning);
    status = status == GEMM_OK ? look_at(e, 0) : status;
    if (status == GEMM_OK) {
        e->launches = e->launch->launches;
        e->which = e->launches;
    } else {
        explain_close(e);
    }
    return status;
}

void explain_close(Explanation *e) {
    run_close(&e->run);
    problem_close(&e->problem);
}

/* Tile `number` of a CTA with the rows of B that any CTA of its cluster read for it. */
static TileFact tile_of(const ModelObserver *seen, int cta, int number) {
    TileFact all = {cta, number, 0, -1, 0, -1};
    for (int i = 0; i < seen->tiles; i++) {
        const TileFact *tile = &seen->tile[i];
        if (tile->number != number || tile->cta / seen->cluster != cta / seen->cluster) {
            continue;
        }
        if (tile->cta == cta) {
            all.a_first = tile->a_first;
            all.a_last = tile->a_last;
        }
        if (all.b_last < all.b_first || tile->b_first < all.b_first) {
            all.b_first = tile->b_first;
        }
        all.b_last = tile->b_last > all.b_last ? tile->b_last : all.b_last;
    }
    return all;
}

/* ---- one element ------------------------------------------------------------------------------------------------- */

static const bf16 *c_at(const Explanation *e, int row, int column) {
    return e->gemm.c + (size_t)row * (size_t)e->gemm.ldc + (size_t)column;
}

/* Runs cluster after cluster, with one k-tile, until one writes C[row][column], in the last kernel that does.
 * e->seen->stored.cta says which CTA it was. */
static GemmStatus find_cta(Explanation *e, int row, int column) {
    for (int which = e->which; which > 0; which--) {
        GEMM_TRY(which < e->which ? look_at(e, which) : GEMM_OK);
        for (int cta = 0; cta < e->launch->grid; cta += e->launch->cluster) {
            forget(e, e->seen);
            e->seen->c_at = c_at(e, row, column);
            e->seen->stop_when_stored = 1;
            GEMM_TRY(launch(e, e->seen, 1, cta, e->launch->cluster));
            if (e->seen->stored.thread >= 0) {
                return GEMM_OK;
            }
        }
    }
    return gemm_fails(NULL, GEMM_WRONG, "%s: no CTA writes C[%d][%d]", e->chapter->name, row, column);
}

/* Runs the cluster of the CTA until it has written the element. */
static GemmStatus run_cluster(Explanation *e, const ElementPath *path, int k) {
    const int cluster = e->launch->cluster;
    e->seen->c_at = c_at(e, path->row, path->column);
    e->seen->stop_when_stored = 1;
    e->seen->low = path->low;
    e->seen->high = path->high;
    return launch(e, e->seen, k, path->cta / cluster * cluster, cluster);
}

/* A run with the whole K in which all elements of A and B are 0 but the two. */
static GemmStatus trace(Explanation *e, ElementPath *path) {
    bf16 *a = (bf16 *)e->a + (size_t)path->row * (size_t)e->gemm.lda + path->k;
    bf16 *b = (bf16 *)e->b + (size_t)path->column * (size_t)e->gemm.ldb + path->k;
    ModelObserver *seen = e->seen;
    forget(e, seen);
    seen->a_at = a;
    seen->b_at = b;
    seen->a_value = *a = round_to_bf16((double)A_VALUE);
    seen->b_value = *b = round_to_bf16((double)B_VALUE);
    seen->cta = path->cta;
    seen->thread = path->accumulators > 0 ? -1 : path->thread;
    GemmStatus status = run_cluster(e, path, e->gemm.k);
    *a = *b = 0;
    path->thread = seen->thread;
    path->index = seen->index;
    path->tile = seen->tile_number;
    path->is_right = *c_at(e, path->row, path->column) == round_to_bf16((double)(A_VALUE * B_VALUE)) &&
                     (path->accumulators > 0 ? seen->operand_a.found && seen->operand_b.found
                                             : seen->operand_a.load.thread >= 0 && seen->operand_b.load.thread >= 0);
    return status;
}

/* Runs the cluster with a mark in the accumulator that was found, and checks that the mark arrives in C. */
static GemmStatus check_mark(Explanation *e, ElementPath *path) {
    static ModelObserver kept;
    kept = *e->seen;
    forget(e, e->seen);
    e->seen->cta = path->cta;
    e->seen->thread = path->thread;
    e->seen->index = path->index;
    e->seen->mark = A_VALUE;
    GemmStatus status = run_cluster(e, path, 1);
    path->is_right = path->is_right && *c_at(e, path->row, path->column) == round_to_bf16((double)A_VALUE);
    *e->seen = kept;
    return status;
}

GemmStatus explain_element(Explanation *e, int row, int column, int k, ElementPath *path) {
    memset(path, 0, sizeof *path);
    path->row = row;
    path->column = column;
    path->k = k;
    GEMM_TRY(find_cta(e, row, column));
    path->cta = e->seen->stored.cta;
    path->thread = e->seen->stored.thread; /* it holds the element itself if there are no accumulators */
    path->low = e->seen->low;
    path->high = e->seen->high;
    path->accumulators = (int)((path->low - path->high) / sizeof(float));
    GEMM_TRY(trace(e, path));
    GEMM_TRY(path->accumulators > 0 ? check_mark(e, path) : GEMM_OK);
    if (!path->is_right) {
        return gemm_fails(NULL, GEMM_WRONG,
                          "%s: the path of C[%d][%d] at k = %d was not found: --explain-element follows an accumulator "
                          "of A times B that is stored as it is; this kernel exchanges A and B, or adds up parts "
                          "(--variant may choose another)",
                          e->chapter->name, row, column, k);
    }
    return GEMM_OK;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* The file without its directory, and the line. */
static void print_place(Site place) {
    char text[256];
    const char *slash = strrchr(site_text(place, text, sizeof text), '/');
    printf(" (%s)", slash ? slash + 1 : text);
}

/* Prints what fits on an SM; returns CTAs on an SM. */
static int print_resources(const Explanation *e) {
    const ModelObserver *l = e->launch;
    int asked = l->ctas_per_sm;
    int by_threads = min_int(SM_THREADS / l->block, SM_CTAS), by_shared = SM_SHARED / (l->shared_bytes + CTA_RESERVED);
    int ctas = min_int(by_threads, by_shared);
    printf("on an SM   %d CTAs fit by their threads, %d by their shared memory", by_threads, by_shared);
    if (asked > 1) {
        ctas = min_int(ctas, asked);
        printf("; __launch_bounds__ asks ptxas for registers that let %d in", asked);
    }
    printf(": %d\n", ctas);
    return ctas;
}

static void print_shared(const Explanation *e) {
    ModelMember member[MAX_MEMBERS];
    uint64_t size;
    int count = layout_members(e->seen->shared_file, e->seen->shared_type, member, MAX_MEMBERS, &size);
    printf("shared     %d bytes a CTA", e->launch->shared_bytes);
    if (count == 0) {
        printf("\n");
        return;
    }
    int copies = size > 0 ? (int)((uint64_t)e->launch->shared_bytes / size) : 1;
    printf(": %s%s of %llu bytes, from address %d of shared memory\n", e->seen->shared_type,
           copies > 1 ? ", several" : "", (unsigned long long)size, CTA_RESERVED);
    if (copies > 1) {
        printf("           %s[0] to %s[%d] are the stages; in each:\n", e->seen->shared_variable,
               e->seen->shared_variable, copies - 1);
    }
    for (int i = 0; i < count; i++) {
        printf("           byte %6llu  %6llu bytes  %s  %s\n", (unsigned long long)member[i].offset,
               (unsigned long long)member[i].bytes, member[i].name, member[i].type);
    }
}

static void print_maps(const Explanation *e) {
    static const char *const swizzle[] = {"none", "32 bytes", "64 bytes", "128 bytes"};
    for (int i = 0; i < e->launch->maps; i++) {
        const TensorMap *map = &e->launch->map[i];
        printf("%s%s: %s, rank %d, sizes {%llu, %llu}, stride {%llu bytes}, box {%d, %d} = %u bytes,\n",
               i == 0 ? "maps       " : "           ", map->name ? map->name : "?",
               map->type == TENSOR_BFLOAT16  ? "bf16"
               : map->type == TENSOR_UINT8   ? "bytes"
               : map->type == TENSOR_FLOAT32 ? "fp32"
                                             : "type ?",
               map->rank, (unsigned long long)map->size[0], (unsigned long long)map->size[1],
               (unsigned long long)map->stride[0], map->box[0], map->box[1], tensor_box_bytes(map));
        printf("              swizzle %s (pattern of %u bytes), loads read 0 outside\n", swizzle[map->swizzle & 3],
               tensor_swizzle_period(map));
    }
}

static void print_barriers(const Explanation *e) {
    const ModelObserver *seen = e->seen;
    for (int i = 0; i < seen->barriers; i++) {
        const BarrierFact *b = &seen->barrier[i];
        printf("%s%s[%d] from byte %u: %d arrival%s a phase", i == 0 ? "mbarriers  " : "           ", b->name, b->count,
               b->offset, b->arrivals, b->arrivals == 1 ? "" : "s");
        if (b->bytes > 0) {
            printf(" and %d bytes", b->bytes);
        }
        const char *joint = ":";
        for (int j = 0; j < seen->loads; j++) {
            const LoadFact *load = &seen->load[j];
            if (strcmp(load->barrier, b->name) == 0) {
                printf("%s %s %d%s", joint, load->map, load->bytes,
                       load->multicast ? " from each CTA of the cluster" : "");
                joint = ",";
            }
        }
        print_place(b->place);
        printf("\n");
    }
}

static void print_descriptor(const Explanation *e, const char *operand, uint64_t bits, int mn_major) {
    WgmmaDescriptor d = wgmma_descriptor_decode(bits);
    char name[TEXT];
    /* Addresses of the shared window begin 1024 bytes before the CTA's own. */
    printf("           %s 0x%016llx: start %u >> 4 (%s), leading %u >> 4, stride %u >> 4,\n", operand,
           (unsigned long long)bits, d.start, SHARED_TEXT(e->seen, d.start - CTA_RESERVED, name, sizeof name),
           d.leading, d.stride);
    printf("              base offset %d, swizzle %d bytes, %s\n", d.base_offset, d.swizzle_bytes,
           mn_major ? "MN-major" : "K-major");
}

/* By warpgroup, then by where A and B begin. */
static int compare_products(const void *x, const void *y) {
    const ProductFact *p = x, *q = y;
    uint32_t pa = wgmma_descriptor_decode(p->a).start, qa = wgmma_descriptor_decode(q->a).start;
    uint32_t pb = wgmma_descriptor_decode(p->b).start, qb = wgmma_descriptor_decode(q->b).start;
    const int order[] = {p->warpgroup - q->warpgroup, (int)(pb / 128) - (int)(qb / 128),
                         (int)(pa / 128) - (int)(qa / 128), (int)pa - (int)qa, (int)pb - (int)qb};
    int i = 0;
    while (i < 4 && order[i] == 0) {
        i++;
    }
    return order[i];
}

/* One line for the products that begin in the same 128-byte row. */
static void print_products(const Explanation *e) {
    ModelObserver *seen = e->seen;
    qsort(seen->product, (size_t)seen->products, sizeof *seen->product, compare_products);
    for (int i = 0; i < seen->products;) {
        const ProductFact *p = &seen->product[i];
        WgmmaDescriptor a = wgmma_descriptor_decode(p->a), b = wgmma_descriptor_decode(p->b);
        char name_a[TEXT], name_b[TEXT];
        if (i == 0) {
            printf("wgmma      m64n%dk%d with %s", p->n, matrix_k(p->type),
                   p->rs ? "A from registers and a descriptor" : "two descriptors");
            print_place(p->place);
            printf(p->rs ? "; the first:\n" : "; the first pair:\n");
            if (!p->rs) {
                print_descriptor(e, "A", p->a, p->a_major);
            }
            print_descriptor(e, "B", p->b, p->b_major);
            printf("           all %s, by their start in shared memory and the bytes added for each k%d step:\n",
                   p->rs ? "of them" : "pairs", matrix_k(p->type));
        }
        printf("           warpgroup %d  %-16s %-16s +", p->warpgroup,
               p->rs ? "registers" : SHARED_TEXT(seen, a.start - CTA_RESERVED, name_a, sizeof name_a),
               SHARED_TEXT(seen, b.start - CTA_RESERVED, name_b, sizeof name_b));
        int j = i;
        for (; j < seen->products && seen->product[j].warpgroup == p->warpgroup; j++) {
            WgmmaDescriptor next_a = wgmma_descriptor_decode(seen->product[j].a);
            WgmmaDescriptor next_b = wgmma_descriptor_decode(seen->product[j].b);
            if (next_b.start - b.start >= 128 || (!p->rs && next_b.start - b.start != next_a.start - a.start)) {
                break;
            }
            printf(" %u", next_b.start - b.start);
        }
        printf("\n");
        i = j > i ? j : i + 1;
    }
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* Of the CTAs that ran: how many have a tile, and in how many tile rows and tile columns their first tiles are. */
typedef struct {
    int ctas, rows, columns;
} Wave;

static Wave first_wave(const Explanation *e, int ctas, int bm, int bn) {
    int tiles_m = ceil_div(e->gemm.m, bm), tiles_n = ceil_div(e->gemm.n, bn);
    uint8_t *touched = calloc((size_t)tiles_m + (size_t)tiles_n, 1), *row_of = touched, *column_of = touched + tiles_m;
    Wave wave = {0, 0, 0};
    for (int cta = 0; cta < ctas && touched; cta++) {
        TileFact tile = tile_of(e->seen, cta, 0);
        if (tile.a_last < tile.a_first || tile.b_last < tile.b_first || tile.a_first >= e->gemm.m ||
            tile.b_first >= e->gemm.n) {
            continue; /* a CTA without work */
        }
        int m = tile.a_first / bm, n = tile.b_first / bn;
        wave.ctas++;
        wave.rows += !row_of[m];
        wave.columns += !column_of[n];
        row_of[m] = column_of[n] = 1;
    }
    free(touched);
    return wave;
}

static GemmStatus print_tiles(Explanation *e, int ctas_per_sm) {
    const Gemm *g = &e->gemm;
    const ModelObserver *l = e->launch;
    int ctas = min_int(l->grid, g->sm_count * ctas_per_sm) / l->cluster * l->cluster;
    forget(e, e->seen);
    for (int cta = 0; cta < ctas; cta += l->cluster) {
        e->seen->stop_at_tile = cta == 0 ? SHOWN_TILES : 1;
        GEMM_TRY(launch(e, e->seen, 1, cta, l->cluster));
    }
    TileFact first = tile_of(e->seen, 0, 0);
    int bm = first.a_last - first.a_first + 1, bn = first.b_last - first.b_first + 1;
    if (bm < 1 || bn < 1) { /* CTA 0 has no tile */
        if (bm > 0 && !e->b) {
            printf(
                "tiles      not shown: the weights are packed, and which rows of theirs a CTA reads cannot be told\n");
        }
        return GEMM_OK;
    }
    int tiles_m = ceil_div(g->m, bm), tiles_n = ceil_div(g->n, bn);
    printf("tiles      %d x %d of C each: %d rows of tiles by %d columns, %lld in all\n", bm, bn, tiles_m, tiles_n,
           (long long)tiles_m * tiles_n);
    int own = 0;
    while (own < e->seen->tiles && tile_of(e->seen, 0, own).a_last >= 0) {
        own++;
    }
    if (own > 1) {
        printf("           CTA 0 takes, by (row,column):");
        for (int i = 0; i < own && i < SHOWN_TILES; i++) {
            TileFact tile = tile_of(e->seen, 0, i);
            printf(" (%d,%d)", tile.a_first / bm, tile.b_first / bn);
        }
        printf("%s\n", own > SHOWN_TILES ? " ..." : "");
    }
    printf("wave       %d CTAs at a time: %d on each of %d SMs%s\n", ctas, ctas_per_sm, g->sm_count,
           ctas == l->grid && own <= 1        ? "; all of them run at once"
           : g->sm_count == DEFAULT_MODEL_SMS ? "; --sms 132: as many as an H200 has"
                                              : "");
    Wave wave = first_wave(e, ctas, bm, bn);
    double a_bytes = (double)bm * g->k * element_bytes(e), b_bytes = (double)bn * g->k * element_bytes(e);
    printf("           the first wave reads %d panel%s of A (%d rows) and %d of B (%d rows): %.1f MiB\n", wave.rows,
           wave.rows == 1 ? "" : "s", bm, wave.columns, bn, (wave.rows * a_bytes + wave.columns * b_bytes) / (1 << 20));
    int rows = ceil_div(wave.ctas, tiles_n), columns = min_int(wave.ctas, tiles_n);
    if (rows != wave.rows || columns != wave.columns) {
        printf("           walked row by row, these %d tiles would read %d and %d: %.1f MiB\n", wave.ctas, rows,
               columns, (rows * a_bytes + columns * b_bytes) / (1 << 20));
    }
    return GEMM_OK;
}

/* ---- the program's two options ----------------------------------------------------------------------------------- */

static GemmStatus print_kernel(Explanation *e) {
    const ModelObserver *l = e->launch;
    if (e->launches > 1) {
        printf("\nkernel %d of %d\n", e->which, e->launches);
    }
    printf("launch     %s: %d CTAs of %d threads (%d warps)", l->kernel, l->grid, l->block, (l->block + 31) / 32);
    if (l->cluster > 1) {
        printf(", in clusters of %d", l->cluster);
    }
    printf("\n");
    /* One CTA, with enough k-tiles to go once around the ring; a persistent one not through all of its tiles. */
    forget(e, e->seen);
    e->seen->stop_at_tile = SHORT_K_TILES;
    GEMM_TRY(launch(e, e->seen, min_int(e->gemm.k, SHORT_K), 0, l->cluster));
    int ctas = print_resources(e);
    print_shared(e);
    print_maps(e);
    print_barriers(e);
    print_products(e);
    return print_tiles(e, ctas);
}

static GemmStatus print_setup(Explanation *e) {
    if (e->launches == 1) {
        return print_kernel(e);
    }
    printf("launches   %d kernels, one after the other; tensor maps are those of all\n", e->launches);
    for (int which = 1, launches = e->launches; which <= launches; which++) {
        GEMM_TRY(look_at(e, which));
        GEMM_TRY(print_kernel(e));
    }
    return GEMM_OK;
}

static void print_thread(const char *before, int cta, int thread) {
    printf("%sCTA %d warp %d lane %d", before, cta, thread / WARP_SIZE, thread % WARP_SIZE);
}

static void print_doer(const char *before, const Doer *doer) {
    print_thread(before, doer->cta, doer->thread);
    print_place(doer->place);
    printf("\n");
}

static void print_operand(const Explanation *e, char matrix_name, int row, int k, const OperandFact *operand) {
    char name[TEXT], label[TEXT];
    snprintf(label, sizeof label, "%c[%d][%d]", matrix_name, row, k);
    if (!operand->found) {
        printf("%-10s read from global memory by", label);
        print_doer(" ", &operand->load);
        return;
    }
    uint32_t at = operand->offset;
    printf("%-10s %s: byte %u of shared memory, 128-byte row %u (%u modulo 8), 16-byte column %u, bank %u\n", label,
           SHARED_TEXT(e->seen, at, name, sizeof name), at, at / 128, at / 128 % 8, at / 16 % 8, at / 4 % 32);
    unsigned chunk = (at / 16 ^ at / 128) % 8;
    if ((int)chunk == k % 64 / 8) {
        printf("           with the 128-byte swizzle, column %u of row %u holds chunk %u ^ %u = %u of the row: k %d to "
               "%d\n",
               at / 16 % 8, at / 128 % 8, at / 16 % 8, at / 128 % 8, chunk, k / 8 * 8, k / 8 * 8 + 7);
    }
    printf("           put there by %s,", operand->writer);
    print_doer(" ", &operand->written);
    if (operand->ldmatrix) {
        printf("           read by ldmatrix");
        print_place(operand->ldmatrix);
        printf(": lane %d gave the address, lane %d received it in register %c[%d], %s half\n", operand->address_lane,
               operand->lane, matrix_name == 'A' ? 'a' : 'b', operand->reg, operand->half ? "high" : "low");
    } else {
        WgmmaDescriptor d = wgmma_descriptor_decode(operand->descriptor);
        printf("           read by wgmma: descriptor 0x%016llx, which starts at %s\n",
               (unsigned long long)operand->descriptor,
               SHARED_TEXT(e->seen, d.start - CTA_RESERVED, name, sizeof name));
    }
}

static GemmStatus print_element(Explanation *e, const Options *options) {
    const ModelObserver *seen = e->seen;
    char text[256];
    ElementPath path;
    GEMM_TRY(explain_element(e, options->element[0], options->element[1], options->element[2], &path));
    printf("element    C[%d][%d], at k = %d\n", path.row, path.column, path.k);
    print_thread("held by    ", path.cta, path.thread);
    if (path.accumulators > 0) {
        printf(", accumulator %d of 0 to %d\n", path.index, path.accumulators - 1);
        printf("product    %s m%dn%dk16", seen->n == 8 ? "mma.sync" : "wgmma", seen->n == 8 ? 16 : WGMMA_M, seen->n);
        print_place(seen->product_place);
        printf(": row %d, column %d of D; number %d of its tile", seen->row, seen->column, seen->product_number);
        if (seen->n != 8) {
            printf(", which is number %d of warpgroup %d", path.tile, path.thread / WARPGROUP_SIZE);
        }
        printf("\n           %s\n", site_source(seen->product_place, text, sizeof text));
    } else {
        printf(", in a register of its own: this kernel has neither mma.sync nor wgmma\n");
    }
    print_operand(e, 'A', path.row, path.k, &seen->operand_a);
    print_operand(e, 'B', path.column, path.k, &seen->operand_b);
    if (seen->store_bytes > 0) {
        printf("stored     by");
        print_doer(" ", &seen->stored);
    } else {
        char name[TEXT];
        printf("stored     by a TMA store of");
        print_doer(" ", &seen->stored);
        printf("           from %s, byte %u of shared memory, bank %u, where %s had put it: the address was of",
               SHARED_TEXT(seen, seen->store_offset, name, sizeof name), seen->store_offset,
               seen->store_offset / 4 % 32, seen->packer);
        print_doer(" ", &seen->packed);
    }
    printf("values     all of A and B 0, but A[%d][%d] = %g and B[%d][%d] = %g: C[%d][%d] became %g\n", path.row,
           path.k, (double)A_VALUE, path.column, path.k, (double)B_VALUE, path.row, path.column,
           (double)(A_VALUE * B_VALUE));
    return GEMM_OK;
}

GemmStatus explain_chapter(const Options *options, const Chapter *chapter, const DeviceInfo *device, Shape shape) {
    const int limit[] = {shape.m, shape.n, shape.k};
    for (int i = 0; options->explain_element && i < 3; i++) {
        if (options->element[i] >= limit[i]) {
            return gemm_fails(NULL, GEMM_USAGE, "--explain-element: %s %d is outside of %s = %d; 0 to %d is accepted",
                              (const char *[]){"row", "column", "k ="}[i], options->element[i],
                              (const char *[]){"M", "N", "K"}[i], limit[i], limit[i] - 1);
        }
    }
    if (options->explain_element && kind_of(chapter) != KIND_BF16) {
        return gemm_fails(NULL, GEMM_USAGE,
                          "--explain-element: it follows a bf16 of A and one of B to their sum in C, and %s multiplies "
                          "%s; --explain is accepted",
                          chapter->name, kind_record(kind_of(chapter))->name);
    }
    if (options->explain_element && chapter->needs == NEEDS_SM100A) {
        return gemm_fails(NULL, GEMM_USAGE,
                          "--explain-element: it does not follow sums in tensor memory, where %s has them; --explain "
                          "is accepted",
                          chapter->name);
    }
    static Explanation e; /* a Problem stays where it was opened */
    GEMM_TRY(explain_open(&e, chapter, device, shape, options->tuning));
    char product[192];
    kind_record(shape.kind)->text(&e.problem.shape, &e.gemm, product, sizeof product);
    printf("chapter    %s: %s\n", chapter->name, chapter->adds);
    printf("problem    %s on %s with %d SMs\n", product, device->name, device->sm_count);
    if (chapter->variants) {
        char text[256];
        describe_choice(chapter, &e.gemm, text, sizeof text);
        printf("kernel     %s\n", text);
    }
    GemmStatus status = options->explain_element ? print_element(&e, options) : print_setup(&e);
    explain_close(&e);
    return status;
}
