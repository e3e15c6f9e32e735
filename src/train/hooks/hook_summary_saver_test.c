// Summaries and steps per second, and where they are written.
#include "base/testing/test.h"

#include "train/testing/hook_fixture.h"
#include <string.h>

static void a_session_with_a_directory_saves_summaries_and_checkpoints(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_summary_scalar(m.graph, "distance", m.loss);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){
                     .checkpoint_dir = hook_dir, .save_summaries_steps = 2, .log_step_count_steps = 2});
    hook_train(s, &m, 5);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    assert_true(hook_is_in_events("distance"));
    assert_true(hook_is_in_events("global_step/sec"));
    assert_true(hook_has_file("model.ckpt-0.index") && hook_has_file("model.ckpt-5.index"));
    assert_true(hook_has_file("model.ckpt-5.meta") && hook_has_file("graph.pbtxt") &&
                hook_has_file("checkpoint"));
}

static void summaries_have_a_directory_of_their_own(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_summary_scalar(m.graph, "distance", m.loss);
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){
                     .summary_dir = hook_dir, .save_summaries_steps = 2, .log_step_count_steps = 2});
    hook_train(s, &m, 5);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    assert_true(hook_is_in_events("distance"));
    assert_true(hook_is_in_events("global_step/sec"));
    assert_false(hook_has_file("checkpoint") || hook_has_file("graph.pbtxt"));
}

static void steps_that_do_not_count_are_noticed(void **state)
{
    (void)state;
    small_model m = small_model_make();
    hook_expect_log("have left the global step at 1");
    braid_monitored_session *s = small_model_open(
        &m, BRAID_HOOKS(braid_step_counter(&(braid_step_counter_options){.every_steps = 50})));
    hook_train(s, &m, 1);
    for (int i = 0; i < 250; i++)
        assert_int_equal(braid_run(s, NULL, NULL, m.loss.op), BRAID_OK);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    const char *line = strchr(bd_strbuf_str(&hook_log), '\n');
    assert_non_null(line);
    assert_string_equal(line, "\n"); // said once
    braid_graph_free(m.graph);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_session_with_a_directory_saves_summaries_and_checkpoints),
        TEST(summaries_have_a_directory_of_their_own),
        TEST(steps_that_do_not_count_are_noticed),
    };
    return BD_RUN_TESTS(tests);
}
