/* barrier_rows.c - what --barriers prints: a row for each event of an mbarrier. */
#include <stdio.h>

#include "../event.h"
#include "../judge/bug_report.h"

static void print_head(void) {
    static uint32_t shown_launch;
    if (shown_launch != device.sets) {
        shown_launch = device.sets;
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "step", "CTA", "barrier", "event", "phase",
               "arrivals:", "", "bytes:", "");
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "", "", "", "", "", "expected", "actual", "expected",
               "actual");
    }
}

static void print_row(const Barrier *b, const char *what) {
    char name[PHRASE_SIZE];
    print_head();
    printf("%8llu %4d %-12s %-24s %6llu  %9d %9d  %9llu %9llu\n", device.step, b->cta->block, barrier_text(b, name),
           what, b->phase, b->expected, b->expected - b->pending, b->announced, b->brought);
}

ON(barrier_rows, MBARRIER_INIT) { print_row(e->barrier, "init"); }
ON(barrier_rows, MBARRIER_COMPLETE) { print_row(e->barrier, "phase complete"); }

ON(barrier_rows, MBARRIER_LANDED) {
    char text[64];
    snprintf(text, sizeof text, "%lld bytes landed", e->amount);
    print_row(e->barrier, text);
}

ON(barrier_rows, MBARRIER_CHANGED) {
    static const char *const format[] = {[MBARRIER_ARRIVE] = "arrive %lld",
                                         [MBARRIER_ARRIVE_REMOTE] = "arrive from CTA %lld",
                                         [MBARRIER_EXPECT] = "expect_tx %lld",
                                         [MBARRIER_ARRIVE_EXPECT] = "arrive.expect_tx %lld",
                                         [MBARRIER_WAIT] = "wait, parity %lld",
                                         [MBARRIER_ASKED_NO] = "asked, parity %lld: no",
                                         [MBARRIER_ASKED_YES] = "asked, parity %lld: yes"};
    char text[64];
    const char *how = e->change == MBARRIER_ARRIVE && e->amount == 1 ? "arrive" : format[e->change];
    snprintf(text, sizeof text, how, e->amount);
    print_row(e->barrier, text);
}
