/* memory.cu - prints what the memory of the first GPU can move at most, in GB/s, as 09 sees it. For `make tune`. */
#include "device/card.h"

int main(void) {
    printf("%d\n", memory_gb_s());
    return memory_gb_s() > 0 ? 0 : GEMM_DEVICE;
}
