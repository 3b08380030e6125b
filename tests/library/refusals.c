/* refusals - does libgemm09 refuse every wrong argument, with the right words, without a GPU? library.t looks whether
 * it prints anything. Linked with libgemm09.so alone: gemm09.h needs nothing of CUDA. */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "gemm09.h"

/* Addresses are looked at, not followed. */
#define ADDRESS(x) ((void *)(uintptr_t)(x))

static Gemm09Problem good(void) {
    Gemm09Problem p = {.m = 100, .n = 200, .k = 300};
    p.a = ADDRESS(0x10000), p.lda = 304;
    p.b = ADDRESS(0x20000), p.ldb = 304;
    p.c = ADDRESS(0x30000), p.ldc = 200;
    p.workspace = ADDRESS(0x40000), p.workspace_bytes = gemm09_workspace_bytes();
    return p;
}

static void refused(const Gemm09Problem *p, const char *expected) {
    char text[GEMM09_TEXT_BYTES];
    Gemm09Status status = gemm09_launch(NULL, p, text, sizeof text);
    (void)(ok(status == GEMM09_BAD_ARGUMENT && strcmp(text, expected) == 0, "refused: %s", expected) ||
           diag("status %d, \"%s\"", (int)status, text));
}

/* The problem with one or two members that are something else. */
#define REFUSED(change, expected) \
    do {                          \
        Gemm09Problem p = good(); \
        change;                   \
        refused(&p, expected);    \
    } while (0)

static void refuse_problems(void) {
    REFUSED(p.m = 0, "m is 0: accepted are 1 to 2147482624");
    REFUSED(p.n = INT64_MIN, "n is -9223372036854775808: accepted are 1 to 2147482624");
    REFUSED(p.n = 2147482625, "n is 2147482625: accepted are 1 to 2147482624");
    REFUSED(p.k = ((int64_t)1 << 32) + 300, "k is 4294967596: accepted are 1 to 2147482624");
    REFUSED(p.a = NULL, "a is NULL: accepted are multiples of 16");
    REFUSED(p.b = NULL, "b is NULL: accepted are multiples of 16");
    REFUSED(p.c = NULL, "c is NULL: accepted are multiples of 16");
    REFUSED(p.a = ADDRESS(0x10002), "a is 0x10002: accepted are multiples of 16");
    REFUSED(p.lda = 296, "lda is 296: accepted are multiples of 8 from k = 300 to 2147483640");
    REFUSED(p.lda = 300, "lda is 300: accepted are multiples of 8 from k = 300 to 2147483640");
    REFUSED(p.ldb = -304, "ldb is -304: accepted are multiples of 8 from k = 300 to 2147483640");
    REFUSED(p.ldc = 192, "ldc is 192: accepted are multiples of 8 from n = 200 to 2147483640");
    REFUSED(p.ldc = 2147483648, "ldc is 2147483648: accepted are multiples of 8 from n = 200 to 2147483640");
    REFUSED((p.m = 2147482624, p.lda = 2147483640),
            "a has m = 2147482624 rows of lda = 2147483640 elements: accepted are up to 2^38 bytes");
    REFUSED((p.n = 1048577, p.ldb = 131072, p.ldc = 1048584),
            "b has n = 1048577 rows of ldb = 131072 elements: accepted are up to 2^38 bytes");
    REFUSED((p.m = 2097152, p.ldc = 65544),
            "c has m = 2097152 rows of ldc = 65544 elements: accepted are up to 2^38 bytes");
    REFUSED(p.workspace = NULL, "workspace is NULL: accepted are multiples of 16");
    REFUSED(p.workspace = ADDRESS(0x40004), "workspace is 0x40004: accepted are multiples of 16");
    REFUSED(p.workspace_bytes = 15, "workspace_bytes is 15: accepted are 16 and more");
    REFUSED(p.plan = -1, "plan is -1: accepted are 0 and what gemm09_plan() has written");
    REFUSED(p.plan = 2000, "plan is 2000: accepted are 0 and what gemm09_plan() has written");
    refused(NULL, "problem is NULL");
    /* What is just accepted: then the handle is looked at. */
    REFUSED((void)p, "handle is NULL: accepted is what gemm09_create() has made");
    REFUSED((p.m = p.n = p.k = 1, p.lda = p.ldb = p.ldc = 8),
            "handle is NULL: accepted is what gemm09_create() has made");
    REFUSED((p.m = 2147482624, p.k = p.n = 1, p.lda = p.ldb = p.ldc = 8),
            "handle is NULL: accepted is what gemm09_create() has made");
    REFUSED((p.m = 2097152, p.ldc = 65536), "handle is NULL: accepted is what gemm09_create() has made");
}

static void test_texts(void) {
    Gemm09Problem p = good();
    char text[12];
    p.m = 0;
    memset(text, 'x', sizeof text);
    is_int(gemm09_launch(NULL, &p, text, 6), GEMM09_BAD_ARGUMENT, "a text of 6 bytes: the same status");
    ok(memcmp(text, "m is \0xxxxxx", sizeof text) == 0, "... and 5 characters, and no byte behind them");
    memset(text, 'x', sizeof text);
    is_int(gemm09_launch(NULL, &p, text, 0), GEMM09_BAD_ARGUMENT, "a text of 0 bytes: the same status");
    is_int(text[0], 'x', "... and no byte written");
    is_int(gemm09_launch(NULL, &p, NULL, 100), GEMM09_BAD_ARGUMENT, "no text: the same status");
    is_int(gemm09_create(NULL, NULL, 0), GEMM09_BAD_ARGUMENT, "create without a place for the handle, no text");
}

/* ---- files of plans ---- */

#define HEAD "libgemm09 plans 1\ncard NVIDIA H200, 132 SMs\n"
#define ONE "plan 300 521 1003 1008 1008 528 split_128x64_by_2\n"

/* Without a handle a file that is accepted ends at the handle; all else is looked at before. */
static void load(const char *name, const char *text, const char *expected) {
    char path[] = "/tmp/gemm09_plans_XXXXXX", said[GEMM09_TEXT_BYTES], wanted[GEMM09_TEXT_BYTES];
    Gemm09Problem problems[4];
    size_t count = 4;
    int file = mkstemp(path);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) || close(file) != 0) {
        ok(0, "%s: the file cannot be made", name);
        return;
    }
    Gemm09Status status = gemm09_load_plans(NULL, path, problems, &count, said, sizeof said);
    snprintf(wanted, sizeof wanted, "%s%s", expected[0] == ' ' || expected[0] == ',' ? path : "", expected);
    int accepted = strncmp(expected, "handle", 6) == 0;
    if (!ok(status == (accepted ? GEMM09_BAD_ARGUMENT : GEMM09_BAD_FILE) && strcmp(said, wanted) == 0 && count == 0,
            "a file of plans: %s", name)) {
        diag("status %d, \"%s\"", (int)status, said);
    }
    unlink(path);
}

static void refuse_files(void) {
    load("a sound one", HEAD ONE "end 1\n", "handle is NULL: accepted is what gemm09_create() has made");
    load("none at all", "", " is no file of plans: its first line is \"\", accepted is \"libgemm09 plans 1\"");
    load("another version", "libgemm09 plans 2\nend 0\n",
         " is no file of plans: its first line is \"libgemm09 plans 2\", accepted is \"libgemm09 plans 1\"");
    load("cut off between lines", HEAD ONE, " is cut off after 1 plans: the last line has to say how many there are");
    load("cut off in a line", HEAD "plan 300 521 10",
         " is cut off after 0 plans: the last line has to say how many there are");
    load("a size that is no number", HEAD ONE "plan 300 521 x 1008 1008 528 split_128x64_by_2\nend 2\n",
         ", line 4 is \"plan 300 521 x 1008 1008 528 split_128x64_by_2\": accepted is plan m n k lda ldb ldc kernel, "
         "or end and how many");
    load("a leading dimension that is too small", HEAD "plan 300 521 1003 1000 1008 528 split_128x64_by_2\nend 1\n",
         ", line 3: \"plan 300 521 1003 1000 1008 528 split_128x64_by_2\" has a size that no launch accepts");
    load("a kernel that the library lacks", HEAD "plan 300 521 1003 1008 1008 528 split_128x65_by_2\nend 1\n",
         ", line 3: this library has no kernel split_128x65_by_2: measure that problem again");
    load("a line is missing", HEAD ONE "end 2\n",
         ", line 4 is \"end 2\" after 1 plans: accepted is end 1, and nothing after it");
    load("more after the end", HEAD ONE "end 1\n" ONE,
         ", line 4 is \"end 1\" after 1 plans: accepted is end 1, and nothing after it");
    load("more than there is room for", HEAD ONE ONE ONE ONE ONE "end 5\n",
         " has more plans than the 4 that there is room for");

    Gemm09Problem p = good();
    char said[GEMM09_TEXT_BYTES];
    size_t count = 1;
    is_int(gemm09_load_plans(NULL, "/nowhere/plans", &p, &count, said, sizeof said), GEMM09_BAD_FILE,
           "no file: refused");
    contains(said, "/nowhere/plans cannot be read: No such file", "... and named");
    is_int(gemm09_load_plans(NULL, NULL, &p, &count, said, sizeof said), GEMM09_BAD_ARGUMENT, "no path: refused");
    is_int(gemm09_load_plans(NULL, "x", NULL, &count, said, sizeof said), GEMM09_BAD_ARGUMENT, "no problems: refused");
    is_int(gemm09_save_plans(NULL, "x", &p, 1, said, sizeof said), GEMM09_BAD_ARGUMENT,
           "a problem without a plan: refused");
    contains(said, "problems[0].plan is 0: accepted is what gemm09_plan() has written", "... and named");
}

int main(void) {
    char text[GEMM09_TEXT_BYTES], plan_text[GEMM09_TEXT_BYTES], create_text[GEMM09_TEXT_BYTES];
    Gemm09 *handle = ADDRESS(0x10);
    Gemm09Problem p = good();
    refuse_problems();
    Gemm09Status plan_status = gemm09_plan(NULL, &p, plan_text, sizeof plan_text);
    Gemm09Status null_status = gemm09_create(NULL, text, sizeof text);
    Gemm09Status status = gemm09_create(&handle, create_text, sizeof create_text);
    gemm09_destroy(NULL);
    is_int(plan_status, GEMM09_BAD_ARGUMENT, "a plan without a handle: refused");
    contains(plan_text, "handle is NULL: accepted is what gemm09_create() has made", "... and named");
    is_int(null_status, GEMM09_BAD_ARGUMENT, "create without a place for the handle: refused");
    contains(text, "handle is NULL", "... and named");
    if (status == GEMM09_OK) {
        skip("create without a GPU", "there is a Hopper GPU");
        ok(handle != NULL && create_text[0] == '\0', "create with a GPU: a handle, and no text");
    } else {
        is_int(status, GEMM09_NO_DEVICE, "create without a Hopper GPU: refused");
        ok(handle == NULL && strlen(create_text) > 10, "... no handle, and a text: %s", create_text);
    }
    gemm09_destroy(handle);
    test_texts();
    refuse_files();
    return tap_done();
}
