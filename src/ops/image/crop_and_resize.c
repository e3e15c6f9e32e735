// CropAndResize, which cuts boxes out of images and resizes them to one size, and its gradients.
//
// A box is [y1, x1, y2, x2], where 0 and 1 are the centers of an image's first and last pixels. A crop of one
// pixel takes the center of the box. Places outside of the image have the extrapolation value.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/image/image.h"

#include <math.h>
#include <string.h>

// ---- Shapes ----

static braid_code merge_boxes(bd_shape_ctx *c, int i, int rank, int64_t *boxes, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, i, rank, st);
    if (code || c->inputs[i].rank < 0 || c->inputs[i].dims[0] < 0) return code;
    if (*boxes >= 0 && *boxes != c->inputs[i].dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)*boxes,
                                 (long long)c->inputs[i].dims[0]);
    *boxes = c->inputs[i].dims[0];
    return BRAID_OK;
}

// Boxes [n, 4] in input `i` and their images [n] in the next.
static braid_code boxes_shape(bd_shape_ctx *c, int i, int64_t *boxes, braid_status *st)
{
    braid_code code = merge_boxes(c, i, 2, boxes, st);
    if (!code) code = merge_boxes(c, i + 1, 1, boxes, st);
    if (code || c->inputs[i].rank < 0 || c->inputs[i].dims[1] < 0 || c->inputs[i].dims[1] == 4) return code;
    return bd_shape_ctx_fail(c, st, "Dimension must be 4 but is %lld", (long long)c->inputs[i].dims[1]);
}

static braid_code crop_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t boxes = -1;
    braid_code code = boxes_shape(c, 1, &boxes, st);
    if (!code) code = bd_image_sized_shape(c, 3, st);
    if (!code) c->outputs[0].dims[0] = boxes;
    return code;
}

static braid_code grad_image_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t boxes = -1;
    braid_code code = merge_boxes(c, 0, 4, &boxes, st);
    if (!code) code = boxes_shape(c, 1, &boxes, st);
    if (!code) code = bd_shape_ctx_from_input(c, 3, st);
    if (code) return code;
    if (c->outputs[0].rank < 0) c->outputs[0] = (braid_shape){.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->outputs[0].rank == 4) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "image_size must have 4 elements, but has %d", c->outputs[0].rank);
}

static braid_code grad_boxes_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t boxes = -1;
    braid_code code = merge_boxes(c, 0, 4, &boxes, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 4, st);
    if (!code) code = boxes_shape(c, 2, &boxes, st);
    c->outputs[0] = bd_shape2(boxes, 4);
    return code;
}

// ---- Checks ----

// Boxes in input `i`, their images in the next, which must be below `batch`. False: the kernel has failed.
static bool check_boxes(bd_op_ctx *c, int i, int64_t batch, int64_t *count)
{
    const braid_tensor *boxes = bd_input(c, i), *index = bd_input(c, i + 1);
    char text[BD_SHAPE_STR_MAX];
    *count = 0;
    if (bd_tensor_count(boxes) == 0 && bd_tensor_count(index) == 0) return true;
    if (boxes->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must be 2-D, but have shape %s",
                   bd_shape_str(&boxes->shape, text));
    } else if (boxes->shape.dims[1] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "boxes must have 4 columns, but have shape %s",
                   bd_shape_str(&boxes->shape, text));
    } else if (index->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "box_index must be 1-D, but has shape %s",
                   bd_shape_str(&index->shape, text));
    } else if (index->shape.dims[0] != boxes->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "box_index has incompatible shape %s",
                   bd_shape_str(&index->shape, text));
    }
    if (bd_op_failed(c)) return false;
    *count = boxes->shape.dims[0];
    for (int64_t b = 0; b < *count; b++) {
        int32_t image = bd_tensor_i32(index)[b];
        if (image >= 0 && image < batch) continue;
        bd_op_fail(c, BRAID_OUT_OF_RANGE, "box_index has values outside [0, batch_size): %d of %lld", image,
                   (long long)batch);
        return false;
    }
    return true;
}

static bool check_images(bd_op_ctx *c, const braid_shape *s, const char *what)
{
    char text[BD_SHAPE_STR_MAX];
    bd_shape_str(s, text);
    if (s->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s image must be 4-D, but has shape %s", what, text);
    } else if (s->dims[1] <= 0 || s->dims[2] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s dimensions must be positive, but are %s",
                   strcmp(what, "input") == 0 ? "image" : what, text);
    } else if (s->dims[1] > INT32_MAX || s->dims[2] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s dimensions must fit int32, but are %s", what, text);
    }
    return !bd_op_failed(c);
}

// ---- Places ----

typedef struct axis {
    float from, to; // of the box
    int64_t image, crop;
} axis;

typedef struct place {
    int64_t low, high; // pixels on both sides
    float part;        // of the way from one to the other
    int64_t nearest;
} place;

// A float may round the size of a large image.
static int64_t bounded(const axis *a, float at)
{
    return (int64_t)at < a->image ? (int64_t)at : a->image - 1;
}

// Where in the image pixel `i` of the crop lies. False: beside it.
static bool place_of(const axis *a, int64_t i, place *p)
{
    float last = (float)(a->image - 1);
    float scale = a->crop > 1 ? (a->to - a->from) * last / (float)(a->crop - 1) : 0;
    float at = a->crop > 1 ? a->from * last + (float)i * scale
                           : (float)(0.5 * (double)(a->from + a->to) * (double)last);
    if (!(at >= 0 && at <= last)) return false;
    *p = (place){
        .low = bounded(a, floorf(at)), .high = bounded(a, ceilf(at)), .nearest = bounded(a, roundf(at))};
    p->part = at - floorf(at);
    return true;
}

static void axes_of(const float box[4], const int64_t image[2], const int64_t crop[2], axis out[2])
{
    for (int d = 0; d < 2; d++)
        out[d] = (axis){.from = box[d], .to = box[2 + d], .image = image[d], .crop = crop[d]};
}

// One pixel of a crop and the four of the image around it.
typedef struct pixel {
    int64_t box, y, x; // in the crops
    int64_t depth;
    place at[2];
    const axis *axes;
    int64_t corner[4]; // first elements: top left, top right, bottom left, bottom right
    int64_t nearest;
} pixel;

static void set_corners(pixel *p, int64_t image)
{
    int64_t height = p->axes[0].image, width = p->axes[1].image;
    for (int k = 0; k < 4; k++) {
        int64_t row = k < 2 ? p->at[0].low : p->at[0].high,
                column = k % 2 == 0 ? p->at[1].low : p->at[1].high;
        p->corner[k] = ((image * height + row) * width + column) * p->depth;
    }
    p->nearest = ((image * height + p->at[0].nearest) * width + p->at[1].nearest) * p->depth;
}

// The shapes and boxes for a walk over all pixels of the crops.
typedef struct walk {
    const float *boxes;
    const int32_t *images;
    int64_t box_count, crop[2], image[2], depth;
    bool is_nearest;
} walk;

// Calls `inside` for each pixel whose place is inside its image.
static void walk_pixels(const walk *w, void (*inside)(const walk *w, const pixel *p, void *arg), void *arg)
{
    for (int64_t b = 0; b < w->box_count; b++) {
        axis axes[2];
        axes_of(w->boxes + 4 * b, w->image, w->crop, axes);
        pixel p = {.box = b, .depth = w->depth, .axes = axes};
        for (p.y = 0; p.y < w->crop[0]; p.y++) {
            if (!place_of(&axes[0], p.y, &p.at[0])) continue;
            for (p.x = 0; p.x < w->crop[1] && !bd_interrupted(); p.x++) {
                if (!place_of(&axes[1], p.x, &p.at[1])) continue;
                set_corners(&p, w->images[b]);
                inside(w, &p, arg);
            }
        }
    }
}

static int64_t crop_at(const walk *w, const pixel *p)
{
    return ((p->box * w->crop[0] + p->y) * w->crop[1] + p->x) * w->depth;
}

static bool is_nearest(const braid_op *node)
{
    return strcmp(bd_node_attr_string(node, "method"), "nearest") == 0;
}

// ---- CropAndResize ----

typedef struct crop_job {
    const float *image;
    float *crops;
} crop_job;

static void crop_pixel(const walk *w, const pixel *p, void *arg)
{
    const crop_job *job = arg;
    float *out = job->crops + crop_at(w, p);
    for (int64_t c = 0; c < w->depth; c++) {
        if (w->is_nearest) {
            out[c] = job->image[p->nearest + c];
            continue;
        }
        const float *i = job->image + c;
        float top = i[p->corner[0]] + (i[p->corner[1]] - i[p->corner[0]]) * p->at[1].part;
        float bottom = i[p->corner[2]] + (i[p->corner[3]] - i[p->corner[2]]) * p->at[1].part;
        out[c] = top + (bottom - top) * p->at[0].part;
    }
}

static bool crop_size(bd_op_ctx *c, int64_t size[2])
{
    const braid_tensor *t = bd_input(c, 3);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "crop_size must be 1-D, but has shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    if (t->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "crop_size must have two elements, but has shape %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    for (int d = 0; d < 2; d++)
        size[d] = bd_tensor_index(t, d);
    if (size[0] > 0 && size[1] > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "crop dimensions must be positive, but are %lld x %lld",
               (long long)size[0], (long long)size[1]);
    return false;
}

static void crop_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    walk w = {.boxes = bd_tensor_f32(bd_input(c, 1)), .images = bd_tensor_i32(bd_input(c, 2))};
    if (!check_images(c, &x->shape, "input") || !check_boxes(c, 1, x->shape.dims[0], &w.box_count) ||
        !crop_size(c, w.crop))
        return;
    w.image[0] = x->shape.dims[1];
    w.image[1] = x->shape.dims[2];
    w.depth = x->shape.dims[3];
    w.is_nearest = is_nearest(c->node);
    braid_shape shape = {.rank = 4, .dims = {w.box_count, w.crop[0], w.crop[1], w.depth}};
    braid_tensor *y = bd_image_output(c, BRAID_FLOAT, &shape), floats = {0};
    if (!y || bd_tensor_count(y) == 0 || !bd_image_floats(c, x, &floats)) return;
    float beside = bd_node_attr_float(c->node, "extrapolation_value");
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
        bd_tensor_f32(y)[i] = beside;
    walk_pixels(&w, crop_pixel, &(crop_job){bd_tensor_f32(&floats), bd_tensor_f32(y)});
    bd_tensor_fini(&floats);
}

static void crop_gradient(bd_grad_ctx *c)
{
    braid_out *in = c->op->inputs, grad = c->output_grads[0];
    braid_dtype type = bd_dtype_base(braid_out_dtype(in[0]));
    if (type == BRAID_FLOAT || type == BRAID_DOUBLE || type == BRAID_HALF) {
        braid_out size = bd_b_shape(c->graph, "Shape", in[0]);
        braid_op_desc *d = braid_op_begin(c->graph, "CropAndResizeGradImage", NULL);
        braid_op_input(d, grad);
        braid_op_input(d, in[1]);
        braid_op_input(d, in[2]);
        braid_op_input(d, size);
        braid_op_attr_type(d, "T", type);
        braid_op_attr_string(d, "method", bd_node_attr_string(c->op, "method"));
        c->input_grads[0] = braid_op_end_out(d);
    }
    braid_op_desc *d = braid_op_begin(c->graph, "CropAndResizeGradBoxes", NULL);
    braid_op_input(d, grad);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, in[i]);
    c->input_grads[1] = braid_op_end_out(d);
}

BD_OP(CropAndResize) = {
    .signature = "(image: T, boxes: float, box_ind: int32, crop_size: int32) -> (crops: float)",
    .attrs = "T:type{double,float,half,int16,int32,int64,int8,uint16,uint8}; "
             "method:string{bilinear,nearest}='bilinear'; extrapolation_value:float=0",
    .shape = crop_shape,
    .gradient = crop_gradient,
    .kernels = BD_KERNELS({.types = "T=" BD_IMAGE_TYPES, .flags = BD_KERNEL_EXPENSIVE, .run = crop_run}),
    .doc = "Cuts boxes out of images, each from image box_ind[i], and resizes them to crop_size.",
};

// ---- Gradients ----

#define DEFINE_SPREAD(NAME, T)                                                                               \
    typedef struct NAME##_job {                                                                              \
        const float *grads;                                                                                  \
        T *image;                                                                                            \
    } NAME##_job;                                                                                            \
    static void NAME(const walk *w, const pixel *p, void *arg)                                               \
    {                                                                                                        \
        const NAME##_job *job = arg;                                                                         \
        const float *grads = job->grads + crop_at(w, p);                                                     \
        for (int64_t c = 0; c < w->depth; c++) {                                                             \
            T *out = job->image + c;                                                                         \
            if (w->is_nearest) {                                                                             \
                out[p->nearest] += (T)grads[c];                                                              \
                continue;                                                                                    \
            }                                                                                                \
            float top = (1 - p->at[0].part) * grads[c], bottom = p->at[0].part * grads[c];                   \
            out[p->corner[0]] += (T)((1 - p->at[1].part) * top);                                             \
            out[p->corner[1]] += (T)(p->at[1].part * top);                                                   \
            out[p->corner[2]] += (T)((1 - p->at[1].part) * bottom);                                          \
            out[p->corner[3]] += (T)(p->at[1].part * bottom);                                                \
        }                                                                                                    \
    }
DEFINE_SPREAD(spread_f32, float)
DEFINE_SPREAD(spread_f64, double)

static void grad_image_run(bd_op_ctx *c)
{
    const braid_tensor *grads = bd_input(c, 0);
    walk w = {.boxes = bd_tensor_f32(bd_input(c, 1)), .images = bd_tensor_i32(bd_input(c, 2))};
    braid_shape image;
    if (!check_images(c, &grads->shape, "grads") || !bd_input_shape(c, 3, "image_size", &image)) return;
    if (image.rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "image_size must have 4 elements, but has %d", image.rank);
        return;
    }
    if (!check_images(c, &image, "image") || !check_boxes(c, 1, image.dims[0], &w.box_count)) return;
    if (grads->shape.dims[0] != w.box_count || grads->shape.dims[3] != image.dims[3]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   grads->shape.dims[0] != w.box_count ? "boxes and grads have incompatible shape"
                                                       : "image_size and grads are incompatible");
        return;
    }
    memcpy(w.crop, &grads->shape.dims[1], sizeof w.crop);
    memcpy(w.image, &image.dims[1], sizeof w.image);
    w.depth = image.dims[3];
    w.is_nearest = is_nearest(c->node);
    braid_tensor *dx = bd_image_output(c, c->node->output_types[0], &image);
    if (!dx || bd_tensor_count(grads) == 0) return;
    if (dx->dtype == BRAID_DOUBLE) {
        walk_pixels(&w, spread_f64, &(spread_f64_job){bd_tensor_f32(grads), bd_tensor_f64(dx)});
    } else {
        walk_pixels(&w, spread_f32, &(spread_f32_job){bd_tensor_f32(grads), bd_tensor_f32(dx)});
    }
}

BD_OP(CropAndResizeGradImage) = {
    .signature = "(grads: float, boxes: float, box_ind: int32, image_size: int32) -> (output: T)",
    .attrs = "T:type{double,float,half}; method:string{bilinear,nearest}='bilinear'",
    .shape = grad_image_shape,
    .kernels = BD_KERNELS(
        {.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = grad_image_run}),
    .doc = "The gradient of CropAndResize for its images.",
};

typedef struct boxes_job {
    const float *grads, *image;
    float *boxes;
} boxes_job;

// Adds the gradient by the place along axis `d` to both ends of the box.
static void add_ends(const axis *a, int64_t i, float slope, float *from, float *to)
{
    float last = (float)(a->image - 1), ratio = a->crop > 1 ? last / (float)(a->crop - 1) : 0;
    *from += a->crop > 1 ? slope * (last - (float)i * ratio) : slope * 0.5f * last;
    *to += a->crop > 1 ? slope * (float)i * ratio : slope * 0.5f * last;
}

static void move_box(const walk *w, const pixel *p, void *arg)
{
    const boxes_job *job = arg;
    const float *grads = job->grads + crop_at(w, p);
    float *box = job->boxes + 4 * p->box;
    for (int64_t c = 0; c < w->depth; c++) {
        const float *i = job->image + c;
        float corner[4];
        for (int k = 0; k < 4; k++)
            corner[k] = i[p->corner[k]];
        float down = (1 - p->at[1].part) * (corner[2] - corner[0]) + p->at[1].part * (corner[3] - corner[1]);
        float right = (1 - p->at[0].part) * (corner[1] - corner[0]) + p->at[0].part * (corner[3] - corner[2]);
        add_ends(&p->axes[0], p->y, down * grads[c], &box[0], &box[2]);
        add_ends(&p->axes[1], p->x, right * grads[c], &box[1], &box[3]);
    }
}

static void grad_boxes_run(bd_op_ctx *c)
{
    const braid_tensor *grads = bd_input(c, 0), *x = bd_input(c, 1);
    walk w = {.boxes = bd_tensor_f32(bd_input(c, 2)), .images = bd_tensor_i32(bd_input(c, 3))};
    if (!check_images(c, &grads->shape, "grads") || !check_images(c, &x->shape, "image") ||
        !check_boxes(c, 2, x->shape.dims[0], &w.box_count))
        return;
    if (grads->shape.dims[0] != w.box_count || grads->shape.dims[3] != x->shape.dims[3]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   grads->shape.dims[0] != w.box_count ? "boxes and grads have incompatible shape"
                                                       : "image, grads depth differ");
        return;
    }
    memcpy(w.crop, &grads->shape.dims[1], sizeof w.crop);
    memcpy(w.image, &x->shape.dims[1], sizeof w.image);
    w.depth = x->shape.dims[3];
    braid_shape shape = bd_shape2(w.box_count, 4);
    braid_tensor *out = bd_image_output(c, BRAID_FLOAT, &shape), floats = {0};
    if (!out || bd_tensor_count(grads) == 0 || !bd_image_floats(c, x, &floats)) return;
    walk_pixels(&w, move_box, &(boxes_job){bd_tensor_f32(grads), bd_tensor_f32(&floats), bd_tensor_f32(out)});
    bd_tensor_fini(&floats);
}

BD_OP(CropAndResizeGradBoxes) = {
    .signature = "(grads: float, image: T, boxes: float, box_ind: int32) -> (output: float)",
    .attrs =
        "T:type{double,float,half,int16,int32,int64,int8,uint16,uint8}; method:string{bilinear}='bilinear'",
    .shape = grad_boxes_shape,
    .kernels =
        BD_KERNELS({.types = "T=" BD_IMAGE_TYPES, .flags = BD_KERNEL_EXPENSIVE, .run = grad_boxes_run}),
    .doc = "The gradient of CropAndResize for its boxes.",
};
