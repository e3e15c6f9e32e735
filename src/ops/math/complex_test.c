// Tests of ops for complex numbers. Values are numpy's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void functions_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Neg", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j", "complex128[3] -1-2j 0.5-0.25j -3+1j"},
        {"Square", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j", "complex128[3] -3+4j 0.1875-0.25j 8-6j"},
        {"Sqrt", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.272019649514069+0.786151377757423j 0.1717803748612562+0.7276733451126774j 1.755317301824428-0.284848784593141j"},
        {"Rsqrt", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.568864481005783-0.351577584254143j 0.307290076312132-1.301701652069289j 0.5550800690066424+0.09007709480450046j"},
        {"Reciprocal", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.2-0.4j -1.6-0.8j 0.3+0.1j"},
        {"Inv", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j", "complex128[3] 0.2-0.4j -1.6-0.8j 0.3+0.1j"},
        {"Exp", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] -1.131204383756814+2.471726672004819j 0.5876750903439226+0.1500580866221633j 10.85226191419796-16.9013965351501j"},
        {"Expm1", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] -2.131204383756813+2.471726672004819j -0.4123249096560773+0.1500580866221633j 9.85226191419796-16.9013965351501j"},
        {"Log", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.80471895621705+1.1071487177940904j -0.5815754049028404+2.677945044588987j 1.151292546497023-0.3217505543966422j"},
        {"Log1p", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.039720770839918+0.7853981633974483j -0.5815754049028404+0.463647609000806j 1.416606672028108-0.2449786631268641j"},
        {"Sin", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 3.165778513216168+1.959601041421606j -0.494485780933195+0.2216881641495748j 0.2177595516221522+1.16344036370325j"},
        {"Cos", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 2.032723007019666-3.0518977991518j 0.905150150559607+0.1211087960438117j -1.527638250116543+0.1658444019189788j"},
        {"Tan", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.0338128260798967+1.0147936161466335j -0.504500702698564+0.3124206925025888j -0.05916853956605073-0.768017647286911j"},
        {"Asin", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.427078586392476+1.528570919480998j -0.5016088532755008+0.2813960562452927j 1.233095217529344-1.824198702193883j"},
        {"Acos", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.143717740402421-1.528570919480998j 2.072405180070398-0.2813960562452927j 0.3377011092655525+1.824198702193883j"},
        {"Atan", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.338972522294493+0.402359478108525j -0.4842544903299662+0.2005866181312343j 1.276795025021113-0.09193119503132935j"},
        {"Sinh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] -0.4890562590412937+1.40311925062204j -0.504895714387995+0.2789791283502615j 5.412680923178193-8.47164545430015j"},
        {"Cosh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] -0.64214812471552+1.068607421382778j 1.0925708047319176-0.1289210417280983j 5.439580991019764-8.429751080849945j"},
        {"Asinh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.469351744368185+1.063440023577752j -0.4926756834207706+0.2243284526346675j 1.864161544157882-0.3076036495307112j"},
        {"Acosh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.528570919480998+1.143717740402421j 0.2813960562452927+2.072405180070398j 1.824198702193883-0.3377011092655525j"},
        {"Atanh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 0.1732867951399863+1.178097245096172j -0.500370000052531+0.3143981432077165j 0.305943857905529-1.461461853857926j"},
        {"Tanh", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.16673625724092-0.2434582011857253j -0.4854872810241353+0.1980554499513495j 1.0020549882458116-0.004517137276658425j"},
        {"Sigmoid", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "complex128[3] 1.0214153641721806+0.4034387060815425j 0.3757248355800388+0.05900296431450803j 0.972186493211311-0.03966222740197834j"},
        {"Sign", NULL, "complex128[2] 3-4j 0+0j", "complex128[2] 0.6-0.8j 0+0j"},
        {"Conj", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j", "complex128[3] 1-2j -0.5-0.25j 3+1j"},
        {"Exp", NULL, "complex64[2] 1+2j 0", "complex64[2] -1.13120438+2.47172667j 1"},
        {"Expm1", NULL, "complex64[1] 0", "complex64[1] 0"},
        {"Log1p", NULL, "complex64[2] 0 3-1j", "complex64[2] 0 1.41660667-0.244978663j"},
        {"Sqrt", NULL, "complex64[0]", "complex64[0]"},
    };
    OP_TEST_VALUES(cases);
}

static void pairs_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Add", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 3+1j -0.5+1.75j 2-0.5j"},
        {"AddV2", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 3+1j -0.5+1.75j 2-0.5j"},
        {"Sub", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] -1+3j -0.5-1.25j 4-1.5j"},
        {"Mul", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 4+3j -0.375-0.75j -2.5+2.5j"},
        {"Div", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 0+1j 0.1666666666666667+0.3333333333333333j -2.8-0.4j"},
        {"RealDiv", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 0+1j 0.1666666666666667+0.3333333333333333j -2.8-0.4j"},
        {"Pow", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 2.428447747683073+14.93241486964456j 0.0115797283948561-0.0137917355455259j 0.2316360119115535+0.2903425894612502j"},
        {"SquaredDifference", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 10+0j 1.8125+0j 18.25+0j"},
        {"SqrtGrad", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 0.4+0.3j -0.6-1.2j -0.125+0.125j"},
        {"RsqrtGrad", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 10-7.5j -0.12890625+0.0234375j 15.5+8.5j"},
        {"ReciprocalGrad", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 10+5j 0.375-0.28125j 11+2j"},
        {"TanhGrad", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 4-12j -0.375+1.21875j 4-9.5j"},
        {"SigmoidGrad", NULL, "complex128[3] 1+2j -0.5+0.25j 3-1j; complex128[3] 2-1j 0+1.5j -1+0.5j",
         "complex128[3] 6-8j -0.75-1.03125j 2.5-7.5j"},
        {"Mul", NULL, "complex64[2,1] 1+2j 1j; complex64[2] 2 3j", "complex64[2,2] 2+4j -6+3j 2j -3"},
        {"Div", NULL, "complex64[1] 1; complex64[] 2j", "complex64[1] -0.5j"},
        {"Equal", NULL, "complex64[3] 1+2j 1+2j nan; complex64[3] 1+2j 1-2j nan", "bool[3] true false false"},
        {"NotEqual", NULL, "complex128[2] 1+2j 3; complex128[] 1+2j", "bool[2] false true"},
        {"AddN", "N=3", "complex64[1] 1; complex64[1] 2j; complex64[1] 3-1j", "complex64[1] 4+1j"},
        {"BiasAdd", NULL, "complex64[1,2] 1 1j; complex64[2] 1j 1", "complex64[1,2] 1+1j 1+1j"},
        {"DivNoNan", NULL, "complex64[2] 1+2j 1; complex64[2] 2j 0", "complex64[2] 1-0.5j 0"},
        {"MulNoNan", NULL, "complex128[2] 1+2j inf; complex128[2] 2j 0", "complex128[2] -4+2j 0"},
        {"Xdivy", NULL, "complex128[2] 1+2j 0; complex128[2] 2j 0", "complex128[2] 1-0.5j 0"},
        {"Xlogy", NULL, "complex128[2] 1+2j 0; complex128[2] 1j 0",
         "complex128[2] -3.1415926535897931+1.5707963267948966j 0"},
        {"Less", NULL, "complex64[1] 1; complex64[1] 1", "InvalidArgument: complex64"},
    };
    OP_TEST_VALUES(cases);
}

static void parts_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Complex", NULL, "float[2] 1 -3; float[2] 2 0.5", "complex64[2] 1+2j -3+0.5j"},
        {"Complex", "Tout=complex128", "double[2,1] 1 2; double[2] 3 4",
         "complex128[2,2] 1+3j 1+4j 2+3j 2+4j"},
        {"Complex", NULL, "float[]  1; float[] nan", "complex64[] 1+nanj"},
        {"Complex", "Tout=complex64", "double[1] 1; double[1] 1", "NotFound: No OpKernel was registered"},
        {"Complex", NULL, "float[2] 1; float[3] 1", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"Real", NULL, "complex64[2] 1+2j -3j", "float[2] 1 0"},
        {"Real", "Tout=double", "complex128[2] 1+2j -3j", "double[2] 1 0"},
        {"Imag", NULL, "complex64[2] 1+2j 3", "float[2] 2 0"},
        {"Imag", "Tout=double", "complex128[] 1+2j", "double[] 2"},
        {"Imag", NULL, "complex64[0,2]", "float[0,2]"},
        {"ComplexAbs", "Tout=double", "complex128[3] 3-4j 0 2j", "double[3] 5 0 2"},
        {"ComplexAbs", NULL, "complex64[2] 3-4j 3e30+4e30j", "float[2] 5 5e30"},
        {"Angle", "Tout=double", "complex128[3] 1+2j -0.5+0.25j 3-1j",
         "double[3] 1.1071487177940904 2.677945044588987 -0.32175055439664219"},
        {"Angle", NULL, "complex64[2] -1 1j", "float[2] 3.14159265 1.57079633"},
        {"Real", NULL, "complex64[] 3-4j", "float[] 3"},
        {"Real", "Tout=double", "complex128[2,0]", "double[2,0]"},
        {"Real", NULL, "float[1] 1",
         "InvalidArgument: Value for attr 'T' of float is not in the list of allowed values: complex64, complex128"},
        {"Imag", NULL, "complex64[] 3-4j", "float[] -4"},
        {"Imag", "Tout=double", "complex128[2,0]", "double[2,0]"},
        {"Imag", NULL, "float[1] 1",
         "InvalidArgument: Value for attr 'T' of float is not in the list of allowed values: complex64, complex128"},
        {"ComplexAbs", NULL, "complex64[] 3-4j", "float[] 5"},
        {"ComplexAbs", "Tout=double", "complex128[2,0]", "double[2,0]"},
        {"ComplexAbs", NULL, "float[1] 1",
         "InvalidArgument: Value for attr 'T' of float is not in the list of allowed values: complex64, complex128"},
        {"Angle", NULL, "complex64[] 1j", "float[] 1.5707963267948966"},
        {"Angle", "Tout=double", "complex128[2,0]", "double[2,0]"},
        {"Angle", NULL, "float[1] 1",
         "InvalidArgument: Value for attr 'T' of float is not in the list of allowed values: complex64, complex128"},
        {"Complex", NULL, "float[0]; float[] 1", "complex64[0]"},
        {"Conj", NULL, "complex64[2] 1+2j 3", "complex64[2] 1-2j 3"},
        {"ConjugateTranspose", NULL, "complex64[2,2] 1+1j 2+2j 3+3j 4; int32[2] 1 0",
         "complex64[2,2] 1-1j 3-3j 2-2j 4"},
        {"ConjugateTranspose", NULL, "complex128[1,2] 1+1j 2; int32[2] 1 0", "complex128[2,1] 1-1j 2"},
        {"ConjugateTranspose", NULL, "float[1,2] 1 2; int32[2] 1 0", "float[2,1] 1 2"},
        {"ConjugateTranspose", NULL, "complex64[0,3]; int64[2] 1 0", "complex64[3,0]"},
        {"ConjugateTranspose", NULL, "complex128[] 1+2j; int32[0]", "complex128[] 1-2j"},
        {"ConjugateTranspose", NULL, "complex128[2] 1; int32[] 0",
         "InvalidArgument: perm must be a vector, not []"},
        {"ConjugateTranspose", NULL, "complex64[1,2] 1; int32[2] 1 1",
         "InvalidArgument: 0 is missing from the permutation"},
        {"Cast", "DstT=complex64", "float[2] 1.5 -2", "complex64[2] 1.5 -2"},
        {"Cast", "DstT=complex128", "int32[2] 7 -2", "complex128[2] 7 -2"},
        {"Cast", "DstT=complex128", "complex64[1] 1+2j", "complex128[1] 1+2j"},
        {"Cast", "DstT=complex64", "complex128[1] 1+2j", "complex64[1] 1+2j"},
        {"Cast", "DstT=complex64", "half[1] 0x3c00", "complex64[1] 1"},
        {"Cast", "DstT=complex128", "bool[2] true false", "complex128[2] 1 0"},
        {"Cast", "DstT=float", "complex64[2] 1.5+2j -3j", "float[2] 1.5 0"},
        {"Cast", "DstT=int32", "complex64[2] 1.9+2j -1.9", "int32[2] 1 -1"},
        {"Cast", "DstT=uint8", "complex128[1] 300", "uint8[1] 44"},
        {"Cast", "DstT=half", "complex128[1] 1+1j", "half[1] 0x3c00"},
        {"Cast", "DstT=bool", "complex64[3] 1 1j 0", "bool[3] true false false"},
    };
    OP_TEST_VALUES(cases);
}

#define A "complex128[2,3] 1+2j -0.5+0.25j 3-1j 2 1j 1-1j"
#define B "complex128[3,2] 2-1j 1.5j -1+0.5j 1 2+2j -1j"

static void matrices_and_axes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatMul", NULL, A ";" B, "complex128[2,2] 12.375+6.5j -4.5-1.25j 7.5-3j -1+3j"},
        {"MatMul", "transpose_a=true; transpose_b=true", A ";" B,
         "complex128[3,3] 4+6j -1.5j -2+4j -2.25+1j 0.375+0.5j -0.5-0.5j 6.5-3.5j -1.5+1.5j 7+3j"},
        {"BatchMatMul", "adj_x=true; adj_y=true", A ";" B,
         "complex128[3,3] 4-6j 1.5j -2-4j -2.25-1j 0.375-0.5j -0.5+0.5j 6.5+3.5j -1.5-1.5j 7-3j"},
        {"BatchMatMul", NULL, "complex64[2,1,1] 1j 2; complex64[2,1,1] 1j 1j", "complex64[2,1,1] -1 2j"},
        {"MatMul", NULL, "complex64[2,0]; complex64[0,1]", "complex64[2,1] 0"},
        {"Sum", NULL, A "; int32[1] 0", "complex128[3] 3+2j -0.5+1.25j 4-2j"},
        {"Mean", NULL, A "; int32[1] 1", "complex128[2] 1.1666666666666667+0.41666666666666667j 1"},
        {"Prod", NULL, A "; int32[2] 0 1", "complex128[] -5-10j"},
        {"Sum", NULL, "complex64[0,2]; int32[1] 0", "complex64[2] 0"},
        {"Mean", NULL, "complex64[2] 1+1j 2; int32[1] 0", "complex64[] 1.5+0.5j"},
        {"Cumsum", NULL, A "; int32[] 1", "complex128[2,3] 1+2j 0.5+2.25j 3.5+1.25j 2 2+1j 3"},
        {"Cumprod", NULL, A "; int32[] 0", "complex128[2,3] 1+2j -0.5+0.25j 3-1j 2+4j -0.25-0.5j 2-4j"},
        {"SegmentSum", NULL, "complex64[3] 1j 2 3; int32[3] 0 0 1", "complex64[2] 2+1j 3"},
        {"SegmentMean", NULL, "complex128[3] 1j 2 3; int32[3] 0 0 1", "complex128[2] 1+0.5j 3"},
        {"UnsortedSegmentProd", NULL, "complex128[2] 1j 1j; int32[2] 0 0; int32[] 2", "complex128[2] -1 1"},
        {"Where", NULL, "complex64[3] 0 1j 1", "int64[2,1] 1 2"},
        {"Select", NULL, "bool[2] true false; complex128[2] 1j 2; complex128[2] 3 4", "complex128[2] 1j 4"},
        {"Fill", NULL, "int32[1] 2; complex64[] 1+2j", "complex64[2] 1+2j"},
        {"OnesLike", NULL, "complex64[2] 5j", "complex64[2] 1"},
        {.op = "AssignAdd",
         .inputs = "ref complex64[1] 1; complex64[1] 2j",
         .want = "complex64[1] 1+2j",
         .after = "complex64[1] 1+2j"},
        {.op = "ScatterDiv",
         .inputs = "ref complex128[2] 1 2; int32[1] 1; complex128[] 1j",
         .want = "complex128[2] 1 -2j"},
        {.op = "ScatterNd",
         .inputs = "int32[2,1] 1 1; complex64[2] 1j 2; int32[1] 2",
         .want = "complex64[2] 0 2+1j"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Complex", NULL, "[2,1]; [3]", "[2,3]"},
        {"Complex", NULL, "[2]; [3]", "InvalidArgument: Dimensions must be equal"},
        {"Real", NULL, "complex64[2,?]", "[2,?]"},
        {"ConjugateTranspose", NULL, "complex64[2,3]; int32[2] 1 0", "[3,2]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
#define X "complex128[2] 0.8+0.6j -0.5+0.25j"
#define Y "complex128[2] 0.7-0.9j 0.4+1.5j"
    static const op_grad_case cases[] = {
        {"Complex", "Tout=complex128", "double[2,1] 1 2; double[3] 3 4 5"},
        {"Real", "Tout=double", X},
        {"Imag", "Tout=double", X},
        {"Conj", NULL, X},
        {"ComplexAbs", "Tout=double", X},
        {"Angle", "Tout=double", X},
        {"ConjugateTranspose", NULL, "complex128[1,2] 1+1j 2-1j; int32[2] 1 0"},
        {"Neg", NULL, X},
        {"Square", NULL, X},
        {"Sqrt", NULL, X},
        {"Rsqrt", NULL, X},
        {"Reciprocal", NULL, X},
        {"Exp", NULL, X},
        {"Expm1", NULL, X},
        {"Log", NULL, X},
        {"Log1p", NULL, X},
        {"Sin", NULL, X},
        {"Cos", NULL, X},
        {"Tan", NULL, X},
        {"Asin", NULL, X},
        {"Acos", NULL, X},
        {"Atan", NULL, X},
        {"Sinh", NULL, X},
        {"Cosh", NULL, X},
        {"Asinh", NULL, X},
        {"Acosh", NULL, X},
        {"Atanh", NULL, X},
        {"Tanh", NULL, X},
        {"Sigmoid", NULL, X},
        {"SqrtGrad", NULL, X ";" Y},
        {"RsqrtGrad", NULL, X ";" Y},
        {"ReciprocalGrad", NULL, X ";" Y},
        {"TanhGrad", NULL, X ";" Y},
        {"SigmoidGrad", NULL, X ";" Y},
        {"Add", NULL, X ";" Y},
        {"Sub", NULL, X "; complex128[2,1] 1 1j"},
        {"Mul", NULL, X ";" Y},
        {"RealDiv", NULL, X ";" Y},
        {"Pow", NULL, X ";" Y},
        {"DivNoNan", NULL, X ";" Y},
        {"Sum", NULL, A "; int32[1] 0"},
        {"Mean", NULL, A "; int32[1] 1"},
        {"Prod", NULL, A "; int32[1] 1"},
        {"Cumsum", NULL, A "; int32[] 1"},
        {"MatMul", NULL, A ";" B},
        {"MatMul", "transpose_a=true; transpose_b=true", A ";" B},
        {"BatchMatMul", NULL, A ";" B},
        {"BatchMatMul", "adj_x=true", A "; complex128[2,2] 1 1j 2-1j 0.5"},
        {"BatchMatMul", "adj_x=true; adj_y=true", A ";" B},
        {"BatchMatMulV2", "adj_y=true", "complex128[1,1,2] 1j 2; complex128[2,1,2] 1-1j 3 2j 0.5"},
        {"BatchMatMul", "adj_y=true", "complex128[1,1,2] 1j 2; complex128[1,1,2] 1-1j 3"},
        {"Cast", "DstT=double", X},
        {"Cast", "DstT=complex128", "double[2] 1 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

// |a + bi|' = a / |a + bi| by a, and |a + bi|'' = b^2 / |a + bi|^3.
static void the_second_derivative_of_absolute_values_is_no_sign_s(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    op_binding bind[2] = {0};
    braid_out parts[2], grad, second;
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", BRAID_DOUBLE);
        parts[i] = braid_op_end_out(d);
        bind[i].op = parts[i].op;
    }
    op_test_tensor(&bind[0].value.tensor, "double[2] 3 0");
    op_test_tensor(&bind[1].value.tensor, "double[2] -4 2");
    braid_out z = {op_test_node(g, "Complex", "Tout=complex128", parts, 2), 0};
    braid_out y = {op_test_node(g, "ComplexAbs", "Tout=double", &z, 1), 0};
    braid_gradients(g, &y, 1, parts, 1, NULL, &grad);
    braid_gradients(g, &grad, 1, parts, 1, NULL, &second);
    braid_tensor got;
    op_test_eval(bind, 2, &second, 1, &got, st);
    assert_ok(st);
    op_test_expect(&got, "double[2] 0.128 0.5", 1e-12, "ComplexAbs' second derivative");
    bd_tensor_fini(&got);
    for (int i = 0; i < 2; i++)
        bd_value_fini(&bind[i].value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_follow_the_definition),
        cmocka_unit_test(pairs_follow_the_definition),
        cmocka_unit_test(parts_follow_the_definition),
        cmocka_unit_test(matrices_and_axes_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_second_derivative_of_absolute_values_is_no_sign_s),
    };
    return BD_RUN_TESTS(tests);
}
