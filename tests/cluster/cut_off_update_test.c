// Deterministic synchronous training: a chief that starts anew restores the newest checkpoint when an update
// was cut off, and only then.
// labels: concurrent
#include "support/training.h"
#include "train/sessions/sync_replicas.h"

enum {
    STEPS = 3
};

typedef struct model {
    braid_graph *g;
    braid_variable x;
    braid_sync_replicas *sync;
    braid_op *train;
} model;

static int set_up(void **state)
{
    test_training *f = test_training_new(TEST_IN_PROCESS, 1, 1);
    test_start_all(f->cluster, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    test_training_free(*state);
    return 0;
}

static model model_make(const test_training *f)
{
    model m = {.g = braid_graph_new()};
    const braid_device_setter_options on = {.worker_device = "/job:worker/task:0"};
    braid_push_device_setter(m.g, braid_replica_device_setter(m.g, f->cluster->spec, &on));
    const braid_out step = braid_global_step(m.g);
    m.x = braid_variable_new(m.g, "x", braid_const_float(m.g, NULL, 0), true);
    const braid_out loss = braid_square(m.g, braid_sub(m.g, m.x.read, braid_const_float(m.g, NULL, 3)));
    m.sync = braid_sync_replicas_new(
        braid_gradient_descent(m.g, 0.01f),
        &(braid_sync_replicas_options){.replicas_to_aggregate = 1, .deterministic = true});
    m.train = braid_sync_replicas_minimize(m.sync, loss, step);
    return m;
}

// Opens the session of the chief, trains to the step, and returns x.
static float train_to(const test_training *f, int64_t step)
{
    const model m = model_make(f);
    braid_session_config config = test_worker_config(test_server(f->cluster, "worker", 0), 0, f->dir);
    config.hooks = BRAID_HOOKS(braid_sync_replicas_hook(m.sync, true, -1), braid_stop_at_step(step));
    braid_monitored_session *s = braid_monitored_session_open(m.g, &config);
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, m.train);
    braid_tensor *x = NULL;
    braid_evaluate(s, NULL, BRAID_FETCH({m.x.read, &x}));
    const float value = x ? *(const float *)braid_tensor_data(x) : 0;
    braid_tensor_free(x);
    test_worker_close(s, m.g, BRAID_OK);
    return value;
}

// An update changes x, but not the global step.
static void change_x(const test_training *f, bool is_cut_off)
{
    BD_STATUS(st);
    const model m = model_make(f);
    braid_op *nine = braid_assign(m.g, m.x.ref, braid_const_float(m.g, NULL, 9)).op;
    braid_session *s =
        braid_session_open(m.g, &(braid_session_options){.server = test_server(f->cluster, "worker", 0)}, st);
    assert_int_equal(st->code, BRAID_OK);
    braid_op *targets[] = {m.sync->mark, nine};
    const int first = is_cut_off ? 0 : 1;
    braid_session_run(s, &(braid_run_args){.targets = targets + first, .target_count = 2 - first}, st);
    assert_int_equal(st->code, BRAID_OK);
    braid_session_close(s, st);
    braid_graph_free(m.g);
}

static void an_update_that_was_cut_off_is_undone(void **state)
{
    const float x = train_to(*state, STEPS);
    assert_true(x > 0 && x < 3);
    change_x(*state, true);
    assert_float_equal(train_to(*state, STEPS), x, 0);
}

static void variables_that_are_whole_are_kept(void **state)
{
    train_to(*state, STEPS);
    change_x(*state, false);
    assert_float_equal(train_to(*state, STEPS), 9, 0);
}

static void training_after_the_restoration_marks_nothing(void **state)
{
    train_to(*state, STEPS);
    change_x(*state, true);
    train_to(*state, 2 * STEPS);
    change_x(*state, false);
    assert_float_equal(train_to(*state, 2 * STEPS), 9, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_update_that_was_cut_off_is_undone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_that_are_whole_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(training_after_the_restoration_marks_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("updates that were cut off", tests, NULL, NULL);
}
