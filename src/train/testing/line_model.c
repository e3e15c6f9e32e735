// A model of one weight, its data, and its estimator.
#include "train/testing/line_model.h"

#include "base/testing/test.h"
#include "train/common/build.h"

void line_model(const braid_model_args *args, braid_estimator_spec *spec)
{
    static const line_model_faults none;
    const line_model_faults *faults = args->params ? args->params : &none;
    braid_graph *g = args->graph;
    const braid_out x = braid_features_get(args, faults->wrong_feature ? "z" : "x");
    const braid_variable w =
        braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SCALAR, braid_zeros_initializer(), true);
    const braid_out y = braid_mul(g, x, w.read);
    braid_spec_prediction(spec, "y", y);
    braid_spec_prediction(spec, "x", x);
    if (faults->make_hook && args->mode == BRAID_MODE_EVAL)
        braid_spec_evaluation_hook(spec, faults->make_hook(args->mode));
    if (faults->make_hook && args->mode == BRAID_MODE_TRAIN)
        braid_spec_training_hook(spec, faults->make_hook(args->mode));
    if (args->mode == BRAID_MODE_PREDICT || faults->no_loss) return;
    const braid_out labels = braid_labels_get(args);
    const braid_out loss = braid_reduce_mean(g, braid_squared_difference(g, y, labels));
    braid_spec_loss(spec, loss);
    braid_spec_eval_metric(spec, "mae", braid_metric_mean_absolute_error(g, labels, y, NULL));
    if (args->mode == BRAID_MODE_TRAIN && !faults->no_train_op)
        braid_spec_train_op(spec,
                            braid_minimize(braid_gradient_descent(g, 0.25f), loss, braid_global_step(g)));
}

void line_data_init(line_data *d, int count, int64_t batch_size, int64_t num_epochs)
{
    d->x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count), NULL);
    d->y = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count), NULL);
    for (int i = 0; i < count; i++) {
        ((float *)braid_tensor_data(d->x))[i] = (float)(i + 1);
        ((float *)braid_tensor_data(d->y))[i] = 3 * (float)(i + 1);
    }
    d->features[0] = (braid_array){"x", d->x};
    d->labels[0] = (braid_array){NULL, d->y};
    d->input = (braid_array_input){.features = d->features,
                                   .feature_count = 1,
                                   .labels = d->labels,
                                   .label_count = 1,
                                   .batch_size = batch_size,
                                   .num_epochs = num_epochs};
}

void line_data_fini(line_data *d)
{
    braid_tensor_free(d->x);
    braid_tensor_free(d->y);
}

braid_estimator *line_estimator(const char *dir, void *params, int64_t save_steps)
{
    BD_STATUS(st);
    const braid_run_config_options options = {.model_dir = dir,
                                              .tf_config = "{}",
                                              .save_checkpoints_steps = save_steps,
                                              .save_checkpoints_seconds = save_steps ? 0 : -1,
                                              .log_step_count_steps = -1};
    braid_run_config *config = braid_run_config_new(&options, st);
    assert_ok(st);
    braid_estimator *e = braid_estimator_new(
        &(braid_estimator_options){.model_fn = line_model, .params = params, .config = config}, st);
    assert_ok(st);
    return e;
}

void line_estimator_free(braid_estimator *e)
{
    braid_run_config *config = (braid_run_config *)braid_estimator_config(e);
    braid_estimator_free(e);
    braid_run_config_free(config);
}

float line_checkpoint_value(const char *dir, const char *name)
{
    BD_STATUS(st);
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(dir, st);
    assert_ok(st);
    braid_tensor *value = braid_checkpoint_reader_read(reader, name, st);
    assert_ok(st);
    const float out = *(const float *)braid_tensor_data(value);
    braid_tensor_free(value);
    braid_checkpoint_reader_close(reader);
    return out;
}
