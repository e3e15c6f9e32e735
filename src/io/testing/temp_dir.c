// Temporary directories for tests.
#include "io/testing/temp_dir.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include <stdlib.h>

char *bd_temp_dir_new(void)
{
    const char *base = getenv("TMPDIR");
    char *path = bd_path_join(base && *base ? base : "/tmp", "braid_test_XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static void remove_tree(const char *path)
{
    BD_STATUS(st);
    bd_name_list names;
    if (!bd_file_remove(bd_fs_current, path, st)) return; // a file, or a link, whatever it leads to
    braid_status_clear(st);
    bd_dir_list(bd_fs_current, path, &names, st);
    for (size_t i = 0; i < names.len; i++) {
        char *inside = bd_path_join(path, names.items[i]);
        remove_tree(inside);
        bd_free(inside);
    }
    bd_name_list_fini(&names);
    bd_dir_remove(bd_fs_current, path, st);
}

void bd_temp_dir_free(char *path)
{
    remove_tree(path);
    bd_free(path);
}

void bd_test_write(const char *path, const void *data, size_t len)
{
    BD_STATUS(st);
    bd_file *file;
    bd_file_open(bd_fs_current, path, BD_FILE_CREATE, &file, st);
    assert_ok(st);
    bd_file_write(file, data, len, st);
    assert_ok(st);
    bd_file_close(file, st);
    assert_ok(st);
}

char *bd_test_read(const char *path, size_t *len)
{
    BD_STATUS(st);
    char *data;
    bd_file_read_all(bd_fs_current, path, (size_t)1 << 30, &data, len, st);
    assert_ok(st);
    return data;
}
