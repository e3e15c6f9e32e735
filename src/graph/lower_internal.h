// Declarations shared by the files of lowering: adding nodes, and bodies of functions.
#ifndef BD_GRAPH_LOWER_INTERNAL_H
#define BD_GRAPH_LOWER_INTERNAL_H

#include "graph/lower.h"

// The functions that a node was inlined from. None of them is inlined into itself.
typedef struct bd_inlined {
    const char *function;
    int depth;                   // the number of functions
    const struct bd_inlined *in; // NULL: a node of the graph
} bd_inlined;

typedef struct bd_lowering {
    braid_graph *g;
    BD_ARRAY(const bd_inlined *) from; // by node id, less `first`
    int first;
    int64_t bytes_left; // that nodes of functions may still take
    bd_imap values;     // lowered node -> braid_out [output_count], its replacements
    // lowers every node that can be lowered; nodes before `first` are shared with other graphs
    bool for_gradients;
    bd_arena arena;
} bd_lowering;

// A function that can be inlined in the place of a node.
typedef struct bd_inline {
    const bd_inlined *chain;
    bd_function_body body;
    bd_op_list effects; // of the body, later of the graph: nodes with effects
} bd_inline;

// Prepares the function of attr `attr` of `n`, or of item `index` of that list (-1: the attr is not a list),
// with `arg_count` arguments. False: it cannot be inlined.
bool bd_inline_begin(bd_lowering *l, const braid_op *n, const char *attr, int index, int arg_count,
                     bd_inline *in);
// Returns whether result `i` is argument `i` unchanged.
bool bd_inline_returns_argument(const bd_inline *in, int i);
// Adds the nodes, under `prefix`: arguments are `args`, results go to `rets` [ret_count]; nodes without
// inputs wait for `pivot` (NULL: do not wait). Then `in->effects` are nodes of the graph.
void bd_inline_add(bd_lowering *l, bd_inline *in, const braid_op *caller, const char *prefix,
                   const braid_out *args, braid_op *pivot, braid_out *rets);
void bd_inline_fini(bd_inline *in);

// Returns the prefix of the names of nodes that replace `n`: its own name; or, for gradients, a name that
// lowering by a session does not use.
const char *bd_lower_scope(bd_lowering *l, const braid_op *n);
// Adds a node "SCOPE/name" on the device of the caller, or of a handle. Attr T is the type of the first
// input; an input without op is connected later.
braid_op *bd_lower_add(bd_lowering *l, const braid_op *caller, const char *name, const char *op,
                       const braid_out *inputs, int input_count, const bd_named_attr *attrs, int attr_count);

// ---- What takes a node's place (lower.c) ----

// Returns whether inputs [from, input_count) match the arguments of `f`, and the node's outputs its results.
bool bd_lower_fits(const braid_op *n, int from, const bd_function_body *f);
void bd_lower_wait_for(braid_op *n, const bd_op_list *before);
void bd_lower_copy_controls(const braid_op *from, braid_op *to);
// The node becomes an IdentityN of the values (a NoOp without values), which runs after `last` (NULL: when
// its inputs are complete).
void bd_lower_become(bd_lowering *l, braid_op *n, braid_out *values, braid_op *last);

void bd_lower_if(bd_lowering *l, braid_op *n);
void bd_lower_case(bd_lowering *l, braid_op *n);

#endif
