// Graphs inside Braid: the structs behind braid_graph and braid_op.
//
// Nodes, names and attributes live in the graph's arena; a node never moves. A session copies the nodes that
// it gets, and its copies never change. Inputs point to nodes; consumers are computed on demand
// (bd_graph_consumers).
#ifndef BD_GRAPH_GRAPH_H
#define BD_GRAPH_GRAPH_H

#include "base/array.h"
#include "base/map.h"
#include "graph/function.h"
#include "graph/op.h"
#include <braid/graph.h>

struct braid_op {
    braid_graph *graph; // not owned
    int id;             // index in the graph's nodes
    const char *name;
    const char *op_type;
    const bd_op_def *def;        // NULL: unknown op
    const char *device;          // requested; "" without a request
    const char *assigned_device; // full name, set by the placer; NULL before
    bd_named_attr *attrs;        // sorted by name, defaults of the definition filled in
    int attr_count;
    braid_out *inputs; // data inputs in order
    int input_count;
    braid_op **controls; // control inputs
    int control_count;
    braid_dtype *input_types;   // the types that the op takes, reference types for references [input_count]
    braid_dtype *output_types;  // [output_count]
    braid_shape *output_shapes; // as far as inferred [output_count]
    int output_count;
    const char *file; // of the program's line that built it, in the graph's arena; NULL: not known
    int line;
};

typedef BD_ARRAY(braid_op *) bd_op_list;

struct bd_builder; // names, scopes, collections: the state of building (builder.c)

struct braid_graph {
    bd_arena arena;
    bd_op_list nodes;
    bd_map by_name;               // -> braid_op
    bd_map name_numbers;          // the last number that bd_graph_unique_name gave to a base
    bd_attr_tensors tensors;      // of attrs, one reference each
    bd_library *library;          // functions that nodes may call, one reference; NULL: none
    int producer, min_consumer;   // VersionDef
    braid_status status;          // the first error made while building
    struct bd_builder *builder;   // NULL until the first node is built
    struct bd_graph_turns *turns; // of threads at a program's graph (turns.h); NULL: another graph
};

void bd_graph_init(braid_graph *g);
void bd_graph_fini(braid_graph *g);

// Bytes that the graph has allocated, without tensors and functions.
size_t bd_graph_bytes(const braid_graph *g);

// A point in the growth of a graph.
typedef struct bd_graph_mark {
    size_t nodes, tensors;
    bd_arena_mark arena;
} bd_graph_mark;
bd_graph_mark bd_graph_get_mark(const braid_graph *g);
// Removes the nodes that were added since, and frees their memory. Earlier nodes have not changed since, and
// nothing was built (bd_graph_builder). The library stays as it is.
void bd_graph_rewind(braid_graph *g, const bd_graph_mark *mark);

// ---- Reading nodes ----

const bd_attr *bd_node_attr(const braid_op *n, const char *name);     // NULL when absent
bool bd_node_attr_is_default(const braid_op *n, const bd_attr *attr); // `attr` is one of its attrs
// The typed readers assert that the attr exists and has that kind: for attrs that the definition guarantees.
braid_dtype bd_node_attr_type(const braid_op *n, const char *name);
int64_t bd_node_attr_int(const braid_op *n, const char *name);
float bd_node_attr_float(const braid_op *n, const char *name);
bool bd_node_attr_bool(const braid_op *n, const char *name);
const char *bd_node_attr_string(const braid_op *n, const char *name);
const braid_tensor *bd_node_attr_tensor(const braid_op *n, const char *name);
braid_shape bd_node_attr_shape(const braid_op *n, const char *name);
static inline bd_op_role bd_node_role(const braid_op *n)
{
    return n->def ? n->def->op->role : BD_ROLE_PLAIN;
}
// Returns whether the node's op has one of the flags (BD_OP_...). False for an unknown op.
static inline bool bd_node_has_flag(const braid_op *n, unsigned flags)
{
    return n->def && (n->def->op->flags & flags);
}
static inline bool bd_node_is_stateful(const braid_op *n)
{
    return bd_node_has_flag(n, BD_OP_STATEFUL);
}

// ---- Making and copying nodes below the builder (for import, prune, partition and rewrites) ----

typedef struct bd_node_spec {
    const char *name; // exact, must be new in the graph
    const char *op_type;
    const char *device;          // NULL: ""
    const char *assigned_device; // NULL: not assigned
    const braid_out *inputs;     // nodes of the same graph
    int input_count;
    braid_op *const *controls;
    int control_count;
    const bd_named_attr *attrs; // copied (tensors by reference)
    int attr_count;
} bd_node_spec;

// Adds a node: resolves the definition, checks attrs and inputs against it, fills in defaults and types the
// inputs determine, infers shapes. An unknown op is kept without checks. AlreadyExists, InvalidArgument (the
// message names node and op).
braid_code bd_graph_add(braid_graph *g, const bd_node_spec *spec, braid_op **node, braid_status *st);

// Copies `n` of another graph with new inputs (already in `g`); attrs, device, types and shapes as they are,
// unchecked. `g` gets the library of that graph.
braid_op *bd_graph_copy_node(braid_graph *g, const braid_op *n, const braid_out *inputs, int input_count,
                             braid_op *const *controls, int control_count);
// Connects data input `index` of a node to another output. Only in a graph that is not published (loops,
// rewrites).
void bd_node_set_input(braid_op *n, int index, braid_out to);
void bd_node_add_control(braid_op *n, braid_op *control); // no effect if it is one already

// Gives `g` the library of `from`, which has all functions that `g` may call so far.
void bd_graph_share_library(braid_graph *g, const braid_graph *from);

// A name that does not exist in `g`, made from `base` and a number.
const char *bd_graph_unique_name(braid_graph *g, const char *base);

// Every edge out of every node: for node i, consumers[offsets[i] .. offsets[i+1]).
typedef struct bd_consumer {
    braid_op *node;
    int input;  // data input of `node`; -1 for a control edge
    int output; // of the producer; -1 for a control edge
} bd_consumer;
typedef struct bd_consumers {
    int *offsets; // [node count + 1]
    bd_consumer *items;
} bd_consumers;
void bd_graph_consumers(const braid_graph *g, bd_consumers *out);
void bd_consumers_fini(bd_consumers *c);

// Lists the nodes in an order in which inputs precede consumers (back edges of loops, from NextIteration into
// Merge, do not count). InvalidArgument names a node of a cycle without a loop.
braid_code bd_graph_topological(const braid_graph *g, bd_op_list *order, braid_status *st);

// ---- GraphDef ----

// braid_graph_import over a message in slices; large constants are gathered once into their tensors.
struct bd_message;
braid_code bd_graph_import_message(braid_graph *g, const struct bd_message *graph_def, braid_status *st);
struct bd_wire_writer;
// What is written of nodes.
enum {
    BD_GRAPH_PLACED = 1,   // assigned devices in place of those asked for
    BD_GRAPH_DEFAULTS = 2, // attrs that have their default too, of those that TensorFlow 1.15 has
};
// Writes nodes [from, node count) as a GraphDef message (without an enclosing tag).
void bd_graph_write(const braid_graph *g, int from, unsigned what, struct bd_wire_writer *out);
size_t bd_graph_write_size(const braid_graph *g, int from, unsigned what);

#endif
