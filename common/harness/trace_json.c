#include "timeline.h"
int trace_json(FILE *out, const Recording *recording) { (void)out; (void)recording; return 1; }
