/* journal.c - see journal.h. */
#include "journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../device/status.h"
#include "../judge/bug_report.h"
#include "../place/layout.h"
#include "../place/line.h"

static struct {
    FILE *out;   /* NULL: nobody asked */
    int reports; /* written, or from before this launch */
    /* Who is about to use a barrier, and where; of whose box a piece is about to be counted. */
    int user;
    Site use;
    const char *map;
    uint32_t offset;
} journal;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(journal.out, format, arguments);
    va_end(arguments);
}

static void print_text(const char *name, const char *text) {
    print(",\"%s\":\"", name);
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ') {
            print("\\u%04x", *p);
        } else {
            print("%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
        }
    }
    print("\"");
}

static void head(const char *what) { print("{\"step\":%llu,\"what\":\"%s\"", (unsigned long long)device.step, what); }

/* A judge speaks before what it speaks of is done: its reports come before the line of that. */
static void print_reports(void) {
    for (; journal.reports < model_reports(); journal.reports++) {
        const ModelReport *report = model_report(journal.reports);
        head("report");
        print_text("rule", model_rule_name(report->rule));
        print_text("text", report->text);
        print("}\n");
    }
}

/* Begins a line. Returns 0 if there is no journal. */
static int begin(const Cta *cta, const char *what) {
    if (journal.out == NULL) {
        return 0;
    }
    print_reports();
    head(what);
    print(",\"cta\":%d", launch_of(cta)->first_cta + cta->block);
    return 1;
}

static int begin_thread(const Thread *t, const char *what) {
    if (!begin(t->cta, what)) {
        return 0;
    }
    print(",\"thread\":%d", t->id);
    return 1;
}

static int begin_warp(const Warp *w, const char *what) {
    if (!begin(w->cta, what)) {
        return 0;
    }
    print(",\"warp\":%d", w->id);
    return 1;
}

static void finish(Site site) {
    char text[256];
    if (site != 0) {
        print_text("at", site_text(site, text, sizeof text));
    }
    print("}\n");
}

/* Where something lies in shared memory: its offset, and its name, "s->a[1][0]". */
static void print_shared(const Cta *cta, uint32_t offset) {
    char text[128];
    const Launch *l = launch_of(cta);
    print(",\"offset\":%u", offset);
    if (l->shared_type != NULL) {
        print_text("name", layout_text(l->shared_file, l->shared_type, l->shared_variable, offset, text, sizeof text));
    }
}

static void print_state(const Barrier *b) {
    char name[PHRASE_SIZE];
    print_text("barrier", barrier_text(b, name));
    print(",\"phase\":%llu,\"expected\":%d,\"pending\":%d,\"tx\":%lld,\"announced\":%llu,\"brought\":%llu",
          (unsigned long long)b->phase, b->expected, b->pending, (long long)b->tx, (unsigned long long)b->announced,
          (unsigned long long)b->brought);
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

void journal_launch_begin(void) {
    const char *path = device.options.journal;
    journal.reports = model_reports();
    journal.out = path != NULL ? fopen(path, "w") : NULL;
    if (path != NULL && journal.out == NULL) {
        perror(path);
        exit(GEMM_DEVICE);
    }
    if (journal.out != NULL) {
        print("{\"step\":0,\"what\":\"launch\"");
        print_text("kernel", device.launch->name);
        print(",\"grid\":%d,\"threads\":%d}\n", device.launch->grid, device.launch->block);
    }
}

void journal_launch_end(void) {
    if (journal.out != NULL) {
        print_reports();
        int failed = ferror(journal.out);
        if (fclose(journal.out) != 0 || failed) {
            perror(device.options.journal);
            exit(GEMM_DEVICE);
        }
        journal.out = NULL;
    }
}

void journal_tile(const Thread *t, int row, int col) {
    if (begin_thread(t, "tile")) {
        print(",\"row\":%d,\"col\":%d", row, col);
        finish(0);
    }
}

void journal_returned(const Thread *t) {
    if (begin_thread(t, "returned")) {
        finish(0);
    }
}

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

void journal_use(const Thread *t, Site site) {
    journal.use = site;
    journal.user = t->id;
}

void journal_barrier(const Barrier *b, MbarrierChange how, long long amount) {
    static const char *const what[] = {[MBARRIER_INIT] = "init",
                                       [MBARRIER_ARRIVE] = "arrive",
                                       [MBARRIER_ARRIVE_REMOTE] = "arrive_remote",
                                       [MBARRIER_EXPECT] = "expect",
                                       [MBARRIER_ARRIVE_EXPECT] = "announce"};
    if ((size_t)how < sizeof what / sizeof what[0] && what[how] != NULL && begin(b->cta, what[how])) {
        print(",\"thread\":%d,\"amount\":%lld", journal.user, amount);
        print_state(b);
        finish(journal.use);
    }
}

void journal_phase(const Barrier *b) {
    if (begin(b->cta, "phase")) {
        print_state(b);
        finish(0);
    }
}

void journal_wait(const Thread *t, const Barrier *b, uint32_t parity, Site site) {
    if (begin_thread(t, "wait")) {
        print(",\"parity\":%u,\"blocks\":%d", parity, (b->phase & 1) == parity);
        print_state(b);
        finish(site);
    }
}

void journal_passed(const Thread *t, const Barrier *b, uint64_t phase, Site site) {
    if (begin_thread(t, "passed")) {
        print(",\"passed\":%lld", (long long)phase);
        print_state(b);
        finish(site);
    }
}

/* ---- barriers of the CTA ----------------------------------------------------------------------------------------- */

void journal_sync(const Thread *t, int id, int expected, int waits, Site site) {
    if (begin_thread(t, "sync")) {
        print(",\"id\":%d,\"expected\":%d,\"waits\":%d", id, expected, waits);
        finish(site);
    }
}

void journal_sync_complete(const Cta *cta, int id) {
    if (begin(cta, "met")) {
        print(",\"id\":%d", id);
        finish(0);
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void print_box(const TensorMap *map, const int *coord) {
    print_text("map", map->name != NULL ? map->name : "");
    print(",\"coord\":[%d,%d],\"box\":[%d,%d],\"bytes\":%u", coord[0], coord[1], map->box[0], map->box[1],
          tensor_box_bytes(map));
}

void journal_load(const TmaLoad *load) {
    char name[PHRASE_SIZE];
    if (begin_thread(load->copy.thread, "load")) {
        print_text("barrier", barrier_text(load->barrier[0], name));
        print_box(&load->map, load->copy.coord);
        print_shared(load->copy.thread->cta, load->offset);
        finish(load->copy.site);
    }
}

void journal_landing(const TmaLoad *load) {
    journal.map = load->map.name;
    journal.offset = load->offset;
}

void journal_landed(const Barrier *b, const Thread *by, uint32_t bytes) {
    if (begin(b->cta, "landed")) {
        print(",\"amount\":%u", bytes);
        if (by == NULL) {
            print_text("map", journal.map != NULL ? journal.map : "");
            print(",\"offset\":%u", journal.offset);
        }
        print_state(b);
        finish(0);
    }
}

void journal_store(const TmaCopy *copy) {
    if (begin_thread(copy->thread, "store")) {
        print_box(copy->map, copy->coord);
        print_shared(copy->thread->cta, shared_offset(copy->thread->cta, copy->shared));
        finish(copy->site);
    }
}

void journal_stored(const TmaStore *store) {
    if (begin_thread(store->copy.thread, "stored")) {
        print_box(&store->map, store->copy.coord);
        print_shared(store->copy.thread->cta, store->offset);
        finish(0);
    }
}

void journal_bulk_commit(const Thread *t) {
    if (begin_thread(t, "bulk_commit")) {
        finish(0);
    }
}

void journal_bulk_wait(const Thread *t, int newest, int read, Site site) {
    if (begin_thread(t, "bulk_wait")) {
        print(",\"newest\":%d,\"read\":%d", newest, read);
        finish(site);
    }
}

void journal_fence_proxy(const Thread *t) {
    if (begin_thread(t, "fence_proxy")) {
        finish(0);
    }
}

/* ---- warps and warpgroups ---------------------------------------------------------------------------------------- */

void journal_registers(const Warp *w, int increase, int registers, Site site) {
    if (begin_warp(w, "registers")) {
        print(",\"increase\":%d,\"registers\":%d", increase, registers);
        finish(site);
    }
}

void journal_ldmatrix(const Warp *w, const void *const row[WARP_SIZE], Site site) {
    if (begin_warp(w, "ldmatrix")) {
        print_shared(w->cta, shared_offset(w->cta, row[0]));
        finish(site);
    }
}

void journal_stmatrix(const Warp *w, void *const row[WARP_SIZE], Site site) {
    if (begin_warp(w, "stmatrix")) {
        print_shared(w->cta, shared_offset(w->cta, row[0]));
        finish(site);
    }
}

void journal_part(const Warp *w, const Product *product) {
    if (begin_warp(w, "part")) {
        print(",\"number\":%llu", (unsigned long long)product->number);
        finish(product->site);
    }
}

static void print_product(const Product *product) {
    print(",\"number\":%llu,\"group\":%llu,\"n\":%d", (unsigned long long)product->number,
          (unsigned long long)product->group, product->n);
    if (!product->rs) {
        print(",\"a\":%d", (int)(wgmma_descriptor_decode(product->a).start - SHARED_RESERVED));
    }
    print(",\"b\":%d", (int)(wgmma_descriptor_decode(product->b).start - SHARED_RESERVED));
}

void journal_issued(const Warpgroup *g, const Product *product) {
    if (begin(g->cta, "issued")) {
        print(",\"warpgroup\":%d", g->id);
        print_product(product);
        finish(product->site);
    }
}

void journal_done(const Warpgroup *g, const Product *product) {
    if (begin(g->cta, "done")) {
        print(",\"warpgroup\":%d", g->id);
        print_product(product);
        finish(0);
    }
}

void journal_commit(const Warp *w) {
    if (begin_warp(w, "commit")) {
        print(",\"group\":%llu", (unsigned long long)w->products.groups);
        finish(0);
    }
}

void journal_wgmma_wait(const Warp *w, int newest, Site site) {
    if (begin_warp(w, "wgmma_wait")) {
        print(",\"newest\":%d", newest);
        finish(site);
    }
}

void journal_waited(const Warp *w, uint64_t done) {
    if (begin_warp(w, "waited")) {
        print(",\"done\":%llu", (unsigned long long)done);
        finish(0);
    }
}
