/* replay.c - does the CPU model do what the hardware did? Replays the recorded cases (vectors.txt) and compares every
 * bit.
 *
 *     replay [VECTORS]          TAP: one test a case
 *     replay --write FILE       the model's own results in the same format, to be compared with diff
 *
 * A case that is not in the file, or is there with other parameters, is skipped: it waits for the next recording.
 * Without a file of vectors all are. */
#include "replay.h"

#include "../../common/device/wgmma.h"
#include "../../common/model/data/matrix.h"
#include "../../common/model/data/tensor_map.h"
#include "tap.h"

#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#endif

enum { SHARED_BASE = 1024 }; /* where shared memory starts in its window; any multiple of 1024 gives the same */

/* ---- tensor maps and TMA ----------------------------------------------------------------------------------------- */

static void replay_encode(const EncodeCase *c, Outcome *out) {
    static _Alignas(256) uint8_t memory[256];
    TensorMap map;
    out->count = 1;
    out->words[0] =
        (uint16_t)tensor_map_encode(&map, c->type, c->rank, memory + c->misaligned, c->size, c->stride, c->box, c->step,
                                    c->interleave, c->swizzle, 0, c->fill, out->note, sizeof out->note);
}

static void tma_trap(Outcome *out, const char *why) {
    out->status = CASE_TRAP;
    out->count = 0;
    snprintf(out->note, sizeof out->note, "%s", why);
}

static void tma_load(const TmaCase *c, const TensorMap *map, Outcome *out) {
    static uint8_t window[4][TMA_WINDOW];
    uint32_t arrived[4] = {0, 0, 0, 0};
    for (int rank = 0; rank < c->cluster; rank++) {
        for (int i = 0; i < TMA_WINDOW / 2; i++) {
            bf16 word = tma_window_word(c, i);
            memcpy(&window[rank][i * 2], &word, 2);
        }
    }
    for (int i = 0; i < c->copies; i++) {
        const TmaCopy *copy = &c->copy[i];
        TensorWalk walk = tensor_walk(map, copy->coord, SHARED_BASE + (uint32_t)copy->offset);
        TensorChunk chunk;
        int mask = copy->mask != 0 ? copy->mask : 1 << copy->issuer;
        while (tensor_next(&walk, &chunk)) {
            if ((uint32_t)copy->offset + chunk.offset + TENSOR_CHUNK_BYTES > TMA_WINDOW) {
                tma_trap(out, "the box leaves the window");
                return;
            }
            for (int rank = 0; rank < c->cluster; rank++) {
                if (mask >> rank & 1) {
                    tensor_chunk_load(map, &chunk, &window[rank][(uint32_t)copy->offset + chunk.offset]);
                }
            }
        }
        for (int rank = 0; rank < c->cluster; rank++) {
            arrived[rank] += mask >> rank & 1 ? tensor_box_bytes(map) : 0;
        }
    }
    out->count = c->cluster * (1 + TMA_WINDOW / 2);
    for (int rank = 0; rank < c->cluster; rank++) {
        uint16_t *words = out->words + rank * (1 + TMA_WINDOW / 2);
        words[0] = (uint16_t)arrived[rank];
        memcpy(words + 1, window[rank], TMA_WINDOW);
    }
}

static void tma_store(const TmaCase *c, const TensorMap *map, const bf16 *global, int words, Outcome *out) {
    static bf16 window[TMA_WINDOW / 2];
    for (int i = 0; i < TMA_WINDOW / 2; i++) {
        window[i] = tma_window_word(c, i);
    }
    uint32_t offset = (uint32_t)c->copy[0].offset;
    TensorWalk walk = tensor_walk_store(map, c->copy[0].coord, SHARED_BASE + offset);
    TensorChunk chunk;
    while (tensor_next(&walk, &chunk)) {
        const uint8_t *shared = (const uint8_t *)window + offset + chunk.offset;
        if (c->op == TMA_ADD) {
            tensor_chunk_add(map, &chunk, shared);
        } else {
            tensor_chunk_store(&chunk, shared);
        }
    }
    out->count = words;
    memcpy(out->words, global, (size_t)words * 2);
}

static void replay_tma(const TmaCase *c, Outcome *out) {
    static _Alignas(256) bf16 global[REPLAY_WORDS];
    TensorMap map;
    char why[200];
    int words = tma_global_words(c);
    for (int i = 0; i < words; i++) {
        global[i] = tma_global_word(c, i);
    }
    if (tensor_map_encode(&map, c->type, c->rank, global + TMA_GUARD, c->size, c->stride, c->box, c->step, 0,
                          c->swizzle, 0, c->fill, why, sizeof why) != 0) {
        tma_trap(out, why);
        return;
    }
    const char *fault =
        c->op == TMA_LOAD ? tensor_load_fault(&map, c->copy[0].coord) : tensor_store_fault(&map, c->copy[0].coord);
    if ((uint32_t)c->copy[0].offset % tensor_box_alignment(&map) != 0) {
        tma_trap(out, "the box is not aligned");
    } else if (fault != NULL) {
        tma_trap(out, fault);
    } else if (c->op == TMA_LOAD) {
        tma_load(c, &map, out);
    } else {
        tma_store(c, &map, global, words, out);
    }
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

static int load_operand(float *values, const uint8_t *shared, const WgmmaOperand *o, uint32_t step, int rows,
                        Outcome *out) {
    uint32_t address[2 * WGMMA_MAX_N];
    uint64_t bits = wgmma_descriptor_fields(SHARED_BASE + o->start + step, o->leading, o->stride, o->swizzle) |
                    (uint64_t)o->base_offset << 49;
    WgmmaDescriptor descriptor = wgmma_descriptor_decode(bits);
    int chunks = wgmma_operand_addresses(&descriptor, o->mn_major, rows, address);
    for (int i = 0; i < chunks; i++) {
        if (address[i] < SHARED_BASE || address[i] + MATRIX_CHUNK_BYTES > SHARED_BASE + WGMMA_SHARED) {
            tma_trap(out, "an operand lies outside shared memory");
            return 0;
        }
    }
    wgmma_operand_load(values, shared, SHARED_BASE, address, o->mn_major, rows);
    return 1;
}

static void replay_wgmma(const WgmmaCase *c, Outcome *out) {
    static uint16_t shared[WGMMA_SHARED / 2];
    static float a[MATRIX_K * WGMMA_M], b[MATRIX_K * WGMMA_MAX_N], tile[WGMMA_M * WGMMA_MAX_N];
    static float d[WARPGROUP_SIZE][WGMMA_MAX_N / 2];
    float *threads[WARPGROUP_SIZE];
    int half = c->n / 2;
    for (int pass = 0; pass < (c->data == WGMMA_PROBE ? 2 : 1); pass++) {
        for (int i = 0; i < WGMMA_SHARED / 2; i++) {
            shared[i] = wgmma_shared_word(c->data, pass, i);
        }
        for (int t = 0; t < WARPGROUP_SIZE; t++) {
            threads[t] = d[t];
            for (int v = 0; v < half; v++) {
                d[t][v] = (float)(v % 5);
            }
        }
        wgmma_accumulators_from_threads(tile, (const float *const *)threads, c->n);
        for (int step = 0; step < c->steps; step++) {
            if (c->from_registers) {
                uint32_t registers[WARPGROUP_SIZE][4];
                const uint32_t *fragment[WARPGROUP_SIZE];
                for (int t = 0; t < WARPGROUP_SIZE; t++) {
                    for (int r = 0; r < 4; r++) {
                        registers[t][r] = wgmma_a_register(c->data, pass, t + WARPGROUP_SIZE * step, r);
                    }
                    fragment[t] = registers[t];
                }
                wgmma_registers_load(a, fragment);
            } else if (!load_operand(a, (const uint8_t *)shared, &c->a, (uint32_t)step * c->a_step, WGMMA_M, out)) {
                return;
            }
            if (!load_operand(b, (const uint8_t *)shared, &c->b, (uint32_t)step * c->b_step, c->n, out)) {
                return;
            }
            wgmma_multiply(tile, a, b, c->n, step > 0 || c->accumulate);
        }
        wgmma_accumulators_to_threads(threads, tile, c->n);
        for (int i = 0; i < WARPGROUP_SIZE * half; i++) {
            uint16_t word = (uint16_t)(int)d[i / half][i % half];
            out->words[i] = (uint16_t)(pass == 0 ? word : out->words[i] + 256 * word);
        }
    }
    out->count = WARPGROUP_SIZE * half;
}

/* ---- one warp ---------------------------------------------------------------------------------------------------- */

static void replay_warp(const WarpCase *c, Outcome *out) {
    static _Alignas(16) uint16_t shared[WARP_SHARED / 2];
    uint32_t r[WARP_SIZE][4], b[WARP_SIZE][2];
    float d[WARP_SIZE][4];
    void *row[WARP_SIZE];
    uint32_t *registers[WARP_SIZE], *b_registers[WARP_SIZE];
    float *d_registers[WARP_SIZE];
    for (int i = 0; i < WARP_SHARED / 2; i++) {
        shared[i] = c->op == WARP_LDMATRIX ? (uint16_t)i : CONFORM_UNWRITTEN;
    }
    for (int lane = 0; lane < WARP_SIZE; lane++) {
        row[lane] = (uint8_t *)shared + (c->op == WARP_MMA ? 0 : warp_row_offset(c->rows, lane));
        registers[lane] = r[lane];
        b_registers[lane] = b[lane];
        d_registers[lane] = d[lane];
        for (int i = 0; i < 4; i++) {
            r[lane][i] = c->op == WARP_MMA ? warp_mma_operand(c->rows, lane, i)
                                           : (uint32_t)(8 * lane + 2 * i) | (uint32_t)(8 * lane + 2 * i + 1) << 16;
            d[lane][i] = warp_mma_start(c->rows, lane, i);
            b[lane][i / 2] = warp_mma_operand(c->rows, lane, 4 + i / 2);
        }
    }
    if (c->op == WARP_LDMATRIX) {
        matrix_ldmatrix_x4(registers, (const void *const *)row);
        out->count = WARP_SIZE * 8;
        for (int i = 0; i < out->count; i++) {
            out->words[i] = (uint16_t)(r[i / 8][i / 2 % 4] >> 16 * (i % 2));
        }
    } else if (c->op == WARP_STMATRIX) {
        matrix_stmatrix_x4(row, (const uint32_t *const *)registers);
        out->count = WARP_SHARED / 2;
        memcpy(out->words, shared, sizeof shared);
    } else {
        matrix_mma_m16n8k16(d_registers, (const uint32_t *const *)registers, (const uint32_t *const *)b_registers);
        out->count = WARP_SIZE * 4;
        for (int i = 0; i < out->count; i++) {
            out->words[i] = (uint16_t)(int)d[i / 4][i % 4];
        }
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void replay(Group group, int i, Outcome *out) {
    out->status = CASE_OK;
    out->count = 0;
    out->note[0] = '\0';
    switch (group) {
    case GROUP_ENCODE: replay_encode(&encode_cases[i], out); break;
    case GROUP_TMA: replay_tma(&tma_cases[i], out); break;
    case GROUP_WGMMA: replay_wgmma(&wgmma_cases[i], out); break;
    case GROUP_WARP: replay_warp(&warp_cases[i], out); break;
    default: replay_kernel(group, i, out); break;
    }
}

/* What word `at` of a case is, for the report of a difference. */
static void explain(Group group, int i, int at, const char *who, int word) {
    char where[200] = "";
    if (group == GROUP_TMA && tma_cases[i].op == TMA_LOAD) {
        int rank = at / (1 + TMA_WINDOW / 2), byte = (at % (1 + TMA_WINDOW / 2) - 1) * 2;
        if (byte < 0) {
            snprintf(where, sizeof where, "bytes counted at the barrier of CTA %d: %d", rank, word);
        } else {
            snprintf(where, sizeof where, "CTA %d, byte %d of shared memory holds element %d of global memory", rank,
                     byte, word - 1);
        }
    } else if (group == GROUP_TMA) {
        snprintf(where, sizeof where, "element %d of global memory, %d after the tensor's start, is 0x%x", at,
                 at - TMA_GUARD, word);
    } else if (group == GROUP_WGMMA) {
        const WgmmaCase *c = &wgmma_cases[i];
        int t = at / (c->n / 2), v = at % (c->n / 2);
        snprintf(where, sizeof where, "thread %d d[%d] = D(%d, %d): %s%d", t, v, wgmma_accumulator_row(t, v),
                 wgmma_accumulator_column(t, v),
                 c->data == WGMMA_PROBE && !c->from_registers ? "element read from byte " : "",
                 c->data == WGMMA_PROBE && !c->from_registers ? word * 2 : (int)(int16_t)word);
    } else {
        snprintf(where, sizeof where, "word %d is 0x%x", at, word);
    }
    diag("%s: %s", who, where);
}

/* Misuse that the hardware lets pass, or answers in some way of its own: the model must report it. */
static int is_misuse(Group group, int i) { return group == GROUP_MBARRIER && mbarrier_cases[i].misuse; }

/* Index of the first difference, -1 for none, or the shorter count if the counts differ. */
static int first_difference(const Outcome *model, const Vector *hardware) {
    int common = model->count < hardware->count ? model->count : hardware->count;
    for (int i = 0; i < common; i++) {
        if (model->words[i] != hardware->words[i]) {
            return i;
        }
    }
    return model->count != hardware->count ? common : -1;
}

typedef enum { AGREES, DIFFERS, NOT_RECORDED } Verdict;

static Verdict judge(Group group, int i, const Outcome *model, const Vector *hardware) {
    if (hardware == NULL || hardware->digest != case_digest(group, i)) {
        return NOT_RECORDED;
    }
    if (is_misuse(group, i)) {
        return model->status != CASE_OK && model->note[0] != '\0' ? AGREES : DIFFERS;
    }
    return model->status == hardware->status && first_difference(model, hardware) < 0 ? AGREES : DIFFERS;
}

static Verdict test_case(Group group, int i, const Vector *hardware) {
    static Outcome model;
    char name[100];
    snprintf(name, sizeof name, "%s %s", group_name(group), case_name(group, i));
    replay(group, i, &model);
    Verdict verdict = judge(group, i, &model, hardware);
    if (verdict == NOT_RECORDED) {
        skip(name, hardware == NULL ? "not recorded yet: run record.cu on a Hopper GPU"
                                    : "recorded with other parameters: run record.cu on a Hopper GPU");
        return verdict;
    }
    if (ok(verdict == AGREES, "%s", name)) {
        return verdict;
    }
    diag("hardware: %s, %d words; model: %s, %d words%s%s", case_status_name(hardware->status), hardware->count,
         case_status_name(model.status), model.count, model.note[0] != '\0' ? "; " : "", model.note);
    int at = first_difference(&model, hardware);
    if (model.status == CASE_OK && hardware->status == CASE_OK && at >= 0 && at < model.count && at < hardware->count) {
        explain(group, i, at, "hardware", hardware->words[at]);
        explain(group, i, at, "model", model.words[at]);
    }
    return verdict;
}

/* Would a wrong vector be seen? Each case is judged again after one bit of one word of its vector, or the status, and
 * then after its digest has been changed. */
static void test_corruption(const VectorFile *all) {
    static Outcome model;
    int missed = 0, tried = 0;
    for (Group group = 0; group < GROUPS; group++) {
        for (int i = 0; i < group_size(group); i++) {
            const Vector *v = find_vector(all, group_name(group), case_name(group, i));
            if (v == NULL || is_misuse(group, i)) {
                continue;
            }
            replay(group, i, &model);
            if (judge(group, i, &model, v) != AGREES) {
                continue;
            }
            int at = v->count > 0 ? conform_hash((uint32_t)tried, v->count) : 0;
            Vector changed = *v;
            if (v->count > 0) {
                v->words[at] ^= (uint16_t)(1 << tried % 16);
            } else {
                changed.status = CASE_OK;
            }
            if (judge(group, i, &model, &changed) != DIFFERS) {
                missed++;
                diag("%s %s: a change of word %d is not seen", group_name(group), v->name, at);
            }
            if (v->count > 0) {
                v->words[at] ^= (uint16_t)(1 << tried % 16);
            }
            changed = *v;
            changed.digest ^= 1u << tried % 32;
            if (judge(group, i, &model, &changed) != NOT_RECORDED) {
                missed++;
                diag("%s %s: a change of the digest is not seen", group_name(group), v->name);
            }
            tried++;
        }
    }
    ok(tried > 0 && missed == 0, "a changed vector is seen in each of %d cases", tried);
}

/* Two cases with one name, or two with the same parameters: one of them tests nothing. */
static void test_cases_differ(void) {
    int twins = 0;
    for (Group group = 0; group < GROUPS; group++) {
        for (int i = 0; i < group_size(group); i++) {
            for (int j = 0; j < i; j++) {
                if (strcmp(case_name(group, i), case_name(group, j)) == 0 ||
                    case_digest(group, i) == case_digest(group, j)) {
                    twins++;
                    diag("%s: %s and %s", group_name(group), case_name(group, j), case_name(group, i));
                }
            }
        }
    }
    is_int(twins, 0, "no two cases have the same name or the same parameters");
}

/* A damaged file must be refused, not read as a shorter one. */
static void test_damage(void) {
    static const struct {
        const char *text, *why;
    } files[] = {
        {"case tma x 01234567 ok 3\n1 2\n", "too few words"},
        {"case tma x 01234567 ok 3\n1+4\n", "too many words"},
        {"case tma x 01234567 ok 1\n12345\n", "a word of more than 16 bits"},
        {"case tma x 01234567 ok 1\nxyz\n", "a word that is no number"},
        {"case tma x 01234567 fine 1\n1\n", "an unknown status"},
        {"case tma x 0123456z ok 1\n1\n", "a digest that is no number"},
        {"case tma x ok 1\n1\n", "a case line without a digest"},
        {"1 2 3\n", "words without a case"},
        {"# nothing\n", "no case at all"},
    };
    for (int i = 0; i < COUNT_OF(files); i++) {
        char path[] = "/tmp/conform_XXXXXX";
        int fd = mkstemp(path);
        FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (file == NULL) {
            ok(0, "a temporary file can be written");
            return;
        }
        fputs(files[i].text, file);
        fclose(file);
        VectorFile all = read_vectors(path);
        ok(all.fault[0] != '\0', "a file with %s is refused", files[i].why);
        free_vectors(&all);
        remove(path);
    }
}

static int write_all(const char *path) {
    static Outcome model;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "cannot write %s\n", path);
        return 2;
    }
    fprintf(file, "# What the CPU model makes of the cases of tests/conform/cases.h; not a recording.\n");
    for (Group group = 0; group < GROUPS; group++) {
        fprintf(file, "\n# ---- %s\n", group_name(group));
        for (int i = 0; i < group_size(group); i++) {
            replay(group, i, &model);
            if (model.note[0] != '\0') {
                fprintf(file, "# %s\n", model.note);
            }
            write_vector(file, group_name(group), case_name(group, i), case_digest(group, i), model.status, model.words,
                         model.count);
        }
    }
    return fclose(file) != 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        return write_all(argv[2]);
    }
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: %s [VECTORS]    or    %s --write FILE\n", argv[0], argv[0]);
        return 2;
    }
    const char *path = argc == 2 ? argv[1] : SOURCE_ROOT "/tests/conform/vectors.txt";
    VectorFile all = read_vectors(path);
    if (all.count == 0 && all.fault[0] == '\0') {
        skip_all("there is no file of vectors; record.cu writes it on a Hopper GPU");
    }
    if (!ok(all.fault[0] == '\0', "the file of vectors is whole")) {
        diag("%s", all.fault);
    }
    int known = 0;
    for (Group group = 0; group < GROUPS; group++) {
        int judged = 0;
        for (int i = 0; i < group_size(group); i++) {
            const Vector *hardware = find_vector(&all, group_name(group), case_name(group, i));
            known += hardware != NULL;
            judged += test_case(group, i, hardware) != NOT_RECORDED;
        }
        ok(judged > 0, "cases of the group %s are recorded", group_name(group));
    }
    is_int(all.count, known, "every vector belongs to a case");
    test_cases_differ();
    test_corruption(&all);
    test_damage();
    free_vectors(&all);
    return tap_done();
}
