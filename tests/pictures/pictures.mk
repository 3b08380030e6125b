# pictures.mk - the pictures of the mechanisms; included by the Makefile at the top after the rules of the tests.

PICTURES := $(B)/tests/pictures/pictures
PICTURES_TEST := tests/pictures/pictures.t
MORE_TESTS += $(PICTURES_TEST)

$(PICTURES): $(patsubst %.c,$(B)/%.o,$(wildcard tests/pictures/*.c)) $(MODEL_OBJECTS) $(CC_STAMP)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(filter %.o,$^) $(LIBS) -o $(NEW) $(renamed)

# It has a kernel, and looks into the model from there: so without what shows the model a kernel's accesses.
$(B)/tests/pictures/barrier_states.o: tests/pictures/barrier_states.c $(CC_STAMP)
	$(call c_object,-DGEMM_MODEL -Wno-psabi)

$(PICTURES_TEST): $(PICTURES)

##maintain make pictures|draw the mechanisms' pictures in the chapters' READMEs from the functions that the kernels use, and the Chinese ones
.PHONY: pictures
pictures: $(PICTURES)
	$(PICTURES) .
	tests/pictures/chinese .
