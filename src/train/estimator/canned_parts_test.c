// Canned estimators whose tables are in parts: on parameter servers, and restored in other parts.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "train/testing/hook_fixture.h"
#include <braid/canned_estimators.h>
#include <braid/estimator_inputs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    IDS = 7,
    EXAMPLES = 4
};

typedef struct data {
    braid_tensor *id, *label;
    braid_array features[1], labels;
    braid_array_input train, evaluate;
    braid_feature_column id_column, deep[1];
} data;

static void data_init(data *d)
{
    *d = (data){
        .id = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(EXAMPLES), (const int64_t[]){0, 3, 6, 4}, NULL),
        .label = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(EXAMPLES), (const int64_t[]){0, 1, 1, 0}, NULL)};
    d->features[0] = (braid_array){"id", d->id};
    d->labels = (braid_array){NULL, d->label};
    d->train = (braid_array_input){.features = d->features,
                                   .feature_count = 1,
                                   .labels = &d->labels,
                                   .label_count = 1,
                                   .batch_size = EXAMPLES,
                                   .num_epochs = -1};
    d->evaluate = d->train;
    d->evaluate.num_epochs = 1;
    d->id_column = braid_identity_column("id", IDS);
    d->deep[0] = braid_embedding_column(&d->id_column, 2);
}

static void data_fini(data *d)
{
    braid_tensor_free(d->id);
    braid_tensor_free(d->label);
}

typedef braid_estimator *(*maker)(const braid_canned_options *options, braid_status *status);

typedef struct model {
    braid_run_config *config;
    braid_estimator *estimator;
} model;

// In the directory NAME.
static model model_make(maker make, const data *d, const char *name, braid_partitioner partitioner,
                        const char *tf_config)
{
    static const int hidden[] = {3};
    BD_STATUS(st);
    model m;
    char *dir = bd_asprintf("%s/%s", hook_dir, name);
    m.config = braid_run_config_new(&(braid_run_config_options){.model_dir = dir,
                                                                .tf_config = tf_config ? tf_config : "{}",
                                                                .log_step_count_steps = -1,
                                                                .random_seed = 1,
                                                                .has_random_seed = true},
                                    st);
    bd_free(dir);
    assert_ok(st);
    m.estimator = make(&(braid_canned_options){.config = m.config,
                                               .linear_columns = &d->id_column,
                                               .linear_column_count = 1,
                                               .dnn_columns = d->deep,
                                               .dnn_column_count = 1,
                                               .hidden_units = hidden,
                                               .hidden_layer_count = 1,
                                               .activation = braid_tanh,
                                               .partitioner = partitioner},
                       st);
    assert_ok(st);
    return m;
}

static void model_free(model *m)
{
    braid_estimator_free(m->estimator);
    braid_run_config_free(m->config);
}

static double train_and_judge(maker make, const data *d, const char *name, int parts, int steps)
{
    BD_STATUS(st);
    model m = model_make(make, d, name, braid_fixed_size_partitioner(parts, 0), NULL);
    if (steps)
        braid_estimator_train(
            m.estimator, &(braid_train_options){.input = braid_array_input_fn(&d->train), .steps = steps},
            st);
    assert_ok(st);
    braid_evaluation *evaluation = braid_estimator_evaluate(
        m.estimator, &(braid_evaluate_options){.input = braid_array_input_fn(&d->evaluate)}, st);
    assert_ok(st);
    double loss = -1;
    assert_true(braid_evaluation_get(evaluation, "loss", &loss));
    braid_evaluation_free(evaluation);
    model_free(&m);
    return loss;
}

// Weights begin at zero, whatever parts they have.
static void a_linear_model_in_parts_learns_what_it_learns_whole(void **state)
{
    (void)state;
    data d;
    data_init(&d);
    const double whole = train_and_judge(braid_linear_classifier, &d, "whole", 1, 5);
    assert_float_equal(train_and_judge(braid_linear_classifier, &d, "parts", 3, 5), whole, 1e-6);
    data_fini(&d);
}

// The slots, which the next steps need, are put together, too. The step after is that of a run that has kept
// its parts.
static void training_goes_on_in_other_parts(void **state)
{
    (void)state;
    static const maker makers[] = {braid_linear_classifier, braid_dnn_classifier,
                                   braid_dnn_linear_combined_classifier};
    data d;
    data_init(&d);
    for (size_t i = 0; i < BD_COUNTOF(makers); i++) {
        char *names[] = {bd_asprintf("same-%zu", i), bd_asprintf("other-%zu", i)};
        double losses[2][3];
        for (int other = 0; other < 2; other++) {
            losses[other][0] = train_and_judge(makers[i], &d, names[other], 2, 3);
            losses[other][1] = train_and_judge(makers[i], &d, names[other], other ? 3 : 2, 0);
            losses[other][2] = train_and_judge(makers[i], &d, names[other], other ? 3 : 2, 3);
            bd_free(names[other]);
        }
        assert_float_equal(losses[0][0], losses[0][1], 1e-6);
        for (int k = 0; k < 3; k++)
            assert_float_equal(losses[1][k], losses[0][k], 1e-6);
        assert_true(losses[0][2] < losses[0][0]);
    }
    data_fini(&d);
}

static void tables_are_divided_along_their_rows(void **state)
{
    (void)state;
    BD_STATUS(st);
    data d;
    data_init(&d);
    model m = model_make(braid_dnn_classifier, &d, "columns", braid_fixed_size_partitioner(2, 1), NULL);
    braid_estimator_train(m.estimator,
                          &(braid_train_options){.input = braid_array_input_fn(&d.train), .steps = 1}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "its partitioner needs the axis 0");
    model_free(&m);
    data_fini(&d);
}

// ---- On parameter servers ----

typedef struct task {
    const data *d;
    char *tf_config;
    int parts, steps;
    braid_status *st;
} task;

static void work(void *arg)
{
    task *t = arg;
    model m = model_make(braid_dnn_classifier, t->d, "cluster", braid_fixed_size_partitioner(t->parts, 0),
                         t->tf_config);
    const braid_train_spec train = {.input = braid_array_input_fn(&t->d->train), .max_steps = t->steps};
    const braid_eval_spec eval = {.input = braid_array_input_fn(&t->d->evaluate)};
    braid_train_and_evaluate(m.estimator, &train, &eval, t->st);
    model_free(&m);
}

// A chief and so many parameter servers in threads of this process.
static void train_on_servers(const data *d, int servers, int steps)
{
    BD_STATUS(st);
    bd_strbuf addresses = {0};
    for (int i = 0; i < servers; i++)
        bd_strbuf_appendf(&addresses, "%s\"unix:%s/ps%d-of-%d\"", i ? ", " : "", hook_dir, i, servers);
    bd_thread threads[4];
    task tasks[4];
    for (int i = 0; i <= servers; i++) {
        tasks[i] = (task){.d = d, .parts = servers, .steps = steps, .st = braid_status_new()};
        tasks[i].tf_config = bd_asprintf(
            "{\"cluster\": {\"chief\": [\"unix:%s/chief-of-%d\"], \"ps\": [%s]}, "
            "\"task\": {\"type\": \"%s\", \"index\": %d}}",
            hook_dir, servers, bd_strbuf_str(&addresses), i < servers ? "ps" : "chief", i < servers ? i : 0);
        assert_int_equal(bd_thread_start(&threads[i], "task", work, &tasks[i], st), BRAID_OK);
    }
    for (int i = 0; i <= servers; i++) {
        bd_thread_join(&threads[i]);
        assert_ok(tasks[i].st);
        braid_status_free(tasks[i].st);
        bd_free(tasks[i].tf_config);
    }
    bd_strbuf_fini(&addresses);
}

// Whether the graph that the chief has written has the part on the parameter server.
static bool is_on(const char *part, int server)
{
    char *command = bd_asprintf("grep -A 12 'name: \"dnn/input_from_feature_columns/input_layer/id_embedding/"
                                "embedding_weights/%s\"' %s/cluster/graph.pbtxt | "
                                "grep -q 'device: \"/job:ps/task:%d'",
                                part, hook_dir, server);
    const bool found = system(command) == 0;
    bd_free(command);
    return found;
}

static void each_part_is_on_a_parameter_server_of_its_own(void **state)
{
    (void)state;
    data d;
    data_init(&d);
    train_on_servers(&d, 2, 3);
    assert_int_not_equal(is_on("part_0", 0), is_on("part_1", 0));
    assert_int_not_equal(is_on("part_0", 1), is_on("part_1", 1));
    const double loss = train_and_judge(braid_dnn_classifier, &d, "cluster", 1, 0);
    train_on_servers(&d, 3, 30); // goes on with three servers
    assert_true(train_and_judge(braid_dnn_classifier, &d, "cluster", 1, 0) < loss);
    data_fini(&d);
}

int main(void)
{
#define HOOK_TEST(test) cmocka_unit_test_setup_teardown(test, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        HOOK_TEST(a_linear_model_in_parts_learns_what_it_learns_whole),
        HOOK_TEST(training_goes_on_in_other_parts),
        HOOK_TEST(tables_are_divided_along_their_rows),
        HOOK_TEST(each_part_is_on_a_parameter_server_of_its_own),
    };
    return BD_RUN_TESTS(tests);
}
