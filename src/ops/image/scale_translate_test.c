// ScaleAndTranslate and its gradient. Values computed with numpy in double, as products with the matrices of
// the weights.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case
        cases[] =
            {
                {"ScaleAndTranslate", "kernel_type=lanczos3; antialias=true",
                 "float[1,4,5,2] 1.5 -0.75 -1.75 0 0 0.25 -0.25 1.25 0 -1 1 -0.5 0.5 -1.25 -2 0.25 -0.5 -0.5 -1.5 1.5 0 -1.5 -2 0 0.5 1.25 -1.75 -2 1.25 -1.25 1.75 -1.5 2 0.25 2 1 -1.25 0.75 -0.5 -0.25; int32[2] 3 7; float[2] 0.75 1.5; float[2] 0.25 -0.5",
                 "float[1,3,7,2] 1.2120818 -0.61013332 -0.95357138 -0.22069972 -1.1970821 -0.096326718 -0.049188096 0.41720199 -0.090812946 1.4352352 -0.26353624 0.366403 -0.33988626 -0.87561949 0.52460139 -0.80744092 -0.35938474 -1.0190671 -1.3156482 -0.012302562 -1.4178139 0.35533527 -0.93060839 -0.87590902 -0.6054836 -0.27601731 -0.60689768 0.78216358 0.69063393 -1.4050848 -0.04169087 -0.19918082 1.0422247 1.1729614 1.1376215 1.0050733 -1.3461501 -0.37046608 -0.78019648 -0.9959211 0.77485493 -0.84555054",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=lanczos1; antialias=true",
                 "float[1,3,3,2] -2 -1.75 1.5 0.5 -1.25 -1.75 -1.25 0.5 2 -0.25 0.5 -0.25 0.25 1.75 0.25 -1.25 0.5 -1.5; int32[2] 4 2; float[2] 1.25 0.75; float[2] 0 0.25",
                 "float[1,4,2,2] -1.93 -1.705 0.93156774 0.044909281 -1.3006034 0.14517241 1.5538237 -0.19392264 -0.4675 1.0875 0.98230556 -0.74272211 0.25 1.69 0.29649555 -1.2476545",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=lanczos5; antialias=false",
                 "float[1,6,4,2] 1 2 1 1 0 -0.5 1.75 -0.25 1.25 -1 0 -1.25 1 -2 1.5 -0.5 2 -1.25 1.75 1.75 -1.25 -1.5 1 1 -1.5 1.75 0.25 1.5 -0.75 0.25 1.75 0 1 0.75 -1.5 -1.75 2 1 0 -0.75 1.5 0.5 1.25 0.25 -0.75 -1 1.75 -0.75; int32[2] 3 4; float[2] 0.5 1; float[2] 0 0.5",
                 "float[1,3,4,2] 0.87630503 1.0451791 0.64710851 0.47423129 0.16385323 -1.0686754 1.3205044 -0.83803557 -0.87837043 -0.42925995 1.3357501 1.84082 -0.4608727 1.0559071 -0.31607485 -0.34033472 2.3081088 0.837611 0.86611228 -0.33268363 -0.049486983 -0.62618336 0.90649471 -0.28858627",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=gaussian; antialias=true",
                 "float[1,3,4,2] -0.75 1 -1.25 1.75 2 0.25 1.5 -0.25 1.75 1.5 -1.25 -0.25 -1.5 -0.25 0 0.75 0.25 1.5 -1.5 0.25 2 -0.75 0 -1.75; int32[2] 5 3; float[2] 1.75 0.625; float[2] -0.5 1",
                 "float[1,5,3,2] 0 0 -0.60664077 1.1675905 0.64040211 0.48996908 0 0 -0.056467048 0.89800292 -0.30465192 0.19205284 0 0 0.1520215 0.76110973 -0.57404912 -0.11715252 0 0 -0.16870515 0.82647757 0.21136839 -0.4622752 0 0 -0.31592061 0.86181588 0.5582529 -0.59054045",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=box; antialias=true",
                 "float[1,4,4,2] 1 1.25 -0.75 1 0.5 -1.25 0.75 0.75 1.25 -1.25 -0.5 0.5 0.5 -1 -1.5 0 -0.75 -0.25 -0.5 1 -1.5 0 -1.5 -0.5 2 -2 -0.25 2 1.25 2 -2 -1.75; int32[2] 2 2; float[2] 0.5 0.5; float[2] 0 0",
                 "float[1,2,2,2] 0.25 0.375 0.0625 -0.375 0.125 0.1875 -0.9375 -0.0625", .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=triangle; antialias=false",
                 "float[1,3,3,2] 0.5 0 -1.75 0.75 -1.25 1.75 1 -1.25 0.75 -1.75 -0.75 -1.75 -0.75 1.25 -1.75 1.5 2 -0.75; int32[2] 4 4; float[2] 1.25 1.25; float[2] 0.5 3",
                 "float[1,4,4,2] 0 0 0 0 0 0 0.5 0 0 0 0 0 0 0 0.65 -0.375 0 0 0 0 0 0 0.825 -1 0 0 0 0 0 0 -0.575 1",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=keyscubic; antialias=true",
                 "float[1,4,3,2] 1.5 1.5 -1 -0.25 -0.75 1.25 1.5 -1.5 -1 0.25 0.5 0.75 1 1.25 -2 1.75 1.25 1.25 -1.75 1 1.25 -1.75 0 -1; int32[2] 3 5; float[2] 0.8 1.7; float[2] 0.1 0.3",
                 "float[1,3,5,2] 1.8014989 1.2100313 1.1492802 0.84221911 -0.55120664 -0.12543761 -1.0119502 0.19616496 -0.6541092 1.1518264 1.8542496 -0.89926531 1.0402293 -0.48715257 -1.0949032 0.58494324 -0.81353228 1.0353215 0.74346939 1.0156933 -0.4789755 1.3942835 -0.46293241 1.0625871 -0.42787475 0.19812254 0.03676283 -0.059325731 0.61569405 0.092671173",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate",
                 "kernel_type=MitchellCubic; antialias=true", "float[1,4,3,2] 2 0.75 -1 -1.5 1.25 -0.75 -0.25 1.75 -0.5 0.5 0.75 2 -0.25 -1.25 -2 1.5 0.5 0.5 1.25 1.75 2 -2 1.5 -1; int32[2] 3 5; float[2] 0.8 1.7; float[2] 0.1 0.3", "float[1,3,5,2] 1.7669487 1.1209309 1.1077487 0.55287367 -0.38355119 -0.74860862 -0.16315473 -0.90159241 1.0202085 -0.32230692 -0.14243447 0.69616193 -0.39082164 0.71863124 -0.9330993 0.78365727 -0.43862004 1.0734073 0.5357563 1.4149032 0.5369092 0.26113555 0.39823436 0.13602776 0.095745683 -0.15505736 0.37737539 -0.2819293 0.92851436 -0.27403657",
                 .tolerance = 2e-5},
                {"ScaleAndTranslate", "kernel_type=box",
                 "uint8[1,2,1,1] 0 200; int32[2] 4 1; float[2] 2 1; float[2] 0 0",
                 "float[1,4,1,1] 0 0 200 200"},
                // places outside of the image are 0
                {"ScaleAndTranslate", "kernel_type=triangle",
                 "double[1,1,1,1] 8; int32[2] 2 1; float[2] 1 1; float[2] 1 0", "float[1,2,1,1] 0 8"},
                {"ScaleAndTranslate", NULL, "half[0,1,1,1]; int32[2] 2 3; float[2] 1 1; float[2] 1 0",
                 "float[0,2,3,1]"},
                {"ScaleAndTranslate", NULL, "float[1,2,1,1] 1 2; int32[2] 1 1; float[2] 1 1; float[2] nan 1",
                 "float[1,1,1,1] 0"},
                {"ScaleAndTranslate", NULL,
                 "float[1,2,1,1] 1 3; int32[2] 1 1; float[2] 1e-38 1; float[2] 1 0", "*"},
            };
    OP_TEST_VALUES(cases);
}

static void gradient_values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case
        cases[] =
            {
                {"ScaleAndTranslateGrad", "kernel_type=lanczos3; antialias=true",
                 "float[1,3,7,2] 1.25 0.5 -0.25 0.25 2 1.75 -1 0.75 0 -0.75 0 -0.25 -2 -1 0.75 0 -1 0 1.5 0.25 -1 -1.25 -1 -0.25 -0.5 0 -2 -1.25 0.75 1 0.5 -1.75 0.75 1.75 1.25 -2 0.5 0 -0.25 -0.5 1.75 0; float[1,4,5,2] 0; float[2] 0.75 1.5; float[2] 0.25 -0.5",
                 "float[1,4,5,2] 0.73179903 0.22955225 1.2703772 1.3205976 0.16048861 1.4835823 -0.32711056 -0.83051417 -2.2324635 -1.1945102 0.23354307 -0.035247545 0.29990477 0.3796165 -0.15747026 -0.55258267 -1.0302768 -0.2859755 -1.9453093 -1.024537 0.36669503 0.11732883 0.42991857 -0.12661388 0.88871998 -0.85524931 -0.28387516 -0.50198101 0.40935591 -0.36569234 0.35696907 0.17939687 0.4885809 -0.072887149 0.96480085 -0.16439384 0.2843023 -0.47333601 1.0910503 0.023446375",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=lanczos1; antialias=true",
                 "float[1,4,2,2] -0.5 -0.25 0.25 0.75 -2 -0.75 -2 -0.75 -0.25 -0.75 0.25 0.5 -1 -1.5 2 -1.25; float[1,3,3,2] 0; float[2] 1.25 0.75; float[2] 0 0.25",
                 "float[1,3,3,2] -0.79512037 -0.34873615 -0.064346226 0.49813537 -0.011223063 0.11784216 -1.8038352 -0.99469376 -1.2844771 -0.32620101 -0.29099799 -0.071346614 -1.0679042 -1.8537804 1.6726921 -0.83523746 0.39521214 -0.18598219",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=lanczos5; antialias=false",
                 "float[1,3,4,2] 2 -0.75 -1.5 -2 -0.75 0 -0.75 -0.25 0 0.5 0.25 2 -0.25 1.75 2 -0.25 -0.25 0.75 -1.25 2 -0.25 1 -0.75 -1.75; float[1,6,4,2] 0; float[2] 0.5 1; float[2] 0 0.5",
                 "float[1,6,4,2] 1.0379712 -1.0306088 -1.1263057 -0.24833018 -0.14131215 0.095268838 -0.18949795 -0.16287913 0.99233471 -1.4312374 -1.0132978 -0.85929345 -0.3442096 -0.1051861 -0.46375363 -0.026547541 -0.17295806 1.2608116 0.059185122 1.5512319 0.5489667 0.47431089 0.73914076 -0.27175269 0.48939069 0.37792893 -0.25000349 0.95203952 0.56251959 0.59037421 0.72320094 -0.074984942 -0.66761965 0.78141112 -0.2384205 0.6423807 -0.37817536 -0.39605977 -0.42380584 -0.51967971 -0.51833745 1.0438845 -0.39981095 1.1595811 -0.17315712 -0.17744301 -0.15204446 -0.62522067",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=gaussian; antialias=true",
                 "float[1,5,3,2] -1.5 -1.25 2 -0.5 1.25 -2 -0.75 0.5 0.25 1 -1.75 -1.75 0.25 0.5 0 1.75 0.25 -1.75 -2 0.75 2 2 1.75 1 0.25 2 0.25 0.5 -1.75 -0.75; float[1,3,4,2] 0; float[2] 1.75 0.625; float[2] -0.5 1",
                 "float[1,3,4,2] 0.98074291 -0.070557066 0.82902733 -0.64176979 0.3354458 -1.2009623 0.088870429 -0.47037289 0.50623412 1.1844099 0.28255239 0.25966711 -0.12073184 -1.0939531 -0.069993252 -0.48369667 0.94606193 1.3036498 0.6066498 0.85256942 -0.066709539 -0.058322928 -0.068150083 -0.080661456",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=box; antialias=true",
                 "float[1,2,2,2] 1.25 1 -1 0.25 0.25 1.5 2 1.25; float[1,4,4,2] 0; float[2] 0.5 0.5; float[2] 0 0",
                 "float[1,4,4,2] 0.3125 0.25 0.3125 0.25 -0.25 0.0625 -0.25 0.0625 0.3125 0.25 0.3125 0.25 -0.25 0.0625 -0.25 0.0625 0.0625 0.375 0.0625 0.375 0.5 0.3125 0.5 0.3125 0.0625 0.375 0.0625 0.375 0.5 0.3125 0.5 0.3125",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=triangle; antialias=false",
                 "float[1,4,4,2] 0 -2 1.25 0.75 0.25 0.25 -1 0.25 -0.5 -1 0.25 0 -1 -2 -2 -0.25 1.5 2 1.25 0.5 1.5 -2 -2 1 -0.5 1.25 -0.25 -0.5 0.25 -0.75 -1.5 1.25; float[1,3,3,2] 0; float[2] 1.25 1.25; float[2] 0.5 3",
                 "float[1,3,3,2] -2.4 0.075 0 0 0 0 -2.55 0.95 0 0 0 0 -1.55 1.225 0 0 0 0",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad",
                 "kernel_type=keyscubic; antialias=true", "float[1,3,5,2] -1 -0.5 1.75 2 0 1.5 -1.75 -1.5 2 1.5 -0.25 1.75 -2 1 1.5 0.25 0.75 -1.25 -2 2 1.25 -1.5 -0.75 1.25 1.5 1 -1.75 1.75 0.25 0; float[1,4,3,2] 0; float[2] 0.8 1.7; float[2] 0.1 0.3", "float[1,4,3,2] 0.44552068 1.3471452 -0.68796201 0.63918352 1.1352985 0.69224273 -1.2609802 2.3663289 0.98830149 -0.47163061 -1.0444556 1.140516 -0.02379044 0.62689185 0.47799523 1.0496636 -0.90589982 0.76302545 0.69442764 -0.45776029 -0.15210976 1.3305231 -0.16634563 0.22387056",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", "kernel_type=MitchellCubic; antialias=true",
                 "float[1,3,5,2] -1.25 -1.25 -1 1.75 1.75 0 -0.75 -1 0.5 -0.75 0.25 0.75 1.25 -0.75 0.5 -0.75 0.25 0.75 0.25 -0.25 1.25 -0.5 0.5 0.25 1.5 1.5 0.5 -1.75 0.75 1.75; float[1,4,3,2] 0; float[2] 0.8 1.7; float[2] 0.1 0.3",
                 "float[1,4,3,2] -1.3816414 0.098032161 0.72510847 -0.23511189 0.14187899 -0.91562155 0.52877537 0.0273549 0.68068179 -0.27452608 0.22044006 -0.17097962 1.5224949 0.023121685 1.0743079 0.041438228 0.53431842 0.5171585 0.98171901 0.02333573 0.7953397 0.15734289 0.42657672 0.45845505",
                 .tolerance = 2e-5},
                {"ScaleAndTranslateGrad", NULL, "float[1,0,2,1]; float[1,1,1,1] 1; float[2] 1; float[2] 0",
                 "float[1,1,1,1] 0"},
            };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ScaleAndTranslate", "kernel_type=sinc", "float[1,1,1,1] 1; int32[2] 1 1; float[2] 1; float[2] 1",
         "InvalidArgument: Unrecognized kernel type: sinc"},
        {"ScaleAndTranslate", NULL, "float[1,1,1] 1; int32[2] 1 1; float[2] 1; float[2] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"ScaleAndTranslate", NULL, "float[1,1,1,1] 1; int32[2] 0 1; float[2] 1; float[2] 1",
         "InvalidArgument: output dimensions must be positive"},
        {"ScaleAndTranslate", NULL, "float[1,1,1,1] 1; int32[2] 1 1; float[2] 1 0; float[2] 1",
         "InvalidArgument: Scale must be greater than zero."},
        {"ScaleAndTranslate", NULL, "float[1,1,1,1] 1; int32[2] 1 1; float[3] 1; float[2] 1",
         "InvalidArgument: scale must be a vector of two elements"},
        {"ScaleAndTranslateGrad", NULL, "float[1,1,1,2] 1; float[1,1,1,1] 1; float[2] 1; float[2] 1",
         "InvalidArgument: input_grad must be 4-dimensional"},
        {"ScaleAndTranslateGrad", NULL, "float[1,1,1,1] 1; float[1,1,1,1] 1; float[2] 1; float[] 1",
         "InvalidArgument: translation must be a vector of two elements"},
        {.op = "ScaleAndTranslate",
         .inputs = "float[] 1; int32[2] 2 2; float[2] 1; float[2] 0",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ScaleAndTranslate",
         .inputs = "float[1,2,2,1] 1; int32[2] 2 2; float[] 1; float[2] 0",
         .want = "InvalidArgument: scale must be a vector of two elements"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"ScaleAndTranslate", NULL, "[?,4,5,3]; int32[2] 7 8; [2]; [2]", "[?,7,8,3]"},
        {"ScaleAndTranslate", NULL, "[4,5,3]; int32[2]; [2]; [2]",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
        {"ScaleAndTranslateGrad", NULL, "?; [1,2,3,4]; [2]; [2]", "[1,2,3,4]"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(gradient_values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
    };
    return BD_RUN_TESTS(tests);
}
