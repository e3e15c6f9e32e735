// Scaffolds: the defaults of their members.
#include "base/alloc.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>
#include <braid/scaffold.h>

// The node that fills all tables: a group, or a no-op without tables, under TensorFlow's name of both.
static braid_op *initialize_tables(braid_graph *g)
{
    int count;
    const braid_out *tables = braid_collection(g, BRAID_TABLE_INITIALIZERS, &count);
    if (!count) return braid_no_op(g, "init_all_tables");
    braid_op **ops = bd_calloc((size_t)count, sizeof *ops);
    for (int i = 0; i < count; i++)
        ops[i] = tables[i].op;
    braid_op *all = braid_group(g, "init_all_tables", ops, count);
    bd_free(ops);
    return all;
}

static braid_op *initialize_locals(braid_graph *g)
{
    braid_op *local[2];
    local[0] = braid_local_variables_initializer(g);
    local[1] = initialize_tables(g);
    return braid_group(g, NULL, local, 2);
}

void braid_scaffold_finalize(braid_scaffold *s, braid_graph *g)
{
    if (!s->init_op) s->init_op = braid_global_variables_initializer(g);
    int local_count;
    (void)braid_collection(g, BRAID_LOCAL_VARIABLES, &local_count);
    const bool is_ready_default = !s->ready.op;
    if (is_ready_default) s->ready = braid_report_uninitialized_variables(g);
    if (!s->ready_for_local_init.op)
        s->ready_for_local_init =
            is_ready_default && !local_count ? s->ready : train_report_uninitialized_globals(g);
    if (!s->local_init_op) s->local_init_op = initialize_locals(g);
}
