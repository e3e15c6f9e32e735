// Variable scopes: names, sharing, defaults, regularizers.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>

static const char *name_of(braid_variable v)
{
    return v.ref.op ? braid_op_name(v.ref.op) : "none";
}

static braid_variable get(braid_graph *g, const char *name)
{
    return braid_variable_get(g, name, BRAID_FLOAT, BRAID_SHAPE(2, 3), braid_zeros_initializer(), true);
}

static void expect_failure(braid_graph *g, braid_code code, const char *message)
{
    BD_STATUS(st);
    braid_graph_status(g, st);
    assert_error(st, code, message);
    braid_graph_free(g);
}

// As in tf.variable_scope: the variable is named by variable scopes alone, other nodes by name scopes.
static void variables_are_named_by_variable_scopes(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_name_scope(g, "model");
    assert_string_equal(braid_push_variable_scope(g, "layer", NULL), "layer/");
    (void)braid_push_variable_scope(g, "inner", NULL);
    assert_string_equal(name_of(get(g, "w")), "layer/inner/w");
    assert_string_equal(braid_op_name(braid_no_op(g, "op")), "model/layer/inner/op");
    braid_pop_variable_scope(g);
    braid_pop_variable_scope(g);
    assert_string_equal(name_of(get(g, "w")), "w");

    // A scope that is entered twice has the same variables, and another name scope.
    (void)braid_push_variable_scope(g, "layer", NULL);
    assert_string_equal(name_of(get(g, "v")), "layer/v");
    assert_string_equal(braid_op_name(braid_no_op(g, "op")), "model/layer_1/op");
    (void)braid_push_variable_scope(g, "layer/inner/", NULL); // by its full name, from anywhere
    assert_string_equal(name_of(get(g, "v")), "layer/inner/v");
    assert_string_equal(braid_op_name(braid_no_op(g, "op")), "model/layer_1/inner/op");
    braid_pop_variable_scope(g);
    braid_pop_variable_scope(g);
    braid_pop_name_scope(g);
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
    braid_pop_variable_scope(g);
    expect_failure(g, BRAID_INVALID_ARGUMENT, "A variable scope is left that was not entered");
}

static void a_default_name_is_made_unique(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_variable_scope_options unique = {.unique = true};
    static const char *const want[] = {"dense/", "dense_1/", "dense_2/"};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(braid_push_variable_scope(g, "dense", &unique), want[i]);
        braid_pop_variable_scope(g);
    }
    // Within a scope that is entered again, names begin anew, so that its variables are found.
    for (int i = 0; i < 2; i++) {
        (void)braid_push_variable_scope(g, "tower", NULL);
        assert_string_equal(braid_push_variable_scope(g, "dense", &unique), "tower/dense/");
        braid_pop_variable_scope(g);
        braid_pop_variable_scope(g);
    }
    braid_graph_free(g);
}

static void a_reused_variable_is_the_same(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_variable_scope(g, "a", NULL);
    const braid_variable w = get(g, "w");
    braid_pop_variable_scope(g);
    for (int i = 0; i < 2; i++) {
        (void)braid_push_variable_scope(
            g, "a", &(braid_variable_scope_options){.reuse = i ? BRAID_AUTO_REUSE : BRAID_REUSE});
        const int before = braid_graph_num_ops(g);
        assert_ptr_equal(get(g, "w").ref.op, w.ref.op);
        assert_int_equal(braid_graph_num_ops(g), before);
        if (i) assert_string_equal(name_of(get(g, "new")), "a/new");
        braid_pop_variable_scope(g);
    }
    int count;
    braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 2);
    braid_graph_free(g);
}

static void sharing_fails_in_the_words_of_tensorflow(void **state)
{
    (void)state;
    static const struct {
        braid_variable_options options; // of the second w; the first is float (2, 3)
        const char *name;
        braid_code code;
        const char *message;
    } cases[] = {
        {{.shape = {2, {2, 3}}},
         "w",
         BRAID_ALREADY_EXISTS,
         "Variable s/w already exists, disallowed. Did you mean to set reuse=True"},
        {{.shape = {2, {2, 3}}, .reuse = BRAID_REUSE},
         "v",
         BRAID_NOT_FOUND,
         "Variable s/v does not exist, or was not created with tf.get_variable()"},
        {{.shape = {1, {3}}, .reuse = BRAID_AUTO_REUSE},
         "w",
         BRAID_INVALID_ARGUMENT,
         "Trying to share variable s/w, but specified shape (3,) and found shape (2, 3)."},
        {{.shape = {2, {2, 3}}, .dtype = BRAID_DOUBLE, .reuse = BRAID_REUSE},
         "w",
         BRAID_INVALID_ARGUMENT,
         "Trying to share variable s/w, but specified dtype double and found dtype float."},
        {{.shape = {2, {-1, 3}}}, "u", BRAID_INVALID_ARGUMENT, "Shape of a new variable (s/u) must be fully"},
        {{.dtype = BRAID_STRING}, "u", BRAID_INVALID_ARGUMENT, "An initializer for variable s/u of string"},
        {{.dtype = BRAID_FLOAT}, "", BRAID_INVALID_ARGUMENT, "A variable needs a name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        braid_graph *g = braid_graph_new();
        (void)braid_push_variable_scope(g, "s", NULL);
        get(g, "w");
        const braid_variable v = braid_variable_get_with(g, cases[i].name, &cases[i].options);
        assert_null(v.ref.op);
        expect_failure(g, cases[i].code, cases[i].message);
    }
}

static void inner_scopes_inherit(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_variable_scope(g, "a",
                                    &(braid_variable_scope_options){.kind = BRAID_KIND_RESOURCE,
                                                                    .dtype = BRAID_DOUBLE,
                                                                    .initializer = braid_ones_initializer()});
    (void)braid_push_variable_scope(g, "b", NULL);
    braid_variable_get_with(g, "w", &(braid_variable_options){.shape = BRAID_SHAPE(2)});
    expect_nodes(g, "a/b/w",
                 "a/b/w/Initializer/ones = Const =a/b/w\n"
                 "a/b/w = VarHandleOp =a/b/w\n"
                 "a/b/w/IsInitialized/VarIsInitializedOp = VarIsInitializedOp a/b/w:0\n"
                 "a/b/w/Assign = AssignVariableOp a/b/w:0 a/b/w/Initializer/ones:0 =a/b/w\n"
                 "a/b/w/Read/ReadVariableOp = ReadVariableOp a/b/w:0 =a/b/w\n");
    assert_int_equal(braid_out_dtype(braid_graph_find_out(g, "a/b/w/Read/ReadVariableOp")), BRAID_DOUBLE);
    const braid_variable r =
        braid_variable_get_with(g, "r", &(braid_variable_options){.kind = BRAID_KIND_REFERENCE});
    assert_string_equal(braid_op_type(r.ref.op), "VariableV2");
    braid_graph_free(g);
}

static void a_variable_is_in_the_collections_that_were_asked_for(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const char *const mine[] = {"mine", "model_variables"};
    const braid_variable local =
        braid_variable_get_with(g, "count", &(braid_variable_options){.local = true});
    const braid_variable w = braid_variable_get_with(
        g, "w", &(braid_variable_options){.untrained = true, .collections = mine, .collection_count = 2});
    static const struct {
        const char *collection;
        int local, w;
    } want[] = {{BRAID_GLOBAL_VARIABLES, 0, 1},
                {BRAID_TRAINABLE_VARIABLES, 0, 0},
                {BRAID_LOCAL_VARIABLES, 1, 0},
                {"mine", 0, 1},
                {"model_variables", 0, 1}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int count;
        const braid_out *vars = braid_collection(g, want[i].collection, &count);
        assert_int_equal(count, want[i].local + want[i].w);
        if (count) assert_ptr_equal(vars[0].op, want[i].w ? w.ref.op : local.ref.op);
    }
    braid_graph_free(g);
}

static void a_first_value_may_be_a_tensor(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out five = braid_const_int32(g, "five", 5);
    const braid_variable v =
        braid_variable_get_with(g, "v", &(braid_variable_options){.initial_value = five});
    assert_int_equal(braid_out_dtype(v.read), BRAID_INT32);
    assert_ptr_equal(v.initial_value.op, five.op);
    braid_graph_free(g);
}

static void regularizers_add_losses(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_push_variable_scope(
        g, "s",
        &(braid_variable_scope_options){.regularizer = braid_l2_regularizer(0.5f),
                                        .initializer = braid_constant_initializer(-2),
                                        .reuse = BRAID_AUTO_REUSE});
    for (int i = 0; i < 2; i++) // a reused variable is not counted twice
        braid_variable_get_with(g, "w", &(braid_variable_options){.shape = BRAID_SHAPE(3)});
    braid_variable_get_with(
        g, "v",
        &(braid_variable_options){.shape = BRAID_SHAPE(3), .regularizer = braid_l1_regularizer(0.25f)});
    int count;
    const braid_out *losses = braid_collection(g, BRAID_REGULARIZATION_LOSSES, &count);
    assert_int_equal(count, 2);
    assert_string_equal(braid_op_name(losses[0].op), "s/w/Regularizer/l2_regularizer");
    braid_session *s = evaluate_open(g);
    expect_evaluates(s, losses[0], &(double){0.5 * 3 * 4 / 2}, 1);
    expect_evaluates(s, losses[1], &(double){0.25 * 3 * 2}, 1);
    evaluate_close(s, g);
}

static void layers_of_one_name_share_their_variables_where_a_scope_says_so(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 4));
    for (int i = 0; i < 2; i++) {
        (void)braid_push_variable_scope(g, "net", &(braid_variable_scope_options){.reuse = BRAID_AUTO_REUSE});
        braid_dense(g, "hid", x, 3);
        braid_dense(g, NULL, x, 3);
        braid_pop_variable_scope(g);
    }
    expect_nodes(g, "net_1/hid/MatMul", "net_1/hid/MatMul = MatMul x:0 net/hid/kernel/read:0\n");
    int count;
    braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    assert_int_equal(count, 4); // net/hid and net/dense
    braid_dense(g, "hid", x, 3);
    braid_dense(g, "hid", x, 3);
    expect_failure(g, BRAID_ALREADY_EXISTS, "Variable hid/kernel already exists, disallowed.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_named_by_variable_scopes),
        cmocka_unit_test(a_default_name_is_made_unique),
        cmocka_unit_test(a_reused_variable_is_the_same),
        cmocka_unit_test(sharing_fails_in_the_words_of_tensorflow),
        cmocka_unit_test(inner_scopes_inherit),
        cmocka_unit_test(a_variable_is_in_the_collections_that_were_asked_for),
        cmocka_unit_test(a_first_value_may_be_a_tensor),
        cmocka_unit_test(regularizers_add_losses),
        cmocka_unit_test(layers_of_one_name_share_their_variables_where_a_scope_says_so),
    };
    return BD_RUN_TESTS(tests);
}
