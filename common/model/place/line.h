/* line.h - from a place in the running program to a line of source. */
#ifndef LINE_H
#define LINE_H

#include "../core/state.h"

/* Sets device.image_base and the range of code. Called once, before the first Site is made. */
void line_init(void);

/* "07_warp_specialized/07_warp_specialized.cu:88"; "unknown place" if there is no line table. Returns text. */
const char *site_text(Site site, char *text, size_t size);

/* The source line itself without its indentation, if the file can be read from here; otherwise an empty string. */
const char *site_source(Site site, char *text, size_t size);

#endif
