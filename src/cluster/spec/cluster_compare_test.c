// Tests of the comparison of cluster specifications, in both directions.
#include "base/testing/test.h"
#include "cluster/spec/cluster_compare.h"
#include <string.h>

static braid_cluster *parse(const char *text)
{
    BD_STATUS(st);
    braid_cluster *c =
        strstr(text, "luster\"") ? braid_cluster_from_tf_config(text, st) : braid_cluster_from_json(text, st);
    if (!c) fail_msg("%s: %s", text, st->message);
    return c;
}

static void each_difference_is_named_by_the_task(void **state)
{
    (void)state;
    static const struct {
        const char *own, *other;
        bd_cluster_difference expected;
        const char *text;
    } examples[] = {
        {"{\"ps\": [\"a:1\"], \"worker\": [\"b:1\"]}", "{\"worker\": [\"b:1\"], \"ps\": [\"a:1\"]}",
         BD_CLUSTERS_AGREE, ""},
        {"{}", "{}", BD_CLUSTERS_AGREE, ""},
        // Another set of tasks.
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"a:1\", \"b:1\"]}", BD_CLUSTERS_TASKS,
         "it has /job:ps/task:1 at b:1, this task has none"},
        {"{\"ps\": [\"a:1\", \"b:1\"]}", "{\"ps\": [\"a:1\"]}", BD_CLUSTERS_TASKS,
         "this task has /job:ps/task:1 at b:1, it has none"},
        {"{\"a\": [\"a:1\"], \"c\": [\"c:1\"]}", "{\"b\": [\"b:1\"]}", BD_CLUSTERS_TASKS,
         "this task has /job:a/task:0 at a:1, it has none; it has /job:b/task:0 at b:1, this task has none; "
         "this task has /job:c/task:0 at c:1, it has none"},
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"b:1\", \"c:1\"]}", BD_CLUSTERS_TASKS,
         "it has /job:ps/task:1 at c:1, this task has none"},
        {"{}", "{\"ps\": [\"a:1\", \"a:2\", \"a:3\", \"a:4\", \"a:5\", \"a:6\"]}", BD_CLUSTERS_TASKS,
         "it has /job:ps/task:0 at a:1, this task has none; it has /job:ps/task:1 at a:2, this task has none; "
         "it has /job:ps/task:2 at a:3, this task has none; it has /job:ps/task:3 at a:4, this task has none; "
         "and 2 more"},
        // Another address.
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"b:1\"]}", BD_CLUSTERS_ADDRESS,
         "it has /job:ps/task:0 at b:1, this task at a:1"},
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"a:2\"]}", BD_CLUSTERS_ADDRESS,
         "it has /job:ps/task:0 at a:2, this task at a:1"},
        {"{\"ps\": [\"a:1|b:1\"]}", "{\"ps\": [\"a:1\"]}", BD_CLUSTERS_ADDRESS,
         "it has /job:ps/task:0 at a:1, this task at a:1|b:1"},
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"a:1|b:1\"]}", BD_CLUSTERS_ADDRESS,
         "at a:1|b:1, this task at a:1"},
        {"{\"ps\": [\"unix:/a\"]}", "{\"ps\": [\"unix:/A\"]}", BD_CLUSTERS_ADDRESS, "unix:/A"},
        {"{\"ps\": [\"0.0.0.0:1\"]}", "{\"ps\": [\"a:11\"]}", BD_CLUSTERS_ADDRESS, "a:11"},
        {"{\"ps\": [\"0.0.0.0:1\"]}", "{\"ps\": [\"unix:/a:1\"]}", BD_CLUSTERS_ADDRESS, "unix:/a:1"},
        {"{\"ps\": [\"127.0.0.1:1\"]}", "{\"ps\": [\"[::1]:1\"]}", BD_CLUSTERS_ADDRESS, "[::1]:1"},
        // The same address, written differently.
        {"{\"ps\": [\"localhost:1\"]}", "{\"ps\": [\"127.0.0.1:1\"]}", BD_CLUSTERS_SPELLING,
         "it has /job:ps/task:0 at 127.0.0.1:1, this task at localhost:1"},
        {"{\"ps\": [\"localhost:1\"]}", "{\"ps\": [\"[::1]:1\"]}", BD_CLUSTERS_SPELLING, "[::1]:1"},
        {"{\"ps\": [\"localhost:1|a:1\"]}", "{\"ps\": [\"127.0.0.1:1|A:1\"]}", BD_CLUSTERS_SPELLING, "A:1"},
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"A:1\"]}", BD_CLUSTERS_SPELLING, "A:1"},
        {"{\"ps\": [\"0.0.0.0:1\"]}", "{\"ps\": [\"a:1\"]}", BD_CLUSTERS_SPELLING, "a:1"},
        {"{\"ps\": [\"a:1\"]}", "{\"ps\": [\"[::]:1\"]}", BD_CLUSTERS_SPELLING, "[::]:1"},
        // A sparse job lacks tasks; what it has is compared.
        {"{\"ps\": [\"p:1\"], \"worker\": [\"a:1\", \"b:1\"]}",
         "{\"ps\": [\"p:1\"], \"worker\": {\"1\": \"b:1\"}}", BD_CLUSTERS_AGREE, ""},
        {"{\"worker\": {\"1\": \"b:1\"}}", "{\"worker\": {\"0\": \"a:1\"}}", BD_CLUSTERS_AGREE, ""},
        {"{\"worker\": [\"a:1\"]}", "{\"worker\": {\"1\": \"b:1\"}}", BD_CLUSTERS_TASKS,
         "it has /job:worker/task:1 at b:1, this task has none"},
        {"{\"ps\": [\"p:1\"], \"worker\": [\"a:1\", \"b:1\"]}",
         "{\"ps\": [\"p:2\"], \"worker\": {\"1\": \"b:1\"}}", BD_CLUSTERS_ADDRESS,
         "it has /job:ps/task:0 at p:2, this task at p:1"},
        {"{\"sparseCluster\": {\"ps\": [\"p:1\"]}}", "{\"ps\": [\"p:1\", \"p:2\"], \"worker\": [\"a:1\"]}",
         BD_CLUSTERS_AGREE, ""},
    };
    for (size_t i = 0; i < BD_COUNTOF(examples); i++) {
        braid_cluster *own = parse(examples[i].own), *other = parse(examples[i].other);
        bd_strbuf text = {0}, back = {0};
        assert_int_equal(bd_cluster_compare(own, other, &text), examples[i].expected);
        if (examples[i].text[0] ? !strstr(bd_strbuf_str(&text), examples[i].text) : text.len > 0)
            fail_msg("%s and %s: %s", examples[i].own, examples[i].other, bd_strbuf_str(&text));
        assert_int_equal(bd_cluster_compare(other, own, &back), examples[i].expected);
        bd_strbuf_fini(&text);
        bd_strbuf_fini(&back);
        braid_cluster_free(own);
        braid_cluster_free(other);
    }
}

static uint64_t fingerprint(const char *json)
{
    braid_cluster *c = parse(json);
    const uint64_t of = bd_cluster_fingerprint(c);
    braid_cluster_free(c);
    return of;
}

static void the_fingerprint_is_that_of_tasks_and_addresses(void **state)
{
    (void)state;
    const uint64_t of = fingerprint("{\"ps\": [\"a:1\"], \"worker\": [\"b:1\", \"c:1\"]}");
    assert_true(of == fingerprint("{\"worker\": {\"1\": \"c:1\", \"0\": \"b:1\"}, \"ps\": [\"a:1\"]}"));
    assert_true(of != fingerprint("{\"ps\": [\"a:1\"], \"worker\": [\"c:1\", \"b:1\"]}"));
    assert_true(of != fingerprint("{\"ps\": [\"A:1\"], \"worker\": [\"b:1\", \"c:1\"]}"));
    assert_true(of != fingerprint("{\"ps\": [\"a:1\"], \"worker\": [\"b:1\"]}"));
    assert_true(fingerprint("{}") != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_difference_is_named_by_the_task),
        cmocka_unit_test(the_fingerprint_is_that_of_tasks_and_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
