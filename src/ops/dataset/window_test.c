// Windows of datasets, and datasets as one element.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static braid_op *node(op_live *l, const char *op, const char *types, const braid_out *inputs, int count)
{
    static const braid_dtype int64 = BRAID_INT64;
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (types) braid_op_attr_type_list(d, "output_types", &int64, 1);
    if (types) braid_op_attr_shape_list(d, "output_shapes", &BD_SCALAR, 1);
    return braid_op_end(d);
}

static void a_dataset_of_one_element_gives_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {RANGE(9) "SkipDataset(int64[] 8)", "int64[] 8"},
        {"TensorDataset(int64[0])", "int64[0]"},
        {RANGE(0), "InvalidArgument: Dataset was empty."},
        {RANGE(2), "InvalidArgument: Dataset had more than one element."},
        {RANGE(3) "BatchDataset(int64[] 2) BatchDataset(int64[] 2)", "InvalidArgument: Cannot batch"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        braid_out d = pipeline_make(l, rows[i].text, "int64");
        op_live_run(l,
                    op_test_node(l->graph, "DatasetToSingleElement",
                                 "output_types=[int64]; output_shapes=[?]", &d, 1),
                    "", rows[i].want);
        op_live_free(l);
    }
}

// Windows as lists, worked out by hand: of 0..6, size 3, shift 2, stride 2: 0 2 4 | 2 4 6 | 4 6 | 6.
static void windows_have_their_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *counts;
    } rows[] = {
        {RANGE(7) "WindowDataset(int64[] 3; int64[] 2; int64[] 2; bool[] false)", "3321"},
        {RANGE(7) "WindowDataset(int64[] 3; int64[] 2; int64[] 2; bool[] true)", "33"},
        {RANGE(7) "WindowDataset(int64[] 2; int64[] 3; int64[] 1; bool[] false)", "221"},
        {RANGE(7) "WindowDataset(int64[] 2; int64[] 3; int64[] 1; bool[] true)", "22"},
        {RANGE(3) "WindowDataset(int64[] 9; int64[] 9; int64[] 1; bool[] false)", "3"},
        {RANGE(
             3) "WindowDataset(int64[] 9223372036854775807; int64[] 1; int64[] 9223372036854775807; bool[] true)",
         ""},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        pipeline p = pipeline_open(l, rows[i].text, "variant");
        op_live_run(l, p.make, "", "");
        braid_out window = {.op = p.next};
        braid_op *count = node(l, "DatasetCardinality", NULL, &window, 1);
        for (const char *n = rows[i].counts; *n; n++) {
            char want[32];
            snprintf(want, sizeof want, "int64[] %c", *n);
            op_live_run(l, count, "", want);
        }
        op_live_run(l, count, "", "OutOfRange: End of sequence");
        op_live_run(
            l,
            node(l, "DatasetCardinality", NULL, (braid_out[]){pipeline_make(l, rows[i].text, "variant")}, 1),
            "", (char[]){'i', 'n', 't', '6', '4', '[', ']', ' ', (char)('0' + strlen(rows[i].counts)), 0});
        op_live_free(l);
    }
}

static void elements_of_a_window_are_datasets(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    pipeline p =
        pipeline_open(l, RANGE(5) "WindowDataset(int64[] 1; int64[] 2; int64[] 1; bool[] false)", "variant");
    op_live_run(l, p.make, "", "");
    braid_out window = {.op = p.next};
    braid_op *element = node(l, "DatasetToSingleElement", "int64", &window, 1);
    op_live_run(l, element, "", "int64[] 0");
    op_live_run(l, element, "", "int64[] 2");
    op_live_run(l, element, "", "int64[] 4");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_of_one_element_gives_it),
        cmocka_unit_test(windows_have_their_sizes),
        cmocka_unit_test(elements_of_a_window_are_datasets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
