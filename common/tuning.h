/* tuning.h - what experiments ask of a chapter that chooses among kernels and ways to launch them. */
#ifndef TUNING_H
#define TUNING_H

/* Overrides of what a chapter otherwise chooses, for experiments. All zero: the chapter chooses. */
typedef enum { CHOICE_DEFAULT, CHOICE_YES, CHOICE_NO } Choice;
typedef struct {
    const char *variant;     /* name of one of the chapter's variants */
    int tile_group;          /* tile rows visited together (tile_order.h) */
    Choice producer_barrier; /* do producers synchronise before each tile? */
} Tuning;

/* Which of these overrides a chapter obeys, apart from the variant. */
enum { CHOOSES_TILE_GROUP = 1, CHOOSES_PRODUCER_BARRIER = 2, CHOOSES_BY_PLAN = 4 /* on a GPU, by measuring: plan.h */ };

#endif
