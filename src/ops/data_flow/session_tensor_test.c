// Session tensor handles: values live from step to step until they are deleted or the session ends.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static braid_op *keeper(op_live *l, const char *op, braid_dtype type)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, "keep");
    braid_op_input(d, op_live_placeholder(l, type));
    return braid_op_end(d);
}

// Runs `make` on a value; gives the handle (bd_free).
static char *handle_of(op_live *l, braid_op *make, const char *value)
{
    op_execution *e = op_live_start(l, make, value);
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    const braid_tensor *t = &e->ctx.outputs[0].tensor;
    char *handle = t->dtype == BRAID_STRING
                       ? bd_asprintf("%.*s", (int)bd_tensor_str(t)->len, bd_tensor_str(t)->data)
                       : bd_strdup(bd_tensor_handle(t)->name);
    op_execution_free(e);
    return handle;
}

static void run_on_const(op_live *l, const char *op, braid_dtype dtype, braid_out handle, const char *want)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, handle);
    if (dtype) braid_op_attr_type(d, "dtype", dtype);
    op_live_run(l, braid_op_end(d), "", want);
}

// Runs an op on a handle (which as a feed would have to be without `;`).
static void run_on(op_live *l, const char *op, braid_dtype dtype, const char *handle, const char *want)
{
    braid_tensor *text = braid_tensor_string(handle);
    braid_op_desc *c = braid_op_begin(l->graph, "Const", NULL);
    braid_op_attr_type(c, "dtype", BRAID_STRING);
    braid_op_attr_tensor(c, "value", text);
    run_on_const(l, op, dtype, braid_op_end_out(c), want);
    braid_tensor_free(text);
}

static void get(op_live *l, braid_dtype dtype, const char *handle, const char *want)
{
    run_on(l, "GetSessionTensor", dtype, handle, want);
}

static void let_go(op_live *l, const char *handle, const char *want)
{
    run_on(l, "DeleteSessionTensor", BRAID_INVALID, handle, want);
}

static void check_handles(const char *op)
{
    op_live *l = op_live_new();
    braid_op *make = keeper(l, op, BRAID_FLOAT);
    char *a = handle_of(l, make, "float[2] 1 2"), *b = handle_of(l, make, "float[] 3");
    assert_non_null(strstr(a, "keep;"));
    assert_string_not_equal(a, b);
    get(l, BRAID_FLOAT, a, "float[2] 1 2");
    get(l, BRAID_FLOAT, b, "float[] 3");
    get(l, BRAID_INT32, b, "InvalidArgument: is float, not int32");
    let_go(l, a, "");
    get(l, BRAID_FLOAT, a, "InvalidArgument: is not in the session store.");
    let_go(l, a, "InvalidArgument: Failed to delete a tensor with handle");
    get(l, BRAID_FLOAT, b, "float[] 3");
    let_go(l, b, "");
    bd_free(b);
    b = handle_of(l, make, "float[0,2]");
    get(l, BRAID_FLOAT, b, "float[0,2]");
    bd_free(a);
    bd_free(b);
    op_live_free(l);
}

static void values_live_from_step_to_step(void **state)
{
    (void)state;
    check_handles("GetSessionHandle");
    check_handles("GetSessionHandleV2");
}

static void many_handles_made_and_deleted(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op *make = keeper(l, "GetSessionHandle", BRAID_INT32);
    char *kept = handle_of(l, make, "int32[] 7");
    for (int i = 0; i < 300; i++) {
        char *handle = handle_of(l, make, "int32[] 1");
        if (i % 5) let_go(l, handle, "");
        bd_free(handle);
    }
    get(l, BRAID_INT32, kept, "int32[] 7");
    bd_free(kept);
    op_live_free(l); // values that were not deleted end with the session; a leak would be found here
}

static void a_handle_is_a_scalar(void **state)
{
    (void)state;
    static const char *const handles[] = {"string[0]", "string[1] a", "string[2] a b"};
    for (size_t i = 0; i < BD_COUNTOF(handles); i++) {
        op_live *l = op_live_new();
        braid_out handle = op_live_unknown(l, handles[i]);
        run_on_const(l, "GetSessionTensor", BRAID_FLOAT, handle, "InvalidArgument: must be a scalar string");
        run_on_const(l, "DeleteSessionTensor", 0, handle, "InvalidArgument: must be a scalar string");
        op_live_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_live_from_step_to_step),
        cmocka_unit_test(many_handles_made_and_deleted),
        cmocka_unit_test(a_handle_is_a_scalar),
    };
    return BD_RUN_TESTS(tests);
}
