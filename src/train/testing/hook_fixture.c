// A directory and a log for tests of hooks.
#include "train/testing/hook_fixture.h"

#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include <string.h>

char *hook_dir;
bd_strbuf hook_log;
static const char *word;

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, word)) bd_strbuf_appendf(&hook_log, "%s\n", message);
}

void hook_expect_log(const char *of)
{
    word = of;
    bd_strbuf_clear(&hook_log);
    braid_set_log_sink(read_log, NULL);
}

int hook_set_up(void **state)
{
    (void)state;
    hook_dir = bd_temp_dir_new();
    return 0;
}

int hook_tear_down(void **state)
{
    (void)state;
    bd_temp_dir_free(hook_dir);
    braid_set_log_sink(NULL, NULL);
    bd_strbuf_fini(&hook_log);
    return 0;
}

void hook_train(braid_monitored_session *s, const small_model *m, int steps)
{
    for (int i = 0; i < steps; i++)
        assert_int_equal(small_model_step(s, m), BRAID_OK);
}

bool hook_is_in_events(const char *text)
{
    BD_STATUS(st);
    bd_name_list names = {0};
    bd_dir_list(bd_fs_current, hook_dir, &names, st);
    bool found = false;
    for (size_t i = 0; i < names.len; i++) {
        if (!strstr(names.items[i], "tfevents")) continue;
        char *path = bd_path_join(hook_dir, names.items[i]), *data = NULL;
        size_t len;
        bd_file_read_all(bd_fs_current, path, 1 << 24, &data, &len, st);
        assert_ok(st);
        found = found || memmem(data, len, text, strlen(text)) != NULL;
        bd_free(path);
        bd_free(data);
    }
    bd_name_list_fini(&names);
    return found;
}

bool hook_has_file(const char *name)
{
    char *path = bd_path_join(hook_dir, name);
    const bool exists = bd_file_exists(bd_fs_current, path);
    bd_free(path);
    return exists;
}
