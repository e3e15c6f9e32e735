// Checkpoints of either format.
#include "ops/io/checkpoint.h"

braid_code bd_checkpoint_open(const char *prefix, bd_checkpoint *c, braid_status *st)
{
    BD_STATUS(why);
    *c = (bd_checkpoint){0};
    braid_code code = bd_bundle_open(prefix, &c->bundle, st);
    if (code != BRAID_NOT_FOUND) return code;
    // It may be a V1 checkpoint. If it is neither, the V2 error is more useful.
    code = bd_checkpoint_v1_open(prefix, &c->first, why);
    if (code == BRAID_NOT_FOUND) return bd_status_prefix(st, "Unsuccessful TensorSliceReader constructor: ");
    braid_status_clear(st);
    if (!code) return BRAID_OK;
    bd_status_move(st, why);
    return code;
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

braid_code bd_checkpoint_read(bd_checkpoint *c, const char *name, const bd_tensor_slice *slice,
                              braid_tensor *t, braid_status *st)
{
    if (c->first) return bd_checkpoint_v1_read(c->first, name, slice, t, st);
    return slice ? bd_bundle_read_slice(c->bundle, name, slice, t, st)
                 : bd_bundle_read(c->bundle, name, t, st);
}
