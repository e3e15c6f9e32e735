// Sums over processes have the bits of a sum in the order of ranks, whatever carries the tensors.
//
// Alone, the test starts the other processes itself: they exchange tensors over their connections, or by
// memory. As the ranks of mpirun, MPI carries them: tests/launchers/mpirun.sh.
// labels: concurrent
// timeout: 120
#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/shared_memory_variables.h"
#include "support/test_cluster.h"
#include <braid/monitoring.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MPI_PATIENCE_MS = 30000,
    BEHIND_MS = 3000, // until a task tries to reach another one only once a second
    TASKS = 3,
    TASKS_MAX = 8,
    GROUP_KEY = 1
};

// Elements: less than is cut into parts; not a multiple of a part; parts that MPI or memory carries.
static const int sizes[] = {1000, 200003, 2500001};

extern char **environ;

// ---- The other processes ----

// Serves until all is done, or the parent ends.
static int serve(const braid_cluster *cluster, int task)
{
    BD_STATUS(st);
    braid_server *s = cluster ? braid_server_start(cluster, "worker", task, NULL, st) : NULL;
    if (!s) {
        fprintf(stderr, "task %d: %s\n", task, st->message);
        return 1;
    }
    const bool is_rank = getenv("OMPI_COMM_WORLD_RANK") != NULL;
    if (is_rank)
        braid_server_done(s); // it has no work of its own
    else
        pause();
    braid_server_join(s, st);
    braid_server_free(s);
    return 0;
}

static pid_t start_task(const char *json, int task)
{
    char number[16];
    snprintf(number, sizeof number, "%d", task);
    char *argv[] = {"collective_sums_test", (char *)json, number, NULL};
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    return pid;
}

// ---- Sums ----

// Values whose sum depends on the order of the additions.
static braid_tensor *values_of(int task, int count)
{
    bd_rng rng = bd_rng_init((uint64_t)task + 1);
    float *values = bd_malloc((size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = (float)((bd_rng_double(&rng) - 0.5) * (i % 3 == task % 3 ? 1e6 : 1));
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(count), values, NULL);
    bd_free(values);
    return t;
}

static braid_out add_member(braid_graph *g, int task, int tasks, int instance, braid_out *x)
{
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", task);
    braid_push_device(g, device);
    *x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1));
    braid_op_desc *d = braid_op_begin(g, "CollectiveReduce", "sum");
    braid_op_input(d, *x);
    braid_op_attr_int(d, "group_size", tasks);
    braid_op_attr_int(d, "group_key", GROUP_KEY);
    braid_op_attr_int(d, "instance_key", instance);
    braid_op_attr_string(d, "merge_op", "Add");
    braid_op_attr_string(d, "final_op", "Id");
    braid_op_attr_int_list(d, "subdiv_offsets", (int64_t[]){0}, 1);
    const braid_out sum = braid_op_end_out(d);
    braid_pop_device(g);
    return sum;
}

static void check_sum(const braid_tensor *sum, braid_tensor *const *values, int tasks)
{
    const size_t count = (size_t)braid_tensor_num_elements(values[0]);
    assert_int_equal(braid_tensor_num_elements(sum), count);
    float *expected = bd_memdup(braid_tensor_data(values[0]), count * sizeof *expected);
    for (int t = 1; t < tasks; t++)
        for (size_t i = 0; i < count; i++)
            expected[i] += ((const float *)braid_tensor_data(values[t]))[i];
    assert_memory_equal(braid_tensor_data(sum), expected, count * sizeof *expected);
    bd_free(expected);
}

static void sum_and_check(braid_session *s, const braid_out *x, const braid_out *sums, int tasks, int count)
{
    BD_STATUS(st);
    braid_tensor *values[TASKS_MAX], *got[TASKS_MAX] = {0};
    braid_feed feeds[TASKS_MAX];
    braid_fetch fetches[TASKS_MAX];
    for (int t = 0; t < tasks; t++) {
        values[t] = values_of(t, count);
        feeds[t] = (braid_feed){x[t], values[t]};
        fetches[t] = (braid_fetch){sums[t], &got[t]};
    }
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = tasks,
                                 .fetches = fetches,
                                 .fetch_count = tasks,
                                 .timeout_ms = PATIENCE_MS};
    if (braid_session_run(s, &args, st)) fail_msg("%s", st->message);
    for (int t = 0; t < tasks; t++) {
        check_sum(got[t], values, tasks);
        braid_tensor_free(got[t]);
    }
    for (int t = 0; t < tasks; t++)
        braid_tensor_free(values[t]);
}

static void check_sums(braid_server *server, int tasks)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x[TASKS_MAX], sums[TASKS_MAX];
    for (int t = 0; t < tasks; t++)
        sums[t] = add_member(g, t, tasks, 1, &x[t]);
    braid_session *s = braid_session_open(g, &(braid_session_options){.server = server}, st);
    if (!s) fail_msg("%s", st->message);
    for (int round = 0; round < 2; round++) // the offers to read memory come with the first
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            sum_and_check(s, x, sums, tasks, sizes[i]);
    braid_session_close(s, st);
    braid_graph_free(g);
}

// ---- Tests ----

// Task 0, which leads the group, starts when the others are there, or so much later.
static void check_cluster(int behind_ms)
{
    test_cluster *c = test_cluster_new(TEST_GRPC, 0, TASKS);
    pid_t children[TASKS];
    char json[256];
    int len = snprintf(json, sizeof json, "{\"worker\": [");
    for (int t = 0; t < TASKS; t++)
        len += snprintf(json + len, sizeof json - (size_t)len, "%s\"%s\"", t ? ", " : "",
                        braid_cluster_address(c->spec, "worker", t));
    snprintf(json + len, sizeof json - (size_t)len, "]}");
    for (int t = 1; t < TASKS; t++)
        children[t] = start_task(json, t);
    bd_event never;
    bd_event_init(&never);
    if (behind_ms) bd_event_wait_until(&never, bd_deadline_after_ms(behind_ms));
    bd_event_fini(&never);
    check_sums(test_start(c, "worker", 0, NULL), TASKS);
    for (int t = 1; t < TASKS; t++) {
        kill(children[t], SIGKILL);
        waitpid(children[t], NULL, 0);
    }
    test_cluster_free(c);
}

static void sums_by_memory_have_the_bits_of_the_order_of_ranks(void **state)
{
    (void)state;
    check_cluster(0);
}

static void a_leader_that_has_just_started_is_reached(void **state)
{
    (void)state;
    check_cluster(BEHIND_MS);
}

static void sums_over_connections_have_the_bits_of_the_order_of_ranks(void **state)
{
    (void)state;
    setenv(BD_CROSS_MEMORY_VARIABLE, "0", 1);
    check_cluster(0);
    unsetenv(BD_CROSS_MEMORY_VARIABLE);
}

static bool mpi_has_brought_tensors_to_all(const braid_cluster *cluster, int tasks)
{
    BD_STATUS(st);
    const braid_monitor_options options = {.timeout_ms = MPI_PATIENCE_MS};
    bool all = true;
    for (int t = 0; t < tasks && all; t++) {
        braid_task_description *d =
            braid_describe_task(braid_cluster_address(cluster, "worker", t), &options, st);
        if (!d) fail_msg("%s", st->message);
        all = d->mpi_bytes > 0;
        braid_task_description_free(d);
    }
    return all;
}

// MPI starts beside the first steps, so the sums go on until it has brought tensors.
static void sums_of_the_ranks_of_mpirun_have_the_bits_of_their_order(void **state)
{
    BD_STATUS(st);
    const braid_cluster *cluster = *state;
    const int tasks = braid_cluster_num_tasks(cluster, "worker");
    const int64_t deadline_ns = bd_deadline_after_ms(MPI_PATIENCE_MS);
    braid_server *server = braid_server_start(cluster, "worker", 0, NULL, st);
    if (!server) fail_msg("%s", st->message);
    do
        check_sums(server, tasks);
    while (!mpi_has_brought_tensors_to_all(cluster, tasks) && bd_now_ns() < deadline_ns);
    check_sums(server, tasks);
    braid_server_free(server);
}

// One of the ranks.
static int run_rank(void)
{
    BD_STATUS(st);
    braid_cluster *cluster = braid_cluster_from_env(st);
    if (!cluster) {
        fprintf(stderr, "%s\n", st->message);
        return 1;
    }
    const int task = braid_cluster_this_task(cluster);
    if (task > 0) return serve(cluster, task);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(sums_of_the_ranks_of_mpirun_have_the_bits_of_their_order, cluster)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    BD_STATUS(st);
    if (getenv("OMPI_COMM_WORLD_RANK")) return run_rank();
    if (argc == 3) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return serve(braid_cluster_from_json(argv[1], st), atoi(argv[2]));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_by_memory_have_the_bits_of_the_order_of_ranks),
        cmocka_unit_test(sums_over_connections_have_the_bits_of_the_order_of_ranks),
        cmocka_unit_test(a_leader_that_has_just_started_is_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
