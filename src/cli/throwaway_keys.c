// The certificate of a run, made in a directory that is removed at once, and its files at an agent.
#include "throwaway_keys.h"
#include "base/alloc.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "task"
#define DAYS 3650 // a run ends before
#define FILE_MAX 65536

static const char *const names[BD_KEY_FILES] = {"ca.pem", "cert.pem", "key.pem"};

// A new directory (bd_free); NULL with errno. In memory where the system has a place for that.
static char *make_dir(void)
{
    const char *const places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !places[i][0]) continue;
        char *dir = bd_asprintf("%s/braid-keys-XXXXXX", places[i]);
        if (mkdtemp(dir)) return dir;
        bd_free(dir);
    }
    return NULL;
}

static bool read_file(const char *dir, const char *name, bd_strbuf *out)
{
    char *path = bd_asprintf("%s/" NAME "/%s", dir, name);
    FILE *f = fopen(path, "re");
    char text[4096];
    size_t n;
    while (f && (n = fread(text, 1, sizeof text, f)) > 0)
        bd_strbuf_append_n(out, text, n);
    const bool ok = f && !ferror(f) && out->len > 0 && out->len <= FILE_MAX;
    if (f) fclose(f);
    bd_free(path);
    return ok;
}

static void remove_in(const char *dir, const char *name)
{
    char *path = bd_asprintf("%s/%s", dir, name);
    remove(path);
    bd_free(path);
}

static void remove_authority(const char *dir)
{
    char *holder = bd_asprintf("%s/" NAME, dir);
    for (int i = 0; i < BD_KEY_FILES; i++)
        remove_in(holder, names[i]);
    rmdir(holder);
    bd_free(holder);
    remove_in(dir, "ca.pem");
    remove_in(dir, "ca.key");
    rmdir(dir);
}

braid_code bd_throwaway_keys_make(bd_throwaway_keys *out, braid_status *st)
{
    *out = (bd_throwaway_keys){0};
    char *dir = make_dir();
    if (!dir) return bd_fail(st, BRAID_UNAVAILABLE, "no directory for keys: %s", strerror(errno));
    braid_keys_new(dir, st);
    if (!st->code) braid_keys_add(dir, NAME, BRAID_ROLE_TASK, DAYS, st);
    for (int i = 0; i < BD_KEY_FILES && !st->code; i++) {
        out->files[i].name = names[i];
        if (!read_file(dir, names[i], &out->files[i].data))
            bd_fail(st, BRAID_UNAVAILABLE, "'%s/" NAME "/%s' cannot be read", dir, names[i]);
    }
    remove_authority(dir);
    bd_free(dir);
    if (st->code) bd_throwaway_keys_fini(out);
    return st->code;
}

void bd_throwaway_keys_fini(bd_throwaway_keys *keys)
{
    for (int i = 0; i < BD_KEY_FILES; i++)
        bd_strbuf_fini(&keys->files[i].data);
    *keys = (bd_throwaway_keys){0};
}

// ---- At an agent ----

static bool write_file(const char *path, const void *data, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const bool ok = write(fd, data, len) == (ssize_t)len;
    return close(fd) == 0 && ok;
}

bool bd_key_dir_add(char **dir, const char *name, const void *data, size_t len)
{
    bool is_known = false;
    for (int i = 0; i < BD_KEY_FILES; i++)
        is_known = is_known || strcmp(name, names[i]) == 0;
    if (!is_known || len > FILE_MAX) return false;
    if (!*dir) *dir = make_dir();
    if (!*dir) return false;
    char *path = bd_asprintf("%s/%s", *dir, name);
    const bool ok = write_file(path, data, len);
    bd_free(path);
    return ok;
}

void bd_key_dir_remove(char *dir)
{
    if (!dir) return;
    for (int i = 0; i < BD_KEY_FILES; i++)
        remove_in(dir, names[i]);
    rmdir(dir);
    bd_free(dir);
}
