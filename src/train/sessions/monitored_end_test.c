// The end of monitored sessions when the session is lost meanwhile: what hooks see, the library's among them.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/testing/temp_dir.h"
#include "train/testing/small_model.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- A hook that writes down what happens, and may lose the session ----

typedef struct recorder {
    braid_hook hook;
    char name;
    bd_strbuf *diary;
    int losses;        // how often its end loses the session
    braid_code code;   // by this error
    braid_op *counted; // run before it loses the session; NULL: none
} recorder;

static void note(const recorder *r, const char *what)
{
    bd_strbuf_appendf(r->diary, "%c:%s ", r->name, what);
}

static braid_code on_created(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s, (void)st;
    note((recorder *)hook, "created");
    return BRAID_OK;
}

static void on_closing(braid_hook *hook, braid_monitored_session *s)
{
    (void)s;
    note((recorder *)hook, "closing");
}

static braid_code on_end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    recorder *r = (recorder *)hook;
    note(r, "end");
    if (r->losses-- <= 0) return BRAID_OK;
    const braid_run_args args = {.targets = &r->counted, .target_count = 1};
    if (r->counted && braid_session_run(braid_monitored_session_raw(s), &args, st)) return st->code;
    return bd_fail(st, r->code, "lost at the end");
}

static void on_failed(braid_hook *hook, braid_monitored_session *s, const braid_status *error)
{
    (void)s, (void)error;
    note((recorder *)hook, "failed");
}

static recorder recorder_of(char name, bd_strbuf *diary, int losses)
{
    return (recorder){.hook = {.after_create_session = on_created,
                               .before_close_session = on_closing,
                               .end = on_end,
                               .failed = on_failed},
                      .name = name,
                      .diary = diary,
                      .losses = losses,
                      .code = BRAID_UNAVAILABLE};
}

// ---- A server that holds the variables over the loss of a session ----

static braid_server *server;
static char *dir;

static int set_up(void **state)
{
    (void)state;
    BD_STATUS(st);
    server = braid_server_start_local(NULL, st);
    assert_ok(st);
    dir = bd_temp_dir_new();
    braid_server_allow_files(server, dir, st); // for the saver of a hook
    assert_ok(st);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    braid_set_log_sink(NULL, NULL);
    braid_server_free(server);
    bd_temp_dir_free(dir);
    return 0;
}

static braid_monitored_session *open_on_server(const small_model *m, braid_hook *const *hooks)
{
    return braid_monitored_session_open(
        m->graph, &(braid_session_config){
                      .session.server = server, .is_chief = true, .max_recoveries = 2, .hooks = hooks});
}

static void expect_diary(bd_strbuf *diary, const char *want)
{
    assert_string_equal(bd_strbuf_str(diary), want);
    bd_strbuf_fini(diary);
}

// ---- What hooks see ----

static void a_hook_that_loses_the_session_is_ended_again_in_another(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder a = recorder_of('a', &diary, 0), b = recorder_of('b', &diary, 1),
             c = recorder_of('c', &diary, 0);
    braid_monitored_session *s = open_on_server(&m, BRAID_HOOKS(&a.hook, &b.hook, &c.hook));
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "a:created b:created c:created a:end b:end a:closing b:closing c:closing "
                         "a:created b:created c:created b:end c:end a:closing b:closing c:closing ");
    braid_graph_free(m.graph);
}

static void hooks_after_an_error_of_an_end_are_told_of_it(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder a = recorder_of('a', &diary, 0), b = recorder_of('b', &diary, 1),
             c = recorder_of('c', &diary, 0);
    b.code = BRAID_DATA_LOSS;
    braid_monitored_session *s = open_on_server(&m, BRAID_HOOKS(&a.hook, &b.hook, &c.hook));
    assert_int_equal(braid_monitored_session_close(s), BRAID_DATA_LOSS);
    expect_diary(&diary, "a:created b:created c:created a:end b:end c:failed a:closing b:closing c:closing ");
    braid_graph_free(m.graph);
}

static void an_end_that_always_loses_the_session_fails(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder a = recorder_of('a', &diary, 100);
    braid_monitored_session *s = open_on_server(&m, BRAID_HOOKS(&a.hook));
    assert_int_equal(braid_monitored_session_close(s), BRAID_UNAVAILABLE);
    expect_diary(&diary, "a:created a:end a:closing a:created a:end a:closing a:created a:end a:closing ");
    braid_graph_free(m.graph);
}

// The session in this process loses its variables with the session.
static void training_that_has_gone_back_at_the_end_fails(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    recorder a = recorder_of('a', &diary, 1);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&a.hook));
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_int_equal(braid_monitored_session_close(s), BRAID_UNAVAILABLE);
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

// ---- The library's hooks ----

static bd_strbuf logged; // warnings, and values that are logged at the end

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level == BRAID_LOG_WARNING || strstr(message, "x = ")) bd_strbuf_appendf(&logged, "%s\n", message);
}

// Another worker makes a step before the session is lost: hooks that end later see it, the saver, which has
// ended, does not begin another checkpoint.
static void the_librarys_hooks_end_once_for_the_user(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    small_model m = small_model_make();
    braid_tensor *final = NULL, *one = braid_tensor_int64(1);
    recorder loser = recorder_of('l', &diary, 1);
    loser.counted =
        braid_assign_add(m.graph, braid_find_global_step(m.graph), braid_const(m.graph, NULL, one)).op;
    braid_hook *saver = braid_checkpoint_saver(&(braid_checkpoint_saver_options){.dir = dir});
    braid_hook *log = braid_logging_tensor(&(braid_logging_tensor_options){
        .tensors = &m.x.read, .tags = (const char *[]){"x"}, .count = 1, .at_end = true});
    const braid_out step = braid_find_global_step(m.graph);
    FILE *file = tmpfile();
    const int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    braid_set_log_sink(read_log, NULL);
    braid_monitored_session *s = open_on_server(
        &m, BRAID_HOOKS(saver, &loser.hook, log, braid_final_ops(BRAID_FETCH({step, &final}), NULL),
                        braid_progress((braid_out){0}, 0)));
    for (int i = 0; i < 3; i++)
        assert_int_equal(small_model_step(s, &m), BRAID_OK);
    const braid_code code = braid_monitored_session_close(s);
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(code, BRAID_OK);
    assert_int_equal(*(const int64_t *)braid_tensor_data(final), 4);
    char *latest = braid_latest_checkpoint(dir, NULL);
    assert_string_equal(strrchr(latest, '/'), "/model.ckpt-3");
    char *line = strchr(bd_strbuf_str(&logged), '\n');
    assert_non_null(strstr(bd_strbuf_str(&logged), "Lost the session at global step 3")); // the only warning
    assert_non_null(line);
    assert_int_equal(strncmp(line, "\nx = ", 5), 0);
    assert_string_equal(strchr(line + 1, '\n'), "\n"); // and the only line
    rewind(file);
    int last_step = 0;
    assert_int_equal(fscanf(file, "step %d after", &last_step), 1);
    assert_int_equal(last_step, 4);
    fclose(file);
    bd_free(latest);
    bd_strbuf_fini(&logged);
    bd_strbuf_fini(&diary);
    braid_tensor_free(final);
    braid_tensor_free(one);
    braid_graph_free(m.graph);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_hook_that_loses_the_session_is_ended_again_in_another),
        TEST(hooks_after_an_error_of_an_end_are_told_of_it),
        TEST(an_end_that_always_loses_the_session_fails),
        TEST(training_that_has_gone_back_at_the_end_fails),
        TEST(the_librarys_hooks_end_once_for_the_user),
    };
    return BD_RUN_TESTS(tests);
}
