// Reading checkpoints without a graph.
#include "base/testing/test.h"

#include "io/checkpoint_state.h"
#include "io/checkpoint_v1.h"
#include "io/testing/bundle_case.h"
#include <braid/checkpoint.h>
#include <braid/checkpoint_reader.h>

static braid_checkpoint_reader *open_reader(const char *prefix_or_dir)
{
    BD_STATUS(st);
    braid_checkpoint_reader *r = braid_checkpoint_reader_open(prefix_or_dir, st);
    assert_ok(st);
    assert_non_null(r);
    return r;
}

// Checks that the tensor is of floats that count from `first`.
static void expect_floats(braid_checkpoint_reader *r, const char *name, braid_shape shape, float first)
{
    BD_STATUS(st);
    const braid_checkpoint_entry *e = braid_checkpoint_reader_find(r, name);
    assert_non_null(e);
    assert_string_equal(e->name, name);
    assert_int_equal(e->dtype, BRAID_FLOAT);
    assert_true(braid_shape_equal(e->shape, shape));
    braid_tensor *t = braid_checkpoint_reader_read(r, name, st);
    assert_ok(st);
    assert_true(braid_shape_equal(braid_tensor_shape(t), shape));
    for (int64_t i = 0; i < braid_tensor_num_elements(t); i++)
        assert_true(((const float *)braid_tensor_data(t))[i] == first + (float)i);
    braid_tensor_free(t);
}

static void write_bundle(const char *prefix)
{
    bd_bundle_writer *w = bd_case_open_writer(prefix);
    bd_case_add_floats(w, "w", BRAID_SHAPE(2, 2), 7);
    bd_case_add_part(w, "emb/table", BRAID_SHAPE(5, 2), "0,3:-");
    bd_case_add_part(w, "emb/table", BRAID_SHAPE(5, 2), "3,2:-");
    bd_case_add_floats(w, "emb-x", BRAID_SCALAR, 1);
    bd_case_finish(w);
}

static void expect_names(const braid_checkpoint_reader *r, const char *const *names, int count)
{
    int got;
    const braid_checkpoint_entry *entries = braid_checkpoint_reader_list(r, &got);
    assert_int_equal(got, count);
    for (int i = 0; i < count; i++)
        assert_string_equal(entries[i].name, names[i]);
}

static void tensors_are_listed_by_name_and_read_whole(void **state)
{
    (void)state;
    write_bundle("/model/m-1");
    braid_checkpoint_reader *r = open_reader("/model/m-1");
    assert_string_equal(braid_checkpoint_reader_prefix(r), "/model/m-1");
    expect_names(r, (const char *const[]){"emb-x", "emb/table", "w"}, 3);
    expect_floats(r, "w", BRAID_SHAPE(2, 2), 7);
    expect_floats(r, "emb/table", BRAID_SHAPE(5, 2), 0);
    assert_null(braid_checkpoint_reader_find(r, "emb"));
    assert_null(braid_checkpoint_reader_find(r, NULL));
    braid_checkpoint_reader_close(r);
}

static void the_first_format_is_listed_too(void **state)
{
    (void)state;
    BD_STATUS(st);
    const braid_shape full = BRAID_SHAPE(4, 2);
    braid_tensor upper = bd_case_floats(BRAID_SHAPE(1, 2), 0), lower = bd_case_floats(BRAID_SHAPE(3, 2), 2);
    const bd_saved_slice slices[] = {
        {.name = "v", .full = full, .slice = bd_case_slice_of("0,1:-"), .tensor = &upper},
        {.name = "v", .full = full, .slice = bd_case_slice_of("1,3:-"), .tensor = &lower},
        {.name = "a", .full = lower.shape, .slice = bd_case_slice_of("-:-"), .tensor = &lower}};
    bd_checkpoint_v1_write(bd_fs_current, "/old", slices, BD_COUNTOF(slices), NULL, NULL, st);
    assert_ok(st);
    braid_checkpoint_reader *r = open_reader("/old");
    expect_names(r, (const char *const[]){"a", "v"}, 2);
    expect_floats(r, "v", full, 0);
    expect_floats(r, "a", BRAID_SHAPE(3, 2), 2);
    braid_checkpoint_reader_close(r);
    bd_tensor_fini(&upper);
    bd_tensor_fini(&lower);
}

static void the_newest_checkpoint_of_a_directory_is_opened(void **state)
{
    (void)state;
    BD_STATUS(st);
    write_bundle("/model/m-1");
    bd_case_write_published("/model/m-2");
    braid_checkpoint_record("/model/m-1", NULL, st);
    braid_checkpoint_record("/model/m-2", NULL, st);
    assert_ok(st);
    braid_checkpoint_reader *r = open_reader("/model");
    assert_string_equal(braid_checkpoint_reader_prefix(r), "/model/m-2");
    expect_names(r, (const char *const[]){"a", "b", "c"}, 3);
    expect_floats(r, "c", BRAID_SCALAR, 3);
    braid_checkpoint_reader_close(r);
}

static void a_prefix_is_opened_where_it_is_a_directory_too(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_dir_make(bd_fs_current, "/model", st);
    assert_ok(st);
    write_bundle("/model/");
    braid_checkpoint_reader *r = open_reader("/model/");
    assert_string_equal(braid_checkpoint_reader_prefix(r), "/model/");
    braid_checkpoint_reader_close(r);
}

static void expect_no_reader(const char *prefix_or_dir, braid_code code, const char *words)
{
    BD_STATUS(st);
    assert_null(braid_checkpoint_reader_open(prefix_or_dir, st));
    assert_error(st, code, words);
}

static void errors_name_the_checkpoint(void **state)
{
    (void)state;
    BD_STATUS(st);
    expect_no_reader(NULL, BRAID_INVALID_ARGUMENT, "needs a prefix or a directory");
    expect_no_reader("", BRAID_INVALID_ARGUMENT, "needs a prefix or a directory");
    expect_no_reader("/nowhere/m-1", BRAID_NOT_FOUND, "Failed to find any matching files for /nowhere/m-1");
    write_bundle("/model/m-1");
    expect_no_reader("/model", BRAID_NOT_FOUND,
                     "Couldn't find 'checkpoint' file or checkpoints in given directory /model");
    bd_checkpoint_state_write(bd_fs_current, "/model", NULL,
                              &(bd_checkpoint_state){.latest = (char *)"/model/m-9"}, false, st);
    assert_ok(st);
    expect_no_reader("/model", BRAID_NOT_FOUND, "Failed to find any matching files for /model/m-9");
    expect_no_reader("/model/m-1.data-00000-of-00001", BRAID_DATA_LOSS, "/model/m-1.data-00000-of-00001");
    braid_checkpoint_reader *r = open_reader("/model/m-1");
    assert_null(braid_checkpoint_reader_read(r, "x", st));
    assert_error(st, BRAID_NOT_FOUND, "Key x not found in checkpoint /model/m-1");
    braid_checkpoint_reader_close(r);
}

static void missing_slices_are_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_bundle_writer *w = bd_case_open_writer("/m");
    bd_case_add_part(w, "t", BRAID_SHAPE(5, 2), "0,3:-");
    bd_case_finish(w);
    braid_checkpoint_reader *r = open_reader("/m");
    assert_null(braid_checkpoint_reader_read(r, "t", st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "t");
    braid_checkpoint_reader_close(r);
}

#define WITH_DISK(fn) cmocka_unit_test_setup_teardown(fn, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DISK(tensors_are_listed_by_name_and_read_whole),
        WITH_DISK(the_first_format_is_listed_too),
        WITH_DISK(the_newest_checkpoint_of_a_directory_is_opened),
        WITH_DISK(a_prefix_is_opened_where_it_is_a_directory_too),
        WITH_DISK(errors_name_the_checkpoint),
        WITH_DISK(missing_slices_are_an_error),
    };
    return BD_RUN_TESTS(tests);
}
