// The functions that kernels call while they run: outputs, in-place reuse of inputs, errors.
#include "base/interrupt.h"
#include "op/kernel.h"

#include "base/account.h"

static braid_tensor *out_of_memory(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape)
{
    char text[BD_SHAPE_STR_MAX] = {0};
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape%s and type %s",
               bd_shape_str(shape, text), braid_dtype_name(dtype));
    return NULL;
}

braid_tensor *bd_output(bd_op_ctx *c, int i, braid_dtype dtype, const braid_shape *shape)
{
    BD_ASSERT(i >= 0 && i < c->output_count);
    bd_value *out = &c->outputs[i];
    bd_value_fini(out);
    if (!bd_tensor_alloc(&out->tensor, dtype, shape)) return out_of_memory(c, dtype, shape);
    return &out->tensor;
}

// Memory may be written in place when this execution holds the only reference to it. A variable and a
// constant hold one of their own; foreign memory may be read-only.
static bool may_overwrite(const braid_tensor *t, braid_dtype dtype, const braid_shape *shape)
{
    size_t size = braid_dtype_size(dtype);
    return t->buffer && size > 0 && size == braid_dtype_size(t->dtype) && !t->buffer->is_variable &&
           t->buffer->size_class != BD_BUFFER_FOREIGN && !t->buffer->release &&
           bd_buffer_is_unique(t->buffer) && bd_shape_count(&t->shape) == bd_shape_count(shape);
}

braid_tensor *bd_output_forward(bd_op_ctx *c, int i, int input, braid_dtype dtype, const braid_shape *shape)
{
    BD_ASSERT(i >= 0 && i < c->output_count && input >= 0 && input < c->input_count);
    bd_value *in = &c->inputs[input], *out = &c->outputs[i];
    if (in->ref || !may_overwrite(&in->tensor, dtype, shape)) return bd_output(c, i, dtype, shape);
    // The input stays readable, and with two references it is not forwarded again.
    bd_value_fini(out);
    bd_tensor_ref(&out->tensor, &in->tensor);
    out->tensor.dtype = dtype;
    out->tensor.shape = *shape;
    return &out->tensor;
}

void bd_op_check_strings(bd_op_ctx *c, int i)
{
    if (bd_tensor_is_incomplete(&c->outputs[i].tensor))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when making the strings of output %d", i);
}

void bd_output_set(bd_op_ctx *c, int i, const braid_tensor *t)
{
    BD_ASSERT(i >= 0 && i < c->output_count);
    bd_value *out = &c->outputs[i];
    bd_value_fini(out);
    bd_tensor_ref(&out->tensor, t);
}

void bd_output_ref(bd_op_ctx *c, int i, bd_variable *v)
{
    BD_ASSERT(i >= 0 && i < c->output_count && v);
    bd_resource_ref(&v->base);
    bd_value *out = &c->outputs[i];
    bd_value_fini(out);
    out->ref = v;
}

void bd_op_fail(bd_op_ctx *c, braid_code code, const char *format, ...)
{
    if (bd_op_failed(c)) return;
    va_list args;
    va_start(args, format);
    bd_vfail(&c->status, code, format, args);
    va_end(args);
    bd_account_explain(&c->status);
}

void bd_op_fail_part(bd_op_ctx *c, int part)
{
    c->failed_part = part + 1;
}

void bd_node_fused(const braid_op *node, int part, const char **name, const char **op_type)
{
    const bd_attr *parts = bd_node_attr(node, BD_FUSED_NODES_ATTR);
    *name = node->name;
    *op_type = node->op_type;
    if (part == 0 || !parts || parts->item_kind != BD_ATTR_STRING || 2 * part > parts->list.count) return;
    *name = parts->list.s[2 * part - 2].data;
    *op_type = parts->list.s[2 * part - 1].data;
}

bool bd_op_interrupted(bd_op_ctx *c)
{
    if (!bd_interrupted()) return false;
    bd_op_fail(c, BRAID_CANCELLED, "The step does not want the result any more");
    return true;
}

void bd_op_fail_status(bd_op_ctx *c, const braid_status *st)
{
    if (bd_op_failed(c)) return;
    bd_status_copy(&c->status, st);
    bd_account_explain(&c->status);
}
