// Tests of partitioned tensors in bundles: written in some slices, read in others.
#include "io/bundle.h"

#include "base/testing/test.h"
#include "io/testing/bundle_case.h"

// ---- Slices ----

static void slices_are_put_together(void **state)
{
    (void)state;
    braid_shape full = BRAID_SHAPE(6, 4, 5);
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_case_add_part(w, "rows", full, "0,1:-:-");
    bd_case_add_part(w, "rows", full, "1,3:-:-");
    bd_case_add_part(w, "rows", full, "4,2:-:-");
    bd_case_add_part(w, "columns", full, "-:-:0,2");
    bd_case_add_part(w, "columns", full, "-:-:2,3");
    bd_case_add_part(w, "blocks", full, "0,3:0,2:-");
    bd_case_add_part(w, "blocks", full, "0,3:2,2:-");
    bd_case_add_part(w, "blocks", full, "3,3:0,4:0,5"); // the whole dimensions, given by numbers
    bd_case_add_part(w, "whole", full, "-:-:-");
    bd_case_add_part(w, "also_whole", full, "0,6:0,4:0,5");
    bd_case_finish(w);
    static const char *const names[] = {"rows", "columns", "blocks", "whole", "also_whole"};
    static const char *const wanted[] = {"-:-:-",       "0,1:-:-",     "1,3:-:-",
                                         "0,6:0,4:0,5", "2,3:1,2:1,3", "5,1:3,1:4,1"};
    bd_bundle *b = bd_case_open_bundle("/v");
    for (size_t i = 0; i < BD_COUNTOF(names); i++) {
        bd_case_expect_floats(b, names[i], full, 0);
        for (size_t k = 0; k < BD_COUNTOF(wanted); k++)
            bd_case_expect_part(b, names[i], full, wanted[k]);
    }
    bd_bundle_close(b);
}

static void slices_of_strings_are_put_together(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_shape full = BRAID_SHAPE(4);
    braid_tensor t, back;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    for (int part = 0; part < 2; part++) {
        bd_tensor_slice s = bd_case_slice_of(part ? "2,2" : "0,2");
        bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(2), st);
        bd_tensor_string_set(&t, 0, part ? "c" : "a", 1);
        bd_tensor_string_set(&t, 1, part ? "dd" : "bb", 2);
        bd_bundle_add_slice(w, "s", &full, &s, &t, st);
        assert_ok(st);
        bd_tensor_fini(&t);
    }
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_tensor_slice middle = bd_case_slice_of("1,2");
    bd_bundle_read_slice(b, "s", &middle, &back, st);
    assert_ok(st);
    assert_memory_equal(bd_tensor_str(&back)[0].data, "bb", 2);
    assert_memory_equal(bd_tensor_str(&back)[1].data, "c", 1);
    bd_tensor_fini(&back);
    bd_bundle_close(b);
}

static void slices_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_shape full = BRAID_SHAPE(4, 5), other = BRAID_SHAPE(5, 5);
    bd_tensor_slice first = bd_case_slice_of("0,2:-"), beyond = bd_case_slice_of("3,2:-"),
                    second = bd_case_slice_of("2,2:-");
    braid_tensor t = bd_case_floats(BRAID_SHAPE(2, 5), 0), wrong = bd_case_floats(BRAID_SHAPE(3, 5), 0), back;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_bundle_add_slice(w, "p", &full, &beyond, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "tensor p: slice '3,2:-' is not in a tensor of shape [4,5]");
    bd_bundle_add_slice(w, "p", &full, &first, &wrong, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "tensor p has shape [3,5], but the slice that it is saved as has shape [2,5]");
    bd_bundle_add_slice(w, "p", &full, &first, &t, st);
    assert_ok(st);
    bd_bundle_add_slice(w, "p", &full, &first, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Adding duplicate key: p slice 0,2:-");
    bd_bundle_add_slice(w, "p", &other, &second, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "slices of p in /v differ: float [4,5] and float [5,5]");
    bd_bundle_add(w, "p", &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Adding duplicate key: p");
    bd_bundle_add(w, "", &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "without a name");
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_case_expect_part(b, "p", full, "1,1:2,2"); // stored elements can be read
    bd_bundle_read_slice(b, "p", &second, &back, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Does not have sufficient slices for partitioned tensor p to restore");
    bd_bundle_read(b, "p", &back, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Does not have sufficient slices");
    bd_bundle_read_slice(b, "p", &beyond, &back, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "is not in a tensor of shape [4,5]");
    bd_bundle_close(b);
    bd_tensor_fini(&t);
    bd_tensor_fini(&wrong);
}

static void overlapping_slices_are_refused(void **state)
{
    (void)state;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_case_add_part(w, "p", BRAID_SHAPE(4), "0,2");
    bd_case_add_part(w, "p", BRAID_SHAPE(4), "1,2");
    bd_case_finish(w);
    bd_case_expect_read_error("/v", "p", BRAID_DATA_LOSS, "Overlapping slices for partitioned tensor p");
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown((test), bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(slices_are_put_together),
        ON_DISK(slices_of_strings_are_put_together),
        ON_DISK(slices_that_do_not_fit_are_refused),
        ON_DISK(overlapping_slices_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
