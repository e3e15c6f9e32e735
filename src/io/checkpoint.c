// Checkpoints of either format.
#include "io/checkpoint.h"

// ---- As files ----

bool bd_checkpoint_exists(const bd_fs *fs, const char *prefix)
{
    if (bd_bundle_exists(fs, prefix)) return true;
    BD_STATUS(st);
    bd_name_list files;
    bd_file_info info;
    const bool there = !bd_checkpoint_v1_files(fs, prefix, &files, st) &&
                       !bd_file_get_info(fs, files.items[0], &info, st) && !info.is_dir;
    bd_name_list_fini(&files);
    return there;
}

braid_code bd_checkpoint_remove(const bd_fs *fs, const char *prefix, braid_status *st)
{
    if (bd_bundle_exists(fs, prefix)) return bd_bundle_remove(fs, prefix, st);
    bd_name_list files;
    braid_code code = bd_checkpoint_v1_files(fs, prefix, &files, st);
    for (size_t i = 0; i < files.len && !code; i++)
        code = bd_file_remove(fs, files.items[i], st);
    bd_name_list_fini(&files);
    return code;
}

// ---- As tensors ----

braid_code bd_checkpoint_open(const bd_fs *fs, const char *prefix, bd_checkpoint *c, braid_status *st)
{
    BD_STATUS(why);
    *c = (bd_checkpoint){0};
    braid_code code = bd_bundle_open(fs, prefix, &c->bundle, st);
    if (code != BRAID_NOT_FOUND) return code;
    // It may be a V1 checkpoint. If it is neither, the V2 error is more useful.
    code = bd_checkpoint_v1_open(fs, prefix, &c->first, why);
    if (code == BRAID_NOT_FOUND) return bd_status_prefix(st, "Unsuccessful TensorSliceReader constructor: ");
    braid_status_clear(st);
    if (!code) return BRAID_OK;
    bd_status_move(st, why);
    return code;
}

void bd_checkpoint_set_team(bd_checkpoint *c, const bd_team *team)
{
    if (c->bundle) bd_bundle_set_team(c->bundle, team);
}

void bd_checkpoint_close(bd_checkpoint *c)
{
    bd_bundle_close(c->bundle);
    bd_checkpoint_v1_close(c->first);
    *c = (bd_checkpoint){0};
}

braid_code bd_checkpoint_find(bd_checkpoint *c, const char *name, braid_dtype *dtype, braid_shape *shape,
                              braid_status *st)
{
    bd_bundle_info info;
    if (c->first) {
        if (bd_checkpoint_v1_find(c->first, name, dtype, shape)) return BRAID_OK;
        return bd_fail(st, BRAID_NOT_FOUND, "Key %s not found in checkpoint", name);
    }
    braid_code code = bd_bundle_find(c->bundle, name, &info, st);
    if (code) return code;
    *dtype = info.dtype;
    *shape = info.shape;
    return BRAID_OK;
}

typedef struct listing {
    bd_checkpoint_fn fn;
    void *arg;
} listing;

static void list_one(const bd_bundle_info *info, void *arg)
{
    const listing *l = arg;
    l->fn(l->arg, info->name, info->dtype, &info->shape);
}

braid_code bd_checkpoint_list(bd_checkpoint *c, bd_checkpoint_fn fn, void *arg, braid_status *st)
{
    size_t pos = 0;
    const char *name;
    braid_dtype dtype;
    braid_shape shape;
    if (c->bundle) return bd_bundle_list(c->bundle, list_one, &(listing){fn, arg}, st);
    while (bd_checkpoint_v1_next(c->first, &pos, &name, &dtype, &shape))
        fn(arg, name, dtype, &shape);
    return BRAID_OK;
}

braid_code bd_checkpoint_read(bd_checkpoint *c, const char *name, const bd_tensor_slice *slice,
                              braid_tensor *t, braid_status *st)
{
    if (c->first) return bd_checkpoint_v1_read(c->first, name, slice, t, st);
    return slice ? bd_bundle_read_slice(c->bundle, name, slice, t, st)
                 : bd_bundle_read(c->bundle, name, t, st);
}
