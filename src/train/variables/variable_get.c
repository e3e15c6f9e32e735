// Getting variables by name: making them, sharing them, dividing them into parts.
#include "train/variables/variable_internal.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/variables/variable_store.h"
#include <braid/ops.h>
#include <string.h>

// A variable that is asked for.
typedef struct wanted {
    braid_graph *g;
    const char *name;         // in full
    braid_variable_options o; // with what the scope says; `shape` and `dtype` also of `initial_value`
} wanted;

static char *text_of(braid_shape shape)
{
    bd_strbuf text = {0};
    for (int i = 0; i < shape.rank; i++)
        bd_strbuf_appendf(&text, "%s%lld", i ? ", " : "", (long long)shape.dims[i]);
    char *out = bd_asprintf("(%s%s)", bd_strbuf_str(&text), shape.rank == 1 ? "," : "");
    bd_strbuf_fini(&text);
    return out;
}

// ---- Sharing ----

static void fail_of_shapes(const wanted *w, braid_shape found)
{
    char *specified = text_of(w->o.shape), *there = text_of(found);
    braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                     "Trying to share variable %s, but specified shape %s and found shape %s.", w->name,
                     specified, there);
    bd_free(specified);
    bd_free(there);
}

// Makes the graph fail when the variable that exists is not the one that is asked for, divided into `parts`
// (0: not divided).
static void check_shared(const wanted *w, const train_stored *found, int64_t parts)
{
    if (w->o.reuse == BRAID_REUSE_INHERIT)
        braid_graph_fail(w->g, BRAID_ALREADY_EXISTS,
                         "Variable %s already exists, disallowed. Did you mean to set reuse=True or "
                         "reuse=tf.AUTO_REUSE in VarScope? (BRAID_REUSE, BRAID_AUTO_REUSE)",
                         w->name);
    else if (!braid_shape_equal(found->shape, w->o.shape))
        fail_of_shapes(w, found->shape);
    else if (found->dtype != w->o.dtype)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Trying to share variable %s, but specified dtype %s and found dtype %s.", w->name,
                         braid_dtype_name(w->o.dtype), braid_dtype_name(found->dtype));
    else if (found->variable.part_count != parts)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Trying to share variable %s, but specified %lld partitions and found %d.", w->name,
                         (long long)parts, found->variable.part_count);
}

// Returns the variable that exists, or NULL when it is to be made, or on an error.
static const train_stored *find_shared(const wanted *w, int64_t parts)
{
    const train_stored *found = bd_map_get(&train_store_of(w->g)->variables, w->name);
    if (found)
        check_shared(w, found, parts);
    else if (w->o.reuse == BRAID_REUSE)
        braid_graph_fail(
            w->g, BRAID_NOT_FOUND,
            "Variable %s does not exist, or was not created with tf.get_variable(). Did you mean "
            "to set reuse=tf.AUTO_REUSE in VarScope? (BRAID_AUTO_REUSE)",
            w->name);
    return braid_graph_status(w->g, NULL) ? NULL : found;
}

static void store(const wanted *w, braid_variable v)
{
    if (!v.read.op) return;
    train_stored *s = bd_calloc(1, sizeof *s);
    *s = (train_stored){v, w->o.dtype, w->o.shape};
    bd_map_put(&train_store_of(w->g)->variables, w->name, s);
}

// ---- Making ----

static braid_out first_value(const wanted *w)
{
    if (w->o.initial_value.op) return w->o.initial_value;
    (void)braid_push_name_scope(w->g, "Initializer");
    braid_push_colocate_name(w->g, w->name);
    const braid_out first = w->o.initializer.build(&w->o.initializer, w->g, w->o.dtype, w->o.shape);
    braid_pop_colocate(w->g);
    braid_pop_name_scope(w->g);
    return first;
}

static void add_loss(const wanted *w, braid_variable v)
{
    if (!w->o.regularizer.build || !v.ref.op) return;
    char *scope = bd_asprintf("%s/Regularizer/", w->name);
    (void)braid_push_name_scope(w->g, scope);
    braid_push_colocate(w->g, v.ref.op);
    braid_collect(w->g, BRAID_REGULARIZATION_LOSSES, w->o.regularizer.build(&w->o.regularizer, w->g, v.read));
    braid_pop_colocate(w->g);
    braid_pop_name_scope(w->g);
    bd_free(scope);
}

static braid_variable make_whole(const wanted *w)
{
    braid_graph *g = w->g;
    const char *scope = braid_push_name_scope(g, w->name);
    if (!scope) return (braid_variable){0};
    if (strlen(scope) != strlen(w->name) + 1) // made unique
        braid_graph_fail(g, BRAID_ALREADY_EXISTS, "Variable '%s' cannot be made: a node of that name exists",
                         w->name);
    braid_push_control(g, NULL, 0);
    const train_variable_spec spec = {
        .kind = w->o.kind == BRAID_KIND_RESOURCE ? TRAIN_RESOURCE : TRAIN_REFERENCE,
        .trainable = !w->o.untrained && !w->o.local,
        .collection = w->o.local ? BRAID_LOCAL_VARIABLES : BRAID_GLOBAL_VARIABLES,
        .place_class = w->name};
    const braid_variable v = train_make_variable(g, scope, first_value(w), &spec);
    braid_pop_control(g);
    braid_pop_name_scope(g);
    for (int i = 0; i < w->o.collection_count; i++)
        braid_collect(g, w->o.collections[i], v.ref);
    add_loss(w, v);
    if (w->o.constraint.build) braid_constrain_variable(g, v.ref, &w->o.constraint);
    train_set_policy(w->g, v.ref, (train_policy){w->o.synchronization, w->o.aggregation});
    store(w, v);
    return v;
}

static braid_variable get_whole(const wanted *w)
{
    const train_stored *found = find_shared(w, 0);
    if (found) return found->variable;
    return braid_graph_status(w->g, NULL) ? (braid_variable){0} : make_whole(w);
}

// ---- Parts ----

static braid_out slice_of(const wanted *part, const braid_partition_info *info, braid_out whole)
{
    char *scope = bd_asprintf("%s/PartitionedInitializer/", part->name);
    (void)braid_push_name_scope(part->g, scope);
    bd_free(scope);
    const braid_out value = braid_slice(part->g, whole, info->offset, part->o.shape);
    braid_pop_name_scope(part->g);
    return value;
}

static braid_out make_part(const wanted *whole, int i, const braid_partition_info *info, braid_shape shape)
{
    wanted part = *whole;
    char *name = bd_asprintf("%s/part_%d", whole->name, i);
    part.name = name;
    part.o.shape = shape;
    part.o.initializer.partition = info;
    if (part.o.initial_value.op) part.o.initial_value = slice_of(&part, info, part.o.initial_value);
    const braid_variable v = get_whole(&part);
    train_set_slice(part.g, train_centre_of(part.g, v.ref), whole->name, info, shape);
    bd_free(name);
    return v.ref;
}

// All parts as one value, called as the variable would be.
static braid_out read_parts(const wanted *w, const braid_variable *v, int axis)
{
    braid_graph *g = w->g;
    if (v->part_count == 1) return braid_identity(g, w->name, braid_variable_find(v->parts[0]).read);
    char *scope = bd_asprintf("%s/ConcatPartitions/", w->name);
    (void)braid_push_name_scope(g, scope);
    bd_free(scope);
    braid_out *reads = bd_calloc((size_t)v->part_count, sizeof *reads);
    for (int i = 0; i < v->part_count; i++)
        reads[i] = braid_variable_find(v->parts[i]).read;
    const braid_out whole = braid_concat(g, reads, v->part_count, axis);
    bd_free(reads);
    braid_pop_name_scope(g);
    return braid_identity(g, w->name, whole);
}

// The first parts are longer by one where the axis cannot be divided equally.
static braid_variable make_parts(const wanted *w, int count, int axis)
{
    braid_out *parts = bd_calloc((size_t)count, sizeof *parts);
    braid_partition_info info = {.full_shape = w->o.shape};
    const int64_t length = w->o.shape.dims[axis];
    for (int i = 0; i < count; i++) {
        braid_shape shape = w->o.shape;
        shape.dims[axis] = length / count + (i < length % count);
        parts[i] = make_part(w, i, &info, shape);
        info.offset[axis] += shape.dims[axis];
    }
    braid_variable v = {.parts = parts, .part_count = count};
    braid_push_control(w->g, NULL, 0);
    if (!braid_graph_status(w->g, NULL)) v.read = read_parts(w, &v, axis);
    braid_pop_control(w->g);
    if (v.read.op) {
        store(w, v);
        return v;
    }
    bd_free(parts);
    return (braid_variable){0};
}

static braid_variable get_parts(const wanted *w)
{
    int axis = 0;
    const braid_shape shape = w->o.shape;
    if (shape.rank < 1) {
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Variable %s: A partitioned Variable must have rank at least 1. Shape: ()", w->name);
        return (braid_variable){0};
    }
    const int64_t count = w->o.partitioner.shards(&w->o.partitioner, w->o.dtype, shape, &axis);
    if (axis < 0 || axis >= shape.rank || count < 1 || (count > 1 && count > shape.dims[axis])) {
        char *text = text_of(shape);
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Variable %s of shape %s cannot be divided into %lld parts along axis %d", w->name,
                         text, (long long)count, axis);
        bd_free(text);
        return (braid_variable){0};
    }
    const train_stored *found = find_shared(w, count);
    if (found) return found->variable;
    return braid_graph_status(w->g, NULL) ? (braid_variable){0} : make_parts(w, (int)count, axis);
}

// ---- The whole ----

// Fills in what the scope says where the caller says nothing.
static void settle(wanted *w, const braid_variable_scope_options *scope)
{
    braid_variable_options *o = &w->o;
    if (o->initial_value.op) {
        o->shape = braid_out_shape(o->initial_value);
        o->dtype = train_base_dtype(braid_out_dtype(o->initial_value));
    }
    if (o->synchronization == BRAID_SYNC_ON_READ) o->untrained = true;
    if (!o->dtype) o->dtype = scope->dtype ? scope->dtype : BRAID_FLOAT;
    if (!o->reuse) o->reuse = scope->reuse;
    if (!o->kind) o->kind = scope->kind;
    if (!o->regularizer.build) o->regularizer = scope->regularizer;
    if (!o->constraint.build) o->constraint = scope->constraint;
    if (!o->partitioner.shards) o->partitioner = scope->partitioner;
    if (!o->initializer.build) o->initializer = scope->initializer;
    if (!o->initializer.build && o->dtype == BRAID_STRING && !o->initial_value.op)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT, "An initializer for variable %s of string is required",
                         w->name);
    const bool is_float = o->dtype == BRAID_FLOAT || o->dtype == BRAID_DOUBLE || o->dtype == BRAID_HALF ||
                          o->dtype == BRAID_BFLOAT16;
    if (!o->initializer.build)
        o->initializer = is_float ? braid_glorot_uniform_initializer() : braid_zeros_initializer();
}

// What strategies with mirrors do not have.
static void check_replicated(const wanted *w)
{
    const train_replicas *r = train_store_of(w->g)->replicas;
    if (w->o.synchronization < BRAID_SYNC_AUTO || w->o.synchronization > BRAID_SYNC_ON_READ)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Invalid variable synchronization mode: %d for variable: %s",
                         (int)w->o.synchronization, w->name);
    if (w->o.aggregation < BRAID_AGGREGATE_NONE || w->o.aggregation > BRAID_AGGREGATE_ONLY_FIRST_REPLICA)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Invalid variable aggregation mode: %d for variable: %s", (int)w->o.aggregation,
                         w->name);
    if (!r || r->shares) return;
    if (w->o.synchronization == BRAID_SYNC_NONE)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "`NONE` variable synchronization mode is not supported with mirrored variables. "
                         "Please change the `synchronization` for variable: %s",
                         w->name);
    if (w->o.partitioner.shards && !w->o.whole)
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Variable %s: a strategy with mirrored variables has no partitioned ones. Make it "
                         "without a partitioner, or with `whole`",
                         w->name);
}

braid_variable train_variable_at(braid_graph *g, const char *full_name, const braid_variable_options *options,
                                 const braid_variable_scope_options *scope)
{
    wanted w = {g, full_name, *options};
    settle(&w, scope);
    if (!braid_graph_status(g, NULL) && braid_shape_num_elements(w.o.shape) < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Shape of a new variable (%s) must be fully defined",
                         full_name);
    check_replicated(&w);
    if (braid_graph_status(g, NULL)) return (braid_variable){0};
    (void)braid_push_name_scope(g, NULL);
    const braid_variable v = w.o.partitioner.shards && !w.o.whole ? get_parts(&w) : get_whole(&w);
    braid_pop_name_scope(g);
    return v;
}

braid_variable braid_variable_get_with(braid_graph *g, const char *name,
                                       const braid_variable_options *options)
{
    static const braid_variable_options none;
    if (!name || !*name) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A variable needs a name");
        return (braid_variable){0};
    }
    if (braid_graph_status(g, NULL)) return (braid_variable){0};
    const train_variable_scope *scope = train_current_scope(g);
    const braid_variable_scope_options defaults = scope->defaults;
    braid_variable_options asked = options ? *options : none;
    char *full_name = train_replica_name(g, scope->name, name, &asked.reuse);
    const braid_variable v = train_variable_at(g, full_name, &asked, &defaults);
    bd_free(full_name);
    return v;
}

braid_variable braid_variable_get(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape,
                                  braid_initializer initializer, bool trainable)
{
    return braid_variable_get_with(
        g, name,
        &(braid_variable_options){
            .dtype = dtype, .shape = shape, .initializer = initializer, .untrained = !trainable});
}
