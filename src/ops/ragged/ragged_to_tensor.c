// RaggedTensorToTensor: converts a ragged tensor to a dense one, with rows padded by a default or cut off.
//
// Row partitions assign elements to rows, from the outermost dimension on. Each element of a partition gets
// the output position where it starts. An element that is cut off has no position, and neither have the
// elements within it.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/ragged/ragged.h"

#include <string.h>

#define NO_SLOT (-1)
#define FIRST_PARTITION 3 // its input

typedef enum partition_type {
    FIRST_DIM_SIZE,
    VALUE_ROWIDS,
    ROW_SPLITS,
    OTHER
} partition_type;

static partition_type type_of(const bd_bytes *name)
{
    static const char *const names[] = {
        [FIRST_DIM_SIZE] = "FIRST_DIM_SIZE", [VALUE_ROWIDS] = "VALUE_ROWIDS", [ROW_SPLITS] = "ROW_SPLITS"};
    for (int i = 0; i < OTHER; i++)
        if (name->len == strlen(names[i]) && memcmp(name->data, names[i], name->len) == 0)
            return (partition_type)i;
    return OTHER;
}

typedef struct partitions {
    const bd_attr *types;
    bool has_first_size; // the first partition is only the number of rows
    int rank;            // ragged dimensions
} partitions;

static partition_type partition_at(const partitions *p, int dim)
{
    return type_of(&p->types->list.s[dim + p->has_first_size]);
}

static const braid_tensor *partition_input(const bd_op_ctx *c, const partitions *p, int dim)
{
    return bd_input(c, FIRST_PARTITION + dim + p->has_first_size);
}

static bool read_partitions(bd_op_ctx *c, partitions *p)
{
    *p = (partitions){.types = bd_node_attr(c->node, "row_partition_types")};
    int count = c->input_count - FIRST_PARTITION;
    if (p->types->list.count != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%d row_partition_types for %d row partitions",
                   p->types->list.count, count);
        return false;
    }
    p->has_first_size = type_of(&p->types->list.s[0]) == FIRST_DIM_SIZE;
    p->rank = count - p->has_first_size;
    for (int d = 0; d < p->rank; d++) {
        partition_type type = partition_at(p, d);
        bool fits = type == ROW_SPLITS || (type == VALUE_ROWIDS && (d > 0 || p->has_first_size));
        if (fits && partition_input(c, p, d)->shape.rank == 1) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Cannot handle partition type %s in dimension %d: there are a first FIRST_DIM_SIZE, ROW_SPLITS and, "
            "with the former, VALUE_ROWIDS, each but the former a vector",
            p->types->list.s[d + p->has_first_size].data, d);
        return false;
    }
    return true;
}

static bool first_dim_size(bd_op_ctx *c, const partitions *p, int64_t *size)
{
    const braid_tensor *t = bd_input(c, FIRST_PARTITION);
    if (bd_tensor_count(t) == 0 || (p->has_first_size && bd_tensor_count(t) != 1)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Invalid first partition input. Tensor requires at least one element, and a size is one.");
        return false;
    }
    *size = p->has_first_size ? bd_tensor_index(t, 0) : t->shape.dims[0] - 1;
    if (*size >= 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the first dimension has %lld rows", (long long)*size);
    return false;
}

// ---- The shape ----

// Splits that are out of order are refused later.
static int64_t longest_of_splits(const braid_tensor *t)
{
    int64_t longest = 0;
    for (int64_t i = 1; i < bd_tensor_count(t) && !bd_interrupted_at(i); i++) {
        int64_t from = bd_tensor_index(t, i - 1), to = bd_tensor_index(t, i);
        if (from >= 0 && to > from && to - from > longest) longest = to - from;
    }
    return longest;
}

static int64_t longest_of_rowids(const braid_tensor *t)
{
    int64_t longest = 0;
    for (int64_t i = 0, len = 0; i < bd_tensor_count(t) && !bd_interrupted_at(i); i++) {
        len = i > 0 && bd_tensor_index(t, i) == bd_tensor_index(t, i - 1) ? len + 1 : 1;
        if (len > longest) longest = len;
    }
    return longest;
}

static int64_t longest_row(const bd_op_ctx *c, const partitions *p, int dim)
{
    const braid_tensor *t = partition_input(c, p, dim);
    return partition_at(p, dim) == ROW_SPLITS ? longest_of_splits(t) : longest_of_rowids(t);
}

// Reads input `shape`: a scalar -1 if it is unknown, or a vector with -1 for unknown dimensions.
static bool asked_shape(bd_op_ctx *c, int rank, braid_shape *shape)
{
    const braid_tensor *t = bd_input(c, 0);
    shape->rank = rank;
    for (int d = 0; d < rank; d++)
        shape->dims[d] = -1;
    if (t->shape.rank == 0 && bd_tensor_index(t, 0) == -1) return true;
    if (t->shape.rank != 1 || t->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "rt_input.shape and shape are incompatible: rt_input.rank = %d but shape.rank = %lld",
                   rank, (long long)(t->shape.rank == 1 ? t->shape.dims[0] : -1));
        return false;
    }
    for (int d = 0; d < rank; d++) {
        shape->dims[d] = bd_tensor_index(t, d);
        if (shape->dims[d] >= -1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid dimension size: %lld", (long long)shape->dims[d]);
        return false;
    }
    return true;
}

static bool output_shape(bd_op_ctx *c, const partitions *p, int64_t first, braid_shape *out)
{
    const braid_shape *values = &bd_input(c, 1)->shape;
    if (values->rank == 0 || values->rank + p->rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "values of rank %d with %d ragged dimensions: at most %d in all", values->rank, p->rank,
                   BRAID_RANK_MAX);
        return false;
    }
    if (!asked_shape(c, values->rank + p->rank, out)) return false;
    for (int d = 0; d < out->rank; d++) {
        int64_t *dim = &out->dims[d];
        if (d <= p->rank) {
            if (*dim < 0) *dim = d == 0 ? first : longest_row(c, p, d - 1);
            continue;
        }
        if (*dim < 0) *dim = values->dims[d - p->rank];
        if (*dim == values->dims[d - p->rank]) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "rt_input.shape and shape are incompatible: rt_input.shape[%d] = %lld but shape[%d] = %lld", d,
            (long long)values->dims[d - p->rank], d, (long long)*dim);
        return false;
    }
    return bd_sparse_check_size(c, out);
}

// ---- Slots ----

typedef struct slots {
    int64_t *at; // owned
    int64_t count;
} slots;

// The slots of a dimension, `step` apart, of which each row has `width`.
typedef struct extent {
    int64_t step, width;
} extent;

static bool slots_init(bd_op_ctx *c, slots *s, int64_t count)
{
    *s = (slots){bd_sparse_numbers(c, count), count};
    return s->at != NULL;
}

static bool fail_partition(bd_op_ctx *c, const char *what, int64_t got, int64_t limit)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: %lld of %lld", what, (long long)got, (long long)limit);
    return false;
}

static int64_t slot_at(int64_t row, int64_t column, const extent *e)
{
    return row == NO_SLOT || column >= e->width ? NO_SLOT : row + column * e->step;
}

static bool slots_of_splits(bd_op_ctx *c, int input, const slots *rows, const extent *e, slots *out)
{
    bd_splits s;
    bool ok = bd_splits_vector(c, input, &s);
    if (ok && s.len[0] - 1 > rows->count)
        ok = fail_partition(c, "Row partition size is greater than output size", s.len[0] - 1, rows->count);
    if (ok && s.of[0][0] != 0) ok = fail_partition(c, "Invalid row split size", s.of[0][0], 0);
    ok = ok && slots_init(c, out, s.of[0][s.len[0] - 1]);
    for (int64_t row = 0, at = 0; ok && row < s.len[0] - 1 && !bd_interrupted_at(row); row++)
        for (int64_t i = 0; i < s.of[0][row + 1] - s.of[0][row] && !bd_interrupted_at(i); i++)
            out->at[at++] = slot_at(rows->at[row], i, e);
    bd_splits_fini(&s);
    return ok;
}

static bool slots_of_rowids(bd_op_ctx *c, int input, const slots *rows, const extent *e, slots *out)
{
    const braid_tensor *t = bd_input(c, input);
    if (!slots_init(c, out, bd_tensor_count(t))) return false;
    for (int64_t i = 0, row = -1, column = 0; i < out->count && !bd_interrupted_at(i); i++) {
        int64_t next = bd_tensor_index(t, i);
        if (next < 0 || next >= rows->count)
            return fail_partition(c, "a value_rowid which is not less than the number of rows", next,
                                  rows->count);
        column = next == row ? column + 1 : 0;
        row = next;
        out->at[i] = slot_at(rows->at[row], column, e);
    }
    return true;
}

// The slots of the values. False: the kernel has failed. The caller frees them.
static bool find_slots(bd_op_ctx *c, const partitions *p, int64_t first, const braid_shape *shape, slots *out)
{
    extent e = {bd_shape_count_range(shape, 1, p->rank + 1), shape->dims[0]};
    if (!slots_init(c, out, first)) return false;
    for (int64_t i = 0; i < first && !bd_interrupted_at(i); i++)
        out->at[i] = slot_at(0, i, &e);
    bool ok = true;
    for (int d = 0; ok && d < p->rank; d++) {
        slots rows = *out;
        int input = FIRST_PARTITION + d + p->has_first_size;
        *out = (slots){0};
        e = (extent){bd_shape_count_range(shape, d + 2, p->rank + 1), shape->dims[d + 1]};
        ok = partition_at(p, d) == ROW_SPLITS ? slots_of_splits(c, input, &rows, &e, out)
                                              : slots_of_rowids(c, input, &rows, &e, out);
        bd_free(rows.at);
    }
    return ok;
}

// ---- Values ----

// Fills `y` with the default value, which is broadcast to the shape of a value.
static bool fill_default(bd_op_ctx *c, const partitions *p, const braid_tensor *y)
{
    const braid_tensor *filler = bd_input(c, 2);
    braid_shape value = {.rank = y->shape.rank - p->rank - 1}, both;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    memcpy(value.dims, y->shape.dims + p->rank + 1, (size_t)value.rank * sizeof value.dims[0]);
    if (!bd_shape_broadcast(&value, &filler->shape, &both) || !bd_shape_equal(&both, &value)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "default_value.shape=%s and a value's shape %s are incompatible",
                   bd_shape_str(&filler->shape, a), bd_shape_str(&value, b));
        return false;
    }
    int64_t own[BRAID_RANK_MAX];
    bd_strided block = bd_strided_of(&y->shape);
    bd_row_strides(&filler->shape, own);
    int lacks = y->shape.rank - filler->shape.rank;
    for (int d = 0; d < y->shape.rank; d++)
        block.from_strides[d] = d < lacks || filler->shape.dims[d - lacks] == 1 ? 0 : own[d - lacks];
    if (bd_tensor_count(y) > 0) bd_elements_copy_block(y, 0, filler, 0, &block);
    return true;
}

static void to_tensor_run(bd_op_ctx *c)
{
    const braid_tensor *values = bd_input(c, 1);
    partitions p;
    int64_t first;
    braid_shape shape;
    slots s = {0};
    if (!read_partitions(c, &p) || !first_dim_size(c, &p, &first) || !output_shape(c, &p, first, &shape))
        return;
    braid_tensor *y = bd_output(c, 0, values->dtype, &shape);
    int64_t size = bd_shape_count_range(&shape, p.rank + 1, shape.rank);
    if (y && fill_default(c, &p, y) && find_slots(c, &p, first, &shape, &s)) {
        if (s.count > values->shape.dims[0])
            fail_partition(c, "the row partitions name more values than there are", s.count,
                           values->shape.dims[0]);
        for (int64_t i = 0; !bd_op_failed(c) && i < s.count && !bd_interrupted_at(i); i++)
            if (s.at[i] != NO_SLOT) bd_elements_copy(y, s.at[i] * size, values, i * size, size);
    }
    bd_free(s.at);
}

static braid_code to_tensor_shape(bd_shape_ctx *c, braid_status *st)
{
    const bd_attr *types = bd_node_attr(c->node, "row_partition_types");
    const braid_shape *values = &c->inputs[1];
    const braid_tensor *t = bd_shape_ctx_constant(c, 0);
    if (values->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (values->rank < 0 || types->list.count == 0) return BRAID_OK;
    int ragged = types->list.count - (type_of(&types->list.s[0]) == FIRST_DIM_SIZE);
    if (values->rank + ragged > BRAID_RANK_MAX) return BRAID_OK; // refused when it runs
    braid_shape out = {.rank = values->rank + ragged};
    for (int d = 0; d < out.rank; d++)
        out.dims[d] = d > ragged ? values->dims[d - ragged] : -1;
    if (t && t->shape.rank == 1 && t->shape.dims[0] == out.rank) {
        for (int d = 0; d < out.rank; d++)
            if (bd_tensor_index(t, d) >= 0) out.dims[d] = bd_tensor_index(t, d);
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

// ---- Gradient ----

// Everything of a shape but its first dimension.
static braid_out inner_shape(braid_graph *g, braid_out shape)
{
    return bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .begin = {1}, .end_mask = 1});
}

// The same op over the numbers of the values: for each place of the output the value that it holds, -1 for
// the default.
static braid_out value_numbers(bd_grad_ctx *c, braid_out count)
{
    braid_graph *g = c->graph;
    const bd_attr *types = bd_node_attr(c->op, "row_partition_types");
    const char *names[BRAID_RANK_MAX + 1] = {0};
    int n = types->list.count;
    for (int i = 0; i < n; i++)
        names[i] = types->list.s[i].data;
    int32_t ragged = n - (type_of(&types->list.s[0]) == FIRST_DIM_SIZE);
    braid_out outer = bd_grad_slice(g, bd_b_shape(g, "Shape", c->output_grads[0]),
                                    &(bd_grad_index){.count = 1, .end = {ragged + 1}, .begin_mask = 1});
    braid_op_desc *d = braid_op_begin(g, "RaggedTensorToTensor", NULL);
    braid_op_input(d, outer);
    braid_op_input(d, bd_grad_range(g, count, 1));
    braid_op_input(d, bd_b_const_i32(g, "default_value", -1));
    braid_out rest[BRAID_RANK_MAX + 1] = {0};
    for (int i = 0; i < n; i++)
        rest[i] = braid_op_get_input(c->op, FIRST_PARTITION + i);
    braid_op_input_list(d, rest, n);
    braid_op_attr_string_list(d, "row_partition_types", names, n);
    return braid_op_end_out(d);
}

// Sums the gradients of all places with the default value, over its broadcast dimensions.
static braid_out default_gradient(bd_grad_ctx *c, braid_out grads, braid_out numbers, braid_out value_shape)
{
    braid_graph *g = c->graph;
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_b2(g, "Equal", NULL, numbers, bd_b_const_i32(g, "none", -1)));
    braid_op_attr_type(d, "DstT", BRAID_INT32);
    braid_out is_default =
        braid_op_end_out(d); // 1 at such a place; minus 1: 0 there, else a segment that is dropped
    braid_out segments = bd_b2(g, "Sub", "sub", is_default, bd_b_const_i32(g, "one", 1));
    braid_out sums =
        bd_b3(g, "UnsortedSegmentSum", NULL, grads, segments, bd_b_const_i32(g, "num_segments", 1));
    braid_out shape = bd_b_shape(g, "Shape", braid_op_get_input(c->op, 2));
    braid_out axes = bd_b2(g, "BroadcastGradientArgs", NULL, shape, value_shape);
    braid_out whole = bd_b2(g, "Reshape", NULL, sums, value_shape);
    return bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, whole, axes), shape);
}

static void to_tensor_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    int n = c->op->input_count - FIRST_PARTITION;
    if (n > BRAID_RANK_MAX + 1 || n != bd_node_attr(c->op, "row_partition_types")->list.count) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "RaggedTensorToTensor '%s' needs a type for each row partition, of which there are %d, at most %d",
            c->op->name, n, BRAID_RANK_MAX + 1);
        return;
    }
    braid_out values = braid_op_get_input(c->op, 1), shape = bd_b_shape(g, "Shape", values);
    braid_out count =
        bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .end = {1}, .shrink_axis_mask = 1});
    braid_out numbers = bd_grad_flatten(g, value_numbers(c, count)), inner = inner_shape(g, shape);
    braid_out any = bd_b_const_i32_vector(g, "Const", (int32_t[]){-1}, 1);
    braid_out grads =
        bd_b2(g, "Reshape", NULL, c->output_grads[0], bd_grad_concat(g, (braid_out[]){any, inner}, 2, 0));
    c->input_grads[1] = bd_b3(g, "UnsortedSegmentSum", NULL, grads, numbers, count);
    c->input_grads[2] = default_gradient(c, grads, numbers, inner);
}

BD_OP(RaggedTensorToTensor) = {
    .signature = "(shape: Tshape, values: T, default_value: T, row_partition_tensors: "
                 "num_row_partition_tensors*Tindex) -> (result: T)",
    .attrs = "T:type; Tindex:type{int32,int64}; Tshape:type{int32,int64}; num_row_partition_tensors:int>=1; "
             "row_partition_types:list(string)",
    .shape = to_tensor_shape,
    .gradient = to_tensor_gradient,
    .kernels = BD_KERNELS({.run = to_tensor_run}),
    .doc =
        "A ragged tensor as a dense one: rows that are too short are filled up with default_value, those that "
        "are too long are cut off.",
};
