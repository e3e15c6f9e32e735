// The files that a server opens to graphs: those in its file roots, whichever op asks for them and whoever
// made the graph.
// labels: concurrent
#include "base/alloc.h"
#include "base/file_root_variable.h"
#include "graph/op.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "support/test_cluster.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static test_network network; // of the group that runs

// A root with a file, and a file beside it that a link in the root leads to.
typedef struct fixture {
    char *dir, *root, *inside, *outside, *link;
    test_cluster *cluster;
} fixture;

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->dir = bd_temp_dir_new();
    f->root = bd_path_join(f->dir, "root");
    f->inside = bd_path_join(f->root, "in");
    f->outside = bd_path_join(f->dir, "out");
    f->link = bd_path_join(f->root, "link");
    bd_dir_make(bd_fs_current, f->root, st);
    assert_int_equal(st->code, BRAID_OK);
    bd_test_write(f->inside, "text", 4);
    bd_test_write(f->outside, "secret", 6);
    assert_int_equal(symlink(f->outside, f->link), 0);
    f->cluster = test_cluster_new(network, 1, 1);
    unsetenv(BD_FILE_ROOT_VARIABLE);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    test_cluster_free(f->cluster);
    unsetenv(BD_FILE_ROOT_VARIABLE);
    unlink(f->link);
    bd_temp_dir_free(f->dir);
    bd_free(f->root);
    bd_free(f->inside);
    bd_free(f->outside);
    bd_free(f->link);
    bd_free(f);
    return 0;
}

static void start(fixture *f, const char *file_roots)
{
    test_start_all(f->cluster, &(braid_server_options){.file_roots = file_roots});
}

// ---- Graphs ----

static braid_out zeros(braid_graph *g, int64_t count)
{
    return braid_zeros(g, BRAID_INT64, braid_shape_make(1, &count));
}

static braid_out text(braid_graph *g, const char *value)
{
    return braid_const_string(g, NULL, value);
}

static braid_out texts(braid_graph *g, const char *value)
{
    return braid_expand_dims(g, text(g, value), 0);
}

static braid_op *add(braid_graph *g, const char *op, const braid_out *inputs, int count)
{
    return braid_op_add(g, op, "asked", inputs, count);
}
#define ADD(g, op, ...)                                                                                      \
    add((g), (op), (const braid_out[]){__VA_ARGS__},                                                         \
        (int)(sizeof((const braid_out[]){__VA_ARGS__}) / sizeof(braid_out)))
#define OUT(...) braid_output(ADD(__VA_ARGS__), 0)

static braid_op *read_file(braid_graph *g, const char *op, const char *path)
{
    return ADD(g, op, text(g, path));
}

static braid_op *write_file(braid_graph *g, const char *op, const char *path)
{
    return ADD(g, op, text(g, path), text(g, "new"));
}

static braid_op *save(braid_graph *g, const char *op, const char *path)
{
    const braid_out value = braid_const_float(g, NULL, 1);
    const bool is_v2 = strcmp(op, "SaveV2") == 0;
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, text(g, path));
    braid_op_input(d, texts(g, "v"));
    if (strcmp(op, "Save") != 0) braid_op_input(d, texts(g, is_v2 ? "" : "1 0,1"));
    if (is_v2 || strcmp(op, "Save") == 0) {
        braid_op_input_list(d, &value, 1);
    } else {
        const braid_out one = braid_expand_dims(g, value, 0);
        braid_op_input_list(d, &one, 1);
    }
    return braid_op_end(d);
}

static braid_op *restore(braid_graph *g, const char *op, const char *path)
{
    const bool is_v2 = strcmp(op, "RestoreV2") == 0;
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, text(g, path));
    braid_op_input(d, is_v2 ? texts(g, "v") : text(g, "v"));
    if (is_v2 || strcmp(op, "RestoreSlice") == 0) braid_op_input(d, is_v2 ? texts(g, "") : text(g, ""));
    const braid_dtype type = BRAID_FLOAT;
    if (is_v2)
        braid_op_attr_type_list(d, "dtypes", &type, 1);
    else
        braid_op_attr_type(d, "dt", type);
    return braid_op_end(d);
}

static braid_op *merge(braid_graph *g, const char *op, const char *path)
{
    return ADD(g, op, texts(g, path), text(g, path));
}

static braid_op *remap_vocabulary(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, text(g, path));
    braid_op_input(d, text(g, path));
    braid_op_attr_int(d, "new_vocab_offset", 0);
    braid_op_attr_int(d, "num_new_vocab", 1);
    return braid_op_end(d);
}

static braid_op *remap_matrix(braid_graph *g, const char *op, const char *path)
{
    const braid_out row = zeros(g, 1);
    const braid_out none = zeros(g, 0);
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, text(g, path));
    braid_op_input(d, text(g, "v"));
    braid_op_input(d, row);
    braid_op_input(d, row);
    braid_op_input(d, braid_cast(g, none, BRAID_FLOAT));
    braid_op_attr_int(d, "num_rows", 1);
    braid_op_attr_int(d, "num_cols", 1);
    return braid_op_end(d);
}

static braid_op *fill_table(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, strstr(op, "V2") ? "HashTableV2" : "HashTable", NULL);
    braid_op_attr_type(d, "key_dtype", BRAID_STRING);
    braid_op_attr_type(d, "value_dtype", BRAID_INT64);
    const braid_out table = braid_op_end_out(d);
    d = braid_op_begin(g, op, "asked");
    braid_op_input(d, table);
    braid_op_input(d, text(g, path));
    braid_op_attr_int(d, "key_index", -2);
    braid_op_attr_int(d, "value_index", -1);
    return braid_op_end(d);
}

static braid_op *sample(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, braid_expand_dims(g, zeros(g, 1), 0));
    braid_op_attr_int(d, "num_true", 1);
    braid_op_attr_int(d, "num_sampled", 1);
    braid_op_attr_bool(d, "unique", false);
    braid_op_attr_int(d, "range_max", 1);
    braid_op_attr_string(d, "vocab_file", path);
    return braid_op_end(d);
}

static braid_op *input_records(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_attr_string(d, "file_pattern", path);
    return braid_op_end(d);
}

static braid_op *print(braid_graph *g, const char *op, const char *path)
{
    char *stream = bd_asprintf("file://%s", path);
    braid_op_desc *d = braid_op_begin(g, op, "asked");
    braid_op_input(d, text(g, "text"));
    braid_op_attr_string(d, "output_stream", stream);
    bd_free(stream);
    return braid_op_end(d);
}

static braid_op *write_events(braid_graph *g, const char *op, const char *path)
{
    const braid_out writer = braid_output(braid_op_add(g, "SummaryWriter", NULL, NULL, 0), 0);
    return ADD(g, op, writer, text(g, path), braid_const_int32(g, NULL, 1), braid_const_int32(g, NULL, 1),
               text(g, ""));
}

// ---- Readers: the op that opens the file is that which reads ----

static braid_op *read_record(braid_graph *g, const char *op, const char *path)
{
    const bool is_v2 = strstr(op, "V2") != NULL;
    const braid_dtype type = BRAID_STRING;
    braid_op_desc *d = braid_op_begin(g, is_v2 ? "FIFOQueueV2" : "FIFOQueue", NULL);
    braid_op_attr_type_list(d, "component_types", &type, 1);
    const braid_out queue = braid_op_end_out(d), name = text(g, path);
    d = braid_op_begin(g, is_v2 ? "QueueEnqueueV2" : "QueueEnqueue", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, &name, 1);
    braid_op *enqueue = braid_op_end(d);
    d = braid_op_begin(g, op, NULL);
    if (strstr(op, "Fixed")) braid_op_attr_int(d, "record_bytes", 1);
    const braid_out reader = braid_op_end_out(d);
    d = braid_op_begin(g, is_v2 ? "ReaderReadV2" : "ReaderRead", "asked");
    braid_op_input(d, reader);
    braid_op_input(d, queue);
    braid_op_control(d, enqueue);
    return braid_op_end(d);
}

// ---- Data sets: the op that opens the file is that which takes an element ----

static const braid_dtype string_type = BRAID_STRING;
static const braid_shape scalar_shape = {0};

static void element_attrs(braid_op_desc *d)
{
    braid_op_attr_type_list(d, "output_types", &string_type, 1);
    braid_op_attr_shape_list(d, "output_shapes", &scalar_shape, 1);
}

static braid_op *first_of(braid_graph *g, braid_out dataset)
{
    braid_op_desc *d = braid_op_begin(g, "DatasetToSingleElement", "asked");
    braid_op_input(d, dataset);
    element_attrs(d);
    return braid_op_end(d);
}

static braid_op *read_dataset(braid_graph *g, const char *op, const char *path)
{
    const braid_out none = text(g, ""), size = braid_const_int64(g, NULL, 0),
                    one = braid_const_int64(g, NULL, 1);
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, texts(g, path));
    if (strstr(op, "FixedLength")) {
        const braid_out sizes[] = {size, one, size, size};
        for (int i = 0; i < 4; i++)
            braid_op_input(d, sizes[i]);
        if (strstr(op, "V2")) braid_op_input(d, none);
    } else if (!strstr(op, "MatchingFiles")) {
        braid_op_input(d, none);
        braid_op_input(d, size);
        if (strcmp(op, "TFRecordDatasetV2") == 0) braid_op_input(d, zeros(g, 1));
    }
    return first_of(g, braid_op_end_out(d));
}

static braid_op *read_csv(braid_graph *g, const char *op, const char *path)
{
    const braid_out none = text(g, ""), size = braid_const_int64(g, NULL, 1), filler = texts(g, "");
    const braid_out all = zeros(g, 0);
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, texts(g, path));
    braid_op_input(d, none);
    braid_op_input(d, size);
    braid_op_input(d, braid_const_bool(g, NULL, false));
    braid_op_input(d, text(g, ","));
    braid_op_input(d, braid_const_bool(g, NULL, true));
    braid_op_input(d, none);
    braid_op_input(d, all);
    braid_op_input_list(d, &filler, 1);
    if (strstr(op, "V2")) braid_op_input(d, all);
    braid_op_attr_shape_list(d, "output_shapes", &scalar_shape, 1);
    return first_of(g, braid_op_end_out(d));
}

static braid_op *read_lmdb(braid_graph *g, const char *op, const char *path)
{
    const braid_dtype types[] = {BRAID_STRING, BRAID_STRING};
    const braid_shape shapes[2] = {{0}, {0}};
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, texts(g, path));
    braid_op_attr_type_list(d, "output_types", types, 2);
    braid_op_attr_shape_list(d, "output_shapes", shapes, 2);
    const braid_out records = braid_op_end_out(d);
    d = braid_op_begin(g, "DatasetToSingleElement", "asked");
    braid_op_input(d, records);
    braid_op_attr_type_list(d, "output_types", types, 2);
    braid_op_attr_shape_list(d, "output_shapes", shapes, 2);
    return braid_op_end(d);
}

static braid_op *read_sql(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_input(d, text(g, "sqlite"));
    braid_op_input(d, text(g, path));
    braid_op_input(d, text(g, "SELECT 'a' FROM t"));
    braid_op_attr_type_list(d, "output_types", (const braid_dtype[]){BRAID_STRING}, 1);
    braid_op_attr_shape_list(d, "output_shapes", &scalar_shape, 1);
    return first_of(g, braid_op_end_out(d));
}

static braid_out some_strings(braid_graph *g)
{
    const braid_out value = text(g, "text");
    braid_op_desc *d = braid_op_begin(g, "TensorDataset", NULL);
    braid_op_input_list(d, &value, 1);
    braid_op_attr_shape_list(d, "output_shapes", &scalar_shape, 1);
    return braid_op_end_out(d);
}

static braid_op *cache(braid_graph *g, const char *op, const char *path)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    const braid_out held = strstr(op, "V2")
                               ? braid_output(braid_op_add(g, "DummyMemoryCache", NULL, NULL, 0), 0)
                               : (braid_out){0};
    braid_op_input(d, some_strings(g));
    braid_op_input(d, text(g, path));
    if (held.op) braid_op_input(d, held);
    element_attrs(d);
    return first_of(g, braid_op_end_out(d));
}

static braid_op *write_dataset(braid_graph *g, const char *op, const char *path)
{
    return ADD(g, op, some_strings(g), text(g, path), text(g, ""));
}

// ---- Runs ----

// Runs the op for a path by a client's session; *st has the error.
static void ask(const fixture *f, bool is_remote, const char *op, const char *path,
                braid_op *(*build)(braid_graph *g, const char *op, const char *path), braid_status *st)
{
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    braid_op *target = build(g, op, path);
    braid_pop_device(g);
    braid_session *s = is_remote ? test_remote_session(f->cluster, g, "worker", 0, NULL, st)
                                 : test_session(f->cluster, g, "worker", 0, NULL, st);
    if (s) test_run_status(s, target, PATIENCE_MS, st);
    if (s) braid_session_close(s, NULL);
    braid_graph_free(g);
}

// Expects an error that names the node and the file, or its directory where that is made first.
static void expect_refused(const fixture *f, const char *op, const char *path,
                           braid_op *(*build)(braid_graph *g, const char *op, const char *path))
{
    char *dir = bd_path_dir(path);
    for (int is_remote = 0; is_remote < 2; is_remote++) {
        BD_STATUS(st);
        ask(f, is_remote, op, path, build, st);
        const char *message = braid_status_message(st);
        if (st->code != BRAID_PERMISSION_DENIED || !strstr(message, dir) ||
            !strstr(message, "{{node asked}}") || !strstr(message, "--file-root DIR"))
            fail_msg("%s of %s: %s: %s", op, path, braid_code_name(st->code), message);
    }
    bd_free(dir);
}

static void expect_done(const fixture *f, const char *op, const char *path,
                        braid_op *(*build)(braid_graph *g, const char *op, const char *path))
{
    BD_STATUS(st);
    ask(f, true, op, path, build, st);
    if (st->code) fail_msg("%s of %s: %s", op, path, st->message);
}

static void files_in_a_root_are_open_and_others_are_refused(void **state)
{
    const fixture *f = *state;
    start(*state, f->root);
    char *made = bd_path_join(f->root, "deep/er/made"), *up = bd_path_join(f->root, "../out"),
         *all = bd_path_join(f->root, "*"), *all_outside = bd_path_join(f->dir, "*");
    expect_done(f, "ReadFile", f->inside, read_file);
    expect_done(f, "WriteFile", made, write_file);
    expect_done(f, "SaveV2", made, save);
    expect_done(f, "RestoreV2", made, restore);
    expect_done(f, "MatchingFiles", all, read_file);
    const char *const outside[] = {"/etc/passwd", "/etc/not there", f->outside, up};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        expect_refused(f, "ReadFile", outside[i], read_file);
        expect_refused(f, "WriteFile", outside[i], write_file);
    }
    expect_refused(f, "ReadFile", f->link, read_file);
    expect_refused(f, "SaveV2", f->outside, save);
    expect_refused(f, "RestoreV2", f->outside, restore);
    expect_refused(f, "MatchingFiles", "/etc/p*", read_file);
    expect_refused(f, "MatchingFiles", all_outside, read_file);
    size_t len;
    char *content = bd_test_read(f->outside, &len);
    assert_string_equal(content, "secret");
    bd_free(content);
    bd_free(made);
    bd_free(up);
    bd_free(all);
    bd_free(all_outside);
}

static void a_server_without_roots_opens_the_current_directory(void **state)
{
    const fixture *f = *state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(f->root), 0);
    start(*state, NULL);
    expect_done(f, "ReadFile", "in", read_file);
    expect_done(f, "ReadFile", f->inside, read_file);
    expect_refused(f, "ReadFile", f->outside, read_file);
    assert_int_equal(chdir(before), 0);
}

static void a_program_adds_its_own_directories(void **state)
{
    BD_STATUS(st);
    const fixture *f = *state;
    start(*state, f->root);
    expect_refused(f, "ReadFile", f->outside, read_file);
    braid_server_allow_files(test_server(f->cluster, "ps", 0), f->dir, st);
    assert_int_equal(st->code, BRAID_OK);
    expect_done(f, "ReadFile", f->outside, read_file);
    expect_done(f, "ReadFile", f->link, read_file);
    braid_server_allow_files(test_server(f->cluster, "ps", 0), f->inside, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "it is not a directory");
}

static void none_opens_no_file_and_a_slash_all(void **state)
{
    BD_STATUS(st);
    const fixture *f = *state;
    start(*state, "none");
    braid_server_allow_files(test_server(f->cluster, "ps", 0), f->root, st);
    expect_refused(f, "ReadFile", f->inside, read_file);
    test_kill(f->cluster, "ps", 0);
    test_kill(f->cluster, "worker", 0);
    start(*state, "/");
    expect_done(f, "ReadFile", "/etc/passwd", read_file);
    expect_done(f, "ReadFile", f->link, read_file);
}

static void the_environment_decides_for_a_program_that_says_nothing(void **state)
{
    BD_STATUS(st);
    const fixture *f = *state;
    setenv(BD_FILE_ROOT_VARIABLE, f->root, 1);
    start(*state, NULL);
    braid_server_allow_files(test_server(f->cluster, "ps", 0), f->dir, st);
    expect_done(f, "ReadFile", f->inside, read_file);
    expect_refused(f, "ReadFile", f->outside, read_file);
}

static void a_root_that_is_a_file_ends_the_start(void **state)
{
    BD_STATUS(st);
    const fixture *f = *state;
    braid_server *s = braid_server_start_local(&(braid_server_options){.file_roots = f->inside}, st);
    assert_null(s);
    assert_error(st, BRAID_INVALID_ARGUMENT, "it is not a directory");
}

// ---- All ops ----

// Every op that opens files, lists them or changes them.
static const struct {
    const char *op;
    braid_op *(*build)(braid_graph *g, const char *op, const char *path);
} file_ops[] = {
    {"CSVDataset", read_csv},
    {"CSVDatasetV2", read_csv},
    {"CacheDataset", cache},
    {"CacheDatasetV2", cache},
    {"CreateSummaryFileWriter", write_events},
    {"DatasetToTFRecord", write_dataset},
    {"ExperimentalCSVDataset", read_csv},
    {"ExperimentalDatasetToTFRecord", write_dataset},
    {"ExperimentalMatchingFilesDataset", read_dataset},
    {"ExperimentalSqlDataset", read_sql},
    {"ExperimentalLMDBDataset", read_lmdb},
    {"FixedLengthRecordDataset", read_dataset},
    {"FixedLengthRecordDatasetV2", read_dataset},
    {"FixedLengthRecordReader", read_record},
    {"FixedLengthRecordReaderV2", read_record},
    {"FixedUnigramCandidateSampler", sample},
    {"GenerateVocabRemapping", remap_vocabulary},
    {"InitializeTableFromTextFile", fill_table},
    {"InitializeTableFromTextFileV2", fill_table},
    {"LMDBDataset", read_lmdb},
    {"LMDBReader", read_record},
    {"LoadAndRemapMatrix", remap_matrix},
    {"MatchingFiles", read_file},
    {"MatchingFilesDataset", read_dataset},
    {"MergeV2Checkpoints", merge},
    {"PrintV2", print},
    {"ReadFile", read_file},
    {"RecordInput", input_records},
    {"Restore", restore},
    {"RestoreSlice", restore},
    {"RestoreV2", restore},
    {"Save", save},
    {"SaveSlices", save},
    {"SaveV2", save},
    {"SqlDataset", read_sql},
    {"TFRecordDataset", read_dataset},
    {"TFRecordDatasetV2", read_dataset},
    {"TFRecordReader", read_record},
    {"TFRecordReaderV2", read_record},
    {"TextLineDataset", read_dataset},
    {"TextLineReader", read_record},
    {"TextLineReaderV2", read_record},
    {"WholeFileReader", read_record},
    {"WholeFileReaderV2", read_record},
    {"WriteFile", write_file},
};
#define FILE_OP_COUNT (sizeof file_ops / sizeof *file_ops)

static void every_op_is_refused_a_file_outside(void **state)
{
    const fixture *f = *state;
    start(*state, "none");
    for (size_t i = 0; i < FILE_OP_COUNT; i++)
        expect_refused(f, file_ops[i].op, f->outside, file_ops[i].build);
}

// What inputs and attrs that hold names of files are called, in TensorFlow's ops.
static bool is_name_of_file(const char *name)
{
    static const char *const names[] = {
        "filename",           "filenames",     "file_pattern", "prefix",    "logdir",
        "ckpt_path",          "vocab_file",    "patterns",     "file_name", "new_vocab_file",
        "destination_prefix", "output_stream", "directory",    "path"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static bool takes_file(const bd_op_def *def)
{
    for (int i = 0; i < def->input_count; i++)
        if (def->inputs[i].type == BRAID_STRING && is_name_of_file(def->inputs[i].name)) return true;
    for (int i = 0; i < def->attr_count; i++)
        if (def->attrs[i].kind == BD_ATTR_STRING && is_name_of_file(def->attrs[i].name)) return true;
    return strstr(def->name, "Reader") && def->input_count == 0 && !strstr(def->name, "Identity");
}

static void the_table_has_every_op_that_takes_the_name_of_a_file(void **state)
{
    (void)state;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        if (!bd_op_table[i].op->kernels || !takes_file(bd_op_lookup(name))) continue;
        bool is_there = false;
        for (size_t k = 0; k < FILE_OP_COUNT && !is_there; k++)
            is_there = strcmp(file_ops[k].op, name) == 0;
        if (!is_there) fail_msg("%s takes the name of a file and is not in file_ops", name);
    }
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_in_a_root_are_open_and_others_are_refused),
        TEST(a_server_without_roots_opens_the_current_directory),
        TEST(a_program_adds_its_own_directories),
        TEST(none_opens_no_file_and_a_slash_all),
        TEST(the_environment_decides_for_a_program_that_says_nothing),
        TEST(a_root_that_is_a_file_ends_the_start),
        TEST(every_op_is_refused_a_file_outside),
        cmocka_unit_test(the_table_has_every_op_that_takes_the_name_of_a_file),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "files over gRPC" : "files in process",
                                          tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}
