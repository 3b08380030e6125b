# What tests/tools/count.t has to know of this chapter.
export RANKS=2 # whose shares are whole tiles
devices=2 variant=(--variant gather_c_128x128) # all of C on each device
