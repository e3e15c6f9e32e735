// Save and SaveSlices: V1 checkpoints (io/checkpoint_v1.h).
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "io/checkpoint_v1.h"
#include "op/io_pool.h"
#include "ops/common/element.h"
#include "ops/common/file_arg.h"

// The inputs before the tensors. Save has no slices.
enum {
    FILENAME,
    NAMES,
    SLICES
};

typedef struct saving {
    bd_saved_slice *slices; // [count]
    char **names;           // [count], owned
    braid_tensor *tensors;  // [count], owned: copies that do not change meanwhile
    int64_t count;
    int first; // input that is a tensor
} saving;

static bool check_counts(bd_op_ctx *c, const saving *s)
{
    int64_t size = bd_tensor_count(bd_input(c, FILENAME));
    if (size != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input 0 (filename) must be a string scalar; got a tensor of %lld elements",
                   (long long)size);
    } else if (s->first > SLICES && bd_tensor_count(bd_input(c, SLICES)) != s->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected %lld elements for the tensor shapes and slices but got %lld",
                   (long long)s->count, (long long)bd_tensor_count(bd_input(c, SLICES)));
    } else if (c->input_count - s->first != s->count) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Expected totally %lld inputs as input #1 (which is a string tensor of saved names) contains %lld names, "
            "but received %d inputs",
            (long long)s->count + s->first, (long long)s->count, c->input_count);
    }
    return !bd_op_failed(c);
}

// Tensor `i`, which may be a slice of the one of that name.
static bool read_slice(bd_op_ctx *c, saving *s, int64_t i)
{
    BD_STATUS(st);
    const braid_tensor *t = bd_input(c, s->first + (int)i);
    const bd_string *spec = s->first > SLICES ? &bd_tensor_str(bd_input(c, SLICES))[i] : NULL;
    bd_saved_slice *slice = &s->slices[i];
    s->names[i] = bd_input_text(c, NAMES, i);
    if (!s->names[i]) return false;
    if (bd_checkpoint_v1_check_dtype(t->dtype, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    if (!bd_tensor_keep(&s->tensors[i], t)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying tensor %s to save it", s->names[i]);
        return false;
    }
    *slice = (bd_saved_slice){s->names[i], t->shape, bd_tensor_slice_all(t->shape.rank), &s->tensors[i]};
    if (!spec || spec->len == 0) return true;
    braid_shape shape;
    if (bd_shape_and_slice_parse(spec->data, spec->len, &slice->full, &slice->slice, &shape, st))
        bd_op_fail_status(c, st);
    else if (!bd_shape_equal(&shape, &t->shape))
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Slice in shape_and_slice specification does not match the shape of the tensor to  save: %.*s, tensor: %s",
            (int)spec->len, spec->data, bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
    return !bd_op_failed(c);
}

static bool is_cancelled(void *c)
{
    return bd_op_cancelled(c);
}

static void save_all(bd_op_ctx *c, saving *s)
{
    BD_STATUS(st);
    bool ok = true;
    for (int64_t i = 0; i < s->count && ok; i++)
        ok = read_slice(c, s, i);
    char *path = ok ? bd_input_text(c, FILENAME, 0) : NULL;
    if (path && bd_checkpoint_v1_write(bd_op_fs(c), path, s->slices, (size_t)s->count, is_cancelled, c, st))
        bd_op_fail_status(c, st);
    bd_free(path);
}

static void save(bd_op_ctx *c, int first)
{
    saving s = {.first = first, .count = bd_tensor_count(bd_input(c, NAMES))};
    if (!check_counts(c, &s)) return;
    s.slices = bd_calloc((size_t)s.count, sizeof *s.slices);
    s.names = bd_calloc((size_t)s.count, sizeof *s.names);
    s.tensors = bd_calloc((size_t)s.count, sizeof *s.tensors);
    save_all(c, &s);
    for (int64_t i = 0; i < s.count; i++) {
        bd_free(s.names[i]);
        bd_tensor_fini(&s.tensors[i]);
    }
    bd_free(s.slices);
    bd_free(s.names);
    bd_free(s.tensors);
}

static void save_whole(bd_op_ctx *c)
{
    save(c, SLICES);
}

static void save_slices(bd_op_ctx *c)
{
    save(c, SLICES + 1);
}

static void save_start(bd_op_ctx *c)
{
    bd_op_run_io(c, save_whole);
}

static void save_slices_start(bd_op_ctx *c)
{
    bd_op_run_io(c, save_slices);
}

// Checks for the name of a file, and as many names (and slices) as tensors.
static braid_code save_shape(bd_shape_ctx *c, braid_status *st)
{
    int first = c->input_count - bd_node_attr(c->node, "T")->list.count;
    braid_code code = bd_shape_ctx_rank(c, FILENAME, 0, st);
    for (int i = NAMES; i < first && !code; i++) {
        code = bd_shape_ctx_rank(c, i, 1, st);
        if (!code && c->inputs[i].rank == 1 && c->inputs[i].dims[0] >= 0 &&
            c->inputs[i].dims[0] != c->input_count - first)
            code = bd_shape_ctx_fail(c, st, "Dimension must be %d but is %lld", c->input_count - first,
                                     (long long)c->inputs[i].dims[0]);
    }
    return code;
}

BD_OP(Save) = {
    .signature = "(filename: string, tensor_names: string, data: T...) -> ()",
    .attrs = "T:list(type)>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = save_shape,
    .kernels = BD_KERNELS({.start = save_start}),
    .doc = "Saves tensors under their names in a V1 checkpoint, a file that appears when it is on the disk.",
};

BD_OP(SaveSlices) = {
    .signature = "(filename: string, tensor_names: string, shapes_and_slices: string, data: T...) -> ()",
    .attrs = "T:list(type)>=1",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = save_shape,
    .kernels = BD_KERNELS({.start = save_slices_start}),
    .doc =
        "Saves tensors, or slices of them, under their names in a V1 checkpoint, a file that appears when it "
        "is on the disk.",
};
