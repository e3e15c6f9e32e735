// Typed functions of ops build the nodes that descriptions build, and every op has one.
#include <braid/raw_ops.h>

#include "base/testing/test.h"
#include "graph/graph.h"
#include <braid/ops.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct pair {
    braid_graph *typed, *plain;
    braid_out x[2], i[2], s[2]; // placeholders of each: float [4,4], int32 scalar, string vector
} pair;

static pair pair_new(void)
{
    pair p = {.typed = braid_graph_new(), .plain = braid_graph_new()};
    for (int k = 0; k < 2; k++) {
        braid_graph *g = k ? p.plain : p.typed;
        p.x[k] = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(4, 4));
        p.i[k] = braid_placeholder(g, "i", BRAID_INT32, BRAID_SCALAR);
        p.s[k] = braid_placeholder(g, "s", BRAID_STRING, BRAID_SHAPE(-1));
    }
    return p;
}

static void pair_ends_equal(pair *p)
{
    BD_STATUS(st);
    char *typed = braid_graph_export_text(p->typed, st);
    assert_ok(st);
    char *plain = braid_graph_export_text(p->plain, st);
    assert_ok(st);
    assert_string_equal(typed, plain);
    free(typed);
    free(plain);
    braid_graph_free(p->typed);
    braid_graph_free(p->plain);
}

static void defaults_are_those_of_the_registry(void **state)
{
    (void)state;
    pair p = pair_new();
    braid_raw_MatMul(p.typed, "mm", p.x[0], p.x[0], NULL);
    braid_op_add(p.plain, "MatMul", "mm", (braid_out[]){p.x[1], p.x[1]}, 2);
    braid_raw_MatMul(p.typed, NULL, p.x[0], p.x[0], &(braid_raw_MatMul_attrs){0});
    braid_op_add(p.plain, "MatMul", NULL, (braid_out[]){p.x[1], p.x[1]}, 2);
    const braid_raw_TopKV2_attrs top = braid_raw_TopKV2_defaults();
    braid_raw_TopKV2_outputs best = braid_raw_TopKV2(p.typed, NULL, p.x[0], p.i[0], &top);
    braid_op *plain = braid_op_add(p.plain, "TopKV2", NULL, (braid_out[]){p.x[1], p.i[1]}, 2);
    braid_raw_Neg(p.typed, NULL, best.values);
    braid_op_add(p.plain, "Neg", NULL, (braid_out[]){braid_output(plain, 0)}, 1);
    braid_raw_Neg(p.typed, NULL, best.indices);
    braid_op_add(p.plain, "Neg", NULL, (braid_out[]){braid_output(plain, 1)}, 1);
    // An attribute at its default leaves the graph's seed in force.
    braid_graph_set_seed(p.typed, 7);
    braid_graph_set_seed(p.plain, 7);
    braid_raw_RandomShuffle(p.typed, NULL, p.x[0], &(braid_raw_RandomShuffle_attrs){.seed = 0});
    braid_op_add(p.plain, "RandomShuffle", NULL, &p.x[1], 1);
    pair_ends_equal(&p);
}

static void attributes_are_set(void **state)
{
    (void)state;
    pair p = pair_new();
    braid_raw_MatMul(p.typed, NULL, p.x[0], p.x[0], &(braid_raw_MatMul_attrs){.transpose_b = true});
    braid_op_desc *d = braid_op_begin(p.plain, "MatMul", NULL);
    braid_op_input(d, p.x[1]);
    braid_op_input(d, p.x[1]);
    braid_op_attr_bool(d, "transpose_b", true);
    braid_op_end(d);

    braid_raw_TopKV2_attrs top = braid_raw_TopKV2_defaults();
    top.sorted = false;
    top.index_type = BRAID_INT64;
    braid_raw_TopKV2(p.typed, NULL, p.x[0], p.i[0], &top);
    d = braid_op_begin(p.plain, "TopKV2", NULL);
    braid_op_input(d, p.x[1]);
    braid_op_input(d, p.i[1]);
    braid_op_attr_bool(d, "sorted", false);
    braid_op_attr_type(d, "index_type", BRAID_INT64);
    braid_op_end(d);

    braid_raw_LRN_attrs lrn = braid_raw_LRN_defaults();
    lrn.depth_radius = 2;
    lrn.bias = 0; // a value of its own: the default is 1
    const braid_out images[2] = {braid_reshape(p.typed, p.x[0], BRAID_SHAPE(1, 4, 4, 1)),
                                 braid_reshape(p.plain, p.x[1], BRAID_SHAPE(1, 4, 4, 1))};
    braid_raw_LRN(p.typed, NULL, images[0], &lrn);
    d = braid_op_begin(p.plain, "LRN", NULL);
    braid_op_input(d, images[1]);
    braid_op_attr_int(d, "depth_radius", 2);
    braid_op_attr_float(d, "bias", 0);
    braid_op_end(d);

    const int64_t strides[] = {1, 2, 2, 1};
    braid_raw_MaxPool(p.typed, NULL, images[0], strides, 4, strides, 4, "SAME",
                      &(braid_raw_MaxPool_attrs){.data_format = "NHWC"});
    d = braid_op_begin(p.plain, "MaxPool", NULL);
    braid_op_input(d, images[1]);
    braid_op_attr_int_list(d, "ksize", strides, 4);
    braid_op_attr_int_list(d, "strides", strides, 4);
    braid_op_attr_string(d, "padding", "SAME");
    braid_op_attr_string(d, "data_format", "NHWC");
    braid_op_end(d);

    const braid_dtype types[] = {BRAID_FLOAT, BRAID_INT64};
    const braid_shape shapes[] = {BRAID_SHAPE(4, 4), BRAID_SCALAR};
    braid_raw_FIFOQueueV2_attrs queue = braid_raw_FIFOQueueV2_defaults();
    queue.shapes = shapes;
    queue.shapes_count = 2;
    queue.capacity = 10;
    queue.shared_name = "q";
    braid_raw_FIFOQueueV2(p.typed, "queue", types, 2, &queue);
    d = braid_op_begin(p.plain, "FIFOQueueV2", "queue");
    braid_op_attr_type_list(d, "component_types", types, 2);
    braid_op_attr_shape_list(d, "shapes", shapes, 2);
    braid_op_attr_int(d, "capacity", 10);
    braid_op_attr_string(d, "shared_name", "q");
    braid_op_end(d);
    pair_ends_equal(&p);
}

static void lists_are_inputs_and_outputs(void **state)
{
    (void)state;
    pair p = pair_new();
    const braid_out typed[] = {p.x[0], p.x[0], p.x[0]}, plain[] = {p.x[1], p.x[1], p.x[1]};
    braid_raw_ConcatV2(p.typed, NULL, typed, 3, p.i[0]);
    braid_op_desc *d = braid_op_begin(p.plain, "ConcatV2", NULL);
    braid_op_input_list(d, plain, 3);
    braid_op_input(d, p.i[1]);
    braid_op_end(d);

    const braid_raw_list parts = braid_raw_Split(p.typed, NULL, p.i[0], p.x[0], 2);
    d = braid_op_begin(p.plain, "Split", NULL);
    braid_op_input(d, p.i[1]);
    braid_op_input(d, p.x[1]);
    braid_op_attr_int(d, "num_split", 2);
    braid_op *split = braid_op_end(d);
    assert_int_equal(parts.count, 2);
    assert_null(braid_raw_at(parts, 2).op);
    braid_raw_Neg(p.typed, NULL, braid_raw_at(parts, 1));
    braid_op_add(p.plain, "Neg", NULL, (braid_out[]){braid_output(split, 1)}, 1);

    braid_op *assertion = braid_raw_Assert(p.typed, NULL, braid_raw_Less(p.typed, NULL, p.i[0], p.i[0]),
                                           (braid_out[]){p.x[0], p.s[0]}, 2, NULL);
    assert_int_equal(braid_op_num_outputs(assertion), 0);
    braid_op *less = braid_op_add(p.plain, "Less", NULL, (braid_out[]){p.i[1], p.i[1]}, 2);
    d = braid_op_begin(p.plain, "Assert", NULL);
    braid_op_input(d, braid_output(less, 0));
    braid_op_input_list(d, (braid_out[]){p.x[1], p.s[1]}, 2);
    braid_op_end(d);
    pair_ends_equal(&p);
}

static void lists_of_outputs_follow_each_other(void **state)
{
    (void)state;
    pair p = pair_new();
    const braid_out keys[] = {braid_const_string(p.typed, "a", "a"), braid_const_string(p.typed, "b", "b")};
    const braid_dtype types[] = {BRAID_FLOAT, BRAID_INT64};
    const braid_shape shape = BRAID_SCALAR;
    const braid_raw_ParseExample_outputs parsed =
        braid_raw_ParseExample(p.typed, NULL, p.s[0], p.s[0], keys, 2, keys, 1,
                               (braid_out[]){braid_const_float(p.typed, "f", 0)}, 1, types, 2, &shape, 1);
    assert_int_equal(braid_graph_status(p.typed, NULL), BRAID_OK);
    assert_int_equal(braid_op_num_outputs(parsed.op), 7);
    assert_int_equal(braid_raw_at(parsed.sparse_values, 1).index, 3);
    assert_int_equal(braid_out_dtype(braid_raw_at(parsed.sparse_values, 1)), BRAID_INT64);
    assert_int_equal(braid_raw_at(parsed.dense_values, 0).index, 6);
    assert_int_equal(braid_out_dtype(braid_raw_at(parsed.dense_values, 0)), BRAID_FLOAT);
    braid_graph_free(p.typed);
    braid_graph_free(p.plain);
}

// All zero would be sorted = false, which nobody has asked for.
static void a_struct_of_zeros_is_refused_where_zero_is_a_value(void **state)
{
    (void)state;
    BD_STATUS(st);
    pair p = pair_new();
    braid_raw_TopKV2(p.typed, NULL, p.x[0], p.i[0], &(braid_raw_TopKV2_attrs){.index_type = BRAID_INT64});
    braid_graph_status(p.typed, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "braid_raw_TopKV2_defaults()");
    braid_graph_free(p.typed);
    braid_graph_free(p.plain);
}

static void functions_are_names_in_attributes(void **state)
{
    (void)state;
    pair p = pair_new();
    const braid_dtype types[] = {BRAID_FLOAT};
    const braid_shape shape = BRAID_SHAPE(4, 4);
    const braid_out dataset = braid_raw_TensorDataset(p.typed, NULL, &p.x[0], 1, &shape, 1, NULL);
    const braid_raw_MapDataset_attrs defaults = braid_raw_MapDataset_defaults();
    const braid_out mapped =
        braid_raw_MapDataset(p.typed, "map", dataset, NULL, 0, "twice", types, 1, &shape, 1, &defaults);
    BD_STATUS(st);
    assert_int_equal(braid_graph_status(p.typed, st), BRAID_OK);
    char *text = braid_graph_export_text(p.typed, st);
    assert_non_null(mapped.op);
    assert_non_null(strstr(text, "func {\n        name: \"twice\""));
    free(text);
    braid_graph_free(p.typed);
    braid_graph_free(p.plain);
}

static void every_op_has_its_function(void **state)
{
    (void)state;
    FILE *file = fopen(BD_BIN_DIR "/../generated/include/braid/raw_ops.h", "r");
    assert_non_null(file);
    static char text[4 << 20];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    int count = 0;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *name = bd_op_table[i].name;
        char wanted[128];
        if (name[0] == '_') continue;
        snprintf(wanted, sizeof wanted, "braid_raw_%s(braid_graph *graph, const char *name", name);
        if (!strstr(text, wanted)) fail_msg("raw_ops.h has no function of op '%s'", name);
        count++;
    }
    assert_true(count > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_registry),
        cmocka_unit_test(attributes_are_set),
        cmocka_unit_test(lists_are_inputs_and_outputs),
        cmocka_unit_test(lists_of_outputs_follow_each_other),
        cmocka_unit_test(a_struct_of_zeros_is_refused_where_zero_is_a_value),
        cmocka_unit_test(functions_are_names_in_attributes),
        cmocka_unit_test(every_op_has_its_function),
    };
    return BD_RUN_TESTS(tests);
}
