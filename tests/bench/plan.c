/* plan.c - reads a plan. What the lines may say is in bench.c. */
#include "bench.h"

#include <ctype.h>
#include <errno.h>

/* ---- what is linked ---- */

/* Chapters first, then steps ("08_2_ping_pong"), then the patches that plans name, each an experiment or an exercise,
 * then what runs alone, and peers. What is not linked is NULL: the program without patches builds within a minute. */
#define EACH_CHAPTER(id) EACH(id, chapter_##id)
#define EACH_STEP(id) EACH(id, chapter_##id)
#define EACH_PATCH(id) EACH(id, experiment_##id) EACH(id, exercise_##id)
#define EACH_ALONE EACH_CHAPTER(wgmma) EACH(mma.sync, chapter_mma_sync) EACH_CHAPTER(copy)
#define EACH_PEER EACH_CHAPTER(peer) EACH_CHAPTER(peer2) EACH_CHAPTER(peer3) EACH_CHAPTER(peer4) EACH_CHAPTER(peer5)
#define EACH_OTHER EACH_ALONE EACH_PEER EACH_CHAPTER(peer7) EACH_CHAPTER(peer8)

#define EACH(id, symbol) extern const Chapter gpu_##symbol __attribute__((weak));
#include "chapters.inc"
#include "steps.inc"
#include "patches.inc"
EACH_OTHER
#undef EACH
#define EACH(id, symbol) {#id, &gpu_##symbol},
static const struct {
    const char *name;
    const Chapter *chapter;
} known[] = {
#include "chapters.inc"
#include "steps.inc"
#include "patches.inc"
    EACH_OTHER};

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
static int read_shape(const char *word, Shape *shape) {
    int end = -1;
    memset(shape, 0, sizeof *shape);
    if (sscanf(word, "%9d%n", &shape->m, &end) == 1 && !word[end]) {
        shape->n = shape->k = shape->m;
        return shape->m > 0;
    }
    end = -1;
    sscanf(word, "%9dx%9dx%9d%n", &shape->m, &shape->n, &shape->k, &end);
    return end == (int)strlen(word) && shape->m > 0 && shape->n > 0 && shape->k > 0;
}

/* Reads a list separated by blanks or commas; `from` says in messages where the list is. */
static int read_shapes(const char *from, const char *list, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    char copy[512];
    snprintf(copy, sizeof copy, "%s", list);
    row->shapes = 0;
    for (char *word = strtok(copy, ", \t"); word; word = strtok(NULL, ", \t")) {
        if (row->shapes == MAX_SHAPES || !read_shape(word, &row->shape[row->shapes++])) {
            snprintf(message, OPTIONS_MESSAGE_SIZE,
                     "%s: \"%.40s\" is no shape; at most %d of MxNxK or of one size are accepted", from, word,
                     MAX_SHAPES);
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
    const int is_number = length == 2 && isdigit((unsigned char)*name);
    int found = 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const char *of = known[i].name;
        int is_it = is_number ? !found && strncmp(of, name, 2) == 0 && !isdigit((unsigned char)of[3])
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
    int is_lt = strncmp(what, "cublaslt", 8) == 0;
    const char *type = what + (is_lt ? 8 : 6);
    if (strncmp(what, "cublas", 6) == 0 && (!*type || strcmp(type, " fp8") == 0)) {
        row->kind = *type ? KIND_FP8 : KIND_BF16;
        row->what = is_lt || *type ? RUN_CUBLASLT : RUN_CUBLAS;
        row->first_choice = !is_lt && *type;
    } else if (find_chapter(what, row)) {
        row->is_peer = strncmp(what, "peer", 4) == 0;
        row->label = row->is_peer && row->chapter ? row->chapter->name : row->label;
        row->what = is_listed("wgmma,mma.sync,copy", what) ? RUN_ALONE : RUN_CHAPTER;
        row->kind = row->chapter ? kind_of(row->chapter) : KIND_BF16;
    } else {
        snprintf(message, OPTIONS_MESSAGE_SIZE,
                 "\"%.60s\" is nothing that runs; NN, NN.K, NN_name, cublas, cublaslt, cublas fp8, cublaslt fp8, "
                 "wgmma, mma.sync, copy and peer to peer8 are accepted",
                 what);
        return 0;
    }
    return 1;
}

/* Reads a line into `row`. last: the row above, whose shapes are taken where the field is empty; NULL: none. */
static int read_row(char *line, const Row *last, Row *row, char message[OPTIONS_MESSAGE_SIZE]) {
    char *field[6] = {NULL};
    int fields = 0;
    for (char *rest = line; rest && fields < 6; fields++) { /* without the blanks around them */
        char *part = strsep(&rest, "|"), *end = part + strlen(part);
        while (end > part && isspace((unsigned char)end[-1])) {
            *--end = 0;
        }
        field[fields] = part + strspn(part, " \t");
    }
    if (fields != 5) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "a line has five fields: group | label | what runs | options | shapes");
        return 0;
    }
    memset(row, 0, sizeof *row);
    row->group = field[0];
    row->label = field[1] + (strncmp(field[1], "= ", 2) == 0 ? 2 : 0);
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
    } else if (!last || field[4][0]) {
        return read_shapes("shapes", field[4], row, message);
    } else {
        memcpy(row->shape, last->shape, sizeof row->shape);
        row->shapes = last->shapes;
    }
    return message[0] == 0;
}

/* ---- all of them ---- */

/* Appends a row, unless it is a peer that is not linked. */
static int add_row(const Row *row, Session *session, char message[OPTIONS_MESSAGE_SIZE]) {
    if (session->rows == MAX_ROWS) {
        snprintf(message, OPTIONS_MESSAGE_SIZE, "too many rows");
        return 0;
    }
    if (row->chapter || !row->is_peer) {
        session->row[session->rows++] = *row;
    }
    return 1;
}

static int read_lines(FILE *in, const char *path, Session *session) {
    static Row row, given, last;
    char text[512], message[OPTIONS_MESSAGE_SIZE] = "";
    if (session->shapes && !read_shapes("--shapes", session->shapes, &given, message)) {
        fprintf(stderr, "bench: %s\n", message);
        return 0;
    }
    for (int number = 1; fgets(text, sizeof text, in); number++) {
        text[strcspn(text, "\n")] = 0;
        if (text[0] == '#' || text[strspn(text, " \t")] == 0) {
            continue;
        }
        /* Rows point into the line. */
        int good = read_row(strdup(text), session->shapes ? &given : last.group ? &last : NULL, &row, message);
        if (good && session->shapes && row.what != RUN_ALONE) {
            memcpy(row.shape, given.shape, sizeof row.shape);
            row.shapes = given.shapes;
        }
        if (!good || !add_row(&row, session, message)) {
            fprintf(stderr, "bench: %s:%d: %s\n", path, number, message);
            return 0;
        }
        last = row;
    }
    return 1;
}

/* Drops the rows that are not wanted. Every word of the lists must be some row's. */
static int filter(Session *session) {
    const char *option[] = {"--only", "--kernels"}, *list[] = {session->only, session->kernels};
    for (int which = 0; which < 2; which++) {
        char copy[512];
        int kept = 0;
        snprintf(copy, sizeof copy, "%s", list[which] ? list[which] : "");
        for (char *word = strtok(copy, ","); word; word = strtok(NULL, ",")) {
            int found = 0;
            for (int i = 0; i < session->rows; i++) {
                found |= strcmp(which == 0 ? session->row[i].group : session->row[i].label, word) == 0;
            }
            if (!found) {
                fprintf(stderr, "bench: %s: \"%.60s\" is not in the plan\n", option[which], word);
                return 0;
            }
        }
        for (int i = 0; i < session->rows; i++) {
            if (is_listed(list[which], which == 0 ? session->row[i].group : session->row[i].label)) {
                session->row[kept++] = session->row[i];
            }
        }
        session->rows = kept;
    }
    return 1;
}

static int make_groups(Session *session) {
    for (int i = 0; i < session->rows; i++) {
        const Row *row = &session->row[i];
        for (int s = 0; s < row->shapes; s++) {
            int g = 0;
            while (g < session->groups && (strcmp(session->row[session->group[g].row[0]].group, row->group) != 0 ||
                                           memcmp(&session->group[g].shape, &row->shape[s], sizeof(Shape)) != 0)) {
                g++;
            }
            if (g == MAX_GROUPS) {
                return 0;
            }
            session->groups += g == session->groups;
            Group *group = &session->group[g];
            if (group->rows == 0 || group->row[group->rows - 1] != i) { /* its list may have a shape twice */
                group->shape = row->shape[s];
                group->row[group->rows++] = i;
            }
        }
    }
    return 1;
}

int plan_read(Session *session) {
    char path[256];
    snprintf(path, sizeof path, strchr(session->plan, '/') ? "%.200s" : "tests/bench/plans/%.200s", session->plan);
    FILE *in = fopen(path, "r");
    if (!in) {
        fprintf(stderr, "bench: the plan %s cannot be read: %s\n", path, strerror(errno));
        return 0;
    }
    int good = read_lines(in, path, session);
    fclose(in);
    if (!good || !filter(session)) {
        return 0;
    }
    if (session->rows == 0 || !make_groups(session)) {
        fprintf(stderr, "bench: %s has %s\n", path,
                session->rows ? "too many groups and shapes" : "no row that is wanted");
        return 0;
    }
    return 1;
}
