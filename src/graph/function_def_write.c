// FunctionDef export: nodes whose inputs are written as functions write them ("arg", "node:output:0").
#include "graph/function_def_write.h"

#include "base/alloc.h"
#include "graph/given.h"
#include "graph/graph_def_internal.h"
#include "graph/op_def_fields.h"
#include <string.h>

static void put_text(bd_wire_writer *w, uint32_t field, const char *text)
{
    bd_wire_put_bytes(w, field, text, strlen(text));
}

// Returns the number of the argument that an output stands for; -1: it stands for none.
static int arg_of(const bd_built_function *f, braid_out out)
{
    for (int i = 0; i < f->arg_count; i++) {
        if (f->args[i].op == out.op && f->args[i].index == out.index) return i;
    }
    return -1;
}

static const char *arg_name(const bd_built_function *f, int arg)
{
    return f->arg_names ? f->arg_names[arg] : f->args[arg].op->name;
}

// NULL: the node is not in the function.
static const char *node_name(const bd_built_function *f, const braid_op *n)
{
    if (f->node_names) return f->node_names[n->id];
    return n->output_count > 0 && arg_of(f, (braid_out){.op = (braid_op *)n}) >= 0 ? NULL : n->name;
}

// What a control input is called: a node of the function, or the argument that the node stands for.
static const char *control_name(const bd_built_function *f, const braid_op *n)
{
    const char *name = node_name(f, n);
    return name ? name : arg_name(f, arg_of(f, (braid_out){.op = (braid_op *)n}));
}

// Returns how many outputs of `n` belong to an argument of its definition.
static int length_of(const braid_op *n, const bd_arg_def *arg)
{
    if (arg->number_attr) return (int)bd_node_attr_int(n, arg->number_attr);
    return arg->type_list_attr ? bd_node_attr(n, arg->type_list_attr)->list.count : 1;
}

static const char *edge_text(const bd_built_function *f, braid_out from, bd_arena *arena)
{
    const braid_op *n = from.op;
    const int arg = arg_of(f, from);
    if (arg >= 0) return arg_name(f, arg);
    int first = 0, i = 0;
    for (; i < n->def->output_count - 1; i++) {
        const int length = length_of(n, &n->def->outputs[i]);
        if (from.index < first + length) break;
        first += length;
    }
    return bd_arena_asprintf(arena, "%s:%s:%d", node_name(f, n), n->def->outputs[i].name, from.index - first);
}

static void put_node(const bd_built_function *f, const braid_op *n, bd_arena *arena, bd_wire_writer *out)
{
    bd_given node;
    bd_wire_writer *w = bd_given_begin(&node);
    put_text(w, BD_NODE_DEF_NAME, node_name(f, n));
    put_text(w, BD_NODE_DEF_OP, n->op_type);
    for (int i = 0; i < n->input_count; i++)
        put_text(w, BD_NODE_DEF_INPUT, edge_text(f, n->inputs[i], arena));
    for (int i = 0; i < n->control_count; i++)
        put_text(w, BD_NODE_DEF_INPUT, bd_arena_asprintf(arena, "^%s", control_name(f, n->controls[i])));
    if (*n->device) put_text(w, BD_NODE_DEF_DEVICE, n->device);
    for (int i = 0; i < n->attr_count; i++) {
        if (!n->attrs[i].is_default) bd_node_def_put_attr(w, &n->attrs[i]);
    }
    bd_given_put(&node, out, FUNCTION_NODE_DEF);
}

static void put_arg(bd_wire_writer *out, uint32_t field, const char *name, braid_dtype dtype)
{
    bd_given arg;
    bd_wire_writer *w = bd_given_begin(&arg);
    put_text(w, ARG_NAME, name);
    bd_wire_put_uint(w, ARG_TYPE, (uint64_t)bd_dtype_base(dtype));
    bd_given_put(&arg, out, field);
}

static const char *result_name(const bd_built_function *f, int index, bd_arena *arena)
{
    return f->result_names ? f->result_names[index] : bd_arena_asprintf(arena, "result_%d", index);
}

static void put_signature(const bd_built_function *f, bd_arena *arena, bd_wire_writer *out)
{
    bd_given signature;
    bd_wire_writer *w = bd_given_begin(&signature);
    put_text(w, OP_DEF_NAME, f->name);
    for (int i = 0; i < f->arg_count; i++)
        put_arg(w, OP_DEF_INPUT_ARG, arg_name(f, i), braid_out_dtype(f->args[i]));
    for (int i = 0; i < f->result_count; i++)
        put_arg(w, OP_DEF_OUTPUT_ARG, result_name(f, i, arena), braid_out_dtype(f->results[i]));
    if (f->description && *f->description) put_text(w, OP_DEF_DESCRIPTION, f->description);
    if (f->is_stateful) bd_wire_put_uint(w, OP_DEF_IS_STATEFUL, 1);
    bd_given_put(&signature, out, FUNCTION_SIGNATURE);
}

static void put_result(const bd_built_function *f, int index, bd_arena *arena, bd_wire_writer *out)
{
    bd_given ret;
    bd_wire_writer *w = bd_given_begin(&ret);
    put_text(w, BD_MAP_ENTRY_KEY, result_name(f, index, arena));
    put_text(w, BD_MAP_ENTRY_VALUE, edge_text(f, f->results[index], arena));
    bd_given_put(&ret, out, FUNCTION_RET);
}

void bd_function_def_put(const bd_built_function *f, bd_wire_writer *out)
{
    bd_arena arena = {0};
    put_signature(f, &arena, out);
    for (size_t i = 0; i < f->body->nodes.len; i++) {
        const braid_op *n = f->body->nodes.items[i];
        if (node_name(f, n)) put_node(f, n, &arena, out);
    }
    for (int i = 0; i < f->result_count; i++)
        put_result(f, i, &arena, out);
    bd_arena_fini(&arena);
}

void bd_function_def_write(const bd_built_function *f, bd_bytes *out)
{
    bd_given library, function;
    bd_wire_writer *w = bd_given_begin(&library);
    bd_function_def_put(f, bd_given_begin(&function));
    bd_given_put(&function, w, LIBRARY_FUNCTION);
    bd_wire_writer_finish(w);
    char *data = bd_malloc(library.message.bytes + 1);
    bd_message_gather(&library.message, data);
    *out = (bd_bytes){.data = data, .len = library.message.bytes};
    bd_message_fini(&library.message);
}
