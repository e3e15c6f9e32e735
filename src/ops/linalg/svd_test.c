// Tests of Svd. Values are small enough to be checked by hand; signs of vectors are LAPACK's.
#include "base/testing/test.h"
#include "ops/testing/op_case.h"
#include "ops/testing/op_test.h"

#include <string.h>

#define ROOT "0.7071067811865476"
#define TALL "double[3,2] 0 2 3 0 0 0"
#define WIDE "double[2,3] 0 3 0 2 0 0"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Svd", NULL, TALL, "double[2] 3 2; double[3,2] 0 1 1 0 0 0; double[2,2] 1 0 0 1"},
        {"Svd", "full_matrices=true", TALL,
         "double[2] 3 2; double[3,3] 0 1 0 1 0 0 0 0 1; double[2,2] 1 0 0 1"},
        {"Svd", "compute_uv=false", TALL, "double[2] 3 2; double[0]; double[0]"},
        {"Svd", "compute_uv=false; full_matrices=true", WIDE, "double[2] 3 2; double[0]; double[0]"},
        {"Svd", NULL, WIDE, "double[2] 3 2; double[2,2] -1 0 0 -1; double[3,2] 0 -1 -1 0 0 0"},
        {"Svd", "full_matrices=true", WIDE,
         "double[2] 3 2; double[2,2] -1 0 0 -1; double[3,3] 0 -1 0 -1 0 0 0 0 1"},
        {"Svd", NULL, "float[2,2,1] 3 4 0 -2",
         "float[2,1] 5 2; float[2,2,1] -0.6 -0.8 0 1; float[2,1,1] -1 -1"},
        {"Svd", NULL, "complex128[1,2] 3 4j",
         "complex128[1] 5; complex128[1,1] 1; complex128[2,1] 0.6 -0.8j"},
        {"Svd", "compute_uv=false", "complex64[1,1] 3-4j", "complex64[1] 5; complex64[0]; complex64[0]"},
        {"Svd", NULL, "double[2,2] 1 nan 0 1", "double[2] nan; double[2,2] nan; double[2,2] nan"},
        {"Svd", "compute_uv=false", "complex64[1,1] inf", "complex64[1] nan+0j; complex64[0]; complex64[0]"},
        {"Svd", NULL, "float[0,3]", "float[0]; float[0,0]; float[3,0]"},
        {"Svd", "full_matrices=true", "float[2,0]", "float[0]; float[2,2] 1 0 0 1; float[0,0]"},
        {"Svd", "full_matrices=true", "complex64[2,0,2]",
         "complex64[2,0]; complex64[2,0,0]; complex64[2,2,2] 1 0 0 1 1 0 0 1"},
        {"Svd", "compute_uv=false", "float[0,2,3]", "float[0,2]; float[0]; float[0]"},
        {"Svd", "full_matrices=true", "float[8000000000,0]", "InvalidArgument: too many elements"},
        {"Svd", NULL, "float[0,100000,100000]",
         "InvalidArgument: Matrices of 100000 by 100000 numbers are too large for LAPACK"},
        {"Svd", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"BatchSvd", NULL, "double[2,1,1] 3 -4", "double[2,1] 3 4; double[2,1,1] 1; double[2,1,1] 1 -1"},
        {"BatchSvd", NULL, "double[0,1,1]", "double[0,1]; double[0,1,1]; double[0,1,1]"},
        {"BatchSvd", NULL, "double[] 1", "InvalidArgument: must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Svd", NULL, "[5,4,3]", "[5,3]; [5,4,3]; [5,3,3]"},
        {"Svd", "full_matrices=true", "[5,4,3]", "[5,3]; [5,4,4]; [5,3,3]"},
        {"Svd", "compute_uv=false", "[5,4,3]", "[5,3]; [0]; [0]"},
        {"Svd", NULL, "[?,3]", "[?]; [?,?]; [3,?]"},
        {"Svd", NULL, "?", "?; ?; ?"},
        {"Svd", "compute_uv=false", "?", "?; [0]; [0]"},
        {"Svd", NULL, "[3]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Svd", NULL, "double[2,2,2] 1 2 4 6 3 1 -1 2"},
        {"Svd", NULL, "double[2,2,2] 1 2 4 6 3 1 -1 2", .output = 1},
        {"Svd", NULL, "double[2,2,2] 1 2 4 6 3 1 -1 2", .output = 2},
        {"Svd", NULL, "double[3,2] 1 2 3 5 -1 2"},
        {"Svd", NULL, "double[3,2] 1 2 3 5 -1 2", .output = 1},
        {"Svd", NULL, "double[3,2] 1 2 3 5 -1 2", .output = 2},
        {"Svd", NULL, "double[2,4] 1 2 3 5 -1 2 4 0.5"},
        {"Svd", NULL, "double[2,4] 1 2 3 5 -1 2 4 0.5", .output = 1},
        {"Svd", NULL, "double[2,4] 1 2 3 5 -1 2 4 0.5", .output = 2},
        {"Svd", "full_matrices=true", "double[3,2] 1 2 3 5 -1 2", .known_shapes_only = true},
        {"Svd", "full_matrices=true", "double[3,2] 1 2 3 5 -1 2", .output = 1, .known_shapes_only = true},
        {"Svd", "full_matrices=true", "double[3,2] 1 2 3 5 -1 2", .output = 2, .known_shapes_only = true},
        {"Svd", "full_matrices=true", "double[2,3] 1 2 3 5 -1 2", .known_shapes_only = true},
        {"Svd", "full_matrices=true", "double[2,3] 1 2 3 5 -1 2", .output = 1, .known_shapes_only = true},
        {"Svd", "full_matrices=true", "double[2,3] 1 2 3 5 -1 2", .output = 2, .known_shapes_only = true},
        {"Svd", "compute_uv=false", "double[2,3] 1 2 3 5 -1 2"},
        {"Svd", "compute_uv=false", "complex128[2,2] 1 2j 4-1j 6"},
    };
    OP_TEST_GRADIENTS(cases);
}

// TensorFlow has no such gradient either.
static void full_matrices_of_other_sizes_have_no_gradient(void **state)
{
    (void)state;
    const op_text text = {.dtype = BRAID_DOUBLE, .shape = bd_shape2(4, 2)};
    braid_graph *g = braid_graph_new();
    const braid_out x = op_case_input(g, &text, true);
    braid_op *svd = op_test_node(g, "Svd", "full_matrices=true", &x, 1);
    const braid_out u = braid_output(svd, 1);
    braid_out grad;
    braid_gradients(g, &u, 1, &x, 1, NULL, &grad);
    BD_STATUS(st);
    assert_int_equal(braid_graph_status(g, st), BRAID_UNIMPLEMENTED);
    assert_non_null(strstr(braid_status_message(st), "differ by at most 1, for node 'Svd'"));
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(full_matrices_of_other_sizes_have_no_gradient),
    };
    return BD_RUN_TESTS(tests);
}
