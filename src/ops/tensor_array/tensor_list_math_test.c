// Sums and zeros of lists of tensors, and of the optionals in which conditionals' gradients pass values.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/tensor_lists.h"

static void lists_are_added_element_by_element(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out a = list_from_tensor(p, "float[2] 1 2", "int32[0]"),
              b = list_from_tensor(p, "float[2] 10 20", "int32[0]");
    list_expect_stack(p, OUT(p, "AddN", NULL, a, b, a), "int32[] -1", "float[2] 12 24");
    p = program_new(); // an unset element counts as zeros
    a = list_set(p, list_reserve(p, "int32[0]", "int32[] 2"), "int32[] 0", "float[] 1");
    b = list_set(p, list_reserve(p, "int32[0]", "int32[] 2"), "int32[] 1", "float[] 2");
    list_expect_stack(p, OUT(p, "AddN", NULL, a, b), "int32[] -1", "float[2] 1 2");
    p = program_new();
    a = list_from_tensor(p, "float[2] 1 2", "int32[0]"), b = list_from_tensor(p, "float[1] 1", "int32[0]");
    list_expect(
        p, OUT(p, "AddN", NULL, a, b),
        "InvalidArgument: Trying to add two lists of tensors with different lengths. One is 2 and the "
        "other is 1");
    p = program_new();
    a = list_from_tensor(p, "float[2] 1 2", "int32[0]"),
    b = list_from_tensor(p, "float[2,1] 1", "int32[1] 1");
    list_expect(p, OUT(p, "AddN", NULL, a, b),
                "InvalidArgument: Trying to add two lists of tensors with incompatible element shapes");
    p = program_new();
    a = list_from_tensor(p, "float[2] 1 2", "int32[0]"), b = list_from_tensor(p, "int32[2] 1 2", "int32[0]");
    list_expect(p, OUT(p, "AddN", NULL, a, b),
                "InvalidArgument: Trying to add two lists of tensors of different dtypes");
    p = program_new();
    a = list_from_tensor(p, "float[1,1] 1", "int32[] -1"),
    b = list_from_tensor(p, "float[1,2] 1", "int32[] -1");
    list_expect(
        p, OUT(p, "AddN", NULL, a, b),
        "InvalidArgument: Trying to add two tensors with incompatible element shapes. One is [1] and the "
        "other is [2]");
    p = program_new();
    a = list_from_tensor(p, "string[1] a", "int32[0]");
    list_expect(p, OUT(p, "AddN", NULL, a, a), "InvalidArgument: Trying to add unsupported dtype string");
    p = program_new();
    list_expect(p, OUT(p, "AddN", NULL, program_feed(p, "variant[]"), program_feed(p, "variant[]")),
                "Internal: Variant type_name: an empty variant");
    p = program_new();
    list_expect(p, OUT(p, "AddN", NULL, program_feed(p, "variant[2]"), program_feed(p, "variant[2]")),
                "InvalidArgument: AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported");
}

static void zeros_like_keeps_shapes(void **state)
{
    (void)state;
    program *p = program_new();
    list_expect_stack(p, OUT(p, "ZerosLike", NULL, list_from_tensor(p, "float[2] 1 2", "int32[0]")),
                      "int32[] -1", "float[2] 0 0");
    p = program_new(); // an unset element stays unset
    list_expect_stack(p, OUT(p, "ZerosLike", NULL, list_reserve(p, "int32[] -1", "int32[] 2")), "int32[] -1",
                      "InvalidArgument: only contains uninitialized tensors");
    p = program_new();
    list_expect(p, OUT(p, "ZerosLike", NULL, program_feed(p, "variant[2]")),
                "InvalidArgument: ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
}

// Conditionals' gradients pass values in optionals.
static void optionals_are_added(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    braid_out sum = OUT(p, "AddN", NULL, one, one);
    static const char attrs[] = "output_types=[float]; output_shapes=[?]";
    list_expect(p, OUT(p, "OptionalGetValue", attrs, sum), "float[2] 2 4");
    p = program_new();
    list_expect(
        p,
        OUT(p, "OptionalGetValue", attrs, OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[0,3]"))),
        "float[0,3]");
    p = program_new();
    list_expect(p, OUT(p, "OptionalHasValue", NULL, program_feed(p, "variant[]")),
                "InvalidArgument: tensorflow::data::Optional");
    static const op_case nothing[] = {
        {"OptionalFromValue", NULL, "", "InvalidArgument: Toutput_types"},
    };
    OP_TEST_VALUES(nothing);
    p = program_new();
    one = OUT(p, "OptionalFromValue", NULL, list_from_tensor(p, "float[2] 1 2", "int32[0]"));
    braid_out zeros = OUT(p, "OptionalGetValue", "output_types=[variant]; output_shapes=[?]",
                          OUT(p, "ZerosLike", NULL, one));
    list_expect_stack(p, zeros, "int32[] -1", "float[2] 0 0");
    p = program_new();
    braid_out none = {op_test_node(p->g, "OptionalNone", NULL, NULL, 0), 0};
    list_expect(p,
                OUT(p, "OptionalHasValue", NULL, OUT(p, "ZerosLike", NULL, OUT(p, "AddN", NULL, none, none))),
                "bool[] false");
    p = program_new();
    none = (braid_out){op_test_node(p->g, "OptionalNone", NULL, NULL, 0), 0};
    one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    list_expect(p, OUT(p, "AddN", NULL, one, none),
                "InvalidArgument: Cannot add optionals because one has a value and the other doesn't.");
    p = program_new();
    one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    braid_out two =
        OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[] 1"), program_feed(p, "float[] 1"));
    list_expect(p, OUT(p, "AddN", NULL, one, two),
                "InvalidArgument: different numbers of components (1 vs. 2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_added_element_by_element),
        cmocka_unit_test(zeros_like_keeps_shapes),
        cmocka_unit_test(optionals_are_added),
    };
    return BD_RUN_TESTS(tests);
}
