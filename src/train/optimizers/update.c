// The op that updates a variable.
#include "train/optimizers/update.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <stdio.h>

// ---- Updates ----

braid_op *train_update_variable(braid_optimizer *opt, const train_update *u, braid_out grad,
                                braid_out indices, braid_out var)
{
    if (!grad.op || !var.op) return NULL;
    braid_graph *g = braid_optimizer_graph(opt);
    braid_dtype dtype = train_base_dtype(braid_out_dtype(grad));
    braid_out scalars[TRAIN_SCALARS_MAX];
    for (int i = 0; i < u->scalar_count; i++)
        scalars[i] = braid_cast(g, u->scalars[i], dtype);

    char op_type[64];
    snprintf(op_type, sizeof op_type, "%s%s%s", train_kind_of(var) == TRAIN_RESOURCE ? "Resource" : "",
             indices.op ? "Sparse" : "", u->op_type);
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, var);
    for (int i = 0; i < TRAIN_SLOTS_MAX && u->slots[i]; i++)
        braid_op_input(d, braid_optimizer_slot(opt, var, u->slots[i]));
    for (int i = 0; i <= u->scalar_count; i++) {
        if (i == u->grad_at) braid_op_input(d, grad);
        if (i == u->grad_at && indices.op) braid_op_input(d, indices);
        if (i < u->scalar_count) braid_op_input(d, scalars[i]);
    }
    if (u->step.op) braid_op_input(d, u->step);
    braid_op_attr_bool(d, "use_locking", u->use_locking);
    if (u->use_nesterov) braid_op_attr_bool(d, "use_nesterov", true);
    return braid_op_end(d);
}
