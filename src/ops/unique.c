// Unique and ListDiff: sets of the elements of vectors.
#include "base/alloc.h"
#include "base/map.h"
#include "graph/grad.h"
#include "ops/element.h"

#include <math.h>
#include <string.h>

// A hash table of elements of one vector, each by its number; open addressing.
typedef struct element_set {
    const braid_tensor *t;
    int64_t *slots; // number of an element + 1; 0: free
    uint64_t mask;
} element_set;

// The bytes of an element that say whether two are equal.
typedef struct element_key {
    const void *data;
    size_t len;
    bool is_nan; // equal to nothing
    double zero; // stands for both zeros
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

static bool set_init(bd_op_ctx *c, element_set *s, const braid_tensor *t)
{
    uint64_t count = (uint64_t)bd_tensor_count(t), capacity = 8;
    while (capacity < 2 * count)
        capacity *= 2;
    *s = (element_set){.t = t, .slots = bd_try_calloc(capacity, sizeof *s->slots), .mask = capacity - 1};
    if (!s->slots) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal elements");
    return s->slots;
}

// The place of an element equal to `k` (which is not NaN: that is in no set), or a free one.
static int64_t *set_find(const element_set *s, const element_key *k)
{
    uint64_t at = k->len ? bd_hash_bytes(k->data, k->len) : 0;
    for (;; at++) {
        int64_t *slot = &s->slots[at & s->mask];
        if (*slot == 0) return slot;
        element_key other;
        key_of(s->t, *slot - 1, &other);
        if (keys_equal(k, &other)) return slot;
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

static braid_code unique_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(-1);
    c->outputs[1] = c->inputs[0];
    return BRAID_OK;
}

// Writes each element's number among the unique ones, and the numbers of these in x; returns how many there are.
static int64_t number_elements(const element_set *s, const braid_tensor *idx, int64_t *firsts)
{
    int64_t found = 0;
    for (int64_t i = 0; i < bd_tensor_count(s->t); i++) {
        element_key k;
        key_of(s->t, i, &k);
        int64_t *slot = k.is_nan ? NULL : set_find(s, &k);
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

static void unique_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    element_set set;
    if (!check_vector(c, 0, "unique expects a 1D vector.")) return;
    braid_tensor *idx = bd_output(c, 1, c->node->output_types[1], &x->shape);
    if (!idx || !set_init(c, &set, x)) return;
    int64_t *firsts = bd_try_calloc((size_t)bd_tensor_count(x), sizeof *firsts);
    if (firsts) {
        braid_shape shape = bd_shape1(number_elements(&set, idx, firsts));
        braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
        for (int64_t i = 0; y && i < shape.dims[0]; i++)
            bd_elements_copy(y, i, x, firsts[i], 1);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for equal elements");
    }
    bd_free(firsts);
    bd_free(set.slots);
}

#define TYPES "T=float|double|int8|int16|int32|int64|uint8|uint16|bool|string"

BD_OP(Unique) = {
    .signature = "(x: T) -> (y: T, idx: out_idx)",
    .attrs = "T:type; out_idx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = unique_shape,
    .kernels = BD_KERNELS({.types = TYPES, .flags = BD_KERNEL_WIDENS, .run = unique_run}),
    .doc =
        "The different elements of a vector in the order in which they come, and for each element its number among them.",
};

// ---- ListDiff ----

static braid_code list_diff_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->outputs[1] = bd_shape1(-1);
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

// Elements of x that are not in the set: writes their numbers, returns how many.
static int64_t find_others(const element_set *set, const braid_tensor *x, int64_t *numbers)
{
    int64_t found = 0;
    for (int64_t i = 0; i < bd_tensor_count(x); i++) {
        element_key k;
        key_of(x, i, &k);
        if (k.is_nan || *set_find(set, &k) == 0) numbers[found++] = i;
    }
    return found;
}

static void list_diff_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    element_set set;
    if (!check_vector(c, 0, "x should be a 1D vector.") || !check_vector(c, 1, "y should be a 1D vector.") ||
        !set_init(c, &set, y))
        return;
    for (int64_t i = 0; i < bd_tensor_count(y); i++) {
        element_key k;
        key_of(y, i, &k);
        if (!k.is_nan) *set_find(&set, &k) = i + 1;
    }
    int64_t *numbers = bd_try_calloc((size_t)bd_tensor_count(x), sizeof *numbers);
    if (numbers) {
        braid_shape shape = bd_shape1(find_others(&set, x, numbers));
        braid_tensor *out = bd_output(c, 0, x->dtype, &shape);
        braid_tensor *idx = out ? bd_output(c, 1, c->node->output_types[1], &shape) : NULL;
        for (int64_t i = 0; idx && i < shape.dims[0]; i++) {
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
    .doc = "The elements of vector x that are not in vector y, in their order, and where in x they are.",
};
