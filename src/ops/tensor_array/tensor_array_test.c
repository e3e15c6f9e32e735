// Tests of TensorArrays and stacks: order, errors, and gradients by gradient arrays.
#include "base/testing/test.h"
#include "graph/evaluate.h"
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

static void written_elements_are_gathered(void **state)
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

static void wrong_inputs_are_errors(void **state)
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
    program_expect(
        p,
        (braid_out[]){
            OUT(p, "TensorArrayReadV3", "dtype=float", a.handle, program_feed(p, "int32[] 1"), a.flow)},
        1,
        "InvalidArgument: Could not read from TensorArray index 1.  Furthermore, the element shape is not fully "
        "defined: <unknown>.");

    p = program_new();
    a = make_array(p, "dtype=float; element_shape=[?,2]", "int32[] 2");
    program_expect(
        p, (braid_out[]){write(p, a, "int32[] 0", program_feed(p, "float[1,3] 1"), a.flow)}, 1,
        "InvalidArgument: incompatible with the TensorArray's inferred element shape: [?,2] (consider");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 2");
    program_expect(p, (braid_out[]){write(p, a, "int32[] 0", program_feed(p, "double[] 1"), a.flow)}, 1,
                   "InvalidArgument: TensorArray dtype is float but Op is trying to write dtype double.");

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
        "InvalidArgument: TensorArray has inconsistent shapes.  Index 0 has shape: [1] but index 1 has shape: [2]");
}

static void a_closed_array_is_an_error(void **state)
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

// Phrases that programs look for.
static void wrong_writes_of_many_elements_are_refused(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float", "int32[] 2");
    braid_out flow = write(p, a, "int32[] 0", program_feed(p, "float[] 1"), a.flow);
    flow = write(p, a, "int32[] 1", program_feed(p, "float[] 1"), flow);
    program_expect(
        p, (braid_out[]){OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow)}, 1,
        "InvalidArgument: Concat saw a scalar shape at index 0 but requires at least vectors.  Did you mean");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 0");
    program_expect(
        p, (braid_out[]){OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, a.flow)}, 1,
        "Unimplemented: TensorArray has size zero, but element_shape_except0 <unknown> is not fully");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 0");
    program_expect(
        p,
        (braid_out[]){
            OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle, program_feed(p, "int32[0]"), a.flow)},
        1, "Unimplemented: TensorArray has size zero, but element shape <unknown> is not fully defined.");

    p = program_new();
    a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 1");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float; element_shape=[3]", a.handle,
                                     program_feed(p, "int32[1] 0"), a.flow)},
                   1, "InvalidArgument: Incompatible shapes during merge: [2] vs. [3]");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 1");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=double", a.handle,
                                     program_feed(p, "int32[] 0"), a.flow)},
                   1, "InvalidArgument: TensorArray dtype is float but Op requested dtype double.");

    p = program_new();
    a = make_array(p, "dtype=float", "int32[] 1");
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayScatterV3", NULL, a.handle, program_feed(p, "int32[1] 1"),
                                     program_feed(p, "float[1] 1"), a.flow)},
                   1, "InvalidArgument: Max scatter index must be < array size (1 vs. 1)");

    static const struct {
        const char *value, *lengths, *want;
    } rows[] = {
        {"float[3] 1", "int64[] 1", "Expected lengths to be a vector, received shape: []"},
        {"float[] 1", "int64[1] 1", "Expected value to be at least a vector, but received shape: []"},
        {"float[3] 1", "int64[1] 1",
         "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is 1 and value's shape is: [3]"},
        {"float[1] 1", "int64[1] 1",
         "TensorArray's size is not equal to the size of lengths (2 vs. 1), and the TensorArray is not marked as "
         "dynamically resizeable"},
        {"float[1] 1", "int64[2] -1 2", "Expected lengths that are not negative"},
        {"float[1] 1", "int64[2] 9223372036854775807 2", "can be added up"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        char want[192];
        snprintf(want, sizeof want, "InvalidArgument: %s", rows[i].want);
        p = program_new();
        a = make_array(p, "dtype=float", "int32[] 2");
        program_expect(
            p,
            (braid_out[]){OUT(p, "TensorArraySplitV3", NULL, a.handle, program_feed(p, rows[i].value),
                              program_feed(p, rows[i].lengths), a.flow)},
            1, want);
    }
}

// With identical shapes the first written element gives the shape of the unwritten ones.
static void elements_may_have_to_be_of_one_shape(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float; identical_element_shapes=true", "int32[] 2");
    braid_out flow = write(p, a, "int32[] 1", program_feed(p, "float[2] 1 2"), a.flow);
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayGatherV3", "dtype=float", a.handle,
                                     program_feed(p, "int32[2] 0 1"), flow)},
                   1, "float[2,2] 0 0 1 2");
}

// The ops of older programs, whose handles are strings or references to strings.
typedef struct names {
    const char *make, *put, *take, *gather, *scatter, *split, *concat, *size, *grad, *close;
} names;
static const names references = {
    "TensorArray",      "TensorArrayWrite",  "TensorArrayRead", "TensorArrayGather", "TensorArrayScatter",
    "TensorArraySplit", "TensorArrayConcat", "TensorArraySize", "TensorArrayGrad",   "TensorArrayClose"};
static const names strings = {"TensorArrayV2",       "TensorArrayWriteV2",   "TensorArrayReadV2",
                              "TensorArrayGatherV2", "TensorArrayScatterV2", "TensorArraySplitV2",
                              "TensorArrayConcatV2", "TensorArraySizeV2",    "TensorArrayGradV2",
                              "TensorArrayCloseV2"};

// The same by these, where `gather` may be the op that takes no indices.
static void check_old(const names *by, const char *gather)
{
    for (int what = 0; what < 4; what++) {
        program *p = program_new();
        braid_out flow = program_feed(p, "float[] 0");
        braid_out h = OUT(p, by->make, "dtype=float; clear_after_read=false", program_feed(p, "int32[] 2"));
        flow = OUT(p, by->put, NULL, h, program_feed(p, "int32[] 1"), program_feed(p, "float[1] 7"), flow);
        flow = OUT(p, by->put, NULL, h, program_feed(p, "int32[] 0"), program_feed(p, "float[1] 5"), flow);
        if (what == 0)
            program_expect(
                p, (braid_out[]){OUT(p, by->take, "dtype=float", h, program_feed(p, "int32[] 1"), flow)}, 1,
                "float[1] 7");
        else if (what == 1)
            program_expect(p, (braid_out[]){OUT(p, by->size, NULL, h, flow)}, 1, "int32[] 2");
        else if (what == 2)
            program_expect(
                p,
                (braid_out[]){strcmp(gather, "TensorArrayPack") == 0
                                  ? OUT(p, gather, "dtype=float", h, flow)
                                  : OUT(p, gather, "dtype=float", h, program_feed(p, "int32[2] 0 1"), flow)},
                1, "float[2,1] 5 7");
        else
            program_expect(p, (braid_out[]){OUT(p, by->concat, "dtype=float", h, flow)}, 1, "float[2] 5 7");
    }
}

static void old_versions_behave_alike(void **state)
{
    (void)state;
    check_old(&references, "TensorArrayPack");
    check_old(&references, references.gather);
    check_old(&strings, strings.gather);
}

static void old_versions_of_many_elements_behave_alike(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const names *by = i == 0 ? &references : &strings;
        program *p = program_new(); // gradients are added up
        braid_out zero = program_feed(p, "float[] 0"), one = program_feed(p, "int32[] 1");
        braid_out h = OUT(p, by->make, "dtype=float", program_feed(p, "int32[] 2"));
        braid_out handle = i == 0 ? OUT(p, "Identity", NULL, h) : h; // the first version takes a string there
        braid_out g = OUT(p, by->grad, "source=a", handle, zero);
        braid_out flow = OUT(p, by->put, NULL, g, one, program_feed(p, "float[1] 7"), zero);
        flow = OUT(p, by->put, NULL, g, one, program_feed(p, "float[1] 5"), flow);
        program_expect(p, (braid_out[]){OUT(p, by->take, "dtype=float", g, one, flow)}, 1, "float[1] 12");

        p = program_new();
        zero = program_feed(p, "float[] 0"), one = program_feed(p, "int32[] 1");
        h = OUT(p, by->make, "dtype=float", program_feed(p, "int32[] 2"));
        flow =
            OUT(p, by->scatter, NULL, h, program_feed(p, "int32[1] 1"), program_feed(p, "float[1] 9"), zero);
        program_expect(p, (braid_out[]){OUT(p, by->take, "dtype=float", h, one, flow)}, 1, "float[] 9");

        p = program_new();
        zero = program_feed(p, "float[] 0"), one = program_feed(p, "int32[] 1");
        h = OUT(p, by->make, "dtype=float", program_feed(p, "int32[] 2"));
        flow = OUT(p, by->split, NULL, h, program_feed(p, "float[3] 1 2 3"), program_feed(p, "int64[2] 1 2"),
                   zero);
        program_expect(p, (braid_out[]){OUT(p, by->take, "dtype=float", h, one, flow)}, 1, "float[2] 2 3");

        p = program_new();
        h = OUT(p, by->make, "dtype=float", program_feed(p, "int32[] 2"));
        braid_op *closed = NODE(p, by->close, NULL, h);
        braid_op_desc *d = braid_op_begin(p->g, by->take, NULL);
        braid_op_input(d, h);
        braid_op_input(d, program_feed(p, "int32[] 0"));
        braid_op_input(d, program_feed(p, "float[] 0"));
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        braid_op_control(d, closed);
        braid_out late = braid_op_end_out(d);
        program_expect(p, &late, 1, "InvalidArgument: has already been closed.");
    }
}

static void unpack_writes_all_elements(void **state)
{
    (void)state;
    program *p = program_new();
    braid_out h = OUT(p, "TensorArray", "dtype=float", program_feed(p, "int32[] 2"));
    braid_out flow =
        OUT(p, "TensorArrayUnpack", NULL, h, program_feed(p, "float[2] 1 2"), program_feed(p, "float[] 0"));
    program_expect(
        p, (braid_out[]){OUT(p, "TensorArrayRead", "dtype=float", h, program_feed(p, "int32[] 1"), flow)}, 1,
        "float[] 2");
    p = program_new();
    h = OUT(p, "TensorArray", "dtype=float", program_feed(p, "int32[] 2"));
    flow = OUT(p, "TensorArrayUnpack", NULL, h, program_feed(p, "float[1] 1"), program_feed(p, "float[] 0"));
    program_expect(
        p, &flow, 1,
        "InvalidArgument: Input value must have first dimension equal to the array size (1 vs. 2)");
    p = program_new();
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArraySizeV2", NULL, program_feed(p, "string[3] a b c"),
                                     program_feed(p, "float[] 0"))},
                   1, "InvalidArgument: input 0 is no handle of a TensorArray");
    p = program_new();
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArraySizeV2", NULL, program_feed(p, "string[2] a b"),
                                     program_feed(p, "float[] 0"))},
                   1, "NotFound: ");
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

static void gradients_of_reads_are_summed(void **state)
{
    (void)state;
    check_gradient_of_reads("float", "float[3] 2 3 5", "float[3] 5 0 3");
    check_gradient_of_reads("half", "half[3] 0x4000 0x4200 0x4500", "half[3] 0x4500 0 0x4200");
}

static void gradients_of_writes_are_read(void **state)
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

static void gradients_of_split_and_concat_are_split(void **state)
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

// x [2] is written by one of the old ops; returns the result of another.
static braid_out through_old(program *p, const names *by, int what, braid_out x)
{
    braid_out flow = program_feed(p, "float[] 0"), one = program_feed(p, "int32[] 1");
    const braid_out h = OUT(p, by->make, "dtype=float", program_feed(p, "int32[] 2"));
    if (what == 0) {
        flow = OUT(p, by->scatter, NULL, h, program_feed(p, "int32[2] 1 0"), x, flow);
        return OUT(p, by->gather, "dtype=float", h, program_feed(p, "int32[2] 0 1"), flow);
    }
    if (what == 1) {
        flow = OUT(p, by->split, NULL, h, x, program_feed(p, "int64[2] 1 1"), flow);
        return OUT(p, by->concat, "dtype=float", h, flow);
    }
    flow = OUT(p, by->put, NULL, h, one, x, flow);
    return OUT(p, by->take, "dtype=float", h, one, flow);
}

static void gradients_of_old_versions_behave_alike(void **state)
{
    (void)state;
    static const char *const want[] = {"float[2] 100 10", "float[2] 10 100", "float[2] 10 100"};
    for (int i = 0; i < 6; i++) {
        program *p = program_new();
        braid_out x = program_feed(p, "float[2] 2 3"), grad;
        const braid_out back = through_old(p, i < 3 ? &references : &strings, i % 3, x);
        braid_out y = OUT(p, "Mul", NULL, back, program_feed(p, "float[2] 10 100"));
        braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
        program_expect(p, (braid_out[]){y, grad}, 2, want[i % 3]);
    }
}

static void each_source_has_one_gradient_array(void **state)
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

static void a_gradient_array_may_have_another_shape(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 2");
    braid_op *op =
        NODE(p, "TensorArrayGradWithShape", "source=a", a.handle, a.flow, program_feed(p, "int32[1] 3"));
    array g = {{op, 0}, {op, 1}};
    program_expect(p,
                   (braid_out[]){OUT(p, "TensorArrayReadV3", "dtype=float", g.handle,
                                     program_feed(p, "int32[] 1"), g.flow)},
                   1, "float[3,2] 0");
    p = program_new();
    a = make_array(p, "dtype=float; element_shape=[2]", "int32[] 2");
    op = NODE(p, "TensorArrayGradWithShape", "source=a", a.handle, a.flow, program_feed(p, "int32[12] 1"));
    program_expect(p, (braid_out[]){{op, 0}}, 1, "InvalidArgument: A gradient would have 13 dimensions");
}

// The gradient array of elements that were written at once has the size of the array, even after it has
// grown.
static void a_gradient_array_has_the_size_of_the_grown_array(void **state)
{
    (void)state;
    program *p = program_new();
    array a = make_array(p, "dtype=float; dynamic_size=true", "int32[] 0");
    braid_out x = program_feed(p, "float[3] 2 3 5"), w = program_feed(p, "float[4] 1 10 100 1000"), grad;
    braid_out flow =
        OUT(p, "TensorArraySplitV3", NULL, a.handle, x, program_feed(p, "int64[3] 1 1 1"), a.flow);
    flow = write(p, a, "int32[] 3", program_feed(p, "float[1] 7"), flow);
    braid_out all = OUT(p, "TensorArrayConcatV3", "dtype=float", a.handle, flow),
              y = OUT(p, "Mul", NULL, all, w);
    braid_gradients(p->g, &y, 1, &x, 1, NULL, &grad);
    program_expect(p, (braid_out[]){y, grad}, 2, "float[3] 1 10 100");
}

// A graph of a stranger may have a constant in place of a handle, and nodes of constants are computed when
// the graph is rewritten, where there are no resources.
static void a_constant_is_no_handle(void **state)
{
    (void)state;
    program *p = program_new();
    const braid_op *size =
        NODE(p, "TensorArraySizeV2", NULL, program_feed(p, "string[2] a b"), program_feed(p, "float[] 0"));
    braid_tensor inputs[] = {p->bindings[0].value.tensor, p->bindings[1].value.tensor}, output = {0};
    BD_STATUS(st);
    assert_int_equal(bd_evaluate_node(size, inputs, &output, st), BRAID_UNIMPLEMENTED);
    program_expect(p, (braid_out[]){{(braid_op *)size, 0}}, 1, "NotFound: Resource a/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_elements_are_gathered),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(wrong_writes_of_many_elements_are_refused),
        cmocka_unit_test(elements_may_have_to_be_of_one_shape),
        cmocka_unit_test(old_versions_behave_alike),
        cmocka_unit_test(old_versions_of_many_elements_behave_alike),
        cmocka_unit_test(unpack_writes_all_elements),
        cmocka_unit_test(a_closed_array_is_an_error),
        cmocka_unit_test(gradients_of_reads_are_summed),
        cmocka_unit_test(gradients_of_writes_are_read),
        cmocka_unit_test(gradients_of_split_and_concat_are_split),
        cmocka_unit_test(gradients_of_old_versions_behave_alike),
        cmocka_unit_test(each_source_has_one_gradient_array),
        cmocka_unit_test(a_gradient_array_may_have_another_shape),
        cmocka_unit_test(a_gradient_array_has_the_size_of_the_grown_array),
        cmocka_unit_test(a_constant_is_no_handle),
    };
    return BD_RUN_TESTS(tests);
}
