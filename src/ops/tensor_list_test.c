// What lists of tensors promise: values and errors of their ops (by the rules of lists; numbers small enough to see), copies on
// write, sums and zeros, gradients.
#include "base/testing/test.h"
#include "ops/testing/program.h"
#include "tensor/tensor_list.h"
#include <stdio.h>

#define NODE PROGRAM_NODE
#define OUT PROGRAM_OUT
#define FLOATS "element_dtype=float"

// ---- Making lists ----

static braid_out empty(program *p, const char *shape, const char *max)
{
    return OUT(p, "EmptyTensorList", FLOATS, program_feed(p, shape), program_feed(p, max));
}

static braid_out reserve(program *p, const char *shape, const char *count)
{
    return OUT(p, "TensorListReserve", FLOATS, program_feed(p, shape), program_feed(p, count));
}

static braid_out from_tensor(program *p, const char *t, const char *shape)
{
    return OUT(p, "TensorListFromTensor", NULL, program_feed(p, t), program_feed(p, shape));
}

static braid_out push(program *p, braid_out list, const char *t)
{
    return OUT(p, "TensorListPushBack", NULL, list, program_feed(p, t));
}

static braid_out set(program *p, braid_out list, const char *index, const char *t)
{
    return OUT(p, "TensorListSetItem", NULL, list, program_feed(p, index), program_feed(p, t));
}

static braid_out resize(program *p, braid_out list, const char *size)
{
    return OUT(p, "TensorListResize", NULL, list, program_feed(p, size));
}

static braid_out split(program *p, const char *t, const char *shape, const char *lengths)
{
    return OUT(p, "TensorListSplit", NULL, program_feed(p, t), program_feed(p, shape),
               program_feed(p, lengths));
}

static braid_out scatter(program *p, const char *t, const char *indices, const char *shape, const char *count)
{
    return OUT(p, "TensorListScatterV2", NULL, program_feed(p, t), program_feed(p, indices),
               program_feed(p, shape), program_feed(p, count));
}

// ---- Reading them: each ends the program ----

static void expect(program *p, braid_out out, const char *want)
{
    program_expect(p, &out, 1, want);
}

static void expect_stack(program *p, braid_out list, const char *shape, const char *want)
{
    expect(p, OUT(p, "TensorListStack", FLOATS, list, program_feed(p, shape)), want);
}

static void expect_get(program *p, braid_out list, const char *index, const char *shape, const char *want)
{
    expect(p, OUT(p, "TensorListGetItem", FLOATS, list, program_feed(p, index), program_feed(p, shape)),
           want);
}

static void expect_gather(program *p, braid_out list, const char *indices, const char *shape,
                          const char *want)
{
    expect(p, OUT(p, "TensorListGather", FLOATS, list, program_feed(p, indices), program_feed(p, shape)),
           want);
}

static void expect_pop(program *p, braid_out list, const char *shape, int output, const char *want)
{
    braid_op *pop = NODE(p, "TensorListPopBack", FLOATS, list, program_feed(p, shape));
    if (output == 1)
        expect(p, (braid_out){pop, 1}, want);
    else
        expect_stack(p, (braid_out){pop, 0}, "int32[] -1", want);
}

static void expect_concat(program *p, braid_out list, const char *shape, const char *dims, int output,
                          const char *want)
{
    braid_op *op = NODE(p, "TensorListConcatV2", FLOATS, list, program_feed(p, shape), program_feed(p, dims));
    expect(p, (braid_out){op, output}, want);
}

// ---- Elements ----

static void test_push_and_pop(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out two = push(p, push(p, empty(p, "int32[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    expect_pop(p, two, "int32[] -1", 1, "float[] 2");

    p = program_new();
    two = push(p, push(p, empty(p, "int32[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    expect_pop(p, two, "int32[] -1", 0, "float[1] 1");

    p = program_new();
    two = push(p, push(p, empty(p, "int64[0]", "int32[] -1"), "float[] 1"), "float[] 2");
    expect(p, OUT(p, "TensorListLength", NULL, two), "int32[] 2");

    p = program_new();
    expect(p, push(p, push(p, empty(p, "int32[0]", "int32[] 1"), "float[] 1"), "float[] 2"),
           "InvalidArgument: Tried to push item into a full list");
    p = program_new();
    expect(p, push(p, empty(p, "int32[1] 2", "int32[] -1"), "float[3] 1"),
           "InvalidArgument: Tried to append a tensor with incompatible shape to a list. Op element shape: "
           "[3] list shape: [2]");
    p = program_new();
    expect(p, push(p, empty(p, "int32[0]", "int32[] -1"), "int32[] 1"),
           "InvalidArgument: Invalid data types; op elements int32 but list elements float");
    p = program_new();
    expect_pop(p, empty(p, "int32[] -1", "int32[] -1"), "int32[] -1", 1,
               "InvalidArgument: Trying to pop from an empty list.");
    p = program_new();
    expect(p, empty(p, "int32[] -1", "int32[1] 1"),
           "InvalidArgument: max_num_elements expected to be a scalar but got shape: [1]");
    p = program_new();
    expect(p, empty(p, "int32[] 3", "int32[] -1"),
           "InvalidArgument: The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    p = program_new();
    expect(p, empty(p, "int32[2] 3 -2", "int32[] -1"), "InvalidArgument: Dimension -2");
    p = program_new();
    expect(p, empty(p, "int32[13] 1", "int32[] -1"), "InvalidArgument: at most 12 dimensions");
}

// What was not set is zeros where the shape is known.
static void test_unset_elements(void **state)
{
    (void)state;
    program *p = program_new();
    expect_pop(p, reserve(p, "int32[2] -1 2", "int32[] 3"), "int32[2] 1 2", 1, "float[1,2] 0");
    p = program_new();
    expect_pop(p, reserve(p, "int32[] -1", "int32[] 3"), "int32[] -1", 1,
               "InvalidArgument: Trying to read an uninitialized tensor but element_shape is not fully "
               "defined: <unknown>");
    p = program_new();
    expect_pop(p, reserve(p, "int32[2] -1 2", "int32[] 3"), "int32[2] 1 3", 1,
               "InvalidArgument: Incompatible shapes during merge: [1,3] vs. [?,2]");
    p = program_new();
    expect_get(p, reserve(p, "int32[1] 2", "int32[] 3"), "int32[] 1", "int32[] -1", "float[2] 0");
    p = program_new(); // another element says what the shape is
    expect_get(p, set(p, reserve(p, "int32[] -1", "int32[] 3"), "int32[] 0", "float[2] 1"), "int32[] 1",
               "int32[] -1", "float[2] 0");
    p = program_new();
    expect_get(p, reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "int32[] -1",
               "InvalidArgument: Trying to read an uninitialized tensor but element_shape is not fully "
               "defined: <unknown> and no list element is set.");
    p = program_new();
    expect(p, reserve(p, "int32[0]", "int32[] -1"),
           "InvalidArgument: The num_elements to reserve must be a non negative number, but got -1");
    p = program_new();
    expect(p, reserve(p, "int32[0]", "int32[] 2147483647"), "ResourceExhausted: a list of 2147483647");
}

static void test_get_and_set(void **state)
{
    (void)state;
    program *p = program_new();
    expect_get(p, from_tensor(p, "float[2,2] 1 2 3 4", "int32[1] 2"), "int32[] 1", "int32[] -1",
               "float[2] 3 4");
    p = program_new();
    expect_stack(p, set(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 0", "float[] 7"),
                 "int32[] -1", "float[2] 7 2");
    p = program_new();
    expect_get(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 2", "int32[] -1",
               "InvalidArgument: Trying to access element 2 in a list with 2 elements.");
    p = program_new();
    expect_get(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] -1", "int32[] -1",
               "InvalidArgument: Trying to access element -1 in a list with 2 elements.");
    p = program_new();
    expect(p, set(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 20", "float[] 7"),
           "InvalidArgument: Trying to modify element 20 in a list with 2 elements.");
    p = program_new();
    expect(p, set(p, empty(p, "int32[0]", "int32[] -1"), "int32[] 0", "float[] 7"),
           "InvalidArgument: Trying to modify element 0 in a list with 0 elements.");
    p = program_new();
    expect(p, set(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[] 0", "float[1] 7"),
           "InvalidArgument: Tried to set a tensor with incompatible shape at a list index. Item element "
           "shape: [1] list shape: []");
    p = program_new();
    expect_stack(p,
                 OUT(p, "TensorListSetItem", "resize_if_index_out_of_bounds=true",
                     from_tensor(p, "float[1] 1", "int32[0]"), program_feed(p, "int32[] 2"),
                     program_feed(p, "float[] 7")),
                 "int32[] -1", "float[3] 1 0 7");
    p = program_new();
    expect(p, OUT(p, "TensorListLength", NULL, program_feed(p, "variant[2]")),
           "InvalidArgument: Input list must be a scalar saw: [2]");
    p = program_new();
    expect(p, OUT(p, "TensorListLength", NULL, program_feed(p, "variant[]")),
           "InvalidArgument: Input handle is not a list. Saw: 'an empty variant'");
}

static void test_resize(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p, resize(p, from_tensor(p, "float[3] 1 2 3", "int32[0]"), "int32[] 2"), "int32[] -1",
                 "float[2] 1 2");
    p = program_new();
    expect_stack(p, resize(p, from_tensor(p, "float[1] 1", "int32[0]"), "int32[] 3"), "int32[] -1",
                 "float[3] 1 0 0");
    p = program_new();
    expect(p, resize(p, from_tensor(p, "float[1] 1", "int32[0]"), "int32[] -1"),
           "InvalidArgument: TensorListSlice expects size to be non-negative. Got: -1");
}

static void test_element_shape(void **state)
{
    (void)state;
    program *p = program_new();
    expect(p, OUT(p, "TensorListElementShape", "shape_type=int64", reserve(p, "int32[2] -1 3", "int32[] 0")),
           "int64[2] -1 3");
    p = program_new();
    expect(p, OUT(p, "TensorListElementShape", "shape_type=int32", reserve(p, "int64[] -1", "int32[] 0")),
           "int32[] -1");
}

// ---- Stacking and cutting ----

static void test_stack(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p, set(p, reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "float[2] 1 2"), "int32[] -1",
                 "float[3,2] 0 0 1 2 0 0");
    p = program_new();
    expect_stack(p, empty(p, "int32[] -1", "int32[] -1"), "int32[1] 2", "float[0,2]");
    p = program_new();
    expect_stack(p, empty(p, "int32[1] -1", "int32[] -1"), "int32[] -1",
                 "InvalidArgument: Tried to stack elements of an empty list with non-fully-defined "
                 "element_shape: [?]");
    p = program_new();
    expect_stack(p, reserve(p, "int32[] -1", "int32[] 2"), "int32[] -1",
                 "InvalidArgument: Tried to stack list which only contains uninitialized tensors and has a "
                 "non-fully-defined element_shape: <unknown>");
    p = program_new();
    expect_stack(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[] 1"), "float[2] 1"),
                 "int32[] -1", "InvalidArgument: Incompatible ranks during merge: 0 vs. 1");
    p = program_new();
    expect_stack(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 1"),
                 "int32[] -1", "InvalidArgument: Incompatible shapes during merge: [1] vs. [2]");
    p = program_new();
    expect(p,
           OUT(p, "TensorListStack", "element_dtype=float; num_elements=3",
               from_tensor(p, "float[2] 1 2", "int32[0]"), program_feed(p, "int32[] -1")),
           "InvalidArgument: Operation expected a list with 3 elements but got a list with 2 elements.");
    p = program_new();
    expect(p,
           OUT(p, "TensorListStack", "element_dtype=string", from_tensor(p, "string[2] a bc", "int32[0]"),
               program_feed(p, "int32[] -1")),
           "string[2] a bc");
    p = program_new();
    expect_stack(p, from_tensor(p, "int32[2] 1 2", "int32[0]"), "int32[] -1",
                 "InvalidArgument: Invalid data types; op elements float but list elements int32");
    p = program_new();
    expect_stack(p, reserve(p, "int32[3] 2147483647 2147483647 2", "int32[] 2"), "int32[] -1",
                 "InvalidArgument: ");
}

static void test_gather(void **state)
{
    (void)state;
    program *p = program_new();
    expect_gather(p, from_tensor(p, "float[3] 1 2 3", "int32[0]"), "int32[4] 2 0 0 1", "int32[] -1",
                  "float[4] 3 1 1 2");
    p = program_new();
    expect_gather(p, set(p, reserve(p, "int32[] -1", "int32[] 3"), "int32[] 1", "float[1] 5"), "int32[2] 0 1",
                  "int32[] -1", "float[2,1] 0 5");
    p = program_new();
    expect_gather(p, empty(p, "int32[] -1", "int32[] -1"), "int32[0]", "int32[1] 3", "float[0,3]");
    p = program_new();
    expect_gather(p, empty(p, "int32[] -1", "int32[] -1"), "int32[0]", "int32[] -1",
                  "InvalidArgument: Tried to gather 0-elements from a list with non-fully-defined shape");
    p = program_new();
    expect_gather(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[1] 2", "int32[] -1",
                  "InvalidArgument: Index 2 out o range; list only has 2 elements.");
    p = program_new();
    expect_gather(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "int32[1] -1", "int32[] -1",
                  "InvalidArgument: Index -1 out o range");
    p = program_new();
    expect_gather(p, reserve(p, "int32[] -1", "int32[] 2"), "int32[1] 0", "int32[] -1",
                  "InvalidArgument: Tried to gather uninitialized tensors from a list with "
                  "non-fully-defined element_shape");
}

static void test_scatter(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p, scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] -1"), "int32[] -1",
                 "float[4] 2 0 0 1");
    p = program_new();
    expect_stack(p, scatter(p, "float[2] 1 2", "int32[2] 1 0", "int32[0]", "int32[] 3"), "int32[] -1",
                 "float[3] 2 1 0");
    p = program_new();
    expect(p,
           OUT(p, "TensorListLength", NULL,
               OUT(p, "TensorListScatter", NULL, program_feed(p, "float[1] 1"), program_feed(p, "int32[1] 4"),
                   program_feed(p, "int32[0]"))),
           "int32[] 5");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] 3"),
           "InvalidArgument: TensorListScatter: Trying to scatter at index 3 in list with size 3");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[2] 3 0", "int32[0]", "int32[] -2"),
           "InvalidArgument: TensorListScatter expects num_elements >= -1, found: -2");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[3] 1 0 2", "int32[0]", "int32[] -1"),
           "InvalidArgument: Invalid number of rows in input tensor. Expected: 3 Actual: 2");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[2] -1 -2", "int32[0]", "int32[] -1"),
           "InvalidArgument: Indices in TensorListScatter must all be non-negative.");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[2] 0 1", "int32[1] 2", "int32[] -1"),
           "InvalidArgument: Specified a list with shape [2] from a tensor with shape []");
    p = program_new();
    expect(p, scatter(p, "float[2] 1 2", "int32[2] 2147483647 1", "int32[0]", "int32[] -1"),
           "ResourceExhausted: a list of 2147483648 tensors");
}

static braid_out scatter_into(program *p, braid_out list, const char *t, const char *indices)
{
    return OUT(p, "TensorListScatterIntoExistingList", NULL, list, program_feed(p, t),
               program_feed(p, indices));
}

static void test_scatter_into(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p,
                 scatter_into(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "float[2] 7 8", "int32[2] 3 1"),
                 "int32[] -1", "float[4] 1 8 0 7");
    p = program_new();
    expect(p, scatter_into(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "float[2] 7 8", "int32[1] 0"),
           "InvalidArgument: Expected len(indices) == tensor.shape[0], but saw: 1 vs. 2");
    p = program_new();
    expect(p, scatter_into(p, from_tensor(p, "float[2] 1 2", "int32[0]"), "float[1] 7", "int32[1] -1"),
           "InvalidArgument: Indices in TensorListScatter must all be non-negative.");
}

static void test_from_tensor(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p, from_tensor(p, "float[0,2]", "int32[1] 2"), "int32[] -1", "float[0,2]");
    p = program_new();
    expect(p, from_tensor(p, "float[] 1", "int32[] -1"),
           "InvalidArgument: Tensor must be at least a vector, but saw shape: []");
    p = program_new();
    expect(p, from_tensor(p, "float[2] 1 2", "int32[1] 2"),
           "InvalidArgument: Specified a list with shape [2] from a tensor with shape []");
}

// ---- Joining and splitting ----

static void test_concat(void **state)
{
    (void)state;
    program *p = program_new();
    expect_concat(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 2 3"),
                  "int32[] -1", "int64[0]", 0, "float[3] 1 2 3");
    p = program_new();
    expect_concat(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[2] 2 3"),
                  "int32[] -1", "int64[0]", 1, "int64[2] 1 2");
    p = program_new(); // what is not set is as long as the others
    expect_concat(p, set(p, reserve(p, "int32[] -1", "int32[] 2"), "int32[] 1", "float[2] 1 2"), "int32[] -1",
                  "int64[0]", 0, "float[4] 0 0 1 2");
    p = program_new(); // or as it says
    expect_concat(p, reserve(p, "int32[2] -1 1", "int32[] 2"), "int32[] -1", "int64[2] 1 2", 0,
                  "float[3,1] 0");
    p = program_new();
    expect_concat(p, empty(p, "int32[2] -1 2", "int32[] -1"), "int32[] -1", "int64[0]", 0, "float[0,2]");
    p = program_new();
    expect_concat(p, empty(p, "int32[2] -1 -1", "int32[] -1"), "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: All except the first dimension must be fully defined when concating an "
                  "empty tensor list");
    p = program_new();
    expect_concat(p, empty(p, "int32[0]", "int32[] -1"), "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: Concat requires elements to be at least vectors, found scalars instead");
    p = program_new();
    expect_concat(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "float[] 2"),
                  "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: Concat saw a scalar shape at index 1 but requires at least vectors.");
    p = program_new();
    expect_concat(p, push(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1,2] 1"), "float[1,1] 2"),
                  "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: Incompatible shapes during merge: [2] vs. [1]");
    p = program_new();
    expect_concat(p, reserve(p, "int32[] -1", "int32[] 2"), "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: Trying to concat list with only uninitialized tensors but "
                  "element_shape_except_first_dim_ is not fully defined");
    p = program_new();
    expect_concat(p, reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1", "int64[0]", 0,
                  "InvalidArgument: List contains uninitialized tensor at index 0 but leading_dims has only "
                  "0 elements.");
    p = program_new();
    expect_concat(p, reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1", "int64[2] 1 -4", 0,
                  "InvalidArgument: leading_dims has the negative dimension -4");
    p = program_new();
    expect_concat(p, reserve(p, "int32[1] -1", "int32[] 2"), "int32[] -1",
                  "int64[2] 9223372036854775807 9223372036854775807", 0,
                  "InvalidArgument: more than can be counted");
    p = program_new();
    expect_concat(p, push(p, empty(p, "int32[] -1", "int32[] -1"), "float[1] 1"), "int32[1] 2", "int64[0]", 0,
                  "InvalidArgument: First entry of element_shape input does not match the first dim of list "
                  "element at index: 0 Expected: 2 Actual: 1");
    p = program_new();
    expect(p,
           OUT(p, "TensorListConcat", "element_dtype=float; element_shape=[?,2]",
               empty(p, "int32[] -1", "int32[] -1")),
           "float[0,2]");
    p = program_new();
    expect(p,
           OUT(p, "TensorListConcat", "element_dtype=float; element_shape=[?]",
               reserve(p, "int32[1] -1", "int32[] 1")),
           "InvalidArgument: not supported in this version of TensorListConcat");
}

static void test_split(void **state)
{
    (void)state;
    program *p = program_new();
    expect_get(p, split(p, "float[3,1] 1 2 3", "int32[2] -1 1", "int64[3] 1 0 2"), "int32[] 2", "int32[] -1",
               "float[2,1] 2 3");
    p = program_new();
    expect_get(p, split(p, "float[3,1] 1 2 3", "int32[] -1", "int64[3] 1 0 2"), "int32[] 1", "int32[] -1",
               "float[0,1]");
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
        expect(p, split(p, rows[i].t, rows[i].shape, rows[i].lengths), want);
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

static void test_push_back_batch(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out lists = pair(p, empty(p, "int32[0]", "int32[] -1"), from_tensor(p, "float[1] 5", "int32[0]"));
    lists = OUT(p, "TensorListPushBackBatch", NULL, lists, program_feed(p, "float[2] 1 2"));
    expect_stack(p, second(p, lists), "int32[] -1", "float[2] 5 2");

    p = program_new(); // one list twice: each gets its own
    braid_out one = from_tensor(p, "float[1] 5", "int32[0]");
    lists = OUT(p, "TensorListPushBackBatch", NULL, pair(p, one, one), program_feed(p, "float[2] 1 2"));
    expect_stack(p, second(p, lists), "int32[] -1", "float[2] 5 2");

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
        one = from_tensor(p, "float[1] 5", "int32[0]");
        expect(p, OUT(p, "TensorListPushBackBatch", NULL, pair(p, one, one), program_feed(p, rows[i].t)),
               want);
    }
    p = program_new();
    expect(
        p,
        OUT(p, "TensorListPushBackBatch", NULL, program_feed(p, "variant[2]"), program_feed(p, "float[2] 1")),
        "InvalidArgument: Input handle at index 0 is not a list.");
}

static void test_concat_lists(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out a = from_tensor(p, "float[1] 1", "int32[0]"), b = from_tensor(p, "float[2] 2 3", "int32[0]");
    expect_stack(p, OUT(p, "TensorListConcatLists", FLOATS, a, b), "int32[] -1", "float[3] 1 2 3");
    p = program_new();
    a = from_tensor(p, "float[1] 1", "int32[0]"), b = from_tensor(p, "float[2] 2 3", "int32[0]");
    expect_stack(p, second(p, OUT(p, "TensorListConcatLists", FLOATS, pair(p, a, b), pair(p, b, a))),
                 "int32[] -1", "float[3] 2 3 1");
    p = program_new();
    a = from_tensor(p, "float[1] 1", "int32[0]"), b = from_tensor(p, "float[1,1] 1", "int32[1] 1");
    expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, b),
           "InvalidArgument: input_a and input_b TensorList element shapes are not identical at index 0");
    p = program_new();
    a = from_tensor(p, "float[1] 1", "int32[0]"), b = from_tensor(p, "int32[1] 1", "int32[0]");
    expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, b),
           "InvalidArgument: input_b[0].dtype != element_dtype.  Saw: int32 vs. float");
    p = program_new();
    a = from_tensor(p, "float[1] 1", "int32[0]");
    expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, program_feed(p, "variant[]")),
           "InvalidArgument: input_b is not a TensorList at index 0.");
    p = program_new();
    a = from_tensor(p, "float[1] 1", "int32[0]");
    expect(p, OUT(p, "TensorListConcatLists", FLOATS, a, program_feed(p, "variant[2]")), "InvalidArgument: ");
}

// ---- Copies on write ----

static void test_lists_are_values(void **state)
{
    (void)state;
    program *p = program_new(); // both push to one list
    braid_out base = from_tensor(p, "float[1] 1", "int32[0]");
    braid_out a = push(p, base, "float[] 2"), b = push(p, base, "float[] 3");
    braid_out stacked = OUT(p, "TensorListStack", FLOATS, b, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, stacked}, 2, "float[2] 1 3");
    p = program_new(); // what was pushed to is as it was
    base = from_tensor(p, "float[1] 1", "int32[0]");
    a = push(p, base, "float[] 2");
    stacked = OUT(p, "TensorListStack", FLOATS, base, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, stacked}, 2, "float[1] 1");
    p = program_new();
    base = from_tensor(p, "float[2] 1 2", "int32[0]");
    a = set(p, base, "int32[] 0", "float[] 9");
    b = resize(p, base, "int32[] 1");
    stacked = OUT(p, "TensorListStack", FLOATS, base, program_feed(p, "int32[] -1"));
    program_expect(p, (braid_out[]){a, b, stacked}, 3, "float[2] 1 2");
}

// ---- Lists of lists ----

static void test_lists_of_lists(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out outer = OUT(p, "EmptyTensorList", "element_dtype=variant", program_feed(p, "int32[0]"),
                          program_feed(p, "int32[] -1"));
    outer = OUT(p, "TensorListPushBack", NULL, outer, from_tensor(p, "float[2] 1 2", "int32[0]"));
    braid_out twice = OUT(p, "AddN", NULL, outer, outer);
    braid_op *pop =
        NODE(p, "TensorListPopBack", "element_dtype=variant", twice, program_feed(p, "int32[] -1"));
    expect_stack(p, (braid_out){pop, 1}, "int32[] -1", "float[2] 2 4");

    p = program_new();
    outer = OUT(p, "TensorListPushBack", NULL,
                OUT(p, "EmptyTensorList", "element_dtype=variant", program_feed(p, "int32[0]"),
                    program_feed(p, "int32[] -1")),
                from_tensor(p, "float[2] 1 2", "int32[0]"));
    pop = NODE(p, "TensorListPopBack", "element_dtype=variant", OUT(p, "ZerosLike", NULL, outer),
               program_feed(p, "int32[] -1"));
    expect_stack(p, (braid_out){pop, 1}, "int32[] -1", "float[2] 0 0");
}

// ---- Sums and zeros ----

static void test_sums(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out a = from_tensor(p, "float[2] 1 2", "int32[0]"),
              b = from_tensor(p, "float[2] 10 20", "int32[0]");
    expect_stack(p, OUT(p, "AddN", NULL, a, b, a), "int32[] -1", "float[2] 12 24");
    p = program_new(); // what is not set counts as zeros
    a = set(p, reserve(p, "int32[0]", "int32[] 2"), "int32[] 0", "float[] 1");
    b = set(p, reserve(p, "int32[0]", "int32[] 2"), "int32[] 1", "float[] 2");
    expect_stack(p, OUT(p, "AddN", NULL, a, b), "int32[] -1", "float[2] 1 2");
    p = program_new();
    a = from_tensor(p, "float[2] 1 2", "int32[0]"), b = from_tensor(p, "float[1] 1", "int32[0]");
    expect(p, OUT(p, "AddN", NULL, a, b),
           "InvalidArgument: Trying to add two lists of tensors with different lengths. One is 2 and the "
           "other is 1");
    p = program_new();
    a = from_tensor(p, "float[2] 1 2", "int32[0]"), b = from_tensor(p, "float[2,1] 1", "int32[1] 1");
    expect(p, OUT(p, "AddN", NULL, a, b),
           "InvalidArgument: Trying to add two lists of tensors with incompatible element shapes");
    p = program_new();
    a = from_tensor(p, "float[2] 1 2", "int32[0]"), b = from_tensor(p, "int32[2] 1 2", "int32[0]");
    expect(p, OUT(p, "AddN", NULL, a, b),
           "InvalidArgument: Trying to add two lists of tensors of different dtypes");
    p = program_new();
    a = from_tensor(p, "float[1,1] 1", "int32[] -1"), b = from_tensor(p, "float[1,2] 1", "int32[] -1");
    expect(p, OUT(p, "AddN", NULL, a, b),
           "InvalidArgument: Trying to add two tensors with incompatible element shapes. One is [1] and the "
           "other is [2]");
    p = program_new();
    a = from_tensor(p, "string[1] a", "int32[0]");
    expect(p, OUT(p, "AddN", NULL, a, a), "InvalidArgument: Trying to add unsupported dtype string");
    p = program_new();
    expect(p, OUT(p, "AddN", NULL, program_feed(p, "variant[]"), program_feed(p, "variant[]")),
           "Internal: Variant type_name: an empty variant");
    p = program_new();
    expect(p, OUT(p, "AddN", NULL, program_feed(p, "variant[2]"), program_feed(p, "variant[2]")),
           "InvalidArgument: AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported");
}

static void test_zeros(void **state)
{
    (void)state;
    program *p = program_new();
    expect_stack(p, OUT(p, "ZerosLike", NULL, from_tensor(p, "float[2] 1 2", "int32[0]")), "int32[] -1",
                 "float[2] 0 0");
    p = program_new(); // what is not set stays so
    expect_stack(p, OUT(p, "ZerosLike", NULL, reserve(p, "int32[] -1", "int32[] 2")), "int32[] -1",
                 "InvalidArgument: only contains uninitialized tensors");
    p = program_new();
    expect(p, OUT(p, "ZerosLike", NULL, program_feed(p, "variant[2]")),
           "InvalidArgument: ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.");
}

// Conditionals' gradients pass values in optionals.
static void test_optionals(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    braid_out sum = OUT(p, "AddN", NULL, one, one);
    static const char attrs[] = "output_types=[float]; output_shapes=[?]";
    expect(p, OUT(p, "OptionalGetValue", attrs, sum), "float[2] 2 4");
    p = program_new();
    expect(
        p,
        OUT(p, "OptionalGetValue", attrs, OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[0,3]"))),
        "float[0,3]");
    p = program_new();
    expect(p, OUT(p, "OptionalHasValue", NULL, program_feed(p, "variant[]")),
           "InvalidArgument: tensorflow::data::Optional");
    static const op_case nothing[] = {
        {"OptionalFromValue", NULL, "", "InvalidArgument: Toutput_types"},
    };
    OP_TEST_VALUES(nothing);
    p = program_new();
    one = OUT(p, "OptionalFromValue", NULL, from_tensor(p, "float[2] 1 2", "int32[0]"));
    braid_out zeros = OUT(p, "OptionalGetValue", "output_types=[variant]; output_shapes=[?]",
                          OUT(p, "ZerosLike", NULL, one));
    expect_stack(p, zeros, "int32[] -1", "float[2] 0 0");
    p = program_new();
    braid_out none = {op_test_node(p->g, "OptionalNone", NULL, NULL, 0), 0};
    expect(p, OUT(p, "OptionalHasValue", NULL, OUT(p, "ZerosLike", NULL, OUT(p, "AddN", NULL, none, none))),
           "bool[] false");
    p = program_new();
    none = (braid_out){op_test_node(p->g, "OptionalNone", NULL, NULL, 0), 0};
    one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    expect(p, OUT(p, "AddN", NULL, one, none),
           "InvalidArgument: Cannot add optionals because one has a value and the other doesn't.");
    p = program_new();
    one = OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[2] 1 2"));
    braid_out two =
        OUT(p, "OptionalFromValue", NULL, program_feed(p, "float[] 1"), program_feed(p, "float[] 1"));
    expect(p, OUT(p, "AddN", NULL, one, two), "InvalidArgument: different numbers of components (1 vs. 2)");
}

// ---- Gradients ----

static braid_out weighted(program *p, braid_out y, const char *weights)
{
    return OUT(p, "Mul", NULL, y, program_feed(p, weights));
}

static void expect_gradient(program *p, braid_out y, braid_out x, const char *want)
{
    BD_STATUS(st);
    braid_out grad;
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    if (braid_graph_status(p->g, st)) fail_msg("%s", braid_status_message(st));
    assert_non_null(grad.op);
    expect(p, grad, want);
}

static void test_gradient_of_pushes(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[] 3"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListPushBack", NULL, empty(p, "int32[0]", "int32[] -1"), x);
    braid_op *pop = NODE(p, "TensorListPopBack", FLOATS, list, any);
    expect_gradient(p, weighted(p, (braid_out){pop, 1}, "float[] 5"), x, "float[] 5");

    p = program_new();
    x = program_feed(p, "float[] 3"), any = program_feed(p, "int32[] -1");
    list = OUT(p, "TensorListPushBack", NULL, empty(p, "int32[0]", "int32[] -1"), x);
    list = OUT(p, "TensorListPushBack", NULL, list, OUT(p, "Square", NULL, x));
    braid_out y = OUT(p, "TensorListStack", FLOATS, list, any);
    expect_gradient(p, weighted(p, y, "float[2] 1 10"), x, "float[] 61");
}

static void test_gradient_of_items(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[2] 1 2"), y = program_feed(p, "float[] 3"),
              any = program_feed(p, "int32[] -1"), zero = program_feed(p, "int32[] 0"),
              one = program_feed(p, "int32[] 1");
    braid_out list = OUT(p, "TensorListFromTensor", NULL, x, program_feed(p, "int32[0]"));
    list = OUT(p, "TensorListSetItem", NULL, list, zero, y);
    braid_out e = OUT(p, "TensorListGetItem", FLOATS, list, zero, any);
    braid_out f = OUT(p, "TensorListGetItem", FLOATS, list, one, any);
    braid_out sum = OUT(p, "Add", NULL, OUT(p, "Square", NULL, e), OUT(p, "Square", NULL, f));
    braid_out grads[2];
    braid_gradients(p->g, &sum, 1, (braid_out[]){x, y}, 2, NULL, grads);
    expect(p, OUT(p, "Add", NULL, grads[0], grads[1]), "float[2] 6 10"); // [0, 4] and 6
}

static void test_gradient_of_slices(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[2] 1 2"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListScatterV2", NULL, x, program_feed(p, "int32[2] 2 0"),
                         program_feed(p, "int32[0]"), program_feed(p, "int32[] -1"));
    list = resize(p, list, "int32[] 4");
    braid_out y = OUT(p, "TensorListGather", FLOATS, list, program_feed(p, "int32[3] 0 2 1"), any);
    expect_gradient(p, weighted(p, y, "float[3] 1 10 100"), x, "float[2] 10 1");

    p = program_new();
    x = program_feed(p, "float[2] 1 2"), any = program_feed(p, "int32[] -1");
    list = OUT(p, "TensorListFromTensor", NULL, program_feed(p, "float[2] 5 6"), program_feed(p, "int32[0]"));
    list = OUT(p, "TensorListScatterIntoExistingList", NULL, list, x, program_feed(p, "int32[2] 1 3"));
    y = OUT(p, "TensorListStack", FLOATS, list, any);
    expect_gradient(p, weighted(p, y, "float[4] 1 10 100 1000"), x, "float[2] 10 1000");
}

static void test_gradient_of_pieces(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out x = program_feed(p, "float[3] 1 2 3"), any = program_feed(p, "int32[] -1");
    braid_out list = OUT(p, "TensorListSplit", NULL, x, any, program_feed(p, "int64[2] 1 2"));
    braid_out y = OUT(p, "TensorListConcatV2", FLOATS, list, any, program_feed(p, "int64[0]"));
    expect_gradient(p, weighted(p, y, "float[3] 1 10 100"), x, "float[3] 1 10 100");
}

// ---- Shapes ----

static void test_shapes(void **state)
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
        cmocka_unit_test(test_push_and_pop),
        cmocka_unit_test(test_unset_elements),
        cmocka_unit_test(test_get_and_set),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_element_shape),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_scatter_into),
        cmocka_unit_test(test_from_tensor),
        cmocka_unit_test(test_concat),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_push_back_batch),
        cmocka_unit_test(test_concat_lists),
        cmocka_unit_test(test_lists_are_values),
        cmocka_unit_test(test_lists_of_lists),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_optionals),
        cmocka_unit_test(test_gradient_of_pushes),
        cmocka_unit_test(test_gradient_of_items),
        cmocka_unit_test(test_gradient_of_slices),
        cmocka_unit_test(test_gradient_of_pieces),
        cmocka_unit_test(test_shapes),
    };
    return BD_RUN_TESTS(tests);
}
