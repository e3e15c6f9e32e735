// What random ops promise: TensorFlow's values for the same seeds, on any number of threads.
// labels: concurrent
#include "base/alloc.h"
#include "base/half.h"
#include "base/pool.h"
#include "base/testing/test.h"
#include "graph/grad.h"
#include "ops/testing/op_test.h"

#include <math.h>

// A random node whose kernel stays bound from call to call, as in a session.
typedef struct source {
    braid_graph *graph;
    braid_op *node;
    const bd_kernel *kernel;
    void *state;
    bd_value inputs[5];
    bd_pool *pool;
} source;

static void open_source(source *s, const char *op, const char *attrs, const char *inputs[], int count)
{
    BD_STATUS(st);
    *s = (source){.graph = braid_graph_new()};
    braid_out in[5];
    for (int i = 0; i < count; i++) {
        op_test_tensor(&s->inputs[i].tensor, inputs[i]);
        braid_op_desc *d = braid_op_begin(s->graph, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", s->inputs[i].tensor.dtype);
        in[i] = braid_op_end_out(d);
    }
    s->node = op_test_node(s->graph, op, attrs, in, count);
    braid_graph_status(s->graph, st);
    assert_ok(st);
    bd_kernel_find(s->node, "CPU", &s->kernel, st);
    assert_ok(st);
    s->state = bd_calloc(1, s->kernel->state_size);
    s->kernel->create(s->node, s->state, st);
    assert_ok(st);
}

static void draw(source *s, braid_tensor *out)
{
    bd_step step = {.pool = s->pool};
    bd_value output = {0};
    bd_op_ctx c = {.node = s->node,
                   .state = s->state,
                   .inputs = s->inputs,
                   .input_count = s->node->input_count,
                   .outputs = &output,
                   .output_count = 1,
                   .step = &step};
    s->kernel->run(&c);
    assert_ok(&c.status);
    *out = output.tensor;
}

static void close_source(source *s)
{
    s->kernel->destroy(s->state);
    bd_free(s->state);
    for (int i = 0; i < 5; i++)
        bd_value_fini(&s->inputs[i]);
    braid_graph_free(s->graph);
}

// Calls the op as often as there are expectations.
typedef struct sequence {
    const char *op, *attrs;
    const char *inputs[5];
    int input_count;
    const char *calls[2];
} sequence;

static void check_sequences(const sequence *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        source s;
        open_source(&s, cases[i].op, cases[i].attrs, (const char **)cases[i].inputs, cases[i].input_count);
        for (int k = 0; k < 2 && cases[i].calls[k]; k++) {
            braid_tensor got;
            draw(&s, &got);
            op_test_expect(&got, cases[i].calls[k], got.dtype == BRAID_FLOAT ? 2e-7 : 1e-14, cases[i].op);
            bd_tensor_fini(&got);
        }
        close_source(&s);
    }
}

// What TensorFlow 1.x prints for tf.random_normal([2, 3], seed=1234), run twice (the example of its guide "Constants,
// Sequences, and Random Values"), and for tf.truncated_normal and tf.random_uniform with the same arguments, as published by
// users who ran them. Without a graph seed the op's seed attrs are 87654321 and 1234.
static void test_published_values(void **state)
{
    (void)state;
    static const sequence cases[] = {
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
        // Of minval=0, maxval=2, halved: eight elements begin as six do.
        {"RandomUniform",
         "dtype=float; seed=87654321; seed2=1234",
         {"int64[2] 2 4"},
         1,
         {"float[2,4] 0.848307 0.323571325 0.3067001 0.069699765 0.9138565 0.17047906 0.2833712 0.35627055"}},
    };
    check_sequences(cases, BD_COUNTOF(cases));
}

// Worked out from the definitions (graph of Philox words to numbers) by an independent program.
static void test_other_types(void **state)
{
    (void)state;
    static const sequence cases[] = {
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
    check_sequences(cases, BD_COUNTOF(cases));
}

// The elements of an op's first output as numbers.
static void draw_numbers(const char *op, const char *attrs, const char *inputs[], int input_count,
                         float numbers[7])
{
    source s;
    braid_tensor got;
    open_source(&s, op, attrs, inputs, input_count);
    draw(&s, &got);
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
    close_source(&s);
}

// Uniform numbers of 16-bit types are made of the lowest 10 (7) bits of the words of which float's have 23: the bits that a
// uniform integer below 1024 (128) has. Normal numbers are float's, rounded.
static void test_short_types(void **state)
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

// Worked out from the definitions of TensorFlow's kernels by an independent program (in Python).
static void test_other_distributions(void **state)
{
    (void)state;
    static const sequence cases[] = {
        {"RandomShuffle",
         "seed=87654321; seed2=1234",
         {"int32[7] 10 11 12 13 14 15 16"},
         1,
         {"int32[7] 14 10 15 13 11 12 16", "int32[7] 11 13 14 12 16 15 10"}},
        {"RandomShuffle",
         "seed=87654321; seed2=1234",
         {"int64[5,2] 0 1 2 3 4 5 6 7 8 9"},
         1,
         {"int64[5,2] 8 9 4 5 6 7 2 3 0 1"}},
        {"Multinomial",
         "seed=87654321; seed2=1234",
         {"float[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1", "int32[] 5"},
         2,
         {"int64[3,5] 2 2 2 2 2 1 0 1 0 0 1 1 3 1 1", "int64[3,5] 2 0 2 2 2 1 0 0 0 0 1 1 1 1 1"}},
        {"Multinomial",
         "seed=87654321; seed2=1234; output_dtype=int32",
         {"double[3,4] 0.5 -1 2 0 1 1 -inf nan -3 4 inf 1", "int32[] 6"},
         2,
         {"int32[3,6] 2 2 2 2 2 2 0 1 0 0 0 1 3 1 1 1 1 1"}},
        {"RandomGamma",
         "seed=87654321; seed2=1234",
         {"int32[1] 3", "double[4] 0.3 1 2.5 100"},
         2,
         {"double[3,4] 0.009152994736937925 0.6805451629970845 1.264885453301348 92.53340601523985 "
          "0.01868046230892345 0.6392438627121286 5.82723107810273 109.5539867947092 "
          "0.001924849037726268 0.1278800299659408 0.9181128375786625 80.83567141947195",
          "double[3,4] 0.2653977503006621 2.024832393226895 4.63500943418619 98.10246957481586 "
          "0.03339739764133996 5.08280512306269 5.555812022733823 99.09788458563156 "
          "9.82144844924501e-08 0.301115020109938 2.072587800712203 92.38112782424648"}},
        {"RandomGamma",
         "seed=87654321; seed2=1234",
         {"int64[0]", "float[4] 0.3 1 2.5 100"},
         2,
         {"float[4] 0.0091529963 0.51363144 2.4215965 87.03676"}},
        {"RandomPoisson",
         "seed=87654321; seed2=1234",
         {"int32[1] 4", "float[4] 0.5 3.25 10 250"},
         2,
         {"float[4,4] 0 2 10 265 0 4 8 231 0 5 15 272 0 2 10 270"}},
        {"RandomPoissonV2",
         "seed=87654321; seed2=1234",
         {"int32[2] 2 1", "double[4] 0.5 3.25 10 250"},
         2,
         {"int64[2,1,4] 0 2 10 247 0 4 6 277", "int64[2,1,4] 0 4 13 272 0 2 18 270"}},
        {"RandomPoissonV2",
         "seed=87654321; seed2=1234; dtype=double",
         {"int64[1] 3", "int32[2] 7 40"},
         2,
         {"double[3,2] 8 40 6 39 4 45"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[2] 4 3", "float[4] 0 1 5 -2", "float[4] 1 2 0.5 1", "float[4] -1 -inf 5.1 3",
          "float[4] 2.5 3 5.2 inf"},
         5,
         {"float[4,3] 0.51340485 -0.25581399 0.65199131 0.25486404 0.59327394 -1.4940367 5.1541553 "
          "5.1075253 5.1074491 3.2325678 3.0804596 3.3631725"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[1] 5", "float[] 1", "float[] 2", "float[] 0", "float[] inf"},
         5,
         {"float[5] 2.0268097 0.48837203 2.3039827 3.7847276 1.745136",
          "float[5] 2.1605215 0.63982403 1.7885467 1.1474961 4.349072"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[2] 4 3", "double[4] 0 1 5 -2", "double[4] 1 2 0.5 1", "double[4] -1 -inf 5.1 3",
          "double[4] 2.5 3 5.2 inf"},
         5,
         {"double[4,3] 0.1992184227755242 -0.6638882732840937 1.520002107199174 2.682552720451988 "
          "1.55083129312467 -1.722480631420698 5.121365917770381 5.167528409539751 "
          "5.121768028852154 3.014490929176056 3.137796857876691 3.029167271331036"}},
        {"ParameterizedTruncatedNormal",
         "seed=87654321; seed2=1234",
         {"int32[1] 5", "double[] 1", "double[] 2", "double[] 0", "double[] inf"},
         5,
         {"double[5] 1.398436845551049 4.040004214398348 0.6746254972729476 0.4491687068753298 "
          "3.722480631420698",
          "double[5] 2.252902573108984 1.304382381995502 1.955581304665756 1.603381923086383 "
          "3.927052509049051"}},
        {"RandomShuffle", "seed=87654321; seed2=1234", {"string[3] a b c"}, 1, {"string[3] b c a"}},
    };
    check_sequences(cases, BD_COUNTOF(cases));
}

static void test_values_do_not_depend_on_threads(void **state)
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
            source s;
            open_source(&s, ops[i][0], ops[i][1], (const char *[]){"int32[2] 331 107", "float[1] 0.5"},
                        strcmp(ops[i][0], "RandomGamma") == 0 ? 2 : 1);
            if (threads) bd_pool_new("test", 4, &s.pool, st);
            assert_ok(st);
            draw(&s, &got[threads][0]);
            draw(&s, &got[threads][1]);
            if (threads) {
                bd_pool_close(s.pool);
                bd_pool_stop(s.pool);
                bd_pool_free(s.pool);
            }
            close_source(&s);
        }
        for (int call = 0; call < 2; call++) {
            assert_memory_equal(got[0][call].data, got[1][call].data, bd_tensor_bytes(&got[0][call]));
        }
        assert_memory_not_equal(got[0][0].data, got[0][1].data, bd_tensor_bytes(&got[0][0]));
        for (int k = 0; k < 4; k++)
            bd_tensor_fini(&got[k / 2][k % 2]);
    }
}

static void test_without_seeds_no_two_are_alike(void **state)
{
    (void)state;
    braid_tensor got[2];
    for (int i = 0; i < 2; i++) {
        source s;
        open_source(&s, "RandomUniform", "dtype=float", (const char *[]){"int32[1] 100"}, 1);
        draw(&s, &got[i]);
        close_source(&s);
    }
    assert_memory_not_equal(got[0].data, got[1].data, bd_tensor_bytes(&got[0]));
    bd_tensor_fini(&got[0]);
    bd_tensor_fini(&got[1]);
}

// Mean, deviation and bounds of many numbers; the seeds are fixed, so this cannot fail by chance.
static void test_distributions(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs;
        double mean, variance, bound;
    } cases[] = {
        {"RandomUniform", "dtype=float; seed=1", 0.5, 1.0 / 12, 1},
        {"RandomStandardNormal", "dtype=float; seed=1", 0, 1, 10},
        // Of a normal distribution cut off at 2: 1 - 2 * 2 * pdf(2) / (cdf(2) - cdf(-2)).
        {"TruncatedNormal", "dtype=float; seed=1", 0, 0.7737413, 2},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        source s;
        braid_tensor got;
        open_source(&s, cases[i].op, cases[i].attrs, (const char *[]){"int32[1] 100000"}, 1);
        draw(&s, &got);
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
        close_source(&s);
    }
}

static void test_errors_and_empty(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RandomUniform", .attrs = "dtype=float", .inputs = "int32[2] 2 0", .want = "float[2,0]"},
        {.op = "TruncatedNormal", .attrs = "dtype=float", .inputs = "int32[1] 0", .want = "float[0]"},
        {.op = "RandomUniform",
         .attrs = "dtype=float",
         .inputs = "int32[1] -1",
         .want = "InvalidArgument: must be >= 0"},
        {.op = "RandomUniform",
         .attrs = "dtype=float",
         .inputs = "int32[] 3",
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

static void test_errors_of_other_distributions(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RandomShuffle", .inputs = "float[] 3", .want = "float[] 3"},
        {.op = "RandomShuffle", .inputs = "int32[0,4]", .want = "int32[0,4]"},
        {.op = "RandomShuffle", .inputs = "int32[4,0]", .want = "int32[4,0]"},
        {.op = "RandomShuffle", .inputs = "int32[1,2] 7 8", .want = "int32[1,2] 7 8"},
        {.op = "Multinomial", .inputs = "float[0,2]; int32[] 3", .want = "int64[0,3]"},
        {.op = "Multinomial", .inputs = "float[2,2] 1; int32[] 0", .want = "int64[2,0]"},
        // No class can be: the number after the last.
        {.op = "Multinomial", .inputs = "float[1,3] -inf; int32[] 2", .want = "int64[1,2] 3"},
        {.op = "Multinomial",
         .inputs = "float[3] 1; int32[] 2",
         .want = "InvalidArgument: logits should be a matrix, got shape [3]"},
        {.op = "Multinomial",
         .inputs = "float[1,3] 1; int32[1] 2",
         .want = "InvalidArgument: num_samples should be a scalar, got shape [1]"},
        {.op = "Multinomial",
         .inputs = "float[1,3] 1; int32[] -2",
         .want = "InvalidArgument: num_samples should be nonnegative, got -2"},
        {.op = "Multinomial",
         .inputs = "float[1,0]; int32[] 2",
         .want = "InvalidArgument: num_classes should be positive"},
        {.op = "RandomGamma", .inputs = "int32[1] 0; float[2] 1", .want = "float[0,2]"},
        {.op = "RandomGamma", .inputs = "int32[1] 2; float[0]", .want = "float[2,0]"},
        {.op = "RandomGamma",
         .inputs = "int32[1] 2; double[3] nan -1 0",
         .want = "double[2,3] nan nan 0 nan nan 0"},
        {.op = "RandomGamma",
         .inputs = "int32[] 2; float[] 1",
         .want = "InvalidArgument: shape must be a vector"},
        {.op = "RandomGamma",
         .inputs = "int32[5] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: samples would have 9 dimensions"},
        {.op = "RandomPoisson", .inputs = "int32[1] 1; float[3] 0 -3 inf", .want = "float[1,3] 0 0 nan"},
        {.op = "RandomPoissonV2", .inputs = "int32[1] 1; float[] nan", .want = "InvalidArgument: not finite"},
        {.op = "RandomPoissonV2",
         .attrs = "dtype=int32",
         .inputs = "int32[1] 1; double[] 1e12",
         .want = "InvalidArgument: too large for samples of int32"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 0; float[] 0; float[] 1; float[] 0; float[] 1",
         .want = "float[0]"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[0]; float[] 0; float[] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Shape tensor must not be empty"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] -1; float[] 0; float[] 1",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] 1; float[] 1; float[] 1",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[] 1; float[] -inf; float[] inf",
         .want = "InvalidArgument: Invalid parameters"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[3] 0; float[] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Input means should have length 1 or shape[0], got shape: [3]"},
        {.op = "ParameterizedTruncatedNormal",
         .inputs = "int32[1] 2; float[] 0; float[1,1] 1; float[] 0; float[] 1",
         .want = "InvalidArgument: Input stddevs should be a scalar or vector, got shape: [1,1]"},
    };
    OP_TEST_VALUES(cases);
}

// The derivative of the inverse distribution function by alpha, by differences of scipy's gammaincinv.
static void test_gamma_grad(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "RandomGammaGrad",
         .inputs = "double[11] 0.3 0.3 0.5 1 2.5 2.5 2.5 20 20 100 100; double[11] 0.01 0.5 3 1 0.1 2.5 9 15 "
                   "22 90 120",
         .want = "double[11] 0.149206954 1.99208484 2.91294242 1.17356303 0.140549793 1.06867302 1.8917118 "
                 "0.870247803 1.05719059 0.94982595 1.09575251",
         .tolerance = 1e-07},
        {.op = "RandomGammaGrad",
         .inputs = "float[2,1] 1 2.5; float[1,2] 1 2.5",
         .want = "float[2,2] 1.173563 1.7970322 0.65079386 1.068673"},
        {.op = "RandomGammaGrad",
         .inputs = "double[3] 1 -1 nan; double[3] 0 1 1",
         .want = "double[3] 0 nan nan"},
        {.op = "RandomGammaGrad", .inputs = "double[0]; double[0]", .want = "double[0]"},
    };
    OP_TEST_VALUES(cases);
}

// What comes to alpha is the sum over the samples of each.
static void test_gamma_gradient(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_tensor alphas, got[2];
    op_test_tensor(&alphas, "double[2] 0.7 3");
    braid_out in[] = {bd_b_const_i32_vector(g, NULL, (int32_t[]){2}, 1), bd_b_const(g, NULL, &alphas)};
    braid_out sample = braid_output(op_test_node(g, "RandomGamma", "seed=3", in, 2), 0), grad;
    braid_gradients(g, &sample, 1, &in[1], 1, NULL, &grad);
    braid_out partial = bd_b2(g, "RandomGammaGrad", NULL, in[1], sample);
    op_test_eval(NULL, 0, (braid_out[]){grad, partial}, 2, got, st);
    assert_ok(st);
    for (int i = 0; i < 2; i++) {
        double want = bd_tensor_f64(&got[1])[i] + bd_tensor_f64(&got[1])[2 + i];
        assert_true(fabs(bd_tensor_f64(&got[0])[i] - want) < 1e-12);
    }
    bd_tensor_fini(&got[0]);
    bd_tensor_fini(&got[1]);
    bd_tensor_fini(&alphas);
    braid_graph_free(g);
}

static void test_shapes(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"RandomUniform", "dtype=float", "int32[2] 2 3", "[2,3]"},
        {"RandomStandardNormal", "dtype=float", "int32[2]", "[?,?]"},
        {"TruncatedNormal", "dtype=float", "int32?", "?"},
        {"RandomUniformInt", NULL, "int32[1] 4; int32[]; int32[]", "[4]"},
        {"RandomUniform", "dtype=float", "int32[]", "InvalidArgument: must be rank 1 but is rank 0"},
        {"RandomShuffle", NULL, "[?,3]", "[?,3]"},
        {"Multinomial", NULL, "[7,3]; int32[] 4", "[7,4]"},
        {"Multinomial", NULL, "?; int32[]", "[?,?]"},
        {"Multinomial", NULL, "[3]; int32[]", "InvalidArgument: must be rank 2 but is rank 1"},
        {"Multinomial", NULL, "[3,3]; int32[] -1", "InvalidArgument: must be non-negative but is -1"},
        {"RandomGamma", NULL, "int32[1] 4; [2,?]", "[4,2,?]"},
        {"RandomGamma", NULL, "int32[1]; [2]", "[?,2]"},
        {"RandomPoisson", NULL, "int32?; [2]", "?"},
        {"RandomPoissonV2", NULL, "int32[1] 4; ?", "?"},
        {"RandomGammaGrad", NULL, "[2,1]; [1,3]", "[2,3]"},
        {"ParameterizedTruncatedNormal", NULL, "int32[2] 4 5; []; [4]; []; [?]", "[4,5]"},
        {"ParameterizedTruncatedNormal", NULL, "int32[1]; [2,2]; []; []; []",
         "InvalidArgument: must be at most rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_values),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_short_types),
        cmocka_unit_test(test_other_distributions),
        cmocka_unit_test(test_errors_of_other_distributions),
        cmocka_unit_test(test_gamma_grad),
        cmocka_unit_test(test_gamma_gradient),
        cmocka_unit_test(test_values_do_not_depend_on_threads),
        cmocka_unit_test(test_without_seeds_no_two_are_alike),
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_errors_and_empty),
        cmocka_unit_test(test_shapes),
    };
    return BD_RUN_TESTS(tests);
}
