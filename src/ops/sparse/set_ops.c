// Sets along the last dimension of dense and sparse tensors: their sizes, differences, intersections and
// unions.
//
// All dimensions but the last form a group, whose elements are a set. Groups are processed in row-major
// order, by their flat index; within a result a set is in ascending order.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/sort.h"
#include "ops/sparse/sparse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SET_TYPES "T:type{int16,int32,int64,int8,string,uint16,uint8}"

// ---- Elements ----

static int64_t int_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_INT8: return ((const int8_t *)t->data)[i];
    case BRAID_UINT8: return ((const uint8_t *)t->data)[i];
    case BRAID_INT16: return ((const int16_t *)t->data)[i];
    case BRAID_UINT16: return ((const uint16_t *)t->data)[i];
    default: return bd_tensor_index(t, i);
    }
}

static int compare_strings(const bd_string *a, const bd_string *b)
{
    size_t shorter = a->len < b->len ? a->len : b->len;
    int order = shorter ? memcmp(a->data, b->data, shorter) : 0;
    return order ? order : a->len < b->len ? -1 : a->len > b->len;
}

static int compare_elements(const braid_tensor *a, int64_t i, const braid_tensor *b, int64_t j)
{
    if (a->dtype == BRAID_STRING) return compare_strings(&bd_tensor_str(a)[i], &bd_tensor_str(b)[j]);
    int64_t x = int_at(a, i), y = int_at(b, j);
    return x < y ? -1 : x > y;
}

static int compare_numbers(const void *x, const void *y, void *arg)
{
    return compare_elements(arg, *(const int64_t *)x, arg, *(const int64_t *)y);
}

// ---- Operands ----

// A set: the numbers of its elements in ascending order of the elements, each once.
typedef struct set {
    int64_t *items; // owned: room for the largest group
    int64_t count;
} set;

#define NO_GROUP INT64_MAX // after all groups

typedef struct operand {
    const braid_tensor *values;
    braid_shape shape;
    bool is_sparse;
    bd_sparse sparse; // of a sparse one
    int64_t at;       // the next group of a dense one, the next entry of a sparse one
    set set;          // of the group looked at
} operand;

static void operand_fini(operand *o)
{
    bd_sparse_fini(&o->sparse);
    bd_free(o->set.items);
}

static bool check_rank(bd_op_ctx *c, const braid_shape *shape)
{
    char text[BD_SHAPE_STR_MAX];
    if (shape->rank >= 2) return bd_sparse_check_size(c, shape);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape %s has rank %d < 2", bd_shape_str(shape, text), shape->rank);
    return false;
}

// A dense tensor in input `first`, or a sparse one from there on. Ends with operand_fini also when it fails.
static bool read_operand(bd_op_ctx *c, int first, bool is_sparse, operand *o)
{
    o->is_sparse = is_sparse;
    if (is_sparse) {
        bd_sparse *s = &o->sparse;
        if (!bd_sparse_input(c, first, first + 1, first + 2, s)) return false;
        bool checks = bd_node_attr_bool(c->node, "validate_indices");
        if (!(checks ? bd_sparse_check_order(c, s) : bd_sparse_check_bounds(c, s))) return false;
        o->values = s->values;
        o->shape = s->shape;
    } else {
        o->values = bd_input(c, first);
        o->shape = o->values->shape;
    }
    if (!check_rank(c, &o->shape)) return false;
    o->set.items = bd_sparse_numbers(c, is_sparse ? o->sparse.count : o->shape.dims[o->shape.rank - 1]);
    return o->set.items != NULL;
}

static braid_shape group_shape(const operand *o)
{
    braid_shape shape = o->shape;
    shape.rank--;
    return shape;
}

// The number of the next group that has elements.
static int64_t next_group(const operand *o)
{
    braid_shape groups = group_shape(o);
    if (!o->is_sparse)
        return bd_tensor_count(o->values) > 0 && o->at < bd_shape_count(&groups) ? o->at : NO_GROUP;
    if (o->at >= o->sparse.count) return NO_GROUP;
    int64_t number = 0;
    for (int d = 0; d < groups.rank; d++)
        number = number * groups.dims[d] + bd_sparse_row(&o->sparse, o->at)[d];
    return number;
}

// Reads the set of the next group.
static void take_set(operand *o)
{
    int64_t from = o->at, to;
    set *s = &o->set;
    if (o->is_sparse) {
        to = o->at = bd_sparse_group_end(&o->sparse, from, o->shape.rank - 1);
    } else {
        from = o->at++ * o->shape.dims[o->shape.rank - 1];
        to = from + o->shape.dims[o->shape.rank - 1];
    }
    int64_t count = to - from;
    for (int64_t i = 0; i < count; i++)
        s->items[i] = from + i;
    bd_sort(s->items, count, sizeof *s->items, compare_numbers, (void *)o->values);
    s->count = 0;
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || compare_elements(o->values, s->items[i], o->values, s->items[s->count - 1]) != 0)
            s->items[s->count++] = s->items[i];
}

// ---- Results ----

enum {
    ONLY_A = 1,
    ONLY_B = 2,
    BOTH = 4
}; // which elements of the two sets an operation keeps

typedef struct result {
    unsigned keeps;
    int64_t *groups, *items; // owned: of each element its group, and its number in a, or ~number in b
    int64_t count, largest;  // elements in all, and of the largest set
} result;

static void combine_sets(result *r, int64_t group, const operand *a, const operand *b)
{
    int64_t before = r->count;
    for (int64_t i = 0, j = 0; (i < a->set.count || j < b->set.count) && !bd_interrupted_at(i + j);) {
        int order = i == a->set.count ? 1
                    : j == b->set.count
                        ? -1
                        : compare_elements(a->values, a->set.items[i], b->values, b->set.items[j]);
        if (r->keeps & (order < 0 ? ONLY_A : order > 0 ? ONLY_B : BOTH)) {
            r->groups[r->count] = group;
            r->items[r->count++] = order <= 0 ? a->set.items[i] : ~b->set.items[j];
        }
        i += order <= 0;
        j += order >= 0;
    }
    if (r->count - before > r->largest) r->largest = r->count - before;
}

static void combine_all(result *r, operand *a, operand *b)
{
    while (!bd_interrupted()) {
        int64_t at_a = next_group(a), at_b = next_group(b), group = at_a < at_b ? at_a : at_b;
        if (group == NO_GROUP) return;
        a->set.count = b->set.count = 0;
        if (at_a == group) take_set(a);
        if (at_b == group) take_set(b);
        combine_sets(r, group, a, b);
    }
}

static void output_sets(bd_op_ctx *c, const result *r, const operand *a, const operand *b)
{
    braid_shape shape = a->shape;
    int last = shape.rank - 1;
    shape.dims[last] = r->largest;
    int64_t *at = bd_output_sparse_indices(c, 0, r->count, shape.rank);
    braid_tensor *y = at ? bd_output_sparse_values(c, 1, a->values->dtype, r->count) : NULL;
    if (!y || !bd_output_sparse_shape(c, 2, &shape)) return;
    for (int64_t i = 0, place = 0; i < r->count && !bd_interrupted_at(i); i++, at += shape.rank) {
        int64_t rest = r->groups[i], item = r->items[i];
        place = i > 0 && r->groups[i - 1] == rest ? place + 1 : 0;
        at[last] = place;
        for (int d = last - 1; d >= 0; d--) {
            at[d] = rest % shape.dims[d];
            rest /= shape.dims[d];
        }
        bd_elements_copy(y, i, item >= 0 ? a->values : b->values, item >= 0 ? item : ~item, 1);
    }
}

static bool check_groups(bd_op_ctx *c, const operand *a, const operand *b)
{
    braid_shape x = group_shape(a), y = group_shape(b);
    char x_text[BD_SHAPE_STR_MAX], y_text[BD_SHAPE_STR_MAX];
    if (bd_shape_equal(&x, &y)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Mismatched shapes %s vs %s", bd_shape_str(&x, x_text),
               bd_shape_str(&y, y_text));
    return false;
}

static int64_t element_count(const operand *o)
{
    return o->is_sparse ? o->sparse.count : bd_tensor_count(o->values);
}

typedef struct set_state {
    unsigned keeps;
} set_state;

static void operation_run(bd_op_ctx *c, bool a_is_sparse, bool b_is_sparse)
{
    const set_state *s = c->state;
    __attribute__((cleanup(operand_fini))) operand a = {0}, b = {0};
    result r = {.keeps = s->keeps};
    if (!read_operand(c, 0, a_is_sparse, &a) || !read_operand(c, a_is_sparse ? 3 : 1, b_is_sparse, &b) ||
        !check_groups(c, &a, &b))
        return;
    r.groups = bd_sparse_numbers(c, element_count(&a) + element_count(&b));
    r.items = bd_sparse_numbers(c, element_count(&a) + element_count(&b));
    if (r.groups && r.items) {
        combine_all(&r, &a, &b);
        output_sets(c, &r, &a, &b);
    }
    bd_free(r.groups);
    bd_free(r.items);
}

static void dense_dense_run(bd_op_ctx *c)
{
    operation_run(c, false, false);
}

static void dense_sparse_run(bd_op_ctx *c)
{
    operation_run(c, false, true);
}

static void sparse_sparse_run(bd_op_ctx *c)
{
    operation_run(c, true, true);
}

static braid_code set_create(const braid_op *node, void *state, braid_status *st)
{
    static const struct {
        const char *name;
        unsigned keeps;
    } operations[] = {
        {"a-b", ONLY_A}, {"b-a", ONLY_B}, {"intersection", BOTH}, {"union", ONLY_A | ONLY_B | BOTH}};
    const char *name = bd_node_attr_string(node, "set_operation");
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcasecmp(name, operations[i].name) != 0) continue;
        ((set_state *)state)->keeps = operations[i].keeps;
        return BRAID_OK;
    }
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Invalid set_operation %s: there are a-b, b-a, intersection and union.", name);
}

// ---- Shapes ----

static void set_outputs(bd_shape_ctx *c, int64_t rank)
{
    bd_shape_ctx_sparse_outputs(c, 0, -1, rank);
}

static braid_code check_known_rank(bd_shape_ctx *c, int64_t rank, braid_status *st)
{
    if (rank < 0 || rank >= 2) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %lld", (long long)rank);
}

static braid_code dense_dense_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape a = c->inputs[0], b = c->inputs[1], merged;
    braid_code code = check_known_rank(c, a.rank, st);
    if (!code) code = check_known_rank(c, b.rank, st);
    if (code) return code;
    set_outputs(c, a.rank >= 0 ? a.rank : b.rank);
    if (a.rank < 0 || b.rank < 0) return BRAID_OK;
    a.dims[a.rank - 1] = b.dims[b.rank - 1] = 1;
    if (bd_shape_merge(&a, &b, &merged)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "the sets must agree in all dimensions but the last");
}

// One operand is sparse; `other` is the rank of the other one.
static braid_code sparse_shape(bd_shape_ctx *c, int64_t rank, int64_t other, braid_status *st)
{
    braid_code code = check_known_rank(c, rank, st);
    if (!code) code = check_known_rank(c, other, st);
    if (code) return code;
    if (rank >= 0 && other >= 0 && rank != other)
        return bd_shape_ctx_fail(c, st, "Ranks must be equal, but are %lld and %lld", (long long)other,
                                 (long long)rank);
    set_outputs(c, rank >= 0 ? rank : other);
    return BRAID_OK;
}

static braid_code dense_sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rank;
    braid_code code = bd_shape_ctx_sparse_sizes(c, 1, 2, 3, &rank, st);
    return code ? code : sparse_shape(c, rank, c->inputs[0].rank, st);
}

static braid_code sparse_sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t first, second;
    braid_code code = bd_shape_ctx_sparse_sizes(c, 0, 1, 2, &first, st);
    if (!code) code = bd_shape_ctx_sparse_sizes(c, 3, 4, 5, &second, st);
    return code ? code : sparse_shape(c, second, first, st);
}

#define SET_OPERATION(INPUTS, SHAPE, RUN, DOC)                                                               \
    {                                                                                                        \
        .signature = INPUTS " -> (result_indices: int64, result_values: T, result_shape: int64)",            \
        .attrs = "set_operation:string; validate_indices:bool=true; " SET_TYPES,                             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = SHAPE,                                                   \
        .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,                                                 \
                               .state_size = sizeof(set_state),                                              \
                               .create = set_create,                                                         \
                               .run = RUN}),                                                                 \
        .doc = (DOC)                                                                                         \
    }

BD_OP(DenseToDenseSetOperation) =
    SET_OPERATION("(set1: T, set2: T)", dense_dense_shape, dense_dense_run,
                  "The sets that an operation makes of those along the last dimension of two dense tensors.");
BD_OP(DenseToSparseSetOperation) = SET_OPERATION(
    "(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64)", dense_sparse_shape, dense_sparse_run,
    "The sets that an operation makes of those along the last dimension of a dense and a "
    "sparse tensor.");
BD_OP(SparseToSparseSetOperation) = SET_OPERATION(
    "(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64)",
    sparse_sparse_shape, sparse_sparse_run,
    "The sets that an operation makes of those along the last dimension of two sparse tensors.");

// ---- SetSize ----

static void size_run(bd_op_ctx *c)
{
    __attribute__((cleanup(operand_fini))) operand o = {0};
    if (!read_operand(c, 0, true, &o)) return;
    braid_shape shape = group_shape(&o);
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &shape);
    if (!y) return;
    if (bd_tensor_count(y) > 0) memset(y->data, 0, (size_t)bd_tensor_count(y) * sizeof(int32_t));
    for (int64_t group; (group = next_group(&o)) != NO_GROUP;) {
        take_set(&o);
        bd_tensor_i32(y)[group] = (int32_t)o.set.count;
    }
}

BD_OP(SetSize) = {
    .signature = "(set_indices: int64, set_values: T, set_shape: int64) -> (size: int32)",
    .attrs = "validate_indices:bool=true; " SET_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "How many different elements each set along the last dimension of a sparse tensor has.",
};
