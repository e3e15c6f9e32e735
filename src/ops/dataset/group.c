// Datasets of groups of the input's elements, by a key that a function computes: GroupByWindowDataset,
// GroupByReducerDataset.
//
// The keys are sorted in an array; at the end the remaining groups are given in that order.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/dataset/function.h"
#include "ops/dataset/in_memory.h"
#include <string.h>

enum {
    FUNCTIONS_MAX = 4
};

typedef struct group_dataset {
    bd_dataset base;
    bd_captured f[FUNCTIONS_MAX]; // window: key, reduce, window size; reducer: key, init, reduce, finalize
} group_dataset;

// The state of a key: the elements of its window, or the reducer's state.
typedef struct group {
    int64_t key, window_size;
    BD_ARRAY(braid_tensor) tensors;
} group;

typedef struct group_iterator {
    bd_iterator base;
    BD_ARRAY(group) groups; // by key
    group *at;              // the group whose function is being called
    bd_iterator *windows;   // over the dataset that the reduce function made of a group; owned; NULL: none
    int64_t made;           // the number of these datasets so far
    braid_tensor *element;  // [count of the input], owned: held while functions are called for it
    bool is_over;           // the input is
} group_iterator;

static group_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, group_dataset, base);
}

static group_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, group_iterator, base);
}

static void destroy(bd_dataset *d)
{
    for (int i = 0; i < FUNCTIONS_MAX; i++)
        bd_captured_fini(&dataset_of(d)->f[i]);
}

static braid_code group_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    iterator_of(it)->element = bd_calloc((size_t)it->input->dataset->count, sizeof(braid_tensor));
    return BRAID_OK;
}

static void group_close(bd_iterator *it)
{
    group_iterator *g = iterator_of(it);
    for (size_t i = 0; i < g->groups.len; i++) {
        bd_tensors_fini(g->groups.items[i].tensors.items, (int)g->groups.items[i].tensors.len);
        bd_array_free(&g->groups.items[i].tensors);
    }
    bd_array_free(&g->groups);
    if (g->element) bd_tensors_fini(g->element, it->input->dataset->count);
    bd_free(g->element);
    bd_iterator_close(g->windows);
}

// The group of a key; makes it if it is new.
static group *find_group(group_iterator *g, int64_t key, bool *is_new)
{
    size_t low = 0, high = g->groups.len;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (g->groups.items[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    *is_new = low == g->groups.len || g->groups.items[low].key != key;
    if (*is_new) {
        bd_array_reserve(&g->groups, g->groups.len + 1);
        memmove(&g->groups.items[low + 1], &g->groups.items[low], (g->groups.len++ - low) * sizeof(group));
        g->groups.items[low] = (group){.key = key};
    }
    return &g->groups.items[low];
}

static void remove_group(group_iterator *g, group *gone)
{
    bd_tensors_fini(gone->tensors.items, (int)gone->tensors.len);
    bd_array_free(&gone->tensors);
    g->groups.len--;
    memmove(gone, gone + 1, (size_t)(g->groups.items + g->groups.len - gone) * sizeof *gone);
}

static bd_turn call_with_key(bd_iterator *it, const bd_captured *f, int64_t key, braid_tensor *more,
                             bd_results_fn then)
{
    braid_tensor args[2] = {{0}};
    if (!bd_tensor_alloc(&args[0], BRAID_INT64, &BD_SCALAR)) return bd_give_out_of_memory(it);
    bd_tensor_i64(&args[0])[0] = key;
    if (more) bd_tensor_move(&args[1], more);
    return bd_iterator_call(it, f, args, more ? 2 : 1, then, NULL);
}

// Calls the key function for an element of the input, which is kept.
static bd_turn ask_key(bd_iterator *it, bd_iterator *from, bd_results_fn then)
{
    group_iterator *g = iterator_of(it);
    int count = from->dataset->count;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    bd_tensors_fini(g->element, count);
    bd_answer_take(from, g->element);
    bd_tensors_ref(args, g->element, count);
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f[0], args, count, then, NULL);
    bd_free(args);
    return turn;
}

// ---- GroupByWindowDataset ----

enum {
    KEY,
    REDUCE,
    WINDOW_SIZE
};

static bd_turn window_next(bd_iterator *it);

static bd_turn window_made(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    group_iterator *g = iterator_of(it);
    const bd_dataset *want = it->dataset;
    bd_dataset *d;
    if (!st->code && !bd_result_dataset(rets, ret_count, &d, st) &&
        !bd_check_components(BD_COMPONENTS(want), BD_COMPONENTS(d), st))
        bd_iterator_open(d, it->chain, it, g->made++, &g->windows, st);
    return st->code ? bd_give_error(it, st) : window_next(it);
}

// Hands a group's elements to the reduce function.
static bd_turn reduce_group(bd_iterator *it, group *full)
{
    BD_STATUS(st);
    const bd_dataset *input = it->dataset->inputs[0];
    int64_t len = (int64_t)full->tensors.len / input->count, key = full->key;
    braid_tensor window;
    bd_dataset *d;
    if (!bd_tensor_alloc(&window, BRAID_VARIANT, &BD_SCALAR)) return bd_give_out_of_memory(it);
    braid_tensor *held = bd_held_dataset_new(input->count, input->types, input->shapes, len, &d, st);
    if (!held) {
        bd_tensor_fini(&window);
        return bd_give_error(it, st);
    }
    bd_tensor_variant(&window)[0] = &d->base;
    for (size_t i = 0; i < full->tensors.len; i++)
        bd_tensor_move(&held[i], &full->tensors.items[i]);
    remove_group(iterator_of(it), full);
    return call_with_key(it, &dataset_of(it->dataset)->f[REDUCE], key, &window, window_made);
}

static bd_turn put_into_window(bd_iterator *it)
{
    group_iterator *g = iterator_of(it);
    size_t count = (size_t)it->input->dataset->count;
    bd_array_reserve(&g->at->tensors, g->at->tensors.len + count);
    memcpy(g->at->tensors.items + g->at->tensors.len, g->element, count * sizeof *g->element);
    memset(g->element, 0, count * sizeof *g->element);
    g->at->tensors.len += count;
    bool is_full = (int64_t)(g->at->tensors.len / count) >= g->at->window_size;
    return is_full ? reduce_group(it, g->at) : bd_pull(it, it->input);
}

static bd_turn window_sized(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    group_iterator *g = iterator_of(it);
    if (!st->code)
        bd_result_int(rets, ret_count, "`window_size_func` must return a scalar int64.", &g->at->window_size,
                      st);
    if (!st->code && g->at->window_size <= 0)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Window size must be greater than zero, but got %lld.",
                (long long)g->at->window_size);
    if (!st->code) return put_into_window(it);
    remove_group(g, g->at);
    return bd_give_error(it, st);
}

static bd_turn window_keyed(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    int64_t key;
    bool is_new;
    group_iterator *g = iterator_of(it);
    if (!st->code) bd_result_int(rets, ret_count, "`key_func` must return a scalar int64.", &key, st);
    if (st->code) return bd_give_error(it, st);
    g->at = find_group(g, key, &is_new);
    return is_new ? call_with_key(it, &dataset_of(it->dataset)->f[WINDOW_SIZE], key, NULL, window_sized)
                  : put_into_window(it);
}

static bd_turn window_next(bd_iterator *it)
{
    group_iterator *g = iterator_of(it);
    if (g->windows) return bd_pull(it, g->windows);
    if (!g->is_over) return bd_pull(it, it->input);
    return g->groups.len > 0 ? reduce_group(it, &g->groups.items[0]) : bd_give_end(it);
}

static bd_turn window_received(bd_iterator *it, bd_iterator *from)
{
    group_iterator *g = iterator_of(it);
    if (from->answer.kind == BD_ANSWER_ERROR) return bd_pass(it, from);
    if (from == g->windows) {
        if (from->answer.kind == BD_ANSWER_ELEMENT) return bd_pass(it, from);
        bd_iterator_close(g->windows);
        g->windows = NULL;
        return window_next(it);
    }
    if (from->answer.kind == BD_ANSWER_ELEMENT) return ask_key(it, from, window_keyed);
    g->is_over = true;
    return window_next(it);
}

// ---- GroupByReducerDataset ----

enum {
    INIT = 1,
    REDUCE_STATE,
    FINALIZE
};

static bd_turn reducer_next(bd_iterator *it);

static void set_state(group *at, braid_tensor *rets, int ret_count)
{
    bd_tensors_fini(at->tensors.items, (int)at->tensors.len);
    bd_array_reserve(&at->tensors, (size_t)ret_count);
    at->tensors.len = (size_t)ret_count;
    for (int i = 0; i < ret_count; i++)
        bd_tensor_move(&at->tensors.items[i], &rets[i]);
}

static bd_turn state_reduced(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    group_iterator *g = iterator_of(it);
    if (st->code) return bd_give_error(it, st);
    set_state(g->at, rets, ret_count);
    return bd_pull(it, it->input);
}

static bd_turn reduce_state(bd_iterator *it)
{
    group_iterator *g = iterator_of(it);
    int states = (int)g->at->tensors.len, count = it->input->dataset->count;
    braid_tensor *args = bd_calloc((size_t)states + (size_t)count, sizeof *args);
    bd_tensors_ref(args, g->at->tensors.items, states);
    memcpy(args + states, g->element, (size_t)count * sizeof *args);
    memset(g->element, 0, (size_t)count * sizeof *args);
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f[REDUCE_STATE], args, states + count,
                                    state_reduced, NULL);
    bd_free(args);
    return turn;
}

static bd_turn state_made(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    group_iterator *g = iterator_of(it);
    if (st->code) {
        remove_group(g, g->at);
        return bd_give_error(it, st);
    }
    set_state(g->at, rets, ret_count);
    return reduce_state(it);
}

static bd_turn reducer_keyed(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    int64_t key;
    bool is_new;
    group_iterator *g = iterator_of(it);
    if (!st->code) bd_result_int(rets, ret_count, "`key_func` must return a scalar int64.", &key, st);
    if (st->code) return bd_give_error(it, st);
    g->at = find_group(g, key, &is_new);
    return is_new ? call_with_key(it, &dataset_of(it->dataset)->f[INIT], key, NULL, state_made)
                  : reduce_state(it);
}

static bd_turn finalized(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    return bd_give_results(it, rets, ret_count, st);
}

static bd_turn reducer_next(bd_iterator *it)
{
    group_iterator *g = iterator_of(it);
    if (!g->is_over) return bd_pull(it, it->input);
    if (g->groups.len == 0) return bd_give_end(it);
    group *first = &g->groups.items[0];
    int count = (int)first->tensors.len;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    for (int i = 0; i < count; i++)
        bd_tensor_move(&args[i], &first->tensors.items[i]);
    remove_group(g, first);
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f[FINALIZE], args, count, finalized, NULL);
    bd_free(args);
    return turn;
}

static bd_turn reducer_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind == BD_ANSWER_ERROR) return bd_pass(it, from);
    if (from->answer.kind == BD_ANSWER_ELEMENT) return ask_key(it, from, reducer_keyed);
    iterator_of(it)->is_over = true;
    return reducer_next(it);
}

#define GROUP_KIND(NAME, NEXT, RECEIVED)                                                                     \
    {                                                                                                        \
        .name = (NAME), .dataset_size = sizeof(group_dataset), .iterator_size = sizeof(group_iterator),      \
        .destroy = destroy, .opens_input = true, .open = group_open, .next = (NEXT), .received = (RECEIVED), \
        .close = group_close                                                                                 \
    }

static const bd_dataset_kind window_kind = GROUP_KIND("GroupByWindow", window_next, window_received);
static const bd_dataset_kind reducer_kind = GROUP_KIND("GroupByReducer", reducer_next, reducer_received);

// ---- Ops ----

typedef struct group_state {
    bd_func_ref refs[FUNCTIONS_MAX];
} group_state;

static void state_destroy(void *state)
{
    for (int i = 0; i < FUNCTIONS_MAX; i++)
        bd_func_ref_fini(&((group_state *)state)->refs[i]);
}

static braid_code read_refs(const braid_op *node, group_state *s, const char *const *attrs, int count,
                            braid_status *st)
{
    for (int i = 0; i < count; i++) {
        braid_code code = bd_func_ref_read(node, attrs[i], -1, &s->refs[i], st);
        if (!code) continue;
        state_destroy(s);
        return code;
    }
    return BRAID_OK;
}

// Makes the dataset; the captured inputs of its functions follow in the order of the node's inputs.
static void output_groups(bd_op_ctx *c, const bd_dataset_kind *kind, const char *const *argument_types,
                          int count)
{
    const group_state *s = c->state;
    bd_dataset *d = bd_dataset_of_attrs(c, kind, true);
    for (int i = 0, at = 1; d && i < count; i++) {
        int captured = bd_node_attr(c->node, argument_types[i])->list.count;
        if (!bd_captured_init(&dataset_of(d)->f[i], c, &s->refs[i], at, captured)) {
            bd_dataset_unref(d);
            return;
        }
        at += captured;
    }
    if (d) bd_output_dataset(c, d);
}

static braid_code window_create(const braid_op *node, void *state, braid_status *st)
{
    static const char *const attrs[] = {"key_func", "reduce_func", "window_size_func"};
    return read_refs(node, state, attrs, 3, st);
}

static void window_run(bd_op_ctx *c)
{
    static const char *const types[] = {"Tkey_func_other_arguments", "Treduce_func_other_arguments",
                                        "Twindow_size_func_other_arguments"};
    output_groups(c, &window_kind, types, 3);
}

#define WINDOW_OP                                                                                                                 \
    {                                                                                                                             \
        .signature =                                                                                                              \
            "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments..., "                                   \
            "reduce_func_other_arguments: Treduce_func_other_arguments..., window_size_func_other_arguments: "                    \
            "Twindow_size_func_other_arguments...) -> (handle: variant)",                                                         \
        .attrs =                                                                                                                  \
            "key_func:func; reduce_func:func; window_size_func:func; Tkey_func_other_arguments:list(type)>=0; "                   \
            "Treduce_func_other_arguments:list(type)>=0; Twindow_size_func_other_arguments:list(type)>=0; " BD_DATASET_ATTRS      \
            "; " BD_DATASET_METADATA,                                                                                             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                                           \
        .kernels = BD_KERNELS({.state_size = sizeof(group_state),                                                                 \
                               .create = window_create,                                                                           \
                               .destroy = state_destroy,                                                                          \
                               .run = window_run}),                                                                               \
        .doc =                                                                                                                    \
            "Groups elements by key into windows, whose size a function of the key gives, and applies a function to each window." \
    }

BD_OP(GroupByWindowDataset) = WINDOW_OP;
BD_OP(ExperimentalGroupByWindowDataset) = WINDOW_OP;

static braid_code reducer_create(const braid_op *node, void *state, braid_status *st)
{
    static const char *const attrs[] = {"key_func", "init_func", "reduce_func", "finalize_func"};
    return read_refs(node, state, attrs, 4, st);
}

static void reducer_run(bd_op_ctx *c)
{
    static const char *const types[] = {"Tkey_func_other_arguments", "Tinit_func_other_arguments",
                                        "Treduce_func_other_arguments", "Tfinalize_func_other_arguments"};
    output_groups(c, &reducer_kind, types, 4);
}

#define REDUCER_OP                                                                                                         \
    {                                                                                                                      \
        .signature =                                                                                                       \
            "(input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments..., "                            \
            "init_func_other_arguments: Tinit_func_other_arguments..., reduce_func_other_arguments: "                      \
            "Treduce_func_other_arguments..., finalize_func_other_arguments: "                                             \
            "Tfinalize_func_other_arguments...) -> (handle: variant)",                                                     \
        .attrs =                                                                                                           \
            "key_func:func; init_func:func; reduce_func:func; finalize_func:func; "                                        \
            "Tkey_func_other_arguments:list(type)>=0; Tinit_func_other_arguments:list(type)>=0; "                          \
            "Treduce_func_other_arguments:list(type)>=0; Tfinalize_func_other_arguments:list(type)>=0; " BD_DATASET_ATTRS, \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                   \
        .kernels = BD_KERNELS({.state_size = sizeof(group_state),                                                          \
                               .create = reducer_create,                                                                   \
                               .destroy = state_destroy,                                                                   \
                               .run = reducer_run}),                                                                       \
        .doc = "Reduces the elements of each key to a state, and gives at the end a function of each state."               \
    }

BD_OP(GroupByReducerDataset) = REDUCER_OP;
BD_OP(ExperimentalGroupByReducerDataset) = REDUCER_OP;
