// Pooling layers, of images and of sequences.
#include "train/layers/layer.h"

#include <stdio.h>

// Checks the input, of `rank` dimensions, and stores the windows. False: the graph has failed.
static bool get_windows(braid_graph *g, const char *kind, braid_out x, int rank,
                        const braid_pooling_options *o, train_windows *w)
{
    if (braid_graph_status(g, NULL)) return false;
    if (!o || !x.op) return train_layer_fail(g, kind, o ? o->name : NULL, x, "and its options must be given");
    if (braid_out_shape(x).rank != rank)
        return train_layer_fail(g, kind, o->name, x,
                                rank == 3 ? "must have three dimensions" : "must have four dimensions");
    *w = (train_windows){.padding = o->same_padding ? BRAID_SAME : BRAID_VALID,
                         .channels_first = o->data_format == BRAID_CHANNELS_FIRST};
    for (int i = 0; i < 2; i++) {
        w->size[i] = o->pool_size[i] || !i ? o->pool_size[i] : o->pool_size[0];
        const int stride = o->strides[i] || !i ? o->strides[i] : o->strides[0];
        w->strides[i] = stride ? stride : w->size[i];
        if (w->size[i] < 1 || w->strides[i] < 1) {
            char why[96];
            (void)snprintf(why, sizeof why, "cannot be pooled by windows of size %lld and stride %lld",
                           (long long)w->size[i], (long long)w->strides[i]);
            return train_layer_fail(g, kind, o->name, x, why);
        }
    }
    return true;
}

static braid_out pool2d(braid_graph *g, const char *kind, const char *op_type, braid_out x,
                        const braid_pooling_options *o)
{
    train_windows w = {0};
    if (!get_windows(g, kind, x, 4, o, &w)) return BRAID_NONE;
    (void)braid_push_name_scope(g, o->name ? o->name : kind);
    const braid_out out = train_over_windows(g, op_type, NULL, &x, 1, &w);
    braid_pop_name_scope(g);
    return out;
}

// Images of height `length` and width 1.
static braid_out pool1d(braid_graph *g, const char *kind, const char *op_type, braid_out x,
                        const braid_pooling_options *o)
{
    train_windows w = {0};
    if (!get_windows(g, kind, x, 3, o, &w)) return BRAID_NONE;
    w.size[1] = w.strides[1] = 1;
    const int32_t axis = w.channels_first ? 3 : 2;
    (void)braid_push_name_scope(g, o->name ? o->name : kind);
    const braid_out image = braid_expand_dims(g, x, axis);
    const braid_out pooled = train_over_windows(g, op_type, NULL, &image, 1, &w);
    const braid_out out = braid_squeeze(g, pooled, &axis, 1);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_layers_max_pooling2d(braid_graph *g, braid_out x, const braid_pooling_options *options)
{
    return pool2d(g, "max_pooling2d", "MaxPool", x, options);
}

braid_out braid_layers_average_pooling2d(braid_graph *g, braid_out x, const braid_pooling_options *options)
{
    return pool2d(g, "average_pooling2d", "AvgPool", x, options);
}

braid_out braid_layers_max_pooling1d(braid_graph *g, braid_out x, const braid_pooling_options *options)
{
    return pool1d(g, "max_pooling1d", "MaxPool", x, options);
}

braid_out braid_layers_average_pooling1d(braid_graph *g, braid_out x, const braid_pooling_options *options)
{
    return pool1d(g, "average_pooling1d", "AvgPool", x, options);
}
