// Rows of tensors. (embedding.c has those of variables.)
#include <braid/ops.h>

#include "train/common/build.h"

braid_out train_gather(braid_graph *g, const char *name, braid_out params, braid_out indices)
{
    const char *scope = braid_push_name_scope(g, name ? name : "GatherV2");
    braid_out axis = braid_const_int32(g, "axis", 0);
    braid_out rows = train_node3(g, "GatherV2", scope, params, indices, axis);
    braid_pop_name_scope(g);
    return rows;
}

braid_out braid_gather(braid_graph *g, braid_out params, braid_out indices)
{
    return train_gather(g, NULL, params, indices);
}
