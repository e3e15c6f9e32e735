// Batch normalization: by the batch or by moving averages, fused into one op or in separate nodes.
#include "train/layers/batch_renorm.h"
#include "train/layers/layer.h"

static const char kind[] = "batch_normalization";

// The layer while it is built.
typedef struct norm {
    train_layer l; // its options are unused but for `untrained`
    const braid_batch_normalization_options *o;
    braid_out x;
    int axis; // of the channels
    int64_t channels;
    bool is_fused;
    double momentum, epsilon;
    braid_out gamma, beta; // op NULL: none
    braid_variable average_mean, average_variance;
    braid_out mean, variance; // of the batch
    train_renorm renorm;      // where it is asked for
} norm;

// What is built: the result, and the mean and variance that the moving averages follow.
enum {
    OUTPUT,
    MEAN,
    VARIANCE,
    RESULTS
};

// ---- Checks and variables ----

static bool is_momentum(double momentum)
{
    return momentum >= 0 && momentum < 1;
}

// False: the graph has failed.
static bool check_numbers(const norm *n)
{
    const double renorm_momentum = (double)n->o->renorm_momentum;
    const char *name = n->o->name ? n->o->name : kind;
    if (!is_momentum(n->momentum) || n->epsilon < 0)
        braid_graph_fail(n->l.g, BRAID_INVALID_ARGUMENT,
                         "Layer '%s': a momentum of %g and an epsilon of %g; a momentum is in [0, 1), an "
                         "epsilon not negative",
                         name, n->momentum, n->epsilon);
    else if (!is_momentum(renorm_momentum))
        braid_graph_fail(n->l.g, BRAID_INVALID_ARGUMENT,
                         "Layer '%s': a momentum of renormalization of %g; it is in [0, 1)", name,
                         renorm_momentum);
    return !braid_graph_status(n->l.g, NULL);
}

// Finds the axis. False: the graph has failed.
static bool check_input(norm *n)
{
    braid_graph *g = n->l.g;
    const char *name = n->o->name;
    if (!train_layer_check(g, kind, name, n->x)) return false;
    const braid_shape shape = braid_out_shape(n->x);
    n->axis = n->o->axis > 0 ? n->o->axis : shape.rank + (n->o->axis ? n->o->axis : -1);
    if (shape.rank < 2 || n->axis < 0 || n->axis >= shape.rank || shape.dims[n->axis] < 0)
        return train_layer_fail(g, kind, name, n->x,
                                "must have at least two dimensions and a known number of channels");
    n->channels = shape.dims[n->axis];
    return check_numbers(n);
}

static braid_initializer initializer_or(braid_initializer given, braid_initializer usual)
{
    return given.build ? given : usual;
}

// The averages are whole, whatever the scope says.
static braid_variable average(const norm *n, const char *name, braid_initializer first)
{
    return braid_variable_get_with(n->l.g, name,
                                   &(braid_variable_options){.dtype = n->l.dtype,
                                                             .shape = BRAID_SHAPE(n->channels),
                                                             .initializer = first,
                                                             .untrained = true,
                                                             .whole = true});
}

static void make_variables(norm *n)
{
    const braid_batch_normalization_options *o = n->o;
    braid_graph *g = n->l.g;
    const braid_shape shape = BRAID_SHAPE(n->channels);
    const braid_initializer ones = braid_ones_initializer(), zeros = braid_zeros_initializer();
    const train_layer_care of_gamma = {initializer_or(o->gamma_initializer, ones), o->gamma_regularizer,
                                       o->gamma_constraint};
    const train_layer_care of_beta = {initializer_or(o->beta_initializer, zeros), o->beta_regularizer,
                                      o->beta_constraint};
    if (!o->no_scale)
        n->gamma = train_layer_variable(&n->l, "gamma", shape, &of_gamma);
    else if (n->is_fused)
        n->gamma = braid_full(g, NULL, n->l.dtype, shape, 1);
    if (!o->no_center)
        n->beta = train_layer_variable(&n->l, "beta", shape, &of_beta);
    else if (n->is_fused)
        n->beta = braid_full(g, NULL, n->l.dtype, shape, 0);
    n->average_mean = average(n, "moving_mean", initializer_or(o->moving_mean_initializer, zeros));
    n->average_variance = average(n, "moving_variance", initializer_or(o->moving_variance_initializer, ones));
    if (!o->renorm) return;
    n->renorm =
        (train_renorm){.g = g, .o = o, .dtype = n->l.dtype, .channels = n->channels, .epsilon = n->epsilon};
    train_renorm_make(&n->renorm);
}

// ---- By the fused op ----

static void run_fused(const norm *n, bool is_training, braid_out mean, braid_out variance, braid_out *results)
{
    // TensorFlow keeps epsilon above the smallest one of cuDNN.
    const double epsilon = n->epsilon > 1.001e-5 ? n->epsilon : 1.001e-5;
    const bool is_float = train_base_dtype(braid_out_dtype(n->x)) == BRAID_FLOAT;
    braid_op_desc *d = braid_op_begin(n->l.g, is_float ? "FusedBatchNorm" : "FusedBatchNormV2", NULL);
    const braid_out inputs[] = {n->x, n->gamma, n->beta, mean, variance};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_float(d, "epsilon", (float)epsilon);
    braid_op_attr_bool(d, "is_training", is_training);
    braid_op_attr_string(d, "data_format", n->axis == 1 ? "NCHW" : "NHWC");
    braid_op *op = braid_op_end(d);
    for (int i = 0; i < RESULTS; i++)
        results[i] = op ? braid_output(op, i) : BRAID_NONE;
}

static void fused_training(void *arg, braid_graph *g, braid_out *results)
{
    const norm *n = arg;
    const braid_out mean = braid_full(g, NULL, n->l.dtype, BRAID_SHAPE(0), 0);
    run_fused(n, true, mean, braid_full(g, NULL, n->l.dtype, BRAID_SHAPE(0), 0), results);
}

static void fused_inference(void *arg, braid_graph *g, braid_out *results)
{
    (void)g;
    const norm *n = arg;
    run_fused(n, false, n->average_mean.read, n->average_variance.read, results);
    results[MEAN] = n->average_mean.read;
    results[VARIANCE] = n->average_variance.read;
}

// ---- In separate nodes ----

static void batch_moments(void *arg, braid_graph *g, braid_out *results)
{
    (void)g;
    const norm *n = arg;
    results[0] = n->mean;
    results[1] = n->variance;
}

static void average_moments(void *arg, braid_graph *g, braid_out *results)
{
    (void)g;
    const norm *n = arg;
    results[0] = n->average_mean.read;
    results[1] = n->average_variance.read;
}

// A vector over the channels in a shape that broadcasts to the input.
static braid_out over_channels(const norm *n, braid_out vector)
{
    braid_shape shape = {.rank = braid_out_shape(n->x).rank};
    if (!vector.op || n->axis == shape.rank - 1) return vector;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = i == n->axis ? n->channels : 1;
    return braid_reshape(n->l.g, vector, shape);
}

// (x r + d) gamma + beta = x (r gamma) + (d gamma + beta)
static void compose(norm *n, braid_out r, braid_out d)
{
    braid_graph *g = n->l.g;
    const braid_out gamma = n->gamma;
    n->gamma = gamma.op ? braid_mul(g, r, gamma) : r;
    if (gamma.op) d = braid_mul(g, d, gamma);
    n->beta = n->beta.op ? braid_add(g, d, n->beta) : d;
}

// Corrects by the averages over batches, which the moving averages are to follow from then on.
static void renormalize(norm *n, braid_out *results)
{
    braid_graph *g = n->l.g;
    const train_renorm_result c = train_renorm_correct(&n->renorm, results[MEAN], results[VARIANCE]);
    if (!c.r.op) return;
    compose(n, c.r, c.d);
    n->mean = c.new_mean;
    n->variance = train_op_number(g, "Sub", "sub", braid_square(g, c.new_stddev), n->epsilon);
}

static void run_apart(norm *n, braid_out *results)
{
    braid_graph *g = n->l.g;
    const bool may_train = n->o->training || n->o->is_training.op;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(n->x));
    const int rank = braid_out_shape(n->x).rank;
    const braid_out x = braid_cast(g, n->x, n->l.dtype);
    int32_t axes[BRAID_RANK_MAX];
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (i != n->axis) axes[count++] = i;
    if (may_train) braid_moments(g, x, axes, count, false, &n->mean, &n->variance);
    train_if_training(g, n->o->training, n->o->is_training, batch_moments, average_moments, n, 2,
                      results + MEAN);
    if (may_train && n->o->renorm) renormalize(n, results);
    const braid_out out =
        braid_batch_normalization(g, x, over_channels(n, results[MEAN]), over_channels(n, results[VARIANCE]),
                                  over_channels(n, n->beta), over_channels(n, n->gamma), n->epsilon);
    results[OUTPUT] = braid_cast(g, out, dtype);
    if (may_train && n->o->renorm)
        train_if_training(g, n->o->training, n->o->is_training, batch_moments, average_moments, n, 2,
                          results + MEAN);
}

// ---- Updates of the averages ----

static void momentum_in_training(void *arg, braid_graph *g, braid_out *results)
{
    const norm *n = arg;
    *results = braid_const_number(g, NULL, BRAID_FLOAT, n->momentum);
}

// A momentum of 1 leaves the averages as they are.
static void momentum_in_inference(void *arg, braid_graph *g, braid_out *results)
{
    (void)arg;
    *results = braid_const_number(g, NULL, BRAID_FLOAT, 1);
}

static void update_averages(norm *n, const braid_out *results)
{
    braid_graph *g = n->l.g;
    braid_out momentum = BRAID_NONE;
    train_if_training(g, true, n->o->is_training, momentum_in_training, momentum_in_inference, n, 1,
                      &momentum);
    const braid_variable *averages[] = {&n->average_mean, &n->average_variance};
    for (int i = 0; i < 2; i++) {
        braid_op *update = train_assign_moving_average(g, *averages[i], results[MEAN + i], momentum);
        braid_collect(g, BRAID_UPDATE_OPS, (braid_out){update, 0});
    }
}

braid_out braid_layers_batch_normalization(braid_graph *g, braid_out x,
                                           const braid_batch_normalization_options *options)
{
    static const braid_batch_normalization_options none;
    norm n = {.l = {.g = g, .kind = kind}, .o = options ? options : &none, .x = x};
    n.momentum = n.o->momentum ? (double)n.o->momentum : 0.99;
    n.epsilon = n.o->epsilon ? (double)n.o->epsilon : 1e-3;
    if (!check_input(&n)) return BRAID_NONE;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(x));
    n.l.dtype = dtype == BRAID_DOUBLE ? BRAID_DOUBLE : BRAID_FLOAT;
    n.l.o.untrained = n.o->untrained;
    n.is_fused = !n.o->not_fused && !n.o->renorm && braid_out_shape(x).rank == 4 &&
                 (n.axis == 1 || n.axis == 3) && dtype != BRAID_DOUBLE;
    train_layer_push(g, kind, n.o->name, n.o->reuse);
    make_variables(&n);
    braid_out results[RESULTS] = {BRAID_NONE};
    if (n.is_fused)
        train_if_training(g, n.o->training, n.o->is_training, fused_training, fused_inference, &n, RESULTS,
                          results);
    else
        run_apart(&n, results);
    if (results[OUTPUT].op && (n.o->training || n.o->is_training.op)) update_averages(&n, results);
    braid_pop_variable_scope(g);
    return results[OUTPUT];
}
