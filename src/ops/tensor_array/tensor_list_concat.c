// Joins lists of tensors along their first dimension, and splits tensors into lists.
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_list_ops.h"
#include <string.h>

// ---- Joining ----

// The known part of the elements' shape: their first dimension (-1: unknown, or not the same for all), and
// the others.
typedef struct row_shape {
    int64_t first;
    braid_shape rest;
} row_shape;

static bool begin_shape(bd_op_ctx *c, const bd_tensor_list *l, row_shape *s)
{
    braid_shape element;
    *s = (row_shape){-1, BD_SHAPE_UNKNOWN};
    if (c->input_count == 1) { // attr element_shape does not give the first dimension
        element = bd_node_attr_shape(c->node, "element_shape");
        s->rest = bd_shape_behind_first(&element);
        return true;
    }
    if (!bd_input_list_shape(c, 1, l, &element)) return false;
    if (element.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Concat requires elements to be at least vectors, found scalars instead.");
        return false;
    }
    if (element.rank > 0) *s = (row_shape){element.dims[0], bd_shape_behind_first(&element)};
    return true;
}

static bool merge_element(bd_op_ctx *c, int64_t i, const braid_tensor *t, row_shape *s)
{
    if (t->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Concat saw a scalar shape at index %lld but requires at least vectors.", (long long)i);
        return false;
    }
    braid_shape rest = bd_shape_behind_first(&t->shape);
    if (!bd_merge_element_shape(c, &s->rest, &rest)) return false;
    if (s->first == -1 || s->first == t->shape.dims[0]) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "First entry of element_shape input does not match the first dim of list element at index: "
               "%lld Expected: %lld Actual: %lld",
               (long long)i, (long long)s->first, (long long)t->shape.dims[0]);
    return false;
}

// Merges the shapes of the elements: the first dimension is known if it is the same in all that are set.
static bool merge_elements(bd_op_ctx *c, const bd_tensor_list *l, row_shape *s)
{
    int64_t first = s->first;
    bool differ = false;
    for (int64_t i = 0; i < l->count; i++) {
        const braid_tensor *t = &l->items[i];
        if (!bd_tensor_is_set(t)) continue;
        if (!merge_element(c, i, t, s)) return false;
        differ = differ || (first != -1 && first != t->shape.dims[0]);
        first = t->shape.dims[0];
    }
    s->first = differ ? -1 : first;
    return true;
}

static bool check_concat(bd_op_ctx *c, const bd_tensor_list *l, row_shape *s)
{
    char text[BD_SHAPE_STR_MAX];
    if (!begin_shape(c, l, s)) return false;
    if (l->count == 0 && !bd_shape_is_known(&s->rest)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "All except the first dimension must be fully defined when concating an empty tensor list. "
            "element_shape: %s",
            bd_element_shape_str(&s->rest, text));
        return false;
    }
    if (!merge_elements(c, l, s)) return false;
    if (bd_shape_is_known(&s->rest)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ is "
               "not fully defined: %s",
               bd_element_shape_str(&s->rest, text));
    return false;
}

// The number of rows of element `i`, which is not set.
static bool unset_rows(bd_op_ctx *c, int64_t i, const row_shape *s, int64_t *rows)
{
    const braid_tensor *dims = c->input_count > 2 ? bd_input(c, 2) : NULL;
    int64_t given = dims ? bd_tensor_count(dims) : 0;
    *rows = i < given ? bd_tensor_i64(dims)[i] : s->first;
    if (*rows >= 0) return true;
    if (!dims)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Concating lists with uninitialized tensors is not supported in this version of "
                   "TensorListConcat. Consider updating your GraphDef to run the newer version.");
    else if (i >= given)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "List contains uninitialized tensor at index %lld but leading_dims has only %lld elements.",
            (long long)i, (long long)given);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "leading_dims has the negative dimension %lld at index %lld",
                   (long long)*rows, (long long)i);
    return false;
}

// The rows of each element, and all of them.
static bool count_rows(bd_op_ctx *c, const bd_tensor_list *l, const row_shape *s, int64_t *lengths,
                       int64_t *all)
{
    *all = 0;
    for (int64_t i = 0; i < l->count; i++) {
        const braid_tensor *t = &l->items[i];
        if (bd_tensor_is_set(t))
            lengths[i] = t->shape.dims[0];
        else if (!unset_rows(c, i, s, &lengths[i]))
            return false;
        if (__builtin_add_overflow(*all, lengths[i], all)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The rows of all elements are more than can be counted");
            return false;
        }
    }
    return true;
}

static void join(const bd_tensor_list *l, const int64_t *lengths, int64_t row, const braid_tensor *y)
{
    size_t size = braid_dtype_size(y->dtype); // strings and variants are empty already
    int64_t at = 0;
    for (int64_t i = 0; i < l->count; i++) {
        int64_t len = lengths[i] * row;
        if (len > 0 && bd_tensor_is_set(&l->items[i]))
            bd_elements_copy(y, at, &l->items[i], 0, len);
        else if (len > 0 && size > 0)
            memset((char *)y->data + (size_t)at * size, 0, (size_t)len * size);
        at += len;
    }
}

static void concat_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_tensor_list *l = bd_input_typed_list(c, 0);
    row_shape s;
    if (!l || !check_concat(c, l, &s)) return;
    braid_tensor *lengths = bd_output(c, 1, BRAID_INT64, &BRAID_SHAPE(l->count));
    braid_shape shape;
    int64_t rows, count;
    if (!lengths || !count_rows(c, l, &s, bd_tensor_i64(lengths), &rows)) return;
    if (!bd_shape_prepend(rows, &s.rest, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s makes more than %d dimensions", c->node->op_type,
                   BRAID_RANK_MAX);
    } else if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
    } else {
        braid_tensor *y = bd_output(c, 0, l->element_dtype, &shape);
        if (y && count > 0) join(l, bd_tensor_i64(lengths), bd_shape_count(&s.rest), y);
    }
}

static braid_code concat_shape_of(bd_shape_ctx *c, const braid_shape *element, braid_status *st)
{
    c->outputs[1] = bd_shape1(-1);
    if (element->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = *element;
    if (element->rank > 0) c->outputs[0].dims[0] = -1;
    return BRAID_OK;
}

static braid_code concat_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element = bd_node_attr_shape(c->node, "element_shape");
    return concat_shape_of(c, &element, st);
}

static braid_code concat_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element;
    braid_code code = bd_shape_ctx_element_shape(c, 1, &element, st);
    return code ? code : concat_shape_of(c, &element, st);
}

BD_OP(TensorListConcat) = {
    .signature = "(input_handle: variant) -> (tensor: element_dtype, lengths: int64)",
    .attrs = "element_dtype:type; element_shape:shape=?",
    .shape = concat_shape,
    .gradient = bd_list_concat_gradient,
    .kernels = BD_KERNELS({.run = concat_run}),
    .doc =
        "All tensors of a list, joined along their first dimension, and how long each was; see TensorListConcatV2.",
};

BD_OP(TensorListConcatV2) = {
    .signature =
        "(input_handle: variant, element_shape: shape_type, leading_dims: int64) -> (tensor: element_dtype, lengths: int64)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .shape = concat_v2_shape,
    .gradient = bd_list_concat_gradient,
    .kernels = BD_KERNELS({.run = concat_run}),
    .doc =
        "All tensors of a list, joined along their first dimension, and how long each was. Those that are not set are zeros, "
        "leading_dims long.",
};

// ---- Splitting ----

static bool check_split(bd_op_ctx *c, const braid_tensor *t, const braid_shape *element)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    const braid_tensor *lengths = bd_input(c, 2);
    braid_shape rest = bd_shape_behind_first(element), row = bd_shape_behind_first(&t->shape);
    if (element->rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "TensorListSplit requires element_shape to be at least of rank 1, but saw: []");
    else if (t->shape.rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: []");
    else if (!bd_shapes_fit(&rest, &row))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor shape %s is not compatible with element_shape %s",
                   bd_shape_str(&t->shape, a), bd_shape_str(element, b));
    else if (lengths->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected lengths to be a vector, received shape: %s",
                   bd_shape_str(&lengths->shape, a));
    return !bd_op_failed(c);
}

static bool check_length(bd_op_ctx *c, int64_t length, int64_t start, int64_t rows)
{
    if (length >= 0 && length <= rows - start) return true;
    if (length < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid value in lengths: %lld", (long long)length);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Attempting to slice [%lld, %llu] from tensor with length %lld",
                   (long long)start, (unsigned long long)start + (unsigned long long)length, (long long)rows);
    return false;
}

static bool check_lengths(bd_op_ctx *c, const braid_tensor *lengths, int64_t rows)
{
    int64_t start = 0;
    for (int64_t i = 0; i < bd_tensor_count(lengths); i++) {
        int64_t length = bd_tensor_i64(lengths)[i];
        if (!check_length(c, length, start, rows)) return false;
        start += length;
    }
    if (start == rows) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unused values in tensor. Length of tensor: %lld Values used: %lld",
               (long long)rows, (long long)start);
    return false;
}

static void split_run(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0), *lengths = bd_input(c, 2);
    braid_shape element;
    if (!bd_input_element_shape(c, 1, &element) || !check_split(c, t, &element) ||
        !check_lengths(c, lengths, t->shape.dims[0]))
        return;
    int64_t count = bd_tensor_count(lengths), at = 0, row = bd_shape_count_range(&t->shape, 1, t->shape.rank);
    bd_tensor_list *l = bd_output_new_list(c, 0, t->dtype, &element, -1, count);
    for (int64_t i = 0; l && i < count; i++) {
        braid_shape piece = t->shape;
        piece.dims[0] = bd_tensor_i64(lengths)[i]; // which may have changed meanwhile, if it is a reference
        if (!check_length(c, piece.dims[0], at, t->shape.dims[0]) ||
            !bd_list_set_part(c, l, i, t, at * row, &piece))
            return;
        at += piece.dims[0];
    }
}

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element;
    c->outputs[0] = BD_SCALAR;
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    braid_code code = bd_shape_ctx_rank(c, 2, 1, st);
    if (code || (code = bd_shape_ctx_element_shape(c, 1, &element, st))) return code;
    if (element.rank >= 0 && c->inputs[0].rank >= 0 && element.rank != c->inputs[0].rank)
        return bd_shape_ctx_fail(c, st, "Shapes must be equal rank, but are %d and %d", c->inputs[0].rank,
                                 element.rank);
    return BRAID_OK;
}

BD_OP(TensorListSplit) = {
    .signature =
        "(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> (output_handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .shape = split_shape,
    .gradient = bd_list_split_gradient,
    .kernels = BD_KERNELS({.run = split_run}),
    .doc = "A list of the pieces of a tensor that have the given lengths along its first dimension.",
};
