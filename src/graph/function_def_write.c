// FunctionDef export: nodes whose inputs are written as functions write them ("arg", "node:output:0").
#include "graph/function_def_write.h"

#include "base/alloc.h"
#include "base/wire.h"
#include "graph/graph_def_internal.h"
#include <string.h>

enum {
    LIBRARY_FUNCTION = 1,
    FUNCTION_SIGNATURE = 1,
    FUNCTION_NODE_DEF = 3,
    FUNCTION_RET = 4,
    OP_DEF_NAME = 1,
    OP_DEF_INPUT_ARG = 2,
    OP_DEF_OUTPUT_ARG = 3,
    OP_DEF_IS_STATEFUL = 17,
    ARG_NAME = 1,
    ARG_TYPE = 3,
};

// A message within a message: begun here, ended by `end`.
typedef struct nested {
    bd_message message;
    bd_wire_writer w;
} nested;

static bd_wire_writer *begin(nested *n)
{
    bd_message_init(&n->message);
    bd_wire_writer_init(&n->w, &n->message);
    return &n->w;
}

static void end(nested *n, bd_wire_writer *outer, uint32_t field)
{
    bd_wire_writer_finish(&n->w);
    bd_wire_put_message(outer, field, &n->message);
    bd_message_fini(&n->message);
}

static void put_text(bd_wire_writer *w, uint32_t field, const char *text)
{
    bd_wire_put_bytes(w, field, text, strlen(text));
}

static bool is_arg(const bd_built_function *f, const braid_op *n)
{
    for (int i = 0; i < f->arg_count; i++) {
        if (f->args[i] == n) return true;
    }
    return false;
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
    if (is_arg(f, n)) return n->name;
    int first = 0, i = 0;
    for (; i < n->def->output_count - 1; i++) {
        const int length = length_of(n, &n->def->outputs[i]);
        if (from.index < first + length) break;
        first += length;
    }
    return bd_arena_asprintf(arena, "%s:%s:%d", n->name, n->def->outputs[i].name, from.index - first);
}

static void put_node(const bd_built_function *f, const braid_op *n, bd_arena *arena, bd_wire_writer *out)
{
    nested node;
    bd_wire_writer *w = begin(&node);
    put_text(w, BD_NODE_DEF_NAME, n->name);
    put_text(w, BD_NODE_DEF_OP, n->op_type);
    for (int i = 0; i < n->input_count; i++)
        put_text(w, BD_NODE_DEF_INPUT, edge_text(f, n->inputs[i], arena));
    for (int i = 0; i < n->control_count; i++)
        put_text(w, BD_NODE_DEF_INPUT, bd_arena_asprintf(arena, "^%s", n->controls[i]->name));
    if (*n->device) put_text(w, BD_NODE_DEF_DEVICE, n->device);
    for (int i = 0; i < n->attr_count; i++) {
        if (!n->attrs[i].is_default) bd_node_def_put_attr(w, &n->attrs[i]);
    }
    end(&node, out, FUNCTION_NODE_DEF);
}

static void put_arg(bd_wire_writer *out, uint32_t field, const char *name, braid_dtype dtype)
{
    nested arg;
    bd_wire_writer *w = begin(&arg);
    put_text(w, ARG_NAME, name);
    bd_wire_put_uint(w, ARG_TYPE, (uint64_t)bd_dtype_base(dtype));
    end(&arg, out, field);
}

static const char *result_name(int index, bd_arena *arena)
{
    return bd_arena_asprintf(arena, "result_%d", index);
}

static void put_signature(const bd_built_function *f, bd_arena *arena, bd_wire_writer *out)
{
    nested signature;
    bd_wire_writer *w = begin(&signature);
    put_text(w, OP_DEF_NAME, f->name);
    for (int i = 0; i < f->arg_count; i++)
        put_arg(w, OP_DEF_INPUT_ARG, f->args[i]->name, f->args[i]->output_types[0]);
    for (int i = 0; i < f->result_count; i++)
        put_arg(w, OP_DEF_OUTPUT_ARG, result_name(i, arena), braid_out_dtype(f->results[i]));
    if (f->is_stateful) bd_wire_put_uint(w, OP_DEF_IS_STATEFUL, 1);
    end(&signature, out, FUNCTION_SIGNATURE);
}

static void put_result(const bd_built_function *f, int index, bd_arena *arena, bd_wire_writer *out)
{
    nested ret;
    bd_wire_writer *w = begin(&ret);
    put_text(w, BD_MAP_ENTRY_KEY, result_name(index, arena));
    put_text(w, BD_MAP_ENTRY_VALUE, edge_text(f, f->results[index], arena));
    end(&ret, out, FUNCTION_RET);
}

void bd_function_def_write(const bd_built_function *f, bd_bytes *out)
{
    bd_arena arena = {0};
    nested library, function;
    begin(&library);
    bd_wire_writer *w = begin(&function);
    put_signature(f, &arena, w);
    for (size_t i = 0; i < f->body->nodes.len; i++) {
        if (!is_arg(f, f->body->nodes.items[i])) put_node(f, f->body->nodes.items[i], &arena, w);
    }
    for (int i = 0; i < f->result_count; i++)
        put_result(f, i, &arena, w);
    end(&function, &library.w, LIBRARY_FUNCTION);
    bd_wire_writer_finish(&library.w);
    char *data = bd_malloc(library.message.bytes + 1);
    bd_message_gather(&library.message, data);
    *out = (bd_bytes){.data = data, .len = library.message.bytes};
    bd_message_fini(&library.message);
    bd_arena_fini(&arena);
}
