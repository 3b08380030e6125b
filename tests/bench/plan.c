/* plan.c - reads a plan. What the lines may say is in bench.c. */
#include "bench.h"

#include <ctype.h>
#include <errno.h>

/* ---- what is linked ---- */

/* Chapters first, then steps ("08_2_ping_pong"), then the patches that plans name, each an experiment or an exercise.
 * What is not linked is NULL: the program without patches is built in a minute. */
#define EACH_CHAPTER(id) EACH(id, chapter_##id)
#define EACH_STEP(id) EACH(id, chapter_##id)
#define EACH_PATCH(id) EACH(id, experiment_##id) EACH(id, exercise_##id)

#define EACH(id, symbol) extern const Chapter gpu_##symbol __attribute__((weak));
#include "chapters.inc"
#include "steps.inc"
#include "patches.inc"
#undef EACH
#define EACH(id, symbol) {#id, &gpu_##symbol},
static const struct {
    const char *name;
    const Chapter *chapter;
} known[] = {
#include "chapters.inc"
#include "steps.inc"
#include "patches.inc"
};

#define EACH_PEER(id) extern const Chapter gpu_chapter_##id __attribute__((weak));
#define PEERS        \
    EACH_PEER(peer)  \
    EACH_PEER(peer2) \
    EACH_PEER(peer3) EACH_PEER(peer4) EACH_PEER(peer5) EACH_PEER(peer7) EACH_PEER(peer8)
PEERS
#undef EACH_PEER
#define EACH_PEER(id) &gpu_chapter_##id,
static const Chapter *const peers[] = {PEERS};

/* Groups with the CSV's columns of kernels, and of which kind `peers` and `copy` in them are. */
static const struct {
    const char *group;
    Kind kind;
} kernel_groups[] = {{"ladder", KIND_BF16}, {"fp8", KIND_FP8}, {"w4a8", KIND_W4A8}};

/* -1: the group has the columns of variants. */
static int kernel_group(const char *group) {
    int i = (int)(sizeof kernel_groups / sizeof kernel_groups[0]);
    while (--i >= 0 && strcmp(kernel_groups[i].group, group) != 0) {
    }
    return i;
}

/* ---- words ---- */

/* The next of `text`'s parts between separators, without blanks around it; NULL at the end. Writes into the text. */
static char *next_part(char **text, char separator) {
    char *part = *text;
    if (!part) {
        return NULL;
    }
    char *end = strchr(part, separator);
    *text = end ? end + 1 : NULL;
    end = end ? end : part + strlen(part);
    while (end > part && isspace((unsigned char)end[-1])) {
        end--;
    }
    *end = 0;
    return part + strspn(part, " \t");
}

/* Is the word one of the list, which commas separate? NULL lists all. */
static int is_listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ',')) {
            return 1;
        }
    }
    return list == NULL;
}

const char *shape_text(const Shape *shape, char text[48]) {
    snprintf(text, 48, shape->m ? "%d x %d x %d" : "-", shape->m, shape->n, shape->k);
    return text;
}

/* ---- one row ---- */

/* "8192x7168x2048" or "4096". */
static int read_shape(const char *from, const char *word, Shape *shape, char message[OPTIONS_MESSAGE_SIZE]) {
    int *sizes[] = {&shape->m, &shape->n, &shape->k}, parts = 0;
    char copy[64], *rest = copy, *part;
    snprintf(copy, sizeof copy, "%s", word);
    memset(shape, 0, sizeof *shape);
    while ((part = next_part(&rest, 'x')) && parts < 3) {
        uint64_t value;
        if (!parse_number(from, part, 1, MAX_SIZE, &value, message)) {
            return 0;
        }
        *sizes[parts++] = (int)value;
    }
    if (parts == 1) {
        shape->n = shape->k = shape->m;
    } else if (parts != 3 || part) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: \"%.40s\" is no shape; MxNxK or one size is accepted", from, word);
        return 0;
    }
    return 1;
}

/* A list separated by blanks or commas. */
static int read_shapes(const char *from, const char *list, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    char copy[512];
    snprintf(copy, sizeof copy, "%s", list);
    row->shapes = 0;
    for (char *word = strtok(copy, ", \t"); word; word = strtok(NULL, ", \t")) {
        if (row->shapes == MAX_SHAPES) {
            snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: at most %d shapes are accepted", from, MAX_SHAPES);
            return 0;
        }
        if (!read_shape(from, word, &row->shape[row->shapes++], message)) {
            return 0;
        }
    }
    if (row->shapes == 0) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "%s: the list is empty; MxNxK,... is accepted", from);
    }
    return row->shapes > 0;
}

static int read_options(char *words, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    char *argv[32] = {"bench"};
    int argc = 1;
    for (char *word = strtok(words, " \t"); word && argc < 31; word = strtok(NULL, " \t")) {
        if (strcmp(word, "sustained") == 0) {
            row->sustained = 1;
        } else if (strcmp(word, "planned") == 0) {
            row->planned = 1;
        } else {
            argv[argc++] = word;
        }
    }
    if (!parse_options(argc, argv, &row->options, message)) {
        return 0;
    }
    row->data = row->options.data_given ? (DataKind)__builtin_ctz(row->options.data) : DATA_NORMAL;
    return 1;
}

/* The chapter of this number (08), the step of this number (08.2), or the patch of this name: linked or not, but
 * known. */
static int find_chapter(const char *name, Row *row) {
    const size_t length = strlen(name);
    int found = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *of = known[i].name;
        int is_it = length == 2 ? !found && strncmp(of, name, 2) == 0 && !isdigit((unsigned char)of[3])
                    : length == 4 && name[2] == '.' ? strncmp(of, name, 2) == 0 && of[3] == name[3] && of[4] == '_'
                                                    : strcmp(of, name) == 0;
        if (is_it) {
            row->chapter = known[i].chapter ? known[i].chapter : row->chapter;
            found = 1;
        }
    }
    return found;
}

static int read_what(const char *what, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    row->what = RUN_ALONE;
    if (strcmp(what, "mma.sync") == 0) {
        row->alone.kind = ALONE_MMA_SYNC;
    } else if (strcmp(what, "copy") == 0) {
        row->alone.kind = ALONE_COPY;
    } else if (strcmp(what, "wgmma") == 0) {
        row->alone.kind = ALONE_WGMMA;
    } else if (strcmp(what, "cublas") == 0) {
        row->what = RUN_CUBLAS;
    } else if (strcmp(what, "cublaslt") == 0) {
        row->what = RUN_CUBLASLT;
    } else if (strcmp(what, "cublas fp8") == 0 || strcmp(what, "cublaslt fp8") == 0) {
        row->what = RUN_CUBLASLT;
        row->kind = KIND_FP8;
        row->first_choice = strcmp(what, "cublas fp8") == 0;
    } else if (strcmp(what, "peers") == 0) {
        row->what = RUN_CHAPTER;
        row->is_peer = 1;
    } else {
        row->what = RUN_CHAPTER;
        if (!find_chapter(what, row)) {
            snprintf(message, OPTIONS_MESSAGE_SIZE,
                     "\"%.60s\" is nothing that runs; NN, NN.K, NN_name, cublas, cublaslt, cublas fp8, cublaslt fp8, "
                     "wgmma, mma.sync, copy and peers are accepted",
                     what);
            return 0;
        }
        row->kind = row->chapter ? kind_of(row->chapter) : KIND_BF16;
    }
    return 1;
}

/* Reads a line into `row`. other: a row whose shapes are taken where the field is empty, or whatever it says
 * (`always`); NULL: none. */
static int read_row(char *line, const Row *other, int always, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    char *rest = line, *field[6];
    int fields = 0;
    while (fields < 6 && (field[fields] = next_part(&rest, '|'))) {
        fields++;
    }
    if (fields != 5) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "a line has five fields: group | label | what runs | options | shapes");
        return 0;
    }
    memset(row, 0, sizeof *row);
    row->group = field[0];
    row->label = field[1] + (strncmp(field[1], "= ", 2) == 0 ? 2 : 0);
    row->columns = kernel_group(row->group) >= 0 ? OF_KERNELS : OF_VARIANTS;
    if (strchr(row->group, ',') || strchr(row->label, ',')) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "\"%.60s\": names have no comma, they stand in a CSV", row->label);
    } else if (!read_what(field[2], row, message) || !read_options(field[3], row, message)) {
        return 0;
    } else if (row->planned && row->chapter && !(chapter_beyond(row->chapter).choices & CHOOSES_BY_PLAN)) {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "\"planned\": %.60s does not plan; accepted is a chapter that does, as 09", field[2]);
    } else if ((row->what == RUN_ALONE) != (strcmp(field[4], "-") == 0)) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "\"-\" is the shape of what runs alone, and of nothing else");
    } else if (row->what == RUN_ALONE) {
        row->shapes = 1;
    } else if (!other || (field[4][0] && !always)) {
        return read_shapes("shapes", field[4], row, message);
    } else {
        memcpy(row->shape, other->shape, sizeof row->shape);
        row->shapes = other->shapes;
    }
    return message[0] == 0;
}

/* ---- all of them ---- */

/* Appends a row; for `peers` one for each that is linked. */
static int add_row(const Row *row, BenchRows *plan, char message[OPTIONS_MESSAGE_SIZE]) {
    for (size_t i = 0; i < (row->is_peer ? sizeof peers / sizeof peers[0] : 1); i++) {
        int group = kernel_group(row->group);
        if (row->is_peer && (!peers[i] || kind_of(peers[i]) != (group < 0 ? KIND_BF16 : kernel_groups[group].kind))) {
            continue;
        }
        if (plan->rows == MAX_ROWS || (plan->rows > 0 && row->columns != plan->row[0].columns)) {
            snprintf(message, OPTIONS_MESSAGE_SIZE,
                     plan->rows == MAX_ROWS ? "too many rows"
                                            : "groups of kernels and other groups have plans of their own");
            return 0;
        }
        Row *next = &plan->row[plan->rows++];
        *next = *row;
        if (row->is_peer) {
            next->chapter = peers[i];
            next->kind = kind_of(peers[i]);
            next->label = peers[i]->name;
        }
    }
    return 1;
}

static int read_lines(const Wanted *wanted, FILE *in, const char *path, BenchRows *plan) {
    static Row row, given, last;
    char text[512], message[OPTIONS_MESSAGE_SIZE] = "";
    if (wanted->shapes && !read_shapes("--shapes", wanted->shapes, &given, message)) {
        fprintf(stderr, "bench: %s\n", message);
        return 0;
    }
    for (int number = 1; fgets(text, sizeof text, in); number++) {
        if (text[0] == '#' || text[strspn(text, " \t\n")] == 0) {
            continue;
        }
        char *line = strdup(text); /* rows point into it */
        const Row *other = wanted->shapes ? &given : last.group ? &last : NULL;
        if (!read_row(line, other, wanted->shapes != NULL, &row, message) || !add_row(&row, plan, message)) {
            fprintf(stderr, "bench: %s:%d: %s\n", path, number, message);
            return 0;
        }
        last = row;
    }
    return 1;
}

/* Drops the rows that are not wanted. Every word of the lists must be some row's. */
static int filter(const Wanted *wanted, BenchRows *plan) {
    const char *option[] = {"--only", "--kernels"}, *list[] = {wanted->only, wanted->kernels};
    for (int which = 0; which < 2; which++) {
        char copy[512], *rest = copy, *word;
        int kept = 0;
        snprintf(copy, sizeof copy, "%s", list[which] ? list[which] : "");
        while (list[which] && (word = next_part(&rest, ','))) {
            int found = 0;
            for (int i = 0; i < plan->rows; i++) {
                found |= strcmp(which == 0 ? plan->row[i].group : plan->row[i].label, word) == 0;
            }
            if (!found) {
                fprintf(stderr, "bench: %s: \"%.60s\" is not in the plan; --list shows what is\n", option[which], word);
                return 0;
            }
        }
        for (int i = 0; i < plan->rows; i++) {
            if (is_listed(list[which], which == 0 ? plan->row[i].group : plan->row[i].label)) {
                plan->row[kept++] = plan->row[i];
            }
        }
        plan->rows = kept;
    }
    return 1;
}

static int has_shape(const Row *row, const Shape *shape) {
    int s = 0;
    while (s < row->shapes && memcmp(&row->shape[s], shape, sizeof *shape) != 0) {
        s++;
    }
    return s < row->shapes;
}

/* Group by group for the first shape, then for the next: so data and reference of a shape are made once. */
static int make_groups(BenchRows *plan) {
    static Row all; /* its shapes are those of all rows */
    for (int i = 0; i < plan->rows; i++) {
        for (int s = 0; s < plan->row[i].shapes; s++) {
            if (!has_shape(&all, &plan->row[i].shape[s])) {
                if (all.shapes == MAX_SHAPES) {
                    return 0;
                }
                all.shape[all.shapes++] = plan->row[i].shape[s];
            }
        }
    }
    for (int s = 0; s < all.shapes; s++) {
        int first = plan->groups;
        for (int i = 0; i < plan->rows; i++) {
            int g = first;
            if (!has_shape(&plan->row[i], &all.shape[s])) {
                continue;
            }
            while (g < plan->groups && strcmp(plan->row[plan->group[g].row[0]].group, plan->row[i].group) != 0) {
                g++;
            }
            if (g == MAX_GROUPS || plan->group[g].rows == MAX_GROUP_ROWS) {
                return 0;
            }
            plan->groups += g == plan->groups;
            plan->group[g].shape = all.shape[s];
            plan->group[g].row[plan->group[g].rows++] = i;
        }
    }
    return 1;
}

int plan_read(const Wanted *wanted, BenchRows *plan) {
    char path[256];
    snprintf(path, sizeof path, strchr(wanted->name, '/') ? "%.200s" : "tests/bench/plans/%.200s", wanted->name);
    FILE *in = fopen(path, "r");
    if (!in) {
        fprintf(stderr, "bench: the plan %s cannot be read: %s\n", path, strerror(errno));
        return 0;
    }
    int good = read_lines(wanted, in, path, plan);
    fclose(in);
    if (!good || !filter(wanted, plan)) {
        return 0;
    }
    if (plan->rows == 0 || !make_groups(plan)) {
        fprintf(stderr, "bench: %s has %s\n", path,
                plan->rows ? "too many groups, rows or shapes" : "no row that is wanted");
        return 0;
    }
    return 1;
}
