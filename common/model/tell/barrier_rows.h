/* barrier_rows.h - what --barriers prints: a row for each event of an mbarrier. For event.c. */
#ifndef BARRIER_ROWS_H
#define BARRIER_ROWS_H

#include "../core/state.h"

void barrier_row(const Barrier *b, MbarrierChange how, long long amount);

#endif
