// Slots: variables named after another and lying beside it.
//
// The slot of a part W/part_0 is W/part_0/Adagrad, and in a checkpoint W/Adagrad. TensorFlow finds the last
// name by cutting as many characters from the slot's as the part's has. Within a variable scope S the slot is
// S/W/part_0/Adagrad, so that the rest is longer, by the length of "S/": the scope "dnn" gives W/t_0/Adagrad,
// and "linear" W/part_0/Adagrad. Checkpoints of TensorFlow's canned estimators have these names.
#include "train/variables/slot.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <string.h>

// Makes the slot of a mirrored variable: a mirror of the slot of its centre, where that is made already.
static braid_variable make_mirror(braid_graph *g, const char *scope, braid_out primary, braid_out centre,
                                  braid_out initial)
{
    const train_variable_spec spec = {.kind = train_kind_of(primary), .collection = BRAID_LOCAL_VARIABLES};
    const char *outer = train_current_scope(g)->name;
    char *suffix = train_scope_name(scope + strlen(outer) + strlen(braid_op_name(primary.op)));
    char *name = bd_asprintf("%s%s%s", outer, braid_op_name(centre.op), suffix);
    const braid_out slot = {braid_graph_find(g, name), 0};
    const braid_variable v =
        train_make_one(g, scope, slot.op ? braid_variable_find(slot).read : initial, &spec);
    bd_free(name);
    bd_free(suffix);
    return v;
}

// The name in a checkpoint of the slot of a part of WHOLE.
static char *saved_name(const char *whole, const char *part, const char *slot)
{
    return bd_asprintf("%s/%s", whole, slot + strlen(part) + 1);
}

char *train_slot_name_of_part(const train_slice *slice, int part)
{
    char *primary = bd_asprintf("%s/part_%d", slice->whole, part);
    char *slot = bd_asprintf("%s%s/%s", slice->scope, primary, slice->slot);
    char *name = saved_name(slice->whole, primary, slot);
    bd_free(primary);
    bd_free(slot);
    return name;
}

// Notes that the slot of the part `primary` is a part.
static void set_slice(braid_graph *g, braid_out primary, const train_slice *part, braid_out slot)
{
    const char *scope = train_current_scope(g)->name, *of = braid_op_name(primary.op);
    char *name = saved_name(part->full_name, of, braid_op_name(slot.op));
    char *numbered = bd_asprintf("%s/part_", part->full_name);
    braid_partition_info info = {.full_shape = part->full_shape};
    memcpy(info.offset, part->offset, sizeof info.offset);
    train_slice *slice = train_set_slice(g, slot, name, &info, part->shape);
    if (*scope && slice && bd_str_starts_with(of, numbered)) {
        slice->scope = bd_strdup(scope);
        slice->whole = bd_strdup(part->full_name);
        slice->slot = bd_strdup(braid_op_name(slot.op) + strlen(scope) + strlen(of) + 1);
    }
    bd_free(numbered);
    bd_free(name);
}

// Makes the slot's nodes. The slot of a part is a part of the slot: of the whole's name, if of its shape.
static braid_variable make(braid_graph *g, const char *scope, braid_out primary, braid_out initial)
{
    const train_variable_spec spec = {.kind = train_kind_of(primary)};
    const braid_out centre = train_mirrored(g, primary);
    if (centre.op) return make_mirror(g, scope, primary, centre, initial);
    const braid_variable slot = train_make_variable(g, scope, initial, &spec);
    const train_slice *part = train_slice_of(g, primary);
    if (!part || !slot.ref.op || !braid_shape_equal(braid_out_shape(initial), part->shape)) return slot;
    set_slice(g, primary, part, slot.ref);
    return slot;
}

// Enters SCOPE/PRIMARY/NAME and the primary's place; `leave` undoes it.
static const char *enter(braid_graph *g, braid_out primary, const char *name)
{
    char *full = bd_asprintf("%s%s/%s", train_current_scope(g)->name, braid_op_name(primary.op), name);
    (void)braid_push_name_scope(g, NULL);
    const char *scope = braid_push_name_scope(g, full);
    braid_push_colocate(g, primary.op);
    bd_free(full);
    return scope;
}

static void leave(braid_graph *g)
{
    braid_pop_colocate(g);
    braid_pop_name_scope(g);
    braid_pop_name_scope(g);
}

braid_variable train_slot_from(braid_graph *g, braid_out primary, const char *name, braid_out initial)
{
    if (!primary.op) return (braid_variable){0};
    const char *scope = enter(g, primary, name);
    braid_variable slot = make(g, scope, primary, initial);
    leave(g);
    return slot;
}

static braid_variable slot_of_shape(braid_graph *g, braid_out primary, const char *name,
                                    braid_initializer initializer, braid_shape shape)
{
    const char *scope = enter(g, primary, name);
    (void)braid_push_name_scope(g, "Initializer");
    braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(primary)));
    braid_out initial = initializer.build(&initializer, g, dtype, shape);
    braid_pop_name_scope(g);
    braid_variable slot = make(g, scope, primary, initial);
    leave(g);
    return slot;
}

braid_variable train_slot_with(braid_graph *g, braid_out primary, const char *name,
                               braid_initializer initializer)
{
    if (!primary.op) return (braid_variable){0};
    return slot_of_shape(g, primary, name, initializer, braid_out_shape(train_typed(primary)));
}

braid_variable train_slot_scalar(braid_graph *g, braid_out primary, const char *name,
                                 braid_initializer initializer)
{
    if (!primary.op) return (braid_variable){0};
    return slot_of_shape(g, primary, name, initializer, BRAID_SCALAR);
}
