// Unique, UniqueV2, UniqueWithCounts and ListDiff: sets of the elements of vectors, or of slices of tensors.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/map.h"
#include "graph/grad.h"
#include "ops/common/element.h"

#include <math.h>
#include <string.h>

// A hash table with open addressing. The keys lie in one tensor and are referred to by index; a key is
// `width` consecutive elements.
typedef struct element_set {
    const braid_tensor *t;
    int64_t width;
    int64_t *slots; // index of a key + 1; 0: free
    uint64_t mask;
} element_set;

// The bytes of an element that are compared.
typedef struct element_key {
    const void *data;
    size_t len;
    bool is_nan; // NaN is equal to no element
    double zero; // replaces both zeros
} element_key;

static void key_of(const braid_tensor *t, int64_t i, element_key *k)
{
    *k = (element_key){.len = bd_element_size(t->dtype)};
    k->data = (const char *)t->data + (size_t)i * k->len;
    double value = 1;
    if (t->dtype == BRAID_STRING) {
        const bd_string *s = &bd_tensor_str(t)[i];
        k->data = s->data;
        k->len = s->len;
    } else if (t->dtype == BRAID_FLOAT) {
        value = (double)bd_tensor_f32(t)[i];
    } else if (t->dtype == BRAID_DOUBLE) {
        value = bd_tensor_f64(t)[i];
    }
    k->is_nan = isnan(value);
    if (value == 0) k->data = &k->zero;
}

static bool keys_equal(const element_key *a, const element_key *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool set_init(bd_op_ctx *c, element_set *s, const braid_tensor *t, int64_t keys, int64_t width)
{
    uint64_t capacity = 8;
    while (capacity < 2 * (uint64_t)keys)
        capacity *= 2;
    *s = (element_set){
        .t = t, .width = width, .slots = bd_try_calloc(capacity, sizeof *s->slots), .mask = capacity - 1};
    if (!s->slots) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal elements");
    return s->slots;
}

// Returns whether key `i` of `t` equals key `j` of the set.
static bool is_same(const element_set *s, const braid_tensor *t, int64_t i, int64_t j)
{
    for (int64_t w = 0; w < s->width && !bd_interrupted_at(w); w++) {
        element_key a, b;
        key_of(t, i * s->width + w, &a);
        key_of(s->t, j * s->width + w, &b);
        if (!keys_equal(&a, &b)) return false;
    }
    return true;
}

// The slot of the key equal to key `i` of `t`, or a free slot; NULL if the key contains NaN, which is equal
// to no key.
static int64_t *set_find(const element_set *s, const braid_tensor *t, int64_t i)
{
    uint64_t at = 0;
    for (int64_t w = 0; w < s->width && !bd_interrupted_at(w); w++) {
        element_key k;
        key_of(t, i * s->width + w, &k);
        if (k.is_nan) return NULL;
        at = at * 31 + (k.len ? bd_hash_bytes(k.data, k.len) : 0);
    }
    for (;; at++) {
        int64_t *slot = &s->slots[at & s->mask];
        if (*slot == 0 || is_same(s, t, i, *slot - 1)) return slot;
    }
}

static bool check_vector(bd_op_ctx *c, int i, const char *message)
{
    if (bd_input(c, i)->shape.rank == 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", message);
    return false;
}

static void set_index(const braid_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == BRAID_INT64) {
        bd_tensor_i64(t)[i] = value;
    } else {
        bd_tensor_i32(t)[i] = (int32_t)value;
    }
}

// ---- Unique ----

// Output 0: the unique elements; 1: for each input element, the index of its unique element; 2 (some forms):
// the count of each unique element.
static braid_code unique_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(-1);
    c->outputs[1] = c->inputs[0];
    if (c->output_count > 2) c->outputs[2] = bd_shape1(-1);
    return BRAID_OK;
}

static braid_code unique_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_tensor *axes = bd_shape_ctx_constant(c, 1);
    const braid_shape *x = &c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    c->outputs[0] = *x;
    c->outputs[1] = bd_shape1(-1);
    if (c->output_count > 2) c->outputs[2] = bd_shape1(-1);
    if (code || x->rank < 0) return code;
    int64_t axis = axes && bd_tensor_count(axes) == 1 ? bd_tensor_index(axes, 0) : 0;
    if (axes && (code = bd_shape_ctx_axis(c, x->rank, &axis, st))) return code;
    for (int d = 0; d < x->rank; d++) {
        if (!axes || d == axis) c->outputs[0].dims[d] = -1;
    }
    if (axes) c->outputs[1].dims[0] = x->dims[axis];
    return BRAID_OK;
}

// A tensor as [outer, count, inner]; the slices along the middle dimension are compared.
typedef struct sliced {
    int axis;
    int64_t outer, count, inner;
} sliced;

static bool read_axis(bd_op_ctx *c, sliced *s)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    const braid_tensor *axes = c->input_count > 1 ? bd_input(c, 1) : NULL;
    int64_t axis = 0;
    if (axes && axes->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis expects a 1D vector.");
    } else if (axes && bd_tensor_count(axes) > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis does not support input tensors larger than 1 elements");
    } else if (!axes || bd_tensor_count(axes) == 0) {
        check_vector(c, 0, "unique expects a 1D vector.");
    } else {
        axis = bd_tensor_index(axes, 0);
        if (axis < -x->rank || axis >= x->rank)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis has to be between [0, %d), but is %lld", x->rank,
                       (long long)axis);
        if (axis < 0) axis += x->rank;
    }
    if (bd_op_failed(c)) return false;
    *s = (sliced){.axis = (int)axis,
                  .outer = bd_shape_count_range(x, 0, (int)axis),
                  .count = x->dims[axis],
                  .inner = bd_shape_count_range(x, (int)axis + 1, x->rank)};
    return true;
}

// Copies the slices so that each is contiguous; the caller ends `keys`. False: the kernel has failed.
static bool gather_keys(bd_op_ctx *c, const sliced *s, braid_tensor *keys)
{
    const braid_tensor *x = bd_input(c, 0);
    if (s->outer == 1) {
        bd_tensor_ref(keys, x);
        return true;
    }
    braid_shape shape = bd_shape2(s->count, s->outer * s->inner);
    if (!bd_tensor_alloc(keys, x->dtype, &shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal slices");
        return false;
    }
    bd_strided walk = {.rank = 3,
                       .dims = {s->count, s->outer, s->inner},
                       .to_strides = {s->outer * s->inner, s->inner, 1},
                       .from_strides = {s->inner, s->count * s->inner, 1}};
    if (bd_tensor_count(x) > 0) bd_elements_copy_block(keys, 0, x, 0, &walk);
    return true;
}

// Writes the index of each key's unique key, and the indices of the unique keys; returns the number of unique
// keys.
static int64_t number_keys(const element_set *s, int64_t count, const braid_tensor *idx, int64_t *firsts)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        int64_t *slot = set_find(s, s->t, i);
        if (!slot || *slot == 0) {
            if (slot) *slot = i + 1;
            firsts[found] = i;
            set_index(idx, i, found++);
        } else {
            set_index(idx, i, bd_tensor_index(idx, *slot - 1));
        }
    }
    return found;
}

static void put_unique(bd_op_ctx *c, const sliced *s, const int64_t *firsts, int64_t found)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape shape = x->shape;
    shape.dims[s->axis] = found;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    bd_strided walk = {.rank = 2,
                       .dims = {s->outer, s->inner},
                       .to_strides = {found * s->inner, 1},
                       .from_strides = {s->count * s->inner, 1}};
    for (int64_t i = 0; y && bd_tensor_count(y) > 0 && i < found && !bd_interrupted_at(i); i++)
        bd_elements_copy_block(y, i * s->inner, x, firsts[i] * s->inner, &walk);
}

static void put_counts(bd_op_ctx *c, const braid_tensor *idx, int64_t found)
{
    braid_shape shape = bd_shape1(found);
    braid_tensor *counts = bd_output(c, 2, idx->dtype, &shape);
    for (int64_t i = 0; counts && i < found && !bd_interrupted_at(i); i++)
        set_index(counts, i, 0);
    for (int64_t i = 0; counts && i < bd_tensor_count(idx) && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(idx, i);
        set_index(counts, at, bd_tensor_index(counts, at) + 1);
    }
}

static void unique_run(bd_op_ctx *c)
{
    element_set set = {0};
    sliced s;
    braid_tensor keys = {0};
    int64_t *firsts = NULL;
    if (!read_axis(c, &s)) return;
    braid_shape vector = bd_shape1(s.count);
    braid_tensor *idx = bd_output(c, 1, c->node->output_types[1], &vector);
    if (idx && gather_keys(c, &s, &keys) && set_init(c, &set, &keys, s.count, s.outer * s.inner)) {
        firsts = bd_try_calloc((size_t)s.count + 1, sizeof *firsts);
        if (!firsts) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal elements");
    }
    if (firsts) {
        int64_t found = number_keys(&set, s.count, idx, firsts);
        put_unique(c, &s, firsts, found);
        if (c->output_count > 2) put_counts(c, idx, found);
    }
    bd_free(firsts);
    bd_free(set.slots);
    bd_tensor_fini(&keys);
}

#define TYPES "T=float|double|int8|int16|int32|int64|uint8|uint16|bool|string"

BD_OP(Unique) = {
    .signature = "(x: T) -> (y: T, idx: out_idx)",
    .attrs = "T:type; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unique_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = unique_run}),
    .doc =
        "The distinct elements of a vector in order of first occurrence, and for each element its index among them.",
};

BD_OP(UniqueV2) = {
    .signature = "(x: T, axis: Taxis) -> (y: T, idx: out_idx)",
    .attrs = "T:type; Taxis:type{int32,int64}=int64; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unique_v2_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = unique_run}),
    .doc =
        "The distinct slices of a tensor along an axis (empty axis: elements of a vector), and for each slice its index among them.",
};

BD_OP(UniqueWithCounts) = {
    .signature = "(x: T) -> (y: T, idx: out_idx, count: out_idx)",
    .attrs = "T:type; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unique_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = unique_run}),
    .doc =
        "The distinct elements of a vector, for each element its index among them, and the count of each distinct element.",
};

BD_OP(UniqueWithCountsV2) = {
    .signature = "(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)",
    .attrs = "T:type; Taxis:type{int32,int64}=int64; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unique_v2_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = unique_run}),
    .doc =
        "The distinct slices of a tensor along an axis, for each slice its index among them, and the count of each distinct slice.",
};

// ---- ListDiff ----

static braid_code list_diff_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = bd_shape1(-1);
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

// Writes the indices of the elements of x that are not in the set; returns their number.
static int64_t find_others(const element_set *set, const braid_tensor *x, int64_t *numbers)
{
    int64_t found = 0;
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const int64_t *slot = set_find(set, x, i);
        if (!slot || *slot == 0) numbers[found++] = i;
    }
    return found;
}

static void list_diff_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    element_set set;
    if (!check_vector(c, 0, "x should be a 1D vector.") || !check_vector(c, 1, "y should be a 1D vector.") ||
        !set_init(c, &set, y, bd_tensor_count(y), 1))
        return;
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++) {
        int64_t *slot = set_find(&set, y, i);
        if (slot) *slot = i + 1;
    }
    int64_t *numbers = bd_try_calloc((size_t)bd_tensor_count(x), sizeof *numbers);
    if (numbers) {
        braid_shape shape = bd_shape1(find_others(&set, x, numbers));
        braid_tensor *out = bd_output(c, 0, x->dtype, &shape);
        braid_tensor *idx = out ? bd_output(c, 1, c->node->output_types[1], &shape) : NULL;
        for (int64_t i = 0; idx && i < shape.dims[0] && !bd_interrupted_at(i); i++) {
            bd_elements_copy(out, i, x, numbers[i], 1);
            set_index(idx, i, numbers[i]);
        }
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal elements");
    }
    bd_free(numbers);
    bd_free(set.slots);
}

BD_OP(ListDiff) = {
    .signature = "(x: T, y: T) -> (out: T, idx: out_idx)",
    .attrs = "T:type; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = list_diff_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = list_diff_run}),
    .doc = "The elements of vector x that are not in vector y, in order, and their indices in x.",
};
