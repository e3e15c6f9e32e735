// Inlining: the nodes of a function's body take the place of a call.
#include "graph/lower_internal.h"

#include "base/check.h"
#include "graph/device_name.h"
#include "graph/frames.h"
#include "graph/node_resolve.h"
#include <string.h>

// Functions within functions, no deeper: the names of their nodes grow with each.
#define DEPTH_MAX 100

// ---- Beginning ----

static bool is_within(const bd_inlined *chain, const char *function)
{
    for (; chain; chain = chain->in) {
        if (strcmp(chain->function, function) == 0) return true;
    }
    return false;
}

static const bd_inlined *chain_of(const bd_lowering *l, const braid_op *n)
{
    const int i = n->id - l->first;
    return (size_t)i < l->from.len ? l->from.items[i] : NULL;
}

static bool refuses(const bd_function *f)
{
    for (int i = 0; i < f->attr_count; i++) {
        if (strcmp(f->attrs[i].name, "_noinline") == 0 && f->attrs[i].value.kind == BD_ATTR_BOOL)
            return f->attrs[i].value.b;
    }
    return false;
}

// Gradients inline also functions with "_noinline"; but not a call whose gradient the library has.
static bool may_be_inlined(const bd_lowering *l, const char *attr, const bd_function *f)
{
    if (!l->for_gradients) return !refuses(f);
    return strcmp(attr, "f") != 0 || !bd_library_gradient(l->g->library, f->name);
}

// The gradient of a recursive call is recursive too if the call is kept.
static bool is_better_called(const bd_lowering *l, const char *attr, const bd_function *f,
                             const braid_graph *body)
{
    if (!l->for_gradients || strcmp(attr, "f") != 0) return false;
    bd_library *called = bd_library_reachable(l->g->library, body);
    const bool again = bd_library_find(called, f->name) != NULL;
    bd_library_unref(called);
    return again;
}

static bool has_effect(const braid_op *n, const bd_function *f)
{
    const bd_op_role role = bd_node_role(n);
    if (role == BD_ROLE_ARG || role == BD_ROLE_RETVAL) return false; // not copied
    if (bd_node_is_stateful(n)) return true;
    for (int k = 0; k < f->control_ret_count; k++) {
        if (strcmp(f->control_rets[k].value, n->name) == 0) return true;
    }
    return false;
}

// Nodes within a loop of Enter and Exit cannot be waited for from outside: the loop's Exits stand for them.
static void find_effects(bd_inline *in, const bd_function *f)
{
    BD_STATUS(st);
    const braid_graph *g = in->body.graph;
    bd_consumers consumers = {0};
    bd_frames frames = {0};
    bool within = false;
    bd_graph_consumers(g, &consumers);
    const bool known = !bd_frames_find(g, &consumers, &frames, st); // or the step fails by that error
    for (size_t i = 0; i < g->nodes.len; i++) {
        braid_op *n = g->nodes.items[i];
        if (!has_effect(n, f)) continue;
        if (!known || frames.of[i] == 0)
            bd_array_push(&in->effects, n);
        else
            within = true;
    }
    for (size_t i = 0; i < g->nodes.len && within; i++) {
        braid_op *n = g->nodes.items[i];
        if (bd_node_role(n) == BD_ROLE_EXIT && frames.items[frames.of[i]].parent == 0)
            bd_array_push(&in->effects, n);
    }
    bd_frames_fini(&frames);
    bd_consumers_fini(&consumers);
}

// The approximate memory of a copy of the body: names grow by the caller's, and attrs may be in each node.
static int64_t cost_of(const braid_op *caller, const bd_bytes *func, const bd_function *f)
{
    enum {
        NODE = 1024
    };
    return (int64_t)f->wire.len + (int64_t)f->node_count * (int64_t)(NODE + strlen(caller->name) + func->len);
}

// Counts a copy against the limit, whether it succeeds or not, because trying takes time too.
static bool pay(bd_lowering *l, const braid_op *caller, const bd_bytes *func, const bd_function *f)
{
    const int64_t cost = cost_of(caller, func, f);
    if (cost > l->bytes_left) return false;
    l->bytes_left -= cost;
    return true;
}

bool bd_inline_begin(bd_lowering *l, const braid_op *n, const char *attr, int index, int arg_count,
                     bd_inline *in)
{
    BD_STATUS(st);
    bd_attr_tensors tensors = {0};
    bd_func f;
    *in = (bd_inline){0};
    const bd_attr *a = bd_node_attr(n, attr);
    const bd_bytes *func = index < 0 ? &a->s : &a->list.s[index];
    const bd_inlined *outer = chain_of(l, n);
    bool ok = !bd_func_parse(func, &l->arena, &tensors, &f, st);
    const bd_function *def = ok ? bd_library_find(l->g->library, f.name) : NULL;
    ok = def && may_be_inlined(l, attr, def) && (!outer || outer->depth < DEPTH_MAX) &&
         !is_within(outer, f.name) && pay(l, n, func, def) &&
         !bd_function_instantiate(l->g->library, &f, &in->body, st);
    for (size_t i = 0; i < tensors.len; i++)
        braid_tensor_free(tensors.items[i]);
    bd_array_free(&tensors);
    if (!ok || in->body.arg_count != arg_count || is_better_called(l, attr, def, in->body.graph))
        return false;
    bd_inlined *chain = BD_ARENA_NEW(&l->arena, bd_inlined);
    *chain = (bd_inlined){.function = def->name, .depth = outer ? outer->depth + 1 : 1, .in = outer};
    in->chain = chain;
    find_effects(in, def);
    return true;
}

bool bd_inline_returns_argument(const bd_inline *in, int i)
{
    const braid_graph *g = in->body.graph;
    for (size_t k = 0; k < g->nodes.len; k++) {
        const braid_op *n = g->nodes.items[k];
        if (bd_node_role(n) != BD_ROLE_RETVAL || bd_node_attr_int(n, "index") != i) continue;
        do
            n = n->inputs[0].op;
        while (n->control_count == 0 && bd_node_has_flag(n, BD_OP_IDENTITY));
        return bd_node_role(n) == BD_ROLE_ARG && bd_node_attr_int(n, "index") == i;
    }
    return false;
}

void bd_inline_fini(bd_inline *in)
{
    bd_array_free(&in->effects);
    bd_function_body_fini(&in->body);
}

// ---- Copying ----

typedef struct copying {
    bd_lowering *l;
    bd_inline *in;
    const char *prefix;
    const braid_out *args;
    braid_op *pivot;
    braid_op **map; // by id of the body's node: its copy
} copying;

static const char *prefixed(const copying *c, const char *name)
{
    return bd_arena_asprintf(&c->l->g->arena, "%s/%s", c->prefix, name);
}

// Loops within the body need frame names of their own in each copy.
static void rename_frame(const copying *c, braid_op *n)
{
    bd_attr *frame = bd_node_attr_slot(n, "frame_name");
    if (bd_node_role(n) != BD_ROLE_ENTER || !frame || frame->kind != BD_ATTR_STRING) return;
    const char *name = prefixed(c, frame->s.data);
    frame->s = (bd_bytes){.data = name, .len = strlen(name)};
}

// The node of the body that "loc:@X" names; NULL: X is not a node of the body.
static const char *colocated_with(const copying *c, const char *name)
{
    const braid_op *n = braid_graph_find(c->in->body.graph, name);
    if (!n) return NULL;
    if (bd_node_role(n) == BD_ROLE_ARG) return c->args[bd_node_attr_int(n, "index")].op->name;
    return c->map[n->id] ? c->map[n->id]->name : NULL;
}

static void rename_classes(const copying *c, braid_op *n)
{
    static const char prefix[] = "loc:@";
    bd_attr *class = bd_node_attr_slot(n, "_class");
    if (!class || class->kind != BD_ATTR_LIST || class->item_kind != BD_ATTR_STRING) return;
    for (int i = 0; i < class->list.count; i++) {
        bd_bytes *s = &class->list.s[i];
        if (strncmp(s->data, prefix, sizeof prefix - 1) != 0) continue;
        const char *name = colocated_with(c, s->data + sizeof prefix - 1);
        if (!name) continue;
        s->data = bd_arena_asprintf(&c->l->g->arena, "%s%s", prefix, name);
        s->len = strlen(s->data);
    }
}

static bool takes_handle(const braid_op *n)
{
    for (int i = 0; i < n->input_count; i++) {
        if (n->input_types[i] == BRAID_RESOURCE) return true;
    }
    return false;
}

// Fields that a node's device omits follow the caller's request; but consumers of a handle are placed with
// it.
static void complete_device(const copying *c, braid_op *n, const char *caller)
{
    BD_STATUS(st);
    bd_device_name own, open;
    char buf[BD_DEVICE_NAME_MAX];
    if (!*caller || (!*n->device && takes_handle(n))) return;
    if (!*n->device) {
        n->device = bd_arena_strdup(&c->l->g->arena, caller);
    } else if (!bd_device_name_parse(n->device, &own, st) && !bd_device_name_parse(caller, &open, st)) {
        bd_device_name_merge(&open, &own);
        n->device = bd_arena_strdup(&c->l->g->arena, bd_device_name_print(&open, buf));
    }
}

static void note_chain(bd_lowering *l, const bd_inlined *chain)
{
    while (l->from.len + (size_t)l->first < l->g->nodes.len)
        bd_array_push(&l->from, chain);
}

// Copies without edges: edges of a loop lead to nodes that are copied later.
static void copy_nodes(copying *c, const braid_op *caller)
{
    braid_graph *body = c->in->body.graph;
    for (size_t i = 0; i < body->nodes.len; i++) {
        braid_op *n = body->nodes.items[i];
        const bd_op_role role = bd_node_role(n);
        if (role == BD_ROLE_ARG || role == BD_ROLE_RETVAL) continue;
        const char *name = n->name; // the body is ours: the copy takes the name that it has meanwhile
        n->name = bd_graph_unique_name(c->l->g, prefixed(c, n->name));
        c->map[i] = bd_graph_copy_node(c->l->g, n, n->inputs, n->input_count, NULL, 0);
        n->name = name;
        rename_frame(c, c->map[i]);
        complete_device(c, c->map[i], caller->device);
    }
    note_chain(c->l, c->in->chain);
}

static braid_out moved(const copying *c, braid_out from)
{
    if (bd_node_role(from.op) == BD_ROLE_ARG) return c->args[bd_node_attr_int(from.op, "index")];
    return (braid_out){.op = c->map[from.op->id], .index = from.index};
}

// A control edge out of an argument waits for the call.
static void connect(const copying *c, const braid_op *from, braid_op *to)
{
    for (int i = 0; i < from->input_count; i++)
        bd_node_set_input(to, i, moved(c, from->inputs[i]));
    for (int i = 0; i < from->control_count; i++) {
        braid_op *control = c->map[from->controls[i]->id];
        if (control)
            bd_node_add_control(to, control);
        else if (c->pivot)
            bd_node_add_control(to, c->pivot);
    }
    if (from->input_count == 0 && to->control_count == 0 && c->pivot) bd_node_add_control(to, c->pivot);
    rename_classes(c, to);
}

void bd_inline_add(bd_lowering *l, bd_inline *in, const braid_op *caller, const char *prefix,
                   const braid_out *args, braid_op *pivot, braid_out *rets)
{
    braid_graph *body = in->body.graph;
    copying c = {.l = l, .in = in, .prefix = prefix, .args = args, .pivot = pivot};
    c.map = bd_calloc(body->nodes.len + 1, sizeof(braid_op *));
    copy_nodes(&c, caller);
    for (size_t i = 0; i < body->nodes.len; i++) {
        const braid_op *n = body->nodes.items[i];
        if (c.map[i])
            connect(&c, n, c.map[i]);
        else if (bd_node_role(n) == BD_ROLE_RETVAL)
            rets[bd_node_attr_int(n, "index")] = moved(&c, n->inputs[0]);
    }
    for (size_t i = 0; i < in->effects.len; i++)
        in->effects.items[i] = c.map[in->effects.items[i]->id];
    bd_free(c.map);
}

// ---- Nodes between ----

const char *bd_lower_scope(bd_lowering *l, const braid_op *n)
{
    const bool is_shared = l->for_gradients && n->id < l->first;
    return is_shared ? bd_arena_asprintf(&l->arena, "%s/lowered", n->name) : n->name;
}

// Inputs are set after the node is made, so that no shape function checks them: mismatched shapes are errors
// of the run.
braid_op *bd_lower_add(bd_lowering *l, const braid_op *caller, const char *name, const char *op,
                       const braid_out *inputs, int input_count, const bd_named_attr *attrs, int attr_count)
{
    BD_STATUS(st);
    braid_op *node;
    bd_named_attr all[4];
    BD_ASSERT(attr_count < (int)BD_COUNTOF(all));
    for (int i = 0; i < attr_count; i++)
        all[i] = attrs[i];
    const braid_dtype type = input_count > 0 ? bd_dtype_base(braid_out_dtype(inputs[0])) : BRAID_INVALID;
    all[attr_count] = (bd_named_attr){.name = "T", .value = {.kind = BD_ATTR_TYPE, .type = type}};
    const bool is_typed = input_count > 0 && bd_op_def_attr(bd_op_lookup(op), "T") != NULL;
    const char *full = bd_arena_asprintf(&l->arena, "%s/%s", bd_lower_scope(l, caller), name);
    const bd_node_spec spec = {.name = bd_graph_unique_name(l->g, full),
                               .op_type = op,
                               .device = type == BRAID_RESOURCE ? "" : caller->device, // with the handle
                               .inputs = BD_ARENA_ARRAY(&l->arena, braid_out, (size_t)input_count),
                               .input_count = input_count,
                               .attrs = all,
                               .attr_count = attr_count + is_typed};
    const braid_code code = bd_graph_add(l->g, &spec, &node, st);
    BD_ASSERT(!code); // these ops take any type
    for (int i = 0; i < input_count; i++)
        if (inputs[i].op) bd_node_set_input(node, i, inputs[i]);
    note_chain(l, chain_of(l, caller));
    return node;
}
