// DataFormatDimMap and DataFormatVecPermute: permute dimensions between formats named by letters, such as
// NHWC and NCHW.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"

#include <string.h>

#define LETTERS_MAX 5

// The position of each letter in the other format.
typedef struct format_state {
    int count;
    int64_t to[LETTERS_MAX];   // for each source position
    int64_t from[LETTERS_MAX]; // for each destination position
} format_state;

static braid_code format_create(const braid_op *node, void *state, braid_status *st)
{
    format_state *s = state;
    const char *source = bd_node_attr_string(node, "src_format"),
               *target = bd_node_attr_string(node, "dst_format");
    size_t letters = strlen(source);
    if (letters != 4 && letters != 5)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Source format must be of length 4 or 5, received src_format = %s", source);
    if (strlen(target) != 4 && strlen(target) != 5)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Destination format must be of length 4 or 5, received dst_format = %s", target);
    s->count = (int)letters;
    for (int i = 0; i < s->count; i++) {
        const char *there = strchr(target, source[i]), *back = strchr(source, target[i]);
        if (strlen(target) != letters || !there || !back || strchr(source + i + 1, source[i]))
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Destination and source format must determine a permutation, got %s and %s",
                           source, target);
        s->to[i] = there - target;
        s->from[i] = back - source;
    }
    return BRAID_OK;
}

static void put_index(const braid_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == BRAID_INT64) {
        bd_tensor_i64(t)[i] = value;
    } else {
        bd_tensor_i32(t)[i] = (int32_t)value;
    }
}

static void dim_map_run(bd_op_ctx *c)
{
    const format_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++)
        put_index(y, i, s->to[(bd_tensor_index(x, i) % s->count + s->count) % s->count]);
}

static void vec_permute_run(bd_op_ctx *c)
{
    const format_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    char text[BD_SHAPE_STR_MAX];
    const char *wrong = rank != 1 && rank != 2 ? "input must be a vector or 2D tensor"
                        : rank == 2 && x->shape.dims[1] != 2
                            ? "Second dimension of 2D input must be of size 2"
                        : x->shape.dims[0] == s->count ? NULL
                        : rank == 2                    ? "First dimension of 2D input must be of size 4"
                                                       : "1D input must be of size 4 or 5";
    if (wrong) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s, but got shape %s", wrong, bd_shape_str(&x->shape, text));
        return;
    }
    int64_t columns = rank == 2 ? 2 : 1;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    for (int64_t i = 0; y && i < s->count; i++)
        bd_elements_copy(y, i * columns, x, s->from[i] * columns, columns);
}

#define FORMAT_ATTRS "T:type{int32,int64}=int32; src_format:string='NHWC'; dst_format:string='NCHW'"
#define FORMAT_KERNELS(RUN)                                                                                  \
    BD_KERNELS({.state_size = sizeof(format_state), .create = format_create, .run = (RUN)})

BD_OP(DataFormatDimMap) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = FORMAT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = FORMAT_KERNELS(dim_map_run),
    .doc = "Maps dimensions of the source format to dimensions of the destination format.",
};

BD_OP(DataFormatVecPermute) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = FORMAT_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = FORMAT_KERNELS(vec_permute_run),
    .doc =
        "Permutes values given for the dimensions of the source format to the order of the destination format.",
};
