/* bug_report.c - writes reports, counts them, and ends a launch that has had enough of them.
 *
 *     model: RACE_WAR: Write to data that may still be read
 *       now      07.cu:88: TMA load ... by CTA 0 warp 0 lane 0 (producer)
 *                    tma_load_2d(...);
 *       before   07.cu:104: ...
 *       barrier  ...
 *       on a GPU ...
 *       replay   --policy random --schedule-seed 7
 *       more     book/rules.md#race_war
 *
 * A report is kept in lines of any length, and folded when it is printed. */
#include "bug_report.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/schedule.h"
#include "../place/place.h"

enum {
    FULL_REPORTS = 3,
    MAX_REPORTS = 10,
    /* Columns: the width of a page; where a text begins after its label, where it continues, where source begins. */
    PAGE = 100,
    TEXT_AT = 11,
    CONTINUED_AT = TEXT_AT + 2,
    SOURCE_AT = TEXT_AT + 4,
};

static const struct {
    const char *name, *title, *gpu;
} rules[] = {
#define RULE(id, title, gpu) {#id, title, gpu},
#include "../rules.h"
#undef RULE
};

static const char *const policies[] = {"eager", "lazy", "random", "pct"};

static struct {
    ModelReport *list;
    int count, capacity;
    char text[REPORT_SIZE];
    size_t length;
    ModelRule rule;
    int in_launch;         /* printed */
    int again[RULE_COUNT]; /* times a rule was met in this launch */
} reports;

const char *model_rule_name(ModelRule rule) { return (unsigned)rule < RULE_COUNT ? rules[rule].name : NULL; }
int model_reports(void) { return reports.count; }
const ModelReport *model_report(int index) { return index >= 0 && index < reports.count ? &reports.list[index] : NULL; }

void model_forget_reports(void) {
    for (int i = 0; i < reports.count; i++) {
        free((char *)reports.list[i].text);
    }
    free(reports.list);
    memset(&reports, 0, sizeof reports);
}

int report_count(void) { return reports.in_launch; }

ON(bug_report, LAUNCH_BEGIN) {
    reports.in_launch = 0;
    memset(reports.again, 0, sizeof reports.again);
}

/* How many were left out. */
ON(bug_report, LAUNCH_END) {
    for (int rule = 0; rule < RULE_COUNT && !device.options.quiet; rule++) {
        if (reports.again[rule] > 1) {
            fprintf(stderr, "model: %s was met %d more times in this launch\n", rules[rule].name,
                    reports.again[rule] - 1);
        }
    }
}

int report_begin(ModelRule rule) {
    if (reports.again[rule]++ > 0) {
        return 0;
    }
    reports.rule = rule;
    reports.length = 0;
    reports.length +=
        (size_t)snprintf(reports.text, sizeof reports.text, "model: %s: %s\n", rules[rule].name, rules[rule].title);
    return 1;
}

void report_begin_last(ModelRule rule) {
    if (!report_begin(rule)) {
        model_stop();
    }
}

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(reports.text + reports.length, sizeof reports.text - reports.length, format, arguments);
    va_end(arguments);
    reports.length += (size_t)n;
    if (reports.length >= sizeof reports.text) {
        reports.length = sizeof reports.text - 1;
    }
}

void report_line(const char *label, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    append("  %-9s%s\n", label, text);
}

void report_place(const char *label, const Thread *t, Site site, const char *what) {
    char who[PHRASE_SIZE] = "";
    report_place_of(label, t != NULL ? thread_text(t, who) : who, site, what);
}

void report_place_of(const char *label, const char *who, Site site, const char *what) {
    char source[256];
    append("  %-9s%s: %s%s%s\n", label, place_text(site), what, *who != '\0' ? " by " : "", who);
    if (site_source(site, source, sizeof source)[0] != '\0') {
        append("%*s%s\n", SOURCE_AT, "", source);
    }
}

void report_barrier(const Barrier *b) {
    char cta[PHRASE_SIZE];
    report_line("barrier",
                "%s of %s: phase %llu, %d of %d arrivals pending, tx-count %lld (announced %llu, brought %llu)",
                barrier_text(b, PHRASE), cta_text(b->cta, cta), b->phase, b->pending, b->expected, b->tx, b->announced,
                b->brought);
}

/* ---- on paper ---------------------------------------------------------------------------------------------------- */

/* The bytes of text that fit into `columns`: up to the last blank after the first `least`, or up to the next one if a
 * word is longer. */
static size_t fitting(const char *text, size_t length, size_t columns, size_t least) {
    size_t end = columns;
    if (length <= columns) {
        return length;
    }
    while (end > least && text[end] != ' ') {
        end--;
    }
    for (end = end > least ? end : columns; end < length && text[end] != ' ';) {
        end++;
    }
    return end;
}

/* Prints a line. A text that is too long is folded, and a line of source is cut. */
static void print_line(const char *line, size_t length) {
    if (strspn(line, " ") >= SOURCE_AT) {
        const int cut = length > PAGE;
        fprintf(stderr, "%.*s%s\n", cut ? PAGE - 3 : (int)length, line, cut ? "..." : "");
        return;
    }
    size_t bytes = fitting(line, length, PAGE, TEXT_AT);
    fprintf(stderr, "%.*s\n", (int)bytes, line);
    for (size_t at = bytes + 1; at < length; at += bytes + 1) { /* without the blank */
        bytes = fitting(line + at, length - at, PAGE - CONTINUED_AT, 0);
        fprintf(stderr, "%*s%.*s\n", CONTINUED_AT, "", (int)bytes, line + at);
    }
}

/* The first `lines` lines of a report. */
static void print_lines(const char *text, int lines) {
    for (int i = 0; i < lines && *text != '\0'; i++) {
        const size_t length = strcspn(text, "\n");
        print_line(text, length);
        text += length + 1;
    }
}

void report_end(int fatal) {
    append("  %-9s%s\n", "on a GPU", rules[reports.rule].gpu);
    const Thread *t = current_thread();
    append("  %-9skernel %s, --policy %s --schedule-seed %llu, step %llu\n", "replay",
           t != NULL ? launch_of(t->cta)->name : device.launch->name, policies[device.options.policy],
           device.options.seed, device.step);
    append("  %-9sbook/rules.md#", "more");
    for (const char *p = rules[reports.rule].name; *p != '\0'; p++) {
        append("%c", tolower((unsigned char)*p));
    }
    append("\n");
    if (!device.options.quiet) {
        fflush(stdout);
        /* What follows a bug is mostly its consequence: named, but not told in full. */
        print_lines(reports.text, reports.in_launch < FULL_REPORTS ? INT_MAX : 2);
    }
    reports.list = model_grow(reports.list, reports.count + 1, &reports.capacity, sizeof *reports.list);
    char *copy = model_alloc(reports.length + 1);
    memcpy(copy, reports.text, reports.length + 1);
    reports.list[reports.count++] = (ModelReport){reports.rule, copy};
    reports.in_launch++;
    int limit = device.options.max_reports > 0 ? device.options.max_reports : MAX_REPORTS;
    if (fatal || reports.in_launch >= limit) {
        model_stop();
    }
}

void report_misuse(ModelRule rule, Site site, int fatal, const char *format, ...) {
    char text[1024];
    if (fatal) {
        report_begin_last(rule);
    } else if (!report_begin(rule)) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report_place("now", NULL, site, text);
    if (current_thread() != NULL) {
        report_line("by", "%s", thread_text(current_thread(), PHRASE));
    }
    report_end(fatal);
}

void report_negative(ModelRule rule, Site site, const char *what, int newest) {
    MISUSE_IF(newest < 0, rule, site, 1, "%s(%d): accepted is 0 or more", what, newest);
}

/* ---- phrases ----------------------------------------------------------------------------------------------------- */

/* "" or what the thread's behaviour, or that of its warpgroup, makes it: who has done neither job yet is known by the
 * registers that it takes or gives. Roles exist only in kernels in which nobody does both jobs. */
static const char *thread_role(const Thread *t) {
    const CtaRoles *roles = t->cta->roles;
    int loads = 0, multiplies = 0, group = t->warp->warpgroup->id;
    for (int i = 0; i < t->cta->threads && roles->known; i++) {
        if (roles->thread[i].loads && roles->thread[i].multiplies) {
            return "";
        }
        if (i / WARPGROUP_SIZE == group) {
            loads |= roles->thread[i].loads;
            multiplies |= roles->thread[i].multiplies;
        }
    }
    if (loads && multiplies) { /* a role for each warp */
        return roles->thread[t->id].loads ? "producer" : roles->thread[t->id].multiplies ? "consumer" : "";
    }
    int grown = 0, shrunk = 0;
    for (int i = 0; i < t->cta->warpgroups; i++) {
        grown += roles->grown[i];
        shrunk += roles->shrunk[i];
    }
    int feeds = shrunk == 1 && grown > 0 && roles->shrunk[group];
    return loads || feeds ? "producer" : multiplies || roles->grown[group] ? "consumer" : "";
}

/* "... of device 1", where there are several. */
static const char *on_device(char *text, int length, int number) {
    if (device.devices > 1) {
        snprintf(text + length, PHRASE_SIZE - (size_t)length, " of device %d", number);
    }
    return text;
}

const char *allocation_text(const Allocation *a, char *text) {
    return on_device(text, snprintf(text, PHRASE_SIZE, "%s", a->name), a->device);
}

const char *cta_text(const Cta *cta, char *text) {
    return on_device(text, snprintf(text, PHRASE_SIZE, "CTA %d", cta->block), launch_of(cta)->facts.device);
}

const char *thread_text(const Thread *t, char *text) {
    const char *role = thread_role(t);
    size_t length = strlen(cta_text(t->cta, text));
    snprintf(text + length, PHRASE_SIZE - length, " warp %d lane %d%s%s%s", t->warp->id, t->lane, *role ? " (" : "",
             role, *role ? ")" : "");
    return text;
}

const char *threads_text(const Thread *t, int count, char *text) {
    if (count <= 1) {
        return thread_text(t, text);
    }
    const char *role = thread_role(t);
    char cta[PHRASE_SIZE];
    snprintf(text, PHRASE_SIZE, "%d threads of %.99s (first: warp %d lane %d%s%s)", count, cta_text(t->cta, cta),
             t->warp->id, t->lane, *role ? ", " : "", role);
    return text;
}

const char *barrier_text(const Barrier *b, char *text) {
    int length = snprintf(text, PHRASE_SIZE, "%s", b->array);
    if (b->index >= 0) {
        snprintf(text + length, PHRASE_SIZE - (size_t)length, "[%d]", b->index);
    }
    return text;
}

ON(bug_report, CTA_BEGIN) { cta->roles = cta_alloc(cta, sizeof *cta->roles); }

ON(bug_report, SHUTDOWN) { model_forget_reports(); }
