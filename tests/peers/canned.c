// Trains a canned classifier for a few steps, from the newest checkpoint of a directory on, for tests with
// TensorFlow:
//     canned linear|dnn|combined default|adam PARTS STEPS MODEL_DIR
// Tables of PARTS parts; 0: the default. Each step has the same four examples and writes its loss.
// The network has batch normalization, where it is not combined.
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXAMPLES = 4
};

typedef struct data {
    braid_tensor *age, *id, *job, *labels;
    braid_array features[3], label;
    braid_array_input input;
    braid_feature_column age_column, id_column, job_column;
    braid_feature_column wide[3], deep[3];
} data;

static void make_data(data *d)
{
    static const char *const jobs[] = {"cook", "smith", "baker", "cook"};
    const braid_shape shape = BRAID_SHAPE(EXAMPLES);
    d->age = braid_tensor_from(BRAID_FLOAT, shape, (const float[]){1.8F, 2.5F, 7, 3.3F}, NULL);
    d->id = braid_tensor_from(BRAID_INT64, shape, (const int64_t[]){0, 3, 1, 2}, NULL);
    d->labels = braid_tensor_from(BRAID_INT64, shape, (const int64_t[]){0, 1, 1, 0}, NULL);
    d->job = braid_tensor_new(BRAID_STRING, shape, NULL);
    for (int i = 0; i < EXAMPLES; i++)
        braid_tensor_set_string(d->job, i, jobs[i], strlen(jobs[i]));
    d->features[0] = (braid_array){"age", d->age};
    d->features[1] = (braid_array){"id", d->id};
    d->features[2] = (braid_array){"job", d->job};
    d->label = (braid_array){NULL, d->labels};
    d->input = (braid_array_input){.features = d->features,
                                   .feature_count = 3,
                                   .labels = &d->label,
                                   .label_count = 1,
                                   .batch_size = EXAMPLES,
                                   .num_epochs = -1};
    d->age_column = d->wide[0] = d->deep[0] = braid_numeric_column("age", 1);
    d->id_column = d->wide[1] = braid_identity_column("id", 4);
    d->job_column = d->wide[2] = braid_hash_bucket_column("job", 6, BRAID_STRING);
    d->deep[1] = braid_indicator_column(&d->id_column);
    d->deep[2] = braid_embedding_column(&d->job_column, 2);
}

static braid_optimizer *adam(void *arg, braid_graph *g)
{
    (void)arg;
    braid_adam_options o = braid_adam_defaults();
    o.learning_rate = 0.01F;
    o.epsilon = 0.001F; // small gradients, which are rounding errors, do not become large steps
    return braid_adam_with(g, &o);
}

static braid_estimator *make(const char *kind, braid_canned_options *o, braid_status *st)
{
    if (strcmp(kind, "linear") == 0) return braid_linear_classifier(o, st);
    if (strcmp(kind, "combined") == 0) return braid_dnn_linear_combined_classifier(o, st);
    o->batch_norm = true;
    return braid_dnn_classifier(o, st);
}

static void train(char **argv, data *d, braid_status *st)
{
    static const int hidden[] = {3, 2};
    const braid_run_config_options how = {
        .model_dir = argv[5], .save_summary_steps = 1, .random_seed = 1, .has_random_seed = true};
    braid_run_config *config = braid_run_config_new(&how, st);
    braid_canned_options options = {.config = config,
                                    .linear_columns = d->wide,
                                    .linear_column_count = 3,
                                    .dnn_columns = d->deep,
                                    .dnn_column_count = 3,
                                    .hidden_units = hidden,
                                    .hidden_layer_count = 2,
                                    .activation = braid_tanh};
    if (strcmp(argv[2], "adam") == 0) options.linear_optimizer.make = options.dnn_optimizer.make = adam;
    if (atoi(argv[3])) options.partitioner = braid_fixed_size_partitioner(atoi(argv[3]), 0);
    braid_estimator *e = config ? make(argv[1], &options, st) : NULL;
    if (e)
        braid_estimator_train(
            e, &(braid_train_options){.input = braid_array_input_fn(&d->input), .steps = atoi(argv[4])}, st);
    braid_estimator_free(e);
    braid_run_config_free(config);
}

int main(int argc, char **argv)
{
    if (argc != 6) return 2;
    data d;
    braid_status *st = braid_status_new();
    make_data(&d);
    train(argv, &d, st);
    const braid_code code = braid_status_code(st);
    if (code) fprintf(stderr, "canned: %s\n", braid_status_message(st));
    braid_tensor_free(d.age);
    braid_tensor_free(d.id);
    braid_tensor_free(d.job);
    braid_tensor_free(d.labels);
    braid_status_free(st);
    return braid_exit_code(code);
}
