// State that only building needs: used names, stacks of scopes, collections. Behind the public functions of
// braid/graph.h.
#ifndef BD_GRAPH_BUILDER_H
#define BD_GRAPH_BUILDER_H

#include "base/array.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "graph/device_name.h"
#include "graph/graph.h"

typedef struct bd_device_scope {
    bool clears; // outer scopes do not count
    bd_device_name device;
    braid_device_fn fn; // in place of `device`; NULL
    void *arg;
} bd_device_scope;

typedef struct bd_id_range {
    int from, to;
} bd_id_range;

// New nodes depend on `ops`, unless they take an input that was made within this scope and so depends on them
// already.
typedef struct bd_control_scope {
    bool clears;    // outer scopes do not count
    braid_op **ops; // in the graph's arena
    int count;
    int first_id;               // nodes from here on were made within the scope,
    BD_ARRAY(bd_id_range) gaps; // but for these: made within a scope that clears, or imported
} bd_control_scope;

typedef struct bd_colocate_scope {
    braid_op *op;       // or
    const char *name;   // of a node that may not be there yet; in the graph's arena
    bool clears;        // outer colocation scopes do not count
    size_t device_base; // device scopes below this depth do not count
} bd_colocate_scope;
typedef BD_ARRAY(bd_colocate_scope) bd_colocate_scopes;

typedef struct bd_collection {
    BD_ARRAY(braid_out) items;
    BD_ARRAY(void *) objects;
} bd_collection;

// The edges out of nodes, for braid_out_consumers: filled by the first question and kept up as the graph
// grows.
typedef BD_ARRAY(bd_consumer) bd_edge_list;
typedef struct bd_edge_index {
    BD_ARRAY(bd_edge_list) of_node; // by id: of the nodes that were there at the last question
} bd_edge_index;

typedef struct bd_owned {
    void *what;
    void (*release)(void *what);
} bd_owned;

typedef struct bd_builder {
    bd_map names;                       // names and scopes in use -> the number to try next
    BD_ARRAY(const char *) name_scopes; // with '/', "" for the outermost; in the graph's arena
    BD_ARRAY(bd_device_scope) devices;
    BD_ARRAY(bd_control_scope) controls;
    bd_colocate_scopes colocations;
    bd_map collections;       // -> bd_collection, owned
    BD_ARRAY(bd_owned) owned; // released in reverse order, before the graph's own content
    bool has_seed;
    int64_t seed;
    struct braid_op_desc *descs; // begun and not ended; owned
    const char *file;            // that nodes were last built in, in the graph's arena; NULL
    struct bd_region *region;    // the region of new nodes (region.h); NULL; not owned
    struct bd_body *body;        // of a function, when the graph is one (function_build.c); NULL
    bd_edge_index edge_index;
    int function_count; // functions built for this graph and the bodies in it
    bd_map firsts;      // keys that bd_builder_is_first was asked for
} bd_builder;

void bd_edge_index_free(bd_edge_index *index);
// Notes that an input of a node (-1: a control input) no longer is (is now) that output of `from`.
void bd_edge_index_remove(const braid_op *n, int input, const braid_op *from);
void bd_edge_index_add(braid_op *n, int input, braid_out from);

// Makes the graph fail (InvalidArgument) with a message about the node to be.
void bd_op_desc_fail(braid_op_desc *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Sets an attr of any kind; the value is copied.
void bd_op_desc_attr(braid_op_desc *d, const char *name, const bd_attr *value);

void bd_op_descs_free(bd_builder *b); // those that were never ended

bd_builder *bd_graph_builder(braid_graph *g); // made at the first call
void bd_builder_free(bd_builder *b);          // NULL is accepted

// The full name for `name` within the current name scope, marked as used: tf.Graph.unique_name. In the
// graph's arena.
const char *bd_builder_unique_name(braid_graph *g, const char *name);

// Appends the control inputs that scopes give a node with these data inputs.
void bd_builder_controls(const braid_graph *g, const braid_out *inputs, int input_count,
                         bd_op_list *controls);

// Returns the device of `n`, which is complete otherwise, from the request (NULL: none), the device scopes
// and the devices of `colocated`. `is_bound`: the node itself is colocated, not a scope, so device scopes do
// not apply. In the graph's arena. On an error the graph fails and the device is "".
const char *bd_builder_device(braid_graph *g, const braid_op *n, const char *asked,
                              const bd_op_list *colocated, bool is_bound);

// Whether this is the first call for `key` in the graph: of nodes that TensorFlow's gradients add to a graph
// only once.
bool bd_builder_is_first(braid_graph *g, const char *key);

// braid_push_colocate, for which outer colocation scopes do not count (ignore_existing).
void bd_builder_push_colocate_only(braid_graph *g, braid_op *op);

// Records that nodes [from, to) were added to the graph without the scopes.
void bd_builder_note_foreign(braid_graph *g, int from, int to);

// Makes the graph fail with a copy of `st`, unless it has failed.
void bd_graph_fail_status(braid_graph *g, const braid_status *st);

#endif
