/* line.c - reads the program's own line table (.debug_line) from /proc/self/exe.
 *
 * Only when a report is written: a plain load or store is known by the address of its instruction. The table is a
 * program for a small machine that emits rows (address, file, line); the row that covers the address is the answer. */
#include "place.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/state.h"
#include "dwarf.h"

/* ---- where the program lies -------------------------------------------------------------------------------------- */

/* The literals that are sites may follow the code in the same segment, as GNU ld has it for aarch64: code ends at etext
 * (man 3 end). */
static int first_object(struct dl_phdr_info *info, size_t size, void *data) {
    extern char etext[];
    (void)size;
    (void)data;
    device.image.base = (uintptr_t)info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            device.image.code_begin = segment->p_vaddr;
            device.image.code_end = (uintptr_t)etext - device.image.base;
        }
    }
    return 1; /* the program itself comes first */
}

void line_init(void) {
    if (device.image.code_end == 0) {
        dl_iterate_phdr(first_object, NULL);
    }
}

/* ---- the header of one unit -------------------------------------------------------------------------------------- */

typedef struct {
    int min_length, line_base, line_range, opcode_base;
    uint8_t opcode_lengths[256];
    Bytes names; /* of directories, then of files */
    Bytes program;
} Unit;

/* Reads one unit and moves *all past it; 0 if there is none or it is of a form not known here. */
static int read_unit(Bytes *all, Unit *unit) {
    Bytes b;
    int version = dwarf_unit(all, &b);
    uint64_t header = dwarf_number(&b, 4);
    if (version < 2 || version > 4 || header > (uint64_t)(b.end - b.p)) {
        return 0;
    }
    unit->program = (Bytes){b.p + header, b.end};
    b.end = b.p + header;
    unit->min_length = (int)dwarf_number(&b, 1);
    dwarf_number(&b, version == 4 ? 2 : 1); /* operations an instruction, is_stmt: not asked */
    unit->line_base = (int8_t)dwarf_number(&b, 1);
    unit->line_range = (int)dwarf_number(&b, 1);
    unit->opcode_base = (int)dwarf_number(&b, 1);
    for (int i = 1; i < unit->opcode_base; i++) {
        unit->opcode_lengths[i] = (uint8_t)dwarf_number(&b, 1);
    }
    unit->names = b;
    return unit->line_range > 0;
}

/* ---- the line program -------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t address;
    uint64_t file;
    int64_t line;
} Row;

/* Runs the unit's program; 1 if a row covers `address`. */
static int find_row(const Unit *unit, uint64_t address, Row *found) {
    static const Row first = {0, 1, 1}, none = {UINT64_MAX, 0, 0};
    Row row = first, last = none;
    for (Bytes b = unit->program; b.p < b.end;) {
        int opcode = (int)dwarf_number(&b, 1), emit = 0, end = 0;
        int adjusted = (opcode >= unit->opcode_base ? opcode : 255) - unit->opcode_base; /* of a row, of const_add_pc */
        uint64_t further = (uint64_t)(adjusted / unit->line_range * unit->min_length);
        if (opcode >= unit->opcode_base) {
            row.address += further;
            row.line += unit->line_base + adjusted % unit->line_range;
            emit = 1;
        } else {
            switch (opcode) {
            case 0: { /* an extended one */
                uint64_t length = dwarf_uleb(&b);
                Bytes extended = b;
                dwarf_skip(&b, length);
                int code = (int)dwarf_number(&extended, 1);
                emit = end = code == 1;                                                             /* end_sequence */
                row.address = code == 2 ? dwarf_number(&extended, (int)(length - 1)) : row.address; /* set_address */
                break;
            }
            case 1: emit = 1; break;                                                   /* copy */
            case 2: row.address += dwarf_uleb(&b) * (uint64_t)unit->min_length; break; /* advance_pc */
            case 3: row.line += dwarf_sleb(&b); break;                                 /* advance_line */
            case 4: row.file = dwarf_uleb(&b); break;                                  /* set_file */
            case 8: row.address += further; break;                                     /* const_add_pc */
            case 9: row.address += dwarf_number(&b, 2); break;                         /* fixed_advance_pc */
            default:
                for (int i = 0; i < unit->opcode_lengths[opcode]; i++) {
                    dwarf_uleb(&b);
                }
            }
        }
        if (emit && last.address <= address && address < row.address) {
            *found = last;
            return 1;
        }
        last = end ? none : emit ? row : last;
        row = end ? first : row;
    }
    return 0;
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

/* The i-th of a list of names from 1 on, which is moved past it; empty if there are fewer. Three numbers
 * follow a file's name, of which the first is its directory. */
static const char *name_at(Bytes *list, uint64_t i, int numbers, uint64_t *directory) {
    const char *name = "";
    for (; i > 0 && *(name = dwarf_string(list)) != '\0'; i--) {
        for (int n = 0; n < numbers; n++) {
            uint64_t number = dwarf_uleb(list);
            *directory = n == 0 ? number : *directory;
        }
    }
    return name;
}

/* The file as the compiler was told it: relative to where it ran, which is directory 0. 0 if there is none. */
static int file_name(const Unit *unit, uint64_t i, char *text, size_t size) {
    Bytes directories = unit->names, files = unit->names;
    uint64_t d = 0;
    name_at(&files, UINT64_MAX, 0, NULL);
    const char *file = name_at(&files, i, 3, &d), *directory = name_at(&directories, d, 0, NULL);
    snprintf(text, size, "%s%s%s", directory, *directory != '\0' ? "/" : "", file);
    return *file != '\0';
}

/* File and line of a site; 0 if unknown. */
static int locate(Site site, char *file, size_t size, int *line) {
    Unit unit;
    Bytes all = dwarf_section(".debug_line");
    while (all.p != NULL && all.p < all.end) {
        Row row;
        /* The site is a return address: the call before it belongs to the line. */
        if (read_unit(&all, &unit) && find_row(&unit, (uint64_t)site - 1, &row) &&
            file_name(&unit, row.file, file, size)) {
            *line = (int)row.line;
            return 1;
        }
    }
    return 0;
}

const char *site_text(Site site, char *text, size_t size) {
    char file[512];
    int line;
    if (site == 0) {
        snprintf(text, size, "unknown place");
    } else if (site < device.image.code_begin || site >= device.image.code_end) {
        snprintf(text, size, "%s", (const char *)(device.image.base + site));
    } else if (locate(site, file, sizeof file, &line)) {
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
        /* Programs are started in the chapter's directory too. */
        char above[520];
        snprintf(above, sizeof above, "../%s", place);
        file = fopen(above, "r");
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
