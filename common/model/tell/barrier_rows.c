/* barrier_rows.c - see barrier_rows.h. */
#include "barrier_rows.h"

#include <stdio.h>

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

void barrier_row(const Barrier *b, MbarrierChange how, long long amount) {
    char name[PHRASE_SIZE], text[64] = "";
    if (!device.options.barriers) {
        return;
    }
    switch (how) {
    case MBARRIER_INIT: snprintf(text, sizeof text, "init"); break;
    case MBARRIER_ARRIVE:
        snprintf(text, sizeof text, "arrive");
        if (amount > 1) {
            snprintf(text, sizeof text, "arrive %lld", amount);
        }
        break;
    case MBARRIER_ARRIVE_REMOTE: snprintf(text, sizeof text, "arrive from CTA %lld", amount); break;
    case MBARRIER_EXPECT: snprintf(text, sizeof text, "expect_tx %lld", amount); break;
    case MBARRIER_ARRIVE_EXPECT: snprintf(text, sizeof text, "arrive.expect_tx %lld", amount); break;
    case MBARRIER_LANDED: snprintf(text, sizeof text, "%lld bytes landed", amount); break;
    case MBARRIER_COMPLETE: snprintf(text, sizeof text, "phase complete"); break;
    case MBARRIER_WAIT: snprintf(text, sizeof text, "wait, parity %lld", amount); break;
    case MBARRIER_ASKED:
        snprintf(text, sizeof text, "asked, parity %lld: %s", amount / 2, amount % 2 ? "yes" : "no");
        break;
    }
    print_head();
    printf("%8llu %4d %-12s %-24s %6llu  %9d %9d  %9llu %9llu\n", (unsigned long long)device.step, b->cta->block,
           barrier_text(b, name), text, (unsigned long long)b->phase, b->expected, b->expected - b->pending,
           (unsigned long long)b->announced, (unsigned long long)b->brought);
}
