// Compression of gradients: what arrives at the variable, what the worker keeps, and what is refused.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "train/testing/evaluate.h"
#include "train/testing/problem.h"
#include <braid/gradient_compression.h>
#include <braid/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP_K(FRACTION) (&(braid_compression_options){"top_k", FRACTION})

enum {
    ROWS = 4,
    COLUMNS = 5,
    SIZE = ROWS * COLUMNS
};

// A variable v of [ROWS, COLUMNS] with a gradient that is fed.
typedef struct fixture {
    braid_graph *g;
    braid_variable v;
    braid_out fed;
    braid_grad_and_var pair; // compressed
} fixture;

static fixture make(braid_dtype dtype, const braid_compression_options *options)
{
    fixture f = {.g = braid_graph_new()};
    const braid_shape shape = BRAID_SHAPE(ROWS, COLUMNS);
    f.v = braid_variable_new(f.g, "v", braid_zeros(f.g, dtype, shape), true);
    f.fed = braid_placeholder(f.g, "gradient", dtype, shape);
    f.pair = (braid_grad_and_var){.grad = f.fed, .var = f.v.ref};
    braid_compress_gradients(f.g, options, &f.pair, 1);
    return f;
}

static void send(braid_session *s, const fixture *f, const float gradient[SIZE], float sent[SIZE])
{
    BD_STATUS(st);
    braid_tensor *value = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(ROWS, COLUMNS), gradient, NULL);
    braid_tensor *got = NULL;
    braid_session_run(s,
                      &(braid_run_args){.feeds = &(braid_feed){f->fed, value},
                                        .feed_count = 1,
                                        .fetches = &(braid_fetch){f->pair.grad, &got},
                                        .fetch_count = 1},
                      st);
    assert_ok(st);
    assert_true(braid_shape_equal(braid_tensor_shape(got), BRAID_SHAPE(ROWS, COLUMNS)));
    memcpy(sent, braid_tensor_data(got), SIZE * sizeof *sent);
    braid_tensor_free(got);
    braid_tensor_free(value);
}

static braid_variable residual_of(const fixture *f)
{
    braid_op *op = braid_graph_find(f->g, "compress_gradients/v/residual");
    assert_non_null(op);
    return braid_variable_find((braid_out){op, 0});
}

// Gradient number `step`: multiples of 1/8, whose sums are exact.
static void gradient_of(int step, float gradient[SIZE])
{
    for (int i = 0; i < SIZE; i++)
        gradient[i] = (float)((step * 31 + i * 17) % 41 - 20) / 8;
}

// ---- Rounding ----

static void elements_arrive_rounded_to_the_nearest_number(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        float given, arrives;
    } rows[] = {
        {"half", 1 + 0x1p-10f, 1 + 0x1p-10f}, // 11 bits
        {"half", 1 + 0x1.8p-10f, 1 + 0x1p-9f},
        {"half", -1 - 0x1p-11f, -1}, // a tie: to even
        {"half", 65504, 65504},
        {"half", 1e6f, INFINITY},
        {"half", 1e-8f, 0},
        {"bfloat16", 1 + 0x1p-7f, 1 + 0x1p-7f}, // 8 bits
        {"bfloat16", 1 + 0x1.8p-7f, 1 + 0x1p-6f},
        {"bfloat16", -1 - 0x1p-8f, -1},
        {"bfloat16", 0x1p100f, 0x1p100f},
        {"bfloat16", 0x1p-100f, 0x1p-100f},
        {"none", 1 + 0x1p-20f, 1 + 0x1p-20f},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f = make(BRAID_FLOAT, &(braid_compression_options){.method = rows[i].method});
        braid_session *s = evaluate_open(f.g);
        float gradient[SIZE] = {rows[i].given}, sent[SIZE];
        send(s, &f, gradient, sent);
        if (!(sent[0] == rows[i].arrives)) // NaN fails, too
            fail_msg("%s: %a arrives as %a", rows[i].method, (double)rows[i].given, (double)sent[0]);
        evaluate_close(s, f.g);
    }
}

static void a_double_is_rounded_and_remains_a_double(void **state)
{
    (void)state;
    fixture f = make(BRAID_DOUBLE, &(braid_compression_options){.method = "half"});
    assert_int_equal(braid_out_dtype(f.pair.grad), BRAID_DOUBLE);
    braid_graph_free(f.g);
}

// ---- The k greatest elements ----

static int compare_magnitudes(const void *a, const void *b)
{
    const float x = fabsf(*(const float *)a), y = fabsf(*(const float *)b);
    return (x < y) - (x > y);
}

// The magnitude of the k-th greatest element.
static float kth_magnitude(const float p[SIZE], int k)
{
    float sorted[SIZE];
    memcpy(sorted, p, sizeof sorted);
    qsort(sorted, SIZE, sizeof *sorted, compare_magnitudes);
    return fabsf(sorted[k - 1]);
}

static void check_sent(const float p[SIZE], const float sent[SIZE], int k)
{
    const float least = kth_magnitude(p, k);
    int count = 0;
    for (int i = 0; i < SIZE; i++) {
        if (sent[i] == 0) {
            assert_true(fabsf(p[i]) <= least);
            continue;
        }
        count++;
        assert_true(sent[i] == p[i] && fabsf(p[i]) >= least);
    }
    assert_int_equal(count, k);
}

static void what_is_sent_and_the_residual_sum_up_to_the_gradients(void **state)
{
    (void)state;
    fixture f = make(BRAID_FLOAT, TOP_K(0.2)); // 4 of 20
    braid_session *s = evaluate_open(f.g);
    float p[SIZE] = {0};
    double kept[SIZE];
    for (int step = 0; step < 50; step++) {
        float gradient[SIZE], sent[SIZE];
        gradient_of(step, gradient);
        send(s, &f, gradient, sent);
        for (int i = 0; i < SIZE; i++)
            p[i] += gradient[i];
        check_sent(p, sent, 4);
        evaluate(s, residual_of(&f).read, kept, SIZE);
        for (int i = 0; i < SIZE; i++) {
            p[i] -= sent[i];
            assert_true(kept[i] == (double)p[i]);
        }
    }
    evaluate_close(s, f.g);
}

static void a_part_of_an_element_counts_as_one(void **state)
{
    (void)state;
    fixture f = make(BRAID_FLOAT, TOP_K(0.01));
    braid_session *s = evaluate_open(f.g);
    const float gradient[SIZE] = {1, 2, -7, 4};
    float sent[SIZE];
    send(s, &f, gradient, sent);
    for (int i = 0; i < SIZE; i++)
        assert_true(sent[i] == (i == 2 ? -7 : 0));
    send(s, &f, (const float[SIZE]){0}, sent);
    for (int i = 0; i < SIZE; i++)
        assert_true(sent[i] == (i == 3 ? 4 : 0)); // from the residual
    evaluate_close(s, f.g);
}

static void half_of_the_elements_or_more_are_sent_whole(void **state)
{
    (void)state;
    static const double fractions[] = {0.5, 0.7, 1};
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        fixture f = make(BRAID_FLOAT, TOP_K(fractions[i]));
        BD_STATUS(st);
        assert_int_equal(braid_graph_status(f.g, st), BRAID_OK);
        assert_ptr_equal(f.pair.grad.op, f.fed.op);
        braid_graph_free(f.g);
    }
}

static void each_session_begins_with_a_residual_of_zeros(void **state)
{
    (void)state;
    fixture f = make(BRAID_FLOAT, TOP_K(0.2));
    int globals, locals;
    braid_collection(f.g, BRAID_GLOBAL_VARIABLES, &globals);
    const braid_out *local = braid_collection(f.g, BRAID_LOCAL_VARIABLES, &locals);
    assert_int_equal(globals, 1); // v: checkpoints hold these
    assert_int_equal(locals, 1);
    assert_string_equal(braid_op_name(local[0].op), "compress_gradients/v/residual");

    braid_session *s = evaluate_open(f.g);
    float gradient[SIZE], sent[SIZE];
    gradient_of(1, gradient);
    send(s, &f, gradient, sent);
    evaluate_run(s, braid_local_variables_initializer(f.g)); // what a session does that recovers
    double kept[SIZE];
    evaluate(s, residual_of(&f).read, kept, SIZE);
    for (int i = 0; i < SIZE; i++)
        assert_true(kept[i] == 0);
    evaluate_close(s, f.g);
}

// ---- In training ----

static void optimizers_get_the_compressed_gradient(void **state)
{
    (void)state;
    problem p = problem_make(); // gradients w - 3 and b - 1, from w = 0.5 and b = -2
    braid_optimizer *opt = braid_momentum(p.graph, 1, 0.5f);
    braid_grad_and_var pairs[2];
    int count;
    const braid_grad_and_var *computed = braid_compute_gradients(opt, p.loss, NULL, 0, &count);
    assert_int_equal(count, 2);
    memcpy(pairs, computed, sizeof pairs);
    braid_compress_gradients(p.graph, &(braid_compression_options){.method = "bfloat16"}, pairs, 2);
    braid_op *train = braid_apply_gradients(opt, pairs, 2, p.step);
    braid_session *s = problem_start(&p);
    float w, b;
    problem_step(s, &p, train, 1.001f, &w, &b);
    assert_true(w == 3); // -2.5025 is -2.5 in bfloat16
    assert_true(b == 1);
    problem_finish(s, &p);
}

static void rows_are_rounded_and_their_indices_stay(void **state)
{
    (void)state;
    fixture f = make(BRAID_FLOAT, &(braid_compression_options){.method = "none"});
    const double rows[] = {1 + 0x1p-9, 2, 3, 4, 5};
    const braid_grad_and_var sparse = {.grad =
                                           evaluate_const(f.g, BRAID_FLOAT, BRAID_SHAPE(1, COLUMNS), rows),
                                       .var = f.v.ref,
                                       .indices = braid_const_int32(f.g, "row", 2)};
    braid_grad_and_var pairs[] = {sparse, sparse};
    braid_compress_gradients(f.g, &(braid_compression_options){.method = "bfloat16"}, &pairs[0], 1);
    braid_compress_gradients(f.g, TOP_K(0.1), &pairs[1], 1);
    assert_ptr_equal(pairs[0].indices.op, sparse.indices.op);
    assert_ptr_equal(pairs[1].grad.op, sparse.grad.op);
    braid_session *s = evaluate_open(f.g);
    const double want[] = {1, 2, 3, 4, 5};
    expect_evaluates(s, pairs[0].grad, want, COLUMNS);
    evaluate_close(s, f.g);
}

static void other_gradients_are_left_as_they_are(void **state)
{
    (void)state;
    static const char *const methods[] = {NULL, "none", "half", "bfloat16", "top_k"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        fixture f = make(BRAID_INT32, &(braid_compression_options){methods[i], 0.1});
        assert_ptr_equal(f.pair.grad.op, f.fed.op);
        braid_grad_and_var none = {.var = f.v.ref};
        braid_compress_gradients(f.g, &(braid_compression_options){methods[i], 0.1}, &none, 1);
        assert_null(none.grad.op);
        BD_STATUS(st);
        assert_int_equal(braid_graph_status(f.g, st), BRAID_OK);
        braid_graph_free(f.g);
    }
}

// ---- Errors ----

static void wrong_options_are_errors(void **state)
{
    (void)state;
    static const struct {
        braid_compression_options options;
        const char *message;
    } rows[] = {
        {{"zip", 0}, "There is no compression of gradients 'zip'. There are: none, half, bfloat16, top_k"},
        {{"top_k", 0}, "the fraction of top_k must be more than 0 and at most 1, not 0"},
        {{"top_k", 1.5}, "the fraction of top_k must be more than 0 and at most 1, not 1.5"},
        {{"top_k", (double)NAN}, "the fraction of top_k must be more than 0 and at most 1, not nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        BD_STATUS(st);
        fixture f = make(BRAID_FLOAT, &rows[i].options);
        braid_graph_status(f.g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, rows[i].message);
        braid_graph_free(f.g);
    }
}

static void a_variable_of_unknown_shape_has_no_top_k(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op_desc *d = braid_op_begin(g, "VariableV2", "v");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(-1, 3));
    braid_grad_and_var pair = {.var = braid_op_end_out(d)};
    pair.grad = braid_placeholder(g, "gradient", BRAID_FLOAT, BRAID_SHAPE(-1, 3));
    braid_compress_gradients(g, TOP_K(0.1), &pair, 1);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "'v' has a shape that is not fully known");
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_arrive_rounded_to_the_nearest_number),
        cmocka_unit_test(a_double_is_rounded_and_remains_a_double),
        cmocka_unit_test(what_is_sent_and_the_residual_sum_up_to_the_gradients),
        cmocka_unit_test(a_part_of_an_element_counts_as_one),
        cmocka_unit_test(half_of_the_elements_or_more_are_sent_whole),
        cmocka_unit_test(each_session_begins_with_a_residual_of_zeros),
        cmocka_unit_test(optimizers_get_the_compressed_gradient),
        cmocka_unit_test(rows_are_rounded_and_their_indices_stay),
        cmocka_unit_test(other_gradients_are_left_as_they_are),
        cmocka_unit_test(wrong_options_are_errors),
        cmocka_unit_test(a_variable_of_unknown_shape_has_no_top_k),
    };
    return BD_RUN_TESTS(tests);
}
