/* fault.h - kernels that would end the program by a signal, or run for ever. For model.c. */
#ifndef FAULT_H
#define FAULT_H

/* From now on signals are caught: in a kernel they are reported, elsewhere told in a sentence before the program
 * ends. */
void fault_catch(void);
/* While a launch runs, somebody looks now and then whether anything happens. */
void fault_launch_begin(void);
void fault_launch_end(void);

#endif
