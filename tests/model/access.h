/* access.h - the functions that -fsanitize=thread makes a compiler call, each by itself. */
#ifndef MODEL_ACCESS_H
#define MODEL_ACCESS_H

typedef struct {
    const char *name;
    void (*call)(void *place);
    int bytes;
    int writes;
} AccessHook;

extern const AccessHook access_hooks[];
extern const int access_hook_count;

/* One thread in each of `ctas` CTAs calls the hook on `place`. Returns the status of the launch. */
int access_run(int hook, void *place, int ctas);

#endif
