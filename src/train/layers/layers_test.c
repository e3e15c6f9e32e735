// Layers: their values against plain loops, the names of their variables, their options and errors.
// (layers_batch_norm_test.c tests batch normalization.)
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/layers.h>
#include <braid/session.h>
#include <math.h>

// ---- Inputs, kernels and runs ----

// Small numbers without a pattern that a wrong order of dimensions would keep.
static float element(int64_t i)
{
    return (float)((i * 7 + i / 3) % 13 - 6) / 4;
}

static braid_out ramp(braid_graph *g, braid_dtype dtype, braid_shape shape)
{
    braid_tensor *t = braid_tensor_new(dtype, shape, NULL);
    for (int64_t i = 0; i < braid_tensor_num_elements(t); i++)
        ((float *)braid_tensor_data(t))[i] = element(i);
    braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

static braid_out build_ramp(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                            braid_shape shape)
{
    (void)self;
    return ramp(g, dtype, shape);
}

static const braid_initializer ramp_initializer = {.build = build_ramp};

static braid_out input(braid_graph *g, braid_shape shape)
{
    return ramp(g, BRAID_FLOAT, shape);
}

// The same value, of which only this shape is known.
static braid_out with_shape(braid_out x, braid_shape shape)
{
    braid_op_desc *d = braid_op_begin(braid_op_graph(x.op), "PlaceholderWithDefault", NULL);
    braid_op_input(d, x);
    braid_op_attr_shape(d, "shape", shape);
    return braid_op_end_out(d);
}

// A value of a graph once its variables are initialized; the caller frees it.
static braid_tensor *value_of(braid_graph *g, braid_out fetch)
{
    braid_session *s = evaluate_open(g);
    braid_tensor *got = evaluate_tensor(s, fetch);
    braid_session_close(s, NULL);
    return got;
}

static void expect_values(braid_graph *g, braid_out fetch, braid_shape shape, const float *want)
{
    braid_tensor *got = value_of(g, fetch);
    assert_true(braid_shape_equal(braid_tensor_shape(got), shape));
    for (int64_t i = 0; i < braid_tensor_num_elements(got); i++)
        assert_float_equal((double)((const float *)braid_tensor_data(got))[i], (double)want[i], 1e-5);
    braid_tensor_free(got);
}

// ---- Convolutions by plain loops ----

enum {
    BATCH = 2,
    HEIGHT = 5,
    WIDTH = 6,
    IN = 2,
    KERNEL_H = 3,
    KERNEL_W = 2,
    FILTERS = 3,
    OUT_MAX = BATCH * 12 * 14 * FILTERS * 2
};

// One dimension of a convolution: which input a window's element at `k` has, -1: padding.
typedef struct line {
    int size, kernel, stride, dilation, out, before;
} line;

static line make_line(int size, int kernel, int stride, int dilation, bool same)
{
    const int window = (kernel - 1) * dilation + 1;
    const int out = same ? (size + stride - 1) / stride : (size - window) / stride + 1;
    const int missing = (out - 1) * stride + window - size;
    return (line){size, kernel, stride, dilation, out, same && missing > 0 ? missing / 2 : 0};
}

static int at(const line *l, int out, int k)
{
    const int i = out * l->stride + k * l->dilation - l->before;
    return i >= 0 && i < l->size ? i : -1;
}

// The sum over the windows for output (n, y, x), a channel of the input and a filter; bias aside.
static double window_sum(const line *h, const line *w, const int where[3], int channel, int filter, int in,
                         int filters)
{
    double sum = 0;
    for (int i = 0; i < h->kernel; i++) {
        for (int k = 0; k < w->kernel; k++) {
            const int y = at(h, where[1], i), x = at(w, where[2], k);
            if (y < 0 || x < 0) continue;
            const int from = ((where[0] * h->size + y) * w->size + x) * in + channel;
            const int weight = ((i * w->kernel + k) * in + channel) * filters + filter;
            sum += (double)element(from) * (double)element(weight);
        }
    }
    return sum;
}

// [BATCH, out, out, FILTERS], the bias being a ramp too.
static void convolve(const line *h, const line *w, float *out)
{
    for (int i = 0; i < BATCH * h->out * w->out * FILTERS; i++) {
        const int pixel = i / FILTERS, filter = i % FILTERS;
        const int where[3] = {pixel / (h->out * w->out), pixel / w->out % h->out, pixel % w->out};
        double sum = (double)element(filter);
        for (int c = 0; c < IN; c++)
            sum += window_sum(h, w, where, c, filter, IN, FILTERS);
        out[i] = (float)sum;
    }
}

static const braid_layer_options ramps = {.kernel_initializer = {.build = build_ramp},
                                          .bias_initializer = {.build = build_ramp}};

static braid_out transposed(braid_graph *g, braid_out x, const int32_t *order)
{
    const braid_out inputs[] = {x, braid_const_int32s(g, NULL, order, 4)};
    return braid_output(braid_op_add(g, "Transpose", NULL, inputs, 2), 0);
}

static void convolutions_of_images_are_sums_over_windows(void **state)
{
    (void)state;
    static const struct {
        int strides[2], dilation[2];
        bool same;
    } rows[] = {{{0, 0}, {0, 0}, false}, {{2, 1}, {0, 0}, true}, {{0, 0}, {2, 3}, true}, {{2}, {0}, false}};
    for (size_t i = 0; i < 2 * BD_COUNTOF(rows); i++) {
        braid_conv_options o = {.layer = ramps, .same_padding = rows[i / 2].same};
        memcpy(o.strides, rows[i / 2].strides, sizeof o.strides);
        memcpy(o.dilation, rows[i / 2].dilation, sizeof o.dilation);
        const int sh = o.strides[0] ? o.strides[0] : 1, dh = o.dilation[0] ? o.dilation[0] : 1;
        const line h = make_line(HEIGHT, KERNEL_H, sh, dh, o.same_padding);
        const line w = make_line(WIDTH, KERNEL_W, o.strides[1] ? o.strides[1] : sh,
                                 o.dilation[1] ? o.dilation[1] : dh, o.same_padding);
        float want[OUT_MAX];
        convolve(&h, &w, want);
        braid_graph *g = braid_graph_new();
        braid_out x = input(g, BRAID_SHAPE(BATCH, HEIGHT, WIDTH, IN));
        if (i % 2) { // channels first
            o.data_format = BRAID_CHANNELS_FIRST;
            x = transposed(g, x, (int32_t[]){0, 3, 1, 2});
        }
        braid_out y = braid_layers_conv2d(g, x, FILTERS, KERNEL_H, KERNEL_W, &o);
        if (i % 2) y = transposed(g, y, (int32_t[]){0, 2, 3, 1});
        expect_values(g, y, BRAID_SHAPE(BATCH, h.out, w.out, FILTERS), want);
        braid_graph_free(g);
    }
}

// A sequence is an image of height 1: its elements and kernel come in the same order.
static void convolutions_of_sequences_are_those_of_flat_images(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const braid_conv_options o = {.layer = ramps,
                                      .strides = {i ? 2 : 1},
                                      .dilation = {i ? 1 : 2},
                                      .same_padding = i == 0,
                                      .data_format = i ? BRAID_CHANNELS_FIRST : BRAID_CHANNELS_LAST};
        const line h = make_line(1, 1, 1, 1, false);
        const line w = make_line(WIDTH, KERNEL_W, o.strides[0], o.dilation[0], o.same_padding);
        float want[OUT_MAX];
        convolve(&h, &w, want);
        braid_graph *g = braid_graph_new();
        braid_out x = input(g, BRAID_SHAPE(BATCH, 1, WIDTH, IN));
        if (i) x = transposed(g, x, (int32_t[]){0, 1, 3, 2});
        x = braid_reshape(g, x, i ? BRAID_SHAPE(BATCH, IN, WIDTH) : BRAID_SHAPE(BATCH, WIDTH, IN));
        braid_out y = braid_layers_conv1d(g, x, FILTERS, KERNEL_W, &o);
        assert_int_equal(braid_out_shape(y).rank, 3);
        y = braid_reshape(g, y, i ? BRAID_SHAPE(BATCH, 1, FILTERS, -1) : BRAID_SHAPE(BATCH, 1, -1, FILTERS));
        if (i) y = transposed(g, y, (int32_t[]){0, 1, 3, 2});
        expect_values(g, y, BRAID_SHAPE(BATCH, 1, w.out, FILTERS), want);
        braid_graph_free(g);
    }
}

static void separable_convolutions_join_channels_after_each_was_convolved(void **state)
{
    (void)state;
    enum {
        MULTIPLIER = 2,
        MIDDLE = IN * MULTIPLIER
    };
    const line h = make_line(HEIGHT, KERNEL_H, 1, 1, true), w = make_line(WIDTH, KERNEL_W, 1, 1, true);
    float want[OUT_MAX];
    for (int i = 0; i < BATCH * HEIGHT * WIDTH; i++) {
        const int where[3] = {i / (HEIGHT * WIDTH), i / WIDTH % HEIGHT, i % WIDTH};
        double middle[MIDDLE];
        for (int c = 0; c < MIDDLE; c++)
            middle[c] = window_sum(&h, &w, where, c / MULTIPLIER, c % MULTIPLIER, IN, MULTIPLIER);
        for (int f = 0; f < FILTERS; f++) {
            double sum = (double)element(f);
            for (int c = 0; c < MIDDLE; c++)
                sum += middle[c] * (double)element(c * FILTERS + f);
            want[i * FILTERS + f] = (float)sum;
        }
    }
    for (int i = 0; i < 2; i++) {
        braid_graph *g = braid_graph_new();
        braid_separable_conv_options o = {.conv = {.layer = ramps, .same_padding = true},
                                          .depth_multiplier = MULTIPLIER,
                                          .depthwise_initializer = ramp_initializer};
        braid_out x = input(g, BRAID_SHAPE(BATCH, HEIGHT, WIDTH, IN));
        if (i) { // channels first
            o.conv.data_format = BRAID_CHANNELS_FIRST;
            x = transposed(g, x, (int32_t[]){0, 3, 1, 2});
        }
        braid_out y = braid_layers_separable_conv2d(g, x, FILTERS, KERNEL_H, KERNEL_W, &o);
        if (i) y = transposed(g, y, (int32_t[]){0, 2, 3, 1});
        expect_values(g, y, BRAID_SHAPE(BATCH, HEIGHT, WIDTH, FILTERS), want);
        braid_graph_free(g);
    }
}

// Each input element adds its multiple of the kernel [height, width, filters, in] to a window of the output.
static void spread(const line *h, const line *w, float *out)
{
    for (int i = 0; i < BATCH * h->size * w->size * FILTERS; i++)
        out[i] = element(i % FILTERS);
    for (int i = 0; i < BATCH * h->out * w->out * IN * h->kernel * w->kernel * FILTERS; i++) {
        const int f = i % FILTERS, place = i / FILTERS % (h->kernel * w->kernel);
        const int from = i / FILTERS / (h->kernel * w->kernel), pixel = from / IN, c = from % IN;
        const int y = at(h, pixel / w->out % h->out, place / w->kernel);
        const int x = at(w, pixel % w->out, place % w->kernel);
        if (y < 0 || x < 0) continue;
        const int to = ((pixel / (h->out * w->out) * h->size + y) * w->size + x) * FILTERS + f;
        out[to] += element(from) * element((place * FILTERS + f) * IN + c);
    }
}

static void transposed_convolutions_enlarge_images(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool same = i % 2, first = i / 2;
        const int height = HEIGHT * 2 + (same ? 0 : KERNEL_H - 2), width = WIDTH * 2;
        const line h = make_line(height, KERNEL_H, 2, 1, same), w = make_line(width, KERNEL_W, 2, 1, same);
        assert_int_equal(h.out, HEIGHT);
        float want[OUT_MAX];
        spread(&h, &w, want);
        braid_graph *g = braid_graph_new();
        // Sizes that are not known, so that the shape of the result is computed.
        braid_out x =
            with_shape(input(g, BRAID_SHAPE(BATCH, HEIGHT, WIDTH, IN)), BRAID_SHAPE(-1, HEIGHT, -1, IN));
        if (first) x = transposed(g, x, (int32_t[]){0, 3, 1, 2});
        const braid_conv_options o = {.layer = ramps,
                                      .strides = {2},
                                      .same_padding = same,
                                      .data_format = first ? BRAID_CHANNELS_FIRST : BRAID_CHANNELS_LAST};
        braid_out y = braid_layers_conv2d_transpose(g, x, FILTERS, KERNEL_H, KERNEL_W, &o);
        if (first) y = transposed(g, y, (int32_t[]){0, 2, 3, 1});
        assert_true(braid_shape_equal(braid_out_shape(y), BRAID_SHAPE(-1, height, -1, FILTERS)));
        expect_values(g, y, BRAID_SHAPE(BATCH, height, width, FILTERS), want);
        braid_graph_free(g);
    }
}

// ---- Pooling ----

static void pooling_takes_the_largest_or_the_mean_of_windows(void **state)
{
    (void)state;
    const line h = make_line(HEIGHT, 3, 2, 1, false), w = make_line(WIDTH, 2, 2, 1, false);
    for (int i = 0; i < 4; i++) {
        const bool is_mean = i % 2, first = i / 2;
        float want[OUT_MAX];
        for (int k = 0; k < BATCH * h.out * w.out * IN; k++) {
            const int pixel = k / IN;
            double sum = 0, max = -INFINITY;
            for (int e = 0; e < 6; e++) {
                const int y = at(&h, pixel / w.out % h.out, e / 2), x = at(&w, pixel % w.out, e % 2);
                const int from = ((pixel / (h.out * w.out) * HEIGHT + y) * WIDTH + x) * IN + k % IN;
                sum += (double)element(from);
                max = fmax(max, (double)element(from));
            }
            want[k] = (float)(is_mean ? sum / 6 : max);
        }
        braid_graph *g = braid_graph_new();
        braid_out x = input(g, BRAID_SHAPE(BATCH, HEIGHT, WIDTH, IN));
        if (first) x = transposed(g, x, (int32_t[]){0, 3, 1, 2});
        const braid_pooling_options o = {.pool_size = {3, 2},
                                         .strides = {2},
                                         .data_format = first ? BRAID_CHANNELS_FIRST : BRAID_CHANNELS_LAST};
        braid_out y =
            is_mean ? braid_layers_average_pooling2d(g, x, &o) : braid_layers_max_pooling2d(g, x, &o);
        if (first) y = transposed(g, y, (int32_t[]){0, 2, 3, 1});
        expect_values(g, y, BRAID_SHAPE(BATCH, h.out, w.out, IN), want);
        braid_graph_free(g);
    }
}

static void sequences_are_pooled_along_their_length(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = input(g, BRAID_SHAPE(1, 4, 2)); // strides are the size
    float max[4], mean[4];
    for (int i = 0; i < 4; i++) {
        const double a = (double)element(i / 2 * 4 + i % 2), b = (double)element(i / 2 * 4 + i % 2 + 2);
        max[i] = (float)fmax(a, b);
        mean[i] = (float)((a + b) / 2);
    }
    const braid_pooling_options o = {.pool_size = {2}};
    expect_values(g, braid_layers_max_pooling1d(g, x, &o), BRAID_SHAPE(1, 2, 2), max);
    expect_values(g, braid_layers_average_pooling1d(g, x, &o), BRAID_SHAPE(1, 2, 2), mean);
    braid_graph_free(g);
}

// ---- Dense, flatten, dropout ----

static void dense_layers_multiply_the_last_dimension(void **state)
{
    (void)state;
    enum {
        ROWS = 6,
        UNITS = 2
    };
    float want[ROWS * UNITS];
    for (int i = 0; i < ROWS * UNITS; i++) {
        double sum = (double)element(i % UNITS);
        for (int c = 0; c < IN; c++)
            sum += (double)element(i / UNITS * IN + c) * (double)element(c * UNITS + i % UNITS);
        want[i] = (float)fmax(0, sum);
    }
    braid_layer_options o = ramps;
    o.activation = braid_relu;
    const braid_shape shape = BRAID_SHAPE(3, 2, IN);
    const braid_shape known[] = {shape, BRAID_SHAPE(-1, 2, IN), BRAID_SHAPE(-1, -1, IN)};
    for (int i = 0; i < 3; i++) {
        braid_graph *g = braid_graph_new();
        const braid_out y = braid_layers_dense(g, with_shape(input(g, shape), known[i]), UNITS, &o);
        assert_int_equal(braid_out_shape(y).dims[2], UNITS);
        assert_int_equal(braid_out_shape(y).dims[0], known[i].dims[0]);
        expect_values(g, y, BRAID_SHAPE(3, 2, UNITS), want);
        braid_graph_free(g);
    }
}

static void flattening_keeps_the_batch(void **state)
{
    (void)state;
    float want[12];
    for (int i = 0; i < 12; i++)
        want[i] = element(i);
    const braid_shape shape = BRAID_SHAPE(2, 3, 2);
    const braid_shape known[] = {BRAID_SHAPE(-1, 3, 2), BRAID_SHAPE(2, -1, 2)};
    for (int i = 0; i < 2; i++) {
        braid_graph *g = braid_graph_new();
        const braid_out y = braid_layers_flatten(g, NULL, with_shape(input(g, shape), known[i]));
        assert_string_equal(braid_op_name(y.op), "flatten/Reshape");
        expect_values(g, y, BRAID_SHAPE(2, 6), want);
        braid_graph_free(g);
    }
}

static void dropout_drops_in_training_alone(void **state)
{
    (void)state;
    enum {
        ROWS = 200
    };
    const int32_t noise[] = {ROWS, 1};
    for (int i = 0; i < 4; i++) {
        const bool training = i % 2, by_tensor = i / 2;
        braid_graph *g = braid_graph_new();
        const braid_layers_dropout_options o = {.training = training && !by_tensor,
                                                .is_training = by_tensor ? braid_const_bool(g, NULL, training)
                                                                         : BRAID_NONE,
                                                .noise_shape = braid_const_int32s(g, NULL, noise, 2),
                                                .seed = 3,
                                                .has_seed = true};
        const braid_out x = braid_ones(g, BRAID_FLOAT, BRAID_SHAPE(ROWS, 2));
        const braid_out y = braid_layers_dropout(g, x, 0.25, &o);
        braid_tensor *got = value_of(g, y);
        const float *values = braid_tensor_data(got);
        int kept = 0;
        for (int k = 0; k < ROWS; k++) {
            assert_float_equal(values[2 * k], values[2 * k + 1], 0); // rows are dropped together
            if (values[2 * k] != 0) assert_float_equal(values[2 * k], training ? 1 / 0.75 : 1, 1e-6);
            kept += values[2 * k] != 0;
        }
        // Five standard deviations of the number kept.
        if (training)
            assert_true(fabs(kept - 0.75 * ROWS) < 5 * sqrt(0.75 * 0.25 * ROWS));
        else
            assert_int_equal(kept, ROWS);
        braid_tensor_free(got);
        braid_graph_free(g);
    }
}

// ---- Names and options ----

static void expect_collection(const braid_graph *g, const char *collection, const char *const *names,
                              int want)
{
    int count;
    const braid_out *found = braid_collection(g, collection, &count);
    assert_int_equal(count, want);
    for (int i = 0; i < count; i++)
        assert_string_equal(braid_op_name(found[i].op), names[i]);
}

// The names of variables are those in checkpoints.
static void variables_are_named_as_in_tensorflow(void **state)
{
    (void)state;
    static const char *const variables[] = {"dense/kernel",
                                            "dense/bias",
                                            "dense_1/kernel",
                                            "dense_1/bias",
                                            "conv1d/kernel",
                                            "conv1d/bias",
                                            "conv2d/kernel",
                                            "conv2d/bias",
                                            "net/conv2d/kernel",
                                            "net/conv2d/bias",
                                            "conv2d_transpose/kernel",
                                            "conv2d_transpose/bias",
                                            "separable_conv2d/depthwise_kernel",
                                            "separable_conv2d/pointwise_kernel",
                                            "separable_conv2d/bias"};
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 8, 8, 3));
    const braid_out sequence = braid_placeholder(g, "s", BRAID_FLOAT, BRAID_SHAPE(-1, 8, 3));
    for (int i = 0; i < 2; i++)
        braid_layers_dense(g, x, 4, NULL);
    braid_layers_conv1d(g, sequence, 4, 3, NULL);
    braid_layers_conv2d(g, x, 4, 3, 3, NULL);
    (void)braid_push_variable_scope(g, "net", NULL);
    braid_layers_conv2d(g, x, 4, 3, 3, NULL);
    braid_pop_variable_scope(g);
    braid_layers_conv2d_transpose(g, x, 4, 3, 3, NULL);
    braid_layers_separable_conv2d(g, x, 4, 3, 3, NULL);
    expect_collection(g, BRAID_GLOBAL_VARIABLES, variables, BD_COUNTOF(variables));
    expect_collection(g, BRAID_TRAINABLE_VARIABLES, variables, BD_COUNTOF(variables));
    expect_nodes(g, "conv1d/convolution",
                 "conv1d/convolution/Shape = Const\n"
                 "conv1d/convolution/dilation_rate = Const\n"
                 "conv1d/convolution/ExpandDims/dim = Const\n"
                 "conv1d/convolution/ExpandDims = ExpandDims s:0 conv1d/convolution/ExpandDims/dim:0\n"
                 "conv1d/convolution/ExpandDims_1/dim = Const\n"
                 "conv1d/convolution/ExpandDims_1 = ExpandDims conv1d/kernel/read:0 "
                 "conv1d/convolution/ExpandDims_1/dim:0\n"
                 "conv1d/convolution/Conv2D = Conv2D conv1d/convolution/ExpandDims:0 "
                 "conv1d/convolution/ExpandDims_1:0\n"
                 "conv1d/convolution/Squeeze = Squeeze conv1d/convolution/Conv2D:0\n");
    braid_graph_free(g);
}

static void options_decide_about_variables_and_losses(void **state)
{
    (void)state;
    static const char *const variables[] = {"a/kernel", "b/kernel", "b/bias"};
    static const char *const losses[] = {"a/kernel/Regularizer/l2_regularizer",
                                         "a/ActivityRegularizer/l1_regularizer"};
    const char *const shared_losses[] = {losses[0], losses[1], "a_1/ActivityRegularizer/l1_regularizer"};
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 3));
    braid_layer_options o = {.name = "a",
                             .no_bias = true,
                             .activation = braid_tanh,
                             .kernel_regularizer = braid_l2_regularizer(0.5f),
                             .activity_regularizer = braid_l1_regularizer(0.5f)};
    assert_string_equal(braid_op_name(braid_layers_dense(g, x, 4, &o).op), "a/Tanh");
    expect_collection(g, BRAID_REGULARIZATION_LOSSES, losses, 2);
    o.reuse = BRAID_REUSE; // the kernel's loss is not counted twice
    braid_layers_dense(g, x, 4, &o);
    expect_collection(g, BRAID_REGULARIZATION_LOSSES, shared_losses, 3);
    braid_layers_dense(g, x, 4, &(braid_layer_options){.name = "b", .untrained = true});
    expect_collection(g, BRAID_GLOBAL_VARIABLES, variables, 3);
    expect_collection(g, BRAID_TRAINABLE_VARIABLES, variables, 1);
    braid_graph_free(g);
}

static void variables_have_the_type_of_the_input(void **state)
{
    (void)state;
    static const braid_dtype dtypes[] = {BRAID_HALF, BRAID_BFLOAT16, BRAID_FLOAT, BRAID_DOUBLE};
    for (size_t i = 0; i < BD_COUNTOF(dtypes); i++) {
        braid_graph *g = braid_graph_new();
        const braid_out x = braid_ones(g, dtypes[i], BRAID_SHAPE(2, 3));
        const braid_layer_options o = {.kernel_initializer = braid_constant_initializer(0.5f),
                                       .bias_initializer = braid_ones_initializer()};
        const braid_out y = braid_layers_dense(g, x, 2, &o);
        assert_int_equal(braid_out_dtype(y), dtypes[i]);
        const float want[] = {2.5f, 2.5f, 2.5f, 2.5f};
        expect_values(g, braid_cast(g, y, BRAID_FLOAT), BRAID_SHAPE(2, 2), want);
        braid_graph_free(g);
    }
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const char *const says[] = {
        "Layer 'dense': its input 'x' must have at least two dimensions, the last one known",
        "Layer 'mine': its input 'i' must be of half, bfloat16, float or double",
        "Layer 'dense': it has no input",
        "Layer 'conv2d': a kernel width of 0",
        "Layer 'conv1d': its input 'x' must be [batch, length, channels]",
        "Layer 'max_pooling2d': its input 'image' cannot be pooled by windows of size 0 and stride 0",
        "Layer 'dropout': a rate of 1 is not in [0, 1)",
        "Layer 'conv2d_transpose': its input 'image' cannot be convolved with dilation",
    };
    for (size_t i = 0; i < BD_COUNTOF(says); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, -1));
        const braid_out image = braid_placeholder(g, "image", BRAID_FLOAT, BRAID_SHAPE(-1, 4, 4, 2));
        const braid_out integers = braid_placeholder(g, "i", BRAID_INT32, BRAID_SHAPE(-1, 4));
        switch (i) {
        case 0: braid_layers_dense(g, x, 4, NULL); break;
        case 1: braid_layers_dense(g, integers, 4, &(braid_layer_options){.name = "mine"}); break;
        case 2: braid_dense(g, NULL, BRAID_NONE, 4); break;
        case 3: braid_layers_conv2d(g, image, 4, 3, 0, NULL); break;
        case 4: braid_layers_conv1d(g, x, 4, 3, NULL); break;
        case 5: braid_layers_max_pooling2d(g, image, &(braid_pooling_options){0}); break;
        case 6: braid_layers_dropout(g, x, 1, NULL); break;
        default: braid_layers_conv2d_transpose(g, image, 4, 3, 3, &(braid_conv_options){.dilation = {2}});
        }
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_of_images_are_sums_over_windows),
        cmocka_unit_test(convolutions_of_sequences_are_those_of_flat_images),
        cmocka_unit_test(separable_convolutions_join_channels_after_each_was_convolved),
        cmocka_unit_test(transposed_convolutions_enlarge_images),
        cmocka_unit_test(pooling_takes_the_largest_or_the_mean_of_windows),
        cmocka_unit_test(sequences_are_pooled_along_their_length),
        cmocka_unit_test(dense_layers_multiply_the_last_dimension),
        cmocka_unit_test(flattening_keeps_the_batch),
        cmocka_unit_test(dropout_drops_in_training_alone),
        cmocka_unit_test(variables_are_named_as_in_tensorflow),
        cmocka_unit_test(options_decide_about_variables_and_losses),
        cmocka_unit_test(variables_have_the_type_of_the_input),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
