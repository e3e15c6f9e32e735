// Slices: text, keys as TensorFlow encodes them, extents, and copies against an element-wise model.
#include "io/tensor_slice.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"

static bd_tensor_slice slice_of(const char *text)
{
    BD_STATUS(st);
    bd_tensor_slice s;
    bd_tensor_slice_parse(text, strlen(text), &s, st);
    assert_ok(st);
    return s;
}

static void slices_print_as_they_parse(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "-", "0,1", "-:-:1,3:4,5", "9223372036854775806,1"};
    bd_strbuf out = {0};
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        bd_tensor_slice s = slice_of(texts[i]);
        bd_strbuf_clear(&out);
        bd_tensor_slice_print(&s, &out);
        assert_string_equal(bd_strbuf_str(&out), texts[i]);
    }
    bd_strbuf_fini(&out);
    assert_true(bd_tensor_slice_is_all(&(bd_tensor_slice){.rank = 0}));
    bd_tensor_slice all = slice_of("-:-"), made = bd_tensor_slice_all(2), part = slice_of("-:0,2");
    assert_true(bd_tensor_slice_equal(&all, &made));
    assert_true(bd_tensor_slice_is_all(&all));
    assert_false(bd_tensor_slice_is_all(&part));
    assert_false(bd_tensor_slice_equal(&all, &part));
}

static void malformed_slices_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char *const texts[] = {"x",   "1",    "1,",    ",1", "-1,2",
                                        "0,0", "0,-1", "1,2,3", "::", "0,99999999999999999999"};
    bd_tensor_slice s;
    for (size_t i = 0; i < BD_COUNTOF(texts); i++) {
        bd_tensor_slice_parse(texts[i], strlen(texts[i]), &s, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, texts[i]);
    }
    bd_tensor_slice_parse("-:-:-:-:-:-:-:-:-:-:-:-:-", 25, &s, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "more than 12 dimensions");
}

static void a_shape_and_slice_text_is_parsed(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_shape full, shape;
    bd_tensor_slice s;
    bd_shape_and_slice_parse("4 5 1,2:-", 9, &full, &s, &shape, st);
    assert_ok(st);
    assert_true(braid_shape_equal(full, BRAID_SHAPE(4, 5)));
    assert_true(braid_shape_equal(shape, BRAID_SHAPE(2, 5)));
    assert_int_equal(s.length[1], BD_EXTENT_ALL);
    static const char *const wrong[] = {"",         "4",        "4 5",
                                        "4 5 -",    "4 x -:-",  "4 5 3,2:-",
                                        "4 -1 -:-", "4  5 -:-", "4 5 0,9223372036854775807:-"};
    for (size_t i = 0; i < BD_COUNTOF(wrong); i++) {
        bd_shape_and_slice_parse(wrong[i], strlen(wrong[i]), &full, &s, &shape, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "");
    }
}

static void keys_have_the_encoding_of_tensorflow(void **state)
{
    (void)state;
    bd_strbuf key = {0}, name = {0};
    bd_tensor_slice s = slice_of("-:-:1,3:4,5"), back;
    bd_tensor_slice_key("foo", 3, &s, &key);
    // 0 | "foo" | 4 | (0, -1) (0, -1) (1, 3) (4, 5)
    static const char expected[] = "\0foo\0\1\1\4\x80\x7f\x80\x7f\x81\x83\x84\x85";
    assert_int_equal(key.len, sizeof expected - 1);
    assert_memory_equal(key.data, expected, key.len);
    assert_true(bd_tensor_slice_key_parse(key.data, key.len, &name, &back));
    assert_string_equal(bd_strbuf_str(&name), "foo");
    assert_true(bd_tensor_slice_equal(&s, &back));
    for (size_t cut = 0; cut < key.len; cut++)
        assert_false(bd_tensor_slice_key_parse(key.data, cut, &name, &back));
    bd_strbuf_append_char(&key, 'x');
    assert_false(bd_tensor_slice_key_parse(key.data, key.len, &name, &back));
    assert_false(bd_tensor_slice_key_parse("foo", 3, &name, &back));
    assert_false(bd_tensor_slice_key_parse("\0foo\0\1\0", 7, &name, &back)); // rank 0
    bd_strbuf_fini(&key);
    bd_strbuf_fini(&name);
}

static void a_slice_is_resolved_in_its_shape(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_shape full = BRAID_SHAPE(4, 5);
    bd_tensor_slice s = slice_of("1,3:-"), r;
    bd_tensor_slice_resolve(&s, &full, &r, st);
    assert_ok(st);
    assert_int_equal(bd_tensor_slice_count(&r), 15);
    static const char *const wrong[] = {"2,3:-", "-", "-:-:-", "4,1:-", "9223372036854775807,1:-"};
    for (size_t i = 0; i < BD_COUNTOF(wrong); i++) {
        s = slice_of(wrong[i]);
        bd_tensor_slice_resolve(&s, &full, &r, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "is not in a tensor of shape [4,5]");
    }
}

// ---- Against a model ----

static bd_tensor_slice random_slice(bd_rng *rng, const braid_shape *full)
{
    bd_tensor_slice s = {.rank = full->rank};
    for (int d = 0; d < full->rank; d++) {
        s.start[d] = (int64_t)bd_rng_below(rng, (uint64_t)full->dims[d]);
        s.length[d] = 1 + (int64_t)bd_rng_below(rng, (uint64_t)(full->dims[d] - s.start[d]));
        if (bd_rng_below(rng, 3) == 0) {
            s.start[d] = 0;
            s.length[d] = full->dims[d];
        }
    }
    return s;
}

// The number of element `i` of a slice, counted in the whole tensor.
static int64_t global_index(const bd_tensor_slice *s, const braid_shape *full, int64_t i)
{
    int64_t index = 0, scale = 1;
    for (int d = full->rank - 1; d >= 0; d--) {
        index += (s->start[d] + i % s->length[d]) * scale;
        i /= s->length[d];
        scale *= full->dims[d];
    }
    return index;
}

static void copies_match_an_element_wise_model(void **state)
{
    (void)state;
    bd_rng rng = bd_rng_init(1);
    int runs = 0, apart = 0;
    for (int round = 0; round < 3000; round++) {
        braid_shape full = {.rank = (int)bd_rng_below(&rng, 5)};
        for (int d = 0; d < full.rank; d++)
            full.dims[d] = 1 + (int64_t)bd_rng_below(&rng, 4);
        bd_tensor_slice a = random_slice(&rng, &full), b = random_slice(&rng, &full), common;
        int64_t a_count = bd_tensor_slice_count(&a), b_count = bd_tensor_slice_count(&b), shared = 0, first;
        int32_t *from = bd_malloc((size_t)a_count * sizeof *from),
                *to = bd_calloc((size_t)b_count, sizeof *to);
        bool *in_a = bd_calloc((size_t)bd_shape_count(&full), 1);
        for (int64_t i = 0; i < a_count; i++) {
            from[i] = (int32_t)global_index(&a, &full, i) + 1;
            in_a[from[i] - 1] = true;
        }
        bool touch = bd_tensor_slice_intersect(&a, &b, &common);
        if (touch) bd_tensor_slice_copy(&common, from, &a, to, &b, sizeof *from);
        for (int64_t i = 0; i < b_count; i++) {
            int64_t index = global_index(&b, &full, i);
            assert_int_equal(to[i], in_a[index] ? index + 1 : 0);
            shared += in_a[index];
        }
        assert_int_equal(touch, shared > 0);
        apart += !touch;
        if (touch) {
            assert_int_equal(bd_tensor_slice_count(&common), shared);
            if (bd_tensor_slice_is_run(&b, &common, &first)) {
                runs++;
                for (int64_t i = 0; i < shared; i++)
                    assert_int_equal(to[first + i], global_index(&common, &full, i) + 1);
            }
        }
        bd_free(from);
        bd_free(to);
        bd_free(in_a);
    }
    assert_true(runs > 100 && apart > 100);
}

static void rows_are_contiguous_and_columns_are_not(void **state)
{
    (void)state;
    bd_tensor_slice whole = slice_of("0,4:0,5"), rows = slice_of("1,2:0,5"), columns = slice_of("0,4:1,2");
    bd_tensor_slice part_of_row = slice_of("3,1:1,2");
    int64_t first;
    assert_true(bd_tensor_slice_is_run(&whole, &rows, &first));
    assert_int_equal(first, 5);
    assert_false(bd_tensor_slice_is_run(&whole, &columns, &first));
    assert_true(bd_tensor_slice_is_run(&whole, &part_of_row, &first));
    assert_int_equal(first, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_print_as_they_parse),
        cmocka_unit_test(malformed_slices_are_refused),
        cmocka_unit_test(a_shape_and_slice_text_is_parsed),
        cmocka_unit_test(keys_have_the_encoding_of_tensorflow),
        cmocka_unit_test(a_slice_is_resolved_in_its_shape),
        cmocka_unit_test(copies_match_an_element_wise_model),
        cmocka_unit_test(rows_are_contiguous_and_columns_are_not),
    };
    return BD_RUN_TESTS(tests);
}
