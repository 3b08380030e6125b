/* map.c - where a result is wrong: runs a chapter on the CPU model, lets it go on after a report, and draws C with a
 * character for each cell of it. Compiled once for each chapter, as common/harness/main.c is. Called by
 * tests/tools/patches.
 *
 * Options are those of the chapters' programs. Data are integers unless --data normal is given, so that every
 * difference counts. CELL=RxC in the environment draws cells of R x C elements, as many as fit on a screen, from the
 * top left corner. With --choices alone it draws nothing and lists what launch() chooses among, for tests/grade: a line
 * for each variant (its kernel's number, its name, the CTAs of its cluster), and "producer_barrier" if it is a choice.
 * Exit status: 0 right everywhere, 1 wrong somewhere, 2 bad usage, 3 no memory, or the launch was refused. */
#include "harness/problem.h"
#include "model/model_host.h"
#include "variants.h"

#define PASTE_TOKENS(a, b) a##b
#define PASTE(a, b) PASTE_TOKENS(a, b)
#define MODEL_CHAPTER PASTE(model_chapter_, CHAPTER_ID)
extern const Chapter MODEL_CHAPTER;

enum { LEAST_ROWS = 16, LEAST_COLUMNS = 8, MOST_CELLS = 64, SCREEN_ROWS = 24 };

/* A cell's size in one direction: `least`, doubled until `elements` need no more than MOST_CELLS of them. */
static int cell_size(int elements, int least) {
    int size = least;
    while (ceil_div(elements, size) > MOST_CELLS) {
        size *= 2;
    }
    return size;
}

/* What stands for the cell whose first element is (row, column). */
static char cell(const ResultView *view, int row, int column, int rows, int columns) {
    int all = 0, wrong = 0, nan = 0, unwritten = 0;
    for (int i = row; i < min_int(row + rows, view->m); i++) {
        for (int j = column; j < min_int(column + columns, view->n); j++) {
            size_t place = (size_t)i * (size_t)view->n + (size_t)j;
            bf16 got = view->block[view->guard + (size_t)i * (size_t)view->ldc + (size_t)j];
            double expected = view->expected[place];
            double allowed = allowed_error(view, expected, (double)view->magnitude[place]);
            int right = element_error(view, got, expected) <= allowed;
            all++;
            wrong += !right;
            unwritten += !right && got == BF16_UNWRITTEN;
            nan += !right && got != BF16_UNWRITTEN && bf16_is_nan(got);
        }
    }
    return (char)(wrong == 0              ? '.'
                  : 2 * unwritten > wrong ? 'u'
                  : 2 * nan > wrong       ? 'N'
                  : 4 * wrong >= 3 * all  ? '#'
                                          : '+');
}

static void draw(const ResultView *view) {
    int rows = cell_size(view->m, LEAST_ROWS), columns = cell_size(view->n, LEAST_COLUMNS), m = view->m, n = view->n;
    const char *given = getenv("CELL");
    if (given && sscanf(given, "%4dx%4d", &rows, &columns) == 2 && rows > 0 && columns > 0) {
        m = min_int(m, SCREEN_ROWS * rows);
        n = min_int(n, MOST_CELLS * columns);
    } else if (given && *given) {
        fprintf(stderr, "CELL: \"%.20s\" is not of the form RxC, as 1x1\n", given);
        exit(GEMM_USAGE);
    }
    printf("C[%d][%d], a character for %d rows x %d columns: . right, # wrong, + some wrong, N NaN, u never written\n",
           view->m, view->n, rows, columns);
    for (int row = 0; row < m; row += rows) {
        printf("%6d ", row);
        for (int column = 0; column < n; column += columns) {
            putchar(cell(view, row, column, rows, columns));
        }
        putchar('\n');
    }
}

static GemmStatus run(const Options *options, Problem *problem, ChapterRun *chapter_run) {
    Tally tally;
    ModelOptions model = {.policy = (int)options->policy,
                          .seed = options->schedule_seed,
                          .sms = options->sms,
                          .max_reports = INT_MAX,
                          .quiet = 1};
    int normal = options->data_given && options->data & 1u << DATA_NORMAL;
    model_configure(&model);
    GEMM_TRY(problem_fill(problem, normal ? DATA_NORMAL : DATA_INTEGERS));
    GEMM_TRY(problem_poison(problem));
    GemmStatus status = run_launch(chapter_run);
    GEMM_TRY(status == GEMM_MODEL_BUG ? GEMM_OK : status); /* that is what the map is for */
    GEMM_TRY(problem_check(problem, &tally));
    for (int i = 0; i < model_reports(); i++) {
        printf("%s%s", i ? ", " : "the model reports ", model_rule_name(model_report(i)->rule));
    }
    printf("%s", model_reports() ? "; what the result is if it goes on all the same:\n" : "");
    if (tally_is_right(&tally)) {
        printf("right    %llu elements\n", (unsigned long long)problem->view.m * (unsigned long long)problem->view.n);
    } else {
        GEMM_TRY(problem_explain(problem, &tally, stdout));
    }
    draw(&problem->view);
    return tally_is_right(&tally) ? GEMM_OK : GEMM_WRONG;
}

static GemmStatus list_choices(const Chapter *chapter) {
    for (int i = 0, kernel = -1; chapter->variants && i < chapter->variants->count; i++) {
        kernel += begins_kernel(chapter->variants, i);
        printf("%d %s %d\n", kernel, chapter->variants->variant[i].name, chapter->variants->variant[i].cluster);
    }
    printf("%s", chapter_beyond(chapter).choices & CHOOSES_PRODUCER_BARRIER ? "producer_barrier\n" : "");
    return GEMM_OK;
}

int main(int argc, char *argv[]) {
    if (argc == 2 && strcmp(argv[1], "--choices") == 0) {
        return (int)list_choices(&MODEL_CHAPTER);
    }
    Options options;
    char message[OPTIONS_MESSAGE_SIZE];
    if (!parse_options(argc, argv, &options, message)) {
        fprintf(stderr, "%s\n", message);
        return GEMM_USAGE;
    }
    const Backend *backend = model_backend();
    DeviceInfo device;
    static Problem problem;
    static ChapterRun chapter_run;
    backend->open(&options, MODEL_CHAPTER.needs, &device, message, sizeof message);
    int size = backend->default_size;
    Shape shape = options.shape;
    shape.m = shape.m ? shape.m : size;
    shape.n = shape.n ? shape.n : size;
    shape.k = shape.k ? shape.k : size;
    shape.pad = shape.pad >= 0 ? shape.pad : 8;
    shape.kind = kind_of(&MODEL_CHAPTER);
    GEMM_TRY(problem_open(&problem, backend, &device, shape, options.seed));
    problem.beyond.tuning = options.tuning;
    GEMM_TRY(run_open(&chapter_run, &problem, &MODEL_CHAPTER));
    return (int)run(&options, &problem, &chapter_run);
}
