// Tests of descriptions in Prometheus' text format.
#include "cluster/monitoring/description.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void has_line(const bd_strbuf *text, const char *line)
{
    const size_t len = strlen(line);
    for (const char *at = text->data; (at = strstr(at, line)); at++)
        if ((at == text->data || at[-1] == '\n') && at[len] == '\n') return;
    fail_msg("there is no line '%s' in:\n%s", line, text->data);
}

static void metrics_of(const braid_task_description *d, bd_strbuf *out)
{
    bd_description_append_metrics(d, out);
    assert_true(out->len > 0 && out->data[out->len - 1] == '\n');
}

static void a_counter_is_written_in_full(void **state)
{
    (void)state;
    const braid_task_description d = {
        .job = "ps", .address = "", .version = "", .sent_bytes = 123456789012345, .processor_seconds = 1.25};
    bd_strbuf out = {0};
    metrics_of(&d, &out);
    has_line(&out, "# TYPE braid_tensor_sent_bytes_total counter");
    has_line(&out, "braid_tensor_sent_bytes_total 123456789012345");
    has_line(&out, "process_cpu_seconds_total 1.25");
    bd_strbuf_fini(&out);
}

static void the_classes_of_a_histogram_add_up(void **state)
{
    (void)state;
    const braid_step_class classes[] = {{0.001, 5}, {0.5, 2}, {(double)INFINITY, 1}};
    const braid_task_description d = {.job = "worker",
                                      .address = "",
                                      .version = "",
                                      .step_classes = classes,
                                      .step_class_count = 3,
                                      .step_seconds = 2.5};
    bd_strbuf out = {0};
    metrics_of(&d, &out);
    has_line(&out, "# TYPE braid_step_duration_seconds histogram");
    has_line(&out, "braid_step_duration_seconds_bucket{le=\"0.001\"} 5");
    has_line(&out, "braid_step_duration_seconds_bucket{le=\"0.5\"} 7");
    has_line(&out, "braid_step_duration_seconds_bucket{le=\"+Inf\"} 8");
    has_line(&out, "braid_step_duration_seconds_count 8");
    has_line(&out, "braid_step_duration_seconds_sum 2.5");
    bd_strbuf_fini(&out);
}

static void labels_are_quoted(void **state)
{
    (void)state;
    const braid_task_description d = {.job = "a\"b\\c\nd", .index = 2, .address = "h:1", .version = "0.1"};
    bd_strbuf out = {0};
    metrics_of(&d, &out);
    has_line(&out, "braid_task_info{job=\"a\\\"b\\\\c\\nd\",task=\"2\",address=\"h:1\",version=\"0.1\"} 1");
    bd_strbuf_fini(&out);
}

static void tasks_are_counted_by_state(void **state)
{
    (void)state;
    const braid_known_task tasks[] = {{"ps", 0, "h:1", BRAID_TASK_CONNECTED},
                                      {"worker", 0, "h:2", BRAID_TASK_LOST},
                                      {"worker", 1, "h:3", BRAID_TASK_LOST}};
    const braid_task_description d = {
        .job = "ps", .address = "", .version = "", .tasks = tasks, .task_count = 3};
    bd_strbuf out = {0};
    metrics_of(&d, &out);
    has_line(&out, "braid_cluster_tasks{state=\"lost\"} 2");
    has_line(&out, "braid_cluster_tasks{state=\"connected\"} 1");
    has_line(&out, "braid_cluster_tasks{state=\"done\"} 0");
    bd_strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_is_written_in_full),
        cmocka_unit_test(the_classes_of_a_histogram_add_up),
        cmocka_unit_test(labels_are_quoted),
        cmocka_unit_test(tasks_are_counted_by_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
