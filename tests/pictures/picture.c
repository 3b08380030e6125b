/* picture.c - see picture.h. */
#include "picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pictures_directory;
static FILE *out;

static const char style[] =
    "<style>\n"
    "svg{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:13px}\n"
    ".bg{fill:#fff}.t{fill:#1f2328}.m{fill:#59636e}.h{font-weight:600}.s{font-size:11px}.x{font-size:9px}\n"
    ".c{text-anchor:middle}.e{text-anchor:end}.g{fill:none;stroke:#d1d9e0}.l{stroke:#1f2328;stroke-width:1.5;fill:none}"
    "\n"
    ".n{fill:#f3f5f7;stroke:#d1d9e0}.hot{fill:#ffc9b5;stroke:#bc4c00;stroke-width:1.5}\n"
    ".f0{fill:#b6dcff}.f1{fill:#b4f0c2}.f2{fill:#ffe08a}.f3{fill:#f5c2e7}\n"
    ".f4{fill:#8fc3f5}.f5{fill:#86dca0}.f6{fill:#f2c34b}.f7{fill:#e79cd2}\n"
    ".f0,.f1,.f2,.f3,.f4,.f5,.f6,.f7{stroke:#59636e;stroke-width:.5}\n"
    ".load{fill:#cfe2fa;stroke:#2f74d0}.math{fill:#b9e0c9;stroke:#1a7f4e}.frag{fill:#dccbfa;stroke:#8250df}\n"
    ".epi{fill:#f7e0a3;stroke:#b07d00}.store{fill:#e8d3ae;stroke:#a8730d}.wait{fill:none;stroke:#59636e;stroke-"
    "dasharray:3 3}\n"
    ".lead{fill:none;stroke:#1f2328;marker-end:url(#tip)}.async{fill:none;stroke:#2f74d0;stroke-width:2;marker-end:url("
    "#tip)}\n"
    ".generic{fill:none;stroke:#8250df;stroke-width:2;stroke-dasharray:6 3;marker-end:url(#tip)}.tip{fill:#1f2328}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".bg{fill:#0d1117}.t{fill:#f0f6fc}.m{fill:#9198a1}.g{stroke:#3d444d}.l{stroke:#f0f6fc}\n"
    ".n{fill:#161b22;stroke:#3d444d}.hot{fill:#7a2e0e;stroke:#f0883e}\n"
    ".f0{fill:#0c4a7d}.f1{fill:#155e32}.f2{fill:#6b5200}.f3{fill:#6e2a5c}\n"
    ".f4{fill:#1567ab}.f5{fill:#1f8347}.f6{fill:#8f6d00}.f7{fill:#943a7c}\n"
    ".f0,.f1,.f2,.f3,.f4,.f5,.f6,.f7{stroke:#9198a1}\n"
    ".load{fill:#143a66;stroke:#5a9bf2}.math{fill:#1f5138;stroke:#3fb97c}.frag{fill:#43306b;stroke:#a985f0}\n"
    ".epi{fill:#57491f;stroke:#e3b341}.store{fill:#4d3a16;stroke:#c08d2e}.wait{stroke:#9198a1}\n"
    ".lead{stroke:#f0f6fc}.async{stroke:#5a9bf2}.generic{stroke:#a985f0}.tip{fill:#f0f6fc}\n"
    "}\n"
    "</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
    "orient=\"auto-start-reverse\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

void begin(const char *file, int height, const char *title) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", pictures_directory, file);
    out = fopen(path, "w");
    if (out == NULL) {
        perror(path);
        exit(1);
    }
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>%s</title>\n",
            WIDTH, height, title);
    fprintf(out, "<!-- made by `make pictures` -->\n%s", style);
    fprintf(out, "<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
}

void end(void) {
    fprintf(out, "</svg>\n");
    if (fclose(out) != 0) {
        perror("pictures");
        exit(1);
    }
}

void box(const char *class, int x, int y, int width, int height) {
    fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y, width, height);
}

const char *hue(int i) {
    static const char *const classes[] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"};
    return classes[i % 8];
}

void colour(int i, int x, int y, int width, int height) { box(hue(i), x, y, width, height); }

void cells(const uint8_t *colours, int rows, int columns, int x, int y, int width, int height) {
    for (int c = PLAIN; c >= 0; c--) {
        if (memchr(colours, c, (size_t)(rows * columns)) == NULL) {
            continue;
        }
        fprintf(out, c == PLAIN ? "<path class=\"n\" d=\"" : "<path class=\"f%d\" d=\"", c);
        for (int i = 0; i < rows * columns; i++) {
            int left = x + i % columns * width, top = y + i / columns * height, cells = 0;
            if (colours[i] == c && i % columns > 0 && colours[i - 1] == c) {
                fprintf(out, "M%d %dv%d", left, top, height); /* between two */
            } else if (colours[i] == c) {
                while (i % columns + cells < columns && colours[i + cells] == c) {
                    cells++;
                }
                fprintf(out, "M%d %dh%dv%dh-%dz", left, top, cells * width, height, cells * width);
            }
        }
        fprintf(out, "\"/>\n");
    }
}

static void text_line(const char *class, int x, int y, const char *line, int length) {
    if (class) {
        fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">%.*s</text>\n", class, x, y, length, line);
    } else {
        fprintf(out, "<text x=\"%d\" y=\"%d\">%.*s</text>\n", x, y, length, line);
    }
}

static void lines(const char *class, int x, int y, int step, const char *format, va_list arguments) {
    char all[2048];
    vsnprintf(all, sizeof all, format, arguments);
    for (const char *line = all, *end; line; line = *end ? end + 1 : NULL, y += step) {
        end = line + strcspn(line, "\n");
        text_line(class, x, y, line, (int)(end - line));
    }
}

void text(const char *class, int x, int y, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    lines(class, x, y, 0, format, arguments);
    va_end(arguments);
}

void paragraph(const char *class, int x, int y, int step, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    lines(class, x, y, step, format, arguments);
    va_end(arguments);
}

void cell(const char *class, int x, int y, int width, int height, const char *text_class, int down, const char *format,
          ...) {
    va_list arguments;
    box(class, x, y, width, height);
    va_start(arguments, format);
    lines(text_class, x + width / 2, y + down, 0, format, arguments);
    va_end(arguments);
}

void line(int x1, int y1, int x2, int y2) { fprintf(out, "<path class=\"l\" d=\"M%d %dL%d %d\"/>\n", x1, y1, x2, y2); }

void arrow(const char *class, int x1, int y1, int x2, int y2) {
    fprintf(out, "<path class=\"%s\" d=\"M%d %dL%d %d\"/>\n", class, x1, y1, x2, y2);
}

void group(const char *class) { fprintf(out, "<g class=\"%s\">\n", class); }

void end_group(void) { fprintf(out, "</g>\n"); }

void shape(const char *class, const char *path, ...) {
    va_list arguments;
    fprintf(out, "<path class=\"%s\" d=\"", class);
    va_start(arguments, path);
    vfprintf(out, path, arguments);
    va_end(arguments);
    fprintf(out, "\"/>\n");
}

void need_at(const char *file, int holds, const char *format, ...) {
    va_list arguments;
    if (!holds) {
        va_start(arguments, format);
        fprintf(stderr, "pictures: %s: ", file);
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        exit(1);
    }
}

int constant(const char *source, const char *name) {
    char line[512], *end;
    size_t length = strlen(name);
    FILE *in = fopen(source, "r");
    while (in && fgets(line, sizeof line, in)) {
        for (const char *at = line; (at = strstr(at, name)) != NULL; at++) {
            int whole = at == line || strchr(" {(", at[-1]);
            if (whole && strncmp(at + length, " = ", 3) == 0) {
                long value = strtol(at + length + 3, &end, 10);
                if (end > at + length + 3 && strchr(",; }\n", *end)) {
                    fclose(in);
                    return (int)value;
                }
            }
        }
    }
    need(0, "%s has no constant %s with a plain number", source, name);
    return 0;
}

void must_contain(const char *source, const char *code) {
    char line[512];
    FILE *in = fopen(source, "r");
    while (in && fgets(line, sizeof line, in)) {
        if (strstr(line, code)) {
            fclose(in);
            return;
        }
    }
    need(0, "%s no longer contains: %s", source, code);
}
