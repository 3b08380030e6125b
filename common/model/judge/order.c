/* order.c - see order.h.
 *
 * The rule is happens-before: an access may follow another one to the same bytes, one of them a write, only if its
 * thread knows the other's epoch (clock.h; world.h between clusters). The epoch of asynchronous work is that of its
 * completion, so the verdict does not depend on when the work really happened. A thread must also know its own copies:
 * neither program order nor a common group orders them. Between the generic and the async proxy there must be a fence,
 * too.
 *
 * The accesses of a launch that overlaps the previous one are checked against the previous launch's: they are ordered
 * after those only past grid_dependency_wait(). In a chain of layers, what is in the memory of a device belongs to its
 * stream. So another device may write there only when it knows that a launch of that device has begun, and a launch may
 * end only when it knows that such writes are complete. */
#include "order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../place/place.h"
#include "bug_report.h"
#include "phases.h"
#include "provenance.h"
#include "world.h"

const char *const access_name[] = {
#define ACCESS(id, name, ...) name,
    ACCESSES(ACCESS)
#undef ACCESS
};

static const struct {
    ModelRule early_read, early_write, second_write;
    int reads_fenced;
    const char *fence; /* what is missing */
} spaces[] = {
#define SPACE(id, raw, war, waw, reads_fenced, fence, kept) {RULE_##raw, RULE_##war, RULE_##waw, reads_fenced, fence},
    SPACES_OF(SPACE)
#undef SPACE
};

OrderRange order_now;

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static int is_of(const LaunchFacts *facts, uint32_t serial) { return serial > facts->first && serial <= facts->last; }

/* The launch before in its stream. */
static const LaunchFacts *before_of(const Launch *l) {
    return l->follows >= 0 ? &device.launch[l->follows].facts : &l->before;
}

static int overlaps(const Launch *l) { return l->overlap && before_of(l)->last != 0 && before_of(l)->dependents; }

/* The launch of a cluster of this set or, `of_before` 1, of one before. */
static const LaunchFacts *launch_with(uint32_t serial, int *of_before) {
    for (int i = 0; i < device.launched; i++) {
        *of_before = 0;
        if (is_of(&device.launch[i].facts, serial)) {
            return &device.launch[i].facts;
        }
        *of_before = 1;
        if (is_of(&device.launch[i].before, serial)) {
            return &device.launch[i].before;
        }
    }
    return NULL;
}

static int device_with(uint32_t serial) {
    int of_before;
    return launch_with(serial, &of_before)->device;
}

/* ---- the question ------------------------------------------------------------------------------------------------ */

static int has(Actor *a, const Access *before, Aspect aspect) {
    if (a->warp == NULL || before->serial != a->access.serial) {
        return world_has(a->thread, before, aspect, a->space);
    }
    if (actor_shares(a, before, aspect)) {
        return 1;
    }
    a->beyond_base = 1;
    for (int lane = 0; lane < a->warp->lanes; lane++) {
        if (thread_has(&a->warp->thread[lane], before->component, before->epoch, aspect, a->space)) {
            return 1;
        }
    }
    return 0;
}

int actor_finds(Actor *a, const Access *before) {
    const Epoch *no = &a->unknown;
    if (before->component == no->component && before->epoch >= no->epoch && before->serial == no->serial) {
        return 0;
    }
    int knows = has(a, before, KNOWN);
    a->unknown = knows ? a->unknown : (Epoch){before->serial, before->epoch, before->component};
    return knows;
}

/* Do two atomic accesses reach each other? */
static int reach(const Actor *a, const Access *before) {
    return (a->access.scope == SCOPE_SYSTEM && before->scope == SCOPE_SYSTEM) || device.devices == 1 ||
           device_with(before->serial) == device_of(a->thread);
}

/* A thread of another CTA has written, and this CTA's copy engine or tensor cores access it: has this CTA executed a
 * fence after the write? A fence orders the async proxy of its own CTA. */
static int fenced_here(const Actor *a, const Access *before) {
    const Cta *cta = a->thread->cta;
    return a->space != SPACE_SHARED || cta->cluster->size == 1 || !(before->flags & WRITES) ||
           component_owner(cta->cluster, before->issuer)->thread->cta == cta ||
           clock_tick(cta->clock->fenced, before->component).known >= before->epoch;
}

/* This device's copy engine reads in order what another device's has written only after a fence, because the flag that
 * orders the two is read through the generic proxy. PTX 8.9.4. */
static int is_of_another_device(const Actor *a, const Access *before) {
    return a->space == SPACE_GLOBAL && device.devices > 1 && (before->flags & WRITES) && (a->access.flags & READS) &&
           device_with(before->serial) != device_of(a->thread);
}

/* Is it not enough to know that the earlier access is complete? It is for a write after reads, and after copies that
 * have landed. After stores, the stores must have been released to this thread. */
static int needs_release(const Access *mine, const Access *before) {
    return (before->flags & WRITES) && ((mine->flags & READS) || before->component == before->issuer);
}

static ModelRule race_of(const Actor *a, const Access *before) {
    return (a->access.flags & READS) && (before->flags & WRITES) ? spaces[a->space].early_read
           : before->flags & READS                               ? spaces[a->space].early_write
                                                                 : spaces[a->space].second_write;
}

/* tcgen05 of another thread is in order only between fences: before_thread_sync, which a commit contains, before what
 * orders the two, and after_thread_sync after it. PTX 9.7.16.6.3 and 9.7.16.6.4. */
static ModelRule rule_of_tensor(Actor *a, const Access *before) {
    const int mine = a->access.kind, other = before->kind;
    /* In a pair, allocations wait for each other, and so do deallocations. A thread that frees must know that the other
     * CTA has its columns; any other user has their address. */
    if (mine == ACCESS_TMEM_ALLOC ||
        (mine == ACCESS_TMEM_DEALLOC ? other == ACCESS_TMEM_DEALLOC : other == ACCESS_TMEM_ALLOC)) {
        return RULE_COUNT;
    }
    const Thread *t = a->thread, *issuer = component_owner(t->cta->cluster, before->issuer)->thread;
    /* A product is ordered after the copies of its thread. PTX 9.7.16.6.2. */
    if (other == ACCESS_TCGEN05_CP && mine > ACCESS_TCGEN05_CP && issuer == t) {
        return RULE_COUNT;
    }
    if (!has(a, before, KNOWN)) {
        return race_of(a, before);
    }
    return issuer == t || a->access.kind == ACCESS_TMEM_DEALLOC ||
                   clock_tick(t->clock->tensor, before->component).visible >= before->epoch
               ? RULE_COUNT
               : RULE_TCGEN05_FENCE;
}

/* The rule that the access breaks; RULE_COUNT: none. */
static ModelRule rule_of(Actor *a, const Access *before) {
    const int mine = a->access.flags, other = before->flags;
    const int needs_fence = (mine & ASYNC) && (!(other & ASYNC) || is_of_another_device(a, before));
    if (a->space == SPACE_TENSOR) {
        return rule_of_tensor(a, before);
    }
    if (before->serial != a->access.serial) {
        const Launch *l = launch_of(a->thread->cta);
        if (overlaps(l) && is_of(before_of(l), before->serial)) {
            return thread_waited(a->thread) ? RULE_COUNT : RULE_LAUNCH_OVERLAP;
        }
        if (before->serial <= order_now.first) {
            return RULE_COUNT;
        }
    }
    if (mine & other & ATOMIC) {
        return reach(a, before) || has(a, before, KNOWN) ? RULE_COUNT : RULE_SCOPE;
    }
    const int visible = has(a, before, VISIBLE), known = visible || has(a, before, KNOWN),
              fenced = !needs_fence || (has(a, before, FENCED) && fenced_here(a, before));
    if (visible && fenced) {
        a->passed = (Epoch){before->serial, before->epoch, before->component};
        return RULE_COUNT;
    }
    if (!known || (!visible && needs_release(&a->access, before))) {
        return a->space == SPACE_GLOBAL && world_is_beyond(a->thread, device_of(a->thread), before)
                   ? RULE_SCOPE
                   : race_of(a, before);
    }
    int forgiven = !(other & WRITES) && !spaces[a->space].reads_fenced;
    return fenced || forgiven ? RULE_COUNT : RULE_PROXY_FENCE;
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

/* Who made an access: of a cluster that has ended as well. */
static const char *issuer_text(const Access *e, char *text) {
    for (int i = 0; i < device.clusters; i++) {
        if (device.cluster[i]->serial == e->serial) {
            return thread_text(component_owner(device.cluster[i], e->issuer)->thread, text);
        }
    }
    /* The first components of a cluster are its threads'. */
    int of_before;
    const LaunchFacts *l = launch_with(e->serial, &of_before);
    int thread = e->issuer % l->block;
    int cta = l->first_block + (int)(e->serial - l->first - 1) * l->cluster_size + e->issuer / l->block;
    int length = snprintf(text, PHRASE_SIZE, "CTA %d", cta);
    if (device.devices > 1) {
        length += snprintf(text + length, (size_t)(PHRASE_SIZE - length), " of device %d", l->device);
    }
    snprintf(text + length, (size_t)(PHRASE_SIZE - length), " warp %d lane %d%s", thread / WARP_SIZE,
             thread % WARP_SIZE, of_before ? " of the launch before" : "");
    return text;
}

/* The tag of what is at `at` in the actor's space. */
static Tag tag_at(const Actor *a, uintptr_t at) {
    return a->space == SPACE_SHARED   ? provenance_of(a->cta, (uint32_t)at)
           : a->space == SPACE_GLOBAL ? tag_of_global((const void *)at)
                                      : (Tag){TENSOR_UNKNOWN, 0, 0, 0};
}

/* What an instruction has been found to break. */
static struct {
    int count;
    struct Finding {
        ModelRule rule;
        const Actor *by;
        Access before;
        int read_early; /* `before` is a read, and what is read too early, though it came first in this run */
        uintptr_t at;
        uint32_t size;
        Tag tag; /* of what lay there */
    } list[RULE_COUNT];
} found;

static void find(const Actor *a, ModelRule rule, const Access *before, int read_early, uintptr_t at, uint32_t size) {
    int i = 0;
    while (i < found.count && found.list[i].rule != rule) {
        i++;
    }
    if (i == found.count) {
        found.list[found.count++] = (struct Finding){
            rule, a, before != NULL ? *before : (Access){.serial = 0}, read_early, at, size, tag_at(a, at)};
    }
}

void order_find(const Actor *a, ModelRule rule, uintptr_t at, uint32_t size) { find(a, rule, NULL, 0, at, size); }

/* A read and a write are in no order, and the read came first in this run. Was the read too
 * early, for the data being written? Certainly if nothing had been written before. Also if a load is ordered after
 * everything that the reader did before this read, and after its first read of the old data: then this read belongs to
 * the next lap. */
static int is_early_read(Actor *a, const Access *before) {
    Access first = *before, start = *before;
    first.epoch = before->again;
    start.component = before->issuer;
    start.epoch = before->issued;
    return before->again == UNWRITTEN ||
           (before->again != 0 && a->barrier != NULL && has(a, &first, KNOWN) && !has(a, &start, KNOWN));
}

void order_judge(Actor *a, const Access *before, uintptr_t at, uint32_t size) {
    ModelRule rule = before->serial > order_now.oldest ? rule_of(a, before) : RULE_COUNT;
    if (rule == RULE_RACE_WAR && is_early_read(a, before)) {
        find(a, RULE_RACE_RAW, before, 1, at, size);
    } else if (rule != RULE_COUNT) {
        find(a, rule, before, 0, at, size);
    }
}

static void report_shared(const Cta *cta, uint32_t offset, uint32_t size, Tag tag) {
    char of[PHRASE_SIZE], place[PHRASE_SIZE];
    SHARED_TEXT(launch_of(cta), offset, place, sizeof place);
    report_line("memory", "%s%sshared memory of %s, bytes %u to %u%s%s", place, *place != '\0' ? ": " : "",
                cta_text(cta, of), offset, offset + size - 1, tag.tensor != TENSOR_UNKNOWN ? ", last filled with " : "",
                tag.tensor != TENSOR_UNKNOWN ? tag_text(tag, PHRASE) : "");
}

static void report_global(const Allocation *a, uintptr_t p, Tag tag) {
    int named = tag.tensor != TENSOR_UNKNOWN;
    report_line("memory", "%s, byte %llu%s%s", allocation_text(a, PHRASE), (unsigned long long)(p - a->begin),
                named ? ": " : "", named ? tag_text(tag, PHRASE) : "");
}

/* An mbarrier in this chunk. */
static void report_barrier_in(const Cta *cta, uint32_t offset) {
    const uint16_t *at = &cta->mbarriers->at[offset / CHUNK_BYTES * 2];
    report_barrier(cta->mbarriers->list[(at[0] != 0 ? at[0] : at[1]) - 1]);
}

/* Why an access of the thread's own cluster to shared memory is not known to be over. */
static void report_missing_shared(const Thread *t, const Access *before) {
    const ComponentOwner *owner = component_owner(t->cta->cluster, before->component);
    GroupKind kind;
    if (owner->barrier != NULL) {
        uint32_t seen = clock_tick(t->clock->base, before->component).known;
        if (seen == 0) {
            report_line("missing", "the load counts for phase %u of %s; this thread knows no completed phase of it",
                        before->epoch - 1, barrier_text(owner->barrier, PHRASE));
        } else {
            report_line("missing", "the load counts for phase %u of %s; this thread knows only phases up to %u",
                        before->epoch - 1, barrier_text(owner->barrier, PHRASE), seen - 1);
        }
        report_barrier(owner->barrier);
    } else if (owner->warpgroup != NULL) {
        report_line("missing",
                    "the wgmma is in group %u of warpgroup %d: this thread cannot know that a wgmma.wait_group has "
                    "covered it",
                    before->epoch - 1, owner->warpgroup->id);
    } else if ((kind = component_group(owner->thread, before->component)) != GROUP_KINDS) {
        const GroupText *text = group_text(kind);
        report_line("missing",
                    owner->thread == t ? "the copy is in group %u of its thread's %s groups: this thread has not "
                                         "waited for it (%s)"
                                       : "the copy is in group %u of its thread's %s groups: its thread must have "
                                         "called %s, and a barrier must follow",
                    before->epoch - 1, text->copies, text->wait);
    } else {
        report_line("missing", "no barrier that both threads take part in lies between");
    }
}

/* What a thread, or NULL, a launch of device `on` would have to know of an access to global memory. */
static void report_missing_global(const Actor *a, int on, const Access *before, const char *who) {
    const Thread *t = a != NULL ? a->thread : NULL;
    if (!(before->flags & ASYNC) || (device.devices > 1 && world_is_handed_on(before))) {
        world_missing(t, on, before, who);
        return;
    }
    const int same_group = a != NULL && before->serial == a->access.serial &&
                           before->component == a->access.component && before->epoch == a->access.epoch;
    report_line(
        "missing", "%s",
        before->flags & READS
            ? "a wait for the mbarrier phase in which the copy lands, by this thread or by one that is before it"
        : same_group ? "bulk_commit_group() and bulk_wait_group(0) between the two: copies of one group are in no order"
        : t != NULL && device_with(before->serial) == device_of(t)
            ? "bulk_wait_group(0) by the thread of the copy (bulk_wait_group_read() waits only until shared memory has "
              "been "
              "read), and after it what orders this thread: a barrier, or a release and an acquire"
        : world_issuer_knows(before) ? "a release of system scope after the wait: the thread of the copy has waited "
                                       "for it (bulk_wait_group(0)) and has "
                                       "released nothing since"
                                     : "bulk_wait_group(0) by the thread of the copy (.read says that shared memory "
                                       "has been read), and after it a "
                                       "release of system scope");
}

static void report_missing_tensor(const struct Finding *f) {
    const int product = f->before.kind >= ACCESS_TCGEN05_CP;
    if (f->rule == RULE_TCGEN05_FENCE) {
        report_line("missing",
                    "%stcgen05_fence_after() by this thread after what orders the two and before this instruction%s",
                    product ? "" : "tcgen05_fence_before() by the other thread before its arrival or release, or ",
                    f->by->thread->cta == component_owner(f->by->cta->cluster, f->before.issuer)->thread->cta
                        ? ""
                        : "; between CTAs the arrival and the wait are of .cluster scope");
    } else if (f->before.kind == ACCESS_TMEM_ALLOC) {
        report_line("missing",
                    "a barrier after the allocation of the other CTA of the pair, for example a cluster barrier");
    } else if (product) {
        report_line("missing",
                    "tcgen05_commit() by the thread of that %s, and a wait for its mbarrier; a commit of another "
                    "thread does not cover it, and only products of one accumulator and shape, and a product after a "
                    "copy, are in order without a commit",
                    f->before.kind == ACCESS_TCGEN05_CP ? "tcgen05.cp" : "tcgen05.mma");
    } else {
        report_line("missing", "%s by the warp of the earlier instruction, and a barrier after it",
                    f->before.flags & READS ? "tcgen05_wait_ld()" : "tcgen05_wait_st()");
    }
}

static void report_missing(const struct Finding *f, const char *who) {
    const Actor *a = f->by;
    const Access *before = &f->before;
    if (f->rule == RULE_UNINIT_SHARED || f->rule == RULE_UNINIT_TENSOR || f->rule == RULE_BARRIER_OVERWRITTEN) {
        return;
    }
    if (a->space == SPACE_TENSOR) {
        report_missing_tensor(f);
    } else if (f->rule == RULE_LAUNCH_OVERLAP) {
        report_line("missing", "grid_dependency_wait(), by this thread or by one that is before it at a barrier");
    } else if (f->rule == RULE_PROXY_FENCE) {
        report_line("missing", "%s",
                    fenced_here(a, before) ? spaces[a->space].fence
                                           : "fence_proxy_async() by a thread of this CTA, after what orders the two: "
                                             "a fence is for the async proxy of its own CTA");
    } else if (f->rule == RULE_SCOPE && (before->flags & ATOMIC)) {
        report_line("missing", "an atomic of system scope: one of .gpu scope is atomic for its own device only");
    } else if (before->serial == a->access.serial && thread_knows(a->thread, before->component, before->epoch)) {
        report_line(
            "missing",
            "cluster scope: an arrival of .cta scope at a barrier of another CTA, or a wait of .cta scope for it, "
            "says that reads are complete, but publishes nothing that was written "
            "(mbarrier_arrive_release_cluster(), mbarrier_wait_parity_cluster())");
    } else if (f->read_early) {
        report_missing_shared(component_owner(a->thread->cta->cluster, before->issuer)->thread, &a->access);
    } else if (a->space == SPACE_SHARED) {
        report_missing_shared(a->thread, before);
    } else {
        report_missing_global(a, device_of(a->thread), before, who);
    }
}

/* A box that extends into the next element of its array, mostly the next stage, or past the array. */
static void report_size(const struct Finding *f) {
    enum { MOST_MEMBERS = 64 };
    static ModelMember list[MOST_MEMBERS];
    const Actor *a = f->by;
    const Launch *l = launch_of(a->thread->cta);
    uint64_t size;
    int members = layout_members(l->shared_file, l->shared_type, list, MOST_MEMBERS, &size);
    for (int i = 0; i < members && a->bytes > 0; i++) {
        const char *extent = strchr(list[i].type, '[');
        int of_arrays = extent != NULL && strchr(extent + 1, '[') != NULL;
        uint64_t slot = of_arrays ? list[i].bytes / (uint64_t)atoi(extent + 1) : list[i].bytes;
        uint64_t in_member = a->begin % size - list[i].offset;
        if (in_member < list[i].bytes && a->bytes > slot && (in_member >= slot || f->at - a->begin >= slot)) {
            char index[PHRASE_SIZE] = "";
            if (of_arrays) {
                snprintf(index, sizeof index, "[%llu]", (unsigned long long)(in_member / slot));
            }
            report_line("size", "the box is larger than its slot: it has %u bytes, and %s->%s%s has %llu", a->bytes,
                        l->shared_variable, list[i].name, index, (unsigned long long)slot);
        }
    }
}

/* What was read before it had come: a wait of the thread that a fresh barrier let pass. */
static void report_fresh(const Thread *t) {
    const Barrier *b = t->cta->phases->thread[t->id].fresh;
    if (b != NULL) {
        report_place("before", t, t->cta->phases->thread[t->id].fresh_site, "wait that returned at once");
        report_line("phase", "%s was fresh, and a wait with parity 1 passes it: phase 0, the first, has parity 0",
                    barrier_text(b, PHRASE));
    }
}

static void report(const struct Finding *f) {
    const Actor *a = f->by;
    char who[PHRASE_SIZE];
    if (!report_begin(f->rule)) {
        return;
    }
    if (f->read_early) {
        report_place_of("now", issuer_text(&f->before, who), f->before.site, access_name[f->before.kind]);
    }
    report_place(f->read_early ? "before" : "now", a->thread, a->access.site, a->what);
    if (f->before.serial != 0 && !f->read_early) {
        report_place_of("before", issuer_text(&f->before, who), f->before.site, access_name[f->before.kind]);
    } else if (f->rule == RULE_LAUNCH_OVERLAP) {
        report_line("before", "the launch before, which may still run: in a chain of layers it writes and reads "
                              "what this one reads and writes");
    } else if (f->rule == RULE_BARRIER_OVERWRITTEN) {
        report_barrier_in(a->cta, (uint32_t)f->at);
    }
    if (a->space == SPACE_SHARED) {
        report_shared(a->cta, (uint32_t)f->at, f->size, f->tag);
    } else if (a->space == SPACE_TENSOR) {
        report_line("memory", "tensor memory of %s, lane %d, columns %d to %d", cta_text(a->cta, PHRASE),
                    tmem_lane((uint32_t)f->at), tmem_column((uint32_t)f->at),
                    tmem_column((uint32_t)f->at) + (int)f->size / 2 - 1); /* cells.c: two bytes a column */
    } else {
        report_global(a->in, f->at, f->tag);
    }
    report_missing(f, who);
    if ((f->rule == RULE_UNINIT_SHARED || f->rule == RULE_RACE_RAW) && !f->read_early) {
        report_fresh(a->thread);
    }
    if (a->barrier != NULL) {
        report_line("stage", "the load is counted by %s", barrier_text(a->barrier, PHRASE));
        report_size(f);
    }
    report_end(0);
}

int order_found(void) { return found.count > 0; }

/* What is told first: no fence helps what is in no order, and where a multicast overwrites what another CTA reads, the
 * readers show whose release is missing, not the copy before. */
static int rank_of(const struct Finding *f) {
    const Actor *a = f->by;
    int multicast = a->space == SPACE_SHARED && (a->access.flags & ASYNC) && a->cta != a->thread->cta;
    return f->rule == RULE_PROXY_FENCE ? 2 : multicast && f->rule == RULE_RACE_WAW;
}

void order_settle(void) {
    int count = found.count;
    found.count = 0; /* a report may end the launch */
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < count; i++) {
            if (rank_of(&found.list[i]) == rank) {
                report(&found.list[i]);
            }
        }
    }
}

/* ---- launches of a chain ----------------------------------------------------------------------------------------- */

/* The launch of that device that goes with this one: as many are before it there. */
static const LaunchFacts *peer_of(const Launch *l, int on) {
    int number = 0;
    for (const Launch *before = device.launch; before < l; before++) {
        number += before->facts.device == l->facts.device;
    }
    for (int i = 0; i < device.launched; i++) {
        if (device.launch[i].facts.device == on && number-- == 0) {
            return &device.launch[i].facts;
        }
    }
    return NULL;
}

void order_check_launches(Actor *a, uintptr_t p) {
    const int flags = a->access.flags;
    const Launch *l = launch_of(a->thread->cta);
    if (l->overlap && !thread_waited(a->thread) && (!a->in->constant || (flags & WRITES))) {
        report(&(struct Finding){.rule = RULE_LAUNCH_OVERLAP, .by = a, .at = p, .tag = tag_at(a, p)});
    }
    const LaunchFacts *peer = a->in->device != l->facts.device ? peer_of(l, a->in->device) : NULL;
    if (peer != NULL && (flags & WRITES) && (!(flags & ATOMIC) || (flags & ASYNC)) &&
        !world_knows_start(a->thread, peer)) {
        REPORT(RULE_PEER_START, report_place("now", a->thread, a->access.site, a->what),
               report_global(a->in, p, tag_at(a, p)),
               report_line(
                   "missing",
                   "an acquire of a flag that device %d raises when this launch of it has begun: until then the work "
                   "before in its stream may use that memory",
                   a->in->device));
    }
}

int order_check_left(const Allocation *a, const Access *e, uintptr_t p) {
    if (e->serial <= order_now.first || !(e->flags & WRITES) || ((e->flags & ATOMIC) && !(e->flags & ASYNC)) ||
        device_with(e->serial) == a->device || world_device_knows(a->device, e)) {
        return 1;
    }
    char who[PHRASE_SIZE];
    if (report_begin(world_is_beyond(NULL, a->device, e) ? RULE_SCOPE : RULE_PEER_END)) {
        report_line("now", "the launch on device %d has ended", a->device);
        report_place_of("before", issuer_text(e, who), e->site, access_name[e->kind]);
        report_global(a, p, tag_of_global((const void *)p));
        report_missing_global(NULL, a->device, e, who);
        report_end(0);
    }
    return 0;
}

ON(order, LAUNCH_BEGIN) {
    found.count = 0; /* a launch that was stopped may have left some */
    order_now.first = order_now.oldest = device.launch->facts.first;
    for (int i = 0; i < device.launched; i++) {
        const Launch *l = &device.launch[i];
        if (l->follows < 0 && overlaps(l) && l->before.first < order_now.oldest) {
            order_now.oldest = l->before.first;
        }
    }
}
