// Tensors that are cut, joined, repeated and turned: their elements, and TensorFlow's node names.
#include "base/testing/test.h"

#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/ops.h>

static const double numbers[] = {1, 2, 3, 4, 5, 6};

static braid_out matrix(braid_graph *g)
{
    return evaluate_const(g, BRAID_FLOAT, BRAID_SHAPE(2, 3), numbers);
}

// What one value must be.
typedef struct row {
    braid_out out;
    braid_shape shape;
    double want[12];
} row;

static void expect_rows(braid_graph *g, const row *rows, size_t count)
{
    braid_session *s = evaluate_open(g);
    for (size_t i = 0; i < count; i++) {
        assert_true(braid_shape_equal(braid_out_shape(rows[i].out), rows[i].shape));
        expect_evaluates(s, rows[i].out, rows[i].want, braid_shape_num_elements(rows[i].shape));
    }
    evaluate_close(s, g);
}

static void elements_move_with_their_dimensions(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = matrix(g), column = braid_expand_dims(g, x, 1);
    const row rows[] = {
        {column, BRAID_SHAPE(2, 1, 3), {1, 2, 3, 4, 5, 6}},
        {braid_expand_dims(g, x, -1), BRAID_SHAPE(2, 3, 1), {1, 2, 3, 4, 5, 6}},
        {braid_squeeze(g, column, (int32_t[]){1}, 1), BRAID_SHAPE(2, 3), {1, 2, 3, 4, 5, 6}},
        {braid_squeeze(g, column, NULL, 0), BRAID_SHAPE(2, 3), {1, 2, 3, 4, 5, 6}},
        {braid_transpose(g, x, NULL, 0), BRAID_SHAPE(3, 2), {1, 4, 2, 5, 3, 6}},
        {braid_transpose(g, column, (int32_t[]){1, 2, 0}, 3), BRAID_SHAPE(1, 3, 2), {1, 4, 2, 5, 3, 6}},
        {braid_reverse(g, x, (int32_t[]){-1}, 1), BRAID_SHAPE(2, 3), {3, 2, 1, 6, 5, 4}},
        {braid_shape_of(g, column), BRAID_SHAPE(3), {2, 1, 3}},
        {braid_rank_of(g, x), BRAID_SCALAR, {2}},
        {braid_size_of(g, x), BRAID_SCALAR, {6}},
        {braid_zeros_like(g, x), BRAID_SHAPE(2, 3), {0}},
        {braid_ones_like(g, x), BRAID_SHAPE(2, 3), {1, 1, 1, 1, 1, 1}},
        {braid_range(g, 5, -2, -3), BRAID_SHAPE(3), {5, 2, -1}},
    };
    expect_rows(g, rows, BD_COUNTOF(rows));
}

static void parts_are_cut_along_an_axis(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out x = matrix(g);
    braid_out columns[3], thirds[3], sized[2];
    braid_unstack(g, x, 1, columns, 3);
    braid_split(g, x, 1, thirds, 3);
    braid_split_sizes(g, x, -1, (int32_t[]){1, 2}, sized, 2);
    const row rows[] = {
        {columns[1], BRAID_SHAPE(2), {2, 5}},
        {thirds[2], BRAID_SHAPE(2, 1), {3, 6}},
        {sized[0], BRAID_SHAPE(2, 1), {1, 4}},
        {sized[1], BRAID_SHAPE(2, 2), {2, 3, 5, 6}},
        {braid_slice(g, x, (int64_t[]){0, 1}, BRAID_SHAPE(-1, 2)), BRAID_SHAPE(2, 2), {2, 3, 5, 6}},
        {braid_stack(g, columns, 3, 0), BRAID_SHAPE(3, 2), {1, 4, 2, 5, 3, 6}},
        {braid_stack(g, columns, 3, -1), BRAID_SHAPE(2, 3), {1, 2, 3, 4, 5, 6}},
        {braid_concat(g, (braid_out[]){x, sized[0]}, 2, 1), BRAID_SHAPE(2, 4), {1, 2, 3, 1, 4, 5, 6, 4}},
    };
    expect_rows(g, rows, BD_COUNTOF(rows));
}

static void tensors_grow_by_repeating_and_padding(void **state)
{
    (void)state;
    static const int32_t column[2][2] = {{0, 0}, {1, 2}}, before[2][2] = {{0, 0}, {1, 0}};
    braid_graph *g = braid_graph_new();
    const braid_out x = matrix(g);
    const row rows[] = {
        {braid_tile(g, x, (int32_t[]){1, 2}, 2), BRAID_SHAPE(2, 6), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
        {braid_pad(g, x, column, 2, 0), BRAID_SHAPE(2, 6), {0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0}},
        {braid_pad(g, x, column, 2, 7), BRAID_SHAPE(2, 6), {7, 1, 2, 3, 7, 7, 7, 4, 5, 6, 7, 7}},
        {braid_mirror_pad(g, x, before, 2, false), BRAID_SHAPE(2, 4), {2, 1, 2, 3, 5, 4, 5, 6}},
        {braid_mirror_pad(g, x, before, 2, true), BRAID_SHAPE(2, 4), {1, 1, 2, 3, 4, 4, 5, 6}},
    };
    expect_rows(g, rows, BD_COUNTOF(rows));
}

static void node_names_equal_those_of_python(void **state)
{
    (void)state;
    static const int32_t paddings[2][2] = {{1, 1}, {0, 0}};
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
    braid_out parts[3];
    braid_split(g, x, 1, parts, 3);
    braid_split_sizes(g, x, 1, (int32_t[]){1, 2}, parts, 2);
    (void)braid_stack(g, (braid_out[]){x, x}, 2, 1);
    braid_unstack(g, x, 1, parts, 3);
    (void)braid_tile(g, x, (int32_t[]){2, 1}, 2);
    (void)braid_pad(g, x, paddings, 2, 0);
    (void)braid_pad(g, x, paddings, 2, 2);
    (void)braid_mirror_pad(g, x, paddings, 2, false);
    (void)braid_transpose(g, x, NULL, 0);
    (void)braid_reverse(g, x, (int32_t[]){1}, 1);
    (void)braid_range(g, 0, 5, 1);
    expect_graph(g, "x = Placeholder\n"
                    "split/split_dim = Const\n"
                    "split = Split split/split_dim:0 x:0\n"
                    "Const = Const\n"
                    "split_1/split_dim = Const\n"
                    "split_1 = SplitV x:0 Const:0 split_1/split_dim:0\n"
                    "stack = Pack x:0 x:0\n"
                    "unstack = Unpack x:0\n"
                    "Tile/multiples = Const\n"
                    "Tile = Tile x:0 Tile/multiples:0\n"
                    "Pad/paddings = Const\n"
                    "Pad = Pad x:0 Pad/paddings:0\n"
                    "PadV2/paddings = Const\n"
                    "PadV2/constant_values = Const\n"
                    "PadV2 = PadV2 x:0 PadV2/paddings:0 PadV2/constant_values:0\n"
                    "MirrorPad/paddings = Const\n"
                    "MirrorPad = MirrorPad x:0 MirrorPad/paddings:0\n"
                    "transpose/perm = Const\n"
                    "transpose = Transpose x:0 transpose/perm:0\n"
                    "ReverseV2/axis = Const\n"
                    "ReverseV2 = ReverseV2 x:0 ReverseV2/axis:0\n"
                    "range/start = Const\n"
                    "range/limit = Const\n"
                    "range/delta = Const\n"
                    "range = Range range/start:0 range/limit:0 range/delta:0\n");
    braid_graph_free(g);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    static const char *const says[] = {
        "concat: there are no values",
        "split: there are no values",
        "tile of 'x': numbers for 0 dimensions",
        "transpose of 'any': its rank must be known",
        "squeeze of 'x': numbers for -1 dimensions",
        "shape: there is no input",
        "unstack",
    };
    for (size_t i = 0; i < BD_COUNTOF(says); i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(2, 3));
        const braid_out any = braid_placeholder(g, "any", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
        braid_out parts[2] = {x, x};
        switch (i) {
        case 0: braid_concat(g, parts, 0, 0); break;
        case 1: braid_split_sizes(g, x, 0, NULL, parts, 2); break;
        case 2: braid_tile(g, x, NULL, 2); break;
        case 3: braid_transpose(g, any, NULL, 0); break;
        case 4: braid_squeeze(g, x, (int32_t[]){0}, -1); break;
        case 5: braid_shape_of(g, BRAID_NONE); break;
        default: braid_unstack(g, x, 1, parts, 2); assert_null(parts[0].op);
        }
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, says[i]);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_move_with_their_dimensions),
        cmocka_unit_test(parts_are_cut_along_an_axis),
        cmocka_unit_test(tensors_grow_by_repeating_and_padding),
        cmocka_unit_test(node_names_equal_those_of_python),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
