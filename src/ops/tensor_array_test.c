// What arrays and stacks of tensors promise: order, errors, and gradients by arrays of gradients.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

// A graph over fed tensors, evaluated once: every node runs once.
typedef struct program {
    braid_graph *g;
    op_binding bindings[16];
    int count;
} program;

static program *start(void)
{
    program *p = bd_calloc(1, sizeof *p);
    p->g = braid_graph_new();
    return p;
}

static braid_out feed(program *p, const char *text)
{
    op_binding *b = &p->bindings[p->count++];
    op_test_tensor(&b->value.tensor, text);
    braid_op_desc *d = braid_op_begin(p->g, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", b->value.tensor.dtype);
    b->op = braid_op_end(d);
    return (braid_out){b->op, 0};
}

#define NODE(P, OP, ATTRS, ...)                                                                              \
    op_test_node((P)->g, OP, ATTRS, (braid_out[]){__VA_ARGS__},                                              \
                 sizeof((braid_out[]){__VA_ARGS__}) / sizeof(braid_out))
#define OUT(P, OP, ATTRS, ...) ((braid_out){NODE(P, OP, ATTRS, __VA_ARGS__), 0})

// Evaluates `outs` in order; the last one must be what `want` says, a tensor or an error.
static void expect(program *p, const braid_out *outs, int count, const char *want)
{
    BD_STATUS(st);
    braid_tensor values[8];
    if (op_test_eval(p->bindings, p->count, outs, count, values, st)) {
        const char *colon = strstr(want, ": ");
        if (!colon || !strstr(braid_status_message(st), colon + 2))
            fail_msg("want %s, got %s", want, braid_status_message(st));
        assert_memory_equal(want, braid_code_name(st->code), (size_t)(colon - want));
    } else {
        op_test_expect(&values[count - 1], want, 0, want);
    }
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&values[i]);
    for (int i = 0; i < p->count; i++)
        bd_value_fini(&p->bindings[i].value);
    braid_graph_free(p->g);
    bd_free(p);
}

typedef struct array {
    braid_out handle, flow;
} array;

static array make_array(program *p, const char *attrs, const char *size)
{
    braid_op *op = NODE(p, "TensorArrayV3", attrs, feed(p, size));
    return (array){{op, 0}, {op, 1}};
}

static braid_out write(program *p, array a, const char *index, braid_out value, braid_out flow)
{
    return OUT(p, "TensorArrayWriteV3", NULL, a.handle, feed(p, index), value, flow);
}

// ---- Values ----

static void test_write_and_gather(void **state)
{
    (void)state;
    program *p = start();
    array a = make_array(p, "dtype=float; dynamic_size=true", "int32[] 0");
    braid_out flow = write(p, a, "int32[] 1", feed(p, "float[2] 1 2"), a.flow);
    flow = write(p, a, "int32[] 0", feed(p, "float[2] 3 4"), flow);
    braid_out size = OUT(p, "TensorArraySizeV3", NULL, a.handle, flow);
    braid_out all = OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, feed(p, "int32[2] 0 1"), flow);
    expect(p, (braid_out[]){size, all}, 2, "float[2,2] 3 4 1 2");

    p = start();
    a = make_array(p, "dtype=string", "int32[] 3");
    flow = OUT(p, "TensorArrayScatterV3", NULL, a.handle, feed(p, "int32[3] 2 0 1"),
               feed(p, "string[3] a b c"), a.flow);
    expect(p,
           (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=string", a.handle, feed(p, "int32[] 2"), flow)},
           1, "string[] a");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = OUT(p, "TensorArraySplitV3", NULL, a.handle, feed(p, "float[3,1] 1 2 3"), feed(p, "int64[2] 1 2"),
               a.flow);
    expect(p, (braid_out[]){OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow)}, 1,
           "float[3,1] 1 2 3");

    p = start();
    a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 2");
    expect(p,
           (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, feed(p, "int32[0]"), a.flow)},
           1, "float[0,2]");
}

static void test_errors(void **state)
{
    (void)state;
    program *p = start();
    array a = make_array(p, "dtype=float", "int32[] 2");
    expect(p, (braid_out[]){write(p, a, "int32[] 2", feed(p, "float[] 1"), a.flow)}, 1,
           "InvalidArgument: Tried to write to index 2 but array is not resizeable and size is: 2");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    braid_out flow = write(p, a, "int32[] 0", feed(p, "float[] 1"), a.flow);
    expect(p, (braid_out[]){write(p, a, "int32[] 0", feed(p, "float[] 1"), flow)}, 1,
           "InvalidArgument: Could not write to TensorArray index 0 because it has already been written to.");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = write(p, a, "int32[] 0", feed(p, "float[] 1"), a.flow);
    braid_out once = OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, feed(p, "int32[] 0"), flow);
    braid_out twice = OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, feed(p, "int32[] 0"), flow);
    expect(p, (braid_out[]){once, twice}, 2, "InvalidArgument: Could not read index 0 twice");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    expect(p,
           (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, feed(p, "int32[] 1"), a.flow)},
           1, "InvalidArgument: it has not yet been written to");

    p = start();
    a = make_array(p, "dtype=float; element_shape=[?,2]", "int32[] 2");
    expect(p, (braid_out[]){write(p, a, "int32[] 0", feed(p, "float[1,3] 1"), a.flow)}, 1,
           "InvalidArgument: incompatible with the TensorArray's element shape: [?,2].");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    expect(p, (braid_out[]){write(p, a, "int32[] 0", feed(p, "double[] 1"), a.flow)}, 1,
           "InvalidArgument: the value dtype is double but TensorArray dtype is float.");

    p = start();
    expect(p, (braid_out[]){make_array(p, "dtype=float", "int32[] -1").handle}, 1,
           "InvalidArgument: Size should be >= 0");

    p = start();
    expect(p, (braid_out[]){make_array(p, "dtype=float", "int32[] 2147483647").handle}, 1,
           "ResourceExhausted: elements");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    expect(p,
           (braid_out[]){OUT(p, "TensorArraySplitV3", NULL, a.handle, feed(p, "float[3] 1"),
                             feed(p, "int64[2] 1 1"), a.flow)},
           1, "InvalidArgument: Expected sum of lengths to be equal to values.shape[0]");

    p = start();
    a = make_array(p, "dtype=float", "int32[] 2");
    flow = write(p, a, "int32[] 0", feed(p, "float[1] 1"), a.flow);
    flow = write(p, a, "int32[] 1", feed(p, "float[2] 1"), flow);
    expect(
        p,
        (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, feed(p, "int32[2] 0 1"), flow)},
        1,
        "InvalidArgument: TensorArray has inconsistent shapes. Index 0 has shape: [1] but index 1 has shape: [2]");
}

static void test_close(void **state)
{
    (void)state;
    BD_STATUS(st);
    program *p = start();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_op *closed = NODE(p, "TensorArrayCloseV3", NULL, a.handle);
    braid_op_desc *d = braid_op_begin(p->g, "TensorArraySizeV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, a.flow);
    braid_op_control(d, closed);
    braid_out size = braid_op_end_out(d);
    assert_int_equal(braid_graph_status(p->g, st), BRAID_OK);
    expect(p, &size, 1, "InvalidArgument: TensorArray has already been closed.");
}

// ---- Gradients ----

// y = x[0] x[2], each element read for itself; element 1 is not read, so its gradient is 0.
static void check_gradient_of_reads(const char *dtype, const char *values, const char *want)
{
    char attrs[64], type_attr[32];
    snprintf(attrs, sizeof attrs, "dtype=%s; clear_after_read=false", dtype);
    snprintf(type_attr, sizeof type_attr, "dtype=%s", dtype);
    program *p = start();
    array a = make_array(p, attrs, "int32[] 3");
    braid_out x = feed(p, values), grad;
    braid_out flow = OUT(p, "TensorArrayScatterV3", NULL, a.handle, feed(p, "int32[3] 0 1 2"), x, a.flow);
    braid_out first = OUT(p, "TensorArrayReadV3", type_attr, a.handle, feed(p, "int32[] 0"), flow);
    braid_out last = OUT(p, "TensorArrayReadV3", type_attr, a.handle, feed(p, "int32[] 2"), flow);
    braid_out again = OUT(p, "TensorArrayReadV3", type_attr, a.handle, feed(p, "int32[] 2"), flow);
    braid_out y = OUT(p, "Mul", NULL, first, last);
    y = OUT(p, "Add", NULL, y, again); // x[2] is read twice: both gradients count
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    expect(p, (braid_out[]){y, grad}, 2, want);
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
    program *p = start();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_out x = feed(p, "float[2] 2 3"), w = feed(p, "float[2,2] 1 10 100 1000"), grad;
    braid_out flow = write(p, a, "int32[] 0", OUT(p, "Square", NULL, x), a.flow);
    flow = write(p, a, "int32[] 1", x, flow);
    braid_out all = OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, feed(p, "int32[2] 0 1"), flow);
    braid_out y = OUT(p, "Mul", NULL, all, w);
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    expect(p, (braid_out[]){y, grad}, 2, "float[2] 104 1060");
}

static void test_gradient_of_pieces(void **state)
{
    (void)state;
    program *p = start();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_out x = feed(p, "float[3] 2 3 5"), w = feed(p, "float[3] 1 10 100"), grad;
    braid_out flow = OUT(p, "TensorArraySplitV3", NULL, a.handle, x, feed(p, "int64[2] 1 2"), a.flow);
    braid_out all = OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow),
              y = OUT(p, "Mul", NULL, all, w);
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    expect(p, (braid_out[]){y, grad}, 2, "float[3] 1 10 100");
}

static void test_gradient_array(void **state)
{
    (void)state;
    program *p = start(); // one array a source, of the size of the array
    array a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 3");
    braid_op *one = NODE(p, "TensorArrayGradV3", "source=a", a.handle, a.flow);
    braid_op *same = NODE(p, "TensorArrayGradV3", "source=a", a.handle, a.flow);
    array g = {{one, 0}, {one, 1}}, again = {{same, 0}, {same, 1}};
    braid_out flow = write(p, g, "int32[] 2", feed(p, "float[2] 1 2"), g.flow);
    flow = write(p, again, "int32[] 2", feed(p, "float[2] 10 20"), flow);
    expect(
        p,
        (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", g.handle, feed(p, "int32[2] 0 2"), flow)},
        1, "float[2,2] 0 0 11 22");
}

// ---- Stacks ----

static void check_stack(bool v2)
{
    const char *push = v2 ? "StackPushV2" : "StackPush", *pop = v2 ? "StackPopV2" : "StackPop";
    program *p = start();
    braid_out stack = v2 ? OUT(p, "StackV2", "elem_type=float", feed(p, "int32[] 2"))
                         : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    braid_out one = OUT(p, push, NULL, stack, feed(p, "float[] 1"));
    braid_out two = OUT(p, push, NULL, stack, feed(p, "float[2] 2 3"));
    braid_out top = OUT(p, pop, "elem_type=float", stack), below = OUT(p, pop, "elem_type=float", stack);
    expect(p, (braid_out[]){one, two, top, below}, 4, "float[] 1");

    p = start();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    expect(p, (braid_out[]){OUT(p, pop, "elem_type=float", stack)}, 1,
           "InvalidArgument: Stack is empty when calling Pop()");

    p = start();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    expect(p, (braid_out[]){OUT(p, push, NULL, stack, feed(p, "int32[] 1"))}, 1,
           "InvalidArgument: Must have type float");

    p = start();
    stack = v2 ? OUT(p, "StackV2", "elem_type=float", feed(p, "int32[] 2"))
               : (braid_out){op_test_node(p->g, "Stack", "elem_type=float", NULL, 0), 0};
    braid_op *closed = NODE(p, v2 ? "StackCloseV2" : "StackClose", NULL, stack);
    braid_op_desc *d = braid_op_begin(p->g, push, NULL);
    braid_op_input(d, stack);
    braid_op_input(d, feed(p, "float[] 1"));
    braid_op_control(d, closed);
    braid_out late = braid_op_end_out(d);
    expect(p, &late, 1, "InvalidArgument: has already been closed.");
}

static void test_stacks(void **state)
{
    (void)state;
    check_stack(false);
    check_stack(true);
    program *p = start();
    braid_out stack = OUT(p, "StackV2", "elem_type=float", feed(p, "int32[] 1"));
    braid_out one = OUT(p, "StackPushV2", NULL, stack, feed(p, "float[] 1"));
    braid_out two = OUT(p, "StackPushV2", NULL, stack, feed(p, "float[] 1"));
    expect(p, (braid_out[]){one, two}, 2, "InvalidArgument: Stack overflow");
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
