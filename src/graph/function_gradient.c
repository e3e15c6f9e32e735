// The gradient of a function: its body, with the gradients of its nodes behind it.
#include "graph/function_internal.h"

#include "base/check.h"
#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/graph.h"
#include "graph/subgraph.h"
#include <string.h>

typedef struct differentiation {
    bd_function_body f;
    braid_graph *g;         // of f
    braid_out *args, *rets; // the outputs of _Arg nodes, the inputs of _Retval nodes
    braid_out *ys, *dys;    // the results of f that have gradients
    int y_count;
    bd_op_list roots; // of the gradient's body
    bd_function_body *out;
} differentiation;

static bool is_trainable(braid_dtype type)
{
    return type == BRAID_HALF || type == BRAID_BFLOAT16 || type == BRAID_FLOAT || type == BRAID_DOUBLE ||
           type == BRAID_COMPLEX64 || type == BRAID_COMPLEX128;
}

static void find_ends(differentiation *d)
{
    for (size_t i = 0; i < d->g->nodes.len; i++) {
        braid_op *n = d->g->nodes.items[i];
        bd_op_role role = bd_node_role(n);
        if (role == BD_ROLE_ARG) d->args[bd_node_attr_int(n, "index")] = (braid_out){.op = n};
        if (role == BD_ROLE_RETVAL)
            d->rets[bd_node_attr_int(n, "index")] = n->inputs[0];
        else if (role == BD_ROLE_ARG || bd_node_is_stateful(n))
            bd_array_push(&d->roots, n);
    }
}

static braid_op *add_end(braid_graph *g, const char *name, const char *op, braid_out input, braid_dtype type,
                         int index)
{
    braid_op_desc *desc = braid_op_begin(g, op, name);
    if (input.op) braid_op_input(desc, input);
    braid_op_attr_type(desc, "T", type);
    braid_op_attr_int(desc, "index", index);
    return braid_op_end(desc);
}

static void add_given_gradients(differentiation *d)
{
    for (int i = 0; i < d->f.ret_count; i++) {
        braid_op *arg = add_end(d->g, "dy", "_Arg", (braid_out){0}, d->f.ret_types[i], d->f.arg_count + i);
        if (!arg) return;
        bd_array_push(&d->roots, arg);
        if (!is_trainable(d->f.ret_types[i])) continue;
        d->ys[d->y_count] = d->rets[i];
        d->dys[d->y_count++] = (braid_out){.op = arg};
    }
}

static void add_results(differentiation *d, const braid_out *grads)
{
    for (int i = 0; i < d->f.arg_count && !d->g->status.code; i++) {
        braid_out dx = grads[i].op ? grads[i] : bd_b1(d->g, "ZerosLike", "dx", d->args[i]);
        braid_op *ret = add_end(d->g, "dx_RetVal", "_Retval", dx, d->f.arg_types[i], i);
        if (ret) bd_array_push(&d->roots, ret);
    }
}

static void take_types(differentiation *d)
{
    const bd_function_body *f = &d->f;
    bd_function_body *out = d->out;
    bd_arena *arena = &out->graph->arena;
    out->arg_count = f->arg_count + f->ret_count;
    out->ret_count = f->arg_count;
    out->ret_types = bd_arena_memdup(arena, f->arg_types, (size_t)f->arg_count * sizeof *f->arg_types);
    out->arg_types = BD_ARENA_ARRAY(arena, braid_dtype, (size_t)out->arg_count);
    for (int i = 0; i < out->arg_count; i++)
        out->arg_types[i] = i < f->arg_count ? f->arg_types[i] : f->ret_types[i - f->arg_count];
}

static braid_code copy_needed(differentiation *d, braid_status *st)
{
    braid_op **map = bd_calloc(d->g->nodes.len + 1, sizeof(braid_op *));
    const bd_subgraph_spec spec = {.roots = d->roots.items, .root_count = (int)d->roots.len};
    d->out->graph = braid_graph_new();
    braid_code code = bd_subgraph(d->g, &spec, d->out->graph, map, st);
    bd_free(map);
    take_types(d);
    return code;
}

static braid_code differentiate(differentiation *d, braid_status *st)
{
    bd_arena *arena = &d->g->arena;
    size_t args = (size_t)d->f.arg_count, rets = (size_t)d->f.ret_count;
    d->args = BD_ARENA_ARRAY(arena, braid_out, args);
    d->rets = BD_ARENA_ARRAY(arena, braid_out, rets);
    d->ys = BD_ARENA_ARRAY(arena, braid_out, rets);
    d->dys = BD_ARENA_ARRAY(arena, braid_out, rets);
    braid_out *grads = BD_ARENA_ARRAY(arena, braid_out, args);
    find_ends(d);
    add_given_gradients(d);
    braid_gradients(d->g, d->ys, d->y_count, d->args, d->f.arg_count, d->dys, grads);
    add_results(d, grads);
    if (braid_graph_status(d->g, st)) return st->code;
    return copy_needed(d, st);
}

// Makes a function whose only node is the op.
static braid_code instantiate_op(bd_library *l, const bd_op_def *def, const bd_func *f, bd_function_body *out,
                                 braid_status *st)
{
    bd_arena arena = {0};
    const char *node = "op"; // must not be the name of an argument
    for (int i = 0; i < def->input_count; i++) {
        if (strcmp(def->inputs[i].name, node) == 0) node = bd_arena_asprintf(&arena, "%s_", def->name);
    }
    bd_bytes *inputs = BD_ARENA_ARRAY(&arena, bd_bytes, (size_t)def->input_count);
    bd_function_ret *rets = BD_ARENA_ARRAY(&arena, bd_function_ret, (size_t)def->output_count);
    for (int i = 0; i < def->input_count; i++)
        inputs[i] = (bd_bytes){.data = def->inputs[i].name, .len = strlen(def->inputs[i].name)};
    for (int i = 0; i < def->output_count; i++) {
        rets[i] = (bd_function_ret){
            .name = def->outputs[i].name,
            .value = bd_arena_asprintf(&arena, "%s:%s", node, def->outputs[i].name),
        };
    }
    bd_function_node n = {.name = node,
                          .op = def->name,
                          .device = "",
                          .inputs = inputs,
                          .input_count = def->input_count,
                          .attrs = (bd_named_attr *)f->attrs,
                          .attr_count = f->attr_count};
    const bd_function wrapper = {.name = def->name,
                                 .def = *def,
                                 .nodes = &n,
                                 .node_count = 1,
                                 .rets = rets,
                                 .ret_count = def->output_count};
    braid_code code = bd_function_instantiate_as(l, &wrapper, f, out, st);
    bd_arena_fini(&arena);
    return code;
}

static braid_code differentiate_body(bd_library *l, const bd_func *f, bd_function_body *out, braid_status *st)
{
    differentiation d = {.out = out};
    const bd_op_def *op = bd_library_find(l, f->name) ? NULL : bd_op_lookup(f->name);
    if (op && !op->op->gradient)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "No gradient is defined for %s", f->name);
    braid_code code = op ? instantiate_op(l, op, f, &d.f, st) : bd_function_instantiate(l, f, &d.f, st);
    if (code) return code;
    d.g = d.f.graph;
    code = differentiate(&d, st);
    bd_array_free(&d.roots);
    bd_function_body_fini(&d.f);
    if (code) bd_function_body_fini(out);
    return code;
}

braid_code bd_function_gradient(bd_library *l, const bd_func *f, bd_function_body *out, braid_status *st)
{
    const char *gradient = bd_library_gradient(l, f->name);
    *out = (bd_function_body){0};
    if (!gradient) return differentiate_body(l, f, out, st);
    const bd_func g = {.name = gradient, .attrs = f->attrs, .attr_count = f->attr_count};
    return bd_function_instantiate(l, &g, out, st);
}

// ---- The gradient of a call ----

static void set_types(braid_op_desc *d, const char *name, const braid_out *items, int count)
{
    braid_dtype *types = bd_calloc((size_t)count + 1, sizeof *types);
    for (int i = 0; i < count; i++)
        types[i] = bd_dtype_base(braid_out_dtype(items[i]));
    braid_op_attr_type_list(d, name, types, count);
    bd_free(types);
}

void bd_grad_call(bd_grad_ctx *c, const bd_attr *f)
{
    braid_op *n = c->op;
    int count = n->input_count + n->output_count;
    braid_out *inputs = bd_calloc((size_t)count + 1, sizeof *inputs);
    for (int i = 0; i < n->input_count; i++)
        inputs[i] = n->inputs[i];
    for (int i = 0; i < n->output_count; i++) {
        braid_out dy = c->output_grads[i];
        inputs[n->input_count + i] =
            dy.op ? dy : bd_b1(c->graph, "ZerosLike", "zeros_like", braid_output(n, i));
    }
    braid_op_desc *d = braid_op_begin(c->graph, "SymbolicGradient", NULL);
    braid_op_input_list(d, inputs, count);
    set_types(d, "Tin", inputs, count);
    set_types(d, "Tout", inputs, n->input_count);
    bd_op_desc_attr(d, "f", f);
    braid_op *gradient = braid_op_end(d);
    for (int i = 0; gradient && i < n->input_count; i++) {
        if (is_trainable(bd_dtype_base(n->input_types[i]))) c->input_grads[i] = braid_output(gradient, i);
    }
    bd_free(inputs);
}

void bd_function_op_gradient(bd_grad_ctx *c)
{
    const bd_func f = bd_func_of_node(c->op, &c->graph->arena);
    const bd_attr func = {.kind = BD_ATTR_FUNC, .s = bd_func_bytes(&f, &c->graph->arena)};
    bd_grad_call(c, &func);
}
