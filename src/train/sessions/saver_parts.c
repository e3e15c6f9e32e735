// Restoring slots that a checkpoint has in other parts than the graph.
//
// A partitioned variable is one tensor of a checkpoint, so that any parts of it can be restored. So are its
// slots, but for those made within a variable scope: TensorFlow saves each part under a name with its number
// (slot.c), as slices of as many tensors. When a checkpoint has another number of these than the graph, the
// nodes of the saver do not fit. Nodes are made then that read each part of the graph from those parts of the
// checkpoint that have rows of it, and put them together.
#include "train/sessions/saver.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/log.h"
#include "train/common/build.h"
#include "train/variables/slot.h"
#include "train/variables/variable_internal.h"
#include <braid/checkpoint_reader.h>
#include <braid/ops.h>
#include <string.h>

typedef struct restoring {
    const braid_saver *saver;
    const braid_checkpoint_reader *checkpoint;
    BD_ARRAY(braid_op *) assigns;
} restoring;

// ---- How many parts ----

// The parts that the checkpoint has; 0: it does not have the slot.
static int count_saved(const restoring *r, const train_slice *slice)
{
    for (int count = 0;; count++) {
        char *name = train_slot_name_of_part(slice, count);
        const bool is_there = braid_checkpoint_reader_find(r->checkpoint, name);
        bd_free(name);
        if (!is_there) return count;
    }
}

static int count_own(const restoring *r, const train_slice *slice)
{
    int count = 0;
    for (int i = 0; i < r->saver->var_count; i++) {
        const train_slice *other = train_slice_of(r->saver->graph, r->saver->vars[i]);
        count += other && other->whole && strcmp(other->whole, slice->whole) == 0 &&
                 strcmp(other->slot, slice->slot) == 0 && strcmp(other->scope, slice->scope) == 0;
    }
    return count;
}

// The parts of the checkpoint that a variable is to be put together of; 0: it is read as it is.
static int parts_of(const restoring *r, const train_slice *slice)
{
    if (!slice || !slice->whole) return 0;
    const int saved = count_saved(r, slice);
    return saved == count_own(r, slice) ? 0 : saved;
}

static bool fits(const restoring *r)
{
    for (int i = 0; i < r->saver->var_count; i++)
        if (parts_of(r, train_slice_of(r->saver->graph, r->saver->vars[i]))) return false;
    return true;
}

// ---- Nodes ----

// The axis that is divided; a variable of one part may be divided along the first one in the checkpoint.
static int axis_of(const train_slice *slice)
{
    for (int i = 0; i < slice->shape.rank; i++)
        if (slice->shape.dims[i] != slice->full_shape.dims[i]) return i;
    return 0;
}

// A vector of one string.
static braid_out text_node(braid_graph *g, const char *name, const char *text)
{
    braid_tensor *t = braid_tensor_new(BRAID_STRING, BRAID_SHAPE(1), NULL);
    braid_tensor_set_string(t, 0, text, strlen(text));
    const braid_out out = braid_const(g, name, t);
    braid_tensor_free(t);
    return out;
}

static braid_out read_slice(const restoring *r, const char *name, const train_slice *slice, braid_dtype dtype)
{
    braid_graph *g = r->saver->graph;
    char *text = train_slice_text(slice);
    const char *scope = braid_push_name_scope(g, "RestoreV2");
    const braid_out inputs[] = {r->saver->filename, text_node(g, "tensor_names", name),
                                text_node(g, "shape_and_slices", text)};
    braid_pop_name_scope(g);
    bd_free(text);
    braid_op_desc *d = braid_op_begin(g, "RestoreV2", scope);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_type_list(d, "dtypes", &dtype, 1);
    return braid_op_end_out(d);
}

// The part `slice` of `saved` parts, of which the first are longer by one where the axis cannot be divided.
static braid_out read_parts(const restoring *r, const train_slice *slice, braid_dtype dtype, int saved)
{
    const int axis = axis_of(slice);
    const int64_t length = slice->full_shape.dims[axis], begin = slice->offset[axis],
                  end = begin + slice->shape.dims[axis];
    BD_ARRAY(braid_out) pieces = {0};
    int64_t at = 0;
    for (int i = 0; i < saved; i++) {
        const int64_t next = at + length / saved + (i < length % saved);
        train_slice piece = *slice;
        piece.offset[axis] = bd_max(at, begin);
        piece.shape.dims[axis] = bd_min(next, end) - piece.offset[axis];
        at = next;
        if (piece.shape.dims[axis] <= 0) continue;
        char *name = train_slot_name_of_part(slice, i);
        bd_array_push(&pieces, read_slice(r, name, &piece, dtype));
        bd_free(name);
    }
    const braid_out whole = pieces.len == 1
                                ? pieces.items[0]
                                : braid_concat(r->saver->graph, pieces.items, (int)pieces.len, axis);
    bd_array_free(&pieces);
    return whole;
}

static void restore_variable(restoring *r, braid_out var)
{
    braid_graph *g = r->saver->graph;
    const train_slice *slice = train_slice_of(g, var);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(var)));
    const int saved = parts_of(r, slice);
    braid_push_device(g, braid_op_requested_device(var.op));
    braid_push_device(g, "/device:CPU:0");
    const braid_out value =
        saved ? read_parts(r, slice, dtype, saved)
              : read_slice(r, slice ? slice->full_name : braid_op_name(var.op), slice, dtype);
    braid_pop_device(g);
    braid_pop_device(g);
    if (value.op) braid_set_shape(value, braid_out_shape(train_typed(var)));
    bd_array_push(&r->assigns, train_assign_restored(g, var, value));
}

static braid_op *build(restoring *r, braid_status *st)
{
    braid_graph *g = r->saver->graph;
    (void)braid_push_name_scope(g, "restore_parts");
    for (int i = 0; i < r->saver->var_count; i++)
        restore_variable(r, r->saver->vars[i]);
    braid_op *op = braid_group(g, "restore_all", r->assigns.items, (int)r->assigns.len);
    braid_pop_name_scope(g);
    bd_array_free(&r->assigns);
    return braid_graph_status(g, st) ? NULL : op;
}

braid_op *train_saver_restore_op(braid_saver *saver, const char *prefix, braid_status *st)
{
    if (!saver->vars) return saver->restore;
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(prefix, NULL);
    restoring r = {.saver = saver, .checkpoint = reader};
    braid_op *op = saver->restore; // also to say why a checkpoint cannot be read
    if (reader && !fits(&r)) {
        bd_info("The checkpoint %s has slots in other parts than this graph. They are put together", prefix);
        op = build(&r, st);
    }
    braid_checkpoint_reader_close(reader);
    return op;
}
