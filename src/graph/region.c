// Regions: bringing values in.
#include "graph/region.h"

#include "base/alloc.h"
#include "graph/builder.h"

// The values of `made`.
enum {
    COMES_AND_GOES = 1,
    STAYS = 2
};

static void init(bd_region *r, braid_graph *g, bd_region *outer)
{
    *r = (bd_region){.graph = g, .outer = outer};
    bd_imap_init(&r->made);
    bd_imap_init(&r->brought);
}

void bd_region_init_loop(bd_region *r, braid_graph *g, bd_region *outer, const char *frame,
                         int parallel_iterations)
{
    init(r, g, outer);
    r->frame = frame;
    r->parallel_iterations = parallel_iterations;
}

void bd_region_init_branch(bd_region *r, braid_graph *g, bd_region *outer, braid_out pred, int branch)
{
    init(r, g, outer);
    r->pred = pred;
    r->branch = branch;
}

void bd_region_fini(bd_region *r)
{
    size_t pos = 0;
    void *out;
    while (bd_imap_next(&r->brought, &pos, NULL, &out))
        bd_free(out);
    bd_imap_fini(&r->brought);
    bd_imap_fini(&r->made);
}

bd_region *bd_region_swap(braid_graph *g, bd_region *r)
{
    bd_builder *b = bd_graph_builder(g);
    bd_region *before = b->region;
    b->region = r;
    return before;
}

void bd_region_add(bd_region *r, const braid_op *n, bool stays)
{
    if (r && n) bd_imap_put(&r->made, (uint64_t)n->id, (void *)(uintptr_t)(stays ? STAYS : COMES_AND_GOES));
}

bool bd_region_has(const bd_region *r, const braid_op *n)
{
    return bd_imap_get(&r->made, (uint64_t)n->id) != NULL;
}

static bool stays(const bd_region *r, const braid_op *n)
{
    return (uintptr_t)bd_imap_get(&r->made, (uint64_t)n->id) == STAYS;
}

// ---- Nodes at the border ----

// Begins a node that is in no region and has no control inputs but its own.
static braid_op *end_bare(braid_graph *g, const char *op, const char *name, const braid_out *inputs,
                          int count, const bd_region *entered, bool is_constant)
{
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_op_desc *d = braid_op_begin(g, op, name);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (entered) {
        braid_op_attr_string(d, "frame_name", entered->frame);
        braid_op_attr_bool(d, "is_constant", is_constant);
        braid_op_attr_int(d, "parallel_iterations", entered->parallel_iterations);
    }
    braid_op *n = braid_op_end(d);
    braid_pop_control(g);
    bd_region_swap(g, before);
    return n;
}

static bool is_ref(braid_out out)
{
    return out.op && bd_dtype_is_ref(braid_out_dtype(out));
}

braid_out bd_region_enter(bd_region *r, braid_out from, const char *name, bool is_constant)
{
    braid_op *n = end_bare(r->graph, is_ref(from) ? "RefEnter" : "Enter", name, &from, 1, r, is_constant);
    bd_region_add(r, n, is_constant);
    return braid_output(n, 0);
}

braid_out bd_region_exit(bd_region *r, braid_out from, const char *name)
{
    braid_op *n = end_bare(r->graph, is_ref(from) ? "RefExit" : "Exit", name, &from, 1, NULL, false);
    bd_region_add(r->outer, n, false);
    return braid_output(n, 0);
}

braid_op *bd_region_switch(bd_region *r, braid_out data, braid_out pred, const char *name)
{
    const braid_out inputs[2] = {data, pred};
    braid_op *n = end_bare(r->graph, is_ref(data) ? "RefSwitch" : "Switch", name, inputs, 2, NULL, false);
    bd_region_add(r, n, false);
    return n;
}

braid_out bd_region_merge(bd_region *r, braid_out first, const char *name)
{
    braid_graph *g = r->graph;
    bd_region *before = bd_region_swap(g, NULL);
    braid_push_control(g, NULL, 0);
    braid_op_desc *d = braid_op_begin(g, is_ref(first) ? "RefMerge" : "Merge", name);
    braid_op_input_list(d, (braid_out[]){first, first}, 2);
    braid_op *n = braid_op_end(d);
    braid_pop_control(g);
    bd_region_swap(g, before);
    bd_region_add(r, n, false);
    return braid_output(n, 0);
}

void bd_region_next(bd_region *r, braid_out merge, braid_out next)
{
    if (merge.op && next.op && !r->graph->status.code) bd_node_set_input(merge.op, 1, next);
}

// ---- Bringing ----

static uint64_t key_of(braid_out out)
{
    return (uint64_t)out.op->id << 16 | (uint64_t)(out.index & 0xffff);
}

static braid_out bring_by_node(bd_region *r, braid_out outside)
{
    if (r->frame) return bd_region_enter(r, outside, NULL, true);
    const braid_out pred = bd_region_bring(r->outer, r->pred);
    if (!outside.op) return outside;
    bd_builder_push_colocate_only(r->graph, outside.op);
    braid_op *n = bd_region_switch(r, outside, pred, NULL);
    braid_pop_colocate(r->graph);
    return braid_output(n, r->branch);
}

bool bd_region_knows(const bd_region *r, braid_out from, braid_out *here)
{
    const braid_out *known = bd_imap_get(&r->brought, key_of(from));
    if (known) *here = *known;
    return known != NULL;
}

void bd_region_set(bd_region *r, braid_out from, braid_out here)
{
    braid_out known;
    if (here.op && !bd_region_knows(r, from, &known))
        bd_imap_put(&r->brought, key_of(from), bd_memdup(&here, sizeof here));
}

braid_out bd_region_bring(bd_region *r, braid_out from)
{
    if (!r || !from.op || r->graph->status.code || bd_region_has(r, from.op)) return from;
    braid_out here = {0};
    if (bd_region_knows(r, from, &here)) return here;
    if (!r->bring || !r->bring(r, from, &here)) here = bring_by_node(r, bd_region_bring(r->outer, from));
    bd_region_set(r, from, here);
    return here;
}

void bd_region_take(bd_region *r, braid_op *n, const bd_op_list *controls)
{
    if (r->moves && r->moves(r, n)) return;
    if (r->take) {
        for (size_t i = 0; i < controls->len; i++)
            bd_node_add_control(n, controls->items[i]);
        bd_region_add(r, n, false);
        r->take(r, n);
        return;
    }
    braid_graph *g = r->graph;
    bool goes = false;
    braid_push_name_scope(g, bd_arena_asprintf(&g->arena, "%s/", n->name));
    for (int i = 0; i < n->input_count && !g->status.code; i++) {
        const braid_out here = bd_region_bring(r, n->inputs[i]);
        if (here.op && (here.op != n->inputs[i].op || here.index != n->inputs[i].index))
            bd_node_set_input(n, i, here);
        goes = goes || (here.op && !stays(r, here.op));
    }
    braid_pop_name_scope(g);
    for (size_t i = 0; i < controls->len; i++) {
        if (!bd_region_has(r, controls->items[i])) continue;
        goes = goes || !stays(r, controls->items[i]);
        bd_node_add_control(n, controls->items[i]);
    }
    if (!goes && r->pivot) bd_node_add_control(n, r->pivot);
    bd_region_add(r, n, false);
}
