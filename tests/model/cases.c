/* cases.c - runs the cases of cases.h under every policy with several seeds. TAP.
 *
 *     cases                one seed for each policy; TIER=long: three, and of right kernels 30, which makes more than
 *                          20,000 launches of these
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
    int bad = 0, named = 0, runs = 2 + 2 * seeds, in_some = c->rule != NULL && c->rule[0] == '?';
    of_right = c->rule == NULL;
    if (c->rule != NULL && c->rule[0] == '#') {
        skip(c->name, c->rule + 2);
        return;
    }
    for (int policy = 0; policy < POLICIES; policy++) {
        for (int seed = 0; seed < (policy < MODEL_RANDOM ? 1 : seeds); seed++) { /* the others know none */
            ModelOptions options = {.policy = policy, .seed = (unsigned)seed, .quiet = 1};
            options.chain = is_chain(c);
            options.count = is_counted(c);
            int status = run_case(c, &options);
            int found = c->rule == NULL
                            ? status == 0 && model_reports() == 0
                            : c->rule[0] == '=' && status == 1 && model_reports() == 0 && model_sums() != NULL;
            size_t length = strlen(seen);
            int first = c->rule != NULL && c->rule[0] == '^';
            for (int i = 0; i < model_reports() && (i == 0 || !first); i++) {
                const char *name = model_rule_name(model_report(i)->rule);
                found |= c->rule != NULL && strcmp(name, rule_of(c)) == 0 && status == 4;
            }
            named += found;
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
    }
    if (!ok(bad == 0 && named > 0, "%s: %s", c->name, c->rule != NULL ? c->rule : "right, no report")) {
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
    int seeds = argc > 1 ? atoi(argv[1]) : is_long ? 3 : 1, from = seeds > 0 ? 2 : 1;
    const char *part = argc > from ? argv[from] : "", *more = argc > from + 1 ? argv[from + 1] : "";
    int policy = more[0] != '\0' ? more[0] - '0' : 0, only_right = strcmp(more, "right") == 0;
    EACH_CASE(c) {
        if (strstr((*c)->name, part) == NULL || is_for_explorer(*c) || (only_right && (*c)->rule != NULL)) {
            continue;
        }
        if (seeds > 0) {
            check(*c, is_long && (*c)->rule == NULL ? 40 : seeds);
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
