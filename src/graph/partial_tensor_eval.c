// Partial evaluation for shape inference: the known elements of small integer tensors, which determine
// shapes. Single elements may be unknown. Values of other ops, types and ranks follow from constants alone
// (subgraph_eval.h).
#include "graph/partial_tensor_eval.h"

#include "base/check.h"
#include "graph/subgraph_eval.h"
#include <string.h>

#define DEPTH_MAX 32   // nodes behind one another
#define VISITS_MAX 512 // nodes looked at for one question
#define RUNS_MAX 8     // constant subgraphs run for one question

typedef struct evaluator {
    int visits, depth, runs;
} evaluator;

static bool eval(evaluator *e, braid_out from, bd_partial_tensor *out);

static bool eval_input(evaluator *e, const braid_op *n, int i, bd_partial_tensor *out)
{
    return i >= 0 && i < n->input_count && n->inputs[i].op && eval(e, n->inputs[i], out);
}

// A fully known scalar.
static bool eval_scalar(evaluator *e, const braid_op *n, int i, int64_t *out)
{
    bd_partial_tensor p;
    if (!eval_input(e, n, i, &p) || p.rank != 0 || !p.known[0]) return false;
    *out = p.v[0];
    return true;
}

static void set_scalar(bd_partial_tensor *out, int64_t value, bool known)
{
    *out = (bd_partial_tensor){.rank = 0, .count = 1};
    out->v[0] = value;
    out->known[0] = known;
}

static bool append(bd_partial_tensor *out, int64_t value, bool known)
{
    if (out->count == BD_PARTIAL_TENSOR_MAX) return false;
    out->v[out->count] = value;
    out->known[out->count++] = known;
    return true;
}

static int64_t int_attr(const braid_op *n, const char *name, int64_t otherwise)
{
    const bd_attr *attr = bd_node_attr(n, name);
    return attr && attr->kind == BD_ATTR_INT ? attr->i : otherwise;
}

// ---- Where values come from ----

bool bd_partial_tensor_read(const braid_tensor *t, bd_partial_tensor *out)
{
    if ((t->dtype != BRAID_INT32 && t->dtype != BRAID_INT64) || t->shape.rank > 1) return false;
    *out = (bd_partial_tensor){.rank = t->shape.rank};
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        if (!append(out, bd_tensor_index(t, i), true)) return false;
    }
    return true;
}

static bool eval_const(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)e, (void)output;
    const bd_attr *attr = bd_node_attr(n, "value");
    return attr && attr->kind == BD_ATTR_TENSOR && bd_partial_tensor_read(attr->tensor, out);
}

static bool eval_run(evaluator *e, braid_out from, bd_partial_tensor *out)
{
    braid_tensor t = {0};
    bool ok = e->runs++ < RUNS_MAX && bd_subgraph_eval(from, &t) && bd_partial_tensor_read(&t, out);
    bd_tensor_fini(&t);
    return ok;
}

static bool eval_shape(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)e;
    if (output >= n->input_count) return false;
    braid_shape s = braid_out_shape(n->inputs[output]);
    *out = (bd_partial_tensor){.rank = 1};
    for (int d = 0; d < s.rank; d++)
        append(out, s.dims[d], s.dims[d] >= 0);
    return s.rank >= 0;
}

static bool eval_size(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)e, (void)output;
    braid_shape s = braid_out_shape(n->inputs[0]);
    int64_t count = braid_shape_num_elements(s);
    set_scalar(out, count, count >= 0);
    return true;
}

static bool eval_rank(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)e, (void)output;
    int rank = braid_out_shape(n->inputs[0]).rank;
    set_scalar(out, rank, rank >= 0);
    return true;
}

// ---- Arrangement ----

static bool eval_identity(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    return eval_input(e, n, 0, out);
}

static bool eval_cast(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    if (!eval_identity(e, n, output, out)) return false;
    if (n->output_types[0] == BRAID_INT64) return true;
    for (int i = 0; i < out->count; i++)
        out->known[i] = out->known[i] && out->v[i] == (int32_t)out->v[i];
    return n->output_types[0] == BRAID_INT32;
}

static bool eval_pack(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    *out = (bd_partial_tensor){.rank = 1};
    for (int i = 0; i < n->input_count; i++) {
        bd_partial_tensor p;
        if (!eval_input(e, n, i, &p)) {
            int rank = n->output_shapes[0].rank;
            // What is not known to be of scalars is taken to be where the vector itself is asked for.
            if (rank != 1 && (rank >= 0 || e->depth > 1)) return false;
            set_scalar(&p, 0, false);
        }
        if (p.rank != 0 || !append(out, p.v[0], p.known[0])) return false;
    }
    return true;
}

// Vectors one behind the other: inputs [from, to).
static bool concat(evaluator *e, const braid_op *n, int from, int to, bd_partial_tensor *out)
{
    *out = (bd_partial_tensor){.rank = 1};
    for (int i = from; i < to; i++) {
        bd_partial_tensor p;
        if (!eval_input(e, n, i, &p)) {
            braid_shape s = braid_out_shape(n->inputs[i]);
            if (s.rank != 1 || s.dims[0] < 0 || s.dims[0] > BD_PARTIAL_TENSOR_MAX) return false;
            p = (bd_partial_tensor){.rank = 1, .count = (int)s.dims[0]};
        }
        if (p.rank != 1) return false;
        for (int k = 0; k < p.count; k++) {
            if (!append(out, p.v[k], p.known[k])) return false;
        }
    }
    return true;
}

static bool eval_concat_v2(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    return concat(e, n, 0, n->input_count - 1, out);
}

static bool eval_concat(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    return concat(e, n, 1, n->input_count, out);
}

// Scalars and vectors of one element become each other.
static bool eval_relabel(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    int rank = n->output_shapes[0].rank;
    if (rank < 0 || rank > 1 || !eval_input(e, n, 0, out)) return false;
    out->rank = rank;
    return rank == 1 || out->count == 1;
}

static bool eval_fill(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    bd_partial_tensor dims;
    int64_t value;
    if (!eval_input(e, n, 0, &dims) || !eval_scalar(e, n, 1, &value) || dims.count > 1) return false;
    if (dims.count == 1 && !dims.known[0]) return false;
    int64_t count = dims.count ? dims.v[0] : 1;
    if (count < 0 || count > BD_PARTIAL_TENSOR_MAX) return false;
    *out = (bd_partial_tensor){.rank = dims.count};
    for (int64_t i = 0; i < count; i++)
        append(out, value, true);
    return true;
}

static bool eval_range(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    int64_t start, limit, delta;
    if (!eval_scalar(e, n, 0, &start) || !eval_scalar(e, n, 1, &limit) || !eval_scalar(e, n, 2, &delta))
        return false;
    if (delta == 0) return false;
    *out = (bd_partial_tensor){.rank = 1};
    for (__int128 i = start; delta > 0 ? i < limit : i > limit; i += delta) {
        if (!append(out, (int64_t)i, true)) return false;
    }
    return true;
}

// ---- Slices ----

// Clips an index that may count from the end to [low, high].
static int64_t clip_index(int64_t index, int64_t size, int64_t low, int64_t high)
{
    if (index < 0) index += size;
    return index < low ? low : index > high ? high : index;
}

// x[begin:end:stride] or x[begin] of a vector.
static bool eval_strided_slice(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    bd_partial_tensor x, bounds[3];
    if (!eval_input(e, n, 0, &x) || x.rank != 1) return false;
    for (int i = 0; i < 3; i++) {
        if (!eval_input(e, n, i + 1, &bounds[i]) || bounds[i].count != 1 || !bounds[i].known[0]) return false;
    }
    if (int_attr(n, "ellipsis_mask", 0) || int_attr(n, "new_axis_mask", 0)) return false;
    int64_t begin = bounds[0].v[0], end = bounds[1].v[0], stride = bounds[2].v[0];
    if (int_attr(n, "shrink_axis_mask", 0) & 1) {
        int64_t at = begin < 0 ? begin + x.count : begin;
        if (at < 0 || at >= x.count) return false;
        set_scalar(out, x.v[at], x.known[at]);
        return true;
    }
    if (stride == 0) return false;
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? x.count : x.count - 1;
    int64_t from =
        int_attr(n, "begin_mask", 0) & 1 ? (stride > 0 ? low : high) : clip_index(begin, x.count, low, high);
    int64_t to =
        int_attr(n, "end_mask", 0) & 1 ? (stride > 0 ? high : low) : clip_index(end, x.count, low, high);
    *out = (bd_partial_tensor){.rank = 1};
    for (__int128 i = from; stride > 0 ? i < to : i > to; i += stride)
        append(out, x.v[i], x.known[i]);
    return true;
}

static bool eval_slice(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    bd_partial_tensor x, begin, size;
    if (!eval_input(e, n, 0, &x) || x.rank != 1 || !eval_input(e, n, 1, &begin) ||
        !eval_input(e, n, 2, &size))
        return false;
    if (begin.count != 1 || !begin.known[0] || size.count != 1 || !size.known[0]) return false;
    int64_t from = begin.v[0];
    if (from < 0 || from > x.count) return false;
    int64_t count = size.v[0] == -1 ? x.count - from : size.v[0];
    if (count < 0 || count > x.count - from) return false;
    *out = (bd_partial_tensor){.rank = 1};
    for (int64_t i = from; i < from + count; i++)
        append(out, x.v[i], x.known[i]);
    return true;
}

// x[indices] along axis 0.
static bool eval_gather(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out)
{
    (void)output;
    bd_partial_tensor x, indices;
    if (!eval_input(e, n, 0, &x) || x.rank != 1 || !eval_input(e, n, 1, &indices)) return false;
    *out = (bd_partial_tensor){.rank = indices.rank};
    for (int i = 0; i < indices.count; i++) {
        int64_t at = indices.v[i];
        if (!indices.known[i]) {
            append(out, 0, false);
            continue;
        }
        if (at < 0 || at >= x.count) return false;
        append(out, x.v[at], x.known[at]);
    }
    return true;
}

// ---- Arithmetic; false where there is no result ----

static bool add(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_add_overflow(a, b, r);
}

static bool sub(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_sub_overflow(a, b, r);
}

static bool mul(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static bool floor_div(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *r = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
    return true;
}

static bool floor_mod(int64_t a, int64_t b, int64_t *r)
{
    int64_t q;
    if (!floor_div(a, b, &q)) return false;
    *r = a - q * b;
    return true;
}

static bool maximum(int64_t a, int64_t b, int64_t *r)
{
    *r = bd_max(a, b);
    return true;
}

static bool minimum(int64_t a, int64_t b, int64_t *r)
{
    *r = bd_min(a, b);
    return true;
}

typedef bool (*binary_fn)(int64_t a, int64_t b, int64_t *r);

// A value that does not fit the type would wrap around at run time, so it counts as unknown.
static bool fits(const braid_op *n, int64_t value)
{
    return n->output_types[0] == BRAID_INT64 ||
           (n->output_types[0] == BRAID_INT32 && value == (int32_t)value);
}

static bool eval_binary(evaluator *e, const braid_op *n, binary_fn fn, bd_partial_tensor *out)
{
    bd_partial_tensor a, b;
    if (!eval_input(e, n, 0, &a) || !eval_input(e, n, 1, &b)) return false;
    if (a.count != b.count && a.count != 1 && b.count != 1) return false;
    *out = (bd_partial_tensor){.rank = a.rank > b.rank ? a.rank : b.rank};
    int count = a.count == 1 ? b.count : a.count;
    for (int i = 0; i < count; i++) {
        int x = a.count == 1 ? 0 : i, y = b.count == 1 ? 0 : i;
        int64_t value = 0;
        bool known = a.known[x] && b.known[y] && fn(a.v[x], b.v[y], &value) && fits(n, value);
        append(out, known ? value : 0, known);
    }
    return true;
}

// All elements into one.
static bool eval_reduce(evaluator *e, const braid_op *n, binary_fn fn, int64_t start, bool has_start,
                        bd_partial_tensor *out)
{
    bd_partial_tensor x, axes;
    const bd_attr *keep = bd_node_attr(n, "keep_dims");
    if (!eval_input(e, n, 0, &x) || !eval_input(e, n, 1, &axes)) return false;
    if (axes.count != x.rank) return false;
    if (axes.count == 1 && (!axes.known[0] || (axes.v[0] != 0 && axes.v[0] != -1))) return false;
    if (x.count == 0 && !has_start) return false;
    int64_t value = has_start ? start : x.v[0];
    bool known = has_start || x.known[0];
    for (int i = has_start ? 0 : 1; i < x.count && known; i++)
        known = x.known[i] && fn(value, x.v[i], &value);
    set_scalar(out, value, known && fits(n, value));
    if (keep && keep->kind == BD_ATTR_BOOL && keep->b) out->rank = x.rank;
    return true;
}

// ---- The table ----

typedef enum reducer {
    NO_REDUCER,
    REDUCER,
    REDUCER_WITH_START
} reducer;

static const struct {
    const char *op;
    bool (*eval)(evaluator *e, const braid_op *n, int output, bd_partial_tensor *out); // or
    binary_fn binary;
    reducer reducer; // `binary` over all elements
    int64_t start;
} evaluators[] = {
    {.op = "Const", .eval = eval_const},
    {.op = "Identity", .eval = eval_identity},
    {.op = "StopGradient", .eval = eval_identity},
    {.op = "Shape", .eval = eval_shape},
    {.op = "ShapeN", .eval = eval_shape},
    {.op = "Size", .eval = eval_size},
    {.op = "Rank", .eval = eval_rank},
    {.op = "Cast", .eval = eval_cast},
    {.op = "Pack", .eval = eval_pack},
    {.op = "ConcatV2", .eval = eval_concat_v2},
    {.op = "Concat", .eval = eval_concat},
    {.op = "ExpandDims", .eval = eval_relabel},
    {.op = "Squeeze", .eval = eval_relabel},
    {.op = "Reshape", .eval = eval_relabel},
    {.op = "Fill", .eval = eval_fill},
    {.op = "Range", .eval = eval_range},
    {.op = "StridedSlice", .eval = eval_strided_slice},
    {.op = "Slice", .eval = eval_slice},
    {.op = "Gather", .eval = eval_gather},
    {.op = "GatherV2", .eval = eval_gather},
    {.op = "Add", .binary = add},
    {.op = "AddV2", .binary = add},
    {.op = "Sub", .binary = sub},
    {.op = "Mul", .binary = mul},
    {.op = "FloorDiv", .binary = floor_div},
    {.op = "FloorMod", .binary = floor_mod},
    {.op = "Maximum", .binary = maximum},
    {.op = "Minimum", .binary = minimum},
    {.op = "Prod", .binary = mul, .reducer = REDUCER_WITH_START, .start = 1},
    {.op = "Sum", .binary = add, .reducer = REDUCER_WITH_START, .start = 0},
    {.op = "Max", .binary = maximum, .reducer = REDUCER},
    {.op = "Min", .binary = minimum, .reducer = REDUCER},
};

static bool eval_by_table(evaluator *e, braid_out from, bd_partial_tensor *out)
{
    const braid_op *n = from.op;
    for (size_t i = 0; i < BD_COUNTOF(evaluators); i++) {
        if (strcmp(evaluators[i].op, n->op_type) != 0) continue;
        if (evaluators[i].eval) return evaluators[i].eval(e, n, from.index, out);
        if (evaluators[i].reducer == NO_REDUCER) return eval_binary(e, n, evaluators[i].binary, out);
        return eval_reduce(e, n, evaluators[i].binary, evaluators[i].start,
                           evaluators[i].reducer == REDUCER_WITH_START, out);
    }
    return false;
}

static bool eval(evaluator *e, braid_out from, bd_partial_tensor *out)
{
    braid_dtype type = bd_dtype_base(braid_out_dtype(from));
    if (!from.op->def || (type != BRAID_INT32 && type != BRAID_INT64)) return false;
    if (e->depth == DEPTH_MAX || e->visits == VISITS_MAX) return false;
    e->visits++;
    e->depth++;
    bool ok = eval_by_table(e, from, out) || eval_run(e, from, out);
    e->depth--;
    return ok;
}

bool bd_partial_tensor_eval(braid_out from, bd_partial_tensor *out)
{
    evaluator e = {0};
    return eval(&e, from, out);
}
