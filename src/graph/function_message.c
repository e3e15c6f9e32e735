// Functions as messages (braid/function.h): made of graphs, added to libraries and given from them. Names of
// arguments, results and nodes are those that TF_GraphToFunction gives.
#include <braid/function.h>

#include "base/check.h"
#include "graph/function_def_write.h"
#include "graph/function_internal.h"
#include "graph/given.h"
#include "graph/graph.h"
#include "graph/turns.h"
#include <ctype.h>
#include <string.h>

enum {
    LIBRARY_FUNCTION = 1,
    LIBRARY_GRADIENT = 2,
    GRADIENT_FUNCTION_NAME = 1,
    GRADIENT_GRADIENT_FUNC = 2,
};

// ---- From a graph ----

typedef struct making {
    const braid_graph *g;
    const braid_function_body *body;
    braid_status *st; // not owned
    bd_arena arena;
    bd_map used; // names of arguments, results and nodes -> the number to try next + 1
    const char **arg_names, **result_names, **node_names;
    bool *in_body;  // [nodes of g]
    int *arg_count; // [nodes of g] how many outputs are arguments
} making;

static braid_code fail(making *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static braid_code fail(making *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_vfail(m->st, BRAID_INVALID_ARGUMENT, format, args);
    va_end(args);
    bd_status_prefix(m->st, "Function '%.100s': ", m->body->name);
    return BRAID_INVALID_ARGUMENT;
}

// Lower case, with '_' for what is no letter or digit, from the first letter on.
static const char *normalized(making *m, const char *name)
{
    char *text = bd_arena_strdup(&m->arena, name);
    for (char *c = text; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
    while (*text && !isalpha((unsigned char)*text))
        text++;
    return *text ? text : "unknown";
}

static const char *unique(making *m, const char *name)
{
    const uintptr_t next = (uintptr_t)bd_map_get(&m->used, name);
    if (!next) {
        bd_map_put(&m->used, name, (void *)1);
        return name;
    }
    for (uintptr_t number = next;; number++) {
        const char *candidate = bd_arena_asprintf(&m->arena, "%s_%zu", name, (size_t)number - 1);
        if (bd_map_has(&m->used, candidate)) continue;
        bd_map_put(&m->used, name, (void *)(number + 1));
        bd_map_put(&m->used, candidate, (void *)1);
        return candidate;
    }
}

static bool is_name(const char *name)
{
    bool is = name && *name;
    for (const char *c = name; is && *c; c++)
        is = isalnum((unsigned char)*c) || *c == '_' || (c != name && strchr(".-/", *c));
    return is;
}

static braid_code check_outputs(making *m, const braid_out *outs, int count, const char *what)
{
    if (count < 0 || (count > 0 && !outs)) return fail(m, "%d %ss", outs ? count : 0, what);
    for (int i = 0; i < count; i++) {
        if (!outs[i].op || outs[i].op->graph != m->g || outs[i].index < 0 ||
            (outs[i].op->def && outs[i].index >= outs[i].op->output_count))
            return fail(m, "%s %d is no output of the graph", what, i);
    }
    return BRAID_OK;
}

static braid_code take_inputs(making *m)
{
    const braid_function_body *b = m->body;
    braid_code code = check_outputs(m, b->inputs, b->input_count, "input");
    for (int i = 0; i < b->input_count && !code; i++) {
        const braid_out in = b->inputs[i];
        BD_ASSERT(in.op); // by check_outputs
        for (int k = 0; k < i && !code; k++) {
            if (b->inputs[k].op == in.op && b->inputs[k].index == in.index)
                code = fail(m, "'%s:%d' appears twice in the input list", in.op->name, in.index);
        }
        if (!code && bd_dtype_is_ref(braid_out_dtype(in)))
            code = fail(m, "input %d, '%s:%d', is a reference", i, in.op->name, in.index);
        m->arg_count[in.op->id]++;
    }
    for (int i = 0; i < b->input_count && !code; i++) {
        const braid_op *n = b->inputs[i].op;
        if (m->arg_count[n->id] != n->output_count)
            code = fail(m, "only %d of the %d outputs of '%s' are inputs", m->arg_count[n->id],
                        n->output_count, n->name);
    }
    return code;
}

static braid_code take_nodes(making *m)
{
    const braid_function_body *b = m->body;
    for (size_t i = 0; !b->ops && i < m->g->nodes.len; i++)
        m->in_body[i] = m->arg_count[i] == 0;
    for (int i = 0; b->ops && i < b->op_count; i++) {
        if (!b->ops[i] || b->ops[i]->graph != m->g) return fail(m, "node %d is not of the graph", i);
        if (m->arg_count[b->ops[i]->id]) return fail(m, "node '%s' is an input", b->ops[i]->name);
        m->in_body[b->ops[i]->id] = true;
    }
    return BRAID_OK;
}

static braid_code check_node(making *m, const braid_op *n)
{
    if (!n->def) return fail(m, "Op type not registered '%s' (node '%s')", n->op_type, n->name);
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        if (!m->in_body[from->id] && !m->arg_count[from->id])
            return fail(
                m,
                "Input %d, '%s:%d', of node '%s' is not available. You might need to include it in inputs "
                "or include its source node in the body",
                i, from->name, n->inputs[i].index, n->name);
    }
    for (int i = 0; i < n->control_count; i++) {
        if (!m->in_body[n->controls[i]->id] && !m->arg_count[n->controls[i]->id])
            return fail(m, "The source of a control edge of node '%s', '%s', is not in the body", n->name,
                        n->controls[i]->name);
    }
    return BRAID_OK;
}

static braid_code check_results(making *m)
{
    const braid_function_body *b = m->body;
    braid_code code = check_outputs(m, b->outputs, b->output_count, "output");
    for (int i = 0; i < b->output_count && !code; i++) {
        const braid_op *n = b->outputs[i].op;
        if (!m->in_body[n->id] && !m->arg_count[n->id])
            code = fail(m, "output %d, '%s:%d', is not in the body", i, n->name, b->outputs[i].index);
        else if (b->output_names && !is_name(b->output_names[i]))
            code = fail(m, "output %d has no valid name", i);
        for (int k = 0; b->output_names && k < i && !code; k++) {
            if (strcmp(b->output_names[i], b->output_names[k]) == 0)
                code = fail(m, "two outputs are called '%.100s'", b->output_names[i]);
        }
    }
    return code;
}

static void name_all(making *m)
{
    const braid_function_body *b = m->body;
    for (int i = 0; i < b->output_count; i++) {
        const char *own = b->output_names ? b->output_names[i] : NULL;
        m->result_names[i] = unique(m, own ? own : normalized(m, b->outputs[i].op->name));
    }
    for (int i = 0; i < b->input_count; i++)
        m->arg_names[i] = unique(m, normalized(m, b->inputs[i].op->name));
    for (size_t i = 0; i < m->g->nodes.len; i++) {
        if (m->in_body[i]) m->node_names[i] = unique(m, m->g->nodes.items[i]->name);
    }
}

static void *write(making *m, size_t *len)
{
    bd_built_function f = {.name = m->body->name,
                           .description = m->body->description,
                           .body = m->g,
                           .args = m->body->inputs,
                           .arg_count = m->body->input_count,
                           .results = m->body->outputs,
                           .result_count = m->body->output_count,
                           .arg_names = m->arg_names,
                           .result_names = m->result_names,
                           .node_names = m->node_names};
    for (size_t i = 0; i < m->g->nodes.len; i++)
        f.is_stateful = f.is_stateful || (m->in_body[i] && bd_node_is_stateful(m->g->nodes.items[i]));
    bd_given out;
    bd_function_def_put(&f, bd_given_begin(&out));
    return bd_given_end(&out, "a FunctionDef", len, m->st);
}

void *braid_graph_to_function(const braid_graph *g, const braid_function_body *body, size_t *len,
                              braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    void *data = NULL;
    *len = 0;
    if (braid_graph_status(g, st)) return NULL;
    if (!body || !is_name(body->name)) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "'%.100s' is not a valid name of a function",
                body && body->name ? body->name : "");
        return NULL;
    }
    making m = {.g = g, .body = body, .st = st};
    const size_t inputs = (size_t)bd_max(body->input_count, 0), nodes = g->nodes.len + 1;
    m.arg_names = BD_ARENA_ARRAY(&m.arena, const char *, inputs);
    m.result_names = BD_ARENA_ARRAY(&m.arena, const char *, (size_t)bd_max(body->output_count, 0));
    m.node_names = bd_arena_calloc(&m.arena, nodes, sizeof *m.node_names);
    m.in_body = bd_arena_calloc(&m.arena, nodes, sizeof *m.in_body);
    m.arg_count = bd_arena_calloc(&m.arena, nodes, sizeof *m.arg_count);
    braid_code code = take_inputs(&m);
    if (!code) code = take_nodes(&m);
    if (!code) code = check_results(&m);
    for (size_t i = 0; i < g->nodes.len && !code; i++) {
        if (m.in_body[i]) code = check_node(&m, g->nodes.items[i]);
    }
    if (!code) {
        name_all(&m);
        data = write(&m, len);
    }
    bd_map_fini(&m.used);
    bd_arena_fini(&m.arena);
    return data;
}

// ---- Into a library ----

// A FunctionDefLibrary of one function, from `arena`; of its gradient function too, unless `name` is NULL.
static bd_bytes library_of(const void *function_def, size_t len, const char *name, const char *gradient,
                           bd_arena *arena)
{
    bd_given m, g;
    bd_wire_writer *w = bd_given_begin(&m), *gw;
    bd_wire_put_bytes(w, LIBRARY_FUNCTION, function_def, len);
    if (name) {
        gw = bd_given_begin(&g);
        bd_wire_put_bytes(gw, GRADIENT_FUNCTION_NAME, name, strlen(name));
        bd_wire_put_bytes(gw, GRADIENT_GRADIENT_FUNC, gradient, strlen(gradient));
        bd_given_put(&g, w, LIBRARY_GRADIENT);
    }
    bd_wire_writer_finish(w);
    char *data = bd_arena_alloc(arena, m.message.bytes + 1);
    bd_message_gather(&m.message, data);
    const bd_bytes bytes = {.data = data, .len = m.message.bytes};
    bd_message_fini(&m.message);
    return bytes;
}

braid_code braid_graph_add_function(braid_graph *g, const void *function_def, size_t len,
                                    const char *gradient, braid_status *status)
{
    BD_GRAPH_TURN(g);
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    bd_arena arena = {0};
    bd_function *f = NULL;
    if (!g || !function_def)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "There is no %s", g ? "FunctionDef" : "graph");
    const bd_bytes def = {.data = function_def, .len = len};
    braid_code code = bd_function_parse(&def, &f, st);
    if (!code && gradient && !*gradient)
        code = bd_fail(st, BRAID_INVALID_ARGUMENT, "The gradient function of '%.100s' has no name", f->name);
    if (!code) {
        bd_library *library;
        const bd_bytes message = library_of(function_def, len, gradient ? f->name : NULL, gradient, &arena);
        code = bd_library_extend(g->library, &message, 1, &library, st);
        if (!code) {
            bd_library_unref(g->library);
            g->library = library;
        }
    }
    bd_function_unref(f);
    bd_arena_fini(&arena);
    return code;
}

// ---- Out of a library ----

int braid_graph_functions(const braid_graph *g, const char **names, int max)
{
    size_t pos = 0;
    int count = 0;
    void *f;
    while (g && g->library && bd_map_next(&g->library->functions, &pos, NULL, &f)) {
        if (count < max) names[count] = ((const bd_function *)f)->name;
        count++;
    }
    return count;
}

void *braid_function_def(const braid_graph *g, const char *name, size_t *len, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    const bd_function *f = g && name ? bd_library_find(g->library, name) : NULL;
    *len = 0;
    if (!f) {
        bd_fail(st, BRAID_NOT_FOUND, "The graph has no function '%.100s'", name ? name : "");
        return NULL;
    }
    bd_given m;
    bd_wire_put_raw(bd_given_begin(&m), f->wire.data, f->wire.len);
    return bd_given_end(&m, "a FunctionDef", len, st);
}

const char *braid_function_gradient(const braid_graph *g, const char *name)
{
    return g && name ? bd_library_gradient(g->library, name) : NULL;
}
