// The context of shape functions, and the shape functions that several ops share.
#ifndef BD_GRAPH_SHAPE_FN_H
#define BD_GRAPH_SHAPE_FN_H

#include "graph/graph.h"

typedef struct bd_shape_ctx {
    const braid_op *node; // attrs and input types are set
    int input_count, output_count;
    const braid_shape *inputs; // [input_count], unknown shapes where they could not be inferred
    braid_shape *outputs;      // [output_count], unknown at the start
} bd_shape_ctx;

// The value of an input that is a constant of the graph (or follows from constants and shapes); else NULL.
// Owned by the graph.
const braid_tensor *bd_shape_ctx_constant(bd_shape_ctx *c, int input);
// The same read as a shape: an int32/int64 vector whose elements are dimensions. Partly known values (a Shape
// of a partly known tensor, Pack, ConcatV2, StridedSlice of one) give -1 for unknown elements. Returns false
// when the value is unknown.
bool bd_shape_ctx_constant_shape(bd_shape_ctx *c, int input, braid_shape *out);

// For messages: InvalidArgument "Shape must be rank R but is rank N for 'NODE' (op: 'OP') with input shapes:
// [..], [..].".
braid_code bd_shape_ctx_fail(bd_shape_ctx *c, braid_status *st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Checks that input `i` has that rank if known.
braid_code bd_shape_ctx_rank(bd_shape_ctx *c, int i, int rank, braid_status *st);

// Gives output 0 the shape in vector input `i`, as far as it is known.
braid_code bd_shape_ctx_from_input(bd_shape_ctx *c, int i, braid_status *st);

braid_code bd_shape_fn_scalar(bd_shape_ctx *c, braid_status *st);    // every output is a scalar
braid_code bd_shape_fn_unchanged(bd_shape_ctx *c, braid_status *st); // output 0 like input 0
braid_code bd_shape_fn_merged(bd_shape_ctx *c, braid_status *st);    // all inputs and outputs alike
braid_code bd_shape_fn_broadcast(bd_shape_ctx *c, braid_status *st); // inputs 0 and 1 broadcast
braid_code bd_shape_fn_reduction(bd_shape_ctx *c, braid_status *st); // input 1 gives the axes; attr keep_dims
braid_code bd_shape_fn_from_attr(bd_shape_ctx *c, braid_status *st); // attr `shape`
braid_code bd_shape_fn_from_input0(bd_shape_ctx *c, braid_status *st); // input 0 is the shape of output 0
braid_code bd_shape_fn_none(bd_shape_ctx *c, braid_status *st);        // infers no shape

#endif
