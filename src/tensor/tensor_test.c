// Tensors: making, copying, printing, and the public functions.
#include "tensor/tensor.h"

#include "base/alloc.h"
#include "base/check.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

static const braid_dtype plain_types[] = {BRAID_FLOAT,      BRAID_DOUBLE, BRAID_INT32,     BRAID_UINT8,
                                          BRAID_INT16,      BRAID_INT8,   BRAID_COMPLEX64, BRAID_INT64,
                                          BRAID_BOOL,       BRAID_QINT8,  BRAID_QUINT8,    BRAID_QINT32,
                                          BRAID_BFLOAT16,   BRAID_QINT16, BRAID_QUINT16,   BRAID_UINT16,
                                          BRAID_COMPLEX128, BRAID_HALF,   BRAID_UINT32,    BRAID_UINT64};

static void expect_text(const braid_tensor *t, int max, const char *text)
{
    bd_strbuf out = {0};
    bd_tensor_print(t, max, &out);
    assert_string_equal(bd_strbuf_str(&out), text);
    bd_strbuf_fini(&out);
}

static void tensors_have_their_type_and_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(plain_types); i++) {
        BD_STATUS(st);
        braid_tensor t;
        assert_int_equal(bd_tensor_init(&t, plain_types[i], &BRAID_SHAPE(2, 3), st), BRAID_OK);
        assert_int_equal(bd_tensor_count(&t), 6);
        assert_int_equal(bd_tensor_bytes(&t), 6 * braid_dtype_size(plain_types[i]));
        memset(t.data, 1, bd_tensor_bytes(&t));
        bd_tensor_fini(&t);
        assert_false(bd_tensor_is_set(&t));
        bd_tensor_fini(&t); // again is fine
    }
}

static void init_refuses(void **state)
{
    (void)state;
    static const struct {
        braid_dtype dtype;
        braid_shape shape;
        braid_code code;
        const char *words;
    } rows[] = {
        {BRAID_INVALID, {.rank = 0}, BRAID_INVALID_ARGUMENT, "elements of type invalid"},
        {(braid_dtype)121, {.rank = 0}, BRAID_INVALID_ARGUMENT, "elements of type variant_ref"},
        {BRAID_VARIANT, {.rank = 1, .dims = {(int64_t)1 << 61}}, BRAID_RESOURCE_EXHAUSTED, "is too large"},
        {(braid_dtype)101, {.rank = 0}, BRAID_INVALID_ARGUMENT, "elements of type float_ref"},
        {(braid_dtype)77, {.rank = 0}, BRAID_INVALID_ARGUMENT, "elements of type invalid"},
        {BRAID_FLOAT, {.rank = -1}, BRAID_INVALID_ARGUMENT, "not fully known"},
        {BRAID_FLOAT, {.rank = 1, .dims = {-1}}, BRAID_INVALID_ARGUMENT, "shape [?] is not fully known"},
        {BRAID_FLOAT, {.rank = 99}, BRAID_INVALID_ARGUMENT, "99 dimensions"},
        {BRAID_DOUBLE, {.rank = 1, .dims = {(int64_t)1 << 61}}, BRAID_RESOURCE_EXHAUSTED, "is too large"},
        {BRAID_STRING, {.rank = 1, .dims = {(int64_t)1 << 60}}, BRAID_RESOURCE_EXHAUSTED, "is too large"},
        {BRAID_FLOAT,
         {.rank = 1, .dims = {(int64_t)1 << 50}},
         BRAID_RESOURCE_EXHAUSTED,
         "out of memory for a float tensor of shape [1125899906842624]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_tensor t;
        assert_int_equal(bd_tensor_init(&t, rows[i].dtype, &rows[i].shape, st), rows[i].code);
        if (!strstr(st->message, rows[i].words)) fail_msg("%s: no '%s'", st->message, rows[i].words);
        assert_false(bd_tensor_is_set(&t));
        bd_tensor_fini(&t);
    }
}

// More bytes than size_t counts, of a number of elements that fits and of one that does not: no product may
// wrap around.
static void alloc_refuses(void **state)
{
    (void)state;
    braid_tensor t;
    const braid_shape shapes[] = {bd_shape1(((int64_t)1 << 61) + 1), BRAID_SHAPE(((int64_t)1 << 61) + 1, 8)};
    for (size_t i = 0; i < BD_COUNTOF(shapes); i++) {
        assert_false(bd_tensor_alloc(&t, BRAID_INT64, &shapes[i]));
        assert_false(bd_tensor_is_set(&t));
    }
}

static void strings_are_copied_and_freed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, copy, second;
    assert_int_equal(bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(3), st), BRAID_OK);
    for (int i = 0; i < 3; i++) {
        assert_null(bd_tensor_str(&t)[i].data);
        assert_int_equal(bd_tensor_str(&t)[i].len, 0);
    }
    bd_tensor_string_set(&t, 0, "a\0b", 3);
    bd_tensor_string_set(&t, 2, "first", 5);
    bd_tensor_string_set(&t, 2, "second", 6);
    assert_int_equal(bd_tensor_bytes(&t), 9);
    assert_int_equal(bd_tensor_clone(&copy, &t, st), BRAID_OK);
    bd_tensor_ref(&second, &t);
    assert_ptr_equal(second.data, t.data);
    bd_tensor_fini(&t);
    expect_text(&second, 9, "string[3] [\"a\\000b\" \"\" \"second\"]");
    bd_tensor_fini(&second);
    assert_memory_equal(bd_tensor_str(&copy)[0].data, "a\0b", 3);
    expect_text(&copy, 1, "string[3] [\"a\\000b\"]...");
    bd_tensor_fini(&copy);
}

static void handles_are_copied_and_freed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, copy;
    assert_int_equal(bd_tensor_init(&t, BRAID_RESOURCE, &BRAID_SCALAR, st), BRAID_OK);
    *bd_tensor_handle(&t) =
        (bd_resource_handle){.name = bd_strdup("v"), .type_name = bd_strdup("Var"), .hash_code = 5};
    assert_int_equal(bd_tensor_clone(&copy, &t, st), BRAID_OK);
    bd_tensor_fini(&t);
    assert_string_equal(bd_tensor_handle(&copy)->name, "v");
    assert_null(bd_tensor_handle(&copy)->device);
    assert_int_equal(bd_tensor_handle(&copy)->hash_code, 5);
    expect_text(&copy, 1, "resource[] [<Var v>]");
    bd_tensor_fini(&copy);
}

// A variant that counts its instances.
struct counted {
    bd_variant base;
    int *alive;
};

static void counted_destroy(bd_variant *v)
{
    struct counted *c = BD_CONTAINER_OF(v, struct counted, base);
    --*c->alive;
    bd_free(c);
}

static const bd_variant_type counted_type = {.name = "Counted", .destroy = counted_destroy};

static bd_variant *counted_new(int *alive)
{
    struct counted *c = bd_malloc(sizeof *c);
    bd_variant_init(&c->base, &counted_type);
    c->alive = alive;
    ++*alive;
    return &c->base;
}

static void variants_are_copied_and_freed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, copy, second;
    int alive = 0;
    assert_int_equal(bd_tensor_init(&t, BRAID_VARIANT, &BRAID_SHAPE(3), st), BRAID_OK);
    for (int i = 0; i < 3; i++)
        assert_null(bd_tensor_variant(&t)[i]);
    bd_variant *a = counted_new(&alive), *b = counted_new(&alive);
    bd_tensor_variant_set(&t, 0, a);
    bd_tensor_variant_set(&t, 0, a); // itself again
    bd_tensor_variant_set(&t, 2, b);
    bd_variant_unref(a);
    bd_variant_unref(b);
    assert_int_equal(alive, 2);
    assert_int_equal(bd_tensor_bytes(&t), 0);
    expect_text(&t, 9, "variant[3] [<Counted> <an empty variant> <Counted>]");
    assert_int_equal(bd_tensor_clone(&copy, &t, st), BRAID_OK);
    assert_ptr_equal(bd_tensor_variant(&copy)[2], b);
    bd_tensor_ref(&second, &t);
    bd_tensor_variant_set(&t, 0, NULL); // the copy still has it
    assert_int_equal(alive, 2);
    bd_tensor_fini(&t);
    bd_tensor_fini(&copy);
    assert_int_equal(alive, 1);
    bd_tensor_fini(&second);
    assert_int_equal(alive, 0);
}

// A variant that holds another one.
struct nested {
    bd_variant base;
    bd_variant *inner;
};

static void nested_destroy(bd_variant *v)
{
    struct nested *n = BD_CONTAINER_OF(v, struct nested, base);
    bd_variant_unref(n->inner);
    bd_free(n);
}

// Deeper than any stack.
static void deep_variants_are_freed_without_recursion(void **state)
{
    (void)state;
    static const bd_variant_type type = {.name = "Nested", .destroy = nested_destroy};
    int alive = 0;
    bd_variant *outer = counted_new(&alive);
    for (int i = 0; i < 1000000; i++) {
        struct nested *n = bd_malloc(sizeof *n);
        bd_variant_init(&n->base, &type);
        n->inner = outer;
        outer = &n->base;
    }
    bd_variant_unref(outer);
    assert_int_equal(alive, 0);
}

static void clones_and_reshaped_tensors_share_memory(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, copy, flat;
    bd_tensor_init(&t, BRAID_INT32, &BRAID_SHAPE(2, 3), st);
    for (int i = 0; i < 6; i++)
        bd_tensor_i32(&t)[i] = i;
    assert_int_equal(bd_tensor_clone(&copy, &t, st), BRAID_OK);
    assert_ptr_not_equal(copy.data, t.data);
    bd_tensor_reshape(&flat, &t, &BRAID_SHAPE(6));
    assert_ptr_equal(flat.data, t.data);
    assert_false(bd_buffer_is_unique(t.buffer));
    bd_tensor_reshape(&t, &t, &BRAID_SHAPE(3, 2)); // in place
    expect_text(&t, 6, "int32[3,2] [0 1 2 3 4 5]");
    expect_text(&flat, 3, "int32[6] [0 1 2]...");
    expect_text(&copy, 6, "int32[2,3] [0 1 2 3 4 5]");
    assert_int_equal(bd_tensor_index(&copy, 4), 4);
    bd_tensor_fini(&t);
    bd_tensor_fini(&flat);
    bd_tensor_fini(&copy);
}

static void print(void **state)
{
    (void)state;
    const struct {
        braid_dtype dtype;
        int count;
        const void *data;
        const char *text;
    } rows[] = {
        {BRAID_FLOAT, 5, (float[]){0.1f, -2, 1e10f, 16777216, 0}, "float[5] [0.1 -2 1e+10 16777216 0]"},
        {BRAID_DOUBLE, 2, (double[]){0.1, 1.0 / 3}, "double[2] [0.1 0.33333333333333331]"},
        {BRAID_HALF, 5, (uint16_t[]){0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555}, NULL},
        {BRAID_BFLOAT16, 2, (uint16_t[]){0x3f80, 0xc000}, "bfloat16[2] [1 -2]"},
        {BRAID_INT64, 2, (int64_t[]){INT64_MIN, 7}, "int64[2] [-9223372036854775808 7]"},
        {BRAID_UINT64, 1, (uint64_t[]){UINT64_MAX}, "uint64[1] [18446744073709551615]"},
        {BRAID_UINT32, 1, (uint32_t[]){UINT32_MAX}, "uint32[1] [4294967295]"},
        {BRAID_INT16, 1, (int16_t[]){-3}, "int16[1] [-3]"},
        {BRAID_UINT16, 1, (uint16_t[]){65535}, "uint16[1] [65535]"},
        {BRAID_INT8, 1, (int8_t[]){-3}, "int8[1] [-3]"},
        {BRAID_UINT8, 1, (uint8_t[]){200}, "uint8[1] [200]"},
        {BRAID_QINT32, 1, (int32_t[]){-3}, "qint32[1] [-3]"},
        {BRAID_BOOL, 2, (bool[]){true, false}, "bool[2] [true false]"},
        {BRAID_COMPLEX64, 1, (float[]){1, -0.5f}, "complex64[1] [(1,-0.5)]"},
        {BRAID_COMPLEX128, 1, (double[]){1, -0.5}, "complex128[1] [(1,-0.5)]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_tensor t;
        bd_tensor_init(&t, rows[i].dtype, &BRAID_SHAPE(rows[i].count), st);
        memcpy(t.data, rows[i].data, bd_tensor_bytes(&t));
        expect_text(&t, 9, rows[i].text ? rows[i].text : "half[5] [1 -2 5.96046e-08 inf 0.333252]");
        bd_tensor_fini(&t);
    }
    expect_text(&(braid_tensor){0}, 3, "no tensor");
}

static void rows_are_printed_in_brackets(void **state)
{
    (void)state;
    static const struct {
        braid_shape shape;
        int64_t max;
        const char *text;
    } rows[] = {
        {{0}, -1, "0"},
        {{0}, 0, "..."},
        {{2, {2, 3}}, -1, "[[0 1 2]\n [3 4 5]]"},
        {{2, {2, 3}}, 4, "[[0 1 2]\n [3 ...]]"},
        {{3, {2, 1, 2}}, -1, "[[[0 1]]\n [[2 3]]]"},
        {{3, {1, 2, 2}}, -1, "[[[0 1]\n  [2 3]]]"},
        {{1, {3}}, 0, "[...]"},
        {{2, {3, 0}}, -1, "[[]]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        braid_tensor *t = braid_tensor_new(BRAID_INT32, rows[i].shape, NULL);
        for (int k = 0; k < (int)braid_tensor_num_elements(t); k++)
            ((int32_t *)braid_tensor_data(t))[k] = k;
        char *text = braid_tensor_text(t, rows[i].max);
        assert_string_equal(text, rows[i].text);
        free(text);
        braid_tensor_free(t);
    }
    char *shape = braid_shape_text(BRAID_SHAPE(2, -1));
    assert_string_equal(shape, "[2,?]");
    free(shape);
}

// ---- Public functions ----

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void public_functions_make_tensors(void **state)
{
    (void)state;
    braid_status *status = braid_status_new();
    float values[] = {1, 2, 3, 4, 5, 6};
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(2, 3), values, status);
    assert_non_null(t);
    assert_int_equal(braid_tensor_dtype(t), BRAID_FLOAT);
    assert_true(braid_shape_equal(braid_tensor_shape(t), BRAID_SHAPE(2, 3)));
    assert_int_equal(braid_tensor_num_elements(t), 6);
    assert_int_equal(braid_tensor_bytes(t), sizeof values);
    assert_memory_equal(braid_tensor_data(t), values, sizeof values);
    assert_true(braid_tensor_is_exclusive(t));
    braid_tensor *copy = braid_tensor_copy(t);
    assert_false(braid_tensor_is_exclusive(t));
    braid_tensor_free(t);
    assert_true(braid_tensor_is_exclusive(copy));
    assert_memory_equal(braid_tensor_data(copy), values, sizeof values);
    braid_tensor_free(copy);
    braid_tensor_free(NULL);

    int calls = 0;
    t = braid_tensor_borrow(BRAID_FLOAT, BRAID_SHAPE(6), values, count_call, &calls, status);
    assert_ptr_equal(braid_tensor_data(t), values);
    assert_false(braid_tensor_is_exclusive(t));
    braid_tensor_free(t);
    assert_int_equal(calls, 1);
    t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(0, 3), NULL, status);
    assert_int_equal(braid_tensor_bytes(t), 0);
    braid_tensor_free(t);
    braid_status_free(status);
}

static void public_functions_make_scalars(void **state)
{
    (void)state;
    braid_tensor *f = braid_tensor_float(2.5f), *i = braid_tensor_int32(-3),
                 *l = braid_tensor_int64(1LL << 40), *b = braid_tensor_bool(true),
                 *s = braid_tensor_string("text");
    expect_text(f, 1, "float[] [2.5]");
    expect_text(i, 1, "int32[] [-3]");
    expect_text(l, 1, "int64[] [1099511627776]");
    expect_text(b, 1, "bool[] [true]");
    expect_text(s, 1, "string[] [\"text\"]");
    size_t len;
    assert_memory_equal(braid_tensor_string_at(s, 0, &len), "text", 4);
    assert_int_equal(len, 4);
    assert_int_equal(braid_tensor_bytes(s), 0);
    braid_tensor_set_string(s, 0, "", 0);
    assert_string_equal(braid_tensor_string_at(s, 0, NULL), "");
    braid_tensor *all[] = {f, i, l, b, s};
    for (size_t k = 0; k < BD_COUNTOF(all); k++)
        braid_tensor_free(all[k]);
}

static void public_functions_check_their_arguments(void **state)
{
    (void)state;
    braid_status *status = braid_status_new();
    assert_null(braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(-1, 2), status));
    assert_int_equal(braid_status_code(status), BRAID_INVALID_ARGUMENT);
    assert_null(braid_tensor_from(BRAID_STRING, BRAID_SHAPE(1), "x", status));
    assert_non_null(strstr(braid_status_message(status), "string are no plain bytes"));
    assert_null(braid_tensor_borrow((braid_dtype)101, BRAID_SHAPE(1), status, NULL, NULL, status));
    assert_int_equal(braid_status_code(status), BRAID_INVALID_ARGUMENT);
    assert_null(braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE((int64_t)1 << 55), status));
    assert_int_equal(braid_status_code(status), BRAID_RESOURCE_EXHAUSTED);
    assert_null(braid_tensor_new(BRAID_VARIANT, BRAID_SCALAR, NULL));
    braid_status_free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_their_type_and_shape),
        cmocka_unit_test(init_refuses),
        cmocka_unit_test(alloc_refuses),
        cmocka_unit_test(strings_are_copied_and_freed),
        cmocka_unit_test(handles_are_copied_and_freed),
        cmocka_unit_test(variants_are_copied_and_freed),
        cmocka_unit_test(deep_variants_are_freed_without_recursion),
        cmocka_unit_test(clones_and_reshaped_tensors_share_memory),
        cmocka_unit_test(print),
        cmocka_unit_test(rows_are_printed_in_brackets),
        cmocka_unit_test(public_functions_make_tensors),
        cmocka_unit_test(public_functions_make_scalars),
        cmocka_unit_test(public_functions_check_their_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
