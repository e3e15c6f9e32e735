// The names that inputs and results of a function's body may refer to, during instantiation.
#ifndef BD_GRAPH_FUNCTION_ITEMS_H
#define BD_GRAPH_FUNCTION_ITEMS_H

#include "graph/function_internal.h"
#include "graph/graph_def_internal.h"

// An item that an input may refer to: an argument, or an output argument of a node.
typedef struct bd_function_item {
    const char *node;   // of the graph to be made; of a list argument, its first node
    bool is_arg;        // each element is a node
    int first, count;   // outputs of `node`; of an argument, its first position
    braid_dtype *types; // [count]
} bd_function_item;

typedef struct bd_instantiation {
    bd_library *library; // not owned
    const bd_func *func;
    const bd_function *f;
    bd_import im;
    bd_map items;
    int arg_count, ret_count;
    BD_ARRAY(braid_dtype) arg_types, ret_types;
    int64_t element_count; // of all arguments of all nodes
    size_t bound_bytes;    // of values in the place of placeholders
} bd_instantiation;

// InvalidArgument.
braid_code bd_instantiation_fail(bd_instantiation *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The value of an attr of a node or call, or the default of the definition; NULL when there is neither.
const bd_attr *bd_attr_or_default(const bd_op_def *def, const bd_named_attr *attrs, int count,
                                  const char *name);

// Sets the types and the count of an argument's elements from the attrs.
braid_code bd_item_set_types(bd_instantiation *in, const bd_op_def *def, const bd_named_attr *attrs,
                             int count, const bd_arg_def *arg, bd_function_item *it);
// Gives an item its name. InvalidArgument when another item has it.
braid_code bd_item_add(bd_instantiation *in, const char *name, const bd_function_item *value);
// Finds "x", "x:2", "node:sum", "node:sum:0".
bool bd_item_find(const bd_instantiation *in, const char *name, bd_function_item *out);
// "node:3", or the node of element `k` of an argument.
bd_bytes bd_item_edge(bd_instantiation *in, const bd_function_item *it, int k);

#endif
