# pictures.mk - the pictures of the mechanisms; included by the Makefile at the top after the rules of the tests.

PICTURES := $(B)/tests/pictures/pictures
PICTURES_TEST := tests/pictures/pictures.t
MORE_TESTS += $(PICTURES_TEST)

# With the model's functions of data: who holds what, where a descriptor finds it.
$(PICTURES): $(patsubst %.c,$(B)/%.o,$(wildcard tests/pictures/*.c)) \
             $(patsubst %,$(B)/model_core/data/%.o,element matrix tensor_map) $(CC_STAMP)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) -o $@

$(PICTURES_TEST): $(PICTURES)

## make pictures|draw the mechanisms' pictures in the chapters' READMEs from the functions that the kernels use
.PHONY: pictures
pictures: $(PICTURES)
	$(PICTURES) .
