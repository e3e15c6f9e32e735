// Tests of the gradients of batch normalization. Values computed with numpy in double from the definitions.
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

static void first_version_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormGrad",
         .attrs = "is_training=true; epsilon=0.001",
         .inputs = "float[2,2,2,3] -1.125 0.25 1.625 0.75 -0.25 -0.875 -0.75 1.75 0 -0.625 0.25 2.125 0.125 "
                   "0.625 0.25 -0.375 -1.125 -0.375 -0.25 0.625 0.875 0.875 0.25 0.875; float[2,2,2,3] 1.625 "
                   "-0.625 -0.5 -1.125 0.875 -2.25 1.75 -0.75 0.375 -0.25 1.5 -2 -0.375 -0.375 1.125 -1.125 "
                   "-0.125 -0.875 0 0.625 -1.125 1.125 0.875 0.5; float[3] 2.375 0.875 1.375; float[3] "
                   "0.203125 0.25 -0.59375; float[3] 1.1716309 0.59765625 1.2724609",
         .want = "float[2,2,2,3] -1.3625885 -0.34033299 1.2986391 1.3420389 -0.41322348 -1.8227188 "
                 "-0.47614472 1.3149517 -0.64374317 -1.2257497 0.3574506 1.8433948 0.35518328 0.1658419 "
                 "-0.30689298 -1.1253379 -1.7311185 -1.1543912 -0.27532103 0.49421065 0.35793358 2.7679196 "
                 "0.15222013 0.42777861; float[3] -2.0218782 -1.7973029 -0.31846012; float[3] -1.375 2.375 "
                 "4.5; float[0]; float[0]",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGrad",
         .attrs = "is_training=false; epsilon=0.001",
         .inputs = "float[2,2,2,3] 1.625 0.375 -1.25 0.875 -0.125 -0.625 -1.25 0.5 0.75 -0.625 0.5 -1.125 "
                   "0.75 0 -0.125 -0.125 0.875 0.75 0.5 0.125 0.125 0.625 0.25 0.625; float[2,2,2,3] 1.25 "
                   "0.125 -0.375 -0.625 0.375 0.125 -0.375 0 -0.625 0.75 -0.5 1.25 0.375 0.625 -1.125 0.125 "
                   "0.75 -1 -0.25 0 -1.375 0.375 0.875 -0.875; float[3] 1.875 0.25 1.5; float[3] -0 -0.75 "
                   "1.25; float[3] 2.5 2.375 1.75",
         .want = "float[2,2,2,3] 1.9266277 0.06082023 -1.416962 1.0374149 -0.02027341 -0.70848099 "
                 "-1.4820213 0.08109364 0.85017719 -0.74101064 0.08109364 -1.2752658 0.88921277 0 "
                 "-0.1416962 -0.14820213 0.14191387 0.85017719 0.59280851 0.02027341 0.1416962 0.74101064 "
                 "0.04054682 0.70848099; float[3] 1.1757369 1.6218728 -1.2988818; float[3] 2.375 2.5 "
                 "-0.875; float[3] 0; float[3] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGrad",
         .attrs = "is_training=true; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] 0.625 -0.375 1.375 0.125 1.625 0.5 1.5 0.125 -1.25 2.5 -0.5 -0.25 -0.75 "
                   "-0.25 0.25 0.25 0.625 1.75 -0.125 -1.25 -1.125 -0.625 -1.625 0.875; float[2,3,2,2] -1.25 "
                   "0.375 0.5 1.25 -0.125 -0.625 0.625 0.25 0.25 -0.125 1.125 0.375 1.875 1.125 0.625 -1.625 "
                   "0.625 0.375 0.75 1 -0.375 0.875 -0.5 2; float[3] 0.125 -0.25 -0.125; float[3] 0.359375 "
                   "0.359375 0.453125; float[3] 1.2868652 0.23999023 0.62475586",
         .want = "float[2,3,2,2] 0.0092223656 -0.05810414 0.13794798 0.02002711 -0.32675631 0.45098169 "
                 "-0.57032803 0.2835203 0.14479414 -0.47218865 0.083246232 -0.0050862374 -0.059882359 "
                 "-0.024572143 0.017325924 -0.041964739 -0.12472479 -0.59523346 0.20601596 0.67652464 "
                 "0.084351949 0.086722567 0.15522315 -0.077063155; float[3] -2.1719718 -3.1590087 "
                 "2.6073029; float[3] 1.25 4.75 -2; float[0]; float[0]",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGrad",
         .attrs = "is_training=false; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] 0 -0.75 0.625 -0.625 1.125 0.25 1.375 -0.625 3 0.875 0.625 -0 -0.75 "
                   "-0.875 -0.125 -0.75 0.25 -0.875 0.625 1 -0.75 1.25 -0.25 1.125; float[2,3,2,2] 0.875 1.5 "
                   "0.75 0.875 -0.875 -0.875 -1.5 1.25 -0.25 1.375 -0.75 -0.5 0.125 0.875 0 0.25 0 0.125 "
                   "-1.125 0.125 -0.125 -0 0.5 -0.625; float[3] 1.375 1.25 1.875; float[3] 2.125 -1.5 "
                   "-0.875; float[3] 1.375 0.75 2.125",
         .want = "float[2,3,2,2] 0 -0.87913333 0.73261111 -0.73261111 1.6227162 0.3606036 1.9833198 "
                 "-0.90150899 3.8578106 1.1251947 0.80371053 -0 -0.87913333 -1.0256555 -0.14652222 "
                 "-0.87913333 0.3606036 -1.2621126 0.90150899 1.4424144 -0.96445264 1.6074211 -0.32148421 "
                 "1.446679; float[3] 3.9694202 -0.054090539 3.0112355; float[3] -3.25 3.125 5.875; "
                 "float[3] 0; float[3] 0",
         .tolerance = 1e-05},
    };
    OP_TEST_VALUES(cases);
}

static void second_version_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormGradV2",
         .attrs = "is_training=false",
         .inputs = "float[2,2,2,3] -1.875 0.875 -0 2.125 -1.25 0.125 0.375 1.25 -0.375 0.125 -2.125 -0.875 "
                   "0.5 1.125 -0.25 2 1.75 -0 -2.375 -1.75 -0.75 1.125 0.25 -2.125; float[2,2,2,3] -0.5 1 -2 "
                   "0.375 -0.25 0.75 0.5 -2.75 0.625 0.375 0 -0.5 0.875 -0.375 1.875 0.625 2.125 -0.75 -1.75 "
                   "0.75 0.875 0 -1.5 -0.5; float[3] 2.125 1.375 1.375; float[3] -1.375 1.75 -0.5; float[3] "
                   "1 1.5 1.25",
         .want = "float[2,2,2,3] -3.9841758 0.98231471 -0 4.5153992 -1.4033067 0.15372352 0.79683516 "
                 "1.4033067 -0.46117057 0.26561172 -2.3856214 -1.0760647 1.0624469 1.2629761 -0.30744705 "
                 "4.2497875 1.9646294 -0 -5.0466227 -1.9646294 -0.92234115 2.3905055 0.28066134 "
                 "-2.6132999; float[3] 10.561972 -0.70165336 -1.6909588; float[3] 2 0.125 -4.25; float[3] "
                 "0; float[3] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGradV2",
         .attrs = "is_training=true; data_format=NCHW",
         .inputs = "float[2,3,2,2] -0.875 0.75 -0.625 -0.625 -0.375 -1 1 0.625 -0.125 -0.125 0.5 1.75 0.875 "
                   "-0.5 0.75 -0.125 -0.25 1.875 -0.375 -0.5 -2 -1.375 0.5 -0.75; float[2,3,2,2] -0.25 1.625 "
                   "-0.375 -0.75 2 0 -0.5 0.375 0 -0.375 1.25 1.125 0.875 -0.125 1.125 -0 0.5 1 0.75 1.75 "
                   "0.5 -1.625 -1.125 1.375; float[3] 1.125 1.875 0.625; float[3] 0.265625 0.734375 "
                   "0.140625; float[3] 0.61108398 0.61889648 1.1071777",
         .want = "float[2,3,2,2] -0.59801157 -0.4184277 -0.094335344 0.33742907 -0.48732641 -3.0897269 "
                 "1.3984088 0.99161458 0.070067235 0.13317308 0.23093473 0.99441067 0.62497851 -0.20230091 "
                 "0.15725818 0.19340976 -1.0241125 4.3183768 -1.1828963 -0.92433812 -1.1277349 -0.39891474 "
                 "0.63060511 -0.53254121; float[3] 5.0040888 -1.4696288 2.3850906; float[3] -0.375 1 "
                 "-1.625; float[0]; float[0]",
         .tolerance = 1e-05},
    };
    OP_TEST_VALUES(cases);
}

static void third_version_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormGradV3",
         .attrs = "is_training=true; epsilon=0.001",
         .inputs = "float[2,2,2,3] -0.75 0.5 0.125 1.125 1.5 -0.5 0.125 1.75 1 0.75 1.25 -0.625 0.625 1.375 "
                   "1.625 -0.75 -0.25 0.375 -0.25 -0.375 0.625 -0.375 -1.75 0.375; float[2,2,2,3] 0.5 -1.125 "
                   "-0.75 0.625 1.5 0.625 1.25 1.75 1 -0.875 -0.125 0.625 -0.375 0.5 -1.625 -0.875 0.5 -2.25 "
                   "-1.125 -0 -1.75 0 -0.75 -0.25; float[3] 1.25 1.75 0.875; float[3] -0.109375 0.28125 "
                   "-0.546875; float[3] 0.63061523 0.87792969 1.3474121; float[] 0",
         .want = "float[2,2,2,3] -1.3890718 1.9949202 -0.22850871 1.5371993 0.13771094 -0.42782603 "
                 "-0.14962919 0.2497189 0.77654126 1.220965 1.9762916 -0.52201645 0.93316719 1.3229906 "
                 "0.72891785 -1.1382905 -1.7103023 -0.33645673 -0.30627538 -1.2343275 -0.0492996 "
                 "-0.7080647 -2.7370025 0.058648422; float[3] 0.73726734 5.699924 -2.4354952; float[3] 0.5 "
                 "4 3; float[0]; float[0]",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGradV3",
         .attrs = "is_training=false; epsilon=0.001",
         .inputs = "float[2,2,2,3] 0.375 -0.125 -0.125 1.125 0.75 -0.625 -1.125 -0.125 1.125 -0 1.75 -0.75 "
                   "0.125 -2.5 -0.625 -0.25 0.5 1.75 0 1.5 0.625 1 -0.5 1.375; float[2,2,2,3] -0.375 -0.75 "
                   "-1.625 1 -2.25 -1.75 -0.25 1.25 1.25 -1.125 -0.125 -1.5 1 -1.5 -0.125 1 -0.25 1.5 -0.875 "
                   "0.375 0.875 -0.125 1.375 0.5; float[3] -0.125 5.5 2.125; float[3] -0.5 0.625 0.375; "
                   "float[3] 2.375 0.625 1; float[] 0",
         .want = "float[2,2,2,3] -0.030410115 -0.86893149 -0.26549229 -0.091230345 5.2135889 -1.3274614 "
                 "0.091230345 -0.86893149 2.3894306 0 12.165041 -1.5929537 -0.010136705 -17.37863 "
                 "-1.3274614 0.02027341 3.475726 3.716892 -0 10.427178 1.3274614 -0.08109364 -3.475726 "
                 "2.9204152; float[3] 1.064354 0.94792526 6.7310103; float[3] 1.25 1.25 2.75; float[3] 0; "
                 "float[3] 0",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGradV3",
         .attrs = "is_training=true; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] -0.625 0.5 -0.875 -0.375 1 1.125 -1.125 0.875 -1 0.75 -1.875 -1.125 -0.5 "
                   "-0.125 1.375 0.875 1.625 1.25 -0.25 -0.25 1.125 0 -0.125 -1.375; float[2,3,2,2] -1.125 "
                   "0.5 -1 -0.5 -1.5 -0.5 0.375 -0.125 -1.375 1.5 0.375 1 0.75 -0.625 -2 -0.875 1.25 -1 "
                   "0.875 -0.625 0.375 -1.875 1.125 -0; float[3] 2.375 1.75 2.25; float[3] -0.609375 "
                   "-0.15625 0.140625; float[3] 0.68920898 0.77246094 1.2556152; float[] 0",
         .want = "float[2,3,2,2] -2.3150567 2.2845764 -2.9233118 -1.0682352 0.40946315 1.0476081 "
                 "-3.0888013 0.69617781 -0.6549812 2.0178154 -2.9223826 -1.5995644 -0.36129919 -0.45998021 "
                 "2.6574113 2.1858954 2.7240053 1.1016312 -1.1529812 -1.7371031 3.0990886 1.4982156 "
                 "0.37108277 -1.8092743; float[3] -1.9794832 -1.3769004 1.3050006; float[3] 0.25 4.25 "
                 "-3.625; float[0]; float[0]",
         .tolerance = 1e-05},
        {.op = "FusedBatchNormGradV3",
         .attrs = "is_training=false; data_format=NCHW; epsilon=0.001",
         .inputs = "float[2,3,2,2] 1 1.25 -1.125 -0.5 -0.75 1.25 -0 1.5 -0.5 0 -1.375 1.25 -0.375 -1.5 "
                   "-0.625 -2.25 -0 0.125 0.25 1.5 -0.25 0.75 0.25 -0.25; float[2,3,2,2] -0.125 -2.75 -0.5 "
                   "-1 0.75 -0.5 -0.375 1.375 -1 0.375 -1.875 0.125 0.375 0.875 -0.875 0.375 0.375 -0 0.125 "
                   "0.5 0.375 -1 -1.25 2.5; float[3] 3.375 0.125 2; float[3] -0.875 -0.125 -0.5; float[3] "
                   "0.625 0.75 0.625; float[] 0",
         .want = "float[2,3,2,2] 4.2656637 5.3320796 -4.7988716 -2.1328318 -0.10818108 0.1803018 -0 "
                 "0.21636216 -1.2639003 0 -3.475726 3.1597509 -1.5996239 -6.3984955 -2.6660398 -9.5977433 "
                 "-0 0.01803018 0.03606036 0.21636216 -0.63195017 1.8958505 0.63195017 -0.63195017; "
                 "float[3] -9.9334668 2.4701346 1.7576114; float[3] -4.125 3.875 -0.125; float[3] 0; "
                 "float[3] 0",
         .tolerance = 1e-05},
    };
    OP_TEST_VALUES(cases);
}

static void empty_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormGrad",
         .inputs = "float[0,1,1,2]; float[0,1,1,2]; float[2] 1; float[2] 0; float[2] 1",
         .want = "float[0,1,1,2]; float[2] 0; float[2] 0; float[0]; float[0]"},
        {.op = "FusedBatchNormGradV2",
         .inputs = "float[0,1,1,2]; float[0,1,1,2]; float[2] 1; float[2] 0; float[2] 1",
         .want = "float[0,1,1,2]; float[2] 0; float[2] 0; *; *"},
        {.op = "FusedBatchNormGradV3",
         .inputs = "float[0,1,1,2]; float[0,1,1,2]; float[2] 1; float[2] 0; float[2] 1; float[0]",
         .want = "float[0,1,1,2]; float[2] 0; float[2] 0; *; *"},
        {.op = "FusedBatchNormGradV2", // what FusedBatchNorm gives for an empty batch
         .inputs = "float[0,1,1,2]; float[0,1,1,2]; float[2] 1; float[2] nan; float[2] nan",
         .want = "float[0,1,1,2]; float[2] 0; float[2] 0; *; *"},
    };
    OP_TEST_VALUES(cases);
}

static void half_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "FusedBatchNormGradV2",
         .attrs = "is_training=false; epsilon=1",
         .inputs =
             "half[1,1,2,1] 0x4000 0x4400; half[1,1,2,1] 0x3c00 0x4500; float[1] 4; float[1] 3; float[1] 3",
         .want = "half[1,1,2,1] 0x4400 0x4800; float[1] 2; float[1] 6; *; *"},
        {.op = "FusedBatchNormGradV3",
         .attrs = "is_training=false; epsilon=1",
         .inputs =
             "half[1,1,2,1] 0x4000 0x4400; half[1,1,2,1] 0x3c00 0x4500; float[1] 4; float[1] 3; float[1] 3; float[0]",
         .want = "half[1,1,2,1] 0x4400 0x4800; float[1] 2; float[1] 6; *; *"},
    };
    OP_TEST_VALUES(cases);
}

// ---- The gradient functions ----

// Adds a placeholder and binds it to a value, given as text.
static braid_out bound(braid_graph *g, const char *text, op_binding *b)
{
    *b = (op_binding){0};
    op_test_tensor(&b->value.tensor, text);
    braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", b->value.tensor.shape);
    b->op = braid_op_end(d);
    return braid_output(b->op, 0);
}

static void expect_grads(const op_binding *bindings, int binding_count, const braid_out *grads, int count,
                         const char *const *want, const char *where)
{
    BD_STATUS(st);
    braid_tensor got[5];
    op_test_eval(bindings, binding_count, grads, count, got, st);
    assert_ok(st);
    for (int i = 0; i < count; i++) {
        op_test_expect(&got[i], want[i], 2e-5, where);
        bd_tensor_fini(&got[i]);
    }
}

// Checks d/d(x, scale, offset) of y for a given gradient of y.
static void check_first(const char *op, const char *attrs, const char *const inputs[5], const char *grad,
                        const char *const want[3])
{
    braid_graph *g = braid_graph_new();
    op_binding bindings[6];
    braid_out in[5], grads[3], grad_y;
    for (int i = 0; i < 5; i++)
        in[i] = bound(g, inputs[i], &bindings[i]);
    grad_y = bound(g, grad, &bindings[5]);
    braid_out y = braid_output(op_test_node(g, op, attrs, in, 5), 0);
    braid_gradients(g, &y, 1, in, 3, &grad_y, grads);
    expect_grads(bindings, 6, grads, 3, want, op);
    for (int i = 0; i < 6; i++)
        bd_value_fini(&bindings[i].value);
    braid_graph_free(g);
}

// Two elements of one channel, -1 and 1 about a mean of 2; with epsilon 3 the root is 2. Computed by hand.
static void first_gradients_match_finite_differences(void **state)
{
    (void)state;
    static const char *const ops[] = {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"};
    for (int i = 0; i < 3; i++) {
        check_first(
            ops[i], "epsilon=3",
            (const char *[]){"float[1,1,2,1] 1 3", "float[1] 2", "float[1] 0", "float[0]", "float[0]"},
            "float[1,1,2,1] 1 4",
            // mean 2.5, product 3 / 2 / 4: (1 - 2.5 + 0.375), (4 - 2.5 - 0.375)
            (const char *[]){"float[1,1,2,1] -1.125 1.125", "float[1] 1.5", "float[1] 5"});
        check_first(
            ops[i], "epsilon=3; is_training=false; data_format=NCHW",
            (const char *[]){"float[1,1,2,1] 1 3", "float[1] 2", "float[1] 0", "float[1] 0", "float[1] 1"},
            "float[1,1,2,1] 1 4", (const char *[]){"float[1,1,2,1] 1 4", "float[1] 6.5", "float[1] 5"});
    }
}

// Inputs of FusedBatchNormGrad, gradients of its outputs, and the resulting gradients of y_backprop, x and
// scale, computed with numpy as finite differences of the definition in double.
typedef struct second_case {
    const char *attrs;
    const char *inputs[5], *grads[3], *want[3];
} second_case;

static void check_second(const second_case *s)
{
    braid_graph *g = braid_graph_new();
    op_binding bindings[8];
    braid_out in[5], grad_ys[3], ys[3], grads[3];
    for (int i = 0; i < 5; i++)
        in[i] = bound(g, s->inputs[i], &bindings[i]);
    for (int i = 0; i < 3; i++)
        grad_ys[i] = bound(g, s->grads[i], &bindings[5 + i]);
    braid_op *node = op_test_node(g, "FusedBatchNormGrad", s->attrs, in, 5);
    for (int i = 0; i < 3; i++)
        ys[i] = braid_output(node, i);
    braid_gradients(g, ys, 3, in, 3, grad_ys, grads);
    expect_grads(bindings, 8, grads, 3, s->want, s->attrs);
    for (int i = 0; i < 8; i++)
        bd_value_fini(&bindings[i].value);
    braid_graph_free(g);
}

static void second_gradients_match_finite_differences_in_training(void **state)
{
    (void)state;
    static const second_case cases[] = {
        {"is_training=true; epsilon=0.001",
         {"float[2,2,2,3] -1.125 0.25 1.625 0.75 -0.25 -0.875 -0.75 1.75 0 -0.625 0.25 2.125 0.125 "
          "0.625 0.25 -0.375 -1.125 -0.375 -0.25 0.625 0.875 0.875 0.25 0.875",
          "float[2,2,2,3] 1.625 -0.625 -0.5 -1.125 0.875 -2.25 1.75 -0.75 0.375 -0.25 1.5 -2 -0.375 "
          "-0.375 1.125 -1.125 -0.125 -0.875 0 0.625 -1.125 1.125 0.875 0.5",
          "float[3] 2.375 0.875 1.375", "float[3] 0.203125 0.25 -0.59375",
          "float[3] 1.1716309 0.59765625 1.2724609"},
         {"float[2,2,2,3] -0.75 1.25 0.5 -0.25 0.5 -0.125 1.125 1.5 2.125 -1.375 -1.5 -0.5 0.125 "
          "0.875 0.375 -2 -0.25 0.875 0.25 0.75 -0.25 -0.25 0.125 0.375",
          "float[3] 0.25 0.125 -0.625", "float[3] 0.375 0.125 1.125"},
         {"float[2,2,2,3] -1.3919015 0.059715496 1.1239005 1.5976033 0.95921395 2.1598044 2.6343526 "
          "0.19679864 2.2051722 -1.4720576 -0.57436719 1.4461064 1.9038187 -0.073089897 -0.69745698 "
          "-2.2405384 -1.0540607 1.965987 1.91985 0.95065844 0.85200093 0.04887277 0.53513125 "
          "-0.055514486",
          "float[2,2,2,3] -0.57220937 -0.0048326068 -1.0702065 0.41289023 -0.44404223 1.139595 "
          "0.037634288 1.792455 0.83424146 0.14081909 -0.35588279 -1.9105464 0.48420172 0.373882 "
          "0.64414888 0.29146729 -1.9695371 0.92917645 0.53088532 0.59258362 -0.45036349 -1.3256886 "
          "0.015374111 -0.11604539",
          "float[3] 1.4191319 2.0249149 -1.7939897"}},
        {"is_training=true; data_format=NCHW; epsilon=0.001",
         {"float[2,3,2,2] 0.625 -0.375 1.375 0.125 1.625 0.5 1.5 0.125 -1.25 2.5 -0.5 -0.25 -0.75 "
          "-0.25 0.25 0.25 0.625 1.75 -0.125 -1.25 -1.125 -0.625 -1.625 0.875",
          "float[2,3,2,2] -1.25 0.375 0.5 1.25 -0.125 -0.625 0.625 0.25 0.25 -0.125 1.125 0.375 "
          "1.875 1.125 0.625 -1.625 0.625 0.375 0.75 1 -0.375 0.875 -0.5 2",
          "float[3] 0.125 -0.25 -0.125", "float[3] 0.359375 0.359375 0.453125",
          "float[3] 1.2868652 0.23999023 0.62475586"},
         {"float[2,3,2,2] -0.5 -0.25 -0 -1.375 -0.875 0.625 0.625 -0.5 1.75 -1.25 -0.375 -0.25 "
          "-2.75 2 0.375 -1 2 0.625 0.375 -0.625 0.125 -1.5 0.75 -0.375",
          "float[3] 0.125 1.25 0.25", "float[3] 0.25 0.25 -0.75"},
         {"float[2,3,2,2] 0.049044667 0.27253685 0.31514722 0.25413526 -0.43501672 -2.5138495 "
          "0.77350425 0.36021658 -1.1007887 -0.72279854 -0.54084805 -0.75273028 0.17804981 "
          "0.61080972 0.37152603 -0.051249556 0.07327059 0.11603351 1.2295548 2.3962864 -1.0041171 "
          "-0.4271207 -1.1349002 -0.31669645",
          "float[2,3,2,2] 0.027293877 -0.058853607 0.16090553 -0.01320748 1.9030039 -2.9941588 "
          "2.9459386 -1.2023709 -0.082595854 0.77595544 -0.24630889 0.012298671 -0.14424254 "
          "0.028365558 0.037268449 -0.037529788 0.081537215 2.9413664 -0.89419005 -2.7811264 "
          "-0.0010127084 -0.28943028 -0.057338388 -0.111568",
          "float[3] 1.1709739 3.589929 -6.7156478"}},
    };
    for (size_t k = 0; k < BD_COUNTOF(cases); k++)
        check_second(&cases[k]);
}

static void second_gradients_match_finite_differences_in_inference(void **state)
{
    (void)state;
    static const second_case cases[] = {
        {"is_training=false; epsilon=0.001",
         {"float[2,2,2,3] 1.625 0.375 -1.25 0.875 -0.125 -0.625 -1.25 0.5 0.75 -0.625 0.5 -1.125 "
          "0.75 0 -0.125 -0.125 0.875 0.75 0.5 0.125 0.125 0.625 0.25 0.625",
          "float[2,2,2,3] 1.25 0.125 -0.375 -0.625 0.375 0.125 -0.375 0 -0.625 0.75 -0.5 1.25 0.375 "
          "0.625 -1.125 0.125 0.75 -1 -0.25 0 -1.375 0.375 0.875 -0.875",
          "float[3] 1.875 0.25 1.5", "float[3] -0 -0.75 1.25", "float[3] 2.5 2.375 1.75"},
         {"float[2,2,2,3] -0.25 -2.375 1 2.125 0.5 -0.125 -0.125 -0.125 0 -1.125 -0.5 -1 0.25 -0.25 "
          "0.5 -0.125 1 0.25 2.25 -1.875 -0.625 0.875 2.5 -0.25",
          "float[3] 0 -0.25 1.375", "float[3] -0.25 0.625 -0.375"},
         {"float[2,2,2,3] -0.54640426 0.09789134 -0.92997678 2.2694362 0.52363295 -1.6856898 "
          "-0.39820213 0.48308613 -2.3233227 -1.5838192 0.50335954 -1.5085696 0.046404256 "
          "0.36144567 -2.2760907 -0.39820213 0.54390636 -2.4295949 2.4176383 0.19925839 -3.8111328 "
          "0.7874149 0.76691387 -2.8664915",
          "float[2,2,2,3] 0 -0.06082023 -1.2988818 0 0.02027341 -0.64944091 0 -0.08109364 "
          "0.77932909 0 -0.08109364 -1.1689936 0 0 -0.12988818 0 -0.14191387 0.77932909 0 "
          "-0.02027341 0.12988818 0 -0.04054682 0.64944091",
          "float[3] 2.647878 -4.4408921e-10 -0.11808017"}},
        {"is_training=false; data_format=NCHW; epsilon=0.001",
         {"float[2,3,2,2] 0 -0.75 0.625 -0.625 1.125 0.25 1.375 -0.625 3 0.875 0.625 -0 -0.75 "
          "-0.875 -0.125 -0.75 0.25 -0.875 0.625 1 -0.75 1.25 -0.25 1.125",
          "float[2,3,2,2] 0.875 1.5 0.75 0.875 -0.875 -0.875 -1.5 1.25 -0.25 1.375 -0.75 -0.5 0.125 "
          "0.875 0 0.25 0 0.125 -1.125 0.125 -0.125 -0 0.5 -0.625",
          "float[3] 1.375 1.25 1.875", "float[3] 2.125 -1.5 -0.875", "float[3] 1.375 0.75 2.125"},
         {"float[2,3,2,2] 0.5 1.125 -1 -0.125 1.5 -0.625 -2 -2 -2.5 -2.125 -0.375 1.25 -0.5 0.375 "
          "-0.125 0 -0.125 -0.125 0.5 -1.125 1 0.875 -0.25 0.75",
          "float[3] -0.75 -0.5 0.125", "float[3] -0.25 -0.5 -0.625"},
         {"float[2,3,2,2] 1.135301 1.468306 -0.54304444 0.40268989 1.303018 -1.7621126 -3.3848288 "
          "-4.9714846 -3.7862614 -3.1647253 -1.0965102 1.0145695 0.4426505 0.98877878 0.96213838 "
          "0.94881817 -1.5457504 -1.6178711 0.0048450346 -3.0602855 0.72523369 0.57520773 "
          "-0.82860667 0.36088492",
          "float[2,3,2,2] 0 0.47952727 -0.39960606 0.39960606 -0.64908647 -0.14424144 -0.79332791 "
          "0.3606036 0.25718737 0.075012982 0.053580703 0 0.47952727 0.55944848 0.079921211 "
          "0.47952727 -0.14424144 0.50484504 -0.36060359 -0.57696575 -0.064296843 0.10716141 "
          "-0.02143228 0.096445264",
          "float[3] -1.1322172 -0.81135809 -5.722419"}},
    };
    for (size_t k = 0; k < BD_COUNTOF(cases); k++)
        check_second(&cases[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_version_follows_its_definition),
        cmocka_unit_test(second_version_follows_its_definition),
        cmocka_unit_test(third_version_follows_its_definition),
        cmocka_unit_test(empty_follows_its_definition),
        cmocka_unit_test(half_follows_its_definition),
        cmocka_unit_test(first_gradients_match_finite_differences),
        cmocka_unit_test(second_gradients_match_finite_differences_in_training),
        cmocka_unit_test(second_gradients_match_finite_differences_in_inference),
    };
    return BD_RUN_TESTS(tests);
}
