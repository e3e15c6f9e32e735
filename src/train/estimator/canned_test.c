// Canned estimators against TensorFlow: the same columns, data and steps, and the values that
// tf.compat.v1.estimator of TensorFlow 2.15 gives.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/testing/hook_fixture.h"
#include <braid/canned_estimators.h>
#include <braid/estimator_inputs.h>
#include <math.h>
#include <string.h>

// Four examples with two features of numbers and one of strings; labels of two classes, of three, and
// numbers.
typedef struct data {
    braid_tensor *age, *id, *job, *weight, *binary, *classes, *numbers;
    braid_array features[4];
    braid_array label;
    braid_array_input train, evaluate;
    braid_feature_column age_column, id_column, job_column, buckets, cross;
    const braid_feature_column *crossed[2];
    braid_feature_column raw_age;
    braid_feature_column raw_id;
    braid_feature_column wide[5], deep[3];
} data;

static braid_out tenth(braid_graph *g, braid_out x)
{
    return braid_mul(g, x, braid_const_float(g, NULL, 0.1f));
}

static void make_tensors(data *d)
{
    static const char *const jobs[] = {"cook", "smith", "baker", "cook"};
    const braid_shape four = BRAID_SHAPE(4);
    d->age = braid_tensor_from(BRAID_FLOAT, four, (const float[]){18, 25, 70, 33}, NULL);
    d->id = braid_tensor_from(BRAID_INT64, four, (const int64_t[]){0, 3, 1, 2}, NULL);
    d->weight = braid_tensor_from(BRAID_FLOAT, four, (const float[]){1, 2, 1, 0.5f}, NULL);
    d->binary = braid_tensor_from(BRAID_INT32, four, (const int32_t[]){0, 1, 1, 0}, NULL);
    d->classes = braid_tensor_from(BRAID_INT32, four, (const int32_t[]){0, 2, 1, 2}, NULL);
    d->numbers = braid_tensor_from(BRAID_FLOAT, four, (const float[]){1, 2, 3, 4}, NULL);
    d->job = braid_tensor_new(BRAID_STRING, four, NULL);
    for (int i = 0; i < 4; i++)
        braid_tensor_set_string(d->job, i, jobs[i], strlen(jobs[i]));
}

static void make_columns(data *d)
{
    static const float decades[] = {20, 30, 40};
    d->age_column = d->raw_age = braid_numeric_column("age", 1);
    d->age_column.normalizer = tenth;
    d->id_column = braid_identity_column("id", 4);
    d->job_column = braid_hash_bucket_column("job", 6, BRAID_STRING);
    d->raw_id = braid_raw_column("id", BRAID_INT64);
    d->buckets = braid_bucketized_column(&d->raw_age, decades, 3);
    d->crossed[0] = &d->buckets;
    d->crossed[1] = &d->raw_id;
    d->cross = braid_crossed_column(d->crossed, 2, 7);
    const braid_feature_column wide[] = {d->age_column, d->id_column, d->cross, d->job_column, d->buckets};
    const braid_feature_column deep[] = {d->age_column, braid_embedding_column(&d->job_column, 2),
                                         braid_indicator_column(&d->id_column)};
    memcpy(d->wide, wide, sizeof wide);
    memcpy(d->deep, deep, sizeof deep);
}

static void data_init(data *d)
{
    *d = (data){0};
    make_tensors(d);
    make_columns(d);
    const braid_array features[] = {{"age", d->age}, {"id", d->id}, {"job", d->job}, {"w", d->weight}};
    memcpy(d->features, features, sizeof features);
    d->train = (braid_array_input){.features = d->features,
                                   .feature_count = 4,
                                   .labels = &d->label,
                                   .label_count = 1,
                                   .batch_size = 4,
                                   .num_epochs = -1};
    d->evaluate = d->train;
    d->evaluate.batch_size = 3;
    d->evaluate.num_epochs = 1;
}

static void data_fini(data *d)
{
    braid_tensor *const all[] = {d->age, d->id, d->job, d->weight, d->binary, d->classes, d->numbers};
    for (size_t i = 0; i < BD_COUNTOF(all); i++)
        braid_tensor_free(all[i]);
}

static braid_run_config *config_new(void)
{
    BD_STATUS(st);
    braid_run_config *config = braid_run_config_new(&(braid_run_config_options){.model_dir = hook_dir,
                                                                                .tf_config = "{}",
                                                                                .log_step_count_steps = -1,
                                                                                .random_seed = 1,
                                                                                .has_random_seed = true},
                                                    st);
    assert_ok(st);
    return config;
}

static void train_steps(braid_estimator *e, data *d, int64_t steps)
{
    BD_STATUS(st);
    assert_non_null(e);
    const braid_train_options options = {.input = braid_array_input_fn(&d->train), .steps = steps};
    braid_estimator_train(e, &options, st);
    assert_ok(st);
}

typedef struct expected {
    const char *name;
    double value;
} expected;

static void expect_metrics(braid_estimator *e, data *d, const expected *want, int count)
{
    BD_STATUS(st);
    braid_evaluation *evaluation = braid_estimator_evaluate(
        e, &(braid_evaluate_options){.input = braid_array_input_fn(&d->evaluate)}, st);
    assert_ok(st);
    assert_int_equal(braid_evaluation_count(evaluation), count + 1); // and the global step
    for (int i = 0; i < count; i++) {
        double value = -1;
        if (!braid_evaluation_get(evaluation, want[i].name, &value)) fail_msg("no %s", want[i].name);
        if (fabs(value - want[i].value) > 2e-5) fail_msg("%s is %.9g", want[i].name, value);
    }
    braid_evaluation_free(evaluation);
}

// The first elements of a variable in the newest checkpoint.
static void expect_variable(const char *name, const float *want, int count)
{
    BD_STATUS(st);
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(hook_dir, st);
    braid_tensor *value = reader ? braid_checkpoint_reader_read(reader, name, st) : NULL;
    assert_ok(st);
    assert_true(braid_tensor_num_elements(value) >= count);
    for (int i = 0; i < count; i++)
        assert_float_equal(((const float *)braid_tensor_data(value))[i], want[i], 2e-5f);
    braid_tensor_free(value);
    braid_checkpoint_reader_close(reader);
}

// Prediction `name` of the first example as text.
static void expect_prediction(braid_estimator *e, data *d, const char *name, const char *want)
{
    BD_STATUS(st);
    braid_predict_options options = {
        .input = braid_array_input_fn(&d->evaluate), .keys = &name, .key_count = 1};
    braid_predictor *p = braid_estimator_predict(e, &options, st);
    assert_ok(st);
    const braid_tensor *value;
    braid_predictor_next(p, &value, st);
    assert_ok(st);
    char *text = braid_tensor_text(value, -1);
    if (!bd_str_starts_with(text, want)) fail_msg("%s is %s", name, text);
    bd_free(text);
    braid_predictor_free(p);
}

static void a_linear_classifier_has_the_values_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.binary;
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_classifier(
        &(braid_canned_options){.config = config, .linear_columns = d.wide, .linear_column_count = 5}, st);
    train_steps(e, &d, 3);
    expect_variable("linear/linear_model/bias_weights", (const float[]){-0.195055977f}, 1);
    expect_variable("linear/linear_model/age/weights", (const float[]){0.167916507f}, 1);
    expect_variable("linear/linear_model/age_bucketized/weights",
                    (const float[]){-0.345706254f, 0.316375524f, -0.361497998f, 0.265025914f}, 4);
    expect_variable("linear/linear_model/age_bucketized_X_id/weights",
                    (const float[]){0, -0.389158934f, 0.316375524f, 0, 0, 0.265025914f, 0}, 7);
    expect_variable("linear/linear_model/job/weights",
                    (const float[]){0, 0, 0.265025914f, -0.389158934f, 0.316375524f, 0}, 6);
    static const expected metrics[] = {{"accuracy", 1},
                                       {"accuracy_baseline", 0.5},
                                       {"auc", 0.999999523},
                                       {"auc_precision_recall", 0.999999523},
                                       {"average_loss", 0.207570627},
                                       {"label/mean", 0.5},
                                       {"loss", 0.415141255},
                                       {"precision", 1},
                                       {"prediction/mean", 0.536707759},
                                       {"recall", 1}};
    expect_metrics(e, &d, metrics, BD_COUNTOF(metrics));
    expect_prediction(e, &d, "logits", "[-1.36253");
    expect_prediction(e, &d, "probabilities", "[0.79617");
    expect_prediction(e, &d, "class_ids", "[0]");
    expect_prediction(e, &d, "classes", "[\"0\"]");
    expect_prediction(e, &d, "all_classes", "[\"0\" \"1\"]");
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

// All probabilities are 1/2.
static void an_untrained_classifier_has_the_metrics_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.binary;
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_classifier(
        &(braid_canned_options){.config = config, .linear_columns = d.wide, .linear_column_count = 5}, st);
    static const expected metrics[] = {{"accuracy", 0.5},
                                       {"accuracy_baseline", 0.5},
                                       {"auc", 0.5},
                                       {"auc_precision_recall", 0.749999702},
                                       {"average_loss", 0.693147182},
                                       {"label/mean", 0.5},
                                       {"loss", 1.38629436},
                                       {"precision", 0},
                                       {"prediction/mean", 0.5},
                                       {"recall", 0}};
    expect_metrics(e, &d, metrics, BD_COUNTOF(metrics));
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

static void weighted_examples_of_three_classes_have_the_values_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.classes;
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_classifier(&(braid_canned_options){.config = config,
                                                                         .linear_columns = d.wide,
                                                                         .linear_column_count = 5,
                                                                         .num_classes = 3,
                                                                         .weight_column = "w"},
                                                 st);
    train_steps(e, &d, 3);
    expect_variable("linear/linear_model/age/weights",
                    (const float[]){-0.177420527f, 0.18569541f, 0.163461551f}, 3);
    expect_variable("linear/linear_model/bias_weights",
                    (const float[]){-0.0337608494f, -0.366205752f, 0.226664007f}, 3);
    static const expected metrics[] = {{"accuracy", 1}, {"average_loss", 0.179221213}, {"loss", 0.403247744}};
    expect_metrics(e, &d, metrics, BD_COUNTOF(metrics));
    expect_prediction(e, &d, "logits", "[1.08699");
    expect_prediction(e, &d, "all_class_ids", "[0 1 2]");
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

static void a_linear_regressor_has_the_values_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.numbers;
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_regressor(
        &(braid_canned_options){.config = config, .linear_columns = d.wide, .linear_column_count = 5}, st);
    train_steps(e, &d, 3);
    expect_variable("linear/linear_model/id/weights",
                    (const float[]){0.0421996675f, 0.237359703f, 0.371014297f, 0.25789839f}, 4);
    static const expected metrics[] = {{"average_loss", 0.573435843},
                                       {"label/mean", 2.5},
                                       {"loss", 1.14687169},
                                       {"prediction/mean", 2.32842994}};
    expect_metrics(e, &d, metrics, BD_COUNTOF(metrics));
    expect_prediction(e, &d, "predictions", "[1.50835");
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

static double loss_of(braid_estimator *e, data *d)
{
    BD_STATUS(st);
    braid_evaluation *evaluation = braid_estimator_evaluate(
        e, &(braid_evaluate_options){.input = braid_array_input_fn(&d->evaluate)}, st);
    assert_ok(st);
    double loss = -1;
    assert_true(braid_evaluation_get(evaluation, "average_loss", &loss));
    braid_evaluation_free(evaluation);
    return loss;
}

static braid_optimizer *descend(void *arg, braid_graph *g)
{
    return braid_gradient_descent(g, *(const float *)arg);
}

static void a_network_learns_and_has_the_variables_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.classes;
    static const int hidden[] = {8, 4};
    braid_run_config *config = config_new();
    braid_estimator *e = braid_dnn_classifier(&(braid_canned_options){.config = config,
                                                                      .dnn_columns = d.deep,
                                                                      .dnn_column_count = 3,
                                                                      .hidden_units = hidden,
                                                                      .hidden_layer_count = 2,
                                                                      .activation = braid_tanh,
                                                                      .num_classes = 3},
                                              st);
    train_steps(e, &d, 1);
    const double first = loss_of(e, &d);
    train_steps(e, &d, 60);
    assert_true(loss_of(e, &d) < first / 2);
    expect_variable("dnn/input_from_feature_columns/input_layer/job_embedding/embedding_weights", NULL, 0);
    expect_variable("dnn/hiddenlayer_0/kernel", NULL, 0);
    expect_variable("dnn/hiddenlayer_1/bias/t_0/Adagrad", NULL, 0);
    expect_variable("dnn/logits/kernel", NULL, 0);
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

// With a rate of 0 the linear part stays at zero, and only the network learns.
static void both_parts_are_trained_by_their_own_optimizers(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.numbers;
    static const int hidden[] = {8};
    static float none = 0, rate = 0.02f;
    braid_run_config *config = config_new();
    braid_estimator *e =
        braid_dnn_linear_combined_regressor(&(braid_canned_options){.config = config,
                                                                    .linear_columns = d.wide,
                                                                    .linear_column_count = 5,
                                                                    .dnn_columns = d.deep,
                                                                    .dnn_column_count = 3,
                                                                    .hidden_units = hidden,
                                                                    .hidden_layer_count = 1,
                                                                    .activation = braid_tanh,
                                                                    .linear_optimizer = {descend, &none},
                                                                    .dnn_optimizer = {descend, &rate}},
                                            st);
    train_steps(e, &d, 5);
    const double first = loss_of(e, &d);
    expect_variable("linear/linear_model/id/weights", (const float[]){0, 0, 0, 0}, 4);
    train_steps(e, &d, 60);
    assert_true(loss_of(e, &d) < first / 2);
    char *latest = braid_estimator_latest_checkpoint(e, st);
    assert_string_equal(strrchr(latest, '-'), "-65"); // a step counts once
    bd_free(latest);
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

static void labels_are_words_of_a_vocabulary(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.job; // smith is class 0, cook 1, baker 2
    static const char *const words[] = {"smith", "cook", "baker"};
    braid_tensor *vocabulary = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(3), NULL);
    for (int i = 0; i < 3; i++)
        braid_tensor_set_string(vocabulary, i, words[i], strlen(words[i]));
    braid_run_config *config = config_new();
    braid_canned_options options = {.config = config,
                                    .linear_columns = d.wide,
                                    .linear_column_count = 5,
                                    .num_classes = 3,
                                    .label_vocabulary = vocabulary};
    braid_estimator *e = braid_linear_classifier(&options, st);
    train_steps(e, &d, 20);
    expect_prediction(e, &d, "classes", "[\"cook\"]");
    expect_prediction(e, &d, "class_ids", "[1]");
    expect_prediction(e, &d, "all_classes", "[\"smith\" \"cook\" \"baker\"]");
    braid_tensor_set_string(d.job, 2, "clerk", 5); // no word of the vocabulary
    const braid_train_options again = {.input = braid_array_input_fn(&d.train), .steps = 1};
    braid_estimator_train(e, &again, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "A label is none of the 3 of the label vocabulary");
    options.num_classes = 2;
    assert_null(braid_linear_classifier(&options, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "The label_vocabulary has 3 words for 2 classes");
    braid_estimator_free(e);
    braid_run_config_free(config);
    braid_tensor_free(vocabulary);
    data_fini(&d);
}

static void a_label_that_is_no_class_fails_the_step(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    d.label.values = d.classes; // 2 is no class of a classifier of two
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_classifier(
        &(braid_canned_options){.config = config, .linear_columns = d.wide, .linear_column_count = 5}, st);
    const braid_train_options options = {.input = braid_array_input_fn(&d.train), .steps = 1};
    braid_estimator_train(e, &options, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "A label is no number of a class, from 0 to 1");
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

static void what_a_model_lacks_is_said(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    assert_null(braid_linear_classifier(&(braid_canned_options){0}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "no feature columns (linear_columns)");
    assert_null(
        braid_dnn_regressor(&(braid_canned_options){.dnn_columns = d.deep, .dnn_column_count = 3}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "no hidden layers (hidden_units)");
    assert_null(braid_linear_classifier(
        &(braid_canned_options){.linear_columns = d.wide, .linear_column_count = 5, .num_classes = 1}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "A classifier of 1 classes");
    d.label.values = d.job;
    braid_run_config *config = config_new();
    braid_estimator *e = braid_linear_classifier(
        &(braid_canned_options){.config = config, .linear_columns = d.wide, .linear_column_count = 5}, st);
    const braid_train_options options = {.input = braid_array_input_fn(&d.train), .steps = 1};
    braid_estimator_train(e, &options, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The labels are strings");
    braid_estimator_free(e);
    braid_run_config_free(config);
    data_fini(&d);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(a_linear_classifier_has_the_values_of_tensorflow),
        HOOK_TEST(an_untrained_classifier_has_the_metrics_of_tensorflow),
        HOOK_TEST(weighted_examples_of_three_classes_have_the_values_of_tensorflow),
        HOOK_TEST(a_linear_regressor_has_the_values_of_tensorflow),
        HOOK_TEST(a_network_learns_and_has_the_variables_of_tensorflow),
        HOOK_TEST(both_parts_are_trained_by_their_own_optimizers),
        HOOK_TEST(labels_are_words_of_a_vocabulary),
        HOOK_TEST(a_label_that_is_no_class_fails_the_step),
        HOOK_TEST(what_a_model_lacks_is_said),
    };
    return BD_RUN_TESTS(tests);
}
