// Runs constant subgraphs while the graph is built. It first checks that all inputs come from constants, so
// that no kernel runs in vain.
#include "graph/subgraph_eval.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/evaluate.h"
#include "graph/rewrite.h"
#include "tensor/buffer.h"

#include <string.h>

#define DEPTH_MAX 64         // nodes behind one another
#define VISITS_MAX 256       // nodes looked at, and kernels run, for one question
#define BYTES_MAX (64 << 10) // the values that determine shapes are small
// How long the kernels of one question may compute. Values that determine shapes take microseconds; what lies
// between them may be as large as a graph says.
#define NS_MAX INT64_C(100000000)
#define BUFFER_BYTES_MAX (1 << 20) // of a kernel whose outputs' shapes are not known before

typedef struct runner {
    int visits, depth;
} runner;

static const braid_tensor *constant_of(const braid_op *n)
{
    const bd_attr *value = bd_node_role(n) == BD_ROLE_CONST ? bd_node_attr(n, "value") : NULL;
    return value && value->kind == BD_ATTR_TENSOR ? value->tensor : NULL;
}

static bool is_small(braid_dtype type, const braid_shape *shape)
{
    size_t element = braid_dtype_size(type);
    int64_t count;
    BD_STATUS(st);
    if (!bd_shape_is_known(shape)) return true; // of inputs that are small themselves
    if (bd_shape_checked_count(shape, &count, st)) return false;
    return count <= (int64_t)(BYTES_MAX / (element ? element : sizeof(bd_string)));
}

// The shape of input `i`, if it determines the node's result; Rank does not need the sizes.
static bool seen_shape(const braid_op *n, int i, braid_shape *shape)
{
    *shape = braid_out_shape(n->inputs[i]);
    for (int d = 0; d < shape->rank && strcmp(n->op_type, "Rank") == 0; d++)
        shape->dims[d] = bd_max(shape->dims[d], 0);
    return bd_shape_is_known(shape);
}

static bool is_constant(runner *r, const braid_op *n)
{
    if (!n || !n->def || r->depth == DEPTH_MAX || r->visits++ >= VISITS_MAX) return false;
    const braid_tensor *constant = constant_of(n);
    if (constant) return is_small(constant->dtype, &constant->shape);
    bool by_shape = bd_node_role(n) == BD_ROLE_METADATA;
    if (n->input_count == 0) return false;
    for (int i = 0; i < n->input_count; i++) {
        if (!n->inputs[i].op) return false;
    }
    if (!by_shape && (bd_node_has_flag(n, BD_OP_MAY_BE_FED) || !bd_rewriter_is_pure(n))) return false;
    for (int i = 0; i < n->output_count; i++) {
        if (!is_small(n->output_types[i], &n->output_shapes[i])) return false;
    }
    bool ok = true;
    r->depth++;
    for (int i = 0; i < n->input_count && ok; i++) {
        braid_shape shape;
        ok = by_shape ? seen_shape(n, i, &shape) : is_constant(r, n->inputs[i].op);
    }
    r->depth--;
    return ok;
}

static bool run(runner *r, braid_out from, braid_tensor *out);

static bool take_inputs(runner *r, const braid_op *n, braid_tensor *inputs)
{
    for (int i = 0; i < n->input_count; i++) {
        if (bd_node_role(n) == BD_ROLE_METADATA) {
            inputs[i] = (braid_tensor){.dtype = n->input_types[i]};
            if (!seen_shape(n, i, &inputs[i].shape)) return false;
        } else if (!run(r, n->inputs[i], &inputs[i])) {
            return false;
        }
    }
    return true;
}

static bool run(runner *r, braid_out from, braid_tensor *out)
{
    const braid_op *n = from.op;
    const braid_tensor *constant = constant_of(n);
    if (constant) {
        bd_tensor_ref(out, constant);
        return true;
    }
    if (r->visits++ >= VISITS_MAX) return false;
    int count = n->input_count + n->output_count;
    braid_tensor *inputs = bd_calloc((size_t)count, sizeof *inputs), *outputs = inputs + n->input_count;
    BD_STATUS(st);
    bool ok = take_inputs(r, n, inputs) && bd_evaluate_node(n, inputs, outputs, st) == BRAID_OK &&
              is_small(outputs[from.index].dtype, &outputs[from.index].shape);
    if (ok) bd_tensor_move(out, &outputs[from.index]);
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&inputs[i]);
    bd_free(inputs);
    return ok;
}

bool bd_subgraph_eval(braid_out from, braid_tensor *out)
{
    runner r = {0};
    if (!is_constant(&r, from.op)) return false;
    r = (runner){0};
    // What is seen does not depend on the step on whose thread this may be.
    const bd_interruption before = bd_interrupt_after(NS_MAX);
    const size_t size_max = bd_buffer_set_size_max(BUFFER_BYTES_MAX);
    const bool is_known = run(&r, from, out);
    bd_buffer_set_size_max(size_max);
    bd_interrupt_restore(before);
    return is_known;
}
