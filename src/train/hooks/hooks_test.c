// The hooks of the library: what they log, write, feed and fetch, and when.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "train/testing/small_model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *dir;
static bd_strbuf logged; // lines of the log that have a given word
static const char *word;

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, word)) bd_strbuf_appendf(&logged, "%s\n", message);
}

static void expect_log(const char *of)
{
    word = of;
    bd_strbuf_clear(&logged);
    braid_set_log_sink(read_log, NULL);
}

static int make_dir(void **state)
{
    (void)state;
    dir = bd_temp_dir_new();
    return 0;
}

static int free_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(dir);
    braid_set_log_sink(NULL, NULL);
    bd_strbuf_fini(&logged);
    return 0;
}

static void train(braid_monitored_session *s, const small_model *m, int steps)
{
    for (int i = 0; i < steps; i++)
        assert_int_equal(small_model_step(s, m), BRAID_OK);
}

// All bytes of the event files of the directory, which hold tags as they are.
static bool is_in_events(const char *text)
{
    BD_STATUS(st);
    bd_name_list names = {0};
    bd_dir_list(dir, &names, st);
    bool found = false;
    for (size_t i = 0; i < names.len; i++) {
        if (!strstr(names.items[i], "tfevents")) continue;
        char *path = bd_path_join(dir, names.items[i]), *data = NULL;
        size_t len;
        bd_file_read_all(path, 1 << 24, &data, &len, st);
        assert_ok(st);
        found = found || memmem(data, len, text, strlen(text)) != NULL;
        bd_free(path);
        bd_free(data);
    }
    bd_name_list_fini(&names);
    return found;
}

static bool has_file(const char *name)
{
    char *path = bd_path_join(dir, name);
    const bool exists = bd_file_exists(path);
    bd_free(path);
    return exists;
}

static void a_session_with_a_directory_saves_summaries_and_checkpoints(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_summary_scalar(m.graph, "distance", m.loss);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph,
        &(braid_session_config){.checkpoint_dir = dir, .save_summaries_steps = 2, .log_step_count_steps = 2});
    train(s, &m, 5);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    assert_true(is_in_events("distance"));
    assert_true(is_in_events("global_step/sec"));
    assert_true(has_file("model.ckpt-0.index") && has_file("model.ckpt-5.index"));
    assert_true(has_file("model.ckpt-5.meta") && has_file("graph.pbtxt") && has_file("checkpoint"));
}

static void training_resumes_at_the_newest_checkpoint(void **state)
{
    (void)state;
    float loss = 0;
    for (int round = 0; round < 2; round++) {
        small_model m = small_model_make();
        braid_monitored_session *s =
            braid_monitored_session_open(m.graph, &(braid_session_config){.checkpoint_dir = dir});
        if (round) {
            assert_int_equal(braid_monitored_session_global_step(s), 3);
            assert_float_equal(small_model_loss(s, &m), loss, 0);
        }
        train(s, &m, 3);
        loss = small_model_loss(s, &m);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    assert_true(has_file("model.ckpt-6.index"));
}

static void tensors_are_logged(void **state)
{
    (void)state;
    small_model m = small_model_make();
    expect_log("loss = ");
    const char *const tag = "loss";
    braid_monitored_session *s =
        small_model_open(&m, BRAID_HOOKS(braid_logging_tensor(&(braid_logging_tensor_options){
                                 .tensors = &m.loss, .tags = &tag, .count = 1, .every_steps = 2})));
    train(s, &m, 3);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    float first = 0, third = 0;
    assert_int_equal(sscanf(bd_strbuf_str(&logged), "loss = %f\nloss = %f (", &first, &third), 2);
    assert_float_equal(first, 9, 1e-6f);
    assert_float_equal(third, 9 * 0.81f * 0.81f, 1e-5f);
}

static braid_code feed_rate(braid_hook_request *request, void *arg, braid_status *st)
{
    (void)st;
    void *const *args = arg;
    braid_hook_feed(request, *(const braid_out *)args[0], args[1]);
    return BRAID_OK;
}

static void a_function_feeds_each_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *rate = braid_tensor_float(0.1f);
    void *args[] = {&m.rate, rate};
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(braid_feed_fn(feed_rate, args)));
    assert_int_equal(braid_run(s, NULL, NULL, m.train), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f, 1e-5f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(rate);
    braid_graph_free(m.graph);
}

static void final_ops_are_fetched_at_the_end(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *x = NULL;
    braid_monitored_session *s =
        small_model_open(&m, BRAID_HOOKS(braid_final_ops(BRAID_FETCH({m.x.read, &x}))));
    train(s, &m, 1);
    assert_null(x);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    assert_float_equal(*(const float *)braid_tensor_data(x), 0.3f, 1e-6f);
    braid_tensor_free(x);
    braid_graph_free(m.graph);
}

static braid_code step_by(braid_monitored_session *s, const small_model *m, float by)
{
    braid_tensor *rate = braid_tensor_float(by);
    const braid_code code = braid_run(s, BRAID_FEED({m->rate, rate}), NULL, m->train);
    braid_tensor_free(rate);
    return code;
}

static void a_loss_that_is_no_number_ends_training(void **state)
{
    (void)state;
    for (int only_stop = 0; only_stop < 2; only_stop++) {
        small_model m = small_model_make();
        expect_log("not a number");
        braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(braid_nan_tensor(m.loss, only_stop)));
        step_by(s, &m, NAN);
        if (!braid_should_stop(s)) step_by(s, &m, NAN);
        assert_true(braid_should_stop(s));
        assert_int_equal(braid_monitored_session_close(s), only_stop ? BRAID_OK : BRAID_FAILED_PRECONDITION);
        assert_non_null(strstr(bd_strbuf_str(&logged), "is not a number (NaN) at global step"));
        braid_graph_free(m.graph);
    }
}

static void a_step_is_traced(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(
        &m, BRAID_HOOKS(braid_profiler(&(braid_profiler_options){.dir = dir, .every_steps = 2})));
    train(s, &m, 2);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    assert_true(has_file("timeline-1.json"));
    assert_true(is_in_events("step_1"));
}

// Counts the step up when the hook says that it waits.
typedef struct helper {
    braid_monitored_session *session;
    braid_op *count_up;
    int times;
} helper;

static void help(braid_log_level level, const char *message, void *arg)
{
    (void)level;
    helper *h = arg;
    if (!strstr(message, "Waiting until the global step is 1; it is 0")) return;
    h->times++;
    BD_STATUS(st);
    const braid_run_args args = {.targets = &h->count_up, .target_count = 1};
    braid_session_run(braid_monitored_session_raw(h->session), &args, st);
    assert_ok(st);
}

static void a_late_worker_waits_for_a_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *one = braid_tensor_int64(1);
    helper h = {
        .count_up =
            braid_assign_add(m.graph, braid_find_global_step(m.graph), braid_const(m.graph, NULL, one)).op};
    braid_tensor_free(one);
    h.session = small_model_open(&m, BRAID_HOOKS(braid_global_step_waiter(1)));
    braid_set_log_sink(help, &h);
    train(h.session, &m, 2);
    assert_int_equal(h.times, 1);
    assert_int_equal(braid_monitored_session_close(h.session), BRAID_OK);
    braid_graph_free(m.graph);
}

static void training_stops_after_so_many_steps_of_this_process(void **state)
{
    (void)state;
    for (int64_t last = 5; last <= 10; last += 5) {
        small_model m = small_model_make();
        braid_monitored_session *s = braid_monitored_session_open(
            m.graph,
            &(braid_session_config){.checkpoint_dir = dir, .hooks = BRAID_HOOKS(braid_stop_after_steps(5))});
        while (!braid_should_stop(s))
            assert_int_equal(small_model_step(s, &m), BRAID_OK);
        assert_int_equal(braid_monitored_session_global_step(s), last);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
}

static void tensors_are_logged_at_the_end_alone(void **state)
{
    (void)state;
    small_model m = small_model_make();
    expect_log("the loss = ");
    braid_hook *log = braid_logging_tensor(&(braid_logging_tensor_options){
        .tensors = &m.loss, .tags = (const char *[]){"the loss"}, .count = 1, .at_end = true});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(log));
    train(s, &m, 3);
    assert_string_equal(bd_strbuf_str(&logged), "");
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    float value;
    assert_int_equal(sscanf(bd_strbuf_str(&logged), "the loss = %f", &value), 1);
    assert_float_equal(value, 9 * 0.531441f, 1e-5f); // 0.9^6
    braid_set_log_sink(NULL, NULL);
    braid_graph_free(m.graph);
}

static braid_code note_before(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)session, (void)st;
    bd_strbuf_appendf(arg, "before@%lld ", (long long)step);
    return BRAID_OK;
}

// The checkpoint is there when after_save is called.
static braid_code note_after(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)session;
    char *latest = braid_latest_checkpoint(dir, st);
    bd_strbuf_appendf(arg, "after%s ", latest ? strrchr(latest, '-') : "?");
    bd_free(latest);
    return step == 2 ? bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no more") : BRAID_OK;
}

static void listeners_are_called_around_saves_and_may_fail(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    const braid_checkpoint_listener listener = {note_before, note_after, &diary};
    small_model m = small_model_make();
    braid_hook *saver = braid_checkpoint_saver(&(braid_checkpoint_saver_options){
        .dir = dir, .every_seconds = 3600, .listeners = &listener, .listener_count = 1});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(saver));
    train(s, &m, 2);
    assert_int_equal(braid_monitored_session_close(s), BRAID_RESOURCE_EXHAUSTED); // a hook fails at the end
    assert_string_equal(bd_strbuf_str(&diary), "before@0 after-0 before@2 after-2 ");
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

static void a_session_may_restore_without_saving(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        small_model m = small_model_make();
        braid_monitored_session *s = braid_monitored_session_open(
            m.graph,
            &(braid_session_config){.checkpoint_dir = dir, .save_checkpoint_seconds = round ? -1 : 0});
        assert_int_equal(braid_monitored_session_global_step(s), round ? 3 : 0);
        train(s, &m, 3);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    char *latest = braid_latest_checkpoint(dir, NULL);
    assert_string_equal(strrchr(latest, '/'), "/model.ckpt-3");
    bd_free(latest);
}

// A hook that adds a feed and a node without outputs to each step.
typedef struct adder {
    braid_hook hook;
    small_model *m;
    braid_op *target;
    braid_tensor *rate;
} adder;

static braid_code add_to_step(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                              braid_status *st)
{
    (void)s, (void)st;
    const adder *a = (const adder *)hook;
    braid_hook_feed(request, a->m->rate, a->rate);
    braid_hook_target(request, a->target);
    return BRAID_OK;
}

static void a_hook_may_feed_and_run_nodes_without_outputs(void **state)
{
    (void)state;
    small_model m = small_model_make();
    adder a = {.hook.before_run = add_to_step, .m = &m, .rate = braid_tensor_float(0.1f)};
    a.target = braid_group(m.graph, NULL, &m.train, 1);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&a.hook));
    assert_int_equal(braid_run(s, NULL, NULL, NULL), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f, 1e-5f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(a.rate);
    braid_graph_free(m.graph);
}

static void a_missing_hook_does_not_hide_those_after_it(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(NULL, braid_stop_at_step(1), NULL));
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_true(braid_should_stop(s));
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

static void a_feed_or_fetch_without_an_op_does_not_hide_those_after_it(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_tensor *rate = braid_tensor_float(0.1f), *unset = NULL, *value = NULL;
    const braid_out none = {NULL, 0};
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_int_equal(braid_run(s, BRAID_FEED({none, rate}, {m.rate, rate}),
                               BRAID_FETCH({none, &unset}, {m.rate, &value}), m.train),
                     BRAID_OK);
    assert_null(unset);
    assert_float_equal(*(const float *)braid_tensor_data(value), 0.1f, 0);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(value);
    braid_tensor_free(rate);
    braid_graph_free(m.graph);
}

static void hooks_of_the_chief_are_freed_elsewhere(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_server *server = braid_server_start_local(NULL, st);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.session.server = server,
                                         .wait_timeout_ms = 1,
                                         .chief_only_hooks = BRAID_HOOKS(braid_stop_at_step(1))});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "is_chief"); // the error says how a session gets a chief
    braid_monitored_session_close(s);
    braid_server_free(server);
    braid_graph_free(m.graph);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, free_dir)
    const struct CMUnitTest tests[] = {
        TEST(a_session_with_a_directory_saves_summaries_and_checkpoints),
        TEST(training_resumes_at_the_newest_checkpoint),
        TEST(tensors_are_logged),
        TEST(a_function_feeds_each_step),
        TEST(final_ops_are_fetched_at_the_end),
        TEST(a_loss_that_is_no_number_ends_training),
        TEST(a_step_is_traced),
        TEST(a_late_worker_waits_for_a_step),
        TEST(training_stops_after_so_many_steps_of_this_process),
        TEST(tensors_are_logged_at_the_end_alone),
        TEST(listeners_are_called_around_saves_and_may_fail),
        TEST(a_session_may_restore_without_saving),
        TEST(a_hook_may_feed_and_run_nodes_without_outputs),
        TEST(a_missing_hook_does_not_hide_those_after_it),
        TEST(a_feed_or_fetch_without_an_op_does_not_hide_those_after_it),
        TEST(hooks_of_the_chief_are_freed_elsewhere),
    };
    return BD_RUN_TESTS(tests);
}
