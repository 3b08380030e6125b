/* provenance.h - which elements of which matrix lie in a chunk of shared memory or in a fragment, and whether an
 * operand is made of the right ones. */
#ifndef PROVENANCE_H
#define PROVENANCE_H

#include "../event.h"

enum { TENSOR_UNKNOWN = 0, TENSOR_ZEROS = 0xffff, TENSOR_STAGED = 0xfffe, TENSOR_CARRIED = 0xfffd };

/* Which elements a chunk of 16 bytes holds: neighbouring columns of a row, 8 of bf16. */
typedef struct {
    uint16_t tensor; /* TENSOR_UNKNOWN, TENSOR_ZEROS or an index of provenance.c; or row and column mean something
                               else: TENSOR_STAGED in results.c, TENSOR_CARRIED in provenance_of() */
    uint16_t element_bytes; /* row and column count these */
    int32_t row;
    int32_t column;
} Tag;

/* The tag of a chunk that a copy by this map brings; coord as in TensorChunk. */
Tag tag_of_map(const TensorMap *map, const int64_t *coord);
/* The tag of 16 bytes of global memory, if they lie in a matrix that was described. */
Tag tag_of_global(const void *p);
/* "A"; empty if it is of no matrix. */
const char *tag_matrix(Tag tag);
/* "A(8,16)": row and column of its first element. Returns text, PHRASE_SIZE bytes. */
const char *tag_text(Tag tag, char *text);

/* What a warp's registers and a warpgroup's accumulators hold, and the last chunks that a thread has loaded. */
enum { CARRIED = 64 };
typedef struct CtaFragments {
    struct {
        uint32_t count;
        const void *chunk[CARRIED];
    } * carried;                        /* by thread; NULL: nothing yet */
    struct MatrixTag *warp[WARP_LIMIT]; /* a table by the address of lane 0's register; NULL: nothing yet */
    struct {
        Tag a, b;   /* row of A and of B that it is the product of */
        int unread; /* products that nobody has read */
        Site site;  /* of the last of them */
    } tile[WARPGROUP_LIMIT][ACCUMULATOR_TILES];
} CtaFragments;

/* The tag of a chunk of shared memory. */
Tag provenance_of(Cta *cta, uint32_t offset);

/* A warp has loaded four 8x8 matrices: tag[8 * i + r] is row r of matrix i in memory; r0 is lane 0's register array. */
void provenance_ldmatrix(Warp *w, const uint32_t *r0, const Tag tag[WARP_SIZE]);
/* Operand A of a wgmma from the warp's registers; a0 is lane 0's array. As provenance_operand(), the row that of the
 * warpgroup's first warp. */
Tag provenance_fragment(Warp *w, MatrixType type, const uint32_t *a0, Site site);
/* A warp multiplies fragments; a0, b0 are lane 0's arrays. 1: the fragments begin with the elements *a and *b. */
int provenance_mma(Warp *w, const uint32_t *a0, const uint32_t *b0, Site site, Tag *a, Tag *b);

/* One operand of a wgmma: tags of its chunks in the order of wgmma_operand_addresses(); those that count elements of
 * another size than the type's say nothing. Reports pieces that do not fit and returns the tag of element (0, 0):
 * unknown if it has none or pieces did not fit. For an MN-major operand row and column of the result are exchanged, so
 * that row is always that of the operand and column its k. */
Tag provenance_operand(Thread *t, const char *operand, const Tag *tag, MatrixType type, int mn_major, int rows,
                       Site site);
/* A and B of a product of the warpgroup: same k, and the tile's rows and columns as before. 1: now these are known. */
int provenance_product(Thread *t, const Product *product, Tag a, Tag b);

/* A thread has stored to the accumulators of a tile, or read them. */
void provenance_accumulators(Warpgroup *g, int tile, int write);

/* Memory is freed: matrices in it have names no more. */
void provenance_forget_memory(const void *p, size_t bytes);

#endif
