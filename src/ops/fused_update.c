// Updates of several small variables by one optimizer as one node.
//
// Only variables of few elements are taken together, where the node costs more than the arithmetic: a large gradient is better used while
// it is in the cache, and gone before the next is made. Within the node updates follow each other, each with its own locks.
#include "base/alloc.h"
#include "base/check.h"
#include "graph/rewrite.h"
#include "ops/training.h"

#include <string.h>

#define ELEMENTS_MAX 4096 // of a variable: its update takes less than a microsecond
#define UPDATES_MAX 256   // in one node
#define COLLECTED_MAX 256 // times that one graph is searched for what is like an update
#define INPUTS_MAX (BD_UPDATE_VARS_MAX + BD_UPDATE_SCALARS_MAX + 1) // of an update

typedef struct part {
    braid_op node;        // as it was built: for messages
    int from[INPUTS_MAX]; // which inputs of the fused node its inputs are
} part;

typedef struct fused_state {
    const bd_kernel *kernel;
    bd_training_state update; // the same for all
    int count, var_count;
    part *parts;
} fused_state;

// The kernel of an op that updates reference variables whole; NULL: it is no such op.
static const bd_kernel *update_kernel(const bd_op_def *def)
{
    if (def->output_count != 1 || def->input_count < 1 || !def->inputs[0].is_ref ||
        def->op->kernel_count != 1 || def->op->kernels[0].run != bd_training_run)
        return NULL;
    for (int i = 0; i < def->input_count; i++) {
        if (strcmp(def->inputs[i].name, "indices") == 0) return NULL;
    }
    return &def->op->kernels[0];
}

static bool is_gradient(const bd_arg_def *arg)
{
    return strcmp(arg->name, "grad") == 0 || strcmp(arg->name, "delta") == 0;
}

static int count_vars(const bd_op_def *def)
{
    int count = 0;
    while (count < def->input_count && def->inputs[count].is_ref)
        count++;
    return count;
}

// ---- Running ----

// Inputs of the fused node: the variables of each update, then the scalars that all share, then the gradients.
static void bind_part(const braid_op *node, fused_state *s, int index)
{
    part *p = &s->parts[index];
    const bd_op_def *def = p->node.def;
    int vars = s->count * s->var_count, scalars = def->input_count - s->var_count - 1, scalar = 0;
    p->node.input_count = def->input_count;
    p->node.inputs = bd_calloc((size_t)def->input_count, sizeof *p->node.inputs);
    for (int i = 0; i < def->input_count; i++) {
        p->from[i] = i < s->var_count               ? index * s->var_count + i
                     : is_gradient(&def->inputs[i]) ? vars + scalars + index
                                                    : vars + scalar++;
        p->node.inputs[i] = node->inputs[p->from[i]];
    }
}

static void fused_destroy(void *state)
{
    fused_state *s = state;
    for (int i = 0; i < s->count; i++)
        bd_free(s->parts[i].node.inputs);
    bd_free(s->parts);
}

static braid_code fused_create(const braid_op *node, void *state, braid_status *st)
{
    fused_state *s = state;
    const bd_op_def *def = bd_op_lookup(bd_node_attr_string(node, "op"));
    s->kernel = def ? update_kernel(def) : NULL;
    int64_t count = bd_node_attr_int(node, "M");
    if (!s->kernel || bd_node_attr_int(node, "V") != count * count_vars(def) ||
        bd_node_attr_int(node, "N") != count + def->input_count - count_vars(def) - 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s '%s': inputs are not those of %d updates '%s'",
                       node->op_type, node->name, (int)count, bd_node_attr_string(node, "op"));
    s->count = (int)count;
    s->var_count = count_vars(def);
    s->parts = bd_calloc((size_t)count, sizeof *s->parts);
    for (int i = 0; i < s->count; i++) {
        s->parts[i].node = *node;
        s->parts[i].node.def = def;
        bd_node_part(node, i + 1, &s->parts[i].node.name, &s->parts[i].node.op_type);
        bind_part(node, s, i);
    }
    braid_code code = s->kernel->create(&s->parts[0].node, &s->update, st);
    if (code) fused_destroy(s);
    return code;
}

// As the executor words it for the node of one update.
static bool check_initialized(bd_op_ctx *c, const fused_state *s, int index)
{
    const part *p = &s->parts[index];
    for (int i = 0; i < s->var_count; i++) {
        bd_variable *v = bd_input_ref(c, p->from[i]);
        bd_mutex_lock(&v->mu);
        bool is_set = bd_tensor_is_set(&v->tensor);
        bd_mutex_unlock(&v->mu);
        if (is_set) continue;
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   p->node.inputs[i].op->name);
        return false;
    }
    return true;
}

static void run_part(bd_op_ctx *c, fused_state *s, int index)
{
    const part *p = &s->parts[index];
    bd_value inputs[INPUTS_MAX];
    for (int i = 0; i < p->node.input_count; i++)
        inputs[i] = c->inputs[p->from[i]]; // borrowed
    bd_op_ctx one = {.node = &p->node,
                     .state = &s->update,
                     .inputs = inputs,
                     .outputs = &c->outputs[index],
                     .input_count = p->node.input_count,
                     .output_count = 1,
                     .step = c->step};
    s->kernel->run(&one);
    if (!bd_op_failed(&one)) return;
    bd_op_fail_status(c, &one.status);
    bd_status_fini(&one.status);
}

static void fused_run(bd_op_ctx *c)
{
    fused_state *s = c->state;
    for (int i = 0; i < s->count && !bd_op_failed(c); i++) {
        if (check_initialized(c, s, i)) run_part(c, s, i);
        if (bd_op_failed(c)) bd_op_fail_part(c, i);
    }
}

static braid_code fused_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int64_t vars = bd_node_attr_int(c->node, "V") / c->output_count;
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = c->inputs[i * vars];
    return BRAID_OK;
}

// ---- Fusing ----

typedef struct group {
    braid_op *members[UPDATES_MAX];
    int count;
} group;

static bool is_small(const braid_shape *s)
{
    return bd_shape_is_known(s) && bd_shape_count(s) <= ELEMENTS_MAX;
}

// An update of variables that are there as such, which happens whenever the graph runs.
static bool is_candidate(const bd_rewriter *r, const braid_op *n)
{
    if (bd_rewriter_is_removed(r, n) || !update_kernel(n->def) || bd_rewriter_may_be_dead(r, n) ||
        !is_small(&n->output_shapes[0]))
        return false;
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        bool is_ref = bd_dtype_is_ref(from->output_types[n->inputs[i].index]);
        if (is_ref != n->def->inputs[i].is_ref) return false; // a value read when the update runs
        if (is_ref && (bd_node_role(from) != BD_ROLE_VARIABLE || from->control_count > 0)) return false;
    }
    return true;
}

static bool is_same_output(braid_out a, braid_out b)
{
    return a.op == b.op && a.index == b.index;
}

static bool shares_a_variable(const braid_op *a, const braid_op *b)
{
    int vars = count_vars(a->def);
    for (int i = 0; i < vars * vars; i++) {
        if (is_same_output(a->inputs[i / vars], b->inputs[i % vars])) return true;
    }
    return false;
}

static bool is_alike(const braid_op *a, const braid_op *b)
{
    if (a->def != b->def) return false;
    for (int i = count_vars(a->def); i < a->input_count; i++) {
        if (!is_gradient(&a->def->inputs[i]) && !is_same_output(a->inputs[i], b->inputs[i])) return false;
    }
    for (int i = 0; i < a->def->attr_count; i++) {
        const char *name = a->def->attrs[i].name;
        if (!bd_attr_equal(bd_node_attr(a, name), bd_node_attr(b, name))) return false;
    }
    return true;
}

static bool joins(const bd_rewriter *r, const group *g, const braid_op *n)
{
    if (g->count == UPDATES_MAX || !is_alike(g->members[0], n) || !is_candidate(r, n)) return false;
    for (int i = 0; i < g->count; i++) {
        if (shares_a_variable(g->members[i], n)) return false;
    }
    return true;
}

static bool takes_from(const braid_op *n, const bool *marked)
{
    for (int i = 0; i < n->input_count; i++) {
        if (marked[n->inputs[i].op->id]) return true;
    }
    for (int i = 0; i < n->control_count; i++) {
        if (marked[n->controls[i]->id]) return true;
    }
    return false;
}

// Collects what is like the first update and does not come after one of the group: `after` [nodes], cleared before.
static void collect(bd_rewriter *r, size_t first, bool *after, group *g)
{
    const bd_op_list *order = bd_rewriter_order(r);
    *g = (group){.members = {order->items[first]}, .count = 1};
    after[order->items[first]->id] = true;
    for (size_t i = first + 1; i < order->len; i++) {
        braid_op *n = order->items[i];
        if (bd_rewriter_is_removed(r, n)) continue;
        bool comes_after = takes_from(n, after);
        if (!comes_after && joins(r, g, n)) {
            g->members[g->count++] = n;
            comes_after = true;
        }
        after[n->id] = comes_after;
    }
}

typedef struct listing {
    BD_ARRAY(braid_out) inputs;
    BD_ARRAY(bd_bytes) parts;
    BD_ARRAY(bd_named_attr) attrs;
    bd_op_list controls;
} listing;

static bd_bytes bytes_of(const char *text)
{
    return (bd_bytes){.data = text, .len = strlen(text)};
}

static void list_inputs(const group *g, listing *l)
{
    const bd_op_def *def = g->members[0]->def;
    int vars = count_vars(def);
    for (int i = 0; i < g->count * vars; i++)
        bd_array_push(&l->inputs, g->members[i / vars]->inputs[i % vars]);
    for (int i = vars; i < def->input_count; i++) {
        if (!is_gradient(&def->inputs[i])) bd_array_push(&l->inputs, g->members[0]->inputs[i]);
    }
    for (int i = 0; i < g->count; i++) {
        for (int k = vars; k < def->input_count; k++) {
            if (is_gradient(&def->inputs[k])) bd_array_push(&l->inputs, g->members[i]->inputs[k]);
        }
    }
}

static void list_attrs(const group *g, listing *l)
{
    const braid_op *first = g->members[0];
    int vars = g->count * count_vars(first->def);
    for (int i = 0; i < g->count; i++) {
        bd_array_push(&l->parts, bytes_of(g->members[i]->name));
        bd_array_push(&l->parts, bytes_of(first->op_type));
        for (int k = 0; k < g->members[i]->control_count; k++)
            bd_array_push(&l->controls, g->members[i]->controls[k]);
    }
    const bd_named_attr own[] = {
        {.name = "M", .value = {.kind = BD_ATTR_INT, .i = g->count}},
        {.name = "N", .value = {.kind = BD_ATTR_INT, .i = (int64_t)l->inputs.len - vars}},
        {.name = "V", .value = {.kind = BD_ATTR_INT, .i = vars}},
        {.name = BD_PARTS_ATTR,
         .value = {.kind = BD_ATTR_LIST,
                   .item_kind = BD_ATTR_STRING,
                   .list = {.count = (int)l->parts.len, .s = l->parts.items}}},
        {.name = "op", .value = {.kind = BD_ATTR_STRING, .s = bytes_of(first->op_type)}},
    };
    for (size_t i = 0; i < BD_COUNTOF(own); i++)
        bd_array_push(&l->attrs, own[i]);
    for (int i = 0; i < first->def->attr_count; i++) { // T, use_locking and what else the op has
        const char *name = first->def->attrs[i].name;
        const bd_named_attr attr = {.name = name, .value = *bd_node_attr(first, name)};
        bd_array_push(&l->attrs, attr);
    }
}

static braid_code replace(bd_rewriter *r, const group *g, braid_status *st)
{
    const braid_op *first = g->members[0];
    listing l = {0};
    list_inputs(g, &l);
    list_attrs(g, &l);
    const bd_node_spec spec = {.name = bd_graph_unique_name(bd_rewriter_graph(r), first->name),
                               .op_type = "_FusedUpdate",
                               .device = first->device,
                               .assigned_device = first->assigned_device,
                               .inputs = l.inputs.items,
                               .input_count = (int)l.inputs.len,
                               .controls = l.controls.items,
                               .control_count = (int)l.controls.len,
                               .attrs = l.attrs.items,
                               .attr_count = (int)l.attrs.len};
    braid_op *node;
    braid_code code = bd_rewriter_add(r, &spec, &node, st);
    for (int i = 0; !code && i < g->count; i++) {
        bd_rewriter_move_output(r, (braid_out){g->members[i], 0}, (braid_out){node, i});
        bd_rewriter_move_controls(r, g->members[i], node);
        bd_rewriter_remove(r, g->members[i]);
    }
    bd_array_free(&l.inputs);
    bd_array_free(&l.parts);
    bd_array_free(&l.attrs);
    bd_array_free(&l.controls);
    return code;
}

// The first group of two or more; false: there is none, or the graph has been searched often enough.
static bool find_group(bd_rewriter *r, int *searches, group *g)
{
    const bd_op_list *order = bd_rewriter_order(r);
    bool *after = bd_calloc(order->len + 1, sizeof *after);
    g->count = 0;
    for (size_t i = 0; g->count < 2 && i < order->len; i++) {
        if (!is_candidate(r, order->items[i])) continue;
        if ((*searches)++ >= COLLECTED_MAX) break;
        memset(after, 0, order->len * sizeof *after);
        collect(r, i, after, g);
    }
    bd_free(after);
    return g->count > 1;
}

// The order is made anew for each group: what comes after one group may be in the way of the next.
static braid_code fuse(bd_rewriter *r, braid_status *st)
{
    group *g = bd_malloc(sizeof *g);
    int searches = 0;
    braid_code code = BRAID_OK;
    while (!code && find_group(r, &searches, g)) {
        code = replace(r, g, st);
        if (!code) code = bd_rewriter_sort(r, st);
    }
    bd_free(g);
    return code;
}

BD_OP(_FusedUpdate) = {
    .signature = "(vars: Ref(V*T), values: N*T) -> (outs: Ref(M*T))",
    .attrs = "V:int>=1; N:int>=1; M:int>=1; T:type{double,float}; op:string; use_locking:bool=false",
    .flags = BD_OP_ALLOWS_UNINITIALIZED | BD_OP_NOT_DIFFERENTIABLE,
    .shape = fused_shape,
    .kernels = BD_KERNELS({.types = "T=float|double",
                           .state_size = sizeof(fused_state),
                           .create = fused_create,
                           .destroy = fused_destroy,
                           .run = fused_run}),
    .fusion = &(const bd_fusion){.rewrite = BRAID_REWRITE_UPDATES, .run = fuse},
    .doc =
        "Updates several variables by the same op: the variables of each, the scalars that they share, the gradients. "
        "Made by rewrites.",
};
