// Attribute values of nodes.
#ifndef BD_GRAPH_ATTR_H
#define BD_GRAPH_ATTR_H

#include "base/arena.h"
#include "base/array.h"
#include "tensor/tensor.h"
#include <braid/attributes.h>

typedef enum bd_attr_kind {
    BD_ATTR_NONE = 0,
    BD_ATTR_STRING,
    BD_ATTR_INT,
    BD_ATTR_FLOAT,
    BD_ATTR_BOOL,
    BD_ATTR_TYPE,
    BD_ATTR_SHAPE,
    BD_ATTR_TENSOR,
    BD_ATTR_FUNC,        // kept as the bytes of a NameAttrList
    BD_ATTR_PLACEHOLDER, // kept unchanged
    BD_ATTR_LIST         // of one of the kinds above
} bd_attr_kind;

typedef braid_bytes bd_bytes; // zero-terminated behind `len`

typedef struct bd_attr {
    bd_attr_kind kind;
    bd_attr_kind item_kind; // of a list; BD_ATTR_NONE for an empty one (which fits any)
    union {
        bd_bytes s; // string, func, placeholder
        int64_t i;
        float f;
        bool b;
        braid_dtype type; // may be a reference type
        braid_shape shape;
        struct {
            braid_tensor *tensor; // owned by the graph that holds the attr
            bool is_whole;        // it was read from tensor_content, and is written to it: see attr_wire.c
        };
        struct {
            int count;
            union {
                bd_bytes *s;
                int64_t *i;
                float *f;
                bool *b;
                braid_dtype *type;
                braid_shape *shape;
                braid_tensor **tensor;
            };
        } list;
    };
} bd_attr;

typedef struct bd_named_attr {
    const char *name;
    bool
        is_default; // not written to a GraphDef: filled in from the definition, or later than TensorFlow 1.15
    bd_attr value;
} bd_named_attr;

// Tensors that attrs refer to, one reference each.
typedef BD_ARRAY(braid_tensor *) bd_attr_tensors;

void bd_attr_tensors_free(bd_attr_tensors *tensors); // and their references

const char *bd_attr_kind_name(bd_attr_kind kind); // "int", "list(type)" is made from two
// Writes the name of an attr's type as it appears in messages, "list(type)"; returns `buf`.
#define BD_ATTR_TYPE_NAME_MAX 32
const char *bd_attr_type_name(bd_attr_kind kind, bd_attr_kind item_kind, char buf[BD_ATTR_TYPE_NAME_MAX]);
bool bd_attr_equal(const bd_attr *a, const bd_attr *b);

// Copies a value into an arena; its tensors are referenced once more and added to `tensors`.
void bd_attr_copy(bd_attr *to, const bd_attr *from, bd_arena *arena, bd_attr_tensors *tensors);

#endif
