// The files of TensorFlow's debugger: their limit of bytes.
#include "io/debug_dump.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/testing/temp_dir.h"
#include <stdlib.h>
#include <string.h>

static void values_count_against_the_limit_of_bytes_until_it_is_reset(void **state)
{
    (void)state;
    setenv("TFDBG_DISK_BYTES_LIMIT", "20", 1);
    char *dir = bd_temp_dir_new();
    char *url = bd_asprintf("FILE://%s/new/dir", dir);
    const bd_debug_key key = {
        .device = "/job:a/task:0", .node = "scope/x:1", .node_len = strlen("scope/x"), .slot = 1, .op = "Op"};
    braid_tensor *t = braid_tensor_int64(3); // 8 bytes
    BD_STATUS(st);
    for (int i = 0; i < 2; i++)
        assert_int_equal(bd_debug_dump_tensor(bd_fs_current, url, &key, t, t->dtype, &t->shape, st),
                         BRAID_OK);
    bd_debug_dump_tensor(bd_fs_current, url, &key, t, t->dtype, &t->shape, st);
    assert_error(
        st, BRAID_RESOURCE_EXHAUSTED,
        "TensorFlow Debugger has exhausted file-system byte-size allowance (20), therefore it cannot dump "
        "an additional 8 byte(s) of tensor data for the debug tensor scope/x:1.");
    bd_debug_reset_bytes();
    braid_status_clear(st);
    bd_debug_dump_tensor(bd_fs_current, url, &key, t, t->dtype, &t->shape, st);
    assert_ok(st);
    char *scope = bd_asprintf("%s/new/dir/_tfdbg_device_,job_a,task_0/scope", dir);
    bd_name_list names;
    bd_dir_list(bd_fs_current, scope, &names, st);
    assert_int_equal(names.len, 3); // a file each, even in the same microsecond
    bd_name_list_fini(&names);
    bd_free(scope);
    braid_tensor_free(t);
    bd_free(url);
    bd_temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_count_against_the_limit_of_bytes_until_it_is_reset),
    };
    return BD_RUN_TESTS(tests);
}
