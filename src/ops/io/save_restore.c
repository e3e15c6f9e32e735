// Checkpoint ops: SaveV2, RestoreV2 and MergeV2Checkpoints over tensor bundles (io/bundle.h), and the older
// ops Restore and RestoreSlice, which read V1 and V2 checkpoints. (save_slices.c writes V1 checkpoints.)
//
// They block on the disk, so they run on I/O threads (op/io_pool.h). A checkpoint appears under its name when
// all of it is on the disk; an error, a cancelled step or a crash leaves the previous one.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "io/checkpoint.h"
#include "op/io_pool.h"
#include "ops/common/file_arg.h"

#include <string.h>

// The inputs before the tensors.
enum {
    PREFIX,
    NAMES,
    SLICES,
    TENSORS
};

#define SHAPE_STR(shape) bd_shape_str((shape), (char[BD_SHAPE_STR_MAX]){0})

// A shape_and_slice. An empty text means the whole tensor.
typedef struct part {
    bool is_set;
    braid_shape full, shape; // of the whole tensor, and of the part
    bd_tensor_slice slice;
} part;

static braid_code read_part(const bd_string *text, part *p, braid_status *st)
{
    *p = (part){.is_set = text->len > 0};
    if (!p->is_set) return BRAID_OK;
    return bd_shape_and_slice_parse(text->data, text->len, &p->full, &p->slice, &p->shape, st);
}

// Of SaveV2 and RestoreV2: a prefix, and as many names as slices.
static bool check_inputs(bd_op_ctx *c)
{
    const braid_tensor *names = bd_input(c, NAMES), *slices = bd_input(c, SLICES);
    int64_t count = bd_tensor_count(bd_input(c, PREFIX));
    if (count != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input prefix should have a single element, got %lld instead.",
                   (long long)count);
    } else if (names->shape.rank != 1 || slices->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input tensor_names and shape_and_slices should be an 1-D tensors, got %s and %s instead.",
                   SHAPE_STR(&names->shape), SHAPE_STR(&slices->shape));
    } else if (bd_tensor_count(names) != bd_tensor_count(slices)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "tensor_names and shape_and_slices have different number of elements: %lld vs. %lld",
                   (long long)bd_tensor_count(names), (long long)bd_tensor_count(slices));
    }
    return !bd_op_failed(c);
}

// ---- SaveV2 ----

static braid_code save_tensor(bd_bundle_writer *w, const char *name, const bd_string *spec,
                              const braid_tensor *t, braid_status *st)
{
    part p;
    braid_code code = read_part(spec, &p, st);
    if (code) return code;
    if (!p.is_set) return bd_bundle_add(w, name, t, st);
    if (!bd_shape_equal(&p.shape, &t->shape)) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Slice in shape_and_slice specification does not match the shape of the tensor to "
                       " save: %.*s, tensor: %s",
                       (int)spec->len, spec->data, SHAPE_STR(&t->shape));
    }
    return bd_bundle_add_slice(w, name, &p.full, &p.slice, t, st);
}

static void save_tensors(bd_op_ctx *c, bd_bundle_writer *w)
{
    BD_STATUS(st);
    int64_t count = bd_tensor_count(bd_input(c, NAMES));
    const bd_string *specs = bd_tensor_str(bd_input(c, SLICES));
    for (int64_t i = 0; i < count; i++) {
        char *name = bd_op_cancelled(c) ? NULL : bd_input_text(c, NAMES, i);
        if (!name) return;
        if (save_tensor(w, name, &specs[i], bd_input(c, TENSORS + (int)i), st)) bd_op_fail_status(c, st);
        bd_free(name);
        if (bd_op_failed(c)) return;
    }
    if (bd_bundle_finish(w, st)) bd_op_fail_status(c, st);
}

static void save(bd_op_ctx *c)
{
    BD_STATUS(st);
    if (!check_inputs(c)) return;
    int64_t count = bd_tensor_count(bd_input(c, NAMES));
    if (count != c->input_count - TENSORS) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Got %lld tensor names but %d tensors.", (long long)count,
                   c->input_count - TENSORS);
        return;
    }
    char *prefix = bd_input_text(c, PREFIX, 0);
    if (!prefix) return;
    bd_bundle_writer *w;
    if (bd_bundle_writer_open(bd_op_fs(c), prefix, NULL, &w, st)) bd_op_fail_status(c, st);
    if (w) save_tensors(c, w);
    bd_bundle_writer_free(w);
    bd_free(prefix);
}

static void save_start(bd_op_ctx *c)
{
    bd_op_run_io(c, save);
}

// Checks for vectors of `count` names and slices; `count` may be unknown.
static braid_code check_shapes(bd_shape_ctx *c, int count, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, PREFIX, 0, st);
    for (int i = NAMES; i <= SLICES && !code; i++) {
        code = bd_shape_ctx_rank(c, i, 1, st);
        if (!code && c->inputs[i].rank == 1 && c->inputs[i].dims[0] >= 0 && c->inputs[i].dims[0] != count)
            code = bd_shape_ctx_fail(c, st, "Dimension must be %d but is %lld", count,
                                     (long long)c->inputs[i].dims[0]);
    }
    return code;
}

static braid_code save_shape(bd_shape_ctx *c, braid_status *st)
{
    return check_shapes(c, c->input_count - TENSORS, st);
}

BD_OP(SaveV2) = {
    .signature = "(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes...) -> ()",
    .attrs = "dtypes:list(type)>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = save_shape,
    .kernels = BD_KERNELS({.start = save_start}),
    .doc =
        "Saves tensors, or slices of them, under their names in a checkpoint of the second format: all at once, on "
        "the disk when it ends.",
};

// ---- Restoring ----

static braid_code restore_tensor(bd_checkpoint *b, const char *name, const bd_string *spec, braid_tensor *t,
                                 braid_status *st)
{
    part p;
    braid_dtype dtype;
    braid_shape shape;
    braid_code code = read_part(spec, &p, st);
    if (code) return code;
    if (!p.is_set) return bd_checkpoint_read(b, name, NULL, t, st);
    code = bd_checkpoint_find(b, name, &dtype, &shape, st);
    if (code) return code;
    if (!bd_shape_equal(&shape, &p.full)) {
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "tensor_name = %s; shape in shape_and_slice spec %s does not match the shape stored in "
            "checkpoint: %s",
            name, SHAPE_STR(&p.full), SHAPE_STR(&shape));
    }
    return bd_checkpoint_read(b, name, &p.slice, t, st);
}

static void restore_output(bd_op_ctx *c, bd_checkpoint *b, int i, const char *name, const bd_string *spec)
{
    BD_STATUS(st);
    braid_tensor t = {0};
    if (restore_tensor(b, name, spec, &t, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    bd_output_set(c, i, &t);
    bd_tensor_fini(&t);
}

// ---- RestoreV2 ----

// Checks that all names exist with the expected types; the error lists each one that does not.
static bool check_types(bd_op_ctx *c, bd_checkpoint *b, char *const *names)
{
    BD_STATUS(st);
    bd_strbuf wrong = {0};
    for (int i = 0; i < c->output_count; i++) {
        braid_dtype dtype;
        braid_shape shape;
        if (bd_checkpoint_find(b, names[i], &dtype, &shape, st)) {
            bd_op_fail_status(c, st);
            break;
        }
        if (dtype == c->node->output_types[i]) continue;
        bd_strbuf_appendf(&wrong, "%stensor_name = %s; expected dtype %s does not equal original dtype %s",
                          wrong.len ? "\n" : "", names[i], braid_dtype_name(c->node->output_types[i]),
                          braid_dtype_name(dtype));
    }
    if (wrong.len > 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", bd_strbuf_str(&wrong));
    bd_strbuf_fini(&wrong);
    return !bd_op_failed(c);
}

static void restore_named(bd_op_ctx *c, const char *prefix, char *const *names)
{
    BD_STATUS(st);
    bd_checkpoint b;
    if (bd_checkpoint_open(bd_op_fs(c), prefix, &b, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    const bd_io_team team = bd_io_team_of(c);
    bd_checkpoint_set_team(&b, &team.base);
    bool goes_on = check_types(c, &b, names);
    for (int i = 0; goes_on && i < c->output_count && !bd_op_cancelled(c); i++) {
        restore_output(c, &b, i, names[i], &bd_tensor_str(bd_input(c, SLICES))[i]);
        goes_on = !bd_op_failed(c);
    }
    bd_checkpoint_close(&b);
}

static void restore(bd_op_ctx *c)
{
    int64_t count = bd_tensor_count(bd_input(c, NAMES));
    if (count != c->output_count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Got %lld tensor names, but %d expected dtypes.",
                   (long long)count, c->output_count);
        return;
    }
    if (!check_inputs(c)) return;
    char *prefix = bd_input_text(c, PREFIX, 0), **names = bd_calloc((size_t)count, sizeof *names);
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
        names[i] = bd_input_text(c, NAMES, i);
    if (!bd_op_failed(c)) restore_named(c, prefix, names);
    for (int64_t i = 0; i < count; i++)
        bd_free(names[i]);
    bd_free(names);
    bd_free(prefix);
}

static void restore_start(bd_op_ctx *c)
{
    bd_op_run_io(c, restore);
}

// A slice gives the shape of the restored tensor.
static braid_code restore_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = check_shapes(c, c->output_count, st);
    const braid_tensor *specs = code ? NULL : bd_shape_ctx_constant(c, SLICES);
    for (int i = 0; specs && i < bd_tensor_count(specs) && i < c->output_count && !code; i++) {
        part p;
        code = read_part(&bd_tensor_str(specs)[i], &p, st);
        if (p.is_set) c->outputs[i] = p.shape;
    }
    return code;
}

BD_OP(RestoreV2) = {
    .signature = "(prefix: string, tensor_names: string, shape_and_slices: string) -> (tensors: dtypes...)",
    .attrs = "dtypes:list(type)>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = restore_shape,
    .kernels = BD_KERNELS({.start = restore_start}),
    .doc = "Reads tensors, or slices of them, by their names from a checkpoint of either format.",
};

// ---- Restore, RestoreSlice ----

static void restore_first_form(bd_op_ctx *c, bd_checkpoint *b, const char *prefix, const char *name)
{
    static const bd_string no_spec = {0};
    BD_STATUS(st);
    braid_dtype dtype, type = c->node->output_types[0];
    braid_shape shape;
    if (bd_checkpoint_find(b, name, &dtype, &shape, st)) {
        if (st->code == BRAID_NOT_FOUND)
            bd_fail(st, st->code, "Tensor name \"%s\" not found in checkpoint files %s", name, prefix);
        bd_op_fail_status(c, st);
    } else if (dtype != type) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Expected to restore a tensor of type %s, got a tensor of type %s instead: tensor_name = %s",
            braid_dtype_name(type), braid_dtype_name(dtype), name);
    } else {
        restore_output(c, b, 0, name,
                       c->input_count > SLICES ? bd_tensor_str(bd_input(c, SLICES)) : &no_spec);
    }
}

static void restore_one(bd_op_ctx *c)
{
    BD_STATUS(st);
    for (int i = 0; i < c->input_count; i++) {
        int64_t count = bd_tensor_count(bd_input(c, i));
        if (count == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input %d (%s) must be a string scalar; got a tensor of %lld elements", i,
                   c->node->def->inputs[i].name, (long long)count);
        return;
    }
    bd_checkpoint b = {0};
    const bd_io_team team = bd_io_team_of(c);
    char *prefix = bd_input_text(c, PREFIX, 0), *name = prefix ? bd_input_text(c, NAMES, 0) : NULL;
    if (name && bd_checkpoint_open(bd_op_fs(c), prefix, &b, st)) bd_op_fail_status(c, st);
    bd_checkpoint_set_team(&b, &team.base);
    if (name && !bd_op_failed(c)) restore_first_form(c, &b, prefix, name);
    bd_checkpoint_close(&b);
    bd_free(name);
    bd_free(prefix);
}

static void restore_one_start(bd_op_ctx *c)
{
    bd_op_run_io(c, restore_one);
}

static braid_code restore_one_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    const braid_tensor *spec = !code && c->input_count > SLICES ? bd_shape_ctx_constant(c, SLICES) : NULL;
    if (!spec) return code;
    part p;
    code = read_part(bd_tensor_str(spec), &p, st);
    if (p.is_set) c->outputs[0] = p.shape;
    return code;
}

#define RESTORE(SIGNATURE, DOC)                                                                              \
    {                                                                                                        \
        .signature = (SIGNATURE), .attrs = "dt:type; preferred_shard:int=-1",                                \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = restore_one_shape,                      \
        .kernels = BD_KERNELS({.start = restore_one_start}), .doc = (DOC)                                    \
    }

BD_OP(Restore) =
    RESTORE("(file_pattern: string, tensor_name: string) -> (tensor: dt)",
            "Reads a tensor from a checkpoint: from V1 files, or from a V2 checkpoint with the prefix "
            "`file_pattern`.");
BD_OP(RestoreSlice) =
    RESTORE("(file_pattern: string, tensor_name: string, shape_and_slice: string) -> (tensor: dt)",
            "Reads a tensor, or a slice of it, from a checkpoint: from V1 files, or from a V2 "
            "checkpoint with the prefix `file_pattern`.");

// ---- MergeV2Checkpoints ----

static bool is_cancelled(void *c)
{
    return bd_op_cancelled(c);
}

static void merge(bd_op_ctx *c)
{
    BD_STATUS(st);
    if (!bd_input_check_rank(c, 0, 1) || !bd_input_check_rank(c, 1, 0)) return;
    size_t count = (size_t)bd_tensor_count(bd_input(c, 0));
    char *to = bd_input_text(c, 1, 0), **prefixes = bd_calloc(count, sizeof *prefixes);
    for (size_t i = 0; i < count && !bd_op_failed(c); i++)
        prefixes[i] = bd_input_text(c, 0, (int64_t)i);
    bd_bundle_merge_options options = {.allow_missing = bd_node_attr_bool(c->node, "allow_missing_files"),
                                       .remove_dirs = bd_node_attr_bool(c->node, "delete_old_dirs"),
                                       .is_cancelled = is_cancelled,
                                       .arg = c};
    if (!bd_op_failed(c) &&
        bd_bundle_merge(bd_op_fs(c), (const char *const *)prefixes, count, to, &options, st))
        bd_op_fail_status(c, st);
    for (size_t i = 0; i < count; i++)
        bd_free(prefixes[i]);
    bd_free(prefixes);
    bd_free(to);
}

static void merge_start(bd_op_ctx *c)
{
    bd_op_run_io(c, merge);
}

static braid_code merge_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

BD_OP(MergeV2Checkpoints) = {
    .signature = "(checkpoint_prefixes: string, destination_prefix: string) -> ()",
    .attrs = "delete_old_dirs:bool=true; +allow_missing_files:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = merge_shape,
    .kernels = BD_KERNELS({.start = merge_start}),
    .doc =
        "Makes one checkpoint of those that tasks saved each for themselves; with delete_old_dirs their directories go.",
};
