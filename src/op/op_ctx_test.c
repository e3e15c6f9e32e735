// The functions that kernels call: outputs in the memory of inputs, errors, choosing a kernel, parallel
// loops.
// labels: concurrent
#include "base/interrupt.h"
#include "base/testing/test.h"
#include "base/thread_pool.h"
#include "op/kernel_widen.h"

// ---- Outputs ----

typedef struct one_node {
    bd_value inputs[2], outputs[1];
    bd_op_ctx ctx;
} one_node;

static void open_node(one_node *n)
{
    *n = (one_node){0};
    n->ctx = (bd_op_ctx){.inputs = n->inputs, .outputs = n->outputs, .input_count = 2, .output_count = 1};
    braid_shape shape = bd_shape1(4);
    for (int i = 0; i < 2; i++)
        assert_true(bd_tensor_alloc(&n->inputs[i].tensor, BRAID_FLOAT, &shape));
}

static void close_node(one_node *n)
{
    for (int i = 0; i < 2; i++)
        bd_value_fini(&n->inputs[i]);
    bd_value_fini(&n->outputs[0]);
    bd_status_fini(&n->ctx.status);
}

// Whether the output got the memory of input 0.
static bool is_forwarded(one_node *n, braid_dtype dtype, braid_shape shape)
{
    braid_tensor *out = bd_output_forward(&n->ctx, 0, 0, dtype, &shape);
    assert_non_null(out);
    assert_int_equal(out->dtype, dtype);
    assert_true(bd_shape_equal(&out->shape, &shape));
    return out->data == n->inputs[0].tensor.data;
}

static void an_output_takes_the_memory_of_an_unshared_input(void **state)
{
    (void)state;
    one_node n;
    open_node(&n);
    assert_true(is_forwarded(&n, BRAID_FLOAT, bd_shape1(4)));
    close_node(&n);
    open_node(&n);
    assert_true(is_forwarded(&n, BRAID_INT32, bd_shape2(2, 2))); // same size in all
    assert_int_equal(n.inputs[0].tensor.dtype, BRAID_FLOAT);     // the input stays readable
    close_node(&n);
}

static void an_output_never_takes_other_memory(void **state)
{
    (void)state;
    one_node n;
    braid_tensor holder;
    open_node(&n); // shared
    bd_tensor_ref(&holder, &n.inputs[0].tensor);
    assert_false(is_forwarded(&n, BRAID_FLOAT, bd_shape1(4)));
    bd_tensor_fini(&holder);
    close_node(&n);
    open_node(&n); // a variable's
    n.inputs[0].tensor.buffer->is_variable = true;
    assert_false(is_forwarded(&n, BRAID_FLOAT, bd_shape1(4)));
    close_node(&n);
    open_node(&n); // of another size
    assert_false(is_forwarded(&n, BRAID_FLOAT, bd_shape1(3)));
    assert_false(is_forwarded(&n, BRAID_DOUBLE, bd_shape1(4)));
    assert_false(is_forwarded(&n, BRAID_DOUBLE, bd_shape1(2)));
    close_node(&n);
    open_node(&n); // foreign memory outside of the pool
    static float outside[4];
    bd_tensor_fini(&n.inputs[0].tensor);
    n.inputs[0].tensor = (braid_tensor){.dtype = BRAID_FLOAT,
                                        .shape = bd_shape1(4),
                                        .data = outside,
                                        .buffer = bd_buffer_wrap(outside, sizeof outside, NULL, NULL)};
    assert_false(is_forwarded(&n, BRAID_FLOAT, bd_shape1(4)));
    close_node(&n);
}

static void only_the_first_error_counts(void **state)
{
    (void)state;
    one_node n;
    open_node(&n);
    assert_false(bd_op_failed(&n.ctx));
    bd_op_fail(&n.ctx, BRAID_INVALID_ARGUMENT, "bad %d", 1);
    bd_op_fail(&n.ctx, BRAID_INTERNAL, "bad %d", 2);
    assert_true(bd_op_failed(&n.ctx));
    assert_error(&n.ctx.status, BRAID_INVALID_ARGUMENT, "bad 1");
    close_node(&n);
}

static void an_output_that_does_not_fit_memory_is_an_error(void **state)
{
    (void)state;
    one_node n;
    open_node(&n);
    braid_shape huge = bd_shape2((int64_t)1 << 40, (int64_t)1 << 20);
    assert_null(bd_output(&n.ctx, 0, BRAID_FLOAT, &huge));
    assert_error(&n.ctx.status, BRAID_RESOURCE_EXHAUSTED,
                 "OOM when allocating tensor with shape[1099511627776,1048576] and type float");
    close_node(&n);
}

// ---- Kernels ----

static void run_nothing(bd_op_ctx *c)
{
    (void)c;
}

static void the_first_kernel_whose_types_fit_is_taken(void **state)
{
    (void)state;
    static const bd_kernel kernels[] = {
        {.types = "T=float|double; Tidx=int32", .run = run_nothing},
        {.types = "T = int32 ;Tidx=int32|int64", .run = run_nothing},
        {.device_type = "GPU", .run = run_nothing},
    };
    static const bd_op op = {.name = "Op", .kernels = kernels, .kernel_count = 3};
    static const bd_op_def def = {.name = "Op", .op = &op};
    static const struct {
        braid_dtype t, tidx;
        const char *device;
        int expected; // -1: NotFound
    } cases[] = {
        {BRAID_FLOAT, BRAID_INT32, "CPU", 0},   {BRAID_DOUBLE, BRAID_INT32, "CPU", 0},
        {BRAID_INT32, BRAID_INT64, "CPU", 1},   {BRAID_FLOAT, BRAID_INT64, "CPU", -1},
        {BRAID_STRING, BRAID_INT32, "CPU", -1}, {BRAID_STRING, BRAID_INT32, "GPU", 2},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        bd_named_attr attrs[] = {{.name = "T", .value = {.kind = BD_ATTR_TYPE, .type = cases[i].t}},
                                 {.name = "Tidx", .value = {.kind = BD_ATTR_TYPE, .type = cases[i].tidx}}};
        braid_op node = {.name = "n", .op_type = "Op", .def = &def, .attrs = attrs, .attr_count = 2};
        const bd_kernel *kernel;
        BD_STATUS(st);
        bd_kernel_find(&node, cases[i].device, &kernel, st);
        if (cases[i].expected < 0) {
            assert_null(kernel);
            assert_error(st, BRAID_NOT_FOUND, "No OpKernel was registered to support Op 'Op' (node 'n')");
        } else {
            assert_ok(st);
            assert_ptr_equal(kernel, &kernels[cases[i].expected]);
        }
    }
}

// half uses the kernel of float, and int8 that of int32, if the kernel widens; a kernel for the type itself
// has precedence.
static void narrow_types_find_kernels_that_widen(void **state)
{
    (void)state;
    static const bd_kernel kernels[] = {
        {.types = "T=float|int32", .flags = BD_KERNEL_WIDENS | BD_KERNEL_EXPENSIVE, .run = run_nothing},
        {.types = "T=double|int64", .run = run_nothing},
        {.types = "T=int8", .run = run_nothing},
    };
    static const bd_op op = {.name = "Op", .kernels = kernels, .kernel_count = 3};
    static const bd_op_def def = {.name = "Op", .op = &op};
    static const struct {
        braid_dtype t;
        const bd_kernel *expected; // NULL: the first, widened
    } cases[] = {
        {BRAID_INT32, &kernels[0]}, {BRAID_INT8, &kernels[2]}, {BRAID_HALF, NULL},
        {BRAID_BFLOAT16, NULL},     {BRAID_UINT16, NULL},
    };
    bd_named_attr attr = {.name = "T", .value = {.kind = BD_ATTR_TYPE}};
    braid_op node = {.name = "n", .op_type = "Op", .def = &def, .attrs = &attr, .attr_count = 1};
    const bd_kernel *kernel;
    BD_STATUS(st);
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        attr.value.type = cases[i].t;
        assert_int_equal(bd_kernel_find(&node, "CPU", &kernel, st), BRAID_OK);
        assert_ptr_equal(kernel, cases[i].expected ? cases[i].expected : bd_kernel_widening(&kernels[0]));
        assert_true(cases[i].expected || (kernel->flags & BD_KERNEL_EXPENSIVE));
    }
    attr.value.type = BRAID_UINT32;
    bd_kernel_find(&node, "CPU", &kernel, st);
    assert_error(st, BRAID_NOT_FOUND, "CPU [T=float|int32] and narrower, CPU [T=double|int64]");
}

static void an_unknown_op_has_no_kernel(void **state)
{
    (void)state;
    braid_op node = {.name = "n", .op_type = "Nope"};
    const bd_kernel *kernel;
    BD_STATUS(st);
    bd_kernel_find(&node, "CPU", &kernel, st);
    assert_error(st, BRAID_NOT_FOUND, "Op type not registered 'Nope' in this process (node 'n')");
}

// ---- Loops over threads ----

enum {
    COUNT = 100000
};
static atomic_uchar touched[COUNT];
static atomic_int pieces;

static void touch(void *arg, int64_t from, int64_t to)
{
    (void)arg;
    atomic_fetch_add(&pieces, 1);
    for (int64_t i = from; i < to; i++)
        atomic_fetch_add(&touched[i], 1);
}

static void touch_all(bd_op_ctx *c, int64_t count, int64_t grain)
{
    for (int i = 0; i < COUNT; i++)
        atomic_store(&touched[i], 0);
    atomic_store(&pieces, 0);
    bd_parallel_for(c, count, grain, touch, NULL);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(atomic_load(&touched[i]), i < count);
}

static void a_loop_over_threads_does_everything_once(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_thread_pool *pool;
    bd_thread_pool_new("test", 3, &pool, st);
    assert_ok(st);
    bd_step step = {.pool = pool};
    bd_op_ctx c = {.step = &step};
    static const int64_t counts[] = {0, 1, 2, 7, 1000, 99999, COUNT};
    for (size_t i = 0; i < BD_COUNTOF(counts); i++) {
        touch_all(&c, counts[i], 1);
        touch_all(&c, counts[i], 1000);
    }
    touch_all(&c, 1500, 1000);
    assert_int_equal(atomic_load(&pieces), 1); // not worth two
    bd_thread_pool_close(pool);
    touch_all(&c, COUNT, 10); // no other thread helps any more
    bd_thread_pool_free(pool);
    step.pool = NULL;
    touch_all(&c, COUNT, 10);
    assert_int_equal(atomic_load(&pieces), 1);
}

static atomic_bool is_interrupted;

static void interrupt(void *arg, int64_t from, int64_t to)
{
    (void)from, (void)to;
    atomic_fetch_add((atomic_int *)arg, 1);
    is_interrupted = true;
}

static void an_interrupted_loop_ends_after_the_blocks_that_run(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_thread_pool *pool;
    bd_thread_pool_new("test", 3, &pool, st);
    assert_ok(st);
    bd_step step = {.pool = pool};
    bd_op_ctx c = {.step = &step};
    const atomic_bool *before = bd_interrupt_set(&is_interrupted);
    for (int threads = 0; threads < 2; threads++) {
        atomic_int blocks = 0;
        is_interrupted = false;
        step.pool = threads ? pool : NULL;
        bd_parallel_for(&c, 1000000, 10, interrupt, &blocks);
        assert_in_range(blocks, 1, threads ? 4 : 1);
    }
    bd_interrupt_set(before);
    bd_thread_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_takes_the_memory_of_an_unshared_input),
        cmocka_unit_test(an_output_never_takes_other_memory),
        cmocka_unit_test(only_the_first_error_counts),
        cmocka_unit_test(an_output_that_does_not_fit_memory_is_an_error),
        cmocka_unit_test(the_first_kernel_whose_types_fit_is_taken),
        cmocka_unit_test(narrow_types_find_kernels_that_widen),
        cmocka_unit_test(an_unknown_op_has_no_kernel),
        cmocka_unit_test(a_loop_over_threads_does_everything_once),
        cmocka_unit_test(an_interrupted_loop_ends_after_the_blocks_that_run),
    };
    return BD_RUN_TESTS(tests);
}
