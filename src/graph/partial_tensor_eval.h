// Evaluates integer tensors partially, element by element, from the constants and shapes of a graph. For
// shape functions.
#ifndef BD_GRAPH_PARTIAL_TENSOR_EVAL_H
#define BD_GRAPH_PARTIAL_TENSOR_EVAL_H

#include "graph/graph.h"

#define BD_PARTIAL_TENSOR_MAX 32 // shapes are shorter; longer tensors are not looked into

// A scalar or vector whose elements may be unknown.
typedef struct bd_partial_tensor {
    int rank; // 0 or 1
    int count;
    int64_t v[BD_PARTIAL_TENSOR_MAX];
    bool known[BD_PARTIAL_TENSOR_MAX];
} bd_partial_tensor;

// False when no element is known, or `from` is not a small scalar or vector of int32 or int64.
bool bd_partial_tensor_eval(braid_out from, bd_partial_tensor *out);
// Reads all elements of `t`. Returns false when it is not a small scalar or vector of int32 or int64.
bool bd_partial_tensor_read(const braid_tensor *t, bd_partial_tensor *out);

#endif
