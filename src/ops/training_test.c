// Tests of optimizers' updates. Values were computed from the definitions in double, apart from this code.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define ADAM_SCALARS                                                                                         \
    "double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8"
#define ADAM_SCALARS_F "float[] 0.9; float[] 0.999; float[] 0.001; float[] 0.9; float[] 0.999; float[] 1e-8"
#define ADAM_INPUTS                                                                                          \
    "ref double[2] 1 2; ref double[2] 0.1 -0.2; ref double[2] 0.01 0.02; " ADAM_SCALARS "; double[2] 0.5 -1"
#define ADAM_INPUTS_F                                                                                        \
    "ref float[2] 1 2; ref float[2] 0.1 -0.2; ref float[2] 0.01 0.02; " ADAM_SCALARS_F "; float[2] 0.5 -1"
#define FTRL_VARIABLES "ref double[2] 1 2; ref double[2] 0.1 0.2; ref double[2] 0.3 -0.4; double[2] 0.5 -1; "

static void test_values(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[] 0.5; float[2] 4 -2", "float[2] -1 3",
         "float[2] -1 3"},
        {"ApplyGradientDescent", "use_locking=true", "ref double[2] 1 2; double[] 0.5; double[2] 4 -2",
         "double[2] -1 3", "double[2] -1 3"},
        {"ApplyGradientDescent", NULL, "ref float[40] 1; float[] 1; float[40] 0.25", "*", "float[40] 0.75"},
        {"ApplyGradientDescent", NULL, "ref float[0]; float[] 0.5; float[0]",
         "FailedPrecondition: uninitialized"},
        {"ApplyMomentum", "use_nesterov=true",
         "ref double[2] 1 2; ref double[2] 0.5 -1; double[] 0.1; double[2] 1 2; double[] 0.9", "*",
         "double[2] 0.7695 1.701; double[2] 1.45 1.1"},
        {"ApplyAdam", NULL, ADAM_INPUTS, "double[2] 0.9995625000432342 2.0006113012156357",
         "double[2] 0.9995625000432342 2.0006113012156357; double[2] 0.14 -0.28; double[2] 0.01024 0.02098"},
        {"ApplyAdam", "use_locking=true", ADAM_INPUTS_F, "float[2] 0.9995625000432342 2.0006113012156357",
         "float[2] 0.9995625000432342 2.0006113012156357; float[2] 0.14 -0.28; float[2] 0.01024 0.02098"},
        {"ApplyAdam", "use_nesterov=true", ADAM_INPUTS, "double[2] 0.9994500000543517 2.000768492956799"},
        {"ApplyFtrl", NULL, FTRL_VARIABLES "double[] 0.1; double[] 0.001; double[] 0.01; double[] -0.4", "*",
         "double[2] 0.2714127522202545 1.151201287169325; double[2] 0.35 1.2; "
         "double[2] -1.789863999376865 -12.406963921036334"},
        {"ApplyFtrl", NULL, // within L1: 0
         "ref double[1] 1; ref double[1] 1; ref double[1] 0.3; double[1] 0; double[] 0.1; double[] 0.5; double[] 0.01; "
         "double[] -0.5",
         "double[1] 0"},
        {"ApplyFtrlV2", "multiply_linear_by_lr=true",
         FTRL_VARIABLES "double[] 0.1; double[] 0.001; double[] 0.01; double[] 0.02; double[] -0.5", "*",
         "double[2] -0.1322754925404254 1.6295694559667446; double[2] 0.35 1.2; "
         "double[2] 0.07861978770687633 -1.7884630390207485"},
        {"ApplyFtrl", "multiply_linear_by_lr=true", // without lr nothing of the gradient counts
         "ref double[1] 1; ref double[1] 1; ref double[1] 3; double[1] 0; double[] 0; double[] 0.5; double[] 0.01; "
         "double[] -0.5",
         "double[1] -3"},
    };
    OP_TEST_VALUES(cases);
}

// ---- The four forms of every optimizer ----

typedef struct optimizer {
    const char *name;
    int var_count;
    const char *before, *behind;    // scalars before and behind the gradient in the signature
    double vars[4][2], after[4][2]; // the variable and its slots, for a gradient of 0.5 and -1
    bool dense_only;                // there is no form for rows
    bool resource_only;             // nor of reference variables
} optimizer;

static const optimizer optimizers[] = {
    {"GradientDescent", 1, "; double[] 0.5", "", {{1, 2}}, {{0.75, 2.5}}, true},
    {"Adam",
     3,
     "; double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}},
     {{0.9995625000432342, 2.0006113012156357}, {0.14, -0.28}, {0.01024, 0.02098}},
     true},
    {"Momentum", 2, "; double[] 0.1", "; double[] 0.9", {{1, 2}, {0.5, -1}}, {{0.905, 2.19}, {0.95, -1.9}}},
    {"ProximalGradientDescent",
     1,
     "; double[] 0.1; double[] 0.2; double[] 0.3",
     "",
     {{1, 2}},
     {{0.9029126213592232, 2.0194174757281553}}},
    {"Adagrad",
     2,
     "; double[] 0.1",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.9154845745271484, 2.091287092917528}, {0.35, 1.2}}},
    {"ProximalAdagrad",
     2,
     "; double[] 0.1; double[] 0.2; double[] 0.3",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.8391269039501686, 2.0177707466434884}, {0.35, 1.2}}},
    {"AdagradDA",
     3,
     "",
     "; double[] 0.1; double[] 0.02; double[] 0.3; int64[] 3",
     {{1, 2}, {0.3, -0.4}, {0.1, 0.2}},
     {{-0.10856680431394314, 0.11303770904554451}, {0.8, -1.4}, {0.35, 1.2}}},
    {"Adadelta",
     3,
     "; double[] 0.1; double[] 0.9; double[] 0.001",
     "",
     {{1, 2}, {0.1, 0.2}, {0.03, 0.04}},
     {{0.9741523028438536, 2.038197836759378}, {0.115, 0.28}, {0.033681034482758616, 0.050590747330960854}}},
    {"RMSProp",
     3,
     "; double[] 0.1; double[] 0.9; double[] 0.5; double[] 0.001",
     "",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.7031949451213242, 2.388645669476136}, {0.115, 0.28}, {0.29680505487867587, -0.3886456694761362}}},
    {"CenteredRMSProp",
     4,
     "; double[] 0.1; double[] 0.9; double[] 0.5; double[] 0.001",
     "",
     {{1, 2}, {0.2, -0.1}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.6509531428354918, 2.4020717522524886},
      {0.23, -0.19},
      {0.115, 0.28},
      {0.34904685716450823, -0.4020717522524887}}},
    {"Ftrl",
     3,
     "",
     "; double[] 0.1; double[] 0.001; double[] 0.01; double[] -0.5",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.3289716773165658, 1.3088244864138157}, {0.35, 1.2}, {-1.9538021229312361, -14.364630390207486}}},
    {"AdagradV2",
     2,
     "; double[] 0.1; double[] 0.01",
     "",
     {{1, 2}, {0.1, 0.2}},
     {{0.9168894000700255, 2.0904612980256965}, {0.35, 1.2}}},
    {"AdaMax",
     3,
     "; double[] 0.9; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}},
     {{0.997200000056, 2.002799999972}, {0.14, -0.28}, {0.5, 1.0}},
     true},
    {"AdamWithAmsgrad",
     4,
     "; double[] 0.9; double[] 0.999; double[] 0.001; double[] 0.9; double[] 0.999; double[] 1e-8",
     "",
     {{1, 2}, {0.1, -0.2}, {0.01, 0.02}, {0.5, 0.01}},
     {{0.9999373900975155, 2.0006113012156357}, {0.14, -0.28}, {0.01024, 0.02098}, {0.5, 0.02098}},
     true,
     true},
    {"KerasMomentum",
     2,
     "; double[] 0.1",
     "; double[] 0.9",
     {{1, 2}, {0.5, -1}},
     {{1.4, 1.2}, {0.4, -0.8}},
     false,
     true},
    {"AddSign",
     2,
     "; double[] 0.1; double[] 1; double[] 0.5; double[] 0.9",
     "",
     {{1, 2}, {-2, -0.2}},
     {{0.975, 2.15}, {-1.75, -0.28}},
     true},
    {"PowerSign",
     2,
     "; double[] 0.1; double[] 2; double[] 0.5; double[] 0.9",
     "",
     {{1, 2}, {-2, -0.2}},
     {{0.9816060279414279, 2.2718281828459044}, {-1.75, -0.28}},
     true},
    {"FtrlV2",
     3,
     "",
     "; double[] 0.1; double[] 0.001; double[] 0.01; double[] 0.02; double[] -0.5",
     {{1, 2}, {0.1, 0.2}, {0.3, -0.4}},
     {{0.322233223410693, 1.3015348280148855}, {0.35, 1.2}, {-1.913802122931236, -14.284630390207486}}},
};

static void append_variables(bd_strbuf *text, const char *kind, int count, const double values[4][2],
                             bool rows)
{
    for (int i = 0; i < count; i++) {
        if (rows) {
            bd_strbuf_appendf(text, "%s%sdouble[3,1] %.17g 7 %.17g", i ? "; " : "", kind, values[i][0],
                              values[i][1]);
        } else {
            bd_strbuf_appendf(text, "%s%sdouble[2] %.17g %.17g", i ? "; " : "", kind, values[i][0],
                              values[i][1]);
        }
    }
}

static void check_form(const optimizer *o, bool is_resource, bool rows)
{
    bd_strbuf name = {0}, inputs = {0}, after = {0}, want = {0};
    bd_strbuf_appendf(&name, "%s%sApply%s", is_resource ? "Resource" : "", rows ? "Sparse" : "", o->name);
    append_variables(&inputs, is_resource ? "var " : "ref ", o->var_count, o->vars, rows);
    bd_strbuf_appendf(&inputs, "%s; %s%s", o->before,
                      rows ? "double[2,1] -1 0.5; int32[2] 2 0" : "double[2] 0.5 -1", o->behind);
    append_variables(&after, "", o->var_count, o->after, rows);
    append_variables(&want, "", is_resource ? 0 : 1, o->after, rows);
    op_case c = {.op = bd_strbuf_str(&name),
                 .inputs = bd_strbuf_str(&inputs),
                 .want = bd_strbuf_str(&want),
                 .after = bd_strbuf_str(&after)};
    op_test_values(&c, 1);
    bd_strbuf_fini(&name);
    bd_strbuf_fini(&inputs);
    bd_strbuf_fini(&after);
    bd_strbuf_fini(&want);
}

static void test_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(optimizers); i++) {
        for (int is_resource = optimizers[i].resource_only; is_resource < 2; is_resource++) {
            check_form(&optimizers[i], is_resource, false);
            if (!optimizers[i].dense_only) check_form(&optimizers[i], is_resource, true);
        }
    }
}

static void test_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // A row named twice is updated twice.
        {"SparseApplyMomentum", NULL,
         "ref double[2,2] 1 2 3 4; ref double[2,2] 0; double[] 1; double[2,2] 1 2 10 20; int64[2] 1 1; "
         "double[] 0.5",
         "double[2,2] 1 2 -8.5 -19", "double[2,2] 1 2 -8.5 -19; double[2,2] 0 0 10.5 21"},
        {"ResourceApplyKerasMomentum", "use_nesterov=true",
         "var double[2] 1 2; var double[2] 0.5 -1; double[] 0.1; double[2] 0.5 -1; double[] 0.9", "",
         "double[2] 1.31 1.38; double[2] 0.4 -0.8"},
        // The signs agree, differ, or one is 0.
        {"ApplyAddSign", NULL,
         "ref double[3] 1; ref double[3] 1 -1 1; double[] 0.1; double[] 1; double[] 0.5; double[] 1; double[3] 1 1 0",
         "*", "double[3] 0.85 0.95 1; double[3] 1 -1 1"},
        {"SparseApplyAdagrad", "update_slots=false",
         "ref float[3] 1 2 3; ref float[3] 4; float[] 1; float[1] 6; int32[1] 1", "float[3] 1 -1 3",
         "float[3] 1 -1 3; float[3] 4"},
        {"ResourceSparseApplyAdagrad", NULL,
         "var float[3] 1 2 3; var float[3] 4; float[] 1; float[0]; int32[0]", "",
         "float[3] 1 2 3; float[3] 4"},
        {"SparseApplyAdagrad", NULL, "ref float[3] 1 2 3; ref float[3] 4; float[] 1; float[1] 6; int32[1] 3",
         "InvalidArgument: Index 3 at offset 0 in indices is out of range [0, 3)",
         "float[3] 1 2 3; float[3] 4"},
        {"ResourceSparseApplyAdagrad", NULL,
         "var float[3] 1 2 3; var float[3] 4; float[] 1; float[1] 6; int64[1] -1",
         "InvalidArgument: Index -1 at offset 0 in indices is out of range [0, 3)"},
        {"SparseApplyAdagrad", NULL,
         "ref float[3,1] 1; ref float[3,1] 4; float[] 1; float[1,2] 6; int32[1] 0", "InvalidArgument: "},
        {"SparseApplyAdagrad", NULL, "ref float[3] 1; ref float[3] 4; float[] 1; float[2] 6; int32[1] 0",
         "InvalidArgument: "},
        {"SparseApplyAdagrad", NULL, "ref float[] 1; ref float[] 4; float[] 1; float[1] 6; int32[1] 0",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void test_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ApplyGradientDescent", NULL, "ref float[2]; float[] 0.5; float[2] 4 -2",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2"},
        {"ApplyGradientDescent", "use_locking=true", "ref float[2]; float[] 0.5; float[2] 4 -2",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2"},
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[] 0.5; float[3] 4 -2 1",
         "InvalidArgument: var and delta do not have the same shape: [2] [3]", "float[2] 1 2"},
        {"ApplyGradientDescent", NULL, "ref float[2] 1 2; float[1] 0.5; float[2] 4 -2",
         "InvalidArgument: alpha is not a scalar: [1]", "float[2] 1 2"},
        {"ApplyAdagrad", NULL, "ref float[2] 1 2; ref float[2]; float[] 0.1; float[2] 0.5 -1",
         "FailedPrecondition: Attempting to use uninitialized variables: VariableV2_1", "float[2] 1 2"},
        {"ResourceApplyAdagrad", NULL, "var float[2] 1 2; var float[2]; float[] 0.1; float[2] 0.5 -1",
         "FailedPrecondition: Attempting to use uninitialized variables: VarHandleOp_1", "float[2] 1 2"},
        {"ResourceApplyGradientDescent", NULL, "var double[2] 1 2; float[] 0.5; float[2] 4 -2",
         "InvalidArgument: Trying to use variable var0 with wrong dtype. Expected float got double"},
        {"ApplyAdagrad", NULL, "ref float[2] 1 2; ref float[3] 1; float[] 0.1; float[2] 0.5 -1",
         "InvalidArgument: var and accum do not have the same shape: [2] [3]", "float[2] 1 2"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"ApplyGradientDescent", NULL, "ref float[2,?]; []; [?,3]", "[2,3]"},
        {"ResourceApplyGradientDescent", NULL, "var float[2,?]; []; [?,3]", ""},
        {"ResourceApplyGradientDescent", NULL, "var float[2]; []; [3]",
         "InvalidArgument: var and delta do not have the same shape"},
        {"SparseApplyAdagrad", NULL, "ref float[5,?]; ref float[?,3]; []; [?,?]; int32[2]", "[5,3]"},
        {"SparseApplyAdagrad", NULL, "ref float[5,3]; ref float[5,3]; []; [3,3]; int32[2]",
         "InvalidArgument: var and grad do not have the same shape"},
        {"SparseApplyAdagrad", NULL, "ref float[5,3]; ref float[5,3]; []; [2,3]; int32[]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ApplyGradientDescent", NULL, "ref float[2]; []; [3]",
         "InvalidArgument: var and delta do not have the same shape"},
        {"ApplyGradientDescent", NULL, "ref float[2]; [1]; [2]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(shapes);
}

// With locking, one variable given twice is locked once.
static void test_same_variable_twice(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "VariableV2", "v");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(2));
    op_binding bindings[3] = {{.op = braid_op_end(d)}};
    bindings[0].value.ref = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor start;
    op_test_tensor(&start, "float[2] 4 9");
    assert_int_equal(bd_variable_assign(bindings[0].value.ref, &start, st), BRAID_OK);
    bd_tensor_fini(&start);
    const char *fed[2] = {"float[] 1", "float[2] 0 0"};
    braid_out inputs[4] = {{bindings[0].op, 0}, {bindings[0].op, 0}};
    for (int i = 0; i < 2; i++) {
        d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", BRAID_FLOAT);
        bindings[i + 1] = (op_binding){.op = braid_op_end(d)};
        op_test_tensor(&bindings[i + 1].value.tensor, fed[i]);
        inputs[i + 2] = (braid_out){bindings[i + 1].op, 0};
    }
    braid_out out = {op_test_node(g, "ApplyAdagrad", "use_locking=true", inputs, 4), 0};
    braid_tensor value;
    op_test_eval(bindings, 3, &out, 1, &value, st);
    assert_ok(st);
    op_test_expect(&value, "float[2] 4 9", 0, "ApplyAdagrad of one variable");
    bd_tensor_fini(&value);
    for (int i = 0; i < 3; i++)
        bd_value_fini(&bindings[i].value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_same_variable_twice),
    };
    return BD_RUN_TESTS(tests);
}
