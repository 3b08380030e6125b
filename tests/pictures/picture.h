/* picture.h - SVG for the pictures of the mechanisms: one page width, one set of colours, light and dark. Coordinates
 * and sizes are pixels of a page WIDTH wide. One picture is open at a time. What cannot be written ends the program
 * with a line.
 *
 * Colours are classes:
 *     f0 to f3            the stages of a ring, or the warps of a warpgroup; f4 to f7 the same, stronger: the odd
 *                         parity
 *     load math frag      who works: a copy under way, the tensor cores, fragments in registers,
 *     epi store wait      the epilogue, its store, nothing (dashed); as in the timelines
 *     hot n bg            what a picture is about, plain, the page
 *     l lead              a line; with an arrow's tip
 *     async generic       an arrow through the async proxy (solid), through the generic proxy (dashed)
 * and of text: t, m (grey), h (bold), s and x (small, smaller), c and e (centred, ends at x), in any combination ("t s
 * c"). A picture is also read in grey: what a colour says, a word or a pattern says too. */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdint.h>

enum { WIDTH = 960, MARGIN = 20 };

/* PICTURE(name) { ... } draws one, between begin() and end(). The linker puts what stands in a section "drawings" side
 * by side, for pictures.c. */
typedef void Drawing(void);
#define PICTURE(name)                                                                              \
    static Drawing draw_##name;                                                                    \
    __attribute__((used, section("drawings"))) static Drawing *const drawing_##name = draw_##name; \
    static void draw_##name(void)

/* Opens a file below pictures_directory and writes its head. */
extern const char *pictures_directory;
void begin(const char *file, int height, const char *title);
void end(void);

void box(const char *class, int x, int y, int width, int height);
/* The class f0 to f7: i modulo 8. And a box of it. */
const char *hue(int i);
void colour(int i, int x, int y, int width, int height);
__attribute__((format(printf, 4, 5))) void text(const char *class, int x, int y, const char *format, ...);
/* Lines of text below each other, `step` apart: as many as the format has. */
__attribute__((format(printf, 5, 6))) void paragraph(const char *class, int x, int y, int step, const char *format,
                                                     ...);
#define lead(...) paragraph("t", MARGIN, 26, 18, __VA_ARGS__) /* below the title */
/* A box with a text in its middle, `down` below its upper edge. */
__attribute__((format(printf, 8, 9))) void cell(const char *class, int x, int y, int width, int height,
                                                const char *text_class, int down, const char *format, ...);
/* Between the two, text of class NULL takes the class of the group. */
void group(const char *class);
void end_group(void);
void line(int x1, int y1, int x2, int y2);
/* From the first point to the second; class lead, async or generic. */
void arrow(const char *class, int x1, int y1, int x2, int y2);
/* Any path, in SVG's letters. */
__attribute__((format(printf, 2, 3))) void shape(const char *class, const char *path, ...);

/* A grid of cells, many of one colour: a path for each of the colours, in their order. colours[row * columns + column]
 * is as for colour(), PLAIN, or EMPTY. */
enum { PLAIN = 8, EMPTY = 9 };
void cells(const uint8_t *colours, int rows, int columns, int x, int y, int width, int height);

/* The value of `NAME = 64,` in a source file, from the top of the repository: so that a picture has the chapter's
 * numbers. */
int constant(const char *source, const char *name);
/* Ends the program if a picture would no longer show what it says. */
#define need(...) need_at(__FILE__, __VA_ARGS__)
__attribute__((format(printf, 3, 4))) void need_at(const char *file, int holds, const char *format, ...);
/* Ends the program if no line of a source file contains `code` any more: a picture shows what it does. */
void must_contain(const char *source, const char *code);

#endif
