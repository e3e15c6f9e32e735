// Estimators: training, evaluation and prediction of a model of one weight, with values computed by hand.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include "train/testing/line_model.h"
#include <string.h>

// One example, x = 1 and y = 3: the loss is (w - 3)^2, and a step halves the distance of w to 3.
static void train(braid_estimator *e, int64_t steps, int64_t max_steps)
{
    BD_STATUS(st);
    line_data d;
    line_data_init(&d, 1, 1, -1);
    const braid_train_options options = {
        .input = braid_array_input_fn(&d.input), .steps = steps, .max_steps = max_steps};
    braid_estimator_train(e, &options, st);
    assert_ok(st);
    line_data_fini(&d);
}

static void training_moves_the_weight_and_saves_it(void **state)
{
    (void)state;
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    train(e, 2, 0);
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 2.25f, 1e-6f);
    BD_STATUS(st);
    char *latest = braid_estimator_latest_checkpoint(e, st);
    assert_ok(st);
    assert_string_equal(strrchr(latest, '/'), "/model.ckpt-2");
    bd_free(latest);
    assert_true(hook_has_file("graph.pbtxt"));
    assert_true(hook_is_in_events("loss"));
    line_estimator_free(e);
}

static void another_call_resumes_training(void **state)
{
    (void)state;
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    train(e, 2, 0);
    train(e, 1, 0);
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 2.625f, 1e-6f);
    train(e, 0, 3); // is done
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 2.625f, 1e-6f);
    train(e, 0, 4);
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 2.8125f, 1e-6f);
    line_estimator_free(e);
}

static void training_ends_with_its_input(void **state)
{
    (void)state;
    BD_STATUS(st);
    line_data d;
    line_data_init(&d, 1, 1, 3); // three epochs of one example
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&d.input)}, st);
    assert_ok(st);
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 2.625f, 1e-6f);
    line_data_fini(&d);
    line_estimator_free(e);
}

static double value_of(const braid_evaluation *evaluation, const char *name)
{
    double value = -1;
    assert_true(braid_evaluation_get(evaluation, name, &value));
    return value;
}

static void an_evaluation_gives_and_writes_the_metrics(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    train(e, 1, 0); // w = 1.5
    line_data d;
    line_data_init(&d, 3, 2, 1); // errors 1.5, 3; 4.5
    braid_evaluation *evaluation = braid_estimator_evaluate(
        e, &(braid_evaluate_options){.input = braid_array_input_fn(&d.input), .name = "test"}, st);
    assert_ok(st);
    assert_int_equal(braid_evaluation_count(evaluation), 3);
    assert_float_equal(value_of(evaluation, "mae"), 3, 1e-6);
    assert_float_equal(value_of(evaluation, "loss"), ((2.25 + 9) / 2 + 20.25) / 2, 1e-5);
    assert_float_equal(value_of(evaluation, "global_step"), 1, 0);
    double none;
    assert_false(braid_evaluation_get(evaluation, "other", &none));
    braid_evaluation_free(evaluation);
    char *model_dir = hook_dir, *eval_dir = bd_asprintf("%s/eval_test", hook_dir);
    hook_dir = eval_dir;
    assert_true(hook_is_in_events("mae"));
    hook_dir = model_dir;
    bd_free(eval_dir);
    line_data_fini(&d);
    line_estimator_free(e);
}

// The mean of the predictions times a number; and the model's own metric, replaced by that of the labels.
static void more_metrics(const braid_model_args *args, braid_estimator_spec *spec, void *arg)
{
    braid_graph *g = args->graph;
    const braid_out y = braid_predictions_get(args, spec, "y");
    const braid_out scaled = braid_mul(g, y, braid_const_float(g, NULL, *(const float *)arg));
    braid_spec_eval_metric(spec, "scaled", braid_metric_mean(g, scaled, NULL));
    braid_spec_eval_metric(spec, "mae", braid_metric_mean(g, braid_labels_get(args), NULL));
}

static void wrong_metrics(const braid_model_args *args, braid_estimator_spec *spec, void *arg)
{
    (void)arg;
    braid_predictions_get(args, spec, "z");
}

static void metrics_are_added_to_those_of_the_model(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    float ten = 10;
    braid_estimator_add_metrics(e, more_metrics, &ten);
    train(e, 1, 0); // w = 1.5
    line_data d;
    line_data_init(&d, 3, 2, 1);
    const braid_evaluate_options options = {.input = braid_array_input_fn(&d.input)};
    braid_evaluation *evaluation = braid_estimator_evaluate(e, &options, st);
    assert_ok(st);
    assert_int_equal(braid_evaluation_count(evaluation), 4);
    assert_float_equal(value_of(evaluation, "scaled"), 10 * 1.5 * 2, 1e-5);
    assert_float_equal(value_of(evaluation, "mae"), 6, 1e-6);
    braid_evaluation_free(evaluation);
    braid_estimator_add_metrics(e, wrong_metrics, NULL);
    assert_null(braid_estimator_evaluate(e, &options, st));
    assert_error(st, BRAID_NOT_FOUND, "The model has no prediction 'z'; it has 'y', 'x'");
    line_data_fini(&d);
    line_estimator_free(e);
}

static void an_evaluation_takes_so_many_batches(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    line_data d;
    line_data_init(&d, 3, 1, -1);
    hook_expect_log("no trained model");
    braid_evaluation *evaluation = braid_estimator_evaluate(
        e, &(braid_evaluate_options){.input = braid_array_input_fn(&d.input), .steps = 2}, st);
    assert_ok(st);
    assert_float_equal(value_of(evaluation, "mae"), 4.5, 1e-6); // labels 3 and 6, w = 0
    assert_true(hook_log.len > 0);
    braid_evaluation_free(evaluation);
    line_data_fini(&d);
    line_estimator_free(e);
}

static void an_earlier_checkpoint_can_be_evaluated(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 1);
    train(e, 3, 0);
    line_data d;
    line_data_init(&d, 1, 1, 1);
    char *path = bd_asprintf("%s/model.ckpt-1", hook_dir);
    braid_evaluate_options options = {.input = braid_array_input_fn(&d.input), .checkpoint_path = path};
    braid_evaluation *evaluation = braid_estimator_evaluate(e, &options, st);
    assert_ok(st);
    assert_float_equal(value_of(evaluation, "mae"), 1.5, 1e-6);
    braid_evaluation_free(evaluation);
    options.checkpoint_path = "/nowhere/model.ckpt-1";
    assert_null(braid_estimator_evaluate(e, &options, st));
    assert_error(st, BRAID_NOT_FOUND, "no checkpoint '/nowhere/model.ckpt-1' to evaluate");
    bd_free(path);
    line_data_fini(&d);
    line_estimator_free(e);
}

static float number(const braid_tensor *t, int64_t index)
{
    return ((const float *)braid_tensor_data(t))[index];
}

static void predictions_come_one_by_one(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    train(e, 1, 0);
    line_data d;
    line_data_init(&d, 5, 2, 2);
    braid_predictor *p =
        braid_estimator_predict(e, &(braid_predict_options){.input = braid_array_input_fn(&d.input)}, st);
    assert_ok(st);
    assert_int_equal(braid_predictor_count(p), 2);
    assert_string_equal(braid_predictor_name(p, 0), "y");
    const braid_tensor *values[2];
    for (int i = 0; i < 10; i++) { // two epochs
        assert_int_equal(braid_predictor_next(p, values, st), BRAID_OK);
        assert_int_equal(braid_tensor_shape(values[0]).rank, 0);
        assert_float_equal(number(values[1], 0), (float)(i % 5 + 1), 0);
        assert_float_equal(number(values[0], 0), 1.5f * (float)(i % 5 + 1), 1e-6f);
    }
    assert_int_equal(braid_predictor_next(p, values, st), BRAID_OUT_OF_RANGE);
    braid_predictor_free(p);
    line_data_fini(&d);
    line_estimator_free(e);
}

static void predictions_come_by_batch_and_key(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    line_data d;
    line_data_init(&d, 3, 2, 1);
    const char *const keys[] = {"x"}, *const wrong[] = {"w"};
    braid_predict_options options = {
        .input = braid_array_input_fn(&d.input), .keys = keys, .key_count = 1, .whole_batches = true};
    braid_predictor *p = braid_estimator_predict(e, &options, st);
    assert_ok(st);
    assert_int_equal(braid_predictor_count(p), 1);
    const braid_tensor *values[1];
    assert_int_equal(braid_predictor_next(p, values, st), BRAID_OK);
    assert_int_equal(braid_tensor_shape(values[0]).dims[0], 2);
    assert_int_equal(braid_predictor_next(p, values, st), BRAID_OK);
    assert_int_equal(braid_tensor_shape(values[0]).dims[0], 1);
    assert_float_equal(number(values[0], 0), 3, 0);
    assert_int_equal(braid_predictor_next(p, values, st), BRAID_OUT_OF_RANGE);
    braid_predictor_free(p);
    braid_status_clear(st);
    options.keys = wrong;
    assert_null(braid_estimator_predict(e, &options, st));
    assert_error(st, BRAID_NOT_FOUND, "no prediction 'w'");
    line_data_fini(&d);
    line_estimator_free(e);
}

static void a_shuffled_epoch_has_each_example_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    line_data d;
    line_data_init(&d, 40, 7, 1);
    d.input.shuffle = d.input.has_seed = true;
    braid_predictor *p =
        braid_estimator_predict(e, &(braid_predict_options){.input = braid_array_input_fn(&d.input)}, st);
    const braid_tensor *values[2];
    int seen[41] = {0}, in_place = 0, count = 0;
    for (; !braid_predictor_next(p, values, st); count++) {
        seen[(int)number(values[1], 0)]++;
        in_place += (int)number(values[1], 0) == count + 1;
    }
    assert_int_equal(count, 40);
    for (int i = 1; i <= 40; i++)
        assert_int_equal(seen[i], 1);
    assert_true(in_place < 20);
    braid_predictor_free(p);
    line_data_fini(&d);
    line_estimator_free(e);
}

static void a_warm_start_begins_with_other_values(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    train(e, 1, 0); // w = 1.5
    char *dir = bd_asprintf("%s/second", hook_dir);
    braid_run_config *config = braid_run_config_new(
        &(braid_run_config_options){.model_dir = dir, .tf_config = "{}", .log_step_count_steps = -1}, st);
    braid_estimator *second = braid_estimator_new(
        &(braid_estimator_options){.model_fn = line_model, .config = config, .warm_start_from = hook_dir},
        st);
    assert_ok(st);
    train(second, 1, 0);
    assert_float_equal(line_checkpoint_value(dir, "w"), 2.25f, 1e-6f);
    braid_estimator_free(second);
    braid_run_config_free(config);
    bd_free(dir);
    line_estimator_free(e);
}

static void expect_train_error(line_model_faults faults, braid_code code, const char *text)
{
    BD_STATUS(st);
    line_data d;
    line_data_init(&d, 1, 1, 1);
    braid_estimator *e = line_estimator(hook_dir, &faults, 0);
    braid_train_options options = {.input = braid_array_input_fn(&d.input),
                                   .hooks = BRAID_HOOKS(braid_stop_at_step(1))}; // is freed
    braid_estimator_train(e, &options, st);
    assert_error(st, code, text);
    line_data_fini(&d);
    line_estimator_free(e);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    expect_train_error((line_model_faults){.no_loss = true}, BRAID_INVALID_ARGUMENT, "has set no loss");
    expect_train_error((line_model_faults){.no_train_op = true}, BRAID_INVALID_ARGUMENT,
                       "has set no train_op");
    expect_train_error((line_model_faults){.wrong_feature = true}, BRAID_NOT_FOUND,
                       "The input has no feature 'z'; it has 'x'");
    BD_STATUS(st);
    assert_null(braid_estimator_new(&(braid_estimator_options){0}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a model function");
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    braid_estimator_train(e, &(braid_train_options){.steps = 1, .max_steps = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "not both");
    braid_estimator_train(e, &(braid_train_options){.steps = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "no function `build`");
    line_estimator_free(e);
}

static void arrays_of_different_lengths_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    line_data d, other;
    line_data_init(&d, 3, 1, 1);
    line_data_init(&other, 2, 1, 1);
    d.labels[0] = other.labels[0];
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&d.input)}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "'labels' has 2 examples, and the first array has 3");
    line_data_fini(&d);
    line_data_fini(&other);
    line_estimator_free(e);
}

static braid_hook *end_at_once(braid_mode mode)
{
    return mode == BRAID_MODE_TRAIN ? braid_stop_at_step(1) : NULL;
}

static void hooks_of_the_model_are_called(void **state)
{
    (void)state;
    line_model_faults params = {.make_hook = end_at_once};
    braid_estimator *e = line_estimator(hook_dir, &params, 0);
    train(e, 5, 0); // one step: the model's hook ends it
    assert_float_equal(line_checkpoint_value(hook_dir, "w"), 1.5f, 1e-6f);
    line_estimator_free(e);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(training_moves_the_weight_and_saves_it),
        HOOK_TEST(another_call_resumes_training),
        HOOK_TEST(training_ends_with_its_input),
        HOOK_TEST(an_evaluation_gives_and_writes_the_metrics),
        HOOK_TEST(metrics_are_added_to_those_of_the_model),
        HOOK_TEST(an_evaluation_takes_so_many_batches),
        HOOK_TEST(an_earlier_checkpoint_can_be_evaluated),
        HOOK_TEST(predictions_come_one_by_one),
        HOOK_TEST(predictions_come_by_batch_and_key),
        HOOK_TEST(a_shuffled_epoch_has_each_example_once),
        HOOK_TEST(a_warm_start_begins_with_other_values),
        HOOK_TEST(what_is_missing_is_named),
        HOOK_TEST(arrays_of_different_lengths_are_refused),
        HOOK_TEST(hooks_of_the_model_are_called),
    };
    return BD_RUN_TESTS(tests);
}
