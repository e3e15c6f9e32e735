// Tests of readers: records and their keys, files from a queue, waiting without a thread, cancelling, states.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/record.h"
#include "io/testing/bundle_case.h"
#include "io/testing/lmdb_case.h"
#include "io/testing/temp_dir.h"
#include "op/io_pool.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "ops/testing/queue_nodes.h"
#include <stdio.h>

// A queue of names, a reader, and a node of each op on them.
typedef struct reader_nodes {
    op_live *live;
    queue_nodes queue;
    braid_op *read, *read_up_to, *records, *works, *serialize, *restore, *reset;
} reader_nodes;

static braid_op *reader_node(op_live *l, const char *op, bool v2, const braid_out *in, int count)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", op, v2 ? "V2" : "");
    return op_test_node(l->graph, name, NULL, in, count);
}

static reader_nodes make(const char *reader, const char *attrs)
{
    static const braid_dtype string = BRAID_STRING;
    BD_STATUS(st);
    bool v2 = strstr(reader, "V2") != NULL;
    op_live *l = op_live_new();
    queue_spec spec = {
        .op = v2 ? "FIFOQueueV2" : "FIFOQueue", .shared_name = "names", .types = &string, .count = 1};
    reader_nodes n = {.live = l, .queue = queue_nodes_make(l, spec)};
    braid_out in[3] = {{op_test_node(l->graph, reader, attrs, NULL, 0), 0}, queue_make(l, spec)};
    n.read = reader_node(l, "ReaderRead", v2, in, 2);
    in[2] = op_live_placeholder(l, BRAID_INT64);
    n.read_up_to = reader_node(l, "ReaderReadUpTo", v2, in, 3);
    n.records = reader_node(l, "ReaderNumRecordsProduced", v2, in, 1);
    n.works = reader_node(l, "ReaderNumWorkUnitsCompleted", v2, in, 1);
    n.serialize = reader_node(l, "ReaderSerializeState", v2, in, 1);
    n.reset = reader_node(l, "ReaderReset", v2, in, 1);
    in[1] = op_live_placeholder(l, BRAID_STRING);
    n.restore = reader_node(l, "ReaderRestoreState", v2, in, 2);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

static void write_text(const char *path, const char *text)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, path, text, strlen(text), st);
    assert_ok(st);
}

#define FILES(N, NAMES) op_live_run((N).live, (N).queue.enqueue_many, NAMES, "")
#define READ(N, WANT) op_live_run((N).live, (N).read, "", WANT)
#define READ_UP_TO(N, COUNT, WANT) op_live_run((N).live, (N).read_up_to, "int64[] " #COUNT, WANT)
#define DO(N, NODE, WANT) op_live_run((N).live, (N).NODE, "", WANT)
#define END                                                                                                  \
    "OutOfRange: FIFOQueue 'names' is closed and has insufficient elements (requested 1, current size 0)"

// ---- Kinds ----

static void check_lines(const char *reader)
{
    write_text("/a", "head\none\ntwo\r\n\nlast");
    write_text("/b", "head only");
    write_text("/c", "head\nthree\n");
    reader_nodes n = make(reader, "skip_header_lines=1");
    FILES(n, "string[3] /a /b /c");
    READ(n, "string[] /a:2; string[] one");
    READ_UP_TO(n, 2, "string[2] /a:3 /a:4; string[2] two ''");
    READ_UP_TO(n, 5, "string[1] /a:5; string[1] last"); // no further than the end of the file
    DO(n, works, "int64[] 1");
    READ(n, "string[] /c:2; string[] three");
    DO(n, records, "int64[] 5");
    DO(n, works, "int64[] 2");
    op_live_run(n.live, n.queue.close, "", "");
    READ(n, END);
    READ_UP_TO(n, 3, END);
    READ_UP_TO(n, 0, "string[0]; string[0]");
    DO(n, works, "int64[] 3");
    op_live_free(n.live);
}

static void text_lines_are_read(void **state)
{
    (void)state;
    check_lines("TextLineReaderV2");
    check_lines("TextLineReader"); // the same through references
}

static void check_whole_files(const char *reader)
{
    write_text("/a", "one\ntwo\n");
    write_text("/empty", "");
    reader_nodes n = make(reader, NULL);
    FILES(n, "string[3] /a /none /empty");
    READ(n, "string[] /a; string[] one\\x0atwo\\x0a");
    READ(n, "NotFound: /none");
    READ(n, "NotFound: /none"); // the file is still being read, as in TensorFlow
    DO(n, reset, "");
    READ(n, "string[] /empty; string[] ''");
    op_live_free(n.live);
}

static void whole_files_are_read(void **state)
{
    (void)state;
    check_whole_files("WholeFileReader");
    check_whole_files("WholeFileReaderV2");
}

static void lmdb_databases_are_read(void **state)
{
    (void)state;
    lmdb_case c;
    lmdb_case_init(&c, 2);
    lmdb_case_page(&c, 2, LMDB_LEAF);
    lmdb_case_record(&c, 2, "a", "one", 3, 0);
    lmdb_case_record(&c, 2, "b", "", 0, 0);
    lmdb_case_write(&c, "/db");
    reader_nodes n = make("LMDBReader", NULL);
    FILES(n, "string[3] /db /db /none");
    READ(n, "string[] a; string[] one");
    READ_UP_TO(n, 5, "string[1] b; string[1] ''");
    READ(n, "string[] a; string[] one");
    DO(n, records, "int64[] 3");
    READ_UP_TO(n, 5, "string[1] b; string[1] ''");
    READ(n, "NotFound: /none");
    op_live_free(n.live);
}

static void identity_readers_read_names(void **state)
{
    (void)state;
    reader_nodes n = make("IdentityReaderV2", NULL);
    FILES(n, "string[3] a b c");
    READ(n, "string[] a; string[] a");
    READ_UP_TO(n, 9, "string[1] b; string[1] b");
    DO(n, records, "int64[] 2");
    DO(n, works, "int64[] 2");
    DO(n, reset, "");
    DO(n, records, "int64[] 0");
    READ(n, "string[] c; string[] c");
    op_live_free(n.live);
}

static void fixed_length_records_are_read(void **state)
{
    (void)state;
    write_text("/a", "Habcdef--");
    reader_nodes n =
        make("FixedLengthRecordReaderV2", "header_bytes=1; record_bytes=2; footer_bytes=2; hop_bytes=3");
    FILES(n, "string[1] /a");
    READ_UP_TO(n, 9, "string[2] /a:0 /a:1; string[2] ab de");
    op_live_free(n.live);
    n = make("FixedLengthRecordReader", "record_bytes=4");
    FILES(n, "string[1] /a");
    READ_UP_TO(n, 9, "string[2] /a:0 /a:1; string[2] Habc def-");
    op_live_free(n.live);
    n = make("FixedLengthRecordReader", "record_bytes=0");
    READ(n, "InvalidArgument: record_bytes must be >= 1");
    op_live_free(n.live);
    // Python's gzip.compress(b"Habcdef--", mtime=0)
    static const unsigned char zipped[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                           0xf3, 0x48, 0x4c, 0x4a, 0x4e, 0x49, 0x4d, 0xd3, 0xd5, 0x05,
                                           0x00, 0x18, 0x52, 0xae, 0x44, 0x09, 0x00, 0x00, 0x00};
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, "/a", (const char *)zipped, sizeof zipped, st);
    assert_ok(st);
    n = make("FixedLengthRecordReaderV2", "header_bytes=1; record_bytes=2; footer_bytes=2; encoding=GZIP");
    FILES(n, "string[1] /a");
    READ_UP_TO(n, 9, "string[3] /a:0 /a:1 /a:2; string[3] ab cd ef");
    op_live_free(n.live);
    n = make("FixedLengthRecordReaderV2", "record_bytes=1; encoding=LZO");
    READ(n, "InvalidArgument: unknown compression 'LZO'");
    op_live_free(n.live);
}

static void write_records(const char *path, bd_compression kind)
{
    BD_STATUS(st);
    bd_record_writer *w;
    bd_record_writer_open(bd_fs_current, path, BD_FILE_CREATE, kind, &w, st);
    bd_record_write(w, "one", 3, st);
    bd_record_write(w, "", 0, st);
    bd_record_write(w, "three", 5, st);
    bd_record_writer_close(w, st);
    assert_ok(st);
}

static void tfrecords_are_read(void **state)
{
    (void)state;
    write_records("/plain", BD_COMPRESSION_NONE);
    write_records("/packed", BD_COMPRESSION_GZIP);
    write_text("/damaged", "0123456789abcdef");
    reader_nodes n = make("TFRecordReaderV2", NULL);
    FILES(n, "string[2] /plain /damaged");
    READ_UP_TO(n, 2, "string[2] /plain:0 /plain:19; string[2] one ''");
    READ(n, "string[] /plain:35; string[] three");
    READ(n, "DataLoss: /damaged");
    READ(n, "DataLoss: /damaged"); // the file is still being read
    op_live_free(n.live);
    n = make("TFRecordReader", "compression_type=GZIP");
    FILES(n, "string[1] /packed");
    READ_UP_TO(n, 9, "string[3] /packed:0 /packed:19 /packed:35; string[3] one '' three");
    op_live_free(n.live);
}

// ---- Waiting ----

static void callers_wait_in_turn(void **state)
{
    (void)state;
    write_text("/a", "1\n2\n3\n");
    reader_nodes n = make("TextLineReaderV2", NULL);
    op_execution *a = op_live_start(n.live, n.read, ""),
                 *b = op_live_start(n.live, n.read_up_to, "int64[] 1");
    op_execution *c = op_live_start(n.live, n.read, "");
    assert_false(op_execution_has_ended(a)); // waits for the queue
    assert_false(op_execution_has_ended(b)); // waits for its turn
    DO(n, records, "int64[] 0");             // does not wait
    op_execution_cancel(b);
    op_execution_expect(b, "Cancelled: Reader operation was cancelled");
    FILES(n, "string[1] /a");
    op_execution_expect(a, "string[] /a:1; string[] 1");
    op_execution_expect(c, "string[] /a:2; string[] 2");
    READ(n, "string[] /a:3; string[] 3");

    // One that is cancelled while it waits for the queue hands the turn on.
    a = op_live_start(n.live, n.read, "");
    b = op_live_start(n.live, n.read, "");
    op_execution_cancel(a);
    op_execution_expect(a, "Cancelled: Dequeue operation was cancelled");
    assert_false(op_execution_has_ended(b));
    FILES(n, "string[1] /a");
    op_execution_expect(b, "string[] /a:1; string[] 1");
    op_live_free(n.live);
}

static void containers_are_cleared(void **state)
{
    (void)state;
    reader_nodes n = make("TextLineReaderV2", "shared_name=r");
    op_execution *a = op_live_start(n.live, n.read, ""), *b = op_live_start(n.live, n.read, "");
    bd_resources_clear(n.live->resources, NULL);
    op_execution_wait(a);
    op_execution_wait(b);
    assert_int_equal(a->ctx.status.code, BRAID_CANCELLED);
    assert_int_equal(b->ctx.status.code, BRAID_CANCELLED);
    op_execution_free(a);
    op_execution_free(b);
    op_live_free(n.live);
}

// On the threads of a device: many readers of one reader take each line once.
static void each_record_is_read_once_by_many_threads(void **state)
{
    (void)state;
    enum {
        COUNT = 60
    };
    char *dir = bd_temp_dir_new(), *path = bd_path_join(dir, "a");
    write_text(path, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    reader_nodes n = make("TextLineReaderV2", NULL);
    n.live->io_pool = bd_io_pool_new();
    op_execution *e[COUNT];
    for (int i = 0; i < COUNT; i++)
        e[i] = op_live_start(n.live, n.read, "");
    char *names = bd_asprintf("string[6] %s", path);
    FILES(n, names);
    int sum = 0;
    for (int i = 0; i < COUNT; i++) {
        op_execution_wait(e[i]);
        assert_int_equal(e[i]->ctx.status.code, BRAID_OK);
        const bd_string *line = bd_tensor_str(&e[i]->ctx.outputs[1].tensor);
        sum += line->len == 2 ? 10 : line->data[0] - '0';
        op_execution_free(e[i]);
    }
    assert_int_equal(sum, 6 * 55);
    DO(n, records, "int64[] 60");
    bd_io_pool_free(n.live->io_pool);
    op_live_free(n.live);
    bd_free(names);
    bd_free(path);
    bd_temp_dir_free(dir);
}

// ---- States and errors ----

static void check_states(const char *reader, const char *without)
{
    reader_nodes n = make(reader, NULL);
    FILES(n, "string[2] a b");
    READ(n, "string[] a; string[] a");
    // work_started: 1, work_finished: 1, num_records_produced: 1, current_work: "a"
    DO(n, serialize, "string[] \\x08\\x01\\x10\\x01\\x18\\x01\\x22\\x01a");
    op_live_run(n.live, n.restore, "string[] \\x08\\x05\\x10\\x04\\x18\\x07\\x22\\x01z", "");
    DO(n, records, "int64[] 7");
    DO(n, works, "int64[] 4");
    READ(n, "string[] z; string[] z"); // it was being read
    DO(n, works, "int64[] 5");
    READ(n, "string[] b; string[] b");
    op_live_run(n.live, n.restore, "string[] \\x08",
                "InvalidArgument: Could not parse state for IdentityReader '");
    DO(n, records, "int64[] 0");
    op_live_run(
        n.live, n.restore, "string[] \\x08\\x01\\x10\\x02",
        "InvalidArgument: Inconsistent work started vs. finished when restoring in IdentityReader 'IdentityReader");
    op_live_run(
        n.live, n.restore, "string[] \\x18\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01",
        "InvalidArgument: Unexpected negative value when restoring in IdentityReader 'IdentityReader");
    op_live_run(n.live, n.restore, "string[1] a",
                "InvalidArgument: Reader state must be scalar, but had shape: [1]");
    op_live_run(n.live, n.restore, "string[0]",
                "InvalidArgument: Reader state must be scalar, but had shape: [0]");
    op_live_free(n.live);
    n = make(without, NULL);
    DO(n, serialize, "Unimplemented: Reader SerializeState");
    op_live_run(n.live, n.restore, "string[] ''", "Unimplemented: Reader RestoreState");
    op_live_free(n.live);
}

static void serialized_states_restore_readers(void **state)
{
    (void)state;
    check_states("IdentityReader", "TextLineReader");
    check_states("IdentityReaderV2", "TextLineReaderV2");
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out in[3] = {{op_test_node(l->graph, "IdentityReaderV2", "shared_name=r", NULL, 0), 0},
                       queue_make(l, (queue_spec){.shared_name = "numbers"}),
                       op_live_placeholder(l, BRAID_INT64)};
    op_live_run(l, op_test_node(l->graph, "ReaderReadV2", NULL, in, 2), "",
                "InvalidArgument: Expected queue with single string component");
    op_live_run(l, op_test_node(l->graph, "ReaderReadUpToV2", NULL, in, 3), "int64[] -1",
                "InvalidArgument: num_records must be at least 0, not -1");
    op_live_run(l, op_test_node(l->graph, "TextLineReaderV2", "shared_name=r", NULL, 0), "",
                "InvalidArgument: Shared reader 'r' is a IdentityReader, not a TextLineReader");
    op_live_run(l, op_test_node(l->graph, "LMDBReader", "shared_name=r", NULL, 0), "",
                "InvalidArgument: Shared reader 'r' is a IdentityReader, not a LMDBReader");
    braid_out swapped[2] = {in[1], in[0]};
    op_live_run(l, op_test_node(l->graph, "ReaderReadV2", NULL, swapped, 2), "", "InvalidArgument: numbers");
    op_live_free(l);
    reader_nodes n = make("IdentityReaderV2", NULL);
    op_live_run(n.live, n.queue.enqueue, "string[] ok", "");
    READ(n, "string[] ok; string[] ok");
    op_live_free(n.live);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ReaderReadV2", NULL, "resource[]; resource[]", "[]; []"},
        {"ReaderReadV2", NULL, "resource[1]; resource[]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"ReaderReadUpToV2", NULL, "resource[]; resource[]; int64[]", "[?]; [?]"},
        {"ReaderNumRecordsProducedV2", NULL, "resource[]", "[]"},
        {"ReaderNumWorkUnitsCompletedV2", NULL, "resource[]", "[]"},
        {"ReaderSerializeStateV2", NULL, "resource[]", "[]"},
        {"ReaderRestoreStateV2", NULL, "resource[]; string[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"ReaderResetV2", NULL, "resource[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"WholeFileReaderV2", NULL, "", "[]"},
        {"WholeFileReader", NULL, "", "[2]"},
        {"LMDBReader", NULL, "", "[2]"},
    };
    OP_TEST_SHAPES(cases);
}

#define ON_FILES(TEST) cmocka_unit_test_setup_teardown(TEST, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILES(text_lines_are_read),
        ON_FILES(whole_files_are_read),
        ON_FILES(lmdb_databases_are_read),
        ON_FILES(identity_readers_read_names),
        ON_FILES(fixed_length_records_are_read),
        ON_FILES(tfrecords_are_read),
        ON_FILES(callers_wait_in_turn),
        cmocka_unit_test(each_record_is_read_once_by_many_threads),
        cmocka_unit_test(containers_are_cleared),
        cmocka_unit_test(serialized_states_restore_readers),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
