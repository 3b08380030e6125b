/* draw_03.c -  */
#include "draw.h"

void draw_03(const char *directory) { (void)directory; }
