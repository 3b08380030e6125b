/* vectors.h - the file of recorded results. Text, so that a change of the hardware's behaviour shows in a diff:
 *
 *     # comment
 *     case tma load_none_inside ok 2049
 *     100 dddd*8 1+8 ...
 *
 * A case line has the group, the name, what happened (ok, hang, trap) and the number of 16-bit words that follow, in
 * hex: "a" is one word, "a*n" the same n times, "a+n" n words that count up from a; n is decimal. A longer line than
 * 120 columns goes on in the next one. The recorder and the replay write it by one function, so their texts can be
 * compared. */
#ifndef CONFORM_VECTORS_H
#define CONFORM_VECTORS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef enum { CASE_OK, CASE_HANG, CASE_TRAP, CASE_STATUSES } CaseStatus;

static inline const char *case_status_name(CaseStatus status) {
    static const char *const names[CASE_STATUSES] = {"ok", "hang", "trap"};
    return names[status];
}

static inline void write_vector(FILE *file, const char *group, const char *name, CaseStatus status,
                                const uint16_t *words, int count) {
    fprintf(file, "case %s %s %s %d\n", group, name, case_status_name(status), count);
    int column = 0;
    for (int i = 0; i < count;) {
        int same = 1, up = 1;
        while (i + same < count && words[i + same] == words[i]) {
            same++;
        }
        while (i + up < count && words[i + up] == (uint16_t)(words[i] + up)) {
            up++;
        }
        int length = same > up ? same : up;
        char token[32];
        if (length < 3) {
            length = 1;
            snprintf(token, sizeof token, "%x", words[i]);
        } else {
            snprintf(token, sizeof token, "%x%c%d", words[i], same > up ? '*' : '+', length);
        }
        if (column > 0 && column + 1 + (int)strlen(token) > 120) {
            fputc('\n', file);
            column = 0;
        }
        column += fprintf(file, "%s%s", column > 0 ? " " : "", token);
        i += length;
    }
    if (count > 0) {
        fputc('\n', file);
    }
}

#endif
