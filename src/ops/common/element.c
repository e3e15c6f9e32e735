// Copying elements of any type, and reading small integer inputs.
#include "ops/common/element.h"

#include "base/hogwild.h"
#include "base/interrupt.h"
#include <string.h>

size_t bd_element_size(braid_dtype dtype)
{
    dtype = bd_dtype_base(dtype);
    if (dtype == BRAID_STRING) return sizeof(bd_string);
    if (dtype == BRAID_RESOURCE) return sizeof(bd_resource_handle);
    if (dtype == BRAID_VARIANT) return sizeof(bd_variant *);
    return braid_dtype_size(dtype);
}

static void copy_handle(bd_resource_handle *to, const bd_resource_handle *from)
{
    to->device = from->device ? bd_strdup(from->device) : NULL;
    to->container = from->container ? bd_strdup(from->container) : NULL;
    to->name = from->name ? bd_strdup(from->name) : NULL;
    to->type_name = from->type_name ? bd_strdup(from->type_name) : NULL;
    to->hash_code = from->hash_code;
}

typedef struct owning_copy {
    const braid_tensor *to, *from;
    int64_t to_at, from_at;
} owning_copy;

// Copies a run of elements that own memory: strings, handles and variants.
static void copy_owning_run(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,
                            int64_t n)
{
    owning_copy *c = arg;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i + 1); i++) {
        int64_t to = c->to_at + to_at + i * to_stride, from = c->from_at + from_at + i * from_stride;
        if (c->to->dtype == BRAID_STRING) {
            const bd_string *s = &bd_tensor_str(c->from)[from];
            bd_tensor_string_try_set(c->to, to, s->data, s->len);
        } else if (c->to->dtype == BRAID_VARIANT) {
            bd_tensor_variant_set((braid_tensor *)c->to, to, bd_tensor_variant(c->from)[from]);
        } else {
            copy_handle(&bd_tensor_handle(c->to)[to], &bd_tensor_handle(c->from)[from]);
        }
    }
}

// Up to this number of bytes a copy is not worth a walk, after which it could be interrupted.
#define SMALL_COPY (1 << 20)

static bool is_plain(const braid_tensor *t)
{
    return braid_dtype_size(t->dtype) != 0;
}

void bd_elements_copy(const braid_tensor *to, int64_t to_at, const braid_tensor *from, int64_t from_at,
                      int64_t count)
{
    if (is_plain(to)) {
        size_t size = braid_dtype_size(to->dtype), len = (size_t)count * size;
        char *at = (char *)to->data + (size_t)to_at * size;
        const char *from_bytes = (const char *)from->data + (size_t)from_at * size;
        if (len > SMALL_COPY)
            bd_strided_copy(at, from_bytes, size, &BD_STRIDED_DENSE(count));
        else if (count > 0)
            memcpy(at, from_bytes, len);
        return;
    }
    owning_copy c = {.to = to, .from = from, .to_at = to_at, .from_at = from_at};
    copy_owning_run(&c, 0, 1, 0, 1, count);
    bd_tensor_spread_incomplete(to, from);
}

void bd_elements_copy_block(const braid_tensor *to, int64_t to_at, const braid_tensor *from, int64_t from_at,
                            const bd_strided *block)
{
    if (is_plain(to)) {
        int64_t size = (int64_t)braid_dtype_size(to->dtype);
        bd_strided_copy((char *)to->data + to_at * size, (const char *)from->data + from_at * size,
                        (size_t)size, block);
        return;
    }
    owning_copy c = {.to = to, .from = from, .to_at = to_at, .from_at = from_at};
    bd_strided_walk(block, copy_owning_run, &c);
    bd_tensor_spread_incomplete(to, from);
}

void bd_elements_join(const braid_tensor *whole, int axis, int64_t at, const braid_tensor *part,
                      int64_t part_dim)
{
    int64_t inner = bd_shape_count_range(&whole->shape, axis + 1, whole->shape.rank);
    int64_t run = part_dim * inner, row = whole->shape.dims[axis] * inner;
    bd_strided block = {.rank = 2,
                        .dims = {bd_shape_count_range(&whole->shape, 0, axis), run},
                        .to_strides = {row, 1},
                        .from_strides = {run, 1}};
    bd_elements_copy_block(whole, at * inner, part, 0, &block);
}

bool bd_output_piece(bd_op_ctx *c, int i, const braid_tensor *whole, int axis, int64_t at, int64_t size)
{
    braid_shape piece = whole->shape;
    piece.dims[axis] = size;
    int64_t inner = bd_shape_count_range(&whole->shape, axis + 1, whole->shape.rank);
    if (bd_shape_count_range(&whole->shape, 0, axis) == 1) {
        braid_tensor view;
        bd_tensor_view(&view, whole, at * inner, &piece);
        bd_output_set(c, i, &view);
        bd_tensor_fini(&view);
        return true;
    }
    braid_tensor *y = bd_output(c, i, whole->dtype, &piece);
    if (!y) return false;
    bd_strided block = bd_strided_of(&piece);
    bd_row_strides(&whole->shape, block.from_strides);
    bd_elements_copy_block(y, 0, whole, at * inner, &block);
    return true;
}

// Computes the strides, in elements, of a walk over `shape` with `strides` (NULL: 1) along each dimension.
// Returns the index of the first element.
static int64_t walk_strides(const braid_shape *shape, const int64_t *begin, const int64_t *strides,
                            int64_t *out)
{
    int64_t at = 0;
    bd_row_strides(shape, out);
    for (int d = 0; d < shape->rank; d++) {
        at += begin[d] * out[d];
        if (strides) out[d] *= strides[d];
    }
    return at;
}

// Whether a walk passes over memory from its begin on without a jump.
static bool is_contiguous(const bd_strided *block)
{
    int64_t next = 1;
    for (int d = block->rank - 1; d >= 0; d--) {
        if (block->dims[d] != 1 && block->from_strides[d] != next) return false;
        next *= block->dims[d];
    }
    return true;
}

void bd_output_block(bd_op_ctx *c, int i, const braid_tensor *x, const int64_t *begin, const int64_t *strides,
                     const braid_shape *block, const braid_shape *out)
{
    bd_strided b = bd_strided_of(block);
    int64_t at = walk_strides(&x->shape, begin, strides, b.from_strides);
    if (bd_shape_count(block) > 0 && is_contiguous(&b)) {
        braid_tensor view;
        bd_tensor_view(&view, x, at, out);
        bd_output_set(c, i, &view);
        bd_tensor_fini(&view);
        return;
    }
    braid_tensor *y = bd_output(c, i, x->dtype, out);
    if (y && bd_tensor_count(y) > 0) bd_elements_copy_block(y, 0, x, at, &b);
}

void bd_output_spread(bd_op_ctx *c, int i, const braid_tensor *x, const braid_shape *block,
                      const int64_t *begin, const int64_t *strides, const braid_shape *out)
{
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(out, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, i, x->dtype, out);
    if (!y) return;
    size_t size = braid_dtype_size(y->dtype);
    if (size) memset(y->data, 0, (size_t)count * size);
    bd_strided b = bd_strided_of(block);
    int64_t at = walk_strides(out, begin, strides, b.to_strides);
    if (bd_shape_count(block) > 0) bd_elements_copy_block(y, at, x, 0, &b);
}

bool bd_tensor_snapshot(braid_tensor *t, const braid_tensor *from)
{
    if (!bd_tensor_alloc(t, from->dtype, &from->shape)) return false;
    if (is_plain(from)) {
        bd_copy_racing(t->data, from->data, (size_t)bd_tensor_count(from) * braid_dtype_size(from->dtype));
    } else {
        bd_elements_copy(t, 0, from, 0, bd_tensor_count(from));
        if (bd_tensor_is_incomplete(t)) {
            bd_tensor_fini(t);
            return false;
        }
    }
    return true;
}

bool bd_tensor_keep(braid_tensor *t, const braid_tensor *from)
{
    if (from->buffer && from->buffer->is_variable) return bd_tensor_snapshot(t, from);
    bd_tensor_ref(t, from);
    return true;
}

void bd_row_strides(const braid_shape *s, int64_t strides[BRAID_RANK_MAX])
{
    int64_t stride = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= s->dims[i];
    }
}

bd_strided bd_strided_of(const braid_shape *shape)
{
    bd_strided b = {.rank = shape->rank};
    for (int i = 0; i < shape->rank; i++)
        b.dims[i] = shape->dims[i];
    bd_row_strides(shape, b.to_strides);
    bd_row_strides(shape, b.from_strides);
    return b;
}

void bd_tensor_view(braid_tensor *view, const braid_tensor *t, int64_t at, const braid_shape *shape)
{
    bd_tensor_ref(view, t);
    view->shape = *shape;
    view->data = (char *)t->data + (size_t)at * bd_element_size(t->dtype);
}

bool bd_input_shape(bd_op_ctx *c, int i, const char *what, braid_shape *shape)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a vector of {int32,int64}, got shape %s", what,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    int64_t rank = t->shape.dims[0];
    if (rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has %lld dimensions, at most %d are possible", what,
                   (long long)rank, BRAID_RANK_MAX);
        return false;
    }
    shape->rank = (int)rank;
    for (int d = 0; d < rank; d++) {
        shape->dims[d] = bd_tensor_index(t, d);
        if (shape->dims[d] < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: dimension %lld must be >= 0", what,
                       (long long)shape->dims[d]);
            return false;
        }
    }
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(shape, &count, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    return true;
}

bool bd_input_ints(bd_op_ctx *c, int i, const char *what, int count, int64_t values[BRAID_RANK_MAX])
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1 || t->shape.dims[0] != count) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s to be a vector of length %d but got shape %s",
                   what, count, bd_shape_str(&t->shape, text));
        return false;
    }
    for (int k = 0; k < count; k++)
        values[k] = bd_tensor_index(t, k);
    return true;
}

const char *bd_element_place(const braid_shape *s, int64_t at, char buf[BD_SHAPE_STR_MAX])
{
    braid_shape place = {.rank = s->rank};
    for (int d = s->rank - 1; d >= 0; d--) {
        place.dims[d] = at % s->dims[d];
        at /= s->dims[d];
    }
    buf[0] = 0;
    return place.rank == 0 ? buf : bd_shape_str(&place, buf);
}

bool bd_input_scalar_index(bd_op_ctx *c, int i, const char *what, int64_t *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be scalar, got shape %s", what,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    *value = bd_tensor_index(t, 0);
    return true;
}

bool bd_input_int(bd_op_ctx *c, int i, const char *what, int64_t *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (bd_tensor_count(t) != 1 || t->shape.rank > 1) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s must be a scalar: it must have exactly one element, but has shape %s", what,
                   bd_shape_str(&t->shape, text));
        return false;
    }
    *value = bd_tensor_index(t, 0);
    return true;
}

bool bd_shape_ctx_constant_int(bd_shape_ctx *c, int i, int64_t *value)
{
    const braid_tensor *t = bd_shape_ctx_constant(c, i);
    if (!t || (t->dtype != BRAID_INT32 && t->dtype != BRAID_INT64) || bd_tensor_count(t) != 1) return false;
    *value = bd_tensor_index(t, 0);
    return true;
}

braid_code bd_shape_ctx_axis(bd_shape_ctx *c, int rank, int64_t *axis, braid_status *st)
{
    if (*axis < -rank || *axis >= rank) {
        return bd_shape_ctx_fail(c, st, "Dimension %lld is not in [%d, %d)", (long long)*axis, -rank, rank);
    }
    if (*axis < 0) *axis += rank;
    return BRAID_OK;
}
