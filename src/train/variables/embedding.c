// Embedding look-ups: rows of variables, which may be in parts, looked up where they lie.
//
// In parts: each id is sent to the part that has it (DynamicPartition), each part gathers its rows, and these
// are put back in the order of the ids (ParallelDynamicStitch). No part is read as a whole, so that the cost
// depends on the number of ids alone.
#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"

// ---- One variable ----

// The rows of a variable, beside it.
static braid_out look_up(braid_graph *g, const char *name, braid_variable v, braid_out ids)
{
    braid_out rows;
    braid_push_colocate(g, v.ref.op);
    if (train_kind_of(v.ref) == TRAIN_RESOURCE) {
        braid_op_desc *d = braid_op_begin(g, "ResourceGather", name);
        braid_op_input(d, v.ref);
        braid_op_input(d, ids);
        braid_op_attr_type(d, "dtype", train_base_dtype(braid_out_dtype(v.read)));
        rows = braid_identity(g, NULL, braid_op_end_out(d));
    } else {
        rows = train_gather(g, name, v.read, ids);
    }
    braid_pop_colocate(g);
    return rows;
}

// Finds a variable; makes the graph fail where there is none.
static braid_variable variable_of(braid_graph *g, braid_out ref)
{
    const braid_variable v = braid_variable_find(ref);
    if (ref.op && !v.read.op)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "embedding_lookup: '%s' is no variable",
                         braid_op_name(ref.op));
    return v.read.op ? v : (braid_variable){0};
}

braid_out braid_embedding_lookup(braid_graph *g, braid_out variable, braid_out ids)
{
    if (!variable.op || !ids.op) return BRAID_NONE;
    const braid_variable v = variable_of(g, variable);
    if (!v.read.op) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "embedding_lookup");
    // The last identity is not bound to the variable's place.
    const braid_out rows = braid_identity(g, NULL, look_up(g, scope, v, ids));
    braid_pop_name_scope(g);
    return rows;
}

// ---- Parts ----

typedef struct table {
    braid_graph *g;
    const braid_out *parts; // variables
    int count;
} table;

static braid_shape shape_of_part(const table *t, int i)
{
    return braid_out_shape(train_typed(t->parts[i]));
}

static bool check_parts(const table *t)
{
    for (int i = 0; i < t->count; i++) {
        if (!variable_of(t->g, t->parts[i]).read.op) {
            braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT, "embedding_lookup: part %d of %d is none", i,
                             t->count);
            return false;
        }
        braid_shape first = shape_of_part(t, 0), shape = shape_of_part(t, i);
        if (first.rank > 0 && shape.rank > 0) first.dims[0] = shape.dims[0] = 0;
        if (shape.rank < 1 || !braid_shape_equal(first, shape)) {
            braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT,
                             "embedding_lookup: '%s' has other rows than '%s', or none",
                             braid_op_name(t->parts[i].op), braid_op_name(t->parts[0].op));
            return false;
        }
    }
    return true;
}

// For each id: `*part`, the number of the part that has it, and its row there.
static braid_out place_mod(const table *t, braid_out ids, braid_out *part)
{
    *part = train_op_number(t->g, "FloorMod", "mod", ids, t->count);
    return train_op_number(t->g, "FloorDiv", "floordiv", ids, t->count);
}

// The first `extra` parts have `each` + 1 rows, the others `each`. (A table of fewer rows than parts has
// `each` 0; the ids of its rows are all in the first parts, so that what the others are divided by is of no
// account.)
static braid_out place_div(const table *t, braid_out ids, braid_out *part)
{
    braid_graph *g = t->g;
    int64_t rows = 0;
    for (int i = 0; i < t->count; i++)
        rows += shape_of_part(t, i).dims[0];
    const int64_t whole = rows / t->count;
    const double each = (double)whole, extra = (double)(rows % t->count);
    const double divisor = each > 0 ? each : 1;
    const braid_out among_first = train_op_number(g, "FloorDiv", "floordiv", ids, each + 1);
    const braid_out after = train_op_number(g, "Sub", "sub", ids, extra);
    *part = braid_maximum(g, among_first, train_op_number(g, "FloorDiv", "floordiv", after, divisor));
    if (each == 0) *part = among_first;
    const braid_out is_first = train_op_number(g, "Less", "Less", *part, extra);
    const braid_out row = train_op_number(g, "FloorMod", "mod", ids, each + 1);
    return train_node3(g, "Select", NULL, is_first, row,
                       train_op_number(g, "FloorMod", "mod", after, divisor));
}

static braid_op *divide(const table *t, braid_out values, braid_out part)
{
    braid_op_desc *d = braid_op_begin(t->g, "DynamicPartition", NULL);
    braid_op_input(d, values);
    braid_op_input(d, part);
    braid_op_attr_int(d, "num_partitions", t->count);
    return braid_op_end(d);
}

// [ids..., rest of a row]
static braid_out restore_shape(const table *t, braid_out rows, braid_out ids)
{
    braid_shape shape = braid_out_shape(ids), row = shape_of_part(t, 0);
    int unknown = shape.rank < 0, empty = 0;
    for (int i = 0; i < shape.rank; i++) {
        unknown += shape.dims[i] < 0;
        empty += shape.dims[i] == 0;
    }
    const braid_shape element = braid_shape_make(row.rank - 1, row.dims + 1);
    if (unknown <= 1 && !empty && shape.rank >= 0 && shape.rank + element.rank <= BRAID_RANK_MAX) {
        for (int i = 0; i < element.rank; i++)
            shape.dims[shape.rank++] = element.dims[i];
        return braid_reshape(t->g, rows, shape);
    }
    const braid_out dims[] = {train_shape_of(t->g, ids), train_const_shape(t->g, "element_shape", element)};
    return train_node2(t->g, "Reshape", NULL, rows, braid_concat(t->g, dims, 2, 0));
}

static braid_out look_up_parts(const table *t, const char *scope, braid_out ids,
                               braid_partition_strategy strategy)
{
    braid_graph *g = t->g;
    const braid_out flat = braid_reshape(g, ids, BRAID_SHAPE(-1));
    const braid_out places = train_range(g, train_size_of(g, flat));
    braid_out part;
    const braid_out row = (strategy == BRAID_PARTITION_DIV ? place_div : place_mod)(t, flat, &part);
    part = braid_cast(g, part, BRAID_INT32);
    braid_op *rows_of = divide(t, row, part), *places_of = divide(t, places, part);
    if (!rows_of || !places_of) return BRAID_NONE;
    braid_out *indices = bd_calloc((size_t)t->count, sizeof *indices);
    braid_out *rows = bd_calloc((size_t)t->count, sizeof *rows);
    for (int i = 0; i < t->count; i++) {
        indices[i] = braid_output(places_of, i);
        rows[i] = look_up(g, NULL, braid_variable_find(t->parts[i]), braid_output(rows_of, i));
    }
    braid_op_desc *d = braid_op_begin(g, "ParallelDynamicStitch", scope);
    braid_op_input_list(d, indices, t->count);
    braid_op_input_list(d, rows, t->count);
    const braid_out whole = braid_op_end_out(d);
    bd_free(indices);
    bd_free(rows);
    return restore_shape(t, whole, ids);
}

braid_out braid_embedding_lookup_parts(braid_graph *g, const braid_out *parts, int count, braid_out ids,
                                       braid_partition_strategy strategy)
{
    if (braid_graph_status(g, NULL) || !ids.op) return BRAID_NONE;
    if (!parts || count < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "embedding_lookup: Need at least one param");
        return BRAID_NONE;
    }
    if (count == 1) return braid_embedding_lookup(g, parts[0], ids);
    const table t = {g, parts, count};
    if (!check_parts(&t)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "embedding_lookup");
    const braid_out rows = look_up_parts(&t, scope, ids, strategy);
    braid_pop_name_scope(g);
    return rows;
}

// ---- Lists of ids, combined ----

// Rows without weights: one op gathers and combines them.
static braid_out combine(braid_graph *g, const char *scope, braid_combiner combiner, braid_out rows,
                         braid_out places, braid_out segments)
{
    static const char *const op_types[] = {
        [BRAID_COMBINER_MEAN] = "SparseSegmentMean",
        [BRAID_COMBINER_SUM] = "SparseSegmentSum",
        [BRAID_COMBINER_SQRTN] = "SparseSegmentSqrtN",
    };
    return train_node3(g, op_types[combiner], scope, rows, places, segments);
}

// The sums of the values of each segment, called `name` (NULL: after the op).
static braid_out segment_sum(braid_graph *g, const char *name, braid_out values, braid_out segments)
{
    return train_node2(g, "SegmentSum", name, values, segments);
}

static braid_out combine_weighted(braid_graph *g, const char *scope, braid_combiner combiner, braid_out rows,
                                  braid_out weights, braid_out segments)
{
    braid_shape shape = braid_out_shape(rows);
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = i ? 1 : -1;
    weights = braid_reshape(g, weights, shape);
    const braid_out weighted = braid_mul(g, rows, weights);
    if (combiner == BRAID_COMBINER_SUM) return segment_sum(g, scope, weighted, segments);
    const braid_out sums = segment_sum(g, NULL, weighted, segments);
    braid_out by = combiner == BRAID_COMBINER_MEAN ? weights : braid_square(g, weights);
    by = segment_sum(g, NULL, by, segments);
    if (combiner == BRAID_COMBINER_SQRTN) by = braid_sqrt(g, by);
    return train_node2(g, "RealDiv", scope, sums, by);
}

// The row of each id: the first column of the indices.
static braid_out segments_of(braid_graph *g, braid_sparse ids)
{
    const braid_out column = braid_slice(g, ids.indices, (int64_t[]){0, 0}, BRAID_SHAPE(-1, 1));
    return braid_cast(g, braid_squeeze(g, column, (int32_t[]){1}, 1), BRAID_INT32);
}

braid_out braid_embedding_lookup_sparse(braid_graph *g, const braid_out *parts, int count, braid_sparse ids,
                                        const braid_embedding_sparse_options *options)
{
    static const braid_embedding_sparse_options none;
    const braid_embedding_sparse_options *o = options ? options : &none;
    if (braid_graph_status(g, NULL)) return BRAID_NONE;
    if (!ids.values.op || !ids.indices.op || o->combiner < 0 || o->combiner > BRAID_COMBINER_SQRTN) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "embedding_lookup_sparse: %s",
                         ids.values.op && ids.indices.op ? "that is no combiner"
                                                         : "the ids have no values or no indices");
        return BRAID_NONE;
    }
    const char *scope = braid_push_name_scope(g, "embedding_lookup_sparse");
    const braid_out segments = segments_of(g, ids);
    braid_op *unique = train_node1(g, "Unique", NULL, ids.values).op; // each row is looked up once
    braid_out out = BRAID_NONE;
    if (unique) {
        const braid_out places = braid_output(unique, 1);
        const braid_out rows =
            braid_embedding_lookup_parts(g, parts, count, braid_output(unique, 0), o->strategy);
        out = o->weights.op ? combine_weighted(g, scope, o->combiner, braid_gather(g, rows, places),
                                               o->weights, segments)
                            : combine(g, scope, o->combiner, rows, places, segments);
    }
    braid_pop_name_scope(g);
    return out;
}
