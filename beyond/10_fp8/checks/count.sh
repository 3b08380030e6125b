# What tests/tools/count.t has to know of this chapter.
a=$((a / 2)) b=$((b / 2)) scales=2
