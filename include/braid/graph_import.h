// Importing a GraphDef into a part of a graph: under a prefix, with some of its inputs replaced by outputs
// that the graph has (tf.import_graph_def). Without these, braid_graph_import of graph.h is enough.
#ifndef BRAID_GRAPH_IMPORT_H
#define BRAID_GRAPH_IMPORT_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Inputs called `name` in the GraphDef ("x", "x:1", or "^x" for a control input) become `out` of the graph.
/// Of a control input only its op counts.
typedef struct braid_import_mapping {
    const char *name;
    braid_out out;
} braid_import_mapping;

/// Options of an import. All zero: names stay, and inputs are nodes of the GraphDef.
typedef struct braid_import_options {
    const char *prefix;   ///< names become "PREFIX/NAME"; NULL or "": none. A '/' at its end is not doubled
    bool uniquify_prefix; ///< a prefix that begins names of the graph gets a number; false: it stays
    bool uniquify_names;  ///< names that the graph has get a number; false: they are an error
    const char *default_device;            ///< of nodes that request none; NULL: none
    const braid_import_mapping *input_map; ///< [input_map_count]
    int input_map_count;
    /// [control_count] nodes of the graph that the new nodes wait for, unless they take an input from another
    /// new node
    braid_op *const *controls;
    int control_count;
    const char *const
        *return_outputs; ///< [return_output_count] "x" or "x:1" of the GraphDef or the input map
    int return_output_count;
    const char *const *return_ops; ///< [return_op_count] names in the GraphDef
    int return_op_count;
} braid_import_options;

/// What became of it: memory of the caller. Members may be NULL.
typedef struct braid_import_results {
    braid_out *outputs; ///< [return_output_count]
    braid_op **ops;     ///< [return_op_count]
    /// [input_map_count] whether no input has that name, and the GraphDef has no such output or node
    bool *unknown;
} braid_import_results;

/// Adds the nodes of a serialized GraphDef and the functions of its library, all or none, and stores
/// `results` (may be NULL). Names in colocation groups are changed with those of their nodes.
/// InvalidArgument, with nothing changed: errors of braid_graph_import, a name that is not in the GraphDef,
/// an op or output of another graph.
BRAID_API braid_code braid_graph_import_with(braid_graph *graph, const void *data, size_t len,
                                             const braid_import_options *options,
                                             const braid_import_results *results, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
