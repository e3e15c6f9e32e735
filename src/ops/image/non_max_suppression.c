// NonMaxSuppression in its five versions, and NonMaxSuppressionWithOverlaps.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "kernels/suppress.h"
#include "op/kernel.h"
#include "ops/common/element.h"

#include <float.h>
#include <string.h>

// ---- Shapes ----

static braid_code nms_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    for (int i = 2; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    if (code) return code;
    const braid_shape *boxes = &c->inputs[0], *scores = &c->inputs[1];
    bool has_overlaps = strcmp(c->node->op_type, "NonMaxSuppressionWithOverlaps") == 0;
    if (boxes->rank == 2 && scores->rank == 1 && boxes->dims[0] >= 0 && scores->dims[0] >= 0 &&
        boxes->dims[0] != scores->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)boxes->dims[0], (long long)scores->dims[0]);
    if (!has_overlaps && boxes->rank == 2 && boxes->dims[1] >= 0 && boxes->dims[1] != 4)
        return bd_shape_ctx_fail(c, st, "Dimension must be 4 but is %lld", (long long)boxes->dims[1]);
    const bd_attr *pad = bd_node_attr(c->node, "pad_to_max_output_size");
    int64_t size;
    bool known = pad && pad->b && bd_shape_ctx_constant_int(c, 2, &size) && size >= 0;
    c->outputs[0] = bd_shape1(known ? size : -1);
    if (c->output_count == 3) c->outputs[1] = c->outputs[0];
    if (c->output_count > 1) c->outputs[c->output_count - 1] = BD_SCALAR;
    return BRAID_OK;
}

// ---- Kernels ----

// A scalar float in input `i`. False: the kernel has failed.
static bool scalar_input(bd_op_ctx *c, int i, const char *what, float *value)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank == 0) {
        *value = bd_tensor_f32(t)[0];
        return true;
    }
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", what,
               bd_shape_str(&t->shape, text));
    return false;
}

static bool output_size_input(bd_op_ctx *c, int64_t *size)
{
    const braid_tensor *t = bd_input(c, 2);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_output_size must be 0-D, got shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    *size = bd_tensor_index(t, 0);
    if (*size >= 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output size must be non-negative, got %lld", (long long)*size);
    return false;
}

// Inputs 0 and 1: boxes [n, 4] or overlaps [n, n], and scores [n].
static bool check_boxes(bd_op_ctx *c, bd_suppress *s, bool has_overlaps)
{
    const braid_tensor *boxes = bd_input(c, 0), *scores = bd_input(c, 1);
    const char *what = has_overlaps ? "overlaps" : "boxes";
    char text[BD_SHAPE_STR_MAX];
    bd_shape_str(&boxes->shape, text);
    if (boxes->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 2-D, but has shape %s", what, text);
    } else if (!has_overlaps && boxes->shape.dims[1] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must have 4 columns, but has shape %s", text);
    } else if (has_overlaps && boxes->shape.dims[1] != boxes->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "overlaps must be square, but has shape %s", text);
    } else if (scores->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "scores must be 1-D, but has shape %s",
                   bd_shape_str(&scores->shape, text));
    } else if (scores->shape.dims[0] != boxes->shape.dims[0] || scores->shape.dims[0] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "scores has incompatible shape %s",
                   bd_shape_str(&scores->shape, text));
    }
    if (bd_op_failed(c)) return false;
    s->boxes = has_overlaps ? NULL : bd_tensor_f32(boxes);
    s->overlaps = has_overlaps ? bd_tensor_f32(boxes) : NULL;
    s->scores = bd_tensor_f32(scores);
    s->count = scores->shape.dims[0];
    return true;
}

static bool check_threshold(bd_op_ctx *c, float threshold)
{
    if (threshold >= 0 && threshold <= 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "iou_threshold must be in [0, 1], got %g", (double)threshold);
    return false;
}

// Makes the outputs: the selected indices, padded with zeros to the requested size if the op pads.
static void output_chosen(bd_op_ctx *c, const bd_suppressed *chosen, int64_t len)
{
    braid_shape shape = bd_shape1(len);
    braid_tensor *index = bd_output(c, 0, BRAID_INT32, &shape);
    if (!index) return;
    memset(index->data, 0, bd_tensor_bytes(index));
    if (chosen->count > 0) memcpy(index->data, chosen->index, (size_t)chosen->count * sizeof *chosen->index);
    if (c->output_count == 3) {
        braid_tensor *score = bd_output(c, 1, BRAID_FLOAT, &shape);
        if (!score) return;
        memset(score->data, 0, bd_tensor_bytes(score));
        if (chosen->count > 0)
            memcpy(score->data, chosen->score, (size_t)chosen->count * sizeof *chosen->score);
    }
    if (c->output_count == 1) return;
    braid_tensor *valid = bd_output(c, c->output_count - 1, BRAID_INT32, &BD_SCALAR);
    if (valid) *bd_tensor_i32(valid) = (int32_t)chosen->count;
}

static void suppress(bd_op_ctx *c, bd_suppress *s)
{
    const bd_attr *pad = bd_node_attr(c->node, "pad_to_max_output_size");
    size_t most = (size_t)(s->count < s->output_max ? s->count : s->output_max);
    bd_suppressed chosen = {.index = bd_try_malloc(most * sizeof *chosen.index),
                            .score = bd_try_malloc(most * sizeof *chosen.score)};
    if (chosen.index && chosen.score && bd_suppress_run(s, &chosen)) {
        output_chosen(c, &chosen, pad && pad->b ? s->output_max : chosen.count);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when choosing among %lld boxes", (long long)s->count);
    }
    bd_free(chosen.index);
    bd_free(chosen.score);
}

// Reads the threshold in the attr or input 3, the least score in input 4 and sigma in input 5, as far as the
// op has them.
static void nms_run(bd_op_ctx *c)
{
    bd_suppress s = {.score_min = -FLT_MAX};
    if (!output_size_input(c, &s.output_max)) return;
    if (c->input_count == 3) {
        s.overlap_max = bd_node_attr_float(c->node, "iou_threshold");
    } else if (!scalar_input(c, 3, "iou_threshold", &s.overlap_max)) {
        return;
    }
    if (!check_threshold(c, s.overlap_max)) return;
    if (c->input_count > 4 && !scalar_input(c, 4, "score_threshold", &s.score_min)) return;
    if (c->input_count > 5 && !scalar_input(c, 5, "soft_nms_sigma", &s.sigma)) return;
    if (!(s.sigma >= 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "soft_nms_sigma_val must be >= 0, got %g", (double)s.sigma);
        return;
    }
    if (check_boxes(c, &s, false)) suppress(c, &s);
}

static void overlaps_run(bd_op_ctx *c)
{
    bd_suppress s = {0};
    if (output_size_input(c, &s.output_max) && scalar_input(c, 3, "overlap_threshold", &s.overlap_max) &&
        scalar_input(c, 4, "score_threshold", &s.score_min) && check_boxes(c, &s, true))
        suppress(c, &s);
}

#define NMS_KERNELS(TYPES)                                                                                   \
    BD_KERNELS({.types = (TYPES), .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = nms_run})
#define NMS_ATTRS "T:type{float,half}=float; T_threshold:type{float,half}=float"

BD_OP(NonMaxSuppression) = {
    .signature = "(boxes: float, scores: float, max_output_size: int32) -> (selected_indices: int32)",
    .attrs = "iou_threshold:float=0.5",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = nms_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = nms_run}),
    .doc =
        "Chooses boxes [y1, x1, y2, x2], the best score first, that overlap none chosen before by more than "
        "iou_threshold.",
};

BD_OP(NonMaxSuppressionV2) = {
    .signature =
        "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold) -> (selected_indices: "
        "int32)",
    .attrs = NMS_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = nms_shape,
    .kernels = NMS_KERNELS("T=float; T_threshold=float"),
    .doc = "NonMaxSuppression with the threshold given by a tensor.",
};

BD_OP(NonMaxSuppressionV3) = {
    .signature = "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: "
                 "T_threshold) -> (selected_indices: int32)",
    .attrs = NMS_ATTRS,
    .shape = nms_shape,
    .kernels = NMS_KERNELS("T=float; T_threshold=float"),
    .doc = "NonMaxSuppressionV2 of the boxes of a score above score_threshold.",
};

BD_OP(NonMaxSuppressionV4) = {
    .signature = "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: "
                 "T_threshold) -> (selected_indices: int32, valid_outputs: int32)",
    .attrs = NMS_ATTRS "; pad_to_max_output_size:bool=false",
    .shape = nms_shape,
    .kernels = NMS_KERNELS("T=float; T_threshold=float"),
    .doc = "NonMaxSuppressionV3 with the number of selected boxes, and optional padding by zeros.",
};

BD_OP(NonMaxSuppressionV5) = {
    .signature =
        "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: "
        "T) -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    .attrs = "T:type{float,half}=float; pad_to_max_output_size:bool=false",
    .shape = nms_shape,
    .kernels = NMS_KERNELS("T=float"),
    .doc =
        "NonMaxSuppressionV4 that gives scores too, and with a soft_nms_sigma above 0 lowers those of overlapping boxes "
        "instead of leaving them out.",
};

BD_OP(NonMaxSuppressionWithOverlaps) = {
    .signature =
        "(overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, score_threshold: "
        "float) -> (selected_indices: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = nms_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = overlaps_run}),
    .doc = "NonMaxSuppressionV3 with the boxes' overlaps in a matrix.",
};
