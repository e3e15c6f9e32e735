// Joins the rows of each segment into one.
#include "ops/math/segment.h"

#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

void bd_segment_bind(const braid_op *node, bd_segment_op op, bd_segment_state *s)
{
    static const bd_binary_op joins[] = {[BD_SEGMENT_SUM] = BD_ADD,
                                         [BD_SEGMENT_MEAN] = BD_ADD,
                                         [BD_SEGMENT_PROD] = BD_MUL,
                                         [BD_SEGMENT_MIN] = BD_MIN,
                                         [BD_SEGMENT_MAX] = BD_MAX};
    bd_number type = bd_number_of(bd_node_attr_type(node, "T"));
    *s = (bd_segment_state){
        .op = op, .join = bd_binary_loop(joins[op], type), .divide = bd_binary_loop(BD_DIV, type)};
}

typedef union number {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
    float c64[2];
    double c128[2];
} number;

static number number_of(braid_dtype dtype, double real, int64_t integer)
{
    number n = {.c128 = {0}};
    switch (dtype) {
    case BRAID_FLOAT: n.f32 = (float)real; break;
    case BRAID_DOUBLE: n.f64 = real; break;
    case BRAID_INT32: n.i32 = (int32_t)integer; break;
    case BRAID_COMPLEX64: n.c64[0] = (float)real; break;
    case BRAID_COMPLEX128: n.c128[0] = real; break;
    default: n.i64 = integer; break;
    }
    return n;
}

// Fills `count` elements of `size` bytes.
static void fill(void *to, int64_t count, size_t size, number value)
{
    static const char zero[sizeof value];
    bool is_zero = memcmp(&value, zero, size) == 0;
    if (is_zero) memset(to, 0, (size_t)count * size);
    for (int64_t i = 0; !is_zero && i < count; i++)
        memcpy((char *)to + (size_t)i * size, &value, size);
}

// Allocates output 0: `count` rows, shaped like the data without their first `ids_rank` dimensions. NULL: the
// kernel has failed.
static braid_tensor *segment_output(bd_op_ctx *c, int64_t count, int ids_rank)
{
    const braid_tensor *data = bd_input(c, 0);
    braid_shape shape = bd_shape1(count);
    int64_t total;
    BD_STATUS(st);
    for (int d = ids_rank; d < data->shape.rank && shape.rank < BRAID_RANK_MAX; d++)
        shape.dims[shape.rank++] = data->shape.dims[d];
    if (!bd_shape_checked_count(&shape, &total, st)) return bd_output(c, 0, data->dtype, &shape);
    bd_op_fail_status(c, st);
    return NULL;
}

// ---- In order ----

// Checks id `i` against the next id and the number of segments, which follows from the last id.
static void check_id(bd_op_ctx *c, int64_t i, int64_t segments)
{
    const braid_tensor *ids = bd_input(c, 1);
    int64_t id = bd_tensor_index(ids, i);
    if (i + 1 < bd_tensor_count(ids) && bd_tensor_index(ids, i + 1) < id) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids are not increasing");
    } else if (id < 0 || id >= segments) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted.",
            (long long)id, (long long)segments);
    }
}

// The number of segments; -1: the kernel has failed.
static int64_t count_segments(bd_op_ctx *c)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count = bd_tensor_count(ids);
    if (ids->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be a vector.");
    } else if (data->shape.rank == 0) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "input must be at least 1-D: segment_ids should be the same size as dimension 0 of input.");
    } else if (data->shape.dims[0] != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be the same size as dimension 0 of input.");
    }
    if (bd_op_failed(c)) return -1;
    int64_t last = count > 0 ? bd_tensor_index(ids, count - 1) : -1;
    int64_t limit = ids->dtype == BRAID_INT32 ? INT32_MAX : INT64_MAX;
    if (count > 0 && (last < 0 || last == limit))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0 and below the greatest integer");
    for (int64_t i = 0; i < count && !bd_op_failed(c) && !bd_interrupted_at(i); i++)
        check_id(c, i, last + 1);
    return bd_op_failed(c) ? -1 : last + 1;
}

// The initial value of a segment with rows. For extremes it is the least (or greatest) value including
// infinity, so that NaN counts only in a segment of one row, which is copied. TensorFlow does the same.
static bool starts_with(bd_segment_op op, braid_dtype dtype, number *start)
{
    bool narrow = dtype == BRAID_INT32;
    if (op == BD_SEGMENT_MIN) *start = number_of(dtype, INFINITY, narrow ? INT32_MAX : INT64_MAX);
    if (op == BD_SEGMENT_MAX) *start = number_of(dtype, -INFINITY, narrow ? INT32_MIN : INT64_MIN);
    return op == BD_SEGMENT_MIN || op == BD_SEGMENT_MAX;
}

void bd_segment_fill_empty(bd_segment_op op, braid_dtype dtype, void *to, int64_t count)
{
    number empty = number_of(dtype, op == BD_SEGMENT_PROD, op == BD_SEGMENT_PROD);
    starts_with(op, dtype, &empty);
    fill(to, count, braid_dtype_size(dtype), empty);
}

void bd_segment_sorted_run(bd_op_ctx *c)
{
    const bd_segment_state *s = c->state;
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t segments = count_segments(c);
    braid_tensor *y = segments < 0 ? NULL : segment_output(c, segments, 1);
    if (!y) return;
    int64_t len = bd_shape_count_range(&data->shape, 1, data->shape.rank), count = bd_tensor_count(ids);
    size_t size = braid_dtype_size(y->dtype);
    number without_rows = number_of(y->dtype, s->op == BD_SEGMENT_PROD, s->op == BD_SEGMENT_PROD), start;
    bool has_start = starts_with(s->op, y->dtype, &start);
    fill(y->data, bd_tensor_count(y), size, without_rows);
    for (int64_t i = 0, from = 0; i < count && !bd_interrupted_at(i); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= segments) continue; // the ids may be a variable's and change between two reads
        if (i > 0 && bd_tensor_index(ids, i - 1) != id) from = i;
        char *to = (char *)y->data + (size_t)(id * len) * size;
        const char *x = (const char *)data->data + (size_t)(i * len) * size;
        bool is_last = i + 1 == count || bd_tensor_index(ids, i + 1) != id;
        if (i == from && (is_last || !has_start)) {
            memcpy(to, x, (size_t)len * size);
        } else {
            if (i == from) fill(to, len, size, start);
            s->join(to, x, to, len, BD_SINGLE_NONE);
        }
        number rows = number_of(y->dtype, (double)(i + 1 - from), i + 1 - from);
        if (s->op == BD_SEGMENT_MEAN && is_last) s->divide(to, &rows, to, len, BD_SINGLE_Y);
    }
}

// ---- In any order ----

static bool check_unsorted(bd_op_ctx *c, int64_t *count)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *ids = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (bd_input(c, 2)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_segments should be a scalar, not shape %s",
                   bd_shape_str(&bd_input(c, 2)->shape, a));
        return false;
    }
    *count = bd_tensor_index(bd_input(c, 2), 0);
    bool fits = data->rank >= ids->rank;
    for (int d = 0; fits && d < ids->rank; d++)
        fits = data->dims[d] == ids->dims[d];
    if (!fits) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s",
                   bd_shape_str(data, a), bd_shape_str(ids, b));
        return false;
    }
    if (*count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.",
                   (long long)*count);
    return *count >= 0;
}

// The result of an empty segment, which is also the initial value of unsorted segments.
static number start_of(bd_segment_op op, braid_dtype dtype)
{
    double largest = dtype == BRAID_FLOAT ? (double)FLT_MAX : DBL_MAX;
    bool narrow = dtype == BRAID_INT32;
    switch (op) {
    case BD_SEGMENT_PROD: return number_of(dtype, 1, 1);
    case BD_SEGMENT_MIN: return number_of(dtype, largest, narrow ? INT32_MAX : INT64_MAX);
    case BD_SEGMENT_MAX: return number_of(dtype, -largest, narrow ? INT32_MIN : INT64_MIN);
    default: return number_of(dtype, 0, 0);
    }
}

void bd_segment_unsorted_run(bd_op_ctx *c)
{
    const bd_segment_state *s = c->state;
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count;
    if (!check_unsorted(c, &count)) return;
    braid_tensor *y = segment_output(c, count, ids->shape.rank);
    if (!y) return;
    size_t size = braid_dtype_size(y->dtype);
    fill(y->data, bd_tensor_count(y), size, start_of(s->op, y->dtype));
    int64_t len = bd_shape_count_range(&data->shape, ids->shape.rank, data->shape.rank);
    // without data the ids are not checked
    int64_t rows = bd_tensor_count(data) > 0 ? bd_tensor_count(ids) : 0;
    for (int64_t i = 0; i < rows && !bd_interrupted_at(i); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0) continue; // dropped
        if (id >= count) {
            char place[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids%s = %lld is out of range [0, %lld)",
                       bd_element_place(&ids->shape, i, place), (long long)id, (long long)count);
            return;
        }
        char *to = (char *)y->data + (size_t)(id * len) * size;
        // If one of the two is NaN the result is the first operand, as in TensorFlow.
        s->join((const char *)data->data + (size_t)(i * len) * size, to, to, len, BD_SINGLE_NONE);
    }
}
