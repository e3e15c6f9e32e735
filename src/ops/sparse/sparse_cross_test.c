// Tests of SparseCross and EditDistance. Values are those of TensorFlow's own tests and documentation, and of
// Python.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// TensorFlow's default key.
#define KEY "956888297470"
#define NEXT_KEY "956888297471"
#define HASHED(BUCKETS, KEY)                                                                                 \
    "N=3; hashed_output=true; num_buckets=" BUCKETS "; hash_key=" KEY                                        \
    "; sparse_types=[string,string,string]; dense_types=[]; out_type=int64; internal_type=string"
#define ONE_EACH                                                                                             \
    "int64[1,2] 0 0; int64[1,2] 0 0; int64[1,2] 0 0; string[1] batch1-FC1-F1; string[1] batch1-FC2-F1; "     \
    "string[1] batch1-FC3-F1; int64[2] 1 1; int64[2] 1 1; int64[2] 1 1"

#define JOINED(N, SPARSE, DENSE, INTERNAL)                                                                   \
    "N=" N "; hashed_output=false; num_buckets=0; hash_key=" KEY "; sparse_types=" SPARSE                    \
    "; dense_types=" DENSE "; out_type=string; internal_type=" INTERNAL

static void hashes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseCross", HASHED("0", KEY), ONE_EACH,
         "int64[1,2] 0 0; int64[1] 1971693436396284976; int64[2] 1 1"},
        {"SparseCross", HASHED("0", NEXT_KEY), ONE_EACH,
         "int64[1,2] 0 0; int64[1] 4847552627144134031; int64[2] 1 1"},
        {"SparseCross", HASHED("100", KEY), ONE_EACH, "int64[1,2] 0 0; int64[1] 83; int64[2] 1 1"},
        {"SparseCross", HASHED("100", NEXT_KEY), ONE_EACH, "int64[1,2] 0 0; int64[1] 31; int64[2] 1 1"},
    };
    OP_TEST_VALUES(cases);
}

#define FEATURES(SPARSE, DENSE, N, BUCKETS, KEY)                                                             \
    "N=" N "; hashed_output=true; num_buckets=" BUCKETS KEY "; sparse_types=" SPARSE "; dense_types=" DENSE  \
    "; out_type=int64; internal_type=int64"
#define STRINGS(BUCKETS, KEY) FEATURES("[string,string,string]", "[]", "3", BUCKETS, KEY)
#define INTEGERS(BUCKETS, KEY) FEATURES("[]", "[int64,int64,int64]", "0", BUCKETS, KEY)

// The values are TensorFlow 1.15's.
static void features_of_contrib_are_hashed_by_shifts_or_with_a_key(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseFeatureCross", STRINGS("0", ""), ONE_EACH,
         "int64[1,2] 0 0; int64[1] 3735511728867393167; int64[2] 1 1"},
        {"SparseFeatureCross", STRINGS("100", ""), ONE_EACH, "int64[1,2] 0 0; int64[1] 74; int64[2] 1 1"},
        {"SparseFeatureCross", INTEGERS("0", ""), "int64[1,2] 1 2; int64[1,2] 3 -4; int64[1,1] -7",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 8724382233765290368 8724382233765338466 8724382233768442175 "
         "8724382233768477985; int64[2] 1 4"},
        {"SparseFeatureCross", INTEGERS("100", ""), "int64[1,2] 1 2; int64[1,2] 3 -4; int64[1,1] -7",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 75 73 82 92; int64[2] 1 4"},
        {"SparseFeatureCross", INTEGERS("100", ""), "int64[0,2]; int64[0,2]; int64[0,1]",
         "int64[0,2]; int64[0]; int64[2] 0 0"},
        {"SparseFeatureCross", INTEGERS("100", ""), "int64[] 1; int64[1,1] 2; int64[1,1] 3",
         "InvalidArgument: Dense inputs should be a matrix but received shape [] at position 0"},
        {"SparseFeatureCrossV2", STRINGS("0", "; hash_key=" NEXT_KEY), ONE_EACH,
         "int64[1,2] 0 0; int64[1] 4847552627144134031; int64[2] 1 1"},
        {"SparseFeatureCrossV2", INTEGERS("100", "; hash_key=" NEXT_KEY),
         "int64[1,2] 1 2; int64[1,2] 3 -4; int64[1,1] -7",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 41 35 22 6; int64[2] 1 4"},
        {"SparseFeatureCrossV2", INTEGERS("100", "; hash_key=1"), "int64[0,2]; int64[0,2]; int64[0,1]",
         "int64[0,2]; int64[0]; int64[2] 0 0"},
        {"SparseFeatureCrossV2", INTEGERS("100", "; hash_key=1"), "int64[] 1; int64[1,1] 2; int64[1,1] 3",
         "InvalidArgument: Dense inputs should be a matrix but received shape [] at position 0"},
    };
    OP_TEST_VALUES(cases);
}

#define TWO_STRINGS JOINED("2", "[string,string]", "[]", "string")

static void strings_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The last column changes fastest; a row that lacks a column has no crosses.
        {"SparseCross", TWO_STRINGS,
         "int64[4,2] 0 0 0 1 1 0 3 0; int64[4,2] 0 0 0 1 2 0 3 0; string[4] a b c d; string[4] A B C D; int64[2] "
         "4 2; int64[2] 4 2",
         "int64[5,2] 0 0 0 1 0 2 0 3 3 0; string[5] a_X_A a_X_B b_X_A b_X_B d_X_D; int64[2] 4 4"},
        {"SparseCross", JOINED("1", "[int64]", "[string]", "string"),
         "int64[2,2] 0 0 1 0; int64[2] -5 7; int64[2] 2 1; string[2,2] p q r s",
         "int64[4,2] 0 0 0 1 1 0 1 1; string[4] -5_X_p -5_X_q 7_X_r 7_X_s; int64[2] 2 2"},
        {"SparseCross", JOINED("0", "[]", "[int64,string]", "int64"), "int64[2,1] 1 2; string[2,1] a b",
         "int64[2,2] 0 0 1 0; string[2] 1_X_a 2_X_b; int64[2] 2 1"},
        {"SparseCross", JOINED("0", "[]", "[]", "string"), "", "int64[0,2]; string[0]; int64[2] 0 0"},
        {"SparseCross", JOINED("0", "[]", "[string]", "string"), "string[1000000,0]",
         "int64[0,2]; string[0]; int64[2] 1000000 0"},
        // Rows without a feature take no memory, however many there are.
        {"SparseCross", JOINED("1", "[string]", "[]", "string"),
         "int64[2,2] 5 0 4611686018427387904 0; string[2] a b; int64[2] 9223372036854775807 1",
         "int64[2,2] 5 0 4611686018427387904 0; string[2] a b; int64[2] 9223372036854775807 1"},
        // Entries after a row that is out of order are ignored.
        {"SparseCross", JOINED("1", "[string]", "[]", "string"),
         "int64[4,2] 1 0 0 0 2 0 3 0; string[4] a b c d; int64[2] 4 1",
         "int64[1,2] 1 0; string[1] a; int64[2] 4 1"},
        {"SparseCross", JOINED("1", "[string]", "[]", "string"),
         "int64[2,2] -1 0 7 0; string[2] a b; int64[2] 4 1", "int64[0,2]; string[0]; int64[2] 4 0"},
    };
    OP_TEST_VALUES(cases);
}

static void second_form_follows_its_definition(void **state)
{
    (void)state;
#define COLUMNS(N, SPARSE, DENSE) "N=" N "; sparse_types=" SPARSE "; dense_types=" DENSE
#define NUMBERS COLUMNS("0", "[]", "[int64,int64]")
    static const op_case cases[] = {
        {"SparseCrossV2", COLUMNS("1", "[int64]", "[string]"),
         "int64[2,2] 0 0 1 0; int64[2] -5 7; int64[2] 2 1; string[2,2] p q r s; string[] -",
         "int64[4,2] 0 0 0 1 1 0 1 1; string[4] -5-p -5-q 7-r 7-s; int64[2] 2 2"},
        {"SparseCrossV2", COLUMNS("0", "[]", "[string,string]"), "string[1,1] a; string[1,1] b; string[] ''",
         "int64[1,2] 0 0; string[1] ab; int64[2] 1 1"},
        {"SparseCrossV2", COLUMNS("0", "[]", "[string]"), "string[0,1]; string[] ''",
         "int64[0,2]; string[0]; int64[2] 0 0"},
        {"SparseCrossV2", COLUMNS("1", "[string]", "[]"), "int64[0,2]; string[0]; int64[2] 3 0; string[] ''",
         "int64[0,2]; string[0]; int64[2] 3 0"},
        {"SparseCrossV2", COLUMNS("0", "[]", "[string]"), "string[1,1] a; string[1] x",
         "InvalidArgument: Input separator should be a scalar."},
        // One column: the numbers that TensorFlow's tests of StringToHashBucketFast and
        // StringToHashBucketStrong have.
        {"SparseCrossHashed", COLUMNS("0", "[]", "[string]"),
         "string[1,4] a b c d; int64[] 10; bool[] false; int64[2] 98765 132",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 9 2 2 5; int64[2] 1 4"},
        {"SparseCrossHashed", COLUMNS("1", "[string]", "[]"),
         "int64[3,2] 0 0 0 1 1 0; string[3] a b c; int64[2] 2 2; int64[] 10; bool[] true; int64[2] 98765 132",
         "int64[3,2] 0 0 0 1 1 0; int64[3] 4 2 8; int64[2] 2 2"},
        // Dense numbers are their own hashes. From a Python program after the definition of FingerprintCat64.
        {"SparseCrossHashed", NUMBERS,
         "int64[1,2] 1 2; int64[1,2] 3 -4; int64[] 7; bool[] false; int64[2] 1 2",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 2 5 0 6; int64[2] 1 4"},
        {"SparseCrossHashed", NUMBERS,
         "int64[1,2] 1 2; int64[1,2] 3 -4; int64[] 0; bool[] false; int64[2] 1 2",
         "int64[4,2] 0 0 0 1 0 2 0 3; int64[4] 5602092619259716659 6198811303873157989 6034959964952784978 5089364005523541939; int64[2] 1 4"},
        {"SparseCrossHashed", NUMBERS, "int64[1,1] 1; int64[1,1] 3; int64[] 1; bool[] true; int64[2] 1 2",
         "int64[1,2] 0 0; int64[1] 0; int64[2] 1 1"},
        {"SparseCrossHashed", NUMBERS, "int64[1,1] 1; int64[1,1] 3; int64[] 1; bool[] true; int64[3] 1 2 3",
         "InvalidArgument: Input \"salt\" must have length 2 but has length 3"},
        {"SparseCrossHashed", NUMBERS, "int64[1,1] 1; int64[1,1] 3; int64[] 1; bool[2] true; int64[2] 1 2",
         "InvalidArgument: strong_hash must be a scalar"},
        {"SparseCrossHashed", COLUMNS("0", "[]", "[]"), "int64[] 1; bool[] true; int64[2] 1 2",
         "int64[0,2]; int64[0]; int64[2] 0 0"},
    };
    OP_TEST_VALUES(cases);
}

static void refused_crosses_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[2] 0; string[1] a; string[1] a; int64[2] 1 1; int64[2] 1 1",
         "InvalidArgument: Input indices should be a matrix but received shape [2] at position 1"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,3] 0; int64[1,2] 0; string[1] a; string[1] a; int64[2] 1 1; int64[2] 1 1",
         "InvalidArgument: Expected D2 of index to be 2 got 3 at position 0"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[] a; string[1] a; int64[2] 1 1; int64[2] 1 1",
         "InvalidArgument: Input values should be a vector but received shape [] at position 0"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[2] a; string[1] a; int64[2] 1 1; int64[2] 1 1",
         "InvalidArgument: Expected size of values to be 1 got 2 at position 0"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[1] a; string[1] a; int64[] 1; int64[2] 1 1",
         "InvalidArgument: Input shapes should be a vector but received shape [] at position 0"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[1] a; string[1] a; int64[3] 1; int64[2] 1 1",
         "InvalidArgument: shape should imply a 2D tensor"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[1] a; string[1] a; int64[2] 1 1; int64[2] 2 1",
         "InvalidArgument: Expected batch size 1 got 2 at position 1"},
        {"SparseCross", TWO_STRINGS,
         "int64[1,2] 0; int64[1,2] 0; string[1] a; string[1] a; int64[2] -1 1; int64[2] 2 1",
         "InvalidArgument: Expected batch size -1"},
        {"SparseCross", JOINED("1", "[string]", "[string]", "string"),
         "int64[1,2] 0; string[1] a; int64[2] 1 1; string[2,1] a",
         "InvalidArgument: Expected batch size 1 got 2 at dense tensor 0"},
        {"SparseCross", JOINED("0", "[]", "[string]", "string"), "string[2] a",
         "InvalidArgument: Dense inputs should be a matrix but received shape [2] at position 0"},
        // 1000 features in each of seven columns: 10^21 crosses.
        {"SparseCross", JOINED("0", "[]", "[int64,int64,int64,int64,int64,int64,int64]", "int64"),
         "int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; "
         "int64[1,1000] 1",
         "ResourceExhausted: "},
        {"SparseCross", JOINED("0", "[]", "[int64,int64,int64,int64,int64,int64]", "int64"),
         "int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1; int64[1,1000] 1",
         "ResourceExhausted: "},
    };
    OP_TEST_VALUES(cases);
}

static void distances_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The example of TensorFlow's documentation.
        {"EditDistance", "normalize=true",
         "int64[2,3] 0 0 0 1 0 0; string[2] a b; int64[3] 2 1 1; int64[4,3] 0 1 0 1 0 0 1 0 1 1 1 0; string[4] a b "
         "c a; int64[3] 2 2 2",
         "float[2,2] inf 1 0.5 1"},
        {"EditDistance", "normalize=false",
         "int64[2,3] 0 0 0 1 0 0; string[2] a b; int64[3] 2 1 1; int64[4,3] 0 1 0 1 0 0 1 0 1 1 1 0; string[4] a b "
         "c a; int64[3] 2 2 2",
         "float[2,2] 1 1 1 1"},
        // kitten and sitting: 3 of 7.
        {"EditDistance", NULL,
         "int64[6,2] 0 0 0 1 0 2 0 3 0 4 0 5; uint8[6] 107 105 116 116 101 110; int64[2] 1 6; int64[7,2] 0 0 0 1 0 "
         "2 0 3 0 4 0 5 0 6; uint8[7] 115 105 116 116 105 110 103; int64[2] 1 7",
         "float[1] 0.42857143"},
        {"EditDistance", "normalize=false",
         "int64[2,2] 0 0 0 1; float[2] nan -0; int64[2] 1 2; int64[2,2] 0 0 0 1; float[2] nan 0; int64[2] 1 2",
         "float[1] 1"},
        {"EditDistance", NULL, "int64[0,2]; int32[0]; int64[2] 3 0; int64[0,2]; int32[0]; int64[2] 2 5",
         "float[3] 0"},
        {"EditDistance", NULL, "int64[0,2]; int32[0]; int64[2] 0 3; int64[0,2]; int32[0]; int64[2] 0 5",
         "InvalidArgument: Got output shape [0] which has 0 elements"},
        {"EditDistance", NULL, "int64[0,2]; int32[0]; int64[2] 3 0; int64[0,1]; int32[0]; int64[1] 2",
         "InvalidArgument: "},
        {"EditDistance", NULL, "int64[0,1]; int32[0]; int64[1] 3; int64[0,1]; int32[0]; int64[1] 2",
         "InvalidArgument: Input SparseTensors must have rank at least 2, but truth_shape rank is: 1"},
        {"EditDistance", NULL, "int64[] 0; int32[0]; int64[2] 3 0; int64[0,2]; int32[0]; int64[2] 2 5",
         "InvalidArgument: hypothesis_indices should be a matrix, but got shape: []"},
        {"EditDistance", NULL, "int64[0,2]; int32[0]; int64[2] 3 0; int64[0,2]; int32[] 0; int64[2] 2 5",
         "InvalidArgument: truth_values should be a vector, but got shape: []"},
        {"EditDistance", NULL, "int64[0,2]; int32[0]; int64[] 3; int64[0,2]; int32[0]; int64[2] 2 5",
         "InvalidArgument: hypothesis_shape should be a vector, but got shape: []"},
        {"EditDistance", NULL, "int64[1,2] 3 0; int32[1] 1; int64[2] 3 1; int64[0,2]; int32[0]; int64[2] 2 5",
         "Internal: index 3 of dimension 0 is out of bounds"},
        {"EditDistance", NULL,
         "int64[0,3]; int32[0]; int64[3] 4611686018427387904 1 1; int64[0,3]; int32[0]; int64[3] 1 4 1",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SparseCross", TWO_STRINGS, "int64[?,2]; int64[?,2]; string[?]; string[?]; int64[2]; int64[2]",
         "[?,2]; [?]; [2]"},
        {"EditDistance", NULL, "int64[?,3]; [?]; int64[3] 2 1 5; int64[?,3]; [?]; int64[3] 2 2 2", "[2,2]"},
        {"EditDistance", NULL, "int64[?,3]; [?]; int64[3]; int64[?,3]; [?]; int64[3] 2 2 2", "?"},
        {"EditDistance", NULL, "int64[?,3]; [?]; int64[3]; int64[?,2]; [?]; int64[2]",
         "InvalidArgument: Ranks must be equal, but are 3 and 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_follow_the_definition),
        cmocka_unit_test(features_of_contrib_are_hashed_by_shifts_or_with_a_key),
        cmocka_unit_test(strings_follow_the_definition),
        cmocka_unit_test(second_form_follows_its_definition),
        cmocka_unit_test(refused_crosses_follow_the_definition),
        cmocka_unit_test(distances_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
