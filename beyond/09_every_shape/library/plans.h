/* plans.h - a part of gemm09.cu: plans as a file of text, for gemm09_save_plans() and gemm09_load_plans().
 *
 *     libgemm09 plans 1
 *     card NVIDIA H200, 132 SMs
 *     plan 432 10200 3304 3304 3304 10200 swapped_256x144_cluster_1x2       m n k lda ldb ldc kernel
 *     end 1                                                                 how many plans there are
 *
 * A file counts only if every line is as it should be and the last one is there. */
#ifndef GEMM09_PLANS_H
#define GEMM09_PLANS_H

#define PLANS_FIRST_LINE "libgemm09 plans 1"

/* The next line without its end; 0 if there is none, or if it is longer than a line of plans can be. */
static int read_line(FILE *in, char line[256]) {
    if (fgets(line, 256, in) == NULL || strchr(line, '\n') == NULL) {
        return 0;
    }
    *strchr(line, '\n') = '\0';
    return 1;
}

/* The variant of this name, from 1 on as in Gemm09Problem; 0: there is none. */
static int plan_named(const char *name) {
    int i = variants.count;
    while (i > 0 && strcmp(table[i - 1].name, name) != 0) {
        i--;
    }
    return i;
}

/* Reads a line "plan ..." into *p; 0 and a text if it is not accepted. */
static int read_plan(const char *path, int number, const char *line, Gemm09Problem *p) {
    long long size[6];
    char name[64];
    int end = 0;
    if (sscanf(line, "plan %lld %lld %lld %lld %lld %lld %63s%n", &size[0], &size[1], &size[2], &size[3], &size[4],
               &size[5], name, &end) != 7 ||
        line[end] != '\0') {
        return refused("%s, line %d is \"%.60s\": accepted is plan m n k lda ldb ldc kernel, or end and how many", path,
                       number, line);
    }
    memset(p, 0, sizeof *p);
    p->m = size[0], p->n = size[1], p->k = size[2], p->lda = size[3], p->ldb = size[4], p->ldc = size[5];
    if (!size_is_possible(p->m) || !size_is_possible(p->n) || !size_is_possible(p->k) ||
        !ld_is_possible(p->lda, p->k) || !ld_is_possible(p->ldb, p->k) || !ld_is_possible(p->ldc, p->n)) {
        return refused("%s, line %d: \"%.80s\" has a size that no launch accepts", path, number, line);
    }
    p->plan = plan_named(name);
    return p->plan != 0 ||
           refused("%s, line %d: this library has no kernel %s: measure that problem again", path, number, name);
}

/* Reads an open file; 0 and a text if it is not accepted. `card`: the one that the file must be of; NULL: any. */
static int read_plans(FILE *in, const char *path, const char *card, Gemm09Problem *problems, size_t most,
                      size_t *count) {
    char line[256] = "";
    if (!read_line(in, line) || strcmp(line, PLANS_FIRST_LINE) != 0) {
        return refused("%s is no file of plans: its first line is \"%.40s\", accepted is \"%s\"", path, line,
                       PLANS_FIRST_LINE);
    }
    if (!read_line(in, line) || strncmp(line, "card ", 5) != 0 || (card != NULL && strcmp(line + 5, card) != 0)) {
        return refused("%s, line 2 is \"%.70s\": accepted is card %s", path, line,
                       card != NULL ? card : "and its name");
    }
    *count = 0;
    for (int number = 3; read_line(in, line); number++) {
        if (strncmp(line, "end ", 4) == 0) {
            char expected[32];
            snprintf(expected, sizeof expected, "end %zu", *count);
            return (strcmp(line, expected) == 0 && getc(in) == EOF) ||
                   refused("%s, line %d is \"%.40s\" after %zu plans: accepted is %s, and nothing after it", path,
                           number, line, *count, expected);
        }
        if (*count == most) {
            return refused("%s has more plans than the %zu that there is room for", path, most);
        }
        if (!read_plan(path, number, line, &problems[*count])) {
            return 0;
        }
        *count += 1;
    }
    return refused("%s is cut off after %zu plans: the last line has to say how many there are", path, *count);
}

/* Writes all of the file; 0 if something went wrong. */
static int write_plans(FILE *out, const char *card, const Gemm09Problem *problems, size_t count) {
    int good = fprintf(out, PLANS_FIRST_LINE "\ncard %s\n", card) > 0;
    for (const Gemm09Problem *p = problems; good && p < problems + count; p++) {
        good =
            fprintf(out, "plan %lld %lld %lld %lld %lld %lld %s\n", (long long)p->m, (long long)p->n, (long long)p->k,
                    (long long)p->lda, (long long)p->ldb, (long long)p->ldc, table[p->plan - 1].name) > 0;
    }
    return good && fprintf(out, "end %zu\n", count) > 0;
}

#endif
