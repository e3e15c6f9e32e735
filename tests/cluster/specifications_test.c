// Tests of servers that were started with different specifications of their cluster: they name each other.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"
#include "support/test_cluster.h"
#include <string.h>

typedef struct fixture {
    test_cluster *cluster; // ps/0, ps/1, worker/0, worker/1; each test starts some of them
    braid_graph *graph;
} fixture;

// ---- The log ----

static bd_mutex log_mu = BD_MUTEX_INIT;
static bd_cond log_changed = BD_COND_INIT;
static bd_strbuf lines; // "E text\n": those about specifications; guarded by log_mu
static int line_count;  // guarded by log_mu

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (!strstr(message, " were started with ")) return;
    bd_mutex_lock(&log_mu);
    bd_strbuf_appendf(&lines, "%c %s\n", "DIWE"[level], message);
    line_count++;
    bd_cond_broadcast(&log_changed);
    bd_mutex_unlock(&log_mu);
}

// Waits for the lines of the two tasks; nothing more may be there.
static void assert_two_lines(const char *first, const char *second)
{
    const int64_t deadline = bd_deadline_after_ms(PATIENCE_MS);
    bool is_late = false;
    bd_mutex_lock(&log_mu);
    while (line_count < 2 && !is_late)
        is_late = bd_cond_wait_until(&log_changed, &log_mu, deadline);
    const char *text = bd_strbuf_str(&lines);
    if (line_count != 2 || !strstr(text, first) || !strstr(text, second))
        fail_msg("%s%s\n%s\nare expected, got\n%s", is_late ? "late: " : "", first, second, text);
    bd_mutex_unlock(&log_mu);
}

static void assert_no_lines(void)
{
    bd_mutex_lock(&log_mu);
    if (line_count) fail_msg("%s", bd_strbuf_str(&lines));
    bd_mutex_unlock(&log_mu);
}

// ---- Servers and sessions ----

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(TEST_GRPC, 2, 2);
    f->graph = braid_graph_new();
    braid_set_log_sink(read_log, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    braid_graph_free(f->graph);
    test_cluster_free(f->cluster);
    bd_free(f);
    braid_set_log_sink(NULL, NULL);
    bd_strbuf_clear(&lines);
    line_count = 0;
    return 0;
}

// Returns the text with ports in place of $0 to $3, those of ps/0, ps/1, worker/0 and worker/1, and double
// quotes in place of single ones.
static char *with_ports(const fixture *f, const char *pattern)
{
    bd_strbuf text = {0};
    for (const char *at = pattern; *at; at++)
        if (*at == '$')
            bd_strbuf_appendf(&text, "%d", f->cluster->ports[*++at - '0'].number);
        else
            bd_strbuf_append_char(&text, *at == '\'' ? '"' : *at);
    return bd_strbuf_take(&text);
}

static void start(fixture *f, const char *job, int index, const char *pattern)
{
    BD_STATUS(st);
    char *json = with_ports(f, pattern);
    braid_cluster *all = f->cluster->spec;
    f->cluster->spec = braid_cluster_from_json(json, st);
    if (!f->cluster->spec) fail_msg("%s: %s", json, st->message);
    test_start(f->cluster, job, index, NULL);
    braid_cluster_free(f->cluster->spec);
    f->cluster->spec = all;
    bd_free(json);
}

static void assert_logged(const fixture *f, const char *first_pattern, const char *second_pattern)
{
    char *first = with_ports(f, first_pattern), *second = with_ports(f, second_pattern);
    assert_two_lines(first, second);
    bd_free(first);
    bd_free(second);
}

// A session of the worker, on itself and the tasks of job ps.
static void open_session(fixture *f, int worker, braid_status *st)
{
    static const char *const filters[] = {"/job:ps"};
    const braid_session_options options = {.device_filters = filters, .device_filter_count = 1};
    braid_session *s = test_session(f->cluster, f->graph, "worker", worker, &options, st);
    if (s) braid_session_close(s, st);
}

// ---- Tests ----

static void tasks_that_know_other_tasks_name_them_and_open_no_session(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2']}");
    start(f, "worker", 0, "{'ps': ['127.0.0.1:$0', '127.0.0.1:$1'], 'worker': ['127.0.0.1:$2']}");
    assert_logged(f,
                  "E /job:ps/task:0 at 127.0.0.1:$0 and this task, /job:worker/task:0, were started with "
                  "different cluster specifications: this task has /job:ps/task:1 at 127.0.0.1:$1, it has "
                  "none. Start all tasks with the same one\n",
                  "E /job:worker/task:0 at 127.0.0.1:$2 and this task, /job:ps/task:0, were started with "
                  "different cluster specifications: it has /job:ps/task:1 at 127.0.0.1:$1, this task has "
                  "none. Start all tasks with the same one\n");
    open_session(f, 0, st); // and does not wait for ps/1
    assert_error(st, BRAID_INVALID_ARGUMENT, "CreateSession: /job:ps/task:0 at 127.0.0.1:");
    assert_logged(f, "", ""); // nothing is logged again
}

static void a_task_that_the_other_does_not_know_is_named(void **state)
{
    fixture *f = *state;
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2']}");
    start(f, "worker", 1, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2', '127.0.0.1:$3']}");
    assert_logged(f, "E /job:worker/task:1 at 127.0.0.1:$3 and this task, /job:ps/task:0, were started with ",
                  "this task has /job:worker/task:1 at 127.0.0.1:$3, it has none.");
}

static void tasks_that_were_started_alike_log_nothing(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2']}");
    start(f, "worker", 0, "{'worker': {'0': '127.0.0.1:$2'}, 'ps': ['127.0.0.1:$0']}");
    open_session(f, 0, st);
    assert_int_equal(st->code, BRAID_OK);
    assert_no_lines();
}

static void another_spelling_of_an_address_is_named_and_does_no_harm(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2']}");
    start(f, "worker", 0, "{'ps': ['localhost:$0'], 'worker': ['127.0.0.1:$2']}");
    open_session(f, 0, st);
    assert_int_equal(st->code, BRAID_OK);
    assert_logged(f,
                  "W /job:ps/task:0 at localhost:$0 and this task, /job:worker/task:0, were started with "
                  "addresses that are written differently: it has /job:ps/task:0 at 127.0.0.1:$0, this task "
                  "at localhost:$0. Write them alike for all tasks\n",
                  "W /job:worker/task:0 at 127.0.0.1:$2 and this task, /job:ps/task:0, were started with "
                  "addresses that are written differently: it has /job:ps/task:0 at localhost:$0, this task "
                  "at 127.0.0.1:$0. Write them alike for all tasks\n");
}

static void another_address_of_a_task_is_an_error_in_the_log(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2', '127.0.0.1:$3']}");
    start(f, "worker", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2', '127.0.0.1:$1']}");
    open_session(f, 0, st); // the two addresses may lead to one task
    assert_int_equal(st->code, BRAID_OK);
    assert_logged(f, "E /job:ps/task:0 at 127.0.0.1:$0 and this task, /job:worker/task:0, were started with ",
                  "it has /job:worker/task:1 at 127.0.0.1:$1, this task at 127.0.0.1:$3.");
}

static void a_task_may_know_a_part_of_a_sparse_job(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    start(f, "ps", 0, "{'ps': ['127.0.0.1:$0'], 'worker': ['127.0.0.1:$2', '127.0.0.1:$3']}");
    start(f, "worker", 1, "{'ps': ['127.0.0.1:$0'], 'worker': {'1': '127.0.0.1:$3'}}");
    open_session(f, 1, st);
    assert_int_equal(st->code, BRAID_OK);
    assert_no_lines();
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(tasks_that_know_other_tasks_name_them_and_open_no_session),
        TEST(a_task_that_the_other_does_not_know_is_named),
        TEST(tasks_that_were_started_alike_log_nothing),
        TEST(another_spelling_of_an_address_is_named_and_does_no_harm),
        TEST(another_address_of_a_task_is_an_error_in_the_log),
        TEST(a_task_may_know_a_part_of_a_sparse_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
