// Equations of Einsum: which dimension of which operand has which label.
#ifndef BD_OPS_LINALG_EINSUM_H
#define BD_OPS_LINALG_EINSUM_H

#include "base/status.h"
#include "tensor/shape.h"

// Most labels of an equation: those of two operands and, for the dimensions that `...` stands for, one each.
#define BD_EINSUM_LABELS_MAX (3 * BRAID_RANK_MAX)
#define BD_EINSUM_INPUTS_MAX 2

// The labels of an operand's dimensions, or the output's: small numbers, the same letter the same number.
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

// Reads "ij,jk->ik" for operands of these shapes (of known ranks, dimensions may be -1); `...` stands for
// dimensions that are broadcast. InvalidArgument.
braid_code bd_einsum_read(bd_einsum *e, const char *equation, const braid_shape *shapes, int count,
                          braid_status *st);

// The shape of the output, -1 where unknown.
braid_shape bd_einsum_shape(const bd_einsum *e);

struct bd_grad_ctx;
void bd_einsum_gradient(struct bd_grad_ctx *c); // einsum_grad.c

#endif
