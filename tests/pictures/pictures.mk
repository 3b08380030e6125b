# pictures.mk - the pictures of the mechanisms, which are written by hand; included by the Makefile at the top.

##maintain make pictures|write the Chinese pictures of 01 to 08, NAME.zh.svg, from the English ones and tests/pictures/zh.tsv
.PHONY: pictures
pictures:
	tests/pictures/chinese .
