// The op registry: what an op is, written once beside its kernel and found through a generated table.
//
// An op is one constant in a file of src/ops:
//     BD_OP(MatMul) = {
//         .signature = "(a: T, b: T) -> (product: T)",
//         .attrs = "transpose_a:bool=false; transpose_b:bool=false; T:type{float,double,int32}",
//         .shape = matmul_shape, .gradient = matmul_gradient, .kernels = BD_KERNELS({...}), .doc = "...",
//     };
// in the notation of TensorFlow's registry: `N*T` a list of N tensors of type T, `xs...` a list typed by attr
// xs, `Ref(T)` a reference edge, `{number}` and `{realnumber}` the sets of bd_dtypes_number and
// bd_dtypes_realnumber. An attr that TensorFlow 1.15's op does not have is marked by a +, as in
// "+index_type:type=int32", and has a default. The text is parsed once, when the op is first looked up; a
// mistake in it is a bug (asserted, and a test parses all).
#ifndef BD_GRAPH_OP_H
#define BD_GRAPH_OP_H

#include "graph/attr.h"

struct bd_kernel;    // src/op/kernel.h
struct bd_shape_ctx; // shape_fn.h
struct bd_grad_ctx;  // grad.h
struct bd_fusion;    // rewrite.h

// The role of an op in the executor and the partitioner, which therefore need not know ops by name.
typedef enum bd_op_role {
    BD_ROLE_PLAIN = 0,
    BD_ROLE_SWITCH,
    BD_ROLE_MERGE,
    BD_ROLE_ENTER,
    BD_ROLE_EXIT,
    BD_ROLE_NEXT_ITERATION,
    BD_ROLE_LOOP_COND,
    BD_ROLE_CONTROL_TRIGGER,
    BD_ROLE_SEND, // runs with a dead input, to pass deadness on
    BD_ROLE_RECV,
    BD_ROLE_ARG, // value of the step's call frame
    BD_ROLE_RETVAL,
    BD_ROLE_PLACEHOLDER, // must be fed
    BD_ROLE_CONST,       // attr `value` is its output
    BD_ROLE_VARIABLE,    // dealt out by device setters, gives a reference or a handle
    BD_ROLE_METADATA     // needs its input's type and shape only (Shape, Rank, Size)
} bd_op_role;

enum {
    BD_OP_STATEFUL = 1, // not folded or merged; keeps its place for a session's life
    BD_OP_COMMUTATIVE = 2,
    BD_OP_AGGREGATE = 4,
    BD_OP_ALLOWS_UNINITIALIZED = 8, // accepts a reference to an uninitialized variable
    BD_OP_NOT_DIFFERENTIABLE = 16,  // the gradient is None by definition (tf.NotDifferentiable)
    BD_OP_USES_RENDEZVOUS = 32,     // uses the step's rendezvous without being a Send or Recv
    BD_OP_SPARSE_GRAD = 64,         // its gradient function takes sparse gradients (grad.h)
    BD_OP_IDENTITY = 128,           // output 0 is input 0, and so are their gradients
    BD_OP_SPREADS_HANDLES = 256,    // its inputs may be handles of resources on different devices
    BD_OP_MAY_BE_FED = 512,         // its output is often fed: never folded into a constant
    BD_OP_SAME_VALUE = 1024,        // output 0 has the value of input 0; its gradient differs
    BD_OP_TAKES_SNAPSHOT =
        2048, // takes of a reference a value that later changes of the variable leave alone
};

typedef struct bd_op {
    const char *name; // for messages; the name in the table is authoritative
    const char *signature;
    const char *attrs; // NULL: no attrs
    unsigned flags;
    bd_op_role role;
    // Infers the output shapes. NULL: outputs of unknown shape.
    braid_code (*shape)(struct bd_shape_ctx *c, braid_status *st);
    // Builds the gradient nodes. NULL without BD_OP_NOT_DIFFERENTIABLE: not registered, an error on a path.
    void (*gradient)(struct bd_grad_ctx *c);
    const struct bd_kernel *kernels; // the first one with matching constraints is used
    int kernel_count;
    const struct bd_fusion *fusion; // of an op that replaces several nodes: makes the replacement; NULL
    const char *doc;                // one or two sentences
    // differences from TensorFlow's op of this name; NULL: no differences
    const char *deviation;
} bd_op;

#define BD_OP(NAME) const bd_op bd_op_##NAME
// (The generated table carries the names; `.name` need not be given.)

// The generated table, sorted by name: build/generated/op_table.c.
typedef struct bd_op_entry {
    const char *name;
    const bd_op *op;
} bd_op_entry;
extern const bd_op_entry bd_op_table[];
extern const size_t bd_op_table_len;

// ---- The parsed form ----

typedef struct bd_arg_def {
    const char *name;
    braid_dtype type;           // BRAID_INVALID when an attr gives it
    const char *type_attr;      // "T"; NULL when fixed
    const char *number_attr;    // "N" of N*T; NULL
    const char *type_list_attr; // "Tcomponents"; NULL
    bool is_ref;
    int type_attr_index, number_attr_index, type_list_attr_index; // into bd_op_def.attrs; -1
} bd_arg_def;

typedef struct bd_attr_def {
    const char *name;
    bool is_later;                // not in TensorFlow 1.15: not written to a GraphDef with its default
    bd_attr_kind kind, item_kind; // item_kind of a list
    bool has_minimum;
    int64_t minimum;                    // of an int, or of a list's length
    bd_dtype_set allowed_types;         // 0: any
    const char *const *allowed_strings; // NULL: any
    int allowed_string_count;
    bool has_default;
    bd_attr default_value;
} bd_attr_def;

typedef struct bd_op_def {
    const char *name;
    const bd_op *op;
    bd_arg_def *inputs, *outputs;
    int input_count, output_count; // arguments, not edges
    bd_attr_def *attrs;
    int attr_count;
} bd_op_def;

// The definition of an op, parsed at the first call; NULL when Braid does not know the op. Any thread.
const bd_op_def *bd_op_lookup(const char *name);
// The name of the op that is most like a misspelt one; NULL: none is like it.
const char *bd_op_nearest(const char *name);
const bd_attr_def *bd_op_def_attr(const bd_op_def *def, const char *name);

#endif
