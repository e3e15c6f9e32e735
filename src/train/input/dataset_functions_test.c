// Functions of elements built in C: the elements that sessions get, captured values, seeds, one-shot and
// reinitializable iterators, and errors of building.
#include "base/testing/test.h"

#include <braid/braid.h>
#include <stdlib.h>

// Runs `init` (NULL: nothing) and then `out` until the end of the input; collects the int64 elements.
static int run(braid_graph *g, braid_op *init, braid_out out, int64_t *values, int max)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_ok(st);
    braid_op *inits[] = {braid_global_variables_initializer(g), init};
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    for (int i = 0; i < (init ? 2 : 1); i++) // an iterator may take the values of variables
        braid_session_run(s, &(braid_run_args){.targets = &inits[i], .target_count = 1}, st);
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
    braid_out outs[4] = {{0}};
    const braid_iterator it = braid_make_initializable_iterator(g, d, NULL);
    braid_iterator_get_next(g, it, outs);
    return run(g, it.initializer, outs[0], values, max);
}

// x * x + *arg, an output of the graph outside
static void square_and_add(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    results[0] = braid_add(g, braid_mul(g, x[0], x[0]), *(const braid_out *)arg);
}

static braid_out is_odd(void *arg, braid_graph *g, const braid_out *x)
{
    (void)arg;
    const braid_out two = braid_const_int64(g, NULL, 2), one = braid_const_int64(g, NULL, 1);
    return braid_equal(g, braid_output(braid_op_add(g, "FloorMod", NULL, (braid_out[]){x[0], two}, 2), 0),
                       one);
}

static void map_and_filter_compute_their_functions_of_each_element(void **state)
{
    (void)state;
    for (int parallel = 0; parallel <= 3; parallel += 3) {
        braid_graph *g = braid_graph_new();
        const braid_out seven = braid_const_int64(g, "seven", 7);
        braid_dataset d = braid_dataset_filter(g, braid_dataset_range(g, 0, 40, 1), is_odd, NULL);
        d = braid_dataset_map(g, d, square_and_add, (void *)&seven, 1, parallel);
        int64_t got[64];
        assert_int_equal(elements_of(g, d, got, 64), 20);
        for (int i = 0; i < 20; i++)
            assert_int_equal(got[i], (2 * i + 1) * (2 * i + 1) + 7);
        braid_graph_free(g);
    }
}

static void both_ways(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    (void)arg;
    results[0] = x[0];
    results[1] = braid_cast(g, x[0], BRAID_FLOAT);
}

static void components_have_the_types_and_shapes_of_results(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_dataset d = braid_dataset_batch(g, braid_dataset_range(g, 0, 6, 1), 3, true);
    d = braid_dataset_map(g, d, both_ways, NULL, 2, 0);
    assert_int_equal(d.count, 2);
    assert_int_equal(d.dtypes[0], BRAID_INT64);
    assert_int_equal(d.dtypes[1], BRAID_FLOAT);
    assert_true(braid_shape_equal(d.shapes[1], BRAID_SHAPE(3)));
    int64_t got[8];
    assert_int_equal(elements_of(g, d, got, 8), 6);
    assert_int_equal(got[5], 5);
    braid_graph_free(g);
}

// i + *arg, an output of the body outside
static void add_outer(void *arg, braid_graph *g, const braid_out *i, braid_out *results)
{
    results[0] = braid_add(g, i[0], *(const braid_out *)arg);
}

// 10 x, 10 x + 1, 10 x + 2: a dataset with a function of its own, which captures an argument of this one
static braid_dataset three_of(void *arg, braid_graph *g, const braid_out *x)
{
    (void)arg;
    const braid_out tens = braid_mul(g, x[0], braid_const_int64(g, NULL, 10));
    return braid_dataset_map(g, braid_dataset_range(g, 0, 3, 1), add_outer, (void *)&tens, 1, 0);
}

static void datasets_of_elements_follow_each_other_or_take_turns(void **state)
{
    (void)state;
    static const int64_t flat[] = {0, 1, 2, 10, 11, 12, 20, 21, 22},
                         turns[] = {0, 10, 1, 11, 2, 12, 20, 21, 22};
    int64_t got[16];
    braid_graph *g = braid_graph_new();
    const braid_dataset d = braid_dataset_range(g, 0, 3, 1);
    assert_int_equal(elements_of(g, braid_dataset_flat_map(g, d, three_of, NULL), got, 16), 9);
    assert_memory_equal(got, flat, sizeof flat);
    for (int calls = 0; calls <= 2; calls += 2) {
        const braid_interleave_options two = {.cycle_length = 2, .parallel_calls = calls};
        assert_int_equal(elements_of(g, braid_dataset_interleave(g, d, &two, three_of, NULL), got, 16), 9);
        assert_memory_equal(got, turns, sizeof turns);
    }
    braid_graph_free(g);
}

static void a_captured_variable_has_its_value_when_the_iterator_begins(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_tensor *five = braid_tensor_int64(5);
    const braid_out v = braid_variable_new(g, "v", braid_const(g, NULL, five), true).ref;
    const braid_dataset d =
        braid_dataset_map(g, braid_dataset_range(g, 0, 2, 1), add_outer, (void *)&v, 1, 0);
    int64_t got[4];
    assert_int_equal(elements_of(g, d, got, 4), 2);
    assert_true(got[0] == 5 && got[1] == 6);
    braid_tensor_free(five);
    braid_graph_free(g);
}

static braid_out below_100(void *arg, braid_graph *g, const braid_out *vars)
{
    (void)arg;
    return braid_output(
        braid_op_add(g, "Less", NULL, (braid_out[]){vars[0], braid_const_int64(g, NULL, 100)}, 2), 0);
}

static void add_twice(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    const braid_out *both = arg; // of the graph outside, and of the function's body
    next[0] = braid_add(g, vars[0], braid_add(g, both[0], both[1]));
}

// Adds x + step to `step` until the sum is 100 or more.
static void climb(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    const braid_out step = *(const braid_out *)arg;
    braid_out both[] = {step, x[0]};
    braid_while(g, &(braid_loop){.condition = below_100, .body = add_twice, .arg = both}, &step, 1, results);
}

static void a_loop_within_a_function_captures_what_is_outside_of_both(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out step = braid_const_int64(g, "step", 7);
    const braid_dataset d = braid_dataset_map(g, braid_dataset_range(g, 0, 4, 1), climb, &step, 1, 0);
    int64_t got[8];
    assert_int_equal(elements_of(g, d, got, 8), 4);
    for (int64_t x = 0; x < 4; x++) {
        int64_t sum = 7;
        while (sum < 100)
            sum += x + 7;
        assert_int_equal(got[x], sum);
    }
    braid_graph_free(g);
}

static void an_exported_graph_has_its_functions(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new(), *copy = braid_graph_new();
    const braid_dataset d = braid_dataset_flat_map(g, braid_dataset_range(g, 1, 3, 1), three_of, NULL);
    braid_out next;
    const braid_iterator it = braid_make_initializable_iterator(g, d, NULL);
    braid_iterator_get_next(g, it, &next);
    size_t len;
    void *data = braid_graph_export(g, &len, st);
    assert_ok(st);
    assert_int_equal(braid_graph_import(copy, data, len, st), BRAID_OK);
    int64_t got[16];
    braid_op *init = braid_graph_find(copy, braid_op_name(it.initializer));
    assert_int_equal(run(copy, init, braid_graph_find_out(copy, braid_op_name(next.op)), got, 16), 6);
    assert_int_equal(got[5], 22);
    free(data);
    braid_graph_free(g);
    braid_graph_free(copy);
}

// ---- Seeds ----

static void add_random(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    (void)arg;
    const braid_out noise = braid_random_uniform(g, BRAID_SCALAR, 0, 1000000);
    results[0] = braid_add(g, x[0], braid_cast(g, noise, BRAID_INT64));
}

static void draw(int64_t seed, int64_t *values)
{
    braid_graph *g = braid_graph_new();
    if (seed) braid_graph_set_seed(g, seed);
    const braid_dataset d = braid_dataset_shuffle(g, braid_dataset_range(g, 0, 50, 1), 50, 0, true);
    assert_int_equal(elements_of(g, d, values, 50), 50);
    assert_int_equal(
        elements_of(g, braid_dataset_map(g, braid_dataset_range(g, 0, 20, 1), add_random, NULL, 1, 0),
                    values + 50, 20),
        20);
    braid_graph_free(g);
}

static void the_seed_of_the_graph_repeats_shuffles_and_random_functions(void **state)
{
    (void)state;
    int64_t first[70], again[70], other[70];
    draw(3, first);
    draw(3, again);
    draw(4, other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, 50 * sizeof *first);
    assert_memory_not_equal(first + 50, other + 50, 20 * sizeof *first);
    int64_t seeds[2];
    braid_graph *g = braid_graph_new();
    braid_get_seed(g, NULL, seeds);
    assert_true(seeds[0] == 0 && seeds[1] == 0);
    braid_get_seed(g, &(int64_t){9}, seeds);
    assert_true(seeds[0] == 87654321 && seeds[1] == 9);
    braid_graph_set_seed(g, 0);
    braid_get_seed(g, NULL, seeds);
    assert_true(seeds[0] == 0 && seeds[1] == INT32_MAX);
    braid_graph_free(g);
}

// ---- Iterators ----

static void a_one_shot_iterator_needs_no_initializer(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out seven = braid_const_int64(g, "seven", 7), next;
    const braid_dataset d =
        braid_dataset_map(g, braid_dataset_range(g, 0, 3, 1), square_and_add, &seven, 1, 0);
    const braid_iterator it = braid_make_one_shot_iterator(g, d);
    assert_null(it.initializer);
    braid_iterator_get_next(g, it, &next);
    int64_t got[4];
    assert_int_equal(run(g, NULL, next, got, 4), 3);
    assert_true(got[0] == 7 && got[1] == 8 && got[2] == 11);
    braid_graph_free(g);
}

static void an_iterator_is_initialized_with_one_dataset_after_another(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_dataset few = braid_dataset_range(g, 0, 2, 1), more = braid_dataset_range(g, 10, 15, 1);
    const braid_iterator it = braid_iterator_from_structure(g, few, NULL);
    braid_out next;
    braid_iterator_get_next(g, it, &next);
    int64_t got[8];
    assert_int_equal(run(g, braid_iterator_make_initializer(g, it, few), next, got, 8), 2);
    assert_int_equal(run(g, braid_iterator_make_initializer(g, it, more), next, got, 8), 5);
    assert_int_equal(got[4], 14);
    braid_graph_free(g);
}

// ---- Errors ----

static void nothing(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    (void)arg, (void)g, (void)x, (void)results;
}

static void of_another_graph(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    results[0] = braid_add(g, x[0], *(const braid_out *)arg);
}

static void a_variable(void *arg, braid_graph *g, const braid_out *x, braid_out *results)
{
    (void)arg, (void)x;
    results[0] = braid_variable_new(g, "v", braid_const_int64(g, NULL, 1), true).ref;
}

static braid_out no_bool(void *arg, braid_graph *g, const braid_out *x)
{
    (void)arg, (void)g;
    return x[0];
}

static braid_dataset no_dataset(void *arg, braid_graph *g, const braid_out *x)
{
    (void)arg, (void)g;
    return (braid_dataset){.variant = x[0], .count = 1};
}

static void expect_failure(braid_graph *g, const char *text)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    const char *line = strstr(braid_status_message(st), "dataset_functions_test.c:");
    if (!line) fail_msg("no line: %s", braid_status_message(st));
    assert_error(st, BRAID_INVALID_ARGUMENT, text);
    braid_graph_free(g);
}

#define NUMBERS(G) braid_dataset_range(G, 0, 5, 1)

static void wrong_functions_fail_the_graph_with_their_line(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    (void)braid_dataset_map(g, NUMBERS(g), nothing, NULL, 1, 0);
    expect_failure(g, "Function 'Dataset_map': Its result 0 is nothing");
    g = braid_graph_new();
    braid_out foreign = braid_const_int64(other, NULL, 1);
    (void)braid_dataset_map(g, NUMBERS(g), of_another_graph, &foreign, 1, 0);
    expect_failure(g, "an input is of another graph");
    braid_graph_free(other);
    g = braid_graph_new();
    (void)braid_dataset_map(g, NUMBERS(g), a_variable, NULL, 1, 0);
    expect_failure(g, "Its body adds to the collection 'variables'");
    g = braid_graph_new();
    (void)braid_dataset_map(g, NUMBERS(g), NULL, NULL, 1, 0);
    expect_failure(g, "MapDataset: its function is NULL");
    g = braid_graph_new();
    (void)braid_dataset_filter(g, NUMBERS(g), no_bool, NULL);
    expect_failure(g, "is of type int64 and rank 0 instead of a bool scalar");
    g = braid_graph_new();
    (void)braid_dataset_flat_map(g, NUMBERS(g), no_dataset, NULL);
    expect_failure(g, "The function of FlatMapDataset returns a tensor of int64 instead of a dataset");
    g = braid_graph_new();
    (void)braid_dataset_interleave(g, NUMBERS(g), &(braid_interleave_options){0}, three_of, NULL);
    expect_failure(g, "a cycle of 0 datasets");
    g = braid_graph_new();
    (void)braid_iterator_make_initializer(g, braid_make_initializable_iterator(g, NUMBERS(g), NULL),
                                          braid_dataset_batch(g, NUMBERS(g), 2, true));
    expect_failure(g, "component 0 of the dataset has a shape that the iterator's does not allow");
    g = braid_graph_new();
    const braid_out fed = braid_placeholder(g, "fed", BRAID_INT64, BRAID_SHAPE(3));
    (void)braid_make_one_shot_iterator(g, braid_dataset_from_tensor_slices(g, &fed, 1));
    expect_failure(g, "It needs the placeholder 'fed'");
    g = braid_graph_new();
    braid_iterator_get_next(g, braid_make_initializable_iterator(g, NUMBERS(g), NULL), NULL);
    expect_failure(g, "its array of results is NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_and_filter_compute_their_functions_of_each_element),
        cmocka_unit_test(components_have_the_types_and_shapes_of_results),
        cmocka_unit_test(datasets_of_elements_follow_each_other_or_take_turns),
        cmocka_unit_test(a_captured_variable_has_its_value_when_the_iterator_begins),
        cmocka_unit_test(a_loop_within_a_function_captures_what_is_outside_of_both),
        cmocka_unit_test(an_exported_graph_has_its_functions),
        cmocka_unit_test(the_seed_of_the_graph_repeats_shuffles_and_random_functions),
        cmocka_unit_test(a_one_shot_iterator_needs_no_initializer),
        cmocka_unit_test(an_iterator_is_initialized_with_one_dataset_after_another),
        cmocka_unit_test(wrong_functions_fail_the_graph_with_their_line),
    };
    return BD_RUN_TESTS(tests);
}
