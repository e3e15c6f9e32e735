// Gradients through a conditional, run: y = pred ? x^2 + x : 3 z, with Switch and Merge.
#include "base/testing/test.h"
#include "graph/grad.h"
#include <braid/braid.h>

typedef struct conditional {
    braid_graph *g;
    braid_out x, z, pred, y;
} conditional;

static braid_out placeholder(braid_graph *g, const char *name, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    return braid_op_end_out(d);
}

static braid_out branch(braid_graph *g, braid_out data, braid_out pred, int index)
{
    braid_op_desc *d = braid_op_begin(g, "Switch", NULL);
    braid_op_input(d, data);
    braid_op_input(d, pred);
    return braid_output(braid_op_end(d), index);
}

static conditional build(void)
{
    conditional c = {.g = braid_graph_new()};
    c.x = placeholder(c.g, "x", BRAID_FLOAT);
    c.z = placeholder(c.g, "z", BRAID_FLOAT);
    c.pred = placeholder(c.g, "pred", BRAID_BOOL);
    braid_out x = branch(c.g, c.x, c.pred, 1), z = branch(c.g, c.z, c.pred, 0);
    braid_out branches[2];
    branches[0] = bd_b2(c.g, "Mul", NULL, z, bd_b_const_f(c.g, "three", BRAID_FLOAT, 3));
    branches[1] = bd_b2(c.g, "Add", NULL, bd_b1(c.g, "Square", NULL, x), x);
    braid_op_desc *d = braid_op_begin(c.g, "Merge", NULL);
    braid_op_input_list(d, branches, 2);
    c.y = braid_output(braid_op_end(d), 0);
    return c;
}

static void expect_gradients(braid_session *s, const conditional *c, const braid_out *fetches, bool pred,
                             const float want[3])
{
    BD_STATUS(st);
    braid_tensor *x = braid_tensor_float(5), *z = braid_tensor_float(7), *p = braid_tensor_bool(pred);
    braid_tensor *got[3] = {0};
    braid_feed feeds[3] = {{c->x, x}, {c->z, z}, {c->pred, p}};
    braid_fetch wanted[3] = {{fetches[0], &got[0]}, {fetches[1], &got[1]}, {fetches[2], &got[2]}};
    braid_run_args args = {.feeds = feeds, .feed_count = 3, .fetches = wanted, .fetch_count = 3};
    braid_session_run(s, &args, st);
    assert_ok(st);
    for (int i = 0; i < 3; i++) {
        assert_true(*(const float *)braid_tensor_data(got[i]) == want[i]);
        braid_tensor_free(got[i]);
    }
    braid_tensor_free(x);
    braid_tensor_free(z);
    braid_tensor_free(p);
}

static void gradients_pass_the_taken_branch(void **state)
{
    (void)state;
    BD_STATUS(st);
    conditional c = build();
    braid_out fetches[3] = {c.y};
    braid_gradients(c.g, &c.y, 1, (braid_out[]){c.x, c.z}, 2, NULL, fetches + 1);
    assert_int_equal(braid_graph_status(c.g, st), BRAID_OK);
    assert_non_null(fetches[1].op);
    assert_non_null(fetches[2].op);
    braid_session *s = braid_session_open(c.g, NULL, st);
    assert_ok(st);
    expect_gradients(s, &c, fetches, true, (float[]){30, 11, 0});
    expect_gradients(s, &c, fetches, false, (float[]){21, 0, 3});
    braid_session_close(s, st);
    braid_graph_free(c.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_pass_the_taken_branch)};
    return BD_RUN_TESTS(tests);
}
