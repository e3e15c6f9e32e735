// Tests of each element-wise op on scalars and empty tensors of each supported type, and of refused types and
// shapes. Expected values are those of Python's math module and of scipy; those of LeakyRelu and Selu follow
// their definitions.
#include "base/half.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

#define FLOATS " half bfloat16 float double"
#define COMPLEX " complex64 complex128"
#define INTS " int32 int64"
#define INTEGERS " int8 int16 int32 int64 uint8 uint16"

typedef struct unary_row {
    const char *op, *types;
    double x, y;
    const char *gives; // the output's type if it differs from the inputs'
} unary_row;

typedef struct binary_row {
    const char *op, *types;
    double x, y, z;
    const char *gives;
} binary_row;

static const unary_row unary_rows[] = {
    {"Abs", FLOATS INTS " int8 int16", -3, 3},
    {"Neg", FLOATS COMPLEX INTS, -3, 3},
    {"Sign", FLOATS COMPLEX INTS, -3, -1},
    {"Square", FLOATS COMPLEX INTS, -3, 9},
    {"Round", FLOATS INTS, 3, 3},
    {"Floor", FLOATS, -1.5, -2},
    {"Ceil", FLOATS, -1.5, -1},
    {"Rint", FLOATS, 2.5, 2},
    {"Sqrt", FLOATS COMPLEX, 6.25, 2.5},
    {"Rsqrt", FLOATS COMPLEX, 6.25, 0.4},
    {"Reciprocal", FLOATS COMPLEX, -0.75, -1.3333333333333333},
    {"Inv", FLOATS COMPLEX, -0.75, -1.3333333333333333},
    {"Exp", FLOATS COMPLEX, 0.5, 1.6487212707001282},
    {"Expm1", FLOATS COMPLEX, 0.5, 0.6487212707001282},
    {"Log", FLOATS COMPLEX, 1.5, 0.4054651081081644},
    {"Log1p", FLOATS COMPLEX, 0.5, 0.4054651081081644},
    {"Sin", FLOATS COMPLEX, 0.5, 0.479425538604203},
    {"Cos", FLOATS COMPLEX, 0.5, 0.8775825618903728},
    {"Tan", FLOATS COMPLEX, 0.5, 0.5463024898437905},
    {"Asin", FLOATS COMPLEX, 0.5, 0.5235987755982989},
    {"Acos", FLOATS COMPLEX, 0.5, 1.0471975511965979},
    {"Atan", FLOATS COMPLEX, 0.5, 0.4636476090008061},
    {"Sinh", FLOATS COMPLEX, 0.5, 0.5210953054937474},
    {"Cosh", FLOATS COMPLEX, 0.5, 1.1276259652063807},
    {"Tanh", FLOATS COMPLEX, 0.5, 0.46211715726000974},
    {"Asinh", FLOATS COMPLEX, 0.5, 0.48121182505960347},
    {"Acosh", FLOATS COMPLEX, 1.5, 0.9624236501192069},
    {"Atanh", FLOATS COMPLEX, 0.5, 0.5493061443340548},
    {"Erf", FLOATS, 0.5, 0.5204998778130465},
    {"Erfc", FLOATS, 0.5, 0.4795001221869535},
    {"Lgamma", FLOATS, 3.5, 1.2009736023470738},
    {"Digamma", FLOATS, 3.5, 1.103156640645243},
    {"Erfinv", FLOATS, 0.5, 0.4769362762044699},
    {"Ndtri", FLOATS, 0.25, -0.6744897501960817},
    {"Dawsn", FLOATS, 0.5, 0.4244363835020223},
    {"Expint", FLOATS, 0.5, 0.45421990486317343},
    {"FresnelCos", FLOATS, 0.5, 0.4923442258714464},
    {"FresnelSin", FLOATS, 0.5, 0.06473243285999929},
    {"Spence", FLOATS, 0.25, 0.9784693929303059},
    {"BesselI0", FLOATS, 1.5, 1.6467231897728907},
    {"BesselI0e", FLOATS, 1.5, 0.36743360905415834},
    {"BesselI1", FLOATS, 1.5, 0.9816664285779079},
    {"BesselI1e", FLOATS, 1.5, 0.21903938742092574},
    {"BesselJ0", FLOATS, 1.5, 0.5118276717359181},
    {"BesselJ1", FLOATS, 1.5, 0.5579365079100997},
    {"BesselY0", FLOATS, 1.5, 0.38244892379775886},
    {"BesselY1", FLOATS, 1.5, -0.41230862697391135},
    {"BesselK0", FLOATS, 1.5, 0.21380556264752565},
    {"BesselK0e", FLOATS, 1.5, 0.9582100532948961},
    {"BesselK1", FLOATS, 1.5, 0.2773878004568438},
    {"BesselK1e", FLOATS, 1.5, 1.2431658735525528},
    {"Relu", FLOATS INTEGERS, 3, 3},
    {"Relu6", FLOATS INTEGERS, 7, 6},
    {"Elu", FLOATS, -0.5, -0.3934693402873666},
    {"Selu", FLOATS, -0.5, -0.6917581878028713},
    {"LeakyRelu", FLOATS, -0.5, -0.10000000149011612},
    {"Sigmoid", FLOATS COMPLEX, 0.5, 0.6224593312018546},
    {"Softplus", FLOATS, 0.5, 0.9740769841801067},
    {"Softsign", FLOATS, -1.5, -0.6},
    {"IsNan", FLOATS, 0.5, 0, "bool"},
    {"IsInf", FLOATS, 0.5, 0, "bool"},
    {"IsFinite", FLOATS, 0.5, 1, "bool"},
    {"LogicalNot", "bool", 1, 0},
    {"Invert", "int8 int16 int32 int64", 5, -6},
    {"Invert", "uint8", 5, 250},
    {"PopulationCount", INTEGERS " uint32 uint64", 7, 3, "uint8"},
    {"Conj", COMPLEX, 0.5, 0.5},
};

static const binary_row binary_rows[] = {
    {"AddV2", FLOATS COMPLEX INTS " int8 int16 uint8", 5, 3, 8},
    {"Sub", FLOATS COMPLEX INTEGERS, 5, 3, 2},
    {"Mul", FLOATS COMPLEX INTEGERS, 5, 3, 15},
    {"Div", FLOATS COMPLEX INTEGERS, 6, 3, 2},
    {"RealDiv", FLOATS COMPLEX, 5, 4, 1.25},
    {"FloorDiv", FLOATS INTEGERS, 7, 2, 3},
    {"TruncateDiv", INTEGERS, 7, 2, 3},
    {"FloorMod", FLOATS INTS, 7, 4, 3},
    {"Mod", FLOATS INTS, -7, 4, -3},
    {"TruncateMod", FLOATS INTS, -7, 4, -3},
    {"Maximum", FLOATS INTS, 5, 3, 5},
    {"Minimum", FLOATS INTS, 5, 3, 3},
    {"Pow", FLOATS COMPLEX INTS, 3, 4, 81},
    {"SquaredDifference", FLOATS COMPLEX INTS, 2, 5, 9},
    {"DivNoNan", COMPLEX " half float double", 5, 4, 1.25},
    {"MulNoNan", COMPLEX " half float double", 5, 4, 20},
    {"Xdivy", COMPLEX " half float double", 5, 4, 1.25},
    {"Xlogy", COMPLEX " half float double", 2, 1.5, 0.8109302162163288},
    {"Xlog1py", FLOATS COMPLEX, 2, 0.5, 0.8109302162163288},
    {"Atan2", FLOATS, 1.5, -2, 2.498091544796509},
    {"NextAfter", "float double", 2, 2, 2},
    {"Igamma", "float double", 1.5, 2, 0.7385358700508888},
    {"Igammac", "float double", 1.5, 2, 0.26146412994911117},
    {"IgammaGradA", "float double", 1.5, 2, -0.27743356420871373},
    {"Zeta", "float double", 2.5, 1.5, 0.5902563850764314},
    {"Polygamma", "float double", 2, 1.5, -0.8287966442343201},
    {"BitwiseAnd", INTEGERS " uint32 uint64", 12, 10, 8},
    {"BitwiseOr", INTEGERS " uint32 uint64", 12, 10, 14},
    {"BitwiseXor", INTEGERS " uint32 uint64", 12, 10, 6},
    {"LeftShift", INTEGERS " uint32 uint64", 3, 4, 48},
    {"RightShift", INTEGERS " uint32 uint64", 48, 4, 3},
    {"Less", FLOATS INTEGERS, 3, 5, 1, "bool"},
    {"LessEqual", FLOATS INTEGERS, 5, 3, 0, "bool"},
    {"Greater", FLOATS INTEGERS, 5, 3, 1, "bool"},
    {"GreaterEqual", FLOATS INTEGERS, 3, 5, 0, "bool"},
    {"Equal", FLOATS INTEGERS COMPLEX " bool", 1, 1, 1, "bool"},
    {"NotEqual", FLOATS INTEGERS COMPLEX " bool", 1, 0, 1, "bool"},
    {"LogicalAnd", "bool", 1, 0, 0},
    {"LogicalOr", "bool", 1, 0, 1},
};

// Gradient ops. Their arguments are the function's value and the incoming gradient, or the incoming gradient
// and the function's argument (or value).
static const binary_row gradients_by_value[] = {
    {"RsqrtGrad", FLOATS COMPLEX, 0.5, 3, -0.1875},     {"SqrtGrad", FLOATS COMPLEX, 2, 3, 0.75},
    {"ReciprocalGrad", FLOATS COMPLEX, -0.5, 3, -0.75}, {"InvGrad", FLOATS COMPLEX, -0.5, 3, -0.75},
    {"TanhGrad", FLOATS COMPLEX, 0.5, 3, 2.25},         {"SigmoidGrad", FLOATS COMPLEX, 0.25, 3, 0.5625},
};
static const binary_row gradients_by_argument[] = {
    {"ReluGrad", FLOATS INTEGERS, 5, 2, 5},
    {"Relu6Grad", FLOATS INTEGERS, 5, 2, 5},
    {"EluGrad", FLOATS, 5, -0.5, 2.5},
    {"SeluGrad", FLOATS, 5, -0.5, 6.290496704236883},
    {"LeakyReluGrad", FLOATS, 5, -0.5, 1.0000000149011612},
    {"SoftplusGrad", FLOATS, 3, 0.5, 1.867377993605564},
    {"SoftsignGrad", FLOATS, 5, -1.5, 0.8},
};

#define TENSOR_MAX 64

// "TYPE[SHAPE] VALUE", of the narrow floating-point types the bits.
static const char *tensor(char out[TENSOR_MAX], const char *type, const char *shape, double value)
{
    if (strcmp(type, "half") == 0)
        snprintf(out, TENSOR_MAX, "half%s 0x%04x", shape, bd_half_of_float((float)value));
    else if (strcmp(type, "bfloat16") == 0)
        snprintf(out, TENSOR_MAX, "bfloat16%s 0x%04x", shape, bd_bfloat16_of_float((float)value));
    else
        snprintf(out, TENSOR_MAX, "%s%s %.17g", type, shape, value);
    return out;
}

static void check(const char *op, const char *inputs, const char *want)
{
    bool is_double = strstr(inputs, "double") || strstr(inputs, "complex128");
    op_test_values(&(op_case){op, NULL, inputs, want, NULL, is_double ? 1e-10 : 0}, 1);
}

static void check_unary(const unary_row *row, const char *type)
{
    const char *gives = row->gives ? row->gives : type;
    char x[TENSOR_MAX], y[TENSOR_MAX], inputs[TENSOR_MAX], want[TENSOR_MAX];
    check(row->op, tensor(x, type, "[]", row->x), tensor(y, gives, "[]", row->y));
    check(row->op, tensor(x, type, "[2,1,3]", row->x), tensor(y, gives, "[2,1,3]", row->y));
    snprintf(inputs, sizeof inputs, "%s[2,0,3]", type);
    snprintf(want, sizeof want, "%s[2,0,3]", gives);
    check(row->op, inputs, want);
}

static void check_pair(const binary_row *row, const char *type, const char *x_shape, const char *y_shape,
                       const char *z_shape)
{
    char x[TENSOR_MAX], y[TENSOR_MAX], z[TENSOR_MAX], inputs[2 * TENSOR_MAX + 2];
    snprintf(inputs, sizeof inputs, "%s; %s", tensor(x, type, x_shape, row->x),
             tensor(y, type, y_shape, row->y));
    check(row->op, inputs, tensor(z, row->gives ? row->gives : type, z_shape, row->z));
}

static void check_nothing(const binary_row *row, const char *type, const char *x_shape, const char *y_shape,
                          const char *z_shape)
{
    char y[TENSOR_MAX], z[TENSOR_MAX], inputs[2 * TENSOR_MAX];
    bool y_is_empty = strchr(y_shape, '0') != NULL;
    snprintf(y, sizeof y, "%s%s%s", type, y_shape, y_is_empty ? "" : " 1");
    snprintf(inputs, sizeof inputs, "%s%s; %s", type, x_shape, y);
    snprintf(z, sizeof z, "%s%s", row->gives ? row->gives : type, z_shape);
    check(row->op, inputs, z);
}

static void check_broadcast(const binary_row *row, const char *type)
{
    check_pair(row, type, "[]", "[]", "[]");
    check_pair(row, type, "[2,1]", "[3]", "[2,3]");
    check_pair(row, type, "[]", "[2]", "[2]");
    check_nothing(row, type, "[0]", "[]", "[0]");
    check_nothing(row, type, "[2,0,3]", "[3]", "[2,0,3]");
}

static void check_alike(const binary_row *row, const char *type)
{
    check_pair(row, type, "[]", "[]", "[]");
    check_pair(row, type, "[2,3]", "[2,3]", "[2,3]");
    check_nothing(row, type, "[2,0,3]", "[2,0,3]", "[2,0,3]");
}

// Checks the error for two inputs of these shapes, in the first type of the row.
static void check_refusal(const binary_row *row, const char *shapes[2], const char *want)
{
    char types[128], inputs[TENSOR_MAX];
    snprintf(types, sizeof types, "%s", row->types);
    const char *type = strtok(types, " ");
    snprintf(inputs, sizeof inputs, "%s%s 1; %s%s 1", type, shapes[0], type, shapes[1]);
    check(row->op, inputs, want);
}

static void check_type(const char *op, const char *inputs)
{
    bool is_logical = strstr(op, "Logical") != NULL; // of bool alone, without attr T
    const char *want = is_logical ? "InvalidArgument: incompatible with expected bool"
                                  : "InvalidArgument: is not in the list of allowed values: ";
    check(op, inputs, want);
}

static void unary_ops_match_the_c_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(unary_rows); i++) {
        char types[128], *save = NULL;
        snprintf(types, sizeof types, "%s", unary_rows[i].types);
        for (char *type = strtok_r(types, " ", &save); type; type = strtok_r(NULL, " ", &save))
            check_unary(&unary_rows[i], type);
        check_type(unary_rows[i].op, "string[] a");
    }
}

static void check_all(const binary_row *rows, size_t count, void (*one)(const binary_row *, const char *))
{
    for (size_t i = 0; i < count; i++) {
        char types[128], *save = NULL;
        snprintf(types, sizeof types, "%s", rows[i].types);
        for (char *type = strtok_r(types, " ", &save); type; type = strtok_r(NULL, " ", &save))
            one(&rows[i], type);
        check_type(rows[i].op, "variant[]; variant[]");
    }
}

static void binary_ops_match_the_c_library(void **state)
{
    (void)state;
    check_all(binary_rows, BD_COUNTOF(binary_rows), check_broadcast);
    for (size_t i = 0; i < BD_COUNTOF(binary_rows); i++)
        check_refusal(&binary_rows[i], (const char *[]){"[2,2]", "[3]"},
                      "InvalidArgument: Incompatible shapes: [2,2] vs. [3]");
}

static void gradients_are_correct(void **state)
{
    (void)state;
    check_all(gradients_by_value, BD_COUNTOF(gradients_by_value), check_alike);
    check_all(gradients_by_argument, BD_COUNTOF(gradients_by_argument), check_alike);
    for (size_t i = 0; i < BD_COUNTOF(gradients_by_value); i++) {
        // As many elements are enough, and the first has the shape.
        check_pair(&gradients_by_value[i], "float", "[3,1]", "[3]", "[3,1]");
        check_refusal(
            &gradients_by_value[i], (const char *[]){"[2,1]", "[3]"},
            "InvalidArgument: The two arguments to a cwise op must have same number of elements, got 2 and 3");
    }
    for (size_t i = 0; i < BD_COUNTOF(gradients_by_argument); i++)
        check_refusal(&gradients_by_argument[i], (const char *[]){"[2,1]", "[3]"},
                      "InvalidArgument: g and a must be the same size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_ops_match_the_c_library),
        cmocka_unit_test(binary_ops_match_the_c_library),
        cmocka_unit_test(gradients_are_correct),
    };
    return BD_RUN_TESTS(tests);
}
