// Tests of batch normalization. Values computed with numpy in double from the definitions.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNorm",
         .attrs = "is_training=true; epsilon=0.001",
         .inputs = "float[2,2,2,3] 1.625 -0.625 -0.5 -1.125 0.875 -2.25 1.75 -0.75 0.375 -0.25 1.5 -2 -0.375 "
                   "-0.375 1.125 -1.125 -0.125 -0.875 0 0.625 -1.125 1.125 0.875 0.5; float[3] 2.375 0.875 "
                   "1.375; float[3] -0.875 -0.25 0.5; float[0]; float[0]",
         .want = "float[2,2,2,3] 2.2434901 -1.2395263 0.61423026 -3.7878754 0.45680451 -1.5180679 "
                 "2.5176431 -1.3808872 1.6803793 -1.8688045 1.163609 -1.2134539 -2.1429575 -0.95680451 "
                 "2.5942214 -3.7878754 -0.6740827 0.15730922 -1.3204986 0.1740827 -0.1473048 1.1468782 "
                 "0.45680451 1.8326864; float[3] 0.203125 0.25 -0.59375; float[3] 1.3390067 0.68303571 "
                 "1.4542411; float[3] 0.203125 0.25 -0.59375; float[3] 1.1716309 0.59765625 1.2724609",
         .tolerance = 1e-05},
        {.op = "FusedBatchNorm",
         .attrs = "is_training=false; epsilon=0.001",
         .inputs = "float[2,2,2,3] 1.25 0.125 -0.375 -0.625 0.375 0.125 -0.375 0 -0.625 0.75 -0.5 1.25 0.375 "
                   "0.625 -1.125 0.125 0.75 -1 -0.25 0 -1.375 0.375 0.875 -0.875; float[3] 1.875 0.25 1.5; "
                   "float[3] -1.625 1.125 0.375; float[3] -0 -0.75 1.25; float[3] 2.5 2.375 1.75",
         .want = "float[2,2,2,3] -0.14297872 1.2669139 -1.4670506 -2.3660106 1.3074607 -0.90026579 "
                 "-2.0696064 1.2466405 -1.750443 -0.73578723 1.1655468 0.375 -1.1803936 1.3480075 "
                 "-2.3172278 -1.4767979 1.3682809 -2.1755316 -1.9214043 1.2466405 -2.6006202 -1.1803936 "
                 "1.3885543 -2.0338354; float[3] -0 -0.75 1.25; float[3] 2.5 2.375 1.75; float[3] -0 -0.75 "
                 "1.25; float[3] 2.5 2.375 1.75",
         .tolerance = 1e-05},
        {.op = "FusedBatchNorm",
         .attrs = "is_training=true; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] -1.25 0.375 0.5 1.25 -0.125 -0.625 0.625 0.25 0.25 -0.125 1.125 0.375 "
                   "1.875 1.125 0.625 -1.625 0.625 0.375 0.75 1 -0.375 0.875 -0.5 2; float[3] 0.125 -0.25 "
                   "-0.125; float[3] -0.875 -1.125 2; float[0]; float[0]",
         .want = "float[2,3,2,2] -1.0522687 -0.87327894 -0.8595105 -0.77689985 -0.87832678 -0.62369636 "
                 "-1.2602724 -1.0692996 2.0320975 2.0913544 1.8938314 2.0123452 -0.70805763 -0.79066829 "
                 "-0.84574206 -1.093574 -1.2602724 -1.1329572 -1.32393 -1.4512452 2.130859 1.933336 "
                 "2.1506112 1.7555653; float[3] 0.359375 0.359375 0.453125; float[3] 1.4707031 0.27427455 "
                 "0.7140067; float[3] 0.359375 0.359375 0.453125; float[3] 1.2868652 0.23999023 0.62475586",
         .tolerance = 1e-05},
        {.op = "FusedBatchNorm",
         .attrs = "is_training=false; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] 0.875 1.5 0.75 0.875 -0.875 -0.875 -1.5 1.25 -0.25 1.375 -0.75 -0.5 0.125 "
                   "0.875 0 0.25 0 0.125 -1.125 0.125 -0.125 -0 0.5 -0.625; float[3] 1.375 1.25 1.875; "
                   "float[3] 0.75 -1 0.625; float[3] 2.125 -1.5 -0.875; float[3] 1.375 0.75 2.125",
         .want = "float[2,3,2,2] -0.71522221 0.017388893 -0.86174444 -0.71522221 -0.09849101 -0.09849101 "
                 "-1 2.9666396 1.4287105 3.5183579 0.78574211 1.1072263 -1.5943555 -0.71522221 -1.7408778 "
                 "-1.4478333 1.1636216 1.3439234 -0.45909461 1.3439234 1.5894526 1.7501947 2.3931632 "
                 "0.94648421; float[3] 2.125 -1.5 -0.875; float[3] 1.375 0.75 2.125; float[3] 2.125 -1.5 "
                 "-0.875; float[3] 1.375 0.75 2.125",
         .tolerance = 1e-05},
    };
    OP_TEST_VALUES(cases);
}

static void later_versions_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormV2",
         .attrs = "is_training=false",
         .inputs = "float[2,2,2,3] -0.5 1 -2 0.375 -0.25 0.75 0.5 -2.75 0.625 0.375 0 -0.5 0.875 -0.375 "
                   "1.875 0.625 2.125 -0.75 -1.75 0.75 0.875 0 -1.5 -0.5; float[3] 2.125 1.375 1.375; "
                   "float[3] -0.125 -0.875 -0.5; float[3] -1.375 1.75 -0.5; float[3] 1 1.5 1.25",
         .want = "float[2,2,2,3] 1.734282 -1.716984 -2.3446823 3.5935641 -3.1202908 1.0372352 3.8591758 "
                 "-5.9269042 0.88351172 3.5935641 -2.8396294 -0.5 4.656011 -3.2606214 2.420747 4.1247875 "
                 "-0.45400798 -0.80744705 -0.92183516 -1.9976454 1.1909588 2.7967289 -4.5235975 -0.5; "
                 "float[3] -1.375 1.75 -0.5; float[3] 1 1.5 1.25; float[3] -1.375 1.75 -0.5; float[3] 1 "
                 "1.5 1.25",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV2",
         .attrs = "is_training=true; data_format=NCHW",
         .inputs = "float[2,3,2,2] -0.25 1.625 -0.375 -0.75 2 0 -0.5 0.375 0 -0.375 1.25 1.125 0.875 -0.125 "
                   "1.125 -0 0.5 1 0.75 1.75 0.5 -1.625 -1.125 1.375; float[3] 1.125 1.875 0.625; float[3] 1 "
                   "-0.375 1.5; float[0]; float[0]",
         .want = "float[2,3,2,2] 0.25800581 2.9561665 0.078128428 -0.46150371 2.6412145 -2.1251492 "
                 "-3.3167401 -1.231456 1.4164754 1.1937432 2.1589161 2.084672 1.8769022 0.43788319 "
                 "2.236657 0.61776057 -0.93355824 0.25803268 -0.33776278 2.0454191 1.7134517 0.45130257 "
                 "0.74827883 2.2331601; float[3] 0.265625 0.734375 0.140625; float[3] 0.6983817 0.70731027 "
                 "1.265346; float[3] 0.265625 0.734375 0.140625; float[3] 0.61108398 0.61889648 1.1071777",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=true; epsilon=0.001",
         .inputs = "float[2,2,2,3] 0.5 -1.125 -0.75 0.625 1.5 0.625 1.25 1.75 1 -0.875 -0.125 0.625 -0.375 "
                   "0.5 -1.625 -0.875 0.5 -2.25 -1.125 -0 -1.75 0 -0.75 -0.25; float[3] 1.25 1.75 0.875; "
                   "float[3] 0.125 -0.625 0.5; float[0]; float[0]",
         .want = "float[2,2,2,3] 1.0834475 -3.249965 0.34694056 1.2800522 1.6499697 1.3830352 2.2630753 "
                 "2.1166301 1.6656065 -1.0792033 -1.3833232 1.3830352 -0.29278483 -0.21667211 -0.31239239 "
                 "-1.0792033 -0.21667211 -0.7833445 -1.4724126 -1.149993 -0.40658281 0.29702905 -2.5499743 "
                 "0.72370225; float[3] -0.109375 0.28125 -0.546875; float[3] 0.72070312 1.0033482 "
                 "1.5398996; float[3] -0.109375 0.28125 -0.546875; float[3] 0.63061523 0.87792969 "
                 "1.3474121; float[] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=false; epsilon=0.001",
         .inputs = "float[2,2,2,3] -0.375 -0.75 -1.625 1 -2.25 -1.75 -0.25 1.25 1.25 -1.125 -0.125 -1.5 1 "
                   "-1.5 -0.125 1 -0.25 1.5 -0.875 0.375 0.875 -0.125 1.375 0.5; float[3] -0.125 5.5 2.125; "
                   "float[3] 0.125 -1.375 0.125; float[3] -0.5 0.625 0.375; float[3] 2.375 0.625 1",
         .want = "float[2,2,2,3] 0.11486329 -10.933246 -4.1228766 0.00335954 -21.360424 -4.3883689 "
                 "0.10472659 2.9696574 1.983446 0.17568353 -6.5885889 -3.8573843 0.00335954 -16.146835 "
                 "-0.93696915 0.00335954 -7.4575204 2.5144306 0.15541012 -3.112863 1.1869691 0.094589885 "
                 "3.8385889 0.39049229; float[3] -0.5 0.625 0.375; float[3] 2.375 0.625 1; float[3] -0.5 "
                 "0.625 0.375; float[3] 2.375 0.625 1; float[] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=true; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] -1.125 0.5 -1 -0.5 -1.5 -0.5 0.375 -0.125 -1.375 1.5 0.375 1 0.75 -0.625 "
                   "-2 -0.875 1.25 -1 0.875 -0.625 0.375 -1.875 1.125 -0; float[3] 2.375 1.75 2.25; float[3] "
                   "-0.125 0.75 -1.5; float[0]; float[0]",
         .want = "float[2,3,2,2] -1.5990332 3.0464048 -1.2416918 0.18767372 -1.9238518 0.065991399 "
                 "1.8071042 0.8121826 -4.5420974 1.2284791 -1.0295726 0.2249006 3.7610876 -0.16966767 "
                 "-4.100423 -0.88435045 3.548217 -0.9289302 2.8020258 -0.182739 -1.0295726 -5.545676 "
                 "0.47579523 -1.7822565; float[3] -0.609375 -0.15625 0.140625; float[3] 0.78766741 "
                 "0.8828125 1.4349888; float[3] -0.609375 -0.15625 0.140625; float[3] 0.68920898 "
                 "0.77246094 1.2556152; float[] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=false; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] -0.125 -2.75 -0.5 -1 0.75 -0.5 -0.375 1.375 -1 0.375 -1.875 0.125 0.375 "
                   "0.875 -0.875 0.375 0.375 -0 0.125 0.5 0.375 -1 -1.25 2.5; float[3] 3.375 0.125 2; "
                   "float[3] 0.625 0.75 0.125; float[3] -0.875 -0.125 -0.5; float[3] 0.625 0.75 0.625",
         .want = "float[2,3,2,2] 3.8242478 -7.3731194 2.2246239 0.091792041 0.87621126 0.69590946 "
                 "0.71393964 0.96636216 -1.1389003 2.3368256 -3.350726 1.7048754 5.9570796 8.0899114 0.625 "
                 "5.9570796 0.82212072 0.76803018 0.78606036 0.8401509 2.3368256 -1.1389003 -1.7708505 "
                 "7.7084021; float[3] -0.875 -0.125 -0.5; float[3] 0.625 0.75 0.625; float[3] -0.875 "
                 "-0.125 -0.5; float[3] 0.625 0.75 0.625; float[] 0",
         .tolerance = 1e-05},
    };
    OP_TEST_VALUES(cases);
}

static void sizes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // No elements to compute statistics from.
        {.op = "FusedBatchNorm",
         .inputs = "float[0,2,2,2]; float[2] 1; float[2] 0; float[0]; float[0]",
         .want = "float[0,2,2,2]; float[2] nan; float[2] nan; float[2] nan; float[2] nan"},
        {.op = "FusedBatchNorm",
         .inputs = "float[1,2,2,0]; float[0]; float[0]; float[0]; float[0]",
         .want = "float[1,2,2,0]; float[0]; float[0]; float[0]; float[0]"},
        // In an empty tensor another size may be large.
        {.op = "FusedBatchNorm",
         .inputs = "float[1152921504606846976,1,1,0]; float[0]; float[0]; float[0]; float[0]",
         .want = "float[1152921504606846976,1,1,0]; float[0]; float[0]; float[0]; float[0]"},
        // One element for each channel: Bessel's correction divides by 1.
        {.op = "FusedBatchNorm",
         .inputs = "float[1,1,1,2] 3 4; float[2] 1; float[2] 5 6; float[0]; float[0]",
         .want = "float[1,1,1,2] 5 6; float[2] 3 4; float[2] 0; float[2] 3 4; float[2] 0"},
        {.op = "FusedBatchNormV2",
         .attrs = "is_training=false",
         .inputs = "float[0,2,2,2]; float[2] 1; float[2] 0; float[2] 3; float[2] 4",
         .want = "float[0,2,2,2]; float[2] 3; float[2] 4; float[2] 3; float[2] 4"},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=false",
         .inputs = "float[0,2,2,2]; float[2] 1; float[2] 0; float[2] 3; float[2] 4",
         .want = "float[0,2,2,2]; float[2] 3; float[2] 4; float[2] 3; float[2] 4; *"},
    };
    OP_TEST_VALUES(cases);
}

// Volumes, and half images with float statistics.
static void volumes_and_half_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormV3",
         .attrs = "data_format=NDHWC; epsilon=0.001",
         .inputs =
             "float[1,2,1,3,2] -0.75 0.75 0.5 0.625 -0.75 0.625 -0.75 0.25 -0.875 -0.875 -0.25 0.625; float[2] -0.5 -0.875; float[2] 0.5 0.125; float[0]; float[0]",
         .want =
             "float[1,2,1,3,2] 0.7809397 -0.52256924 -0.51570506 -0.32829847 0.7809397 -0.32829847 0.7809397 0.25451385 0.91060418 2.0029508 0.26228179 -0.32829847; float[2] -0.47916667 0.33333333; float[2] 0.27760417 0.37916667; float[2] -0.47916667 0.33333333; float[2] 0.23133681 0.31597222; float[] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV3",
         .attrs = "data_format=NCDHW; epsilon=0.001",
         .inputs =
             "float[1,2,2,1,3] -0.75 0.5 -0.75 -0.75 -0.875 -0.25 0.75 0.625 0.625 0.25 -0.875 0.625; float[2] -0.5 -0.875; float[2] 0.5 0.125; float[0]; float[0]",
         .want =
             "float[1,2,2,1,3] 0.7809397 -0.51570506 0.7809397 0.7809397 0.91060418 0.26228179 -0.52256924 -0.32829847 -0.32829847 0.25451385 2.0029508 -0.32829847; float[2] -0.47916667 0.33333333; float[2] 0.27760417 0.37916667; float[2] -0.47916667 0.33333333; float[2] 0.23133681 0.31597222; float[] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormV2", // 1 and 3 have mean 2 and variance 1
         .attrs = "epsilon=0",
         .inputs = "half[1,1,2,1] 0x3c00 0x4200; float[1] 1; float[1] 0; float[0]; float[0]",
         .want = "half[1,1,2,1] 0xbc00 0x3c00; float[1] 2; float[1] 2; float[1] 2; float[1] 1"},
        {.op = "FusedBatchNormV3",
         .attrs = "is_training=false; epsilon=1",
         .inputs = "bfloat16[1,1,2,1] 0x3f80 0x40a0; float[1] 4; float[1] 1; float[1] 3; float[1] 3",
         .want = "bfloat16[1,1,2,1] 0xc040 0x40a0; float[1] 3; float[1] 3; *; *; *"},
    };
    OP_TEST_VALUES(cases);
}

// In training the input statistics matter for the moving averages only. Computed by hand.
static void moving_averages_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormV3",
         .attrs = "epsilon=0; exponential_avg_factor=0.25",
         .inputs = "float[2,1,1,2] 1 2 3 6; float[2] 1; float[2] 0; float[2] 10 20; float[2] 4 8",
         .want =
             "float[2,1,1,2] -1 -1 1 1; float[2] 8 16; float[2] 3.5 8; float[2] 2 4; float[2] 1 4; float[] 0"},
        {.op = "FusedBatchNorm",
         .attrs = "epsilon=0",
         .inputs = "float[2,1,1,2] 1 2 3 6; float[2] 1; float[2] 0; float[2] 10 20; float[2] 4 8",
         .want = "float[2,1,1,2] -1 -1 1 1; float[2] 2 4; float[2] 2 8; float[2] 2 4; float[2] 1 4"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNorm",
         .inputs = "float[2,2] 1; float[2] 1; float[2] 0; float[0]; float[0]",
         .want = "InvalidArgument: must be 4 or 5-dimensional"},
        {.op = "FusedBatchNorm",
         .inputs = "float[1,1,1,2] 1; float[] 1; float[2] 0; float[0]; float[0]",
         .want = "InvalidArgument: scale must be 1-dimensional"},
        {.op = "FusedBatchNorm",
         .inputs = "float[1,1,1,2] 1; float[2] 1; float[3] 0; float[0]; float[0]",
         .want = "InvalidArgument: offset must have as many elements as the input has channels: 3 vs. 2"},
        {.op = "FusedBatchNorm",
         .inputs = "float[1,1,1,2] 1; float[2] 1; float[2] 0; float[] 1; float[0]",
         .want = "InvalidArgument: estimated_mean must be 1-dimensional"},
        {.op = "FusedBatchNormV3",
         .attrs = "exponential_avg_factor=0.5",
         .inputs = "float[1,1,1,2] 1; float[2] 1; float[2] 0; float[0]; float[0]",
         .want = "InvalidArgument: estimated_mean must have as many elements"},
        {.op = "FusedBatchNorm",
         .attrs = "is_training=false",
         .inputs = "float[1,1,1,2] 1; float[2] 1; float[2] 0; float[0]; float[2] 1",
         .want = "InvalidArgument: estimated_mean must have as many elements"},
        {.op = "FusedBatchNormGrad",
         .inputs = "float[1,1,1,2] 1; float[1,1,2,2] 1; float[2] 1; float[2] 0; float[2] 1",
         .want = "InvalidArgument: x and y_backprop must have same shape"},
        {.op = "FusedBatchNormGrad",
         .inputs = "float[1,1,1,2] 1; float[1,1,1,2] 1; float[2] 1; float[] 0; float[2] 1",
         .want = "InvalidArgument: saved mean must be 1-dimensional"},
        {.op = "FusedBatchNormV2",
         .inputs = "float[] 1; float[1] 1; float[1] 1; float[0]; float[0]",
         .want = "InvalidArgument: must be 4 or 5-dimensional"},
        {.op = "FusedBatchNormV2",
         .inputs = "float[1,1,1,1] 1; float[1] 1; float[] 1; float[0]; float[0]",
         .want = "InvalidArgument: offset must be 1-dimensional"},
        {.op = "FusedBatchNormGradV2",
         .inputs = "float[1,1,1,2] 1; float[1,1,1,1] 1; float[2] 1; float[2] 1; float[2] 1",
         .want = "InvalidArgument: x and y_backprop must have same shape"},
        {.op = "FusedBatchNormGradV2",
         .inputs = "float[1,1,1,1] 1; float[1,1,1,1] 1; float[] 1; float[1] 1; float[1] 1",
         .want = "InvalidArgument: scale must be 1-dimensional"},
        {.op = "FusedBatchNormV3",
         .inputs = "float[] 1; float[1] 1; float[1] 1; float[0]; float[0]",
         .want = "InvalidArgument: must be 4 or 5-dimensional"},
        {.op = "FusedBatchNormV3",
         .inputs = "float[1,1,1,1] 1; float[1] 1; float[] 1; float[0]; float[0]",
         .want = "InvalidArgument: offset must be 1-dimensional"},
        {.op = "FusedBatchNormGradV3",
         .inputs = "float[1,1,1,2] 1; float[1,1,1,1] 1; float[2] 1; float[2] 1; float[2] 1; float[0]",
         .want = "InvalidArgument: x and y_backprop must have same shape"},
        {.op = "FusedBatchNormGradV3",
         .inputs = "float[1,1,1,1] 1; float[1,1,1,1] 1; float[] 1; float[1] 1; float[1] 1; float[0]",
         .want = "InvalidArgument: scale must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"FusedBatchNorm", NULL, "[2,?,3,?]; [5]; [?]; [0]; [0]", "[2,?,3,5]; [5]; [5]; [5]; [5]"},
        {"FusedBatchNormV3", "data_format=NCHW", "?; ?; ?; ?; ?", "[?,?,?,?]; [?]; [?]; [?]; [?]; ?"},
        {"FusedBatchNormV2", "is_training=false", "?; ?; ?; ?; [4]", "[?,?,?,4]; [4]; [4]; [4]; [4]"},
        {"FusedBatchNorm", NULL, "[2,2,3,4]; [5]; ?; ?; ?",
         "InvalidArgument: Dimensions must be equal, but are 4 and 5"},
        {"FusedBatchNorm", NULL, "[2,2,3]; ?; ?; ?; ?",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
        {"FusedBatchNormGrad", NULL, "[2,2,3,?]; ?; [4]; ?; ?", "[2,2,3,4]; [4]; [4]; [0]; [0]"},
        {"FusedBatchNormGrad", "is_training=false; data_format=NCHW", "[2,?,3,3]; [?,4,?,?]; ?; ?; ?",
         "[2,4,3,3]; [4]; [4]; [4]; [4]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(later_versions_follow_the_definition),
        cmocka_unit_test(sizes_follow_the_definition),
        cmocka_unit_test(volumes_and_half_follow_the_definition),
        cmocka_unit_test(moving_averages_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
