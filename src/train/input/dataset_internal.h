// Declarations for building datasets, shared by the files of this module.
#ifndef BD_TRAIN_DATASET_INTERNAL_H
#define BD_TRAIN_DATASET_INTERNAL_H

#include <braid/dataset.h>

// Begins a node of a dataset; NULL when an input is missing, after making the graph fail.
braid_op_desc *train_dataset_begin(braid_graph *g, const char *op_type, const braid_dataset *inputs,
                                   int input_count);
// Ends the node as a dataset of elements with these components, which are copied to memory of the graph.
braid_dataset train_dataset_end(braid_graph *g, braid_op_desc *d, const braid_dtype *dtypes,
                                const braid_shape *shapes, int count);
// The same, with the attrs output_types and output_shapes (`types_attr` NULL: "output_types").
braid_dataset train_dataset_end_typed(braid_graph *g, braid_op_desc *d, const char *types_attr,
                                      const braid_dtype *dtypes, const braid_shape *shapes, int count);

#endif
