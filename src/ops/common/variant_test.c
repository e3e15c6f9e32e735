// Variants on their way through kernels: checked inputs, outputs, and ops that only move elements.
#include "ops/common/variant.h"

#include "base/testing/test.h"
#include "ops/common/element.h"

static int destroyed;

static void count_destroy(bd_variant *v)
{
    (void)v;
    destroyed++;
}

static const bd_variant_type list_type = {.name = "List", .destroy = count_destroy};
static const bd_variant_type dataset_type = {.name = "Dataset", .destroy = count_destroy};

static void expect_input(const braid_tensor *t, bd_variant *want, const char *error)
{
    braid_op node = {.name = "n", .op_type = "Op"};
    bd_value input = {0};
    bd_tensor_ref(&input.tensor, t);
    bd_op_ctx c = {.node = &node, .inputs = &input, .input_count = 1};
    assert_ptr_equal(bd_input_variant(&c, 0, &list_type), want);
    if (error) {
        assert_int_equal(c.status.code, BRAID_INVALID_ARGUMENT);
        assert_string_equal(c.status.message, error);
    }
    bd_status_fini(&c.status);
    bd_value_fini(&input);
}

static void an_input_of_another_type_is_refused(void **state)
{
    (void)state;
    bd_variant list, dataset;
    bd_variant_init(&list, &list_type);
    bd_variant_init(&dataset, &dataset_type);
    braid_tensor t;
    assert_true(bd_tensor_alloc(&t, BRAID_VARIANT, &BD_SCALAR));
    expect_input(&t, NULL, "Op 'n': input 0 must hold a value of type List, but holds an empty variant");
    bd_tensor_variant_set(&t, 0, &dataset);
    expect_input(&t, NULL, "Op 'n': input 0 must hold a value of type List, but holds Dataset");
    bd_tensor_variant_set(&t, 0, &list);
    expect_input(&t, &list, NULL);
    bd_tensor_reshape(&t, &t, &BRAID_SHAPE(1));
    expect_input(&t, NULL, "Op 'n': input 0 must be a scalar variant, but is variant[1]");
    bd_tensor_fini(&t);
    assert_int_equal(atomic_load(&list.refs), 1);
    assert_int_equal(atomic_load(&dataset.refs), 1);
}

static void an_output_owns_its_value(void **state)
{
    (void)state;
    bd_variant list;
    bd_variant_init(&list, &list_type);
    bd_value output = {0};
    bd_op_ctx c = {.outputs = &output, .output_count = 1};
    destroyed = 0;
    assert_true(bd_output_variant(&c, 0, &list));
    assert_ptr_equal(bd_tensor_variant(&output.tensor)[0], &list);
    bd_value_fini(&output);
    assert_int_equal(destroyed, 1);
}

static void elements_are_copied_and_freed(void **state)
{
    (void)state;
    bd_variant list;
    bd_variant_init(&list, &list_type);
    braid_tensor from, to, copy, view;
    assert_true(bd_tensor_alloc(&from, BRAID_VARIANT, &BRAID_SHAPE(3)));
    assert_true(bd_tensor_alloc(&to, BRAID_VARIANT, &BRAID_SHAPE(2)));
    bd_tensor_variant_set(&from, 1, &list);
    bd_elements_copy(&to, 0, &from, 0, 2);
    assert_null(bd_tensor_variant(&to)[0]);
    assert_ptr_equal(bd_tensor_variant(&to)[1], &list);
    assert_true(bd_tensor_snapshot(&copy, &to));
    bd_tensor_view(&view, &from, 1, &BD_SCALAR);
    assert_ptr_equal(bd_tensor_variant(&view)[0], &list);
    assert_int_equal(atomic_load(&list.refs), 4); // here, and in three tensors
    bd_tensor_fini(&from);
    bd_tensor_fini(&to);
    bd_tensor_fini(&copy);
    bd_tensor_fini(&view);
    assert_int_equal(atomic_load(&list.refs), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_of_another_type_is_refused),
        cmocka_unit_test(an_output_owns_its_value),
        cmocka_unit_test(elements_are_copied_and_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
