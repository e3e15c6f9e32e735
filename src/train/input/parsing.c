// Parsing of Examples: the nodes of tf.io.parse_example.
#include "train/input/parsing_internal.h"

#include "base/alloc.h"
#include <braid/ops.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- Features in order ----

static bool feature_is_valid(braid_graph *g, const braid_feature *f)
{
    const char *problem = NULL;
    const int64_t elements = braid_shape_num_elements(f->shape);
    if (!f->name)
        problem = "has no name";
    else if (f->dtype != BRAID_FLOAT && f->dtype != BRAID_INT64 && f->dtype != BRAID_STRING)
        problem = "is neither float, int64 nor string";
    else if (!f->is_var_len && elements < 0)
        problem = "has a shape that is not fully known";
    else if (f->default_value && braid_tensor_dtype(f->default_value) != f->dtype)
        problem = "has a default of another type";
    else if (f->default_value && !f->is_var_len && braid_tensor_num_elements(f->default_value) != elements)
        problem = "has a default with another number of elements";
    if (problem)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Feature '%s' %s", f->name ? f->name : "", problem);
    return !problem;
}

// Dense features stand before sparse ones, and each kind is sorted by name.
static bool stands_before(const braid_feature *a, const braid_feature *b)
{
    if (a->is_var_len != b->is_var_len) return b->is_var_len;
    return strcmp(a->name, b->name) < 0;
}

bool train_features_init(train_features *f, braid_graph *g, const braid_feature *features, int count)
{
    const bool is_empty = !features || count < 1;
    if (is_empty) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Examples are parsed without a feature");
    if (is_empty || braid_graph_status(g, NULL)) return false;
    for (int i = 0; i < count; i++) {
        if (!feature_is_valid(g, &features[i])) return false;
    }
    *f = (train_features){.items = features, .count = count};
    f->order = bd_calloc((size_t)count, sizeof *f->order);
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at > 0 && stands_before(&features[i], &features[f->order[at - 1]]); at--)
            f->order[at] = f->order[at - 1];
        f->order[at] = i;
        if (!features[i].is_var_len) f->dense_count++;
    }
    return true;
}

void train_features_fini(train_features *f)
{
    bd_free(f->order);
}

braid_out train_feature_default(braid_graph *g, const braid_feature *f)
{
    if (!f->default_value) {
        braid_tensor *none = braid_tensor_new(f->dtype, BRAID_SHAPE(0), NULL);
        const braid_out out = braid_const(g, NULL, none);
        braid_tensor_free(none);
        return out;
    }
    char *name = bd_asprintf("key_%s", f->name);
    for (char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_.-/", *c)) *c = '_';
    }
    const braid_out out = braid_reshape(g, braid_const(g, name, f->default_value), f->shape);
    bd_free(name);
    return out;
}

// ---- ParseExample ----

// The keys of features [from, to) as constants BASE_0, BASE_1, ...
static void keys(braid_graph *g, braid_op_desc *d, const train_features *f, const char *base, int from,
                 int to)
{
    braid_out *outs = bd_calloc((size_t)(to - from) + 1, sizeof *outs);
    for (int i = from; i < to; i++) {
        char *name = bd_asprintf("%s_%d", base, i - from);
        outs[i - from] = braid_const_string(g, name, f->items[f->order[i]].name);
        bd_free(name);
    }
    braid_op_input_list(d, outs, to - from);
    bd_free(outs);
}

static braid_out no_names(braid_graph *g)
{
    braid_tensor *none = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(0), NULL);
    const braid_out out = braid_const(g, "names", none);
    braid_tensor_free(none);
    return out;
}

static void set_types(braid_op_desc *d, const train_features *f)
{
    braid_shape *shapes = bd_calloc((size_t)f->count, sizeof *shapes);
    braid_dtype *types = bd_calloc((size_t)f->count, sizeof *types);
    for (int i = 0; i < f->count; i++) {
        shapes[i] = f->items[f->order[i]].shape;
        types[i] = f->items[f->order[i]].dtype;
    }
    braid_op_attr_type_list(d, "Tdense", types, f->dense_count);
    braid_op_attr_shape_list(d, "dense_shapes", shapes, f->dense_count);
    braid_op_attr_type_list(d, "sparse_types", types + f->dense_count, f->count - f->dense_count);
    bd_free(shapes);
    bd_free(types);
}

static void store_results(braid_op *op, const train_features *f, braid_parsed *parsed)
{
    const int sparse = f->count - f->dense_count;
    for (int i = 0; i < f->count; i++) {
        braid_parsed *p = &parsed[f->order[i]];
        const int s = i - f->dense_count;
        if (s < 0)
            *p = (braid_parsed){.values = braid_output(op, 3 * sparse + i)};
        else
            *p = (braid_parsed){.indices = braid_output(op, s),
                                .values = braid_output(op, sparse + s),
                                .dense_shape = braid_output(op, 2 * sparse + s)};
    }
}

void braid_parse_example(braid_graph *g, const char *name, braid_out serialized,
                         const braid_feature *features, int count, braid_parsed *parsed)
{
    if (parsed && count > 0) memset(parsed, 0, (size_t)count * sizeof *parsed);
    train_features f;
    if (!parsed || !train_features_init(&f, g, features, count)) return;
    (void)braid_push_name_scope(g, name ? name : "ParseExample");
    braid_out *defaults = bd_calloc((size_t)f.dense_count + 1, sizeof *defaults);
    for (int i = 0; i < f.dense_count; i++)
        defaults[i] = train_feature_default(g, &features[f.order[i]]);
    const char *scope = braid_push_name_scope(g, "ParseExample");
    braid_op_desc *d = braid_op_begin(g, "ParseExample", scope);
    braid_op_input(d, serialized);
    braid_op_input(d, no_names(g));
    keys(g, d, &f, "sparse_keys", f.dense_count, f.count);
    keys(g, d, &f, "dense_keys", 0, f.dense_count);
    braid_op_input_list(d, defaults, f.dense_count);
    set_types(d, &f);
    braid_pop_name_scope(g);
    braid_op *op = braid_op_end(d);
    if (op) store_results(op, &f, parsed);
    braid_pop_name_scope(g);
    bd_free(defaults);
    train_features_fini(&f);
}
