/* line.c - reads the program's own line table (.debug_line, DWARF 2 to 5) from /proc/self/exe.
 *
 * Only when a report is written: a plain load or store is known by the address of its instruction. The table is a program
 * for a small machine that emits rows (address, file, line); the row that covers the address is the answer. */
#include "line.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where the program lies ---------------------------------------------------------------------------------------- */

static int first_object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    (void)data;
    device.image_base = (uintptr_t)info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            device.code_begin = segment->p_vaddr;
            device.code_end = segment->p_vaddr + segment->p_memsz;
        }
    }
    return 1; /* the program itself comes first */
}

void line_init(void) {
    if (device.code_end == 0) {
        dl_iterate_phdr(first_object, NULL);
    }
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const uint8_t *p, *end;
} Bytes;

static struct {
    uint8_t *file;
    size_t bytes;
    int tried;
    Bytes line, str, line_str;
} image;

static Bytes section(const char *name) {
    Bytes none = {NULL, NULL};
    const ElfW(Ehdr) *header = (const void *)image.file;
    if (image.bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
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
    if (image.file != NULL) {
        image.line = section(".debug_line");
        image.str = section(".debug_str");
        image.line_str = section(".debug_line_str");
    }
}

void line_close(void) {
    if (image.file != NULL) {
        munmap(image.file, image.bytes);
    }
    memset(&image, 0, sizeof image);
}

/* ---- numbers ------------------------------------------------------------------------------------------------------- */

static uint64_t number(Bytes *b, int size) {
    uint64_t value = 0;
    if (b->end - b->p < size) {
        b->p = b->end;
        return 0;
    }
    memcpy(&value, b->p, (size_t)size); /* little-endian machines only, as both that have a switch of their own are */
    b->p += size;
    return value;
}

static uint64_t uleb(Bytes *b) {
    uint64_t value = 0;
    int shift = 0;
    while (b->p < b->end) {
        uint8_t byte = *b->p++;
        if (shift < 64) {
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        shift += 7;
        if (!(byte & 0x80)) {
            break;
        }
    }
    return value;
}

static int64_t sleb(Bytes *b) {
    int64_t value = 0;
    int shift = 0;
    while (b->p < b->end) {
        uint8_t byte = *b->p++;
        if (shift < 64) {
            value |= (int64_t)((uint64_t)(byte & 0x7f) << shift);
        }
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && (byte & 0x40)) {
                value |= -((int64_t)1 << shift);
            }
            break;
        }
    }
    return value;
}

static const char *string(Bytes *b) {
    const char *s = (const char *)b->p;
    size_t length = strnlen(s, (size_t)(b->end - b->p));
    if (b->p + length >= b->end) {
        b->p = b->end;
        return "";
    }
    b->p += length + 1;
    return s;
}

static const char *string_at(Bytes table, uint64_t offset) {
    if (table.p == NULL || offset >= (uint64_t)(table.end - table.p)) {
        return "";
    }
    Bytes rest = {table.p + offset, table.end};
    return string(&rest);
}

/* ---- the header of one unit ---------------------------------------------------------------------------------------- */

enum { MAX_FILES = 1024, FORMATS = 16 };

typedef struct {
    int version, offset_size, min_length, max_ops, default_is_stmt, line_base, line_range, opcode_base;
    uint8_t opcode_lengths[256];
    const char *file[MAX_FILES]; /* as numbered in the line program */
    int files;
    Bytes program;
} Unit;

/* DWARF 5 describes its file table by pairs (what, form). */
static void read_entries(Bytes *b, Unit *unit, int keep) {
    uint64_t what[FORMATS], form[FORMATS];
    int formats = (int)number(b, 1);
    for (int i = 0; i < formats; i++) {
        uint64_t w = uleb(b), f = uleb(b);
        if (i < FORMATS) {
            what[i] = w;
            form[i] = f;
        }
    }
    formats = formats < FORMATS ? formats : FORMATS;
    uint64_t count = uleb(b);
    for (uint64_t entry = 0; entry < count && b->p < b->end; entry++) {
        const char *name = "";
        for (int i = 0; i < formats; i++) {
            const char *s = NULL;
            switch (form[i]) {
            case 0x08: s = string(b); break;                                                  /* DW_FORM_string */
            case 0x1f: s = string_at(image.line_str, number(b, unit->offset_size)); break;   /* line_strp */
            case 0x0e: s = string_at(image.str, number(b, unit->offset_size)); break;        /* strp */
            case 0x0b: number(b, 1); break;                                                   /* data1 */
            case 0x05: number(b, 2); break;                                                   /* data2 */
            case 0x06: number(b, 4); break;                                                   /* data4 */
            case 0x07: number(b, 8); break;                                                   /* data8 */
            case 0x0f: uleb(b); break;                                                        /* udata */
            case 0x1e: b->p += b->end - b->p >= 16 ? 16 : b->end - b->p; break;              /* data16 */
            case 0x09: { /* block */
                uint64_t length = uleb(b);
                b->p += length < (uint64_t)(b->end - b->p) ? (ptrdiff_t)length : b->end - b->p;
                break;
            }
            default: b->p = b->end; return;
            }
            if (what[i] == 1 && s != NULL) { /* DW_LNCT_path */
                name = s;
            }
        }
        if (keep && unit->files < MAX_FILES) {
            unit->file[unit->files++] = name;
        }
    }
}

/* Reads one unit and moves *all behind it; 0 if there is none or it is of a form not known here. */
static int read_unit(Bytes *all, Unit *unit) {
    uint64_t length = number(all, 4);
    unit->offset_size = 4;
    if (length == 0xffffffff) {
        length = number(all, 8);
        unit->offset_size = 8;
    }
    if (length == 0 || length > (uint64_t)(all->end - all->p)) {
        all->p = all->end;
        return 0;
    }
    Bytes b = {all->p, all->p + length};
    all->p += length;
    unit->version = (int)number(&b, 2);
    if (unit->version < 2 || unit->version > 5) {
        return 0;
    }
    if (unit->version >= 5) {
        number(&b, 1); /* address size */
        number(&b, 1); /* segment selector size */
    }
    uint64_t header = number(&b, unit->offset_size);
    if (header > (uint64_t)(b.end - b.p)) {
        return 0;
    }
    unit->program = (Bytes){b.p + header, b.end};
    b.end = b.p + header;
    unit->min_length = (int)number(&b, 1);
    unit->max_ops = unit->version >= 4 ? (int)number(&b, 1) : 1;
    unit->default_is_stmt = (int)number(&b, 1);
    unit->line_base = (int8_t)number(&b, 1);
    unit->line_range = (int)number(&b, 1);
    unit->opcode_base = (int)number(&b, 1);
    for (int i = 1; i < unit->opcode_base; i++) {
        unit->opcode_lengths[i] = (uint8_t)number(&b, 1);
    }
    unit->files = 0;
    if (unit->version >= 5) {
        read_entries(&b, unit, 0); /* directories */
        read_entries(&b, unit, 1);
    } else {
        while (b.p < b.end && *string(&b) != '\0') {
        }
        unit->file[unit->files++] = ""; /* files count from 1 */
        while (b.p < b.end) {
            const char *name = string(&b);
            if (*name == '\0') {
                break;
            }
            uleb(&b);
            uleb(&b);
            uleb(&b);
            if (unit->files < MAX_FILES) {
                unit->file[unit->files++] = name;
            }
        }
    }
    return unit->line_range > 0;
}

/* ---- the line program ---------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t address;
    uint64_t file;
    int64_t line;
} Row;

/* Runs the unit's program; 1 if a row covers `address`. */
static int find_row(const Unit *unit, uint64_t address, Row *found) {
    Bytes b = unit->program;
    while (b.p < b.end) {
        Row row = {0, 1, 1}, last = {0, 0, 0};
        int have_last = 0, end = 0;
        while (b.p < b.end && !end) {
            int emit = 0;
            int opcode = (int)number(&b, 1);
            if (opcode >= unit->opcode_base) {
                int adjusted = opcode - unit->opcode_base;
                row.address += (uint64_t)(adjusted / unit->line_range * unit->min_length);
                row.line += unit->line_base + adjusted % unit->line_range;
                emit = 1;
            } else if (opcode == 0) {
                uint64_t length = uleb(&b);
                if (length == 0 || length > (uint64_t)(b.end - b.p)) {
                    return 0;
                }
                Bytes extended = {b.p, b.p + length};
                b.p += length;
                switch (number(&extended, 1)) {
                case 1: /* DW_LNE_end_sequence */
                    emit = 1;
                    end = 1;
                    break;
                case 2: /* DW_LNE_set_address */ row.address = number(&extended, (int)(length - 1)); break;
                default: break;
                }
            } else {
                switch (opcode) {
                case 1: emit = 1; break;                                                       /* copy */
                case 2: row.address += uleb(&b) * (uint64_t)unit->min_length; break;          /* advance_pc */
                case 3: row.line += sleb(&b); break;                                           /* advance_line */
                case 4: row.file = uleb(&b); break;                                            /* set_file */
                case 8:                                                                        /* const_add_pc */
                    row.address += (uint64_t)((255 - unit->opcode_base) / unit->line_range * unit->min_length);
                    break;
                case 9: row.address += number(&b, 2); break;                                   /* fixed_advance_pc */
                default:
                    for (int i = 0; i < unit->opcode_lengths[opcode]; i++) {
                        uleb(&b);
                    }
                }
            }
            if (emit) {
                if (have_last && last.address <= address && address < row.address) {
                    *found = last;
                    return 1;
                }
                last = row;
                have_last = 1;
            }
        }
    }
    return 0;
}

/* ---- sites --------------------------------------------------------------------------------------------------------- */

static int is_code(Site site) { return site >= device.code_begin && site < device.code_end; }

static const char *literal(Site site) { return (const char *)(device.image_base + site); }

/* File and line of a site; 0 if unknown. */
static int locate(Site site, const char **file, int *line) {
    static Unit unit; /* large, and only one report is written at a time */
    open_image();
    Bytes all = image.line;
    while (all.p != NULL && all.p < all.end) {
        Row row;
        /* The site is a return address: the call before it belongs to the line. */
        if (read_unit(&all, &unit) && find_row(&unit, (uint64_t)site - 1, &row) && row.file < (uint64_t)unit.files) {
            *file = unit.file[row.file];
            *line = (int)row.line;
            return 1;
        }
    }
    return 0;
}

const char *site_text(Site site, char *text, size_t size) {
    const char *file;
    int line;
    if (site == 0) {
        snprintf(text, size, "unknown place");
    } else if (!is_code(site)) {
        snprintf(text, size, "%s", literal(site));
    } else if (locate(site, &file, &line)) {
        snprintf(text, size, "%s:%d", file, line);
    } else {
        snprintf(text, size, "instruction 0x%x (no line table)", site);
    }
    return text;
}

const char *site_source(Site site, char *text, size_t size) {
    char place[512];
    text[0] = '\0';
    if (site == 0) {
        return text;
    }
    site_text(site, place, sizeof place);
    char *colon = strrchr(place, ':');
    if (colon == NULL) {
        return text;
    }
    *colon = '\0';
    int line = atoi(colon + 1);
    FILE *file = fopen(place, "r");
    if (file == NULL) {
        /* Programs are started in the chapter's directory too, where the name is shorter. */
        const char *base = strrchr(place, '/');
        file = base != NULL ? fopen(base + 1, "r") : NULL;
    }
    if (file == NULL) {
        return text;
    }
    char buffer[512];
    for (int i = 1; fgets(buffer, sizeof buffer, file) != NULL; i++) {
        if (i == line) {
            const char *start = buffer + strspn(buffer, " \t");
            snprintf(text, size, "%.*s", (int)strcspn(start, "\n"), start);
            break;
        }
    }
    fclose(file);
    return text;
}
