# What tests/tools/count.t has to know of this chapter.
variant=(--variant cooperative_128x128) # by itself it may choose tiles that M does not fill
