// Tests of concurrent updates of one variable: with use_locking no update is lost; without it no element is
// torn, and ThreadSanitizer reports no race.
// labels: concurrent
#include "base/testing/test.h"
#include "base/thread.h"
#include "ops/testing/op_run.h"
#include "ops/testing/op_test.h"

#define THREADS 3
#define UPDATES 300
#define ELEMENTS 1000

// A graph of one update op and its inputs: references to variables, then tensors.
typedef struct updates {
    const braid_op *node;
    bd_variable *refs[3];
    int ref_count;
    braid_tensor values[7];
} updates;

static void update_often(void *arg)
{
    const updates *u = arg;
    bd_step step;
    op_step_init(&step);
    for (int i = 0; i < UPDATES; i++) {
        BD_STATUS(st);
        bd_value inputs[10] = {0}, output = {0};
        for (int k = 0; k < u->node->input_count; k++) {
            bd_value from = {0};
            if (k < u->ref_count) {
                from.ref = u->refs[k];
            } else {
                from.tensor = u->values[k - u->ref_count];
            }
            op_value_ref(&inputs[k], &from);
        }
        op_run_node(u->node, &step, inputs, &output, st);
        BD_ASSERT(st->code == BRAID_OK); // cmocka's asserts work on the main thread only
        for (int k = 0; k < u->node->input_count; k++)
            bd_value_fini(&inputs[k]);
        bd_value_fini(&output);
    }
    op_step_fini(&step);
}

static braid_out add_input(braid_graph *g, const char *op)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BD_SHAPE_UNKNOWN);
    return braid_op_end_out(d);
}

// Runs `op` on THREADS threads at once. Its inputs are `ref_count` variables that start at 0, then `values`.
static void run(const char *op, const char *attrs, int ref_count, const char *const *values, int value_count,
                braid_tensor *result)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    updates u = {.ref_count = ref_count};
    braid_out inputs[10];
    for (int i = 0; i < ref_count; i++) {
        inputs[i] = add_input(g, "VariableV2");
        u.refs[i] = bd_variable_new(BRAID_FLOAT, true);
        braid_tensor zero;
        op_test_tensor(&zero, "float[1000] 0");
        assert_int_equal(bd_variable_assign(u.refs[i], &zero, st), BRAID_OK);
        bd_tensor_fini(&zero);
    }
    for (int i = 0; i < value_count; i++) {
        inputs[ref_count + i] = add_input(g, "Placeholder");
        op_test_tensor(&u.values[i], values[i]);
    }
    u.node = op_test_node(g, op, attrs, inputs, ref_count + value_count);
    braid_graph_status(g, st);
    assert_ok(st);
    bd_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(bd_thread_start(&threads[i], "updates", update_often, &u, st), BRAID_OK);
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    assert_true(bd_variable_read(u.refs[0], result));
    for (int i = 0; i < ref_count; i++)
        bd_resource_unref(&u.refs[i]->base);
    for (int i = 0; i < value_count; i++)
        bd_tensor_fini(&u.values[i]);
    braid_graph_free(g);
}

static const char *const descent[] = {"float[] 1", "float[1000] 1"};

static void no_locked_update_is_lost(void **state)
{
    (void)state;
    braid_tensor result;
    run("ApplyGradientDescent", "use_locking=true", 1, descent, 2, &result);
    op_test_expect(&result, "float[1000] -900", 0, "locked");
    bd_tensor_fini(&result);
}

// Each element has decreased by a whole number of steps, and at least by the steps of one thread.
static void unlocked_updates_are_not_torn(void **state)
{
    (void)state;
    braid_tensor result;
    run("ApplyGradientDescent", NULL, 1, descent, 2, &result);
    for (int i = 0; i < ELEMENTS; i++) {
        float x = bd_tensor_f32(&result)[i];
        assert_true(x <= -1 && x >= -THREADS * UPDATES && x == (float)(int)x);
    }
    bd_tensor_fini(&result);
}

static void unlocked_adam_is_not_torn(void **state)
{
    (void)state;
    static const char *const values[] = {"float[] 0.9",   "float[] 0.999", "float[] 0.001",  "float[] 0.9",
                                         "float[] 0.999", "float[] 1e-8",  "float[1000] 0.5"};
    braid_tensor result;
    run("ApplyAdam", NULL, 3, values, 7, &result);
    for (int i = 0; i < ELEMENTS; i++)
        assert_true(bd_tensor_f32(&result)[i] < 0 && bd_tensor_f32(&result)[i] > -THREADS * UPDATES * 0.1f);
    bd_tensor_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_locked_update_is_lost),
        cmocka_unit_test(unlocked_updates_are_not_torn),
        cmocka_unit_test(unlocked_adam_is_not_torn),
    };
    return BD_RUN_TESTS(tests);
}
