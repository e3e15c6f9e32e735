// Gradient clipping by value, norm, average norm and global norm.
//
//     braid_grad_and_var pairs[64];
//     int count;
//     const braid_grad_and_var *computed = braid_compute_gradients(opt, loss, NULL, 0, &count);
//     memcpy(pairs, computed, count * sizeof *pairs);
//     braid_clip_gradients(graph, pairs, count, 5.0);
//     braid_op *train = braid_apply_gradients(opt, pairs, count, step);
//
// The functions build the nodes of TensorFlow's functions, under the same names. Norms are Euclidean: the
// square root of the sum of squares. Errors are the graph's; a clip norm that is not positive makes the graph
// fail.
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

/// Returns the norm of all `xs` [count] taken together, a scalar. Entries whose op is NULL are ignored; the
/// graph fails when all are NULL.
BRAID_API braid_out braid_global_norm(braid_graph *graph, const braid_out *xs, int count);

/// Scales each of `xs` [count] by clip_norm / max(norm, clip_norm) and stores the results to `outs` [count],
/// which may be `xs`. The norm is `use_norm`, a scalar, or braid_global_norm of `xs` when the op of
/// `use_norm` is NULL (Pascanu et al., ICML 2013, algorithm 1). Returns the norm. Entries whose op is NULL
/// stay NULL.
BRAID_API braid_out braid_clip_by_global_norm(braid_graph *graph, const braid_out *xs, int count,
                                              double clip_norm, braid_out use_norm, braid_out *outs);

/// braid_clip_by_global_norm of the gradients of `pairs` [count], in place. Returns the norm before.
BRAID_API braid_out braid_clip_gradients(braid_graph *graph, braid_grad_and_var *pairs, int count,
                                         double clip_norm);

#ifdef __cplusplus
}
#endif
#endif
