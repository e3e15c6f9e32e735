// Parses serialized Example messages in two passes: the first finds the features of each example and counts
// their values, the second writes them to their final places. So only values are copied, and each once.
#include "ops/parsing/example_parser.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/thread.h"
#include "op/kernel.h"
#include "ops/common/element.h"
#include "ops/parsing/example_wire.h"

#include <string.h>

// ---- The first pass ----

// A feature of an example.
typedef struct found {
    bd_span value; // no data: it is missing
    int64_t count; // of values
} found;

typedef struct parse {
    const bd_example_spec *spec;
    const bd_string *serialized, *names;
    int64_t count;
    bool is_single;
    bd_map index;    // key -> number of the feature, and one: dense ones, then sparse ones
    found *found;    // [count][features]
    int64_t *starts; // [sparse_count][count]: where the values of an example go
    bd_parsed_examples *out;
    bd_mutex mu;
    braid_status *st;  // guarded by mu: of the first example that has an error
    int64_t failed_at; // guarded by mu
} parse;

static int feature_count(const parse *p)
{
    return p->spec->dense_count + p->spec->sparse_count;
}

static found *features_of(const parse *p, int64_t example)
{
    return p->found + example * feature_count(p);
}

static bd_string name_of(const parse *p, int64_t example)
{
    return p->names ? p->names[example] : (bd_string){(char *)"<unknown>", strlen("<unknown>")};
}

static bool says_name(const parse *p)
{
    return !p->is_single || p->spec->is_context;
}

static braid_code fail_feature(const parse *p, int64_t example, const bd_bytes *key, braid_status *st,
                               const char *format, ...) __attribute__((format(printf, 5, 6)));
// An error that begins with which example and which feature.
static braid_code fail_feature(const parse *p, int64_t example, const bd_bytes *key, braid_status *st,
                               const char *format, ...)
{
    bd_strbuf text = {0};
    va_list args;
    bd_string name = name_of(p, example);
    if (says_name(p)) {
        bd_strbuf_append(&text, "Name: ");
        bd_strbuf_append_n(&text, name.data, name.len);
        bd_strbuf_append(&text, ", ");
    }
    bd_strbuf_append(&text, p->spec->is_context ? "Context feature: " : "Key: ");
    bd_strbuf_append_n(&text, key->data, key->len);
    if (!p->is_single && !p->spec->is_context) bd_strbuf_appendf(&text, ", Index: %lld", (long long)example);
    bd_strbuf_append(&text, ".  ");
    va_start(args, format);
    bd_strbuf_vappendf(&text, format, args);
    va_end(args);
    braid_code code = bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return code;
}

static braid_code fail_missing(const parse *p, int64_t example, const bd_dense_feature *f, braid_status *st)
{
    bd_string name = name_of(p, example);
    int len = (int)bd_min((int64_t)name.len, 1024);
    const char *text = name.data ? name.data : "";
    if (p->spec->is_context && p->is_single)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Name: %.*s, Context feature '%s' is required but could not be found.", len, text,
                       f->key.data);
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "%s%.*s%sFeature: %s (data type: %s) is required but could not be found.",
                   says_name(p) ? "Name: " : "", says_name(p) ? len : 0, text, says_name(p) ? ", " : "",
                   f->key.data, braid_dtype_name(f->dtype));
}

static braid_code fail_type(const parse *p, int64_t example, const bd_bytes *key, braid_dtype is,
                            braid_dtype want, braid_status *st)
{
    if (p->spec->is_context)
        return fail_feature(p, example, key, st, "Data types don't match. Expected type: %s  Feature is: %s",
                            braid_dtype_name(want), braid_dtype_name(is));
    return fail_feature(p, example, key, st, "Data types don't match. Data type: %s but expected type: %s",
                        braid_dtype_name(is), braid_dtype_name(want));
}

static const char *value_name(braid_dtype dtype)
{
    return dtype == BRAID_STRING ? "bytes" : braid_dtype_name(dtype);
}

// Checks the count of a dense feature that is present.
static braid_code check_count(const parse *p, int64_t example, const bd_dense_feature *f, int64_t count,
                              braid_status *st)
{
    char text[BD_SHAPE_STR_MAX];
    int64_t stride = bd_dense_stride(f);
    if (bd_dense_is_variable(f)) {
        if (stride > 0 ? count % stride == 0 : count == 0) return BRAID_OK;
        return fail_feature(
            p, example, &f->key, st,
            "Number of %s values is not a multiple of stride length. Saw %lld values but output shape "
            "is: %s",
            value_name(f->dtype), (long long)count, bd_shape_str(&f->shape, text));
    }
    if (count == stride) return BRAID_OK;
    return fail_feature(p, example, &f->key, st,
                        "Number of %s values != expected.  values size: %lld but output shape: %s",
                        value_name(f->dtype), (long long)count, bd_shape_str(&f->shape, text));
}

// Scans one feature of one example. A feature without a kind of values counts as missing.
static braid_code scan_feature(const parse *p, int64_t example, int i, braid_status *st)
{
    found *f = &features_of(p, example)[i];
    const bd_dense_feature *dense = i < p->spec->dense_count ? &p->spec->dense[i] : NULL;
    const bd_sparse_feature *sparse = dense ? NULL : &p->spec->sparse[i - p->spec->dense_count];
    const bd_bytes *key = dense ? &dense->key : &sparse->key;
    braid_dtype want = dense ? dense->dtype : sparse->dtype, dtype = BRAID_INVALID;
    if (f->value.data && !bd_feature_scan(f->value, &dtype, &f->count))
        return fail_feature(p, example, key, st, "Can't parse serialized Example.");
    if (dtype != BRAID_INVALID && dtype != want) return fail_type(p, example, key, dtype, want, st);
    if (dtype == BRAID_INVALID) f->value.data = NULL;
    if (sparse) return BRAID_OK;
    if (f->value.data) return check_count(p, example, dense, f->count, st);
    if (bd_dense_is_variable(dense) || bd_tensor_count(dense->default_value) > 0) return BRAID_OK;
    return fail_missing(p, example, dense, st);
}

typedef struct collect {
    const parse *p;
    int64_t example;
} collect;

static void collect_entry(void *arg, bd_span key, bd_span value)
{
    const collect *c = arg;
    uintptr_t number = (uintptr_t)bd_map_get_n(&c->p->index, (const char *)key.data, key.len);
    if (number > 0) features_of(c->p, c->example)[number - 1].value = value; // the last one counts
}

static braid_code scan_example(const parse *p, int64_t example, braid_status *st)
{
    const bd_string *s = &p->serialized[example];
    bd_span message = {(const uint8_t *)(s->data ? s->data : ""), s->len};
    if (!bd_span_entries(message, 1, collect_entry, &(collect){p, example}))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Could not parse example input, value: '%.*s'",
                       (int)bd_min((int64_t)s->len, 1024), (const char *)message.data);
    braid_code code = BRAID_OK;
    for (int i = 0; i < feature_count(p) && !code; i++)
        code = scan_feature(p, example, i, st);
    return code;
}

// An error of an example; that of the first one stays.
static void note_error(parse *p, int64_t example, braid_status *st)
{
    bd_mutex_lock(&p->mu);
    if (p->failed_at < 0 || example < p->failed_at) {
        bd_status_move(p->st, st);
        p->failed_at = example;
    }
    bd_mutex_unlock(&p->mu);
}

static void scan_examples(void *arg, int64_t from, int64_t to)
{
    parse *p = arg;
    BD_STATUS(st);
    for (int64_t e = from; e < to; e++) {
        if (!scan_example(p, e, st)) continue;
        note_error(p, e, st);
        return;
    }
}

// ---- Outputs ----

static braid_code make_dense(const parse *p, int i, braid_status *st)
{
    const bd_dense_feature *f = &p->spec->dense[i];
    braid_shape shape = {.rank = 0};
    if (!p->is_single) shape.dims[shape.rank++] = p->count;
    for (int d = 0; d < f->shape.rank; d++)
        shape.dims[shape.rank + d] = f->shape.dims[d];
    if (bd_dense_is_variable(f)) {
        int64_t longest = 0, stride = bd_dense_stride(f);
        for (int64_t e = 0; e < p->count; e++)
            longest = bd_max(longest, features_of(p, e)[i].count);
        shape.dims[shape.rank] = stride > 0 ? longest / stride : 0;
    }
    shape.rank += f->shape.rank;
    return bd_tensor_init(&p->out->dense[i], f->dtype, &shape, st);
}

braid_code bd_splits_init(braid_tensor *t, braid_dtype dtype, int64_t count, const bd_bytes *key,
                          int64_t last, braid_status *st)
{
    braid_shape shape = bd_shape1(count);
    if (dtype == BRAID_INT32 && last > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Feature %s has too many values for int32 row splits: %lld", key->data,
                       (long long)last);
    return bd_tensor_init(t, dtype, &shape, st);
}

void bd_splits_set(const braid_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == BRAID_INT32)
        bd_tensor_i32(t)[i] = (int32_t)value;
    else
        bd_tensor_i64(t)[i] = value;
}

static braid_code make_splits(const parse *p, int i, int64_t total, braid_status *st)
{
    const bd_sparse_feature *f = &p->spec->sparse[i];
    braid_tensor *splits = &p->out->indices[i];
    const int64_t count = p->is_single ? 0 : p->count + 1, *starts = p->starts + i * p->count;
    braid_code code = bd_splits_init(splits, f->splits, count, &f->key, total, st);
    for (int64_t e = 0; e < count && !code; e++)
        bd_splits_set(splits, e, e < p->count ? starts[e] : total);
    return code;
}

static braid_code make_sparse(const parse *p, int i, braid_status *st)
{
    int64_t total = 0, longest = 0, *starts = p->starts + i * p->count;
    for (int64_t e = 0; e < p->count; e++) {
        int64_t n = features_of(p, e)[p->spec->dense_count + i].count;
        starts[e] = total;
        total += n;
        longest = bd_max(longest, n);
    }
    int columns = p->is_single ? 1 : 2;
    braid_shape values = bd_shape1(total), indices = bd_shape2(total, columns), shape = bd_shape1(columns);
    braid_code code = bd_tensor_init(&p->out->values[i], p->spec->sparse[i].dtype, &values, st);
    if (p->spec->sparse[i].splits != BRAID_INVALID) return code ? code : make_splits(p, i, total, st);
    if (!code) code = bd_tensor_init(&p->out->indices[i], BRAID_INT64, &indices, st);
    if (!code) code = bd_tensor_init(&p->out->shapes[i], BRAID_INT64, &shape, st);
    if (code) return code;
    if (!p->is_single) bd_tensor_i64(&p->out->shapes[i])[0] = p->count;
    bd_tensor_i64(&p->out->shapes[i])[columns - 1] = longest;
    return BRAID_OK;
}

// ---- The second pass ----

static bool fill_dense(const parse *p, int64_t example, int i)
{
    const bd_dense_feature *f = &p->spec->dense[i];
    const found *there = &features_of(p, example)[i];
    const braid_tensor *t = &p->out->dense[i];
    int64_t row = p->count > 0 ? bd_tensor_count(t) / p->count : 0, at = example * row;
    if (there->value.data && !bd_feature_read(there->value, t, at)) return false;
    if (!bd_dense_is_variable(f)) {
        if (!there->value.data) bd_elements_copy(t, at, f->default_value, 0, row);
        return true;
    }
    for (int64_t k = there->value.data ? there->count : 0; k < row; k++)
        bd_elements_copy(t, at + k, f->default_value, 0, 1);
    return true;
}

static bool fill_sparse(const parse *p, int64_t example, int i)
{
    const found *there = &features_of(p, example)[p->spec->dense_count + i];
    int64_t at = p->starts[i * p->count + example], *indices = bd_tensor_i64(&p->out->indices[i]);
    if (!there->value.data) return true;
    const bool is_ragged = p->spec->sparse[i].splits != BRAID_INVALID;
    for (int64_t k = 0; k < there->count && !is_ragged; k++) {
        if (p->is_single) {
            indices[at + k] = k;
        } else {
            indices[2 * (at + k)] = example;
            indices[2 * (at + k) + 1] = k;
        }
    }
    return bd_feature_read(there->value, &p->out->values[i], at);
}

static void fill_examples(void *arg, int64_t from, int64_t to)
{
    parse *p = arg;
    BD_STATUS(st);
    for (int64_t e = from; e < to; e++) {
        bool ok = true;
        for (int i = 0; i < p->spec->dense_count && ok; i++)
            ok = fill_dense(p, e, i);
        for (int i = 0; i < p->spec->sparse_count && ok; i++)
            ok = fill_sparse(p, e, i);
        if (ok) continue;
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the values of example %lld", (long long)e);
        note_error(p, e, st);
        return;
    }
}

// ---- All of it ----

static braid_code index_key(parse *p, const bd_bytes *key, int number, braid_status *st)
{
    if (!bd_map_put_n(&p->index, key->data, key->len, (void *)(uintptr_t)(number + 1))) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The feature key '%s' is there twice", key->data);
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

// The number of examples that is worth a task of its own.
#define EXAMPLES_GRAIN 16

static void for_examples(parse *p, bd_op_ctx *c, void (*fn)(void *arg, int64_t from, int64_t to))
{
    if (c)
        bd_parallel_for(c, p->count, EXAMPLES_GRAIN, fn, p);
    else
        fn(p, 0, p->count);
}

static braid_code make_outputs(const parse *p, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < p->spec->dense_count && !code; i++)
        code = make_dense(p, i, st);
    for (int i = 0; i < p->spec->sparse_count && !code; i++)
        code = make_sparse(p, i, st);
    return code;
}

static braid_code run_parse(parse *p, bd_op_ctx *c, braid_status *st)
{
    size_t count = (size_t)bd_max(p->count, 1);
    braid_code code = index_keys(p, st);
    if (code) return code;
    p->found = bd_try_calloc(count, sizeof *p->found * (size_t)bd_max(feature_count(p), 1));
    p->starts = bd_try_calloc(count, sizeof *p->starts * (size_t)bd_max(p->spec->sparse_count, 1));
    if (!p->found || !p->starts)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when parsing %lld examples", (long long)p->count);
    for_examples(p, c, scan_examples);
    if (p->failed_at >= 0) return st->code;
    code = make_outputs(p, st);
    if (code) return code;
    for_examples(p, c, fill_examples);
    return p->failed_at >= 0 ? st->code : BRAID_OK;
}

static braid_code parse_all(parse *p, bd_op_ctx *c, braid_status *st)
{
    p->st = st;
    p->failed_at = -1;
    bd_mutex_init(&p->mu);
    bd_map_init(&p->index);
    braid_code code = run_parse(p, c, st);
    bd_map_fini(&p->index);
    bd_mutex_fini(&p->mu);
    bd_free(p->found);
    bd_free(p->starts);
    return code;
}

braid_code bd_examples_parse(const bd_example_spec *spec, bd_op_ctx *c, const bd_string *serialized,
                             const bd_string *names, int64_t count, bd_parsed_examples *out, braid_status *st)
{
    parse p = {.spec = spec, .serialized = serialized, .names = names, .count = count, .out = out};
    return parse_all(&p, c, st);
}

braid_code bd_example_parse_one(const bd_example_spec *spec, const bd_string *serialized,
                                const bd_string *name, bd_parsed_examples *out, braid_status *st)
{
    parse p = {
        .spec = spec, .serialized = serialized, .names = name, .count = 1, .is_single = true, .out = out};
    return parse_all(&p, NULL, st);
}
