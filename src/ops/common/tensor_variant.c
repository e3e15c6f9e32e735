// A tensor as an element of a tensor of variants.
#include "ops/common/tensor_variant.h"

#include "base/alloc.h"
#include "base/check.h"
#include "ops/common/element.h"

typedef struct tensor_variant {
    bd_variant base;
    braid_tensor tensor; // owned
} tensor_variant;

static void destroy(bd_variant *v)
{
    tensor_variant *t = BD_CONTAINER_OF(v, tensor_variant, base);
    bd_tensor_fini(&t->tensor);
    bd_free(t);
}

static const bd_variant_type tensor_type = {.name = "tensorflow::Tensor", .destroy = destroy};

bool bd_tensor_variant_put(braid_tensor *to, int64_t i, const braid_tensor *t)
{
    tensor_variant *v = bd_calloc(1, sizeof *v);
    bd_variant_init(&v->base, &tensor_type);
    bool ok = bd_tensor_keep(&v->tensor, t);
    if (ok) bd_tensor_variant_set(to, i, &v->base);
    bd_variant_unref(&v->base);
    return ok;
}

const braid_tensor *bd_tensor_variant_get(const braid_tensor *from, int64_t i)
{
    bd_variant *v = bd_tensor_variant(from)[i];
    return v && v->type == &tensor_type ? &BD_CONTAINER_OF(v, tensor_variant, base)->tensor : NULL;
}
