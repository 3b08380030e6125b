# What tests/tools/count.t has to know of this chapter.
k=512 # K is padded to a stage
# The weights are packed with their scales; what is not loaded by TMA belongs to rows of C.
a=$((M * k)) b=$((N * k / 2 + N * (k / 128) * 2)) loads=('TMA loads')
