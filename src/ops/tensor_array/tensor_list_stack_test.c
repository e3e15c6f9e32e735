// Tests of lists of tensors, ops on many elements: stacking, gathering, scattering, splitting, joining.
// Values and errors follow the rules of lists.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/tensor_lists.h"
#include <stdio.h>

static void stack_fills_unset_elements(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(p, list_set(p, list_reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "float[2] 1 2"),
                      "int32[] -1", "float[3,2] 0 0 1 2 0 0");
    p = program_new();
    list_expect_stack(p, list_empty(p, "int32[] -1", "int32[] -1"), "int32[1] 2", "float[0,2]");
    p = program_new();
    list_expect_stack(p, list_empty(p, "int32[1] -1", "int32[] -1"), "int32[] -1",
                      "InvalidArgument: Tried to stack elements of an empty list with non-fully-defined "
                      "element_shape: [?]");
    p = program_new();
    list_expect_stack(
        p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[] -1",
        "InvalidArgument: Tried to stack list which only contains uninitialized tensors and has a "
        "non-fully-defined element_shape: <unknown>");
    p = program_new();
    list_expect_stack(
        p, list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[] 1"), "float[2] 1"),
        "int32[] -1", "InvalidArgument: Incompatible ranks during merge: 0 vs. 1");
    p = program_new();
    list_expect_stack(
        p, list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 1"),
        "int32[] -1", "InvalidArgument: Incompatible shapes during merge: [1] vs. [2]");
    p = program_new();
    list_expect(p,
                OUT(p, "TensorListStack", "element_dtype=float; num_elements=3",
                    list_from_tensor(p, "float[2] 1 2", "int32[0]"), program_feed(p, "int32[] -1")),
                "InvalidArgument: Operation expected a list with 3 elements but got a list with 2 elements.");
    p = program_new();
    list_expect(p,
                OUT(p, "TensorListStack", "element_dtype=string",
                    list_from_tensor(p, "string[2] a bc", "int32[0]"), program_feed(p, "int32[] -1")),
                "string[2] a bc");
    p = program_new();
    list_expect_stack(p, list_from_tensor(p, "int32[2] 1 2", "int32[0]"), "int32[] -1",
                      "InvalidArgument: Invalid data types; op elements float but list elements int32");
    p = program_new();
    list_expect_stack(p, list_reserve(p, "int32[3] 2147483647 2147483647 2", "int32[] 2"), "int32[] -1",
                      "InvalidArgument: ");
}

static void gather_takes_elements_by_index(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_gather(p, list_from_tensor(p, "float[3] 1 2 3", "int32[0]"), "int32[4] 2 0 0 1", "int32[] -1",
                       "float[4] 3 1 1 2");
    p = program_new();
    list_expect_gather(p, list_set(p, list_reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "float[1] 5"),
                       "int32[2] 0 1", "int32[] -1", "float[2,1] 0 5");
    p = program_new();
    list_expect_gather(p, list_empty(p, "int32[] -1", "int32[] -1"), "int32[0]", "int32[1] 3", "float[0,3]");
    p = program_new();
    list_expect_gather(
        p, list_empty(p, "int32[] -1", "int32[] -1"), "int32[0]", "int32[] -1",
        "InvalidArgument: Tried to gather 0-elements from a list with non-fully-defined shape");
    p = program_new();
    list_expect_gather(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[1] 2", "int32[] -1",
                       "InvalidArgument: Index 2 out o range; list only has 2 elements.");
    p = program_new();
    list_expect_gather(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[1] -1", "int32[] -1",
                       "InvalidArgument: Index -1 out o range");
    p = program_new();
    list_expect_gather(p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[1] 0", "int32[] -1",
                       "InvalidArgument: Tried to gather uninitialized tensors from a list with "
                       "non-fully-defined element_shape");
}

static void scatter_makes_a_list(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(p, list_scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] -1"),
                      "int32[] -1", "float[4] 2 0 0 1");
    p = program_new();
    list_expect_stack(p, list_scatter(p, "float[2] 1 2", "int32[2] 1 0", "int32[0]", "int32[] 3"),
                      "int32[] -1", "float[3] 2 1 0");
    p = program_new();
    list_expect(p,
                OUT(p, "TensorListLength", NULL,
                    OUT(p, "TensorListScatter", NULL, program_feed(p, "float[1] 1"),
                        program_feed(p, "int32[1] 4"), program_feed(p, "int32[0]"))),
                "int32[] 5");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] 3"),
                "InvalidArgument: TensorListScatter: Trying to scatter at index 3 in list with size 3");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] -2"),
                "InvalidArgument: TensorListScatter expects num_elements >= -1, found: -2");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[3] 1 0 2", "int32[0]", "int32[] -1"),
                "InvalidArgument: Invalid number of rows in input tensor. Expected: 3 Actual: 2");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[2] -1 -2", "int32[0]", "int32[] -1"),
                "InvalidArgument: Indices in TensorListScatter must all be non-negative.");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[2] 0 1", "int32[1] 2", "int32[] -1"),
                "InvalidArgument: Specified a list with shape [2] from a tensor with shape []");
    p = program_new();
    list_expect(p, list_scatter(p, "float[2] 1 2", "int32[2] 2147483647 1", "int32[0]", "int32[] -1"),
                "ResourceExhausted: a list of 2147483648 tensors");
}

// The same of both versions.
static void shapes_of_scatters_are_inferred(void **state)
{
    (void)state;
    static const struct {
        const char *t, *indices, *shape, *want;
    } cases[] = {
        {"float[2,0]", "int32[2] 1 0", "int32[] -1", "int32[] 2"},
        {"float[2] 1 2", "int32[2] 1 0", "int32[] -1", "int32[] 2"},
        {"float[0,3]", "int32[0]", "int32[1] 3", "int32[] 0"},
        {"float[] 1", "int32[1] 0", "int32[] -1",
         "InvalidArgument: Tensor must be at least a vector, but saw shape: []"},
        {"float[1] 1", "int32[] 0", "int32[] -1", "int32[] 1"}, // TensorFlow takes them in their order
        {"float[1] 1", "int32[1] 0", "int32[] 0",
         "InvalidArgument: The only valid scalar shape tensor is the fully unknown shape specified as -1."},
        {"float[1] 1", "int32[1] -1", "int32[0]",
         "InvalidArgument: Indices in TensorListScatter must all be non-negative."},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        for (int v2 = 0; v2 < 2; v2++) {
            program *p = program_new();
            braid_out t = program_feed(p, cases[i].t), indices = program_feed(p, cases[i].indices),
                      shape = program_feed(p, cases[i].shape);
            braid_out list =
                v2 ? OUT(p, "TensorListScatterV2", NULL, t, indices, shape, program_feed(p, "int32[] -1"))
                   : OUT(p, "TensorListScatter", NULL, t, indices, shape);
            list_expect(p, OUT(p, "TensorListLength", NULL, list), cases[i].want);
        }
    }
}

static braid_out scatter_into(program *p, braid_out list, const char *t, const char *indices)
{
    return OUT(p, "TensorListScatterIntoExistingList", NULL, list, program_feed(p, t),
               program_feed(p, indices));
}

static void scatter_changes_a_list(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(
        p, scatter_into(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "float[2] 7 8", "int32[2] 3 1"),
        "int32[] -1", "float[4] 1 8 0 7");
    p = program_new();
    list_expect(
        p, scatter_into(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "float[2] 7 8", "int32[1] 0"),
        "InvalidArgument: Expected len(indices) == tensor.shape[0], but saw: 1 vs. 2");
    p = program_new();
    list_expect(p,
                scatter_into(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "float[1] 7", "int32[1] -1"),
                "InvalidArgument: Indices in TensorListScatter must all be non-negative.");
    p = program_new();
    list_expect_stack(
        p, scatter_into(p, list_from_tensor(p, "float[2,0]", "int32[1] 0"), "float[1,0]", "int32[1] 1"),
        "int32[] -1", "float[2,0]");
    p = program_new();
    list_expect(p, scatter_into(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "float[] 7", "int32[1] 0"),
                "InvalidArgument: Tensor must be at least a vector, but saw shape: []");
    p = program_new();
    list_expect(p, scatter_into(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "float[1] 7", "int32[] 0"),
                "InvalidArgument: Expected indices to be a vector, but received shape: []");
}

static void from_tensor_makes_a_list(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(p, list_from_tensor(p, "float[0,2]", "int32[1] 2"), "int32[] -1", "float[0,2]");
    p = program_new();
    list_expect(p, list_from_tensor(p, "float[] 1", "int32[] -1"),
                "InvalidArgument: Tensor must be at least a vector, but saw shape: []");
    p = program_new();
    list_expect(p, list_from_tensor(p, "float[2] 1 2", "int32[1] 2"),
                "InvalidArgument: Specified a list with shape [2] from a tensor with shape []");
}

// ---- Joining and splitting ----

static void concat_joins_elements(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_concat(
        p,
        list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 2 3"),
        "int32[] -1", "int64[0]", 0, "float[3] 1 2 3");
    p = program_new();
    list_expect_concat(
        p,
        list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 2 3"),
        "int32[] -1", "int64[0]", 1, "int64[2] 1 2");
    p = program_new(); // an unset element is as long as the others
    list_expect_concat(p,
                       list_set(p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[] 1", "float[2] 1 2"),
                       "int32[] -1", "int64[0]", 0, "float[4] 0 0 1 2");
    p = program_new(); // or as the element shape says
    list_expect_concat(p, list_reserve(p, "int32[2] -1 1", "int32[] 2"), "int32[] -1", "int64[2] 1 2", 0,
                       "float[3,1] 0");
    p = program_new();
    list_expect_concat(p, list_empty(p, "int32[2] -1 2", "int32[] -1"), "int32[] -1", "int64[0]", 0,
                       "float[0,2]");
    p = program_new();
    list_expect_concat(
        p, list_empty(p, "int32[2] -1 -1", "int32[] -1"), "int32[] -1", "int64[0]", 0,
        "InvalidArgument: All except the first dimension must be fully defined when concating an "
        "empty tensor list");
    p = program_new();
    list_expect_concat(
        p, list_empty(p, "int32[0]", "int32[] -1"), "int32[] -1", "int64[0]", 0,
        "InvalidArgument: Concat requires elements to be at least vectors, found scalars instead");
    p = program_new();
    list_expect_concat(
        p, list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[] 2"),
        "int32[] -1", "int64[0]", 0,
        "InvalidArgument: Concat saw a scalar shape at index 1 but requires at least vectors.");
    p = program_new();
    list_expect_concat(
        p,
        list_push(p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1,2] 1"), "float[1,1] 2"),
        "int32[] -1", "int64[0]", 0, "InvalidArgument: Incompatible shapes during merge: [2] vs. [1]");
    p = program_new();
    list_expect_concat(p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[] -1", "int64[0]", 0,
                       "InvalidArgument: Trying to concat list with only uninitialized tensors but "
                       "element_shape_except_first_dim_ is not fully defined");
    p = program_new();
    list_expect_concat(
        p, list_reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1", "int64[0]", 0,
        "InvalidArgument: List contains uninitialized tensor at index 0 but leading_dims has only "
        "0 elements.");
    p = program_new();
    list_expect_concat(p, list_reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1", "int64[2] 1 -4", 0,
                       "InvalidArgument: leading_dims has the negative dimension -4");
    p = program_new();
    list_expect_concat(p, list_reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1",
                       "int64[2] 9223372036854775807 9223372036854775807", 0,
                       "InvalidArgument: more than can be counted");
    p = program_new();
    list_expect_concat(
        p, list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "int32[1] 2", "int64[0]", 0,
        "InvalidArgument: First entry of element_shape input does not match the first dim of list "
        "element at index: 0 Expected: 2 Actual: 1");
    p = program_new();
    list_expect(p,
                OUT(p, "TensorListConcat", "element_dtype=float; element_shape=[?,2]",
                    list_empty(p, "int32[] -1", "int32[] -1")),
                "float[0,2]");
    p = program_new();
    list_expect(p,
                OUT(p, "TensorListConcat", "element_dtype=float; element_shape=[?]",
                    list_reserve(p, "int32[1] -1", "int32[] 1")),
                "InvalidArgument: not supported in this version of TensorListConcat");
}

static void split_makes_a_list(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_get(p, list_split(p, "float[3,1] 1 2 3", "int32[2] -1 1", "int64[3] 1 0 2"), "int32[] 2",
                    "int32[] -1", "float[2,1] 2 3");
    p = program_new();
    list_expect_get(p, list_split(p, "float[3,1] 1 2 3", "int32[] -1", "int64[3] 1 0 2"), "int32[] 1",
                    "int32[] -1", "float[0,1]");
    static const struct {
        const char *t, *shape, *lengths, *want;
    } rows[] = {
        {"float[] 1", "int32[] -1", "int64[1] 1", "Tensor must be at least a vector, but saw shape: []"},
        {"float[1] 1", "int32[] -1", "int64[] 1", "Expected lengths to be a vector, received shape: []"},
        {"float[2] 1 2", "int32[] -1", "int64[1] -1", "Invalid value in lengths: -1"},
        {"float[2] 1 2", "int32[] -1", "int64[1] 3", "Attempting to slice [0, 3] from tensor with length 2"},
        {"float[2] 1 2", "int32[] -1", "int64[2] 1 9223372036854775807", "Attempting to slice [1, "},
        {"float[2] 1 2", "int32[] -1", "int64[1] 1",
         "Unused values in tensor. Length of tensor: 2 Values used: 1"},
        {"float[2] 1 2", "int32[0]", "int64[1] 2",
         "TensorListSplit requires element_shape to be at least of rank 1, but saw: []"},
        {"float[2,1] 1 2", "int32[1] 1", "int64[1] 2",
         "tensor shape [2,1] is not compatible with element_shape [1]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        char want[128];
        snprintf(want, sizeof want, "InvalidArgument: %s", rows[i].want);
        p = program_new();
        list_expect(p, list_split(p, rows[i].t, rows[i].shape, rows[i].lengths), want);
    }
}

// ---- Tensors of lists ----

static braid_out pair(program *p, braid_out a, braid_out b)
{
    return OUT(p, "Pack", NULL, a, b);
}

static braid_out second(program *p, braid_out lists)
{
    return (braid_out){NODE(p, "Unpack", "num=2", lists), 1};
}

static void push_back_batch_extends_each_list(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out lists =
        pair(p, list_empty(p, "int32[0]", "int32[] -1"), list_from_tensor(p, "float[1] 5", "int32[0]"));
    lists = OUT(p, "TensorListPushBackBatch", NULL, lists, program_feed(p, "float[2] 1 2"));
    list_expect_stack(p, second(p, lists), "int32[] -1", "float[2] 5 2");

    p = program_new();
    lists = pair(p, list_empty(p, "int32[] -1", "int32[] -1"), list_empty(p, "int32[] -1", "int32[] -1"));
    lists = OUT(p, "TensorListPushBackBatch", NULL, lists, program_feed(p, "float[2,0]"));
    list_expect_stack(p, second(p, lists), "int32[] -1", "float[1,0]");

    p = program_new(); // one list twice: each gets its own
    braid_out one = list_from_tensor(p, "float[1] 5", "int32[0]");
    lists = OUT(p, "TensorListPushBackBatch", NULL, pair(p, one, one), program_feed(p, "float[2] 1 2"));
    list_expect_stack(p, second(p, lists), "int32[] -1", "float[2] 5 2");

    static const struct {
        const char *t, *want;
    } rows[] = {
        {"float[] 1", "Expected tensor to be at least a vector, but saw shape: []"},
        {"float[3] 1", "Expected tensor.shape[0] == input_handles.size, but saw 3 vs. 2"},
        {"float[2,1] 1",
         "Tried to append a tensor with incompatible shape to a list at index 0. Op element shape: [1]"},
        {"int32[2] 1", "Invalid data type at index 0; op elements int32 but list elements float"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        char want[160];
        snprintf(want, sizeof want, "InvalidArgument: %s", rows[i].want);
        p = program_new();
        one = list_from_tensor(p, "float[1] 5", "int32[0]");
        list_expect(p, OUT(p, "TensorListPushBackBatch", NULL, pair(p, one, one), program_feed(p, rows[i].t)),
                    want);
    }
    p = program_new();
    list_expect(
        p,
        OUT(p, "TensorListPushBackBatch", NULL, program_feed(p, "variant[2]"), program_feed(p, "float[2] 1")),
        "InvalidArgument: Input handle at index 0 is not a list.");
}

static void concat_lists_joins_lists(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out a = list_from_tensor(p, "float[1] 1", "int32[0]"),
              b = list_from_tensor(p, "float[2] 2 3", "int32[0]");
    list_expect_stack(p, OUT(p, "TensorListConcatLists", FLOATS, a, b), "int32[] -1", "float[3] 1 2 3");
    p = program_new();
    a = list_from_tensor(p, "float[1] 1", "int32[0]"), b = list_from_tensor(p, "float[2] 2 3", "int32[0]");
    list_expect_stack(p, second(p, OUT(p, "TensorListConcatLists", FLOATS, pair(p, a, b), pair(p, b, a))),
                      "int32[] -1", "float[3] 2 3 1");
    p = program_new();
    a = list_from_tensor(p, "float[1] 1", "int32[0]"), b = list_from_tensor(p, "float[1,1] 1", "int32[1] 1");
    list_expect(
        p, OUT(p, "TensorListConcatLists", FLOATS, a, b),
        "InvalidArgument: input_a and input_b TensorList element shapes are not identical at index 0");
    p = program_new();
    a = list_from_tensor(p, "float[1] 1", "int32[0]"), b = list_from_tensor(p, "int32[1] 1", "int32[0]");
    list_expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, b),
                "InvalidArgument: input_b[0].dtype != element_dtype.  Saw: int32 vs. float");
    p = program_new();
    a = list_from_tensor(p, "float[1] 1", "int32[0]");
    list_expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, program_feed(p, "variant[]")),
                "InvalidArgument: input_b is not a TensorList at index 0.");
    p = program_new();
    a = list_from_tensor(p, "float[1] 1", "int32[0]");
    list_expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, program_feed(p, "variant[2]")),
                "InvalidArgument: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stack_fills_unset_elements),
        cmocka_unit_test(gather_takes_elements_by_index),
        cmocka_unit_test(scatter_makes_a_list),
        cmocka_unit_test(shapes_of_scatters_are_inferred),
        cmocka_unit_test(scatter_changes_a_list),
        cmocka_unit_test(from_tensor_makes_a_list),
        cmocka_unit_test(concat_joins_elements),
        cmocka_unit_test(split_makes_a_list),
        cmocka_unit_test(push_back_batch_extends_each_list),
        cmocka_unit_test(concat_lists_joins_lists),
    };
    return BD_RUN_TESTS(tests);
}
