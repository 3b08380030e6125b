/* vectors.h - the file of recorded results. Text, so that a change of the hardware's behaviour shows in a diff:
 *
 *     # comment
 *     case tma load_none_inside 6b1e0c52 ok 2049
 *     100 dddd*8 1+8 ...
 *
 * A case line has the group, the name, the digest of the case's parameters (cases.h), what happened (ok, hang, trap)
 * and the number of 16-bit words that follow, in hex: "a" is one word, "a*n" the same n times, "a+n" n words that count
 * up from a; n is decimal. */
#ifndef CONFORM_VECTORS_H
#define CONFORM_VECTORS_H

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { CASE_OK, CASE_HANG, CASE_TRAP, CASE_STATUSES } CaseStatus;

static inline const char *case_status_name(CaseStatus status) {
    static const char *const names[CASE_STATUSES] = {"ok", "hang", "trap"};
    return names[status];
}

static inline void write_vector(FILE *file, const char *group, const char *name, uint32_t digest, CaseStatus status,
                                const uint16_t *words, int count) {
    fprintf(file, "case %s %s %08x %s %d\n", group, name, digest, case_status_name(status), count);
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

typedef struct {
    char group[32], name[64];
    uint32_t digest;
    CaseStatus status;
    int count;
    uint16_t *words;
} Vector;

typedef struct {
    int count;
    Vector *vectors;
    char fault[200]; /* empty, or what is wrong with the file */
} VectorFile;

/* Next token of at most size - 1 characters; the comment lines in between are skipped. 0 at the end of the file. */
static inline int next_token(FILE *file, char *token, int size, int *line) {
    int c, n = 0;
    while ((c = fgetc(file)) != EOF && (isspace(c) || c == '#')) {
        while (c == '#' && (c = fgetc(file)) != EOF && c != '\n') {
            c = '#';
        }
        *line += c == '\n';
    }
    for (; c != EOF && !isspace(c) && n < size - 1; c = fgetc(file)) {
        token[n++] = (char)c;
    }
    *line += c == '\n';
    token[n] = '\0';
    return n > 0;
}

/* Reads a file of vectors; count 0 and no fault if there is none. The caller frees with free_vectors(). */
static inline VectorFile read_vectors(const char *path) {
    VectorFile all = {0, NULL, ""};
    FILE *file = fopen(path, "r");
    char token[128];
    int line = 1;
    if (file == NULL) {
        return all;
    }
    int more = next_token(file, token, sizeof token, &line);
    while (more && all.fault[0] == '\0') {
        Vector v;
        char digest[16], status[16], *digest_end;
        memset(&v, 0, sizeof v);
        int case_line = line;
        if (strcmp(token, "case") != 0 || !next_token(file, v.group, sizeof v.group, &line) ||
            !next_token(file, v.name, sizeof v.name, &line) || !next_token(file, digest, sizeof digest, &line) ||
            !next_token(file, status, sizeof status, &line) || !next_token(file, token, sizeof token, &line)) {
            snprintf(all.fault, sizeof all.fault, "%s:%d: a case line is expected here, not \"%.20s\"", path, case_line,
                     token);
            break;
        }
        int count = atoi(token), at = 0;
        for (v.status = CASE_OK; v.status < CASE_STATUSES && strcmp(status, case_status_name(v.status)) != 0;) {
            v.status = (CaseStatus)(v.status + 1);
        }
        v.digest = (uint32_t)strtoul(digest, &digest_end, 16);
        if (v.status == CASE_STATUSES || count < 0 || count > 1 << 24 || strlen(digest) != 8 || *digest_end != '\0') {
            snprintf(all.fault, sizeof all.fault, "%s:%d: case %s: bad digest, status or word count", path, case_line,
                     v.name);
            break;
        }
        v.words = (uint16_t *)calloc((size_t)count + 1, sizeof(uint16_t));
        v.count = count;
        while ((more = next_token(file, token, sizeof token, &line)) && strcmp(token, "case") != 0) {
            char *end;
            unsigned long word = strtoul(token, &end, 16);
            char kind = *end;
            int n = kind == '\0' ? 1 : atoi(end + 1);
            if (end == token || word > 0xffff || n < 1 || n > count - at ||
                (kind != '\0' && kind != '*' && kind != '+')) {
                snprintf(all.fault, sizeof all.fault, "%s:%d: case %s: bad word \"%.20s\", or more than %d words", path,
                         line, v.name, token, count);
                break;
            }
            for (int i = 0; i < n; i++) {
                v.words[at++] = (uint16_t)(kind == '+' ? word + (unsigned long)i : word);
            }
        }
        if (all.fault[0] == '\0' && at != count) {
            snprintf(all.fault, sizeof all.fault, "%s:%d: case %s has %d words instead of %d", path, case_line, v.name,
                     at, count);
        }
        all.vectors = (Vector *)realloc(all.vectors, (size_t)(all.count + 1) * sizeof(Vector));
        all.vectors[all.count++] = v;
    }
    fclose(file);
    if (all.count == 0 && all.fault[0] == '\0') {
        snprintf(all.fault, sizeof all.fault, "%s holds no case", path);
    }
    return all;
}

static inline void free_vectors(VectorFile *all) {
    for (int i = 0; i < all->count; i++) {
        free(all->vectors[i].words);
    }
    free(all->vectors);
    all->vectors = NULL;
    all->count = 0;
}

static inline const Vector *find_vector(const VectorFile *all, const char *group, const char *name) {
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->vectors[i].group, group) == 0 && strcmp(all->vectors[i].name, name) == 0) {
            return &all->vectors[i];
        }
    }
    return NULL;
}

#endif
