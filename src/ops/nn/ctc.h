// Shared by the ops of connectionist temporal classification: logits of a batch of sequences.
#ifndef BD_OPS_NN_CTC_H
#define BD_OPS_NN_CTC_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

typedef struct bd_ctc_inputs {
    const braid_tensor *x;         // the logits, [times, batch, classes], float or double
    int64_t times, batch, classes; // the last class is the blank
    const int32_t *lengths;        // [batch]: the times of each sequence, at most `times`, perhaps negative
} bd_ctc_inputs;

// Reads input 0 as the logits and input `lengths` as the lengths. A length that does not fit is an error of
// that code, which differs between TensorFlow's ops. False: the kernel has failed.
bool bd_ctc_inputs_read(bd_op_ctx *c, int lengths, braid_code code, bd_ctc_inputs *in);

// The shape functions: checks the ranks of input 0 and input `lengths`, and gives the size of the batch.
braid_code bd_ctc_shape(bd_shape_ctx *c, int lengths, int64_t *batch, braid_status *st);

// ---- The search for the best sequences (ctc_search.c) ----

typedef struct bd_ctc_path {
    int32_t *labels; // [count], owned
    int64_t count;
    double log_probability;
} bd_ctc_path;

typedef enum bd_ctc_outcome {
    BD_CTC_FOUND,
    BD_CTC_TOO_FEW, // fewer sequences than asked for have a probability
    BD_CTC_OUT_OF_MEMORY
} bd_ctc_outcome;

// Finds the `count` most likely sequences of labels of sequence `b` of the batch, the best one first, by a
// beam search with `width` prefixes. The caller frees the labels, also of what was found before an error.
bd_ctc_outcome bd_ctc_search(const bd_ctc_inputs *in, int64_t b, int64_t width, int64_t count,
                             bd_ctc_path *paths);

// The logit of a class at time `t` of sequence `b`.
static inline double bd_ctc_logit(const bd_ctc_inputs *in, int64_t t, int64_t b, int64_t class)
{
    const int64_t at = (t * in->batch + b) * in->classes + class;
    return in->x->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(in->x)[at] : bd_tensor_f64(in->x)[at];
}

#endif
