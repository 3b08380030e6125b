/* layout.h - the member of the kernel's shared-memory struct at an offset. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "../model_explain.h"

/* "s->a[1][512]" for byte `offset` of memory that `type` describes in the source file `file`, with `variable` "s". An
 * empty string if the debug information lacks it. Returns text. */
const char *layout_text(const char *file, const char *type, const char *variable, uint64_t offset, char *text,
                        size_t size);

/* The members of the struct `type`, up to `most`; returns how many there are. *size: bytes of the struct. */
int layout_members(const char *file, const char *type, ModelMember *list, int most, uint64_t *size);

#endif
