// Initializers: their distributions, matrices, seeds and nodes.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>
#include <math.h>
#include <string.h>

// The first value of a float variable [dims], on the heap.
static float *first_value(braid_initializer initializer, braid_shape shape, int64_t *count)
{
    braid_graph *g = braid_graph_new();
    const braid_out value = initializer.build(&initializer, g, BRAID_FLOAT, shape);
    braid_session *s = evaluate_open(g);
    assert_true(braid_shape_equal(braid_out_shape(value), shape));
    braid_tensor *t = evaluate_tensor(s, value);
    *count = braid_tensor_num_elements(t);
    float *out = bd_memdup(braid_tensor_data(t), braid_tensor_bytes(t));
    braid_tensor_free(t);
    evaluate_close(s, g);
    return out;
}

static void random_values_have_the_variance_and_bounds_of_their_definition(void **state)
{
    (void)state;
    // A kernel [3, 4, 25, 200]: fan_in 300, fan_out 2400. 60,000 values.
    const braid_shape shape = BRAID_SHAPE(3, 4, 25, 200);
    const double truncated = 2 / 0.87962566103423978; // where a truncated normal of stddev 1 ends
    const struct {
        braid_initializer initializer;
        double mean, variance, bound; // of |x - mean| in standard deviations, reached nearly; 0: none
    } cases[] = {
        {braid_random_uniform_initializer(1, 3), 2, 4.0 / 12, sqrt(3)},
        {braid_random_normal_initializer(1, 2), 1, 4, 0},
        {braid_truncated_normal_initializer(1, 2), 1, 4 * 0.7737413, truncated},
        {braid_glorot_uniform_initializer(), 0, 2.0 / 2700, sqrt(3)},
        {braid_glorot_normal_initializer(), 0, 2.0 / 2700, truncated},
        {braid_he_uniform_initializer(), 0, 2.0 / 300, sqrt(3)},
        {braid_he_normal_initializer(), 0, 2.0 / 300, truncated},
        {braid_lecun_uniform_initializer(), 0, 1.0 / 300, sqrt(3)},
        {braid_lecun_normal_initializer(), 0, 1.0 / 300, truncated},
        {braid_variance_scaling_initializer(5, BRAID_FAN_OUT, BRAID_UNTRUNCATED_NORMAL), 0, 5.0 / 2400, 0},
        {braid_uniform_unit_scaling_initializer(2), 0, 4.0 / 300, sqrt(3)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n;
        float *x = first_value(braid_initializer_seeded(cases[i].initializer, 7), shape, &n);
        double sum = 0, squares = 0, largest = 0;
        const double stddev = sqrt(cases[i].variance);
        for (int64_t k = 0; k < n; k++) {
            const double z = ((double)x[k] - cases[i].mean) / stddev;
            sum += z;
            squares += z * z;
            largest = fmax(largest, fabs(z));
        }
        if (fabs(sum / (double)n) > 0.03 || fabs(squares / (double)n - 1) > 0.03)
            fail_msg("case %zu: mean %g, variance %g", i, sum / (double)n, squares / (double)n);
        if (cases[i].bound > 0 && (largest > cases[i].bound * 1.001 || largest < cases[i].bound * 0.97))
            fail_msg("case %zu: values up to %g and not %g", i, largest, cases[i].bound);
        bd_free(x);
    }
}

static void an_orthogonal_matrix_has_orthonormal_rows_or_columns(void **state)
{
    (void)state;
    const braid_shape shapes[] = {BRAID_SHAPE(20, 8), BRAID_SHAPE(8, 20), BRAID_SHAPE(6, 6),
                                  BRAID_SHAPE(2, 5, 4)};
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        int64_t n;
        float *x = first_value(braid_orthogonal_initializer(3), shapes[c], &n);
        const int64_t columns = shapes[c].dims[shapes[c].rank - 1], rows = n / columns;
        const bool is_wide = rows < columns;
        const int64_t few = is_wide ? rows : columns, many = is_wide ? columns : rows;
        for (int64_t i = 0; i < few; i++) {
            for (int64_t j = 0; j < few; j++) {
                double dot = 0;
                for (int64_t k = 0; k < many; k++)
                    dot += is_wide ? (double)x[i * columns + k] * (double)x[j * columns + k]
                                   : (double)x[k * columns + i] * (double)x[k * columns + j];
                assert_float_equal(dot, i == j ? 9 : 0, 1e-4);
            }
        }
        bd_free(x);
    }
}

static void the_identity_may_be_divided(void **state)
{
    (void)state;
    const braid_partition_info info = {.full_shape = BRAID_SHAPE(4, 3), .offset = {1, 0}};
    braid_initializer identity = braid_identity_initializer(2);
    identity.partition = &info;
    int64_t n;
    float *x = first_value(identity, BRAID_SHAPE(2, 3), &n);
    const float want[] = {0, 2, 0, 0, 0, 2};
    for (int i = 0; i < 6; i++)
        assert_float_equal(x[i], want[i], 0);
    bd_free(x);
    x = first_value(braid_identity_initializer(1), BRAID_SHAPE(2, 2), &n);
    assert_true(x[0] == 1 && x[1] == 0 && x[2] == 0 && x[3] == 1);
    bd_free(x);
}

static void a_seed_gives_the_same_values_again(void **state)
{
    (void)state;
    int64_t n;
    const braid_shape shape = BRAID_SHAPE(5);
    const braid_initializer any = braid_he_normal_initializer();
    const braid_initializer of[] = {braid_initializer_seeded(any, 0), braid_initializer_seeded(any, 0),
                                    braid_initializer_seeded(any, 1), any, any};
    float *x[5];
    for (int i = 0; i < 5; i++)
        x[i] = first_value(of[i], shape, &n);
    assert_memory_equal(x[0], x[1], 5 * sizeof(float));
    assert_memory_not_equal(x[0], x[2], 5 * sizeof(float));
    assert_memory_not_equal(x[3], x[4], 5 * sizeof(float));
    for (int i = 0; i < 5; i++)
        bd_free(x[i]);
}

static void the_nodes_are_those_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_variable_get(g, "h", BRAID_FLOAT, BRAID_SHAPE(4, 2), braid_he_normal_initializer(), true);
    expect_nodes(g, "h/Initializer",
                 "h/Initializer/truncated_normal/shape = Const =h\n"
                 "h/Initializer/truncated_normal/mean = Const =h\n"
                 "h/Initializer/truncated_normal/stddev = Const =h\n"
                 "h/Initializer/truncated_normal/TruncatedNormal = TruncatedNormal "
                 "h/Initializer/truncated_normal/shape:0 =h\n"
                 "h/Initializer/truncated_normal/mul = Mul h/Initializer/truncated_normal/TruncatedNormal:0 "
                 "h/Initializer/truncated_normal/stddev:0 =h\n"
                 "h/Initializer/truncated_normal = Add h/Initializer/truncated_normal/mul:0 "
                 "h/Initializer/truncated_normal/mean:0 =h\n");
    braid_variable_get(g, "o", BRAID_FLOAT, BRAID_SHAPE(2, 4), braid_orthogonal_initializer(1), true);
    expect_nodes(g, "o/Initializer/Qr", "o/Initializer/Qr = Qr o/Initializer/random_normal:0 =o\n");
    expect_nodes(g, "o/Initializer/mul",
                 "o/Initializer/mul = Mul o/Initializer/Qr:0 o/Initializer/Sign:0 =o\n"
                 "o/Initializer/mul_1/x = Const =o\n"
                 "o/Initializer/mul_1 = Mul o/Initializer/mul_1/x:0 o/Initializer/Reshape:0 =o\n");
    expect_nodes(g, "o/Initializer/matrix_transpose",
                 "o/Initializer/matrix_transpose/transpose/perm = Const =o\n"
                 "o/Initializer/matrix_transpose/transpose = Transpose o/Initializer/mul:0 "
                 "o/Initializer/matrix_transpose/transpose/perm:0 =o\n");
    // A double is not made of floats.
    braid_variable_get(g, "d", BRAID_DOUBLE, BRAID_SHAPE(2), braid_random_normal_initializer(0, 1), true);
    assert_null(braid_graph_find(g, "d/Initializer/Cast"));
    braid_graph_free(g);
}

static void shapes_and_scales_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const struct {
        braid_initializer initializer;
        const char *message;
    } cases[] = {
        {braid_orthogonal_initializer(1), "must be at least two-dimensional, not of rank 1"},
        {braid_identity_initializer(1), "can only be used for 2D matrices, not for rank 1"},
        {braid_variance_scaling_initializer(0, BRAID_FAN_IN, BRAID_UNIFORM), "must be positive float, not 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        BD_STATUS(st);
        braid_graph *g = braid_graph_new();
        braid_variable_get(g, "w", BRAID_FLOAT, BRAID_SHAPE(3), cases[i].initializer, true);
        braid_graph_status(g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, cases[i].message);
        braid_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_values_have_the_variance_and_bounds_of_their_definition),
        cmocka_unit_test(an_orthogonal_matrix_has_orthonormal_rows_or_columns),
        cmocka_unit_test(the_identity_may_be_divided),
        cmocka_unit_test(a_seed_gives_the_same_values_again),
        cmocka_unit_test(the_nodes_are_those_of_tensorflow),
        cmocka_unit_test(shapes_and_scales_that_cannot_be_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
