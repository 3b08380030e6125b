/* draw_05.c -  */
#include "draw.h"

void draw_05(const char *directory) { (void)directory; }
