// Tests of PeriodicResample; values are those of TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define TWELVE "int32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11"
#define SIXTEEN "double[2,2,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"

static void elements_move_to_other_dimensions(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"PeriodicResample", "shape=[6,?]", TWELVE, "int32[6,2] 0 1 2 3 4 5 6 7 8 9 10 11"},
        {"PeriodicResample", "shape=[5,?]", TWELVE, "int32[5,2] 0 1 2 3 4 5 6 7 8 9"},
        {"PeriodicResample", "shape=[4,4,?]", SIXTEEN, "double[4,4,1] 0 2 4 6 1 3 5 7 8 10 12 14 9 11 13 15"},
        {"PeriodicResample", "shape=[?,4]", "int64[4,2] 0 1 2 3 4 5 6 7", "int64[2,4] 0 4 1 5 2 6 3 7"},
        // What lies beyond a row is in the next one.
        {"PeriodicResample", "shape=[3,?]", "float[2,3] 0 1 2 3 4 5", "float[3,2] 0 1 2 3 3 4"},
        {"PeriodicResample", "shape=[?,3]", "float[3,2] 0 1 2 3 4 5",
         "InvalidArgument: periodic_resample from shape [3,2] to [2,3] takes elements beyond the input's end"},
        {"PeriodicResample", "shape=[6,2]", TWELVE,
         "InvalidArgument: Dimension 1 input tensor has size 4, desired shape has size 2."},
        {"PeriodicResample", "shape=[?,?]", TWELVE,
         "InvalidArgument: periodic_resample expects only one index to be marked as adjustable."},
        {"PeriodicResample", "shape=[3,4]", TWELVE,
         "InvalidArgument: periodic_resample expects at least one index to be marked as adjustable."},
        {"PeriodicResample", "shape=[13,?]", TWELVE,
         "InvalidArgument: the adjustable dimension, 1, isn't greater than zero, 0."},
        {"PeriodicResample", "shape=[9000000000,9000000000,?]", "float[1,1,2] 1 2",
         "InvalidArgument: the adjustable dimension, 2, isn't greater than zero, 0."},
        {"PeriodicResample", "shape=[2,?]", "float[0,3]", "InvalidArgument: isn't greater than zero, 0."},
        {"PeriodicResample", "shape=[]", "float[] 1", "InvalidArgument: at least one index"},
        {"PeriodicResample", "shape=[4,?]", "float[2] 1 2",
         "InvalidArgument: expects the rank of the input tensor, 1, to be the same as the length of the desired "
         "shape, 2."},
    };
    OP_TEST_VALUES(cases);
}

static void gradients_go_back(void **state)
{
    (void)state;
    static const op_case values[] = {
        {"PeriodicResampleOpGrad", "original_shape=[3,4]; desired_shape=[5,?]",
         "double[5,2] 0 1 2 3 4 5 6 7 8 9", "double[3,4] 0 1 2 3 4 5 6 7 8 9 0 0"},
        {"PeriodicResampleOpGrad", "original_shape=[2,3]; desired_shape=[3,?]", "int32[3,2] 1 2 3 4 5 6",
         "int32[2,3] 1 2 3 9 6 0"},
        {"PeriodicResampleOpGrad", "original_shape=[2,2]; desired_shape=[4,?]", "int64[4,1] 1 2 3 4",
         "int64[2,2] 1 2 3 4"},
        {"PeriodicResampleOpGrad", "original_shape=[2,2]; desired_shape=[4,?]", "float[2,2] 1 2 3 4",
         "InvalidArgument: grad must have the shape [4,1], not [2,2]"},
        {"PeriodicResampleOpGrad", "original_shape=[0,2]; desired_shape=[4,?]", "float[4,0]",
         "InvalidArgument: isn't greater than zero, 0."},
        {"PeriodicResampleOpGrad", "original_shape=[]; desired_shape=[4]", "float[] 1",
         "InvalidArgument: rank"},
    };
    OP_TEST_VALUES(values);
    static const op_grad_case cases[] = {
        {.op = "PeriodicResample",
         .attrs = "shape=[4,4,?]",
         .inputs = "double[2,2,4] 1 2 3 4 5 6 7 8 1 3 5 7 2 4 6 8",
         .known_shapes_only = true},
        {.op = "PeriodicResample",
         .attrs = "shape=[3,?]",
         .inputs = "double[2,3] 1 2 3 4 5 6",
         .known_shapes_only = true},
    };
    OP_TEST_GRADIENTS(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"PeriodicResample", "shape=[4,4,?]", "[2,2,4]", "[4,4,1]"},
        {"PeriodicResample", "shape=[4,4,?]", "[2,2,?]", "[4,4,?]"},
        {"PeriodicResample", "shape=[4,4,?]", "[2,2]", "?"},
        {"PeriodicResample", "shape=[9000000000,?]", "[9000000000,9000000000]", "[9000000000,?]"},
        {"PeriodicResampleOpGrad", "original_shape=[2,2]; desired_shape=[4,?]", "[4,1]", "[2,2]"},
        {"PeriodicResampleOpGrad", "original_shape=[2,?]; desired_shape=[4,?]", "[4,1]",
         "InvalidArgument: original_shape must be fully known"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(elements_move_to_other_dimensions),
                                       cmocka_unit_test(gradients_go_back),
                                       cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}
