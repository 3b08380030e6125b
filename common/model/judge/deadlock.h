/* deadlock.h - when no thread can go on: who waits for what, and who should have brought it. */
#ifndef DEADLOCK_H
#define DEADLOCK_H

/* Reports and ends the launch. */
void report_deadlock(void) __attribute__((noreturn));

#endif
