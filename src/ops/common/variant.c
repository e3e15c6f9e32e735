// Variants as inputs and outputs of kernels.
#include "ops/common/variant.h"

bd_variant *bd_input_variant(bd_op_ctx *c, int i, const bd_variant_type *type)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype != BRAID_VARIANT || t->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': input %d must be a scalar variant, but is %s%s",
                   c->node->op_type, c->node->name, i, braid_dtype_name(t->dtype),
                   bd_shape_str(&t->shape, text));
        return NULL;
    }
    bd_variant *v = bd_tensor_variant(t)[0];
    if (v && v->type == type) return v;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': input %d must hold a value of type %s, but holds %s",
               c->node->op_type, c->node->name, i, type->name, bd_variant_type_name(v));
    return NULL;
}

bool bd_output_variant(bd_op_ctx *c, int i, bd_variant *v)
{
    braid_tensor *t = bd_output(c, i, BRAID_VARIANT, &BD_SCALAR);
    if (t)
        bd_tensor_variant(t)[0] = v;
    else
        bd_variant_unref(v);
    return t != NULL;
}
