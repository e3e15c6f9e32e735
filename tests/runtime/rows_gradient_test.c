// Sparse gradients: ops that pass them on, how they are summed, and when they become dense.
#include "base/testing/test.h"
#include "graph/grad.h"
#include <braid/braid.h>
#include <string.h>

enum {
    ROWS = 4
};

static braid_out vector(braid_graph *g, const char *name)
{
    return braid_placeholder(g, name, BRAID_FLOAT, BRAID_SHAPE(ROWS));
}

static braid_out int64s(braid_graph *g, const int64_t *values, int count)
{
    braid_tensor *t = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(count), values, NULL);
    braid_out out = braid_const(g, NULL, t);
    braid_tensor_free(t);
    return out;
}

// The gradient, by rows and as a whole, of y by x is `want`; by rows when `is_rows`.
static void expect_gradient(braid_graph *g, braid_out x, braid_out y, bool is_rows, const float want[ROWS])
{
    BD_STATUS(st);
    braid_gradient rows;
    braid_out whole;
    const braid_gradients_options options = {.gate = true};
    braid_gradients_sparse(g, &y, 1, &x, 1, &options, &rows);
    braid_gradients(g, &y, 1, &x, 1, NULL, &whole);
    assert_int_equal(braid_graph_status(g, st), BRAID_OK);
    assert_int_equal(rows.indices.op != NULL, is_rows);
    const braid_out fetched[2] = {whole, braid_gradient_to_dense(g, &rows)};
    braid_session *s = braid_session_open(g, NULL, st);
    const float values[ROWS] = {1, 2, 3, 4};
    braid_tensor *value = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(ROWS), values, NULL);
    const braid_feed feed = {x, value};
    for (int i = 0; i < 2; i++) {
        braid_tensor *got = NULL;
        const braid_fetch fetch = {fetched[i], &got};
        braid_session_run(
            s, &(braid_run_args){.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1}, st);
        assert_ok(st);
        for (int k = 0; k < ROWS; k++)
            assert_float_equal(((const float *)braid_tensor_data(got))[k], want[k], 1e-6);
        braid_tensor_free(got);
    }
    braid_tensor_free(value);
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void gradients_of_gathered_rows_are_sparse(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x");
    braid_out y = braid_square(g, braid_gather(g, x, braid_const_int32s(g, NULL, (int32_t[]){2, 0, 2}, 3)));
    expect_gradient(g, x, y, true, (float[]){2, 0, 12, 0});
}

static void rows_of_several_uses_are_joined(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x"), same = braid_identity(g, NULL, x);
    braid_out a = braid_gather(g, same, braid_const_int32s(g, NULL, (int32_t[]){1}, 1));
    braid_out b = braid_gather(g, same, int64s(g, (int64_t[]){3, 1}, 2)); // of another type
    braid_out y = braid_add(g, braid_reduce_sum(g, a), braid_reduce_sum(g, braid_square(g, b)));
    expect_gradient(g, x, y, true, (float[]){0, 5, 0, 8});
}

static void rows_and_a_whole_make_a_whole(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x");
    braid_out a = braid_gather(g, x, braid_const_int32s(g, NULL, (int32_t[]){1, 1}, 2));
    braid_out y = braid_add(g, braid_reduce_sum(g, a), braid_reduce_sum(g, braid_square(g, x)));
    expect_gradient(g, x, y, false, (float[]){2, 6, 6, 8});
}

static void rows_pass_through_casts(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x");
    braid_out y =
        braid_gather(g, braid_cast(g, x, BRAID_DOUBLE), braid_const_int32s(g, NULL, (int32_t[]){3}, 1));
    expect_gradient(g, x, braid_square(g, y), true, (float[]){0, 0, 0, 8});
}

static void consumers_of_sparse_gradients_get_them_dense(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x");
    braid_out y = braid_gather(g, braid_square(g, x), braid_const_int32s(g, NULL, (int32_t[]){3, 0}, 2));
    expect_gradient(g, x, y, false, (float[]){2, 0, 0, 8});
}

static void gradients_of_gather_nd_are_sparse(void **state)
{
    (void)state;
    for (int width = 1; width >= 0; width--) { // known to be one number each, or not
        braid_graph *g = braid_graph_new();
        braid_out x = vector(g, "x"), indices = braid_const_int32s(g, NULL, (int32_t[]){2, 2}, 2);
        indices = braid_reshape(g, indices, BRAID_SHAPE(2, 1));
        if (!width) {
            braid_op_desc *d = braid_op_begin(g, "PlaceholderWithDefault", NULL);
            braid_op_input(d, indices);
            braid_op_attr_shape(d, "shape", BRAID_SHAPE(2, -1));
            indices = braid_op_end_out(d);
        }
        braid_out y = braid_square(g, bd_b2(g, "GatherNd", NULL, x, indices));
        expect_gradient(g, x, y, width == 1, (float[]){0, 0, 12, 0});
    }
}

static void a_whole_needs_its_shape(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = vector(g, "x");
    const braid_gradient rows = {.values = x, .indices = braid_const_int32s(g, NULL, (int32_t[]){3}, 1)};
    assert_null(braid_gradient_to_dense(g, &rows).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The gradient 'x' of rows has no dense_shape");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_gathered_rows_are_sparse),
        cmocka_unit_test(rows_of_several_uses_are_joined),
        cmocka_unit_test(rows_and_a_whole_make_a_whole),
        cmocka_unit_test(rows_pass_through_casts),
        cmocka_unit_test(consumers_of_sparse_gradients_get_them_dense),
        cmocka_unit_test(gradients_of_gather_nd_are_sparse),
        cmocka_unit_test(a_whole_needs_its_shape),
    };
    return BD_RUN_TESTS(tests);
}
