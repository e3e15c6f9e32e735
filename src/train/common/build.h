// Short forms over the public graph builder, for the files of this module.
#ifndef BD_TRAIN_BUILD_H
#define BD_TRAIN_BUILD_H

#include <braid/initializers.h>
#include <braid/ops.h>

static inline braid_out train_out0(braid_op *op)
{
    return (braid_out){op, 0};
}

// A node named `name` (NULL: after its op) with the given inputs; its output 0.
braid_out train_node1(braid_graph *g, const char *op_type, const char *name, braid_out a);
braid_out train_node2(braid_graph *g, const char *op_type, const char *name, braid_out a, braid_out b);
braid_out train_node3(braid_graph *g, const char *op_type, const char *name, braid_out a, braid_out b,
                      braid_out c);

// Sets element `index` of `data`, an array of a number type; false for another type.
bool train_set_number(void *data, braid_dtype dtype, int64_t index, double value);

// The type without "reference".
static inline braid_dtype train_base_dtype(braid_dtype dtype)
{
    return dtype > 100 ? (braid_dtype)(dtype - 100) : dtype;
}

// A shape as a constant vector, int32 as TensorFlow makes it (int64 when a dimension does not fit).
braid_out train_const_shape(braid_graph *g, const char *name, braid_shape shape);

// tf.shape: a constant when all of the shape is known, else a node "Shape".
braid_out train_shape_of(braid_graph *g, braid_out x);

// tf.rank and tf.size, int32, in the same way; range(rank(x)); every axis of x, a constant where the rank is
// known.
braid_out train_rank_of(braid_graph *g, braid_out x);
braid_out train_size_of(braid_graph *g, braid_out x);
braid_out train_rank_range(braid_graph *g, braid_out x);
// [0, 1, ..., count - 1] of the type of `count`, an int32 scalar.
braid_out train_range(braid_graph *g, braid_out count);
braid_out train_all_axes(braid_graph *g, braid_out x);

// Makes the graph fail unless there are values, one at least. `what` is the caller, for the message.
bool train_check_values(braid_graph *g, const char *what, const braid_out *values, int count);
// The same of the numbers that a function takes for `count` dimensions.
bool train_check_dims(braid_graph *g, const char *what, braid_out x, const void *numbers, int count);

// braid_add_n with the node's name.
braid_out train_add_n(braid_graph *g, const char *name, const braid_out *values, int count);

// A reduction over axes that are a tensor.
braid_out train_reduce(braid_graph *g, const char *op_type, braid_out x, braid_out axes, bool keep_dims);

// x[index] and x[0]
braid_out train_element(braid_graph *g, braid_out x, int32_t index);
braid_out train_first_of(braid_graph *g, braid_out x);

// Zeros [count, size] of a number type; `count` is an int32 scalar.
braid_out train_zero_rows(braid_graph *g, braid_out count, int64_t size, braid_dtype dtype);

// GatherV2 along the first axis, called `name` (NULL: after its op).
braid_out train_gather(braid_graph *g, const char *name, braid_out params, braid_out indices);

// OP(x, y) with a number for one of them: the constant NAME/y or NAME/x, the node being NAME (or a scope with
// its '/').
braid_out train_op_number(braid_graph *g, const char *op_type, const char *name, braid_out x, double y);
braid_out train_number_op(braid_graph *g, const char *op_type, const char *name, double x, braid_out y);

// Random values: uniform in [a, b), or around the mean a with the standard deviation b.
typedef struct train_random {
    braid_distribution distribution;
    braid_dtype dtype; // floating-point
    double a, b;
    int64_t seed; // if has_seed
    bool has_seed;
} train_random;

braid_out train_random_values(braid_graph *g, braid_shape shape, const train_random *r);

// tf.random_uniform of a floating-point type, its shape an int32 vector; with the values of `r`.
braid_out train_random_uniform(braid_graph *g, braid_dtype dtype, braid_out shape, double min, double max);
braid_out train_random_uniform_with(braid_graph *g, braid_out shape, const train_random *r);

// How windows move over images: {height, width}.
typedef struct train_windows {
    int64_t size[2]; // of pooling; convolutions have the size of their filter
    int64_t strides[2];
    int64_t dilation[2]; // 0: 1
    braid_padding padding;
    bool channels_first;
} train_windows;

// A convolution or a pooling of `inputs` [count].
braid_out train_over_windows(braid_graph *g, const char *op_type, const char *name, const braid_out *inputs,
                             int count, const train_windows *w);

// Dropout.
typedef struct train_dropout_spec {
    braid_out keep_prob;   // a scalar
    braid_out noise_shape; // which elements are dropped together: a shape that broadcasts; op NULL: that of x
    int64_t seed;          // if has_seed
    bool has_seed;
} train_dropout_spec;

// The nodes of braid_dropout, in the current scope.
braid_out train_dropout(braid_graph *g, braid_out x, const train_dropout_spec *spec);

// braid_stack along a new first axis, the node being `name`.
braid_out train_stack(braid_graph *g, const char *name, const braid_out *values, int count);

// braid_sigmoid_cross_entropy with its name.
braid_out train_sigmoid_cross_entropy(braid_graph *g, const char *name, braid_out logits, braid_out labels);

// The node name of a scope: "a/b/" -> "a/b". The caller frees it.
char *train_scope_name(const char *scope);

#endif
