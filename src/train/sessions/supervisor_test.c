// Supervisors: their services, their nodes, their errors, and the loop of their programs.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "train/testing/small_model.h"
#include <string.h>
#include <unistd.h>

static braid_code stop_when_saved(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)st;
    char *latest = braid_latest_checkpoint(arg, NULL);
    if (latest) braid_coordinator_request_stop(c, NULL);
    bd_free(latest);
    return BRAID_OK;
}

static void a_supervisor_saves_beside_training_and_resumes(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *dir = bd_temp_dir_new();
    small_model m = small_model_make();
    braid_summary_scalar(m.graph, "loss", m.loss);
    braid_op *init = small_model_init(&m, braid_const_float(m.graph, NULL, 8));
    for (int round = 0; round < 2; round++) {
        const double secs = round ? -1 : 0.01;
        braid_supervisor *sv =
            braid_supervisor_new(m.graph, &(braid_supervisor_options){.logdir = dir,
                                                                      .scaffold.init_op = round ? NULL : init,
                                                                      .save_model_secs = secs,
                                                                      .save_summaries_secs = secs});
        braid_session *s = braid_supervisor_managed_session(sv, st);
        assert_ok(st);
        assert_float_equal(small_model_value(s, m.x.read), 8, 0);
        const braid_looper watch = {
            .name = "watch", .fn = stop_when_saved, .arg = dir, .every_seconds = 0.01};
        braid_supervisor_loop(sv, &watch, st);
        assert_true(braid_supervisor_wait_for_stop(sv, 60000));
        assert_int_equal(braid_supervisor_close(sv, st), BRAID_OK);
    }
    char *graph = bd_asprintf("%s/graph.pbtxt", dir);
    assert_int_equal(access(graph, R_OK), 0);
    bd_free(graph);
    braid_graph_free(m.graph);
    bd_temp_dir_free(dir);
}

static void a_supervisor_without_an_event_file_saves_checkpoints(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *dir = bd_temp_dir_new();
    small_model m = small_model_make();
    braid_summary_scalar(m.graph, "loss", m.loss);
    braid_supervisor *sv = braid_supervisor_new(
        m.graph,
        &(braid_supervisor_options){
            .logdir = dir, .no_event_file = true, .save_model_secs = 0.01, .save_summaries_secs = 0.01});
    assert_non_null(braid_supervisor_managed_session(sv, st));
    assert_ok(st);
    assert_null(braid_supervisor_summary_writer(sv));
    assert_int_equal(braid_supervisor_summary_computed(sv, "", 0, 0, st), BRAID_FAILED_PRECONDITION);
    braid_status_clear(st);
    char *saved = braid_wait_for_new_checkpoint(dir, NULL, 60000, st);
    assert_ok(st);
    bd_free(saved);
    assert_int_equal(braid_supervisor_close(sv, st), BRAID_OK);
    bd_name_list names;
    bd_dir_list(bd_fs_current, dir, &names, st);
    for (size_t i = 0; i < names.len; i++)
        assert_null(strstr(names.items[i], "tfevents"));
    char *graph = bd_asprintf("%s/graph.pbtxt", dir);
    assert_true(bd_file_exists(bd_fs_current, graph));
    bd_free(graph);
    bd_name_list_fini(&names);
    braid_graph_free(m.graph);
    bd_temp_dir_free(dir);
}

// The names that the recorded program of tests/data/golden/hogwild_supervisor feeds, fetches and runs.
static void a_supervisor_builds_the_nodes_of_tensorflows(void **state)
{
    (void)state;
    static const char *const names[] = {"init",
                                        "group_deps",
                                        "report_uninitialized_variables/boolean_mask/Gather",
                                        "save/Const",
                                        "save/control_dependency",
                                        "save/restore_all",
                                        "init_all_tables"};
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_supervisor *sv = braid_supervisor_new(
        m.graph,
        &(braid_supervisor_options){.logdir = "/tmp/unused",
                                    .scaffold.init_op = braid_global_variables_initializer(m.graph)});
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        assert_non_null(braid_graph_find(m.graph, names[i]));
    assert_int_equal(braid_supervisor_close(sv, st), BRAID_OK);
    braid_graph_free(m.graph);
}

static braid_code fail_at_once(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c, (void)arg;
    return bd_fail(st, BRAID_DATA_LOSS, "a thread of the program has failed");
}

static void the_error_of_a_thread_comes_out_of_closing_a_supervisor(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_supervisor *sv = braid_supervisor_new(m.graph, NULL);
    assert_non_null(braid_supervisor_managed_session(sv, st));
    braid_supervisor_start_standard_services(sv, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "there is no logdir");
    braid_status_clear(st);
    braid_supervisor_loop(sv, &(braid_looper){.fn = fail_at_once}, st);
    assert_true(braid_supervisor_wait_for_stop(sv, 60000));
    assert_true(braid_supervisor_should_stop(sv));
    assert_int_equal(braid_supervisor_close(sv, st), BRAID_DATA_LOSS);
    braid_graph_free(m.graph);
}

// ---- Several sessions, and the loop ----

static void a_stopped_supervisor_opens_another_session(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *dir = bd_temp_dir_new();
    small_model m = small_model_make();
    braid_supervisor *sv = braid_supervisor_new(
        m.graph, &(braid_supervisor_options){
                     .logdir = dir, .save_model_secs = 3600, .save_summaries_secs = -1}); // saved at once
    const braid_looper watch = {.name = "watch", .fn = stop_when_saved, .arg = dir, .every_seconds = 0.01};
    for (int round = 0; round < 2; round++) {
        assert_null(braid_supervisor_summary_writer(sv));
        assert_non_null(braid_supervisor_managed_session(sv, st));
        assert_ok(st);
        assert_false(braid_supervisor_should_stop(sv));
        assert_non_null(braid_supervisor_summary_writer(sv));
        assert_null(braid_supervisor_managed_session(sv, st));
        assert_error(st, BRAID_FAILED_PRECONDITION, "has a session already");
        braid_status_clear(st);
        braid_supervisor_loop(sv, &watch, st);
        assert_true(braid_supervisor_wait_for_stop(sv, 60000));
        assert_int_equal(braid_supervisor_stop(sv, st), BRAID_OK);
    }
    assert_int_equal(braid_supervisor_close(sv, st), BRAID_OK);
    braid_graph_free(m.graph);
    bd_temp_dir_free(dir);
}

typedef struct loop {
    const small_model *m;
    braid_supervisor *sv;
    int steps;
    braid_code last; // of the third step
} loop;

static braid_code train_step(braid_session *s, void *arg, braid_status *st)
{
    loop *l = arg;
    braid_tensor *rate = braid_tensor_float(0.1f);
    const braid_feed feed = {l->m->rate, rate};
    braid_session_run(
        s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .targets = &l->m->train, .target_count = 1},
        st);
    braid_tensor_free(rate);
    if (++l->steps < 3) return st->code;
    if (l->last) return bd_fail(st, l->last, "the third step is the last");
    braid_supervisor_request_stop(l->sv, NULL);
    return st->code;
}

static void the_loop_ends_with_a_request_the_input_or_an_error(void **state)
{
    (void)state;
    static const braid_code table[][2] = {
        {BRAID_OK, BRAID_OK}, {BRAID_OUT_OF_RANGE, BRAID_OK}, {BRAID_DATA_LOSS, BRAID_DATA_LOSS}};
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        BD_STATUS(st);
        small_model m = small_model_make();
        loop l = {.m = &m, .sv = braid_supervisor_new(m.graph, NULL), .last = table[i][0]};
        assert_int_equal(braid_basic_train_loop(l.sv, train_step, &l, st), table[i][1]);
        assert_int_equal(l.steps, 3);
        braid_status_clear(st);
        braid_supervisor_close(l.sv, st);
        braid_graph_free(m.graph);
    }
}

static void the_loop_fails_without_a_session(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_graph_fail(m.graph, BRAID_UNIMPLEMENTED, "not to be built");
    loop l = {.m = &m, .sv = braid_supervisor_new(m.graph, NULL)};
    assert_int_equal(braid_basic_train_loop(l.sv, train_step, &l, st), BRAID_UNIMPLEMENTED);
    assert_int_equal(l.steps, 0);
    braid_supervisor_close(l.sv, NULL);
    braid_graph_free(m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_supervisor_saves_beside_training_and_resumes),
        cmocka_unit_test(a_supervisor_without_an_event_file_saves_checkpoints),
        cmocka_unit_test(a_supervisor_builds_the_nodes_of_tensorflows),
        cmocka_unit_test(the_error_of_a_thread_comes_out_of_closing_a_supervisor),
        cmocka_unit_test(a_stopped_supervisor_opens_another_session),
        cmocka_unit_test(the_loop_ends_with_a_request_the_input_or_an_error),
        cmocka_unit_test(the_loop_fails_without_a_session),
    };
    return BD_RUN_TESTS(tests);
}
