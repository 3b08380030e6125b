/* state.c - see state.h. */
#include "state.h"

Device device;
