// TensorArrays: arrays of tensors that live for one step. Loops read and write them, one element in each
// iteration.
//
// An element is written once (in an array of gradients several times: they are summed) and may be released by
// its first read (clear_after_read). The array of gradients of an array has the same size and element shapes.
#ifndef BD_OPS_TENSOR_ARRAY_TENSOR_ARRAY_H
#define BD_OPS_TENSOR_ARRAY_TENSOR_ARRAY_H

#include "base/thread.h"
#include "op/resource.h"
#include "tensor/tensor.h"

typedef struct bd_tensor_array bd_tensor_array;

typedef struct bd_tensor_array_options {
    braid_dtype dtype;
    int64_t size;
    braid_shape element_shape; // perhaps unknown
    bool dynamic_size, clear_after_read, identical_shapes;
} bd_tensor_array_options;

extern const bd_resource_type bd_tensor_array_type;

// ResourceExhausted.
braid_code bd_tensor_array_new(const bd_tensor_array_options *o, bd_tensor_array **a, braid_status *st);
// Makes the gradient array of `of`, whose size is fixed from now on; its elements have the shapes of `of`,
// preceded by `prepend`.
braid_code bd_tensor_array_new_gradient(bd_tensor_array *of, const braid_shape *prepend, bd_tensor_array **a,
                                        braid_status *st);

bd_resource *bd_tensor_array_resource(bd_tensor_array *a);
bd_tensor_array *bd_tensor_array_of(bd_resource *r);

braid_dtype bd_tensor_array_dtype(const bd_tensor_array *a);
// InvalidArgument after it has been closed.
braid_code bd_tensor_array_size(bd_tensor_array *a, int64_t *size, braid_status *st);
// The size it will have when elements [0, count) are written: larger only where it may grow.
braid_code bd_tensor_array_size_for(bd_tensor_array *a, int64_t count, int64_t *size, braid_status *st);
// How many elements are read when all are put together. An array of gradients has as many as went into the
// array at once by bd_tensor_array_mark, which may have grown afterwards.
braid_code bd_tensor_array_whole(bd_tensor_array *a, int64_t *size, braid_status *st);
void bd_tensor_array_mark(bd_tensor_array *a, int64_t size);
// Merges the element shape that an op knows, and returns the merged shape. InvalidArgument: the shapes
// contradict each other.
braid_code bd_tensor_array_merge_shape(bd_tensor_array *a, braid_shape *shape, braid_status *st);

// Keeps a reference to (of a variable: a copy of) `value`. InvalidArgument: out of range, another type or
// shape, written before.
braid_code bd_tensor_array_write(bd_tensor_array *a, int64_t index, const braid_tensor *value,
                                 braid_status *st);
// A reference to an element. One of known shape that was not written is zeros. InvalidArgument: out of range,
// not there.
braid_code bd_tensor_array_read(bd_tensor_array *a, int64_t index, braid_tensor *value, braid_status *st);

void bd_tensor_array_close(bd_tensor_array *a);

#endif
