// Environments of functions: calls without a step, as the iterator of a data set makes them.
// labels: concurrent
#include "runtime/function_runtime.h"

#include "base/account.h"
#include "runtime/testing/test_graph.h"
#include "runtime/testing/test_ops.h"

#define FUNCTION(NAME, SIGNATURE, BODY) "function { signature { name: '" NAME "' " SIGNATURE "} " BODY " } "
#define X "input_arg { name: 'x' type: DT_FLOAT } "
#define Y "output_arg { name: 'y' type: DT_FLOAT } "
#define T "attr { key: 'T' value { type: DT_FLOAT } } "
#define LIBRARY                                                                                              \
    FUNCTION("double", X Y,                                                                                  \
             "node_def { name: 'a' op: 'Add' input: 'x' input: 'x' " T "} ret { key: 'y' value: 'a:z:0' }")  \
    FUNCTION("wait", X Y,                                                                                    \
             "node_def { name: 'w' op: 'TestWait' } node_def { name: 'a' op: 'Add' input: 'x' input: "       \
             "'w:y:0' " T "} ret { key: 'y' value: 'a:z:0' }")                                               \
    FUNCTION("fail", X Y,                                                                                    \
             "node_def { name: 'told' op: 'TestFail' input: 'x' " T "} ret { key: 'y' value: 'told:y:0' }")  \
    FUNCTION("number", "output_arg { name: 'n' type: DT_INT32 } attr { name: 'a' type: 'int' } ",            \
             "node_def { name: 'n' op: 'TestNumber' } ret { key: 'n' value: 'n:n:0' }")

typedef struct fixture {
    braid_graph *g;
    bd_library *library;
    bd_thread_pool *pool;
    bd_device *device;
    bd_function_runtime *functions;
} fixture;

static void open(fixture *f)
{
    BD_STATUS(st);
    char *text = bd_strdup("library { " LIBRARY "}");
    for (char *p = text; *p; p++)
        if (*p == '\'') *p = '"';
    *f = (fixture){.g = braid_graph_new()};
    braid_graph_import_text(f->g, text, strlen(text), st);
    assert_ok(st);
    bd_free(text);
    bd_thread_pool_new("test", 2, &f->pool, st);
    f->device = bd_device_new("/job:localhost/replica:0/task:0", "CPU", 0, f->pool);
    const bd_device_info info = {.name = f->device->name, .type = f->device->type};
    const bd_local_devices devices = {.devices = &f->device, .infos = &info, .count = 1};
    f->library = bd_library_ref(f->g->library);
    f->functions = bd_function_runtime_new(f->library, &(bd_function_surroundings){.devices = &devices});
    braid_graph_free(f->g); // the environment needs the library only
}

static void shut(fixture *f)
{
    bd_function_runtime_unref(f->functions);
    bd_library_unref(f->library);
    bd_thread_pool_free(f->pool);
    bd_device_free(f->device);
}

static bd_func_ref ref_of(const char *name, int64_t attr)
{
    bd_arena arena = {0};
    const bd_named_attr a = {.name = "a", .value = {.kind = BD_ATTR_INT, .i = attr}};
    const bd_func f = {.name = name, .attrs = &a, .attr_count = attr != 0};
    const bd_bytes key = bd_func_bytes(&f, &arena);
    bd_func_ref ref = {.memory = bd_memdup(key.data, key.len), .name = name};
    ref.key = (bd_bytes){.data = ref.memory, .len = key.len};
    bd_arena_fini(&arena);
    return ref;
}

typedef struct result {
    bd_event ended;
    braid_tensor value;
    braid_status status;
} result;

static void take_result(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    result *r = arg;
    bd_status_copy(&r->status, st);
    if (ret_count > 0) bd_tensor_move(&r->value, &rets[0]);
    bd_event_set(&r->ended);
}

static void start(fixture *f, const char *name, int64_t attr, const braid_tensor *args, int arg_count,
                  bd_cancellation *cancellation, result *r)
{
    bd_func_ref ref = ref_of(name, attr);
    const bd_callee *callee;
    *r = (result){0};
    bd_event_init(&r->ended);
    if (bd_function_find(f->functions, &ref, BD_CALLEE_LOCAL, &callee, &r->status)) {
        bd_event_set(&r->ended);
    } else {
        const bd_invocation call = {.args = args,
                                    .arg_count = arg_count,
                                    .cancellation = cancellation,
                                    .done = take_result,
                                    .arg = r};
        bd_function_call(f->functions, callee, &call);
    }
    bd_func_ref_fini(&ref);
}

static void finish(result *r)
{
    bd_event_wait(&r->ended);
    bd_tensor_fini(&r->value);
    bd_status_fini(&r->status);
    bd_event_fini(&r->ended);
}

static void a_call_needs_no_step(void **state)
{
    (void)state;
    fixture f;
    open(&f);
    braid_tensor *x = braid_tensor_float(4);
    for (int i = 0; i < 3; i++) {
        result r;
        start(&f, "double", 0, x, 1, NULL, &r);
        bd_event_wait(&r.ended);
        assert_ok(&r.status);
        assert_float_equal(bd_tensor_f32(&r.value)[0], 8, 0);
        finish(&r);
    }
    braid_tensor_free(x);
    shut(&f);
}

// As when the iterator of a client's data set makes it.
static void a_call_without_a_step_counts_against_the_account_of_its_thread(void **state)
{
    (void)state;
    fixture f;
    result r;
    open(&f);
    bd_account *a = bd_account_new("alice", 3, 0); // less than a float
    braid_tensor *x = braid_tensor_float(4);
    start(&f, "double", 0, x, 1, NULL, &r); // which compiles it
    finish(&r);
    const bd_account_turn turn = bd_account_enter(a);
    start(&f, "double", 0, x, 1, NULL, &r);
    bd_account_leave(turn);
    bd_event_wait(&r.ended);
    assert_error(&r.status, BRAID_RESOURCE_EXHAUSTED, "(alice has tensors and graphs of 0 bytes");
    finish(&r);
    braid_tensor_free(x);
    shut(&f);
    bd_account_unref(a);
}

static void a_call_that_waits_holds_no_thread_and_holds_its_environment(void **state)
{
    (void)state;
    enum {
        CALLS = 20
    };
    fixture f;
    open(&f);
    result r[CALLS];
    braid_tensor *x = braid_tensor_float(1);
    for (int i = 0; i < CALLS; i++)
        start(&f, "wait", 0, x, 1, NULL, &r[i]);
    braid_tensor_free(x); // the calls have references of their own
    bd_function_runtime_unref(f.functions);
    f.functions = NULL;
    test_wait_for_waiters(CALLS);
    for (int i = 0; i < CALLS; i++)
        assert_true(test_wait_end(5));
    for (int i = 0; i < CALLS; i++) {
        bd_event_wait(&r[i].ended);
        assert_ok(&r[i].status);
        assert_float_equal(bd_tensor_f32(&r[i].value)[0], 6, 0);
        finish(&r[i]);
    }
    shut(&f);
}

static void a_call_may_outlive_the_session_that_has_the_resources(void **state)
{
    (void)state;
    fixture f;
    open(&f);
    bd_function_runtime_unref(f.functions);
    bd_resources *own = bd_resources_new("localhost");
    const bd_device_info info = {.name = f.device->name, .type = f.device->type};
    const bd_local_devices devices = {.devices = &f.device, .infos = &info, .count = 1};
    f.functions = bd_function_runtime_new(f.library,
                                          &(bd_function_surroundings){.devices = &devices, .resources = own});
    braid_tensor *x = braid_tensor_float(1);
    result r;
    start(&f, "wait", 0, x, 1, NULL, &r);
    test_wait_for_waiters(1);
    bd_function_runtime_unref(f.functions);
    f.functions = NULL;
    bd_resources_free(own);
    assert_true(test_wait_end(5));
    bd_event_wait(&r.ended);
    assert_ok(&r.status);
    finish(&r);
    braid_tensor_free(x);
    shut(&f);
}

static void a_token_ends_the_calls_below_it_and_no_others(void **state)
{
    (void)state;
    fixture f;
    open(&f);
    BD_STATUS(why);
    bd_cancellation *mine = bd_cancellation_new(NULL), *other = bd_cancellation_new(NULL);
    braid_tensor *x = braid_tensor_float(1);
    result a, b, late;
    start(&f, "wait", 0, x, 1, mine, &a);
    start(&f, "wait", 0, x, 1, other, &b);
    test_wait_for_waiters(2);
    bd_fail(why, BRAID_CANCELLED, "the iterator is gone");
    bd_cancellation_cancel(mine, why);
    bd_event_wait(&a.ended);
    assert_error(&a.status, BRAID_CANCELLED, "the iterator is gone");
    start(&f, "double", 0, x, 1, mine, &late);
    bd_event_wait(&late.ended);
    assert_error(&late.status, BRAID_CANCELLED, "the iterator is gone");
    assert_false(bd_event_is_set(&b.ended));
    assert_true(test_wait_end(2));
    bd_event_wait(&b.ended);
    assert_ok(&b.status);
    finish(&a);
    finish(&b);
    finish(&late);
    braid_tensor_free(x);
    bd_cancellation_unref(mine);
    bd_cancellation_unref(other);
    shut(&f);
}

static void errors_of_a_call_name_the_fault(void **state)
{
    (void)state;
    fixture f;
    open(&f);
    braid_tensor *x = braid_tensor_float(1), *i = braid_tensor_int32(1);
    const struct {
        const char *name;
        const braid_tensor *args;
        int arg_count;
        braid_code code;
        const char *words;
    } rows[] = {
        {"nobody", x, 1, BRAID_NOT_FOUND, "Function nobody is not defined"},
        {"number", NULL, 0, BRAID_NOT_FOUND, "Attr a is not found"},
        {"double", x, 0, BRAID_INVALID_ARGUMENT, "Expects 1 arguments, but 0 is provided"},
        {"double", i, 1, BRAID_INVALID_ARGUMENT, "Expects arg[0] to be float but int32 is provided"},
        {"fail", x, 1, BRAID_INVALID_ARGUMENT, "[[{{node told}}]]"},
    };
    for (size_t k = 0; k < BD_COUNTOF(rows); k++) {
        result r;
        start(&f, rows[k].name, 0, rows[k].args, rows[k].arg_count, NULL, &r);
        bd_event_wait(&r.ended);
        assert_error(&r.status, rows[k].code, rows[k].words);
        finish(&r);
    }
    BD_STATUS(st);
    const bd_callee *none;
    bd_func_ref ref = ref_of("double", 0);
    bd_function_find(NULL, &ref, BD_CALLEE_LOCAL, &none, st);
    assert_error(st, BRAID_NOT_FOUND, "Function double is not defined");
    bd_function_find_on(f.functions, &ref, BD_CALLEE_LOCAL, "/job:ps/replica:0/task:0/device:CPU:0", &none,
                        st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "is no device of this task");
    bd_func_ref_fini(&ref);
    braid_tensor_free(x);
    braid_tensor_free(i);
    shut(&f);
}

static void an_instance_keeps_its_state(void **state)
{
    (void)state;
    static const struct {
        int64_t attr;
        int32_t want;
    } calls[] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2}};
    fixture f;
    open(&f);
    for (size_t i = 0; i < BD_COUNTOF(calls); i++) {
        result r;
        start(&f, "number", calls[i].attr, NULL, 0, NULL, &r);
        bd_event_wait(&r.ended);
        assert_ok(&r.status);
        assert_int_equal(*(const int32_t *)r.value.data, calls[i].want);
        finish(&r);
    }
    shut(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_needs_no_step),
        cmocka_unit_test(a_call_without_a_step_counts_against_the_account_of_its_thread),
        cmocka_unit_test(a_call_that_waits_holds_no_thread_and_holds_its_environment),
        cmocka_unit_test(a_call_may_outlive_the_session_that_has_the_resources),
        cmocka_unit_test(a_token_ends_the_calls_below_it_and_no_others),
        cmocka_unit_test(errors_of_a_call_name_the_fault),
        cmocka_unit_test(an_instance_keeps_its_state),
    };
    return BD_RUN_TESTS(tests);
}
