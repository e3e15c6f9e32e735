// Tests of all versions of the TensorArray ops with scalar elements, empty elements, and inputs of wrong
// shapes.
#include "base/testing/test.h"
#include "ops/testing/program.h"

#define OUT PROGRAM_OUT

typedef struct version {
    const char *make, *put, *take, *gather, *scatter, *split, *concat, *size, *grad, *close;
} version;

static const version versions[] = {
    {"TensorArray", "TensorArrayWrite", "TensorArrayRead", "TensorArrayGather", "TensorArrayScatter",
     "TensorArraySplit", "TensorArrayConcat", "TensorArraySize", "TensorArrayGrad", "TensorArrayClose"},
    {"TensorArrayV2", "TensorArrayWriteV2", "TensorArrayReadV2", "TensorArrayGatherV2",
     "TensorArrayScatterV2", "TensorArraySplitV2", "TensorArrayConcatV2", "TensorArraySizeV2",
     "TensorArrayGradV2", "TensorArrayCloseV2"},
    {"TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3",
     "TensorArrayScatterV3", "TensorArraySplitV3", "TensorArrayConcatV3", "TensorArraySizeV3",
     "TensorArrayGradV3", "TensorArrayCloseV3"},
};

// A program over an array of floats.
typedef struct array_case {
    program *p;
    const version *by;
    braid_out handle, flow;
} array_case;

static array_case begin(const version *by, const char *size, const char *flow)
{
    array_case a = {.p = program_new(), .by = by};
    a.handle =
        OUT(a.p, by->make, "dtype=float; dynamic_size=true; clear_after_read=false", program_feed(a.p, size));
    a.flow = program_feed(a.p, flow);
    return a;
}

static array_case begin_two(const version *by)
{
    return begin(by, "int32[] 2", "float[] 0");
}

static void end(array_case *a, braid_out out, const char *want)
{
    program_expect(a->p, &out, 1, want);
}

static braid_out put(array_case *a, const char *index, const char *value)
{
    return OUT(a->p, a->by->put, NULL, a->handle, program_feed(a->p, index), program_feed(a->p, value),
               a->flow);
}
static braid_out take(array_case *a, const char *index)
{
    return OUT(a->p, a->by->take, "dtype=float", a->handle, program_feed(a->p, index), a->flow);
}
static braid_out gather(array_case *a, const char *indices)
{
    return OUT(a->p, a->by->gather, "dtype=float", a->handle, program_feed(a->p, indices), a->flow);
}
static braid_out scatter(array_case *a, const char *indices, const char *value)
{
    return OUT(a->p, a->by->scatter, NULL, a->handle, program_feed(a->p, indices), program_feed(a->p, value),
               a->flow);
}
static braid_out split(array_case *a, const char *value, const char *lengths)
{
    return OUT(a->p, a->by->split, NULL, a->handle, program_feed(a->p, value), program_feed(a->p, lengths),
               a->flow);
}

// ---- Elements ----

static void check_elements(const version *by)
{
    static const char *const values[] = {"float[] 3", "float[0,2]", "float[2] 1 2"};
    for (size_t i = 0; i < BD_COUNTOF(values); i++) {
        array_case a = begin_two(by);
        a.flow = put(&a, "int32[] 1", values[i]);
        end(&a, take(&a, "int32[] 1"), values[i]);
    }
    array_case a = begin_two(by);
    a.flow = scatter(&a, "int32[2] 1 0", "float[2] 5 6");
    end(&a, gather(&a, "int32[2] 0 1"), "float[2] 6 5");
    a = begin_two(by);
    a.flow = scatter(&a, "int32[2] 1 0", "float[2,0,3]");
    end(&a, gather(&a, "int32[2] 0 1"), "float[2,0,3]");
    a = begin_two(by);
    a.flow = scatter(&a, "int32[0]", "float[0]");
    end(&a, OUT(a.p, by->size, NULL, a.handle, a.flow), "int32[] 2");
    a = begin_two(by);
    a.flow = split(&a, "float[0,3]", "int64[2] 0 0");
    end(&a, (OUT(a.p, by->concat, "dtype=float", a.handle, a.flow)), "float[0,3]");
    a = begin(by, "int32[] 0", "float[] 0");
    a.flow = split(&a, "float[0]", "int64[0]");
    end(&a, OUT(a.p, by->size, NULL, a.handle, a.flow), "int32[] 0");
    a = begin(by, "int32[] 0", "float[] 0");
    end(&a, OUT(a.p, by->concat, "dtype=float; element_shape_except0=[2]", a.handle, a.flow), "float[0,2]");
}

// The flow only orders the ops.
static void check_flow(const version *by)
{
    array_case a = begin(by, "int32[] 2", "float[0]");
    end(&a, OUT(a.p, by->size, NULL, a.handle, a.flow), "int32[] 2");
    a = begin(by, "int32[] 2", "float[0]");
    braid_out source = by == &versions[0] ? OUT(a.p, "Identity", NULL, a.handle) : a.handle;
    a.handle = OUT(a.p, by->grad, "source=g", source, a.flow);
    end(&a, OUT(a.p, by->size, NULL, a.handle, a.flow), "int32[] 2");
}

static void elements_are_of_any_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(versions); i++) {
        check_elements(&versions[i]);
        check_flow(&versions[i]);
    }
}

static void all_elements_may_be_empty_or_scalars(void **state)
{
    (void)state;
    static const char *const wholes[] = {"float[2] 1 2", "float[2,0]"};
    for (size_t i = 0; i < BD_COUNTOF(wholes); i++) {
        array_case a = begin_two(&versions[0]);
        a.flow = OUT(a.p, "TensorArrayUnpack", NULL, a.handle, program_feed(a.p, wholes[i]), a.flow);
        end(&a, OUT(a.p, "TensorArrayPack", "dtype=float", a.handle, a.flow), wholes[i]);
    }
    array_case a = begin_two(&versions[0]);
    end(&a, OUT(a.p, "TensorArrayUnpack", NULL, a.handle, program_feed(a.p, "float[] 1"), a.flow),
        "InvalidArgument: Input value for unpack must be at least a vector but received shape: []");
    a = begin(&versions[0], "int32[] 0", "float[] 0");
    end(&a, OUT(a.p, "TensorArrayPack", "dtype=float; element_shape=[2]", a.handle, a.flow), "float[0,2]");
}

// ---- What is refused ----

static void check_refused(const version *by)
{
    const op_case sizes[] = {
        {by->make, "dtype=float", "int32[1] 2",
         "InvalidArgument: TensorArray size must be scalar, but had shape: [1]"},
        {by->make, "dtype=float", "int32[0]",
         "InvalidArgument: TensorArray size must be scalar, but had shape: [0]"},
        {by->make, "dtype=float", "int32[] -1", "InvalidArgument: Size should be >= 0, but is -1"},
    };
    OP_TEST_VALUES(sizes);
    static const struct {
        const char *indices, *want;
    } indices[] = {{"int32[1] 0", "InvalidArgument: TensorArray index must be scalar, but had shape: [1]"},
                   {"int32[0]", "InvalidArgument: TensorArray index must be scalar, but had shape: [0]"}};
    for (size_t i = 0; i < BD_COUNTOF(indices); i++) {
        array_case a = begin_two(by);
        end(&a, put(&a, indices[i].indices, "float[] 1"), indices[i].want);
        a = begin_two(by);
        end(&a, take(&a, indices[i].indices), indices[i].want);
    }
    array_case a = begin_two(by);
    end(&a, gather(&a, "int32[] 0"),
        "InvalidArgument: Expected indices to be a vector, but received shape: []");
    a = begin_two(by);
    end(&a, scatter(&a, "int32[] 0", "float[1] 1"),
        "InvalidArgument: Expected indices to be a vector, but received shape: []");
    a = begin_two(by);
    end(&a, scatter(&a, "int32[1] 0", "float[] 1"),
        "InvalidArgument: Input value for unpack must be at least a vector but received shape: []");
    a = begin_two(by);
    end(&a, scatter(&a, "int32[0]", "float[1] 1"),
        "InvalidArgument: Expected len(indices) == values.shape[0], but saw: 0 vs. 1");
    a = begin_two(by);
    end(&a, scatter(&a, "int32[1] -1", "float[1] 1"), "InvalidArgument: ");
    a = begin_two(by);
    end(&a, split(&a, "float[] 1", "int64[1] 1"),
        "InvalidArgument: Expected value to be at least a vector, but received shape: []");
    a = begin_two(by);
    end(&a, split(&a, "float[1] 1", "int64[] 1"),
        "InvalidArgument: Expected lengths to be a vector, received shape: []");
}

static void inputs_of_other_shapes_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(versions); i++)
        check_refused(&versions[i]);
}

static void gradients_of_a_larger_shape(void **state)
{
    (void)state;
    static const struct {
        const char *prepend, *want;
    } cases[] = {
        {"int32[1] 3", "float[3,2] 0"},
        {"int32[0]", "float[2] 0"},
        {"int32[1] 0", "float[0,2]"},
        {"int32[] 3", "InvalidArgument: shape_to_prepend must be a vector"},
        {"int32[1] -1", "InvalidArgument: "},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        program *p = program_new();
        braid_out size = program_feed(p, "int32[] 2"), zero = program_feed(p, "float[] 0");
        braid_out array = OUT(p, "TensorArrayV3", "dtype=float; element_shape=[2]", size);
        braid_out grad =
            OUT(p, "TensorArrayGradWithShape", "source=g", array, zero, program_feed(p, cases[i].prepend));
        braid_out out = OUT(p, "TensorArrayReadV3", "dtype=float", grad, program_feed(p, "int32[] 1"), zero);
        program_expect(p, &out, 1, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_of_any_shape),
        cmocka_unit_test(all_elements_may_be_empty_or_scalars),
        cmocka_unit_test(inputs_of_other_shapes_are_refused),
        cmocka_unit_test(gradients_of_a_larger_shape),
    };
    return BD_RUN_TESTS(tests);
}
