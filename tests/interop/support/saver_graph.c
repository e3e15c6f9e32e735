// Builds and runs the graph of a sharded saver.
#include "saver_graph.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "tensor/tensor_proto.h"
#include <stdio.h>

const saved_variable saved_variables[SAVED_COUNT] = {
    {"w", "", BRAID_FLOAT, {.rank = 2, .dims = {300, 50}}, 0},
    {"table", "10 4 0,6:-", BRAID_FLOAT, {.rank = 2, .dims = {6, 4}}, 0},
    {"flags", "", BRAID_BOOL, {.rank = 1, .dims = {5}}, 0},
    {"step", "", BRAID_INT64, {.rank = 0}, 1},
    {"words", "", BRAID_STRING, {.rank = 1, .dims = {3}}, 1},
    {"table", "10 4 6,4:-", BRAID_FLOAT, {.rank = 2, .dims = {4, 4}}, 1},
};

static void set_element(const braid_tensor *t, int64_t i, int seed)
{
    char text[400];
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)(seed + i) * 0.25F; break;
    case BRAID_BOOL: bd_tensor_bool(t)[i] = (seed + i) % 3 == 0; break;
    case BRAID_INT64: bd_tensor_i64(t)[i] = seed - INT64_C(5000000000); break;
    default: // one is longer than one byte of its length says
        bd_tensor_string_set((braid_tensor *)t, i, text,
                             (size_t)snprintf(text, sizeof text, "%*d", i == 1 ? 300 : (int)i, seed));
    }
}

void saved_content(int variable, int round, braid_tensor *t)
{
    BD_STATUS(st);
    const saved_variable *v = &saved_variables[variable];
    bd_tensor_init(t, v->dtype, &v->shape, st);
    assert_ok(st);
    for (int64_t i = 0; i < bd_tensor_count(t); i++)
        set_element(t, i, 100 * round + variable);
}

// ---- Building ----

static braid_out strings(braid_graph *g, const char *name, const char *const *texts, int count)
{
    BD_STATUS(st);
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(count), st);
    assert_ok(st);
    for (int i = 0; i < count; i++)
        braid_tensor_set_string(t, i, texts[i], strlen(texts[i]));
    braid_out out = braid_const(g, name, t);
    braid_tensor_free(t);
    return out;
}

static void push_shard(braid_graph *g, int shard)
{
    char device[16];
    snprintf(device, sizeof device, "/cpu:%d", shard);
    braid_push_device(g, device);
}

// Its ops with a list of inputs: those in `list` go to the last argument.
static braid_op *node(braid_graph *g, const char *op, const braid_out *inputs, int count,
                      const braid_out *list, int list_count)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    if (list) braid_op_input_list(d, list, list_count);
    return braid_op_end(d);
}

static void add_variable(saver_graph *s, int i)
{
    const saved_variable *v = &saved_variables[i];
    push_shard(s->graph, v->shard);
    braid_op_desc *d = braid_op_begin(s->graph, "VariableV2", NULL);
    braid_op_attr_type(d, "dtype", v->dtype);
    braid_op_attr_shape(d, "shape", v->shape);
    s->variables[i] = braid_op_end_out(d);
    s->values[i] = braid_placeholder(s->graph, NULL, v->dtype, v->shape);
    braid_pop_device(s->graph);
}

// Saves a shard's variables; the name it is saved under, when it is.
static braid_out add_save(saver_graph *s, int shard, braid_out base)
{
    braid_graph *g = s->graph;
    const char *names[SAVED_COUNT], *slices[SAVED_COUNT];
    braid_out tensors[SAVED_COUNT];
    int count = 0;
    for (int i = 0; i < SAVED_COUNT; i++) {
        if (saved_variables[i].shard != shard) continue;
        names[count] = saved_variables[i].name;
        slices[count] = saved_variables[i].slice;
        tensors[count++] = s->variables[i];
    }
    push_shard(g, shard);
    braid_out file_in[] = {base, braid_const_int32(g, NULL, shard), braid_const_int32(g, NULL, SAVED_SHARDS)};
    braid_out file = braid_output(braid_op_add(g, "ShardedFilename", NULL, file_in, 3), 0);
    braid_out in[] = {file, strings(g, NULL, names, count), strings(g, NULL, slices, count)};
    braid_op *save = node(g, "SaveV2", in, 3, tensors, count);
    braid_push_control(g, &save, 1);
    braid_out done = braid_output(braid_op_add(g, "Identity", NULL, &file, 1), 0);
    braid_pop_control(g);
    braid_pop_device(g);
    return done;
}

static void add_saver(saver_graph *s)
{
    braid_graph *g = s->graph;
    braid_out parts[SAVED_SHARDS];
    s->prefix = braid_const_string(g, NULL, "model");
    braid_out join[] = {s->prefix, braid_const_string(g, NULL, "_temp_0123456789abcdef/part")};
    braid_out base = braid_output(node(g, "StringJoin", NULL, 0, join, 2), 0);
    for (int i = 0; i < SAVED_SHARDS; i++)
        parts[i] = add_save(s, i, base);
    braid_out merge_in[] = {braid_output(node(g, "Pack", NULL, 0, parts, SAVED_SHARDS), 0), s->prefix};
    braid_op *merge = braid_op_add(g, "MergeV2Checkpoints", NULL, merge_in, 2);
    braid_push_control(g, &merge, 1);
    s->saved = braid_output(braid_op_add(g, "Identity", NULL, &s->prefix, 1), 0);
    braid_pop_control(g);
}

static braid_op *add_restore(saver_graph *s, int i)
{
    braid_graph *g = s->graph;
    const saved_variable *v = &saved_variables[i];
    push_shard(g, v->shard);
    braid_op_desc *d = braid_op_begin(g, "RestoreV2", NULL);
    braid_op_input(d, s->prefix);
    braid_op_input(d, strings(g, NULL, &v->name, 1));
    braid_op_input(d, strings(g, NULL, &v->slice, 1));
    braid_op_attr_type_list(d, "dtypes", &v->dtype, 1);
    braid_op *assign = braid_assign(g, s->variables[i], braid_op_end_out(d)).op;
    braid_pop_device(g);
    return assign;
}

void saver_graph_open(saver_graph *s)
{
    BD_STATUS(st);
    braid_op *restores[SAVED_COUNT], *sets[SAVED_COUNT];
    *s = (saver_graph){.graph = braid_graph_new()};
    for (int i = 0; i < SAVED_COUNT; i++)
        add_variable(s, i);
    add_saver(s);
    for (int i = 0; i < SAVED_COUNT; i++) {
        restores[i] = add_restore(s, i);
        sets[i] = braid_assign(s->graph, s->variables[i], s->values[i]).op;
    }
    s->restore = braid_group(s->graph, "restore_all", restores, SAVED_COUNT);
    s->set = braid_group(s->graph, "set", sets, SAVED_COUNT);
    s->session = braid_session_open(s->graph, &(braid_session_options){.cpu_devices = SAVED_SHARDS}, st);
    assert_ok(st);
}

void saver_graph_close(saver_graph *s)
{
    BD_STATUS(st);
    braid_session_close(s->session, st);
    assert_ok(st);
    braid_graph_free(s->graph);
}

// ---- Running ----

void saver_graph_set(saver_graph *s, int round)
{
    BD_STATUS(st);
    braid_tensor values[SAVED_COUNT];
    braid_feed feeds[SAVED_COUNT];
    for (int i = 0; i < SAVED_COUNT; i++) {
        saved_content(i, round, &values[i]);
        feeds[i] = (braid_feed){s->values[i], &values[i]};
    }
    braid_session_run(
        s->session,
        &(braid_run_args){.feeds = feeds, .feed_count = SAVED_COUNT, .targets = &s->set, .target_count = 1},
        st);
    assert_ok(st);
    for (int i = 0; i < SAVED_COUNT; i++)
        bd_tensor_fini(&values[i]);
}

static void run_with_prefix(saver_graph *s, const char *prefix, braid_op *target)
{
    BD_STATUS(st);
    braid_tensor *value = braid_tensor_string(prefix);
    braid_session_run(
        s->session,
        &(braid_run_args){
            .feeds = &(braid_feed){s->prefix, value}, .feed_count = 1, .targets = &target, .target_count = 1},
        st);
    assert_ok(st);
    braid_tensor_free(value);
}

void saver_graph_save(saver_graph *s, const char *prefix)
{
    run_with_prefix(s, prefix, s->saved.op);
}

void saver_graph_restore(saver_graph *s, const char *prefix)
{
    run_with_prefix(s, prefix, s->restore);
}

static bool same(const braid_tensor *a, const braid_tensor *b)
{
    if (a->dtype != b->dtype || !bd_shape_equal(&a->shape, &b->shape)) return false;
    if (a->dtype != BRAID_STRING) return memcmp(a->data, b->data, bd_tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < bd_tensor_count(a); i++) {
        const bd_string *x = &bd_tensor_str(a)[i], *y = &bd_tensor_str(b)[i];
        if (x->len != y->len || (x->len && memcmp(x->data, y->data, x->len) != 0)) return false;
    }
    return true;
}

int saver_graph_round(saver_graph *s, int round_max)
{
    BD_STATUS(st);
    braid_tensor *got[SAVED_COUNT] = {0};
    braid_fetch fetches[SAVED_COUNT];
    for (int i = 0; i < SAVED_COUNT; i++)
        fetches[i] = (braid_fetch){s->variables[i], &got[i]};
    braid_session_run(s->session, &(braid_run_args){.fetches = fetches, .fetch_count = SAVED_COUNT}, st);
    assert_ok(st);
    int found = 0;
    for (int round = 1; round <= round_max && !found; round++) {
        int agreeing = 0;
        for (int i = 0; i < SAVED_COUNT; i++) {
            braid_tensor want;
            saved_content(i, round, &want);
            agreeing += same(got[i], &want);
            bd_tensor_fini(&want);
        }
        if (agreeing == SAVED_COUNT) found = round;
    }
    for (int i = 0; i < SAVED_COUNT; i++)
        braid_tensor_free(got[i]);
    if (!found) fail_msg("the variables have the content of no round");
    return found;
}
