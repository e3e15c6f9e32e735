// Large tensors between two processes of a host are read from memory, in both directions, with certificates
// or without, unless that is turned off; the values are the same.
// labels: concurrent
#include "base/alloc.h"
#include "base/shared_memory_variables.h"
#include "support/test_cluster.h"
#include <braid/keys.h>
#include <braid/monitoring.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SMALL = 150000,  // floats: a tensor that is sent within a message where memory cannot be read
    LARGE = 2500003, // ... that is read on the pool
    STEPS = 3
};

extern char **environ;

// The parameter server: a process of its own.
static int serve(const char *ps, const char *worker)
{
    BD_STATUS(st);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const braid_cluster *cluster = braid_cluster_from_hosts(ps, worker, st);
    if (!cluster || !braid_server_start(cluster, "ps", 0, NULL, st)) return 1;
    pause();
    return 0;
}

typedef struct fixture {
    test_cluster *cluster;
    pid_t ps;
    braid_graph *g;
    braid_session *s;   // on the worker's master
    braid_out x, there; // there: -2x; the parameter server adds, the worker negates
    braid_out back;     // 2x, on the parameter server
} fixture;

static void set_up(fixture *f)
{
    BD_STATUS(st);
    f->cluster = test_cluster_new(TEST_GRPC, 1, 1);
    char *argv[] = {"cross_memory_test", (char *)braid_cluster_address(f->cluster->spec, "ps", 0),
                    (char *)braid_cluster_address(f->cluster->spec, "worker", 0), NULL};
    assert_int_equal(posix_spawn(&f->ps, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    test_start(f->cluster, "worker", 0, NULL);
    f->g = braid_graph_new();
    f->x = braid_placeholder(f->g, "x", BRAID_FLOAT, BRAID_SHAPE(-1));
    const braid_out twice = NODE(f->g, "Add", "twice", PS, f->x, f->x);
    f->there = NODE(f->g, "Neg", "there", WORKER, twice);
    f->back = NODE(f->g, "Neg", "back", PS, f->there);
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    if (!f->s) fail_msg("%s", st->message);
}

static void tear_down(fixture *f)
{
    BD_STATUS(st);
    braid_session_close(f->s, st);
    braid_graph_free(f->g);
    kill(f->ps, SIGKILL);
    waitpid(f->ps, NULL, 0);
    test_cluster_free(f->cluster);
}

static void run_step(const fixture *f, int count, float value)
{
    BD_STATUS(st);
    float *values = bd_malloc((size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = value + (float)i;
    braid_tensor *x = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(count), values, NULL), *back = NULL;
    const braid_feed feed = {f->x, x};
    const braid_fetch fetch = {f->back, &back};
    const braid_run_args args = {
        .feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1, .timeout_ms = PATIENCE_MS};
    if (braid_session_run(f->s, &args, st)) fail_msg("%s", st->message);
    assert_int_equal(braid_tensor_num_elements(back), count);
    for (int i = 0; i < count; i++)
        values[i] *= 2;
    assert_memory_equal(braid_tensor_data(back), values, (size_t)count * sizeof *values);
    braid_tensor_free(back);
    braid_tensor_free(x);
    bd_free(values);
}

static braid_task_description *describe(const fixture *f, const char *job)
{
    BD_STATUS(st);
    const braid_monitor_options options = {.timeout_ms = PATIENCE_MS};
    braid_task_description *d =
        braid_describe_task(braid_cluster_address(f->cluster->spec, job, 0), &options, st);
    if (!d) fail_msg("%s", st->message);
    return d;
}

static int links(const fixture *f, const char *job)
{
    braid_task_description *d = describe(f, job);
    const int count = d->shared_memory_links;
    braid_task_description_free(d);
    return count;
}

// Bytes that a task has read from the memory of the other one.
static uint64_t bytes_read(const fixture *f, const char *job)
{
    braid_task_description *d = describe(f, job);
    const uint64_t bytes = d->memory_bytes;
    braid_task_description_free(d);
    return bytes;
}

static void large_tensors_are_read_in_both_directions(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    for (int i = 0; i < STEPS; i++)
        run_step(&f, LARGE, (float)i);
    // The first one of each direction comes with the offer.
    const uint64_t worker = bytes_read(&f, "worker"), ps = bytes_read(&f, "ps");
    assert_true(worker >= (STEPS - 1) * LARGE * sizeof(float));
    assert_true(ps >= (STEPS - 1) * LARGE * sizeof(float));
    run_step(&f, SMALL, 1);
    assert_int_equal(bytes_read(&f, "worker"), worker + SMALL * sizeof(float));
    assert_int_equal(bytes_read(&f, "ps"), ps + SMALL * sizeof(float));
    tear_down(&f);
}

// The first one comes within a message, and is answered with the offer.
static void smaller_tensors_are_read_too(void **state)
{
    (void)state;
    fixture f = {0};
    set_up(&f);
    for (int i = 0; i < STEPS; i++)
        run_step(&f, SMALL, (float)i);
    assert_int_equal(bytes_read(&f, "worker"), (STEPS - 1) * SMALL * sizeof(float));
    assert_int_equal(bytes_read(&f, "ps"), (STEPS - 1) * SMALL * sizeof(float));
    tear_down(&f);
}

static void they_come_over_the_connection_where_it_is_turned_off(void **state)
{
    (void)state;
    fixture f = {0};
    setenv(BD_CROSS_MEMORY_VARIABLE, "0", 1);
    set_up(&f);
    unsetenv(BD_CROSS_MEMORY_VARIABLE);
    for (int i = 0; i < STEPS; i++)
        run_step(&f, LARGE, (float)i);
    assert_int_equal(bytes_read(&f, "worker"), 0);
    assert_int_equal(bytes_read(&f, "ps"), 0);
    tear_down(&f);
}

// The tasks read each other's memory, and call each other through it, as they do without certificates.
static void tasks_with_certificates_share_memory(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f = {0};
    char keys[] = "/tmp/braid-test-XXXXXX", dir[64], remove[64];
    assert_non_null(mkdtemp(keys));
    assert_int_equal(braid_keys_new(keys, st), BRAID_OK);
    assert_int_equal(braid_keys_add(keys, "task", BRAID_ROLE_TASK, 1, st), BRAID_OK);
    snprintf(dir, sizeof dir, "%s/task", keys);
    setenv("BRAID_TLS_DIR", dir, 1);
    set_up(&f);
    for (int i = 0; i < STEPS; i++)
        run_step(&f, LARGE, (float)i);
    const uint64_t worker = bytes_read(&f, "worker"), ps = bytes_read(&f, "ps");
    assert_true(worker >= (STEPS - 1) * LARGE * sizeof(float));
    assert_true(ps >= (STEPS - 1) * LARGE * sizeof(float));
    run_step(&f, SMALL, 1);
    assert_int_equal(bytes_read(&f, "worker"), worker + SMALL * sizeof(float));
    assert_int_equal(bytes_read(&f, "ps"), ps + SMALL * sizeof(float));
    assert_true(links(&f, "ps") > 0);
    assert_true(links(&f, "worker") > 0);
    tear_down(&f);
    unsetenv("BRAID_TLS_DIR");
    snprintf(remove, sizeof remove, "rm -rf %s", keys);
    assert_int_equal(system(remove), 0); // NOLINT(cert-env33-c): a path of our own
}

int main(int argc, char **argv)
{
    if (argc == 3) return serve(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_tensors_are_read_in_both_directions),
        cmocka_unit_test(smaller_tensors_are_read_too),
        cmocka_unit_test(they_come_over_the_connection_where_it_is_turned_off),
        cmocka_unit_test(tasks_with_certificates_share_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
