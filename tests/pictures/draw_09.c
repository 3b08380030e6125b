/* draw_09.c -  */
#include "picture.h"

void draw_09(const char *directory) { (void)directory; }
