/* draw_04.c -  */
#include "draw.h"

void draw_04(const char *directory) { (void)directory; }
