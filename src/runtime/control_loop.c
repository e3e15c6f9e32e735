// Control loops, as TensorFlow's partitioner makes them (Yu et al., Dynamic Control Flow in Large-Scale
// Machine Learning, EuroSys 2018, section 4.4).
//
// For a loop frame F and a device D that receives a value from another device within F, D gets
//
//     Const or the outer loop's Merge -> Enter(F) -> Merge -> Switch -> NextIteration -> back to Merge
//                                                              ^ pred: F's LoopCond, from its device
//
// which starts an iteration of F on D whenever another device starts one. Each node on D that receives such a
// value waits for that Merge; the partitioner moves the wait to the _Recv, which thus runs once in each
// iteration. All nodes of control loops have names that begin with "_cloop".
#include "runtime/control_loop.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "graph/frames.h"
#include <string.h>

#define PREFIX "_cloop"

typedef struct control_loop {
    braid_op *enter, *merge;
} control_loop;

typedef struct adder {
    braid_graph *graph; // the copy
    bd_frames frames;
    int32_t source_count; // nodes before any was added
    braid_op **conds;     // LoopCond of each frame; NULL
    bd_map loops;         // "frame@device" -> control_loop
    bd_arena arena;
} adder;

static bool is_of_control_loop(const braid_op *n)
{
    return strncmp(n->name, PREFIX, strlen(PREFIX)) == 0;
}

const braid_op *bd_control_loop_of(const braid_op *n)
{
    for (int i = 0; i < n->control_count; i++) {
        const braid_op *c = n->controls[i];
        if (bd_node_role(c) == BD_ROLE_MERGE && is_of_control_loop(c)) return c;
    }
    return NULL;
}

// ---- Is it needed? ----

static bool crosses(const bd_frames *f, const braid_op *from, const braid_op *to)
{
    return f->of[to->id] != 0 && strcmp(from->assigned_device, to->assigned_device) != 0;
}

static bool takes_across(const bd_frames *f, const braid_op *n)
{
    for (int i = 0; i < n->input_count; i++) {
        if (crosses(f, n->inputs[i].op, n)) return true;
    }
    for (int i = 0; i < n->control_count; i++) {
        if (crosses(f, n->controls[i], n)) return true;
    }
    return false;
}

// ---- Copying the graph ----

static void copy_graph(const braid_graph *g, braid_graph *out)
{
    bd_graph_init(out);
    out->producer = g->producer;
    out->min_consumer = g->min_consumer;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        braid_out *none = bd_calloc((size_t)n->input_count + 1, sizeof *none);
        bd_graph_copy_node(out, n, none, n->input_count, NULL, 0);
        bd_free(none);
    }
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        braid_op *copy = out->nodes.items[i];
        for (int k = 0; k < n->input_count; k++) {
            braid_out from = {.op = out->nodes.items[n->inputs[k].op->id], .index = n->inputs[k].index};
            bd_node_set_input(copy, k, from);
        }
        for (int k = 0; k < n->control_count; k++)
            bd_node_add_control(copy, out->nodes.items[n->controls[k]->id]);
    }
}

// ---- Colocation ----

static const char *device_of_consumer(const bd_consumers *consumers, const braid_op *n)
{
    for (int i = consumers->offsets[n->id]; i < consumers->offsets[n->id + 1]; i++) {
        if (consumers->items[i].input >= 0) return consumers->items[i].node->assigned_device;
    }
    return n->assigned_device;
}

// Switch and Exit are placed with their data input. Enter and NextIteration must be placed with their
// consumer: they send in some iterations only, and the other side waits in each.
static void colocate(braid_graph *g, const bd_consumers *consumers)
{
    for (size_t i = 0; i < g->nodes.len; i++) {
        braid_op *n = g->nodes.items[i];
        bd_op_role role = bd_node_role(n);
        if ((role == BD_ROLE_SWITCH || role == BD_ROLE_EXIT) && n->input_count > 0)
            n->assigned_device = n->inputs[0].op->assigned_device;
    }
    for (size_t i = g->nodes.len; i-- > 0;) {
        braid_op *n = g->nodes.items[i];
        bd_op_role role = bd_node_role(n);
        bool may_move = n->input_count > 0 && !bd_dtype_is_ref(n->input_types[0]);
        if ((role == BD_ROLE_ENTER || role == BD_ROLE_NEXT_ITERATION) && may_move)
            n->assigned_device = device_of_consumer(consumers, n);
    }
}

// ---- Adding ----

static bd_named_attr type_attr(const char *name, braid_dtype value)
{
    return (bd_named_attr){.name = name, .value = {.kind = BD_ATTR_TYPE, .type = value}};
}

// Adds a node beside `near`, on its device. `spec` has its op, inputs and attrs.
static braid_code add_node(adder *a, const braid_op *near, bd_node_spec spec, braid_op **node,
                           braid_status *st)
{
    char *base = bd_asprintf(PREFIX "/%s/%s", near->name, spec.op_type);
    spec.name = bd_graph_unique_name(a->graph, base);
    spec.device = spec.assigned_device = near->assigned_device;
    braid_code code = bd_graph_add(a->graph, &spec, node, st);
    bd_free(base);
    return code;
}

static braid_code add_const(adder *a, const braid_op *near, braid_op **node, braid_status *st)
{
    braid_tensor zero = {0};
    braid_code code = bd_tensor_init(&zero, BRAID_INT32, &BD_SCALAR, st);
    if (code) return code;
    bd_tensor_i32(&zero)[0] = 0;
    bd_named_attr attrs[] = {type_attr("dtype", BRAID_INT32),
                             {.name = "value", .value = {.kind = BD_ATTR_TENSOR, .tensor = &zero}}};
    code = add_node(a, near, (bd_node_spec){.op_type = "Const", .attrs = attrs, .attr_count = 2}, node, st);
    bd_tensor_fini(&zero);
    return code;
}

static braid_code add_enter(adder *a, const braid_op *near, const bd_graph_frame *frame, braid_op *input,
                            braid_op **enter, braid_status *st)
{
    bd_named_attr attrs[] = {
        type_attr("T", BRAID_INT32),
        {.name = "frame_name",
         .value = {.kind = BD_ATTR_STRING, .s = {.data = (char *)frame->name, .len = strlen(frame->name)}}},
        {.name = "parallel_iterations", .value = {.kind = BD_ATTR_INT, .i = frame->parallel_iterations}},
    };
    braid_out in = {.op = input};
    return add_node(
        a, near,
        (bd_node_spec){.op_type = "Enter", .inputs = &in, .input_count = 1, .attrs = attrs, .attr_count = 3},
        enter, st);
}

// Adds the nodes of one control loop beside `near`; `outer` is the input of its Enter.
static braid_code add_loop(adder *a, const braid_op *near, int32_t frame, braid_op *outer, control_loop *loop,
                           braid_status *st)
{
    const bd_graph_frame *f = &a->frames.items[frame];
    bd_named_attr type = type_attr("T", BRAID_INT32);
    braid_code code = add_enter(a, near, f, outer, &loop->enter, st);
    if (code) return code;
    // The second input is set when the NextIteration exists.
    braid_out both[] = {{.op = loop->enter}, {.op = loop->enter}};
    bd_named_attr merge_attrs[] = {type, {.name = "N", .value = {.kind = BD_ATTR_INT, .i = 2}}};
    code = add_node(
        a, near,
        (bd_node_spec){
            .op_type = "Merge", .inputs = both, .input_count = 2, .attrs = merge_attrs, .attr_count = 2},
        &loop->merge, st);
    if (code) return code;
    braid_op *switch_node, *next;
    braid_out switch_inputs[] = {{.op = loop->merge}, {.op = a->conds[frame]}};
    code = add_node(
        a, near,
        (bd_node_spec){
            .op_type = "Switch", .inputs = switch_inputs, .input_count = 2, .attrs = &type, .attr_count = 1},
        &switch_node, st);
    if (code) return code;
    braid_out goes_on = {.op = switch_node, .index = 1};
    code = add_node(a, near,
                    (bd_node_spec){.op_type = "NextIteration",
                                   .inputs = &goes_on,
                                   .input_count = 1,
                                   .attrs = &type,
                                   .attr_count = 1},
                    &next, st);
    if (code) return code;
    bd_node_set_input(loop->merge, 1, (braid_out){.op = next});
    // The predicate is received in each iteration too.
    bd_node_add_control(switch_node, loop->merge);
    return BRAID_OK;
}

// Returns the control loop of a frame on the device of `near`, with those of the frames around it. Frames are
// not nested deeply.
static braid_code need_loop(adder *a, const braid_op *near, int32_t frame, control_loop **out,
                            braid_status *st)
{
    char *key = bd_arena_asprintf(&a->arena, "%d@%s", frame, near->assigned_device);
    *out = bd_map_get(&a->loops, key);
    if (*out) return BRAID_OK;
    const bd_graph_frame *f = &a->frames.items[frame];
    if (!a->conds[frame])
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A cross-device loop must have a pivot predicate: %s",
                       f->name);
    braid_op *outer = NULL;
    braid_code code;
    if (f->parent == 0) {
        code = add_const(a, near, &outer, st);
    } else {
        control_loop *around;
        code = need_loop(a, near, f->parent, &around, st);
        if (!code) outer = around->merge;
    }
    if (code) return code;
    *out = BD_ARENA_NEW(&a->arena, control_loop);
    bd_map_put(&a->loops, key, *out);
    return add_loop(a, near, frame, outer, *out, st);
}

static braid_code add_all(adder *a, braid_status *st)
{
    a->conds = BD_ARENA_ARRAY(&a->arena, braid_op *, (size_t)a->frames.count);
    for (int32_t i = 0; i < a->source_count; i++) {
        braid_op *n = a->graph->nodes.items[i];
        if (bd_node_role(n) == BD_ROLE_LOOP_COND) a->conds[a->frames.of[i]] = n;
    }
    braid_code code = BRAID_OK;
    for (int32_t i = 0; !code && i < a->source_count; i++) {
        braid_op *n = a->graph->nodes.items[i];
        if (!takes_across(&a->frames, n)) continue;
        control_loop *loop;
        code = need_loop(a, n, a->frames.of[i], &loop, st);
        if (!code) bd_node_add_control(n, loop->merge);
    }
    return code;
}

static braid_code add_to_copy(const bd_consumers *consumers, const bd_frames *frames, braid_graph *out,
                              braid_status *st)
{
    adder a = {.graph = out, .frames = *frames, .source_count = (int32_t)out->nodes.len};
    colocate(out, consumers);
    braid_code code = add_all(&a, st);
    bd_map_fini(&a.loops);
    bd_arena_fini(&a.arena);
    return code;
}

// Returns whether the graph has loops and no control loops yet.
static bool is_needed(const braid_graph *g)
{
    bool has_loops = false;
    for (size_t i = 0; i < g->nodes.len; i++) {
        const braid_op *n = g->nodes.items[i];
        if (is_of_control_loop(n) || !n->assigned_device) return false;
        has_loops |= bd_node_role(n) == BD_ROLE_ENTER;
    }
    return has_loops;
}

braid_code bd_control_loops_add(const braid_graph *g, braid_graph *out, bool *added, braid_status *st)
{
    *added = false;
    if (!is_needed(g)) return BRAID_OK;
    bd_consumers consumers = {0};
    bd_frames frames = {0};
    copy_graph(g, out);
    bd_graph_consumers(out, &consumers);
    braid_code code = bd_frames_find(out, &consumers, &frames, st);
    if (!code) code = add_to_copy(&consumers, &frames, out, st);
    bd_frames_fini(&frames);
    bd_consumers_fini(&consumers);
    if (code) bd_graph_fini(out);
    *added = !code;
    return code;
}
