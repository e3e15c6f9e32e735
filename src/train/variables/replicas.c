// Variables of a model that a strategy builds once for each replica: the centres of replica 0, and what the
// later replicas get in their place. The n-th variable that a replica makes stands for the n-th of replica 0;
// a shared one that is got by name (braid_variable_get) is found by it.
#include "train/variables/variable_store.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <string.h>

// ---- Building one replica after another ----

static void copy_counts(bd_map *to, const bd_map *from)
{
    size_t pos = 0;
    const char *key;
    void *value;
    bd_map_clear(to);
    while (bd_map_next(from, &pos, &key, &value))
        bd_map_put(to, key, value);
}

void train_begin_replica(braid_graph *g, int index)
{
    train_variable_store *s = train_store_of(g);
    train_replicas *r = s->replicas;
    if (index == 0) {
        r->made.len = 0;
        copy_counts(&r->opened, &s->opened);
    } else {
        copy_counts(&s->opened, &r->opened);
    }
    r->next = 0;
    r->replica = index;
}

void train_end_replica(braid_graph *g)
{
    train_replicas *r = train_store_of(g)->replicas;
    if (r->replica > 0 && !r->shares && r->next < r->made.len)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Replica %d has not made variable '%s', which replica 0 has: all replicas must make "
                         "the same variables in the same order",
                         r->replica, braid_op_name(r->made.items[r->next].ref.op));
    r->replica = -1;
}

void train_replicas_fini(train_replicas *r)
{
    bd_array_free(&r->made);
    bd_map_fini(&r->opened);
}

// Whether a variable was made outside of all replicas, and so has no mirrors.
static bool is_common(braid_graph *g, const char *name, int replica)
{
    const train_variable_store *s = train_store_of(g);
    const train_stored *there = bd_map_get(&s->variables, name);
    if (!there || train_mirror_of(g, there->variable.ref, replica).op != there->variable.ref.op) return false;
    for (size_t i = 0; i < s->replicas->made.len; i++)
        if (s->replicas->made.items[i].ref.op == there->variable.ref.op) return false;
    return true;
}

char *train_replica_name(braid_graph *g, const char *scope, const char *name, braid_reuse *reuse)
{
    const train_replicas *r = train_store_of(g)->replicas;
    if (!r || r->replica <= 0) return bd_asprintf("%s%s", scope, name);
    char *full = bd_asprintf("%s%s", scope, name);
    if (r->shares) *reuse = BRAID_REUSE;
    if (r->shares || is_common(g, full, r->replica)) return full;
    bd_free(full);
    return bd_asprintf("%s%s/replica_%d", scope, name, r->replica);
}

// ---- Making variables ----

static braid_variable make_centre(braid_graph *g, const char *scope, braid_out initial_value,
                                  const train_variable_spec *spec)
{
    train_replicas *r = train_store_of(g)->replicas;
    const braid_out first = r->first_value ? r->first_value(r->arg, initial_value) : initial_value;
    const braid_variable v = train_make_one(g, scope, first, spec);
    const bool is_found_by_name = r->shares && spec->place_class;
    if (v.ref.op && r->replica == 0 && !is_found_by_name) bd_array_push(&r->made, v);
    return v;
}

static bool is_local(braid_graph *g, braid_out ref)
{
    int count;
    const braid_out *locals = braid_collection(g, BRAID_LOCAL_VARIABLES, &count);
    for (int i = 0; i < count; i++)
        if (locals[i].op == ref.op) return true;
    return false;
}

// A local variable, so that each session gives it the centre's value, which a checkpoint may have restored.
static braid_variable make_mirror(braid_graph *g, const char *scope, const braid_variable *centre,
                                  train_variable_kind kind, int replica)
{
    const train_variable_spec spec = {.kind = kind, .collection = BRAID_LOCAL_VARIABLES};
    const braid_out first = is_local(g, centre->ref) ? centre->initial_value : centre->read;
    const braid_variable v = train_make_one(g, scope, first, &spec);
    const train_copy copy = {.copy = v.ref, .centre = centre->ref, .replica = replica};
    if (v.ref.op) bd_array_push(&train_store_of(g)->copies, copy);
    return v;
}

static bool is_alike(braid_out a, braid_out b)
{
    return train_base_dtype(braid_out_dtype(a)) == train_base_dtype(braid_out_dtype(b)) &&
           braid_shape_equal(braid_out_shape(a), braid_out_shape(b));
}

braid_variable train_make_in_replica(braid_graph *g, const char *scope, braid_out initial_value,
                                     const train_variable_spec *spec)
{
    train_replicas *r = train_store_of(g)->replicas;
    if (!initial_value.op || r->replica <= 0) return make_centre(g, scope, initial_value, spec);
    const braid_variable *centre = r->next < r->made.len ? &r->made.items[r->next] : NULL;
    if (!centre || !is_alike(centre->initial_value, initial_value)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Replica %d makes variable '%.*s', which replica 0 has not made with its type and "
                         "shape: all replicas must make the same variables in the same order",
                         r->replica, (int)strlen(scope) - 1, scope);
        return (braid_variable){0};
    }
    r->next++;
    return r->shares ? *centre : make_mirror(g, scope, centre, spec->kind, r->replica);
}

// ---- What is known of them ----

void train_set_policy(braid_graph *g, braid_out ref, train_policy policy)
{
    if (!ref.op) return;
    bd_free(
        bd_map_put(&train_store_of(g)->policies, braid_op_name(ref.op), bd_memdup(&policy, sizeof policy)));
}

train_policy train_policy_of(const braid_graph *g, braid_out ref)
{
    const train_policy *p =
        ref.op ? bd_map_get(&train_store_of((braid_graph *)g)->policies, braid_op_name(ref.op)) : NULL;
    return p ? *p : (train_policy){0};
}

braid_out train_mirror_of(const braid_graph *g, braid_out centre, int replica)
{
    int count;
    const train_copy *copies = train_copies((braid_graph *)g, &count);
    for (int i = 0; i < count; i++)
        if (copies[i].centre.op == centre.op && copies[i].replica == replica && replica > 0)
            return copies[i].copy;
    return centre;
}

braid_out train_mirrored(const braid_graph *g, braid_out ref)
{
    int count;
    const train_copy *copies = train_copies((braid_graph *)g, &count);
    for (int i = 0; i < count; i++)
        if (copies[i].copy.op == ref.op && copies[i].replica > 0) return copies[i].centre;
    return BRAID_NONE;
}
