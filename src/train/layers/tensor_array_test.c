// TensorArrays: values, gradients, static shapes, errors.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/ops.h>
#include <braid/session.h>
#include <braid/tensor_array.h>

static braid_tensor_array new_array(braid_graph *g, int32_t size, braid_shape element,
                                    const braid_tensor_array_options *o)
{
    return braid_tensor_array_new(g, BRAID_FLOAT, element, braid_const_int32(g, "size", size), o);
}

static braid_out matrix(braid_graph *g, int64_t rows, const float *values)
{
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(rows, 2), values, NULL);
    const braid_out out = braid_const(g, "rows", t);
    braid_tensor_free(t);
    return out;
}

static void expect_values(braid_graph *g, braid_out out, const float *want, int count)
{
    braid_session *s = evaluate_open(g);
    braid_tensor *got = evaluate_tensor(s, out);
    assert_int_equal(braid_tensor_num_elements(got), count);
    for (int i = 0; i < count; i++)
        assert_float_equal(((const float *)braid_tensor_data(got))[i], want[i], 0);
    braid_tensor_free(got);
    braid_session_close(s, NULL);
}

static const float six[] = {1, 2, 3, 4, 5, 6};

static void written_elements_are_stacked_and_give_the_shape(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_tensor_array a =
        new_array(g, 1, BRAID_SHAPE_UNKNOWN, &(braid_tensor_array_options){.dynamic_size = true});
    for (int i = 0; i < 3; i++)
        a = braid_tensor_array_write(g, a, braid_const_int32(g, NULL, i),
                                     braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), i));
    const braid_out all = braid_tensor_array_stack(g, a);
    assert_true(braid_shape_equal(braid_out_shape(all), BRAID_SHAPE(-1, 2)));
    expect_values(g, all, (const float[]){0, 0, 1, 1, 2, 2}, 6);
    expect_values(g, braid_cast(g, braid_tensor_array_size(g, a), BRAID_FLOAT), (const float[]){3}, 1);
    braid_graph_free(g);
}

static void scattered_rows_are_gathered(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out rows = matrix(g, 3, six);
    const int32_t order[] = {2, 0, 1}, wanted[] = {0, 2};
    const braid_tensor_array a = braid_tensor_array_scatter(g, new_array(g, 3, BRAID_SHAPE(2), NULL),
                                                            braid_const_int32s(g, "order", order, 3), rows);
    const braid_out got = braid_tensor_array_gather(g, a, braid_const_int32s(g, "wanted", wanted, 2));
    assert_true(braid_shape_equal(braid_out_shape(got), BRAID_SHAPE(2, 2)));
    expect_values(g, got, (const float[]){3, 4, 1, 2}, 4);
    braid_out grad;
    braid_gradients(g, &got, 1, &rows, 1, NULL, &grad);
    expect_values(g, grad, (const float[]){1, 1, 1, 1, 0, 0}, 6);
    braid_graph_free(g);
}

static void pieces_of_different_lengths_are_joined_again(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out rows = matrix(g, 3, six);
    const int32_t lengths[] = {2, 1};
    const braid_tensor_array a = braid_tensor_array_split(
        g,
        new_array(g, 2, BRAID_SHAPE(-1, 2),
                  &(braid_tensor_array_options){.varied_shapes = true, .keep_after_read = true}),
        rows, braid_const_int32s(g, "lengths", lengths, 2));
    const braid_out last = braid_tensor_array_read(g, a, braid_const_int32(g, "last", 1));
    expect_values(g, last, six + 4, 2);
    const braid_out joined = braid_square(g, braid_tensor_array_concat(g, a));
    assert_true(braid_shape_equal(braid_out_shape(joined), BRAID_SHAPE(-1, 2)));
    expect_values(g, joined, (const float[]){1, 4, 9, 16, 25, 36}, 6);
    braid_out grad;
    braid_gradients(g, &joined, 1, &rows, 1, NULL, &grad);
    expect_values(g, grad, (const float[]){2, 4, 6, 8, 10, 12}, 6);
    braid_graph_free(g);
}

static void a_closed_array_is_not_read(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_tensor_array a =
        braid_tensor_array_unstack(g, new_array(g, 3, BRAID_SHAPE(2), NULL), matrix(g, 3, six));
    braid_op *after[2] = {a.flow.op, NULL};
    braid_push_control(g, after, 1);
    after[1] = braid_tensor_array_close(g, a);
    braid_pop_control(g);
    braid_push_control(g, after, 2);
    const braid_out read = braid_tensor_array_read(g, a, braid_const_int32(g, "index", 1));
    braid_pop_control(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    braid_tensor *got = NULL;
    const braid_fetch wanted = {read, &got};
    braid_session_run(s, &(braid_run_args){.fetches = &wanted, .fetch_count = 1}, st);
    assert_int_not_equal(braid_status_code(st), BRAID_OK);
    braid_session_close(s, NULL);
    braid_graph_free(g);
}

static void wrong_elements_fail_the_graph(void **state)
{
    (void)state;
    static const char *const says[] = {"TensorArray 'TensorArray' holds float, and 'index' is int32",
                                       "'zeros' has another shape than its elements", "'none' is"};
    for (size_t i = 0; i < BD_COUNTOF(says); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_tensor_array a = new_array(g, 2, BRAID_SHAPE(2), NULL);
        const braid_out at = braid_const_int32(g, "index", 1);
        if (i == 0) (void)braid_tensor_array_write(g, a, at, at);
        if (i == 1) (void)braid_tensor_array_unstack(g, a, braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2, 3)));
        if (i == 2) (void)braid_tensor_array_write(g, a, at, BRAID_NONE);
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_elements_are_stacked_and_give_the_shape),
        cmocka_unit_test(scattered_rows_are_gathered),
        cmocka_unit_test(pieces_of_different_lengths_are_joined_again),
        cmocka_unit_test(a_closed_array_is_not_read),
        cmocka_unit_test(wrong_elements_fail_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
