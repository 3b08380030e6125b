/* pictures.c - draws the mechanisms, as SVG, from the functions that the kernels and the model use, and from the
 * chapters' constants. So a picture cannot show anything else than the code does. picture.h has the colours; draw_NN.c
 * draws chapter NN.
 *
 *     pictures DIRECTORY    writes DIRECTORY/01_naive/coalescing.svg and the others; the directories must be there */
#include <stdio.h>

#include "picture.h"

extern Drawing *const __start_drawings[], *const __stop_drawings[];

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: pictures DIRECTORY\n");
        return 2;
    }
    pictures_directory = argv[1];
    for (Drawing *const *draw = __start_drawings; draw < __stop_drawings; draw++) {
        (*draw)();
    }
    return 0;
}
