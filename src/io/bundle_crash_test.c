// Power cuts and failing disks at every call: a bundle is the old one or the new one, never a mixture.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"

#define SHAPE BRAID_SHAPE(100)

// A bundle of two tensors whose elements count from `first`.
static braid_code save(const char *prefix, float first, braid_status *st)
{
    bd_bundle_writer *w;
    braid_code code = bd_bundle_writer_open(bd_fs_current, prefix, NULL, &w, st);
    if (code) return code;
    braid_tensor t = bd_case_floats(SHAPE, first);
    code = bd_bundle_add(w, "x", &t, st);
    if (!code) code = bd_bundle_add(w, "y", &t, st);
    if (!code) code = bd_bundle_finish(w, st);
    bd_tensor_fini(&t);
    bd_bundle_writer_free(w);
    return code;
}

// The first element of the bundle, which must be whole; -1 when there is no bundle.
static float saved(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle *b;
    braid_tensor t;
    if (bd_bundle_open(bd_fs_current, prefix, &b, st) == BRAID_NOT_FOUND) return -1;
    assert_ok(st);
    bd_bundle_read(b, "x", &t, st);
    assert_ok(st);
    float first = bd_tensor_f32(&t)[0];
    bd_tensor_fini(&t);
    bd_case_expect_floats(b, "x", SHAPE, first);
    bd_case_expect_floats(b, "y", SHAPE, first);
    bd_bundle_close(b);
    return first;
}

static braid_code save_again(braid_status *st)
{
    return save("/dir/v", 2, st);
}

static braid_code merge_again(braid_status *st)
{
    return bd_bundle_merge(bd_fs_current, (const char *[]){"/dir/part"}, 1, "/dir/v",
                           &(bd_bundle_merge_options){.remove_dirs = true}, st);
}

// Prepares the disk: `old` is the first element of /dir/v (-1: it does not exist), and there is a part to be
// merged.
static void prepare(float old)
{
    BD_STATUS(st);
    bd_memory_fs_install();
    if (old >= 0) save("/dir/v", old, st);
    save("/dir/part", 2, st);
    assert_ok(st);
}

// Cuts the power at call `n` of `again`. Returns false when it ended before.
static bool cut_at(int64_t n, float old, uint64_t seed, braid_code (*again)(braid_status *st))
{
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(seed);
    prepare(old);
    bd_memory_fs_fail_after(n, true);
    bool done = again(st) == BRAID_OK;
    bd_memory_fs_power_cut(&rng);
    float now = saved("/dir/v");
    if (done) {
        assert_true(now == 2);
    } else {
        assert_true(now == old || now == 2);
    }
    braid_status_clear(st);
    save("/dir/v", 3, st); // remaining files do not disturb the next save
    assert_ok(st);
    assert_true(saved("/dir/v") == 3);
    bd_memory_fs_uninstall();
    return !done;
}

static void cut_everywhere(float old, braid_code (*again)(braid_status *st))
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        int64_t n = 0;
        while (cut_at(n, old, 1000 * seed + (uint64_t)n, again))
            n++;
        assert_true(n > 5 && n < 100);
    }
}

static void a_power_cut_while_saving_leaves_a_whole_bundle(void **state)
{
    (void)state;
    cut_everywhere(-1, save_again);
    cut_everywhere(1, save_again);
}

static void a_power_cut_while_merging_leaves_a_whole_bundle(void **state)
{
    (void)state;
    cut_everywhere(-1, merge_again);
    cut_everywhere(1, merge_again);
}

// One call fails and the others succeed, as on a full disk: the save reports an error, keeps the old bundle
// and leaves no other file.
static void a_failing_call_loses_no_data(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int64_t n = 0;; n++) {
        bd_memory_fs_install();
        save("/dir/v", 1, st);
        assert_ok(st);
        int files = bd_memory_fs_file_count();
        bd_memory_fs_fail_after(n, false);
        bool done = save("/dir/v", 2, st) == BRAID_OK;
        bd_memory_fs_fail_after(-1, false);
        float now = saved("/dir/v");
        if (done) {
            assert_true(now == 2);
            bd_memory_fs_uninstall();
            assert_true(n > 8);
            break;
        }
        assert_true(now == 1 || now == 2); // 2 when the last sync failed
        assert_true(now == 2 || bd_memory_fs_file_count() <= files + 2);
        assert_error(st, BRAID_RESOURCE_EXHAUSTED, "/dir");
        save("/dir/v", 3, st);
        assert_ok(st);
        assert_true(saved("/dir/v") == 3);
        bd_memory_fs_uninstall();
    }
}

// The same of single files.
static void a_power_cut_leaves_single_files_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        bool done = false;
        for (int64_t n = 0; !done; n++) {
            BD_STATUS(st);
            bd_rng rng = bd_rng_init(100 * seed + (uint64_t)n);
            size_t len;
            bd_memory_fs_install();
            bd_file_write_atomic(bd_fs_current, "/f", "old", 3, st);
            bd_memory_fs_fail_after(n, true);
            done = bd_file_write_atomic(bd_fs_current, "/f", "newer", 5, st) == BRAID_OK;
            bd_memory_fs_power_cut(&rng);
            char *data = bd_test_read("/f", &len);
            assert_true(strcmp(data, "newer") == 0 || (!done && strcmp(data, "old") == 0));
            bd_free(data);
            bd_memory_fs_uninstall();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_cut_while_saving_leaves_a_whole_bundle),
        cmocka_unit_test(a_power_cut_while_merging_leaves_a_whole_bundle),
        cmocka_unit_test(a_failing_call_loses_no_data),
        cmocka_unit_test(a_power_cut_leaves_single_files_whole),
    };
    return BD_RUN_TESTS(tests);
}
