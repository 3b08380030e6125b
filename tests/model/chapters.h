/* chapters.h - all chapters that the Makefile found, as they are built for the model. */
#define EACH_CHAPTER(id) extern const Chapter model_chapter_##id;
#include "chapters.inc"
#undef EACH_CHAPTER
#define EACH_CHAPTER(id) &model_chapter_##id,
static const Chapter *const chapters[] = {
#include "chapters.inc"
};
enum { CHAPTERS = sizeof chapters / sizeof chapters[0] };
