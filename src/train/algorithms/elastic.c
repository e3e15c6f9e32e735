// The elastic force of easgd, aeasgd and eamsgd.
#include "train/algorithms/elastic.h"

#include "base/log.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

float train_moving_rate(const braid_algorithm *a)
{
    const float alpha = a->o.learning_rate * a->o.rho;
    if ((float)a->o.num_workers * alpha > 1.001F)
        bd_warn("Elastic averaging of %d workers with the moving rate %g (learning_rate * rho): above 1/%d "
                "the copies and the centre may swing instead of coming together",
                a->o.num_workers, (double)alpha, a->o.num_workers);
    return alpha;
}

// ref += value, or -= it, where the variable lies. Updates of a reference variable take turns.
static braid_op *change(braid_graph *g, const char *reference_op, const char *resource_op, braid_out ref,
                        braid_out value)
{
    if (!ref.op) return NULL;
    const bool is_resource = train_kind_of(ref) == TRAIN_RESOURCE;
    braid_push_colocate(g, ref.op);
    braid_op_desc *d = braid_op_begin(g, is_resource ? resource_op : reference_op, NULL);
    braid_op_input(d, ref);
    braid_op_input(d, value);
    if (!is_resource) braid_op_attr_bool(d, "use_locking", true);
    braid_op *node = braid_op_end(d);
    braid_pop_colocate(g);
    return node;
}

braid_out train_elastic_force(const braid_algorithm *a, const train_copy *c, braid_out difference,
                              float alpha, train_ops *drawn)
{
    braid_graph *g = a->graph;
    train_begin_here(a);
    const braid_out rate = braid_const_number(g, "alpha", braid_out_dtype(difference), (double)alpha);
    const braid_out force = braid_mul(g, difference, rate);
    train_end_here(a);
    bd_array_push(drawn, change(g, "AssignSub", "AssignSubVariableOp", c->copy, force));
    return force;
}

void train_build_elastic_exchange(braid_algorithm *a)
{
    int count;
    const train_copy *copies = train_copies(a->graph, &count);
    const float alpha = train_moving_rate(a);
    train_ops drawn = {0}, moved = {0};
    for (int i = 0; i < count; i++) {
        const braid_out force =
            train_elastic_force(a, &copies[i], train_difference(a, &copies[i]), alpha, &drawn);
        bd_array_push(&moved, change(a->graph, "AssignAdd", "AssignAddVariableOp", copies[i].centre, force));
    }
    braid_op *pushed = braid_group(a->graph, "moved", moved.items, (int)moved.len);
    train_build_exchange(a, pushed, false, drawn.items, (int)drawn.len);
    bd_array_free(&drawn);
    bd_array_free(&moved);
}
