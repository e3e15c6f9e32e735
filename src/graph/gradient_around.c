// The branches of conditionals around a loop that is in no other loop: what gradients add to such a loop, and
// its gradient loop, run when the branch is taken.
#include "graph/gradient_loops_internal.h"

#include "base/alloc.h"
#include <string.h>

struct bd_branch_around {
    bd_region region;
    bd_gradient_loops *all;
    const bd_branch *branch;
    bd_branch_around *next;
};

// A node that runs when the branch is taken: the Identity behind the Switch of the condition by itself. NULL:
// there is none.
static braid_op *pivot_of(bd_gradient_loops *all, const bd_branch *b)
{
    if (strcmp(b->pred.op->op_type, "Identity") != 0) return NULL;
    const bd_consumers *c = &all->consumers;
    const braid_out from = b->pred.op->inputs[0];
    for (int e = c->offsets[from.op->id]; e < c->offsets[from.op->id + 1]; e++) {
        const braid_op *n = c->items[e].node;
        if (bd_node_role(n) != BD_ROLE_SWITCH || c->items[e].input != 0 || c->items[e].output != from.index ||
            bd_branch_condition(all, n).op != b->pred.op)
            continue;
        for (int k = c->offsets[n->id]; k < c->offsets[n->id + 1]; k++)
            if (c->items[k].output == b->taken && c->items[k].input == 0 &&
                strcmp(c->items[k].node->op_type, "Identity") == 0)
                return c->items[k].node;
    }
    return NULL;
}

static bool bring(bd_region *r, braid_out from, braid_out *here)
{
    const bd_branch_around *a = r->arg;
    *here = from;
    if (from.op == r->pred.op && from.index == r->pred.index) return true;
    return bd_branch_is_within(bd_branch_of_output(a->all, from), a->branch);
}

bd_region *bd_gradient_region_of_branch(bd_gradient_loops *all, const bd_branch *b)
{
    if (!b) return NULL;
    for (bd_branch_around *a = all->around; a; a = a->next)
        if (bd_branch_is_same(a->branch, b)) return &a->region;
    bd_region *outer = bd_gradient_region_of_branch(all, b->outer);
    bd_branch_around *a = bd_calloc(1, sizeof *a);
    bd_region_init_branch(&a->region, all->g, outer, b->pred, b->taken);
    a->region.pivot = pivot_of(all, b);
    a->region.bring = bring;
    a->region.arg = a;
    a->all = all;
    a->branch = b;
    a->next = all->around;
    all->around = a;
    return &a->region;
}

const bd_branch *bd_gradient_branch_around(bd_gradient_loops *all, int32_t frame)
{
    for (int id = 0; id < all->count; id++) {
        const braid_op *n = all->g->nodes.items[id];
        if (bd_node_role(n) != BD_ROLE_EXIT || all->frames.of[id] != frame) continue;
        const bd_branch *b = bd_branch_of(all, n);
        return b && bd_gradient_frame_of(all, b->pred.op) == 0 ? b : NULL;
    }
    return NULL;
}

void bd_gradient_around_free(bd_gradient_loops *all)
{
    while (all->around) {
        bd_branch_around *a = all->around;
        all->around = a->next;
        bd_region_fini(&a->region);
        bd_free(a);
    }
}
