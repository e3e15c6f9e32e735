// Static shapes that follow from constants through any op: those that TensorFlow's Python API shows of the
// same graphs, worked out by hand.
#include "base/interrupt.h"
#include "base/platform.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#include <stdlib.h>
#include <string.h>

static braid_graph *g;

static int open_graph(void **state)
{
    (void)state;
    g = braid_graph_new();
    return 0;
}

static int close_graph(void **state)
{
    (void)state;
    braid_graph_free(g);
    return 0;
}

static braid_out lit(const char *text)
{
    braid_tensor t;
    op_test_tensor(&t, text);
    braid_op_desc *d = braid_op_begin(g, "Const", NULL);
    braid_op_attr_type(d, "dtype", t.dtype);
    braid_op_attr_tensor(d, "value", &t);
    bd_tensor_fini(&t);
    return braid_op_end_out(d);
}

static braid_out fed(const char *attrs)
{
    return (braid_out){op_test_node(g, "Placeholder", attrs, NULL, 0), 0};
}

// Output 0 of a node over the other arguments.
#define OUT(op, attrs, ...)                                                                                  \
    ((braid_out){op_test_node(g, op, attrs, (braid_out[]){__VA_ARGS__},                                      \
                              (int)(sizeof((braid_out[]){__VA_ARGS__}) / sizeof(braid_out))),                \
                 0})

static void expect(braid_out y, const char *want)
{
    BD_STATUS(st);
    char text[BD_SHAPE_STR_MAX];
    braid_shape shape = braid_out_shape(y);
    if (braid_graph_status(g, st)) fail_msg("%s", braid_status_message(st));
    if (strcmp(bd_shape_str(&shape, text), want) != 0)
        fail_msg("%s of %s: %s, not %s", y.op->name, y.op->op_type, text, want);
}

// tf.sequence_mask(lengths).
static braid_out sequence_mask(braid_out lengths)
{
    braid_out axes = OUT("Range", NULL, lit("int32[] 0"), OUT("Rank", NULL, lengths), lit("int32[] 1"));
    braid_out longest = OUT("Maximum", NULL, lit("int32[] 0"), OUT("Max", NULL, lengths, axes));
    braid_out row = OUT("Range", NULL, lit("int32[] 0"), longest, lit("int32[] 1"));
    return OUT("Less", NULL, row, OUT("ExpandDims", NULL, lengths, lit("int32[] -1")));
}

static void integer_expressions_give_shapes(void **state)
{
    (void)state;
    expect(sequence_mask(lit("int32[3] 1 3 2")), "[3,3]");
    expect(sequence_mask(lit("int32[2,2] 1 3 5 2")), "[2,2,5]");
    // tf.reshape(x, shape * 2), tf.transpose with the inverse of a permutation.
    braid_out x = fed("dtype=float; shape=[6,4,2]"), shape = lit("int32[2] 2 6");
    expect(OUT("Reshape", NULL, x, OUT("Mul", NULL, shape, lit("int32[] 2"))), "[4,12]");
    expect(OUT("Transpose", NULL, x, OUT("InvertPermutation", NULL, lit("int32[3] 1 2 0"))), "[2,6,4]");
    expect(OUT("Tile", NULL, x,
               OUT("Select", NULL, lit("bool[3] true false true"), lit("int32[3] 1 2 3"),
                   lit("int32[3] 7 8 9"))),
           "[6,32,6]");
    expect(OUT("Fill", NULL, OUT("Neg", NULL, lit("int32[2] -2 -3")), lit("float[] 0")), "[2,3]");
    expect(
        OUT("Fill", NULL, OUT("ReverseV2", NULL, OUT("Shape", NULL, x), lit("int32[1] 0")), lit("float[] 0")),
        "[2,4,6]");
}

static void expressions_of_other_types_give_shapes(void **state)
{
    (void)state;
    braid_out half = OUT("RealDiv", NULL, lit("float[] 7"), lit("float[] 2"));
    expect(OUT("Range", NULL, lit("float[] 0"), half, lit("float[] 1")), "[4]");
    braid_out count = OUT("Cast", "DstT=int32", OUT("Ceil", NULL, half));
    expect(OUT("Range", NULL, lit("int32[] 0"), count, lit("int32[] 1")), "[4]");
    // One size from numbers, the other from a feed: [?,4].
    braid_out rows = fed("dtype=int32; shape=[]");
    expect(OUT("Fill", NULL, OUT("Pack", NULL, rows, count), lit("float[] 0")), "[?,4]");
    expect(OUT("Fill", NULL, OUT("StringToNumber", "out_type=int32", lit("string[2] 3 5")), lit("float[] 0")),
           "[3,5]");
    // The indices of the true elements.
    braid_out places =
        OUT("Reshape", NULL, OUT("Where", NULL, lit("bool[4] false false true true")), lit("int32[1] -1"));
    expect(OUT("Fill", NULL, places, lit("float[] 0")), "[2,3]");
}

static void matrices_give_shapes(void **state)
{
    (void)state;
    braid_out x = fed("dtype=float; shape=[?,3]");
    braid_out pads = OUT("Pack", NULL, lit("int32[2] 1 2"), lit("int32[2] 3 5"));
    expect(OUT("Pad", NULL, x, pads), "[?,11]");
    expect(OUT("Pad", NULL, x, OUT("Transpose", NULL, pads, lit("int32[2] 1 0"))), "[?,10]");
    braid_out blocks = fed("dtype=float; shape=[1,5]"),
              edges = OUT("ExpandDims", NULL, lit("int32[2] 1 2"), lit("int32[] 0"));
    expect(OUT("SpaceToBatchND", NULL, blocks, lit("int32[1] 2"), edges), "[2,4]");
}

// Values that depend on a feed, a random number or a variable, and large values, are unknown.
static void fed_values_give_no_shape(void **state)
{
    (void)state;
    braid_out dims = lit("int32[2] 2 3"), zero = lit("float[] 0");
    braid_out given = OUT("PlaceholderWithDefault", "shape=[2]", dims);
    expect(OUT("Fill", NULL, OUT("Neg", NULL, OUT("Neg", NULL, given)), zero), "[?,?]");
    braid_out drawn =
        OUT("RandomUniformInt", "seed=1", lit("int32[1] 2"), lit("int32[] 1"), lit("int32[] 2"));
    expect(OUT("Fill", NULL, OUT("Neg", NULL, drawn), zero), "[?,?]");
    braid_out many = OUT("Fill", NULL, lit("int32[1] 100000"), lit("int32[] 1"));
    expect(OUT("Fill", NULL,
               OUT("Reshape", NULL, OUT("Sum", NULL, OUT("Neg", NULL, many), lit("int32[] 0")),
                   lit("int32[1] 1")),
               zero),
           "[?]");
    // An error of a kernel is one of the run.
    expect(OUT("Fill", NULL, OUT("InvertPermutation", NULL, lit("int32[2] 7 7")), zero), "[?,?]");
}

static void check_value(braid_out from, const char *want)
{
    braid_tensor *value = braid_out_constant(from);
    char *text = value ? braid_tensor_text(value, -1) : strdup("unknown");
    assert_string_equal(text, want);
    free(text);
    braid_tensor_free(value);
}

static void values_are_given_to_front_ends(void **state)
{
    (void)state;
    const braid_out x = fed("dtype=float; shape=[2,?]"), y = fed("dtype=float; shape=[2,3]");
    const braid_out part = OUT("Shape", NULL, x), whole = OUT("Shape", NULL, y);
    check_value(lit("float[2] 1.5 2"), "[1.5 2]");
    check_value(OUT("Identity", NULL, lit("float[2] 1.5 2")), "[1.5 2]");
    check_value(whole, "[2 3]");
    check_value(OUT("Add", NULL, whole, lit("int32[] 1")), "[3 4]");
    check_value(OUT("Sqrt", NULL, lit("float[] 9")), "3");
    check_value(OUT("Concat", NULL, lit("int32[] 0"), whole, lit("int32[1] 7")), "[2 3 7]");
    check_value(x, "unknown");
    check_value(part, "unknown"); // known in part
    check_value((braid_out){.op = whole.op, .index = 1}, "unknown");
    check_value((braid_out){0}, "unknown");
    braid_shape shape = BD_SCALAR;
    char text[BD_SHAPE_STR_MAX];
    assert_true(braid_out_constant_shape(part, &shape));
    assert_string_equal(bd_shape_str(&shape, text), "[2,?]");
    assert_true(braid_out_constant_shape(whole, &shape));
    assert_string_equal(bd_shape_str(&shape, text), "[2,3]");
    assert_false(braid_out_constant_shape(x, &shape));
    assert_false(braid_out_constant_shape((braid_out){0}, &shape));
    assert_string_equal(bd_shape_str(&shape, text), "[2,3]");
}

static int64_t get_passing_time(void)
{
    static int64_t now;
    return now += INT64_C(1000000000);
}

static int close_graph_and_reset_clock(void **state)
{
    bd_platform_set(&bd_platform_posix);
    bd_interrupt_set(NULL);
    return close_graph(state);
}

// Kernels run for a while, whatever the step on whose thread they run.
static void the_time_of_kernels_is_limited(void **state)
{
    (void)state;
    static const atomic_bool is_stopped = true;
    static bd_platform p;
    braid_out x = OUT("Sqrt", NULL, lit("float[] 9"));
    bd_interrupt_set(&is_stopped);
    check_value(x, "3");
    p = bd_platform_posix;
    p.thread_time_ns = get_passing_time;
    bd_platform_set(&p);
    check_value(OUT("Sqrt", NULL, lit("float[] 9")), "unknown");
    assert_ptr_equal(bd_interrupt_set(NULL), &is_stopped);
}

// RaggedRange gives as many values as its inputs say.
static void the_memory_of_kernels_is_limited(void **state)
{
    (void)state;
    const size_t before = bd_buffer_pool_get_stats().bytes_most;
    const char *const limits[] = {"int32[] 3", "int32[] 100000000"}, *const values[] = {"[0 1 2]", "unknown"};
    for (int i = 0; i < 2; i++) {
        braid_out range = OUT("RaggedRange", NULL, lit("int32[] 0"), lit(limits[i]), lit("int32[] 1"));
        check_value((braid_out){range.op, 1}, values[i]);
    }
    assert_in_range(bd_buffer_pool_get_stats().bytes_most - before, 0, 4 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integer_expressions_give_shapes, open_graph, close_graph),
        cmocka_unit_test_setup_teardown(expressions_of_other_types_give_shapes, open_graph, close_graph),
        cmocka_unit_test_setup_teardown(matrices_give_shapes, open_graph, close_graph),
        cmocka_unit_test_setup_teardown(fed_values_give_no_shape, open_graph, close_graph),
        cmocka_unit_test_setup_teardown(values_are_given_to_front_ends, open_graph, close_graph),
        cmocka_unit_test_setup_teardown(the_time_of_kernels_is_limited, open_graph,
                                        close_graph_and_reset_clock),
        cmocka_unit_test_setup_teardown(the_memory_of_kernels_is_limited, open_graph, close_graph),
    };
    return BD_RUN_TESTS(tests);
}
