// Input functions of files: CSV lines and TFRecord Examples as features and labels.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include "train/testing/line_model.h"
#include <stdio.h>
#include <string.h>

// Predicts all that the input gives.
static void echo(const braid_model_args *args, braid_estimator_spec *spec)
{
    for (int i = 0; i < args->feature_count; i++)
        braid_spec_prediction(spec, args->features[i].name, args->features[i].values);
    for (int i = 0; i < args->label_count; i++)
        braid_spec_prediction(spec, "label", args->labels[i].values);
    if (args->mode != BRAID_MODE_PREDICT)
        braid_spec_loss(spec, braid_reduce_mean(
                                  args->graph, braid_cast(args->graph, braid_labels_get(args), BRAID_FLOAT)));
}

typedef struct echo_estimator {
    braid_run_config *config;
    braid_estimator *estimator;
} echo_estimator;

static echo_estimator echo_new(void)
{
    BD_STATUS(st);
    braid_run_config *config =
        braid_run_config_new(&(braid_run_config_options){.model_dir = hook_dir, .tf_config = "{}"}, st);
    assert_ok(st);
    return (echo_estimator){
        config, braid_estimator_new(&(braid_estimator_options){.model_fn = echo, .config = config}, st)};
}

static void echo_free(echo_estimator *e)
{
    braid_estimator_free(e->estimator);
    braid_run_config_free(e->config);
}

// The results of an input, batch by batch, as text (bd_free).
static char *text_of(braid_input input)
{
    BD_STATUS(st);
    echo_estimator e = echo_new();
    braid_predictor *p = braid_estimator_predict(
        e.estimator, &(braid_predict_options){.input = input, .whole_batches = true}, st);
    assert_ok(st);
    bd_strbuf out = {0};
    const braid_tensor *values[4];
    while (!braid_predictor_next(p, values, st))
        for (int i = 0; i < braid_predictor_count(p); i++) {
            char *text = braid_tensor_text(values[i], -1);
            bd_strbuf_appendf(&out, "%s=%s ", braid_predictor_name(p, i), text);
            bd_free(text);
        }
    if (st->code != BRAID_OUT_OF_RANGE) assert_ok(st);
    braid_predictor_free(p);
    echo_free(&e);
    return bd_strbuf_take(&out);
}

static double loss_of(braid_input input)
{
    BD_STATUS(st);
    echo_estimator e = echo_new();
    braid_evaluation *evaluation =
        braid_estimator_evaluate(e.estimator, &(braid_evaluate_options){.input = input}, st);
    assert_ok(st);
    double loss = -1;
    assert_true(braid_evaluation_get(evaluation, "loss", &loss));
    braid_evaluation_free(evaluation);
    echo_free(&e);
    return loss;
}

static char *write_csv(void)
{
    char *path = bd_asprintf("%s/data.csv", hook_dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("age,job,paid\n30,cook,1\n,smith,0\n41,cook,1\n", file);
    fclose(file);
    return path;
}

static void lines_of_csv_files_are_features_and_a_label(void **state)
{
    (void)state;
    char *path = write_csv();
    const char *const files[] = {path};
    braid_tensor *age = braid_tensor_int32(7);
    const braid_csv_column columns[] = {
        {"age", BRAID_INT32, age}, {"job", BRAID_STRING, NULL}, {"paid", BRAID_INT64, NULL}};
    braid_csv_input d = {.files = files,
                         .file_count = 1,
                         .columns = columns,
                         .column_count = 3,
                         .label = "paid",
                         .has_header = true,
                         .batch_size = 2};
    char *text = text_of(braid_csv_input_fn(&d));
    assert_string_equal(text, "age=[30 7] job=[\"cook\" \"smith\"] age=[41] job=[\"cook\"] ");
    bd_free(text);
    d.batch_size = 3;
    assert_float_equal(loss_of(braid_csv_input_fn(&d)), 2.0 / 3, 1e-6);
    d.num_epochs = 2;
    d.batch_size = 10;
    text = text_of(braid_csv_input_fn(&d));
    assert_non_null(strstr(text, "age=[30 7 41 30 7 41]"));
    bd_free(text);
    braid_tensor_free(age);
    bd_free(path);
}

static char *write_records(void)
{
    BD_STATUS(st);
    char *path = bd_asprintf("%s/data.tfrecord", hook_dir);
    braid_record_writer *writer = braid_record_writer_open(path, BRAID_COMPRESSION_NONE, st);
    braid_example *example = braid_example_new();
    for (int64_t i = 0; i < 3; i++) {
        const float x[] = {(float)i, 0.5f};
        const int64_t ids[] = {i, 7};
        size_t len;
        braid_example_clear(example);
        braid_example_floats(example, "x", x, 2);
        braid_example_int64s(example, "ids", ids, i == 1 ? 0 : 2);
        braid_example_int64s(example, "y", &i, 1);
        const void *data = braid_example_serialize(example, &len, st);
        braid_record_write(writer, data, len, st);
    }
    braid_example_free(example);
    braid_record_writer_close(writer, st);
    assert_ok(st);
    return path;
}

static void examples_are_parsed_to_dense_and_sparse_features(void **state)
{
    (void)state;
    char *path = write_records();
    const char *const files[] = {path};
    const braid_feature features[] = {{.name = "ids", .dtype = BRAID_INT64, .is_var_len = true},
                                      {.name = "x", .dtype = BRAID_FLOAT, .shape = BRAID_SHAPE(2)},
                                      {.name = "y", .dtype = BRAID_INT64}};
    const braid_record_input d = {.files = files,
                                  .file_count = 1,
                                  .features = features,
                                  .feature_count = 3,
                                  .label = "y",
                                  .batch_size = 3};
    char *text = text_of(braid_record_input_fn(&d));
    assert_string_equal(text, "ids=[0 7 2 7] x=[[0 0.5]\n [1 0.5]\n [2 0.5]] ");
    bd_free(text);
    assert_float_equal(loss_of(braid_record_input_fn(&d)), 1, 1e-6);
    bd_free(path);
}

static void a_label_that_is_no_column_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *path = write_csv();
    const char *const files[] = {path};
    const braid_csv_column columns[] = {{"age", BRAID_INT32, NULL}};
    const braid_csv_input d = {
        .files = files, .file_count = 1, .columns = columns, .column_count = 1, .label = "pay"};
    echo_estimator e = echo_new();
    assert_null(
        braid_estimator_predict(e.estimator, &(braid_predict_options){.input = braid_csv_input_fn(&d)}, st));
    assert_error(st, BRAID_NOT_FOUND, "The input has no 'pay', which is to be the label");
    echo_free(&e);
    bd_free(path);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(lines_of_csv_files_are_features_and_a_label),
        HOOK_TEST(examples_are_parsed_to_dense_and_sparse_features),
        HOOK_TEST(a_label_that_is_no_column_is_refused),
    };
    return BD_RUN_TESTS(tests);
}
