// Substr: a piece of each string, counted in bytes or in characters.
#include "base/interrupt.h"
#include "kernels/broadcast.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"
#include "ops/string/utf8.h"

#include <string.h>

static braid_code substr_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *pos = &c->inputs[1], *len = &c->inputs[2];
    braid_code code = len->rank < 0 ? BRAID_OK : bd_shape_ctx_rank(c, 1, len->rank, st);
    if (code) return code;
    for (int d = 0; d < pos->rank && len->rank >= 0; d++) {
        if (pos->dims[d] != len->dims[d]) {
            char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
            return bd_shape_ctx_fail(c, st, "pos and len shapes must match: %s vs. %s", bd_shape_str(pos, a),
                                     bd_shape_str(len, b));
        }
    }
    return bd_shape_fn_broadcast(c, st);
}

// Bytes [from, to) of a text; false when `pos` is not within it.
static bool find_bytes(const bd_string *s, int64_t pos, int64_t len, size_t *from, size_t *to)
{
    int64_t size = (int64_t)s->len;
    if (pos < -size || pos > size) return false;
    *from = (size_t)(pos < 0 ? size + pos : pos);
    // A negative length is as TensorFlow reads it: no limit.
    *to = len < 0 || len > size - (int64_t)*from ? s->len : *from + (size_t)len;
    return true;
}

static bool find_chars(const bd_string *s, int64_t pos, int64_t len, size_t *from, size_t *to)
{
    if (pos >= 0) {
        *from = 0;
        if (!bd_utf8_forward(s->data, s->len, pos, from)) return false;
        *to = *from;
        bd_utf8_forward(s->data, s->len, len, to); // as far as the text goes
        return true;
    }
    if (len < 0 || pos < -(int64_t)s->len) return false;
    // From the end: skips the text after the piece, then the piece.
    int64_t behind = len > -pos ? 0 : -pos - len;
    *to = s->len;
    if (!bd_utf8_back(s->data, behind, to)) return false;
    *from = *to;
    return bd_utf8_back(s->data, -pos - behind, from);
}

static void cut(bd_op_ctx *c, const braid_tensor *y, int64_t at, int64_t x_at, int64_t pos_at, bool chars)
{
    const bd_string *s = &bd_tensor_str(bd_input(c, 0))[x_at];
    int64_t pos = bd_tensor_index(bd_input(c, 1), pos_at), len = bd_tensor_index(bd_input(c, 2), pos_at);
    size_t from = 0, to = 0;
    if ((chars ? find_chars : find_bytes)(s, pos, len, &from, &to)) {
        bd_string_put(c, y, at, to > from ? s->data + from : NULL, to - from);
    } else if (chars) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "pos %lld out of range for string at index %lld",
                   (long long)pos, (long long)at);
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "pos %lld out of range for string b'%.*s' at index %lld",
                   (long long)pos, (int)bd_min((int64_t)s->len, 1024), s->data ? s->data : "", (long long)at);
    }
}

// The index of the operand's element that belongs to element `at` of the result.
static int64_t broadcast_at(const bd_broadcast *b, const int64_t *strides, int64_t at)
{
    int64_t from = 0;
    for (int d = b->rank - 1; d >= 0; d--) {
        from += at % b->dims[d] * strides[d];
        at /= b->dims[d];
    }
    return from;
}

static void substr_run(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *pos = &bd_input(c, 1)->shape,
                      *len = &bd_input(c, 2)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    braid_shape shape;
    bd_broadcast walk;
    if (!bd_shape_equal(pos, len)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "pos and len should have the same shape, got: %s vs. %s",
                   bd_shape_str(pos, a), bd_shape_str(len, b));
        return;
    }
    if (!bd_shape_broadcast(x, pos, &shape) ||
        !bd_broadcast_init(&walk, x->dims, x->rank, pos->dims, pos->rank)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(x, a),
                   bd_shape_str(pos, b));
        return;
    }
    bool chars = strcmp(bd_node_attr_string(c->node, "unit"), "UTF8_CHAR") == 0;
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    for (int64_t i = 0; y && i < bd_tensor_count(y) && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        cut(c, y, i, broadcast_at(&walk, walk.x_strides, i), broadcast_at(&walk, walk.y_strides, i), chars);
}

BD_OP(Substr) = {
    .signature = "(input: string, pos: T, len: T) -> (output: string)",
    .attrs = "T:type{int32,int64}; unit:string{BYTE,UTF8_CHAR}='BYTE'",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = substr_shape,
    .kernels = BD_KERNELS({.run = substr_run}),
    .doc =
        "Pieces of strings: `len` bytes (or characters) from `pos` on, which counts from the end when it is negative. "
        "`pos` and `len` broadcast with the strings.",
    .deviation = "Broadcasts over more than two dimensions, too.",
};
