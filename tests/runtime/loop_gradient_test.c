// Gradients through loops and conditionals, against finite differences.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "graph/grad.h"
#include <braid/braid.h>
#include <math.h>
#include <string.h>

typedef struct problem {
    braid_graph *g;
    braid_out x, w; // double scalars
} problem;

static problem make(void)
{
    problem p = {.g = braid_graph_new()};
    p.x = braid_placeholder(p.g, "x", BRAID_DOUBLE, BRAID_SCALAR);
    p.w = braid_placeholder(p.g, "w", BRAID_DOUBLE, BRAID_SCALAR);
    return p;
}

static double run(braid_session *s, const problem *p, braid_out fetch, double x, double w)
{
    BD_STATUS(st);
    braid_tensor *tx = braid_tensor_from(BRAID_DOUBLE, BRAID_SCALAR, &x, NULL);
    braid_tensor *tw = braid_tensor_from(BRAID_DOUBLE, BRAID_SCALAR, &w, NULL), *got = NULL;
    const braid_feed feeds[2] = {{p->x, tx}, {p->w, tw}};
    const braid_fetch wanted = {fetch, &got};
    braid_session_run(
        s, &(braid_run_args){.feeds = feeds, .feed_count = 2, .fetches = &wanted, .fetch_count = 1}, st);
    assert_ok(st);
    const double value = *(const double *)braid_tensor_data(got);
    braid_tensor_free(got);
    braid_tensor_free(tx);
    braid_tensor_free(tw);
    return value;
}

// Compares the gradients of y by x and w with finite differences of y.
static void compare(const problem *p, braid_out y, const braid_out grads[2],
                    const braid_session_options *options, int order)
{
    enum {
        POINTS = 3
    };
    static const double points[POINTS][2] = {{1.1, 0.7}, {-0.6, 1.3}, {0.4, -0.9}};
    BD_STATUS(st);
    braid_session *s = braid_session_open(p->g, options, st);
    assert_ok(st);
    for (int i = 0; i < POINTS; i++) {
        const double x = points[i][0], w = points[i][1], d = 1e-5;
        const double want[2] = {(run(s, p, y, x + d, w) - run(s, p, y, x - d, w)) / (2 * d),
                                (run(s, p, y, x, w + d) - run(s, p, y, x, w - d)) / (2 * d)};
        for (int k = 0; k < 2; k++) {
            const double got = grads[k].op ? run(s, p, grads[k], x, w) : 0;
            if (!(fabs(got - want[k]) <= 1e-6 * (1 + fabs(want[k]))))
                fail_msg("order %d, by %s at (%g, %g): %.9g, not %.9g", order, k ? "w" : "x", x, w, got,
                         want[k]);
        }
    }
    braid_session_close(s, st);
}

// Checks the gradients of y by x and w, those of their sum, and so on, `orders` times; frees the graph.
static void check_orders(problem *p, braid_out y, const braid_session_options *options, int orders)
{
    BD_STATUS(st);
    const braid_out xs[2] = {p->x, p->w};
    for (int order = 1; order <= orders; order++) {
        braid_out grads[2];
        braid_gradients(p->g, &y, 1, xs, 2, NULL, grads);
        braid_graph_status(p->g, st);
        assert_ok(st);
        compare(p, y, grads, options, order);
        if (!grads[0].op && !grads[1].op) break;
        y = !grads[0].op ? grads[1] : !grads[1].op ? grads[0] : braid_add(p->g, grads[0], grads[1]);
    }
    braid_graph_free(p->g);
}

static void check_with(problem *p, braid_out y, const braid_session_options *options)
{
    check_orders(p, y, options, 2);
}

static void check(problem *p, braid_out y)
{
    check_with(p, y, NULL);
}

// ---- Loops that count: variable 0 is the number of the iteration ----

typedef struct counting {
    const problem *p;
    int limit;
    void (*body)(const problem *p, const braid_out *vars, braid_out *next); // from variable 1 on
} counting;

static braid_out below(void *arg, braid_graph *g, const braid_out *vars)
{
    const counting *c = arg;
    return bd_b2(g, "Less", NULL, vars[0], braid_const_int32(g, NULL, c->limit));
}

static void count_body(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    const counting *c = arg;
    next[0] = braid_add(g, vars[0], braid_const_int32(g, NULL, 1));
    c->body(c->p, vars, next);
}

enum {
    VARS_MAX = 4
};

// Runs `body` `limit` times on `count` variables with initial values `vars`, which are then the results.
static void repeat(const problem *p, int limit, void (*body)(const problem *, const braid_out *, braid_out *),
                   braid_out *vars, int count)
{
    counting c = {p, limit, body};
    braid_out all[VARS_MAX + 1] = {braid_const_int32(p->g, NULL, 0)};
    memcpy(all + 1, vars, (size_t)count * sizeof *vars);
    braid_while(p->g, &(braid_loop){.condition = below, .body = count_body, .arg = &c}, all, count + 1, all);
    memcpy(vars, all + 1, (size_t)count * sizeof *vars);
}

static void square(const problem *p, const braid_out *vars, braid_out *next)
{
    next[1] = braid_square(p->g, vars[1]);
}

static void a_loop_has_the_gradient_of_its_steps(void **state)
{
    (void)state;
    for (int limit = 0; limit < 4; limit++) {
        problem p = make();
        braid_out v = p.x;
        repeat(&p, limit, square, &v, 1);
        check(&p, v);
    }
}

static void times_w(const problem *p, const braid_out *vars, braid_out *next)
{
    next[1] = braid_mul(p->g, braid_tanh(p->g, vars[1]), p->w);
}

static void a_loop_constant_gets_the_sum_of_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 25, times_w, &v, 1);
    check(&p, v);
}

static void three(const problem *p, const braid_out *vars, braid_out *next)
{
    next[1] = braid_mul(p->g, vars[1], vars[2]);
    next[2] = braid_add(p->g, vars[2], braid_mul(p->g, vars[3], p->w));
    next[3] = braid_mul(p->g, p->x, p->w); // not of itself
}

// The results of the others are not used, but they matter.
static void variables_of_which_one_is_used(void **state)
{
    (void)state;
    for (int used = 0; used < 3; used++) {
        problem p = make();
        braid_out v[3] = {p.x, p.w, braid_square(p.g, p.x)};
        repeat(&p, 3, three, v, 3);
        check(&p, v[used]);
    }
}

static void results_used_together_have_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v[3] = {p.x, p.w, braid_square(p.g, p.x)};
    repeat(&p, 3, three, v, 3);
    check(&p, braid_add(p.g, braid_mul(p.g, v[0], v[1]), v[2]));
}

static void inner(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_out v[2] = {vars[1], vars[2]};
    repeat(p, 3, three, (braid_out[]){v[0], v[1], v[0]}, 3);
    repeat(p, 2, times_w, v, 1);
    next[1] = v[0];
    next[2] = braid_mul(p->g, v[0], vars[2]);
}

static void nested(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_out v[3] = {vars[1], vars[2], p->x};
    repeat(p, 3, three, v, 3);
    next[1] = braid_tanh(p->g, v[0]);
    next[2] = braid_tanh(p->g, braid_add(p->g, v[1], vars[1]));
}

static void nested_loops_have_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        problem p = make();
        braid_out v[2] = {p.x, p.w};
        repeat(&p, 3, i ? nested : inner, v, 2);
        check(&p, v[0]);
    }
}

static void deepest(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_out v[2] = {vars[1], vars[2]};
    repeat(p, 2, nested, v, 2);
    next[1] = v[1];
    next[2] = v[0];
}

static void triply_nested_loops_have_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v[2] = {p.x, p.w};
    repeat(&p, 2, deepest, v, 2);
    check(&p, v[1]);
}

// ---- Arrays of tensors ----

enum {
    ELEMENTS = 3
};

// The inner loop multiplies each element of an array by w and by the outer variable.
typedef struct scaling {
    const problem *p;
    braid_tensor_array from, to;
    braid_out factor;
} scaling;

static braid_out more_elements(void *arg, braid_graph *g, const braid_out *vars)
{
    (void)arg;
    return bd_b2(g, "Less", NULL, vars[0], braid_const_int32(g, NULL, ELEMENTS));
}

static void scale_element(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
{
    const scaling *s = arg;
    braid_tensor_array to = s->to;
    to.flow = vars[1];
    braid_out value = braid_tensor_array_read(g, s->from, vars[0]);
    value = braid_mul(g, braid_mul(g, braid_square(g, value), s->p->w), s->factor);
    next[1] = braid_tensor_array_write(g, to, vars[0], value).flow;
    next[0] = braid_add(g, vars[0], braid_const_int32(g, NULL, 1));
}

static void sum_of_scaled(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_graph *g = p->g;
    const braid_out size = braid_const_int32(g, NULL, ELEMENTS);
    braid_op_desc *d = braid_op_begin(g, "Pack", NULL);
    braid_op_input_list(d, (const braid_out[]){vars[1], p->x, p->w}, ELEMENTS);
    scaling s = {.p = p, .factor = vars[1]};
    s.from = braid_tensor_array_new(g, BRAID_DOUBLE, BRAID_SCALAR, size, NULL);
    s.from = braid_tensor_array_unstack(g, s.from, braid_op_end_out(d));
    s.to = braid_tensor_array_new(g, BRAID_DOUBLE, BRAID_SCALAR, size, NULL);
    braid_out v[2] = {braid_const_int32(g, NULL, 0), s.to.flow};
    const braid_loop loop = {.condition = more_elements, .body = scale_element, .arg = &s};
    braid_while(g, &loop, v, 2, v);
    s.to.flow = v[1];
    next[1] = bd_b1(g, "Sin", NULL, braid_reduce_sum(g, braid_tensor_array_stack(g, s.to)));
}

static void arrays_of_a_loop_have_gradients(void **state)
{
    (void)state;
    for (int outer = 0; outer < 2; outer++) {
        problem p = make();
        braid_out v[2] = {braid_const_int32(p.g, NULL, 0), p.x}, y[2];
        if (outer) repeat(&p, 2, sum_of_scaled, &v[1], 1);
        if (!outer) sum_of_scaled(&p, v, y);
        check(&p, outer ? v[1] : y[1]);
    }
}

// ---- Conditionals ----

typedef struct choice {
    const problem *p;
    braid_out v;
} choice;

static void then_square(void *arg, braid_graph *g, braid_out *results)
{
    const choice *c = arg;
    results[0] = braid_mul(g, braid_square(g, c->v), c->p->w);
}

static void else_sine(void *arg, braid_graph *g, braid_out *results)
{
    const choice *c = arg;
    results[0] = bd_b1(g, "Sin", NULL, c->v);
}

static braid_out positive(braid_graph *g, braid_out v)
{
    return bd_b2(g, "Greater", NULL, v, braid_const_number(g, NULL, BRAID_DOUBLE, 0));
}

static void a_conditional_has_the_gradient_of_its_branch(void **state)
{
    (void)state;
    problem p = make();
    choice c = {&p, p.x};
    braid_out y;
    braid_cond(p.g, NULL, positive(p.g, p.x), then_square, else_sine, &c, 1, &y);
    check(&p, y);
}

// By turns, and by the value, too: the branch of one is not that of the other.
static void choosing(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_graph *g = p->g;
    choice c = {p, vars[1]};
    braid_out odd = bd_b2(g, "FloorMod", NULL, vars[0], braid_const_int32(g, NULL, 2)), a, b;
    braid_cond(g, NULL, braid_equal(g, odd, braid_const_int32(g, NULL, 1)), then_square, else_sine, &c, 1,
               &a);
    c.v = braid_mul(g, a, vars[1]);
    braid_cond(g, NULL, positive(g, braid_sub(g, vars[1], p->w)), else_sine, then_square, &c, 1, &b);
    next[1] = braid_add(g, a, b);
}

static void conditionals_within_a_loop_have_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 4, choosing, &v, 1);
    check(&p, v);
}

static void then_choose_again(void *arg, braid_graph *g, braid_out *results)
{
    choice c = *(const choice *)arg;
    const braid_out v = braid_mul(g, c.v, c.v), more = positive(g, braid_sub(g, v, c.p->w));
    c.v = braid_add(g, v, c.p->x);
    braid_cond(g, NULL, more, then_square, else_sine, &c, 1, results);
    results[0] = braid_mul(g, results[0], v);
}

static void choosing_twice(const problem *p, const braid_out *vars, braid_out *next)
{
    choice c = {p, vars[1]};
    braid_cond(p->g, NULL, positive(p->g, vars[1]), then_choose_again, else_sine, &c, 1, &next[1]);
    next[1] = braid_tanh(p->g, braid_sub(p->g, next[1], p->w));
}

static void nested_conditionals_of_a_loop_have_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 5, choosing_twice, &v, 1);
    check(&p, v);
}

static void then_loop(void *arg, braid_graph *g, braid_out *results)
{
    (void)g;
    const choice *c = arg;
    results[0] = c->v;
    repeat(c->p, 3, times_w, results, 1);
}

static void a_loop_in_a_branch_has_a_gradient(void **state)
{
    (void)state;
    problem p = make();
    choice c = {&p, p.x};
    braid_out y;
    braid_cond(p.g, NULL, positive(p.g, p.x), then_loop, else_sine, &c, 1, &y);
    check(&p, y);
}

static void looping_sometimes(const problem *p, const braid_out *vars, braid_out *next)
{
    choice c = {p, vars[1]};
    braid_cond(p->g, NULL, positive(p->g, vars[1]), then_loop, else_sine, &c, 1, &next[1]);
    next[1] = braid_sub(p->g, next[1], p->w);
}

static void a_loop_in_a_branch_of_a_loop_has_a_gradient(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 5, looping_sometimes, &v, 1);
    check(&p, v);
}

// ---- Devices, rows, errors ----

static void a_loop_over_two_devices_has_a_gradient(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 6, choosing, &v, 1);
    for (int i = 0; i < braid_graph_num_ops(p.g); i++) {
        braid_op *n = braid_graph_op(p.g, i);
        if (strcmp(n->op_type, "Square") == 0 || strcmp(n->op_type, "Sin") == 0) n->device = "/cpu:1";
    }
    check_with(&p, v, &(braid_session_options){.cpu_devices = 2});
}

static void gathering(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_op_desc *d = braid_op_begin(p->g, "Pack", NULL);
    braid_op_input_list(d, (braid_out[]){p->x, p->w, vars[1]}, 3);
    const braid_out row = braid_gather(p->g, braid_op_end_out(d), vars[0]);
    next[1] = braid_add(p->g, vars[1], braid_square(p->g, row));
}

static void rows_gathered_within_a_loop_have_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = braid_mul(p.g, p.x, p.w);
    repeat(&p, 3, gathering, &v, 1);
    check(&p, v);
}

// ---- Gradients of gradients ----

// Of 2 x 2: [[x, w], [w x, 1]].
static braid_out matrix_of(const problem *p)
{
    braid_op_desc *d = braid_op_begin(p->g, "Pack", NULL);
    braid_op_input_list(
        d, (braid_out[]){p->x, p->w, braid_mul(p->g, p->w, p->x), bd_b_const_f(p->g, NULL, BRAID_DOUBLE, 1)},
        4);
    return bd_b2(p->g, "Reshape", NULL, braid_op_end_out(d),
                 bd_b_const_i32_vector(p->g, NULL, (int32_t[]){2, 2}, 2));
}

static void times_matrix(const problem *p, const braid_out *vars, braid_out *next)
{
    next[1] = bd_b2(p->g, "MatMul", NULL, vars[1], vars[2]);
    next[2] = vars[2];
}

static void a_power_of_a_matrix_has_gradients_of_gradients(void **state)
{
    (void)state;
    problem p = make();
    braid_out v[2] = {matrix_of(&p)};
    v[1] = v[0];
    repeat(&p, 3, times_matrix, v, 2);
    check_orders(&p, braid_reduce_sum(p.g, bd_b1(p.g, "Sin", NULL, v[0])), NULL, 3);
}

// The gradient of a loop alone, within a branch.
static void then_gradient(void *arg, braid_graph *g, braid_out *results)
{
    const choice *c = arg;
    braid_gradients(g, &c->v, 1, &c->p->x, 1, NULL, results);
}

static void else_value(void *arg, braid_graph *g, braid_out *results)
{
    (void)g;
    results[0] = ((const choice *)arg)->v;
}

static void a_gradient_in_a_branch_of_a_loop_outside_is_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    problem p = make();
    braid_out v = p.x, y, grad;
    repeat(&p, 2, square, &v, 1);
    choice c = {&p, v};
    braid_cond(p.g, NULL, positive(p.g, p.w), then_gradient, else_value, &c, 1, &y);
    braid_graph_status(p.g, st);
    assert_ok(st);
    braid_gradients(p.g, &y, 1, &p.x, 1, NULL, &grad);
    braid_graph_status(p.g, st);
    assert_error(st, BRAID_UNIMPLEMENTED,
                 "one of their loops is in a branch of a conditional without the other");
    braid_graph_free(p.g);
}

static void a_loop_has_gradients_of_any_order(void **state)
{
    (void)state;
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 2, square, &v, 1);
    check_orders(&p, braid_mul(p.g, v, p.w), NULL, 5);
}

// The condition is popped from a stack, on which it is pushed again.
static void by_the_stack(const problem *p, const braid_out *vars, braid_out *next)
{
    braid_graph *g = p->g;
    const braid_out any = braid_const_int32(g, NULL, -1);
    braid_op_desc *d = braid_op_begin(g, "StackV2", NULL);
    braid_op_input(d, any);
    braid_op_attr_type(d, "elem_type", BRAID_BOOL);
    const braid_out stack = braid_op_end_out(d);
    d = braid_op_begin(g, "StackPopV2", NULL);
    braid_op_input(d, stack);
    braid_op_attr_type(d, "elem_type", BRAID_BOOL);
    const braid_out popped = braid_op_end_out(d);
    bd_b2(g, "StackPushV2", NULL, stack, bd_b1(g, "Identity", NULL, popped));
    choice c = {p, vars[1]};
    braid_cond(g, NULL, popped, then_square, else_sine, &c, 1, &next[1]);
}

static void a_condition_that_is_pushed_again_does_not_keep_the_walk(void **state)
{
    (void)state;
    BD_STATUS(st);
    problem p = make();
    braid_out v = p.x, grad;
    repeat(&p, 2, by_the_stack, &v, 1);
    braid_gradients(p.g, &v, 1, &p.x, 1, NULL, &grad);
    braid_graph_status(p.g, st);
    assert_ok(st);
    braid_graph_free(p.g);
}

static void wrong_type(const problem *p, const braid_out *vars, braid_out *next)
{
    next[1] = braid_cast(p->g, vars[1], BRAID_FLOAT);
}

static void nothing(const problem *p, const braid_out *vars, braid_out *next)
{
    (void)p, (void)vars;
    next[1] = BRAID_NONE;
}

static void wrong_bodies_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    problem p = make();
    braid_out v = p.x;
    repeat(&p, 2, wrong_type, &v, 1);
    braid_graph_status(p.g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "variable 1 is double, but float in the next iteration");
    assert_null(v.op);
    braid_graph_free(p.g);
    bd_status_fini(st);
    p = make();
    v = p.x;
    repeat(&p, 2, nothing, &v, 1);
    braid_graph_status(p.g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The loop's next value 1 is nothing");
    braid_graph_free(p.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_has_the_gradient_of_its_steps),
        cmocka_unit_test(a_loop_constant_gets_the_sum_of_gradients),
        cmocka_unit_test(variables_of_which_one_is_used),
        cmocka_unit_test(results_used_together_have_gradients),
        cmocka_unit_test(nested_loops_have_gradients),
        cmocka_unit_test(triply_nested_loops_have_gradients),
        cmocka_unit_test(arrays_of_a_loop_have_gradients),
        cmocka_unit_test(a_conditional_has_the_gradient_of_its_branch),
        cmocka_unit_test(conditionals_within_a_loop_have_gradients),
        cmocka_unit_test(nested_conditionals_of_a_loop_have_gradients),
        cmocka_unit_test(a_loop_in_a_branch_has_a_gradient),
        cmocka_unit_test(a_loop_in_a_branch_of_a_loop_has_a_gradient),
        cmocka_unit_test(a_loop_over_two_devices_has_a_gradient),
        cmocka_unit_test(rows_gathered_within_a_loop_have_gradients),
        cmocka_unit_test(a_power_of_a_matrix_has_gradients_of_gradients),
        cmocka_unit_test(a_gradient_in_a_branch_of_a_loop_outside_is_refused),
        cmocka_unit_test(a_loop_has_gradients_of_any_order),
        cmocka_unit_test(a_condition_that_is_pushed_again_does_not_keep_the_walk),
        cmocka_unit_test(wrong_bodies_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
