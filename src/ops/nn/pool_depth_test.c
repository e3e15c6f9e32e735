// Tests of MaxPool along the channels.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// Values follow from the definition.
static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID", "float[1,1,2,4] 1 2 4 3 -1 -2 0 5",
         "float[1,1,2,2] 2 4 -1 5"},
        {"MaxPool", "ksize=[1,1,1,3]; strides=[1,1,1,3]; padding=SAME", "float[1,1,1,3] 3 9 4",
         "float[1,1,1,1] 9"},
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID", "half[1,1,1,2] 0x3c00 0x4000",
         "half[1,1,1,1] 0x4000"},
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID", "double[0,2,2,4]",
         "double[0,2,2,2]"},
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID", "float[1,1,1,3] 1",
         "Unimplemented: evenly divide the input depth"},
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,1]; padding=VALID", "float[1,1,1,2] 1",
         "Unimplemented: the depth window to equal the depth stride"},
        {"MaxPool", "ksize=[1,2,1,2]; strides=[1,1,1,2]; padding=VALID", "float[1,2,1,2] 1",
         "Unimplemented: exactly one of pooling across depth or pooling across width/height"},
        {"MaxPool", "ksize=[2,1,1,2]; strides=[1,1,1,2]; padding=VALID", "float[2,1,1,2] 1",
         "Unimplemented: batch dimension"},
        {"MaxPool", "ksize=[1,2,1,1]; strides=[1,2,1,1]; padding=VALID; data_format=NCHW", "float[1,2,1,1] 1",
         "InvalidArgument: NHWC"},
        {"MaxPoolV2", "padding=VALID", "float[1,1,2,4] 1 2 4 3 -1 -2 0 5; int32[4] 1 1 1 2; int32[4] 1 1 1 2",
         "float[1,1,2,2] 2 4 -1 5"},
        {"MaxPoolV2", "padding=VALID", "float[1,1,1,3] 1; int32[4] 1 1 1 2; int32[4] 1 1 1 2",
         "Unimplemented: evenly divide the input depth"},
        {"MaxPoolV2", "padding=VALID", "float[2,1,1,2] 1; int32[4] 2 1 1 1; int32[4] 1 1 1 1",
         "Unimplemented: Pooling is not yet supported on the batch dimension."},
        {"MaxPoolGradV2", "padding=VALID",
         "float[1,1,1,2] 1 2; float[1,1,1,1] 2; float[1,1,1,1] 3; int32[4] 1 1 1 2; int32[4] 1 1 1 2",
         "Unimplemented: depth dimension"},
        {"MaxPoolGrad", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID",
         "float[1,1,1,2] 1 2; float[1,1,1,1] 2; float[1,1,1,1] 3", "Unimplemented: depth dimension"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID", "[?,5,6,8]", "[?,5,6,4]"},
        {"MaxPool", "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=SAME", "[?,5,6,?]", "[?,5,6,?]"},
        {"MaxPoolV2", "padding=VALID", "[?,5,6,8]; int32[4] 1 1 1 2; int32[4] 1 1 1 2", "[?,5,6,4]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
