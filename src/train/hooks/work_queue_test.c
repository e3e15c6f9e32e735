// Tests of work queues: each share is trained, a lost worker's again, and what is finished is saved.
// labels: concurrent
#include "base/testing/test.h"

#include "io/testing/temp_dir.h"
#include <braid/braid.h>
#include <string.h>

// A model that counts the elements of each share: share i has the elements 2 i and 2 i + 1, each a step.
typedef struct model {
    braid_graph *graph;
    braid_work_queue *work;
    braid_out seen; // [2 shares] how many times each element was trained
    braid_op *train;
    braid_monitored_session *session;
} model;

#define SHARES 3

static braid_out elements_of(braid_graph *g, braid_out share)
{
    braid_tensor *rows = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(SHARES, 2), NULL);
    for (int64_t i = 0; i < 2 * SHARES; i++)
        ((int64_t *)braid_tensor_data(rows))[i] = i;
    const braid_out all = braid_const(g, NULL, rows);
    braid_tensor_free(rows);
    braid_op_desc *d = braid_op_begin(g, "Gather", NULL);
    braid_op_input(d, all);
    braid_op_input(d, share);
    return braid_op_end_out(d);
}

static model model_open(const char *target, const char *dir, bool is_chief,
                        const braid_work_queue_options *options)
{
    model m = {.graph = braid_graph_new()};
    braid_graph *g = m.graph;
    m.work = braid_work_queue_new(g, NULL, SHARES, options);
    const braid_out elements = elements_of(g, braid_work_queue_number(m.work));
    const braid_iterator it =
        braid_make_initializable_iterator(g, braid_dataset_from_tensor_slices(g, &elements, 1), NULL);
    braid_out element;
    braid_iterator_get_next(g, it, &element);
    braid_tensor *zeros = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(2 * SHARES), NULL),
                 *one = braid_tensor_int64(1);
    memset(braid_tensor_data(zeros), 0, 2 * SHARES * sizeof(int64_t));
    m.seen = braid_variable_of(g, "seen", zeros, false).ref;
    braid_op_desc *d = braid_op_begin(g, "ScatterAdd", NULL);
    braid_op_input(d, m.seen);
    braid_op_input(d, element);
    braid_op_input(d, braid_const(g, NULL, one));
    braid_op *seen = braid_op_end(d);
    braid_push_control(g, &seen, 1);
    m.train = braid_assign_add(g, braid_global_step(g), braid_const(g, NULL, one)).op;
    braid_pop_control(g);
    braid_tensor_free(zeros);
    braid_tensor_free(one);
    m.session = braid_monitored_session_open(
        g, &(braid_session_config){.session.target = target,
                                   .is_chief = is_chief,
                                   .checkpoint_dir = dir,
                                   .hooks = BRAID_HOOKS(braid_work_queue_hook(m.work, it))});
    return m;
}

static void model_close(model *m)
{
    assert_int_equal(braid_monitored_session_close(m->session), BRAID_OK);
    braid_graph_free(m->graph);
}

static void expect(model *m, braid_out out, const int64_t *want, int count)
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(m->session, NULL, BRAID_FETCH({out, &value})), BRAID_OK);
    const int64_t *got = braid_tensor_data(value);
    for (int i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("%s: element %d: %lld, not %lld", braid_op_name(out.op), i, (long long)got[i],
                     (long long)want[i]);
    braid_tensor_free(value);
}

static void step(model *m, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(braid_run(m->session, NULL, NULL, m->train), BRAID_OK);
}

// Steps until the input has ended.
static int steps_left(model *m)
{
    int count = 0;
    while (!braid_should_stop(m->session))
        count += braid_run(m->session, NULL, NULL, m->train) == BRAID_OK;
    return count;
}

static void each_share_is_trained_once_in_each_epoch(void **state)
{
    (void)state;
    model m = model_open(NULL, NULL, true, &(braid_work_queue_options){.num_epochs = 2});
    assert_int_equal(steps_left(&m), 12);
    expect(&m, m.seen, (int64_t[]){2, 2, 2, 2, 2, 2}, 6);
    expect(&m, braid_work_queue_finished(m.work), (int64_t[]){2, 2, 2}, 3);
    model_close(&m);
}

static void what_is_finished_is_restored(void **state)
{
    (void)state;
    char *dir = bd_temp_dir_new();
    const braid_work_queue_options options = {.num_epochs = 1, .in_order = true};
    model m = model_open(NULL, dir, true, &options);
    step(&m, 3); // share 0, and the half of share 1
    model_close(&m);
    m = model_open(NULL, dir, true, &options);
    expect(&m, braid_work_queue_finished(m.work), (int64_t[]){1, 0, 0}, 3);
    assert_int_equal(steps_left(&m), 4);
    expect(&m, m.seen, (int64_t[]){1, 1, 2, 1, 1, 1},
           6); // the share that was begun, again from its beginning
    model_close(&m);
    bd_temp_dir_free(dir);
}

static void a_share_that_a_worker_leaves_is_given_to_another(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    const char *target = braid_server_target(server);
    const braid_work_queue_options options = {.num_epochs = 1, .in_order = true};
    model first = model_open(target, NULL, true, &options),
          second = model_open(target, NULL, false, &options);
    step(&first, 1);  // the half of share 0
    step(&second, 1); // the half of share 1
    model_close(&first);
    assert_int_equal(steps_left(&second), 5);
    expect(&second, second.seen, (int64_t[]){2, 1, 1, 1, 1, 1}, 6);
    model_close(&second);
    braid_server_free(server);
}

// ---- FailedPrecondition ----

static void expect_failed_precondition(braid_monitored_session *s, const char *text)
{
    BD_STATUS(st);
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, text);
    assert_int_equal(braid_monitored_session_close(s), BRAID_FAILED_PRECONDITION);
}

static void synchronous_training_is_refused(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_work_queue *work = braid_work_queue_new(g, NULL, SHARES, NULL);
    const braid_out number = braid_work_queue_number(work);
    const braid_iterator it =
        braid_make_initializable_iterator(g, braid_dataset_from_tensors(g, &number, 1), NULL);
    const braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    braid_sync_replicas *sync = braid_sync_replicas_new(
        braid_gradient_descent(g, 0.1F),
        &(braid_sync_replicas_options){.replicas_to_aggregate = 1, .total_num_replicas = 1});
    (void)braid_sync_replicas_minimize(sync, braid_square(g, x.read), braid_global_step(g));
    expect_failed_precondition(
        braid_monitored_session_open(
            g, &(braid_session_config){.is_chief = true,
                                       .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, true, -1),
                                                            braid_work_queue_hook(work, it))}),
        "A work queue is for asynchronous training");
    braid_graph_free(g);
}

static void shares_without_a_step_end_training(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_work_queue *work = braid_work_queue_new(g, NULL, SHARES, NULL); // without end
    const braid_out number = braid_work_queue_number(work);
    const braid_dataset none = braid_dataset_take(g, braid_dataset_from_tensors(g, &number, 1), 0);
    const braid_iterator it = braid_make_initializable_iterator(g, none, NULL);
    braid_out element;
    braid_iterator_get_next(g, it, &element);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.is_chief = true, .hooks = BRAID_HOOKS(braid_work_queue_hook(work, it))});
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, element.op);
    expect_failed_precondition(s, "None of the 3 shares of the work queue gives a step");
    braid_graph_free(g);
}

// A session without variables, and the feeds of member 1 and share 0.
typedef struct raw {
    braid_graph *graph;
    braid_session *session;
    braid_tensor *member, *share;
} raw;

static raw raw_open(void)
{
    BD_STATUS(st);
    raw r = {.graph = braid_graph_new(), .member = braid_tensor_int64(1), .share = braid_tensor_int64(0)};
    (void)braid_work_queue_new(r.graph, NULL, SHARES, NULL);
    r.session = braid_session_open(r.graph, NULL, st);
    assert_ok(st);
    return r;
}

static void raw_run(const raw *r, braid_op *const *targets, int count, braid_status *st)
{
    const braid_feed feeds[] = {{braid_graph_find_out(r->graph, "work_queue/member"), r->member},
                                {braid_graph_find_out(r->graph, "work_queue/share"), r->share}};
    braid_session_run(
        r->session,
        &(braid_run_args){.feeds = feeds, .feed_count = 2, .targets = targets, .target_count = count}, st);
}

static void raw_close(raw *r)
{
    braid_session_close(r->session, NULL);
    braid_tensor_free(r->member);
    braid_tensor_free(r->share);
    braid_graph_free(r->graph);
}

static void a_share_cannot_be_taken_before_the_counts_are_initialized(void **state)
{
    (void)state;
    BD_STATUS(st);
    raw r = raw_open();
    braid_op *const join_and_take[] = {braid_graph_find(r.graph, "work_queue/join"),
                                       braid_graph_find(r.graph, "work_queue/take")};
    raw_run(&r, join_and_take, 2, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value work_queue/finished");
    raw_close(&r);
}

static void a_share_that_a_member_does_not_hold_cannot_be_finished(void **state)
{
    (void)state;
    BD_STATUS(st);
    raw r = raw_open();
    braid_op *const initialize = braid_graph_find(r.graph, "work_queue/finished/Assign"),
                    *const finish = braid_graph_find(r.graph, "work_queue/finish");
    raw_run(&r, &initialize, 1, st);
    assert_ok(st);
    raw_run(&r, &finish, 1, st);
    assert_error(st, BRAID_ABORTED, "Share 0 is not this worker's any more");
    raw_close(&r);
}

static void bad_queues_are_refused(void **state)
{
    (void)state;
    static const char *const with_null[] = {"a", NULL};
    static const struct {
        const char *const *shares;
        int64_t count, epochs;
    } bad[] = {{NULL, 0, 1}, {NULL, -1, 1}, {with_null, 2, 1}, {NULL, 1, -1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        braid_graph *g = braid_graph_new();
        assert_null(braid_work_queue_new(g, bad[i].shares, bad[i].count,
                                         &(braid_work_queue_options){.num_epochs = bad[i].epochs}));
        assert_int_equal(braid_graph_status(g, NULL), BRAID_INVALID_ARGUMENT);
        braid_graph_free(g);
    }
    braid_graph *g = braid_graph_new();
    const braid_iterator none = {.initializer = NULL};
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.hooks = BRAID_HOOKS(braid_work_queue_hook(NULL, none))});
    assert_int_equal(braid_monitored_session_close(s), BRAID_INVALID_ARGUMENT);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_share_is_trained_once_in_each_epoch),
        cmocka_unit_test(what_is_finished_is_restored),
        cmocka_unit_test(a_share_that_a_worker_leaves_is_given_to_another),
        cmocka_unit_test(synchronous_training_is_refused),
        cmocka_unit_test(shares_without_a_step_end_training),
        cmocka_unit_test(a_share_cannot_be_taken_before_the_counts_are_initialized),
        cmocka_unit_test(a_share_that_a_member_does_not_hold_cannot_be_finished),
        cmocka_unit_test(bad_queues_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
