// Removes dead nodes and bypasses pass-through nodes.
//
// Three rules, consumers first, so that one enables the next:
// - A pure node with control successors only is not computed; its successors run after its inputs.
//   (TensorFlow's gradients contain many such nodes: the gradient of an image, which the step does not need,
//   delays the update of the weights.)
// - An identity is bypassed: its consumers take its input and run after its control inputs.
// - A node that does nothing (NoOp) is bypassed, too, where that does not add edges.
// At the end control edges that other edges imply are removed.
#include "graph/rewrite_internal.h"

#include "base/check.h"
#include <string.h>

// An edge costs the executor a tenth of a node: a few more edges for one node less are a gain.
#define EDGES_FOR_A_NODE 4
// Edges looked at for one control edge.
#define EDGES_MAX 512

static bool is_identity(const braid_op *n)
{
    return bd_node_has_flag(n, BD_OP_IDENTITY | BD_OP_SAME_VALUE) && bd_rewriter_is_pure(n);
}

static bool does_nothing(const braid_op *n)
{
    return strcmp(n->op_type, "NoOp") == 0;
}

// ---- What consumes a node ----

typedef struct uses {
    int data, controls;
    bool may_take_controls; // all consumers are ops for which another control input means only to wait
} uses;

static bool may_take_controls(const braid_op *n)
{
    switch (bd_node_role(n)) {
    case BD_ROLE_PLAIN:
    case BD_ROLE_CONST:
    case BD_ROLE_METADATA:
    case BD_ROLE_SEND:
    case BD_ROLE_RETVAL: return true;
    default: return false;
    }
}

static uses uses_of(bd_rewriter *r, const braid_op *n)
{
    uses u = {.may_take_controls = true};
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, n, &count);
    for (int i = 0; i < count; i++) {
        *(consumers[i].input >= 0 ? &u.data : &u.controls) += 1;
        u.may_take_controls &= may_take_controls(consumers[i].node);
    }
    return u;
}

static bool is_gain(int edges_in, int edges_out)
{
    return (int64_t)edges_in * edges_out <= (int64_t)edges_in + edges_out + EDGES_FOR_A_NODE;
}

// Everything that consumes `n` runs after `control`.
static void let_consumers_wait(bd_rewriter *r, const braid_op *n, braid_op *control)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, n, &count);
    for (int i = 0; i < count; i++)
        bd_rewriter_add_control(r, consumers[i].node, control);
}

static void drop_control_edges(bd_rewriter *r, const braid_op *n)
{
    int count;
    const bd_consumer *consumers = bd_rewriter_consumers(r, n, &count);
    for (int i = 0; i < count; i++) {
        braid_op *to = consumers[i].node;
        int kept = 0;
        for (int k = 0; k < to->control_count; k++) {
            if (to->controls[k] != n) to->controls[kept++] = to->controls[k];
        }
        to->control_count = kept;
    }
}

// ---- A node that nobody takes a value from ----

// Drops the control inputs that it would have had; a constant without control inputs adds none.
static bool says_nothing(const braid_op *n)
{
    return bd_node_role(n) == BD_ROLE_CONST && n->control_count == 0;
}

// Counts the inputs whose value alone may make the node dead.
static int count_death_bringers(const braid_op *n, int *which)
{
    int count = 0;
    for (int i = 0; i < n->input_count; i++) {
        if (!bd_rewriter_brings_death(n->inputs[i].op)) continue;
        *which = i;
        count++;
    }
    return count;
}

// The node becomes the identity of the one input that may make it dead.
static braid_code become_identity(bd_rewriter *r, braid_op *n, int which, braid_status *st)
{
    if (is_identity(n)) return BRAID_OK;
    const bd_named_attr type = {
        .name = "T", .value = {.kind = BD_ATTR_TYPE, .type = bd_dtype_base(n->input_types[which])}};
    bd_op_list controls = {0};
    for (int i = 0; i < n->control_count; i++)
        bd_array_push(&controls, n->controls[i]);
    for (int i = 0; i < n->input_count; i++) {
        if (i != which && !says_nothing(n->inputs[i].op)) bd_array_push(&controls, n->inputs[i].op);
    }
    braid_out input = n->inputs[which];
    braid_code code = bd_rewriter_become(r, n,
                                         &(bd_node_spec){.op_type = "Identity",
                                                         .inputs = &input,
                                                         .input_count = 1,
                                                         .controls = controls.items,
                                                         .control_count = (int)controls.len,
                                                         .attrs = &type,
                                                         .attr_count = 1},
                                         st);
    bd_array_free(&controls);
    return code;
}

// All that it would have waited for.
static void list_waits(const braid_op *n, bd_op_list *waits)
{
    for (int i = 0; i < n->input_count; i++) {
        if (!says_nothing(n->inputs[i].op)) bd_array_push(waits, n->inputs[i].op);
    }
    for (int i = 0; i < n->control_count; i++)
        bd_array_push(waits, n->controls[i]);
}

// The successors of `n` run after a NoOp in its place.
static braid_code wait_in_its_place(bd_rewriter *r, const braid_op *n, const bd_op_list *waits,
                                    braid_status *st)
{
    braid_op *node;
    braid_code code = bd_rewriter_add(r,
                                      &(bd_node_spec){.op_type = "NoOp",
                                                      .name = bd_graph_unique_name(r->graph, n->name),
                                                      .device = n->device,
                                                      .assigned_device = n->assigned_device,
                                                      .controls = waits->items,
                                                      .control_count = (int)waits->len},
                                      &node, st);
    if (!code) bd_rewriter_move_controls(r, n, node);
    return code;
}

static braid_code drop_computation(bd_rewriter *r, braid_op *n, const uses *u, braid_status *st)
{
    int which = 0, bringers = count_death_bringers(n, &which);
    if (bringers > 1 || !u->may_take_controls) return BRAID_OK;
    if (bringers == 1) return n->output_count == 1 ? become_identity(r, n, which, st) : BRAID_OK;
    bd_op_list waits = {0};
    list_waits(n, &waits);
    braid_code code = BRAID_OK;
    if (is_gain((int)waits.len, u->controls)) {
        for (size_t i = 0; i < waits.len; i++)
            let_consumers_wait(r, n, waits.items[i]);
        drop_control_edges(r, n);
    } else {
        code = wait_in_its_place(r, n, &waits, st);
    }
    bd_array_free(&waits);
    if (!code) bd_rewriter_remove(r, n);
    return code;
}

// ---- Nodes that hand on ----

static void leave_out_identity(bd_rewriter *r, braid_op *n, const uses *u)
{
    braid_out input = n->inputs[0];
    if (u->controls > 0 && (bd_rewriter_brings_death(input.op) || !u->may_take_controls)) return;
    if (n->control_count > 0 && !u->may_take_controls) return;
    if (n->control_count > 0 && !is_gain(n->control_count + 1, u->data + u->controls)) return;
    for (int i = 0; i < n->control_count; i++)
        let_consumers_wait(r, n, n->controls[i]);
    bd_rewriter_move_output(r, (braid_out){n, 0}, input);
    if (u->controls > 0) bd_rewriter_move_controls(r, n, input.op);
    bd_rewriter_remove(r, n);
}

static void leave_out_nothing(bd_rewriter *r, braid_op *n, const uses *u)
{
    if (!u->may_take_controls || !is_gain(n->control_count, u->controls)) return;
    for (int i = 0; i < n->control_count; i++)
        let_consumers_wait(r, n, n->controls[i]);
    drop_control_edges(r, n);
    bd_rewriter_remove(r, n);
}

// ---- Control edges that say nothing new ----

typedef struct walk {
    int *position; // in the order, by node id
    int *seen;     // the number of the walk that saw the node
    int number;
    int left; // edges that the walk may still look at
    bd_op_list open;
} walk;

// Returns whether the node waits for all its inputs, so that their predecessors precede its successors.
static bool waits_for_all(const braid_op *n)
{
    bd_op_role role = bd_node_role(n);
    return role == BD_ROLE_PLAIN || role == BD_ROLE_CONST || role == BD_ROLE_METADATA;
}

static void open_node(walk *w, braid_op *n, int above)
{
    if (w->position[n->id] < above || w->seen[n->id] == w->number) return;
    w->seen[n->id] = w->number;
    bd_array_push(&w->open, n);
}

// Visits the inputs of `n`, except its control input `but`; -1: all.
static void open_inputs(walk *w, const braid_op *n, int but, int above)
{
    if (n->input_count + n->control_count > w->left) return;
    w->left -= n->input_count + n->control_count;
    for (int i = 0; i < n->input_count; i++)
        open_node(w, n->inputs[i].op, above);
    for (int i = 0; i < n->control_count; i++) {
        if (i != but) open_node(w, n->controls[i], above);
    }
}

// Whether `n` runs after its control input `which` in any case.
static bool is_implied(walk *w, const braid_op *n, int which)
{
    const braid_op *control = n->controls[which];
    int above = w->position[control->id];
    w->number++;
    w->open.len = 0;
    w->left = EDGES_MAX;
    open_inputs(w, n, which, above);
    while (w->open.len) {
        const braid_op *at = w->open.items[--w->open.len];
        if (at == control) return true;
        if (waits_for_all(at)) open_inputs(w, at, -1, above);
    }
    return false;
}

static void drop_implied_controls(walk *w, braid_op *n)
{
    if (!may_take_controls(n)) return;
    for (int i = n->control_count - 1; i >= 0; i--) {
        bool is_dropped = says_nothing(n->controls[i]);
        if (!is_dropped && !bd_rewriter_brings_death(n->controls[i])) is_dropped = is_implied(w, n, i);
        if (!is_dropped) continue;
        memmove(&n->controls[i], &n->controls[i + 1],
                (size_t)(n->control_count - i - 1) * sizeof(braid_op *));
        n->control_count--;
    }
}

static braid_code reduce_controls(bd_rewriter *r, braid_status *st)
{
    braid_code code = bd_rewriter_sort(r, st);
    if (code) return code;
    size_t count = r->order.len;
    walk w = {.position = bd_calloc(count + 1, sizeof *w.position),
              .seen = bd_calloc(count + 1, sizeof *w.seen)};
    for (size_t i = 0; i < count; i++)
        w.position[r->order.items[i]->id] = (int)i;
    for (size_t i = 0; i < count; i++)
        drop_implied_controls(&w, r->order.items[i]);
    bd_free(w.position);
    bd_free(w.seen);
    bd_array_free(&w.open);
    return BRAID_OK;
}

static braid_code simplify(bd_rewriter *r, braid_op *n, braid_status *st)
{
    if (r->info.items[n->id].is_root || bd_rewriter_is_removed(r, n)) return BRAID_OK;
    const uses u = uses_of(r, n);
    if (does_nothing(n)) {
        leave_out_nothing(r, n, &u);
    } else if (is_identity(n)) {
        leave_out_identity(r, n, &u);
    } else if (bd_rewriter_is_pure(n) && u.data == 0) {
        return drop_computation(r, n, &u, st);
    }
    return BRAID_OK;
}

braid_code bd_rewrite_dependencies(bd_rewriter *r, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (size_t i = r->order.len; !code && i-- > 0;)
        code = simplify(r, r->order.items[i], st);
    return code ? code : reduce_controls(r, st);
}
