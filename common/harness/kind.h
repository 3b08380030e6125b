/* kind.h - the kinds of problem (gemm.h): operands, the numbers in them, what the result should be and how near it must
 * come. Host and kernel, so that GPU and CPU have the same matrices and the same reference. */
#ifndef KIND_H
#define KIND_H

#include "../device/e4m3.h"
#include "data.h"
#include "options.h"

enum {
    E4M3_PADDING = E4M3_NAN,   /* after rows */
    FP32_PADDING = 0x7fffffff, /* NaN: after rows of scales */
    INT4_LEAST = -7,           /* a quantiser that divides by the largest size / 7 makes no -8 */
    INT4_MOST = 7,
};

/* ---- operands ---------------------------------------------------------------------------------------------------- */

typedef enum { TYPE_BF16, TYPE_E4M3, TYPE_FP32, TYPE_INT4 /* in a byte */, TYPE_INT32 } DataType;

typedef enum {
    OPERAND_A,
    OPERAND_B, /* KIND_W4A8: the weights */
    OPERAND_BIAS,
    OPERAND_SCALE_A,
    OPERAND_SCALE_B,
    OPERAND_FIRST_ROW,
    OPERAND_V, /* of attention, whose A is Q and B is K */
    OPERANDS
} OperandId;

/* A matrix [rows][ld] of which the first `columns` elements of each row count. */
typedef struct {
    OperandId id;
    const char *name; /* as reports call it */
    DataType type;
    int on_host; /* the chapter sees it in host memory; the reference has a copy of its own */
    long long rows;
    int columns, ld;
} OperandShape;

/* The numbers in a problem's operands depend only on this and on their place. */
typedef struct {
    Kind kind;
    DataKind data;
    uint64_t seed;
    int k;
} DataSource;

HOST_DEVICE int type_bytes(DataType type) {
    return type == TYPE_BF16 ? 2 : type == TYPE_FP32 || type == TYPE_INT32 ? 4 : 1;
}

/* What follows a row: NaN, and after a row of weights -128, which is no weight. */
HOST_DEVICE uint32_t type_padding(DataType type) {
    return type == TYPE_BF16   ? (uint32_t)BF16_PADDING
           : type == TYPE_E4M3 ? (uint32_t)E4M3_PADDING
           : type == TYPE_FP32 ? (uint32_t)FP32_PADDING
                               : 0x80u;
}

HOST_DEVICE uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The stream of random numbers of an operand: no other operand has the same. */
HOST_DEVICE uint64_t stream_of(uint64_t seed, OperandId id) {
    return mix64(mix64(seed + GOLDEN) + (uint64_t)id * GOLDEN);
}

/* A scale. With integers 1/2, 1 or 2. Else as a quantiser makes them, which divides the largest size in a block by the
 * largest of the type: 1 to 2 times 2^-2 to 2^1, of `fraction` bits, and of about the right size. KIND_MX: without a
 * fraction, a power of two. */
HOST_DEVICE double draw_scale(DataKind data, uint64_t stream, uint64_t index, int fraction) {
    if (data == DATA_ZEROS) {
        return 1;
    }
    if (data == DATA_INTEGERS) {
        return ldexp(1.0, draw_between(stream, index, -1, 1));
    }
    uint64_t draw = draw_of(stream, index);
    return ldexp((double)((1u << fraction) + (uint32_t)(draw & ((1u << fraction) - 1))),
                 (int)(draw >> 32 & 3) - 2 - 8 - fraction);
}

/* What a sum of k products is divided by in KIND_BIAS_GELU, so that GELU is not just 0 or its argument: a power of
 * two. */
HOST_DEVICE int gelu_shift(int k) {
    int shift = 0;
    while (shift < 15 && (1ll << (2 * shift)) < k) {
        shift++;
    }
    return shift;
}

/* Element `index` (row * columns + column, without padding) of an operand, by its bits.
 *
 *     integers   A and B -4 .. 4, weights -7 .. 7, scales 1/2, 1 or 2
 *     normal     A and B of KIND_BF16 and KIND_BIAS_GELU as draw_normal() returns them. e4m3: sigma 112, a quarter of
 *                the largest, cut off there, and 1 in attention, which has no scales. Weights: sigma 3.
 *                KIND_BIAS_GELU divides B by about sqrt(k) in both; its bias is as large as 1
 *     zeros      but for scales, which are 1 */
HOST_DEVICE uint32_t element_bits(const DataSource *s, OperandId id, DataType type, uint64_t index) {
    int is_matrix = type == TYPE_BF16 && (id == OPERAND_A || id == OPERAND_B), integers = s->data == DATA_INTEGERS;
    uint64_t stream = is_matrix ? mix64(s->seed * 2 + (uint64_t)id + GOLDEN) : stream_of(s->seed, id);
    if (id == OPERAND_SCALE_A || id == OPERAND_SCALE_B) {
        return type == TYPE_BF16 ? round_to_bf16(draw_scale(s->data, stream, index, 7))
                                 : float_bits((float)draw_scale(s->data, stream, index, s->kind == KIND_MX ? 0 : 23));
    }
    if (s->data == DATA_ZEROS) {
        return 0;
    }
    if (type == TYPE_INT4) {
        double weight =
            integers ? draw_between(stream, index, INT4_LEAST, INT4_MOST) : rint(3 * draw_normal(stream, index));
        return (uint8_t)(int8_t)(weight < INT4_LEAST ? INT4_LEAST : weight > INT4_MOST ? INT4_MOST : (int)weight);
    }
    double value = integers ? draw_between(stream, index, -INTEGER_LIMIT, INTEGER_LIMIT) : draw_normal(stream, index);
    if (type == TYPE_E4M3) {
        return round_to_e4m3(integers || s->kind == KIND_ATTENTION_E4M3 ? value : 112 * value);
    }
    if (s->kind == KIND_BIAS_GELU && id == OPERAND_B) {
        value = ldexp(value, -gelu_shift(s->k));
    }
    return round_to_bf16(is_matrix || !integers ? value : 0.25 * value); /* the bias, and V of attention */
}

/* ---- reference --------------------------------------------------------------------------------------------------- */

typedef union {
    BiasGelu gelu;
    Fp8 fp8;
    W4a8 w4a8;
    long long other[40]; /* of a kind that its chapter's directory has */
} Operands;

/* What the reference computes at a time: all of C, or the rows of one expert. */
typedef struct {
    Kind kind;
    Gemm gemm;         /* sizes, leading dimensions, a and b */
    Operands operands; /* all where the reference can read them */
    int expert, first_row, end_row;
    double eps; /* kind_eps() */
} ReferencePart;

/* The operands' values, a scale for each 128 of k with them. row and column are C's. */
HOST_DEVICE double reference_a(const ReferencePart *p, int row, int k) {
    const Gemm *g = &p->gemm;
    size_t at = (size_t)row * (size_t)g->lda + (size_t)k;
    switch (p->kind) {
    case KIND_MX:
    case KIND_FP8: {
        const Fp8 *f = &p->operands.fp8;
        return (double)e4m3_value(f->a[at]) *
               (double)f->scale_a[(size_t)(k / SCALE_K) * (size_t)f->ld_scale_a + (size_t)row];
    }
    case KIND_W4A8: return (double)e4m3_value(p->operands.w4a8.a[at]);
    default: return (double)bf16_value(g->a[at]);
    }
}

HOST_DEVICE double reference_b(const ReferencePart *p, int column, int k) {
    const Gemm *g = &p->gemm;
    size_t at = (size_t)column * (size_t)g->ldb + (size_t)k;
    switch (p->kind) {
    case KIND_MX:
    case KIND_FP8: {
        const Fp8 *f = &p->operands.fp8;
        return (double)e4m3_value(f->b[at]) *
               (double)f->scale_b[(size_t)(column / SCALE_K) * (size_t)f->ld_scale_b + (size_t)(k / SCALE_K)];
    }
    case KIND_W4A8: {
        const W4a8 *w = &p->operands.w4a8;
        size_t row = (size_t)p->expert * (size_t)g->n + (size_t)column, groups = (size_t)ceil_div(g->k, SCALE_K);
        return (double)w->weights[row * (size_t)g->k + (size_t)k] *
               (double)bf16_value(w->scale_b[row * groups + (size_t)(k / SCALE_K)]);
    }
    default: return (double)bf16_value(g->b[at]);
    }
}

/* x Phi(x), as GELU is defined. Its derivative is 1.129 at most, near x = 1.4. */
#define GELU_SLOPE 1.13
HOST_DEVICE double gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }

/* What evaluating GELU may be off by, as a share of its argument: see kind_eps(). */
#define GELU_EVALUATION 0x1p-11

HOST_DEVICE void gelu_end(double bias, double eps, double *sum, double *size) {
    double x = *sum + bias;
    *sum = gelu(x);
    *size = GELU_SLOPE * (*size + fabs(bias)) + GELU_EVALUATION / eps * fabs(x);
}

/* From the sums over k of a * b and of |a||b| to what C should be, and to what eps is a share of. */
HOST_DEVICE void reference_end(const ReferencePart *p, int row, int column, double sum, double size, double *expected,
                               float *magnitude) {
    if (p->kind == KIND_BIAS_GELU) {
        gelu_end((double)bf16_value(p->operands.gelu.bias[column]), p->eps, &sum, &size);
    } else if (p->kind == KIND_W4A8) {
        double scale = (double)p->operands.w4a8.scale_a[row];
        sum *= scale;
        size *= fabs(scale);
    }
    *expected = sum;
    *magnitude = (float)size;
}

/* Bound, of KIND_BF16, on |fp32 sum - exact sum| / sum|a||b| for K products:
 *
 *     eps(K) = 2^-23 * min(K, 16 + 4 sqrt(K))
 *
 * Products of two bf16 are exact in fp32, so only the additions round. An addition that rounds to nearest is off by up
 * to 2^-24 of its result; one that truncates, as tensor cores do, and that first aligns its terms to the largest one,
 * by up to 2^-23 of it. No order of K such additions can exceed K * 2^-23 * sum|a||b| (Higham, Accuracy and Stability
 * of Numerical Algorithms, 4.2): that is the bound while K <= 32 or so. For long sums it is far too wide, since
 * roundings rarely all point the same way: with independent ones of mean zero the error passes lambda * sqrt(K) *
 * 2^-24 * sum|a||b| with probability 2 exp(-lambda^2 / 2) at most (Higham and Mary 2019). 4 sqrt(K) * 2^-23 is lambda
 * = 8: less than one in 10^13 elements. Truncation has a mean, half a step of the running sum; in steps of k16 it adds
 * up to K/16 * 2^-24 * |running sum|, which stays below this bound to K = 16384 if all terms have one sign and for any
 * K if the sum walks randomly. The 16 covers the alignment inside the first steps.
 *
 * How tight that is: at K = 8192 with normal data sum|a||b| is 5200 and eps allows 0.24, next to the 2^-8 |ref| of the
 * last rounding (0.28 on average). A k-tile of 64 left out moves an element by 8 (standard deviation), a k16 step by 4,
 * one product by 1: that makes 95 %, 90 % and 44 % of the elements wrong, and one wrong element is enough. The share
 * of the allowance that a correct kernel uses is in Tally.worst: in simulation 0.01 for k16 steps that truncate, 0.002
 * for FMAs. */
HOST_DEVICE double accumulation_eps(int k) {
    double roundings = 16 + 4 * sqrt((double)k);
    return 0x1p-23 * (k < roundings ? k : roundings);
}

/* ---- on the host ------------------------------------------------------------------------------------------------- */

struct Problem;
struct Tally;

/* A kind of problem. What only one chapter multiplies has its record, and all functions of it, in that chapter's
 * directory: kind.c, and kind.cu for the GPU, which the Makefile finds by these names. */
typedef struct {
    const char *name; /* "fp8" */
    DataType type;    /* of A and B: TYPE_BF16 or TYPE_E4M3 */
    /* The operands of a problem of this shape; returns how many. Leading dimensions of `gemm` count. shape->pad: extra
     * elements after rows of scales. */
    int (*operands)(const Shape *shape, const Gemm *gemm, OperandShape list[OPERANDS]);
    /* Where they are, if not in Gemm.a and b. on_host: what the chapter gets, otherwise what the reference reads. */
    void (*place)(const struct Problem *problem, int on_host, Operands *at);
    /* "C[16][32] = A[16][64] * B[32][64]^T", as the kind has it. */
    void (*text)(const Shape *shape, const Gemm *gemm, char *text, size_t size);
    double (*eps)(int k); /* see kind_eps() */
    int max_exact_k;      /* see kind_is_exact(); 0: never exact */
    int is_sum;           /* C[row][column] is a sum over k of products: so a missing share can be named */
    int has_experts;      /* rows of A belong to experts, each with packed weights of its own, whose rows are dense */

    /* From here on NULL, unless the kind is not a product of A[m][k] and B[n][k]^T. */
    int (*fits)(const Shape *shape, char *message); /* 0, and a sentence in message[OPTIONS_MESSAGE_SIZE] */
    void (*sizes)(const Shape *shape, Gemm *gemm, int *columns_a, int *columns_b); /* sets m and n of `gemm`, too */
    double (*flop)(const Shape *shape, const Gemm *gemm);
    GemmStatus (*reference)(const ReferencePart *part, double *expected, float *magnitude);
    GemmStatus (*reference_on_gpu)(const ReferencePart *part, double *expected, float *magnitude, Stream stream);
    /* A second result: its buffers, what they hold before a launch, and the check. */
    GemmStatus (*open)(struct Problem *problem);
    GemmStatus (*poison)(const struct Problem *problem);
    GemmStatus (*check)(const struct Problem *problem, struct Tally *tally);
} KindRecord;

#ifdef __cplusplus
extern "C" {
#endif
extern const KindRecord kind_of_bias_gelu, kind_of_fp8, kind_of_mx, kind_of_w4a8, kind_of_attention,
    kind_of_attention_e4m3;
const KindRecord *kind_record(Kind kind);
#ifdef __cplusplus
}
#endif

/* What the product takes. */
double kind_flop(const Shape *shape, const Gemm *gemm);

/* For records: A and B, of one type; a matrix whose rows are padded to 16 bytes, and by `pad` elements more;
 * "A[16][64] * B[32][64]^T"; the tolerance of blocks of 128 that are promoted to fp32. */
int two_operands(const Gemm *gemm, DataType type, OperandShape *list);
OperandShape padded_rows(OperandId id, const char *name, DataType type, int rows, int columns, int pad);
void product_text(const Gemm *gemm, char text[128]);
double eps_of_blocks(int k);

/* Has a problem of this kind heads? They are shape->heads; kind_heads() returns them without zeros. */
static inline int has_heads(Kind kind) { return kind_record(kind)->sizes != NULL; }
Heads kind_heads(const Shape *shape);

/* Elements of a row that start a multiple of 16 bytes: 8, or 16 of e4m3. */
int kind_row_unit(Kind kind);

/* Fills a matrix in host memory. */
GemmStatus fill_on_host(void *matrix, const OperandShape *shape, const DataSource *source);

/* The value of A[row][k], or of B[column][k], with its scale, only from the source. */
double source_a(const DataSource *source, const Gemm *gemm, int row, int k);
double source_b(const DataSource *source, const Gemm *gemm, int expert, int column, int k);

/* Which rows belong to which expert: unevenly, in an order that the seed decides. About one in four has none.
 * first_row: [experts + 1]. */
void expert_rows(uint64_t seed, int m, int experts, int *first_row);

/* Is the result of this data exact, in fp32 and in the tensor cores' sums of e4m3? Up to which k?
 *
 * KIND_FP8: a block of 128 has products of at most 16, and so a sum of at most 2^11, and KIND_W4A8 products of at
 * most 28 and sums below 2^12. The tensor cores keep at least 13 bits after the first bit of the largest term, so
 * that their unit is 2^-2 at most, and integers lose nothing. Scales are powers of two: in units of the least
 * product of two scales, 2^-2 (KIND_W4A8: of 2^-1, scale_a comes last), all of fp32's sums are integers, which stay
 * below 2^24 up to that k. KIND_BIAS_GELU is exact in nothing but the sum. */
int kind_is_exact(Kind kind, DataKind data);
int kind_max_exact_k(Kind kind);

/* The bound on |C before its last rounding - what it should be| as a share of the magnitude that reference_end()
 * gives.
 *
 * KIND_BF16: accumulation_eps(k), of sum|a||b|.
 *
 * KIND_FP8, KIND_W4A8: a k32 step of the tensor cores aligns its 32 products and the accumulator to the largest of
 * them, cuts each off 13 bits after that one's first bit, and adds. A term loses less than 2^-13 of the largest
 * term, L. For any data 34 * 2^-13 * L is the bound of a step. It is far too wide: what is cut off has a random size
 * and the term's sign, and the harness's data have random signs. Then a step loses 2^-13 L sqrt(34 / 3) (standard
 * deviation), with L about a third of the step's sum|a||b|: 1.1 * 2^-13 of it, and n such steps lose 1.1 * 2^-13 /
 * sqrt(n) of theirs. Blocks with large scales count for more, which makes that about 1.5 times as much. Five
 * standard deviations of that, with the four steps of a block taken as one loss, are the bound:
 *
 *     eps(k) = 2^-13 * (1/2 + 8 / sqrt(blocks of 128)) + accumulation_eps(4 * blocks)
 *
 * whose second part is fp32's: a scale's rounding, a product's, a sum's. The 1/2 is for tensor cores that round
 * downwards, whose losses have a mean. With the sums of an H200 a right result uses up to 0.04 of this
 * (tests/unit/test_kind.c), and in a simulation that rounded all downwards up to 0.4.
 *
 * What it finds: a k32 step left out moves an element of normal data by 5.7 products (standard deviation), which is
 * 9 / k of sum|a||b|, and by more where the block's scale is large. At k = 7168 that is 10 * 2^-13, and eps 1.6 *
 * 2^-13. A scale of the next block changes its share of the sum, 11 products, by half of it or more. What it does
 * not find is an accumulation in the tensor cores without promotion, if the scales are right: with data of mean 0
 * that loses less than eps. The page of the FP8 chapter measures it. */
double kind_eps(Kind kind, int k);

/* The part of the problem on the host, into its rows of expected [m][n] and magnitude [m][n]. */
GemmStatus reference_part_on_host(const ReferencePart *part, double *expected, float *magnitude);

#endif
