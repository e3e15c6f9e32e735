// Assets of an exported model: which file each is, its name in the model, and the copy.
#include "train/estimator/assets.h"
#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/checkpoint.h>
#include <braid/scaffold.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- Which files ----

static braid_code read_path(train_asset *asset, braid_session *session, braid_status *st)
{
    braid_tensor *value = NULL;
    const braid_fetch fetch = {asset->path, &value};
    if (braid_session_run(session, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st))
        return st->code;
    size_t len;
    const char *text = braid_tensor_string_at(value, 0, &len);
    asset->file = bd_strndup(text, len);
    braid_tensor_free(value);
    return BRAID_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The asset of the first `count` that has the filename; NULL: none has.
static const train_asset *with_filename(const train_assets *list, size_t count, const char *filename)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list->items[i].filename, filename) == 0) return &list->items[i];
    return NULL;
}

// Files of the same name in several directories become NAME, NAME_1, NAME_2 ..., as in TensorFlow.
static void choose_filename(train_assets *list, size_t index)
{
    train_asset *asset = &list->items[index];
    const char *base = base_name(asset->file);
    asset->filename = base;
    for (int number = 1;; number++) {
        const train_asset *other = with_filename(list, index, asset->filename);
        if (!other || strcmp(other->file, asset->file) == 0) return;
        bd_free(asset->own_filename);
        asset->filename = asset->own_filename = bd_asprintf("%s_%d", base, number);
    }
}

braid_code train_assets_find(train_assets *list, braid_graph *g, braid_session *session, braid_status *st)
{
    int count;
    const braid_out *paths = braid_collection(g, BRAID_ASSET_FILEPATHS, &count);
    for (int i = 0; i < count; i++) {
        if (braid_out_dtype(paths[i]) != BRAID_STRING || braid_out_shape(paths[i]).rank != 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Export: the path of an asset is a string scalar, and '%s' is none",
                           braid_op_name(paths[i].op));
        bd_array_push(list, (train_asset){.path = paths[i]});
        if (read_path(&list->items[i], session, st)) return st->code;
        choose_filename(list, (size_t)i);
    }
    return BRAID_OK;
}

// ---- Copies ----

static void copy_bytes(FILE *from, FILE *to, const char *path, const char *copy, braid_status *st)
{
    char block[16384];
    size_t len;
    while ((len = fread(block, 1, sizeof block, from)) > 0)
        if (fwrite(block, 1, len, to) != len) break;
    if (ferror(from))
        bd_fail(st, BRAID_UNAVAILABLE, "Export: reading the asset '%s' failed: %s", path, strerror(errno));
    else if (ferror(to) || fflush(to) || fsync(fileno(to)))
        bd_fail(st, BRAID_UNAVAILABLE, "Export: cannot write '%s': %s", copy, strerror(errno));
}

static braid_code copy_file(const char *path, const char *copy, braid_status *st)
{
    FILE *from = fopen(path, "re");
    if (!from)
        return bd_fail(st, BRAID_NOT_FOUND,
                       "Export: the asset '%s', a file that the model reads, cannot be read: %s", path,
                       strerror(errno));
    FILE *to = fopen(copy, "we");
    if (to)
        copy_bytes(from, to, path, copy, st);
    else
        bd_fail(st, BRAID_UNAVAILABLE, "Export: cannot write '%s': %s", copy, strerror(errno));
    fclose(from);
    if (to && fclose(to) && !st->code)
        bd_fail(st, BRAID_UNAVAILABLE, "Export: cannot write '%s': %s", copy, strerror(errno));
    return st->code;
}

braid_code train_assets_copy(const train_assets *list, const char *dir, braid_status *st)
{
    if (!list->len) return BRAID_OK;
    char *assets = bd_asprintf("%s/assets", dir);
    (void)braid_checkpoint_make_dir(assets, st);
    for (size_t i = 0; i < list->len && !st->code; i++) {
        const train_asset *asset = &list->items[i];
        if (with_filename(list, i, asset->filename)) continue; // the same file
        char *copy = bd_asprintf("%s/%s", assets, asset->filename);
        copy_file(asset->file, copy, st);
        bd_free(copy);
    }
    bd_free(assets);
    return st->code;
}

void train_assets_fini(train_assets *list)
{
    for (size_t i = 0; i < list->len; i++) {
        bd_free(list->items[i].file);
        bd_free(list->items[i].own_filename);
    }
    bd_array_free(list);
}
