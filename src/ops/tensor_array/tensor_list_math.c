// Sums and zeros of lists of tensors and of optionals.
#include "ops/tensor_array/tensor_list_math.h"

#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/dataset/optional.h"
#include "ops/state/variable.h"
#include "ops/tensor_array/tensor_list_ops.h"

#define DEPTH_MAX 64 // of lists in lists: this works by recursion

static bool fail_memory(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making a list of tensors");
    return false;
}

static bool check_depth(bd_op_ctx *c, int depth)
{
    if (depth < DEPTH_MAX) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Lists of tensors are nested more than %d deep", DEPTH_MAX);
    return false;
}

static bd_variant *fail_type(bd_op_ctx *c, const bd_variant *v, const char *what)
{
    bd_op_fail(c, BRAID_INTERNAL, "No %s function found for Variant type_name: %s for device type: CPU", what,
               bd_variant_type_name(v));
    return NULL;
}

// Makes a scalar tensor of a variant; takes over the reference.
static bool hold(bd_op_ctx *c, braid_tensor *t, bd_variant *v)
{
    if (!v) return false;
    if (!bd_tensor_alloc(t, BRAID_VARIANT, &BD_SCALAR)) {
        bd_variant_unref(v);
        return fail_memory(c);
    }
    bd_tensor_variant(t)[0] = v;
    return true;
}

// An optional of tensors that it takes; NULL unless `ok`.
static bd_variant *make_optional(bool ok, braid_tensor *tensors, int count)
{
    bd_variant *v = ok ? bd_optional_new(tensors, count) : NULL;
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&tensors[i]);
    bd_free(tensors);
    return v;
}

// ---- Sums ----

static bd_variant *add_objects(bd_op_ctx *c, bd_variant *a, bd_variant *b, int depth);

static bool add_variants(bd_op_ctx *c, const braid_tensor *a, const braid_tensor *b, int depth,
                         braid_tensor *sum)
{
    if (a->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported");
        return false;
    }
    return hold(c, sum, add_objects(c, bd_tensor_variant(a)[0], bd_tensor_variant(b)[0], depth + 1));
}

static bool add_numbers(bd_op_ctx *c, const braid_tensor *a, const braid_tensor *b, braid_tensor *sum)
{
    bd_update_fn add = bd_update_function(a->dtype, BD_UPDATE_ADD);
    if (!add) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to add unsupported dtype %s",
                   braid_dtype_name(a->dtype));
        return false;
    }
    if (!bd_tensor_alloc(sum, a->dtype, &a->shape)) return fail_memory(c);
    int64_t count = bd_tensor_count(a);
    if (count > 0) {
        bd_elements_copy(sum, 0, a, 0, count);
        add(sum->data, b->data, count);
    }
    return true;
}

// One that is not set counts as zeros.
static bool add_tensors(bd_op_ctx *c, const braid_tensor *a, const braid_tensor *b, int depth,
                        braid_tensor *sum)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (!bd_tensor_is_set(a) || !bd_tensor_is_set(b)) {
        bd_tensor_ref(sum, bd_tensor_is_set(a) ? a : b);
        return true;
    }
    if (a->dtype != b->dtype) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Trying to add two tensors with incompatible element types. One is %s and the other is %s",
                   braid_dtype_name(a->dtype), braid_dtype_name(b->dtype));
        return false;
    }
    if (!bd_shape_equal(&a->shape, &b->shape)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Trying to add two tensors with incompatible element shapes. One is %s and the other is %s",
            bd_shape_str(&a->shape, x), bd_shape_str(&b->shape, y));
        return false;
    }
    return a->dtype == BRAID_VARIANT ? add_variants(c, a, b, depth, sum) : add_numbers(c, a, b, sum);
}

static bool check_lists(bd_op_ctx *c, const bd_tensor_list *a, const bd_tensor_list *b)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (a->element_dtype != b->element_dtype)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Trying to add two lists of tensors of different dtypes. One is %s and the other is %s",
                   braid_dtype_name(a->element_dtype), braid_dtype_name(b->element_dtype));
    else if (!bd_shapes_fit(&a->element_shape, &b->element_shape))
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Trying to add two lists of tensors with incompatible element shapes. One is %s and the other is %s",
            bd_element_shape_str(&a->element_shape, x), bd_element_shape_str(&b->element_shape, y));
    else if (a->count != b->count)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Trying to add two lists of tensors with different lengths. One is %lld and the other is %lld",
            (long long)a->count, (long long)b->count);
    return !bd_op_failed(c);
}

static bd_variant *add_lists(bd_op_ctx *c, const bd_tensor_list *a, const bd_tensor_list *b, int depth)
{
    if (!check_lists(c, a, b)) return NULL;
    braid_shape shape;
    bd_shape_merge(&a->element_shape, &b->element_shape, &shape);
    bd_tensor_list *sum = bd_tensor_list_new(a->element_dtype, &shape, -1);
    bool ok = bd_tensor_list_resize(sum, a->count) || fail_memory(c);
    for (int64_t i = 0; ok && i < a->count; i++)
        ok = add_tensors(c, &a->items[i], &b->items[i], depth, &sum->items[i]);
    if (ok) return &sum->base;
    bd_variant_unref(&sum->base);
    return NULL;
}

static bd_variant *add_optionals(bd_op_ctx *c, const bd_variant *va, const bd_variant *vb, int depth)
{
    const braid_tensor *a, *b;
    int a_count, b_count;
    bd_optional_get(va, &a, &a_count);
    bd_optional_get(vb, &b, &b_count);
    if (!a != !b) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Cannot add optionals because one has a value and the other doesn't.");
        return NULL;
    }
    if (a_count != b_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Cannot add optionals because they have different numbers of components (%d vs. %d).",
                   a_count, b_count);
        return NULL;
    }
    if (!a) return bd_optional_new(NULL, 0);
    braid_tensor *sums = bd_calloc((size_t)a_count + 1, sizeof *sums);
    bool ok = true;
    for (int i = 0; i < a_count && ok; i++)
        ok = add_tensors(c, &a[i], &b[i], depth, &sums[i]);
    return make_optional(ok, sums, a_count);
}

static bd_variant *add_objects(bd_op_ctx *c, bd_variant *a, bd_variant *b, int depth)
{
    if (!check_depth(c, depth)) return NULL;
    if (!a || !b || a->type != b->type)
        return fail_type(c, a && a->type == &bd_tensor_list_type ? b : a, "variant binary_op");
    if (bd_tensor_list_of(a)) return add_lists(c, bd_tensor_list_of(a), bd_tensor_list_of(b), depth);
    const braid_tensor *tensors;
    int count;
    return bd_optional_get(a, &tensors, &count) ? add_optionals(c, a, b, depth)
                                                : fail_type(c, a, "variant binary_op");
}

void bd_variant_add_n(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; inputs[%d] is not a scalar",
            i);
        return;
    }
    bd_output_set(c, 0, bd_input(c, 0));
    for (int i = 1; i < c->input_count; i++) {
        const braid_tensor *sum = &c->outputs[0].tensor;
        braid_tensor t;
        if (!hold(c, &t, add_objects(c, bd_tensor_variant(sum)[0], bd_tensor_variant(bd_input(c, i))[0], 0)))
            return;
        bd_output_set(c, 0, &t);
        bd_tensor_fini(&t);
    }
}

// ---- Zeros ----

static bd_variant *zero_object(bd_op_ctx *c, bd_variant *v, int depth);

static bool zero_tensor(bd_op_ctx *c, const braid_tensor *t, int depth, braid_tensor *zeros)
{
    if (!bd_tensor_is_set(t)) return true;
    if (t->dtype == BRAID_VARIANT && t->shape.rank == 0)
        return hold(c, zeros, zero_object(c, bd_tensor_variant(t)[0], depth + 1));
    if (braid_dtype_size(t->dtype) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to compute zeros_like for unsupported dtype %s",
                   braid_dtype_name(t->dtype));
        return false;
    }
    return bd_tensor_zeros(zeros, t->dtype, &t->shape) || fail_memory(c);
}

static bd_variant *zero_list(bd_op_ctx *c, const bd_tensor_list *l, int depth)
{
    bd_tensor_list *zeros = bd_tensor_list_new(l->element_dtype, &l->element_shape, -1);
    bool ok = bd_tensor_list_resize(zeros, l->count) || fail_memory(c);
    for (int64_t i = 0; ok && i < l->count; i++)
        ok = zero_tensor(c, &l->items[i], depth, &zeros->items[i]);
    if (ok) return &zeros->base;
    bd_variant_unref(&zeros->base);
    return NULL;
}

static bd_variant *zero_object(bd_op_ctx *c, bd_variant *v, int depth)
{
    const braid_tensor *tensors;
    int count;
    if (!check_depth(c, depth)) return NULL;
    if (bd_tensor_list_of(v)) return zero_list(c, bd_tensor_list_of(v), depth);
    if (!bd_optional_get(v, &tensors, &count)) return fail_type(c, v, "unary variant unary_op");
    if (!tensors) return bd_optional_new(NULL, 0);
    braid_tensor *zeros = bd_calloc((size_t)count + 1, sizeof *zeros);
    bool ok = true;
    for (int i = 0; i < count && ok; i++)
        ok = zero_tensor(c, &tensors[i], depth, &zeros[i]);
    return make_optional(ok, zeros, count);
}

void bd_variant_zeros_like(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor zeros;
    if (x->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
        return;
    }
    if (!hold(c, &zeros, zero_object(c, bd_tensor_variant(x)[0], 0))) return;
    bd_output_set(c, 0, &zeros);
    bd_tensor_fini(&zeros);
}
