// Attributes of nodes: read in any type, as messages, and set.
#include <braid/attributes.h>

#include "graph/testing/test_ops.h"
#include <stdlib.h>

// AttrValue messages by hand: a field's tag is number * 8 + wire type.
#define VALUE(bytes) (bytes), sizeof(bytes) - 1
#define TRUE_VALUE VALUE("\x28\x01")  // b: true
#define INT_VALUE VALUE("\x18\x05")   // i: 5
#define FLOAT_TYPE VALUE("\x30\x01")  // type: DT_FLOAT
#define DOUBLE_TYPE VALUE("\x30\x02") // type: DT_DOUBLE
#define SAME_VALUE VALUE("\x12\x04SAME")
#define FULL_VALUE                                                                                           \
    VALUE("\x12\x04"                                                                                         \
          "FULL")
#define CLASS_VALUE VALUE("\x0a\x09\x12\x07loc:@ab")    // list { s: "loc:@ab" }
#define SHAPE_3_VALUE VALUE("\x3a\x04\x12\x02\x08\x03") // shape { dim { size: 3 } }

static braid_op *pool(braid_graph *g)
{
    braid_op_desc *d = braid_op_begin(g, "Pool", "pool");
    braid_op_input(d, test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2)));
    braid_op_attr_int_list(d, "ksize", (const int64_t[]){1, 2, 3, 4}, 4);
    braid_op_attr_string(d, "padding", "SAME");
    return braid_op_end(d);
}

static void each_kind_is_read_through_one_struct(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_op *op = pool(g);
    braid_attr a;
    assert_graph_ok(g);
    assert_int_equal(braid_op_num_attrs(op), 3);
    assert_string_equal(braid_op_attr_name(op, 0), "ksize");
    assert_string_equal(braid_op_attr_name(op, 2), "rates");
    assert_null(braid_op_attr_name(op, 3));
    assert_true(braid_op_attr(op, "ksize", &a));
    assert_true(a.kind == BRAID_ATTR_INT && a.is_list && !a.is_default && a.count == 4 && a.ints[3] == 4);
    assert_true(braid_op_attr(op, "rates", &a));
    assert_true(a.kind == BRAID_ATTR_FLOAT && a.is_list && a.is_default && a.count == 2 &&
                a.floats[0] == 0.5f);
    assert_true(braid_op_attr(op, "padding", &a));
    assert_true(a.kind == BRAID_ATTR_STRING && !a.is_list && a.count == 1 && a.strings[0].len == 4);
    assert_string_equal(a.strings[0].data, "SAME");
    braid_op *x = braid_graph_find(g, "x");
    assert_true(braid_op_attr(x, "dtype", &a));
    assert_true(a.kind == BRAID_ATTR_TYPE && a.types[0] == BRAID_FLOAT);
    assert_true(braid_op_attr(x, "shape", &a));
    assert_true(a.kind == BRAID_ATTR_SHAPE);
    assert_shape(a.shapes[0], "[2]");
    braid_op *c = bd_b_const_i32(g, "c", 7).op;
    assert_true(braid_op_attr(c, "value", &a));
    assert_true(a.kind == BRAID_ATTR_TENSOR && !a.is_list);
    assert_int_equal(*(const int32_t *)braid_tensor_data(a.tensors[0]), 7);
    assert_false(braid_op_attr(op, "strides", &a));
    assert_false(braid_op_attr(NULL, "strides", &a));
    braid_graph_free(g);
}

static void an_empty_list_has_the_kind_of_its_definition(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *op = pool(g);
    braid_attr a;
    assert_int_equal(braid_op_set_attr(op, "rates", VALUE("\x0a\x00"), st), BRAID_OK);
    assert_int_equal(braid_op_set_attr(op, "_mine", VALUE("\x0a\x00"), st), BRAID_OK);
    assert_true(braid_op_attr(op, "rates", &a));
    assert_true(a.is_list && a.count == 0 && a.kind == BRAID_ATTR_FLOAT && !a.is_default);
    assert_true(braid_op_attr(op, "_mine", &a));
    assert_true(a.is_list && a.count == 0 && a.kind == BRAID_ATTR_NONE);
    braid_graph_free(g);
}

static void an_attr_is_given_as_a_message_and_made_from_one(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    size_t len;
    void *ksize = braid_op_attr_proto(pool(g), "ksize", &len, st);
    assert_ok(st);
    assert_int_equal(len, 8);
    assert_memory_equal(ksize, "\x0a\x06\x1a\x04\x01\x02\x03\x04", 8); // list { i: [1, 2, 3, 4] }
    braid_op_desc *d = braid_op_begin(g, "Pool", "again");
    braid_op_input(d, braid_graph_find_out(g, "x"));
    braid_op_attr_value(d, "ksize", ksize, len);
    braid_op_attr_value(d, "padding", SAME_VALUE);
    braid_op *again = braid_op_end(d);
    assert_graph_ok(g);
    braid_attr a;
    assert_true(braid_op_attr(again, "ksize", &a) && a.count == 4 && a.ints[2] == 3);
    free(ksize);
    assert_null(braid_op_attr_proto(again, "strides", &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "Operation 'again' has no attr named 'strides'.");
    assert_int_equal(len, 0);
    braid_graph_free(g);
}

static void malformed_values_of_a_node_to_be_fail_the_graph(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t len;
        const char *words;
    } rows[] = {
        {VALUE("\x0a\x7f"), "Node 'n' (op: 'Pool'): attr 'padding': malformed"},
        {VALUE(""), "the AttrValue holds no value"},
        {NULL, 3, "there is no AttrValue"},
        {FULL_VALUE, "not in the list of allowed values"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        pool(g);
        braid_op_desc *d = braid_op_begin(g, "Pool", "n");
        braid_op_input(d, braid_graph_find_out(g, "x"));
        braid_op_attr_int_list(d, "ksize", (const int64_t[]){1, 2, 3, 4}, 4);
        braid_op_attr_value(d, "padding", rows[i].data, rows[i].len);
        assert_null(braid_op_end(d));
        braid_graph_take_error(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
        assert_null(braid_graph_find(g, "n"));
        braid_graph_free(g);
    }
}

static void attrs_of_a_node_can_be_set_and_removed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out x = test_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 2));
    braid_op *op = bd_b2(g, "MatMul", "product", x, x).op;
    braid_attr a;
    assert_int_equal(braid_op_set_attr(op, "transpose_a", TRUE_VALUE, st), BRAID_OK);
    assert_true(braid_op_attr(op, "transpose_a", &a) && a.bools[0] && !a.is_default);
    assert_int_equal(braid_op_set_attr(op, "transpose_a", NULL, 0, st), BRAID_OK);
    assert_true(braid_op_attr(op, "transpose_a", &a) && !a.bools[0] && a.is_default);
    assert_int_equal(braid_op_set_attr(op, "T", FLOAT_TYPE, st), BRAID_OK); // as it is
    assert_int_equal(braid_op_set_attr(op, "_class", CLASS_VALUE, st), BRAID_OK);
    assert_int_equal(braid_op_set_attr(op, "zone", INT_VALUE, st), BRAID_OK);
    assert_int_equal(braid_op_num_attrs(op), 6);
    for (int i = 1; i < 6; i++)
        assert_true(strcmp(braid_op_attr_name(op, i - 1), braid_op_attr_name(op, i)) < 0);
    assert_true(braid_op_attr(op, "_class", &a) && a.is_list && a.count == 1);
    assert_string_equal(a.strings[0].data, "loc:@ab");
    assert_true(braid_op_attr(op, "zone", &a) && a.ints[0] == 5);
    assert_int_equal(braid_op_set_attr(op, "_class", NULL, 0, st), BRAID_OK);
    assert_int_equal(braid_op_set_attr(op, "_class", NULL, 0, st), BRAID_OK); // has no effect
    assert_false(braid_op_attr(op, "_class", &a));
    assert_true(braid_op_attr(op, "zone", &a) && a.ints[0] == 5);
    braid_graph_free(g);
}

static void a_set_attr_must_fit_the_node(void **state)
{
    (void)state;
    static const struct {
        const char *node, *attr, *data;
        size_t len;
        const char *words;
    } rows[] = {
        {"pool", "padding", FULL_VALUE, "Node 'pool' (op: 'Pool'): Value for attr 'padding' of \"FULL\""},
        {"pool", "padding", INT_VALUE, "attr 'padding' is of kind int, expected string"},
        {"pool", "ksize", VALUE("\x0a\x03\x1a\x01\x01"), "must be at least minimum 4"},
        {"pool", "ksize", NULL, 0, "attr 'ksize' has no default"},
        {"pool", "rates", VALUE("\x0a\x7f"), "Node 'pool' (op: 'Pool'): attr 'rates': malformed"},
        {"x", "dtype", DOUBLE_TYPE, "attr 'dtype' gives types or numbers of inputs or outputs"},
        {"x", "shape", SHAPE_3_VALUE, "Output 0 of 'x' has shape [2], not [3]"},
        {"x", "", INT_VALUE, "There is no name of an attr"},
    };
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    pool(g);
    size_t len, after;
    void *before = braid_graph_export(g, &len, st);
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        braid_op_set_attr(braid_graph_find(g, rows[i].node), rows[i].attr, rows[i].data, rows[i].len, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].words);
    }
    void *still = braid_graph_export(g, &after, st);
    assert_int_equal(after, len);
    assert_memory_equal(before, still, len);
    free(before);
    free(still);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_through_one_struct),
        cmocka_unit_test(an_empty_list_has_the_kind_of_its_definition),
        cmocka_unit_test(an_attr_is_given_as_a_message_and_made_from_one),
        cmocka_unit_test(malformed_values_of_a_node_to_be_fail_the_graph),
        cmocka_unit_test(attrs_of_a_node_can_be_set_and_removed),
        cmocka_unit_test(a_set_attr_must_fit_the_node),
    };
    return BD_RUN_TESTS(tests);
}
