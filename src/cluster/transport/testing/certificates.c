// Certificates for tests: making, copying and removing them.
#include "cluster/transport/testing/certificates.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include <braid/keys.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PATHS 8

static char top[] = "/tmp/braid-test-XXXXXX"; // of mkdtemp

const char *bd_test_certificates_dir(const char *holder)
{
    static char paths[PATHS][256];
    static unsigned next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", top, holder);
    return path;
}

int bd_test_certificates_make(void **state)
{
    (void)state;
    static const char *const authorities[] = {"ours", "foreign"};
    if (!mkdtemp(top)) return 1;
    for (size_t i = 0; i < 2; i++) {
        BD_STATUS(st);
        const char *dir = bd_test_certificates_dir(authorities[i]);
        if (braid_keys_new(dir, st)) return 1;
        for (braid_role r = BRAID_ROLE_VIEWER; r <= BRAID_ROLE_TASK; r++)
            if (braid_keys_add(dir, braid_role_name(r), r, 30, st)) return 1;
    }
    return 0;
}

int bd_test_certificates_remove(void **state)
{
    (void)state;
    char *command = bd_asprintf("rm -rf %s", top);
    const int code = system(command); // NOLINT(cert-env33-c): a path of our own
    bd_free(command);
    return code;
}

void bd_test_certificates_copy(const char *from, const char *to, const char *name)
{
    BD_STATUS(st);
    char *source = bd_path_join(bd_test_certificates_dir(from), name);
    char *target = bd_path_join(bd_test_certificates_dir(to), name), *data;
    size_t len;
    assert_int_equal(bd_file_read_all(bd_fs_current, source, 1 << 20, &data, &len, st), BRAID_OK);
    assert_int_equal(bd_file_write_atomic(bd_fs_current, target, data, len, st), BRAID_OK);
    assert_int_equal(chmod(target, 0600), 0);
    bd_free(data);
    bd_free(source);
    bd_free(target);
}
