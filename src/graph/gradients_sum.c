// Adding up the gradients that one output receives: tensors by the method that the program chose, rows by
// joining them.
#include "graph/gradients_internal.h"

#include "base/array.h"
#include "graph/builder.h"
#include "graph/grad.h"
#include "tensor/shape.h"
#include <stdlib.h>
#include <string.h>

static int compare_by_device(const void *a, const void *b)
{
    const braid_out *x = *(const braid_out *const *)a, *y = *(const braid_out *const *)b;
    int order = strcmp(x->op->device, y->op->device);
    return order ? order : (x > y) - (x < y); // gradients of one device keep their order
}

static braid_out add_n(braid_graph *g, const braid_out *items, int count)
{
    if (count == 1) return items[0];
    braid_op_desc *d = braid_op_begin(g, "AddN", NULL);
    braid_op_input_list(d, items, count);
    return braid_op_end_out(d);
}

// Sums tensors: first those of each device on that device, then the sums.
static braid_out add_by_device(braid_graph *g, const braid_out *grads, size_t count)
{
    const braid_out **sorted = bd_calloc(count, sizeof *sorted);
    braid_out *group = bd_calloc(count, sizeof *group);
    BD_ARRAY(braid_out) sums = {0};
    for (size_t i = 0; i < count; i++)
        sorted[i] = &grads[i];
    qsort(sorted, count, sizeof *sorted, compare_by_device);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && strcmp(sorted[to]->op->device, sorted[from]->op->device) == 0; to++)
            group[to - from] = *sorted[to];
        bd_builder_push_colocate_only(g, group[0].op);
        bd_array_push(&sums, add_n(g, group, (int)(to - from)));
        braid_pop_colocate(g);
    }
    braid_out sum = add_n(g, sums.items, (int)sums.len);
    bd_array_free(&sums);
    bd_free(sorted);
    bd_free(group);
    return sum;
}

// Sums tensors by one op for which their shape is known. Returns false where it does not apply.
static bool accumulate(braid_graph *g, const braid_out *grads, size_t count, braid_out *sum)
{
    braid_shape shape = BRAID_SHAPE_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        const braid_shape one = braid_out_shape(grads[i]);
        if (!bd_shape_merge(&shape, &one, &shape)) return false;
    }
    if (count < 3 || !bd_shape_is_known(&shape)) return false;
    braid_op_desc *d = braid_op_begin(g, "AccumulateNV2", NULL);
    braid_op_input_list(d, grads, (int)count);
    braid_op_attr_shape(d, "shape", shape);
    *sum = braid_op_end_out(d);
    return true;
}

// Sums tensors one after the other.
static braid_out add_in_turn(const braid_op *op, const braid_out *grads, size_t count)
{
    braid_graph *g = op->graph;
    braid_push_name_scope(g, bd_arena_asprintf(&g->arena, "%s_gradient_sum", op->name));
    braid_out sum = grads[0];
    for (size_t i = 1; i < count; i++)
        sum = add_n(g, (braid_out[]){sum, grads[i]}, 2);
    braid_pop_name_scope(g);
    return sum;
}

static braid_out add(const braid_op *op, const braid_out *grads, size_t count,
                     braid_aggregation_method method)
{
    braid_out sum;
    if (method == BRAID_ADD_N) return add_by_device(op->graph, grads, count);
    if (method == BRAID_EXPERIMENTAL_ACCUMULATE_N && accumulate(op->graph, grads, count, &sum)) return sum;
    return add_in_turn(op, grads, count);
}

braid_out bd_gradients_join(braid_graph *g, const braid_out *parts, size_t count)
{
    const char *scope = braid_push_name_scope(g, "concat");
    braid_out axis = bd_b_const_i32(g, "axis", 0);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, parts, (int)count);
    braid_op_input(d, axis);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_gradients_as_int64(braid_graph *g, braid_out indices)
{
    if (bd_dtype_base(braid_out_dtype(indices)) == BRAID_INT64) return indices;
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, indices);
    braid_op_attr_type(d, "DstT", BRAID_INT64);
    return braid_op_end_out(d);
}

// Sparse gradients are summed by concatenation: their consumer sums the rows of one index.
static braid_gradient join_rows(braid_graph *g, const braid_gradient *grads, size_t count)
{
    braid_out *parts = bd_calloc(count, sizeof *parts);
    bool same_type = true;
    for (size_t i = 0; i < count; i++) {
        parts[i] = grads[i].values;
        same_type = same_type && braid_out_dtype(grads[i].indices) == braid_out_dtype(grads[0].indices);
    }
    braid_gradient out = {.values = bd_gradients_join(g, parts, count)};
    for (size_t i = 0; i < count && !out.dense_shape.op; i++)
        out.dense_shape = grads[i].dense_shape;
    for (size_t i = 0; i < count; i++)
        parts[i] = same_type ? grads[i].indices : bd_gradients_as_int64(g, grads[i].indices);
    out.indices = bd_gradients_join(g, parts, count);
    bd_free(parts);
    return out;
}

braid_gradient bd_gradients_sum(const braid_op *op, const braid_gradient *grads, size_t count,
                                braid_aggregation_method method)
{
    braid_graph *g = op->graph;
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += grads[i].indices.op != NULL;
    if (rows == count) return join_rows(g, grads, count);
    braid_out *wholes = bd_calloc(count, sizeof *wholes);
    for (size_t i = 0; i < count; i++)
        wholes[i] = braid_gradient_to_dense(g, &grads[i]);
    braid_gradient sum = {.values = rows ? add_n(g, wholes, (int)count) : add(op, wholes, count, method)};
    bd_free(wholes);
    return sum;
}
