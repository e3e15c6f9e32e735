// What the kernels of tf.contrib.tensor_forest read from their nodes' attrs, and what their ops have in
// common.
#ifndef BD_OPS_TENSOR_FOREST_BINDING_H
#define BD_OPS_TENSOR_FOREST_BINDING_H

#include "graph/shape_fn.h"
#include "ops/tensor_forest/data.h"

// The state of kernels.
typedef struct bd_rf_binding {
    bd_rf_params params;
    bd_rf_spec spec; // of an op that takes examples
    int64_t seed;    // of ProcessInputV4
} bd_rf_binding;

// For bd_kernel: `create` reads attr params; bd_rf_bind_data also input_spec, and needs `destroy`.
braid_code bd_rf_bind(const braid_op *node, void *state, braid_status *st);
braid_code bd_rf_bind_data(const braid_op *node, void *state, braid_status *st);
void bd_rf_unbind(void *state);

// Reads the serialized message in input 1, a scalar that messages call `what`. False: the kernel has failed.
bool bd_rf_read_config(bd_op_ctx *c, const char *what, const bd_string **config);

// Shape functions. Outputs are scalars; the handle and what follows it are not checked, as in TensorFlow.
braid_code bd_rf_no_outputs_shape(bd_shape_ctx *c, braid_status *st);
braid_code bd_rf_vector_shape(bd_shape_ctx *c, braid_status *st);

#endif
