// Initializers that restore: each variable of an assignment map gets a node RestoreV2 and one that assigns.
#include <braid/init_from_checkpoint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <braid/checkpoint_reader.h>
#include <stdlib.h>
#include <string.h>

typedef struct task {
    braid_graph *g;
    const braid_checkpoint_reader *checkpoint;
} task;

// A variable of the graph, or the parts of one.
typedef struct target {
    const char *name; // of the whole
    BD_ARRAY(braid_out) refs;
} target;

// ---- Nodes ----

// A vector of one string.
static braid_out const_text(braid_graph *g, const char *name, const char *text)
{
    const int64_t dims[] = {1};
    braid_tensor *t = braid_tensor_new(BRAID_STRING, braid_shape_make(1, dims), NULL);
    braid_tensor_set_string(t, 0, text, strlen(text));
    const braid_out out = braid_const(g, name, t);
    braid_tensor_free(t);
    return out;
}

static braid_out restore(const task *t, const char *tensor, braid_out ref, const train_slice *slice)
{
    braid_graph *g = t->g;
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(ref)));
    char *part = train_slice_text(slice);
    // not colocated with the variable, because the op runs on CPUs alone
    braid_push_device(g, braid_op_requested_device(ref.op));
    braid_push_device(g, "/device:CPU:0");
    const char *scope = braid_push_name_scope(g, "checkpoint_initializer");
    const braid_out inputs[] = {
        braid_const_string(g, "prefix", braid_checkpoint_reader_prefix(t->checkpoint)),
        const_text(g, "tensor_names", tensor), const_text(g, "shape_and_slices", part)};
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "RestoreV2", scope);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_type_list(d, "dtypes", &dtype, 1);
    const braid_out value = braid_op_end_out(d);
    braid_pop_device(g);
    braid_pop_device(g);
    bd_free(part);
    if (value.op) braid_set_shape(value, braid_out_shape(train_typed(ref)));
    return value;
}

static bool check(const task *t, const braid_checkpoint_entry *e, braid_out ref, const train_slice *slice)
{
    const braid_out typed = train_typed(ref);
    const braid_shape shape = slice ? slice->full_shape : braid_out_shape(typed);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(typed));
    const char *prefix = braid_checkpoint_reader_prefix(t->checkpoint);
    if (e->dtype != dtype) {
        braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT,
                         "Type of variable %s (%s) doesn't match with type of tensor %s (%s) from checkpoint "
                         "%s",
                         braid_op_name(ref.op), braid_dtype_name(dtype), e->name, braid_dtype_name(e->dtype),
                         prefix);
    } else if (!braid_shape_equal(e->shape, shape)) {
        char *wanted = braid_shape_text(shape), *found = braid_shape_text(e->shape);
        braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT,
                         "Shape of variable %s (%s) doesn't match with shape of tensor %s (%s) from "
                         "checkpoint %s",
                         slice ? slice->full_name : braid_op_name(ref.op), wanted, e->name, found, prefix);
        bd_free(wanted);
        bd_free(found);
    }
    return !braid_graph_status(t->g, NULL);
}

static void assign(const task *t, const char *tensor, const target *to)
{
    const braid_checkpoint_entry *e = braid_checkpoint_reader_find(t->checkpoint, tensor);
    if (!e)
        braid_graph_fail(t->g, BRAID_NOT_FOUND, "Tensor %s, for variable %s, is not found in checkpoint %s",
                         tensor, to->name, braid_checkpoint_reader_prefix(t->checkpoint));
    for (size_t i = 0; e && i < to->refs.len; i++) {
        const braid_out ref = to->refs.items[i];
        const train_slice *slice = train_slice_of(t->g, ref);
        if (!check(t, e, ref, slice)) return;
        const braid_out value = restore(t, tensor, ref, slice);
        train_set_initializer(t->g, ref, train_assign_restored(t->g, ref, value), value);
    }
    bd_debug("Initialize variable %s from checkpoint %s with %s", to->name,
             braid_checkpoint_reader_prefix(t->checkpoint), tensor);
}

// ---- Which variables ----

static const char *whole_name(const braid_graph *g, braid_out ref)
{
    const train_slice *slice = train_slice_of(g, ref);
    return slice ? slice->full_name : braid_op_name(ref.op);
}

// The variable of that name, `refs` empty when there is none.
static target find_target(const braid_graph *g, const char *name)
{
    int count;
    const braid_out *vars = braid_collection(g, BRAID_GLOBAL_VARIABLES, &count);
    target found = {.name = name};
    for (int i = 0; i < count; i++)
        if (strcmp(whole_name(g, vars[i]), name) == 0) bd_array_push(&found.refs, vars[i]);
    return found;
}

static void assign_variable(const task *t, const braid_checkpoint_assignment *a)
{
    const braid_variable *v = a->variable;
    const braid_out *refs = v->parts ? v->parts : &v->ref;
    target to = {0};
    for (int i = 0; i < (v->parts ? v->part_count : 1); i++) {
        if (!refs[i].op) {
            braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT, "The variable for tensor %s is none", a->from);
            break;
        }
        to.name = whole_name(t->g, refs[i]);
        bd_array_push(&to.refs, refs[i]);
    }
    if (!braid_graph_status(t->g, NULL)) assign(t, a->from, &to);
    bd_array_free(&to.refs);
}

static void assign_name(const task *t, const braid_checkpoint_assignment *a)
{
    target to = find_target(t->g, a->to);
    if (to.refs.len)
        assign(t, a->from, &to);
    else
        braid_graph_fail(t->g, BRAID_NOT_FOUND, "The graph has no global variable %s for tensor %s", a->to,
                         a->from);
    bd_array_free(&to.refs);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_root(const char *scope)
{
    return strcmp(scope, "/") == 0;
}

// Each variable of the scope `to` gets the tensor of its name in the scope `from`.
static void assign_scope(const task *t, const braid_checkpoint_assignment *a)
{
    int count;
    const braid_out *vars = braid_collection(t->g, BRAID_GLOBAL_VARIABLES, &count);
    const char *from = is_root(a->from) ? "" : a->from, *to = is_root(a->to) ? "" : a->to;
    BD_ARRAY(const char *) names = {0};
    for (int i = 0; i < count; i++) {
        const char *name = whole_name(t->g, vars[i]);
        if (bd_str_starts_with(name, to)) bd_array_push(&names, name);
    }
    if (names.len)
        qsort(names.items, names.len, sizeof *names.items, compare_names);
    else
        braid_graph_fail(t->g, BRAID_NOT_FOUND, "The graph has no global variable in the scope %s", a->to);
    for (size_t i = 0; i < names.len; i++) {
        if (i > 0 && strcmp(names.items[i], names.items[i - 1]) == 0) continue; // a further part
        target whole = find_target(t->g, names.items[i]);
        char *tensor = bd_asprintf("%s%s", from, names.items[i] + strlen(to));
        assign(t, tensor, &whole);
        bd_free(tensor);
        bd_array_free(&whole.refs);
    }
    bd_array_free(&names);
}

static void assign_entry(const task *t, const braid_checkpoint_assignment *a)
{
    if (!a->from || !*a->from || (a->to != NULL) == (a->variable != NULL)) {
        braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT,
                         "An entry of an assignment map has a name in the checkpoint, and the name of a "
                         "variable or a variable");
        return;
    }
    const bool from_scope = bd_str_ends_with(a->from, "/"), to_scope = a->to && bd_str_ends_with(a->to, "/");
    if (from_scope != to_scope)
        braid_graph_fail(t->g, BRAID_INVALID_ARGUMENT,
                         "An assignment map has %s for %s: a scope goes with a scope ('scope/': "
                         "'other_scope/'), a tensor with a variable",
                         a->to ? a->to : "a variable", a->from);
    else if (from_scope)
        assign_scope(t, a);
    else if (a->variable)
        assign_variable(t, a);
    else
        assign_name(t, a);
}

// ---- The map ----

// Orders by `from`, as TensorFlow does; entries of the same name stay in their order.
static int compare_entries(const void *a, const void *b)
{
    const braid_checkpoint_assignment *first = *(const braid_checkpoint_assignment *const *)a;
    const braid_checkpoint_assignment *second = *(const braid_checkpoint_assignment *const *)b;
    const int order = strcmp(first->from ? first->from : "", second->from ? second->from : "");
    return order ? order : (first > second) - (first < second);
}

void braid_init_from_checkpoint(braid_graph *g, const char *prefix_or_dir,
                                const braid_checkpoint_assignment *map, int count)
{
    BD_STATUS(st);
    if (braid_graph_status(g, NULL)) return;
    if (count <= 0 || !map) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An assignment map needs an entry at least");
        return;
    }
    braid_checkpoint_reader *r = braid_checkpoint_reader_open(prefix_or_dir, st);
    if (!r) {
        braid_graph_fail(g, st->code, "%s", braid_status_message(st));
        return;
    }
    const braid_checkpoint_assignment **sorted = bd_calloc((size_t)count, sizeof(void *));
    for (int i = 0; i < count; i++)
        sorted[i] = &map[i];
    qsort(sorted, (size_t)count, sizeof(void *), compare_entries);
    for (int i = 0; i < count && !braid_graph_status(g, NULL); i++)
        assign_entry(&(task){g, r}, sorted[i]);
    bd_free(sorted);
    braid_checkpoint_reader_close(r);
}
