/* layout.c - finds a struct in the program's debug information (.debug_info) and walks into it.
 *
 * A unit is a tree of entries in a row; an entry begins with a number that selects its form from the unit's table of
 * abbreviations. Only what leads from a type's name to its members is looked at; the rest is stepped over. */
#include "place.h"

#include <stdio.h>
#include <string.h>

#include "dwarf.h"

enum {
    TAG_ARRAY = 0x01,
    TAG_MEMBER = 0x0d,
    TAG_STRUCT = 0x13,
    TAG_TYPEDEF = 0x16,
    TAG_SUBRANGE = 0x21,
    TAG_CONST = 0x26,
    TAG_VOLATILE = 0x35,
    AT_NAME = 0x03,
    AT_SIZE = 0x0b,
    AT_UPPER_BOUND = 0x2f,
    AT_COUNT = 0x37,
    AT_MEMBER_LOCATION = 0x38,
    AT_TYPE = 0x49,
    MAX_DIMENSIONS = 6,
};

typedef struct {
    const uint8_t *begin; /* of the unit: types are named by their distance from here */
    Bytes entries;
    uint64_t abbreviations;
} Unit;

typedef struct {
    uint64_t tag; /* 0: end of a list of children */
    int children;
    const char *name;
    uint64_t size, extent, location, type; /* type: distance from the unit's begin; 0: none */
    const uint8_t *at, *next;
} Entry;

/* The abbreviation with this code: what follows the code. */
static Bytes abbreviation(const Unit *unit, uint64_t code) {
    Bytes table = dwarf_section(".debug_abbrev");
    dwarf_skip(&table, unit->abbreviations);
    while (table.p != NULL && table.p < table.end) {
        uint64_t here = dwarf_uleb(&table);
        if (here == code || here == 0) {
            break;
        }
        dwarf_uleb(&table);
        dwarf_number(&table, 1);
        uint64_t attribute, form;
        do {
            attribute = dwarf_uleb(&table);
            form = dwarf_uleb(&table);
        } while (attribute != 0 || form != 0);
    }
    return table;
}

static Entry read_entry(const Unit *unit, const uint8_t *at) {
    Entry entry = {.name = "", .extent = 1, .at = at};
    Bytes b = {at, unit->entries.end};
    uint64_t code = at < unit->entries.end ? dwarf_uleb(&b) : 0;
    if (code != 0) {
        Bytes form_list = abbreviation(unit, code);
        entry.tag = dwarf_uleb(&form_list);
        entry.children = (int)dwarf_number(&form_list, 1);
        for (;;) {
            uint64_t attribute = dwarf_uleb(&form_list), form = dwarf_uleb(&form_list);
            if (attribute == 0 && form == 0) {
                break;
            }
            const char *text = NULL;
            uint64_t value = dwarf_form(&b, form, &text);
            switch (attribute) {
            case AT_NAME: entry.name = text != NULL ? text : ""; break;
            case AT_SIZE: entry.size = value; break;
            case AT_UPPER_BOUND: entry.extent = value + 1; break; /* gcc */
            case AT_COUNT: entry.extent = value; break;           /* clang */
            case AT_MEMBER_LOCATION: entry.location = value; break;
            case AT_TYPE: entry.type = value; break;
            default: break;
            }
        }
    }
    entry.next = b.p;
    return entry;
}

static Entry type_entry(const Unit *unit, uint64_t type) { return read_entry(unit, unit->begin + type); }

/* Steps over an entry's children. */
static const uint8_t *behind(const Unit *unit, const Entry *entry) {
    const uint8_t *p = entry->next;
    int depth = entry->children ? 1 : 0;
    while (depth > 0 && p < unit->entries.end) {
        Entry child = read_entry(unit, p);
        p = child.next;
        depth += child.tag == 0 ? -1 : child.children;
    }
    return p;
}

/* Goes on to the entry's next child, from NO_CHILD on; 0 if there is none. */
#define NO_CHILD ((Entry){.at = NULL})
static int next_child(const Unit *unit, const Entry *entry, Entry *child) {
    if (!entry->children) {
        return 0;
    }
    *child = read_entry(unit, child->at == NULL ? entry->next : behind(unit, child));
    return child->tag != 0;
}

static int dimensions(const Unit *unit, const Entry *array, uint64_t *extent) {
    int count = 0;
    for (Entry child = NO_CHILD; next_child(unit, array, &child);) {
        if (child.tag == TAG_SUBRANGE && count < MAX_DIMENSIONS) {
            extent[count++] = child.extent;
        }
    }
    return count;
}

static uint64_t type_size(const Unit *unit, uint64_t type) {
    Entry entry = type_entry(unit, type);
    if (entry.tag == TAG_ARRAY && entry.size == 0) {
        uint64_t extent[MAX_DIMENSIONS], size = type_size(unit, entry.type);
        for (int i = dimensions(unit, &entry, extent); i > 0; i--) {
            size *= extent[i - 1];
        }
        return size;
    }
    return entry.size == 0 && entry.type != 0 ? type_size(unit, entry.type) : entry.size;
}

/* Appends the name of the member at `offset` of the type. */
static void walk(const Unit *unit, uint64_t type, uint64_t offset, const char *joint, char *text, size_t size) {
    Entry entry = type_entry(unit, type);
    size_t length = strlen(text);
    if (entry.tag == TAG_TYPEDEF || entry.tag == TAG_CONST || entry.tag == TAG_VOLATILE) {
        walk(unit, entry.type, offset, joint, text, size);
    } else if (entry.tag == TAG_STRUCT) {
        Entry best = {.tag = 0};
        for (Entry member = NO_CHILD; next_child(unit, &entry, &member);) {
            if (member.tag == TAG_MEMBER && member.location <= offset &&
                (best.tag == 0 || member.location >= best.location)) {
                best = member;
            }
        }
        if (best.tag != 0 && offset - best.location < type_size(unit, best.type)) {
            snprintf(text + length, size - length, "%s%s", joint, best.name);
            walk(unit, best.type, offset - best.location, ".", text, size);
        }
    } else if (entry.tag == TAG_ARRAY) {
        uint64_t extent[MAX_DIMENSIONS], element = type_size(unit, entry.type);
        int count = dimensions(unit, &entry, extent);
        uint64_t stride = element;
        for (int i = 1; i < count; i++) {
            stride *= extent[i];
        }
        for (int i = 0; i < count && stride > 0; i++) {
            length = strlen(text);
            snprintf(text + length, size - length, "[%llu]", (unsigned long long)(offset / stride));
            offset %= stride;
            stride = i + 1 < count ? stride / extent[i + 1] : stride;
        }
        walk(unit, entry.type, offset, ".", text, size);
    }
}

/* The unit that was compiled from `file`: its root, tag 0 if there is none. */
static Entry find_unit(const char *file, Unit *unit) {
    Bytes all = dwarf_section(".debug_info");
    while (all.p != NULL && all.p < all.end) {
        unit->begin = all.p;
        if (dwarf_unit(&all, &unit->entries) == 4) {
            unit->abbreviations = dwarf_number(&unit->entries, 4);
            dwarf_number(&unit->entries, 1); /* address size */
            Entry root = read_entry(unit, unit->entries.p);
            if (strcmp(root.name, file) == 0) {
                return root;
            }
        }
    }
    return (Entry){.tag = 0};
}

static Entry find_typedef(const char *file, const char *type, Unit *unit) {
    Entry root = type != NULL ? find_unit(file, unit) : (Entry){.tag = 0};
    for (Entry entry = NO_CHILD; root.tag != 0 && next_child(unit, &root, &entry);) {
        if (entry.tag == TAG_TYPEDEF && strcmp(entry.name, type) == 0 && entry.type != 0) {
            return entry;
        }
    }
    return (Entry){.tag = 0};
}

const char *layout_text(const char *file, const char *type, const char *variable, uint64_t offset, char *text,
                        size_t size) {
    Unit unit;
    text[0] = '\0';
    Entry entry = find_typedef(file, type, &unit);
    if (entry.tag != 0) {
        uint64_t bytes = type_size(&unit, entry.type);
        const char *joint = "->";
        snprintf(text, size, "%s", variable);
        if (bytes > 0 && offset >= bytes) {
            /* A struct for each stage. */
            snprintf(text, size, "%s[%llu]", variable, (unsigned long long)(offset / bytes));
            joint = ".";
            offset %= bytes;
        }
        walk(&unit, entry.type, offset, joint, text, size);
    }
    return text;
}

/* "bf16[4][8192]" */
static void type_text(const Unit *unit, uint64_t type, char *text, size_t size) {
    Entry entry = type_entry(unit, type);
    if (entry.tag == TAG_ARRAY) {
        uint64_t extent[MAX_DIMENSIONS];
        int count = dimensions(unit, &entry, extent);
        type_text(unit, entry.type, text, size);
        for (int i = 0; i < count; i++) {
            size_t length = strlen(text);
            snprintf(text + length, size - length, "[%llu]", (unsigned long long)extent[i]);
        }
    } else {
        snprintf(text, size, "%s", entry.name);
    }
}

int layout_members(const char *file, const char *type, ModelMember *list, int most, uint64_t *size) {
    Unit unit;
    int count = 0;
    Entry entry = find_typedef(file, type, &unit);
    *size = 0;
    if (entry.tag == 0) {
        return 0;
    }
    *size = type_size(&unit, entry.type);
    Entry structure = type_entry(&unit, entry.type);
    for (Entry member = NO_CHILD; structure.tag == TAG_STRUCT && next_child(&unit, &structure, &member);) {
        if (member.tag == TAG_MEMBER && count < most) {
            snprintf(list[count].name, sizeof list[count].name, "%s", member.name);
            type_text(&unit, member.type, list[count].type, sizeof list[count].type);
            list[count].offset = member.location;
            list[count++].bytes = type_size(&unit, member.type);
        }
    }
    return count;
}
