// Layers: a few nodes and their variables in one call.
#ifndef BRAID_LAYERS_H
#define BRAID_LAYERS_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A fully connected layer (tf.layers.dense): `x` [batch, in] times NAME/kernel [in, units] (Glorot uniform) plus
/// NAME/bias [units] (zeros). Returns [batch, units]; no activation function. The graph fails when `in` is not known.
/// `name` NULL: "dense".
BRAID_API braid_out braid_dense(braid_graph *graph, const char *name, braid_out x, int64_t units);

#ifdef __cplusplus
}
#endif
#endif
