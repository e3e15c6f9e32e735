// Tests of LRN and LRNGrad.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

// Values computed with numpy in double from the definition; gradients by differences.
static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "LRN",
         .inputs = "float[1,2,2,3] 1.75 -0.25 -0.5 -2.625 -0 -0.375 -0.5 0.375 0.375 -1.125 -0.875 -0.5",
         .want = "float[1,2,2,3] 0.83666003 -0.11952286 -0.23904572 -0.92627029 -0 -0.13232433 -0.40406102 "
                 "0.30304576 0.30304576 -0.621059 -0.48304589 -0.27602622",
         .tolerance = 1e-06},
        {.op = "LRN",
         .attrs = "depth_radius=1; bias=2; alpha=0.5; beta=0.75",
         .inputs = "float[2,1,1,5] 0.625 0.125 0.75 -0.625 -0.125 -0.625 -0.25 -0.5 -0.125 -0.375",
         .want = "float[2,1,1,5] 0.34562143 0.063168003 0.37900802 -0.31584002 -0.069124286 -0.34288923 "
                 "-0.13165053 -0.28023195 -0.069124286 -0.21665939",
         .tolerance = 1e-06},
        {.op = "LRN",
         .attrs = "depth_radius=0; alpha=0.25; beta=1",
         .inputs = "float[1,1,2,2] 1.125 -1 0.25 0.125",
         .want = "float[1,1,2,2] 0.85459941 -0.8 0.24615385 0.12451362",
         .tolerance = 1e-06},
        {.op = "LRNGrad",
         .inputs = "float[1,2,2,3] 0.75 0.5 -1.25 -1.125 0.75 1.625 -0 -0.625 1.125 -0.25 0.75 1.5; "
                   "float[1,2,2,3] 1.75 -0.25 -0.5 -2.625 -0 -0.375 -0.5 0.375 0.375 -1.125 -0.875 -0.5; "
                   "float[1,2,2,3] 0.83666003 -0.11952286 -0.23904572 -0.92627029 -0 -0.13232433 -0.40406102 "
                   "0.30304576 0.30304576 -0.621059 -0.48304589 -0.27602622",
         .want = "float[1,2,2,3] 0.011952286 0.28856234 -0.49858108 -0.12666064 0.26464865 0.61202147 "
                 "0.049476859 -0.54218392 0.87202965 -0.35094763 0.2484236 0.73344111",
         .tolerance = 1e-05},
        {.op = "LRNGrad",
         .attrs = "depth_radius=1; bias=2; alpha=0.5; beta=0.75",
         .inputs = "float[2,1,1,5] 0.125 0.125 0.25 1.375 -1.5 1.25 -0.25 -1.25 -0.125 0.125; float[2,1,1,5] "
                   "0.625 0.125 0.75 -0.625 -0.125 -0.625 -0.25 -0.5 -0.125 -0.375; float[2,1,1,5] "
                   "0.34562143 0.063168003 0.37900802 -0.31584002 -0.069124286 -0.34288923 -0.13165053 "
                   "-0.28023195 -0.069124286 -0.21665939",
         .want = "float[2,1,1,5] 0.058442415 0.057456082 0.2014225 0.65284709 -0.84146717 0.60210512 "
                 "-0.13476984 -0.63316057 -0.054803352 0.069657554",
         .tolerance = 1e-05},
        {.op = "LRNGrad",
         .attrs = "depth_radius=0; alpha=0.25; beta=1",
         .inputs = "float[1,1,2,2] -1.625 -1.125 0.625 0.75; float[1,1,2,2] 1.125 -1 0.25 0.125; "
                   "float[1,1,2,2] 0.85459941 -0.8 0.24615385 0.12451362",
         .want = "float[1,1,2,2] -0.64102 -0.54 0.5964497 0.74126785",
         .tolerance = 1e-05},
        {.op = "LRN", .inputs = "float[0,2,2,3]", .want = "float[0,2,2,3]"},
        {.op = "LRN", .inputs = "float[1,2,2,0]", .want = "float[1,2,2,0]"},
        // 3 / sqrt(1 + 9 + 0): every channel is a neighbour
        {.op = "LRN",
         .attrs = "depth_radius=2147483647",
         .inputs = "float[1,1,1,2] 3 0",
         .want = "float[1,1,1,2] 0.9486833 0"},
        {.op = "LRN", .inputs = "half[1,1,1,1] 0x0000", .want = "half[1,1,1,1] 0x0000"},
        {.op = "LRNGrad",
         .attrs = "alpha=0.0",
         .inputs = "half[1,1,1,2] 0x3c00 0x4000; half[1,1,1,2] 0x4200 0x4400; half[1,1,1,2] 0x4200 0x4400",
         .want = "half[1,1,1,2] 0x3c00 0x4000"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "LRN", .inputs = "float[2,2] 1", .want = "InvalidArgument: must be 4-dimensional"},
        {.op = "LRN",
         .attrs = "depth_radius=2147483648",
         .inputs = "float[1,1,1,1] 1",
         .want = "InvalidArgument: depth_radius = 2147483648"},
        {.op = "LRNGrad",
         .inputs = "float[1,1,1,2] 1; float[1,1,1,1] 1; float[1,1,1,2] 1",
         .want = "InvalidArgument: should have the same shape"},
        {.op = "LRN", .inputs = "float[] 1", .want = "InvalidArgument: must be 4-dimensional"},
        {.op = "LRNGrad",
         .inputs = "float[0,2,2,3]; float[0,2,2,3]; float[0,2,2,3]",
         .want = "float[0,2,2,3]"},
        {.op = "LRNGrad",
         .inputs = "float[] 1; float[] 1; float[] 1",
         .want = "InvalidArgument: must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"LRN", NULL, "[?,2,3,4]", "[?,2,3,4]"},
        {"LRN", NULL, "[2,3,4]", "InvalidArgument: must be rank 4 but is rank 3"},
        {"LRNGrad", NULL, "[?,2,3,4]; [1,?,3,4]; ?", "[1,2,3,4]"},
        {"LRNGrad", NULL, "[1,2,3,4]; [1,2,3,5]; ?", "InvalidArgument: Shapes of images differ"},
    };
    OP_TEST_SHAPES(cases);
}

// The gradient function copies all attrs: its result equals that of LRNGrad.
static void the_gradient_matches_finite_differences(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char attrs[] = "depth_radius=1; bias=2; alpha=0.5; beta=0.75";
    braid_graph *g = braid_graph_new();
    braid_tensor pixels, got[2];
    op_test_tensor(&pixels, "float[1,1,1,3] 1 -2 3");
    braid_out x = bd_b_const(g, NULL, &pixels), y = braid_output(op_test_node(g, "LRN", attrs, &x, 1), 0),
              grads[2];
    braid_gradients(g, &y, 1, &x, 1, NULL, &grads[0]);
    braid_out in[] = {bd_b1(g, "OnesLike", NULL, y), x, y};
    grads[1] = braid_output(op_test_node(g, "LRNGrad", attrs, in, 3), 0);
    op_test_eval(NULL, 0, grads, 2, got, st);
    assert_ok(st);
    assert_memory_equal(got[0].data, got[1].data, 3 * sizeof(float));
    bd_tensor_fini(&got[0]);
    bd_tensor_fini(&got[1]);
    bd_tensor_fini(&pixels);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(the_gradient_matches_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
