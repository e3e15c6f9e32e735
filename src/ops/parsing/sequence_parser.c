// Parses the feature lists of SequenceExamples, in two passes as example_parser.c does: the first counts
// features and values.
#include "ops/parsing/sequence_parser.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "ops/parsing/example_wire.h"

#include <string.h>

// A list of a message.
typedef struct found {
    bd_span list;                  // no data: it is missing
    int64_t rows, values, longest; // features, their values, and the number of values of the longest
} found;

typedef struct parse {
    const bd_sequence_spec *spec;
    const bd_string *serialized, *names;
    int64_t count;
    bool is_single;
    bd_map index; // key -> number of the list, and one: dense ones, then sparse ones
    found *found; // [count][lists]
    bd_parsed_sequences *out;
} parse;

static int list_count(const parse *p)
{
    return p->spec->dense_count + p->spec->sparse_count;
}

static found *lists_of(const parse *p, int64_t message)
{
    return p->found + message * list_count(p);
}

// ---- The first pass ----

// The number of bytes of an example's name that an error shows.
#define NAME_BYTES 1024

static bd_string name_of(const parse *p, int64_t message)
{
    bd_string name = p->names ? p->names[message] : (bd_string){(char *)"<unknown>", strlen("<unknown>")};
    if (!name.data) name.data = (char *)"";
    if (name.len > NAME_BYTES) name.len = NAME_BYTES;
    return name;
}

static braid_code fail_type(const parse *p, int64_t message, const bd_bytes *key, bool is_dense, int64_t row,
                            braid_dtype is, braid_dtype want, braid_status *st)
{
    bd_string name = name_of(p, message);
    const char *kind = is == BRAID_INVALID  ? "not set"
                       : is == BRAID_STRING ? "bytes_list"
                       : is == BRAID_INT64  ? "int64_list"
                                            : "float_list";
    if (p->is_single)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Name: %.*s, Feature %s: %s, Index: %lld.  Data types don't match. Expected type: %s  Feature is: %s",
            (int)name.len, name.data, is_dense ? "list" : "List", key->data, (long long)row,
            braid_dtype_name(want), kind);
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Error in sequence feature %s in example %.*s, at index %lld: expected type: %s, feature is: %s",
        key->data, (int)name.len, name.data, (long long)row, braid_dtype_name(want), kind);
}

// Of a dense list: each feature has as many values as its shape.
static braid_code check_row(const parse *p, int64_t message, const bd_dense_list *list, int64_t row,
                            int64_t values, braid_status *st)
{
    char shape[BD_SHAPE_STR_MAX];
    bd_string name = name_of(p, message);
    if (values == bd_shape_count(&list->shape)) return BRAID_OK;
    const char *what = list->dtype == BRAID_STRING ? "bytes" : braid_dtype_name(list->dtype);
    bd_shape_str(&list->shape, shape);
    if (p->is_single)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Name: %.*s, Key: %s, Index: %lld.  Number of %s values != expected.  values size: %lld but output "
            "shape: %s",
            (int)name.len, name.data, list->key.data, (long long)row, what, (long long)values, shape);
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Unexpected number of elements in feature %s, example %.*s: %lld %s values at index %lld, of shape %s",
        list->key.data, (int)name.len, name.data, (long long)values, what, (long long)row, shape);
}

static braid_code fail_missing(const parse *p, int64_t message, const bd_dense_list *list, braid_status *st)
{
    bd_string name = name_of(p, message);
    if (!p->is_single)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Missing feature %s in example %.*s", list->key.data,
                       (int)name.len, name.data);
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Name: %.*s, Feature list '%s' is required but could not be found.  Did you mean to include it in "
        "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
        (int)name.len, name.data, list->key.data);
}

static braid_code fail_malformed(const parse *p, int64_t message, braid_status *st)
{
    bd_string name = name_of(p, message);
    const bd_string *s = &p->serialized[message];
    if (!p->is_single)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid protocol message input, example id: %.*s",
                       (int)name.len, name.data);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Could not parse example input, value: '%.*s'",
                   (int)bd_min((int64_t)s->len, NAME_BYTES), s->data ? s->data : "");
}

// Looks at the features of one list of one message.
static braid_code scan_list(const parse *p, int64_t message, int i, braid_status *st)
{
    found *f = &lists_of(p, message)[i];
    const bd_dense_list *dense = i < p->spec->dense_count ? &p->spec->dense[i] : NULL;
    const bd_sparse_feature *sparse = dense ? NULL : &p->spec->sparse[i - p->spec->dense_count];
    const bd_bytes *key = dense ? &dense->key : &sparse->key;
    braid_dtype want = dense ? dense->dtype : sparse->dtype;
    bd_span rest = f->list, feature;
    bool malformed = false;
    if (!rest.data) return dense && !dense->may_be_missing ? fail_missing(p, message, dense, st) : BRAID_OK;
    for (; bd_span_next_feature(&rest, &feature, &malformed); f->rows++) {
        braid_dtype dtype;
        int64_t values;
        if (!bd_feature_scan(feature, &dtype, &values)) return fail_malformed(p, message, st);
        if (dtype != want && (dense || dtype != BRAID_INVALID))
            return fail_type(p, message, key, dense, f->rows, dtype, want, st);
        braid_code code = dense ? check_row(p, message, dense, f->rows, values, st) : BRAID_OK;
        if (code) return code;
        f->values += values;
        f->longest = bd_max(f->longest, values);
    }
    return malformed ? fail_malformed(p, message, st) : BRAID_OK;
}

typedef struct collect {
    const parse *p;
    int64_t message;
} collect;

static void collect_list(void *arg, bd_span key, bd_span value)
{
    const collect *c = arg;
    uintptr_t number = (uintptr_t)bd_map_get_n(&c->p->index, (const char *)key.data, key.len);
    if (number > 0) lists_of(c->p, c->message)[number - 1].list = value; // the last one counts
}

static braid_code scan_message(const parse *p, int64_t message, braid_status *st)
{
    const bd_string *s = &p->serialized[message];
    bd_span all = {(const uint8_t *)(s->data ? s->data : ""), s->len};
    if (!bd_span_entries(all, 2, collect_list, &(collect){p, message})) return fail_malformed(p, message, st);
    braid_code code = BRAID_OK;
    for (int i = 0; i < list_count(p) && !code; i++)
        code = scan_list(p, message, i, st);
    return code;
}

// ---- The second pass ----

static braid_code out_of_memory(const bd_bytes *key, braid_status *st)
{
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the values of feature list %s", key->data);
}

static void fill_zeros(const braid_tensor *t, int64_t from, int64_t to)
{
    size_t size = braid_dtype_size(t->dtype);
    if (t->dtype != BRAID_STRING && to > from) // strings are empty already
        memset((char *)t->data + (size_t)from * size, 0, (size_t)(to - from) * size);
}

static braid_code fill_dense(const parse *p, int i, braid_status *st)
{
    const bd_dense_list *list = &p->spec->dense[i];
    const braid_tensor *t = &p->out->dense[i];
    int64_t row = bd_shape_count(&list->shape), whole = p->count > 0 ? bd_tensor_count(t) / p->count : 0;
    for (int64_t m = 0; m < p->count; m++) {
        const found *f = &lists_of(p, m)[i];
        bd_span rest = f->list, feature;
        bool malformed;
        int64_t at = m * whole;
        for (; rest.data && bd_span_next_feature(&rest, &feature, &malformed); at += row) {
            if (!bd_feature_read(feature, t, at)) return out_of_memory(&list->key, st);
        }
        fill_zeros(t, at, (m + 1) * whole);
        if (p->out->lengths) bd_tensor_i64(&p->out->lengths[i])[m] = f->rows;
    }
    return BRAID_OK;
}

static braid_code make_dense(const parse *p, int i, braid_status *st)
{
    const bd_dense_list *list = &p->spec->dense[i];
    braid_shape shape = {.rank = 0}, lengths = bd_shape1(p->count);
    int64_t longest = 0;
    for (int64_t m = 0; m < p->count; m++)
        longest = bd_max(longest, lists_of(p, m)[i].rows);
    if (!p->is_single) shape.dims[shape.rank++] = p->count;
    shape.dims[shape.rank++] = longest;
    if (shape.rank + list->shape.rank > BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Feature list %s: the output has more than %d dimensions",
                       list->key.data, BRAID_RANK_MAX);
    for (int d = 0; d < list->shape.rank; d++)
        shape.dims[shape.rank++] = list->shape.dims[d];
    braid_code code = bd_tensor_init(&p->out->dense[i], list->dtype, &shape, st);
    if (!code && p->out->lengths) code = bd_tensor_init(&p->out->lengths[i], BRAID_INT64, &lengths, st);
    return code ? code : fill_dense(p, i, st);
}

static braid_code fill_sparse(const parse *p, int i, braid_status *st)
{
    const braid_tensor *t = &p->out->values[i];
    int64_t at = 0, *index = bd_tensor_i64(&p->out->indices[i]);
    for (int64_t m = 0; m < p->count; m++) {
        bd_span rest = lists_of(p, m)[p->spec->dense_count + i].list, feature;
        bool malformed;
        for (int64_t row = 0; rest.data && bd_span_next_feature(&rest, &feature, &malformed); row++) {
            braid_dtype dtype;
            int64_t values;
            bd_feature_scan(feature, &dtype, &values);
            for (int64_t k = 0; k < values; k++) {
                if (!p->is_single) *index++ = m;
                *index++ = row;
                *index++ = k;
            }
            if (values > 0 && !bd_feature_read(feature, t, at))
                return out_of_memory(&p->spec->sparse[i].key, st);
            at += values;
        }
    }
    return BRAID_OK;
}

// The values of a ragged list, and its splits: `indices` is one a feature, `shapes` one a message.
static braid_code fill_ragged(const parse *p, int i, braid_status *st)
{
    const braid_tensor *inner = &p->out->indices[i], *outer = &p->out->shapes[i];
    int64_t at = 0, rows = 0;
    bd_splits_set(inner, 0, 0);
    for (int64_t m = 0; m < p->count; m++) {
        bd_span rest = lists_of(p, m)[p->spec->dense_count + i].list, feature;
        bool malformed;
        if (!p->is_single) bd_splits_set(outer, m, rows);
        while (rest.data && bd_span_next_feature(&rest, &feature, &malformed)) {
            braid_dtype dtype;
            int64_t values;
            bd_feature_scan(feature, &dtype, &values);
            if (values > 0 && !bd_feature_read(feature, &p->out->values[i], at))
                return out_of_memory(&p->spec->sparse[i].key, st);
            at += values;
            bd_splits_set(inner, ++rows, at);
        }
    }
    if (!p->is_single) bd_splits_set(outer, p->count, rows);
    return BRAID_OK;
}

static braid_code make_ragged(const parse *p, int i, int64_t total, braid_status *st)
{
    const bd_sparse_feature *f = &p->spec->sparse[i];
    int64_t rows = 0;
    for (int64_t m = 0; m < p->count; m++)
        rows += lists_of(p, m)[p->spec->dense_count + i].rows;
    braid_shape values = bd_shape1(total);
    braid_code code = bd_tensor_init(&p->out->values[i], f->dtype, &values, st);
    if (!code) code = bd_splits_init(&p->out->indices[i], f->splits, rows + 1, &f->key, total, st);
    if (!code)
        code =
            bd_splits_init(&p->out->shapes[i], f->splits, p->is_single ? 0 : p->count + 1, &f->key, rows, st);
    return code ? code : fill_ragged(p, i, st);
}

static braid_code make_sparse(const parse *p, int i, braid_status *st)
{
    int64_t total = 0, rows = 0, longest = 0;
    for (int64_t m = 0; m < p->count; m++) {
        const found *f = &lists_of(p, m)[p->spec->dense_count + i];
        total += f->values;
        rows = bd_max(rows, f->rows);
        longest = bd_max(longest, f->longest);
    }
    if (p->spec->sparse[i].splits != BRAID_INVALID) return make_ragged(p, i, total, st);
    int columns = p->is_single ? 2 : 3;
    braid_shape values = bd_shape1(total), indices = bd_shape2(total, columns), shape = bd_shape1(columns);
    braid_code code = bd_tensor_init(&p->out->values[i], p->spec->sparse[i].dtype, &values, st);
    if (!code) code = bd_tensor_init(&p->out->indices[i], BRAID_INT64, &indices, st);
    if (!code) code = bd_tensor_init(&p->out->shapes[i], BRAID_INT64, &shape, st);
    if (code) return code;
    int64_t *dims = bd_tensor_i64(&p->out->shapes[i]);
    if (!p->is_single) *dims++ = p->count;
    dims[0] = rows;
    dims[1] = longest;
    return fill_sparse(p, i, st);
}

// ---- All of it ----

static braid_code index_key(parse *p, const bd_bytes *key, int number, braid_status *st)
{
    if (!bd_map_put_n(&p->index, key->data, key->len, (void *)(uintptr_t)(number + 1))) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Sequence feature %s cannot be both dense and sparse, or there twice", key->data);
}

static braid_code index_keys(parse *p, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < p->spec->dense_count && !code; i++)
        code = index_key(p, &p->spec->dense[i].key, i, st);
    for (int i = 0; i < p->spec->sparse_count && !code; i++)
        code = index_key(p, &p->spec->sparse[i].key, p->spec->dense_count + i, st);
    return code;
}

static braid_code run_parse(parse *p, braid_status *st)
{
    braid_code code = index_keys(p, st);
    if (code) return code;
    p->found =
        bd_try_calloc((size_t)bd_max(p->count, 1), sizeof *p->found * (size_t)bd_max(list_count(p), 1));
    if (!p->found)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when parsing %lld examples", (long long)p->count);
    for (int64_t m = 0; m < p->count && !code; m++)
        code = scan_message(p, m, st);
    for (int i = 0; i < p->spec->dense_count && !code; i++)
        code = make_dense(p, i, st);
    for (int i = 0; i < p->spec->sparse_count && !code; i++)
        code = make_sparse(p, i, st);
    return code;
}

braid_code bd_sequences_parse(const bd_sequence_spec *spec, const bd_string *serialized,
                              const bd_string *names, int64_t count, bool is_single, bd_parsed_sequences *out,
                              braid_status *st)
{
    parse p = {.spec = spec,
               .serialized = serialized,
               .names = names,
               .count = is_single ? 1 : count,
               .is_single = is_single,
               .out = out};
    bd_map_init(&p.index);
    braid_code code = run_parse(&p, st);
    bd_map_fini(&p.index);
    bd_free(p.found);
    return code;
}
