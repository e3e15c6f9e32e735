// Slices of tensors, as checkpoints know the parts of partitioned variables: an extent in each dimension.
#ifndef BD_IO_TENSOR_SLICE_H
#define BD_IO_TENSOR_SLICE_H

#include "base/strbuf.h"
#include "tensor/shape.h"

// The length of an extent that takes all of its dimension; its start is 0.
#define BD_EXTENT_ALL (-1)

typedef struct bd_tensor_slice {
    int rank;
    int64_t start[BRAID_RANK_MAX], length[BRAID_RANK_MAX];
} bd_tensor_slice;

bd_tensor_slice bd_tensor_slice_all(int rank); // all of a tensor, in all dimensions
bool bd_tensor_slice_is_all(const bd_tensor_slice *s);
bool bd_tensor_slice_equal(const bd_tensor_slice *a, const bd_tensor_slice *b); // extent by extent

// Reads TensorFlow's form: "-:0,2" is all of the first dimension and two from 0 on of the second.
// InvalidArgument.
braid_code bd_tensor_slice_parse(const char *text, size_t len, bd_tensor_slice *s, braid_status *st);
void bd_tensor_slice_print(const bd_tensor_slice *s, bd_strbuf *out); // the same form

// Reads a shape_and_slice of SaveV2 and RestoreV2, "4 5 0,2:-": the shape of the whole tensor, a slice of it,
// and the shape of that slice. InvalidArgument.
braid_code bd_shape_and_slice_parse(const char *text, size_t len, braid_shape *full, bd_tensor_slice *s,
                                    braid_shape *shape, braid_status *st);

// Gives the extents their lengths in a tensor of this (known) shape. InvalidArgument when the rank is another
// or an extent is empty or does not lie in the shape.
braid_code bd_tensor_slice_resolve(const bd_tensor_slice *s, const braid_shape *full,
                                   bd_tensor_slice *resolved, braid_status *st);

// ---- Of resolved slices ----

braid_shape bd_tensor_slice_shape(const bd_tensor_slice *s);
int64_t bd_tensor_slice_count(const bd_tensor_slice *s); // of elements
// False when they have no element in common.
bool bd_tensor_slice_intersect(const bd_tensor_slice *a, const bd_tensor_slice *b, bd_tensor_slice *out);

// True when the elements of `part`, which lies in `whole`, follow each other in a row-major tensor of just
// `whole`;
// *first is where they begin.
bool bd_tensor_slice_is_run(const bd_tensor_slice *whole, const bd_tensor_slice *part, int64_t *first);

// Copies elements of `size` bytes that two tensors have in common: `common`, which lies in both, from `from`,
// which holds the slice `from_slice`, to `to`, which holds `to_slice`. Row-major.
void bd_tensor_slice_copy(const bd_tensor_slice *common, const void *from, const bd_tensor_slice *from_slice,
                          void *to, const bd_tensor_slice *to_slice, size_t size);

// ---- Keys ----

// Appends the key under which a slice of the tensor `name` has its entry in a checkpoint's index.
void bd_tensor_slice_key(const char *name, size_t name_len, const bd_tensor_slice *s, bd_strbuf *out);
// Parses a key; the name is appended to `name`. False when the key is malformed.
bool bd_tensor_slice_key_parse(const void *key, size_t len, bd_strbuf *name, bd_tensor_slice *s);

#endif
