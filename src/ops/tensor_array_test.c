// What arrays and stacks of tensors promise: order, errors, and gradients by arrays of gradients.
#include "base/testing/test.h"
#include "ops/testing/program.h"
#include <stdio.h>

#define NODE PROGRAM_NODE
#define OUT PROGRAM_OUT

typedef struct array {
    braid_out handle, flow;
} array;

static array make_array(program *p, const char *attrs, const char *size)
{
    braid_op *op = NODE(p, "TensorArrayV3", attrs, program_feed(p, size));
    return (array){{op, 0}, {op, 1}};
}

static braid_out write(program *p, array a, const char *index, braid_out value, braid_out flow)
{
    return OUT(p, "TensorArrayWriteV3", NULL, a.handle, program_feed(p, index), value, flow);
}

// ---- Values ----

static void test_write_and_gather(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float; dynamic_size=true", "int32[] 0");
    braid_out flow = write(p, a, "int32[] 1", program_feed(p, "float[2] 1 2"), a.flow);
    flow = write(p, a, "int32[] 0", program_feed(p, "float[2] 3 4"), flow);
    braid_out size = OUT(p, "TensorArraySizeV3", NULL, a.handle, flow);
    braid_out all =
        OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, program_feed(p, "int32[2] 0 1"), flow);
    program_expect(p, (braid_out[]){size, all}, 2, "float[2,2] 3 4 1 2");

    p = program_new();
    a = make_array(p, "dtype=string", "int32[] 3");
    flow = OUT(p, "TensorArrayScatterV3", NULL, a.handle, program_feed(p, "int32[3] 2 0 1"),
               program_feed(p, "string[3] a b c"), a.flow);
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=string", a.handle,
                                     program_feed(p, "int32[] 2"), flow)},
                   1, "string[] a");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = OUT(p, "TensorArraySplitV3", NULL, a.handle, program_feed(p, "float[3,1] 1 2 3"),
               program_feed(p, "int64[2] 1 2"), a.flow);
    program_expect(p, (braid_out[]){OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow)}, 1,
                   "float[3,1] 1 2 3");

    p = program_new();
    a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 2");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle,
                                     program_feed(p, "int32[0]"), a.flow)},
                   1, "float[0,2]");
}

static void test_errors(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float", "int32[] 2");
    program_expect(p, (braid_out[]){write(p, a, "int32[] 2", program_feed(p, "float[] 1"), a.flow)}, 1,
                   "InvalidArgument: Tried to write to index 2 but array is not resizeable and size is: 2");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    braid_out flow = write(p, a, "int32[] 0", program_feed(p, "float[] 1"), a.flow);
    program_expect(
        p, (braid_out[]){write(p, a, "int32[] 0", program_feed(p, "float[] 1"), flow)}, 1,
        "InvalidArgument: Could not write to TensorArray index 0 because it has already been written to.");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = write(p, a, "int32[] 0", program_feed(p, "float[] 1"), a.flow);
    braid_out once = OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, program_feed(p, "int32[] 0"), flow);
    braid_out twice =
        OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, program_feed(p, "int32[] 0"), flow);
    program_expect(p, (braid_out[]){once, twice}, 2, "InvalidArgument: Could not read index 0 twice");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=float", a.handle,
                                     program_feed(p, "int32[] 1"), a.flow)},
                   1, "InvalidArgument: it has not yet been written to");

    p = program_new();
    a = make_array(p, "dtype=float; element_shape=[?,2]", "int32[] 2");
    program_expect(p, (braid_out[]){write(p, a, "int32[] 0", program_feed(p, "float[1,3] 1"), a.flow)}, 1,
                   "InvalidArgument: incompatible with the TensorArray's element shape: [?,2].");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    program_expect(p, (braid_out[]){write(p, a, "int32[] 0", program_feed(p, "double[] 1"), a.flow)}, 1,
                   "InvalidArgument: the value dtype is double but TensorArray dtype is float.");

    p = program_new();
    program_expect(p, (braid_out[]){make_array(p, "dtype=float", "int32[] -1").handle}, 1,
                   "InvalidArgument: Size should be >= 0");

    p = program_new();
    program_expect(p, (braid_out[]){make_array(p, "dtype=float", "int32[] 2147483647").handle}, 1,
                   "ResourceExhausted: elements");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArraySplitV3", NULL, a.handle, program_feed(p, "float[3] 1"),
                                     program_feed(p, "int64[2] 1 1"), a.flow)},
                   1, "InvalidArgument: Expected sum of lengths to be equal to values.shape[0]");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = write(p, a, "int32[] 0", program_feed(p, "float[1] 1"), a.flow);
    flow = write(p, a, "int32[] 1", program_feed(p, "float[2] 1"), flow);
    program_expect(
        p,
        (braid_out[]){
            OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, program_feed(p, "int32[2] 0 1"), flow)},
        1,
        "InvalidArgument: TensorArray has inconsistent shapes. Index 0 has shape: [1] but index 1 has shape: [2]");
}

static void test_close(void **state)
{
    (void)state;
    BD_STATUS(st);
    program *p = program_new();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_op *closed = NODE(p, "TensorArrayCloseV3", NULL, a.handle);
    braid_op_desc *d = braid_op_begin(p->g, "TensorArraySizeV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, a.flow);
    braid_op_control(d, closed);
    braid_out size = braid_op_end_out(d);
    assert_int_equal(braid_graph_status(p->g, st), BRAID_OK);
    program_expect(p, &size, 1, "InvalidArgument: TensorArray has already been closed.");
}

// ---- Gradients ----

// y = x[0] x[2], each element read for itself; element 1 is not read, so its gradient is 0.
static void check_gradient_of_reads(const char *dtype, const char *values, const char *want)
{
    char attrs[64], type_attr[32];
    snprintf(attrs, sizeof attrs, "dtype=%s; clear_after_read=false", dtype);
    snprintf(type_attr, sizeof type_attr, "dtype=%s", dtype);
    program *p = program_new();
    array a = make_array(p, attrs, "int32[] 3");
    braid_out x = program_feed(p, values), grad;
    braid_out flow =
        OUT(p, "TensorArrayScatterV3", NULL, a.handle, program_feed(p, "int32[3] 0 1 2"), x, a.flow);
    braid_out first = OUT(p, "TensorArrayReadV3", type_attr, a.handle, program_feed(p, "int32[] 0"), flow);
    braid_out last = OUT(p, "TensorArrayReadV3", type_attr, a.handle, program_feed(p, "int32[] 2"), flow);
    braid_out again = OUT(p, "TensorArrayReadV3", type_attr, a.handle, program_feed(p, "int32[] 2"), flow);
    braid_out y = OUT(p, "Mul", NULL, first, last);
    y = OUT(p, "Add", NULL, y, again); // x[2] is read twice: both gradients count
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    program_expect(p, (braid_out[]){y, grad}, 2, want);
}

static void test_gradient_of_reads(void **state)
{
    (void)state;
    check_gradient_of_reads("float", "float[3] 2 3 5", "float[3] 5 0 3");
    check_gradient_of_reads("half", "half[3] 0x4000 0x4200 0x4500", "half[3] 0x4500 0 0x4200");
}

static void test_gradient_of_writes(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_out x = program_feed(p, "float[2] 2 3"), w = program_feed(p, "float[2,2] 1 10 100 1000"), grad;
    braid_out flow = write(p, a, "int32[] 0", OUT(p, "Square", NULL, x), a.flow);
    flow = write(p, a, "int32[] 1", x, flow);
    braid_out all =
        OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, program_feed(p, "int32[2] 0 1"), flow);
    braid_out y = OUT(p, "Mul", NULL, all, w);
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    program_expect(p, (braid_out[]){y, grad}, 2, "float[2] 104 1060");
}

static void test_gradient_of_pieces(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_out x = program_feed(p, "float[3] 2 3 5"), w = program_feed(p, "float[3] 1 10 100"), grad;
    braid_out flow = OUT(p, "TensorArraySplitV3", NULL, a.handle, x, program_feed(p, "int64[2] 1 2"), a.flow);
    braid_out all = OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow),
              y = OUT(p, "Mul", NULL, all, w);
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    program_expect(p, (braid_out[]){y, grad}, 2, "float[3] 1 10 100");
}

static void test_gradient_array(void **state)
{
    (void)state;
    program *p = program_new(); // one array a source, of the size of the array
    array a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 3");
    braid_op *one = NODE(p, "TensorArrayGradV3", "source=a", a.handle, a.flow);
    braid_op *same = NODE(p, "TensorArrayGradV3", "source=a", a.handle, a.flow);
    array g = {{one, 0}, {one, 1}}, again = {{same, 0}, {same, 1}};
    braid_out flow = write(p, g, "int32[] 2", program_feed(p, "float[2] 1 2"), g.flow);
    flow = write(p, again, "int32[] 2", program_feed(p, "float[2] 10 20"), flow);
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", g.handle,
                                     program_feed(p, "int32[2] 0 2"), flow)},
                   1, "float[2,2] 0 0 11 22");
}

// ---- Stacks ----

static void check_stack(bool v2)
{
    const char *push = v2 ? "StackPushV2" : "StackPush", *pop = v2 ? "StackPopV2" : "StackPop";
    program *p = program_new();
    braid_out stack = v2 ? OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] 2"))
                         : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    braid_out one = OUT(p, push, NULL, stack, program_feed(p, "float[] 1"));
    braid_out two = OUT(p, push, NULL, stack, program_feed(p, "float[2] 2 3"));
    braid_out top = OUT(p, pop, "elem_type=float", stack), below = OUT(p, pop, "elem_type=float", stack);
    program_expect(p, (braid_out[]){one, two, top, below}, 4, "float[] 1");

    p = program_new();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    program_expect(p, (braid_out[]){OUT(p, pop, "elem_type=float", stack)}, 1,
                   "InvalidArgument: Stack is empty when calling Pop()");

    p = program_new();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    program_expect(p, (braid_out[]){OUT(p, push, NULL, stack, program_feed(p, "int32[] 1"))}, 1,
                   "InvalidArgument: Must have type float");

    p = program_new();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    braid_op *closed = NODE(p, v2 ? "StackCloseV2" : "StackClose", NULL, stack);
    braid_op_desc *d = braid_op_begin(p->g, push, NULL);
    braid_op_input(d, stack);
    braid_op_input(d, program_feed(p, "float[] 1"));
    braid_op_control(d, closed);
    braid_out late = braid_op_end_out(d);
    program_expect(p, &late, 1, "InvalidArgument: has already been closed.");
}

static void test_stacks(void **state)
{
    (void)state;
    check_stack(false);
    check_stack(true);
    program *p = program_new();
    braid_out stack = OUT(p, "StackV2", "elem_type=float", program_feed(p, "int32[] 1"));
    braid_out one = OUT(p, "StackPushV2", NULL, stack, program_feed(p, "float[] 1"));
    braid_out two = OUT(p, "StackPushV2", NULL, stack, program_feed(p, "float[] 1"));
    program_expect(p, (braid_out[]){one, two}, 2, "InvalidArgument: Stack overflow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_gather),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_gradient_of_reads),
        cmocka_unit_test(test_gradient_of_writes),
        cmocka_unit_test(test_gradient_of_pieces),
        cmocka_unit_test(test_gradient_array),
        cmocka_unit_test(test_stacks),
    };
    return BD_RUN_TESTS(tests);
}
