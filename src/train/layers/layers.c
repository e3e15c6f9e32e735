// Layers: what all have in common; dense layers, flattening and dropout.
#include "train/layers/layer.h"

#include "base/alloc.h"

// ---- Beginning and end of a layer ----

bool train_layer_fail(braid_graph *g, const char *kind, const char *name, braid_out x, const char *why)
{
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Layer '%s': its input '%s' %s", name ? name : kind,
                     x.op ? braid_op_name(x.op) : "", why);
    return false;
}

bool train_layer_check(braid_graph *g, const char *kind, const char *name, braid_out x)
{
    if (braid_graph_status(g, NULL)) return false;
    if (!x.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Layer '%s': it has no input", name ? name : kind);
        return false;
    }
    switch (train_base_dtype(braid_out_dtype(x))) {
    case BRAID_HALF:
    case BRAID_BFLOAT16:
    case BRAID_FLOAT:
    case BRAID_DOUBLE: return true;
    default: return train_layer_fail(g, kind, name, x, "must be of half, bfloat16, float or double");
    }
}

void train_layer_push(braid_graph *g, const char *kind, const char *name, braid_reuse reuse)
{
    (void)braid_push_variable_scope(g, name ? name : kind,
                                    &(braid_variable_scope_options){.unique = !name, .reuse = reuse});
}

braid_out train_layer_variable(const train_layer *l, const char *name, braid_shape shape,
                               const train_layer_care *care)
{
    const braid_variable_options o = {.dtype = l->dtype,
                                      .shape = shape,
                                      .initializer = care->initializer,
                                      .regularizer = care->regularizer,
                                      .constraint = care->constraint,
                                      .untrained = l->o.untrained};
    return braid_variable_get_with(l->g, name, &o).read;
}

train_layer_care train_kernel_care(const train_layer *l)
{
    return (train_layer_care){l->o.kernel_initializer, l->o.kernel_regularizer, l->o.kernel_constraint};
}

braid_out train_layer_bias(const train_layer *l, int64_t units)
{
    train_layer_care care = {l->o.bias_initializer, l->o.bias_regularizer, l->o.bias_constraint};
    if (!care.initializer.build) care.initializer = braid_zeros_initializer();
    return train_layer_variable(l, "bias", BRAID_SHAPE(units), &care);
}

braid_out train_layer_end(const train_layer *l, braid_out out)
{
    braid_graph *g = l->g;
    if (out.op && l->o.activation) out = l->o.activation(g, out);
    if (out.op && l->o.activity_regularizer.build) {
        (void)braid_push_name_scope(g, "ActivityRegularizer");
        const braid_out loss = l->o.activity_regularizer.build(&l->o.activity_regularizer, g, out);
        braid_pop_name_scope(g);
        braid_collect(g, BRAID_REGULARIZATION_LOSSES, loss);
    }
    braid_pop_variable_scope(g);
    return out;
}

void train_if_training(braid_graph *g, bool training, braid_out is_training, braid_branch_fn then,
                       braid_branch_fn otherwise, void *arg, int count, braid_out *results)
{
    if (is_training.op)
        braid_cond(g, NULL, is_training, then, otherwise, arg, count, results);
    else
        (training ? then : otherwise)(arg, g, results);
}

// ---- Dense ----

// [..., units], with the other dimensions of `x`.
static braid_out like_x(braid_graph *g, braid_out product, braid_out x, int64_t units)
{
    braid_shape shape = braid_out_shape(x);
    const int last = shape.rank - 1;
    shape.dims[last] = units;
    int unknown = 0, empty = 0;
    for (int i = 0; i < last; i++) {
        unknown += shape.dims[i] < 0;
        empty += shape.dims[i] == 0;
    }
    if (unknown == 0 || (unknown == 1 && !empty)) return braid_reshape(g, product, shape);
    braid_out dims[BRAID_RANK_MAX];
    const braid_out of_x = train_shape_of(g, x);
    for (int i = 0; i < last; i++)
        dims[i] = train_element(g, of_x, i);
    dims[last] = braid_const_int32(g, NULL, (int32_t)units);
    const braid_out out = train_node2(g, "Reshape", NULL, product, train_stack(g, "stack", dims, last + 1));
    if (out.op) braid_set_shape(out, shape);
    return out;
}

// The last dimension of `x`, of more than two, times `kernel` (tf.tensordot): by way of a matrix.
static braid_out tensordot(braid_graph *g, braid_out x, braid_out kernel, int64_t units)
{
    const braid_shape shape = braid_out_shape(x);
    (void)braid_push_name_scope(g, "Tensordot");
    const braid_out rows = braid_reshape(g, x, BRAID_SHAPE(-1, shape.dims[shape.rank - 1]));
    const braid_out out = like_x(g, braid_matmul(g, rows, kernel), x, units);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_layers_dense(braid_graph *g, braid_out x, int64_t units, const braid_layer_options *options)
{
    train_layer l = {.g = g, .kind = "dense"};
    if (options) l.o = *options;
    if (!train_layer_check(g, l.kind, l.o.name, x)) return BRAID_NONE;
    const braid_shape shape = braid_out_shape(x);
    if (shape.rank < 2 || shape.dims[shape.rank - 1] < 0) {
        train_layer_fail(g, l.kind, l.o.name, x, "must have at least two dimensions, the last one known");
        return BRAID_NONE;
    }
    l.dtype = train_base_dtype(braid_out_dtype(x));
    train_layer_push(g, l.kind, l.o.name, l.o.reuse);
    const train_layer_care care = train_kernel_care(&l);
    const braid_out kernel =
        train_layer_variable(&l, "kernel", BRAID_SHAPE(shape.dims[shape.rank - 1], units), &care);
    const braid_out bias = l.o.no_bias ? BRAID_NONE : train_layer_bias(&l, units);
    braid_out out = shape.rank == 2 ? braid_matmul(g, x, kernel) : tensordot(g, x, kernel, units);
    if (bias.op) out = braid_bias_add(g, out, bias);
    return train_layer_end(&l, out);
}

braid_out braid_dense(braid_graph *g, const char *name, braid_out x, int64_t units)
{
    return braid_layers_dense(g, x, units, &(braid_layer_options){.name = name});
}

// ---- Flatten ----

braid_out braid_layers_flatten(braid_graph *g, const char *name, braid_out x)
{
    static const char kind[] = "flatten";
    if (braid_graph_status(g, NULL)) return BRAID_NONE;
    const braid_shape shape = braid_out_shape(x);
    if (!x.op || shape.rank < 1) {
        train_layer_fail(g, kind, name, x, "must have a known number of dimensions, at least one");
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, name ? name : kind);
    bool is_known = true;
    for (int i = 1; i < shape.rank; i++)
        is_known &= shape.dims[i] >= 0;
    braid_out out;
    if (is_known) {
        out = braid_flatten(g, x);
    } else {
        const braid_out dims[] = {train_first_of(g, train_shape_of(g, x)), braid_const_int32(g, NULL, -1)};
        out = train_node2(g, "Reshape", NULL, x, train_stack(g, "Reshape/shape", dims, 2));
    }
    braid_pop_name_scope(g);
    return out;
}

// ---- Dropout ----

typedef struct dropped {
    braid_out x;
    double rate;
    const braid_layers_dropout_options *o;
} dropped;

static void drop(void *arg, braid_graph *g, braid_out *results)
{
    const dropped *d = arg;
    (void)braid_push_name_scope(g, "dropout");
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(d->x));
    *results = train_dropout(
        g, d->x,
        &(train_dropout_spec){.keep_prob = braid_const_number(g, "keep_prob", dtype, 1 - d->rate),
                              .noise_shape = d->o->noise_shape,
                              .seed = d->o->seed,
                              .has_seed = d->o->has_seed});
    braid_pop_name_scope(g);
}

static void keep(void *arg, braid_graph *g, braid_out *results)
{
    const dropped *d = arg;
    *results = braid_identity(g, NULL, d->x);
}

braid_out braid_layers_dropout(braid_graph *g, braid_out x, double rate,
                               const braid_layers_dropout_options *options)
{
    static const char kind[] = "dropout";
    static const braid_layers_dropout_options none;
    dropped d = {x, rate, options ? options : &none};
    braid_out out = BRAID_NONE;
    if (!train_layer_check(g, kind, d.o->name, x)) return out;
    if (!(rate >= 0 && rate < 1)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Layer '%s': a rate of %g is not in [0, 1)",
                         d.o->name ? d.o->name : kind, rate);
        return out;
    }
    (void)braid_push_name_scope(g, d.o->name ? d.o->name : kind);
    train_if_training(g, d.o->training, d.o->is_training, rate > 0 ? drop : keep, keep, &d, 1, &out);
    braid_pop_name_scope(g);
    return out;
}

// ---- Updates ----

void braid_push_update_ops(braid_graph *g)
{
    int count;
    const braid_out *updates = braid_collection(g, BRAID_UPDATE_OPS, &count);
    braid_op **ops = bd_calloc((size_t)count + 1, sizeof(braid_op *));
    for (int i = 0; i < count; i++)
        ops[i] = updates[i].op;
    braid_push_control(g, ops, count);
    bd_free(ops);
}
