// Functions common to the ops of lists of tensors.
#include "ops/tensor_array/tensor_list_ops.h"

#include "ops/common/element.h"
#include "ops/common/variant.h"
#include <string.h>

// ---- Lists as inputs ----

bd_tensor_list *bd_input_list(bd_op_ctx *c, int i)
{
    const braid_tensor *t = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input list must be a scalar saw: %s",
                   bd_shape_str(&t->shape, text));
        return NULL;
    }
    bd_tensor_list *l = bd_tensor_list_of(bd_tensor_variant(t)[0]);
    if (!l)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input handle is not a list. Saw: '%s'",
                   bd_variant_type_name(bd_tensor_variant(t)[0]));
    return l;
}

bd_tensor_list *bd_input_typed_list(bd_op_ctx *c, int i)
{
    bd_tensor_list *l = bd_input_list(c, i);
    braid_dtype dtype = bd_node_attr_type(c->node, "element_dtype");
    if (!l || l->element_dtype == dtype) return l;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid data types; op elements %s but list elements %s",
               braid_dtype_name(dtype), braid_dtype_name(l->element_dtype));
    return NULL;
}

// ---- Lists as outputs ----

// Returns whether the lists in `t` are not shared.
static bool may_change(const braid_tensor *t)
{
    if (!t->buffer || t->buffer->is_variable || !bd_buffer_is_unique(t->buffer)) return false;
    int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        const bd_variant *v = bd_tensor_variant(t)[i];
        if (v && atomic_load_explicit(&((bd_variant *)v)->refs, memory_order_acquire) != 1) return false;
    }
    return true;
}

static void fail_memory(bd_op_ctx *c, int64_t count)
{
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making a list of %lld tensors; there may be %lld",
               (long long)count, (long long)BD_TENSOR_LIST_MAX);
}

braid_tensor *bd_output_lists(bd_op_ctx *c, int i, int input, int64_t more)
{
    const braid_tensor *t = bd_input(c, input);
    if (may_change(t)) {
        bd_output_set(c, i, t);
        return &c->outputs[i].tensor;
    }
    braid_tensor *y = bd_output(c, i, BRAID_VARIANT, &t->shape);
    int64_t count = y ? bd_tensor_count(y) : 0;
    for (int64_t k = 0; k < count; k++) {
        const bd_tensor_list *l = bd_tensor_list_of(bd_tensor_variant(t)[k]);
        bd_tensor_list *copy = bd_tensor_list_copy(l, more);
        if (!copy) {
            fail_memory(c, l->count + more);
            return NULL;
        }
        bd_tensor_variant(y)[k] = &copy->base;
    }
    return y;
}

bd_tensor_list *bd_output_list(bd_op_ctx *c, int i, int input, int64_t more)
{
    braid_tensor *y = bd_output_lists(c, i, input, more);
    return y ? bd_tensor_list_of(bd_tensor_variant(y)[0]) : NULL;
}

bd_tensor_list *bd_output_new_list(bd_op_ctx *c, int i, braid_dtype dtype, const braid_shape *element_shape,
                                   int64_t max_elements, int64_t count)
{
    bd_tensor_list *l = bd_tensor_list_new(dtype, element_shape, max_elements);
    return bd_output_variant(c, i, &l->base) && bd_list_resize(c, l, count) ? l : NULL;
}

// ---- Elements ----

bool bd_list_resize(bd_op_ctx *c, bd_tensor_list *l, int64_t count)
{
    bool ok = bd_tensor_list_resize(l, count);
    if (!ok) fail_memory(c, count);
    return ok;
}

bool bd_list_set(bd_op_ctx *c, bd_tensor_list *l, int64_t i, const braid_tensor *t)
{
    braid_tensor kept;
    if (!bd_tensor_keep(&kept, t)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when putting a tensor into a list");
        return false;
    }
    bd_tensor_fini(&l->items[i]);
    bd_tensor_move(&l->items[i], &kept);
    return true;
}

bool bd_list_set_part(bd_op_ctx *c, bd_tensor_list *l, int64_t i, const braid_tensor *t, int64_t at,
                      const braid_shape *shape)
{
    braid_tensor view;
    bd_tensor_view(&view, t, at, shape);
    bool ok = bd_list_set(c, l, i, &view);
    bd_tensor_fini(&view);
    return ok;
}

bool bd_tensor_zeros(braid_tensor *t, braid_dtype dtype, const braid_shape *shape)
{
    if (!bd_tensor_alloc(t, dtype, shape)) return false;
    size_t size = braid_dtype_size(dtype) * (size_t)bd_shape_count(shape);
    if (size > 0) memset(t->data, 0, size);
    return true;
}

// ---- Shapes of elements ----

const char *bd_element_shape_str(const braid_shape *s, char buf[BD_SHAPE_STR_MAX])
{
    return s->rank < 0 ? "<unknown>" : bd_shape_str(s, buf);
}

bool bd_shapes_fit(const braid_shape *a, const braid_shape *b)
{
    braid_shape merged;
    return bd_shape_merge(a, b, &merged);
}

bool bd_shape_prepend(int64_t dim, const braid_shape *shape, braid_shape *out)
{
    if (shape->rank >= BRAID_RANK_MAX) return false;
    *out = (braid_shape){.rank = shape->rank + 1, .dims = {dim}};
    memcpy(out->dims + 1, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    return true;
}

braid_shape bd_shape_behind_first(const braid_shape *shape)
{
    if (shape->rank <= 0) return *shape;
    braid_shape rest = {.rank = shape->rank - 1};
    memcpy(rest.dims, shape->dims + 1, (size_t)rest.rank * sizeof *rest.dims);
    return rest;
}

bool bd_input_element_shape(bd_op_ctx *c, int i, braid_shape *shape)
{
    const braid_tensor *t = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    *shape = BD_SHAPE_UNKNOWN;
    if (t->shape.rank == 0) {
        if (bd_tensor_index(t, 0) == -1) return true;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
        return false;
    }
    if (t->shape.rank != 1 || t->shape.dims[0] > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "element_shape must be a vector of at most %d dimensions, but is of shape %s",
                   BRAID_RANK_MAX, bd_shape_str(&t->shape, text));
        return false;
    }
    shape->rank = (int)t->shape.dims[0];
    for (int d = 0; d < shape->rank; d++) {
        shape->dims[d] = bd_tensor_index(t, d);
        if (shape->dims[d] >= -1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dimension %lld of element_shape must be >= -1",
                   (long long)shape->dims[d]);
        return false;
    }
    return true;
}

bool bd_merge_element_shape(bd_op_ctx *c, braid_shape *shape, const braid_shape *other)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    braid_shape merged;
    if (bd_shape_merge(shape, other, &merged)) {
        *shape = merged;
        return true;
    }
    if (shape->rank != other->rank)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible ranks during merge: %d vs. %d", shape->rank,
                   other->rank);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                   bd_shape_str(shape, a), bd_shape_str(other, b));
    return false;
}

bool bd_input_list_shape(bd_op_ctx *c, int i, const bd_tensor_list *l, braid_shape *shape)
{
    return bd_input_element_shape(c, i, shape) && bd_merge_element_shape(c, shape, &l->element_shape);
}

bool bd_merge_shapes_of_list(bd_op_ctx *c, braid_shape *shape, const bd_tensor_list *l)
{
    for (int64_t i = 0; i < l->count; i++)
        if (bd_tensor_is_set(&l->items[i]) && !bd_merge_element_shape(c, shape, &l->items[i].shape))
            return false;
    return true;
}

braid_code bd_shape_ctx_element_shape(bd_shape_ctx *c, int i, braid_shape *shape, braid_status *st)
{
    const braid_shape *in = &c->inputs[i];
    int64_t any;
    *shape = BD_SHAPE_UNKNOWN;
    if (in->rank > 1)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", in->rank);
    if (in->rank == 0 && bd_shape_ctx_constant_int(c, i, &any) && any != -1)
        return bd_shape_ctx_fail(c, st,
                                 "Input tensor must be rank 1, or if its rank 0 it must have value -1 "
                                 "(representing an unknown shape).  Saw value: %lld",
                                 (long long)any);
    if (in->rank != 1 || bd_shape_ctx_constant_shape(c, i, shape)) return BRAID_OK;
    if (in->dims[0] < 0 || in->dims[0] > BRAID_RANK_MAX) return BRAID_OK;
    shape->rank = (int)in->dims[0];
    for (int d = 0; d < shape->rank; d++)
        shape->dims[d] = -1;
    return BRAID_OK;
}
