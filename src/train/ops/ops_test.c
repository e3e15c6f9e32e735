// Helpers build the nodes that TensorFlow's Python functions of the same names build.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/ops.h>

static const braid_shape matrix = {2, {2, 3}};

static void default_names_equal_those_of_python(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, NULL, BRAID_FLOAT, matrix);
    braid_out y = braid_placeholder(g, NULL, BRAID_FLOAT, matrix);
    braid_out sum = braid_add(g, x, y);
    braid_mul(g, sum, braid_sub(g, x, y));
    braid_neg(g, braid_div(g, x, y));
    expect_graph(g, "Placeholder = Placeholder\n"
                    "Placeholder_1 = Placeholder\n"
                    "add = Add Placeholder:0 Placeholder_1:0\n"
                    "sub = Sub Placeholder:0 Placeholder_1:0\n"
                    "mul = Mul add:0 sub:0\n"
                    "truediv = RealDiv Placeholder:0 Placeholder_1:0\n"
                    "Neg = Neg truediv:0\n");
    braid_graph_free(g);
}

static void large_constants_are_filled_where_they_are_needed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(1 << 20, 4)); // 16 MiB
    const braid_out y = braid_full(g, "rate", BRAID_DOUBLE, BRAID_SHAPE((2 << 20) + 1), 0.5);
    expect_graph(g, "zeros = Const\n"
                    "rate/shape_as_tensor = Const\n"
                    "rate/Const = Const\n"
                    "rate = Fill rate/shape_as_tensor:0 rate/Const:0\n");
    assert_true(braid_shape_equal(braid_out_shape(y), BRAID_SHAPE((2 << 20) + 1)));
    const braid_out sum = braid_reduce_sum(g, y);
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, sum, (double[]){(double)(1 << 20) + 0.5}, 1);
    evaluate_close(s, g);
}

// A cast to the same type makes no node, but counts.
static void casts_are_numbered_as_they_are_asked_for(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, matrix);
    assert_ptr_equal(braid_cast(g, x, BRAID_FLOAT).op, x.op);
    braid_cast(g, x, BRAID_INT32);
    expect_graph(g, "x = Placeholder\n"
                    "Cast_1 = Cast x:0\n");
    braid_graph_free(g);
}

static void compound_functions_are_scopes_named_like_their_result(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, matrix);
    braid_clip_by_value(g, x, -1, 1);
    braid_truncated_normal(g, matrix, 0, 0.5f);
    expect_graph(g,
                 "x = Placeholder\n"
                 "clip_by_value/Minimum/y = Const\n"
                 "clip_by_value/Minimum = Minimum x:0 clip_by_value/Minimum/y:0\n"
                 "clip_by_value/y = Const\n"
                 "clip_by_value = Maximum clip_by_value/Minimum:0 clip_by_value/y:0\n"
                 "truncated_normal/shape = Const\n"
                 "truncated_normal/mean = Const\n"
                 "truncated_normal/stddev = Const\n"
                 "truncated_normal/TruncatedNormal = TruncatedNormal truncated_normal/shape:0\n"
                 "truncated_normal/mul = Mul truncated_normal/TruncatedNormal:0 truncated_normal/stddev:0\n"
                 "truncated_normal = Add truncated_normal/mul:0 truncated_normal/mean:0\n");
    braid_graph_free(g);
}

static void reductions_take_their_axes_from_a_constant(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, matrix);
    const int32_t axis = 1;
    braid_reduce_sum(g, x);
    braid_reduce(g, "Mean", x, &axis, 1, false);
    braid_argmax(g, x, 1);
    braid_reduce_mean(g, braid_placeholder(g, "any", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN));
    expect_graph(g, "x = Placeholder\n"
                    "Const = Const\n"
                    "Sum = Sum x:0 Const:0\n"
                    "Mean/reduction_indices = Const\n"
                    "Mean = Mean x:0 Mean/reduction_indices:0\n"
                    "ArgMax/dimension = Const\n"
                    "ArgMax = ArgMax x:0 ArgMax/dimension:0\n"
                    "any = Placeholder\n"
                    "Rank = Rank any:0\n"
                    "range/start = Const\n"
                    "range/delta = Const\n"
                    "range = Range range/start:0 Rank:0 range/delta:0\n"
                    "Mean_1 = Mean any:0 range:0\n");
    braid_graph_free(g);
}

static void a_group_has_one_node_for_each_device(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_op *ops[3];
    for (int i = 0; i < 3; i++) {
        braid_push_device(g, i == 1 ? "/job:ps/task:0" : "/job:ps/task:1");
        ops[i] = braid_no_op(g, "part");
        braid_pop_device(g);
    }
    braid_group(g, NULL, ops, 3);
    const braid_op *same_device[] = {ops[0], ops[2]};
    braid_group(g, "both", (braid_op *const *)same_device, 2);
    expect_graph(g, "part = NoOp @/job:ps/task:1\n"
                    "part_1 = NoOp @/job:ps/task:0\n"
                    "part_2 = NoOp @/job:ps/task:1\n"
                    "group_deps/NoOp = NoOp ^part_1 @/job:ps/task:0\n"
                    "group_deps/NoOp_1 = NoOp ^part ^part_2 @/job:ps/task:1\n"
                    "group_deps = NoOp ^group_deps/NoOp ^group_deps/NoOp_1\n"
                    "both = NoOp ^part ^part_2 @/job:ps/task:1\n");
    braid_graph_free(g);
}

static void a_tuple_waits_for_all_its_values(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out values[3] = {braid_const_float(g, "a", 1)}, outs[3];
    values[2] = braid_const_float(g, "b", 2);
    braid_tuple(g, values, 3, outs);
    assert_null(outs[1].op);
    expect_graph(g, "a = Const\n"
                    "b = Const\n"
                    "tuple/group_deps = NoOp ^a ^b\n"
                    "tuple/control_dependency = Identity a:0 ^tuple/group_deps =a\n"
                    "tuple/control_dependency_1 = Identity b:0 ^tuple/group_deps =b\n");
    braid_graph_free(g);
}

static void errors_name_the_wrong_argument(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_zeros(g, BRAID_STRING, matrix);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Constant 'zeros': string is no number type");
    assert_null(braid_relu(g, braid_const_float(g, NULL, 1)).op);
    braid_graph_free(g);

    g = braid_graph_new();
    braid_zeros(g, BRAID_FLOAT, (braid_shape){1, {-1}});
    assert_int_equal(braid_graph_status(g, NULL), BRAID_INVALID_ARGUMENT);
    braid_graph_free(g);
}

static void the_logistic_loss_has_the_nodes_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1));
    const braid_out z = braid_placeholder(g, "z", BRAID_FLOAT, BRAID_SHAPE(-1));
    braid_sigmoid_cross_entropy(g, x, z);
    expect_nodes(g, "logistic_loss",
                 "logistic_loss/zeros_like = ZerosLike x:0\n"
                 "logistic_loss/GreaterEqual = GreaterEqual x:0 logistic_loss/zeros_like:0\n"
                 "logistic_loss/Select = Select logistic_loss/GreaterEqual:0 x:0 logistic_loss/zeros_like:0\n"
                 "logistic_loss/Neg = Neg x:0\n"
                 "logistic_loss/Select_1 = Select logistic_loss/GreaterEqual:0 logistic_loss/Neg:0 x:0\n"
                 "logistic_loss/mul = Mul x:0 z:0\n"
                 "logistic_loss/sub = Sub logistic_loss/Select:0 logistic_loss/mul:0\n"
                 "logistic_loss/Exp = Exp logistic_loss/Select_1:0\n"
                 "logistic_loss/Log1p = Log1p logistic_loss/Exp:0\n"
                 "logistic_loss = Add logistic_loss/sub:0 logistic_loss/Log1p:0\n");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_logistic_loss_has_the_nodes_of_tensorflow),
        cmocka_unit_test(default_names_equal_those_of_python),
        cmocka_unit_test(large_constants_are_filled_where_they_are_needed),
        cmocka_unit_test(casts_are_numbered_as_they_are_asked_for),
        cmocka_unit_test(compound_functions_are_scopes_named_like_their_result),
        cmocka_unit_test(reductions_take_their_axes_from_a_constant),
        cmocka_unit_test(a_group_has_one_node_for_each_device),
        cmocka_unit_test(a_tuple_waits_for_all_its_values),
        cmocka_unit_test(errors_name_the_wrong_argument),
    };
    return BD_RUN_TESTS(tests);
}
