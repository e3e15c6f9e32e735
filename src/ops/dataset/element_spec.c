// Components and answers, common to the kinds of iterators that are resources.
#include "base/alloc.h"
#include "ops/dataset/iterator.h"

braid_code bd_promised_components_read(bd_promised_components *p, const braid_op *node, braid_status *st)
{
    const bd_attr *types = bd_node_attr(node, "output_types"), *shapes = bd_node_attr(node, "output_shapes");
    int count = types->list.count;
    if (shapes->list.count != count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "`output_shapes` must be the same length as `output_types` (%d vs. %d)",
                       shapes->list.count, count);
    p->count = count;
    p->types = bd_memdup(types->list.type, (size_t)count * sizeof *p->types);
    p->shapes = bd_memdup(shapes->list.shape, (size_t)count * sizeof *p->shapes);
    return BRAID_OK;
}

void bd_promised_components_fini(bd_promised_components *p)
{
    bd_free((void *)p->types);
    bd_free((void *)p->shapes);
}

braid_code bd_promised_components_check(const bd_promised_components *p, const braid_op *node,
                                        braid_status *st)
{
    const bd_attr *types = bd_node_attr(node, "output_types"), *shapes = bd_node_attr(node, "output_shapes");
    if (types->list.count == 0) return BRAID_OK; // IteratorFromStringHandle may omit them
    bool has_shapes = shapes->list.count == types->list.count;
    return bd_check_components(
        (bd_components){types->list.count, types->list.type, has_shapes ? shapes->list.shape : p->shapes},
        BD_COMPONENTS(p), st);
}

void bd_output_answer(bd_op_ctx *c, bd_answer *answer, int count)
{
    if (answer->kind == BD_ANSWER_ERROR) {
        bd_op_fail_status(c, &answer->st);
        return;
    }
    if (answer->kind == BD_ANSWER_END) {
        bd_op_fail(c, BRAID_OUT_OF_RANGE, "End of sequence");
        return;
    }
    bool same = c->output_count == count;
    for (int i = 0; i < count && same; i++)
        same = c->node->output_types[i] == answer->tensors[i].dtype;
    if (!same)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s '%s' has outputs of other types than the iterator's components", c->node->op_type,
                   c->node->name);
    for (int i = 0; i < count && same; i++)
        bd_output_set(c, i, &answer->tensors[i]);
}
