/* tuning.h - what experiments ask of a chapter that chooses among kernels and ways to launch them. */
#ifndef TUNING_H
#define TUNING_H

/* What a chapter otherwise chooses itself; for experiments. All zero: it chooses. */
typedef enum { CHOICE_DEFAULT, CHOICE_YES, CHOICE_NO } Choice;
typedef struct {
    const char *variant; /* name of one of the chapter's variants */
    int tile_group;      /* tile rows walked together (tile_order.h) */
    Choice meet;         /* do producers meet before each tile? */
} Tuning;

/* What of it a chapter heeds beside the variant. */
enum { CHOOSES_TILE_GROUP = 1, CHOOSES_MEET = 2, CHOOSES_BY_PLAN = 4 /* on a GPU, by measuring: plan.h */ };

#endif
