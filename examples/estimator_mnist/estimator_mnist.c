// A canned estimator that learns digits, alone or on a cluster, evaluates checkpoints and exports a model:
//
//     estimator_mnist --model_dir=/tmp/digits
//     braid run --chief --workers 2 --ps 1 --evaluator estimator_mnist --model_dir=/tmp/digits
//
// Each task finds its part of the work in TF_CONFIG: the chief and the workers train, the parameter server
// has the variables, the evaluator evaluates new checkpoints. Alone, the program does all of it, and then
// predicts.
#include "digits.h"
#include "flags.h"

#include <braid/braid.h>
#include <stdio.h>
#include <string.h>

#define TRAIN_DIGITS 4000
#define TEST_DIGITS 1000
#define PREDICTED 10

// ---- Data: images [count, 784] from 0 to 1, and the digits that they show ----

typedef struct digits_data {
    braid_tensor *images, *labels;
    braid_array features[1], label;
} digits_data;

static void draw(digits_data *d, const digits_style *style, int count)
{
    d->images = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, DIGITS_PIXELS), NULL);
    d->labels = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    float *image = braid_tensor_data(d->images);
    int64_t *label = braid_tensor_data(d->labels);
    for (int i = 0; i < count; i++, image += DIGITS_PIXELS) {
        uint8_t pixels[DIGITS_PIXELS];
        label[i] = digits_draw(style, (uint64_t)i, pixels);
        for (int k = 0; k < DIGITS_PIXELS; k++)
            image[k] = (float)pixels[k] / 255;
    }
    d->features[0] = (braid_array){"image", d->images};
    d->label = (braid_array){NULL, d->labels};
}

static void free_data(digits_data *d)
{
    braid_tensor_free(d->images);
    braid_tensor_free(d->labels);
}

static braid_array_input batches(const digits_data *d, int64_t batch_size, bool is_training)
{
    return (braid_array_input){.features = d->features,
                               .feature_count = 1,
                               .labels = &d->label,
                               .label_count = 1,
                               .batch_size = batch_size,
                               .num_epochs = is_training ? -1 : 1,
                               .shuffle = is_training};
}

// ---- The work ----

typedef struct options {
    const char *model_dir;
    int64_t train_steps, batch_size, save_steps;
    double learning_rate;
} options;

static braid_optimizer *adam(void *arg, braid_graph *graph)
{
    return braid_adam(graph, (float)((const options *)arg)->learning_rate);
}

static braid_code print_predictions(braid_estimator *e, braid_input test, const digits_data *d,
                                    braid_status *status)
{
    const char *const key = "class_ids";
    const braid_predict_options how = {.input = test, .keys = &key, .key_count = 1};
    braid_predictor *p = braid_estimator_predict(e, &how, status);
    const braid_tensor *class_id;
    const int64_t *labels = braid_tensor_data(d->labels);
    printf("predicted/shown:");
    for (int i = 0; p && i < PREDICTED && !braid_predictor_next(p, &class_id, status); i++)
        printf(" %lld/%lld", (long long)*(const int64_t *)braid_tensor_data(class_id), (long long)labels[i]);
    printf("\n");
    braid_predictor_free(p);
    return braid_status_code(status);
}

static braid_code print_accuracy(braid_estimator *e, braid_input test, braid_status *status)
{
    double accuracy = 0, step = 0;
    braid_evaluation *evaluation =
        braid_estimator_evaluate(e, &(braid_evaluate_options){.input = test, .name = "last"}, status);
    if (!evaluation) return braid_status_code(status);
    braid_evaluation_get(evaluation, "accuracy", &accuracy);
    braid_evaluation_get(evaluation, "global_step", &step);
    printf("test accuracy after %g steps: %.3f\n", step, accuracy);
    braid_evaluation_free(evaluation);
    return BRAID_OK;
}

static braid_code work(braid_estimator *e, const options *o, braid_status *status)
{
    static const braid_raw_feature raw[] = {{"image", BRAID_FLOAT, {.rank = 2, .dims = {-1, DIGITS_PIXELS}}}};
    static const braid_raw_features request = {raw, 1};
    digits_data train, test;
    draw(&train, &digits_train, TRAIN_DIGITS);
    draw(&test, &digits_test, TEST_DIGITS);
    const braid_array_input train_batches = batches(&train, o->batch_size, true);
    const braid_array_input test_batches = batches(&test, TEST_DIGITS, false);
    const braid_exporter exporter = braid_final_exporter("digits", braid_raw_serving_input(&request));
    const braid_train_spec train_spec = {.input = braid_array_input_fn(&train_batches),
                                         .max_steps = o->train_steps};
    const braid_eval_spec eval_spec = {.input = braid_array_input_fn(&test_batches),
                                       .steps = -1,
                                       .exporters = &exporter,
                                       .exporter_count = 1,
                                       .throttle_seconds = 1};
    braid_code code = braid_train_and_evaluate(e, &train_spec, &eval_spec, status);
    const braid_run_config *config = braid_estimator_config(e);
    if (!code && config->is_chief) code = print_accuracy(e, eval_spec.input, status);
    if (!code && config->is_chief) code = print_predictions(e, eval_spec.input, &test, status);
    free_data(&train);
    free_data(&test);
    return code;
}

static braid_code run(options *o, braid_status *status)
{
    static const int hidden[] = {64};
    const braid_run_config_options config_options = {.model_dir = o->model_dir,
                                                     .save_checkpoints_steps = o->save_steps};
    braid_run_config *config = braid_run_config_new(&config_options, status);
    if (!config) return braid_status_code(status);
    const braid_feature_column column = braid_numeric_column("image", DIGITS_PIXELS);
    braid_estimator *e = braid_dnn_classifier(&(braid_canned_options){.config = config,
                                                                      .dnn_columns = &column,
                                                                      .dnn_column_count = 1,
                                                                      .hidden_units = hidden,
                                                                      .hidden_layer_count = 1,
                                                                      .num_classes = 10,
                                                                      .dnn_optimizer = {adam, o}},
                                              status);
    const braid_code code = e ? work(e, o, status) : braid_status_code(status);
    braid_estimator_free(e);
    braid_run_config_free(config);
    return code;
}

int main(int argc, char **argv)
{
    options o = {.train_steps = 400, .batch_size = 50, .save_steps = 100, .learning_rate = 0.002};
    flag flags[] = {
        {"model_dir", FLAG_STRING, &o.model_dir, "where the model is kept (default: model_dir of TF_CONFIG)",
         false},
        {"train_steps", FLAG_INT, &o.train_steps, "the global step at which training ends", false},
        {"batch_size", FLAG_INT, &o.batch_size, "digits of a step", false},
        {"save_steps", FLAG_INT, &o.save_steps, "steps from one checkpoint to the next", false},
        {"learning_rate", FLAG_FLOAT, &o.learning_rate, "of Adam", false},
    };
    const flags_result result = flags_parse(argc, argv, "Trains an estimator on digits that it draws.", flags,
                                            sizeof flags / sizeof *flags);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? 0 : 2;
    braid_status *status = braid_status_new();
    const braid_code code = run(&o, status);
    if (code) fprintf(stderr, "estimator_mnist: %s\n", braid_status_message(status));
    braid_status_free(status);
    return braid_exit_code(code);
}
