// Tensor lists as variants, in which loops and recurrent layers of TensorFlow 2 collect values.
//
// Like every variant, a list is shared and immutable, with one exception: the holder of the only reference to
// a list in a tensor without other holders may change it in place. So a loop that appends to its own list
// copies nothing.
#ifndef BD_TENSOR_TENSOR_LIST_H
#define BD_TENSOR_TENSOR_LIST_H

#include "base/check.h"
#include "tensor/tensor.h"

// An element takes some hundred bytes before it is set, and a message of few bytes may request many.
#define BD_TENSOR_LIST_MAX (INT64_C(1) << 24)

typedef struct bd_tensor_list {
    bd_variant base;
    braid_dtype element_dtype;
    braid_shape element_shape; // perhaps unknown
    int64_t max_elements;      // a longer list is an error; -1: no limit
    int64_t count;
    braid_tensor *items; // [count], in `memory`; "no tensor" for elements that are not set
    bd_buffer *memory;   // owned; NULL without items
} bd_tensor_list;

extern const bd_variant_type bd_tensor_list_type;

// NULL: `v` is empty or not a list.
static inline bd_tensor_list *bd_tensor_list_of(bd_variant *v)
{
    return v && v->type == &bd_tensor_list_type ? BD_CONTAINER_OF(v, bd_tensor_list, base) : NULL;
}

// An empty list with count 1.
bd_tensor_list *bd_tensor_list_new(braid_dtype element_dtype, const braid_shape *element_shape,
                                   int64_t max_elements);
// One of the same content with count 1, and with room for `more` elements. NULL: memory is short.
bd_tensor_list *bd_tensor_list_copy(const bd_tensor_list *l, int64_t more);

// Removes elements at the end, or adds elements that are not set. False: more than BD_TENSOR_LIST_MAX, or
// memory is short; the list is then unchanged. The caller must hold the only reference.
bool bd_tensor_list_resize(bd_tensor_list *l, int64_t count);

#endif
