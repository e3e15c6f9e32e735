// Clipping: keeping values, as a rule gradients, from getting too large.
//
//     braid_grad_and_var pairs[64];
//     int count;
//     const braid_grad_and_var *computed = braid_compute_gradients(opt, loss, NULL, 0, &count);
//     memcpy(pairs, computed, count * sizeof *pairs);
//     braid_clip_gradients(graph, pairs, count, 5.0);
//     braid_op *train = braid_apply_gradients(opt, pairs, count, step);
//
// Nodes and names are those of TensorFlow's functions. Norms are Euclidean: the root of the sum of squares.
// Errors are the graph's: a norm to clip to that is not positive makes it fail.
#ifndef BRAID_CLIP_H
#define BRAID_CLIP_H

#include <braid/ops.h>
#include <braid/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/// `x` times clip_norm / max(norm, clip_norm): of norm `clip_norm`
/// at most (tf.clip_by_norm). braid_clip_by_value is in ops.h.
BRAID_API braid_out braid_clip_by_norm(braid_graph *graph, braid_out x, double clip_norm);

/// The same with the norm divided by the number of elements (tf.clip_by_average_norm). `x` is float.
BRAID_API braid_out braid_clip_by_average_norm(braid_graph *graph, braid_out x, double clip_norm);

/// The norm of all `xs` [count] taken together, a scalar. Those
/// whose op is NULL are left out; the graph fails when that is all.
BRAID_API braid_out braid_global_norm(braid_graph *graph, const braid_out *xs, int count);

/// Stores to `outs` [count], which may be `xs`, each of them times clip_norm / max(norm, clip_norm), where
/// norm is `use_norm`, a scalar, or braid_global_norm of them when its op is NULL (Pascanu et al., ICML 2013,
/// algorithm 1). Returns the norm. Those whose op is NULL stay so.
BRAID_API braid_out braid_clip_by_global_norm(braid_graph *graph, const braid_out *xs, int count,
                                              double clip_norm, braid_out use_norm, braid_out *outs);

/// braid_clip_by_global_norm of the gradients of `pairs` [count], in place. Returns the norm before.
BRAID_API braid_out braid_clip_gradients(braid_graph *graph, braid_grad_and_var *pairs, int count,
                                         double clip_norm);

#ifdef __cplusplus
}
#endif
#endif
