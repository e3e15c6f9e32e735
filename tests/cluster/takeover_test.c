// Synchronous training whose chief is gone for good: the first of the other workers takes its place.
// labels: concurrent
#include "base/alloc.h"
#include "support/training.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = 3,
    CHIEF_STEPS = 2,
    LAST_STEP = 500,
    GONE_MS = 300
};

typedef struct worker {
    test_training *f;
    int index, workers, required;
    int64_t last_step; // 0: trains until the others are done
    int fails_after;   // steps; 0: never
    bd_thread thread;
    braid_code code;
    braid_status st; // before the session was closed
    bool led;        // at the end
} worker;

// Set when a worker that has taken the chief's place has saved its first checkpoint.
static bd_event taken;
static atomic_bool is_taking;

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, "this worker takes its place")) atomic_store(&is_taking, true);
    if (strstr(message, "Saved the checkpoint") && atomic_load(&is_taking)) bd_event_set(&taken);
}

static int set_up(void **state)
{
    *state = test_training_new(TEST_IN_PROCESS, 1, WORKERS);
    bd_event_init(&taken);
    atomic_store(&is_taking, false);
    braid_set_log_sink(read_log, NULL);
    return 0;
}

static int tear_down(void **state)
{
    braid_set_log_sink(NULL, NULL);
    test_training_free(*state);
    return 0;
}

// ---- A worker ----

static braid_graph *build(const worker *w, braid_sync_replicas **sync, braid_op **train)
{
    braid_graph *g = braid_graph_new();
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", w->index);
    const braid_device_setter_options on = {.worker_device = device};
    braid_push_device_setter(g, braid_replica_device_setter(g, w->f->cluster->spec, &on));
    const braid_out step = braid_global_step(g);
    const braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    const braid_out loss = braid_square(g, braid_sub(g, x.read, braid_const_float(g, NULL, 3)));
    *sync = braid_sync_replicas_new(braid_gradient_descent(g, 0.01f),
                                    &(braid_sync_replicas_options){.replicas_to_aggregate = w->required,
                                                                   .total_num_replicas = w->workers});
    *train = braid_sync_replicas_minimize(*sync, loss, step);
    return g;
}

static void train_steps(const worker *w, braid_monitored_session *s, braid_op *train)
{
    for (int i = 0; !braid_should_stop(s); i++) {
        if (braid_run(s, NULL, NULL, train) || i + 1 != w->fails_after) continue;
        BD_STATUS(st);
        bd_fail(st, BRAID_INTERNAL, "The program of worker %d has failed", w->index);
        braid_monitored_session_fail(s, st);
    }
}

static void work(void *arg)
{
    worker *w = arg;
    static const char *const filters[WORKERS][2] = {{"/job:ps", "/job:worker/task:0"},
                                                    {"/job:ps", "/job:worker/task:1"},
                                                    {"/job:ps", "/job:worker/task:2"}};
    braid_sync_replicas *sync;
    braid_op *train;
    braid_graph *g = build(w, &sync, &train);
    const bool is_chief = w->index == 0;
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session = {.server = test_server(w->f->cluster, "worker", w->index),
                           .device_filters = filters[w->index],
                           .device_filter_count = 2},
               .is_chief = is_chief,
               .checkpoint_dir = w->f->dir,
               .hooks = BRAID_HOOKS(braid_sync_replicas_hook(sync, is_chief, -1),
                                    braid_stop_at_step(w->last_step ? w->last_step : INT64_MAX))});
    train_steps(w, s, train);
    w->led = braid_monitored_session_is_chief(s);
    braid_monitored_session_status(s, &w->st);
    w->code = braid_monitored_session_close(s);
    if (w->code == BRAID_OK) braid_server_done(test_server(w->f->cluster, "worker", w->index));
    braid_graph_free(g);
}

static void start(worker *w)
{
    BD_STATUS(st);
    if (bd_thread_start(&w->thread, "worker", work, w, st)) fail_msg("%s", st->message);
}

static void join(worker *w, braid_code code)
{
    bd_thread_join(&w->thread);
    if (w->code != code) fail_msg("worker %d: %s", w->index, braid_status_message(&w->st));
}

// Starts the workers. The chief fails after some steps, and its process ends.
static void begin(test_training *f, worker all[WORKERS], worker like)
{
    test_start_all(f->cluster, &(braid_server_options){.worker_gone_timeout_ms = GONE_MS});
    like.f = f;
    for (int i = 0; i < like.workers; i++) {
        all[i] = like;
        all[i].index = i;
        all[i].fails_after = i == 0 ? CHIEF_STEPS : 0;
        start(&all[i]);
    }
    join(&all[0], BRAID_INTERNAL);
    test_kill(f->cluster, "worker", 0);
}

static void finish(worker all[], int count)
{
    for (int i = 0; i < count; i++)
        bd_status_fini(&all[i].st);
}

// ---- Tests ----

static void the_first_worker_left_takes_the_place_of_the_chief(void **state)
{
    test_training *f = *state;
    worker all[WORKERS];
    begin(f, all, (worker){.workers = WORKERS, .required = WORKERS - 1, .last_step = LAST_STEP});
    join(&all[1], BRAID_OK);
    join(&all[2], BRAID_OK);
    assert_true(all[1].led);
    assert_false(all[2].led);
    char *latest = braid_latest_checkpoint(f->dir, NULL);
    assert_non_null(latest);
    assert_true(atoi(strrchr(latest, '-') + 1) >= LAST_STEP); // saved by the worker that led
    bd_free(latest);
    finish(all, WORKERS);
}

static void a_chief_that_comes_back_gets_its_place_back(void **state)
{
    test_training *f = *state;
    worker all[WORKERS];
    begin(f, all, (worker){.workers = WORKERS, .required = WORKERS - 1});
    bd_event_wait(&taken);
    bd_status_fini(&all[0].st);
    all[0] = (worker){.f = f, .workers = WORKERS, .required = WORKERS - 1, .last_step = 1000};
    test_start(f->cluster, "worker", 0, NULL);
    start(&all[0]);
    for (int i = 0; i < WORKERS; i++)
        join(&all[i], BRAID_OK);
    assert_true(all[0].led);
    assert_false(all[1].led);
    assert_false(all[2].led);
    finish(all, WORKERS);
}

static void training_that_needs_the_chief_ends_with_an_error_that_names_it(void **state)
{
    test_training *f = *state;
    worker all[WORKERS];
    begin(f, all, (worker){.workers = WORKERS, .required = WORKERS});
    for (int i = 1; i < WORKERS; i++) {
        join(&all[i], BRAID_UNAVAILABLE);
        assert_error(&all[i].st, BRAID_UNAVAILABLE, "/job:worker/task:0");
        assert_error(&all[i].st, BRAID_UNAVAILABLE, "gone");
    }
    finish(all, WORKERS);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_worker_left_takes_the_place_of_the_chief),
        TEST(a_chief_that_comes_back_gets_its_place_back),
        TEST(training_that_needs_the_chief_ends_with_an_error_that_names_it),
    };
    return cmocka_run_group_tests_name("takeover", tests, NULL, NULL);
}
