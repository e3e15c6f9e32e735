// Shapes: comparing, merging, printing and checking braid_shape.
#ifndef BD_TENSOR_SHAPE_H
#define BD_TENSOR_SHAPE_H

#include "base/status.h"
#include "base/strbuf.h"
#include <braid/tensor.h>

#define BD_SCALAR ((braid_shape){.rank = 0})
#define BD_SHAPE_UNKNOWN ((braid_shape){.rank = -1})

static inline braid_shape bd_shape1(int64_t a)
{
    return (braid_shape){.rank = 1, .dims = {a}};
}
static inline braid_shape bd_shape2(int64_t a, int64_t b)
{
    return (braid_shape){.rank = 2, .dims = {a, b}};
}

// Whether rank and dimensions are numbers that a shape may have, known or not.
bool bd_shape_can_be(const braid_shape *s);
bool bd_shape_is_known(const braid_shape *s); // rank and all dimensions
bool bd_shape_equal(const braid_shape *a, const braid_shape *b);

// Number of elements of a known shape, unchecked: for shapes of existing tensors.
int64_t bd_shape_count(const braid_shape *s);
// The product of dims[from, to).
int64_t bd_shape_count_range(const braid_shape *s, int from, int to);

// The number of elements of an untrusted shape. InvalidArgument for unknown or negative dimensions and for a
// product that does not fit int64.
braid_code bd_shape_checked_count(const braid_shape *s, int64_t *count, braid_status *st);

// The shape two broadcasting operands make (numpy's rule; -1 where unknown). False when they cannot be
// broadcast.
bool bd_shape_broadcast(const braid_shape *a, const braid_shape *b, braid_shape *out);

// Lists the axes of the broadcast shape along which `own` is 1 or missing, in ascending order: those over
// which its gradient is summed; none when the shapes are equal. Returns their number.
int bd_shape_broadcast_axes(const braid_shape *own, const braid_shape *other, int32_t axes[BRAID_RANK_MAX]);

// Merges the known dimensions of two shapes of one tensor. False when they contradict each other.
bool bd_shape_merge(const braid_shape *a, const braid_shape *b, braid_shape *out);

// Appends "[2,?,3]"; "[]" for a scalar and "?" for unknown rank... as messages print shapes.
void bd_shape_print(const braid_shape *s, bd_strbuf *out);
// The same into a buffer of the caller; returns `buf`. For messages: bd_shape_str(&s,
// (char[BD_SHAPE_STR_MAX]){0}).
#define BD_SHAPE_STR_MAX (BRAID_RANK_MAX * 20 + 16)
const char *bd_shape_str(const braid_shape *s, char buf[BD_SHAPE_STR_MAX]);

// Reads "[2,?,3]", "[]", "?" (the form of bd_shape_print). For tests and tables.
bool bd_shape_parse(const char *text, braid_shape *out);

#endif
