/* count_pattern.h - between kernels_count.c, which is compiled as a chapter is, and internals.c. */
#ifndef COUNT_PATTERN_H
#define COUNT_PATTERN_H

/* Lane l copies `bytes` bytes (4, 8 or 16) from l * `from` of a buffer in global memory to l * stride in shared memory,
 * `repeat` times, one after the other. Lanes from `lanes` on return before. Then, if `matrix`, the whole warp executes
 * an ldmatrix on those rows. */
typedef struct {
    int bytes, from, stride, repeat, lanes, matrix;
} CountPattern;

/* 0, or the status of the launch. */
int run_count_pattern(CountPattern pattern);

#endif
