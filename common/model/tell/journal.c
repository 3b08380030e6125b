/* journal.c - events as text, in the order in which they happen.
 *
 * --steps writes a line of JSON for each event that event_kinds.h lists as TOLD, and the reports between them. Every
 * line has "step" and "what"; then "cta" and who: a thread by its number in the CTA, a warp or a warpgroup. A line
 * about a barrier has the state that the barrier is in afterwards.
 *
 * --barriers prints a row for each event of an mbarrier. */
#include <stdio.h>
#include <stdlib.h>

#include "../../device/status.h"
#include "../judge/bug_report.h"
#include "../place/place.h"

static struct {
    FILE *out;
    int reports; /* written, or from before this launch */
} journal;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

#define print(...) fprintf(journal.out, __VA_ARGS__)

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

/* A judge reports before the event takes effect, so its reports come before the line of the event. */
static void print_reports(void) {
    for (; journal.reports < model_reports(); journal.reports++) {
        const ModelReport *report = model_report(journal.reports);
        head("report");
        print_text("rule", model_rule_name(report->rule));
        print_text("text", report->text);
        print("}\n");
    }
}

/* A place in shared memory: its offset, and its name, "s->a[1][0]". */
static void print_shared(const Cta *cta, uint32_t offset) {
    char text[128];
    print(",\"offset\":%u", offset);
    if (launch_of(cta)->shared_type != NULL) {
        print_text("name", SHARED_TEXT(launch_of(cta), offset, text, sizeof text));
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

/* ---- --steps: the events ----------------------------------------------------------------------------------------- */

static const char *const names[] = {
#define EVENT(kind, ...)
#define TOLD(kind, name, ...) [EVENT_##kind] = name,
#include "../event_kinds.h"
#undef TOLD
};

/* A change of an mbarrier: in --steps, NULL: that is told as another event; and in --barriers. */
static const struct {
    const char *name, *row;
} changes[] = {[MBARRIER_ARRIVE] = {"arrive", "arrive"},
               [MBARRIER_ARRIVE_REMOTE] = {"arrive_remote", "arrive from CTA %lld"},
               [MBARRIER_EXPECT] = {"expect", "expect_tx %lld"},
               [MBARRIER_ARRIVE_EXPECT] = {"announce", "arrive.expect_tx %lld"},
               [MBARRIER_WAIT] = {NULL, "wait, parity %lld"},
               [MBARRIER_ASKED_NO] = {NULL, "asked, parity %lld: no"},
               [MBARRIER_ASKED_YES] = {NULL, "asked, parity %lld: yes"}};

static const char *name_of(const Event *e) {
    return e->kind == EVENT_MBARRIER_CHANGED                         ? changes[e->change].name
           : e->kind == EVENT_WARP_ACCESS                            ? access_name[e->access]
           : e->kind == EVENT_COPY && e->access != ACCESS_TRY_CANCEL ? NULL
                                                                     : names[e->kind];
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
        for (int rank = 0; e->p != NULL && rank < e->barrier->cta->cluster->size; rank++) {
            const Cta *into = e->barrier->cta->cluster->cta[rank];
            if (shared_offset(into, e->p) < SHARED_STRIDE) {
                print_text("map", e->what);
                print(",\"offset\":%u,\"into\":%d", shared_offset(into, e->p), number_of(into));
            }
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
    case EVENT_TMEM_PRODUCT: print(",\"a\":%d", (int)(e->tmem_product->a << 4 & 0x3fff0) - SHARED_RESERVED); break;
    case EVENT_COPY:
        print(",\"into\":%d", number_of(e->barrier->cta));
        print_shared(e->thread->cta, shared_offset(e->thread->cta, e->p));
        break;
    default: break;
    }
}

static void write_line(const Event *e) {
    if (name_of(e) == NULL || (e->kind == EVENT_FENCE_PROXY && e->spaces == 1u << SPACE_GLOBAL)) {
        return;
    }
    const Thread *t = e->kind != EVENT_MBARRIER_LANDED ? e->thread : NULL; /* landed bytes are the barrier's */
    const Cta *cta = t != NULL              ? t->cta
                     : e->warp != NULL      ? e->warp->cta
                     : e->warpgroup != NULL ? e->warpgroup->cta
                     : e->cluster != NULL   ? e->cluster->cta[0]
                     : e->cta != NULL       ? e->cta
                                            : e->barrier->cta;
    print_reports();
    head(name_of(e));
    print(",\"cta\":%d", number_of(cta));
    if (t != NULL || e->warp != NULL || e->warpgroup != NULL) {
        print(t != NULL         ? ",\"thread\":%d"
              : e->warp != NULL ? ",\"warp\":%d"
                                : ",\"warpgroup\":%d",
              t != NULL         ? t->id
              : e->warp != NULL ? e->warp->id
                                : e->warpgroup->id);
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
#define TOLD(kind, name, ...) HEARS(journal, kind, write_line);
#include "../event_kinds.h"
#undef TOLD
#undef EVENT

/* ---- --barriers -------------------------------------------------------------------------------------------------- */

static void print_row(const Barrier *b, const char *what) {
    static uint32_t shown_launch;
    char name[PHRASE_SIZE];
    if (shown_launch != device.sets) {
        shown_launch = device.sets;
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "step", "CTA", "barrier", "event", "phase",
               "arrivals:", "", "bytes:", "");
        printf("%8s %4s %-12s %-24s %6s  %9s %9s  %9s %9s\n", "", "", "", "", "", "expected", "actual", "expected",
               "actual");
    }
    printf("%8llu %4d %-12s %-24s %6llu  %9d %9d  %9llu %9llu\n", device.step, b->cta->block, barrier_text(b, name),
           what, b->phase, b->expected, b->expected - b->pending, b->announced, b->brought);
}

ON(barrier_rows, MBARRIER_INIT) { print_row(b, "init"); }
ON(barrier_rows, MBARRIER_COMPLETE) { print_row(b, "phase complete"); }

ON(barrier_rows, MBARRIER_LANDED) {
    char text[64];
    snprintf(text, sizeof text, "%lld bytes landed", e->amount);
    print_row(b, text);
}

ON(barrier_rows, MBARRIER_CHANGED) {
    char text[64];
    snprintf(text, sizeof text, changes[e->change].row, e->amount);
    print_row(b, text);
}
