/* cases.c - runs the cases of cases.h under every policy with several seeds. TAP; arguments choose cases by a part of
 * their name and print the reports. */
#include <stdio.h>
#include <string.h>

#include "../../common/model/model_host.h"
#include "../unit/tap.h"
#include "cases.h"

enum { POLICIES = 4, SEEDS = 3 };
static const char *const policy_names[POLICIES] = {"eager", "lazy", "random", "pct"};

static void check(const Case *c) {
    char seen[400] = "";
    int bad = 0;
    if (c->rule != NULL && c->rule[0] == '#') {
        skip(c->name, c->rule + 2);
        return;
    }
    for (int policy = 0; policy < POLICIES; policy++) {
        for (int seed = 0; seed < SEEDS; seed++) {
            ModelOptions options = {.policy = policy, .seed = (unsigned)seed, .quiet = 1};
            model_configure(&options);
            model_forget_reports();
            int status = c->run(c->bug);
            int found = c->rule == NULL ? status == 0 && model_reports() == 0 : 0;
            size_t length = strlen(seen);
            for (int i = 0; i < model_reports(); i++) {
                const char *name = model_rule_name(model_report(i)->rule);
                found |= c->rule != NULL && strcmp(name, c->rule) == 0 && status == 4;
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
        diag("in %d of %d runs:%s", bad, POLICIES * SEEDS, seen);
    }
}

static void show(const Case *c, int policy) {
    ModelOptions options = {.policy = policy};
    model_configure(&options);
    int status = c->run(c->bug);
    printf("%s: status %d, expected %s\n", c->name, status, c->rule != NULL ? c->rule : "no report");
}

static void each(const Case *cases, int count, int argc, char **argv) {
    for (int i = 0; i < count; i++) {
        if (argc < 2) {
            check(&cases[i]);
        } else if (strstr(cases[i].name, argv[1]) != NULL) {
            show(&cases[i], argc > 2 ? argv[2][0] - '0' : 0);
        }
    }
}

int main(int argc, char **argv) {
#define LIST(name) each(name##_cases, name##_case_count, argc, argv);
    CASE_LISTS(LIST)
#undef LIST
    model_shutdown();
    return argc < 2 ? tap_done() : 0;
}
