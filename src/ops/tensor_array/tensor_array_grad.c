// Gradients of the TensorArray ops. An array has one gradient array for each call of tf.gradients:
// TensorArrayGradV3 makes or finds it by the name scope of the call. The gradient of a read writes to it and
// the gradient of a write reads it, by ops of the same version as the array's.
#include "ops/tensor_array/tensor_array_ops.h"

#include "base/strbuf.h"
#include <string.h>

// The name scope of the call. Without one, as tensor_array_grad._GetGradSource: the name up to its last part
// that begins with "gradients", which is another one for some nodes of a gradient of gradients.
static char *grad_source(const bd_grad_ctx *c, braid_out grad)
{
    if (c->call) return bd_strdup(c->call);
    const char *name = grad.op->name, *end = NULL;
    for (const char *part = name; part; part = strchr(part, '/')) {
        if (*part == '/') part++;
        if (strncmp(part, "gradients", strlen("gradients")) == 0) end = part + strcspn(part, "/");
    }
    return end ? bd_strndup(name, (size_t)(end - name)) : bd_strdup(name);
}

// TensorArrayNAME of the version of the op: "", "V2" or "V3".
static const char *op_called(const bd_grad_ctx *c, const char *name)
{
    const char *type = c->op->op_type, *end = type + strlen(type) - 2;
    return bd_arena_asprintf(&c->graph->arena, "TensorArray%s%s", name, *end == 'V' ? end : "");
}

// The gradient array of the array in input 0, and its flow.
typedef struct grad_array {
    braid_out handle, flow;
} grad_array;

static grad_array begin(bd_grad_ctx *c, braid_out source_of, braid_out flow)
{
    braid_graph *g = c->graph;
    char *source = grad_source(c, source_of);
    braid_push_name_scope(g, "TensorArrayGrad");
    braid_push_colocate(g, c->op->inputs[0].op);
    braid_op_desc *d = braid_op_begin(g, op_called(c, "Grad"), NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_input(d, flow);
    braid_op_attr_string(d, "source", source);
    grad_array a = {.handle = braid_op_end_out(d)};
    d = braid_op_begin(g, "Identity", "gradient_flow");
    braid_op_input(d, flow);
    braid_op_control(d, a.handle.op);
    a.flow = braid_op_end_out(d);
    braid_pop_colocate(g);
    braid_pop_name_scope(g);
    bd_free(source);
    return a;
}

static braid_dtype dtype_of(const bd_grad_ctx *c)
{
    return bd_node_attr_type(c->op, bd_node_attr(c->op, "dtype") ? "dtype" : "T");
}

// A node that takes from the array: (handle, argument.., flow) -> value
static braid_out take(bd_grad_ctx *c, const char *op, const grad_array *a, const braid_out *argument)
{
    braid_op_desc *d = braid_op_begin(c->graph, op_called(c, op), NULL);
    braid_op_input(d, a->handle);
    if (argument) braid_op_input(d, *argument);
    braid_op_input(d, a->flow);
    braid_op_attr_type(d, "dtype", dtype_of(c));
    return braid_op_end_out(d);
}

// A node that puts into the array: (handle, x, y, flow) -> flow
static braid_out put(bd_grad_ctx *c, const char *op, const grad_array *a, braid_out x, braid_out y)
{
    braid_push_name_scope(c->graph, bd_arena_asprintf(&c->graph->arena, "TensorArray%s", op));
    braid_op_desc *d = braid_op_begin(c->graph, op_called(c, op), NULL);
    braid_op_input(d, a->handle);
    braid_op_input(d, x);
    braid_op_input(d, y);
    braid_op_input(d, a->flow);
    const braid_out flow = braid_op_end_out(d);
    braid_pop_name_scope(c->graph);
    return flow;
}

void bd_tensor_array_read_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->op->inputs[2]);
    c->input_grads[2] = put(c, "Write", &a, c->op->inputs[1], c->output_grads[0]);
}

void bd_tensor_array_write_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->output_grads[0]);
    c->input_grads[2] = take(c, "Read", &a, &c->op->inputs[1]);
    c->input_grads[3] = c->output_grads[0];
}

void bd_tensor_array_gather_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->op->inputs[2]);
    c->input_grads[2] = put(c, "Scatter", &a, c->op->inputs[1], c->output_grads[0]);
}

void bd_tensor_array_scatter_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->output_grads[0]);
    c->input_grads[2] = take(c, "Gather", &a, &c->op->inputs[1]);
    c->input_grads[3] = c->output_grads[0];
}

void bd_tensor_array_concat_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->op->inputs[1]);
    c->input_grads[1] = put(c, "Split", &a, c->output_grads[0], braid_output(c->op, 1));
}

void bd_tensor_array_split_gradient(bd_grad_ctx *c)
{
    grad_array a = begin(c, c->output_grads[0], c->output_grads[0]);
    c->input_grads[1] = take(c, "Concat", &a, NULL);
    c->input_grads[3] = c->output_grads[0];
}
