/* place.h - names of places: lines of source for addresses in the running program, and members of the kernel's
 * shared-memory struct for offsets. For reports, and for --explain. */
#ifndef PLACE_H
#define PLACE_H

#include "../core/types.h"

/* "07_warp_specialized/07_warp_specialized.cu:88"; "unknown place" if there is no line table. Returns text. */
const char *site_text(Site site, char *text, size_t size);

/* The source line itself without its indentation, if the file can be read from here; otherwise an empty string. */
const char *site_source(Site site, char *text, size_t size);

/* "s->a[1][512]" for byte `offset` of memory that `type` describes in the source file `file`, with `variable` "s". An
 * empty string if the debug information lacks it, or `type` is NULL. Returns text. */
const char *layout_text(const char *file, const char *type, const char *variable, uint64_t offset, char *text,
                        size_t size);
/* The same of the launch's shared memory, and of an observed one: a Launch and a ModelObserver name it alike. */
#define SHARED_TEXT(of, offset, text, size) \
    layout_text((of)->shared_file, (of)->shared_type, (of)->shared_variable, offset, text, size)

/* A member of the struct that describes shared memory: "full", "MBarrier[4]". */
typedef struct {
    char name[32], type[48];
    uint64_t offset, bytes;
} ModelMember;
/* The members of the struct `type`, up to `most`; returns how many there are, 0 if `type` is NULL. *size: bytes of the
 * struct. */
int layout_members(const char *file, const char *type, ModelMember *list, int most, uint64_t *size);

#endif
