// Tests of Batch, Unbatch and UnbatchGrad. The keys of executions are drawn at random: tests read them.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

// One batch of up to 4 rows; only a full one ends within a test.
#define FULL "num_batch_threads=1; max_batch_size=4; batch_timeout_micros=3600000000; grad_timeout_micros=0"
#define AT_ONCE "num_batch_threads=1; max_batch_size=4; batch_timeout_micros=0; grad_timeout_micros=0"
#define SOON "num_batch_threads=1; max_batch_size=4; batch_timeout_micros=1000; grad_timeout_micros=0"

typedef struct nodes {
    op_live *live;
    braid_op *op;
} nodes;

static nodes new_nodes(const char *op, const char *attrs, const braid_dtype *types, int count)
{
    BD_STATUS(st);
    nodes n = {.live = op_live_new()};
    braid_out inputs[4];
    for (int i = 0; i < count; i++)
        inputs[i] = op_live_placeholder(n.live, types[i]);
    n.op = op_test_node(n.live->graph, op, attrs, inputs, count);
    if (braid_graph_status(n.live->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

static nodes new_batch(const char *attrs)
{
    return new_nodes("Batch", attrs, (braid_dtype[]){BRAID_FLOAT}, 1);
}

static int64_t key_of(const op_execution *e)
{
    return bd_tensor_i64(&e->ctx.outputs[e->ctx.output_count - 1].tensor)[0];
}

static void expect_output(const op_execution *e, int i, const char *want)
{
    op_test_expect(&e->ctx.outputs[i].tensor, want, 0, "output");
}

// The index has rows (key of the execution, begin, end).
static void expect_index_row(const op_execution *e, int row, const op_execution *of, int64_t begin,
                             int64_t end)
{
    const int64_t *at = bd_tensor_i64(&e->ctx.outputs[1].tensor) + (ptrdiff_t)3 * row;
    assert_true(at[0] == key_of(of));
    assert_int_equal(at[1], begin);
    assert_int_equal(at[2], end);
}

static void a_full_batch_goes_to_the_last_execution(void **state)
{
    (void)state;
    nodes n = new_batch(FULL);
    op_execution *a = op_live_start(n.live, n.op, "float[1,2] 1 2");
    op_execution *b = op_live_start(n.live, n.op, "float[2,2] 3 4 5 6");
    assert_false(op_execution_has_ended(a));
    assert_false(op_execution_has_ended(b));
    op_execution *c = op_live_start(n.live, n.op, "float[1,2] 7 8");
    op_execution_wait(a);
    op_execution_wait(b);
    op_execution_wait(c);
    expect_output(a, 0, "float[0,2]");
    expect_output(b, 1, "int64[0,3]");
    expect_output(c, 0, "float[4,2] 1 2 3 4 5 6 7 8");
    expect_index_row(c, 0, a, 0, 1);
    expect_index_row(c, 1, b, 1, 3);
    expect_index_row(c, 2, c, 3, 4);
    op_execution_free(a);
    op_execution_free(b);
    op_execution_free(c);
    op_live_free(n.live);
}

static void what_does_not_fit_opens_the_next_batch(void **state)
{
    (void)state;
    nodes n = new_batch(FULL);
    op_execution *a = op_live_start(n.live, n.op, "float[3] 1 2 3");
    op_execution *b = op_live_start(n.live, n.op, "float[2] 4 5");
    op_execution_wait(a);
    expect_output(a, 0, "float[3] 1 2 3");
    assert_false(op_execution_has_ended(b));
    op_execution_cancel(b);
    op_execution_expect(b, "Cancelled: Batch operation was cancelled");
    op_execution_free(a);
    op_live_free(n.live);
}

static void a_batch_ends_at_its_timeout(void **state)
{
    (void)state;
    nodes n = new_batch(SOON);
    op_execution *a = op_live_start(n.live, n.op, "float[1] 1");
    op_execution_wait(a);
    expect_output(a, 0, "float[1] 1");
    expect_index_row(a, 0, a, 0, 1);
    op_execution_free(a);
    op_live_free(n.live);
}

static void batches_are_filled_up_to_allowed_sizes(void **state)
{
    (void)state;
    nodes n = new_batch(AT_ONCE "; allowed_batch_sizes=[3,4]");
    op_execution *a = op_live_start(n.live, n.op, "float[2,2] 1 2 3 4");
    op_execution *none = op_live_start(n.live, n.op, "float[0,2]");
    op_execution_wait(a);
    op_execution_wait(none);
    expect_output(a, 0, "float[3,2] 1 2 3 4 1 2");
    expect_index_row(a, 0, a, 0, 2);
    expect_output(none, 0, "float[0,2]");
    op_execution_free(a);
    op_execution_free(none);
    op_live_free(n.live);
}

static void a_cancelled_execution_leaves_its_batch(void **state)
{
    (void)state;
    nodes n = new_batch(FULL);
    op_execution *a = op_live_start(n.live, n.op, "float[3] 1 2 3"), *b = NULL, *c = NULL;
    op_execution_cancel(a);
    op_execution_expect(a, "Cancelled: Batch operation was cancelled");
    b = op_live_start(n.live, n.op, "float[3] 4 5 6");
    c = op_live_start(n.live, n.op, "float[1] 7");
    op_execution_wait(b);
    op_execution_wait(c);
    expect_output(c, 0, "float[4] 4 5 6 7");
    op_execution_free(b);
    op_execution_free(c);
    op_live_free(n.live);
}

static void clearing_the_container_ends_waits(void **state)
{
    (void)state;
    nodes n = new_batch(FULL "; container=there");
    op_execution *a = op_live_start(n.live, n.op, "float[1] 1"),
                 *b = op_live_start(n.live, n.op, "float[1] 1");
    bd_resources_clear(n.live->resources, "there");
    op_execution_expect(a, "Cancelled: Batch operation was cancelled");
    op_execution_expect(b, "Cancelled: Batch operation was cancelled");
    op_live_free(n.live);
}

static void batches_of_different_shapes_fail(void **state)
{
    (void)state;
    nodes n = new_batch(FULL);
    op_execution *a = op_live_start(n.live, n.op, "float[2] 1 2"),
                 *b = op_live_start(n.live, n.op, "float[2,1] 1 2");
    op_execution_expect(a, "InvalidArgument: Dimensions of inputs of a batch should match but for the first");
    op_execution_expect(b, "InvalidArgument: Dimensions of inputs of a batch should match but for the first");
    op_live_run(n.live, n.op, "float[5] 1",
                "InvalidArgument: Task size 5 is larger than maximum batch size 4");
    op_live_run(n.live, n.op, "float[] 1",
                "InvalidArgument: Batching input tensors must have at least one dimension");
    op_live_free(n.live);
    n = new_nodes("Batch", FULL, (braid_dtype[]){BRAID_FLOAT, BRAID_INT32}, 2);
    op_live_run(n.live, n.op, "float[2] 1; int32[1] 1",
                "InvalidArgument: must have equal 0th-dimension size");
    op_live_free(n.live);
}

static void queues_may_be_shared(void **state)
{
    (void)state;
    nodes n = new_batch(FULL "; shared_name=q");
    const braid_out x = op_live_placeholder(n.live, BRAID_FLOAT),
                    y = op_live_placeholder(n.live, BRAID_INT32);
    braid_op *same = op_test_node(n.live->graph, "Batch", FULL "; shared_name=q", &x, 1),
             *queue = op_test_node(n.live->graph, "Batch", FULL "; shared_name=q; batching_queue=2", &x, 1),
             *other = op_test_node(n.live->graph, "Batch", FULL "; shared_name=q", &y, 1);
    op_execution *a = op_live_start(n.live, n.op, "float[2] 1 2"),
                 *apart = op_live_start(n.live, queue, "float[2] 1 2");
    op_live_run(n.live, other, "int32[2] 1 2",
                "InvalidArgument: Batching inputs must have equal number of edges");
    op_execution *b = op_live_start(n.live, same, "float[2] 3 4");
    op_execution_wait(a);
    op_execution_wait(b);
    expect_output(b, 0, "float[4] 1 2 3 4");
    assert_false(op_execution_has_ended(apart));
    op_execution_cancel(apart);
    op_execution_expect(apart, "Cancelled: Batch operation was cancelled");
    op_execution_free(a);
    op_execution_free(b);
    op_live_free(n.live);
}

static void attributes_are_checked(void **state)
{
    (void)state;
#define BATCH_ATTRS(THREADS, SIZE, MICROS, SIZES)                                                            \
    "num_batch_threads=" THREADS "; max_batch_size=" SIZE "; batch_timeout_micros=" MICROS                   \
    "; grad_timeout_micros=0; allowed_batch_sizes=[" SIZES "]"
    static const op_case cases[] = {
        {"Batch", BATCH_ATTRS("0", "1", "0", ""), "float[1] 1",
         "InvalidArgument: num_batch_threads must be positive; was 0"},
        {"Batch", BATCH_ATTRS("1", "0", "0", ""), "float[1] 1",
         "InvalidArgument: max_batch_size must be positive; was 0"},
        {"Batch", BATCH_ATTRS("1", "1", "-1", ""), "float[1] 1",
         "InvalidArgument: batch_timeout_micros must be non-negative; was -1"},
        {"Batch", BATCH_ATTRS("1", "3", "0", "2,2,3"), "float[1] 1",
         "InvalidArgument: allowed_batch_sizes entries must be monotonically increasing"},
        {"Batch", BATCH_ATTRS("1", "3", "0", "1,2"), "float[1] 1",
         "InvalidArgument: final entry in allowed_batch_sizes must equal max_batch_size"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"Batch", FULL, "[3,4]; int32[2]", "[?,4]; int32[?]; int64[?,3]; int64[]"},
        {"Batch", FULL, "?", "?; int64[?,3]; int64[]"},
        {"Batch", FULL, "[]", "InvalidArgument: Shape must be at least rank 1 but is rank 0"},
        {"Unbatch", "timeout_micros=0", "[3,4]; int64?; int64?", "[?,4]"},
        {"UnbatchGrad", NULL, "?; int64?; [2,4]; int64?", "[?,4]"},
    };
    OP_TEST_SHAPES(shapes);
}

// ---- Unbatch ----

static nodes new_unbatch(const char *attrs)
{
    return new_nodes("Unbatch", attrs, (braid_dtype[]){BRAID_FLOAT, BRAID_INT64, BRAID_INT64}, 3);
}

static void each_step_gets_its_rows(void **state)
{
    (void)state;
    nodes n = new_unbatch("timeout_micros=3600000000");
    op_execution *early = op_live_start(n.live, n.op, "float[0,2]; int64[0,3]; int64[] 7");
    assert_false(op_execution_has_ended(early));
    op_live_run(n.live, n.op, "float[4,2] 1 2 3 4 5 6 7 8; int64[3,3] 7 0 1 9 1 3 8 3 3; int64[] 9",
                "float[2,2] 3 4 5 6");
    op_execution_expect(early, "float[1,2] 1 2");
    op_live_run(n.live, n.op, "float[0,2]; int64[0,3]; int64[] 8", "float[0,2]"); // the rows wait
    op_live_free(n.live);
}

static void a_step_gets_the_rows_that_it_brings_without_a_wait(void **state)
{
    (void)state;
    nodes n = new_unbatch("timeout_micros=0");
    op_live_run(n.live, n.op, "float[3,2] 1 2 3 4 5 6; int64[2,3] 9 0 1 7 1 3; int64[] 9", "float[1,2] 1 2");
    op_live_run(n.live, n.op, "float[0,2]; int64[0,3]; int64[] 7",
                "DeadlineExceeded: Batched data did not arrive within timeout window.");
    op_live_free(n.live);
}

static void waits_for_rows_end(void **state)
{
    (void)state;
    nodes n = new_unbatch("timeout_micros=3600000000; container=there"),
          soon = new_unbatch("timeout_micros=1000");
    op_execution *a = op_live_start(n.live, n.op, "float[0]; int64[0,3]; int64[] 7"),
                 *b = op_live_start(n.live, n.op, "float[0]; int64[0,3]; int64[] 8");
    op_live_run(n.live, n.op, "float[0]; int64[0,3]; int64[] 7",
                "AlreadyExists: Multiple session runs with the same batch key.");
    op_execution_cancel(a);
    op_execution_expect(a, "Cancelled: Unbatch operation was cancelled");
    bd_resources_clear(n.live->resources, "there");
    op_execution_expect(b, "Cancelled: Unbatch operation was cancelled");
    op_live_run(soon.live, soon.op, "float[0]; int64[0,3]; int64[] 7",
                "DeadlineExceeded: Batched data did not arrive within timeout window.");
    op_live_free(n.live);
    op_live_free(soon.live);
}

static void rows_are_checked(void **state)
{
    (void)state;
    nodes n = new_unbatch("timeout_micros=3600000000");
    static const char *const cases[][2] = {
        {"float[3] 1; int64[1,3] 7 0 4; int64[] 7", "InvalidArgument: Sum of split sizes must not exceed"},
        {"float[3] 1; int64[1,3] 7 1 0; int64[] 7", "InvalidArgument: ends before it begins"},
        {"float[3] 1; int64[1,3] 7 -9223372036854775808 1; int64[] 7",
         "InvalidArgument: ends before it begins"},
        {"float[3] 1; int64[1,2] 7 1; int64[] 7", "InvalidArgument: Expected 1st dimension size to be 3"},
        {"float[3] 1; int64[] 7; int64[] 7", "InvalidArgument: Expected 1st dimension size to be 3"},
        {"float[3] 1; int64[1,3] 7 0 1; int64[1] 7", "InvalidArgument: Input id should be scalar"},
        {"float[] 1; int64[0,3]; int64[] 7", "InvalidArgument: must have at least one dimension"},
        {"float[3] 1; int64[2,3] 7 0 1 7 1 2; int64[] 7",
         "AlreadyExists: Multiple tensors returned for same batch key."},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        op_live_run(n.live, n.op, cases[i][0], cases[i][1]);
    op_live_free(n.live);
    n = new_unbatch("timeout_micros=-1");
    op_live_run(n.live, n.op, "float[0]; int64[0,3]; int64[] 7",
                "InvalidArgument: timeout_micros must be non-negative; was -1");
    op_live_free(n.live);
}

// ---- UnbatchGrad ----

static nodes new_grad(void)
{
    return new_nodes("UnbatchGrad", "container=there",
                     (braid_dtype[]){BRAID_FLOAT, BRAID_INT64, BRAID_FLOAT, BRAID_INT64}, 4);
}

static void gradients_are_put_together_for_the_step_that_has_the_batch(void **state)
{
    (void)state;
    nodes n = new_grad();
    op_live_run(n.live, n.op, "float[0,2]; int64[0,3]; float[1,2] 1 2; int64[] 7", "float[0,2]");
    op_execution *batch = op_live_start(
        n.live, n.op, "float[4,2] 0; int64[3,3] 7 0 1 9 1 3 8 3 4; float[2,2] 3 4 5 6; int64[] 9");
    assert_false(op_execution_has_ended(batch));
    op_live_run(n.live, n.op, "float[0,2]; int64[0,3]; float[1,2] 7 8; int64[] 8", "float[0,2]");
    op_execution_expect(batch, "float[4,2] 1 2 3 4 5 6 7 8");
    op_live_free(n.live);
}

static void waits_for_gradients_end(void **state)
{
    (void)state;
    nodes n = new_grad();
    op_execution *a = op_live_start(n.live, n.op, "float[1] 0; int64[1,3] 6 0 1; float[1] 1; int64[] 7"),
                 *b = op_live_start(n.live, n.op, "float[1] 0; int64[1,3] 6 0 1; float[1] 1; int64[] 8");
    op_execution_cancel(a);
    op_execution_expect(a, "Cancelled: UnbatchGrad operation was cancelled");
    bd_resources_clear(n.live->resources, "there");
    op_execution_expect(b, "Cancelled: UnbatchGrad operation was cancelled");
    op_live_free(n.live);
}

static void gradients_are_checked(void **state)
{
    (void)state;
    nodes n = new_grad();
    static const char *const cases[][2] = {
        {"float[1] 0; int64[0,3]; float[1] 1; int64[] 1", "InvalidArgument: batch_index is empty"},
        {"float[1] 0; int64[1,2] 1; float[1] 1; int64[] 1",
         "InvalidArgument: Expected 1st dimension size to be 3"},
        {"float[1] 0; int64[] 1; float[1] 1; int64[] 1",
         "InvalidArgument: Expected 1st dimension size to be 3"},
        {"float[1] 0; int64[1,3] 1 0 1; float[1] 1; int64[1] 1",
         "InvalidArgument: Input id should be scalar"},
        {"float[] 0; int64[1,3] 1 0 1; float[] 1; int64[] 1",
         "InvalidArgument: must have at least one dimension"},
        {"float[2] 0; int64[2,3] 2 0 1 2 1 2; float[1] 1; int64[] 2",
         "InvalidArgument: names the key 2 twice"},
        {"float[0]; int64[0,3]; float[1] 1; int64[] 3", "float[0]"},
        {"float[0]; int64[0,3]; float[1] 1; int64[] 3", "InvalidArgument: Two runs with the same batch key."},
        {"float[2] 0; int64[2,3] 3 0 1 4 1 2; float[1,1] 1; int64[] 4",
         "InvalidArgument: Dimensions of gradients of a batch should match but for the first"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        op_live_run(n.live, n.op, cases[i][0], cases[i][1]);
    op_live_free(n.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_batch_goes_to_the_last_execution),
        cmocka_unit_test(what_does_not_fit_opens_the_next_batch),
        cmocka_unit_test(a_batch_ends_at_its_timeout),
        cmocka_unit_test(batches_are_filled_up_to_allowed_sizes),
        cmocka_unit_test(a_cancelled_execution_leaves_its_batch),
        cmocka_unit_test(clearing_the_container_ends_waits),
        cmocka_unit_test(batches_of_different_shapes_fail),
        cmocka_unit_test(queues_may_be_shared),
        cmocka_unit_test(attributes_are_checked),
        cmocka_unit_test(each_step_gets_its_rows),
        cmocka_unit_test(a_step_gets_the_rows_that_it_brings_without_a_wait),
        cmocka_unit_test(waits_for_rows_end),
        cmocka_unit_test(rows_are_checked),
        cmocka_unit_test(gradients_are_put_together_for_the_step_that_has_the_batch),
        cmocka_unit_test(waits_for_gradients_end),
        cmocka_unit_test(gradients_are_checked),
    };
    return BD_RUN_TESTS(tests);
}
