// Attributes of nodes: reading them in whatever type they have, and changing those of existing nodes.
//
//     braid_attr a;
//     if (braid_op_attr(op, "strides", &a) && a.kind == BRAID_ATTR_INT && a.is_list)
//         for (int i = 0; i < a.count; i++) use(a.ints[i]);
//
// Attributes of nodes to be are set by the braid_op_attr_TYPE functions of graph.h.
#ifndef BRAID_ATTRIBUTES_H
#define BRAID_ATTRIBUTES_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a value is, or the items of a list are.
typedef enum braid_attr_kind {
    BRAID_ATTR_NONE =
        0, ///< the items of an empty list of an attribute that the op's definition does not have
    BRAID_ATTR_STRING,
    BRAID_ATTR_INT,
    BRAID_ATTR_FLOAT,
    BRAID_ATTR_BOOL,
    BRAID_ATTR_TYPE,
    BRAID_ATTR_SHAPE,
    BRAID_ATTR_TENSOR,
    BRAID_ATTR_FUNC,       ///< a serialized NameAttrList
    BRAID_ATTR_PLACEHOLDER ///< the name of the function's attribute that gives the value
} braid_attr_kind;

/// Bytes with a zero behind them.
typedef struct braid_bytes {
    const char *data;
    size_t len; ///< without the zero
} braid_bytes;

/// A value, or a list of values of one kind. The arrays are the graph's, valid as long as it or until the
/// attribute is set.
typedef struct braid_attr {
    braid_attr_kind kind;
    bool is_list;
    bool is_default;                ///< not given when the node was made: it comes from the op's definition
    int count;                      ///< of values: 1, or those of the list
    union {                         // by `kind`
        const braid_bytes *strings; ///< BRAID_ATTR_STRING, BRAID_ATTR_FUNC, BRAID_ATTR_PLACEHOLDER
        const int64_t *ints;
        const float *floats;
        const bool *bools;
        const braid_dtype *types;
        const braid_shape *shapes;
        const braid_tensor *const *tensors;
    };
} braid_attr;

BRAID_API int braid_op_num_attrs(const braid_op *op);
/// Attributes by name, those with their default value too. NULL when there is no such index. Owned by the
/// graph.
BRAID_API const char *braid_op_attr_name(const braid_op *op, int index);
/// Reads an attribute. False, with nothing stored, when the node has no such attribute.
BRAID_API bool braid_op_attr(const braid_op *op, const char *name, braid_attr *value);
/// Returns an attribute as a serialized AttrValue (free() it) and its length. NULL on an error:
/// InvalidArgument when the node has no such attribute.
BRAID_API void *braid_op_attr_proto(const braid_op *op, const char *name, size_t *len, braid_status *status);

/// Sets an attribute of an existing node from a serialized AttrValue of `len` bytes; NULL: removes it, so
/// that one of the op's definition has its default again. When a session notices: see "Changing nodes" in
/// graph.h. Shapes of outputs stay. InvalidArgument, with nothing changed: a malformed value; of an attribute
/// of the definition, a value that it does not allow, another value for one that gives types or numbers of
/// inputs and outputs, a value that contradicts the node's shapes, or removing one without a default.
BRAID_API braid_code braid_op_set_attr(braid_op *op, const char *name, const void *attr_value, size_t len,
                                       braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
