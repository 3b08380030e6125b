/* journal.c - what --steps writes: a line of JSON for each thing that happens to barriers, copies, products and those who
 * wait for them, in the order in which it happens; and the reports between.
 *
 * Every line has "step" and "what"; then "cta" and who: a thread by its number in the CTA, a warp or a warpgroup. A line
 * about a barrier has the state that the barrier is in afterwards. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../device/status.h"
#include "../event.h"
#include "../judge/bug_report.h"
#include "../place/layout.h"
#include "../place/line.h"

static struct {
    FILE *out;
    int reports; /* written, or from before this launch */
    /* What is about to be counted: a piece of a load, or an answer of launch control; and the CTA in which it lies. */
    const char *map;
    uint32_t offset;
    const Cta *into; /* NULL: that of the barrier */
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

static void head(const char *what) { print("{\"step\":%llu,\"what\":\"%s\"", device.step, what); }

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

/* Where something lies in shared memory: its offset, and its name, "s->a[1][0]". */
static void print_shared(const Cta *cta, uint32_t offset) {
    char text[128];
    const Launch *l = launch_of(cta);
    print(",\"offset\":%u", offset);
    if (l->shared_type != NULL) {
        print_text("name", layout_text(l->shared_file, l->shared_type, l->shared_variable, offset, text, sizeof text));
    }
}

static int number_of(const Cta *cta) { return launch_of(cta)->first_cta + cta->block; }

static void print_state(const Barrier *b) {
    char name[PHRASE_SIZE];
    print_text("barrier", barrier_text(b, name));
    print(",\"phase\":%llu,\"expected\":%d,\"pending\":%d,\"tx\":%lld,\"announced\":%llu,\"brought\":%llu,\"home\":%d",
          b->phase, b->expected, b->pending, b->tx, b->announced, b->brought, number_of(b->cta));
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

ON(journal, LAUNCH_BEGIN) {
    const char *path = device.options.journal;
    journal.reports = model_reports();
    journal.out = fopen(path, "w");
    if (journal.out == NULL) {
        perror(path);
        exit(GEMM_DEVICE);
    }
    print("{\"step\":0,\"what\":\"launch\"");
    print_text("kernel", device.launch->name);
    print(",\"grid\":%d,\"cluster\":%d,\"threads\":%d}\n", device.launch->grid, device.launch->cluster_size,
          device.launch->block);
}

ON(journal, LAUNCH_END) {
    print_reports();
    int failed = ferror(journal.out);
    if (fclose(journal.out) != 0 || failed) {
        perror(device.options.journal);
        exit(GEMM_DEVICE);
    }
}

/* ---- what is written of an event --------------------------------------------------------------------------------- */

/* LINE(kind, its name, whose it is). CHANGED has the name of its change, or none; WARP_ACCESS that of its access; COPY is that
 * of an answer of launch control, or none. */
typedef enum { OF_CTA, OF_CLUSTER, OF_THREAD, OF_WARP, OF_WARPGROUP, OF_BARRIER } Whose;
#define LINES(LINE)                           \
    LINE(TILE, "tile", THREAD)                \
    LINE(THREAD_RETURNED, "returned", THREAD) \
    LINE(MBARRIER_INIT, "init", THREAD)       \
    LINE(MBARRIER_CHANGED, NULL, THREAD)      \
    LINE(MBARRIER_PHASE, "phase", BARRIER)    \
    LINE(MBARRIER_WAIT, "wait", THREAD)       \
    LINE(MBARRIER_PASSED, "passed", THREAD)   \
    LINE(MBARRIER_LANDED, "landed", BARRIER)  \
    LINE(BARRIER_ARRIVE, "sync", THREAD)      \
    LINE(BARRIER_COMPLETE, "met", CTA)        \
    LINE(CLUSTER_ARRIVE, "sync", THREAD)      \
    LINE(CLUSTER_COMPLETE, "met", CLUSTER)    \
    LINE(TMA_LOAD, "load", THREAD)            \
    LINE(TMA_STORE, "store", THREAD)          \
    LINE(TMA_STORED, "stored", THREAD)        \
    LINE(BULK_COMMIT, "bulk_commit", THREAD)  \
    LINE(BULK_WAIT, "bulk_wait", THREAD)      \
    LINE(FENCE_PROXY, "fence_proxy", THREAD)  \
    LINE(SETMAXNREG, "registers", WARP)       \
    LINE(WARP_ACCESS, NULL, WARP)             \
    LINE(WGMMA_PART, "part", WARP)            \
    LINE(WGMMA_ISSUED, "issued", WARPGROUP)   \
    LINE(WGMMA_DONE, "done", WARPGROUP)       \
    LINE(WGMMA_COMMIT, "commit", WARP)        \
    LINE(WGMMA_WAIT, "wgmma_wait", WARP)      \
    LINE(WGMMA_WAITED, "waited", WARP)        \
    LINE(TMEM_PRODUCT, "mma", THREAD)         \
    LINE(COPY, "cancel", THREAD)              \
    LINE(LAUNCH_ANSWER, "answer", THREAD)

static const struct {
    const char *what;
    Whose whose;
} lines[EVENT_KINDS] = {
#define LINE(kind, what, whose) [EVENT_##kind] = {what, OF_##whose},
    LINES(LINE)
#undef LINE
};

static const char *name_of(const Event *e) {
    static const char *const change[] = {[MBARRIER_ARRIVE] = "arrive",
                                         [MBARRIER_ARRIVE_REMOTE] = "arrive_remote",
                                         [MBARRIER_EXPECT] = "expect",
                                         [MBARRIER_ARRIVE_EXPECT] = "announce",
                                         [MBARRIER_ASKED_YES] = NULL};
    return e->kind == EVENT_MBARRIER_CHANGED                         ? change[e->change]
           : e->kind == EVENT_WARP_ACCESS                            ? access_name[e->access]
           : e->kind == EVENT_COPY && e->access != ACCESS_TRY_CANCEL ? NULL
                                                                     : lines[e->kind].what;
}

static void print_box(const TensorMap *map, const int *coord) {
    print_text("map", map->name != NULL ? map->name : "");
    print(",\"coord\":[%d,%d],\"box\":[%d,%d],\"bytes\":%u", coord[0], coord[1], map->box[0], map->box[1],
          tensor_box_bytes(map));
}

static void print_product(const Product *product) {
    print(",\"group\":%llu,\"n\":%d", product->group, product->n);
    if (!product->rs) {
        print(",\"a\":%d", (int)(wgmma_descriptor_decode(product->a).start - SHARED_RESERVED));
    }
    print(",\"b\":%d", (int)(wgmma_descriptor_decode(product->b).start - SHARED_RESERVED));
}

static void print_operands(const Event *e) {
    char name[PHRASE_SIZE];
    switch (e->kind) {
    case EVENT_TILE: print(",\"row\":%d,\"col\":%d", e->row, e->column); break;
    case EVENT_MBARRIER_INIT: print(",\"amount\":0"); break;
    case EVENT_MBARRIER_CHANGED:
    case EVENT_LAUNCH_ANSWER: print(",\"amount\":%lld", e->amount); break;
    case EVENT_MBARRIER_WAIT:
        print(",\"parity\":%u,\"blocks\":%d", e->parity, (e->barrier->phase & 1) == e->parity);
        break;
    case EVENT_MBARRIER_PASSED: print(",\"passed\":%lld", e->phase); break;
    case EVENT_MBARRIER_LANDED:
        print(",\"amount\":%lld", e->amount);
        if (e->thread == NULL) {
            print_text("map", journal.map != NULL ? journal.map : "");
            print(",\"offset\":%u,\"into\":%d", journal.offset,
                  number_of(journal.into != NULL ? journal.into : e->barrier->cta));
        }
        break;
    case EVENT_BARRIER_ARRIVE: print(",\"id\":%d,\"expected\":%d,\"waits\":%d", e->id, e->expected, e->waits); break;
    case EVENT_BARRIER_COMPLETE: print(",\"id\":%d", e->id); break;
    case EVENT_CLUSTER_ARRIVE: print(",\"id\":-1,\"waits\":1"); break;
    case EVENT_CLUSTER_COMPLETE: print(",\"id\":-1"); break;
    case EVENT_TMA_LOAD:
        print_text("barrier", barrier_text(e->load->barrier[0], name));
        print(",\"home\":%d", number_of(e->load->barrier[0]->cta));
        print_box(&e->load->map, e->load->copy.coord);
        print_shared(e->thread->cta, e->load->offset);
        break;
    case EVENT_TMA_STORE:
        print_box(e->copy->map, e->copy->coord);
        print_shared(e->thread->cta, shared_offset(e->thread->cta, e->copy->shared));
        break;
    case EVENT_TMA_STORED:
        print_box(&e->store->map, e->store->copy.coord);
        print_shared(e->thread->cta, e->store->offset);
        break;
    case EVENT_BULK_WAIT: print(",\"newest\":%d,\"read\":%d", e->newest, e->read); break;
    case EVENT_SETMAXNREG: print(",\"increase\":%d,\"registers\":%d", e->increase, e->count); break;
    case EVENT_WARP_ACCESS: print_shared(e->warp->cta, shared_offset(e->warp->cta, e->rows[0])); break;
    case EVENT_WGMMA_PART: print(",\"number\":%llu", e->product->number); break;
    case EVENT_WGMMA_ISSUED:
    case EVENT_WGMMA_DONE:
        print(",\"number\":%llu", e->product->number);
        print_product(e->product);
        break;
    case EVENT_WGMMA_COMMIT: print(",\"group\":%llu", e->warp->products->groups); break;
    case EVENT_WGMMA_WAIT: print(",\"newest\":%d", e->newest); break;
    case EVENT_WGMMA_WAITED: print(",\"done\":%llu", e->done); break;
    case EVENT_TMEM_PRODUCT:
        print(",\"a\":%d",
              e->tmem_product->a_in_tensor ? -1 : (int)(e->tmem_product->a << 4 & 0x3fff0) - SHARED_RESERVED);
        break;
    case EVENT_COPY:
        print(",\"into\":%d", number_of(e->barrier->cta));
        print_shared(e->thread->cta, shared_offset(e->thread->cta, e->p));
        break;
    default: break;
    }
}

static void write_line(const Event *e) {
    Whose whose = lines[e->kind].whose;
    if (name_of(e) == NULL || (e->kind == EVENT_FENCE_PROXY && e->fence->spaces == 1u << SPACE_GLOBAL)) {
        return;
    }
    const Cta *cta = whose == OF_THREAD      ? e->thread->cta
                     : whose == OF_WARP      ? e->warp->cta
                     : whose == OF_WARPGROUP ? e->warpgroup->cta
                     : whose == OF_CTA       ? e->cta
                     : whose == OF_CLUSTER   ? e->cluster->cta[0]
                                             : e->barrier->cta;
    print_reports();
    head(name_of(e));
    print(",\"cta\":%d", number_of(cta));
    switch (whose) {
    case OF_THREAD: print(",\"thread\":%d", e->thread->id); break;
    case OF_WARP: print(",\"warp\":%d", e->warp->id); break;
    case OF_WARPGROUP: print(",\"warpgroup\":%d", e->warpgroup->id); break;
    default: break;
    }
    print_operands(e);
    if (e->barrier != NULL) {
        print_state(e->barrier);
    }
    if (e->site != 0) {
        char text[256];
        print_text("at", site_text(e->site, text, sizeof text));
    }
    print("}\n");
}

ON(journal, TMA_LANDING) {
    journal.map = e->load->map.name;
    journal.offset = e->load->offset;
    journal.into = e->load->copy.pair ? e->load->target[0] : NULL;
}

ON(journal, LAUNCH_LANDING) {
    journal.map = "answer";
    journal.offset = shared_offset(e->cta, e->p);
    journal.into = NULL;
}

#define LINE(kind, what, whose) HEARS(journal, kind, write_line);
LINES(LINE)
#undef LINE
