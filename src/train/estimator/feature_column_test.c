// Feature columns: their names, the dense input and the lists of ids that they make, and linear models.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/evaluate.h"
#include <braid/feature_column.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Features ----

static braid_out strings(braid_graph *g, braid_shape shape, const char *const *values)
{
    braid_tensor *t = braid_tensor_new(BRAID_STRING, shape, NULL);
    for (int64_t i = 0; i < braid_shape_num_elements(shape); i++)
        braid_tensor_set_string(t, i, values[i], strlen(values[i]));
    const braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

// Three examples: "age" 18, 25, 70; "job" cook, smith and nothing; "id" 0, 3 and -1.
static int features_of(braid_graph *g, braid_named_tensor features[3])
{
    static const char *const jobs[] = {"cook", "smith", ""};
    features[0] = (braid_named_tensor){
        .name = "age",
        .values = evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(3), (const double[]){18, 25, 70})};
    features[1] = (braid_named_tensor){.name = "job", .values = strings(g, BRAID_SHAPE(3), jobs)};
    features[2] = (braid_named_tensor){
        .name = "id", .values = evaluate_const(g, BRAID_INT64, BRAID_SHAPE(3), (const double[]){0, 3, -1})};
    return 3;
}

static const float decades[] = {20, 30, 40};

static braid_tensor *words(const char *a, const char *b)
{
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(2), NULL);
    braid_tensor_set_string(t, 0, a, strlen(a));
    braid_tensor_set_string(t, 1, b, strlen(b));
    return t;
}

// ---- Checks ----

// Opens a session with variables and tables.
static braid_session *open_all(braid_graph *g)
{
    braid_session *s = evaluate_open(g);
    int count;
    const braid_out *tables = braid_collection(g, BRAID_TABLE_INITIALIZERS, &count);
    for (int i = 0; i < count; i++)
        evaluate_run(s, tables[i].op);
    return s;
}

static void expect_input(const braid_feature_column *columns, int count, const double *want, int64_t len)
{
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    const int feature_count = features_of(g, features);
    const braid_out x = braid_input_layer(g, features, feature_count, columns, count);
    braid_session *s = open_all(g);
    expect_evaluates(s, x, want, len);
    evaluate_close(s, g);
}

static void expect_error(const braid_feature_column *column, bool is_linear, braid_code code,
                         const char *text)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    const int count = features_of(g, features);
    if (is_linear)
        (void)braid_linear_model(g, features, count, column, 1, 1);
    else
        (void)braid_input_layer(g, features, count, column, 1);
    braid_graph_status(g, st);
    assert_error(st, code, text);
    braid_graph_free(g);
}

static void expect_name(const braid_feature_column *column, const char *want)
{
    char *name = braid_feature_column_name(column);
    assert_string_equal(name, want);
    bd_free(name);
}

// ---- Tests ----

static void columns_have_the_names_of_tensorflow(void **state)
{
    (void)state;
    braid_tensor *vocabulary = words("cook", "smith");
    const braid_feature_column age = braid_numeric_column("age", 1);
    const braid_feature_column bucketized = braid_bucketized_column(&age, decades, 3);
    const braid_feature_column job = braid_vocabulary_list_column("job", vocabulary);
    const braid_feature_column weighted = braid_weighted_column(&job, "w");
    const braid_feature_column raw = braid_raw_column("Id", BRAID_INT64);
    const braid_feature_column *const both[] = {&job, &bucketized, &raw};
    const braid_feature_column crossed = braid_crossed_column(both, 3, 100);
    const braid_feature_column embedding = braid_embedding_column(&crossed, 4);
    const braid_feature_column indicator = braid_indicator_column(&weighted);
    expect_name(&age, "age");
    expect_name(&bucketized, "age_bucketized");
    expect_name(&crossed, "Id_X_age_bucketized_X_job");
    expect_name(&embedding, "Id_X_age_bucketized_X_job_embedding");
    expect_name(&indicator, "job_weighted_by_w_indicator");
    braid_tensor_free(vocabulary);
}

static braid_out tenth(braid_graph *g, braid_out x)
{
    return braid_mul(g, x, braid_const_float(g, NULL, 0.1f));
}

static void numbers_are_taken_as_they_are_or_normalized(void **state)
{
    (void)state;
    braid_feature_column columns[] = {braid_numeric_column("id", 1), braid_numeric_column("age", 1)};
    columns[1].normalizer = tenth;
    expect_input(columns, 2, (const double[]){1.8, 0, 2.5, 3, 7, -1}, 6); // by name
}

static void buckets_are_one_hot(void **state)
{
    (void)state;
    const braid_feature_column age = braid_numeric_column("age", 1);
    const braid_feature_column column = braid_bucketized_column(&age, decades, 3);
    expect_input(&column, 1, (const double[]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1}, 12);
}

static void indicators_count_ids(void **state)
{
    (void)state;
    braid_tensor *vocabulary = words("smith", "baker");
    braid_feature_column job = braid_vocabulary_list_column("job", vocabulary);
    braid_feature_column column = braid_indicator_column(&job);
    expect_input(&column, 1, (const double[]){0, 0, 1, 0, 0, 0}, 6); // the cook is unknown
    job.has_default = true, job.default_value = 1;
    expect_input(&column, 1, (const double[]){0, 1, 1, 0, 0, 0}, 6);
    job.num_oov_buckets = 1;
    expect_input(&column, 1, (const double[]){0, 0, 1, 1, 0, 0, 0, 0, 0}, 9);
    braid_tensor_free(vocabulary);
    const braid_feature_column id = braid_identity_column("id", 4);
    column = braid_indicator_column(&id);
    expect_input(&column, 1, (const double[]){1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}, 12);
}

static void a_vocabulary_comes_from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/braid_vocabulary_XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fputs("cook\nbaker\nsmith", file);
    fclose(file);
    const braid_feature_column job = braid_vocabulary_file_column("job", path, 0);
    const braid_feature_column column = braid_indicator_column(&job);
    expect_input(&column, 1, (const double[]){1, 0, 0, 0, 0, 1, 0, 0, 0}, 9);
    remove(path);
}

static void embeddings_are_rows_or_zeros(void **state)
{
    (void)state;
    const braid_feature_column id = braid_identity_column("id", 4);
    braid_feature_column column = braid_embedding_column(&id, 2);
    column.initializer = braid_constant_initializer(0.5f);
    expect_input(&column, 1, (const double[]){0.5, 0.5, 0.5, 0.5, 0, 0}, 6);
}

// Example 0 has the id 0 in both columns.
static void embeddings_share_a_table(void **state)
{
    (void)state;
    braid_tensor *vocabulary = words("cook", "smith");
    const braid_feature_column id = braid_identity_column("id", 4);
    braid_feature_column job = braid_vocabulary_list_column("job", vocabulary);
    job.num_oov_buckets = 2; // four buckets
    const braid_feature_column *const both[] = {&job, &id};
    braid_feature_column columns[2];
    braid_shared_embedding_columns(both, 2, 3, columns);
    expect_name(&columns[0], "job_shared_embedding");
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    int count = features_of(g, features);
    const braid_out x = braid_input_layer(g, features, count, columns, 2);
    const braid_out of_id = braid_slice(g, x, (const int64_t[]){0, 0}, BRAID_SHAPE(1, 3));
    const braid_out of_job = braid_slice(g, x, (const int64_t[]){0, 3}, BRAID_SHAPE(1, 3));
    const braid_out difference = braid_sub(g, of_id, of_job);
    const braid_out *vars = braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, 1);
    assert_string_equal(braid_op_name(vars[0].op), "input_layer/id_job_shared_embedding/embedding_weights");
    braid_session *s = open_all(g);
    expect_evaluates(s, difference, (const double[]){0, 0, 0}, 3);
    evaluate_close(s, g);
    braid_tensor_free(vocabulary);
}

static void a_shared_table_has_one_number_of_buckets(void **state)
{
    (void)state;
    BD_STATUS(st);
    const braid_feature_column few = braid_identity_column("id", 4), many = braid_identity_column("age", 90);
    const braid_feature_column *const both[] = {&few, &many};
    braid_feature_column columns[2];
    braid_shared_embedding_columns(both, 2, 3, columns);
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    const int count = features_of(g, features);
    features[0] = features[2];
    features[0].name = "age";
    (void)braid_input_layer(g, features, count, columns, 2);
    braid_graph_status(g, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "age_id_shared_embedding/embedding_weights, but specified shape (4, 3) and found shape (90, 3)");
    braid_graph_free(g);
}

// A sparse feature: example 0 has the ids 1 and 2 with the weights 1 and 3, example 1 has none.
static void ids_are_combined(void **state)
{
    (void)state;
    static const struct {
        braid_combiner combiner;
        double want;
    } cases[] = {{BRAID_COMBINER_MEAN, 1.75}, {BRAID_COMBINER_SUM, 7}, {BRAID_COMBINER_SQRTN, 2.21359436}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        const braid_out indices =
            evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2, 2), (const double[]){0, 0, 0, 1});
        const braid_out shape = evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2), (const double[]){2, 2});
        const braid_named_tensor features[] = {
            {"id", evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2), (const double[]){1, 2}), indices, shape},
            {"w", evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2), (const double[]){1, 3}), indices, shape}};
        const braid_feature_column id = braid_identity_column("id", 4);
        const braid_feature_column weighted = braid_weighted_column(&id, "w");
        braid_feature_column column = braid_embedding_column(&weighted, 1);
        column.combiner = cases[i].combiner;
        const braid_out x = braid_input_layer(g, features, 2, &column, 1);
        const braid_out table =
            braid_graph_find_out(g, "input_layer/id_weighted_by_w_embedding/embedding_weights");
        const braid_out rows =
            evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(4, 1), (const double[]){0, 1, 2, 3});
        const braid_out assigned = braid_assign(g, table, rows);
        braid_session *s = open_all(g);
        evaluate_run(s, assigned.op);
        expect_evaluates(s, x, (const double[]){cases[i].want, 0}, 2);
        evaluate_close(s, g);
    }
}

static void a_linear_model_sums_weights(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    const int count = features_of(g, features);
    const braid_feature_column age = braid_numeric_column("age", 1);
    const braid_feature_column columns[] = {age, braid_identity_column("id", 4)};
    const braid_out y = braid_linear_model(g, features, count, columns, 2, 1);
    braid_push_name_scope(g, "");
    const braid_out assigns[] = {
        braid_assign(g, braid_graph_find_out(g, "linear_model/age/weights"),
                     evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(1, 1), (const double[]){2})),
        braid_assign(g, braid_graph_find_out(g, "linear_model/id/weights"),
                     evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(4, 1), (const double[]){10, 20, 30, 40})),
        braid_assign(g, braid_graph_find_out(g, "linear_model/bias_weights"),
                     evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(1), (const double[]){1}))};
    braid_pop_name_scope(g);
    braid_session *s = open_all(g);
    expect_evaluates(s, y, (const double[]){0, 0, 0}, 3);
    for (int i = 0; i < 3; i++)
        evaluate_run(s, assigns[i].op);
    expect_evaluates(s, y, (const double[]){36 + 10 + 1, 50 + 40 + 1, 140 + 1}, 3);
    evaluate_close(s, g);
}

// Which ids TensorFlow gives is tested in canned_test.c.
static void crosses_and_hashes_give_ids_below_their_buckets(void **state)
{
    (void)state;
    braid_tensor *vocabulary = words("cook", "smith");
    const braid_feature_column age = braid_numeric_column("age", 1);
    const braid_feature_column bucketized = braid_bucketized_column(&age, decades, 3);
    const braid_feature_column raw = braid_raw_column("job", BRAID_STRING);
    const braid_feature_column *const both[] = {&raw, &bucketized};
    const braid_feature_column crossed = braid_crossed_column(both, 2, 5);
    const braid_feature_column hashed = braid_hash_bucket_column("job", 5, BRAID_STRING);
    const braid_feature_column columns[] = {braid_indicator_column(&crossed),
                                            braid_indicator_column(&hashed)};
    braid_graph *g = braid_graph_new();
    braid_named_tensor features[3];
    const int count = features_of(g, features);
    const braid_out x = braid_input_layer(g, features, count, columns, 2);
    const int32_t axes[] = {1};
    const braid_out sums = braid_reduce(g, "Sum", x, axes, 1, false);
    braid_session *s = open_all(g);
    expect_evaluates(s, sums, (const double[]){2, 2, 0}, 3);
    evaluate_close(s, g);
    braid_tensor_free(vocabulary);
}

static void wrong_columns_and_features_are_named(void **state)
{
    (void)state;
    const braid_feature_column missing = braid_numeric_column("height", 1);
    expect_error(&missing, true, BRAID_NOT_FOUND,
                 "needs the feature 'height'; the input has 'age', 'job', 'id'");
    const braid_feature_column text = braid_numeric_column("job", 1);
    expect_error(&text, true, BRAID_INVALID_ARGUMENT, "the feature 'job' is of strings");
    const braid_feature_column id = braid_identity_column("id", 4);
    expect_error(&id, false, BRAID_INVALID_ARGUMENT, "The column 'id' is categorical. A network takes it as");
    const braid_feature_column wrong = braid_identity_column("job", 4);
    expect_error(&wrong, true, BRAID_INVALID_ARGUMENT, "takes int64, and the feature is of string");
    const braid_feature_column hashed = braid_hash_bucket_column("job", 5, BRAID_STRING);
    const braid_feature_column *const both[] = {&hashed, &id};
    const braid_feature_column crossed = braid_crossed_column(both, 2, 5);
    expect_error(&crossed, true, BRAID_INVALID_ARGUMENT, "is hashed and cannot be crossed");
}

static void columns_say_which_features_they_parse(void **state)
{
    (void)state;
    const braid_feature_column age = braid_numeric_column("age", 2);
    const braid_feature_column columns[] = {age, braid_bucketized_column(&age, decades, 3),
                                            braid_identity_column("id", 4)};
    braid_feature features[3];
    assert_int_equal(braid_make_parse_spec(columns, 3, features, 3), 2);
    assert_string_equal(features[0].name, "age");
    assert_int_equal(features[0].shape.dims[0], 2);
    assert_string_equal(features[1].name, "id");
    assert_true(features[1].is_var_len);
    assert_int_equal(features[1].dtype, BRAID_INT64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_have_the_names_of_tensorflow),
        cmocka_unit_test(numbers_are_taken_as_they_are_or_normalized),
        cmocka_unit_test(buckets_are_one_hot),
        cmocka_unit_test(indicators_count_ids),
        cmocka_unit_test(a_vocabulary_comes_from_a_file),
        cmocka_unit_test(embeddings_are_rows_or_zeros),
        cmocka_unit_test(embeddings_share_a_table),
        cmocka_unit_test(a_shared_table_has_one_number_of_buckets),
        cmocka_unit_test(ids_are_combined),
        cmocka_unit_test(a_linear_model_sums_weights),
        cmocka_unit_test(crosses_and_hashes_give_ids_below_their_buckets),
        cmocka_unit_test(wrong_columns_and_features_are_named),
        cmocka_unit_test(columns_say_which_features_they_parse),
    };
    return BD_RUN_TESTS(tests);
}
