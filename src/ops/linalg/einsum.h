// Equations of Einsum: the label of each dimension of each operand.
#ifndef BD_OPS_LINALG_EINSUM_H
#define BD_OPS_LINALG_EINSUM_H

#include "base/status.h"
#include "tensor/shape.h"

// The maximum number of labels in an equation: one for each dimension of two operands, and of `...`.
#define BD_EINSUM_LABELS_MAX (3 * BRAID_RANK_MAX)
#define BD_EINSUM_INPUTS_MAX 2

// The labels of the dimensions of an operand or the output: small integers, equal for equal letters.
typedef struct bd_einsum_labels {
    int count;
    int label[BRAID_RANK_MAX];
} bd_einsum_labels;

// An equation applied to operands.
typedef struct bd_einsum {
    int inputs;
    bd_einsum_labels in[BD_EINSUM_INPUTS_MAX], out;
    int label_count;
    int64_t size[BD_EINSUM_LABELS_MAX]; // of each label; -1: unknown
} bd_einsum;

// Parses an equation such as "ij,jk->ik" for operands of `shapes`, whose ranks must be known; dimensions may
// be -1. `...` stands for dimensions that are broadcast. InvalidArgument: a malformed equation, or operands
// that do not fit it.
braid_code bd_einsum_read(bd_einsum *e, const char *equation, const braid_shape *shapes, int count,
                          braid_status *st);

// The shape of the output; -1 where unknown.
braid_shape bd_einsum_shape(const bd_einsum *e);

struct bd_grad_ctx;
void bd_einsum_gradient(struct bd_grad_ctx *c); // defined in einsum_grad.c

#endif
