// Batch renormalization (Ioffe, "Batch Renormalization", 2017).
//
// A batch of mean m and deviation s is normalized as (x - m) / s r + d, with r = s / S and d = (m - M) / S,
// where M and S are averages over batches: as by the averages, but the gradient sees m and s, since r and d
// are constants to it. The averages begin with the first batch: its share is what their weight lacks of 1.
#include "train/layers/batch_renorm.h"

#include "train/layers/layer.h"

#define MOMENTUM_DEFAULT 0.99

static braid_variable average(const train_renorm *n, const char *name, braid_shape shape)
{
    return braid_variable_get_with(n->g, name,
                                   &(braid_variable_options){.dtype = n->dtype,
                                                             .shape = shape,
                                                             .initializer = braid_zeros_initializer(),
                                                             .untrained = true,
                                                             .whole = true});
}

void train_renorm_make(train_renorm *n)
{
    const braid_shape channels = BRAID_SHAPE(n->channels);
    n->mean = average(n, "renorm_mean", channels);
    n->mean_weight = average(n, "renorm_mean_weight", BRAID_SCALAR);
    n->stddev = average(n, "renorm_stddev", channels);
    n->stddev_weight = average(n, "renorm_stddev_weight", BRAID_SCALAR);
}

// ---- The correction ----

// The average as if the batch had been its first value.
static braid_out mixed(const train_renorm *n, const braid_variable *average, const braid_variable *weight,
                       braid_out batch)
{
    const braid_out rest = train_number_op(n->g, "Sub", "sub", 1, weight->read);
    return braid_add(n->g, average->read, braid_mul(n->g, rest, batch));
}

static braid_out limit(const train_renorm *n, const char *op_type, braid_out x, braid_out by)
{
    return by.op ? train_node2(n->g, op_type, NULL, x, braid_cast(n->g, by, n->dtype)) : x;
}

static braid_out limit_size(const train_renorm *n, braid_out x, braid_out by)
{
    if (!by.op) return x;
    return limit(n, "Minimum", limit(n, "Maximum", x, braid_neg(n->g, by)), by);
}

static void correction(void *arg, braid_graph *g, braid_out *results)
{
    const train_renorm_result *c = arg;
    results[0] = braid_identity(g, NULL, c->r);
    results[1] = braid_identity(g, NULL, c->d);
}

static void no_correction(void *arg, braid_graph *g, braid_out *results)
{
    const train_renorm_result *c = arg;
    results[0] = train_node1(g, "OnesLike", NULL, c->r);
    results[1] = train_node1(g, "ZerosLike", NULL, c->d);
}

// ---- The averages ----

static void momentum_in_training(void *arg, braid_graph *g, braid_out *results)
{
    const train_renorm *n = arg;
    const double momentum = n->o->renorm_momentum ? (double)n->o->renorm_momentum : MOMENTUM_DEFAULT;
    *results = braid_const_number(g, NULL, BRAID_FLOAT, momentum);
}

// A momentum of 1 leaves an average as it is.
static void momentum_in_inference(void *arg, braid_graph *g, braid_out *results)
{
    (void)arg;
    *results = braid_const_number(g, NULL, BRAID_FLOAT, 1);
}

// Updates a variable and returns its new value.
static braid_out updated(const train_renorm *n, const braid_variable *v, braid_out value, braid_out momentum)
{
    braid_op *update = train_assign_moving_average(n->g, *v, value, momentum);
    braid_push_control(n->g, &update, 1);
    const braid_out now = train_read(n->g, NULL, v->ref, n->dtype);
    braid_pop_control(n->g);
    return now;
}

// Updates an average and its weight; `batch` is there after the old ones have been used.
static braid_out update_average(const train_renorm *n, const braid_variable *average,
                                const braid_variable *weight, braid_out batch, braid_out momentum)
{
    braid_push_control(n->g, &batch.op, 1);
    const braid_out one = braid_const_number(n->g, NULL, n->dtype, 1);
    braid_pop_control(n->g);
    const braid_out sum = updated(n, average, batch, momentum);
    return braid_div(n->g, sum, updated(n, weight, one, momentum));
}

static void update_averages(const train_renorm *n, braid_out mean, braid_out stddev, train_renorm_result *c)
{
    braid_out momentum = BRAID_NONE;
    train_if_training(n->g, true, n->o->is_training, momentum_in_training, momentum_in_inference, (void *)n,
                      1, &momentum);
    braid_op *const used[] = {c->r.op, c->d.op};
    braid_push_control(n->g, used, 2);
    mean = braid_identity(n->g, NULL, mean);
    stddev = braid_identity(n->g, NULL, stddev);
    braid_pop_control(n->g);
    c->new_mean = update_average(n, &n->mean, &n->mean_weight, mean, momentum);
    c->new_stddev = update_average(n, &n->stddev, &n->stddev_weight, stddev, momentum);
}

train_renorm_result train_renorm_correct(const train_renorm *n, braid_out mean, braid_out variance)
{
    braid_graph *g = n->g;
    const braid_out stddev = braid_sqrt(g, train_op_number(g, "Add", "add", variance, n->epsilon));
    const braid_out average = mixed(n, &n->mean, &n->mean_weight, mean);
    const braid_out deviation = mixed(n, &n->stddev, &n->stddev_weight, stddev);
    train_renorm_result c = {.r = braid_div(g, stddev, deviation),
                             .d = braid_div(g, braid_sub(g, mean, average), deviation)};
    if (!c.r.op || !c.d.op) return c;
    update_averages(n, mean, stddev, &c);
    c.r = limit(n, "Minimum", limit(n, "Maximum", c.r, n->o->renorm_rmin), n->o->renorm_rmax);
    c.d = limit_size(n, c.d, n->o->renorm_dmax);
    braid_out results[2];
    train_if_training(g, true, n->o->is_training, correction, no_correction, &c, 2, results);
    c.r = train_node1(g, "StopGradient", "renorm_r", results[0]);
    c.d = train_node1(g, "StopGradient", "renorm_d", results[1]);
    return c;
}
