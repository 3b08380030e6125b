/* dwarf.c - sections of the program's file, and the encodings of DWARF, on little-endian machines (see fiber.c). */
#include "dwarf.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    uint8_t *file;
    size_t bytes;
    int tried;
} image;

static void open_image(void) {
    if (image.tried) {
        return;
    }
    image.tried = 1;
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0) {
        image.bytes = (size_t)status.st_size;
        void *file = mmap(NULL, image.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        image.file = file == MAP_FAILED ? NULL : file;
    }
    if (fd >= 0) {
        close(fd);
    }
}

void dwarf_close(void) {
    if (image.file != NULL) {
        munmap(image.file, image.bytes);
    }
    memset(&image, 0, sizeof image);
}

Bytes dwarf_section(const char *name) {
    Bytes none = {NULL, NULL};
    open_image();
    const ElfW(Ehdr) *header = (const void *)image.file;
    if (image.file == NULL || image.bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_shoff + (size_t)header->e_shnum * sizeof(ElfW(Shdr)) > image.bytes ||
        header->e_shstrndx >= header->e_shnum) {
        return none;
    }
    const ElfW(Shdr) *sections = (const void *)(image.file + header->e_shoff);
    const ElfW(Shdr) *names = &sections[header->e_shstrndx];
    for (int i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *s = &sections[i];
        if (names->sh_offset + s->sh_name < image.bytes &&
            strcmp((const char *)image.file + names->sh_offset + s->sh_name, name) == 0 &&
            !(s->sh_flags & SHF_COMPRESSED) && s->sh_offset + s->sh_size <= image.bytes) {
            return (Bytes){image.file + s->sh_offset, image.file + s->sh_offset + s->sh_size};
        }
    }
    return none;
}

void dwarf_skip(Bytes *b, uint64_t bytes) {
    b->p += bytes < (uint64_t)(b->end - b->p) ? (ptrdiff_t)bytes : b->end - b->p;
}

uint64_t dwarf_number(Bytes *b, int size) {
    uint64_t value = 0;
    memcpy(&value, b->p, (size_t)size);
    b->p += size;
    return value;
}

uint64_t dwarf_uleb(Bytes *b) {
    uint64_t value = 0;
    int shift = 0;
    do {
        value |= shift < 64 ? (uint64_t)(*b->p & 0x7f) << shift : 0;
        shift += 7;
    } while (*b->p++ & 0x80);
    return value;
}

int64_t dwarf_sleb(Bytes *b) {
    const uint8_t *first = b->p;
    uint64_t value = dwarf_uleb(b);
    const ptrdiff_t bits = 7 * (b->p - first);
    return (int64_t)(bits < 64 && (b->p[-1] & 0x40) ? value | ~(uint64_t)0 << bits : value);
}

const char *dwarf_string(Bytes *b) {
    const char *s = (const char *)b->p;
    b->p += strlen(s) + 1;
    return s;
}

int dwarf_unit(Bytes *all, Bytes *unit) {
    uint64_t length = dwarf_number(all, 4);
    if (length == 0 || length > (uint64_t)(all->end - all->p)) {
        all->p = all->end;
        length = 0;
    }
    *unit = (Bytes){all->p, all->p + length};
    all->p += length;
    return (int)dwarf_number(unit, 2);
}

uint64_t dwarf_form(Bytes *b, uint64_t form, const char **text) {
    static const int8_t bytes_of[] = {
        [0x01] = 8, [0x05] = 2, [0x06] = 4, [0x07] = 8, [0x0b] = 1, [0x0c] = 1, [0x10] = 4,
        [0x11] = 1, [0x12] = 2, [0x13] = 4, [0x14] = 8, [0x17] = 4, [0x20] = 8};
    switch (form) {
    case 0x08: *text = dwarf_string(b); return 0;
    case 0x09:
    case 0x18: dwarf_skip(b, dwarf_uleb(b)); return 0;      /* block, exprloc */
    case 0x0a: dwarf_skip(b, dwarf_number(b, 1)); return 0; /* block1 */
    case 0x0d: return (uint64_t)dwarf_sleb(b);              /* sdata */
    case 0x0e: {                                            /* strp */
        Bytes strings = dwarf_section(".debug_str");
        dwarf_skip(&strings, dwarf_number(b, 4));
        *text = dwarf_string(&strings);
        return 0;
    }
    case 0x0f:
    case 0x15: return dwarf_uleb(b); /* udata, ref_udata */
    case 0x19: return 1;             /* flag_present */
    }
    int bytes = form < sizeof bytes_of ? bytes_of[form] : 0;
    if (bytes == 0) {
        b->p = b->end;
    }
    return dwarf_number(b, bytes);
}
