// Compression of gradients on their way from a worker to the parameter servers.
//
//     braid_grad_and_var pairs[64];
//     int count;
//     const braid_grad_and_var *computed = braid_compute_gradients(opt, loss, NULL, 0, &count);
//     memcpy(pairs, computed, count * sizeof *pairs);
//     braid_compress_gradients(graph, &(braid_compression_options){"top_k", 0.01}, pairs, count);
//     braid_op *train = braid_apply_gradients(opt, pairs, count, step);
//
// A gradient g is compressed to C(g) on the worker and made a dense tensor of its own type again beside its
// variable. The optimizer, or the accumulator of synchronous training, gets that tensor, so every optimizer
// works as it does without compression.
//
// "half", "bfloat16": C(g) is g, a double first as a float, rounded to the nearest number of the type: 11 or 8
// bits of significand, half the bytes of a float. Half has no numbers beyond 65504 in magnitude: greater
// elements become infinite, and elements below 3e-8 become 0. Bfloat16 has the range of float.
//
// "top_k" with error feedback (Stich et al., Sparsified SGD with Memory, NeurIPS 2018, algorithm 1;
// Karimireddy et al., Error Feedback Fixes SignSGD, ICML 2019, algorithm 2): of the n elements of a
// variable's gradient the k = ceil(fraction * n) greatest in magnitude are sent, with their positions, and
// the worker keeps the others in a residual e, which begins with zeros and is added to the next gradient:
//
//     p = e + g;  sent = top_k(p);  e = p - sent
//
// so the sum of all that was sent, and e, is the sum of all gradients. The residual has no learning rate in
// it (those papers multiply g by it): the rate at the time of sending counts. Momentum that the optimizer
// adds acts on what was sent. Deep Gradient Compression (Lin et al., ICLR 2018) also accumulates momentum on
// the workers and begins with greater fractions; that is not done here.
//
// The residual is a local variable of the worker, "compress_gradients/VARIABLE/residual" within the current
// name scope, beside nodes that are no variables: call braid_compress_gradients where the gradients are
// built, under the same devices. As local variables, residuals are not in checkpoints, and each session
// begins with zeros, also one that replaces another after a failure: what was not sent until then is lost,
// as are gradients of steps that failed. A gradient that synchronous training drops as stale is lost with
// the sent part of the residual. Steps of one worker that run at the same time would share the residual: run
// one at a time.
#ifndef BRAID_GRADIENT_COMPRESSION_H
#define BRAID_GRADIENT_COMPRESSION_H

#include <braid/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_compression_options {
    const char *method; ///< "none", "half", "bfloat16" or "top_k"; NULL: none
    double fraction;    ///< of "top_k": the part of a gradient's elements that is sent, in (0, 1]
} braid_compression_options;

/// Replaces the gradients of `pairs` [count] by their compressed forms. Pairs without a gradient are left as
/// they are, and so are gradients that a method would not make smaller: for "half" and "bfloat16" those that
/// are neither float nor double; for "top_k" these, sparse gradients, and those of which half of the elements
/// or more would be sent. The rows of a sparse gradient are rounded; its indices stay.
/// The graph fails with InvalidArgument for an unknown method, a fraction out of range, and, with "top_k", a
/// variable whose shape is not fully known or that has more than 2^31 - 1 elements.
BRAID_API void braid_compress_gradients(braid_graph *graph, const braid_compression_options *options,
                                        braid_grad_and_var *pairs, int count);

#ifdef __cplusplus
}
#endif
#endif
