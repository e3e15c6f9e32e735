// Saving checkpoints while training, restoring them, and listeners of saves.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/hook_fixture.h"
#include <string.h>

static void training_resumes_at_the_newest_checkpoint(void **state)
{
    (void)state;
    float loss = 0;
    for (int round = 0; round < 2; round++) {
        small_model m = small_model_make();
        braid_monitored_session *s =
            braid_monitored_session_open(m.graph, &(braid_session_config){.checkpoint_dir = hook_dir});
        if (round) {
            assert_int_equal(braid_monitored_session_global_step(s), 3);
            assert_float_equal(small_model_loss(s, &m), loss, 0);
        }
        hook_train(s, &m, 3);
        loss = small_model_loss(s, &m);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    assert_true(hook_has_file("model.ckpt-6.index"));
}

static void note_begin(void *arg, braid_graph *g)
{
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    bd_strbuf_append(arg, "begin ");
}

static braid_code note_end(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)session, (void)st;
    bd_strbuf_appendf(arg, "end@%lld ", (long long)step);
    return BRAID_OK;
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
    char *latest = braid_latest_checkpoint(hook_dir, st);
    bd_strbuf_appendf(arg, "after%s ", latest ? strrchr(latest, '-') : "?");
    bd_free(latest);
    return step == 2 ? bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no more") : BRAID_OK;
}

static void listeners_are_called_around_saves_and_may_fail(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    const braid_checkpoint_listener listener = {.begin = note_begin,
                                                .before_save = note_before,
                                                .after_save = note_after,
                                                .end = note_end,
                                                .arg = &diary};
    small_model m = small_model_make();
    braid_hook *saver = braid_checkpoint_saver(&(braid_checkpoint_saver_options){
        .dir = hook_dir, .every_seconds = 3600, .listeners = &listener, .listener_count = 1});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(saver));
    hook_train(s, &m, 2);
    assert_int_equal(braid_monitored_session_close(s), BRAID_RESOURCE_EXHAUSTED); // a hook fails at the end
    assert_string_equal(bd_strbuf_str(&diary), "begin before@0 after-0 before@2 after-2 ");
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

static braid_code stop_after_first(void *arg, braid_session *session, int64_t step, braid_status *st)
{
    (void)arg, (void)session;
    return step > 0 ? bd_fail(st, BRAID_OUT_OF_RANGE, "this checkpoint is good enough") : BRAID_OK;
}

static void a_listener_may_stop_training(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    const braid_checkpoint_listener listeners[] = {
        {.after_save = stop_after_first},
        {.after_save = note_after, .end = note_end, .arg = &diary}}; // called nevertheless
    small_model m = small_model_make();
    braid_hook *saver = braid_checkpoint_saver(&(braid_checkpoint_saver_options){
        .dir = hook_dir, .every_steps = 3, .listeners = listeners, .listener_count = 2});
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(saver));
    int steps = 0;
    for (; !braid_should_stop(s); steps++)
        assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_true(steps >= 3); // saves are made beside training
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    assert_int_equal(strncmp(bd_strbuf_str(&diary), "after-0 after-3 ", 16), 0);
    char *end = bd_asprintf("end@%d ", steps);
    assert_non_null(strstr(bd_strbuf_str(&diary), end));
    bd_free(end);
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
            &(braid_session_config){.checkpoint_dir = hook_dir, .save_checkpoint_seconds = round ? -1 : 0});
        assert_int_equal(braid_monitored_session_global_step(s), round ? 3 : 0);
        hook_train(s, &m, 3);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    char *latest = braid_latest_checkpoint(hook_dir, NULL);
    assert_string_equal(strrchr(latest, '/'), "/model.ckpt-3");
    bd_free(latest);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, hook_set_up, hook_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(training_resumes_at_the_newest_checkpoint),
        TEST(listeners_are_called_around_saves_and_may_fail),
        TEST(a_listener_may_stop_training),
        TEST(a_session_may_restore_without_saving),
    };
    return BD_RUN_TESTS(tests);
}
