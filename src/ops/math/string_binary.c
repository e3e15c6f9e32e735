// Adds and compares tensors of strings element by element.
#include "ops/math/string_binary.h"

#include "base/interrupt.h"
#include "kernels/broadcast.h"

#include <string.h>

// Maps each element of the result to the elements of the operands.
typedef struct pairing {
    bd_broadcast walk;
    const bd_string *x, *y;
} pairing;

// Allocates output 0 and pairs the inputs. NULL: the kernel has failed.
static braid_tensor *begin(bd_op_ctx *c, braid_dtype dtype, pairing *p)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    braid_shape shape;
    if (!bd_shape_broadcast(&x->shape, &y->shape, &shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&x->shape, a),
                   bd_shape_str(&y->shape, b));
        return NULL;
    }
    bd_broadcast_init(&p->walk, x->shape.dims, x->shape.rank, y->shape.dims, y->shape.rank);
    p->x = bd_tensor_str(x);
    p->y = bd_tensor_str(y);
    return bd_output(c, 0, dtype, &shape);
}

// The operands of element `i` of the result.
static void pair_at(const pairing *p, int64_t i, const bd_string **x, const bd_string **y)
{
    const bd_broadcast *w = &p->walk;
    *x = p->x;
    *y = p->y;
    for (int d = w->rank - 1; d >= 0; d--) {
        *x += i % w->dims[d] * w->x_strides[d];
        *y += i % w->dims[d] * w->y_strides[d];
        i /= w->dims[d];
    }
}

// ---- Add ----

// z = x followed by y. Returns false when memory is exhausted.
static bool join(const bd_string *x, const bd_string *y, bd_string *z)
{
    if (x->len + y->len == 0) return true;
    z->data = bd_try_malloc(x->len + y->len);
    if (!z->data) return false;
    z->len = x->len + y->len;
    if (x->len) memcpy(z->data, x->data, x->len);
    if (y->len) memcpy(z->data + x->len, y->data, y->len);
    return true;
}

void bd_strings_add_run(bd_op_ctx *c)
{
    pairing p;
    braid_tensor *z = begin(c, BRAID_STRING, &p);
    int64_t n = z ? bd_tensor_count(z) : 0;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        const bd_string *x, *y;
        pair_at(&p, i, &x, &y);
        if (join(x, y, &bd_tensor_str(z)[i])) continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating a string of %zu bytes", x->len + y->len);
        return;
    }
}

// ---- Equal, NotEqual ----

static void compare(bd_op_ctx *c, bool wanted)
{
    pairing p;
    braid_tensor *z = begin(c, BRAID_BOOL, &p);
    int64_t n = z ? bd_tensor_count(z) : 0;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        const bd_string *x, *y;
        pair_at(&p, i, &x, &y);
        bool equal = x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
        bd_tensor_bool(z)[i] = equal == wanted;
    }
}

void bd_strings_equal_run(bd_op_ctx *c)
{
    compare(c, true);
}

void bd_strings_not_equal_run(bd_op_ctx *c)
{
    compare(c, false);
}
