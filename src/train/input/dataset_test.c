// Input pipelines: the elements that sessions get from them, their static shapes, the names of their nodes,
// and errors of building.
#include "base/testing/test.h"

#include "base/alloc.h"
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Runs the initializer (NULL: none) and then `out` until the end of the input; collects the int64 elements.
static int elements(braid_graph *g, braid_iterator it, braid_out out, int64_t *values, int max)
{
    BD_STATUS(st);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = &it.initializer, .target_count = 1}, st);
    assert_ok(st);
    int count = 0;
    for (braid_tensor *t = NULL;; braid_tensor_free(t)) {
        const braid_run_args args = {.fetches = &(braid_fetch){out, &t}, .fetch_count = 1};
        if (braid_session_run(s, &args, st)) break;
        for (int64_t i = 0; i < braid_tensor_num_elements(t) && count < max; i++)
            values[count++] = ((const int64_t *)braid_tensor_data(t))[i];
    }
    assert_error(st, BRAID_OUT_OF_RANGE, "End of sequence");
    braid_session_close(s, st);
    return count;
}

static int elements_of(braid_graph *g, braid_dataset d, int64_t *values, int max)
{
    braid_out out;
    const braid_iterator it = braid_make_initializable_iterator(g, d, NULL);
    braid_iterator_get_next(g, it, &out);
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    return elements(g, it, out, values, max);
}

static void transformations_apply_in_order(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    int64_t got[32];
    braid_dataset d = braid_dataset_range(g, 0, 10, 1);
    d = braid_dataset_skip(g, braid_dataset_take(g, d, 8), 1);                // 1..7
    d = braid_dataset_concatenate(g, d, braid_dataset_range(g, 100, 98, -1)); // 1..7, 100, 99
    d = braid_dataset_repeat(g, braid_dataset_shard(g, d, 3, 1), 2);          // 2, 5, 100, twice
    d = braid_dataset_prefetch(g, braid_dataset_cache(g, braid_dataset_batch(g, d, 4, false), NULL), 2);
    static const int64_t wanted[] = {2, 5, 100, 2, 5, 100};
    assert_int_equal(elements_of(g, d, got, 32), 6);
    assert_memory_equal(got, wanted, sizeof wanted);
    braid_graph_free(g);
}

static void a_seeded_shuffle_is_a_permutation_that_repeats(void **state)
{
    (void)state;
    int64_t got[2][100];
    bool in_order = true, seen[100] = {0};
    for (int k = 0; k < 2; k++) {
        braid_graph *g = braid_graph_new();
        const braid_dataset d = braid_dataset_shuffle(g, braid_dataset_range(g, 0, 100, 1), 50, 7, true);
        assert_int_equal(elements_of(g, d, got[k], 100), 100);
        braid_graph_free(g);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    for (int i = 0; i < 100; i++) {
        in_order = in_order && got[0][i] == i;
        assert_true(got[0][i] >= 0 && got[0][i] < 100 && !seen[got[0][i]]);
        seen[got[0][i]] = true;
    }
    assert_false(in_order);
}

static void shapes_are_static_as_in_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(6, 2)),
                    y = braid_zeros(g, BRAID_INT64, BRAID_SHAPE(6));
    const braid_dataset d = braid_dataset_from_tensor_slices(g, (braid_out[]){x, y}, 2);
    const braid_dataset whole = braid_dataset_batch(g, d, 3, true),
                        rest = braid_dataset_batch(g, d, 3, false);
    const braid_dataset both = braid_dataset_zip(g, (braid_dataset[]){whole, rest}, 2);
    braid_out outs[4];
    braid_iterator_get_next(g, braid_make_initializable_iterator(g, both, NULL), outs);
    assert_int_equal(both.count, 4);
    assert_true(braid_shape_equal(braid_out_shape(outs[0]), BRAID_SHAPE(3, 2)));
    assert_true(braid_shape_equal(braid_out_shape(outs[1]), BRAID_SHAPE(3)));
    assert_true(braid_shape_equal(braid_out_shape(outs[2]), BRAID_SHAPE(-1, 2)));
    assert_true(braid_shape_equal(braid_out_shape(outs[3]), BRAID_SHAPE(-1)));
    assert_int_equal(braid_out_dtype(outs[3]), BRAID_INT64);
    const braid_dataset mixed = braid_dataset_concatenate(g, whole, rest);
    assert_true(braid_shape_equal(mixed.shapes[0], BRAID_SHAPE(-1, 2)));
    static const char *const names[] = {"TensorSliceDataset", "BatchDatasetV2", "batch_size",
                                        "drop_remainder",     "ZipDataset",     "IteratorV2",
                                        "MakeIterator",       "IteratorGetNext"};
    for (size_t i = 0; i < BD_COUNTOF(names); i++)
        assert_non_null(braid_graph_find(g, names[i]));
    braid_graph_free(g);
}

// ---- Files ----

static char *write_examples(int count)
{
    BD_STATUS(st);
    char *path = bd_strdup("/tmp/braid-dataset-XXXXXX");
    close(mkstemp(path));
    braid_record_writer *w = braid_record_writer_open(path, BRAID_COMPRESSION_GZIP, st);
    assert_ok(st);
    braid_example *e = braid_example_new();
    for (int64_t i = 0; i < count; i++) {
        const float xs[] = {(float)i, (float)-i};
        size_t len;
        braid_example_clear(e);
        braid_example_floats(e, "x", xs, 2);
        if (i % 2) braid_example_int64s(e, "label", &i, 1);
        const void *data = braid_example_serialize(e, &len, st);
        braid_record_write(w, data, len, st);
    }
    braid_example_free(e);
    braid_record_writer_close(w, st);
    assert_ok(st);
    return path;
}

static void examples_of_a_file_are_parsed(void **state)
{
    (void)state;
    char *path = write_examples(5);
    braid_graph *g = braid_graph_new();
    braid_tensor *none = braid_tensor_int64(-1);
    const braid_feature features[] = {
        {.name = "x", .dtype = BRAID_FLOAT, .shape = {.rank = 1, .dims = {2}}},
        {.name = "label", .dtype = BRAID_INT64, .default_value = none},
    };
    braid_dataset d = braid_dataset_tf_record(g, braid_const_string(g, NULL, path), "GZIP");
    d = braid_dataset_parse_example(g, braid_dataset_batch(g, d, 2, false), features, 2, 2);
    assert_true(braid_shape_equal(d.shapes[1], BRAID_SHAPE(-1, 2))); // label, then x
    braid_out outs[2];
    const braid_iterator it = braid_make_initializable_iterator(g, d, NULL);
    braid_iterator_get_next(g, it, outs);
    int64_t labels[8], xs[16];
    assert_int_equal(elements(g, it, outs[0], labels, 8), 5);
    static const int64_t wanted_labels[] = {-1, 1, -1, 3, -1};
    assert_memory_equal(labels, wanted_labels, sizeof wanted_labels);
    const int count = elements(g, it, braid_cast(g, outs[1], BRAID_INT64), xs, 16);
    static const int64_t wanted_xs[] = {0, 0, 1, -1, 2, -2, 3, -3, 4, -4};
    assert_int_equal(count, 10);
    assert_memory_equal(xs, wanted_xs, sizeof wanted_xs);
    braid_tensor_free(none);
    braid_graph_free(g);
    unlink(path);
    bd_free(path);
}

static void parse_example_gives_sparse_and_dense_features(void **state)
{
    (void)state;
    char *path = write_examples(3);
    braid_graph *g = braid_graph_new();
    const braid_feature features[] = {
        {.name = "x", .dtype = BRAID_FLOAT, .shape = {.rank = 1, .dims = {2}}},
        {.name = "label", .dtype = BRAID_INT64, .is_var_len = true},
    };
    const braid_dataset d = braid_dataset_tf_record(g, braid_const_string(g, NULL, path), "GZIP");
    const braid_iterator it = braid_make_initializable_iterator(g, braid_dataset_batch(g, d, 3, true), NULL);
    braid_out serialized;
    braid_parsed parsed[2];
    int64_t got[16];
    braid_iterator_get_next(g, it, &serialized);
    braid_parse_example(g, NULL, serialized, features, 2, parsed);
    assert_true(braid_shape_equal(braid_out_shape(parsed[0].values), BRAID_SHAPE(3, 2)));
    assert_null(parsed[0].indices.op);
    assert_int_equal(elements(g, it, parsed[1].values, got, 16), 1);
    assert_int_equal(got[0], 1);
    assert_int_equal(elements(g, it, parsed[1].indices, got, 16), 2);
    assert_true(got[0] == 1 && got[1] == 0);
    assert_int_equal(elements(g, it, parsed[1].dense_shape, got, 16), 2);
    assert_true(got[0] == 3 && got[1] == 1);
    assert_non_null(braid_graph_find(g, "ParseExample/ParseExample"));
    assert_non_null(braid_graph_find(g, "ParseExample/ParseExample/dense_keys_0"));
    braid_graph_free(g);
    unlink(path);
    bd_free(path);
}

static void csv_and_text_files_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/braid-dataset-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("a,b\n1,2\n,4\n", file);
    fclose(file);
    braid_graph *g = braid_graph_new();
    const int64_t seven = 7;
    braid_tensor *t = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(1), &seven, NULL);
    braid_tensor *required = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(0), NULL);
    const braid_out files = braid_const_string(g, NULL, path);
    const braid_out defaults[] = {braid_const(g, NULL, t), braid_const(g, NULL, required)};
    const braid_dataset d = braid_dataset_csv(g, files, defaults, 2, true);
    const braid_iterator it = braid_make_initializable_iterator(g, d, NULL);
    braid_out outs[2];
    int64_t got[8];
    braid_iterator_get_next(g, it, outs);
    assert_int_equal(elements(g, it, outs[0], got, 8), 2);
    assert_true(got[0] == 1 && got[1] == 7);
    assert_int_equal(elements(g, it, outs[1], got, 8), 2);
    assert_true(got[0] == 2 && got[1] == 4);
    braid_out line;
    const braid_iterator lines =
        braid_make_initializable_iterator(g, braid_dataset_text_line(g, files, NULL), NULL);
    braid_iterator_get_next(g, lines, &line);
    braid_op_desc *size = braid_op_begin(g, "StringLength", NULL);
    braid_op_input(size, line);
    const braid_out len = braid_cast(g, braid_op_end_out(size), BRAID_INT64);
    assert_int_equal(elements(g, lines, len, got, 8), 3);
    assert_true(got[0] == 3 && got[1] == 3 && got[2] == 2);
    braid_tensor_free(t);
    braid_tensor_free(required);
    braid_graph_free(g);
    unlink(path);
}

static void padded_batches_have_the_size_of_their_largest_element(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out wide = braid_const_number(g, NULL, BRAID_INT64, 3),
                    one = braid_reshape(g, wide, BRAID_SHAPE(1));
    const braid_out two =
        braid_reshape(g, braid_full(g, NULL, BRAID_INT64, BRAID_SHAPE(2), 5), BRAID_SHAPE(2));
    const braid_dataset d = braid_dataset_concatenate(g, braid_dataset_from_tensors(g, &one, 1),
                                                      braid_dataset_from_tensors(g, &two, 1));
    assert_true(braid_shape_equal(d.shapes[0], BRAID_SHAPE(-1)));
    const braid_dataset batch = braid_dataset_padded_batch(g, d, 2, NULL, true);
    assert_true(braid_shape_equal(batch.shapes[0], BRAID_SHAPE(2, -1)));
    static const int64_t wanted[] = {3, 0, 5, 5};
    int64_t got[8];
    assert_int_equal(elements_of(g, batch, got, 8), 4);
    assert_memory_equal(got, wanted, sizeof wanted);
    braid_graph_free(g);
}

static void files_that_match_a_pattern_are_listed_and_read_as_records(void **state)
{
    (void)state;
    BD_STATUS(st);
    char dir[] = "/tmp/braid-dataset-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = bd_asprintf("%s/b", dir), *pattern = bd_asprintf("%s/*", dir);
    FILE *file = fopen(path, "w");
    fputs("Habcdef", file);
    fclose(file);
    braid_graph *g = braid_graph_new();
    braid_out name, record;
    const braid_dataset files = braid_dataset_list_files(g, braid_const_string(g, NULL, pattern));
    const braid_iterator names = braid_make_initializable_iterator(g, files, NULL);
    braid_iterator_get_next(g, names, &name);
    const braid_dataset d = braid_dataset_fixed_length_record(g, braid_const_string(g, NULL, path), 3, 1, 0);
    const braid_iterator records = braid_make_initializable_iterator(g, d, NULL);
    braid_iterator_get_next(g, records, &record);
    braid_session *s = braid_session_open(g, NULL, st);
    braid_op *inits[] = {names.initializer, records.initializer};
    braid_session_run(s, &(braid_run_args){.targets = inits, .target_count = 2}, st);
    braid_tensor *got[2] = {NULL, NULL};
    const braid_fetch fetches[] = {{name, &got[0]}, {record, &got[1]}};
    braid_session_run(s, &(braid_run_args){.fetches = fetches, .fetch_count = 2}, st);
    assert_ok(st);
    size_t len;
    assert_memory_equal(braid_tensor_string_at(got[0], 0, &len), path, strlen(path));
    assert_memory_equal(braid_tensor_string_at(got[1], 0, &len), "abc", 3);
    assert_int_equal(len, 3);
    braid_tensor_free(got[0]);
    braid_tensor_free(got[1]);
    braid_session_close(s, st);
    braid_graph_free(g);
    unlink(path);
    rmdir(dir);
    bd_free(path);
    bd_free(pattern);
}

static void a_monitored_session_initializes_iterators_and_ends_with_the_input(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_dataset d = braid_dataset_batch(g, braid_dataset_range(g, 0, 10, 1), 2, true);
    braid_out numbers;
    braid_iterator_get_next(g, braid_make_initializable_iterator(g, d, NULL), &numbers);
    const braid_out step = braid_global_step(g);
    braid_op *train = braid_assign_add(g, step, braid_reduce_sum(g, numbers)).op;
    braid_monitored_session *s = braid_monitored_session_open(g, &(braid_session_config){0});
    while (!braid_should_stop(s))
        braid_run(s, NULL, NULL, train);
    braid_tensor *sum = NULL;
    braid_evaluate(s, NULL, BRAID_FETCH({step, &sum}));
    assert_int_equal(*(const int64_t *)braid_tensor_data(sum), 45);
    braid_tensor_free(sum);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(g);
}

static void expect_failure(braid_graph *g, const char *text)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, text);
    braid_graph_free(g);
}

static void wrong_pipelines_fail_the_graph(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_dataset_batch(g, braid_dataset_range(g, 0, 5, 1), 0, true);
    expect_failure(g, "A batch of 0 elements");
    g = braid_graph_new();
    (void)braid_dataset_shard(g, braid_dataset_range(g, 0, 5, 1), 2, 2);
    expect_failure(g, "there is no shard 2 of 2");
    g = braid_graph_new();
    (void)braid_dataset_repeat(g, (braid_dataset){0}, 2);
    expect_failure(g, "RepeatDataset: its dataset is nothing");
    g = braid_graph_new();
    (void)braid_dataset_from_tensor_slices(g, &(braid_out){braid_const_int64(g, NULL, 1).op, 0}, 1);
    expect_failure(g, "component 0 is a scalar");
    g = braid_graph_new();
    const braid_feature feature = {.name = "x", .dtype = BRAID_DOUBLE};
    (void)braid_dataset_parse_example(g, braid_dataset_range(g, 0, 5, 1), &feature, 1, 1);
    expect_failure(g, "Feature 'x' is neither float, int64 nor string");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transformations_apply_in_order),
        cmocka_unit_test(a_seeded_shuffle_is_a_permutation_that_repeats),
        cmocka_unit_test(shapes_are_static_as_in_tensorflow),
        cmocka_unit_test(examples_of_a_file_are_parsed),
        cmocka_unit_test(parse_example_gives_sparse_and_dense_features),
        cmocka_unit_test(csv_and_text_files_are_read),
        cmocka_unit_test(padded_batches_have_the_size_of_their_largest_element),
        cmocka_unit_test(files_that_match_a_pattern_are_listed_and_read_as_records),
        cmocka_unit_test(a_monitored_session_initializes_iterators_and_ends_with_the_input),
        cmocka_unit_test(wrong_pipelines_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
