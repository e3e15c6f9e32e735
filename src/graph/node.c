// Reads nodes, and changes nodes of a graph that is not published.
#include "graph/graph.h"

#include "base/check.h"
#include "graph/builder.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"
#include "tensor/shape.h"
#include <string.h>

// ---- Attributes ----

bd_attr *bd_node_attr_slot(braid_op *n, const char *name)
{
    int low = 0, high = n->attr_count;
    while (low < high) {
        int mid = (low + high) / 2;
        int order = strcmp(name, n->attrs[mid].name);
        if (order == 0) return &n->attrs[mid].value;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const bd_attr *bd_node_attr(const braid_op *n, const char *name)
{
    return bd_node_attr_slot((braid_op *)n, name);
}

bool bd_node_attr_is_default(const braid_op *n, const bd_attr *attr)
{
    for (int i = 0; i < n->attr_count; i++) {
        if (&n->attrs[i].value == attr) return n->attrs[i].is_default;
    }
    return false;
}

static const bd_attr *need_attr(const braid_op *n, const char *name, bd_attr_kind kind)
{
    const bd_attr *attr = bd_node_attr(n, name);
    BD_ASSERT(attr && attr->kind == kind);
    return attr;
}

braid_dtype bd_node_attr_type(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_TYPE)->type;
}

int64_t bd_node_attr_int(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_INT)->i;
}

float bd_node_attr_float(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_FLOAT)->f;
}

bool bd_node_attr_bool(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_BOOL)->b;
}

const char *bd_node_attr_string(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_STRING)->s.data;
}

const braid_tensor *bd_node_attr_tensor(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_TENSOR)->tensor;
}

braid_shape bd_node_attr_shape(const braid_op *n, const char *name)
{
    return need_attr(n, name, BD_ATTR_SHAPE)->shape;
}

// ---- Changing ----

void bd_node_set_input(braid_op *n, int index, braid_out to)
{
    BD_ASSERT(index >= 0 && index < n->input_count && to.op && to.op->graph == n->graph);
    bd_edge_index_remove(n, index, n->inputs[index].op);
    n->inputs[index] = to;
    bd_edge_index_add(n, index, to);
}

void bd_node_add_control(braid_op *n, braid_op *control)
{
    BD_ASSERT(control->graph == n->graph);
    for (int i = 0; i < n->control_count; i++) {
        if (n->controls[i] == control) return;
    }
    // The array has room up to the next power of two (bd_node_set_controls too): it is moved when it is full.
    int count = n->control_count;
    if ((count & (count - 1)) == 0) {
        braid_op **controls = BD_ARENA_ARRAY(&n->graph->arena, braid_op *, count ? 2 * (size_t)count : 1);
        if (count) memcpy(controls, n->controls, (size_t)count * sizeof *controls);
        n->controls = controls;
    }
    n->controls[n->control_count++] = control;
    bd_edge_index_add(n, -1, (braid_out){.op = control, .index = -1});
}

// ---- The public view ----

const char *braid_op_name(const braid_op *op)
{
    return op ? op->name : "";
}

int braid_op_index(const braid_op *op)
{
    return op ? op->id : -1;
}

const char *braid_op_type(const braid_op *op)
{
    return op ? op->op_type : "";
}

const char *braid_op_requested_device(const braid_op *op)
{
    return op ? op->device : "";
}

int braid_op_num_inputs(const braid_op *op)
{
    return op ? op->input_count : 0;
}

braid_out braid_op_get_input(const braid_op *op, int index)
{
    return op && index >= 0 && index < op->input_count ? op->inputs[index] : (braid_out){0};
}

int braid_op_num_outputs(const braid_op *op)
{
    return op ? op->output_count : 0;
}

braid_graph *braid_op_graph(const braid_op *op)
{
    return op ? op->graph : NULL;
}

braid_out braid_output(braid_op *op, int index)
{
    return op ? (braid_out){.op = op, .index = index} : (braid_out){0};
}

braid_dtype braid_out_dtype(braid_out out)
{
    return out.op && out.index >= 0 && out.index < out.op->output_count ? out.op->output_types[out.index]
                                                                        : BRAID_INVALID;
}

braid_shape braid_out_shape(braid_out out)
{
    return out.op && out.index >= 0 && out.index < out.op->output_count ? out.op->output_shapes[out.index]
                                                                        : BD_SHAPE_UNKNOWN;
}

void braid_set_shape(braid_out out, braid_shape shape)
{
    if (!out.op || out.index < 0 || out.index >= out.op->output_count) return;
    BD_GRAPH_TURN(out.op->graph);
    const braid_shape *known = &out.op->output_shapes[out.index];
    braid_shape merged;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    const bool is_shape = bd_shape_can_be(&shape);
    if (is_shape && bd_shape_merge(known, &shape, &merged))
        bd_node_refine_shape(out.op, out.index, &merged);
    else
        braid_graph_fail(out.op->graph, BRAID_INVALID_ARGUMENT, "Output %d of '%s' has shape %s, not %s",
                         out.index, out.op->name, bd_shape_str(known, a),
                         is_shape ? bd_shape_str(&shape, b) : "one whose rank or a dimension cannot be");
}
