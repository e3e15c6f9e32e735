// Variables: the memory that an assignment writes, and the values that readers see.
#include "base/account.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "op/variable.h"
#include <sched.h>

static braid_tensor floats(float a, float b)
{
    braid_tensor t;
    braid_shape shape = bd_shape1(2);
    assert_true(bd_tensor_alloc(&t, BRAID_FLOAT, &shape));
    bd_tensor_f32(&t)[0] = a;
    bd_tensor_f32(&t)[1] = b;
    return t;
}

static void assign(bd_variable *v, float a, float b)
{
    BD_STATUS(st);
    braid_tensor t = floats(a, b);
    bd_variable_assign(v, &t, st);
    assert_ok(st);
    bd_tensor_fini(&t);
}

static float first(bd_variable *v)
{
    braid_tensor t;
    assert_true(bd_variable_read(v, &t));
    float x = bd_tensor_f32(&t)[0];
    bd_tensor_fini(&t);
    return x;
}

static void a_new_variable_has_no_value(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor t;
    BD_STATUS(st);
    assert_false(bd_variable_read(v, &t));
    bd_variable_make_writable_locked(v, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "uninitialized");
    bd_resource_unref(&v->base);
}

// A value that was received counts against no account before.
static void the_value_of_a_variable_counts_against_an_account(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor received = floats(1, 2);
    bd_account *a = bd_account_new("alice", 4, 0);
    const bd_account_turn turn = bd_account_enter(a);
    bd_variable_assign(v, &received, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "OOM when assigning a tensor of 8 bytes");
    bd_account_leave(turn);
    bd_account_unref(a);
    bd_tensor_fini(&received);
    bd_resource_unref(&v->base);
}

static void a_reference_variable_is_written_in_place(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    assign(v, 1, 2);
    braid_tensor read;
    assert_true(bd_variable_read(v, &read));
    assert_true(read.buffer->is_variable);
    assign(v, 3, 4);
    assert_float_equal(bd_tensor_f32(&read)[0], 3, 0); // the reader's memory is the variable's
    bd_tensor_fini(&read);
    bd_resource_unref(&v->base);
}

static void a_value_read_from_a_resource_variable_never_changes(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_FLOAT, false);
    assign(v, 1, 2);
    braid_tensor read;
    BD_STATUS(st);
    assert_true(bd_variable_read(v, &read));
    assign(v, 3, 4);
    assert_float_equal(bd_tensor_f32(&read)[0], 1, 0);
    bd_tensor_fini(&read);
    assert_true(bd_variable_read(v, &read));
    bd_mutex_lock(&v->mu);
    bd_variable_make_writable_locked(v, st);
    bd_tensor_f32(&v->tensor)[0] = 5;
    bd_mutex_unlock(&v->mu);
    assert_ok(st);
    assert_float_equal(bd_tensor_f32(&read)[0], 3, 0);
    assert_float_equal(first(v), 5, 0);
    bd_tensor_fini(&read);
    bd_resource_unref(&v->base);
}

static void change_first_element(void *arg)
{
    bd_variable *v = arg;
    bd_variable_change change;
    bd_variable_begin_change(&change, v, BD_VARIABLE_ELEMENTS, false, NULL);
    bd_tensor_f32(&change.value)[0] = 7;
    bd_variable_end_change(&change, true);
}

static int changes_that_wait(bd_variable *v)
{
    bd_mutex_lock(&v->mu);
    const int count = v->changes_waiting;
    bd_mutex_unlock(&v->mu);
    return count;
}

static void a_change_of_elements_waits_for_readers_of_rows_instead_of_copying(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_variable *v = bd_variable_new(BRAID_FLOAT, false);
    braid_tensor rows, other;
    assert_false(bd_variable_begin_rows(v, &rows)); // uninitialized
    assign(v, 1, 2);
    const void *memory = v->tensor.data;
    assert_true(bd_variable_begin_rows(v, &rows));
    assert_true(bd_variable_begin_rows(v, &other)); // reads go on side by side
    bd_thread thread;
    assert_int_equal(bd_thread_start(&thread, "change", change_first_element, v, st), BRAID_OK);
    while (changes_that_wait(v) == 0)
        sched_yield();
    bd_variable_end_rows(v, &other);
    assert_float_equal(bd_tensor_f32(&rows)[0], 1, 0);
    bd_variable_end_rows(v, &rows);
    bd_thread_join(&thread);
    assert_ptr_equal(v->tensor.data, memory);
    assert_float_equal(first(v), 7, 0);
    bd_resource_unref(&v->base);
}

static void unshared_memory_is_taken_over(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    BD_STATUS(st);
    braid_tensor t = floats(1, 2);
    bd_variable_assign(v, &t, st);
    assert_ptr_equal(v->tensor.data, t.data);
    bd_tensor_fini(&t);
    // A shared value is copied, and so is another variable's memory.
    bd_variable *w = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor shared;
    assert_true(bd_variable_read(v, &shared));
    bd_variable_assign(w, &shared, st);
    assert_ok(st);
    assert_ptr_not_equal(w->tensor.data, v->tensor.data);
    bd_tensor_fini(&shared);
    bd_resource_unref(&v->base);
    bd_resource_unref(&w->base);
}

static braid_tensor many_floats(float x)
{
    braid_tensor t;
    const braid_shape shape = bd_shape1(1 << 16);
    assert_true(bd_tensor_alloc(&t, BRAID_FLOAT, &shape));
    for (int64_t i = 0; i < bd_tensor_count(&t); i++)
        bd_tensor_f32(&t)[i] = x;
    return t;
}

// Assigns to a variable of many elements. Returns whether it has the memory of the value then.
static bool takes_many(bd_variable *v, float x)
{
    BD_STATUS(st);
    braid_tensor t = many_floats(x);
    bd_variable_assign(v, &t, st);
    assert_ok(st);
    const bool takes = v->tensor.data == t.data;
    bd_tensor_fini(&t);
    return takes;
}

static void a_large_value_is_exchanged_for_memory_that_nobody_reads(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    braid_tensor read, held = many_floats(5);
    takes_many(v, 1);
    assert_true(takes_many(v, 2));
    assert_true(v->tensor.buffer->is_variable);
    assert_true(bd_variable_read(v, &read));
    assert_false(takes_many(v, 3));
    assert_float_equal(bd_tensor_f32(&read)[0], 3, 0); // the reader's memory is the variable's
    bd_tensor_fini(&read);
    bd_tensor_ref(&read, &held); // a value that has another holder is copied
    bd_variable_assign(v, &held, st);
    assert_ok(st);
    assert_ptr_not_equal(v->tensor.data, held.data);
    assert_float_equal(first(v), 5, 0);
    bd_tensor_fini(&read);
    bd_tensor_fini(&held);
    // A value that its account may not keep is copied.
    bd_account *a = bd_account_new("alice", 4, 0);
    held = many_floats(6);
    const bd_account_turn turn = bd_account_enter(a);
    bd_variable_assign(v, &held, st);
    assert_ok(st);
    bd_account_leave(turn);
    bd_account_unref(a);
    assert_ptr_not_equal(v->tensor.data, held.data);
    assert_float_equal(first(v), 6, 0);
    bd_tensor_fini(&held);
    bd_resource_unref(&v->base);
}

static void an_assignment_may_change_the_shape_but_not_the_type(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_FLOAT, true);
    BD_STATUS(st);
    assign(v, 1, 2);
    braid_tensor scalar;
    assert_true(bd_tensor_alloc(&scalar, BRAID_FLOAT, &BD_SCALAR));
    bd_tensor_f32(&scalar)[0] = 9;
    bd_variable_assign(v, &scalar, st);
    assert_ok(st);
    bd_tensor_fini(&scalar);
    assert_int_equal(v->tensor.shape.rank, 0);
    assert_float_equal(first(v), 9, 0);
    braid_tensor number;
    assert_true(bd_tensor_alloc(&number, BRAID_INT32, &BD_SCALAR));
    bd_variable_assign(v, &number, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "a variable of type float cannot hold a value of type int32");
    bd_tensor_fini(&number);
    bd_resource_unref(&v->base);
}

static void a_string_variable_gets_strings_of_its_own(void **state)
{
    (void)state;
    bd_variable *v = bd_variable_new(BRAID_STRING, true);
    BD_STATUS(st);
    braid_tensor t, read;
    assert_true(bd_tensor_alloc(&t, BRAID_STRING, &BD_SCALAR));
    bd_tensor_string_set(&t, 0, "one", 3);
    bd_variable_assign(v, &t, st);
    assert_ok(st);
    assert_true(bd_variable_read(v, &read));
    bd_tensor_string_set(&t, 0, "two", 3);
    bd_variable_assign(v, &t, st);
    assert_ok(st);
    assert_memory_equal(bd_tensor_str(&read)[0].data, "one", 3);
    assert_memory_equal(bd_tensor_str(&v->tensor)[0].data, "two", 3);
    bd_tensor_fini(&t);
    bd_tensor_fini(&read);
    bd_resource_unref(&v->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_variable_has_no_value),
        cmocka_unit_test(the_value_of_a_variable_counts_against_an_account),
        cmocka_unit_test(a_reference_variable_is_written_in_place),
        cmocka_unit_test(a_value_read_from_a_resource_variable_never_changes),
        cmocka_unit_test(a_change_of_elements_waits_for_readers_of_rows_instead_of_copying),
        cmocka_unit_test(unshared_memory_is_taken_over),
        cmocka_unit_test(a_large_value_is_exchanged_for_memory_that_nobody_reads),
        cmocka_unit_test(an_assignment_may_change_the_shape_but_not_the_type),
        cmocka_unit_test(a_string_variable_gets_strings_of_its_own),
    };
    return BD_RUN_TESTS(tests);
}
