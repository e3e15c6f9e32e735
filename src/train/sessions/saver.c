// Savers: the nodes of TensorFlow's tf.train.Saver for tensor bundles.
//
// A sharded saver writes one bundle a device to a temporary directory, and merges them to the checkpoint.
//
// An asynchronous saver has two graphs more. The first takes snapshots of the variables, which share their
// memory until they change, to a staging area on their device; the second writes them from there.
#include "train/sessions/saver.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/random.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/sessions/saver_present.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <braid/ops.h>
#include <inttypes.h>
#include <string.h>

typedef struct saved {
    braid_out var;
    const char *name; // in the checkpoint
    braid_dtype dtype;
    const train_slice *slice; // of the tensor of that name; NULL: all of it
} saved;

// The variables of one device, or all.
typedef struct shard {
    char *device; // with "/device:CPU:0"; NULL: not given
    BD_ARRAY(saved) vars;
} shard;

typedef struct building {
    braid_saver *saver;
    braid_graph *g;
    train_present present;
    BD_ARRAY(shard) shards;
    BD_ARRAY(braid_op *) restores; // one a shard
    BD_ARRAY(braid_op *) copies;   // one a shard
} building;

// ---- Which variables, and where ----

static char *cpu_of(const char *device)
{
    const bool has_type = strstr(device, "/device:") || strstr(device, "/cpu:") || strstr(device, "/gpu:");
    return has_type ? bd_strdup(device) : bd_asprintf("%s/device:CPU:0", device);
}

static shard *shard_of(building *b, braid_out var)
{
    char *device = b->saver->sharded ? cpu_of(braid_op_requested_device(var.op)) : NULL;
    for (size_t i = 0; i < b->shards.len; i++) {
        shard *s = &b->shards.items[i];
        if (device && strcmp(s->device, device) != 0) continue;
        bd_free(device);
        return s;
    }
    bd_array_push(&b->shards, (shard){.device = device});
    return &b->shards.items[b->shards.len - 1];
}

// Parts of one whole share its name.
static bool is_same(const saved *a, const saved *b)
{
    if (strcmp(a->name, b->name) != 0) return false;
    if (!a->slice || !b->slice) return true;
    return memcmp(a->slice->offset, b->slice->offset, sizeof a->slice->offset) == 0;
}

static bool is_taken(const building *b, const saved *s)
{
    for (size_t i = 0; i < b->shards.len; i++)
        for (size_t k = 0; k < b->shards.items[i].vars.len; k++)
            if (is_same(&b->shards.items[i].vars.items[k], s)) return true;
    return false;
}

static void take_variables(building *b, const braid_saver_options *o)
{
    int count = o->var_count;
    const braid_out *vars = o->vars ? o->vars : braid_collection(b->g, BRAID_GLOBAL_VARIABLES, &count);
    if (count <= 0) braid_graph_fail(b->g, BRAID_INVALID_ARGUMENT, "No variables to save");
    for (int i = 0; i < count; i++) {
        if (!vars[i].op) {
            braid_graph_fail(b->g, BRAID_INVALID_ARGUMENT, "Variable %d of the saver is none", i);
            return;
        }
        const train_slice *slice = train_slice_of(b->g, vars[i]);
        const char *own = slice ? slice->full_name : braid_op_name(vars[i].op);
        const saved s = {.var = vars[i],
                         .name = o->vars && o->names && o->names[i] ? o->names[i] : own,
                         .dtype = train_base_dtype(braid_out_dtype(train_typed(vars[i]))),
                         .slice = slice};
        const braid_shape shape = slice ? slice->full_shape : braid_out_shape(train_typed(vars[i]));
        if (!train_present_takes(&b->present, s.name, s.dtype, shape)) continue;
        if (is_taken(b, &s))
            braid_graph_fail(b->g, BRAID_INVALID_ARGUMENT, "At least two variables have the same name: %s",
                             s.name);
        shard *to = shard_of(b, vars[i]);
        bd_array_push(&to->vars, s);
    }
}

// For checkpoints whose slots are in other parts; names that are given are not such.
static void keep_variables(building *b, const braid_saver_options *o)
{
    BD_ARRAY(braid_out) all = {0};
    bool has_numbers = false;
    for (size_t i = 0; i < b->shards.len; i++)
        for (size_t k = 0; k < b->shards.items[i].vars.len; k++) {
            const saved *s = &b->shards.items[i].vars.items[k];
            has_numbers |= s->slice && s->slice->whole;
            bd_array_push(&all, s->var);
        }
    if (has_numbers && !o->names && !o->reshape) {
        b->saver->vars = bd_memdup(all.items, all.len * sizeof *all.items);
        b->saver->var_count = (int)all.len;
    }
    bd_array_free(&all);
}

// ---- Nodes ----

static braid_out default_of(braid_graph *g, const char *name, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "PlaceholderWithDefault", name);
    braid_op_input(d, value);
    braid_op_attr_shape(d, "shape", BRAID_SCALAR);
    return braid_op_end_out(d);
}

static braid_out add_filename(braid_graph *g)
{
    const char *scope = braid_push_name_scope(g, "filename");
    const braid_out model = braid_const_string(g, "input", "model");
    braid_pop_name_scope(g);
    return default_of(g, "Const", default_of(g, scope, model));
}

// A vector of the names, or of the slices.
static braid_out texts_of(braid_graph *g, const char *name, const shard *s, bool slices)
{
    BD_STATUS(st);
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE((int64_t)s->vars.len), st);
    for (size_t i = 0; t && i < s->vars.len; i++) {
        const saved *item = &s->vars.items[i];
        char *text = slices ? train_slice_text(item->slice) : bd_strdup(item->name);
        braid_tensor_set_string(t, (int64_t)i, text, strlen(text));
        bd_free(text);
    }
    const braid_out out = braid_const(g, name, t);
    braid_tensor_free(t);
    return out;
}

// A node SaveV2 or RestoreV2 with its inputs; the caller adds the rest and ends it.
static braid_op_desc *begin_bundle(braid_graph *g, const char *op, const shard *s, braid_out file)
{
    const char *scope = braid_push_name_scope(g, op);
    const braid_out names = texts_of(g, "tensor_names", s, false);
    const braid_out slices = texts_of(g, "shape_and_slices", s, true);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, op, scope);
    braid_op_input(d, file);
    braid_op_input(d, names);
    braid_op_input(d, slices);
    return d;
}

static braid_out after(braid_graph *g, const char *name, braid_op *op, braid_out value)
{
    braid_push_control(g, &op, 1);
    const braid_out out = braid_identity(g, name, value);
    braid_pop_control(g);
    return out;
}

typedef BD_ARRAY(braid_out) out_list;

// The values of the variables.
static out_list read_shard(building *b, const shard *s)
{
    (void)b;
    out_list values = {0};
    for (size_t i = 0; i < s->vars.len; i++)
        bd_array_push(&values, train_typed(s->vars.items[i].var));
    return values;
}

static braid_op_desc *begin_staging(building *b, const char *op, const char *area, const shard *s)
{
    BD_ARRAY(braid_dtype) dtypes = {0};
    for (size_t i = 0; i < s->vars.len; i++)
        bd_array_push(&dtypes, s->vars.items[i].dtype);
    braid_op_desc *d = braid_op_begin(b->g, op, NULL);
    braid_op_attr_type_list(d, "dtypes", dtypes.items, (int)dtypes.len);
    braid_op_attr_string(d, "shared_name", area);
    bd_array_free(&dtypes);
    return d;
}

// The values of copies that another run has made. What an earlier save that failed has left in the staging
// area is removed before the copy.
static out_list copy_shard(building *b, const shard *s)
{
    out_list values = read_shard(b, s);
    char *area = bd_asprintf("%s_%zu", braid_op_name(b->saver->filename.op), b->copies.len);
    braid_op *cleared = braid_op_end(begin_staging(b, "StageClear", area, s));
    braid_push_control(b->g, &cleared, 1);
    for (size_t i = 0; i < values.len; i++) {
        braid_push_colocate(b->g, s->vars.items[i].var.op);
        values.items[i] = train_out0(braid_op_add(b->g, "Snapshot", NULL, &values.items[i], 1));
        braid_pop_colocate(b->g);
    }
    braid_push_colocate(b->g, cleared);
    braid_op_desc *d = begin_staging(b, "Stage", area, s);
    braid_op_input_list(d, values.items, (int)values.len);
    bd_array_push(&b->copies, braid_op_end(d));
    braid_pop_control(b->g);
    braid_op *unstaged = braid_op_end(begin_staging(b, "Unstage", area, s));
    for (size_t i = 0; unstaged && i < values.len; i++)
        values.items[i] = braid_output(unstaged, (int)i);
    braid_pop_colocate(b->g);
    bd_free(area);
    return values;
}

typedef out_list (*values_fn)(building *b, const shard *s);

static braid_out save_shard(building *b, const shard *s, values_fn values_of, braid_out file)
{
    out_list values = values_of(b, s);
    braid_op_desc *d = begin_bundle(b->g, "SaveV2", s, file);
    braid_op_input_list(d, values.items, (int)values.len);
    bd_array_free(&values);
    return after(b->g, "control_dependency", braid_op_end(d), file);
}

static braid_out list_node(braid_graph *g, const char *op, const char *name, const braid_out *list, int count)
{
    braid_op_desc *d = braid_op_begin(g, op, name);
    braid_op_input_list(d, list, count);
    return braid_op_end_out(d);
}

// The prefix of the bundles that are merged: another one in each run of the program.
static braid_out temporary_prefix(building *b)
{
    char *part = bd_asprintf("_temp_%016" PRIx64 "%016" PRIx64 "/part", bd_random_u64(), bd_random_u64());
    const char *scope = braid_push_name_scope(b->g, "StringJoin");
    const braid_out parts[] = {b->saver->filename, braid_const_string(b->g, "inputs_1", part)};
    braid_pop_name_scope(b->g);
    bd_free(part);
    return list_node(b->g, "StringJoin", scope, parts, 2);
}

static braid_out sharded_filename(braid_graph *g, braid_out prefix, int index, braid_out count)
{
    const char *scope = braid_push_name_scope(g, "ShardedFilename");
    const braid_out number = braid_const_int32(g, "shard", index);
    braid_pop_name_scope(g);
    return train_node3(g, "ShardedFilename", scope, prefix, number, count);
}

static braid_out merge(building *b, const braid_out *files, int count)
{
    braid_graph *g = b->g;
    const char *scope = braid_push_name_scope(g, "MergeV2Checkpoints");
    const braid_out prefixes = list_node(g, "Pack", "checkpoint_prefixes", files, count);
    braid_pop_name_scope(g);
    const braid_out inputs[] = {prefixes, b->saver->filename};
    braid_op *merged = braid_op_add(g, "MergeV2Checkpoints", scope, inputs, 2);
    return after(g, NULL, merged, b->saver->filename);
}

// Adds the nodes that save, and returns the output to fetch. There is a shard at least.
static braid_out save_all(building *b, values_fn values_of)
{
    if (!b->saver->sharded) return save_shard(b, &b->shards.items[0], values_of, b->saver->filename);
    const braid_out prefix = temporary_prefix(b);
    const braid_out count = braid_const_int32(b->g, "num_shards", (int32_t)b->shards.len);
    BD_ARRAY(braid_out) files = {0};
    for (size_t i = 0; i < b->shards.len; i++) {
        const shard *s = &b->shards.items[i];
        braid_push_device(b->g, s->device);
        bd_array_push(&files, save_shard(b, s, values_of, sharded_filename(b->g, prefix, (int)i, count)));
        braid_pop_device(b->g);
    }
    braid_push_device(b->g, b->shards.items[b->shards.len - 1].device);
    const braid_out merged = merge(b, files.items, (int)files.len);
    braid_pop_device(b->g);
    bd_array_free(&files);
    return merged;
}

static void save_copies(building *b)
{
    (void)braid_push_name_scope(b->g, "copied");
    b->saver->saved_copy = save_all(b, copy_shard);
    b->saver->copy = braid_group(b->g, "copy", b->copies.items, (int)b->copies.len);
    braid_pop_name_scope(b->g);
}

static braid_op *assign(building *b, const saved *s, braid_out value)
{
    if (b->saver->reshape) value = braid_reshape(b->g, value, braid_out_shape(train_typed(s->var)));
    return train_assign_restored(b->g, s->var, value);
}

static void restore_shard(building *b, const shard *s)
{
    BD_ARRAY(braid_dtype) dtypes = {0};
    BD_ARRAY(braid_op *) assigns = {0};
    for (size_t i = 0; i < s->vars.len; i++)
        bd_array_push(&dtypes, s->vars.items[i].dtype);
    braid_push_device(b->g, s->device ? s->device : "/device:CPU:0");
    braid_op_desc *d = begin_bundle(b->g, "RestoreV2", s, b->saver->filename);
    braid_op_attr_type_list(d, "dtypes", dtypes.items, (int)dtypes.len);
    braid_op *restored = braid_op_end(d);
    braid_pop_device(b->g);
    for (size_t i = 0; restored && i < s->vars.len; i++)
        bd_array_push(&assigns, assign(b, &s->vars.items[i], braid_output(restored, (int)i)));
    const char *name = b->saver->sharded ? "restore_shard" : "restore_all";
    bd_array_push(&b->restores, braid_group(b->g, name, assigns.items, (int)assigns.len));
    bd_array_free(&assigns);
    bd_array_free(&dtypes);
}

static void restore_all(building *b)
{
    for (size_t i = 0; i < b->shards.len; i++)
        restore_shard(b, &b->shards.items[i]);
    if (b->saver->sharded)
        b->saver->restore = braid_group(b->g, "restore_all", b->restores.items, (int)b->restores.len);
    else if (b->restores.len)
        b->saver->restore = b->restores.items[0];
}

static void release(void *arg)
{
    braid_saver *saver = arg;
    bd_free(saver->report);
    bd_free(saver->vars);
    bd_free(saver);
}

braid_saver *braid_saver_new(braid_graph *g, const braid_saver_options *options)
{
    static const braid_saver_options defaults;
    const braid_saver_options *o = options ? options : &defaults;
    braid_saver *saver = bd_calloc(1, sizeof *saver);
    *saver = (braid_saver){.graph = g,
                           .sharded = o->sharded,
                           .without_meta = o->without_meta,
                           .policy = o->policy,
                           .reshape = o->reshape,
                           .pad_step_number = o->pad_step_number};
    braid_graph_own(g, saver, release);
    building b = {.saver = saver, .g = g};
    (void)braid_push_name_scope(g, o->name ? o->name : "save");
    train_present_open(&b.present, g, o);
    take_variables(&b, o);
    saver->report = train_present_close(&b.present);
    keep_variables(&b, o);
    if (b.shards.len > 0 && !braid_graph_status(g, NULL)) {
        saver->filename = add_filename(g);
        saver->saved = save_all(&b, read_shard);
        restore_all(&b);
        if (o->asynchronous) save_copies(&b);
    }
    braid_pop_name_scope(g);
    for (size_t i = 0; i < b.shards.len; i++) {
        bd_free(b.shards.items[i].device);
        bd_array_free(&b.shards.items[i].vars);
    }
    bd_array_free(&b.shards);
    bd_array_free(&b.restores);
    bd_array_free(&b.copies);
    return saver;
}
