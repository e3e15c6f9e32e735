// The ops of TensorArrays: making, writing and reading an element at a time.
#include "ops/tensor_array/tensor_array_ops.h"
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/common/handle.h"

// ---- Making and finding ----

// Only the newest ops have one besides the handle.
static void output_flow(bd_op_ctx *c)
{
    braid_tensor *flow = c->output_count > 1 ? bd_output(c, 1, BRAID_FLOAT, &BD_SCALAR) : NULL;
    if (flow) *bd_tensor_f32(flow) = 0;
}

// Input `i`, a scalar int32.
static bool scalar_input(bd_op_ctx *c, int i, const char *what, int64_t *value)
{
    char text[BD_SHAPE_STR_MAX];
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank == 0) {
        *value = *bd_tensor_i32(t);
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "TensorArray %s must be scalar, but had shape: %s", what,
               bd_shape_str(&t->shape, text));
    return false;
}

void bd_tensor_array_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_attr *identical = bd_node_attr(c->node, "identical_element_shapes");
    const char *name = bd_node_attr_string(c->node, "tensor_array_name");
    bd_tensor_array_options o = {.dtype = bd_node_attr_type(c->node, "dtype"),
                                 .element_shape = bd_node_attr_shape(c->node, "element_shape"),
                                 .dynamic_size = bd_node_attr_bool(c->node, "dynamic_size"),
                                 .clear_after_read = bd_node_attr_bool(c->node, "clear_after_read"),
                                 .identical_shapes = identical && identical->b};
    bd_tensor_array *a;
    if (!scalar_input(c, 0, "size", &o.size)) return;
    if (bd_tensor_array_new(&o, &a, st)) {
        bd_op_fail_status(c, st);
    } else if (bd_output_step_resource(c, name[0] ? name : c->node->name, bd_tensor_array_resource(a),
                                       NULL)) {
        output_flow(c);
    }
}

bd_tensor_array *bd_tensor_array_input(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_tensor_array_type);
    return r ? bd_tensor_array_of(r) : NULL;
}

void bd_tensor_array_unref(bd_tensor_array *a)
{
    bd_resource_unref(bd_tensor_array_resource(a));
}

void bd_tensor_array_fail(bd_op_ctx *c, const braid_status *st)
{
    char *container, *name;
    if (!bd_input_handle(c, 0, &container, &name)) {
        bd_op_fail_status(c, st);
        return;
    }
    bd_op_fail(c, st->code, "TensorArray %s: %s", name, braid_status_message(st));
    bd_free(container);
    bd_free(name);
}

typedef struct gradient_request {
    bd_tensor_array *of;
    braid_shape prepend;
} gradient_request;

static braid_code create_gradient(void *arg, bd_resource **out, braid_status *st)
{
    const gradient_request *r = arg;
    bd_tensor_array *a;
    braid_code code = bd_tensor_array_new_gradient(r->of, &r->prepend, &a, st);
    if (!code) *out = bd_tensor_array_resource(a);
    return code;
}

// One array of gradients for each source, by name.
static void find_gradient(bd_op_ctx *c, gradient_request *request, const char *container, const char *of)
{
    BD_STATUS(st);
    char *name = bd_asprintf("%s@%s", of, bd_node_attr_string(c->node, "source"));
    bd_resource *r;
    if (bd_resources_lookup_or_create(
            c->step->resources,
            &(bd_resource_spec){container, name, &bd_tensor_array_type, create_gradient, request}, &r, st)) {
        bd_tensor_array_fail(c, st);
    } else {
        if (bd_output_handle(c, container, name, &bd_tensor_array_type)) output_flow(c);
        bd_resource_unref(r);
    }
    bd_free(name);
}

void bd_tensor_array_grad_run(bd_op_ctx *c)
{
    gradient_request request = {.prepend = BD_SCALAR};
    char *container, *name;
    if (c->input_count > 2 && !bd_input_shape(c, 2, "shape_to_prepend", &request.prepend)) return;
    request.of = bd_tensor_array_input(c);
    if (!request.of) return;
    if (bd_input_handle(c, 0, &container, &name)) {
        find_gradient(c, &request, container, name);
        bd_free(container);
        bd_free(name);
    }
    bd_tensor_array_unref(request.of);
}

// ---- One element ----

bool bd_tensor_array_check_written(bd_op_ctx *c, const bd_tensor_array *a, braid_dtype dtype)
{
    if (bd_tensor_array_dtype(a) == dtype) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "TensorArray dtype is %s but Op is trying to write dtype %s.",
               braid_dtype_name(bd_tensor_array_dtype(a)), braid_dtype_name(dtype));
    return false;
}

void bd_tensor_array_write_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t index;
    if (!scalar_input(c, 1, "index", &index)) return;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (bd_tensor_array_check_written(c, a, bd_input(c, 2)->dtype)) {
        if (bd_tensor_array_write(a, index, bd_input(c, 2), st))
            bd_tensor_array_fail(c, st);
        else
            bd_output_set(c, 0, bd_input(c, 3));
    }
    bd_tensor_array_unref(a);
}

bool bd_tensor_array_check_read(bd_op_ctx *c, const bd_tensor_array *a)
{
    braid_dtype wanted = c->node->output_types[0];
    if (bd_tensor_array_dtype(a) == wanted) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.",
               braid_dtype_name(bd_tensor_array_dtype(a)), braid_dtype_name(wanted));
    return false;
}

void bd_tensor_array_read_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t index;
    if (!scalar_input(c, 1, "index", &index)) return;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    braid_tensor value;
    if (bd_tensor_array_check_read(c, a)) {
        if (bd_tensor_array_read(a, index, &value, st)) {
            bd_tensor_array_fail(c, st);
        } else {
            bd_output_set(c, 0, &value);
            bd_tensor_fini(&value);
        }
    }
    bd_tensor_array_unref(a);
}

// ---- Size, Close ----

void bd_tensor_array_size_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t size;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (bd_tensor_array_size(a, &size, st)) {
        bd_tensor_array_fail(c, st);
    } else {
        braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
        if (y) *bd_tensor_i32(y) = (int32_t)size;
    }
    bd_tensor_array_unref(a);
}

void bd_tensor_array_close_run(bd_op_ctx *c)
{
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    bd_tensor_array_close(a);
    bd_tensor_array_unref(a);
}

// ---- Shapes ----

braid_code bd_tensor_array_check_shapes(bd_shape_ctx *c, const char *scalars, braid_status *st)
{
    braid_code code = bd_shape_ctx_handle(c, st);
    for (const char *s = scalars; *s && !code; s++)
        code = bd_shape_ctx_rank(c, *s - '0', 0, st);
    return code;
}

braid_code bd_tensor_array_new_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->output_count > 1) c->outputs[1] = BD_SCALAR;
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    return code ? code : bd_shape_fn_handle_of_2(c, st);
}

braid_code bd_tensor_array_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->output_count > 1) c->outputs[1] = BD_SCALAR;
    braid_code code = bd_tensor_array_check_shapes(c, "1", st);
    if (!code && c->input_count > 2) code = bd_shape_ctx_rank(c, 2, 1, st);
    return code ? code : bd_shape_fn_handle_of_2(c, st);
}

braid_code bd_tensor_array_write_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_tensor_array_check_shapes(c, "13", st);
}

braid_code bd_tensor_array_read_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_tensor_array_check_shapes(c, "12", st);
}

braid_code bd_tensor_array_size_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_tensor_array_check_shapes(c, "1", st);
}

// ---- Definitions ----

BD_OP(TensorArrayV3) = {
    .signature = "(size: int32) -> (handle: resource, flow: float)",
    .attrs =
        "dtype:type; element_shape:shape=?; dynamic_size:bool=false; clear_after_read:bool=true; identical_element_shapes:bool=false; tensor_array_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_new_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_run}),
    .doc =
        "A new array of tensors, which lasts as long as the step, and a flow: its ops are ordered by passing that on.",
};

BD_OP(TensorArrayGradV3) = {
    .signature = "(handle: resource, flow_in: float) -> (grad_handle: resource, flow_out: float)",
    .attrs = "source:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_grad_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_grad_run}),
    .doc = "The array of the gradients of an array, for one walk of gradients (attr source).",
};

BD_OP(TensorArrayGradWithShape) = {
    .signature =
        "(handle: resource, flow_in: float, shape_to_prepend: int32) -> (grad_handle: resource, flow_out: float)",
    .attrs = "source:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_grad_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_grad_run}),
    .doc = "TensorArrayGradV3 of gradients that have further dimensions before those of the elements.",
};

BD_OP(TensorArrayWriteV3) = {
    .signature = "(handle: resource, index: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_write_shape,
    .gradient = bd_tensor_array_write_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_write_run}),
    .doc = "Writes an element of an array of tensors.",
};

BD_OP(TensorArrayReadV3) = {
    .signature = "(handle: resource, index: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_read_shape,
    .gradient = bd_tensor_array_read_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_read_run}),
    .doc = "Reads an element of an array of tensors.",
};

BD_OP(TensorArraySizeV3) = {
    .signature = "(handle: resource, flow_in: float) -> (size: int32)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_tensor_array_size_shape,
    .kernels = BD_KERNELS({.run = bd_tensor_array_size_run}),
    .doc = "How many elements an array of tensors has.",
};

BD_OP(TensorArrayCloseV3) = {
    .signature = "(handle: resource) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_ctx_handle,
    .kernels = BD_KERNELS({.run = bd_tensor_array_close_run}),
    .doc = "Empties an array of tensors; it cannot be used again.",
};
