// Shared by ops that call functions.
#ifndef BD_OPS_CONTROL_FLOW_FUNCTION_OPS_H
#define BD_OPS_CONTROL_FLOW_FUNCTION_OPS_H

#include "base/alloc.h"
#include "base/check.h"
#include "graph/device_name.h"
#include "graph/shape_fn.h"
#include "op/function.h"
#include "op/kernel.h"

// Calls `f` with inputs [from, input_count). Its results become the node's outputs, then the node is done.
// For the `start` of kernels.
void bd_function_call_with_inputs(bd_op_ctx *c, const bd_func_ref *f, bd_callee_kind kind, int from);

// Makes the results of a function the node's outputs, or its error the node's; values are moved out of
// `rets`.
void bd_function_outputs(bd_op_ctx *c, braid_tensor *rets, int count, const braid_status *st);

// Whether a condition holds: a scalar that is not 0, false or "", or a tensor of another rank with elements.
// InvalidArgument for types that have no truth.
braid_code bd_truth(const braid_tensor *t, bool *truth, braid_status *st);

// Sets the outputs' shapes from attr output_shapes; `*given` is whether the node has it.
braid_code bd_shapes_from_output_shapes(bd_shape_ctx *c, bool *given, braid_status *st);

#endif
