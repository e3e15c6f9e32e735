// Compiling a graph into a plan.
#include "base/alloc.h"
#include "runtime/plan_internal.h"

#include "graph/frames.h"
#include "runtime/executor_internal.h"
#include <string.h>

// ---- Constants that need no execution ----

// Returns whether a constant can be set before the step starts: a root without control inputs that feeds no
// Merge.
static bool is_folded(const bd_consumers *consumers, const braid_op *n)
{
    if (bd_node_role(n) != BD_ROLE_CONST || n->control_count > 0 || n->input_count > 0 ||
        n->output_count != 1)
        return false;
    const bd_attr *value = bd_node_attr(n, "value");
    if (!value || value->kind != BD_ATTR_TENSOR || value->tensor->dtype != n->output_types[0]) return false;
    for (int i = consumers->offsets[n->id]; i < consumers->offsets[n->id + 1]; i++) {
        if (bd_node_role(consumers->items[i].node) == BD_ROLE_MERGE) return false;
    }
    return true;
}

// ---- Items ----

static uint32_t role_flags(const braid_op *n)
{
    switch (bd_node_role(n)) {
    case BD_ROLE_MERGE: return BD_ITEM_MERGE;
    case BD_ROLE_EXIT: return BD_ITEM_EXIT;
    case BD_ROLE_NEXT_ITERATION: return BD_ITEM_NEXT_ITERATION;
    case BD_ROLE_CONTROL_TRIGGER: return BD_ITEM_CONTROL_TRIGGER;
    case BD_ROLE_SEND: return BD_ITEM_SEND;
    case BD_ROLE_SWITCH:
    case BD_ROLE_RECV: return BD_ITEM_MAY_LACK_OUTPUT;
    case BD_ROLE_ENTER: {
        const bd_attr *constant = bd_node_attr(n, "is_constant");
        bool is_constant = constant && constant->kind == BD_ATTR_BOOL && constant->b;
        return BD_ITEM_ENTER | (is_constant ? BD_ITEM_CONSTANT_ENTER : 0);
    }
    default: return 0;
    }
}

static bool takes_reference(const braid_op *n)
{
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        if (bd_dtype_is_ref(from->output_types[n->inputs[i].index])) return true;
    }
    return false;
}

// Checks errors that a client's or a rewritten graph may have, so that kernels need not check them.
static braid_code check_inputs(const braid_op *n, braid_status *st)
{
    for (int i = 0; i < n->input_count; i++) {
        const braid_op *from = n->inputs[i].op;
        int output = n->inputs[i].index;
        if (output >= from->output_count) {
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Input %d of node %s is output %d of %s, which has %d",
                           i, n->name, output, from->name, from->output_count);
        }
        braid_dtype given = from->output_types[output], taken = n->input_types[i];
        bool fits = bd_dtype_base(given) == bd_dtype_base(taken) &&
                    (bd_dtype_is_ref(given) || !bd_dtype_is_ref(taken));
        if (fits) continue;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Input %d of node %s was passed %s from %s:%d incompatible with expected %s.", i,
                       n->name, braid_dtype_name(given), from->name, output, braid_dtype_name(taken));
    }
    return BRAID_OK;
}

// State such as that of random generators continues in whichever plan runs the node. Nodes that only move
// values belong to the plan, because their names are not unique to their content.
static bool is_kept_by_session(const braid_op *n)
{
    switch (bd_node_role(n)) {
    case BD_ROLE_SEND:
    case BD_ROLE_RECV:
    case BD_ROLE_ARG:
    case BD_ROLE_RETVAL: return false;
    default: return bd_node_is_stateful(n);
    }
}

// The state of the bound kernel: of the plan, or for a stateful node of the session.
static braid_code bind(bd_plan *p, const braid_op *n, const bd_kernel *kernel, bd_kernel_store *store,
                       void **state, braid_status *st)
{
    *state = NULL;
    if (kernel->state_size == 0 && !kernel->create) return BRAID_OK;
    if (store && is_kept_by_session(n))
        return bd_kernel_store_get(store, n, p->device->name, kernel, state, st);
    *state = bd_arena_calloc(&p->arena, 1, kernel->state_size);
    if (kernel->create) {
        braid_code code = kernel->create(n, *state, st);
        if (code) return code;
    }
    struct owned_state owned = {.kernel = kernel, .state = *state};
    bd_array_push(&p->states, owned);
    return BRAID_OK;
}

static bool changes_state(const braid_op *n, const bd_kernel *kernel)
{
    if (kernel->flags & BD_KERNEL_INTERRUPTIBLE) return false;
    for (int i = 0; i < n->input_count; i++)
        if (bd_dtype_is_ref(n->input_types[i]) || n->input_types[i] == BRAID_RESOURCE) return true;
    return bd_node_has_flag(n, BD_OP_STATEFUL);
}

static braid_code make_item(bd_plan *p, const braid_op *n, int32_t frame, bd_kernel_store *store,
                            braid_status *st)
{
    bd_plan_item *it = &p->items[n->id];
    bd_plan_frame *f = &p->frames[frame];
    const bd_kernel *kernel;
    braid_code code = bd_kernel_find(n, p->device->type, &kernel, st);
    if (!code) code = check_inputs(n, st);
    if (!code) code = bind(p, n, kernel, store, &it->state, st);
    if (code) return bd_status_suffix(st, " [[{{node %s}}]]", n->name);
    bool is_async = kernel->start != NULL;
    it->run = is_async ? kernel->start : kernel->run;
    it->node = n;
    it->flags = role_flags(n) | (takes_reference(n) ? BD_ITEM_TAKES_REFERENCE : 0) |
                (kernel->flags & BD_KERNEL_EXPENSIVE ? BD_ITEM_EXPENSIVE : 0) |
                (changes_state(n, kernel) ? BD_ITEM_CHANGES_STATE : 0) | (is_async ? BD_ITEM_ASYNC : 0);
    it->input_count = n->input_count;
    it->output_count = n->output_count;
    it->frame = frame;
    it->first_input = f->slot_count;
    f->slot_count += n->input_count;
    it->counter = f->counter_count++;
    if (is_async) it->async = f->async_count++;
    bd_op_role role = bd_node_role(n);
    p->calls_functions |= (kernel->flags & BD_KERNEL_CALLS) != 0;
    p->uses_rendezvous |=
        role == BD_ROLE_SEND || role == BD_ROLE_RECV || bd_node_has_flag(n, BD_OP_USES_RENDEZVOUS);
    p->may_leave_values |= role == BD_ROLE_MERGE || frame > 0;
    if (n->output_count > p->output_count_max) p->output_count_max = n->output_count;
    return BRAID_OK;
}

// Outputs of async operations lie behind the slots of the inputs, so that they outlive the thread that began
// them.
static void place_async_outputs(bd_plan *p)
{
    for (int i = 0; i < p->item_count; i++) {
        bd_plan_item *it = &p->items[i];
        if (!(it->flags & BD_ITEM_ASYNC)) continue;
        it->async_slot = p->frames[it->frame].slot_count;
        p->frames[it->frame].slot_count += it->output_count;
    }
}

// ---- Edges and counters ----

static void add_edges_of(bd_plan *p, const bd_consumers *consumers, const braid_op *n, int32_t *next)
{
    bd_plan_item *it = &p->items[n->id];
    it->first_edge = *next;
    for (int i = consumers->offsets[n->id]; i < consumers->offsets[n->id + 1]; i++) {
        const bd_consumer *c = &consumers->items[i];
        const bd_plan_item *to = &p->items[c->node->id];
        p->edges[(*next)++] = (bd_plan_edge){
            .item = c->node->id,
            .slot = c->input < 0 ? -1 : to->first_input + c->input,
            .output = c->output,
            .flags = to->flags & BD_ITEM_MERGE ? BD_EDGE_TO_MERGE : 0,
        };
    }
    it->edge_end = *next;
    bool seen[64] = {0}; // outputs beyond are copied along all their edges
    for (int32_t e = it->edge_end - 1; e >= it->first_edge; e--) {
        int32_t output = p->edges[e].output;
        if (output < 0 || output >= (int32_t)BD_COUNTOF(seen) || seen[output]) continue;
        seen[output] = true;
        p->edges[e].flags |= BD_EDGE_LAST;
    }
}

static void add_constant_edges(bd_plan *p, const bd_consumers *consumers, const braid_op *n)
{
    const braid_tensor *tensor = bd_node_attr_tensor(n, "value");
    p->constant_nodes[p->constant_node_count++] = n;
    for (int i = consumers->offsets[n->id]; i < consumers->offsets[n->id + 1]; i++) {
        const bd_consumer *c = &consumers->items[i];
        const bd_plan_item *to = &p->items[c->node->id];
        p->frames[0].initial[to->counter] -= 1;
        if (c->input < 0) continue;
        p->constants[p->constant_count++] =
            (bd_plan_constant){.slot = to->first_input + c->input, .tensor = tensor};
    }
}

static void set_counters(bd_plan *p, const bool *folded)
{
    for (int f = 0; f < p->frame_count; f++)
        p->frames[f].initial = BD_ARENA_ARRAY(&p->arena, uint64_t, (size_t)p->frames[f].counter_count);
    for (int i = 0; i < p->item_count; i++) {
        const bd_plan_item *it = &p->items[i];
        const braid_op *n = p->graph.nodes.items[i];
        if (folded[i]) continue;
        uint64_t *initial = &p->frames[it->frame].initial[it->counter];
        bool is_merge = it->flags & BD_ITEM_MERGE;
        *initial = is_merge ? (uint64_t)n->control_count * 2 + 1
                            : (uint64_t)n->control_count + (uint64_t)n->input_count;
    }
}

static void connect(bd_plan *p, const bd_consumers *consumers, const bool *folded)
{
    int edge_count = consumers->offsets[p->item_count];
    p->edges = BD_ARENA_ARRAY(&p->arena, bd_plan_edge, (size_t)edge_count);
    p->constants = BD_ARENA_ARRAY(&p->arena, bd_plan_constant, (size_t)edge_count);
    p->constant_nodes = BD_ARENA_ARRAY(&p->arena, const braid_op *, (size_t)p->item_count);
    int32_t next = 0;
    for (int i = 0; i < p->item_count; i++) {
        if (folded[i])
            add_constant_edges(p, consumers, p->graph.nodes.items[i]);
        else
            add_edges_of(p, consumers, p->graph.nodes.items[i], &next);
    }
    for (int32_t e = 0; e < next; e++) {
        const bd_plan_item *to = &p->items[p->edges[e].item];
        if (!(to->flags & BD_ITEM_MERGE) && p->frames[to->frame].initial[to->counter] == 1)
            p->edges[e].flags |= BD_EDGE_ONLY;
    }
}

// Receives begin first, so that they overlap with computation.
static void find_roots(bd_plan *p, const bool *folded)
{
    p->roots = BD_ARENA_ARRAY(&p->arena, int32_t, (size_t)p->item_count);
    for (int is_receive = 1; is_receive >= 0; is_receive--) {
        for (int i = 0; i < p->item_count; i++) {
            const bd_plan_item *it = &p->items[i];
            if (folded[i] || it->frame != 0 || (bd_node_role(it->node) == BD_ROLE_RECV) != is_receive)
                continue;
            if (p->frames[0].initial[it->counter] == 0) p->roots[p->root_count++] = i;
        }
    }
}

// ---- Plans ----

static void take_graph(bd_plan *p, braid_graph *g)
{
    struct bd_graph_turns *turns = g->turns; // they stay with the memory of the graph
    p->graph = *g;
    p->graph.turns = NULL;
    memset(g, 0, sizeof *g);
    bd_graph_init(g);
    g->turns = turns;
    for (size_t i = 0; i < p->graph.nodes.len; i++)
        p->graph.nodes.items[i]->graph = &p->graph;
}

// Ops that Braid does not know are kept in graphs; here a run reaches one.
static braid_code check_ops(const bd_plan *p, braid_status *st)
{
    for (int i = 0; i < p->item_count; i++) {
        const braid_op *n = p->graph.nodes.items[i];
        if (n->def) continue;
        const bd_kernel *none;
        bd_kernel_find(n, p->device->type, &none, st);
        return bd_status_suffix(st, " [[{{node %s}}]]", n->name);
    }
    return BRAID_OK;
}

static braid_code make_frames(bd_plan *p, const bd_consumers *consumers, bd_frames *frames, braid_status *st)
{
    braid_code code = bd_frames_find(&p->graph, consumers, frames, st);
    if (code) return code;
    p->frame_count = frames->count;
    p->frames = BD_ARENA_ARRAY(&p->arena, bd_plan_frame, (size_t)frames->count);
    for (int i = 0; i < frames->count; i++) {
        p->frames[i].name = frames->items[i].name;
        p->frames[i].enter_count = frames->items[i].enter_count;
        p->frames[i].parallel_iterations = frames->items[i].parallel_iterations;
    }
    p->frame_of_enter =
        bd_arena_memdup(&p->arena, frames->entered, (size_t)p->item_count * sizeof *frames->entered);
    return BRAID_OK;
}

static braid_code build(bd_plan *p, const bd_consumers *consumers, bd_kernel_store *store, braid_status *st)
{
    size_t n = (size_t)p->item_count;
    bd_frames frames = {0};
    p->items = BD_ARENA_ARRAY(&p->arena, bd_plan_item, n);
    bool *folded = BD_ARENA_ARRAY(&p->arena, bool, n);
    braid_code code = check_ops(p, st);
    if (!code) code = make_frames(p, consumers, &frames, st);
    for (size_t i = 0; !code && i < n; i++) {
        const braid_op *node = p->graph.nodes.items[i];
        folded[i] = is_folded(consumers, node);
        if (!folded[i]) code = make_item(p, node, frames.of[i], store, st);
    }
    bd_frames_fini(&frames);
    if (code) return code;
    place_async_outputs(p);
    set_counters(p, folded);
    connect(p, consumers, folded);
    find_roots(p, folded);
    for (int f = 0; f < p->frame_count; f++)
        p->frames[f].iteration_size = bd_iteration_size(&p->frames[f]);
    return BRAID_OK;
}

static void destroy(bd_plan *p)
{
    while (p->free_runs) {
        struct bd_run *r = p->free_runs;
        p->free_runs = bd_run_next_free(r);
        bd_run_destroy(r);
    }
    for (size_t i = 0; i < p->states.len; i++) {
        const struct owned_state *s = &p->states.items[i];
        if (s->kernel->destroy) s->kernel->destroy(s->state);
    }
    bd_array_free(&p->states);
    bd_arena_fini(&p->arena);
    bd_graph_fini(&p->graph);
    bd_charge_fini(&p->charge);
    bd_mutex_fini(&p->mu);
    bd_free(p);
}

// The graph, the arrays, and the memory of one execution, which the plan keeps.
static braid_code charge(bd_plan *p, braid_status *st)
{
    const size_t bytes = sizeof *p + bd_graph_bytes(&p->graph) + p->arena.held + p->frames[0].iteration_size;
    return bd_charge_set(&p->charge, bytes, "A part of the graph", st);
}

braid_code bd_plan_compile(braid_graph *g, bd_device *device, bd_kernel_store *store, bd_plan **plan,
                           braid_status *st)
{
    *plan = NULL;
    bd_plan *p = bd_calloc(1, sizeof *p);
    atomic_init(&p->refs, 1);
    bd_mutex_init(&p->mu);
    bd_arena_init(&p->arena);
    p->device = device;
    take_graph(p, g);
    p->item_count = (int)p->graph.nodes.len;
    bd_consumers consumers = {0};
    bd_graph_consumers(&p->graph, &consumers);
    braid_code code = build(p, &consumers, store, st);
    bd_consumers_fini(&consumers);
    if (!code) code = charge(p, st);
    if (code) {
        destroy(p);
        return code;
    }
    *plan = p;
    return BRAID_OK;
}

bd_plan *bd_plan_ref(bd_plan *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void bd_plan_unref(bd_plan *p)
{
    if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) destroy(p);
}

bool bd_plan_has_loops(const bd_plan *p)
{
    return p->frame_count > 1 || p->calls_functions;
}

const braid_graph *bd_plan_graph(const bd_plan *p)
{
    return &p->graph;
}

bool bd_plan_uses_rendezvous(const bd_plan *p)
{
    return p->uses_rendezvous;
}
