// Iterators over datasets.
#include "train/input/dataset_internal.h"

#include <braid/function.h>
#include <braid/scaffold.h>
#include <string.h>

static void put_structure(braid_op_desc *d, const braid_dataset *of, const char *shared_name)
{
    if (shared_name) braid_op_attr_string(d, "shared_name", shared_name);
    braid_op_attr_type_list(d, "output_types", of->dtypes, of->count);
    braid_op_attr_shape_list(d, "output_shapes", of->shapes, of->count);
}

braid_iterator braid_iterator_from_structure(braid_graph *g, braid_dataset like, const char *shared_name)
{
    if (like.count < 1 || !like.dtypes || !like.shapes) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "IteratorV2: its elements have no components");
        return (braid_iterator){0};
    }
    braid_op_desc *d = braid_op_begin(g, "IteratorV2", NULL);
    braid_op_attr_string(d, "container", "");
    put_structure(d, &like, shared_name ? shared_name : "");
    const braid_iterator it = {.handle = braid_op_end_out(d), .dataset = like};
    return it.handle.op ? it : (braid_iterator){0};
}

// Returns whether each tensor of shape `a` has shape `b` too.
static bool is_within(const braid_shape *a, const braid_shape *b)
{
    bool within = b->rank < 0 || a->rank == b->rank;
    for (int i = 0; within && i < b->rank; i++)
        within = b->dims[i] < 0 || a->dims[i] == b->dims[i];
    return within;
}

static bool fits(braid_graph *g, const braid_dataset *of, const braid_dataset *given)
{
    if (of->count != given->count)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "MakeIterator: a dataset of %d components for an iterator of %d", given->count,
                         of->count);
    for (int i = 0; i < of->count && !braid_graph_status(g, NULL); i++) {
        if (of->dtypes[i] != given->dtypes[i])
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "MakeIterator: component %d of the dataset is %s, of the iterator %s", i,
                             braid_dtype_name(given->dtypes[i]), braid_dtype_name(of->dtypes[i]));
        else if (!is_within(&given->shapes[i], &of->shapes[i]))
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "MakeIterator: component %d of the dataset has a shape that the iterator's does "
                             "not allow",
                             i);
    }
    return braid_graph_status(g, NULL) == BRAID_OK;
}

braid_op *braid_iterator_make_initializer(braid_graph *g, braid_iterator it, braid_dataset dataset)
{
    if (!it.handle.op || !dataset.variant.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "MakeIterator: its %s is nothing",
                         it.handle.op ? "dataset" : "iterator");
        return NULL;
    }
    if (!fits(g, &it.dataset, &dataset)) return NULL;
    braid_push_colocate(g, it.handle.op);
    braid_op *op = braid_op_add(g, "MakeIterator", NULL, (braid_out[]){dataset.variant, it.handle}, 2);
    braid_pop_colocate(g);
    return op;
}

braid_iterator braid_make_initializable_iterator(braid_graph *g, braid_dataset dataset,
                                                 const char *shared_name)
{
    if (!dataset.variant.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "IteratorV2: its dataset is nothing");
        return (braid_iterator){0};
    }
    braid_iterator it = braid_iterator_from_structure(g, dataset, shared_name);
    if (!it.handle.op) return it;
    it.initializer = braid_iterator_make_initializer(g, it, dataset);
    if (it.initializer) braid_collect(g, BRAID_TABLE_INITIALIZERS, (braid_out){it.initializer, 0});
    return it;
}

braid_iterator braid_make_one_shot_iterator(braid_graph *g, braid_dataset dataset)
{
    if (!dataset.variant.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "OneShotIterator: its dataset is nothing");
        return (braid_iterator){0};
    }
    const braid_function f = braid_function_copy(g, "make_dataset", &dataset.variant, 1);
    if (!f.name) return (braid_iterator){0};
    braid_op_desc *d = braid_op_begin(g, "OneShotIterator", NULL);
    braid_op_attr_func(d, "dataset_factory", f.name);
    put_structure(d, &dataset, NULL);
    const braid_iterator it = {.handle = braid_op_end_out(d), .dataset = dataset};
    return it.handle.op ? it : (braid_iterator){0};
}

void braid_iterator_get_next(braid_graph *g, braid_iterator it, braid_out *outs)
{
    if (!outs || !it.handle.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "IteratorGetNext: its %s",
                         outs ? "iterator is nothing" : "array of results is NULL");
        if (outs && it.dataset.count > 0) memset(outs, 0, (size_t)it.dataset.count * sizeof *outs);
        return;
    }
    memset(outs, 0, (size_t)it.dataset.count * sizeof *outs);
    braid_op_desc *d = braid_op_begin(g, "IteratorGetNext", NULL);
    braid_op_input(d, it.handle);
    put_structure(d, &it.dataset, NULL);
    braid_op *next = braid_op_end(d);
    for (int i = 0; next && i < it.dataset.count; i++)
        outs[i] = braid_output(next, i);
}
