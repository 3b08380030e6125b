/* cases.c - runs the cases of cases.h under every policy with several seeds. TAP. What a case is expected to say, it
 * must say in each run; and where the numbers differ from schedule to schedule, each run must say that they may.
 *
 *     cases                one seed for each policy, of a third of the cases five, of others at each commit (TURN);
 *                          TIER=long: 10, and of right kernels 30, which makes more than 20,000 launches of these
 *     cases 25             25 of them
 *     cases 25 ring        only cases whose name contains "ring"
 *     cases 25 ring right  of these only the right ones
 *     cases ring 2         prints the reports of such cases under policy 2 (0 if left out) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/model/event.h"
#include "../unit/tap.h"
#include "cases.h"

enum { POLICIES = 4 };
static const char *const policy_names[POLICIES] = {"eager", "lazy", "random", "pct"};

static unsigned launches; /* of right kernels */
static int of_right;
ON(first, LAUNCH_BEGIN) { launches += (unsigned)of_right; }

static void check(const Case *c, int seeds) {
    char seen[400] = "";
    int bad = 0, named = 0, claims = 0;
    int in_some = c->rule != NULL && c->rule[0] == '?', any = in_some && c->rule[1] == '\0';
    seeds = in_some ? 24 : seeds;
    const int runs = 2 + 2 * seeds;
    of_right = c->rule == NULL;
    if (c->rule != NULL && c->rule[0] == '#') {
        skip(c->name, c->rule + 2);
        return;
    }
    for (int run = 0; run < runs; run++) {
        int policy = run < MODEL_RANDOM ? run : MODEL_RANDOM + run % 2, seed = run < MODEL_RANDOM ? 0 : run / 2 - 1;
        ModelOptions options = {.policy = policy, .seed = (unsigned)seed, .quiet = 1};
        options.chain = is_chain(c);
        options.count = is_counted(c);
        model_forget_depends();
        int status = run_case(c, &options);
        int found = c->rule == NULL     ? status == 0 && model_reports() == 0
                    : c->rule[0] == '=' ? status == 1 && model_reports() == 0 && model_sums() != NULL
                                        : any && status != 0;
        size_t length = strlen(seen);
        int first = c->rule != NULL && c->rule[0] == '^';
        for (int i = 0; i < model_reports() && (i == 0 || !first); i++) {
            const char *name = model_rule_name(model_report(i)->rule);
            found |= c->rule != NULL && strcmp(name, rule_of(c)) == 0 && status == 4;
        }
        named += found;
        claims += model_depends() == NULL;
        if (!found && !in_some) {
            bad++;
            snprintf(seen + length, sizeof seen - length, " [%s %d: status %d", policy_names[policy], seed, status);
            for (int i = 0; i < model_reports(); i++) {
                length = strlen(seen);
                snprintf(seen + length, sizeof seen - length, " %s", model_rule_name(model_report(i)->rule));
            }
            length = strlen(seen);
            snprintf(seen + length, sizeof seen - length, "]");
        }
    }
    if (in_some) {
        ok(named > (any ? runs / 8 : 0) && named < runs && (!any || claims == 0),
           "%s: %s in %d of %d schedules, and %d of them say that others may differ", c->name, c->rule, named, runs,
           runs - claims);
    } else if (!ok(bad == 0, "%s: %s", c->name, c->rule != NULL ? c->rule : "right, no report")) {
        diag("in %d of %d runs:%s", bad, runs, seen);
    }
}

static void show(const Case *c, int policy) {
    ModelOptions options = {.policy = policy, .chain = is_chain(c), .count = is_counted(c)};
    int status = run_case(c, &options);
    printf("%s: status %d, expected %s\n", c->name, status, c->rule != NULL ? c->rule : "no report");
}

int main(int argc, char **argv) {
    const char *tier = getenv("TIER");
    int is_long = argc <= 1 && tier != NULL && strcmp(tier, "long") == 0;
    int seeds = argc > 1 ? atoi(argv[1]) : is_long ? 10 : 1, from = seeds > 0 ? 2 : 1;
    unsigned turn = argc <= 1 && getenv("TURN") != NULL ? (unsigned)atoi(getenv("TURN")) : 1;
    const char *part = argc > from ? argv[from] : "", *more = argc > from + 1 ? argv[from + 1] : "";
    int policy = more[0] != '\0' ? more[0] - '0' : 0, only_right = strcmp(more, "right") == 0;
    EACH_CASE(c) {
        if (strstr((*c)->name, part) == NULL || (only_right && (*c)->rule != NULL)) {
            continue;
        }
        if (seeds > 0) {
            check(*c, is_long && (*c)->rule == NULL ? 30 : argc <= 1 && !is_long && turn++ % 3 == 0 ? 5 : seeds);
        } else {
            show(*c, policy);
        }
    }
    if (is_long) {
        ok(launches > 20000, "%u launches of right kernels", launches);
    } else if (seeds > 0) {
        printf("# %u launches of right kernels\n", launches);
    }
    model_shutdown();
    return seeds > 0 ? tap_done() : 0;
}
