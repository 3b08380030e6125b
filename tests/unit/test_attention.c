/* test_attention.c - the problem of attention, of bf16 and of e4m3: is its reference the formula of kinds.h, does its
 * tolerance pass what is right and find what is not? */
#include "host_backend.h"
#include "../../beyond/13_attention/kind.h"

#include "tap.h"

static Kind kind;

static void open_case(Problem *p, int queries, int heads, int keys, Heads layout, DataKind data) {
    open_problem(p, (Shape){queries, heads * layout.size, keys, 8, kind, 1, layout}, 7, data);
}

static double at(const Buffer *matrix, const long long *stride, int batch, int head, int row, int column) {
    long long place = batch * stride[0] + head * stride[1] + row * stride[2] + column;
    return kind == KIND_ATTENTION ? (double)bf16_value(((const bf16 *)matrix->data)[place])
                                  : (double)e4m3_value(((const e4m3 *)matrix->data)[place]);
}

static double v_of(const Problem *p, int batch, int head, int key, int column) {
    const Attention *a = attention_in(&p->operands);
    head = head * a->kv_heads / a->heads;
    return kind == KIND_ATTENTION ? at(&p->v, a->v_stride, batch, head, key, column)
                                  : at(&p->v, a->v_stride, batch, head, column, key);
}

static double score_of(const Problem *p, int batch, int head, int query, int key) {
    const Attention *a = attention_in(&p->operands);
    double sum = 0;
    for (int i = 0; i < a->head_size; i++) {
        sum += at(&p->a, a->q_stride, batch, head, query, i) *
               at(&p->b, a->k_stride, batch, head * a->kv_heads / a->heads, key, i);
    }
    return sum * (double)a->scale;
}

static int sees(const Attention *a, int query, int key) {
    int behind = query + a->keys - a->queries - key; /* the query's own key */
    return (!a->causal || behind >= 0) && (a->window == 0 || behind < a->window);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum { STEP = 64 };
typedef enum {
    FORMULA, /* what is right, without a rounding */
    RIGHT,
    LOSES_STEP,     /* the first step's keys count for nothing */
    ONE_KEY_LESS,   /* the last query does not see its last key */
    ONE_KEY_MORE,   /* a causal query sees the key after its last one */
    NO_RESCALE,     /* of O, when a larger score appears */
    NO_RESCALE_SUM, /* of the sum */
    LSE_TO_BASE_2,
    LSE_BEHIND_ITS_END,
    FAULTS
} Fault;
static const char *const fault_names[FAULTS] = {"nothing",
                                                "nothing",
                                                "a step",
                                                "the last query's last key",
                                                "a key too many",
                                                "O not rescaled",
                                                "the sum not rescaled",
                                                "logarithms to base 2",
                                                "logarithms behind their end"};

/* What a kernel does that goes through the keys in steps: weights are rounded for the second product alone. */
static double rounded(double weight) {
    return kind == KIND_ATTENTION ? (double)bf16_value(round_to_bf16(weight))
                                  : (double)e4m3_value(round_to_e4m3(256 * weight)) / 256;
}

/* A row of O; returns the logarithm of the sum of its weights. */
static double row_of_kernel(const Problem *p, int batch, int head, int query, Fault fault, double out[128]) {
    const Attention *a = attention_in(&p->operands);
    double largest = -INFINITY, sum = 0;
    memset(out, 0, 128 * sizeof *out);
    for (int first = 0; first < a->keys; first += STEP) {
        double score[STEP], before = largest;
        for (int i = 0; i < STEP; i++) {
            int key = first + i,
                seen = key < a->keys && sees(a, query - (fault == ONE_KEY_MORE), key - (fault == ONE_KEY_MORE) * 2);
            seen = seen && !(fault == LOSES_STEP && first == 0 && a->keys > STEP) &&
                   !(fault == ONE_KEY_LESS && query == a->queries - 1 && key == a->keys - 1);
            score[i] = seen ? score_of(p, batch, head, query, key) : -INFINITY;
            largest = fmax(largest, score[i]);
        }
        double base = largest == -INFINITY ? 0 : largest, shrink = exp(before - base);
        sum *= fault == NO_RESCALE_SUM && first > 0 ? 1 : shrink;
        for (int i = 0; i < a->head_size; i++) {
            out[i] *= fault == NO_RESCALE && first > 0 ? 1 : shrink;
        }
        for (int i = 0; i < STEP && first + i < a->keys; i++) {
            double weight = exp(score[i] - base), factor = fault == FORMULA ? weight : rounded(weight);
            sum += weight;
            for (int j = 0; j < a->head_size; j++) {
                out[j] += factor * v_of(p, batch, head, first + i, j);
            }
        }
    }
    for (int i = 0; i < a->head_size; i++) {
        out[i] /= sum == 0 ? 1 : sum;
    }
    return sum == 0 ? -INFINITY : largest + log(sum);
}

static void reference_is_the_formula(int queries, int heads, int keys, Heads layout, DataKind data) {
    Problem p;
    open_case(&p, queries, heads, keys, layout, data);
    const Attention *a = attention_in(&p.operands);
    const float *lse = (const float *)p.expected_lse.data;
    int faults = 0, none = 0;
    for (int row = 0; row < p.gemm.m; row++) {
        for (int head = 0; head < heads; head++) {
            const double *expected = (const double *)p.expected.data + row * p.gemm.n + head * layout.size;
            double out[128], right = row_of_kernel(&p, row / queries, head, row % queries, FORMULA, out),
                             got = (double)lse[2 * ((row / queries * heads + head) * queries + row % queries)];
            none += right == -INFINITY;
            faults += got != right && !(fabs(got - right) <= 1e-5);
            for (int i = 0; i < layout.size; i++) {
                faults += !(fabs(expected[i] - out[i]) <= 1e-10);
            }
        }
    }
    ok(faults == 0, "%s, %s, %d x %d heads of %d, %d of K and V, %d queries, %d keys%s: the reference is the formula",
       kind_record(kind)->name, data_names[data], a->batches, heads, layout.size, a->kv_heads, queries, keys,
       layout.causal ? ", causal" : "");
    is_int(none, layout.causal && queries > keys ? a->batches * heads * (queries - keys) : 0, "queries without a key");
    problem_close(&p);
}

static Tally judged(const Problem *p, Fault fault) {
    const Attention *a = attention_in(&p->operands);
    Tally tally;
    problem_poison(p);
    for (int batch = 0; batch < a->batches; batch++) {
        for (int head = 0; head < a->heads; head++) {
            for (int query = 0; query < a->queries; query++) {
                double out[128], logarithm = row_of_kernel(p, batch, head, query, fault, out);
                for (int i = 0; i < a->head_size; i++) {
                    a->o[batch * a->o_stride[0] + head * a->o_stride[1] + query * a->o_stride[2] + i] =
                        round_to_bf16(out[i]);
                }
                a->lse[(batch * a->heads + head) * a->queries + query + (fault == LSE_BEHIND_ITS_END)] =
                    (float)(fault == LSE_TO_BASE_2 ? logarithm * 1.442695 : logarithm);
            }
        }
    }
    problem_check(p, &tally);
    return tally;
}

static void tolerance(int queries, int keys, Heads layout, DataKind data) {
    Problem p;
    open_case(&p, queries, 2, keys, layout, data);
    for (Fault fault = RIGHT; fault < FAULTS; fault++) {
        Tally tally = judged(&p, fault);
        int lse = fault == LSE_TO_BASE_2 || fault == LSE_BEHIND_ITS_END;
        if (fault == RIGHT) {
            ok(tally_is_right(&tally) && tally.worst < 0.7f, "what is right passes");
        } else if ((fault == LOSES_STEP && keys <= STEP) || (fault == ONE_KEY_MORE && !layout.causal) ||
                   ((fault == NO_RESCALE || fault == NO_RESCALE_SUM) && keys <= STEP)) {
            continue;                       /* there is none */
        } else if (fault == ONE_KEY_LESS) { /* integers may give it no weight; one of many moves the logarithm alone */
            int seldom = kind == KIND_ATTENTION_E4M3 && keys >= 300;
            ok(data == DATA_INTEGERS || seldom || (tally.lse_wrong > 0 && (tally.wrong > 0 || keys > 300)),
               "%s is found", fault_names[fault]);
        } else {
            ok((lse || tally.wrong > 0) && (lse || fault == NO_RESCALE || tally.lse_wrong > 0) &&
                   !tally_is_right(&tally),
               "%s is found", fault_names[fault]);
        }
    }
    problem_close(&p);
}

/* FLOP of a head of 64 in two sequences, by what the mask leaves. */
static void flop_are_those_of_keys_seen(int queries, int keys, int causal, int window, int pairs) {
    Shape shape = {2 * queries, 64, keys, 0, KIND_ATTENTION, 1, {64, 1, 2, causal, window}};
    Gemm gemm = {.m = 2 * queries, .n = 64, .k = keys};
    ok(kind_flop(&shape, &gemm) == 2.0 * 4 * 64 * pairs,
       "%d queries, %d keys%s, window %d: FLOP of %d pairs of them in each sequence", queries, keys,
       causal ? ", causal" : "", window, pairs);
}

int main(void) {
    for (int both = 0; both < 4; both++) {
        DataKind data = both % 2 ? DATA_NORMAL : DATA_INTEGERS;
        kind = both / 2 ? KIND_ATTENTION_E4M3 : KIND_ATTENTION;
        reference_is_the_formula(5, 1, 130, (Heads){128, 1, 1, 0, 0}, data);
        reference_is_the_formula(7, 4, 9, (Heads){64, 2, 3, 0, 0}, data);
        reference_is_the_formula(9, 6, 7, (Heads){64, 2, 2, 1, 0}, data);
        reference_is_the_formula(6, 2, 11, (Heads){128, 2, 1, 1, 0}, data);
        reference_is_the_formula(9, 6, 12, (Heads){64, 2, 2, 1, 5}, data);
        reference_is_the_formula(8, 2, 5, (Heads){128, 2, 1, 0, 3}, data);
        tolerance(20, 50, (Heads){128, 2, 1, 0, 0}, data);
        tolerance(30, 300, (Heads){64, 1, 2, 1, 0}, data);
        if (kind == KIND_ATTENTION) {
            tolerance(300, 300, (Heads){128, 2, 1, 1, 0}, data);
        }
        tolerance(4, 2000, (Heads){64, 2, 1, 0, 0}, data);
    }
    flop_are_those_of_keys_seen(5, 3, 0, 0, 15);
    flop_are_those_of_keys_seen(5, 3, 1, 0, 0 + 0 + 1 + 2 + 3);
    flop_are_those_of_keys_seen(3, 5, 1, 0, 3 + 4 + 5);
    flop_are_those_of_keys_seen(3, 5, 1, 2, 2 + 2 + 2);
    return tap_done();
}
