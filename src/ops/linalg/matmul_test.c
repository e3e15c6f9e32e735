// Tests of matrix products.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatMul", NULL, "float[2,3] 1 2 3 4 5 6; float[3,2] 7 8 9 10 11 12", "float[2,2] 58 64 139 154"},
        {"MatMul", "transpose_a=true", "float[3,2] 1 4 2 5 3 6; float[3,2] 7 8 9 10 11 12",
         "float[2,2] 58 64 139 154"},
        {"MatMul", "transpose_b=true", "float[2,3] 1 2 3 4 5 6; float[2,3] 7 9 11 8 10 12",
         "float[2,2] 58 64 139 154"},
        {"MatMul", "transpose_a=true; transpose_b=true", "float[3,2] 1 4 2 5 3 6; float[2,3] 7 9 11 8 10 12",
         "float[2,2] 58 64 139 154"},
        {"MatMul", NULL, "double[2,3] 1 2 3 4 5 6; double[3,2] 7 8 9 10 11 12", "double[2,2] 58 64 139 154"},
        {"MatMul", "transpose_b=true", "int32[2,3] 1 2 3 4 5 6; int32[2,3] 7 9 11 8 10 12",
         "int32[2,2] 58 64 139 154"},
        {"MatMul", "transpose_a=true", "int64[3,2] 1 4 2 5 3 6; int64[3,2] 7 8 9 10 11 12",
         "int64[2,2] 58 64 139 154"},
        {"MatMul", NULL, "float[1,1] 3; float[1,1] 4", "float[1,1] 12"},
        {"MatMul", NULL, "float[2,0]; float[0,3]", "float[2,3] 0"},
        {"MatMul", NULL, "double[2,0]; double[0,1]", "double[2,1] 0"},
        {"MatMul", NULL, "float[0,3]; float[3,2] 1", "float[0,2]"},
        {"MatMul", "transpose_b=true", "float[2,3] 1; float[0,3]", "float[2,0]"},
        {"MatMul", NULL, "float[5,300] 0.5; float[300,7] 2", "float[5,7] 300"},
        {"MatMul", NULL, "double[5,300] 0.5; double[300,19] 2", "double[5,19] 300"},
        {"MatMul", NULL, "float[2,3] 1; float[2,3] 1",
         "InvalidArgument: Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"},
        {"MatMul", NULL, "float[2] 1; float[2,3] 1", "InvalidArgument: In[0] is not a matrix"},
        {"MatMul", NULL, "float[2,2] 1; float[2] 1", "InvalidArgument: In[1] is not a matrix"},
        {"MatMul", NULL, "float[] 1; float[] 1", "InvalidArgument: In[0] is not a matrix"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MatMul", NULL, "[?,784];[784,100]", "[?,100]"},
        {"MatMul", "transpose_a=true", "[3,2];[?,5]", "[2,5]"},
        {"MatMul", NULL, "?;[784,100]", "[?,100]"},
        {"MatMul", NULL, "?;?", "[?,?]"},
        {"MatMul", NULL, "[100,784];[785,100]",
         "InvalidArgument: Dimensions must be equal, but are 784 and 785 for 'MatMul' (op: 'MatMul') with input shapes: "
         "[100,784], [785,100]."},
        {"MatMul", NULL, "[3];[3,3]", "InvalidArgument: Shape must be rank 2 but is rank 1 for 'MatMul'"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"MatMul", NULL, "double[2,3] 1 2 3 4 5 6; double[3,2] 7 8 9 10 11 12"},
        {"MatMul", "transpose_a=true", "double[3,2] 1 2 3 4 5 6; double[3,2] 7 8 9 10 11 12"},
        {"MatMul", "transpose_b=true", "double[2,3] 1 2 3 4 5 6; double[4,3] 7 8 9 10 11 12 1 2 3 4 5 6"},
        {"MatMul", "transpose_a=true; transpose_b=true",
         "double[3,2] 1 2 3 4 5 6; double[2,3] 7 8 9 10 11 12"},
    };
    OP_TEST_GRADIENTS(cases);
}

static void batches_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BatchMatMul", NULL, "float[2,1,2] 1 2 3 4; float[2,2,1] 5 6 7 8", "float[2,1,1] 17 53"},
        {"BatchMatMul", "adj_x=true", "float[2,2,1] 1 2 3 4; float[2,2,1] 5 6 7 8", "float[2,1,1] 17 53"},
        {"BatchMatMul", "adj_y=true", "int32[2,1,2] 1 2 3 4; int32[2,1,2] 5 6 7 8", "int32[2,1,1] 17 53"},
        {"BatchMatMul", NULL, "double[1,2] 1 2; double[2,1] 3 4", "double[1,1] 11"},
        {"BatchMatMul", NULL, "float[0,2,3]; float[0,3,1]", "float[0,2,1]"},
        {"BatchMatMul", NULL, "float[2,1,0]; float[2,0,1]", "float[2,1,1] 0"},
        {"BatchMatMul", NULL, "float[2,1,2] 1; float[3,2,1] 1",
         "InvalidArgument: In[0] and In[1] must have the same batch dimensions: [2,1,2] vs. [3,2,1]"},
        {"BatchMatMul", NULL, "float[2,1,2] 1; float[2,3,1] 1",
         "InvalidArgument: In[0] mismatch In[1] shape: 2 vs. 3: [2,1,2] [2,3,1] 0 0"},
        {"BatchMatMul", NULL, "float[2] 1; float[2] 1", "InvalidArgument: ndims must be >= 2"},
        {"BatchMatMul", NULL, "float[] 1; float[] 1", "InvalidArgument: ndims must be >= 2"},
        {"BatchMatMul", NULL, "float[2,2] 1; float[1,2,2] 1",
         "InvalidArgument: In[0] and In[1] has different ndims: [2,2] vs. [1,2,2]"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"BatchMatMul", NULL, "[?,2,3];[5,3,4]", "[5,2,4]"},
        {"BatchMatMul", "adj_x=true; adj_y=true", "[5,3,2];[5,4,?]", "[5,2,4]"},
        {"BatchMatMul", NULL, "?;[5,3,4]", "?"},
        {"BatchMatMul", NULL, "[5,2,3];[5,4,4]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"BatchMatMul", NULL, "[3];[3,3]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(shapes);
    static const op_grad_case gradients[] = {
        {"BatchMatMul", NULL, "double[2,1,2] 1 2 3 4; double[2,2,1] 5 6 7 8"},
        {"BatchMatMul", "adj_x=true", "double[2,2,1] 1 2 3 4; double[2,2,1] 5 6 7 8"},
        {"BatchMatMul", "adj_y=true", "double[2,1,2] 1 2 3 4; double[2,1,2] 5 6 7 8"},
        {"BatchMatMul", "adj_x=true; adj_y=true", "double[2,2,1] 1 2 3 4; double[2,1,2] 5 6 7 8"},
    };
    OP_TEST_GRADIENTS(gradients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(batches_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
