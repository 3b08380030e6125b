/* internals.c - what the cases cannot show: that a seed replays a run, that reports name lines, barriers and places,
 * that bad launches and bad options are refused, that events are recorded. TAP. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../common/model/core/state.h"
#include "../../common/model/place/place.h"
#include "../../common/model/model_count.h"
#include "../../common/device/status.h"
#include "../../common/model/model_host.h"
#include "../../common/model/model_trace.h"
#include "../unit/tap.h"
#include "cases.h"

GemmStatus model_launch(const void *kernel, const char *name, int grid, int block, int cluster, int shared_bytes,
                        int overlap, const void *params, const void *stream, GemmError *error);

/* Runs a case with stdout (1) or stderr (2) in a file; the text, to be freed. */
static char *output_of(const Case *c, const ModelOptions *options, int stream) {
    FILE *file = tmpfile();
    fflush(stdout);
    int saved = dup(stream);
    if (file == NULL || saved < 0 || dup2(fileno(file), stream) < 0) {
        printf("Bail out! no temporary file\n");
        exit(1);
    }
    run_case(c, options);
    fflush(stdout);
    dup2(saved, stream);
    close(saved);
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    char *text = calloc(1, (size_t)length + 1);
    rewind(file);
    if (text == NULL || fread(text, 1, (size_t)length, file) != (size_t)length) {
        printf("Bail out! the output was not read\n");
        exit(1);
    }
    fclose(file);
    return text;
}

/* Is this among what has not been reached? */
static int is_unreached(const char *phrase) {
    const char *text;
    for (int i = 0; (text = model_unreached(i)) != NULL; i++) {
        if (strstr(text, phrase) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* The first of all. */
static void test_unreached(void) {
    ModelOptions options = {.quiet = 1};
    ok(is_unreached("ring_kernel was never launched"), "a kernel that has not run is known");
    run_case(find_case("ring EXPECT_DOUBLE"), &options);
    ok(!is_unreached("ring_kernel was never launched"), "... it has");
    ok(is_unreached("ring full[3] of ring_kernel has wrapped around less than once"),
       "a ring that stands still is known");
    run_case(find_case("ring RIGHT"), &options);
    ok(!is_unreached("of ring_kernel"), "... it has gone round twice");
}

static void test_depends(void) {
    static const struct {
        const char *name, *phrase; /* NULL: nothing */
    } cases[] = {
        {"ring RIGHT", NULL},
        {"idioms RIGHT_TRITON_2", NULL},
        {"idioms RIGHT_CUTLASS_TRY_2", NULL},
        {"idioms RIGHT_CUTLASS_PEEK_2", NULL},
        {"waits TELLS_COUNT", "keeps something of each false"},
        {"waits TELLS_IF_AT_ONCE", "tests a barrier"},
        {"waits TWICE", "tests a barrier"},
        {"schedule TWO_STORES", "nothing orders the two"},
        {"roles RIGHT_ASKS_AHEAD", "tests a barrier"},
        {"global RIGHT_FIXUP_UP", "waits for another CTA"},
        {"global RIGHT_SPLIT", "gets the value that an atomic found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ModelOptions options = {.policy = MODEL_RANDOM, .quiet = 1, .sms = 2};
        model_forget_depends();
        run_case(find_case(cases[i].name), &options);
        const char *found = model_depends();
        ok((found == NULL) == (cases[i].phrase == NULL) && (found == NULL || strstr(found, cases[i].phrase) != NULL),
           "%s: %s that depends on the schedule: %s", cases[i].name, cases[i].phrase == NULL ? "nothing" : "what",
           found != NULL ? found : "nothing");
    }
}

static void test_replay(void) {
    const Case *c = find_case("ring RIGHT");
    for (int policy = MODEL_RANDOM; policy <= MODEL_PCT; policy++) {
        ModelOptions options = {.policy = policy, .seed = 7, .barriers = 1, .quiet = 1};
        char *first = output_of(c, &options, 1), *again = output_of(c, &options, 1);
        options.seed = 8;
        char *other = output_of(c, &options, 1);
        ok(strlen(first) > 1000 && strcmp(first, again) == 0, "policy %d: the same seed gives the same events", policy);
        ok(strcmp(first, other) != 0, "policy %d: another seed gives others", policy);
        free(first);
        free(again);
        free(other);
    }
    ModelOptions options = {.barriers = 1};
    char *text = output_of(c, &options, 1);
    contains(text, "full[1]", "--barriers names barriers");
    contains(text, "arrive.expect_tx 24576", "--barriers shows announced bytes");
    contains(text, "phase complete", "--barriers shows the end of phases");
    free(text);
    text = output_of(find_case("idioms RIGHT_CUTLASS_PEEK_2"), &options, 1);
    contains(text, "asked, parity 0: no ", "--barriers shows a question that was answered with no");
    contains(text, "asked, parity 0: yes ", "... and with yes");
    free(text);
}

/* A part of the report of each case under the eager policy; more parts after each '|'. */
static const char *const said[][2] = {
    {"ring RELEASE_EARLY",
     "TMA load by CTA 0 warp 8 lane 0 (producer)|wgmma reading A|counted by full[0]|last filled "
     "with A(0,0)|group 0 of warpgroup 0|kernels_ring.c:|wgmma_ss(64, acc|on a GPU|--policy eager"},
    {"ring EXPECT_DOUBLE", "256 threads of CTA 0|for phase 0 of full[0] (parity 0)|24576 bytes are missing|49152 "
                           "announced, 24576 delivered|CTA 0 warp 8 lane 0|for phase 0 of empty[0]"},
    {"ring FULL_COUNT_128", "127 of 128 arrivals are missing"},
    {"ring EMPTY_PARITY", "either no thread has reached an arrival, or the thread that would arrive is itself waiting"},
    {"ring ALL_ARRIVE", "no thread has waited for phase 0 yet|a wait that tells this thread that the wait for phase 0"},
    {"ring REINIT", "a condition that lets one thread initialise it"},
    {"waits PASSES_FRESH", "wait that returned at once|other was fresh, and a wait with parity 1 passes it"},
    {"global TMA_STORE_TURN", "bulk_wait_group(0) by the thread of the copy (bulk_wait_group_read() waits only until"},
    {"ring WRONG_STRIDE", "row 8, k 0 to 7: expected the chunk of A(72,0), fetched the chunk of A(80,0)"},
    {"ring NO_EXPECT", "the load counts for phase 1 of full[0]"},
    {"types MMA_CHUNK", "row 0, k 8 to 15: expected the chunk of B(0,8), fetched the chunk of B(0,0)"},
    {"plain NO_SYNC", "tests/model/kernels_plain.c:|int got = s->value[THREADS - 1 - thread];|s->value[place] = "
                      "p->in[id];|s->value[64]"},
    {"ring BOX_TOO_LARGE", "the box is larger than its slot: it has 32768 bytes, and s->a[1] has 16384"},
    {"plain GLOBAL_PAST_END", "4 bytes at byte 3072 of out, which has 3072 bytes"},
    {"plain REGISTERS_SUM", "warpgroup 2: 168 registers a thread"},
    {"right WRITE_AND_ATOMIC_READ",
     "Threads access the same global memory|atomic load by CTA 0 warp 0 lane 1|store by"},
    {"right READ_THEN_ATOMIC", "load by CTA 0|atomic add by"},
    {"global SPLIT_NO_BARRIER", "atomic access by CTA|a barrier or a release: what the CTA has published"},
    {"global FLAGS_STORE_RELAXED", "store by CTA 0 warp 0|a release: neither CTA 0 warp 0"},
    {"global FLAGS_LOAD_RELAXED", "an acquire: the atomic at "},
    {"global SPLIT_NO_BARRIER_AFTER", "the relaxed atomic at "},
    {"global STORE_UNDER_LOAD",
     "store by CTA 0 warp 0|TMA load (reading global memory) by CTA 0 warp 0 lane 0|a wait for the mbarrier phase"},
    {"global TMA_STORE_READ_ONLY", "load by CTA 0|TMA store (writing global memory) by CTA 0 warp 0 lane "
                                   "0|bulk_wait_group(0) by the thread of the copy"},
    {"global NO_PROXY",
     "TMA load by CTA 0 warp 0 lane 0|store by CTA 0|fence_proxy_async_global() after the earlier access"},
    {"global GRID_BARRIER_TOO_MANY", "4 CTAs of the grid have not begun"},
    {"global OVERLAP_NO_WAIT", "of the launch before|grid_dependency_wait(), by this thread"},
    {"plain REGISTERS_POLLED", "polls a counter whose value is 0"},
    {"ring ONE_WARP_MULTIPLIES", "warps 1 of CTA 0 have issued a wgmma that all four warps"},
    {"right PART_READS_OUTSIDE", "with mask 0x0000ffff: lane 0 reads from lane 16, which is not in the mask"},
    {"right RECURSION", "kernels_plain.c:|CTA 0 warp 1 lane 5|64 KB"},
    {"right LOCAL_INDEX", "kernels_plain.c:|local[-away]|CTA 0 warp 1 lane 5|SIGSEGV at address"},
    {"right DAMAGED_STACK", "kernels_plain.c:|CTA 0 warp 1 lane 5|the place to return to is damaged"},
    {"right ABORT", "kernels_plain.c:|CTA 0 warp 1 lane 5|by abort()"},
    {"right LARGE_ARRAY", "kernels_plain.c:|large(|64 KB"},
    {"right MISALIGNED_VECTOR", "MISALIGNED_VECTOR:|16 bytes at byte 4 of counter"},
    {"peer LOAD_NO_END_SYNC", "ld.shared::cluster into CTA 1, all of whose threads have returned"},
    {"tensor BOX_RANK", "TMA load with 5 coordinates; the tensor map has 2 dimensions"},
    {"plain SPIN_GLOBAL", "ordinary load of the same 4 bytes|*(volatile int *)p->counter == 0"},
    {"devices NO_WAIT", "the launch on device 0 has ended|by CTA 0 of device 1 warp 0 lane 0|memory   C of device 0, "
                        "byte 4096: C(32,0)|no thread of that launch has read it by an acquire"},
    {"devices RAISED_AFTER_READ", "a release of system scope after the wait|has released nothing since"},
    {"devices STALE_EPOCH", "waited for a value that counts it"},
    {"devices READ_GPU", "one of .gpu scope is atomic for its own device only"},
    {"devices FENCE_GPU_POLL", "a release of system scope: the atomic at tests/model/kernels_devices.c:"},
    {"devices READ_RELAXED",
     "the relaxed atomic at tests/model/kernels_devices.c:|no __threadfence_system() was executed between"},
    {"devices NEVER_RAISED",
     "whose value is 1, until it is 2 or more: word 1 of flags of device 0|no thread is left that "
     "could change it|0 of 128 threads"},
};

/* Runs a case, and gives the report by its rule; "" if there is none. */
static const char *report_of(const Case *c, ModelPolicy policy) {
    run_case(c, &(ModelOptions){.policy = policy, .seed = 3, .chain = is_chain(c), .quiet = 1});
    for (int i = 0; i < model_reports(); i++) {
        if (strcmp(model_rule_name(model_report(i)->rule), rule_of(c)) == 0) {
            return model_report(i)->text;
        }
    }
    return "";
}

static void test_reports(void) {
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        const Case *c = find_case(said[i][0]);
        if (c->rule[0] == '#') {
            skip(c->name, c->rule + 2);
            continue;
        }
        const char *text = report_of(c, MODEL_EAGER);
        for (const char *from = said[i][1]; *from != '\0'; from += strspn(from, "|")) {
            char part[200];
            snprintf(part, sizeof part, "%.*s", (int)strcspn(from, "|"), from);
            from += strlen(part);
            contains(text, part, c->name);
        }
    }
}

static int times(const char *text, const char *part) {
    int found = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) {
        found++;
    }
    return found;
}

/* What goes to stderr: the first three bugs of a launch in full, the others in two lines, repetitions as a number. */
static void test_printing(void) {
    const Case *c = find_case("ring NO_EXPECT");
    ModelOptions options = {0};
    char *text = output_of(c, &options, 2);
    ok(model_reports() > 3, "%s breaks more than three rules", c->name);
    is_int(times(text, "\n  now      ") + times(text, "\n  waiting  "), model_reports(), "all say what and where");
    is_int(times(text, "\n  replay   "), 3, "three are printed in full");
    contains(text, "more times in this launch", "repetitions are counted");
    free(text);
}

/* Code without a line in the table. */
__asm__(".pushsection .text.unlisted,\"ax\"\n"
        "unlisted_code: ret\n"
        "    ret\n"
        ".popsection\n");
extern char unlisted_code[];

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

static void test_places(void) {
    char text[512], expected[512];
    Site here = site_of(__FILE__ ":17");
    site_text(0, text, sizeof text);
    contains(text, "unknown place", "site 0 is an unknown place");
    is_int((long long)strlen(site_source(0, text, sizeof text)), 0, "... without a source line");
    site_text(here, text, sizeof text);
    contains(text, "tests/model/internals.c:17", "a literal is its own place");
    Site unlisted = site_of(unlisted_code) + 1;
    snprintf(expected, sizeof expected, "instruction 0x%x (no line table)", unlisted);
    contains(site_text(unlisted, text, sizeof text), expected, "code without a line is named by its address");
    is_int((long long)strlen(site_source(unlisted, text, sizeof text)), 0, "... without a source line");

    /* Programs are started at the top of the tree and in a directory of it. */
    Site first = site_of(__FILE__ ":" TEXT(__LINE__));
    contains(site_source(first, text, sizeof text), "Site first =", "a source line is found from the top");
    char top[512];
    if (getcwd(top, sizeof top) == NULL || chdir("tests") != 0) {
        ok(0, "internals is started at the top of the tree");
        return;
    }
    contains(site_source(first, text, sizeof text), "Site first =", "... from a directory of it");
    int moved = chdir("/");
    is_int((long long)strlen(site_source(first, text, sizeof text)), 0, "... and not from elsewhere");
    ok(moved == 0 && chdir(top) == 0, "back at the top");

    const char *file = "tests/model/kernels_ring.c";
    contains(layout_text(file, "Shared", "s", 2, text, sizeof text), "s->a[0][1]", "byte 2 of the ring's memory");
    is_int((long long)strlen(layout_text(file, "NoSuchType", "s", 0, text, sizeof text)), 0, "no such type, no name");
    is_int((long long)strlen(layout_text("none.c", "Shared", "s", 0, text, sizeof text)), 0, "no such file, no name");
    /* value[128], box[2][96], then two of {16 bytes, pair[2][4]}; all in all 25664 bytes. */
    file = "tests/model/kernels_plain.c";
    contains(layout_text(file, "Shared", "s", 512 + 384 + 32 + 16 + 12, text, sizeof text), "s->lap[1].pair[1][2]",
             "arrays in a struct in an array");
    contains(layout_text(file, "Shared", "s", 2 * 25664 + 512 + 6, text, sizeof text), "s[2].box[0][3]",
             "memory after the struct is one more of it");
}

static void test_limits(void) {
    const Case *c = find_case("ring RELEASE_EARLY");
    ModelOptions options = {.quiet = 1, .max_reports = 1};
    is_int(run_case(c, &options), 4, "a launch that is stopped by its first report returns 4");
    is_int(model_reports(), 1, "and has made one report");
    ok(model_report(-1) == NULL && model_report(1000) == NULL && model_rule_name((ModelRule)1000) == NULL,
       "there is no report and no rule of a wrong number");
    is_int(model_launch(NULL, "kernel", 0, 32, 0, 0, 0, NULL, NULL, NULL), 3, "an empty grid is refused");
    is_int(model_launch(NULL, "kernel", 1, 1025, 0, 0, 0, NULL, NULL, NULL), 3, "a CTA of 1025 threads is refused");
    is_int(model_launch(NULL, "kernel", 3, 32, 2, 0, 0, NULL, NULL, NULL), 3,
           "a grid that is not a multiple of the cluster is refused");
    is_int(model_launch(NULL, "kernel", 8, 32, 8, 0, 0, NULL, NULL, NULL), 3,
           "a cluster larger than the device is refused");
    is_int(model_launch(NULL, "kernel", 0, 32, 8, 0, 0, NULL, NULL, NULL), 3,
           "... also if the grid is empty for that reason");
    is_int(model_launch(NULL, "kernel", 1, 32, 0, 227 * 1024 + 1, 0, NULL, NULL, NULL), 3,
           "too much shared memory is refused");
}

/* The exit status of a child that ends by a fault of the host's (0) or as right_end() says, and what it said on
 * stderr. */
static int end_of(int way, char said[1000]) {
    static int *volatile nowhere;
    int ends[2], status = 0;
    fflush(stdout);
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
        dup2(ends[1], 2);
        _exit(way == 0 ? nowhere[2] = 1 : right_end(way));
    }
    close(ends[1]);
    ssize_t length = read(ends[0], said, 999);
    said[length > 0 ? length : 0] = '\0';
    close(ends[0]);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What would end the program, or keep it for ever. */
static void test_faults(void) {
    ModelOptions options = {.quiet = 1, .patience = 1};
    model_configure(&options);
    model_forget_reports();
    is_int(right_end(0), 4, "a loop without loads ends the launch");
    const char *text = model_reports() == 1 ? model_report(0)->text : "";
    contains(text, "ENDLESS", "... as one that does not end");
    contains(text, "CTA 0 warp 1 lane 5", "... by its thread");
    contains(text, "kernels_plain.c:", "... at its line");
    char said[1000];
    is_int(end_of(0, said), 4, "a fault outside of a kernel: exit status 4");
    contains(said, "tests/model/internals.c:", "... and a sentence with the place");
    contains(said, "SIGSEGV at address 0x8, outside of a kernel", "... and what it was");
    is_int(end_of(1, said), 5, "exit(0) in a kernel: exit status 5");
    contains(said, "kernels_plain.c:", "... and a sentence with the place");
    contains(said, "CTA 0 warp 1 lane 5 has called exit()", "... and what it was");
    for (int way = 3; way <= 4; way++) {
        is_int(end_of(way, said), 5,
               way == 3 ? "fork() in a kernel: exit status 5" : "_exit() in a kernel: exit status 5");
        contains(said, way == 3 ? "has called fork()" : "has called _exit()", "... and a sentence");
    }
    for (int way = 5; way <= 6; way++) {
        model_forget_reports();
        is_int(right_end(way), 4,
               way == 5 ? "a loop that sleeps ends the launch" : "a loop of atomics ends the launch");
        contains(model_reports() == 1 ? model_report(0)->text : "", "ENDLESS", "... as one that does not end");
    }
    is_int(end_of(2, said), 5, "a limit of the model: exit status 5");
    contains(said, "the CPU model cannot judge this program: a CTA has too many barriers", "... and a sentence");
    /* Two mappings for each of these stacks would be more than a process may have. */
    enum { CTAS = 33, GPU_SMS = 132 };
    options = (ModelOptions){.quiet = 1, .sms = CTAS};
    model_configure(&options);
    is_int(right_grid_barrier(CTAS, 0), 0, "33 CTAs of 1024 threads run beside each other");
    for (int overflow = 1; overflow <= 3; overflow++) {
        model_forget_reports();
        ok(right_grid_barrier(CTAS, overflow) == 4, "a stack without a guard overflows, way %d", overflow);
        text = model_reports() == 1 ? model_report(0)->text : "";
        contains(text, "the stack is full", "... and the report says so");
        contains(text, "CTA 32 warp 1 lane 5", "... by its thread");
        contains(text, "kernels_plain.c:", "... at its line");
    }
    is_int(right_grid_barrier(CTAS, 0), 0, "... and the next launch is right");
    for (int policy = MODEL_EAGER; policy <= MODEL_PCT; policy++) {
        options = (ModelOptions){.quiet = 1, .sms = GPU_SMS, .policy = (ModelPolicy)policy};
        model_configure(&options);
        is_int(global_grid_barrier(GPU_SMS), 0, "132 CTAs synchronise");
        is_int(global_fixup(GPU_SMS, 0), 0, "... each waits for the one before");
        is_int(global_fixup(GPU_SMS, 1), 0, "... for the next CTA");
        /* Alone, launches may not overlap; as one of a chain, no memory is touched before the wait. */
        const Case *alone = find_case("global RIGHT_OVERLAP_OTHER");
        is_int(run_case(alone, &options), 0, "memory that the launch before does not touch");
        options.chain = 1;
        is_int(run_case(alone, &options), 4, "... which it may touch in a chain of launches");
    }
}

static void test_memory(void) {
    uint8_t *a = model_global_alloc(1000, "a"), *b = model_global_alloc(100000, "b");
    ok(a != NULL && b != NULL && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0, "memory is 256-byte aligned");
    ok(b - a > 4096 || a - b > 100000 + 4096, "allocations do not touch");
    memset(b, 1, 100000);
    model_global_free(a);
    uint8_t *c = model_global_alloc(500, "c");
    ok(c != NULL && c[0] == 0 && b[99999] == 1, "freed memory is given out again, cleared");
    ok(model_global_alloc((size_t)1 << 60, "all") == NULL, "too much memory is refused");
    model_global_free(NULL);
    model_global_free(b);
    model_global_free(c);
}

static void test_devices(void) {
    char first[4096];
    const Case *c = find_case("devices READ_AT_ONCE");
    snprintf(first, sizeof first, "%s", report_of(c, MODEL_RANDOM));
    ok(strlen(first) > 100 && strcmp(first, report_of(c, MODEL_RANDOM)) == 0,
       "a seed replays the launches of two devices");

    ModelOptions options = {.count = 1, .trace = 1, .quiet = 1};
    c = find_case("devices NO_WAIT");
    is_int(run_case(c, &options), 0, "a launch that is no part of a chain may end before its neighbour has written");
    is_int((long long)model_count(COUNT_CTAS), 4, "the CTAs of both devices are counted");
    const Trace *trace = model_trace();
    uint64_t sms = 0, ctas = 0;
    for (const TraceEvent *e = trace->event; e < trace->event + trace->count; e++) {
        sms |= e->kind == TRACE_CTA ? (uint64_t)1 << e->sm : 0;
        ctas |= e->kind == TRACE_CTA ? (uint64_t)1 << e->cta : 0;
    }
    is_int((long long)ctas, 0xf, "... and have numbers of their own in a timeline");
    is_int(trace->launches, 2, "... and each has a launch of its own there");
    ok(strcmp(trace->launch[1].name, "devices_kernel of device 1") == 0, "... with the number of its device");
    ok(sms >> 4 != 0 && (sms & 0xf) != 0 && sms >> 8 == 0, "each device has SMs of its own");
    model_hold_launches();
    is_int((long long)model_run_launches(), 0, "no launches: nothing to run");
}

int main(void) {
    test_unreached();
    test_depends();
    test_replay();
    test_reports();
    test_printing();
    test_places();
    test_limits();
    test_faults();
    test_memory();
    test_devices();
    model_shutdown();
    return tap_done();
}
