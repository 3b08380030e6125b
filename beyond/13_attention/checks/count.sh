# What tests/tools/count.t has to know of this chapter.
outputs=$((outputs + M * N / 128 * 4)) # the logarithms of two heads
products=4                              # Q K^T and P V
