/* vectors.h - the file of recorded results. Text, so that a change of the hardware's behaviour shows in a diff:
 *
 *     # comment
 *     case tma load_none_inside 6b1e0c52 ok 2049
 *     100 dddd*8 1+8 ...
 *
 * A case line has the group, the name, the digest of the case's parameters (covered.h), what happened (ok, hang, trap)
 * and the number of 16-bit words that follow, in hex: "a" is one word, "a*n" the same n times, "a+n" n words that count
 * up from a; n is decimal. */
#ifndef CONFORM_VECTORS_H
#define CONFORM_VECTORS_H

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

/* One more word, or n of them, from a token; 0 if it is none or there are too many. */
static inline int add_words(Vector *v, int *at, const char *token) {
    char *end;
    unsigned long word = strtoul(token, &end, 16);
    char kind = *end;
    int n = kind == '\0' ? 1 : atoi(end + 1);
    if (end == token || word > 0xffff || n < 1 || n > v->count - *at || (kind != '\0' && kind != '*' && kind != '+')) {
        return 0;
    }
    for (int i = 0; i < n; i++) {
        v->words[(*at)++] = (uint16_t)(kind == '+' ? word + (unsigned long)i : word);
    }
    return 1;
}

/* The line that begins a case; 0 if it is not whole. */
static inline int begin_case(Vector *v, const char *line) {
    char status[16];
    int digest = 0, behind = 0, length = 0;
    memset(v, 0, sizeof *v);
    if (sscanf(line, "case %31s %63s %n%8x%n %15s %d %n", v->group, v->name, &digest, &v->digest, &behind, status,
               &v->count, &length) != 5 ||
        behind - digest != 8 || line[length] != '\0' || v->count < 0 || v->count > 1 << 24) {
        return 0;
    }
    while (v->status < CASE_STATUSES && strcmp(status, case_status_name(v->status)) != 0) {
        v->status = (CaseStatus)(v->status + 1);
    }
    v->words = (uint16_t *)calloc((size_t)v->count + 1, sizeof(uint16_t));
    return v->status < CASE_STATUSES;
}

/* Reads and closes a file of vectors; count 0 and no fault if it is NULL. The caller frees with free_vectors(). */
static inline VectorFile read_vectors(FILE *file, const char *path) {
    VectorFile all = {0, NULL, ""};
    char line[512];
    int at = 0, whole = 1;
    while (file != NULL && whole && fgets(line, sizeof line, file) != NULL) {
        Vector *last = all.count > 0 ? &all.vectors[all.count - 1] : NULL;
        if (strncmp(line, "case ", 5) == 0) {
            whole = last == NULL || at == last->count;
            all.vectors = (Vector *)realloc(all.vectors, (size_t)(all.count + 1) * sizeof(Vector));
            whole = begin_case(&all.vectors[all.count++], line) && whole;
            at = 0;
        } else if (line[0] != '#') {
            for (char *token = strtok(line, " \n"); token != NULL && whole; token = strtok(NULL, " \n")) {
                whole = last != NULL && add_words(last, &at, token);
            }
        }
    }
    whole = whole && all.count > 0 && at == all.vectors[all.count - 1].count;
    if (file != NULL) {
        if (!whole) {
            snprintf(all.fault, sizeof all.fault, "%s is damaged at case %s", path,
                     all.count > 0 ? all.vectors[all.count - 1].name : "1");
        }
        fclose(file);
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
