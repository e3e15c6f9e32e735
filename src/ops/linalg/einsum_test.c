// Tests of BatchMatMul, products of sparse matrices, and Einsum. Values are numpy's (matmul, einsum).
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void batches_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BatchMatMulV3", "Tout=int32", "int8[1,2] 100; int8[2,1] 100", "int32[1,1] 20000"},
        {"BatchMatMulV3", "Tout=int32; adj_y=true", "uint8[2,1,1] 2 3; int8[1,1] -5", "int32[2,1,1] -10 -15"},
        {"BatchMatMulV3", "Tout=float; grad_x=true", "float[1,2] 1 2; float[2,1] 3 4", "float[1,1] 11"},
        {"BatchMatMulV3", "Tout=double", "float[1,2] 1 2; float[2,1] 3 4",
         "Unimplemented: BatchMatMulV3 of float and float that gives double"},
        {"BatchMatMulV2", "adj_x=false; adj_y=false",
         "double[2,1,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; double[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12",
         "double[2,2,2,2] 22 28 49 64 58 64 139 154 76 100 103 136 220 244 301 334"},
        {"BatchMatMulV2", "adj_x=true; adj_y=true",
         "double[3,2] 1 2 3 4 5 6; double[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12",
         "double[2,2,2] 22 49 28 64 76 103 100 136"},
        {"BatchMatMulV2", "adj_x=false; adj_y=true",
         "double[1,2,2] 1 2 3 4; double[3,2,2] 1 2 3 4 5 6 7 8 9 10 11 12",
         "double[3,2,2] 5 11 11 25 17 23 39 53 29 35 67 81"},
        {"BatchMatMulV2", NULL, "int32[2,1,2] 1 2 3 4; int32[1,2,1] 5 6", "int32[2,1,1] 17 39"},
        {"BatchMatMulV2", NULL, "half[1,2] 0x3c00 0x4000; half[2,1] 0x3c00 0x4000", "half[1,1] 0x4500"},
        {"BatchMatMulV2", NULL, "float[0,2,3]; float[3,2] 1", "float[0,2,2]"},
        {"BatchMatMulV2", NULL, "float[2,0]; float[0,2]", "float[2,2] 0"},
        {"BatchMatMulV2", NULL, "float[2,1,1] 1; float[3,1,1] 1",
         "InvalidArgument: must have compatible batch dimensions"},
        {"BatchMatMulV2", NULL, "float[2,3] 1; float[2,3] 1",
         "InvalidArgument: In[0] mismatch In[1] shape: 3 vs. 2: [2,3] [2,3] 0 0"},
        {"BatchMatMulV2", NULL, "float[3] 1; float[3,1] 1", "InvalidArgument: In[0] ndims must be >= 2"},
        {"BatchMatMulV2", NULL, "float[1,1] 1; float[] 1", "InvalidArgument: In[1] ndims must be >= 2"},
        {"BatchMatMulV3", "Tout=float", "float[] 1; float[1,1] 1",
         "InvalidArgument: In[0] ndims must be >= 2"},
        {"BatchMatMulV3", "Tout=int32", "int8[2,0]; uint8[3,0,2]", "int32[3,2,2] 0"},
        {"BatchMatMul", NULL, "float[2,1,1] 1; float[1,1,1] 1", "InvalidArgument: "},
        {"SparseMatMul", NULL, "float[2,2] 1 0 0 2; float[2,1] 3 4", "float[2,1] 3 8"},
        {"SparseMatMul", "transpose_a=true; a_is_sparse=true",
         "bfloat16[2,1] 0x3f80 0x4000; float[2,2] 1 2 3 4", "float[1,2] 7 10"},
        {"SparseMatMul", "transpose_b=true", "float[1,2] 1 2; bfloat16[2,2] 0x3f80 0x4000 0 0x3f80",
         "float[1,2] 5 2"},
        {"SparseMatMul", NULL, "float[0,2]; float[2,3] 1", "float[0,3]"},
        {"SparseMatMul", NULL, "float[2,2] 1; float[3,1] 1", "InvalidArgument: Matrix size incompatible"},
        {"SparseMatMul", NULL, "float[2] 1; float[3,1] 1", "InvalidArgument: a is not a matrix"},
        {"SparseMatMul", NULL, "float[] 1; float[1,1] 1", "InvalidArgument: a is not a matrix"},
        {"SparseMatMul", NULL, "float[1,1] 1; float[] 1", "InvalidArgument: b is not a matrix"},
        {"SparseMatMul", NULL, "float[2,0]; float[0,1]", "float[2,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void einsum_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Einsum", "equation=ij,jk->ik", "double[2,3] 1 2 3 4 5 6; double[3,4] 1 2 3 4 5 6 7 8 9 10 11 12",
         "double[2,4] 38 44 50 56 83 98 113 128"},
        {"Einsum", "equation=ij->ji", "double[2,3] 1 2 3 4 5 6", "double[3,2] 1 4 2 5 3 6"},
        {"Einsum", "equation=ij->", "double[2,3] 1 2 3 4 5 6", "double[] 21"},
        {"Einsum", "equation=ii->i", "double[2,2] 1 2 3 4", "double[2] 1 4"},
        {"Einsum", "equation=ii->", "double[2,2] 1 2 3 4", "double[] 5"},
        {"Einsum", "equation=iij->j", "double[2,2,2] 1 2 3 4 5 6 7 8", "double[2] 8 10"},
        {"Einsum", "equation=bij,bjk->bik",
         "double[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12; double[2,2,2] 1 2 3 4 5 6 7 8",
         "double[2,3,2] 7 10 15 22 23 34 91 106 115 134 139 162"},
        {"Einsum", "equation=ij,kl->jl", "double[2,3] 1 2 3 4 5 6; double[2,2] 1 2 3 4",
         "double[3,2] 20 30 28 42 36 54"},
        {"Einsum", "equation=ij,ij->", "double[2,3] 1 2 3 4 5 6; double[2,3] 1 2 3 4 5 6", "double[] 91"},
        {"Einsum", "equation=i,j->ij", "double[2] 1 2; double[3] 1 2 3", "double[2,3] 1 2 3 2 4 6"},
        {"Einsum", "equation=...ij,...jk->...ik",
         "double[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12; double[2,2] 1 2 3 4",
         "double[2,3,2] 7 10 15 22 23 34 31 46 39 58 47 70"},
        {"Einsum", "equation=...i->...", "double[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12",
         "double[2,3] 3 7 11 15 19 23"},
        {"Einsum", "equation=i...,...->i...", "double[2,3] 1 2 3 4 5 6; double[3] 1 2 3",
         "double[2,3] 1 4 9 4 10 18"},
        {"Einsum", "equation=ab,bc->ca", "double[2,3] 1 2 3 4 5 6; double[3,2] 1 2 5 6 9 10",
         "double[2,2] 38 83 44 98"},
        {"Einsum", "equation=iij,jk->ik", "double[2,2,2] 1 2 3 4 5 6 7 8; double[2,2] 1 2 3 4",
         "double[2,2] 7 10 31 46"},
        {"Einsum", "equation=a...b,b...->...a", "double[1,2,3] 1 2 3 4 5 6; double[3,2] 1 2 3 4 5 6",
         "double[2,1] 22 64"},
        // A label repeated in the output makes a diagonal.
        {"Einsum", "equation=i->ii", "double[2] 1 2", "double[2,2] 1 0 0 2"},
        {"Einsum", "equation=ij,jk->ik", "int64[1,2] 1 2; int64[2,1] 3 4", "int64[1,1] 11"},
        {"Einsum", "equation=ij,jk->ik", "half[1,2] 0x3c00 0x4000; half[2,1] 0x3c00 0x4000",
         "half[1,1] 0x4500"},
        {"Einsum", "equation=ij,jk->ik", "complex64[1,2] 1j 2; complex64[2,1] 1+1j 3j",
         "complex64[1,1] -1+7j"},
        {"Einsum", "equation=->", "float[] 3", "float[] 3"},
        {"Einsum", "equation=,i->i", "float[] 3; float[2] 1 2", "float[2] 3 6"},
        {"Einsum", "equation=ij,jk->ik", "float[2,0]; float[0,1]", "float[2,1] 0"},
        {"Einsum", "equation=ij->i", "float[2,0]", "float[2] 0"},
        {"Einsum", "equation=...i,i->...", "float[2] 1 2; float[2] 3 4", "float[] 11"},
        {"Einsum", "equation=ij,jk", "float[1,1] 1; float[1,1] 1",
         "InvalidArgument: Expecting exactly one '->'"},
        {"Einsum", "equation=i->i->i", "float[1] 1", "InvalidArgument: Expecting exactly one '->'"},
        {"Einsum", "equation=a,b,c->a", "float[1] 1; float[1] 1; float[1] 1",
         "InvalidArgument: Expecting 1 or 2 input subscripts"},
        {"Einsum", "equation=a,b->a", "float[1] 1", "InvalidArgument: Expected 2 inputs but got: 1"},
        {"Einsum", "equation=ij->i", "float[1] 1", "InvalidArgument: to have rank 2 but got: 1"},
        {"Einsum", "equation=i..j->i", "float[1,1] 1", "InvalidArgument: Invalid ellipsis"},
        {"Einsum", "equation=...i...->i", "float[1,1] 1", "InvalidArgument: at most one ellipsis"},
        {"Einsum", "equation=i...->i", "float[1,1] 1",
         "InvalidArgument: no ellipsis (...) was found in the output"},
        {"Einsum", "equation=i->j", "float[1] 1", "InvalidArgument: Label 'j' of the output"},
        {"Einsum", "equation=ij,jk->ik", "float[1,2] 1; float[3,1] 1",
         "InvalidArgument: Expected dimension 2 but got dimension 3"},
        {"Einsum", "equation=...i,...i->...", "float[2,1] 1; float[3,1] 1",
         "InvalidArgument: Expected dimension"},
        {"Einsum", "equation=abcdefg,hijklmn->abcdefghijklmn",
         "float[1,1,1,1,1,1,1] 1; float[1,1,1,1,1,1,1] 1", "InvalidArgument: more than 12 dimensions"},
        {"Einsum", "equation=a-b->a", "float[1] 1; float[1] 1", "InvalidArgument: Invalid character"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BatchMatMulV2", "adj_x=true", "[2,1,3,4]; [5,3,?]", "[2,5,4,?]"},
        {"BatchMatMulV2", NULL, "[2,3,4]; [3,4,5]", "InvalidArgument: "},
        {"BatchMatMulV2", NULL, "[3,4]; [5,4]", "InvalidArgument: Dimensions must be equal, but are 4 and 5"},
        {"BatchMatMulV2", NULL, "[3]; [5,4]", "InvalidArgument: rank"},
        {"SparseMatMul", "transpose_b=true", "[3,4]; [5,4]", "[3,5]"},
        {"Einsum", "equation=ij,jk->ik", "[2,3]; [3,?]", "[2,?]"},
        {"Einsum", "equation=...ij->...ji", "[5,2,?]", "[5,?,2]"},
        {"Einsum", "equation=...i,...i->...", "[1,2]; [?,2]", "[?]"},
        {"Einsum", "equation=...i,...i->...", "[4,2]; [?,2]", "[4]"},
        {"Einsum", "equation=ij,jk->ik", "[2,3]; ?", "?"},
        {"Einsum", "equation=ij,jk->ik", "[2,3]; [4,?]", "InvalidArgument: "},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"BatchMatMulV2", NULL, "double[2,1,2] 1 2 3 4; double[2,1] 5 6"},
        {"BatchMatMulV2", "adj_x=true", "double[2,1] 1 2; double[2,2,1] 3 4 5 6"},
        {"BatchMatMulV2", "adj_y=true", "double[1,1,2] 1 2; double[2,1,2] 3 4 5 6"},
        {"BatchMatMulV2", "adj_x=true; adj_y=true", "double[1,2,1] 1 2; double[1,1,2] 3 4"},
        {"BatchMatMulV3", "Tout=double; adj_x=true", "double[2,1] 1 2; double[2,2,1] 3 4 5 6"},
        {"Einsum", "equation=ij,jk->ik", "double[2,2] 1 2 3 4; double[2,1] 5 6"},
        {"Einsum", "equation=ij,kj->", "double[2,2] 1 2 3 4; double[1,2] 5 6"},
        {"Einsum", "equation=bij,bjk->bki", "double[2,1,2] 1 2 3 4; double[2,2,1] 5 6 7 8"},
        {"Einsum", "equation=ij,jk->ik", "complex128[1,2] 1+2j 3; complex128[2,1] 5j 6-1j"},
        {"Einsum", "equation=ij->ji", "double[2,3] 1 2 3 4 5 6"},
        {"Einsum", "equation=i,j->ij", "double[2] 1 2; double[3] 3 4 5"},
        {"Einsum", "equation=,->", "double[] 2; double[] 3"},
        // labels of one operand only
        {"Einsum", "equation=ij->i", "double[2,3] 1 2 3 4 5 6"},
        {"Einsum", "equation=ijk->", "double[1,2,3] 1 2 3 4 5 6"},
        {"Einsum", "equation=ij,k->j", "double[2,2] 1 2 3 4; double[3] 5 6 7"},
        // repeated labels: diagonals, in operands and in the output
        {"Einsum", "equation=ii->i", "double[2,2] 1 2 3 4"},
        {"Einsum", "equation=ii->", "double[2,2] 1 2 3 4"},
        {"Einsum", "equation=i->ii", "double[2] 1 2"},
        {"Einsum", "equation=iij,jkk->ik", "double[2,2,1] 1 2 3 4; double[1,2,2] 5 6 7 8"},
        {"Einsum", "equation=iij,k->jk", "double[2,2,1] 1 2 3 4; double[2] 5 6"},
        {"Einsum", "equation=ij,j->jji", "double[2,2] 1 2 3 4; double[2] 5 6"},
        // dimensions that are broadcast
        {"Einsum", "equation=...ij,...jk->...ik", "double[2,1,1,2] 1 2 3 4; double[2,2,1] 5 6 7 8"},
        {"Einsum", "equation=i...,...->...i", "double[2,1,2] 1 2 3 4; double[3,1] 5 6 7"},
        {"Einsum", "equation=...i,i->...", "double[2,2] 1 2 3 4; double[2] 5 6"},
        {"Einsum", "equation=i...j,j->...", "double[2,2,2] 1 2 3 4 5 6 7 8; double[2] 5 6"},
        {"Einsum", "equation=...ii->...", "double[2,2,2] 1 2 3 4 5 6 7 8"},
        {"Einsum", "equation=...->...", "double[2] 1 2"},
        {"Einsum", "equation=...ij,k->k...", "double[2,1,2] 1 2 3 4; double[2] 5 6"},
        {"Einsum", "equation=...i,...i->...", "double[2] 1 2; double[2] 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_follow_the_definition),
        cmocka_unit_test(einsum_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}
