// Shared by the versions of batch normalization: images, vectors of channels, and their shapes.
#include "ops/nn/batch_norm.h"

#include <string.h>

bool bd_batch_norm_is_nchw(const braid_op *node)
{
    return bd_node_attr_string(node, "data_format")[1] == 'C';
}

int bd_batch_norm_rank(const braid_op *node)
{
    return (int)strlen(bd_node_attr_string(node, "data_format"));
}

static int channel_axis(bool nchw, int rank)
{
    return nchw ? 1 : rank - 1;
}

bool bd_batch_norm_images(bd_op_ctx *c, int i, const char *what, bool nchw, bd_channels *out)
{
    const braid_shape *s = &bd_input(c, i)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (s->rank != 4 && s->rank != 5) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4 or 5-dimensional, but has shape %s", what,
                   bd_shape_str(s, text));
        return false;
    }
    int axis = channel_axis(nchw, s->rank);
    *out = (bd_channels){.outer = bd_shape_count_range(s, 0, axis),
                         .channels = s->dims[axis],
                         .inner = bd_shape_count_range(s, axis + 1, s->rank)};
    // In an empty tensor the other sizes may be so large that their product overflows.
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

braid_code bd_batch_norm_images_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_shape *out,
                                      braid_status *st)
{
    int rank = bd_batch_norm_rank(c->node);
    braid_code code = bd_shape_ctx_rank(c, i, rank, st);
    if (code) return code;
    *out = (braid_shape){.rank = rank, .dims = {-1, -1, -1, -1, -1}};
    if (c->inputs[i].rank == rank) *out = c->inputs[i];
    return merge_channels(c, out->dims[channel_axis(bd_batch_norm_is_nchw(c->node), rank)], channels, st);
}

void bd_batch_norm_set_channels(const bd_shape_ctx *c, int64_t channels, braid_shape *images)
{
    images->dims[channel_axis(bd_batch_norm_is_nchw(c->node), images->rank)] = channels;
}

braid_code bd_batch_norm_vector_shape(bd_shape_ctx *c, int i, int64_t *channels, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, 1, st);
    if (code || c->inputs[i].rank < 0) return code;
    return merge_channels(c, c->inputs[i].dims[0], channels, st);
}
