// Datasets of elements given one by one: ListDataset, WindowOp.
#include "ops/dataset/in_memory.h"

#include "ops/common/element.h"

// The inputs are the tensors of the elements, one element after the other.
static void list_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_attr *types = bd_node_attr(c->node, "output_types"),
                  *shapes = bd_node_attr(c->node, "output_shapes");
    int count = types->list.count;
    bd_dataset *d;
    if (shapes->list.count != count || c->input_count % count != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%d tensors cannot be elements of %d components, of which %d shapes are given",
                   c->input_count, count, shapes->list.count);
        return;
    }
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *t = bd_input(c, i);
        if (bd_check_components(
                (bd_components){1, &types->list.type[i % count], &shapes->list.shape[i % count]},
                (bd_components){1, &t->dtype, &t->shape}, st)) {
            bd_op_fail_status(c, st);
            return;
        }
    }
    braid_tensor *held =
        bd_held_dataset_new(count, types->list.type, shapes->list.shape, c->input_count / count, &d, st);
    if (!held) {
        bd_op_fail_status(c, st);
        return;
    }
    for (int i = 0; i < c->input_count && !bd_op_failed(c); i++)
        if (!bd_tensor_keep(&held[i], bd_input(c, i)))
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying an element of a dataset");
    if (bd_op_failed(c))
        bd_dataset_unref(d);
    else
        bd_output_dataset(c, d);
}

BD_OP(ListDataset) = {
    .signature = "(tensors: Tinput_types...) -> (handle: variant)",
    .attrs = "Tinput_types:list(type)>=1; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = list_run}),
    .doc = "A dataset of the given elements, each of as many tensors as there are output types.",
};

BD_OP(WindowOp) = {
    .signature = "(inputs: Tinputs...) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; Tinputs:list(type)>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = list_run}),
    .doc = "A window, which is a dataset, of the given elements.",
};
