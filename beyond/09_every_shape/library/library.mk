# library.mk - libgemm09, which is 09 for programs of your own; included by tests/library/library.mk.

LIBRARY_SOURCE := beyond/09_every_shape/library
LIBRARY := $(B)/library
LIBRARY_FILES := $(addprefix $(LIBRARY)/,libgemm09.so libgemm09.a example example_static)
OBJCOPY := objcopy

##learn make library|build libgemm09 of 09_every_shape, shared and static, and a program that uses it; needs nvcc
.PHONY: library
ifneq ($(HAVE_NVCC),)
library: $(LIBRARY_FILES)

# What starts the kernels as <<< >>> would is never called: without its guards the library needs no C++ runtime.
$(LIBRARY)/gemm09.o: $(LIBRARY_SOURCE)/gemm09.cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(call compile_chapter,-Xcompiler=-fPIC$(comma)-fvisibility=hidden$(comma)-fno-exceptions$(comma)-fno-threadsafe-statics)

# Neither exports more than gemm09.h declares: the CUDA runtime within the shared one stays hidden, and so does what is hidden
# in the static one.
$(LIBRARY)/libgemm09.so: $(LIBRARY)/gemm09.o $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(NVCC) -shared -cudart static $< $(linker_flags) -Xlinker --exclude-libs=ALL -Xlinker -soname=libgemm09.so \
	    -Xlinker --as-needed -Xlinker -z,defs $(LIBS) -o $@
$(LIBRARY)/libgemm09.a: $(LIBRARY)/gemm09.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(OBJCOPY) --localize-hidden $< $(@D)/gemm09_static.o && $(AR) rc $@ $(@D)/gemm09_static.o

$(LIBRARY)/example.o: $(LIBRARY_SOURCE)/example.c $(LIBRARY_SOURCE)/gemm09.h $(NVCC_STAMP)
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -Xcompiler=-std=c11,-O2,-Wall,-Wextra,-Werror -I$(LIBRARY_SOURCE) -c $< -o $@
$(LIBRARY)/example: $(LIBRARY)/example.o $(LIBRARY)/libgemm09.so
	$(call say,LINK,$@)
	$(Q)$(NVCC) -cudart static $< -L$(LIBRARY) -lgemm09 -Xlinker -rpath='$$ORIGIN' $(linker_flags) -lm -o $@
$(LIBRARY)/example_static: $(LIBRARY)/example.o $(LIBRARY)/libgemm09.a
	$(call say,LINK,$@)
	$(Q)$(NVCC) -cudart static $^ $(linker_flags) -lm -o $@
else
library:
	@echo "libgemm09 cannot be built: $(NO_NVCC)" >&2; exit 1
endif
