// Builds functions of a graph's library from C functions (braid/function.h).
//
// A body is a graph of its own, in which placeholders stand for the arguments. It knows the graph outside.
// When the builder gets an input from there, a placeholder is added for it and the outer output is noted as
// captured, through all bodies in between. The finished body is written as a FunctionDef and joins the
// library of the graph outside, together with the functions that were built for nodes of the body. The body
// stays with that graph, so that an output of it that is used too late is refused like one of another graph.
#include "graph/function_build.h"

#include "base/check.h"
#include "base/wire.h"
#include "graph/builder.h"
#include "graph/function_def_write.h"
#include "graph/subgraph.h"
#include "graph/turns.h"
#include <braid/function.h>
#include <stdio.h>

typedef struct bd_body {
    braid_graph *outside; // not owned
    bd_op_list args;      // placeholders: of the spec, then of what is captured
    BD_ARRAY(braid_out) captured;
} bd_body;

// ---- Arguments ----

// Adds a placeholder without regard to scopes and regions.
static braid_op *add_arg(braid_graph *g, const char *base, braid_dtype dtype, braid_shape shape)
{
    BD_STATUS(st);
    const bd_named_attr attrs[] = {
        {.name = "dtype", .value = {.kind = BD_ATTR_TYPE, .type = bd_dtype_base(dtype)}},
        {.name = "shape", .value = {.kind = BD_ATTR_SHAPE, .shape = shape}},
    };
    const bd_node_spec spec = {.name = bd_graph_unique_name(g, base),
                               .op_type = "Placeholder",
                               .attrs = attrs,
                               .attr_count = BD_COUNTOF(attrs)};
    braid_op *arg;
    if (bd_graph_add(g, &spec, &arg, st)) {
        bd_graph_fail_status(g, st);
        return NULL;
    }
    bd_builder_note_foreign(g, arg->id, arg->id + 1);
    bd_array_push(&g->builder->body->args, arg);
    return arg;
}

// Returns whether `g` is around the body `inner`.
static bool is_around(const braid_graph *g, const braid_graph *inner)
{
    const bd_body *body = inner->builder ? inner->builder->body : NULL;
    return body && (body->outside == g || is_around(g, body->outside));
}

braid_out bd_function_capture(braid_graph *g, braid_out from)
{
    if (!from.op || from.op->graph == g || g->status.code || !is_around(from.op->graph, g)) return from;
    bd_body *body = g->builder->body;
    const braid_out outer = bd_function_capture(body->outside, from);
    const size_t given = body->args.len - body->captured.len;
    for (size_t i = 0; i < body->captured.len; i++) {
        const braid_out known = body->captured.items[i];
        if (known.op == outer.op && known.index == outer.index)
            return braid_output(body->args.items[given + i], 0);
    }
    braid_op *arg = add_arg(g, "captured", braid_out_dtype(outer), braid_out_shape(outer));
    if (arg) bd_array_push(&body->captured, outer);
    return braid_output(arg, 0);
}

// ---- What a body may hold ----

static bool is_arg(const bd_body *body, const braid_op *n)
{
    for (size_t i = 0; i < body->args.len; i++) {
        if (body->args.items[i] == n) return true;
    }
    return false;
}

// Collections whose content a session would have to initialize or run, which it cannot within a function.
static void refuse_collections(braid_graph *g)
{
    static const char *const names[] = {"variables", "local_variables", "table_initializer", "queue_runners"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        int outs, objects;
        (void)braid_collection(g, names[i], &outs);
        (void)braid_collection_objects(g, names[i], &objects);
        if (outs || objects)
            braid_graph_fail(
                g, BRAID_INVALID_ARGUMENT,
                "Its body adds to the collection '%s'; make that outside, and use it in the body", names[i]);
    }
}

static void check_nodes(braid_graph *g, const bd_body *body, bool is_copy)
{
    for (size_t i = 0; i < g->nodes.len && !g->status.code; i++) {
        const braid_op *n = g->nodes.items[i];
        const bool makes_dataset = n->output_count > 0 && n->output_types[0] == BRAID_VARIANT;
        if (!n->def)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Op type not registered '%s' (node '%s')", n->op_type,
                             n->name);
        else if (bd_node_role(n) == BD_ROLE_PLACEHOLDER && !is_arg(body, n))
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "It needs the placeholder '%s', which cannot be fed",
                             n->name);
        else if (is_copy && bd_node_is_stateful(n) && !makes_dataset)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "It needs a copy of '%s' (op: '%s'), which is stateful", n->name, n->op_type);
    }
}

static bool is_stateful(const braid_graph *g)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        if (bd_node_is_stateful(g->nodes.items[i])) return true;
    }
    return false;
}

// ---- Into the library ----

static void body_free(void *what)
{
    braid_graph *g = what;
    bd_body *body = g->builder->body;
    braid_graph_free(g);
    bd_array_free(&body->args);
    bd_array_free(&body->captured);
    bd_free(body);
}

static braid_graph *begin_body(braid_graph *outside)
{
    braid_graph *g = braid_graph_new();
    bd_builder *b = bd_graph_builder(g), *outer = bd_graph_builder(outside);
    b->body = bd_calloc(1, sizeof *b->body);
    b->body->outside = outside;
    b->has_seed = outer->has_seed;
    b->seed = outer->seed;
    bd_graph_share_library(g, outside);
    braid_graph_own(outside, g, body_free);
    return g;
}

// A name that no function of the outermost graph's program has.
static const char *function_name(braid_graph *g, const braid_graph *body, const char *base)
{
    braid_graph *root = g;
    while (bd_graph_builder(root)->body)
        root = root->builder->body->outside;
    const char *name;
    do
        name = bd_arena_asprintf(&g->arena, "%s_%d", base, ++root->builder->function_count);
    while (bd_library_find(root->library, name) || bd_library_find(body->library, name) ||
           bd_op_lookup(name));
    return name;
}

// Makes the library of `g` that of `g` and `body`, with the function of the body.
static braid_code join_library(braid_graph *g, const bd_built_function *f, braid_status *st)
{
    bd_bytes messages[2] = {{0}};
    int count = 0;
    bd_message nested;
    bd_message_init(&nested);
    if (f->body->library && f->body->library != g->library) {
        bd_wire_writer w;
        bd_wire_writer_init(&w, &nested);
        bd_library_write(f->body->library, &w);
        bd_wire_writer_finish(&w);
        char *data = bd_malloc(nested.bytes + 1);
        bd_message_gather(&nested, data);
        messages[count++] = (bd_bytes){.data = data, .len = nested.bytes};
    }
    bd_message_fini(&nested);
    bd_function_def_write(f, &messages[count++]);
    bd_library *library;
    const braid_code code = bd_library_extend(g->library, messages, count, &library, st);
    for (int i = 0; i < count; i++)
        bd_free((char *)messages[i].data);
    if (code) return code;
    bd_library_unref(g->library);
    g->library = library;
    return BRAID_OK;
}

static braid_function describe(braid_graph *g, const bd_built_function *f)
{
    const bd_body *body = f->body->builder->body;
    const size_t count = (size_t)f->result_count;
    braid_dtype *dtypes = BD_ARENA_ARRAY(&g->arena, braid_dtype, count);
    braid_shape *shapes = BD_ARENA_ARRAY(&g->arena, braid_shape, count);
    for (size_t i = 0; i < count; i++) {
        dtypes[i] = bd_dtype_base(braid_out_dtype(f->results[i]));
        shapes[i] = braid_out_shape(f->results[i]);
    }
    return (braid_function){.name = f->name,
                            .result_count = f->result_count,
                            .result_dtypes = dtypes,
                            .result_shapes = shapes,
                            .captured = body->captured.items,
                            .captured_count = (int)body->captured.len,
                            .is_stateful = f->is_stateful};
}

static void fail_by_body(braid_graph *g, const char *name, const braid_graph *body)
{
    if (g->status.code) return;
    bd_status_copy(&g->status, &body->status);
    bd_status_prefix(&g->status, "Function '%s': ", name);
}

static braid_function finish(braid_graph *g, const char *base, braid_graph *body, braid_out *results,
                             int count, bool is_copy)
{
    BD_STATUS(st);
    const braid_function none = {0};
    for (int i = 0; i < count; i++) {
        results[i] = bd_function_capture(body, results[i]);
        if (!results[i].op || results[i].op->graph != body)
            braid_graph_fail(body, BRAID_INVALID_ARGUMENT, "Its result %d is %s", i,
                             results[i].op ? "of another graph" : "nothing");
    }
    refuse_collections(body);
    check_nodes(body, body->builder->body, is_copy);
    if (body->status.code) fail_by_body(g, base, body);
    if (g->status.code) return none;
    const bd_op_list *arg_ops = &body->builder->body->args;
    braid_out *args = BD_ARENA_ARRAY(&body->arena, braid_out, arg_ops->len);
    for (size_t i = 0; i < arg_ops->len; i++)
        args[i] = braid_output(arg_ops->items[i], 0);
    const bd_built_function f = {.name = function_name(g, body, base),
                                 .body = body,
                                 .args = args,
                                 .arg_count = (int)arg_ops->len,
                                 .results = results,
                                 .result_count = count,
                                 .is_stateful = is_stateful(body)};
    if (join_library(g, &f, st)) {
        bd_graph_fail_status(g, st);
        return none;
    }
    return describe(g, &f);
}

// ---- The public functions ----

static bool may_build(braid_graph *g, const char *name, int arg_count, int result_count)
{
    if (!g) return false;
    bool is_name = name && *name;
    for (const char *c = name; c && *c; c++)
        is_name =
            is_name && (*c == '_' || (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z'));
    if (!is_name)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "'%s' is not a valid name of a function",
                         name ? name : "");
    if (arg_count < 0 || result_count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Function '%s': %d arguments, %d results",
                         name ? name : "", arg_count, result_count);
    return g->status.code == BRAID_OK;
}

braid_function braid_function_build(braid_graph *g, const braid_function_spec *spec)
{
    BD_GRAPH_TURN(g);
    const bool is_whole = spec && spec->build && (spec->arg_dtypes || spec->arg_count == 0);
    if (g && !is_whole)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Function '%s': nothing builds its body, or types are missing",
                         spec && spec->name ? spec->name : "");
    if (!is_whole || !may_build(g, spec->name, spec->arg_count, spec->result_count))
        return (braid_function){0};
    braid_graph *body = begin_body(g);
    braid_out *args = bd_calloc((size_t)spec->arg_count + 1, sizeof *args);
    braid_out *results = bd_calloc((size_t)spec->result_count, sizeof *results);
    char name[32];
    for (int i = 0; i < spec->arg_count; i++) {
        snprintf(name, sizeof name, "arg_%d", i);
        const braid_shape shape = spec->arg_shapes ? spec->arg_shapes[i] : BRAID_SHAPE_UNKNOWN;
        args[i] = braid_output(add_arg(body, name, spec->arg_dtypes[i], shape), 0);
    }
    if (!body->status.code) spec->build(spec->arg, body, args, results);
    const braid_function f = finish(g, spec->name, body, results, spec->result_count, false);
    bd_free(args);
    bd_free(results);
    return f;
}

braid_function braid_function_copy(braid_graph *g, const char *name, const braid_out *results, int count)
{
    BD_GRAPH_TURN(g);
    if (!may_build(g, name, 0, results ? count : 0) || !results) return (braid_function){0};
    BD_STATUS(st);
    braid_graph *body = begin_body(g);
    braid_op **roots = bd_calloc((size_t)count, sizeof(braid_op *)),
             **map = bd_calloc(g->nodes.len + 1, sizeof(braid_op *));
    braid_out *copies = bd_calloc((size_t)count, sizeof *copies);
    for (int i = 0; i < count; i++) {
        roots[i] = results[i].op;
        if (!roots[i] || roots[i]->graph != g)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Function '%s': its result %d is %s", name, i,
                             roots[i] ? "of another graph" : "nothing");
    }
    const bd_subgraph_spec spec = {.roots = roots, .root_count = count};
    if (!g->status.code && bd_subgraph(g, &spec, body, map, st)) bd_graph_fail_status(body, st);
    for (int i = 0; i < count && !g->status.code && !body->status.code; i++)
        copies[i] = braid_output(map[roots[i]->id], results[i].index);
    const braid_function f =
        g->status.code ? (braid_function){0} : finish(g, name, body, copies, count, true);
    bd_free(roots);
    bd_free(map);
    bd_free(copies);
    return f;
}
