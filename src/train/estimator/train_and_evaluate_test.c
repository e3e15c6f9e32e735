// Training with evaluations, alone and as an evaluator, and exports.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "io/file.h"
#include "train/estimator/evaluations.h"
#include "train/testing/hook_fixture.h"
#include "train/testing/line_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What an exporter of the test was called with: "STEP[!] ...", with ! for the final call.
static bd_strbuf calls;

static braid_code note(const braid_exporter *exporter, braid_estimator *e, const char *export_path,
                       const char *checkpoint_path, const braid_evaluation *evaluation, bool is_final,
                       braid_status *st)
{
    (void)exporter, (void)e, (void)st;
    double step = -1;
    assert_non_null(strstr(export_path, "/export/noted"));
    assert_non_null(checkpoint_path);
    assert_true(braid_evaluation_get(evaluation, "global_step", &step));
    bd_strbuf_appendf(&calls, "%g%s ", step, is_final ? "!" : "");
    return BRAID_OK;
}

static const braid_exporter noted = {.name = "noted", .export_model = note};

typedef struct specs {
    line_data data, test;
    braid_train_spec train;
    braid_eval_spec eval;
} specs;

static void specs_init(specs *s, int64_t max_steps)
{
    bd_strbuf_clear(&calls);
    line_data_init(&s->data, 1, 1, -1);
    line_data_init(&s->test, 3, 3, 1);
    s->train = (braid_train_spec){.input = braid_array_input_fn(&s->data.input), .max_steps = max_steps};
    s->eval = (braid_eval_spec){.input = braid_array_input_fn(&s->test.input),
                                .exporters = &noted,
                                .exporter_count = 1,
                                .throttle_seconds = -1};
}

static void specs_fini(specs *s)
{
    line_data_fini(&s->data);
    line_data_fini(&s->test);
    bd_strbuf_fini(&calls);
}

static void checkpoints_are_evaluated_while_training(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 5);
    braid_estimator *e = line_estimator(hook_dir, NULL, 2);
    braid_train_and_evaluate(e, &s.train, &s.eval, st);
    assert_ok(st);
    // saves in the background are evaluated when they are complete, at the latest with the next one
    assert_non_null(strstr(bd_strbuf_str(&calls), "5! "));
    assert_int_equal(bd_strbuf_str(&calls)[0], '2');
    assert_null(strstr(bd_strbuf_str(&calls), "0 "));
    assert_true(hook_has_file("training_ended"));
    assert_true(hook_has_file("eval"));
    specs_fini(&s);
    line_estimator_free(e);
}

static void evaluations_are_throttled(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 6);
    s.eval.throttle_seconds = 1000;
    braid_estimator *e = line_estimator(hook_dir, NULL, 2);
    braid_train_and_evaluate(e, &s.train, &s.eval, st);
    assert_ok(st);
    assert_string_equal(bd_strbuf_str(&calls), "2 6! "); // the first, and the last
    specs_fini(&s);
    line_estimator_free(e);
}

static braid_estimator *evaluator_of(void)
{
    BD_STATUS(st);
    const char *tf_config = "{\"task\": {\"type\": \"evaluator\", \"index\": 0}}";
    braid_run_config *config =
        braid_run_config_new(&(braid_run_config_options){.model_dir = hook_dir, .tf_config = tf_config}, st);
    assert_ok(st);
    return braid_estimator_new(&(braid_estimator_options){.model_fn = line_model, .config = config}, st);
}

static void an_evaluator_ends_at_the_last_step(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 4);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0), *evaluator = evaluator_of();
    braid_estimator_train(e, &(braid_train_options){.input = s.train.input, .max_steps = 4}, st);
    assert_ok(st);
    braid_train_and_evaluate(evaluator, &s.train, &s.eval, st);
    assert_ok(st);
    assert_string_equal(bd_strbuf_str(&calls), "4! ");
    specs_fini(&s);
    line_estimator_free(evaluator);
    line_estimator_free(e);
}

static void an_evaluator_says_that_no_checkpoint_comes(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 4);
    s.eval.checkpoint_timeout_seconds = 0.05;
    braid_estimator *evaluator = evaluator_of();
    braid_train_and_evaluate(evaluator, &s.train, &s.eval, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "Does the chief train there?");
    braid_estimator_train(evaluator, &(braid_train_options){.input = s.train.input}, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "does the work of an evaluator");
    specs_fini(&s);
    line_estimator_free(evaluator);
}

typedef struct evaluating_thread {
    specs *s;
    braid_status *st;
} evaluating_thread;

static void evaluate_all(void *arg)
{
    evaluating_thread *t = arg;
    braid_estimator *evaluator = evaluator_of();
    braid_train_and_evaluate(evaluator, &t->s->train, &t->s->eval, t->st);
    line_estimator_free(evaluator);
}

// The input ends training, and no max_steps tells the evaluator when.
static void an_evaluator_ends_with_its_chief(void **state)
{
    (void)state;
    BD_STATUS(st);
    BD_STATUS(thread_st);
    specs s;
    specs_init(&s, 0);
    specs own;
    specs_init(&own, 0);
    own.data.input.num_epochs = 3;
    own.eval.exporter_count = 0;
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    evaluating_thread t = {.s = &s, .st = thread_st};
    bd_thread thread;
    assert_int_equal(bd_thread_start(&thread, "evaluator", evaluate_all, &t, st), BRAID_OK);
    braid_train_and_evaluate(e, &own.train, &own.eval, st);
    assert_ok(st);
    bd_thread_join(&thread);
    assert_ok(thread_st);
    assert_non_null(strstr(bd_strbuf_str(&calls), "3"));
    line_estimator_free(e);
    line_data_fini(&own.data);
    line_data_fini(&own.test);
    specs_fini(&s);
}

// A file system on which the chief makes two steps and ends, when the evaluator has looked for a checkpoint
// for the first time.
static const bd_fs *below; // of `ending`
static bd_fs ending;
static braid_estimator *chief;

static braid_code watch_the_end(const bd_fs *fs, const char *path, bd_dir_watch **watch, braid_status *st)
{
    (void)fs;
    const braid_code code = below->watch(below, path, watch, st);
    if (!code) (*watch)->fs = &ending;
    return code;
}

static void chief_ends(bd_dir_watch *watch)
{
    BD_STATUS(st);
    below->watch_close(watch);
    bd_fs_set(below);
    line_data data;
    line_data_init(&data, 1, 1, -1);
    braid_estimator_train(
        chief, &(braid_train_options){.input = braid_array_input_fn(&data.input), .max_steps = 4}, st);
    assert_ok(st);
    train_mark_end(chief, st);
    assert_ok(st);
    line_data_fini(&data);
}

static void an_evaluator_evaluates_the_last_checkpoint_of_a_chief_that_ends_meanwhile(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 10);
    chief = line_estimator(hook_dir, NULL, 0);
    braid_estimator *evaluator = evaluator_of();
    braid_estimator_train(chief, &(braid_train_options){.input = s.train.input, .max_steps = 2}, st);
    assert_ok(st);
    below = bd_fs_current;
    ending = *below;
    ending.watch = watch_the_end;
    ending.watch_close = chief_ends;
    bd_fs_set(&ending);
    braid_train_and_evaluate(evaluator, &s.train, &s.eval, st);
    assert_ok(st);
    assert_string_equal(bd_strbuf_str(&calls), "2 4! ");
    specs_fini(&s);
    line_estimator_free(evaluator);
    line_estimator_free(chief);
}

// ---- Exports ----

static const braid_raw_feature raw[] = {{"x", BRAID_FLOAT, {.rank = 1, .dims = {-1}}}};
static const braid_raw_features raw_features = {raw, 1};

static int count_exports(const char *name)
{
    char *command = bd_asprintf("ls %s/export/%s | grep -cE '^[0-9]+$'", hook_dir, name);
    FILE *pipe = popen(command, "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    bd_free(command);
    return count;
}

static void exporters_export_what_they_are_for(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 0);
    braid_exporter exporters[] = {braid_final_exporter("final", braid_raw_serving_input(&raw_features)),
                                  braid_latest_exporter("latest", braid_raw_serving_input(&raw_features)),
                                  braid_best_exporter("best", braid_raw_serving_input(&raw_features))};
    exporters[1].exports_to_keep = 1;
    s.eval.exporters = exporters;
    s.eval.exporter_count = 3;
    for (int run = 1; run <= 2; run++) {
        s.train.max_steps = run;
        braid_estimator *e = line_estimator(hook_dir, NULL, 0);
        braid_train_and_evaluate(e, &s.train, &s.eval, st);
        assert_ok(st);
        line_estimator_free(e);
        assert_int_equal(count_exports("final"), run);
        assert_int_equal(count_exports("latest"), 1);
        assert_int_equal(count_exports("best"), run); // each run has a smaller loss
    }
    specs_fini(&s);
}

static bool contains(const char *dir, const char *file, const char *text)
{
    char *command = bd_asprintf("grep -qa '%s' %s/%s", text, dir, file);
    const bool found = system(command) == 0;
    bd_free(command);
    return found;
}

static void a_saved_model_has_graph_signature_and_variables(void **state)
{
    (void)state;
    BD_STATUS(st);
    specs s;
    specs_init(&s, 2);
    braid_estimator *e = line_estimator(hook_dir, NULL, 0);
    char *base = bd_asprintf("%s/models", hook_dir);
    assert_null(
        braid_estimator_export_saved_model(e, base, braid_raw_serving_input(&raw_features), NULL, st));
    assert_error(st, BRAID_NOT_FOUND, "there is no trained model");
    braid_estimator_train(e, &(braid_train_options){.input = s.train.input, .steps = 2}, st);
    char *dir = braid_estimator_export_saved_model(e, base, braid_raw_serving_input(&raw_features), NULL, st);
    assert_ok(st);
    assert_true(contains(dir, "saved_model.pb", "serving_default"));
    assert_true(contains(dir, "saved_model.pb", "tensorflow/serving/predict"));
    char *prefix = bd_asprintf("%s/variables/variables", dir);
    assert_float_equal(line_checkpoint_value(prefix, "w"), 2.25f, 1e-6f);
    bd_free(prefix);
    bd_free(dir);
    static const braid_raw_features none = {raw, 0};
    assert_null(braid_estimator_export_saved_model(e, base, braid_raw_serving_input(&none), NULL, st));
    assert_error(st, BRAID_NOT_FOUND, "The input has no feature 'x'");
    bd_free(base);
    specs_fini(&s);
    line_estimator_free(e);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(checkpoints_are_evaluated_while_training),
        HOOK_TEST(evaluations_are_throttled),
        HOOK_TEST(an_evaluator_ends_at_the_last_step),
        HOOK_TEST(an_evaluator_says_that_no_checkpoint_comes),
        HOOK_TEST(an_evaluator_ends_with_its_chief),
        HOOK_TEST(an_evaluator_evaluates_the_last_checkpoint_of_a_chief_that_ends_meanwhile),
        HOOK_TEST(exporters_export_what_they_are_for),
        HOOK_TEST(a_saved_model_has_graph_signature_and_variables),
    };
    return BD_RUN_TESTS(tests);
}
