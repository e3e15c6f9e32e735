// The edges of nodes as front ends see and change them (braid/graph.h): ranges of arguments, consumers,
// inputs that are replaced.
#include "graph/builder.h"
#include "graph/graph_internal.h"
#include "graph/node_resolve.h"
#include "graph/turns.h"
#include "tensor/shape.h"
#include <string.h>

// ---- Inputs ----

int braid_op_num_controls(const braid_op *op)
{
    return op ? op->control_count : 0;
}

braid_op *braid_op_get_control(const braid_op *op, int index)
{
    return op && index >= 0 && index < op->control_count ? op->controls[index] : NULL;
}

static braid_code find_range(const braid_op *op, const char *arg, bool is_input, int *first, int *count,
                             braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!op || !arg) return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", op ? "argument" : "node");
    const bd_arg_def *args = !op->def ? NULL : is_input ? op->def->inputs : op->def->outputs;
    const int arg_count = !op->def ? 0 : is_input ? op->def->input_count : op->def->output_count;
    int from = 0;
    for (int i = 0; i < arg_count; i++) {
        const int length = bd_node_arg_length(op, &args[i]);
        if (strcmp(args[i].name, arg) == 0) {
            *first = from;
            *count = length;
            return BRAID_OK;
        }
        from += length;
    }
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node '%s' (op: '%s'): %s arg '%.100s' not found", op->name,
                   op->op_type, is_input ? "Input" : "Output", arg);
}

braid_code braid_op_input_range(const braid_op *op, const char *arg, int *first, int *count,
                                braid_status *status)
{
    return find_range(op, arg, true, first, count, status);
}

braid_code braid_op_output_range(const braid_op *op, const char *arg, int *first, int *count,
                                 braid_status *status)
{
    return find_range(op, arg, false, first, count, status);
}

// ---- Consumers ----

// The edges of a node are sorted by their consumers: by node, then by input, control inputs last.
static size_t place_of(const bd_edge_list *edges, const braid_op *n, int input)
{
    size_t low = 0, high = edges->len;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const bd_consumer *e = &edges->items[mid];
        const bool is_before =
            e->node->id != n->id ? e->node->id < n->id : (unsigned)e->input < (unsigned)input;
        if (is_before)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void extend(braid_graph *g)
{
    bd_edge_index *index = &bd_graph_builder(g)->edge_index;
    const size_t first = index->of_node.len;
    for (size_t i = first; i < g->nodes.len; i++)
        bd_array_push(&index->of_node, (bd_edge_list){0});
    for (size_t i = first; i < g->nodes.len; i++) {
        braid_op *n = g->nodes.items[i];
        for (int k = 0; k < n->input_count; k++)
            bd_array_push(&index->of_node.items[n->inputs[k].op->id],
                          (bd_consumer){.node = n, .input = k, .output = n->inputs[k].index});
        for (int k = 0; k < n->control_count; k++)
            bd_array_push(&index->of_node.items[n->controls[k]->id],
                          (bd_consumer){.node = n, .input = -1, .output = -1});
    }
}

// The list that an edge into `n` is in; NULL while the index does not have the edges into `n`.
static bd_edge_list *list_of(const braid_op *n, const braid_op *from)
{
    braid_graph *g = n->graph;
    if (!from || !g->builder || (size_t)n->id >= g->builder->edge_index.of_node.len ||
        g->nodes.items[n->id] != n)
        return NULL;
    if ((size_t)from->id >= g->builder->edge_index.of_node.len) extend(g);
    return &g->builder->edge_index.of_node.items[from->id];
}

void bd_edge_index_remove(const braid_op *n, int input, const braid_op *from)
{
    bd_edge_list *edges = list_of(n, from);
    const size_t at = edges ? place_of(edges, n, input) : 0;
    if (!edges || at == edges->len || edges->items[at].node != n || edges->items[at].input != input) return;
    memmove(&edges->items[at], &edges->items[at + 1], (edges->len - at - 1) * sizeof *edges->items);
    edges->len--;
}

void bd_edge_index_add(braid_op *n, int input, braid_out from)
{
    bd_edge_list *edges = list_of(n, from.op);
    if (!edges) return;
    const size_t at = place_of(edges, n, input);
    bd_array_reserve(edges, edges->len + 1);
    memmove(&edges->items[at + 1], &edges->items[at], (edges->len - at) * sizeof *edges->items);
    edges->items[at] = (bd_consumer){.node = n, .input = input, .output = from.index};
    edges->len++;
}

void bd_edge_index_free(bd_edge_index *index)
{
    for (size_t i = 0; i < index->of_node.len; i++)
        bd_array_free(&index->of_node.items[i]);
    bd_array_free(&index->of_node);
}

// The edges out of a node, of all nodes that the graph has by now.
static const bd_edge_list *edges_of(const braid_op *op)
{
    extend(op->graph);
    return &op->graph->builder->edge_index.of_node.items[op->id];
}

int braid_out_consumers(braid_out out, braid_in *consumers, int max)
{
    if (!out.op) return 0;
    const bd_edge_list *edges = edges_of(out.op);
    int count = 0;
    for (size_t i = 0; i < edges->len; i++) {
        const bd_consumer *e = &edges->items[i];
        if (e->input < 0 || e->output != out.index) continue;
        if (count < max) consumers[count] = (braid_in){.op = e->node, .index = e->input};
        count++;
    }
    return count;
}

int braid_op_control_outputs(const braid_op *op, braid_op **ops, int max)
{
    if (!op) return 0;
    const bd_edge_list *edges = edges_of(op);
    int count = 0;
    for (size_t i = 0; i < edges->len; i++) {
        if (edges->items[i].input >= 0) continue;
        if (count < max) ops[count] = edges->items[i].node;
        count++;
    }
    return count;
}

// ---- Changing ----

static braid_code fail(const braid_op *op, braid_status *st, const char *what)
{
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node '%s' (op: '%s'): %s", op->name, op->op_type, what);
}

static braid_code check_new_input(const braid_op *op, int index, braid_out from, braid_status *st)
{
    if (index < 0 || index >= op->input_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node '%s' (op: '%s'): it has %d inputs, and no input %d",
                       op->name, op->op_type, op->input_count, index);
    if (!from.op) return fail(op, st, "the new input is nothing");
    if (from.op->graph != op->graph) return fail(op, st, "the new input is of another graph");
    const braid_shape was = braid_out_shape(op->inputs[index]), is = braid_out_shape(from);
    braid_shape both;
    if (!bd_shape_merge(&was, &is, &both))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Cannot update edge, incompatible shapes: %s and %s. (Input %d of node '%s')",
                       bd_shape_str(&is, (char[BD_SHAPE_STR_MAX]){0}),
                       bd_shape_str(&was, (char[BD_SHAPE_STR_MAX]){0}), index, op->name);
    return BRAID_OK;
}

braid_code braid_op_set_input(braid_op *op, int index, braid_out from, braid_status *status)
{
    BD_GRAPH_TURN(op ? op->graph : NULL);
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no node");
    braid_code code = check_new_input(op, index, from, st);
    if (code) return code;
    const braid_out before = op->inputs[index];
    bd_node_set_input(op, index, from);
    code = bd_node_check_input(op, index, st);
    if (code) bd_node_set_input(op, index, before);
    return code;
}

static braid_code check_controls(const braid_op *op, braid_op *const *controls, int count, braid_status *st)
{
    if (!op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no node");
    if (count < 0 || (count > 0 && !controls)) return fail(op, st, "the control inputs are nothing");
    for (int i = 0; i < count; i++) {
        if (!controls[i]) return fail(op, st, "a control input is nothing");
        if (controls[i]->graph != op->graph) return fail(op, st, "a control input is of another graph");
        if (controls[i] == op) return fail(op, st, "it cannot wait for itself");
    }
    return BRAID_OK;
}

braid_code braid_op_add_control(braid_op *op, braid_op *control, braid_status *status)
{
    BD_GRAPH_TURN(op ? op->graph : NULL);
    BD_STATUS(own);
    const braid_code code = check_controls(op, &control, 1, status ? status : own);
    if (!code) bd_node_add_control(op, control);
    return code;
}

braid_code braid_op_set_controls(braid_op *op, braid_op *const *controls, int count, braid_status *status)
{
    BD_GRAPH_TURN(op ? op->graph : NULL);
    BD_STATUS(own);
    const braid_code code = check_controls(op, controls, count, status ? status : own);
    if (code) return code;
    for (int i = 0; i < op->control_count; i++)
        bd_edge_index_remove(op, -1, op->controls[i]);
    bd_node_set_controls(op, controls, count);
    for (int i = 0; i < op->control_count; i++)
        bd_edge_index_add(op, -1, (braid_out){.op = op->controls[i], .index = -1});
    return BRAID_OK;
}

braid_code braid_op_set_device(braid_op *op, const char *device, braid_status *status)
{
    BD_GRAPH_TURN(op ? op->graph : NULL);
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    bd_device_name name;
    char text[BD_DEVICE_NAME_MAX];
    if (!op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no node");
    const braid_code code = bd_device_name_parse(device, &name, st);
    if (code) return bd_status_prefix(st, "Node '%s' (op: '%s'): ", op->name, op->op_type);
    op->device = bd_arena_strdup(&op->graph->arena, bd_device_name_print(&name, text));
    return BRAID_OK;
}
