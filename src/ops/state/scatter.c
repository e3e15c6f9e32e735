// Updates of parts of a tensor that indices name.
#include "ops/state/scatter.h"
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "ops/common/element.h"

#include "base/strbuf.h"

#include <string.h>

// ---- Shapes ----

bool bd_slices_known_shape(bool is_nd, const braid_shape *of, const braid_shape *indices, braid_shape *out)
{
    *out = BD_SHAPE_UNKNOWN;
    if (of->rank < 0 || indices->rank < 0) return true;
    if (is_nd && indices->rank == 0) return false;
    int64_t depth = is_nd ? indices->dims[indices->rank - 1] : 1;
    int lead = is_nd ? indices->rank - 1 : indices->rank;
    if (depth < 0) return true;
    if (depth > of->rank || lead + of->rank - (int)depth > BRAID_RANK_MAX) return false;
    out->rank = 0;
    for (int d = 0; d < lead; d++)
        out->dims[out->rank++] = indices->dims[d];
    for (int d = (int)depth; d < of->rank; d++)
        out->dims[out->rank++] = of->dims[d];
    return true;
}

// Dimensions [from, to) of a shape; unknown if the shape has fewer.
static braid_shape dims_between(const braid_shape *s, int from, int to)
{
    braid_shape part = {0};
    if (s->rank < to || from > to) return BD_SHAPE_UNKNOWN;
    for (int d = from; d < to; d++)
        part.dims[part.rank++] = s->dims[d];
    return part;
}

static bool has_elements(const braid_shape *s)
{
    return bd_shape_is_known(s) && bd_shape_count(s) > 0;
}

static braid_code fail_updates(bd_shape_ctx *c, const char *where, int dims, const char *what,
                               const braid_shape *s, int updates_dims, const braid_shape *updates,
                               braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(
        c, st, "The %s %d dimensions of %s.shape=%s must match the %s %d dimensions of updates.shape=%s",
        where, dims, what, bd_shape_str(s, a), where, updates_dims, bd_shape_str(updates, b));
}

braid_code bd_shape_ctx_updates(bd_shape_ctx *c, const braid_shape *of, int indices, int updates,
                                braid_status *st)
{
    const braid_shape *in = &c->inputs[indices], *up = &c->inputs[updates];
    if (in->rank == 0 || up->rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (bd_shape_is_known(of) && bd_shape_count(of) == 0 && (has_elements(in) || has_elements(up)))
        return bd_shape_ctx_fail(c, st, "Indices and updates specified for empty output shape");
    int64_t depth = in->rank < 0 ? -1 : in->dims[in->rank - 1];
    if (in->rank < 0 || up->rank < 0 || depth < 0) return BRAID_OK;
    int lead = in->rank - 1;
    braid_shape of_indices = dims_between(in, 0, lead), of_updates = dims_between(up, 0, lead), merged;
    if (up->rank < lead || !bd_shape_merge(&of_indices, &of_updates, &merged))
        return fail_updates(c, "outer", lead, "indices", in, lead, up, st);
    if (of->rank < 0) return BRAID_OK;
    if (depth > of->rank)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %lld but is rank %d", (long long)depth,
                                 of->rank);
    braid_shape slice = dims_between(of, (int)depth, of->rank), update = dims_between(up, lead, up->rank);
    if (bd_shape_merge(&slice, &update, &merged)) return BRAID_OK;
    return fail_updates(c, "inner", slice.rank, indices == 0 ? "output" : "input", of, update.rank, up, st);
}

// Reads attr bad_indices_policy of TensorFlow 2; an op without it refuses bad indices.
static bool read_policy(bd_op_ctx *c, bool *ignores)
{
    const bd_attr *attr = bd_node_attr(c->node, "bad_indices_policy");
    const char *policy = attr ? attr->s.data : "";
    *ignores = strcmp(policy, "IGNORE") == 0;
    if (*ignores || !*policy || strcmp(policy, "DEFAULT") == 0 || strcmp(policy, "ERROR") == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Unknown bad_indices_policy '%.64s': it is \"\", DEFAULT, ERROR or IGNORE", policy);
    return false;
}

bool bd_slices_init(bd_op_ctx *c, bd_slices *s, bool is_nd, const braid_shape *of,
                    const braid_tensor *indices)
{
    const braid_shape *shape = &indices->shape;
    char text[BD_SHAPE_STR_MAX];
    if (of->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be at least 1-D, got shape %s",
                   is_nd ? "Output" : "params", bd_shape_str(of, text));
        return false;
    }
    if (is_nd && shape->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices must be at least a vector");
        return false;
    }
    int64_t depth = is_nd ? shape->dims[shape->rank - 1] : 1;
    if (depth > of->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "index innermost dimension length must be <= params rank; saw: %lld vs. %d",
                   (long long)depth, of->rank);
        return false;
    }
    bool ignores = false;
    if (is_nd && !read_policy(c, &ignores)) return false;
    *s = (bd_slices){.depth = (int)depth,
                     .count = bd_shape_count_range(shape, 0, is_nd ? shape->rank - 1 : shape->rank),
                     .len = bd_shape_count_range(of, (int)depth, of->rank),
                     .is_nd = is_nd,
                     .shape_name = "shape",
                     .ignores = ignores};
    return true;
}

bool bd_slices_shape(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_shape *indices,
                     braid_shape *out)
{
    if (bd_slices_known_shape(s->is_nd, of, indices, out)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: more than %d dimensions", c->node->op_type, BRAID_RANK_MAX);
    return false;
}

// ---- Places ----

// "indices[0,2] = [5, 1] does not index into [3,2]"
static void fail_index(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_tensor *indices,
                       int64_t i)
{
    char text[BD_SHAPE_STR_MAX], place[BD_SHAPE_STR_MAX];
    if (!s->is_nd) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)",
                   bd_element_place(&indices->shape, i, place), (long long)bd_tensor_index(indices, i),
                   (long long)of->dims[0]);
        return;
    }
    bd_strbuf index = {0};
    for (int d = 0; d < s->depth; d++)
        bd_strbuf_appendf(&index, "%s%lld", d ? ", " : "",
                          (long long)bd_tensor_index(indices, i * s->depth + d));
    braid_shape slices = indices->shape;
    slices.rank--;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices%s = [%s] does not index into %s %s",
               bd_element_place(&slices, i, place), bd_strbuf_str(&index), s->shape_name,
               bd_shape_str(of, text));
    bd_strbuf_fini(&index);
}

// The first element of slice `i`; -1: the index is out of range.
static int64_t find_slice(const bd_slices *s, const braid_shape *of, const braid_tensor *indices, int64_t i)
{
    int64_t at = 0;
    for (int d = 0; d < s->depth; d++) {
        int64_t index = bd_tensor_index(indices, i * s->depth + d);
        if (index < 0 || index >= of->dims[d]) return -1;
        at = at * of->dims[d] + index;
    }
    return at * s->len;
}

int64_t bd_slices_at(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_tensor *indices,
                     int64_t i)
{
    const int64_t at = find_slice(s, of, indices, i);
    if (at < 0 && !s->ignores) fail_index(c, s, of, indices, i);
    return at;
}

// ---- Updates ----

bool bd_scatter_fits(bd_op_ctx *c, const bd_slices *s, const braid_shape *of, const braid_tensor *indices,
                     const braid_tensor *updates)
{
    braid_shape want;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX], p[BD_SHAPE_STR_MAX];
    if (!bd_slices_shape(c, s, of, &indices->shape, &want)) return false;
    if (s->is_nd && !s->ignores && bd_shape_count(of) == 0 &&
        (bd_tensor_count(indices) > 0 || bd_tensor_count(updates) > 0)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices and updates specified for empty output shape %s",
                   bd_shape_str(of, p));
        return false;
    }
    if (s->is_nd && updates->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Updates shape must have rank at least one. Found: []");
        return false;
    }
    bool is_scalar = updates->shape.rank == 0;
    if (is_scalar || bd_shape_equal(&want, &updates->shape)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               s->is_nd
                   ? "Must have updates.shape = indices.shape[:-1] + params.shape[indices.shape[-1]:], got "
                     "updates.shape %s, indices.shape %s, params.shape %s"
                   : "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
                     "updates.shape %s, indices.shape %s, params.shape %s",
               bd_shape_str(&updates->shape, a), bd_shape_str(&indices->shape, b), bd_shape_str(of, p));
    return false;
}

static void update_slice(const braid_tensor *to, int64_t at, const braid_tensor *updates, int64_t from,
                         int64_t len, bd_update_fn update)
{
    size_t size = braid_dtype_size(to->dtype);
    if (update) {
        update((char *)to->data + (size_t)at * size, (const char *)updates->data + (size_t)from * size, len);
    } else if (len > 0) {
        bd_elements_copy(to, at, updates, from, len);
    }
}

static void prefetch_slice(const braid_tensor *to, const bd_slices *s, const braid_tensor *indices, int64_t i)
{
    const int64_t at = i < s->count ? find_slice(s, &to->shape, indices, i) : -1;
    const size_t size = braid_dtype_size(to->dtype);
    if (at >= 0) bd_prefetch_row((const char *)to->data + (size_t)at * size, (size_t)s->len * size);
}

bool bd_scatter(bd_op_ctx *c, const braid_tensor *to, const bd_slices *s, const braid_tensor *indices,
                const braid_tensor *updates, bd_update_fn update)
{
    if (!bd_scatter_fits(c, s, &to->shape, indices, updates)) return false;
    if (s->depth == 0 && s->len == 0) return true; // for any number of these slices
    bool one_for_all = updates->shape.rank == 0 && s->count * s->len != 1;
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        prefetch_slice(to, s, indices, i + BD_ROWS_AHEAD);
        int64_t at = bd_slices_at(c, s, &to->shape, indices, i);
        if (at < 0 && !s->ignores) return false;
        if (at < 0) continue;
        if (!one_for_all) update_slice(to, at, updates, i * s->len, s->len, update);
        for (int64_t k = 0; one_for_all && k < s->len; k++)
            update_slice(to, at + k, updates, 0, 1, update);
    }
    return true;
}

// ---- Gradients ----

braid_out bd_grad_by_slices(bd_grad_ctx *c, const char *op, braid_out first, braid_out second,
                            const braid_out *third)
{
    const bd_attr *policy = bd_node_attr(c->op, "bad_indices_policy");
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, first);
    braid_op_input(d, second);
    if (third) braid_op_input(d, *third);
    if (policy && policy->s.len > 0) braid_op_attr_string(d, "bad_indices_policy", policy->s.data);
    return braid_op_end_out(d);
}
