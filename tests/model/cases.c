/* cases.c - runs the cases of cases.h under every policy with several seeds. TAP.
 *
 *     cases          one seed for each policy; TIER=long: three
 *     cases 25       25 of them
 *     cases 25 ring  only cases whose name contains "ring"
 *     cases ring 2   prints the reports of such cases under policy 2 (0 if left out) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/tap.h"
#include "cases.h"

enum { POLICIES = 4 };
static const char *const policy_names[POLICIES] = {"eager", "lazy", "random", "pct"};

static void check(const Case *c, int seeds) {
    char seen[400] = "";
    int bad = 0;
    if (c->rule != NULL && c->rule[0] == '#') {
        skip(c->name, c->rule + 2);
        return;
    }
    for (int policy = 0; policy < POLICIES; policy++) {
        for (int seed = 0; seed < seeds; seed++) {
            ModelOptions options = {.policy = policy, .seed = (unsigned)seed, .quiet = 1, .chain = is_chain(c)};
            int status = run_case(c, &options);
            int found = c->rule == NULL     ? status == 0 && model_reports() == 0
                        : c->rule[0] == '=' ? status == 1 && model_reports() == 0 && model_sums() != NULL
                                            : c->rule[0] == '*' && status == 4;
            size_t length = strlen(seen);
            int first = c->rule != NULL && c->rule[0] == '^';
            for (int i = 0; i < model_reports() && (i == 0 || !first); i++) {
                const char *name = model_rule_name(model_report(i)->rule);
                found |= c->rule != NULL && strcmp(name, c->rule + first) == 0 && status == 4;
            }
            if (!found) {
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
    if (!ok(bad == 0, "%s: %s", c->name, c->rule != NULL ? c->rule : "right, no report")) {
        diag("in %d of %d runs:%s", bad, POLICIES * seeds, seen);
    }
}

static void show(const Case *c, int policy) {
    ModelOptions options = {.policy = policy, .chain = is_chain(c)};
    int status = run_case(c, &options);
    printf("%s: status %d, expected %s\n", c->name, status, c->rule != NULL ? c->rule : "no report");
}

int main(int argc, char **argv) {
    const char *tier = getenv("TIER");
    int seeds = argc > 1 ? atoi(argv[1]) : tier != NULL && strcmp(tier, "long") == 0 ? 3 : 1, from = seeds > 0 ? 2 : 1;
    const char *part = argc > from ? argv[from] : "";
    int policy = argc > from + 1 ? argv[from + 1][0] - '0' : 0;
    EACH_CASE(c) {
        if (strstr((*c)->name, part) == NULL || is_for_explorer(*c)) {
            continue;
        }
        if (seeds > 0) {
            check(*c, seeds);
        } else {
            show(*c, policy);
        }
    }
    model_shutdown();
    return seeds > 0 ? tap_done() : 0;
}
