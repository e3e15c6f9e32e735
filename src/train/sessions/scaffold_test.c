// Scaffolds, and sessions that are prepared by them: in monitored sessions and by session managers.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "io/testing/temp_dir.h"
#include "train/testing/small_model.h"

static void run(braid_session *s, braid_op *op)
{
    BD_STATUS(st);
    braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st);
    assert_ok(st);
}

// x := 5 by init_fn, after x := a fed number by init_op.
typedef struct first_values {
    braid_op *assign;
    float seen; // the value that init_op has given
    braid_out x;
} first_values;

static braid_code set_five(const braid_scaffold *scaffold, braid_session *s, braid_status *st)
{
    (void)st;
    first_values *f = scaffold->init_arg;
    f->seen = small_model_value(s, f->x);
    run(s, f->assign);
    return BRAID_OK;
}

static void init_op_takes_feeds_and_init_fn_comes_after_it(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_graph *g = m.graph;
    const braid_out start = braid_placeholder(g, "start", BRAID_FLOAT, BRAID_SCALAR);
    braid_op *init = small_model_init(&m, start);
    first_values f = {.assign = braid_assign(g, m.x.ref, braid_const_float(g, NULL, 5)).op, .x = m.x.read};
    braid_tensor *four = braid_tensor_float(4);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.scaffold = {.init_op = init,
                                                .init_feeds = BRAID_FEED({start, four}),
                                                .init_fn = set_five,
                                                .init_arg = &f}});
    assert_int_equal(braid_monitored_session_status(s, NULL), BRAID_OK);
    assert_float_equal(f.seen, 4, 0);
    assert_float_equal(small_model_loss(s, &m), 4, 1e-6f); // (5 - 3)^2
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_tensor_free(four);
    braid_graph_free(g);
}

static braid_code refuse(const braid_scaffold *scaffold, braid_session *s, braid_status *st)
{
    (void)scaffold, (void)s;
    return bd_fail(st, BRAID_NOT_FOUND, "no model to begin with");
}

static void the_error_of_init_fn_is_the_sessions(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_monitored_session *s =
        braid_monitored_session_open(m.graph, &(braid_session_config){.scaffold.init_fn = refuse});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_NOT_FOUND, "no model to begin with");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

// ---- Tables ----

static braid_out make_table(braid_graph *g, braid_op **initialize)
{
    braid_op_desc *d = braid_op_begin(g, "HashTableV2", "table");
    braid_op_attr_type(d, "key_dtype", BRAID_INT64);
    braid_op_attr_type(d, "value_dtype", BRAID_FLOAT);
    const braid_out table = braid_op_end_out(d);
    braid_tensor *key = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(1), NULL);
    *(int64_t *)braid_tensor_data(key) = 7;
    const braid_out keys = braid_const(g, NULL, key);
    const braid_out inputs[] = {table, keys,
                                braid_reshape(g, braid_const_float(g, NULL, 2.5f), BRAID_SHAPE(1))};
    *initialize = braid_op_add(g, "InitializeTableV2", NULL, inputs, 3);
    const braid_out lookup[] = {table, keys, braid_const_float(g, NULL, -1)};
    const braid_out found = braid_output(braid_op_add(g, "LookupTableFindV2", NULL, lookup, 3), 0);
    braid_tensor_free(key);
    return found;
}

static void tables_are_filled_when_a_session_opens(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_op *initialize;
    const braid_out found = make_table(m.graph, &initialize);
    braid_collect(m.graph, BRAID_TABLE_INITIALIZERS, (braid_out){initialize, 0});
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_float_equal(small_model_value(braid_monitored_session_raw(s), found), 2.5f, 0);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

// ---- Session managers ----

static void a_prepared_session_restores_the_newest_checkpoint(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *dir = bd_temp_dir_new();
    char *path = bd_asprintf("%s/model.ckpt", dir);
    small_model m = small_model_make();
    braid_op *set = braid_assign(m.graph, m.x.ref, braid_const_float(m.graph, NULL, 8)).op;
    braid_session_manager manager = {.checkpoint_dir = dir};
    bool is_ready = true;
    braid_session *s = braid_recover_session(m.graph, &manager, &is_ready, st);
    assert_non_null(s);
    assert_false(is_ready); // there is no checkpoint
    braid_session_close(s, st);
    s = braid_prepare_session(m.graph, &manager, st);
    assert_ok(st);
    assert_float_equal(small_model_value(s, m.x.read), 0, 0);
    run(s, set);
    bd_free(braid_saver_save(manager.scaffold.saver, s, path, 1, st));
    assert_ok(st);
    braid_session_close(s, st);
    s = braid_prepare_session(m.graph, &manager, st);
    assert_ok(st);
    assert_float_equal(small_model_value(s, m.x.read), 8, 0);
    braid_session_close(s, st);
    s = braid_recover_session(m.graph, &manager, &is_ready, st);
    assert_ok(st);
    assert_true(is_ready);
    assert_float_equal(small_model_value(s, m.x.read), 8, 0);
    braid_session_close(s, st);

    char *missing = bd_asprintf("%s/other-1", dir);
    manager.checkpoint_path = missing;
    assert_null(braid_prepare_session(m.graph, &manager, st));
    assert_error(st, BRAID_NOT_FOUND, "other-1");
    bd_free(missing);
    bd_free(path);
    braid_graph_free(m.graph);
    bd_temp_dir_free(dir);
}

// ---- Session managers that wait for a checkpoint ----

// Writes a checkpoint with x = 8 in a process of its own, so to speak.
static void save_eight(void *arg)
{
    const char *dir = arg;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_saver *saver = braid_saver_new(m.graph, NULL);
    char *path = bd_asprintf("%s/model.ckpt", dir);
    braid_session *s = braid_session_open(m.graph, NULL, st);
    run(s, small_model_init(&m, braid_const_float(m.graph, NULL, 8)));
    bd_free(braid_saver_save(saver, s, path, 1, st));
    assert_ok(st);
    braid_session_close(s, st);
    bd_free(path);
    braid_graph_free(m.graph);
}

static void a_prepared_session_waits_for_the_first_checkpoint(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *root = bd_temp_dir_new(), *dir = bd_asprintf("%s/model", root);
    small_model m = small_model_make();
    braid_session_manager manager = {
        .checkpoint_dir = dir, .wait_for_checkpoint = true, .wait_timeout_ms = 60000};
    bd_thread thread;
    bd_thread_start(&thread, "saver", save_eight, dir, st);
    assert_ok(st);
    braid_session *s = braid_prepare_session(m.graph, &manager, st);
    assert_ok(st);
    bd_thread_join(&thread);
    assert_float_equal(small_model_value(s, m.x.read), 8, 0);
    braid_session_close(s, st);
    bool is_ready;
    s = braid_recover_session(m.graph, &manager, &is_ready, st);
    assert_ok(st);
    assert_true(is_ready);
    braid_session_close(s, st);
    braid_graph_free(m.graph);
    bd_free(dir);
    bd_temp_dir_free(root);
}

static void a_wait_for_a_checkpoint_ends_with_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    bool is_ready = true;
    braid_session_manager manager = {
        .checkpoint_dir = "/nowhere/model", .wait_for_checkpoint = true, .wait_timeout_ms = 10};
    assert_null(braid_prepare_session(m.graph, &manager, st));
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "/nowhere/model has no checkpoint after 0.01 s");
    assert_null(braid_recover_session(m.graph, &manager, &is_ready, st));
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "/nowhere/model");
    assert_false(is_ready);
    manager.checkpoint_dir = NULL;
    assert_null(braid_prepare_session(m.graph, &manager, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "has no checkpoint_dir");
    braid_graph_free(m.graph);
}

// ---- Session managers of several processes ----

typedef struct waiter {
    braid_server *server;
    float x;
} waiter;

static void wait_for_session(void *arg)
{
    waiter *w = arg;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_session_manager manager = {.session.server = w->server};
    braid_session *s = braid_wait_for_session(m.graph, &manager, st);
    assert_ok(st);
    w->x = small_model_value(s, m.x.read);
    braid_session_close(s, st);
    braid_graph_free(m.graph);
}

static void another_session_waits_until_one_is_prepared(void **state)
{
    (void)state;
    BD_STATUS(st);
    waiter w = {.server = braid_server_start_local(NULL, st), .x = -1};
    assert_ok(st);
    bd_thread thread;
    bd_thread_start(&thread, "waiter", wait_for_session, &w, st);
    assert_ok(st);
    small_model m = small_model_make();
    braid_session_manager manager = {.session.server = w.server};
    braid_session *s = braid_prepare_session(m.graph, &manager, st);
    assert_ok(st);
    bd_thread_join(&thread);
    assert_float_equal(w.x, 0, 0);
    braid_session_close(s, st);
    braid_server_free(w.server);
    braid_graph_free(m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(init_op_takes_feeds_and_init_fn_comes_after_it),
        cmocka_unit_test(the_error_of_init_fn_is_the_sessions),
        cmocka_unit_test(tables_are_filled_when_a_session_opens),
        cmocka_unit_test(a_prepared_session_restores_the_newest_checkpoint),
        cmocka_unit_test(a_prepared_session_waits_for_the_first_checkpoint),
        cmocka_unit_test(a_wait_for_a_checkpoint_ends_with_an_error),
        cmocka_unit_test(another_session_waits_until_one_is_prepared),
    };
    return BD_RUN_TESTS(tests);
}
