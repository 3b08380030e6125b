/* fault.c - kernels that would end the program by a signal, or run for ever.
 *
 * Faults are synchronous: the handler interrupts the kernel's own code, on a stack of its own, and may do what the
 * kernel could have done there. A launch that is stopped leaves the handler for good, by a switch to the host's stack.
 * The timer's signal comes anywhere: it reports only where it has interrupted this program's code, not libc's. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../device/status.h"
#include "../core/schedule.h"
#include "../place/dwarf.h"
#include "../place/place.h"
#include "bug_report.h"

enum {
    HANDLER_STACK = 256 * 1024,
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
    PATIENCE = 200, /* make asan, make coverage: a livelock's polls are to be counted to their end first */
#else
    PATIENCE = 20, /* seconds of CPU time without a step, unless the options say otherwise */
#endif
    TICKS = 4,             /* a second */
    WORDS_SEARCHED = 1024, /* of a stack, for a place in the kernel */
};

static struct {
    int caught;     /* handlers are in place */
    int in_handler; /* a fault in the report itself */
    uint64_t step;  /* at the last tick at which something had happened */
    int ticks;      /* since then */
    uint64_t work;  /* at the last tick at which there had been work */
    int idle;       /* ticks since then */
    _Alignas(64) uint8_t stack[HANDLER_STACK];
} fault;

#if defined(__x86_64__)
#define PROGRAM_COUNTER gregs[REG_RIP]
#define STACK_POINTER gregs[REG_RSP]
#else
#define PROGRAM_COUNTER pc
#define STACK_POINTER sp
#endif
#define REGISTER(context, which) ((uintptr_t)((const ucontext_t *)(context))->uc_mcontext.which)

static int in_program(uintptr_t pc) {
    return pc - device.image.base >= device.image.code_begin && pc - device.image.base < device.image.code_end;
}

/* The line table is asked for the instruction before a return address. */
static Site site_at(uintptr_t pc) { return in_program(pc) ? site_of((const void *)pc) + 1 : 0; }

/* Code that kernels call, not a kernel's own. */
static int is_the_models(Site site) { return strstr(place_text(site), "common/model/") != NULL; }

/* Who may have called what runs: the first word on the stack that is a place outside the model's code, or `site`. */
static Site calling_site(const Thread *t, uintptr_t sp, Site site) {
    uintptr_t top = (uintptr_t)t->fiber.stack + FIBER_STACK_BYTES;
    for (int i = 0; i < WORDS_SEARCHED && sp + 8 <= top; i++, sp += 8) {
        uintptr_t word = *(const uintptr_t *)sp;
        if (in_program(word) && !is_the_models(site_of((const void *)word))) {
            return site_of((const void *)word);
        }
    }
    return site;
}

/* The place in the kernel: where the thread is, or, in code of the model, who has called that. */
static Site kernel_site(const Thread *t, const void *context, int raised) {
    uintptr_t sp = REGISTER(context, STACK_POINTER), bottom = (uintptr_t)t->fiber.stack;
    Site site = site_at(REGISTER(context, PROGRAM_COUNTER));
    if (site != 0 && !is_the_models(site)) {
        return site;
    }
    /* What was raised below the stack may be searched from there: it is no guard. */
    return calling_site(t, sp < bottom && !raised ? bottom : (sp + 7) / 8 * 8, site);
}

/* Is it a return that has failed? */
static int returns_at(uintptr_t pc) {
#if defined(__x86_64__)
    return in_program(pc) && *(const uint8_t *)pc == 0xc3;
#else
    (void)pc;
    return 0;
#endif
}

static const char *const names[] = {
    [SIGSEGV] = "SIGSEGV", [SIGFPE] = "SIGFPE", [SIGBUS] = "SIGBUS", [SIGILL] = "SIGILL", [SIGABRT] = "SIGABRT"};

/* The end, with a sentence; by write(), since stdio may be what is broken. */
static void end_program(int number, uintptr_t pc, const void *address) {
    char text[1024], source[256];
    Site site = site_at(pc);
    int n = snprintf(text, sizeof text, "%s: signal %s at address %p, outside of a kernel\n    %s\n", place_text(site),
                     names[number], address, site_source(site, source, sizeof source));
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    if (write(2, text, (size_t)n) == n) {
        fflush(stdout);
    }
    _exit(4);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    Thread *t = device.current;
    uintptr_t pc = REGISTER(context, PROGRAM_COUNTER), address = (uintptr_t)info->si_addr;
    if (t == NULL || fault.in_handler) {
        end_program(number, pc, info->si_addr);
    }
    fault.in_handler = 1;
    uintptr_t below = (uintptr_t)t->fiber.stack - address; /* how far under the stack */
    int raised = info->si_code <= 0;                       /* plain.c */
    int overflow = raised ? REGISTER(context, STACK_POINTER) - (uintptr_t)t->fiber.stack >= FIBER_STACK_BYTES
                          : (number == SIGSEGV || number == SIGBUS) && below - 1 < FIBER_GUARD_BYTES;
    int returns = returns_at(pc);
    int misaligned = !returns && ((number == SIGSEGV && info->si_code == SI_KERNEL) ||
                                  (number == SIGBUS && info->si_code == BUS_ADRALN));
    ModelRule rule = misaligned ? RULE_ALIGNMENT : RULE_FAULT;
    if (!report_begin(rule)) {
        fault.in_handler = 0;
        model_stop();
    }
    report_place("now", t, kernel_site(t, context, raised), misaligned ? "vector load or store" : "code of the kernel");
    if (overflow) {
        report_line("signal", "the stack is full: a thread has %d KB here for local variables and calls",
                    FIBER_STACK_BYTES / 1024);
    } else if (number == SIGFPE) {
        report_line("signal", "SIGFPE: integer division by zero, or of the least number by -1");
    } else if (number == SIGABRT) {
        report_line("signal", "SIGABRT: by assert(), by abort(), or since the C library has found damaged memory");
    } else if (misaligned) {
        report_line("memory", "the address is not a multiple of the vector's size");
    } else if (returns || !in_program(pc)) {
        report_line("signal", "%s: the place to return to is damaged: is a local array written past its end?",
                    names[number]);
    } else {
        report_line("signal", "%s at address %p", names[number], (void *)address);
    }
    fault.in_handler = 0;
    report_end(1);
}

/* ---- loops without end ------------------------------------------------------------------------------------------- */

/* Threads go on and on, and nothing comes of it. */
static void report_idle(Thread *t) {
    device.interrupt = NULL;
    REPORT_LAST(
        RULE_ENDLESS,
        report_place("now", t, calling_site(t, (uintptr_t)__builtin_frame_address(0) / 8 * 8, 0), "still running"),
        report_line(
            "time",
            "%d s of CPU time, in which threads asked, arrived, waited or changed a word: no copy, product, ordinary "
            "load or store came of it, and no thread has returned",
            fault.idle / TICKS));
}

static void on_tick(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    Thread *t = device.current;
    int patience = TICKS * (device.options.patience > 0 ? device.options.patience : PATIENCE);
    fault.idle = device.work == fault.work ? fault.idle + 1 : 0;
    fault.work = device.work;
    if (2 * fault.idle >= patience) {
        device.interrupt = report_idle;
    }
    if (t == NULL || fault.in_handler || device.step != fault.step) {
        fault.step = device.step;
        fault.ticks = 0;
        return;
    }
    uintptr_t pc = REGISTER(context, PROGRAM_COUNTER);
    if (++fault.ticks < patience || !in_program(pc)) {
        return;
    }
    REPORT_LAST(RULE_ENDLESS, report_place("now", t, kernel_site(t, context, 0), "still running"),
                report_line("time", "%d s of CPU time, in which no other warp ran and nothing was waited for",
                            fault.ticks / TICKS));
}

static _Noreturn void leave(int status) {
    for (;;) {
        syscall(SYS_exit_group, status);
    }
}

/* By a kernel, on its thread's stack. Without this its program would end as if all were well. */
static void refuse_in_kernel(const char *call) {
    const Thread *t = device.current;
    if (t != NULL) {
        Site site = calling_site(t, (uintptr_t)__builtin_frame_address(0) / 8 * 8, 0);
        fprintf(stderr, "the CPU model cannot judge this program: %s: %s has called %s()\n", place_text(site),
                thread_text(t, PHRASE), call);
        fflush(NULL);
        leave(GEMM_UNJUDGED);
    }
}

static void on_exit_of_kernel(void) { refuse_in_kernel("exit"); }
static void on_quick_exit(void) { refuse_in_kernel("quick_exit"); }
static void on_fork(void) { refuse_in_kernel("fork"); }

/* In place of the C library's, which call nobody. */
void _exit(int status) {
    refuse_in_kernel("_exit");
    leave(status);
}
void _Exit(int status) {
    refuse_in_kernel("_Exit");
    leave(status);
}

ON(deadlock, COPY) { device.work++; }
HEARS(deadlock, TMA_LOAD, on_COPY);
HEARS(deadlock, TMA_STORE, on_COPY);
HEARS(deadlock, WARP_ACCESS, on_COPY);
HEARS(deadlock, MMA, on_COPY);
HEARS(deadlock, WGMMA_ISSUED, on_COPY);
HEARS(deadlock, CLUSTER_ACCESS, on_COPY);
HEARS(deadlock, TMEM_PRODUCT, on_COPY);
HEARS(deadlock, TMEM_ACCESS, on_COPY);
HEARS(deadlock, CTA_BEGIN, on_COPY);
HEARS(deadlock, THREAD_RETURNED, on_COPY);

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

void fault_catch(void) {
    if (fault.caught) {
        return;
    }
    fault.caught = 1;
    line_init();
    stack_t stack = {.ss_sp = fault.stack, .ss_size = sizeof fault.stack};
    /* The handler may be left by a switch of stacks: its signal must not stay blocked. */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    if (atexit(on_exit_of_kernel) != 0 || at_quick_exit(on_quick_exit) != 0 ||
        pthread_atfork(on_fork, NULL, NULL) != 0 || sigaltstack(&stack, NULL) != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
    action.sa_sigaction = on_tick;
    action.sa_flags |= SA_RESTART;
    sigaction(SIGVTALRM, &action, NULL);
}

static void set_timer(long microseconds) {
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

void fault_launch_begin(void) {
    fault.ticks = fault.idle = 0;
    device.interrupt = NULL;
    set_timer(1000000 / TICKS);
}

void fault_launch_end(void) { set_timer(0); }
