// Wide and deep (Cheng et al., Wide & Deep Learning for Recommender Systems, 2016): a linear model of crossed
// columns, which memorizes combinations, and a network of embeddings, which generalizes, trained together.
//
//     wide_deep --model_dir=/tmp/wide
//     braid run --chief --workers 2 --ps 1 --evaluator wide_deep --model_dir=/tmp/wide
//
// The people of the data set are made up: whether one earns more than others depends on the age, on the
// education, and on which occupation goes with which region.
#include "flags.h"

#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    PEOPLE = 6000,
    TESTED = 1000,
    EDUCATIONS = 4,
    OCCUPATIONS = 12,
    REGIONS = 6,
    FEATURES = 4
};

// ---- Data ----

typedef struct people {
    braid_tensor *age, *education, *occupation, *region, *rich;
    braid_array features[FEATURES], label;
} people;

static int below(int n)
{
    return (int)((double)rand() / ((double)RAND_MAX + 1) * n);
}

static void make(people *p, int count)
{
    p->age = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, 1), NULL);
    p->education = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    p->occupation = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    p->region = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    p->rich = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(count), NULL);
    float *age = braid_tensor_data(p->age);
    int64_t *education = braid_tensor_data(p->education), *occupation = braid_tensor_data(p->occupation);
    int64_t *region = braid_tensor_data(p->region), *rich = braid_tensor_data(p->rich);
    for (int i = 0; i < count; i++) {
        age[i] = (float)(18 + below(50));
        education[i] = below(EDUCATIONS);
        occupation[i] = below(OCCUPATIONS);
        region[i] = below(REGIONS);
        const bool fits = (occupation[i] * 7 + region[i] * 5) % 3 == 0;
        const double score = (age[i] > 30) + (double)education[i] / 2 + (fits ? 2.5 : 0);
        rich[i] = score + (double)below(100) / 200 > 3;
    }
    p->features[0] = (braid_array){"age", p->age};
    p->features[1] = (braid_array){"education", p->education};
    p->features[2] = (braid_array){"occupation", p->occupation};
    p->features[3] = (braid_array){"region", p->region};
    p->label = (braid_array){NULL, p->rich};
}

static void free_people(people *p)
{
    braid_tensor_free(p->age);
    braid_tensor_free(p->education);
    braid_tensor_free(p->occupation);
    braid_tensor_free(p->region);
    braid_tensor_free(p->rich);
}

static braid_array_input batches(const people *p, int64_t batch_size, bool is_training)
{
    return (braid_array_input){.features = p->features,
                               .feature_count = FEATURES,
                               .labels = &p->label,
                               .label_count = 1,
                               .batch_size = batch_size,
                               .num_epochs = is_training ? -1 : 1,
                               .shuffle = is_training};
}

// ---- The model ----

static braid_out in_decades(braid_graph *graph, braid_out age)
{
    return braid_mul(graph, age, braid_const_float(graph, "a_tenth", 0.1F));
}

static braid_optimizer *adagrad(void *arg, braid_graph *graph)
{
    (void)arg;
    return braid_adagrad(graph, 0.05F);
}

// Columns point to each other, so all live here.
static braid_estimator *make_estimator(const braid_run_config *config, braid_status *status)
{
    static const float decades[] = {25, 30, 35, 45, 55};
    static const int hidden[] = {32, 16};
    static braid_feature_column age, ages, education, occupation, region, wide[4], deep[4];
    age = braid_numeric_column("age", 1);
    age.normalizer = in_decades;
    ages = braid_bucketized_column(&age, decades, sizeof decades / sizeof *decades);
    education = braid_identity_column("education", EDUCATIONS);
    occupation = braid_identity_column("occupation", OCCUPATIONS);
    region = braid_identity_column("region", REGIONS);
    static const braid_feature_column *crossed[2];
    crossed[0] = &occupation, crossed[1] = &region;
    wide[0] = ages;
    wide[1] = education;
    wide[2] = braid_crossed_column(crossed, 2, 500);
    deep[0] = age;
    deep[1] = braid_indicator_column(&education);
    deep[2] = braid_embedding_column(&occupation, 4);
    deep[3] = braid_embedding_column(&region, 4);
    return braid_dnn_linear_combined_classifier(&(braid_canned_options){.config = config,
                                                                        .linear_columns = wide,
                                                                        .linear_column_count = 3,
                                                                        .dnn_columns = deep,
                                                                        .dnn_column_count = 4,
                                                                        .hidden_units = hidden,
                                                                        .hidden_layer_count = 2,
                                                                        .dnn_optimizer = {adagrad, NULL}},
                                                status);
}

// ---- The work ----

static braid_code print_accuracy(braid_estimator *e, braid_input test, braid_status *status)
{
    double accuracy = 0, baseline = 0, auc = 0;
    braid_evaluation *evaluation =
        braid_estimator_evaluate(e, &(braid_evaluate_options){.input = test, .name = "last"}, status);
    if (!evaluation) return braid_status_code(status);
    braid_evaluation_get(evaluation, "accuracy", &accuracy);
    braid_evaluation_get(evaluation, "accuracy_baseline", &baseline);
    braid_evaluation_get(evaluation, "auc", &auc);
    printf("test accuracy: %.3f, of the most frequent class %.3f, AUC %.3f\n", accuracy, baseline, auc);
    braid_evaluation_free(evaluation);
    return BRAID_OK;
}

static braid_code work(braid_estimator *e, int64_t train_steps, braid_status *status)
{
    people train, test;
    srand(1);
    make(&train, PEOPLE);
    make(&test, TESTED);
    const braid_array_input train_batches = batches(&train, 50, true),
                            test_batches = batches(&test, TESTED, false);
    const braid_train_spec train_spec = {.input = braid_array_input_fn(&train_batches),
                                         .max_steps = train_steps};
    const braid_eval_spec eval_spec = {
        .input = braid_array_input_fn(&test_batches), .steps = -1, .throttle_seconds = 1};
    braid_code code = braid_train_and_evaluate(e, &train_spec, &eval_spec, status);
    if (!code && braid_estimator_config(e)->is_chief) code = print_accuracy(e, eval_spec.input, status);
    free_people(&train);
    free_people(&test);
    return code;
}

int main(int argc, char **argv)
{
    const char *model_dir = NULL;
    int64_t train_steps = 1200;
    flag flags[] = {
        {"model_dir", FLAG_STRING, &model_dir, "where the model is kept (default: model_dir of TF_CONFIG)",
         false},
        {"train_steps", FLAG_INT, &train_steps, "the global step at which training ends", false},
    };
    const flags_result result =
        flags_parse(argc, argv, "Trains a wide and deep model on people that it makes up.", flags,
                    sizeof flags / sizeof *flags);
    if (result != FLAGS_OK) return result == FLAGS_HELP ? 0 : 2;
    braid_status *status = braid_status_new();
    braid_run_config *config = braid_run_config_new(
        &(braid_run_config_options){.model_dir = model_dir, .save_checkpoints_steps = 400}, status);
    braid_estimator *e = config ? make_estimator(config, status) : NULL;
    if (e) work(e, train_steps, status);
    const braid_code code = braid_status_code(status);
    if (code) fprintf(stderr, "wide_deep: %s\n", braid_status_message(status));
    braid_estimator_free(e);
    braid_run_config_free(config);
    braid_status_free(status);
    return braid_exit_code(code);
}
