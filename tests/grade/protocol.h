/* protocol.h - what judge.c asks of subject.c, the process that runs a submission, and what that answers. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "../../common/model/model_count.h"

enum {
    REPLY_FD = 3, /* requests come by stdin */
    VARIANT_SIZE = 64,
    RULES_KEPT = 8,
    TEXT_SIZE = 8192,
    TIMED_LAUNCHES = 50,
};

/* What the events of a launch tell of CTA 0, beside the counts; names in the criteria. Turns: how often the tensor cores go
 * from one warpgroup's products to another's. */
#define FACTS(FACT)                                        \
    FACT(STAGES, "stages")                                 \
    FACT(MULTIPLYING_WARPGROUPS, "multiplying_warpgroups") \
    FACT(LOADS, "loads")                                   \
    FACT(LOADS_UNDER_PRODUCTS, "loads_under_products")     \
    FACT(PRODUCTS, "products")                             \
    FACT(PRODUCT_TURNS, "product_turns")

typedef enum {
#define FACT(id, name) FACT_##id,
    FACTS(FACT)
#undef FACT
        FACT_KINDS
} Fact;

/* One launch. */
typedef struct {
    uint64_t nonce;
    Kind kind;
    int m, n, k, pad, sms;
    DataKind data;
    uint64_t seed; /* of the data */
    ModelPolicy policy;
    uint64_t schedule_seed;
    int patience;               /* seconds before a loop counts as endless */
    int count;                  /* 1: counts and facts are wanted */
    int timed;                  /* 1, on a GPU: launches are timed */
    char variant[VARIANT_SIZE]; /* "": none */
    int tile_group;
    Choice meet;
} Request;

/* Behind it: the block that holds C, `elements` of it. */
typedef struct {
    uint64_t nonce; /* the request's */
    GemmStatus status;
    uint64_t workspace_left;
    int reports;
    ModelRule rule[RULES_KEPT]; /* of the first reports */
    char text[TEXT_SIZE];       /* the first report */
    unsigned long long count[COUNT_KINDS];
    unsigned long long fact[FACT_KINDS];
    double ms; /* a launch */
    uint64_t elements;
} Reply;

#endif
