// Run configurations: every form of TF_CONFIG, and what is wrong with others.
#include "base/testing/test.h"

#include "base/alloc.h"
#include <braid/run_config.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER "{\"cluster\": {\"chief\": [\"a:1\"], \"worker\": [\"b:1\", \"c:1\"], \"ps\": [\"d:1\"]}, "
#define TASK(type, index) "\"task\": {\"type\": \"" type "\", \"index\": " #index "}}"

// "TYPE/ID flags ps=N workers=N id=N", for comparisons (bd_free).
static char *text_of(const braid_run_config *c)
{
    return bd_asprintf("%s/%d%s%s ps=%d workers=%d id=%d", c->task_type, c->task_id,
                       c->is_chief ? " chief" : "", c->is_distributed ? " distributed" : "",
                       c->num_ps_replicas, c->num_worker_replicas, c->global_id_in_cluster);
}

static void tf_config_says_what_a_task_does(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"{}", "worker/0 chief ps=0 workers=1 id=0"},
        {"{\"task\": {\"type\": \"worker\", \"index\": 0}}", "worker/0 chief ps=0 workers=1 id=0"},
        {"{\"task\": {\"type\": \"evaluator\", \"index\": 0}}", "evaluator/0 ps=0 workers=0 id=-1"},
        {"{\"cluster\": {\"chief\": [\"a:1\"]}, " TASK("chief", 0), "chief/0 chief ps=0 workers=1 id=0"},
        {CLUSTER TASK("chief", 0), "chief/0 chief distributed ps=1 workers=3 id=0"},
        {CLUSTER TASK("worker", 1), "worker/1 distributed ps=1 workers=3 id=2"},
        {CLUSTER TASK("ps", 0), "ps/0 distributed ps=1 workers=3 id=3"},
        {CLUSTER TASK("evaluator", 0), "evaluator/0 ps=0 workers=0 id=-1"},
        {"{\"cluster\": {\"master\": [\"a:1\"], \"worker\": [\"b:1\"]}, \"environment\": \"cloud\", " TASK(
             "master", 0),
         "master/0 chief distributed ps=0 workers=2 id=0"},
        // of Kubeflow, without a chief: worker 0 is it
        {"{\"cluster\": {\"worker\": [\"j-w-0.ns.svc:2222\", \"j-w-1.ns.svc:2222\"], \"ps\": [\"p:2222\"]}, " TASK(
             "worker", 0),
         "worker/0 chief distributed ps=1 workers=2 id=0"},
        {"{\"sparseCluster\": {\"worker\": {\"3\": \"w:1\"}, \"ps\": [\"p:1\"]}, " TASK("worker", 3),
         "worker/3 chief distributed ps=1 workers=1 id=0"},
    };
    for (size_t i = 0; i < BD_COUNTOF(examples); i++) {
        BD_STATUS(st);
        braid_run_config *c = braid_run_config_new(
            &(braid_run_config_options){.model_dir = "/m", .tf_config = examples[i][0]}, st);
        assert_ok(st);
        char *text = text_of(c);
        assert_string_equal(text, examples[i][1]);
        bd_free(text);
        braid_run_config_free(c);
    }
}

static void what_is_wrong_with_tf_config_is_said(void **state)
{
    (void)state;
    static const char *const examples[][2] = {
        {"{", "TF_CONFIG: no valid JSON"},
        {"{\"cluster\": {\"chief\": [\"a:1\"]}}", "\"task\" with type and index is missing"},
        {"{\"task\": {\"type\": \"ps\"}}", "/job:ps/task:0, and there is no cluster"},
        {"{\"task\": {\"type\": \"worker\", \"index\": 1}}", "/job:worker/task:1, and there is no cluster"},
        {"{\"cluster\": {\"ps\": [\"a:1\"]}, " TASK("ps", 0), "no task that trains"},
        {"{\"cluster\": {\"cook\": [\"a:1\"]}, " TASK("cook", 0), "type is 'cook'"},
        {CLUSTER TASK("worker", 7), "/job:worker/task:7, which the cluster does not have"},
        {"{\"model_dir\": \"/other\"}", "'/m' by the program and '/other' by TF_CONFIG"},
        {"{\"model_dir\": 7}", "model_dir is a number"},
        {"{\"session_master\": []}", "session_master is a list"},
    };
    for (size_t i = 0; i < BD_COUNTOF(examples); i++) {
        BD_STATUS(st);
        assert_null(braid_run_config_new(
            &(braid_run_config_options){.model_dir = "/m", .tf_config = examples[i][0]}, st));
        assert_error(st, BRAID_INVALID_ARGUMENT, examples[i][1]);
    }
}

static void settings_come_from_tf_config(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_run_config *c = braid_run_config_new(
        &(braid_run_config_options){.tf_config =
                                        "{\"model_dir\": \"/m\", \"session_master\": \"grpc://a:1\", "
                                        "\"eval_session_master\": \"grpc://b:1\"}"},
        st);
    assert_ok(st);
    assert_string_equal(c->model_dir, "/m");
    assert_string_equal(c->options.session.target, "grpc://a:1");
    assert_string_equal(c->evaluation_master, "grpc://b:1");
    braid_run_config_free(c);
}

static void a_worker_talks_to_the_parameter_servers_and_itself(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_run_config *c = braid_run_config_new(
        &(braid_run_config_options){.model_dir = "/m", .tf_config = CLUSTER TASK("worker", 1)}, st);
    assert_ok(st);
    assert_int_equal(c->options.session.device_filter_count, 2);
    assert_string_equal(c->options.session.device_filters[0], "/job:ps");
    assert_string_equal(c->options.session.device_filters[1], "/job:worker/task:1");
    braid_run_config_free(c);
}

static void tasks_of_one_run_find_its_temporary_directory(void **state)
{
    (void)state;
    BD_STATUS(st);
    setenv("BRAID_RUN_DIR", "/tmp/run", 1);
    for (int i = 0; i < 2; i++) {
        braid_run_config *c =
            braid_run_config_new(&(braid_run_config_options){.tf_config = i ? CLUSTER TASK("evaluator", 0)
                                                                            : CLUSTER TASK("worker", 1)},
                                 st);
        assert_ok(st);
        assert_string_equal(c->model_dir, "/tmp/run/model");
        braid_run_config_free(c);
    }
    unsetenv("BRAID_RUN_DIR");
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_run_config_options options = {
        .model_dir = "/m", .tf_config = "{}", .save_checkpoints_steps = 5, .save_checkpoints_seconds = 60};
    assert_null(braid_run_config_new(&options, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "every 5 steps or every 60 seconds: give one of them");
    assert_null(braid_run_config_new(&(braid_run_config_options){.tf_config = CLUSTER TASK("chief", 0)}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a model directory");
    assert_null(
        braid_run_config_new(&(braid_run_config_options){.tf_config = CLUSTER TASK("evaluator", 0)}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a model directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tf_config_says_what_a_task_does),
        cmocka_unit_test(what_is_wrong_with_tf_config_is_said),
        cmocka_unit_test(settings_come_from_tf_config),
        cmocka_unit_test(a_worker_talks_to_the_parameter_servers_and_itself),
        cmocka_unit_test(tasks_of_one_run_find_its_temporary_directory),
        cmocka_unit_test(contradictions_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
