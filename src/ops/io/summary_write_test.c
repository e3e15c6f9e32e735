// What the ops promise that write summaries to files. The files are read back record by record.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/record.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "proto/pack.h"
#include "tensorflow/core/util/event.pb-c.h"

#include <stdio.h>

static int in_temp_dir(void **state)
{
    *state = bd_temp_dir_new();
    return 0;
}

static int remove_temp_dir(void **state)
{
    bd_temp_dir_free(*state);
    return 0;
}

// ---- A writer, and its file ----

typedef struct writer {
    op_live *live;
    braid_out handle;
} writer;

static writer new_writer(const char *shared_name)
{
    char attrs[64];
    writer w = {.live = op_live_new()};
    snprintf(attrs, sizeof attrs, "shared_name=%s", shared_name);
    w.handle.op = op_test_node(w.live->graph, "SummaryWriter", attrs, NULL, 0);
    return w;
}

// Runs an op on the writer.
static void run(const writer *w, const char *op, const char *attrs, const char *const *inputs, int count,
                const char *want)
{
    BD_STATUS(st);
    braid_out outs[6] = {w->handle};
    for (int i = 0; i < count; i++)
        outs[1 + i] = op_live_unknown(w->live, inputs[i]);
    braid_op *node = op_test_node(w->live->graph, op, attrs, outs, 1 + count);
    if (braid_graph_status(w->live->graph, st)) fail_msg("%s", braid_status_message(st));
    op_live_run(w->live, node, "", want);
}
#define RUN(W, WANT, OP, ATTRS, ...)                                                                         \
    run(W, OP, ATTRS, (const char *const[]){__VA_ARGS__},                                                    \
        (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), WANT)

static void create(const writer *w, const char *dir, const char *max_queue, const char *want)
{
    char *logdir = bd_asprintf("string[] %s", dir);
    RUN(w, want, "CreateSummaryFileWriter", NULL, logdir, max_queue, "int32[] 1000000", "string[] .v2");
    bd_free(logdir);
}

typedef struct events {
    char *path;
    const Tensorflow__Event *list[16];
    int count;
    bd_proto_arena arena;
} events;

// The events of the one file in a directory.
static events read_events(const char *dir)
{
    BD_STATUS(st);
    events e = {0};
    bd_name_list names = {0};
    bd_record_reader *records;
    const uint8_t *data;
    size_t len;
    assert_int_equal(bd_dir_list(bd_fs_current, dir, &names, st), BRAID_OK);
    assert_int_equal(names.len, 1);
    e.path = bd_path_join(dir, names.items[0]);
    bd_name_list_fini(&names);
    bd_record_reader_open(bd_fs_current, e.path, BD_COMPRESSION_NONE, &records, st);
    assert_ok(st);
    while (bd_record_read(records, &data, &len, st) == BRAID_OK)
        e.list[e.count++] = bd_proto_unpack(&tensorflow__event__descriptor, data, len, &e.arena, st);
    bd_record_reader_close(records);
    assert_string_equal(e.list[0]->file_version, "brain.Event:2");
    return e;
}

static void end_events(events *e)
{
    bd_free(e->path);
    bd_proto_arena_fini(&e->arena);
}

static void expect_count(const char *dir, int count)
{
    events e = read_events(dir);
    assert_int_equal(e.count, count);
    end_events(&e);
}

// ---- Tests ----

static void a_writer_lives_until_it_is_closed(void **state)
{
    const char *dir = *state;
    writer w = new_writer("w");
    RUN(&w, "NotFound: Resource localhost/w/SummaryWriter does not exist", "WriteScalarSummary", NULL,
        "int64[] 1", "string[] a", "float[] 1");
    create(&w, dir, "int32[] 2", "");
    create(&w, dir, "int32[] 2", ""); // it exists already
    expect_count(dir, 1);
    for (int i = 0; i < 2; i++)
        RUN(&w, "", "WriteScalarSummary", NULL, "int64[] 1", "string[] a", "float[] 1");
    expect_count(dir, 1); // they wait
    RUN(&w, "", "WriteScalarSummary", NULL, "int64[] 1", "string[] a", "float[] 1");
    expect_count(dir, 4); // more than two are too many
    RUN(&w, "", "WriteScalarSummary", NULL, "int64[] 1", "string[] a", "float[] 1");
    RUN(&w, "", "FlushSummaryWriter", NULL, );
    expect_count(dir, 5);
    RUN(&w, "", "WriteScalarSummary", NULL, "int64[] 1", "string[] a", "float[] 1");
    RUN(&w, "", "CloseSummaryWriter", NULL, );
    expect_count(dir, 6);
    RUN(&w, "NotFound: does not exist", "FlushSummaryWriter", NULL, );
    RUN(&w, "NotFound: does not exist", "CloseSummaryWriter", NULL, );
    op_live_free(w.live);
}

static void values_are_written_as_events(void **state)
{
    const char *dir = *state;
    writer w = new_writer("w");
    create(&w, dir, "int32[] 0", "");
    RUN(&w, "", "WriteScalarSummary", NULL, "int64[] 12", "string[] loss", "int32[] 3");
    RUN(&w, "", "WriteHistogramSummary", NULL, "int64[] 13", "string[] h", "float[3] 1 2 3");
    // metadata of a plugin named p
    RUN(&w, "", "WriteSummary", NULL, "int64[] 14", "float[2] 1 2", "string[] t",
        "string[] \\x0a\\x03\\x0a\\x01p");
    RUN(&w, "", "WriteImageSummary", "max_images=1", "int64[] 15", "string[] i", "uint8[2,1,1,3] 7",
        "uint8[3] 0");
    RUN(&w, "", "WriteAudioSummary", "max_outputs=2", "int64[] 16", "string[] s", "float[1,3] 0 1 -1",
        "float[] 8000");
    // two summaries of a value each
    RUN(&w, "", "WriteRawProtoSummary", NULL, "int64[] 17",
        "string[2] \\x0a\\x03\\x0a\\x01x \\x0a\\x03\\x0a\\x01y");
    RUN(&w, "", "WriteGraphSummary", NULL, "int64[] 18", "string[] \\x0a\\x03\\x0a\\x01n");
    RUN(&w, "", "ImportEvent", NULL, "string[] \\x10\\x13");
    events e = read_events(dir);
    assert_int_equal(e.count, 9);
    assert_true(bd_str_ends_with(e.path, ".v2"));
    for (int i = 1; i < e.count; i++)
        assert_int_equal(e.list[i]->step, 11 + i);
    assert_true(e.list[1]->summary->value[0]->simple_value == 3.0F);
    assert_string_equal(e.list[1]->summary->value[0]->tag, "loss");
    assert_true(e.list[2]->summary->value[0]->histo->num == 3);
    assert_string_equal(e.list[3]->summary->value[0]->tag, "t");
    assert_string_equal(e.list[3]->summary->value[0]->metadata->plugin_data->plugin_name, "p");
    assert_int_equal(e.list[3]->summary->value[0]->tensor->tensor_content.len, 8);
    assert_string_equal(e.list[4]->summary->value[0]->tag, "i/image");
    assert_int_equal(e.list[4]->summary->n_value, 1);
    assert_string_equal(e.list[5]->summary->value[0]->tag, "s/audio/0");
    assert_int_equal(e.list[6]->summary->n_value, 2);
    assert_string_equal(e.list[6]->summary->value[1]->tag, "y");
    assert_int_equal(e.list[7]->graph_def.len, 5);
    end_events(&e);
    op_live_free(w.live);
}

static void wrong_inputs_are_errors(void **state)
{
    const char *dir = *state;
    writer w = new_writer("w");
    RUN(&w, "InvalidArgument: logdir must be a scalar", "CreateSummaryFileWriter", NULL, "string[1] x",
        "int32[] 1", "int32[] 1", "string[] x");
    RUN(&w, "InvalidArgument: flush_millis must be a scalar", "CreateSummaryFileWriter", NULL, "string[] x",
        "int32[] 1", "int32[2] 1", "string[] x");
    RUN(&w, "NotFound: does not exist", "FlushSummaryWriter", NULL, ); // no writer was made
    create(&w, dir, "int32[] 0", "");
    RUN(&w, "InvalidArgument: step must be scalar, got shape [1]", "WriteRawProtoSummary", NULL, "int64[1] 1",
        "string[] ''");
    RUN(&w, "DataLoss: Bad tf.compat.v1.Summary binary proto tensor string at index 1",
        "WriteRawProtoSummary", NULL, "int64[] 1", "string[2] '' notaproto");
    RUN(&w, "DataLoss: Bad tf.GraphDef binary proto tensor string", "WriteGraphSummary", NULL, "int64[] 1",
        "string[] notaproto");
    RUN(&w, "DataLoss: Bad tf.Event binary proto tensor string", "ImportEvent", NULL, "string[] notaproto");
    RUN(&w, "InvalidArgument: Nan in summary histogram for: h", "WriteHistogramSummary", NULL, "int64[] 1",
        "string[] h", "float[1] nan");
    RUN(&w, "InvalidArgument: value must be a scalar, got shape [0]", "WriteScalarSummary", NULL, "int64[] 1",
        "string[] a", "float[0]");
    RUN(&w, "InvalidArgument: bad_color must be a vector, got shape []", "WriteImageSummary", NULL,
        "int64[] 15", "string[] i", "uint8[2,1,1,3] 7", "uint8[] 0");
    expect_count(dir, 1);
    op_live_free(w.live);
}

// Inputs that must be scalars and are not; empty tensors are written as such.
static void wrong_inputs_are_refused(void **state)
{
    const char *dir = *state;
    writer w = new_writer("w");
    RUN(&w, "InvalidArgument: max_queue must be a scalar", "CreateSummaryFileWriter", NULL, "string[] x",
        "int32[0]", "int32[] 1", "string[] x");
    create(&w, dir, "int32[] 0", "");
    RUN(&w, "InvalidArgument: step must be scalar, got shape [0]", "WriteSummary", NULL, "int64[0]",
        "float[0]", "string[] t", "string[] ''");
    RUN(&w, "InvalidArgument: tag must be scalar, got shape [2]", "WriteSummary", NULL, "int64[] 1",
        "float[0]", "string[2] t", "string[] ''");
    RUN(&w, "InvalidArgument: sample_rate must be a scalar", "WriteAudioSummary", NULL, "int64[] 1",
        "string[] s", "float[1,3] 0", "float[0]");
    RUN(&w, "InvalidArgument: 0 frames", "WriteAudioSummary", NULL, "int64[] 1", "string[] s", "float[1,0]",
        "float[] 8000");
    RUN(&w, "InvalidArgument: step must be scalar, got shape [1]", "WriteHistogramSummary", NULL,
        "int64[1] 1", "string[] h", "float[1] 1");
    RUN(&w, "InvalidArgument: input tensor must have non-zero dims. Found: [1,0,1,1]", "WriteImageSummary",
        NULL, "int64[] 1", "string[] i", "uint8[1,0,1,1]", "uint8[1] 0");
    RUN(&w, "InvalidArgument: step must be scalar, got shape [0]", "WriteGraphSummary", NULL, "int64[0]",
        "string[] ''");
    RUN(&w, "InvalidArgument: event must be scalar, got shape [0]", "ImportEvent", NULL, "string[0]");
    expect_count(dir, 1);
    RUN(&w, "", "WriteHistogramSummary", NULL, "int64[] 1", "string[] h", "float[0]");
    RUN(&w, "", "WriteSummary", NULL, "int64[] 1", "float[0]", "string[] t", "string[] ''");
    RUN(&w, "", "WriteRawProtoSummary", NULL, "int64[] 1", "string[0]");
    events e = read_events(dir);
    assert_int_equal(e.count, 4);
    assert_true(e.list[1]->summary->value[0]->histo->num == 0);
    assert_int_equal(e.list[2]->summary->value[0]->tensor->tensor_content.len, 0);
    assert_int_equal(e.list[3]->summary->n_value, 0);
    end_events(&e);
    op_live_free(w.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_lives_until_it_is_closed, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(values_are_written_as_events, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(wrong_inputs_are_errors, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(wrong_inputs_are_refused, in_temp_dir, remove_temp_dir),
    };
    return BD_RUN_TESTS(tests);
}
