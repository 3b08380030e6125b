/* tap.h - test programs print TAP: one line `ok` or `not ok` for each check on stdout, and what went wrong on stderr.
 *
 *     int main(void) {
 *         is_int(1 + 1, 2, "one and one");
 *         return tap_done();
 *     } */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

/* One check; `name` is a printf format. Returns `passed`. */
__attribute__((format(printf, 2, 3))) static inline int ok(int passed, const char *name, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    printf("%s %d - %s\n", passed ? "ok" : "not ok", ++tap_count, text);
    fflush(stdout); /* whole lines, in order with those on stderr */
    if (!passed) {
        tap_failed++;
        fprintf(stderr, "# failed: %s\n", text);
    }
    return passed;
}

/* A line about the last failure. Returns 0, so that what finds a failure can end with `return diag(...)`. */
__attribute__((format(printf, 1, 2))) static inline int diag(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("#   ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return 0;
}

static inline int is_int(long long got, long long expected, const char *name) {
    return ok(got == expected, "%s", name) ||
           diag("got %lld (0x%llx), expected %lld (0x%llx)", got, got, expected, expected);
}

static inline int contains(const char *text, const char *part, const char *name) {
    return ok(strstr(text, part) != NULL, "%s", name) || diag("\"%s\" does not contain \"%s\"", text, part);
}

/* One check that cannot be made here. */
static inline void skip(const char *name, const char *reason) {
    printf("ok %d - %s # SKIP %s\n", ++tap_count, name, reason);
    fflush(stdout);
}

/* The whole program has nothing to do here. */
static inline void skip_all(const char *reason) {
    printf("1..0 # SKIP %s\n", reason);
    exit(0);
}

/* The plan, and the exit status of main(). */
static inline int tap_done(void) {
    printf("1..%d\n", tap_count);
    return tap_failed > 0;
}

#endif
