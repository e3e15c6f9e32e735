// Tests of resizing of images and its gradients.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

#include <string.h>

// Values are computed with numpy in double: a matrix of weights for each axis, and its transpose for
// gradients.

static void bilinear_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBilinear",
         .inputs = "float[1,3,4,1] 0.5 -0.375 2.375 -0.25 0.125 1.625 -0.875 -0.625 0.25 -0.375 -1.25 -0.25; "
                   "int32[2] 5 7",
         .want = "float[1,5,7,1] 0.5 -2.2351742e-08 0.017857283 1.5892861 1.6249997 0.12499982 -0.25 "
                 "0.27499999 0.58928575 0.76785715 0.53928562 0.16785699 -0.34642865 -0.47500001 "
                 "0.15000001 0.76428569 0.91428552 -0.32857176 -0.83571425 -0.60714282 -0.54999998 "
                 "0.22500001 0.1107142 -0.14642876 -0.83214308 -0.93214278 -0.44642849 -0.32499997 0.25 "
                 "-0.10714287 -0.50000004 -1.0000001 -0.96428561 -0.39285707 -0.25",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .attrs = "align_corners=true",
         .inputs = "float[2,4,5,2] 0.5 -0.375 -0.125 1.375 0.25 -1.25 -0.75 -0.625 1.125 -0.125 2.25 0.625 "
                   "0.125 -0.375 1 -0.25 -0.875 0.625 0 1.25 -0.125 -2.875 0.75 -1.875 1.5 1.875 -0.375 "
                   "-1.125 -1.375 0.875 -0.25 -0.625 -0.25 2.125 0.375 0.75 0.75 1 1 -0.75 -0.25 -0.75 -0.75 "
                   "1.125 -0.5 -0.125 -0.75 -0.625 0.75 -0.5 -0.5 0.5 0.5 0.75 0.125 -1.75 0.625 0.5 1 "
                   "-0.875 2.5 -1.25 0.75 0 -0.5 0.875 -0.25 -2.375 -1.125 0.5 2.25 -1.5 -0 1.5 0.625 -0.375 "
                   "-1.375 -1.75 -0.75 -0.375; int32[2] 2 3",
         .want = "float[2,2,3,2] 0.5 -0.375 0.25 -1.25 1.125 -0.125 -0.25 -0.625 0.375 0.75 1 -0.75 -0.25 "
                 "-0.75 -0.5 -0.125 0.75 -0.5 2.25 -1.5 0.625 -0.375 -0.75 -0.375",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,3,2,1] 0.5 -1.125 0.375 0.25 0.5 2.25; int32[2] 5 3",
         .want = "float[1,5,3,1] 0.5 -0.3125 -1.125 0.45 -0.062499978 -0.57499995 0.375 0.3125 0.25 "
                 "0.45000002 0.95000015 1.4500003 0.5 1.375 2.25",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,4,1] 1.5 0.5 0.5 0.125 -0 -2.375 1.25 -0.875 1 -0.625 -0.125 -0.25 -1 -0.125 "
                   "0.5 -0.375 -1.25 -0.625 0.25 1.125; int32[2] 2 2",
         .want = "float[1,2,2,1] -0.640625 0.21875 -0.65625 0.21875",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .inputs = "uint8[1,2,3,3] 110 18 36 164 67 9 122 175 128 81 64 153 188 164 133 141 115 105; "
                   "int32[2] 4 4",
         .want = "float[1,4,4,3] 110 18 36 150.5 54.75 15.75 143 121 68.5 122 175 128 95.5 41 94.5 155.875 "
                 "96.875 76.875 153.75 130.25 93.75 131.5 145 116.5 81 64 153 161.25 139 138 164.5 139.5 "
                 "119 141 115 105 81 64 153 161.25 139 138 164.5 139.5 119 141 115 105",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .attrs = "align_corners=true",
         .inputs = "int64[1,2,2,1] 197 77 161 64; int32[2] 3 3",
         .want = "float[1,3,3,1] 197 137 77 179 124.75 70.5 161 112.5 64",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear",
         .attrs = "align_corners=true",
         .inputs = "double[1,2,2,1] -0.125 0.25 -2.125 -0.75; int32[2] 1 1",
         .want = "float[1,1,1,1] -0.125",
         .tolerance = 3e-05},
        {.op = "ResizeBilinear", .inputs = "float[1,1,2,1] 3 4; int32[2] 1 2", .want = "float[1,1,2,1] 3 4"},
        {.op = "ResizeBilinear", .inputs = "int16[1,1,2,1] 3 4; int32[2] 1 2", .want = "float[1,1,2,1] 3 4"},
    };
    OP_TEST_VALUES(cases);
}

static void bicubic_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBicubic",
         .inputs = "float[1,3,4,1] -0.125 -0.25 -0.25 1.25 -1.375 -1.25 -0.375 -0.25 -0.5 1.25 0.25 1.125; "
                   "int32[2] 5 7",
         .want = "float[1,5,7,1] -0.125 -0.19750238 -0.27943571 -0.41952128 0.1464357 1.0689038 1.4074088 "
                 "-0.98392714 -1.146908 -1.06159 -0.65854445 -0.16047152 0.12404344 0.24486661 -1.3408893 "
                 "-1.154365 -0.7970747 -0.43763548 -0.17507427 -0.15868699 -0.1386785 -0.68422049 "
                 "0.2362949 0.81343004 0.29509179 0.25353508 0.75249913 0.92115824 -0.40553084 0.83744503 "
                 "1.513612 0.61512368 0.4386329 1.1423172 1.3737706",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .attrs = "align_corners=true",
         .inputs = "float[2,4,5,2] -1.875 0.25 -0.875 -0.25 0 0.625 -0 0.875 0.25 0.375 0 0.25 1 0.125 -0.25 "
                   "-0.625 0.5 -0.875 0.125 1.125 -2 0.25 -1.625 -0.125 0.375 1.125 0.5 1.125 -0.125 0.625 "
                   "0.375 -0.5 0.25 -2.375 -1.25 0.5 0.25 1.125 0.25 -1.125 1.125 0.625 0.375 2.125 1.375 "
                   "-0.25 -0.875 1.25 -0.25 -0.375 1.125 -0.25 2.75 -0.375 1.875 0.875 -0.75 1.25 0 -0.375 "
                   "0.5 -0.375 0.5 0.625 0.125 -1.375 0.5 -0.25 -0.375 0.375 -0.625 -1.375 1 -0.5 -0.5 -0.5 "
                   "-1 1.5 -0.75 0.25; int32[2] 2 3",
         .want = "float[2,2,3,2] -1.875 0.25 0 0.625 0.25 0.375 0.375 -0.5 -1.25 0.5 0.25 -1.125 1.125 "
                 "0.625 1.375 -0.25 -0.25 -0.375 -0.625 -1.375 -0.5 -0.5 -0.75 0.25",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,3,2,1] 1 -0 0.875 1.125 0.375 1.25; int32[2] 5 3",
         .want = "float[1,5,3,1] 1.0815499 0.46223722 -0.15707547 1.017328 0.68400592 0.35068386 "
                 "0.85852779 1 1.1414722 0.49811198 0.90076743 1.3034229 0.2764743 0.79833896 1.3202036",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,4,1] 0.875 0.875 -2.5 1.125 0.75 0.625 0.125 -1 -1.5 0.75 0 -0.25 -0 -1.25 1.5 "
                   "-0.5 -0.25 -0.75 1.5 1.125; int32[2] 2 2",
         .want = "float[1,2,2,1] 0.87550516 -0.58408172 -0.74494836 0.84042434",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .inputs = "uint8[1,2,3,3] 181 128 43 56 155 153 162 71 196 199 170 135 191 4 102 186 191 40; "
                   "int32[2] 4 4",
         .want = "float[1,4,4,3] 181 128 43 73.140625 157.74219 123.54297 97.28125 115.53125 184.8125 "
                 "173.17969 62.140625 200.53516 190 149 89 133.24023 89.814453 119.7793 142.51562 "
                 "98.734375 126.35938 179.32617 136.43164 116.99805 199 170 135 193.33984 21.886719 "
                 "116.01562 187.75 81.9375 67.90625 185.47266 210.72266 33.460938 200.6875 173.9375 "
                 "143.625 204.60852 9.1502686 115.30994 196.23145 78.788086 56.946289 186.62512 224.65222 "
                 "17.797729",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .attrs = "align_corners=true",
         .inputs = "int64[1,2,2,1] 165 147 169 25; int32[2] 3 3",
         .want = "float[1,3,3,1] 165 156 147 167 126.5 86 169 97 25",
         .tolerance = 3e-05},
        {.op = "ResizeBicubic",
         .attrs = "align_corners=true",
         .inputs = "double[1,2,2,1] 1.25 0.625 0 -1.125; int32[2] 1 1",
         .want = "float[1,1,1,1] 1.25",
         .tolerance = 3e-05},
    };
    OP_TEST_VALUES(cases);
}

static void area_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeArea",
         .inputs = "float[1,3,4,1] -1 -0.625 -0.75 -0.25 0.5 0.125 -0.125 1.5 0.5 -1 -0.875 -0.125; int32[2] "
                   "5 7",
         .want = "float[1,5,7,1] -1 -0.90624997 -0.62500007 -0.68749995 -0.74999992 -0.37500001 "
                 "-0.24999987 -0.4999999 -0.4687499 -0.37499999 -0.45833327 -0.54166657 0.11458365 "
                 "0.33333328 0.5 0.40624997 0.12500001 -5.2154062e-08 -0.12499999 1.0937507 1.4999992 0.5 "
                 "0.21874987 -0.62500021 -0.62500006 -0.62500003 0.15625008 0.41666623 0.4999999 "
                 "0.12499986 -0.99999991 -0.93749969 -0.87499973 -0.31249988 -0.12499991",
         .tolerance = 3e-05},
        {.op = "ResizeArea",
         .inputs = "uint8[1,2,3,3] 6 16 172 39 105 67 41 47 57 36 30 93 126 186 78 37 104 66; int32[2] 4 4",
         .want = "float[1,4,4,3] 6 16 172 28 75.333333 102 39.666667 85.666667 63.666667 41 47 57 6 16 172 "
                 "28 75.333333 102 39.666667 85.666667 63.666667 41 47 57 36 30 93 96 134 83 96.333333 "
                 "158.66667 74 37 104 66 36 30 93 96 134 83 96.333333 158.66667 74 37 104 66",
         .tolerance = 3e-05},
        {.op = "ResizeArea",
         .inputs = "half[1,1,2,1] 0x3c00 0x4000; int32[2] 1 1",
         .want = "float[1,1,1,1] 1.5"},
    };
    OP_TEST_VALUES(cases);
}

static void nearest_neighbor_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeNearestNeighbor",
         .inputs = "float[1,3,4,1] -1.5 1.25 -0.375 1.875 -0.375 -0 -1 -1.875 -1.25 0.625 -0.75 1.75; "
                   "int32[2] 5 7",
         .want = "float[1,5,7,1] -1.5 -1.5 1.25 1.25 -0.375 -0.375 1.875 -1.5 -1.5 1.25 1.25 -0.375 -0.375 "
                 "1.875 -0.375 -0.375 0 0 -1 -1 -1.875 -0.375 -0.375 0 0 -1 -1 -1.875 -1.25 -1.25 0.625 "
                 "0.625 -0.75 -0.75 1.75"},
        {.op = "ResizeNearestNeighbor",
         .attrs = "align_corners=true",
         .inputs = "float[2,4,5,2] 1.25 -0.25 0.375 1.25 -0 -1.625 0.25 0.875 -0.375 -2.125 0.375 -1 0.375 "
                   "-0.75 1.375 -2.125 0.25 -0.25 0.25 0.375 0.875 -0.375 -0.375 -0.375 -1.625 -0.25 -1.875 "
                   "0.875 1.375 -0.75 0.125 2.5 0.625 0.875 0.25 -1.125 -0.75 2 -1.125 0.5 0.625 -2.375 "
                   "0.375 -0.75 1.375 -0.375 -0 -1.5 0 0 -0.625 1.125 -0.5 0.25 -1.5 -0.125 -0.375 0.25 0.75 "
                   "0.75 -0.125 -0.625 -0.25 2.25 -1.125 -0.5 1.25 1 0 -1.375 0.875 0.125 0.75 0.375 0.5 "
                   "-1.25 1 -0.75 0.375 0.25; int32[2] 2 3",
         .want = "float[2,2,3,2] 1.25 -0.25 0 -1.625 -0.375 -2.125 0.125 2.5 0.25 -1.125 -1.125 0.5 0.625 "
                 "-2.375 1.375 -0.375 0 0 0.875 0.125 0.5 -1.25 0.375 0.25"},
        {.op = "ResizeNearestNeighbor",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,3,2,1] -1.375 0.75 -1.25 -2.5 0.375 0.25; int32[2] 5 3",
         .want = "float[1,5,3,1] -1.375 0.75 0.75 -1.375 0.75 0.75 -1.25 -2.5 -2.5 0.375 0.25 0.25 0.375 "
                 "0.25 0.25"},
        {.op = "ResizeNearestNeighbor",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,4,1] -0.625 -0.75 0.25 1.875 0.25 0.625 0.125 0.375 0.375 -0.25 -2.125 0.5 "
                   "-0.75 -0.875 -0.625 0 -1.375 -0.75 0 -0.875; int32[2] 2 2",
         .want = "float[1,2,2,1] 0.625 0.375 -0.875 0"},
        {.op = "ResizeNearestNeighbor",
         .inputs = "uint8[1,2,3,3] 128 160 93 129 1 42 21 164 69 122 195 65 100 60 178 80 85 161; int32[2] 4 "
                   "4",
         .want = "uint8[1,4,4,3] 128 160 93 128 160 93 129 1 42 21 164 69 128 160 93 128 160 93 129 1 42 "
                 "21 164 69 122 195 65 122 195 65 100 60 178 80 85 161 122 195 65 122 195 65 100 60 178 80 "
                 "85 161"},
        {.op = "ResizeNearestNeighbor",
         .attrs = "align_corners=true",
         .inputs = "int64[1,2,2,1] 67 115 135 112; int32[2] 3 3",
         .want = "int64[1,3,3,1] 67 115 115 135 112 112 135 112 112"},
        {.op = "ResizeNearestNeighbor",
         .attrs = "align_corners=true",
         .inputs = "double[1,2,2,1] -2.625 0.875 0.125 0.5; int32[2] 1 1",
         .want = "double[1,1,1,1] -2.625"},
        {.op = "ResizeNearestNeighbor",
         .inputs = "half[1,1,2,1] 0x3c00 0x4000; int32[2] 1 4",
         .want = "half[1,1,4,1] 0x3c00 0x3c00 0x4000 0x4000"},
    };
    OP_TEST_VALUES(cases);
}

static void bilinear_gradient_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBilinearGrad",
         .inputs = "float[1,5,7,1] -0.375 0.625 -1.625 -0.75 1.125 1.875 -1.5 0.625 -1 -0.875 -0.875 -0.375 "
                   "1 0.75 0 -0.375 0 -0.125 0.75 -0.625 -0 -0.125 -0 0.25 0.25 1.375 -0.125 1.5 -0.25 -0.5 "
                   "0.125 0.375 0.25 1.25 1.125; float[1,3,4,1] 0.5 -0.375 2.375 -0.25 0.125 1.625 -0.875 "
                   "-0.625 0.25 -0.375 -1.25 -0.25",
         .want = "float[1,3,4,1] -0.028571439 -1.8785711 -0.046429056 1.0285716 -0.035714241 -1.0857143 "
                 "-0.0035717249 0.99999999 -0.59642857 0.10714276 1.6571428 3.6321432",
         .tolerance = 3e-05},
        {.op = "ResizeBilinearGrad",
         .attrs = "align_corners=true",
         .inputs = "float[2,2,3,2] -2.25 -1.75 0.25 -0.375 -0.75 -0.375 -0.875 0.875 1.625 2.125 0.75 0.75 "
                   "1.5 1.75 1.5 1.25 -0.625 -1.625 0.875 -0.125 -0 -0.875 -1.25 1.375; float[2,4,5,2] 0.5 "
                   "-0.375 -0.125 1.375 0.25 -1.25 -0.75 -0.625 1.125 -0.125 2.25 0.625 0.125 -0.375 1 -0.25 "
                   "-0.875 0.625 0 1.25 -0.125 -2.875 0.75 -1.875 1.5 1.875 -0.375 -1.125 -1.375 0.875 -0.25 "
                   "-0.625 -0.25 2.125 0.375 0.75 0.75 1 1 -0.75 -0.25 -0.75 -0.75 1.125 -0.5 -0.125 -0.75 "
                   "-0.625 0.75 -0.5 -0.5 0.5 0.5 0.75 0.125 -1.75 0.625 0.5 1 -0.875 2.5 -1.25 0.75 0 -0.5 "
                   "0.875 -0.25 -2.375 -1.125 0.5 2.25 -1.5 -0 1.5 0.625 -0.375 -1.375 -1.75 -0.75 -0.375",
         .want = "float[2,4,5,2] -2.25 -1.75 0 0 0.25 -0.375 0 0 -0.75 -0.375 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                 "0 0 0 0 0 0 -0.875 0.875 0 0 1.625 2.125 0 0 0.75 0.75 1.5 1.75 0 0 1.5 1.25 0 0 -0.625 "
                 "-1.625 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0.875 -0.125 0 0 0 -0.875 0 0 -1.25 1.375",
         .tolerance = 3e-05},
        {.op = "ResizeBilinearGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,3,1] -0 -1.25 0 -0.625 0.5 0.25 0.375 -0.625 0.375 -0.5 0.5 -0.25 -1.125 0.5 "
                   "-0.75; float[1,3,2,1] 0.5 -1.125 0.375 0.25 0.5 2.25",
         .want = "float[1,3,2,1] -0.84999999 -0.32500002 -0.18749998 0.26250002 -1.025 -0.5",
         .tolerance = 3e-05},
        {.op = "ResizeBilinearGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,2,2,1] 0.875 0.25 -1 0.875; float[1,5,4,1] 1.5 0.5 0.5 0.125 -0 -2.375 1.25 "
                   "-0.875 1 -0.625 -0.125 -0.25 -1 -0.125 0.5 -0.375 -1.25 -0.625 0.25 1.125",
         .want = "float[1,5,4,1] 0.109375 0.109375 0.03125 0.03125 0.328125 0.328125 0.09375 0.09375 0 0 0 "
                 "0 -0.375 -0.375 0.328125 0.328125 -0.125 -0.125 0.109375 0.109375",
         .tolerance = 3e-05},
        {.op = "ResizeBilinearGrad",
         .attrs = "align_corners=true",
         .inputs = "float[1,1,1,1] -0.75; double[1,2,2,1] -0.125 0.25 -2.125 -0.75",
         .want = "double[1,2,2,1] -0.75 0 0 0",
         .tolerance = 3e-05},
        {.op = "ResizeBilinearGrad",
         .inputs = "float[1,1,2,1] 2 4; half[1,1,1,1] 0",
         .want = "half[1,1,1,1] 0x4600"},
    };
    OP_TEST_VALUES(cases);
}

static void bicubic_gradient_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBicubicGrad",
         .inputs = "float[1,5,7,1] -1 -3 1.125 -0.125 -0.5 0 -0 -0.375 0.25 0.375 -1.5 -0.625 -0.625 0 "
                   "-0.875 1.375 0.5 0.625 -1.125 0.75 0.625 0.125 -1.25 0 -0.25 -1.25 -0.75 0.75 -0.5 1.625 "
                   "2.875 0.625 0.875 0.875 0.25; float[1,3,4,1] -0.125 -0.25 -0.25 1.25 -1.375 -1.25 -0.375 "
                   "-0.25 -0.5 1.25 0.25 1.125",
         .want = "float[1,3,4,1] -2.3893596 -1.0517703 -0.70724366 -0.43969066 -0.57345212 1.1081089 "
                 "-2.1961332 0.34649201 -0.43801907 4.0196142 0.77705185 1.4194016",
         .tolerance = 3e-05},
        {.op = "ResizeBicubicGrad",
         .attrs = "align_corners=true",
         .inputs = "float[2,2,3,2] -2.25 -0.5 -1.125 2.625 -0.625 0.375 0.375 0 1 -0.125 1.625 -0.5 -0.875 "
                   "-1.125 0.375 0.125 -0.125 1 1.25 1.25 -0.25 -1.125 0.875 -0.75; float[2,4,5,2] -1.875 "
                   "0.25 -0.875 -0.25 0 0.625 -0 0.875 0.25 0.375 0 0.25 1 0.125 -0.25 -0.625 0.5 -0.875 "
                   "0.125 1.125 -2 0.25 -1.625 -0.125 0.375 1.125 0.5 1.125 -0.125 0.625 0.375 -0.5 0.25 "
                   "-2.375 -1.25 0.5 0.25 1.125 0.25 -1.125 1.125 0.625 0.375 2.125 1.375 -0.25 -0.875 1.25 "
                   "-0.25 -0.375 1.125 -0.25 2.75 -0.375 1.875 0.875 -0.75 1.25 0 -0.375 0.5 -0.375 0.5 "
                   "0.625 0.125 -1.375 0.5 -0.25 -0.375 0.375 -0.625 -1.375 1 -0.5 -0.5 -0.5 -1 1.5 -0.75 "
                   "0.25",
         .want = "float[2,4,5,2] -2.25 -0.5 0 0 -1.125 2.625 0 0 -0.625 0.375 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                 "0 0 0 0 0 0 0.375 0 0 0 1 -0.125 0 0 1.625 -0.5 -0.875 -1.125 0 0 0.375 0.125 0 0 -0.125 "
                 "1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1.25 1.25 0 0 -0.25 -1.125 0 0 0.875 -0.75",
         .tolerance = 3e-05},
        {.op = "ResizeBicubicGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,3,1] -0.75 0.375 1.5 -1.375 -2.375 0.125 0.5 -2.75 -1.375 1.375 -0.125 1.75 "
                   "1.625 0.125 -1.125; float[1,3,2,1] 1 -0 0.875 1.125 0.375 1.25",
         .want = "float[1,3,2,1] -2.5488452 1.2724001 -1.3828819 -2.621809 2.9646715 -0.18353544",
         .tolerance = 3e-05},
        {.op = "ResizeBicubicGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,2,2,1] -0.375 0.75 -0.5 -0.875; float[1,5,4,1] 0.875 0.875 -2.5 1.125 0.75 0.625 "
                   "0.125 -1 -1.5 0.75 0 -0.25 -0 -1.25 1.5 -0.5 -0.25 -0.75 1.5 1.125",
         .want = "float[1,5,4,1] -0.043949259 -0.053715761 0.092781769 0.087898518 -0.16821958 -0.20560171 "
                 "0.35513022 0.33643916 0.031825326 0.031320162 0.0010103278 0.0045464751 -0.22429277 "
                 "-0.18068029 -0.36759093 -0.39251235 -0.058599012 -0.04720476 -0.09603727 -0.10254827",
         .tolerance = 3e-05},
        {.op = "ResizeBicubicGrad",
         .attrs = "align_corners=true",
         .inputs = "float[1,1,1,1] -0.25; double[1,2,2,1] 1.25 0.625 0 -1.125",
         .want = "double[1,2,2,1] -0.25 0 0 0",
         .tolerance = 3e-05},
    };
    OP_TEST_VALUES(cases);
}

static void nearest_neighbor_gradient_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "float[1,5,7,1] -0.25 0.625 -1.75 0.375 -1.125 1.375 1 1.5 0.625 1.25 -2.125 -1.875 0.625 "
                   "0.25 -1.25 0.5 0 -0.25 -0.25 -0.625 -0.375 -0.625 -1.125 1.25 -1.875 0.125 -1.75 -1.25 "
                   "-0.75 0.125 0.75 -0.625 0.75 1.25 -0.125; int32[2] 3 4",
         .want = "float[1,3,4,1] 2.5 -2.25 -1 1.25 -2.5 -0.875 -2.5 -1.625 -0.625 0.125 2 -0.125"},
        {.op = "ResizeNearestNeighborGrad",
         .attrs = "align_corners=true",
         .inputs = "float[2,2,3,2] 2 -0.625 -1.875 -0.25 -1.75 -0.25 -2.75 -0.25 0.25 1.125 -1.125 -1.375 "
                   "-1.625 -0.125 -0.5 -1.625 2 -1.125 -0.375 -0.5 -0.125 0 0.75 0.625; int32[2] 4 5",
         .want = "float[2,4,5,2] 2 -0.625 0 0 -1.875 -0.25 0 0 -1.75 -0.25 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
                 "0 0 0 0 -2.75 -0.25 0 0 0.25 1.125 0 0 -1.125 -1.375 -1.625 -0.125 0 0 -0.5 -1.625 0 0 2 "
                 "-1.125 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 -0.375 -0.5 0 0 -0.125 0 0 0 0.75 0.625"},
        {.op = "ResizeNearestNeighborGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,5,3,1] 0.625 1.5 -1.125 -1.375 0.75 -1.125 1.25 -0.625 0.375 0.375 -0.25 -1.375 "
                   "1.75 0.375 0.875; int32[2] 3 2",
         .want = "float[1,3,2,1] -0.75 0 1.25 -0.25 2.125 -0.375"},
        {.op = "ResizeNearestNeighborGrad",
         .attrs = "half_pixel_centers=true",
         .inputs = "float[1,2,2,1] 0.875 -0.375 -1.125 0.125; int32[2] 5 4",
         .want = "float[1,5,4,1] 0 0 0 0 0 0.875 0 -0.375 0 0 0 0 0 -1.125 0 0.125 0 0 0 0"},
        {.op = "ResizeNearestNeighborGrad",
         .attrs = "align_corners=true",
         .inputs = "double[1,1,1,1] -1.5; int32[2] 2 2",
         .want = "double[1,2,2,1] -1.5 0 0 0"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "int32[1,1,4,1] 1 2 3 4; int32[2] 1 2",
         .want = "int32[1,1,2,1] 3 7"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "uint8[1,1,2,1] 200 100; int32[2] 1 1",
         .want = "uint8[1,1,1,1] 44"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBilinear", .inputs = "float[0,1,2,1]; int32[2] 3 3", .want = "float[0,3,3,1]"},
        {.op = "ResizeArea", .inputs = "float[0,2,3,1]; int32[2] 4 5", .want = "float[0,4,5,1]"},
        {.op = "ResizeBicubic", .inputs = "float[0,2,3,1]; int32[2] 4 5", .want = "float[0,4,5,1]"},
        {.op = "ResizeNearestNeighbor", .inputs = "int32[0,2,3,1]; int32[2] 4 5", .want = "int32[0,4,5,1]"},
        {.op = "ResizeBilinearGrad",
         .inputs = "float[1,0,2,1]; float[1,1,2,1] 5",
         .want = "float[1,1,2,1] 0"},
        {.op = "ResizeBilinearGrad", .inputs = "float[0,4,5,1]; float[0,2,3,1]", .want = "float[0,2,3,1]"},
        {.op = "ResizeBicubicGrad", .inputs = "float[0,4,5,1]; float[0,2,3,1]", .want = "float[0,2,3,1]"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "float[0,4,5,1]; int32[2] 2 3",
         .want = "float[0,2,3,1]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeBilinear",
         .inputs = "float[1,2,2] 1; int32[2] 1 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeBilinear",
         .inputs = "float[1,2,2,1] 1; int32[1,2] 1 1",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
        {.op = "ResizeBicubic",
         .inputs = "float[1,2,2,1] 1; int32[3] 1 1 1",
         .want = "InvalidArgument: shape_t must have two elements"},
        {.op = "ResizeArea",
         .inputs = "float[1,2,2,1] 1; int32[2] 1 0",
         .want = "InvalidArgument: output dimensions must be positive"},
        {.op = "ResizeNearestNeighbor",
         .inputs = "float[1,2,2,1] 1; int32[2] -1 1",
         .want = "InvalidArgument: output dimensions must be positive"},
        {.op = "ResizeBilinear",
         .inputs = "float[1,2,0,1]; int32[2] 1 1",
         .want = "InvalidArgument: must be of non-zero size"},
        {.op = "ResizeBilinear",
         .inputs = "float[1,2,2,0]; int32[2] 1 1",
         .want = "InvalidArgument: image must have at least one channel"},
        {.op = "ResizeBilinear",
         .attrs = "align_corners=true; half_pixel_centers=true",
         .inputs = "float[1,2,2,1] 1; int32[2] 1 1",
         .want = "InvalidArgument: If half_pixel_centers is True, align_corners must be False."},
        {.op = "ResizeBilinear",
         .inputs = "float[1,1,1,1] 1; int32[2] 2147483647 2147483647",
         .want = "ResourceExhausted: OOM"},
        {.op = "ResizeBilinearGrad",
         .inputs = "float[1,2,2] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input_grad must be 4-dimensional"},
        {.op = "ResizeBilinearGrad",
         .inputs = "float[1,2,2,1] 1; float[1,1,1] 1",
         .want = "InvalidArgument: original_image must be 4-dimensional"},
        {.op = "ResizeBicubicGrad",
         .inputs = "float[1,2,2,1] 1; float[2,1,1,1] 1",
         .want = "InvalidArgument: must have the same batch and channels"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "float[1,2,2,1] 1; int32[2] 0 1",
         .want = "InvalidArgument: must be positive"},
    };
    OP_TEST_VALUES(cases);
}

static void scalars_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ResizeArea",
         .inputs = "float[] 1; int32[2] 4 5",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeArea",
         .inputs = "float[1,2,2,1] 1; int32[] 4",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
        {.op = "ResizeBicubic",
         .inputs = "float[] 1; int32[2] 4 5",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeBicubic",
         .inputs = "float[1,2,2,1] 1; int32[] 4",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
        {.op = "ResizeNearestNeighbor",
         .inputs = "float[] 1; int32[2] 4 5",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeNearestNeighbor",
         .inputs = "float[1,2,2,1] 1; int32[] 4",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
        {.op = "ResizeBilinear",
         .inputs = "float[] 1; int32[2] 4 5",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeBilinear",
         .inputs = "float[1,2,2,1] 1; int32[] 4",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
        {.op = "ResizeBilinearGrad",
         .inputs = "float[] 1; float[1,2,2,1] 1",
         .want = "InvalidArgument: input_grad must be 4-dimensional"},
        {.op = "ResizeBicubicGrad",
         .inputs = "float[1,2,2,1] 1; float[] 1",
         .want = "InvalidArgument: original_image must be 4-dimensional"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "float[] 1; int32[2] 2 3",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "ResizeNearestNeighborGrad",
         .inputs = "float[1,2,2,1] 1; int32[] 2",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ResizeBilinear", NULL, "[?,3,4,5]; int32[2] 6 7", "[?,6,7,5]"},
        {"ResizeBicubic", NULL, "?; int32[2]", "[?,?,?,?]"},
        {"ResizeArea", NULL, "[1,2,3]; int32[2]", "InvalidArgument: must be rank 4 but is rank 3"},
        {"ResizeNearestNeighbor", NULL, "[1,2,3,4]; int32[3]", "InvalidArgument: must be 2 but is 3"},
        {"ResizeBilinearGrad", NULL, "?; [1,2,3,4]", "[1,2,3,4]"},
        {"ResizeBicubicGrad", NULL, "?; ?", "?"},
        {"ResizeNearestNeighborGrad", NULL, "[2,?,?,3]; int32[2] 4 5", "[2,4,5,3]"},
    };
    OP_TEST_SHAPES(cases);
}

// The gradient function hands the gradient, the image (or its size) and the attrs to the op of the gradient.
static void check_gradient(const char *op, const char *image, const char *want)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor pixels, got;
    op_test_tensor(&pixels, image);
    braid_out in[] = {bd_b_const(g, NULL, &pixels), bd_b_const_i32_vector(g, NULL, (int32_t[]){1, 3}, 2)},
              grad;
    braid_out y = braid_output(op_test_node(g, op, "align_corners=true", in, 2), 0);
    braid_gradients(g, &y, 1, in, 1, NULL, &grad);
    op_test_eval(NULL, 0, &grad, 1, &got, st);
    assert_ok(st);
    op_test_expect(&got, want, 1e-6, op);
    bd_tensor_fini(&got);
    bd_tensor_fini(&pixels);
    braid_graph_free(g);
}

static void gradients_are_correct(void **state)
{
    (void)state;
    check_gradient("ResizeBilinear", "double[1,1,2,1] 5 6", "double[1,1,2,1] 1.5 1.5");
    check_gradient("ResizeBicubic", "float[1,1,2,1] 5 6", "float[1,1,2,1] 1.5 1.5");
    check_gradient("ResizeNearestNeighbor", "double[1,1,2,1] 5 6", "double[1,1,2,1] 1 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bilinear_follows_its_definition),
        cmocka_unit_test(bicubic_follows_its_definition),
        cmocka_unit_test(area_follows_its_definition),
        cmocka_unit_test(nearest_neighbor_follows_its_definition),
        cmocka_unit_test(bilinear_gradient_follows_its_definition),
        cmocka_unit_test(bicubic_gradient_follows_its_definition),
        cmocka_unit_test(nearest_neighbor_gradient_follows_its_definition),
        cmocka_unit_test(empty_follows_its_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(scalars_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_are_correct),
    };
    return BD_RUN_TESTS(tests);
}
