// Tests of lists of tensors, ops on single elements: values and errors by the rules of lists, copies on
// write, lists of lists.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/tensor_lists.h"

// ---- Elements ----

static void pop_gives_the_last_pushed_element(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out two =
        list_push(p, list_push(p, list_empty(p, "int32[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    list_expect_pop(p, two, "int32[] -1", 1, "float[] 2");

    p = program_new();
    two = list_push(p, list_push(p, list_empty(p, "int32[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    list_expect_pop(p, two, "int32[] -1", 0, "float[1] 1");

    p = program_new();
    two = list_push(p, list_push(p, list_empty(p, "int64[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    list_expect(p, OUT(p, "TensorListLength", NULL, two), "int32[] 2");

    p = program_new();
    list_expect(p,
                list_push(p, list_push(p, list_empty(p, "int32[0]", "int32[] 1"), "float[] 1"), "float[] 2"),
                "InvalidArgument: Tried to push item into a full list");
    p = program_new();
    list_expect(
        p, list_push(p, list_empty(p, "int32[1] 2", "int32[] -1"), "float[3] 1"),
        "InvalidArgument: Tried to append a tensor with incompatible shape to a list. Op element shape: "
        "[3] list shape: [2]");
    p = program_new();
    list_expect(p, list_push(p, list_empty(p, "int32[0]", "int32[] -1"), "int32[] 1"),
                "InvalidArgument: Invalid data types; op elements int32 but list elements float");
    p = program_new();
    list_expect_pop(p, list_empty(p, "int32[] -1", "int32[] -1"), "int32[] -1", 1,
                    "InvalidArgument: Trying to pop from an empty list.");
    p = program_new();
    list_expect(p, list_empty(p, "int32[] -1", "int32[1] 1"),
                "InvalidArgument: max_num_elements expected to be a scalar but got shape: [1]");
    p = program_new();
    list_expect(
        p, list_empty(p, "int32[] 3", "int32[] -1"),
        "InvalidArgument: The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    p = program_new();
    list_expect(p, list_empty(p, "int32[2] 3 -2", "int32[] -1"), "InvalidArgument: Dimension -2");
    p = program_new();
    list_expect(p, list_empty(p, "int32[13] 1", "int32[] -1"), "InvalidArgument: at most 12 dimensions");
}

// An unset element is zeros if the shape is known.
static void unset_elements_are_zeros(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_pop(p, list_reserve(p, "int32[2] -1 2", "int32[] 3"), "int32[2] 1 2", 1, "float[1,2] 0");
    p = program_new();
    list_expect_pop(p, list_reserve(p, "int32[] -1", "int32[] 3"), "int32[] -1", 1,
                    "InvalidArgument: Trying to read an uninitialized tensor but element_shape is not fully "
                    "defined: <unknown>");
    p = program_new();
    list_expect_pop(p, list_reserve(p, "int32[2] -1 2", "int32[] 3"), "int32[2] 1 3", 1,
                    "InvalidArgument: Incompatible shapes during merge: [1,3] vs. [?,2]");
    p = program_new();
    list_expect_get(p, list_reserve(p, "int32[1] 2", "int32[] 3"), "int32[] 1", "int32[] -1", "float[2] 0");
    p = program_new(); // another element gives the shape
    list_expect_get(p, list_set(p, list_reserve(p, "int32[] -1", "int32[] 3"), "int32[] 0", "float[2] 1"),
                    "int32[] 1", "int32[] -1", "float[2] 0");
    p = program_new();
    list_expect_get(p, list_reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "int32[] -1",
                    "InvalidArgument: Trying to read an uninitialized tensor but element_shape is not fully "
                    "defined: <unknown> and no list element is set.");
    p = program_new();
    list_expect(p, list_reserve(p, "int32[0]", "int32[] -1"),
                "InvalidArgument: The num_elements to reserve must be a non negative number, but got -1");
    p = program_new();
    list_expect(p, list_reserve(p, "int32[0]", "int32[] 2147483647"),
                "ResourceExhausted: a list of 2147483647");
}

static void get_and_set(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_get(p, list_from_tensor(p, "float[2,2] 1 2 3 4", "int32[1] 2"), "int32[] 1", "int32[] -1",
                    "float[2] 3 4");
    p = program_new();
    list_expect_stack(p,
                      list_set(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 0", "float[] 7"),
                      "int32[] -1", "float[2] 7 2");
    p = program_new();
    list_expect_get(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 2", "int32[] -1",
                    "InvalidArgument: Trying to access element 2 in a list with 2 elements.");
    p = program_new();
    list_expect_get(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] -1", "int32[] -1",
                    "InvalidArgument: Trying to access element -1 in a list with 2 elements.");
    p = program_new();
    list_expect(p, list_set(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 20", "float[] 7"),
                "InvalidArgument: Trying to modify element 20 in a list with 2 elements.");
    p = program_new();
    list_expect(p, list_set(p, list_empty(p, "int32[0]", "int32[] -1"), "int32[] 0", "float[] 7"),
                "InvalidArgument: Trying to modify element 0 in a list with 0 elements.");
    p = program_new();
    list_expect(
        p, list_set(p, list_from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 0", "float[1] 7"),
        "InvalidArgument: Tried to set a tensor with incompatible shape at a list index. Item element "
        "shape: [1] list shape: []");
    p = program_new();
    list_expect_stack(p,
                      OUT(p, "TensorListSetItem", "resize_if_index_out_of_bounds=true",
                          list_from_tensor(p, "float[1] 1", "int32[0]"), program_feed(p, "int32[] 2"),
                          program_feed(p, "float[] 7")),
                      "int32[] -1", "float[3] 1 0 7");
    p = program_new();
    list_expect(p, OUT(p, "TensorListLength", NULL, program_feed(p, "variant[2]")),
                "InvalidArgument: Input list must be a scalar saw: [2]");
    p = program_new();
    list_expect(p, OUT(p, "TensorListLength", NULL, program_feed(p, "variant[]")),
                "InvalidArgument: Input handle is not a list. Saw: 'an empty variant'");
}

static void resize_cuts_and_extends(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(p, list_resize(p, list_from_tensor(p, "float[3] 1 2 3", "int32[0]"), "int32[] 2"),
                      "int32[] -1", "float[2] 1 2");
    p = program_new();
    list_expect_stack(p, list_resize(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "int32[] 3"),
                      "int32[] -1", "float[3] 1 0 0");
    p = program_new();
    list_expect(p, list_resize(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "int32[] -1"),
                "InvalidArgument: TensorListSlice expects size to be non-negative. Got: -1");
    p = program_new();
    list_expect(p, list_resize(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "int32[0]"),
                "InvalidArgument: size must be");
    p = program_new();
    list_expect(p, list_resize(p, list_from_tensor(p, "float[1] 1", "int32[0]"), "int32[2] 1"),
                "InvalidArgument: size must be");
}

static void elements_may_be_empty(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out list = list_push(p, list_empty(p, "int32[] -1", "int32[] -1"), "float[0,2]");
    list_expect_pop(p, list, "int32[] -1", 1, "float[0,2]");
    p = program_new();
    list = list_set(p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[] 1", "float[0]");
    list_expect_get(p, list, "int32[] 1", "int32[] -1", "float[0]");
    p = program_new();
    list = list_set(p, list_reserve(p, "int32[] -1", "int32[] 2"), "int32[] 1", "float[0]");
    list_expect_stack(p, list, "int32[] -1", "float[2,0]");
}

static void the_element_shape_is_merged(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect(p, OUT(p, "TensorListElementShape", "shape_type=int32", program_feed(p, "variant[2]")),
                "InvalidArgument: Input list must be a scalar saw: [2]");
    p = program_new();
    list_expect(
        p,
        OUT(p, "TensorListElementShape", "shape_type=int64", list_reserve(p, "int32[2] -1 3", "int32[] 0")),
        "int64[2] -1 3");
    p = program_new();
    list_expect(
        p, OUT(p, "TensorListElementShape", "shape_type=int32", list_reserve(p, "int64[] -1", "int32[] 0")),
        "int32[] -1");
}

// ---- Copies on write ----

static void lists_are_values(void **state)
{
    (void)state;
    program *p = program_new(); // both push to one list
    braid_out base = list_from_tensor(p, "float[1] 1", "int32[0]");
    braid_out a = list_push(p, base, "float[] 2"), b = list_push(p, base, "float[] 3");
    braid_out stacked = OUT(p, "TensorListStack", FLOATS, b, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, stacked}, 2, "float[2] 1 3");
    p = program_new(); // the list before the push is unchanged
    base = list_from_tensor(p, "float[1] 1", "int32[0]");
    a = list_push(p, base, "float[] 2");
    stacked = OUT(p, "TensorListStack", FLOATS, base, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, stacked}, 2, "float[1] 1");
    p = program_new();
    base = list_from_tensor(p, "float[2] 1 2", "int32[0]");
    a = list_set(p, base, "int32[] 0", "float[] 9");
    b = list_resize(p, base, "int32[] 1");
    stacked = OUT(p, "TensorListStack", FLOATS, base, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, b, stacked}, 3, "float[2] 1 2");
}

// ---- Lists of lists ----

static void lists_may_hold_lists(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out outer = OUT(p, "EmptyTensorList", "element_dtype=variant", program_feed(p, "int32[0]"),
                          program_feed(p, "int32[] -1"));
    outer = OUT(p, "TensorListPushBack", NULL, outer, list_from_tensor(p, "float[2] 1 2", "int32[0]"));
    braid_out twice = OUT(p, "AddN", NULL, outer, outer);
    braid_op *pop =
        NODE(p, "TensorListPopBack", "element_dtype=variant", twice, program_feed(p, "int32[] -1"));
    list_expect_stack(p, (braid_out){pop, 1}, "int32[] -1", "float[2] 2 4");

    p = program_new();
    outer = OUT(p, "TensorListPushBack", NULL,
                OUT(p, "EmptyTensorList", "element_dtype=variant", program_feed(p, "int32[0]"),
                    program_feed(p, "int32[] -1")),
                list_from_tensor(p, "float[2] 1 2", "int32[0]"));
    pop = NODE(p, "TensorListPopBack", "element_dtype=variant", OUT(p, "ZerosLike", NULL, outer),
               program_feed(p, "int32[] -1"));
    list_expect_stack(p, (braid_out){pop, 1}, "int32[] -1", "float[2] 0 0");
}

// ---- Shapes ----

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"EmptyTensorList", FLOATS, "int32[1]; int32[]", "[]"},
        {"EmptyTensorList", FLOATS, "int32[1,1]; int32[]",
         "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"TensorListReserve", FLOATS, "int32[] 3; int32[]",
         "InvalidArgument: Input tensor must be rank 1, or if its rank 0 it must have value -1"},
        {"TensorListReserve", FLOATS, "int32[] -1; int32[]", "[]"},
        {"TensorListPushBack", NULL, "variant[]; [2]", "[]"},
        {"TensorListPopBack", FLOATS, "variant[]; int32[]", "[]; ?"},
        {"TensorListLength", NULL, "variant[]", "[]"},
        {"TensorListElementShape", "shape_type=int32", "variant[]", "?"},
        {"TensorListResize", NULL, "variant[]; int32[2]", "InvalidArgument: Shape must be rank 0"},
        {"TensorListSetItem", NULL, "variant[]; int32[]; [2]", "[]"},
        {"TensorListGetItem", FLOATS, "variant[]; int32[]; int32[2] 3 -1", "[3,?]"},
        {"TensorListGetItem", FLOATS, "variant[]; int32[]; int32[] -1", "?"},
        {"TensorListStack", FLOATS, "variant[]; int32[1] 3", "[?,3]"},
        {"TensorListStack", "element_dtype=float; num_elements=2", "variant[]; int32[2]", "[2,?,?]"},
        {"TensorListStack", FLOATS, "variant[]; int32[] -1", "?"},
        {"TensorListGather", FLOATS, "variant[]; int32[4]; int32[1] 3", "[4,3]"},
        {"TensorListFromTensor", NULL, "[]; int32[]", "InvalidArgument: Shape must be at least rank 1"},
        {"TensorListScatter", NULL, "[2]; int32[2]; int32[0]", "[]"},
        {"TensorListScatterV2", NULL, "[2]; int32[2]; int32[0]; int32[]", "[]"},
        {"TensorListScatterIntoExistingList", NULL, "variant[]; [2]; int32[2,1]",
         "InvalidArgument: Shape must be rank 1"},
        {"TensorListConcat", "element_dtype=float; element_shape=[4,3]", "variant[]", "[?,3]; [?]"},
        {"TensorListConcatV2", FLOATS, "variant[]; int32[2] 4 3; int64[0]", "[?,3]; [?]"},
        {"TensorListConcatV2", FLOATS, "variant[]; int32[0]; int64[0]",
         "InvalidArgument: Shape must be at least rank 1"},
        {"TensorListSplit", NULL, "[2]; int32[0]; int64[1]",
         "InvalidArgument: Shapes must be equal rank, but are 1 and 0"},
        {"TensorListSplit", NULL, "[2]; int32[1]; int64[]", "InvalidArgument: Shape must be rank 1"},
        {"TensorListConcatLists", FLOATS, "variant[2]; variant[?]", "[2]"},
        {"TensorListPushBackBatch", NULL, "variant[?]; [2,3]", "[2]"},
        {"TensorListPushBackBatch", NULL, "variant[3]; [2,3]", "InvalidArgument: Dimensions must be equal"},
        {"TensorListPushBackBatch", NULL, "variant[3]; []", "InvalidArgument: Shape must be at least rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pop_gives_the_last_pushed_element),
        cmocka_unit_test(unset_elements_are_zeros),
        cmocka_unit_test(get_and_set),
        cmocka_unit_test(resize_cuts_and_extends),
        cmocka_unit_test(elements_may_be_empty),
        cmocka_unit_test(the_element_shape_is_merged),
        cmocka_unit_test(lists_are_values),
        cmocka_unit_test(lists_may_hold_lists),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
