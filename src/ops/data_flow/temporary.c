// Variables within a step, and counters, which end at a limit or go round a list: TemporaryVariable,
// DestroyTemporaryVariable, CountUpTo, ResourceCountUpTo, ObtainNext.
#include "base/alloc.h"
#include "base/hogwild.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"
#include "ops/state/variable.h"

#include <string.h>

// ---- TemporaryVariable ----

// The name in the step's container: that of the attr or the node, for each iteration of a loop another one.
static char *temporary_name(const bd_op_ctx *c)
{
    const char *name = bd_node_attr_string(c->node, "var_name");
    return bd_asprintf("%s/%llu:%lld", name[0] ? name : c->node->name, (unsigned long long)c->frame_id,
                       (long long)c->iteration);
}

typedef struct temporary {
    const braid_op *node;
    bool is_made; // and not found
} temporary;

static braid_code create_temporary(void *arg, bd_resource **out, braid_status *st)
{
    temporary *t = arg;
    const braid_op *node = t->node;
    braid_dtype dtype = bd_node_attr_type(node, "dtype");
    braid_shape shape = bd_node_attr_shape(node, "shape");
    braid_tensor zeros;
    braid_code code = bd_tensor_init(&zeros, dtype, &shape, st);
    if (code) return code;
    size_t size = braid_dtype_size(dtype);
    if (size > 0) memset(zeros.data, 0, (size_t)bd_tensor_count(&zeros) * size);
    bd_variable *v = bd_variable_new(dtype, true);
    code = bd_variable_assign(v, &zeros, st);
    bd_tensor_fini(&zeros);
    *out = &v->base;
    t->is_made = !code;
    if (code) bd_resource_unref(&v->base);
    return code;
}

static void temporary_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_resource *r = NULL;
    temporary t = {.node = c->node};
    char *name = temporary_name(c);
    if (bd_resources_lookup_or_create(
            c->step->resources,
            &(bd_resource_spec){c->step->container, name, &bd_ref_variable_type, create_temporary, &t}, &r,
            st)) {
        bd_op_fail_status(c, st);
    } else if (!t.is_made) {
        bd_op_fail(c, BRAID_ALREADY_EXISTS, "Resource %s/%s already exists.", c->step->container, name);
    } else {
        bd_output_ref(c, 0, BD_CONTAINER_OF(r, bd_variable, base));
    }
    bd_resource_unref(r);
    bd_free(name);
}

BD_OP(TemporaryVariable) = {
    .signature = "() -> (ref: Ref(dtype))",
    .attrs = "shape:shape; dtype:type; var_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_from_attr,
    .kernels = BD_KERNELS({.run = temporary_run}),
    .doc = "A variable of zeros that lasts until DestroyTemporaryVariable or the end of the step.",
};

static void destroy_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    braid_tensor value = {0};
    char *name = temporary_name(c);
    bool is_set = bd_variable_read(bd_input_ref(c, 0), &value);
    if (bd_resources_delete(c->step->resources, c->step->container, name, &bd_ref_variable_type, st)) {
        bd_op_fail_status(c, st);
    } else if (!is_set) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_node_attr_string(c->node, "var_name"));
    } else {
        bd_output_set(c, 0, &value);
    }
    bd_tensor_fini(&value);
    bd_free(name);
}

BD_OP(DestroyTemporaryVariable) = {
    .signature = "(ref: Ref(T)) -> (value: T)",
    .attrs = "T:type; var_name:string",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = destroy_run}),
    .doc = "The last value of a temporary variable, which is gone then.",
};

// ---- CountUpTo ----

// A node that reads the variable may do so at the same time, without its lock.
BD_HOGWILD static void count_one(braid_tensor *t)
{
    if (t->dtype == BRAID_INT64)
        ++*bd_tensor_i64(t);
    else
        ++*bd_tensor_i32(t);
}

// Whether the variable of input `i` is a number that counts. It is locked.
static bool is_counter(bd_op_ctx *c, const bd_variable *v, int i)
{
    if (!bd_tensor_is_set(&v->tensor)) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[i].op->name);
    } else if (v->tensor.shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input is not a scalar: %s",
                   bd_shape_str(&v->tensor.shape, text));
    }
    return !bd_op_failed(c);
}

static void count_locked(bd_op_ctx *c, bd_variable *v)
{
    int64_t limit = bd_node_attr_int(c->node, "limit");
    if (!is_counter(c, v, 0)) return;
    int64_t count = bd_tensor_index(&v->tensor, 0);
    if (count >= limit) {
        bd_op_fail(c, BRAID_OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
        return;
    }
    BD_STATUS(st);
    if (bd_variable_make_writable_locked(v, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, v->dtype, &BD_SCALAR);
    if (!y) return;
    bd_copy_racing(y->data, v->tensor.data, braid_dtype_size(v->dtype));
    count_one(&v->tensor);
}

static void count(bd_op_ctx *c, bd_variable *v)
{
    bd_mutex_lock(&v->mu);
    count_locked(c, v);
    bd_mutex_unlock(&v->mu);
    bd_variable_tell_watch(v);
}

static void count_run(bd_op_ctx *c)
{
    count(c, bd_input_ref(c, 0));
}

static braid_code count_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_rank(c, 0, 0, st);
}

BD_OP(CountUpTo) = {
    .signature = "(ref: Ref(T)) -> (output: T)",
    .attrs = "limit:int; T:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = count_shape,
    .kernels = BD_KERNELS({.run = count_run}),
    .doc = "The value of a variable, which is one more afterwards; OutOfRange once it has reached the limit.",
};

static void resource_count_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable(c, 0, c->node->output_types[0]);
    if (!v) return;
    count(c, v);
    bd_resource_unref(&v->base);
}

static braid_code resource_count_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape shape = bd_shape_ctx_variable(c, 0);
    c->outputs[0] = BD_SCALAR;
    if (shape.rank > 0) return bd_shape_ctx_fail(c, st, "Shape must be rank 0 but is rank %d", shape.rank);
    return BRAID_OK;
}

BD_OP(ResourceCountUpTo) = {
    .signature = "(resource: resource) -> (output: T)",
    .attrs = "limit:int; T:type{int32,int64}",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = resource_count_shape,
    .kernels = BD_KERNELS({.run = resource_count_run}),
    .doc = "CountUpTo of a resource variable.",
};

// ---- ObtainNext ----

static void obtain_locked(bd_op_ctx *c, bd_variable *v)
{
    BD_STATUS(st);
    const braid_tensor *list = bd_input(c, 0);
    const int64_t size = bd_tensor_count(list);
    if (!is_counter(c, v, 1)) return;
    const int64_t count = *bd_tensor_i64(&v->tensor);
    if (size == 0 || count < -1 || count == INT64_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "a list of %lld elements has none after that of index %lld",
                   (long long)size, (long long)count);
        return;
    }
    if (bd_variable_make_writable_locked(v, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    const int64_t next = (count + 1) % size;
    const bd_string *s = &bd_tensor_str(list)[next];
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y && bd_string_put(c, y, 0, s->data ? s->data : "", s->len))
        bd_copy_racing(v->tensor.data, &next, sizeof next);
}

static void obtain_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_ref(c, 1);
    bd_mutex_lock(&v->mu);
    obtain_locked(c, v);
    bd_mutex_unlock(&v->mu);
    bd_variable_tell_watch(v);
}

static braid_code obtain_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

BD_OP(ObtainNext) = {
    .signature = "(list: string, counter: Ref(int64)) -> (out_element: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = obtain_shape,
    .kernels = BD_KERNELS({.run = obtain_run}),
    .doc =
        "The element of a list after that of the counter, which then has its index; the last is followed by the first "
        "(tf.contrib.input_pipeline).",
};
