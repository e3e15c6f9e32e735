// SampleDistortedBoundingBox and its second version: a random window of an image that covers enough of an
// object.
#include "base/alloc.h"
#include "kernels/random_convert.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"
#include "ops/random/random_stateless.h"

typedef struct sample_state {
    bd_random_source source; // first: see bd_random_source_create
    float covered_min;       // of the first version
    float aspect[2], area[2];
    int64_t attempts;
    bool uses_image; // when there are no boxes
} sample_state;

// ---- Attributes and shapes ----

static braid_code read_pair(const braid_op *node, const char *name, const char *what, float out[2],
                            braid_status *st)
{
    const bd_attr *attr = bd_node_attr(node, name);
    if (attr->list.count != 2)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s field must specify 2 dimensions", what);
    out[0] = attr->list.f[0];
    out[1] = attr->list.f[1];
    if (out[0] > 0 && out[1] > 0 && isfinite(out[0]) && isfinite(out[1])) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s must be non-negative: [%g, %g]", what, (double)out[0],
                   (double)out[1]);
}

static braid_code read_attrs(const braid_op *node, sample_state *s, braid_status *st)
{
    braid_code code = read_pair(node, "aspect_ratio_range", "Aspect ratio range", s->aspect, st);
    if (!code) code = read_pair(node, "area_range", "Area range", s->area, st);
    if (code) return code;
    if (s->area[0] > 1 || s->area[1] > 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Area range must be less then or equal to 1.0: [%g, %g]",
                       (double)s->area[0], (double)s->area[1]);
    s->attempts = bd_node_attr_int(node, "max_attempts");
    if (s->attempts <= 0 || s->attempts > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Max attempts must be non-negative: %lld",
                       (long long)s->attempts);
    s->uses_image = bd_node_attr_bool(node, "use_image_if_no_bounding_boxes");
    if (!bd_node_attr(node, "min_object_covered")) return BRAID_OK;
    s->covered_min = bd_node_attr_float(node, "min_object_covered");
    if (s->covered_min >= 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Min object covered must be non-negative: %g",
                   (double)s->covered_min);
}

static braid_code stateless_create(const braid_op *node, void *state, braid_status *st)
{
    return read_attrs(node, state, st);
}

static braid_code sample_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = read_attrs(node, state, st);
    return code ? code : bd_random_source_create(node, state, st);
}

static braid_code sample_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 3, st);
    if (!code && c->input_count > 2) code = bd_shape_ctx_rank(c, 2, 0, st);
    if (!code && c->input_count > 3) code = bd_shape_ctx_random_seed(c, 3, st);
    if (code) return code;
    const braid_shape *size = &c->inputs[0], *boxes = &c->inputs[1];
    if (size->rank == 1 && size->dims[0] >= 0 && size->dims[0] != 3)
        return bd_shape_ctx_fail(c, st, "Dimension must be 3 but is %lld", (long long)size->dims[0]);
    if (boxes->rank == 3 && boxes->dims[2] >= 0 && boxes->dims[2] != 4)
        return bd_shape_ctx_fail(c, st, "Dimension must be 4 but is %lld", (long long)boxes->dims[2]);
    c->outputs[0] = c->outputs[1] = bd_shape1(3);
    c->outputs[2] = (braid_shape){.rank = 3, .dims = {1, 1, 4}};
    return BRAID_OK;
}

// ---- Windows ----

typedef struct rect {
    int64_t left, top, right, bottom;
} rect;

static float area_of(const rect *r)
{
    return (float)((r->right - r->left) * (r->bottom - r->top));
}

static float common_area(const rect *a, const rect *b)
{
    rect r = {.left = a->left > b->left ? a->left : b->left,
              .top = a->top > b->top ? a->top : b->top,
              .right = a->right < b->right ? a->right : b->right,
              .bottom = a->bottom < b->bottom ? a->bottom : b->bottom};
    return r.left > r.right || r.top > r.bottom ? 0 : area_of(&r);
}

// A window or a box of less has no pixels.
#define AREA_MIN 1.0f

static bool covers_enough(const rect *window, float covered_min, const rect *boxes, int64_t count)
{
    if (area_of(window) < AREA_MIN) return false;
    for (int64_t i = 0; i < count; i++) {
        float area = area_of(&boxes[i]);
        if (area >= AREA_MIN && common_area(window, &boxes[i]) / area >= covered_min) return true;
    }
    return false;
}

static int64_t width_of(int64_t height, float aspect)
{
    return lrintf((float)height * aspect);
}

// A random height between that of the least area and that of the greatest, both within the image.
static int64_t draw_height(const rect *image, const float area[2], float aspect, bd_random_words *w)
{
    int64_t height = lrintf(sqrtf(area[0] / aspect)), most = lrintf(sqrtf(area[1] / aspect));
    if (width_of(most, aspect) > image->right) {
        // The greatest height whose rounded width still fits.
        most = (int64_t)(((double)image->right + 0.5 - 0.0000001) / (double)aspect);
        if (width_of(most, aspect) > image->right) most--;
    }
    if (most > image->bottom) most = image->bottom;
    if (height >= most) return most;
    return height + bd_random_below32(w, (uint32_t)(most - height + 1));
}

static bool draw_window(const sample_state *s, const rect *image, float aspect, bd_random_words *w, rect *out)
{
    float size = (float)image->right, area[2];
    if (s->area[0] > s->area[1] || image->right <= 0 || image->bottom <= 0) return false;
    for (int i = 0; i < 2; i++)
        area[i] = s->area[i] * size * (float)image->bottom;
    int64_t height = draw_height(image, area, aspect, w), width = width_of(height, aspect);
    // Rounding may exceed either bound by a row.
    if ((float)(width * height) < area[0]) width = width_of(++height, aspect);
    if ((float)(width * height) > area[1]) width = width_of(--height, aspect);
    float got = (float)(width * height);
    if (got < area[0] || got > area[1] || width > image->right || height > image->bottom || width <= 0 ||
        height <= 0)
        return false;
    out->top = height < image->bottom ? bd_random_below32(w, (uint32_t)(image->bottom - height)) : 0;
    out->left = width < image->right ? bd_random_below32(w, (uint32_t)(image->right - width)) : 0;
    out->right = out->left + width;
    out->bottom = out->top + height;
    return true;
}

// ---- Kernels ----

static bool image_input(bd_op_ctx *c, rect *image)
{
    const braid_tensor *t = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1 || t->shape.dims[0] != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "image_size must be 1-dimensional and must contain 3 elements: %s",
                   bd_shape_str(&t->shape, text));
        return false;
    }
    *image = (rect){.bottom = bd_tensor_index(t, 0), .right = bd_tensor_index(t, 1)};
    if (image->bottom >= 0 && image->bottom < INT32_MAX && image->right >= 0 && image->right < INT32_MAX)
        return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "image height and width cannot be >= int32 max or negative: %lld x %lld",
               (long long)image->bottom, (long long)image->right);
    return false;
}

// Box `i` in pixels. False: the kernel has failed.
static bool box_input(bd_op_ctx *c, const rect *image, int64_t i, rect *out)
{
    const float *box = bd_tensor_f32(bd_input(c, 1)) + 4 * i;
    for (int k = 0; k < 4; k++) {
        if (box[k] >= 0 && box[k] <= 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "All bounding box coordinates must be in [0.0, 1.0]: %g",
                   (double)box[k]);
        return false;
    }
    *out = (rect){.top = (int64_t)(box[0] * (float)image->bottom),
                  .left = (int64_t)(box[1] * (float)image->right),
                  .bottom = (int64_t)(box[2] * (float)image->bottom),
                  .right = (int64_t)(box[3] * (float)image->right)};
    return true;
}

static bool check_boxes(bd_op_ctx *c, const sample_state *s)
{
    const braid_shape *boxes = &bd_input(c, 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (boxes->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "input boxes must be 3-dimensional [batch, num_boxes, coords]: %s",
                   bd_shape_str(boxes, text));
    } else if (boxes->dims[2] != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "bounding boxes must have shape [4] or [*, 4], got %s",
                   bd_shape_str(boxes, text));
    } else if (bd_shape_count(boxes) == 0 && !s->uses_image) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish "
            "to not provide any bounding boxes.");
    }
    return !bd_op_failed(c);
}

static void put_number(braid_tensor *t, int i, int64_t value)
{
    if (t->dtype == BRAID_INT32) {
        bd_tensor_i32(t)[i] = (int32_t)value;
    } else {
        bd_tensor_i64(t)[i] = value;
    }
}

// For Slice: where the window begins and its size, all channels; and as a box.
static void output_window(bd_op_ctx *c, const rect *image, const rect *w)
{
    braid_shape three = bd_shape1(3), one_box = {.rank = 3, .dims = {1, 1, 4}};
    braid_dtype type = c->node->output_types[0];
    braid_tensor *begin = bd_output(c, 0, type, &three), *size = bd_output(c, 1, type, &three),
                 *box = bd_output(c, 2, BRAID_FLOAT, &one_box);
    if (!begin || !size || !box) return;
    int64_t begins[] = {w->top, w->left, 0}, sizes[] = {w->bottom - w->top, w->right - w->left, -1};
    for (int i = 0; i < 3; i++) {
        put_number(begin, i, begins[i]);
        put_number(size, i, sizes[i]);
    }
    float height = (float)image->bottom, width = (float)image->right, *out = bd_tensor_f32(box);
    out[0] = (float)w->top / height;
    out[1] = (float)w->left / width;
    out[2] = (float)w->bottom / height;
    out[3] = (float)w->right / width;
}

// The stateless op has its seed in input 3.
static bool is_stateless(const bd_op_ctx *c)
{
    return c->input_count > 3;
}

static void sample(bd_op_ctx *c, const rect *image, float covered_min, const rect *boxes, int64_t count)
{
    sample_state *s = c->state;
    bd_random_words w = {0};
    if (!is_stateless(c)) {
        w.stream = bd_random_source_take(&s->source, (uint64_t)s->attempts);
    } else if (!bd_random_stateless_stream(c, 3, &w.stream)) {
        return;
    }
    rect window = *image;
    bool found = false;
    for (int64_t i = 0; i < s->attempts && !found; i++) {
        float aspect = bd_uniform_f32(bd_random_word(&w)) * (s->aspect[1] - s->aspect[0]) + s->aspect[0];
        found =
            draw_window(s, image, aspect, &w, &window) && covers_enough(&window, covered_min, boxes, count);
    }
    output_window(c, image, found ? &window : image);
}

static void sample_run(bd_op_ctx *c)
{
    const sample_state *s = c->state;
    float covered_min = s->covered_min;
    rect image;
    if (!image_input(c, &image) || !check_boxes(c, s)) return;
    if (c->input_count > 2) {
        const braid_tensor *t = bd_input(c, 2);
        char text[BD_SHAPE_STR_MAX];
        covered_min = bd_tensor_count(t) > 0 ? bd_tensor_f32(t)[0] : -1;
        if (t->shape.rank != 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "min_object_covered must be 0-D, got shape %s",
                       bd_shape_str(&t->shape, text));
        } else if (!(covered_min >= 0)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Min object covered must be non-negative: %g",
                       (double)covered_min);
        }
        if (bd_op_failed(c)) return;
    }
    int64_t count = bd_tensor_count(bd_input(c, 1)) / 4;
    rect *boxes = bd_try_malloc((size_t)(count + 1) * sizeof *boxes);
    if (!boxes)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sampling among %lld boxes", (long long)count);
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
        box_input(c, &image, i, &boxes[i]);
    if (boxes && count == 0) boxes[count++] = image;
    if (!bd_op_failed(c)) sample(c, &image, covered_min, boxes, count);
    bd_free(boxes);
}

#define SAMPLE_TYPES "T:type{int16,int32,int64,int8,uint8}; "
#define SAMPLE_RANGES                                                                                        \
    "aspect_ratio_range:list(float)=[0.75,1.3300000429153442]; "                                             \
    "area_range:list(float)=[0.05000000074505806,1.0]; max_attempts:int=100; "                               \
    "use_image_if_no_bounding_boxes:bool=false"
#define SAMPLE_ATTRS SAMPLE_TYPES "seed:int=0; seed2:int=0; " SAMPLE_RANGES
#define SAMPLE_KERNELS                                                                                       \
    BD_KERNELS({.types = "T=int32|int64",                                                                    \
                .flags = BD_KERNEL_WIDENS,                                                                   \
                .state_size = sizeof(sample_state),                                                          \
                .create = sample_create,                                                                     \
                .destroy = bd_random_source_destroy,                                                         \
                .run = sample_run})

BD_OP(SampleDistortedBoundingBox) = {
    .signature = "(image_size: T, bounding_boxes: float) -> (begin: T, size: T, bboxes: float)",
    .attrs = SAMPLE_ATTRS "; min_object_covered:float=0.1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = sample_shape,
    .kernels = SAMPLE_KERNELS,
    .doc =
        "Draws a window of an image that covers the part min_object_covered of one of the boxes at least; the whole "
        "image when none is found.",
};

BD_OP(SampleDistortedBoundingBoxV2) = {
    .signature =
        "(image_size: T, bounding_boxes: float, min_object_covered: float) -> (begin: T, size: T, bboxes: "
        "float)",
    .attrs = SAMPLE_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = sample_shape,
    .kernels = SAMPLE_KERNELS,
    .doc = "SampleDistortedBoundingBox with min_object_covered given by a tensor.",
};

BD_OP(StatelessSampleDistortedBoundingBox) = {
    .signature =
        "(image_size: T, bounding_boxes: float, min_object_covered: float, seed: Tseed) -> (begin: T, "
        "size: T, bboxes: float)",
    .attrs = SAMPLE_TYPES "Tseed:type{int32,int64}; " SAMPLE_RANGES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sample_shape,
    .kernels = BD_KERNELS({.types = "T=int32|int64; Tseed=int32|int64",
                           .flags = BD_KERNEL_WIDENS,
                           .state_size = sizeof(sample_state),
                           .create = stateless_create,
                           .run = sample_run}),
    .doc = "SampleDistortedBoundingBoxV2 that draws the same window for the same seed.",
};
