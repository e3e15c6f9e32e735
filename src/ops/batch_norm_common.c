// What the forms of batch normalization share: images, vectors of channels, their shapes.
#include "ops/batch_norm.h"

#include <string.h>

bool bd_batch_norm_is_nchw(const braid_op *node)
{
    return strcmp(bd_node_attr_string(node, "data_format"), "NCHW") == 0;
}

bool bd_batch_norm_images(bd_op_ctx *c, int i, const char *what, bool nchw, bd_channels *out)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional, but has shape %s", what,
                   bd_shape_str(s, text));
        return false;
    }
    int axis = nchw ? 1 : 3;
    *out = (bd_channels){.outer = bd_shape_count_range(s, 0, axis),
                         .channels = s->dims[axis],
                         .inner = bd_shape_count_range(s, axis + 1, 4)};
    // Sizes beside a size of 0 may be as large as they like.
    if (bd_shape_count(s) == 0) out->outer = 0;
    return true;
}

bool bd_batch_norm_vector(bd_op_ctx *c, int i, const char *what, int64_t channels)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 1-dimensional, but has shape %s", what,
                   bd_shape_str(s, text));
    } else if (s->dims[0] != channels) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s must have as many elements as the input has channels: %lld vs. %lld", what,
                   (long long)s->dims[0], (long long)channels);
    }
    return !bd_op_failed(c);
}

static braid_code merge_channels(bd_shape_ctx *c, int64_t dim, int64_t *channels, braid_status *st)
{
    if (dim >= 0 && *channels >= 0 && dim != *channels)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)*channels, (long long)dim);
    if (dim >= 0) *channels = dim;
    return BRAID_OK;
}

braid_code bd_batch_norm_images_shape(bd_shape_ctx *c, int i, bool nchw, int64_t *channels, braid_shape *out,
                                      braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 4, st);
    if (code) return code;
    *out = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[i].rank == 4) *out = c->inputs[i];
    return merge_channels(c, out->dims[nchw ? 1 : 3], channels, st);
}

braid_code bd_batch_norm_vector_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 1, st);
    if (code || c->inputs[i].rank < 0) return code;
    return merge_channels(c, c->inputs[i].dims[0], channels, st);
}
