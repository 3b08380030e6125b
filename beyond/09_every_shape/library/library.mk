# library.mk - libgemm09 and libattention13, which are 09 and 13 for programs of your own; included by
# tests/library/library.mk.

LIBRARY_SOURCE := beyond/09_every_shape/library
LIBRARY := $(B)/library
ATTENTION_SOURCE := beyond/13_attention/library
LIBRARY_FILES := $(addprefix $(LIBRARY)/,gemm09.o libgemm09.so libgemm09.a example example_static attention13.o \
                 libattention13.so libattention13.a)
OBJCOPY := objcopy
NEEDS += gemm09:SM90A attention13:SM90A # as the chapters that they include

##learn make library|build libgemm09 of 09_every_shape and libattention13, shared and static, and programs that use the first; needs nvcc
.PHONY: library
ifneq ($(HAVE_NVCC),)
library: $(LIBRARY_FILES)

# What starts the kernels as <<< >>> would is never called: without its guards a library needs no C++ runtime.
comma := ,
LIBRARY_FLAGS := -fPIC$(comma)-fvisibility=hidden$(comma)-fno-exceptions$(comma)-fno-threadsafe-statics
compile_library = $(call compile_chapter,-Xcompiler=$(LIBRARY_FLAGS))
$(LIBRARY)/%.o: $(LIBRARY_SOURCE)/%.cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(compile_library)
$(LIBRARY)/%.o: $(ATTENTION_SOURCE)/%.cu tests/tools/ptxas_check $(NVCC_STAMP)
	$(compile_library)

# Neither kind exports more than the header declares: the CUDA runtime within the shared one stays hidden, and so does
# what is hidden in the static one.
$(LIBRARY)/lib%.so: $(LIBRARY)/%.o $(LINK_STAMP)
	$(call say,LINK,$@)
	$(Q)$(NVCC) -shared -cudart static $< $(linker_flags) -Xlinker --exclude-libs=ALL -Xlinker -soname=$(@F) \
	    -Xlinker --as-needed -Xlinker -z,defs $(LIBS) -o $(NEW) $(renamed)
$(LIBRARY)/lib%.a: $(LIBRARY)/%.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(OBJCOPY) --localize-hidden $< $(@D)/$*_static.o && $(AR) rc $@ $(@D)/$*_static.o

# c_example compiles a C program that calls a library; $(1) is its flags. linked_example links it with the library $(1).
define c_example
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -Xcompiler=-std=c11,-D_GNU_SOURCE,-O2,-Wall,-Wextra,-Werror $(1) -c $< -o $(NEW) $(renamed)
endef
define linked_example
	$(call say,LINK,$@)
	$(Q)$(NVCC) -cudart static $< -L$(LIBRARY) $(1) -Xlinker -rpath='$$ORIGIN:$$ORIGIN/../../library' $(linker_flags) \
	    -lm -lpthread -o $(NEW) $(renamed)
endef
$(LIBRARY)/example.o: $(LIBRARY_SOURCE)/example.c $(LIBRARY_SOURCE)/gemm09.h $(NVCC_STAMP)
	$(c_example)
$(LIBRARY)/example: $(LIBRARY)/example.o $(LIBRARY)/libgemm09.so
	$(call linked_example,-lgemm09)
$(LIBRARY)/example_static: $(LIBRARY)/example.o $(LIBRARY)/libgemm09.a
	$(call linked_example,$(LIBRARY)/libgemm09.a)
else
library:
	@echo "the libraries cannot be built: $(NO_NVCC)" >&2; exit 1
endif
