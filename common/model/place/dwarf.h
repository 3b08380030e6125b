/* dwarf.h - reading the program's own debug information, DWARF 4 as the build asks for it. Only reports need it: what
 * is missing gives an empty answer. */
#ifndef DWARF_H
#define DWARF_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *p, *end;
} Bytes;

/* line.c: sets device.image. Called once, before the first Site is made. */
void line_init(void);

/* A section of /proc/self/exe; p NULL if there is none. */
Bytes dwarf_section(const char *name);
void dwarf_close(void);

/* Take something from the front, which is there: the compiler wrote it. dwarf_skip() stops at the end. */
uint64_t dwarf_number(Bytes *b, int size);
uint64_t dwarf_uleb(Bytes *b);
int64_t dwarf_sleb(Bytes *b);
const char *dwarf_string(Bytes *b);
void dwarf_skip(Bytes *b, uint64_t bytes);

/* The unit at the front of *all, without its length and version, into *unit; *all moves past it. Returns the version,
 * 0 if there is no complete unit. */
int dwarf_unit(Bytes *all, Bytes *unit);

/* A value of this form. Strings go to *text. Unknown forms take all of the bytes. */
uint64_t dwarf_form(Bytes *b, uint64_t form, const char **text);

#endif
