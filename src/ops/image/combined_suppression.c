// CombinedNonMaxSuppression: for each image, boxes chosen class by class, and the best of all classes.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/suppress.h"
#include "op/kernel.h"
#include "ops/common/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// The sizes of the inputs. Boxes are [batch, count, box_classes, 4]; box_classes is 1 if all classes have the
// same boxes.
typedef struct combined {
    int64_t batch, count, classes, box_classes;
    int64_t class_max, total; // boxes a class; boxes an image in the outputs
    float overlap_max, score_min;
    bool clips;
} combined;

// ---- Shapes ----

static braid_code combined_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 3, st);
    for (int i = 2; i < 6 && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    if (code) return code;
    const braid_shape *boxes = &c->inputs[0], *scores = &c->inputs[1];
    if (boxes->rank == 4 && boxes->dims[3] >= 0 && boxes->dims[3] != 4)
        return bd_shape_ctx_fail(c, st, "Dimension must be 4 but is %lld", (long long)boxes->dims[3]);
    int64_t batch = boxes->rank == 4 ? boxes->dims[0] : -1, total, class_max, all;
    if (batch < 0 && scores->rank == 3) batch = scores->dims[0];
    bool known = bd_shape_ctx_constant_int(c, 3, &total);
    if (known && total <= 0)
        return bd_shape_ctx_fail(c, st, "max_total_size should be > 0, is %lld", (long long)total);
    if (known && bd_node_attr_bool(c->node, "pad_per_class")) {
        int64_t classes = scores->rank == 3 ? scores->dims[2] : -1;
        known = classes >= 0 && bd_shape_ctx_constant_int(c, 2, &class_max) && class_max >= 0;
        if (known && !__builtin_mul_overflow(class_max, classes, &all) && all < total) total = all;
    }
    c->outputs[0] = (braid_shape){.rank = 3, .dims = {batch, known ? total : -1, 4}};
    c->outputs[1] = c->outputs[2] = bd_shape2(batch, known ? total : -1);
    c->outputs[3] = bd_shape1(batch);
    return BRAID_OK;
}

// ---- Inputs ----

static bool check_scalars(bd_op_ctx *c)
{
    static const char *const names[] = {"max_size_per_class", "max_total_size", "iou_threshold",
                                        "score_threshold"};
    char text[BD_SHAPE_STR_MAX];
    for (int i = 0; i < 4; i++) {
        const braid_shape *s = &bd_input(c, 2 + i)->shape;
        if (s->rank == 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", names[i],
                   bd_shape_str(s, text));
        return false;
    }
    return true;
}

static bool check_numbers(bd_op_ctx *c, const combined *m)
{
    if (m->class_max <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_size_per_class must be positive, is %lld",
                   (long long)m->class_max);
    } else if (m->total <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_total_size must be > 0, is %lld", (long long)m->total);
    } else if (!(m->overlap_max >= 0 && m->overlap_max <= 1)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "iou_threshold must be in [0, 1], got %g",
                   (double)m->overlap_max);
    }
    return !bd_op_failed(c);
}

static bool check_shapes(bd_op_ctx *c)
{
    const braid_shape *boxes = &bd_input(c, 0)->shape, *scores = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (boxes->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must be 4-D, but has shape %s",
                   bd_shape_str(boxes, text));
    } else if (scores->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "scores must be 3-D, but has shape %s",
                   bd_shape_str(scores, text));
    } else if (boxes->dims[0] != scores->dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes and scores must have same batch size");
    } else if (boxes->dims[2] != 1 && boxes->dims[2] != scores->dims[2]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "third dimension of boxes must be either 1 or num classes");
    } else if (boxes->dims[3] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must have 4 columns");
    } else if (scores->dims[1] != boxes->dims[1] || scores->dims[1] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "scores has incompatible shape %s", bd_shape_str(scores, text));
    }
    return !bd_op_failed(c);
}

static bool read_inputs(bd_op_ctx *c, combined *m)
{
    if (!check_scalars(c) || !check_shapes(c)) return false;
    const braid_shape *boxes = &bd_input(c, 0)->shape, *scores = &bd_input(c, 1)->shape;
    *m = (combined){.batch = boxes->dims[0],
                    .count = boxes->dims[1],
                    .box_classes = boxes->dims[2],
                    .classes = scores->dims[2],
                    .class_max = bd_tensor_index(bd_input(c, 2), 0),
                    .total = bd_tensor_index(bd_input(c, 3), 0),
                    .overlap_max = bd_tensor_f32(bd_input(c, 4))[0],
                    .score_min = bd_tensor_f32(bd_input(c, 5))[0],
                    .clips = bd_node_attr_bool(c->node, "clip_boxes")};
    if (!check_numbers(c, m)) return false;
    int64_t all;
    if (bd_node_attr_bool(c->node, "pad_per_class") &&
        !__builtin_mul_overflow(m->class_max, m->classes, &all) && all < m->total)
        m->total = all;
    return true;
}

// ---- Choosing ----

typedef struct choice {
    float score;
    int64_t label;
    float box[4];
    int64_t number; // in the order of choice, for equal scores
} choice;

static int compare(const void *a, const void *b)
{
    const choice *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

// Memory for one image.
typedef struct work {
    float *boxes, *scores; // of one class
    bd_suppressed chosen;  // of one class
    choice *choices;       // of all classes
    int64_t choice_count;
} work;

static bool alloc_work(const combined *m, work *w)
{
    size_t most = (size_t)(m->class_max < m->count ? m->class_max : m->count), count = (size_t)m->count;
    *w = (work){.boxes = bd_try_calloc(count, 4 * sizeof(float)),
                .scores = bd_try_calloc(count, sizeof(float)),
                .chosen = {.index = bd_try_calloc(most, sizeof(int32_t)),
                           .score = bd_try_calloc(most, sizeof(float))}};
    size_t all;
    if (!__builtin_mul_overflow(most, (size_t)m->classes, &all))
        w->choices = bd_try_calloc(all, sizeof(choice));
    return w->boxes && w->scores && w->chosen.index && w->chosen.score && w->choices;
}

static void free_work(work *w)
{
    bd_free(w->boxes);
    bd_free(w->scores);
    bd_free(w->chosen.index);
    bd_free(w->chosen.score);
    bd_free(w->choices);
}

static bool choose_class(const combined *m, const float *boxes, const float *scores, int64_t label, work *w)
{
    for (int64_t i = 0; i < m->count; i++) {
        int64_t from = i * m->box_classes + (m->box_classes > 1 ? label : 0);
        memcpy(w->boxes + 4 * i, boxes + 4 * from, 4 * sizeof *boxes);
        w->scores[i] = scores[i * m->classes + label];
    }
    bd_suppress s = {.boxes = w->boxes,
                     .scores = w->scores,
                     .count = m->count,
                     .output_max = m->class_max,
                     .overlap_max = m->overlap_max,
                     .score_min = m->score_min};
    if (!bd_suppress_run(&s, &w->chosen)) return false;
    for (int64_t k = 0; k < w->chosen.count; k++) {
        choice *out = &w->choices[w->choice_count];
        *out = (choice){.score = w->chosen.score[k], .label = label, .number = w->choice_count++};
        memcpy(out->box, w->boxes + (int64_t)4 * w->chosen.index[k], sizeof out->box);
    }
    return true;
}

// The best of an image as output row `image`; the rest are zeros.
static void put_image(bd_op_ctx *c, const combined *m, int64_t image, work *w)
{
    int64_t len = w->choice_count < m->total ? w->choice_count : m->total;
    if (w->choice_count > 1) qsort(w->choices, (size_t)w->choice_count, sizeof *w->choices, compare);
    for (int64_t k = 0; k < len; k++) {
        const choice *from = &w->choices[k];
        int64_t at = image * m->total + k;
        for (int i = 0; i < 4; i++)
            bd_tensor_f32(&c->outputs[0].tensor)[4 * at + i] =
                m->clips ? fmaxf(fminf(from->box[i], 1), 0) : from->box[i];
        bd_tensor_f32(&c->outputs[1].tensor)[at] = from->score;
        bd_tensor_f32(&c->outputs[2].tensor)[at] = (float)from->label;
    }
    bd_tensor_i32(&c->outputs[3].tensor)[image] = (int32_t)len;
}

static bool make_outputs(bd_op_ctx *c, const combined *m)
{
    braid_shape shapes[] = {{.rank = 3, .dims = {m->batch, m->total, 4}},
                            bd_shape2(m->batch, m->total),
                            bd_shape2(m->batch, m->total),
                            bd_shape1(m->batch)};
    for (int i = 0; i < 4; i++) {
        BD_STATUS(st);
        int64_t count;
        if (bd_shape_checked_count(&shapes[i], &count, st)) bd_op_fail_status(c, st);
        braid_tensor *t =
            bd_op_failed(c) ? NULL : bd_output(c, i, i < 3 ? BRAID_FLOAT : BRAID_INT32, &shapes[i]);
        if (!t) return false;
        memset(t->data, 0, bd_tensor_bytes(t));
    }
    return true;
}

static void combined_run(bd_op_ctx *c)
{
    combined m;
    work w;
    if (!read_inputs(c, &m) || !make_outputs(c, &m)) return;
    bool ok = alloc_work(&m, &w);
    for (int64_t b = 0; b < m.batch && ok; b++) {
        const float *boxes = bd_tensor_f32(bd_input(c, 0)) + b * m.count * m.box_classes * 4;
        const float *scores = bd_tensor_f32(bd_input(c, 1)) + b * m.count * m.classes;
        w.choice_count = 0;
        for (int64_t label = 0; label < m.classes && m.count > 0 && ok && !bd_interrupted(); label++)
            ok = choose_class(&m, boxes, scores, label, &w);
        if (ok) put_image(c, &m, b, &w);
    }
    if (!ok)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when choosing among %lld boxes", (long long)m.count);
    free_work(&w);
}

BD_OP(CombinedNonMaxSuppression) = {
    .signature =
        "(boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: "
        "float, score_threshold: float) -> (nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, "
        "valid_detections: int32)",
    .attrs = "pad_per_class:bool=false; clip_boxes:bool=true",
    .shape = combined_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = combined_run}),
    .doc =
        "NonMaxSuppression of each class of each image, and the best of all classes; the outputs are filled up with "
        "zeros.",
};
