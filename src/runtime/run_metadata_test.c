// Traced runs: RunMetadata as a file, a timeline and a table.
#include "io/events.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "runtime/run_metadata.h"
#include "runtime/testing/test_graph.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include <jansson.h>
#include <stdlib.h>

// ---- A traced run ----

// sum = x + x over two devices; y = Neg(sum).
static braid_run_metadata *trace(int devices)
{
    braid_graph *g = braid_graph_new();
    braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), sum = tg2(g, "Add", "sum", x, x);
    if (devices > 1) braid_push_device(g, "/device:CPU:1");
    braid_out y = tg1(g, "Neg", "y", sum);
    braid_session *s = tg_session(g, &(braid_session_options){.cpu_devices = devices});
    braid_run_metadata *m = braid_run_metadata_new();
    const float values[] = {1, 2, 3};
    const braid_feed feed = {
        x, braid_tensor_from(BRAID_FLOAT, braid_shape_make(1, (int64_t[]){3}), values, NULL)};
    braid_tensor *value;
    BD_STATUS(st);
    braid_session_run(s,
                      &(braid_run_args){.feeds = &feed,
                                        .feed_count = 1,
                                        .fetches = &(braid_fetch){y, &value},
                                        .fetch_count = 1,
                                        .metadata = m},
                      st);
    assert_ok(st);
    braid_tensor_free(value);
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
    return m;
}

static const Tensorflow__NodeExecStats *node_of(const Tensorflow__StepStats *stats, int device,
                                                const char *name)
{
    assert_true((size_t)device < stats->n_dev_stats);
    const Tensorflow__DeviceStepStats *d = stats->dev_stats[device];
    for (size_t i = 0; i < d->n_node_stats; i++)
        if (!strcmp(d->node_stats[i]->node_name, name)) return d->node_stats[i];
    fail_msg("%s did not run on %s", name, d->device);
    return NULL;
}

static void a_traced_run_records_the_outputs_of_each_node(void **state)
{
    (void)state;
    braid_run_metadata *m = trace(1);
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__StepStats *stats = bd_run_metadata_stats(m, arena, st);
    assert_ok(st);
    assert_string_equal(stats->dev_stats[0]->device, "/job:localhost/replica:0/task:0/device:CPU:0");
    const Tensorflow__NodeExecStats *sum = node_of(stats, 0, "sum");
    assert_true(sum->all_start_micros > 0 && sum->all_end_rel_nanos > 0);
    assert_int_equal(sum->n_output, 1);
    const Tensorflow__TensorDescription *made = sum->output[0]->tensor_description;
    assert_int_equal(made->dtype, BRAID_FLOAT);
    assert_int_equal(made->shape->dim[0]->size, 3);
    assert_int_equal(made->allocation_description->requested_bytes, 12);
    assert_int_equal(sum->memory[0]->total_bytes, 12);
    braid_run_metadata_free(m);
}

static void each_device_has_its_own_nodes(void **state)
{
    (void)state;
    braid_run_metadata *m = trace(2);
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__StepStats *stats = bd_run_metadata_stats(m, arena, st);
    assert_ok(st);
    assert_int_equal(stats->n_dev_stats, 2);
    node_of(stats, 0, "sum");
    node_of(stats, 1, "y");
    braid_run_metadata_free(m);
}

// ---- Timelines ----

// Metadata with these nodes of one device.
static braid_run_metadata *metadata_with(Tensorflow__NodeExecStats **nodes, int count)
{
    Tensorflow__DeviceStepStats device = TENSORFLOW__DEVICE_STEP_STATS__INIT;
    device.device = "/device:CPU:0";
    device.n_node_stats = (size_t)count;
    device.node_stats = nodes;
    Tensorflow__StepStats step = TENSORFLOW__STEP_STATS__INIT;
    step.n_dev_stats = 1;
    step.dev_stats = (Tensorflow__DeviceStepStats *[]){&device};
    Tensorflow__RunMetadata message = TENSORFLOW__RUN_METADATA__INIT;
    message.step_stats = &step;
    bd_message packed;
    bd_message_init(&packed);
    bd_proto_pack_message(&message.base, &packed);
    braid_run_metadata *m = braid_run_metadata_new();
    bd_run_metadata_set(m, &packed);
    bd_message_fini(&packed);
    return m;
}

// Metadata with nodes of one device, written as "NAME|LABEL|START|DURATION" in microseconds.
static braid_run_metadata *metadata_of(const char *const *nodes, int count)
{
    Tensorflow__NodeExecStats stats[8], *pointers[8];
    char names[8][64], labels[8][64];
    for (int i = 0; i < count; i++) {
        tensorflow__node_exec_stats__init(&stats[i]);
        long long start, length;
        assert_int_equal(sscanf(nodes[i], "%63[^|]|%63[^|]|%lld|%lld", names[i], labels[i], &start, &length),
                         4);
        stats[i].node_name = names[i];
        stats[i].timeline_label = labels[i];
        stats[i].all_start_micros = start;
        stats[i].all_end_rel_micros = length;
        pointers[i] = &stats[i];
    }
    return metadata_with(pointers, count);
}

static json_t *timeline_of(const braid_run_metadata *m)
{
    BD_STATUS(st);
    char *text = braid_run_metadata_timeline(m, NULL, st);
    assert_ok(st);
    json_t *trace = json_loads(text, 0, NULL);
    assert_non_null(trace);
    free(text);
    return trace;
}

static const json_t *event_of(const json_t *trace, const char *phase, const char *name)
{
    size_t i;
    const json_t *e;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, e)
    {
        if (!strcmp(json_string_value(json_object_get(e, "ph")), phase) &&
            !strcmp(json_string_value(json_object_get(e, "name")), name))
            return e;
    }
    fail_msg("no event of phase %s with the name %s", phase, name);
    return NULL;
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static void nodes_at_the_same_time_are_in_lanes_of_their_own(void **state)
{
    (void)state;
    static const char *const nodes[] = {"c|c = Third(a)|130|10", "a|a = First()|100|30",
                                        "b|b = Second()|110|50"};
    braid_run_metadata *m = metadata_of(nodes, 3);
    json_t *trace = timeline_of(m);
    const json_t *first = event_of(trace, "X", "First"), *second = event_of(trace, "X", "Second"),
                 *third = event_of(trace, "X", "Third");
    assert_true(number(first, "tid") == 0 && number(second, "tid") == 1 && number(third, "tid") == 0);
    assert_true(number(first, "ts") == 0 && number(second, "ts") == 10 && number(second, "dur") == 50);
    json_decref(trace);
    braid_run_metadata_free(m);
}

static void an_arrow_leads_from_a_node_to_its_consumer(void **state)
{
    (void)state;
    static const char *const nodes[] = {"a|a = Split()|100|30", "b|b = Neg(a:1, ^other, never)|140|5"};
    braid_run_metadata *m = metadata_of(nodes, 2);
    json_t *trace = timeline_of(m);
    assert_true(number(event_of(trace, "s", "a:1"), "ts") == 30);
    assert_true(number(event_of(trace, "t", "a:1"), "ts") == 40);
    const json_t *args = json_object_get(event_of(trace, "X", "Neg"), "args");
    assert_string_equal(json_string_value(json_object_get(args, "input0")), "a:1");
    assert_string_equal(json_string_value(json_object_get(args, "input1")), "never");
    assert_null(json_object_get(args, "input2"));
    json_decref(trace);
    braid_run_metadata_free(m);
}

static void strange_statistics_do_no_harm(void **state)
{
    (void)state;
    static const char *const nodes[] = {"a|no label|9223372036854775807|9223372036854775807", "b|b = (|-5|-7",
                                        "RecvTensor|[4B] edge from (here) to there|1|1",
                                        "\xff|\xff = \xfe(,,a,)|0|0"};
    braid_run_metadata *m = metadata_of(nodes, 4);
    json_t *trace = timeline_of(m);
    event_of(trace, "X", "RecvTensor");
    BD_STATUS(st);
    char *text = braid_run_metadata_summary(m, 0, st);
    assert_ok(st);
    free(text);
    json_decref(trace);
    braid_run_metadata_free(m);
}

static json_t *timeline_with(const braid_run_metadata *m, bool hide_dataflow)
{
    BD_STATUS(st);
    char *text = braid_run_metadata_timeline(
        m, &(braid_timeline_options){.show_memory = true, .hide_dataflow = hide_dataflow}, st);
    assert_ok(st);
    json_t *trace = json_loads(text, 0, NULL);
    assert_non_null(trace);
    free(text);
    return trace;
}

// The counter's events as "TIME:BYTES ".
static void expect_counter(const json_t *trace, const char *want)
{
    bd_strbuf got = {0};
    size_t i;
    const json_t *e;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, e)
    {
        if (strcmp(json_string_value(json_object_get(e, "ph")), "C") != 0) continue;
        assert_string_equal(json_string_value(json_object_get(e, "name")), "cpu");
        bd_strbuf_appendf(
            &got, "%g:%lld ", number(e, "ts"),
            (long long)json_integer_value(json_object_get(json_object_get(e, "args"), "bytes")));
    }
    assert_string_equal(bd_strbuf_str(&got), want);
    bd_strbuf_fini(&got);
}

// Node "a" makes 100 bytes, "view" passes them on, "b" makes 50.
static void memory_lives_until_its_last_consumer_has_ended(void **state)
{
    (void)state;
    static const struct {
        const char *name, *label;
        int64_t start, length, bytes;
        uint64_t ptr;
    } table[] = {{"a", "a = Make()", 100, 10, 100, 0x1000},
                 {"view", "view = Reshape(a)", 120, 10, 100, 0x1000},
                 {"b", "b = Neg(view)", 140, 10, 50, 0x2000},
                 {"late", "late = Make()", 200, 5, 30, 0x1000}}; // at the same address, later
    enum {
        COUNT = 4
    };
    Tensorflow__NodeExecStats stats[COUNT], *pointers[COUNT];
    Tensorflow__NodeOutput outputs[COUNT], *output_pointers[COUNT];
    Tensorflow__TensorDescription tensors[COUNT];
    Tensorflow__AllocationDescription memory[COUNT];
    for (int i = 0; i < COUNT; i++) {
        tensorflow__node_exec_stats__init(&stats[i]);
        tensorflow__node_output__init(&outputs[i]);
        tensorflow__tensor_description__init(&tensors[i]);
        tensorflow__allocation_description__init(&memory[i]);
        memory[i].allocator_name = (char *)"cpu";
        memory[i].requested_bytes = table[i].bytes;
        memory[i].ptr = table[i].ptr;
        tensors[i].allocation_description = &memory[i];
        outputs[i].tensor_description = &tensors[i];
        output_pointers[i] = &outputs[i];
        stats[i].node_name = (char *)table[i].name;
        stats[i].timeline_label = (char *)table[i].label;
        stats[i].all_start_micros = table[i].start;
        stats[i].all_end_rel_micros = table[i].length;
        stats[i].n_output = 1;
        stats[i].output = &output_pointers[i];
        pointers[i] = &stats[i];
    }
    braid_run_metadata *m = metadata_with(pointers, COUNT);
    json_t *trace = timeline_with(m, true);
    expect_counter(trace, "0:100 40:150 50:0 100:30 105:0 ");
    size_t i;
    const json_t *e;
    json_array_foreach(json_object_get(trace, "traceEvents"), i, e)
        assert_string_not_equal(json_string_value(json_object_get(e, "ph")), "s"); // arrows are hidden
    json_decref(trace);
    braid_run_metadata_free(m);
}

static void a_traced_step_has_memory(void **state)
{
    (void)state;
    braid_run_metadata *m = trace(1);
    json_t *timeline = timeline_with(m, false);
    assert_non_null(event_of(timeline, "C", "cpu"));
    json_decref(timeline);
    braid_run_metadata_free(m);
}

// ---- Tables ----

static void the_table_has_the_longest_ops_first(void **state)
{
    (void)state;
    static const char *const nodes[] = {"a|a = Add()|0|1000", "b|b = MatMul()|1000|2000",
                                        "c|c = Add()|3000|2000", "d|d = Neg()|5000|1"};
    braid_run_metadata *m = metadata_of(nodes, 4);
    BD_STATUS(st);
    char *text = braid_run_metadata_summary(m, 2, st);
    assert_ok(st);
    assert_string_equal(
        text, "Step: 5.001 ms on 1 device\n"
              "/device:CPU:0\n"
              "  op                                 nodes    total ms      %     mean us      output\n"
              "  Add                                    2       3.000   60.0      1500.0         0 B\n"
              "  MatMul                                 1       2.000   40.0      2000.0         0 B\n"
              "  (the others)                           1       0.001    0.0         1.0         0 B\n"
              "  (all)                                  4       5.001  100.0      1250.2         0 B\n");
    free(text);
    braid_run_metadata_free(m);
}

// ---- Files ----

static int make_dir(void **state)
{
    *state = bd_temp_dir_new();
    return 0;
}

static int remove_dir(void **state)
{
    bd_temp_dir_free(*state);
    return 0;
}

static void assert_reads(const char *path, const char *tag, const char *node)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    braid_run_metadata *m = braid_run_metadata_read(path, tag, st);
    assert_ok(st);
    const Tensorflow__StepStats *stats = bd_run_metadata_stats(m, arena, st);
    assert_ok(st);
    node_of(stats, 0, node);
    braid_run_metadata_free(m);
}

static void assert_does_not_read(const char *path, const char *tag, braid_code code, const char *words)
{
    BD_STATUS(st);
    assert_null(braid_run_metadata_read(path, tag, st));
    assert_error(st, code, words);
}

static void a_message_is_written_and_read(void **state)
{
    char *path = bd_path_join(*state, "run_metadata.pb");
    braid_run_metadata *m = trace(1);
    BD_STATUS(st);
    braid_run_metadata_write(m, path, st);
    assert_ok(st);
    assert_reads(path, NULL, "y");
    assert_does_not_read(path, "step1", BRAID_INVALID_ARGUMENT, "is no event file");
    assert_does_not_read("/nowhere", NULL, BRAID_NOT_FOUND, "/nowhere");
    bd_file_write_atomic(bd_fs_current, path, "garbage", 7, st);
    assert_does_not_read(path, NULL, BRAID_INVALID_ARGUMENT, "holds neither RunMetadata nor events");
    braid_run_metadata_free(m);
    bd_free(path);
}

static void put(bd_event_writer *w, int64_t step, const char *tag, const char *node)
{
    BD_STATUS(st);
    braid_run_metadata *m = metadata_of(&node, 1);
    size_t len;
    const void *data = braid_run_metadata_data(m, &len);
    bd_event_put_run_metadata(w, step, tag, data, len, st);
    assert_ok(st);
    braid_run_metadata_free(m);
}

static void steps_of_an_event_file_are_found_by_tag(void **state)
{
    BD_STATUS(st);
    bd_event_writer *w;
    bd_event_writer_open(bd_fs_current, *state, NULL, &w, st);
    assert_ok(st);
    char *path = bd_strdup(bd_event_writer_path(w));
    bd_event_writer_flush(w, st);
    assert_does_not_read(path, NULL, BRAID_NOT_FOUND, "no run was traced");
    put(w, 1, "step1", "first|first = A()|0|1");
    put(w, 2, "step2", "second|second = A()|0|1");
    bd_event_writer_close(w, st);
    assert_reads(path, "step1", "first");
    assert_reads(path, NULL, "second");
    assert_does_not_read(path, "step3", BRAID_NOT_FOUND, "the tag 'step3'");
    bd_free(path);
}

static void untraced_runs_have_no_timeline(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_run_metadata *m = braid_run_metadata_new();
    assert_null(braid_run_metadata_timeline(m, NULL, st));
    assert_error(st, BRAID_FAILED_PRECONDITION, "FULL_TRACE");
    assert_null(braid_run_metadata_summary(m, 0, st));
    assert_error(st, BRAID_FAILED_PRECONDITION, "FULL_TRACE");
    braid_run_metadata_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traced_run_records_the_outputs_of_each_node),
        cmocka_unit_test(each_device_has_its_own_nodes),
        cmocka_unit_test(nodes_at_the_same_time_are_in_lanes_of_their_own),
        cmocka_unit_test(an_arrow_leads_from_a_node_to_its_consumer),
        cmocka_unit_test(strange_statistics_do_no_harm),
        cmocka_unit_test(the_table_has_the_longest_ops_first),
        cmocka_unit_test_setup_teardown(a_message_is_written_and_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(steps_of_an_event_file_are_found_by_tag, make_dir, remove_dir),
        cmocka_unit_test(memory_lives_until_its_last_consumer_has_ended),
        cmocka_unit_test(a_traced_step_has_memory),
        cmocka_unit_test(untraced_runs_have_no_timeline),
    };
    return BD_RUN_TESTS(tests);
}
