// Shared shape functions, and values from constants and shapes.
#include "graph/shape_fn.h"

#include "base/strbuf.h"
#include "graph/testing/test_ops.h"

static braid_shape shape_of(const char *text)
{
    braid_shape s;
    if (!bd_shape_parse(text, &s)) fail_msg("%s", text);
    return s;
}

static void broadcast_shapes_follow_numpy(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *out; // NULL: error
    } cases[] = {
        {"[2,3]", "[3]", "[2,3]"}, {"[]", "[4]", "[4]"}, {"[2,1]", "[1,5]", "[2,5]"},
        {"[2,3]", "[2,4]", NULL},  {"[3]", "[4]", NULL},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_out a = test_placeholder(g, "a", BRAID_FLOAT, shape_of(cases[i].a)),
                  b = test_placeholder(g, "b", BRAID_FLOAT, shape_of(cases[i].b));
        braid_out sum = bd_b2(g, "Add", "sum", a, b);
        if (cases[i].out)
            assert_shape(braid_out_shape(sum), cases[i].out);
        else
            assert_graph_error(g, BRAID_INVALID_ARGUMENT,
                               "Dimensions must be equal, but are 3 and 4 for 'sum' (op: 'Add')");
        braid_graph_free(g);
    }
}

static void merged_shapes_keep_known_dimensions(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *out, *words;
    } cases[] = {
        {"[2,?]", "[?,3]", "[2,3]", NULL},
        {"?", "[4]", "[4]", NULL},
        {"[2,3]", "[2,4]", NULL, "Dimension 1 in both shapes must be equal, but are 3 and 4 for 'sum'"},
        {"[2]", "[2,4]", NULL,
         "Shapes must be equal rank, but are 1 and 2 for 'sum' (op: 'AddN') with input shapes: [2], "
         "[2,4]."},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_out in[2] = {test_placeholder(g, "a", BRAID_FLOAT, shape_of(cases[i].a)),
                           test_placeholder(g, "b", BRAID_FLOAT, shape_of(cases[i].b))};
        braid_op_desc *d = braid_op_begin(g, "AddN", "sum");
        braid_op_input_list(d, in, 2);
        braid_out sum = braid_op_end_out(d);
        if (cases[i].out)
            assert_shape(braid_out_shape(sum), cases[i].out);
        else
            assert_graph_error(g, BRAID_INVALID_ARGUMENT, cases[i].words);
        braid_graph_free(g);
    }
}

static void reductions_remove_their_axes(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        int count;
        int32_t axes[3];
        bool keep;
        const char *out; // NULL: error
    } cases[] = {
        {"[2,3,4]", 2, {0, 2}, false, "[3]"}, {"[2,3,4]", 1, {-1}, true, "[2,3,1]"},
        {"[2,?,4]", 1, {0}, false, "[?,4]"},  {"[2,3]", 0, {0}, false, "[2,3]"},
        {"[2,3]", 3, {0, 1, 0}, false, "[]"}, {"?", 1, {0}, false, "?"},
        {"[2,3]", 1, {2}, false, NULL},       {"[]", 1, {0}, false, NULL},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        braid_out x = test_placeholder(g, "x", BRAID_FLOAT, shape_of(cases[i].in));
        braid_out axes = bd_b_const_i32_vector(g, "axes", cases[i].axes, cases[i].count);
        braid_op_desc *d = braid_op_begin(g, "Prod", "p");
        braid_op_input(d, x);
        braid_op_input(d, axes);
        braid_op_attr_bool(d, "keep_dims", cases[i].keep);
        braid_out p = braid_op_end_out(d);
        if (!cases[i].out)
            assert_graph_error(g, BRAID_INVALID_ARGUMENT, "Invalid reduction dimension");
        else if (strcmp(cases[i].out, "?") == 0)
            assert_int_equal(braid_out_shape(p).rank, -1);
        else
            assert_shape(braid_out_shape(p), cases[i].out);
        braid_graph_free(g);
    }
    // Unknown axes.
    braid_graph *g = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, shape_of("[2,3]")),
              axes = test_placeholder(g, "axes", BRAID_INT32, shape_of("[?]"));
    assert_int_equal(braid_out_shape(bd_b2(g, "Prod", NULL, x, axes)).rank, -1);
    braid_op_desc *d = braid_op_begin(g, "Prod", "p");
    braid_op_input(d, x);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", true);
    assert_shape(braid_out_shape(braid_op_end_out(d)), "[?,?]");
    braid_graph_free(g);
}

// ---- Constants ----

static braid_out i32(braid_graph *g, int32_t value)
{
    return bd_b_const_i32(g, NULL, value);
}

static braid_out vec(braid_graph *g, int32_t a, int32_t b)
{
    return bd_b_const_i32_vector(g, NULL, (int32_t[]){a, b}, 2);
}

static braid_out one(braid_graph *g, int32_t a)
{
    return bd_b_const_i32_vector(g, NULL, &a, 1);
}

static braid_out concat(braid_graph *g, braid_out a, braid_out b)
{
    braid_out axis = i32(g, 0);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", NULL);
    braid_op_input_list(d, (braid_out[]){a, b}, 2);
    braid_op_input(d, axis);
    return braid_op_end_out(d);
}

static braid_out pack(braid_graph *g, braid_out a, braid_out b)
{
    braid_op_desc *d = braid_op_begin(g, "Pack", NULL);
    braid_op_input_list(d, (braid_out[]){a, b}, 2);
    return braid_op_end_out(d);
}

// x[begin:end:stride] with masks for begin and end, or x[begin] when `shrink`.
static braid_out slice(braid_graph *g, braid_out x, int begin, int end, int stride, int masks, bool shrink)
{
    braid_out args[] = {x, one(g, begin), one(g, end), one(g, stride)};
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", NULL);
    for (int i = 0; i < 4; i++)
        braid_op_input(d, args[i]);
    braid_op_attr_int(d, "begin_mask", masks & 1);
    braid_op_attr_int(d, "end_mask", masks >> 1);
    braid_op_attr_int(d, "shrink_axis_mask", shrink);
    return braid_op_end_out(d);
}

// Checks the inferred shape of a Fill with these dimensions.
#define assert_fills(g, dims, text)                                                                          \
    do {                                                                                                     \
        braid_out filled = bd_b2((g), "Fill", NULL, (dims), bd_b_const_f((g), NULL, BRAID_FLOAT, 0));        \
        assert_graph_ok(g);                                                                                  \
        assert_shape(braid_out_shape(filled), text);                                                         \
    } while (0)

static void constants_become_shapes(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = test_placeholder(g, "x", BRAID_FLOAT, shape_of("[?,784,3]"));
    braid_out shape = bd_b1(g, "Shape", NULL, x),
              unknown = test_placeholder(g, "n", BRAID_INT32, BRAID_SCALAR);
    assert_fills(g, vec(g, 2, 3), "[2,3]");
    assert_fills(g, shape, "[?,784,3]");
    assert_fills(g, bd_b1(g, "Identity", NULL, shape), "[?,784,3]");
    assert_fills(g, slice(g, shape, 1, 3, 1, 0, false), "[784,3]");
    assert_fills(g, slice(g, shape, 0, 0, 1, 3, false), "[?,784,3]");
    assert_fills(g, slice(g, shape, 0, 0, -1, 3, false), "[3,784,?]");
    assert_fills(g, slice(g, shape, -1, -9, -2, 0, false), "[3,?]");
    assert_fills(g, slice(g, shape, 2, 1, 1, 0, false), "[]");
    assert_fills(g, pack(g, slice(g, shape, 1, 2, 1, 0, true), slice(g, shape, 0, 1, 1, 0, true)), "[784,?]");
    assert_fills(g, pack(g, unknown, i32(g, 5)), "[?,5]");
    braid_out any =
        test_placeholder(g, "scalar", BRAID_INT32, BRAID_SHAPE_UNKNOWN); // as an operand of 5 it is a scalar
    assert_fills(g, pack(g, i32(g, 5), any), "[5,?]");
    braid_out other = test_placeholder(g, "other", BRAID_INT32, BRAID_SHAPE_UNKNOWN);
    assert_fills(g, pack(g, any, other), "[?,?]"); // scalars, as a shape is a vector
    assert_fills(g, concat(g, slice(g, shape, 0, 1, 1, 0, false), one(g, 7)), "[?,7]");
    assert_fills(g, concat(g, slice(g, shape, 1, 0, 1, 2, false), one(g, 7)), "[784,3,7]");
    braid_out product = bd_b2(g, "Prod", NULL, slice(g, shape, 1, 0, 1, 2, false), one(g, 0));
    assert_fills(g, pack(g, product, bd_b2(g, "Mul", NULL, product, i32(g, 2))), "[2352,4704]");
    assert_fills(g, bd_b2(g, "FloorDiv", NULL, vec(g, 7, -7), i32(g, 2)), "[3,?]"); // -4 is no dimension
    assert_fills(g, bd_b2(g, "FloorDiv", NULL, vec(g, 7, 8), i32(g, 0)), "[?,?]");
    assert_fills(g, bd_b2(g, "Mul", NULL, vec(g, 1 << 30, 2), i32(g, 4)), "[?,8]"); // would wrap around
    assert_fills(g, test_placeholder(g, "dims", BRAID_INT32, BRAID_SHAPE(2)), "[?,?]");
    braid_out nothing =
        bd_b2(g, "Fill", NULL, test_placeholder(g, "any", BRAID_INT32, BRAID_SHAPE_UNKNOWN), x);
    assert_int_equal(braid_out_shape(nothing).rank, -1);
    bd_b2(g, "Fill", "bad", i32(g, 1), x);
    assert_graph_error(g, BRAID_INVALID_ARGUMENT,
                       "Shape must be rank 1 but is rank 0 for 'bad' (op: 'Fill')");
    braid_graph_free(g);
}

static void constant_inputs_are_evaluated(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out c = bd_b_const_f(g, "c", BRAID_FLOAT, 2.5),
              shape = bd_b1(g, "Shape", NULL, bd_b2(g, "Fill", NULL, vec(g, 4, 5), c));
    braid_out inputs[] = {bd_b1(g, "Identity", NULL, c), shape,
                          test_placeholder(g, "p", BRAID_INT32, BRAID_SHAPE(1))};
    braid_shape shapes[3];
    braid_op node = {.graph = g, .name = "n", .op_type = "Op", .inputs = inputs, .input_count = 3};
    bd_shape_ctx ctx = {.node = &node, .input_count = 3, .inputs = shapes};
    assert_float_equal(bd_tensor_f32(bd_shape_ctx_constant(&ctx, 0))[0], 2.5f, 0); // of any type
    const braid_tensor *t = bd_shape_ctx_constant(&ctx, 1);
    assert_int_equal(t->dtype, BRAID_INT32);
    assert_int_equal(bd_tensor_count(t), 2);
    assert_int_equal(bd_tensor_i32(t)[1], 5);
    assert_null(bd_shape_ctx_constant(&ctx, 2));
    braid_shape out;
    assert_false(bd_shape_ctx_constant_shape(&ctx, 0, &out)); // no integers
    assert_false(bd_shape_ctx_constant_shape(&ctx, 2, &out));
    braid_graph_free(g);
}

// A chain so deep, or so wide, that plain recursion would not end in time: inference gives up soon.
static void deep_and_wide_graphs_end_soon(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = vec(g, 1, 1);
    for (int i = 0; i < 300; i++)
        x = bd_b2(g, "Mul", NULL, x, x);
    assert_fills(g, x, "[?,?]");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_shapes_follow_numpy),
        cmocka_unit_test(merged_shapes_keep_known_dimensions),
        cmocka_unit_test(reductions_remove_their_axes),
        cmocka_unit_test(constants_become_shapes),
        cmocka_unit_test(constant_inputs_are_evaluated),
        cmocka_unit_test(deep_and_wide_graphs_end_soon),
    };
    return BD_RUN_TESTS(tests);
}
