// Trains a linear classifier, with weights in two parts, and exports it, for tests with TensorFlow:
//     estimators DIR
// Makes DIR/examples/NUMBER, a SavedModel that takes serialized Examples, and DIR/raw/NUMBER, one that takes
// tensors. Prints the probability of class 1 of each of its four examples. The vocabularies are in
// DIR/jobs/words.txt and DIR/towns/words.txt.
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct data {
    braid_tensor *age, *job, *town, *labels;
    braid_array features[3], label;
    braid_array_input train, test;
} data;

static braid_tensor *four_words(const char *const *words)
{
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(4), NULL);
    for (int i = 0; i < 4; i++)
        braid_tensor_set_string(t, i, words[i], strlen(words[i]));
    return t;
}

static void make_data(data *d)
{
    static const char *const jobs[] = {"cook", "smith", "baker", "cook"};
    static const char *const towns[] = {"Ulm", "Bonn", "Bonn", "Trier"};
    d->age = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(4), (const float[]){1.8F, 2.5F, 7, 3.3F}, NULL);
    d->labels = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(4), (const int64_t[]){0, 1, 1, 0}, NULL);
    d->job = four_words(jobs);
    d->town = four_words(towns);
    d->features[0] = (braid_array){"age", d->age};
    d->features[1] = (braid_array){"job", d->job};
    d->features[2] = (braid_array){"town", d->town};
    d->label = (braid_array){NULL, d->labels};
    d->test = (braid_array_input){
        .features = d->features, .feature_count = 3, .labels = &d->label, .label_count = 1, .batch_size = 4};
    d->train = d->test;
    d->train.num_epochs = -1;
}

static void print_probabilities(braid_estimator *e, const data *d, braid_status *st)
{
    const char *const key = "logistic";
    braid_predictor *p = braid_estimator_predict(
        e, &(braid_predict_options){.input = braid_array_input_fn(&d->test), .keys = &key, .key_count = 1},
        st);
    const braid_tensor *value;
    while (p && !braid_predictor_next(p, &value, st))
        printf("%.9g\n", (double)*(const float *)braid_tensor_data(value));
    braid_predictor_free(p);
    if (braid_status_code(st) == BRAID_OUT_OF_RANGE) braid_status_clear(st);
}

static void export_to(braid_estimator *e, const char *dir, const char *name, braid_serving_input input,
                      braid_status *st)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (!braid_status_code(st)) free(braid_estimator_export_saved_model(e, path, input, NULL, st));
}

static void work(const char *dir, braid_status *st)
{
    char model_dir[4200], jobs[4200], towns[4200];
    snprintf(model_dir, sizeof model_dir, "%s/model", dir);
    snprintf(jobs, sizeof jobs, "%s/jobs/words.txt", dir);
    snprintf(towns, sizeof towns, "%s/towns/words.txt", dir);
    data d;
    make_data(&d);
    static const float ages[] = {2, 3, 4};
    const braid_feature_column age = braid_numeric_column("age", 1);
    const braid_feature_column buckets = braid_bucketized_column(&age, ages, 3);
    const braid_feature_column raw_job = braid_raw_column("job", BRAID_STRING);
    const braid_feature_column *const crossed[] = {&buckets, &raw_job};
    const braid_feature_column columns[] = {age, buckets, braid_vocabulary_file_column("job", jobs, 0),
                                            braid_vocabulary_file_column("town", towns, 0),
                                            braid_crossed_column(crossed, 2, 7)};
    const braid_run_config_options how = {.model_dir = model_dir};
    braid_run_config *config = braid_run_config_new(&how, st);
    braid_estimator *e =
        braid_linear_classifier(&(braid_canned_options){.config = config,
                                                        .linear_columns = columns,
                                                        .linear_column_count = 5,
                                                        .partitioner = braid_fixed_size_partitioner(2, 0)},
                                st);
    braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&d.train), .steps = 20},
                          st);
    if (!braid_status_code(st)) print_probabilities(e, &d, st);
    braid_feature features[3];
    const braid_parsed_features spec = {features, braid_make_parse_spec(columns, 5, features, 3)};
    export_to(e, dir, "examples", braid_parsing_serving_input(&spec), st);
    static const braid_raw_feature tensors[] = {{"age", BRAID_FLOAT, {.rank = 1, .dims = {-1}}},
                                                {"job", BRAID_STRING, {.rank = 1, .dims = {-1}}},
                                                {"town", BRAID_STRING, {.rank = 1, .dims = {-1}}}};
    static const braid_raw_features raw = {tensors, 3};
    export_to(e, dir, "raw", braid_raw_serving_input(&raw), st);
    braid_estimator_free(e);
    braid_run_config_free(config);
    braid_tensor_free(d.age);
    braid_tensor_free(d.job);
    braid_tensor_free(d.town);
    braid_tensor_free(d.labels);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    braid_status *st = braid_status_new();
    work(argv[1], st);
    const braid_code code = braid_status_code(st);
    if (code) fprintf(stderr, "estimators: %s\n", braid_status_message(st));
    braid_status_free(st);
    return braid_exit_code(code);
}
