// Optionals: variants that hold an element of a dataset, or no element.
#include "ops/dataset/optional.h"

#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/dataset/dataset.h"

typedef struct optional {
    bd_variant base;
    bool has_value;
    int count;
    braid_tensor tensors[]; // [count]
} optional;

static void destroy_optional(bd_variant *v)
{
    optional *o = BD_CONTAINER_OF(v, optional, base);
    bd_tensors_fini(o->tensors, o->count);
    bd_free(o);
}

static const bd_variant_type optional_type = {.name = "tensorflow::data::Optional",
                                              .destroy = destroy_optional};

bd_variant *bd_optional_new(braid_tensor *tensors, int count)
{
    optional *o = bd_calloc(1, sizeof *o + (size_t)count * sizeof *o->tensors);
    bd_variant_init(&o->base, &optional_type);
    o->has_value = tensors != NULL;
    o->count = count;
    for (int k = 0; tensors && k < count; k++)
        bd_tensor_move(&o->tensors[k], &tensors[k]);
    return &o->base;
}

bool bd_output_optional(bd_op_ctx *c, int i, braid_tensor *tensors, int count)
{
    return bd_output_variant(c, i, bd_optional_new(tensors, count));
}

bool bd_optional_get(const bd_variant *v, const braid_tensor **tensors, int *count)
{
    if (!v || v->type != &optional_type) return false;
    const optional *o = BD_CONTAINER_OF(v, optional, base);
    *tensors = o->has_value ? o->tensors : NULL;
    *count = o->has_value ? o->count : 0;
    return true;
}

bool bd_check_optional(bd_op_ctx *c, const braid_tensor *tensors, int count)
{
    const bd_attr *types = bd_node_attr(c->node, "output_types"),
                  *shapes = bd_node_attr(c->node, "output_shapes");
    if (types->list.count != count || shapes->list.count != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The given optional has %d components, expected %d", count,
                   types->list.count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        char want[BD_SHAPE_STR_MAX], got[BD_SHAPE_STR_MAX];
        braid_shape merged;
        if (tensors[i].dtype != types->list.type[i]) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "The given optional does not match the expected type for component %d. Expected: %s. Actual: %s.",
                i, braid_dtype_name(types->list.type[i]), braid_dtype_name(tensors[i].dtype));
            return false;
        }
        if (!bd_shape_merge(&shapes->list.shape[i], &tensors[i].shape, &merged)) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "The given optional does not match the expected shape for component %d. Expected: %s. Actual: %s.",
                i, bd_shape_str(&shapes->list.shape[i], want), bd_shape_str(&tensors[i].shape, got));
            return false;
        }
    }
    return true;
}

// ---- Ops ----

static void none_run(bd_op_ctx *c)
{
    bd_output_optional(c, 0, NULL, 0);
}

BD_OP(OptionalNone) = {
    .signature = "() -> (optional: variant)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = none_run}),
    .doc = "An optional without a value.",
};

static void from_value_run(bd_op_ctx *c)
{
    braid_tensor *tensors = bd_calloc((size_t)c->input_count, sizeof *tensors);
    bool ok = true;
    for (int i = 0; i < c->input_count && ok; i++)
        ok = bd_tensor_keep(&tensors[i], bd_input(c, i));
    if (ok)
        bd_output_optional(c, 0, tensors, c->input_count);
    else
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a component of an optional");
    bd_tensors_fini(tensors, c->input_count);
    bd_free(tensors);
}

BD_OP(OptionalFromValue) = {
    .signature = "(components: Toutput_types...) -> (optional: variant)",
    .attrs = "Toutput_types:list(type)>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = from_value_run}),
    .doc = "An optional that holds the given tensors.",
};

static const optional *optional_input(bd_op_ctx *c)
{
    bd_variant *v = bd_input_variant(c, 0, &optional_type);
    return v ? BD_CONTAINER_OF(v, optional, base) : NULL;
}

static void has_value_run(bd_op_ctx *c)
{
    const optional *o = optional_input(c);
    braid_tensor *y = o ? bd_output(c, 0, BRAID_BOOL, &BD_SCALAR) : NULL;
    if (y) bd_tensor_bool(y)[0] = o->has_value;
}

BD_OP(OptionalHasValue) = {
    .signature = "(optional: variant) -> (has_value: bool)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = has_value_run}),
    .doc = "Whether an optional has a value.",
};

static void get_value_run(bd_op_ctx *c)
{
    const optional *o = optional_input(c);
    if (!o) return;
    if (!o->has_value)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The given optional does not have a value.");
    else if (bd_check_optional(c, o->tensors, o->count))
        for (int i = 0; i < o->count; i++)
            bd_output_set(c, i, &o->tensors[i]);
}

BD_OP(OptionalGetValue) = {
    .signature = "(optional: variant) -> (components: output_types...)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_output_shapes,
    .kernels = BD_KERNELS({.run = get_value_run}),
    .doc = "The tensors that an optional holds.",
};
