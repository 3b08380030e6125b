/* laps.h - how often each ring of mbarriers has gone round, and which kernels have run: for event.c. What they have not
 * reached is told by model_unreached() (model_host.h). */
#ifndef LAPS_H
#define LAPS_H

#include "../core/state.h"

void laps_launch_begin(void);
void laps_cta_end(const Cta *cta);
void laps_shutdown(void);

#endif
