// Functions of a graph's library: parsed FunctionDefs and GradientDefs, and bodies made from them.
//
// A library never changes once it is shared: functions of a later GraphDef go into a new library that holds
// the old functions, too. So a library is shared without a lock, and a node whose op is a function
// (braid_op.def points into it) keeps its meaning as long as its graph holds the library.
#ifndef BD_GRAPH_FUNCTION_H
#define BD_GRAPH_FUNCTION_H

#include "base/map.h"
#include "graph/op.h"
#include "tensor/charge.h"
#include <stdatomic.h>

struct braid_graph;
struct braid_op;
struct bd_wire_reader;
struct bd_wire_writer;

// A node of a body. Inputs are written as FunctionDef writes them: "x", "x:1", "node:output:0", "^node".
typedef struct bd_function_node {
    const char *name, *op, *device;
    bd_bytes *inputs;
    int input_count;
    bd_named_attr *attrs; // sorted by name; values may be placeholders
    int attr_count;
} bd_function_node;

// Output `name` is `value`, which is written like an input; of a control output, `value` is a node.
typedef struct bd_function_ret {
    const char *name, *value;
} bd_function_ret;

// A FunctionDef, counted and never changed.
typedef struct bd_function {
    atomic_int refs;
    const char *name;
    bd_op_def def; // the signature, as a definition of an op: def.op is `op`
    bd_op op;
    bd_function_node *nodes;
    int node_count;
    bd_function_ret *rets, *control_rets; // sorted by name
    int ret_count, control_ret_count;
    bd_named_attr *attrs; // of the FunctionDef, sorted by name
    int attr_count;
    bd_bytes wire;           // the FunctionDef as it was received
    bd_arena arena;          // of all this
    bd_attr_tensors tensors; // of attrs
    bd_charge charge;        // for the arena
} bd_function;

typedef struct bd_library {
    atomic_int refs;
    bd_map functions; // -> bd_function, one reference each
    bd_map gradients; // name of a function -> that of its gradient function, owned
} bd_library;

bd_library *bd_library_ref(bd_library *l); // NULL is accepted
void bd_library_unref(bd_library *l);      // NULL is accepted
// Bytes that the library has allocated, without its functions: libraries share them, and they count
// themselves (bd_function.charge). `l` may be NULL.
size_t bd_library_bytes(const bd_library *l);
// NULL: not found; `l` may be NULL
const bd_function *bd_library_find(const bd_library *l, const char *name);
// NULL: not found; `l` may be NULL
const char *bd_library_gradient(const bd_library *l, const char *function);

// Makes a new library of the functions of `base` (NULL: none) and of the FunctionDefLibrary messages. A
// repeated equal definition is accepted. InvalidArgument: another definition of the same name, the name of an
// op, a malformed message.
braid_code bd_library_extend(const bd_library *base, const bd_bytes *messages, int count, bd_library **out,
                             braid_status *st);
// Returns the functions of `l` that the nodes of `g` call, directly or through other functions; NULL when
// they call none.
bd_library *bd_library_reachable(bd_library *l, const struct braid_graph *g);

// The FunctionDefLibrary message, without an enclosing tag.
size_t bd_library_size(const bd_library *l);
void bd_library_write(const bd_library *l, struct bd_wire_writer *out);

// ---- Calls ----

// A function with values for its attrs: an attr of type func (NameAttrList), or a node whose op is a
// function.
typedef struct bd_func {
    const char *name;
    const bd_named_attr *attrs; // sorted by name
    int attr_count;
} bd_func;

// Parses the bytes of an attr of type func. Memory comes from `arena`, tensors go to `tensors`.
// InvalidArgument.
braid_code bd_func_parse(const bd_bytes *bytes, bd_arena *arena, bd_attr_tensors *tensors, bd_func *out,
                         braid_status *st);
// Returns the function of a node whose op is a function, without attrs that are not the function's, such as
// "_noinline". From `arena`.
bd_func bd_func_of_node(const struct braid_op *n, bd_arena *arena);
// Serializes `f`: equal bytes for functions with equal names and attrs. Zero-terminated behind `len`, from
// `arena`.
bd_bytes bd_func_bytes(const bd_func *f, bd_arena *arena);

// The types of the arguments and results of an instance, and its nodes in a graph of their own.
typedef struct bd_function_body {
    // owned: _Arg and _Retval nodes, and the body with attrs in place of placeholders
    struct braid_graph *graph;
    braid_dtype *arg_types, *ret_types; // in the graph's arena
    int arg_count, ret_count;
} bd_function_body;

// Makes the body of `f`; the graph holds `l`. Nodes that no result needs and that have no effect are left
// out. NotFound for an undefined function or a missing attr, InvalidArgument as in TensorFlow's
// instantiation.
braid_code bd_function_instantiate(bd_library *l, const bd_func *f, bd_function_body *out, braid_status *st);
// Makes the body of the gradient of `f`. Its arguments are those of f and the gradients of f's results; its
// results are the gradients of f's arguments. It is the library's gradient function, or is built from the
// gradients of f's nodes; `f` may be an op.
braid_code bd_function_gradient(bd_library *l, const bd_func *f, bd_function_body *out, braid_status *st);
void bd_function_body_fini(bd_function_body *b);

// Returns the op that makes a function, or a function that it calls, stateful: one that reads a variable or
// random numbers, or has an effect. NULL: the function is stateless. The name is valid as long as the
// process.
const char *bd_function_state(const bd_library *l, const char *function);

#endif
