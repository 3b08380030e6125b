/* draw_09.c -  */
#include "draw.h"

void draw_09(const char *directory) { (void)directory; }
