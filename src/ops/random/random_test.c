// Tests of random ops: TensorFlow's values for the same seeds, on any number of threads.
// labels: concurrent
#include "base/alloc.h"
#include "base/half.h"
#include "base/testing/test.h"
#include "base/thread_pool.h"
#include "ops/testing/op_test.h"
#include "ops/testing/random_source.h"

// Outputs of TensorFlow 1.x for tf.random_normal([2, 3], seed=1234), run twice (the example of its guide
// "Constants, Sequences, and Random Values"), and for tf.truncated_normal and tf.random_uniform with the same
// arguments, as published by users. Without a graph seed the op's seed attrs are 87654321 and 1234.
static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_random_case cases[] = {
        {"RandomStandardNormal",
         "dtype=float; seed=87654321; seed2=1234",
         {"int32[2] 2 3"},
         1,
         {"float[2,3] 0.51340485 -0.25581399 0.65199131 1.39236379 0.37256798 0.20336303",
          "float[2,3] 0.96462417 0.34291974 0.24251089 1.05785966 1.65749764 0.82108974"}},
        {"TruncatedNormal",
         "dtype=float; seed=87654321; seed2=1234",
         {"int32[2] 2 3"},
         1,
         {"float[2,3] 0.51340485 -0.255814 0.6519913 1.3923638 0.1662533 -0.9161797"}},
        {"RandomUniform",
         "dtype=float; seed=87654321; seed2=1234",
         {"int32[2] 2 3"},
         1,
         {"float[2,3] 0.848307 0.32357132 0.3067001 0.06969976 0.9138565 0.17047906"}},
        // The published values are for minval=0, maxval=2 and are halved here; the first six of eight
        // elements are those of a six-element output.
        {"RandomUniform",
         "dtype=float; seed=87654321; seed2=1234",
         {"int64[2] 2 4"},
         1,
         {"float[2,4] 0.848307 0.323571325 0.3067001 0.069699765 0.9138565 0.17047906 0.2833712 0.35627055"}},
    };
    op_random_check(cases, BD_COUNTOF(cases));
}

// Values were computed from the definitions (Philox words to numbers) by an independent program.
static void values_of_other_types_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_random_case cases[] = {
        {"RandomUniform",
         "dtype=double; seed=87654321; seed2=1234",
         {"int32[1] 3"},
         1,
         {"double[3] 0.7864565445549252 0.45360178699661002 0.31085249440833751"}},
        {"RandomStandardNormal",
         "dtype=double; seed=87654321; seed2=1234",
         {"int32[1] 3"},
         1,
         {"double[3] 0.19921842277552421 -0.66388827328409372 1.5200021071991738"}},
        {"TruncatedNormal",
         "dtype=double; seed=87654321; seed2=1234",
         {"int32[1] 5"},
         1,
         {"double[5] 0.19921842277552421 -0.66388827328409372 1.1056341989026484 -0.7708523603734081 1.062636227485074"}},
        {"RandomUniformInt",
         "seed=87654321; seed2=1234",
         {"int32[2] 2 3", "int32[] 5", "int32[] 15"},
         3,
         {"int32[2,3] 14 10 8 9 5 11"}},
        {"RandomUniformInt",
         "seed=87654321; seed2=1234",
         {"int32[1] 3", "int64[] -3", "int64[] 999999999997"},
         3,
         {"int64[3] 391559173456 753672286704 848684763453"}},
    };
    op_random_check(cases, BD_COUNTOF(cases));
}

// The elements of an op's first output as numbers.
static void draw_numbers(const char *op, const char *attrs, const char *inputs[], int input_count,
                         float numbers[7])
{
    op_random_source s;
    braid_tensor got;
    op_random_open(&s, op, attrs, inputs, input_count);
    op_random_draw(&s, &got);
    assert_int_equal(bd_tensor_count(&got), 7);
    for (int i = 0; i < 7; i++) {
        switch (got.dtype) {
        case BRAID_FLOAT: numbers[i] = bd_tensor_f32(&got)[i]; break;
        case BRAID_HALF: numbers[i] = bd_float_of_half(((uint16_t *)got.data)[i]); break;
        case BRAID_BFLOAT16: numbers[i] = bd_float_of_bfloat16(((uint16_t *)got.data)[i]); break;
        default: numbers[i] = (float)bd_tensor_i32(&got)[i]; break;
        }
    }
    bd_tensor_fini(&got);
    op_random_close(&s);
}

// Uniform numbers of 16-bit types use the lowest 10 (7) of the 23 bits that float uses: the bits of a uniform
// integer below 1024 (128). Normal numbers are float's, rounded.
static void half_and_bfloat16_round_the_floats(void **state)
{
    (void)state;
    float halves[7], bfloats[7], below_1024[7], below_128[7], floats[7];
    const char *shape[] = {"int32[1] 7"}, *in_1024[] = {"int32[1] 7", "int32[] 0", "int32[] 1024"},
               *in_128[] = {"int32[1] 7", "int32[] 0", "int32[] 128"};
    draw_numbers("RandomUniform", "dtype=half; seed=5; seed2=6", shape, 1, halves);
    draw_numbers("RandomUniform", "dtype=bfloat16; seed=5; seed2=6", shape, 1, bfloats);
    draw_numbers("RandomUniformInt", "seed=5; seed2=6", in_1024, 3, below_1024);
    draw_numbers("RandomUniformInt", "seed=5; seed2=6", in_128, 3, below_128);
    for (int i = 0; i < 7; i++) {
        assert_true(halves[i] == below_1024[i] / 1024);
        assert_true(bfloats[i] == below_128[i] / 128);
    }
    static const char *const normals[] = {"RandomStandardNormal", "TruncatedNormal"};
    for (int k = 0; k < 2; k++) {
        draw_numbers(normals[k], "dtype=float; seed=5; seed2=6", shape, 1, floats);
        draw_numbers(normals[k], "dtype=half; seed=5; seed2=6", shape, 1, halves);
        draw_numbers(normals[k], "dtype=bfloat16; seed=5; seed2=6", shape, 1, bfloats);
        for (int i = 0; i < 7; i++) {
            assert_true(halves[i] == bd_float_of_half(bd_half_of_float(floats[i])));
            assert_true(bfloats[i] == bd_float_of_bfloat16(bd_bfloat16_of_float(floats[i])));
        }
    }
}

static void values_do_not_depend_on_threads(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const ops[][2] = {
        {"RandomUniform", "dtype=float; seed=3"},
        {"RandomStandardNormal", "dtype=double; seed2=5"},
        {"TruncatedNormal", "dtype=float; seed=3; seed2=9"},
        {"RandomGamma", "seed=3; seed2=9"},
    };
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        braid_tensor got[2][2]; // [without and with threads][first and second call]
        for (int threads = 0; threads < 2; threads++) {
            op_random_source s;
            op_random_open(&s, ops[i][0], ops[i][1], (const char *[]){"int32[2] 331 107", "float[1] 0.5"},
                           strcmp(ops[i][0], "RandomGamma") == 0 ? 2 : 1);
            if (threads) bd_thread_pool_new("test", 4, &s.pool, st);
            assert_ok(st);
            op_random_draw(&s, &got[threads][0]);
            op_random_draw(&s, &got[threads][1]);
            if (threads) {
                bd_thread_pool_close(s.pool);
                bd_thread_pool_stop(s.pool);
                bd_thread_pool_free(s.pool);
            }
            op_random_close(&s);
        }
        for (int call = 0; call < 2; call++) {
            assert_memory_equal(got[0][call].data, got[1][call].data, bd_tensor_bytes(&got[0][call]));
        }
        assert_memory_not_equal(got[0][0].data, got[0][1].data, bd_tensor_bytes(&got[0][0]));
        for (int k = 0; k < 4; k++)
            bd_tensor_fini(&got[k / 2][k % 2]);
    }
}

static void without_seeds_no_two_are_alike(void **state)
{
    (void)state;
    braid_tensor got[2];
    for (int i = 0; i < 2; i++) {
        op_random_source s;
        op_random_open(&s, "RandomUniform", "dtype=float", (const char *[]){"int32[1] 100"}, 1);
        op_random_draw(&s, &got[i]);
        op_random_close(&s);
    }
    assert_memory_not_equal(got[0].data, got[1].data, bd_tensor_bytes(&got[0]));
    bd_tensor_fini(&got[0]);
    bd_tensor_fini(&got[1]);
}

// Mean, deviation and bounds of many numbers; the seeds are fixed, so the test cannot fail by chance.
static void distributions_have_their_mean_and_variance(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs;
        double mean, variance, bound;
    } cases[] = {
        {"RandomUniform", "dtype=float; seed=1", 0.5, 1.0 / 12, 1},
        {"RandomStandardNormal", "dtype=float; seed=1", 0, 1, 10},
        // For a normal distribution cut off at 2: 1 - 2 * 2 * pdf(2) / (cdf(2) - cdf(-2)).
        {"TruncatedNormal", "dtype=float; seed=1", 0, 0.7737413, 2},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        op_random_source s;
        braid_tensor got;
        op_random_open(&s, cases[i].op, cases[i].attrs, (const char *[]){"int32[1] 100000"}, 1);
        op_random_draw(&s, &got);
        double sum = 0, squares = 0;
        for (int k = 0; k < 100000; k++) {
            double x = bd_tensor_f32(&got)[k];
            assert_true(x < cases[i].bound && x > -cases[i].bound);
            sum += x;
            squares += x * x;
        }
        double mean = sum / 100000, variance = squares / 100000 - mean * mean;
        assert_true(mean - cases[i].mean < 0.01 && cases[i].mean - mean < 0.01);
        assert_true(variance - cases[i].variance < 0.01 && cases[i].variance - variance < 0.01);
        bd_tensor_fini(&got);
        op_random_close(&s);
    }
}

static void values_fill_the_given_shape(void **state)
{
    (void)state;
    // The first number of the outputs above.
    static const struct {
        const char *op, *number;
    } ops[] = {{"RandomUniform", "float[] 0.848307"},
               {"RandomStandardNormal", "float[] 0.51340485"},
               {"TruncatedNormal", "float[] 0.51340485"}};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i].op, *attrs = "dtype=float; seed=87654321; seed2=1234";
        const op_case cases[] = {
            {op, attrs, "int32[0]", ops[i].number, .tolerance = 2e-7},
            {op, attrs, "int64[3] 2 0 3", "float[2,0,3]"},
            {op, attrs, "int32[2] 3 -1", "InvalidArgument: must be >= 0"},
            {op, attrs, "int32[] 3", "InvalidArgument: must be a vector"},
            {op, "dtype=int32", "int32[1] 3",
             "InvalidArgument: Value for attr 'dtype' of int32 is not in the list of allowed values: "},
        };
        OP_TEST_VALUES(cases);
    }
}

static void errors_and_empty_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Invalid bounds are not an error if the output is empty.
        {.op = "RandomUniformInt", .inputs = "int64[2] 2 0; int32[] 5; int32[] 5", .want = "int32[2,0]"},
        {.op = "RandomUniformInt",
         .inputs = "int64[1] 0; int64[] 5; int64[0]",
         .want = "InvalidArgument: maxval must be 0-D, got shape [0]"},
        {.op = "RandomUniformInt",
         .inputs = "int64[] 2; int64[] 5; int64[] 7",
         .want = "InvalidArgument: must be a vector"},
        {.op = "RandomUniformInt",
         .inputs = "int32[1] 3; int32[] 5; int32[] 5",
         .want = "InvalidArgument: Need minval < maxval, got 5 >= 5"},
        {.op = "RandomUniformInt",
         .inputs = "int32[1] 3; int32[1] 5; int32[] 6",
         .want = "InvalidArgument: minval must be 0-D, got shape [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RandomUniform", "dtype=float", "int32[2] 2 3", "[2,3]"},
        {"RandomStandardNormal", "dtype=float", "int32[2]", "[?,?]"},
        {"TruncatedNormal", "dtype=float", "int32?", "?"},
        {"RandomUniformInt", NULL, "int32[1] 4; int32[]; int32[]", "[4]"},
        {"RandomUniform", "dtype=float", "int32[]", "InvalidArgument: must be rank 1 but is rank 0"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(values_of_other_types_are_those_of_tensorflow),
        cmocka_unit_test(half_and_bfloat16_round_the_floats),
        cmocka_unit_test(values_do_not_depend_on_threads),
        cmocka_unit_test(without_seeds_no_two_are_alike),
        cmocka_unit_test(distributions_have_their_mean_and_variance),
        cmocka_unit_test(values_fill_the_given_shape),
        cmocka_unit_test(errors_and_empty_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
