// GraphDef import as its two halves share it (the message parsed, the nodes made), and the numbers of the
// message's fields.
#ifndef BD_GRAPH_GRAPH_DEF_INTERNAL_H
#define BD_GRAPH_GRAPH_DEF_INTERNAL_H

#include "base/wire.h"
#include "graph/graph.h"

// ---- Fields ----

enum {
    BD_GRAPH_DEF_NODE = 1,
    BD_GRAPH_DEF_LIBRARY = 2,
    BD_GRAPH_DEF_VERSION = 3,
    BD_GRAPH_DEF_VERSIONS = 4
};
enum {
    BD_NODE_DEF_NAME = 1,
    BD_NODE_DEF_OP = 2,
    BD_NODE_DEF_INPUT = 3,
    BD_NODE_DEF_DEVICE = 4,
    BD_NODE_DEF_ATTR = 5
};
enum {
    BD_VERSION_DEF_PRODUCER = 1,
    BD_VERSION_DEF_MIN_CONSUMER = 2,
    BD_VERSION_DEF_BAD_CONSUMERS = 3
};
enum {
    BD_MAP_ENTRY_KEY = 1,
    BD_MAP_ENTRY_VALUE = 2
};

// ---- Import ----

// An input as it was written: a new node of this import (by number) or one that the graph has.
typedef struct bd_input_ref {
    int new_node; // -1: `old`
    braid_op *old;
    int index; // -1: a control input
    bool is_back_edge;
} bd_input_ref;

// A node of the message. The last three fields are filled when the nodes are made.
typedef struct bd_parsed_node {
    const char *name, *op, *device; // in the import's arena
    BD_ARRAY(bd_bytes) inputs;
    BD_ARRAY(bd_named_attr) attrs;
    bd_input_ref *refs; // [inputs.len], in the import's arena
    int pending;        // new nodes it waits for
    braid_op *node;     // set when it is made
} bd_parsed_node;

typedef struct bd_import {
    braid_graph *g;   // not owned
    braid_status *st; // not owned
    bd_arena arena;
    bd_attr_tensors tensors; // of parsed attrs, one reference each
    BD_ARRAY(bd_parsed_node) nodes;
    BD_ARRAY(bd_bytes) libraries; // in the import's arena
    bd_map by_name;               // -> number of a new node + 1
    int producer, min_consumer;
    struct bd_import_with *with; // options (graph_def_options.c); NULL: none
    int unknown_attrs;           // attrs that definitions do not have
    const char *unknown_attr, *unknown_attr_node;
} bd_import;

// Parses a GraphDef to `im`, of which g and st are set. Checks its version and the names of its nodes, which
// must be new to the graph. On an error the nodes parsed so far remain in `im`.
braid_code bd_import_parse(bd_import *im, bd_wire_reader *in);
// Parses one NodeDef to `n`, with each attr once; the caller frees its arrays, also after an error.
braid_code bd_import_parse_node(bd_import *im, bd_wire_reader *in, bd_parsed_node *n);

// Splits "name:3" into the length of the name and 3; a name without a number is output 0. False: malformed.
bool bd_import_split_input(const bd_bytes *text, size_t *name_len, int *index);

// Parses a GraphDef and adds its nodes and functions, all or none.
braid_code bd_import_run(bd_import *im, bd_wire_reader *in);

// ---- Import with options: `im->with` is set ----

// Gives parsed nodes their names and devices in the graph. InvalidArgument.
braid_code bd_import_rename(bd_import *im);
// Sets `ref`, whose index is set (-1: a control input), to what the input map has for it. False: nothing.
bool bd_import_map_input(bd_import *im, const char *name, size_t len, bd_input_ref *ref);
// Appends the nodes of the graph that a new node waits for.
void bd_import_push_controls(const bd_import *im, const bd_parsed_node *n, bd_op_list *controls);
// Stores the results once the nodes are made. InvalidArgument: a name that is not there.
braid_code bd_import_find_results(bd_import *im);

// Makes the parsed nodes and adds all or none of them to `im->g`.
braid_code bd_import_make(bd_import *im);
void bd_import_fini(bd_import *im);

// ---- Export ----

void bd_node_def_put_attr(bd_wire_writer *out, const bd_named_attr *attr); // as a field of NodeDef

#endif
