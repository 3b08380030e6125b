# What the Makefile has to know of this chapter: without tiles the model takes 10 s for 512 x 512 x 512.
MODEL_SIZE := 256
