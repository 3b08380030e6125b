# What tests/tools/count.t has to know of this chapter.
devices=2
