// Loops and conditionals: the static shapes of their results, and what a body must not do.
#include "base/testing/test.h"

#include "tensor/shape.h"
#include <braid/control.h>
#include <braid/ops.h>

static braid_out never(void *arg, braid_graph *g, const braid_out *vars)
{
    (void)arg;
    (void)vars;
    return braid_const_bool(g, NULL, false);
}

static void double_it(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    (void)arg;
    next[0] = braid_add(g, vars[0], vars[0]);
    assert_true(braid_shape_equal(braid_out_shape(next[0]), braid_out_shape(vars[0])));
}

// Appends a row.
static void grow(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    (void)arg;
    const braid_out parts[] = {vars[0], braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1, 3))};
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", NULL);
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, braid_const_int32(g, NULL, 0));
    next[0] = braid_op_end_out(d);
}

static void a_loop_keeps_the_shapes_of_its_variables(void **state)
{
    (void)state;
    static const char *const shapes[] = {"[]", "[2,3]", "[?,3]", "?"};
    for (size_t i = 0; i < BD_COUNTOF(shapes); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_shape shape;
        assert_true(bd_shape_parse(shapes[i], &shape));
        braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, shape);
        braid_while(g, &(braid_loop){.condition = never, .body = double_it}, &x, 1, &x);
        braid_graph_status(g, st);
        assert_ok(st);
        assert_string_equal(braid_op_type(x.op), "Exit");
        char text[BD_SHAPE_STR_MAX];
        const braid_shape got = braid_out_shape(x);
        assert_string_equal(bd_shape_str(&got, text), shapes[i]);
        braid_graph_free(g);
    }
}

static void a_body_that_changes_a_shape_is_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    braid_while(g, &(braid_loop){.condition = never, .body = grow}, &x, 1, &x);
    assert_null(x.op);
    braid_graph_status(g, st);
    assert_error(
        st, BRAID_INVALID_ARGUMENT,
        "The loop's variable 0 has shape [2,3], but its next value 'while/ConcatV2' has shape [3,3]; "
        "give a shape invariant that allows both");
    braid_graph_free(g);
}

static void a_shape_invariant_lets_a_shape_change(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    const braid_loop loop = {.condition = never, .body = grow, .shape_invariants = &BRAID_SHAPE(-1, 3)};
    braid_while(g, &loop, &x, 1, &x);
    braid_graph_status(g, st);
    assert_ok(st);
    assert_true(braid_shape_equal(braid_out_shape(x), BRAID_SHAPE(-1, 3)));
    braid_graph_free(g);
}

static void a_variable_must_begin_within_its_invariant(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, -1));
    const braid_loop loop = {.condition = never, .body = double_it, .shape_invariants = &BRAID_SHAPE(-1, 3)};
    braid_while(g, &loop, &x, 1, &x);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "The loop's variable 0, 'x', begins with shape [2,?], which is not within its shape "
                 "invariant [?,3]");
    braid_graph_free(g);
}

static void one_row(void *arg, braid_graph *g, braid_out *results)
{
    results[0] = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1, 3));
    results[1] = *(const braid_out *)arg;
}

static void two_rows(void *arg, braid_graph *g, braid_out *results)
{
    results[0] = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2, 3));
    results[1] = braid_neg(g, *(const braid_out *)arg);
}

static void a_conditional_has_what_its_branches_shapes_share(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(4, -1)), results[2];
    braid_out pred = braid_placeholder(g, "pred", BRAID_BOOL, BRAID_SCALAR);
    braid_cond(g, NULL, pred, one_row, two_rows, &x, 2, results);
    braid_graph_status(g, st);
    assert_ok(st);
    assert_true(braid_shape_equal(braid_out_shape(results[0]), BRAID_SHAPE(-1, 3)));
    assert_true(braid_shape_equal(braid_out_shape(results[1]), BRAID_SHAPE(4, -1)));
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_keeps_the_shapes_of_its_variables),
        cmocka_unit_test(a_body_that_changes_a_shape_is_an_error),
        cmocka_unit_test(a_shape_invariant_lets_a_shape_change),
        cmocka_unit_test(a_variable_must_begin_within_its_invariant),
        cmocka_unit_test(a_conditional_has_what_its_branches_shapes_share),
    };
    return BD_RUN_TESTS(tests);
}
