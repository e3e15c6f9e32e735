// Tests of clusters from flags, JSON and TF_CONFIG: accepted forms, and the errors for others.
#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"
#include <braid/log.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// "ps/0=a:1 worker/1=b:2 (worker/1)", the form in which the tables below write clusters.
static char *to_text(const braid_cluster *c)
{
    bd_strbuf text = {0};
    for (int j = 0; j < braid_cluster_num_jobs(c); j++) {
        const char *job = braid_cluster_job(c, j);
        for (int i = 0; i < braid_cluster_num_tasks(c, job); i++) {
            const int index = braid_cluster_task_index(c, job, i);
            bd_strbuf_appendf(&text, "%s%s/%d=%s", text.len ? " " : "", job, index,
                              braid_cluster_address(c, job, index));
        }
    }
    if (braid_cluster_this_job(c))
        bd_strbuf_appendf(&text, "%s(%s/%d%s)", text.len ? " " : "", braid_cluster_this_job(c),
                          braid_cluster_this_task(c), c->this_replica ? ", replica 1" : "");
    return bd_strbuf_take(&text);
}

typedef struct example {
    const char *from, *expected; // a cluster as text; or with `!` in front, words of the error
} example;

static void check(const example *e, braid_cluster *c, const braid_status *st)
{
    char *text = c ? to_text(c) : bd_asprintf("!%s", st->message);
    const bool right =
        e->expected[0] == '!' ? text[0] == '!' && strstr(text, e->expected + 1) : !strcmp(text, e->expected);
    if (!right) fail_msg("%s\n  gave     %s\n  expected %s", e->from, text, e->expected);
    if (!c) assert_int_equal(st->code, BRAID_INVALID_ARGUMENT);
    bd_free(text);
    braid_cluster *copy = c ? bd_cluster_copy(c) : NULL;
    if (copy) {
        text = to_text(copy);
        assert_string_equal(text, e->expected);
        bd_free(text);
    }
    braid_cluster_free(copy);
    braid_cluster_free(c);
}

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void hosts_are_lists_of_host_and_port(void **state)
{
    (void)state;
    static const struct {
        const char *ps, *workers, *expected;
    } examples[] = {
        {"localhost:2222", "localhost:2223,localhost:2224",
         "ps/0=localhost:2222 worker/0=localhost:2223 worker/1=localhost:2224"},
        {NULL, "10.0.0.1:2222", "worker/0=10.0.0.1:2222"},
        {"", "", ""},
        {"[::1]:2222", "[fe80::12]:65535", "ps/0=[::1]:2222 worker/0=[fe80::12]:65535"},
        {"a-b.c_d.example:1", NULL, "ps/0=a-b.c_d.example:1"},
        {"localhost", NULL, "!/job:ps/task:0: 'localhost' is no host:port: the port is missing"},
        {NULL, "a:1,b", "!/job:worker/task:1: 'b' is no host:port"},
        {"a:1,", NULL, "!/job:ps/task:1: '' is no host:port"},
        {"a:0", NULL, "!the port is a number from 1 to 65535"},
        {"a:65536", NULL, "!the port is a number from 1 to 65535"},
        {"a:+1", NULL, "!the port is a number"},
        {"a: 1", NULL, "!the port is a number"},
        {"a:http", NULL, "!the port is a number"},
        {":2222", NULL, "!'' is no host name"},
        {"a b:1", NULL, "!'a b' is no host name"},
        {"::1:2222", NULL, "!'::1' is no host name"},
        {"[a]:2222", NULL, "!'a' is no host name"},
        {"grpc://a:1", NULL, "!without a scheme"},
        {"a:1,a:1", NULL, "!/job:ps/task:1 has the address a:1 of /job:ps/task:0"},
        {"a:1", "A:1", "!/job:worker/task:0 has the address A:1 of /job:ps/task:0 (a:1)"},
        {"127.0.0.1:1", "a:1,localhost:1",
         "!/job:worker/task:1 has the address localhost:1 of /job:ps/task:0 (127.0.0.1:1)"},
        {"LocalHost:1", "127.0.0.1:1", "!has the address 127.0.0.1:1 of /job:ps/task:0 (LocalHost:1)"},
        {"localhost:1", "[::1]:1", "!has the address [::1]:1 of /job:ps/task:0 (localhost:1)"},
        {"127.0.0.1:1,127.0.0.2:1,[::1]:1", "localhost:11",
         "ps/0=127.0.0.1:1 ps/1=127.0.0.2:1 ps/2=[::1]:1 worker/0=localhost:11"},
        // Sockets.
        {"unix:/run/a b", "unix:/run/B,a:1", "ps/0=unix:/run/a b worker/0=unix:/run/B worker/1=a:1"},
        {"unix:/a", "unix:/a", "!/job:worker/task:0 has the address unix:/a of /job:ps/task:0"},
        {"unix:a", NULL, "!/job:ps/task:0: 'unix:a' is no unix:/path: the path must begin with '/'"},
        {"unix:", NULL, "!the path must begin with '/'"},
        {"unix:/a\nb", NULL, "!/job:ps/task:0: The path of the socket of a task has a control character"},
        {"unix:/a|unix:/b", NULL, "!replicas have addresses of the form host:port"},
        {"a:1|unix:/b", NULL, "!'unix:/b' is no host:port"},
        {"unix:/" X50 X50 "123456", NULL, "ps/0=unix:/" X50 X50 "123456"},
        {"unix:/" X50 X50 "1234567", NULL, "!the path of a socket has at most 107 bytes"},
        // Tasks of two processes.
        {"a:1|b:1,[::1]:2|c:1", "d:1", "ps/0=a:1|b:1 ps/1=[::1]:2|c:1 worker/0=d:1"},
        {"a:1|b:1|c:1", NULL, "!/job:ps/task:0: 'a:1|b:1|c:1' has more than the two addresses of replicas"},
        {"a:1|", NULL, "!/job:ps/task:0: '' is no host:port"},
        {"|a:1", NULL, "!/job:ps/task:0: '' is no host:port"},
        {"a:1|b", NULL, "!/job:ps/task:0: 'b' is no host:port: the port is missing"},
        {"a:1|A:1", NULL, "!/job:ps/task:0: 'a:1|A:1' has the same address twice"},
        {"a:1|b:1,c:1|b:1", NULL, "!/job:ps/task:1 has the address b:1 of /job:ps/task:0"},
        {"a:1", "b:1|c:1", "!/job:worker/task:0: 'b:1|c:1' has two addresses; only tasks of job ps"},
        {"a:1|b:1", "a:1", "!/job:worker/task:0 has the address a:1 of /job:ps/task:0"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        BD_STATUS(st);
        char *from = bd_asprintf("%s | %s", examples[i].ps ? examples[i].ps : "-",
                                 examples[i].workers ? examples[i].workers : "-");
        check(&(example){from, examples[i].expected},
              braid_cluster_from_hosts(examples[i].ps, examples[i].workers, st), st);
        bd_free(from);
    }
}

static void json_holds_lists_or_maps_of_tasks(void **state)
{
    (void)state;
    static const example examples[] = {
        {"{\"worker\": [\"b:2\", \"c:3\"], \"ps\": [\"a:1\"]}", "ps/0=a:1 worker/0=b:2 worker/1=c:3"},
        {"{\"worker\": {\"7\": \"b:2\", \"1\": \"c:3\"}}", "worker/1=c:3 worker/7=b:2"},
        {"{\"evaluator\": [\"a:1\"]}", "evaluator/0=a:1"},
        {"{\"ps\": [], \"worker\": {}}", ""},
        {"{}", ""},
        {"", "!Cluster: no valid JSON"},
        {"{\"ps\": [\"a:1\"]", "!line 1"},
        {"[]", "!a cluster is an object of jobs, not a list"},
        {"{\"ps\": \"a:1\"}", "!job 'ps' is a string, not a list of addresses"},
        {"{\"ps\": [1]}", "!/job:ps/task:0 is a number, not \"host:port\""},
        {"{\"ps\": [null]}", "!/job:ps/task:0 is null"},
        {"{\"ps\": {\"x\": \"a:1\"}}", "!job 'ps': 'x' is no task index"},
        {"{\"ps\": {\"-1\": \"a:1\"}}", "!'-1' is no task index"},
        {"{\"ps\": {\"3000000000\": \"a:1\"}}", "!3000000000 is no task index"},
        {"{\"ps\": {\"1\": \"a:1\", \"01\": \"b:1\"}}", "!/job:ps/task:1 is given twice"},
        {"{\"ps\": [\"a:1\"], \"ps\": [\"b:1\"]}", "!duplicate object key"},
        {"{\"p s\": [\"a:1\"]}", "!'p s' is no job name"},
        {"{\"\": [\"a:1\"]}", "!'' is no job name"},
        {"{\"chief\": [\"a:1\"], \"master\": [\"b:1\"]}", "!a chief or a master, not both"},
        {"{\"chief\": [\"a:1\", \"b:1\"]}",
         "!job chief has 2 tasks, but a cluster has one chief. List the others as job worker"},
        {"{\"master\": {\"0\": \"a:1\", \"7\": \"b:1\"}}", "!job master has 2 tasks"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        BD_STATUS(st);
        check(&examples[i], braid_cluster_from_json(examples[i].from, st), st);
    }
}

static void tf_config_says_cluster_and_task(void **state)
{
    (void)state;
    static const example examples[] = {
        {"{\"cluster\": {\"ps\": [\"a:1\"], \"worker\": [\"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}",
         "ps/0=a:1 worker/0=b:1 (worker/0)"},
        {"{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": \"0\"},"
         " \"environment\": \"cloud\", \"model_dir\": \"/m\", \"job\": {\"x\": 1}}",
         "chief/0=a:1 worker/0=b:1 (worker/0)"},
        {"{\"cluster\": {\"master\": [\"a:1\"]}, \"task\": {\"type\": \"master\"}}",
         "master/0=a:1 (master/0)"},
        // An evaluator is not part of the cluster it evaluates.
        {"{\"cluster\": {\"chief\": [\"a:1\"], \"evaluator\": [\"e:1\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}}",
         "chief/0=a:1 (chief/0)"},
        {"{\"cluster\": {\"chief\": [\"a:1\"], \"evaluator\": [\"e:1\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}",
         "(evaluator/0)"},
        {"{\"cluster\": {\"chief\": [\"a:1\"]}, \"task\": {\"type\": \"evaluator\", \"index\": 0}}",
         "(evaluator/0)"},
        // Dynamic workers.
        {"{\"sparseCluster\": {\"worker\": {\"3\": \"w-3.ns.svc:2222\"}, \"ps\": [\"p-0.ns.svc:2222\"]},"
         " \"task\": {\"type\": \"worker\", \"index\": 3}}",
         "ps/0=p-0.ns.svc:2222 worker/3=w-3.ns.svc:2222 (worker/3)"},
        // Tasks of two processes.
        {"{\"cluster\": {\"ps\": [\"a:1|b:1\"]}, \"task\": {\"type\": \"ps\", \"index\": 0, \"replica\": 1}}",
         "ps/0=a:1|b:1 (ps/0, replica 1)"},
        {"{\"cluster\": {\"ps\": [\"a:1\"]}, \"task\": {\"type\": \"ps\", \"index\": 0, \"replica\": 0}}",
         "ps/0=a:1 (ps/0)"},
        {"{\"cluster\": {\"ps\": [\"a:1\"]}, \"task\": {\"type\": \"ps\", \"index\": 0, \"replica\": 1}}",
         "!TF_CONFIG: this is replica 1 of /job:ps/task:0, which has one address, a:1"},
        {"{\"cluster\": {\"ps\": [\"a:1|b:1\"]}, \"task\": {\"type\": \"ps\", \"replica\": 2}}",
         "!TF_CONFIG: task: replica is no replica: 0 or 1"},
        // No cluster is local.
        {"{}", ""},
        {"{\"task\": {}}", ""},
        {"{\"model_dir\": \"/m\"}", ""},
        {"{\"cluster\": {}}", ""},
        {"{\"cluster\": {\"ps\": [\"a:1\"]}}", "ps/0=a:1"},
        {"{\"model_dir\": 3}", "!TF_CONFIG: model_dir is a number, not a text"},
        {"x", "!TF_CONFIG: no valid JSON"},
        {"[]", "!TF_CONFIG: it is a list, not an object with cluster and task"},
        {"{\"cluster\": 3}", "!TF_CONFIG: a cluster is an object of jobs, not a number"},
        {"{\"task\": \"worker\"}", "!task is a string, not an object with type and index"},
        {"{\"task\": {\"type\": 1}}", "!task: type is a number, not the name of a job"},
        {"{\"task\": {\"type\": \"worker\", \"index\": -1}}", "!task: index is no task index"},
        {"{\"task\": {\"type\": \"worker\", \"index\": \"x\"}}", "!task: index is no task index"},
        {"{\"task\": {\"type\": \"worker\", \"index\": 1.5}}", "!task: index is no task index"},
        {"{\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\"}}",
         "!TF_CONFIG: task: index is missing, and job worker has 2 tasks. It says which of them this process is"},
        {"{\"cluster\": {\"worker\": [\"a:1\"]}, \"task\": {\"type\": \"worker\", \"index\": 1}}",
         "!this is /job:worker/task:1, which the cluster does not have"},
        {"{\"cluster\": {\"chief\": [\"a:1\"], \"master\": [\"b:1\"]}}", "!a chief or a master, not both"},
        {"{\"cluster\": {\"chief\": [\"a:1\", \"b:1\"]}}", "!TF_CONFIG: job chief has 2 tasks"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        BD_STATUS(st);
        check(&examples[i], braid_cluster_from_tf_config(examples[i].from, st), st);
    }
}

static void tf_config_keeps_settings_of_programs(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_cluster *c = braid_cluster_from_tf_config(
        "{\"model_dir\": \"/m\", \"session_master\": \"grpc://a:1\", \"rpc_layer\": \"grpc\"}", st);
    braid_cluster *copy = bd_cluster_copy(c);
    braid_cluster_free(c);
    assert_string_equal(braid_cluster_setting(copy, "model_dir"), "/m");
    assert_string_equal(braid_cluster_setting(copy, "session_master"), "grpc://a:1");
    assert_null(braid_cluster_setting(copy, "eval_session_master"));
    assert_null(braid_cluster_setting(copy, "rpc_layer"));
    braid_cluster_free(copy);
}

static void the_environment_gives_the_cluster(void **state)
{
    (void)state;
    BD_STATUS(st);
    setenv("TF_CONFIG", "{\"cluster\": {\"ps\": [\"a:1\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}", 1);
    check(&(example){"TF_CONFIG", "ps/0=a:1 (ps/0)"}, braid_cluster_from_env(st), st);
    unsetenv("TF_CONFIG");
    check(&(example){"no TF_CONFIG", ""}, braid_cluster_from_env(st), st);
}

static char warned[1000]; // by the last line

static void take_warning(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    if (level == BRAID_LOG_WARNING) snprintf(warned, sizeof warned, "%s", message);
}

static void an_evaluator_in_the_cluster_is_warned_of(void **state)
{
    (void)state;
    braid_set_log_sink(take_warning, NULL);
    braid_cluster_free(braid_cluster_from_tf_config("{\"cluster\": {\"chief\": [\"a:1\"]}}", NULL));
    assert_string_equal(warned, "");
    braid_cluster_free(braid_cluster_from_tf_config(
        "{\"cluster\": {\"chief\": [\"a:1\"], \"evaluator\": [\"b:1\"]}}", NULL));
    assert_non_null(strstr(warned, "The job evaluator of \"cluster\" is left out; remove it there"));
    braid_cluster_free(braid_cluster_from_json("{\"evaluator\": [\"b:1\"]}", NULL));
    assert_non_null(strstr(warned, "because it reads checkpoints: remove the job"));
    braid_set_log_sink(NULL, NULL);
}

static void missing_jobs_and_tasks_have_no_address(void **state)
{
    (void)state;
    braid_cluster *c = braid_cluster_from_hosts("a:1", NULL, NULL);
    assert_null(braid_cluster_job(c, 1));
    assert_null(braid_cluster_job(c, -1));
    assert_int_equal(braid_cluster_num_tasks(c, "worker"), 0);
    assert_int_equal(braid_cluster_task_index(c, "ps", 1), -1);
    assert_null(braid_cluster_address(c, "ps", 1));
    assert_null(braid_cluster_address(c, NULL, 0));
    assert_null(braid_cluster_this_job(c));
    braid_cluster_free(c);
    braid_cluster_free(NULL);
    assert_null(braid_cluster_from_hosts("a", NULL, NULL));
}

static void each_replica_has_an_address(void **state)
{
    (void)state;
    braid_cluster *c = braid_cluster_from_hosts("a:1|b:2", "c:3", NULL);
    assert_int_equal(bd_address_replicas(braid_cluster_address(c, "ps", 0)), 2);
    assert_int_equal(bd_address_replicas(braid_cluster_address(c, "worker", 0)), 1);
    static const struct {
        const char *job;
        int index, replica;
        const char *expected; // an address, or the error
    } examples[] = {
        {"ps", 0, 0, "a:1"},
        {"ps", 0, 1, "b:2"},
        {"worker", 0, 0, "c:3"},
        {"ps", 0, 2, "/job:ps/task:0 at a:1|b:2 has no replica 2"},
        {"ps", 0, -1, "/job:ps/task:0 at a:1|b:2 has no replica -1"},
        {"worker", 0, 1, "/job:worker/task:0 at c:3 has no replica 1"},
        {"ps", 1, 0, "The cluster has no /job:ps/task:1"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        BD_STATUS(st);
        char *address =
            bd_cluster_replica_address(c, examples[i].job, examples[i].index, examples[i].replica, st);
        assert_string_equal(address ? address : st->message, examples[i].expected);
        assert_int_equal(st->code, address ? BRAID_OK : BRAID_INVALID_ARGUMENT);
        bd_free(address);
    }
    braid_cluster_free(c);
}

static void loopback_is_recognized(void **state)
{
    (void)state;
    assert_true(bd_host_is_loopback("127.0.0.1"));
    assert_true(bd_host_is_loopback("127.3.2.1"));
    assert_true(bd_host_is_loopback("::1"));
    assert_true(bd_host_is_loopback("localhost"));
    assert_false(bd_host_is_loopback("0.0.0.0"));
    assert_false(bd_host_is_loopback("10.0.0.1"));
    assert_false(bd_host_is_loopback("::"));
    assert_false(bd_host_is_loopback("127.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_lists_of_host_and_port),
        cmocka_unit_test(json_holds_lists_or_maps_of_tasks),
        cmocka_unit_test(tf_config_says_cluster_and_task),
        cmocka_unit_test(tf_config_keeps_settings_of_programs),
        cmocka_unit_test(the_environment_gives_the_cluster),
        cmocka_unit_test(an_evaluator_in_the_cluster_is_warned_of),
        cmocka_unit_test(missing_jobs_and_tasks_have_no_address),
        cmocka_unit_test(each_replica_has_an_address),
        cmocka_unit_test(loopback_is_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
