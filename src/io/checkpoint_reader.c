// Reads checkpoints for programs: the public functions of <braid/checkpoint_reader.h>.
#include <braid/checkpoint_reader.h>

#include "base/alloc.h"
#include "base/array.h"
#include "io/checkpoint.h"
#include "io/checkpoint_state.h"
#include <stdlib.h>
#include <string.h>

struct braid_checkpoint_reader {
    char *prefix; // owned
    bd_checkpoint checkpoint;
    BD_ARRAY(braid_checkpoint_entry) entries; // sorted by name; the names are owned
};

static void take_entry(void *arg, const char *name, braid_dtype dtype, const braid_shape *shape)
{
    braid_checkpoint_reader *r = arg;
    const braid_checkpoint_entry entry = {bd_strdup(name), dtype, *shape};
    bd_array_push(&r->entries, entry);
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const braid_checkpoint_entry *)a)->name, ((const braid_checkpoint_entry *)b)->name);
}

// A prefix may be the path of a directory, too: "dir/" has the file "dir/.index".
static bool is_prefix(const char *prefix_or_dir)
{
    char *index = bd_asprintf("%s.index", prefix_or_dir);
    const bool found = bd_file_exists(bd_fs_current, index);
    bd_free(index);
    return found;
}

// The prefix of the checkpoint that is asked for; NULL on an error. The caller frees it.
static char *resolve(const char *prefix_or_dir, braid_status *st)
{
    BD_STATUS(ignored); // the error of opening the checkpoint says more
    bd_file_info info;
    bd_checkpoint_state state;
    if (bd_file_get_info(bd_fs_current, prefix_or_dir, &info, ignored) || !info.is_dir ||
        is_prefix(prefix_or_dir))
        return bd_strdup(prefix_or_dir);
    if (bd_checkpoint_state_read(bd_fs_current, prefix_or_dir, NULL, &state, st) == BRAID_NOT_FOUND)
        bd_fail(st, BRAID_NOT_FOUND, "Couldn't find 'checkpoint' file or checkpoints in given directory %s",
                prefix_or_dir);
    char *prefix = state.latest;
    state.latest = NULL;
    bd_checkpoint_state_fini(&state);
    return prefix;
}

static braid_code open_checkpoint(braid_checkpoint_reader *r, const char *prefix_or_dir, braid_status *st)
{
    if (!prefix_or_dir || !*prefix_or_dir)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A checkpoint to read needs a prefix or a directory");
    r->prefix = resolve(prefix_or_dir, st);
    if (!r->prefix || bd_checkpoint_open(bd_fs_current, r->prefix, &r->checkpoint, st) ||
        bd_checkpoint_list(&r->checkpoint, take_entry, r, st))
        return st->code;
    if (r->entries.len) qsort(r->entries.items, r->entries.len, sizeof *r->entries.items, compare);
    return BRAID_OK;
}

braid_checkpoint_reader *braid_checkpoint_reader_open(const char *prefix_or_dir, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_checkpoint_reader *r = bd_calloc(1, sizeof *r);
    if (!open_checkpoint(r, prefix_or_dir, status ? status : unwanted)) return r;
    braid_checkpoint_reader_close(r);
    return NULL;
}

void braid_checkpoint_reader_close(braid_checkpoint_reader *r)
{
    if (!r) return;
    bd_checkpoint_close(&r->checkpoint);
    for (size_t i = 0; i < r->entries.len; i++)
        bd_free((char *)r->entries.items[i].name);
    bd_array_free(&r->entries);
    bd_free(r->prefix);
    bd_free(r);
}

const char *braid_checkpoint_reader_prefix(const braid_checkpoint_reader *r)
{
    return r->prefix;
}

const braid_checkpoint_entry *braid_checkpoint_reader_list(const braid_checkpoint_reader *r, int *count)
{
    *count = (int)r->entries.len;
    return r->entries.items;
}

const braid_checkpoint_entry *braid_checkpoint_reader_find(const braid_checkpoint_reader *r, const char *name)
{
    const braid_checkpoint_entry wanted = {.name = name};
    if (!name || r->entries.len == 0) return NULL;
    return bsearch(&wanted, r->entries.items, r->entries.len, sizeof wanted, compare);
}

braid_tensor *braid_checkpoint_reader_read(braid_checkpoint_reader *r, const char *name, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!braid_checkpoint_reader_find(r, name)) {
        bd_fail(st, BRAID_NOT_FOUND, "Key %s not found in checkpoint %s", name ? name : "(NULL)", r->prefix);
        return NULL;
    }
    braid_tensor *t = bd_calloc(1, sizeof *t);
    if (!bd_checkpoint_read(&r->checkpoint, name, NULL, t, st)) return t;
    bd_free(t);
    return NULL;
}
