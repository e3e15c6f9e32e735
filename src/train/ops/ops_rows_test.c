// Elements by indices, masks, one-hot rows: their values.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include <braid/ops.h>

static const double numbers[] = {1, 2, 3, 4, 5, 6};

static braid_out matrix(braid_graph *g)
{
    return evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 3), numbers);
}

static void indices_pick_and_place_elements(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = matrix(g);
    const braid_out pairs = evaluate_const(g, BRAID_INT32, BRAID_SHAPE(2, 2), (double[]){0, 2, 1, 0});
    const braid_out rows = evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2, 1), (double[]){2, 2});
    const braid_out picked = braid_gather_nd(g, x, pairs);
    const braid_out placed = braid_scatter_nd(g, rows, x, BRAID_SHAPE(3, 3));
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, picked, (double[]){3, 4}, 2);
    expect_evaluates(s, placed, (double[]){0, 0, 0, 0, 0, 0, 5, 7, 9}, 9); // both rows are added
    evaluate_close(s, g);
}

static void masks_choose_parts(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = matrix(g);
    const braid_out row = evaluate_const(g, BRAID_BOOL, BRAID_SHAPE(2), (double[]){0, 1});
    const braid_out each = evaluate_const(g, BRAID_BOOL, BRAID_SHAPE(2, 3), (double[]){1, 0, 0, 0, 1, 1});
    // [1, 2, 3] of which the last dimension is not known.
    braid_op_desc *d = braid_op_begin(g, "PlaceholderWithDefault", NULL);
    braid_op_input(d, braid_expand_dims(g, x, 0));
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(1, 2, -1));
    const braid_out deep = braid_op_end_out(d);
    const braid_out outs[] = {
        braid_boolean_mask(g, x, row),
        braid_boolean_mask(g, x, each),
        braid_boolean_mask(g, deep, braid_expand_dims(g, row, 0)),
        braid_where_true(g, each),
        braid_where(g, each, x, braid_neg(g, x)),
        braid_where(g, row, x, braid_neg(g, x)),
    };
    assert_true(braid_shape_equal(braid_out_shape(outs[0]), BRAID_SHAPE(-1, 3)));
    assert_true(braid_shape_equal(braid_out_shape(outs[2]), BRAID_SHAPE(-1, -1)));
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, outs[0], (double[]){4, 5, 6}, 3);
    expect_evaluates(s, outs[1], (double[]){1, 5, 6}, 3);
    expect_evaluates(s, outs[2], (double[]){4, 5, 6}, 3);
    expect_evaluates(s, outs[3], (double[]){0, 0, 1, 1, 1, 2}, 6);
    expect_evaluates(s, outs[4], (double[]){1, -2, -3, -4, 5, 6}, 6);
    expect_evaluates(s, outs[5], (double[]){-1, -2, -3, 4, 5, 6}, 6);
    evaluate_close(s, g);
}

static void numbers_become_rows(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out n = evaluate_const(g, BRAID_INT32, BRAID_SHAPE(3), (double[]){2, 0, 5});
    const braid_out m = evaluate_const(g, BRAID_INT64, BRAID_SHAPE(2, 1), (double[]){1, 3});
    const braid_out one_hot = braid_one_hot(g, n, 3, BRAID_DOUBLE);
    const braid_out mask = braid_sequence_mask(g, n, 4, BRAID_FLOAT);
    const braid_out longest = braid_sequence_mask(g, m, 0, BRAID_BOOL);
    assert_true(braid_shape_equal(braid_out_shape(one_hot), BRAID_SHAPE(3, 3)));
    assert_true(braid_shape_equal(braid_out_shape(mask), BRAID_SHAPE(3, 4)));
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, one_hot, (double[]){0, 0, 1, 1, 0, 0, 0, 0, 0}, 9);
    expect_evaluates(s, mask, (double[]){1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, 12);
    expect_evaluates(s, longest, (double[]){1, 0, 0, 1, 1, 1}, 6);
    evaluate_close(s, g);
}

static void a_mask_of_another_shape_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    const braid_out mask = braid_placeholder(g, "mask", BRAID_BOOL, BRAID_SHAPE(3));
    assert_null(braid_boolean_mask(g, x, mask).op);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "boolean_mask of 'x': the mask 'mask' must have the shape of its first dimensions");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_pick_and_place_elements),
        cmocka_unit_test(masks_choose_parts),
        cmocka_unit_test(numbers_become_rows),
        cmocka_unit_test(a_mask_of_another_shape_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
