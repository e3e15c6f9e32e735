// Variable scopes, and the store of a graph's variables.
#include "train/variables/variable_store.h"

#include "base/strbuf.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- The store ----

static void free_slice(train_slice *slice)
{
    bd_free(slice->full_name);
    bd_free(slice->scope);
    bd_free(slice->whole);
    bd_free(slice->slot);
    bd_free(slice);
}

static void release(void *arg)
{
    train_variable_store *s = arg;
    size_t pos = 0;
    void *value;
    for (size_t i = 0; i < s->scopes.len; i++)
        bd_free(s->scopes.items[i].name);
    bd_array_free(&s->scopes);
    bd_array_free(&s->copies);
    while (bd_map_next(&s->variables, &pos, NULL, &value)) {
        bd_free((void *)((train_stored *)value)->variable.parts);
        bd_free(value);
    }
    pos = 0;
    while (bd_map_next(&s->slices, &pos, NULL, &value))
        free_slice(value);
    pos = 0;
    while (bd_map_next(&s->names, &pos, NULL, &value))
        bd_free(value);
    pos = 0;
    while (bd_map_next(&s->initializers, &pos, NULL, &value))
        bd_free(value);
    pos = 0;
    while (bd_map_next(&s->constraints, &pos, NULL, &value))
        bd_free(value);
    pos = 0;
    while (bd_map_next(&s->policies, &pos, NULL, &value))
        bd_free(value);
    bd_map_fini(&s->policies);
    bd_map_fini(&s->opened);
    bd_map_fini(&s->names);
    bd_map_fini(&s->variables);
    bd_map_fini(&s->slices);
    bd_map_fini(&s->initializers);
    bd_map_fini(&s->constraints);
    bd_free(s);
}

train_variable_store *train_store_of(braid_graph *g)
{
    train_variable_store *s = braid_graph_owned(g, release);
    if (s) return s;
    s = bd_calloc(1, sizeof *s);
    bd_array_push(&s->scopes, (train_variable_scope){.name = bd_strdup("")});
    braid_graph_own(g, s, release);
    return s;
}

const train_variable_scope *train_current_scope(braid_graph *g)
{
    const train_variable_store *s = train_store_of(g);
    return &s->scopes.items[s->scopes.len - 1];
}

const train_slice *train_slice_of(const braid_graph *g, braid_out ref)
{
    const train_variable_store *s = braid_graph_owned(g, release);
    return s && ref.op ? bd_map_get(&s->slices, braid_op_name(ref.op)) : NULL;
}

train_slice *train_set_slice(braid_graph *g, braid_out ref, const char *full_name,
                             const braid_partition_info *info, braid_shape shape)
{
    if (!ref.op) return NULL;
    train_slice *slice = bd_calloc(1, sizeof *slice);
    *slice = (train_slice){.full_name = bd_strdup(full_name), .full_shape = info->full_shape, .shape = shape};
    memcpy(slice->offset, info->offset, sizeof slice->offset);
    bd_map_put(&train_store_of(g)->slices, braid_op_name(ref.op), slice);
    return slice;
}

char *train_slice_text(const train_slice *slice)
{
    if (!slice) return bd_strdup("");
    bd_strbuf text = {0};
    for (int i = 0; i < slice->full_shape.rank; i++)
        bd_strbuf_appendf(&text, "%" PRId64 " ", slice->full_shape.dims[i]);
    for (int i = 0; i < slice->shape.rank; i++)
        bd_strbuf_appendf(&text, "%s%" PRId64 ",%" PRId64, i ? ":" : "", slice->offset[i],
                          slice->shape.dims[i]);
    char *out = bd_strdup(bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
    return out;
}

const train_initializer *train_initializer_of(const braid_graph *g, braid_out ref)
{
    const train_variable_store *s = braid_graph_owned(g, release);
    return s && ref.op ? bd_map_get(&s->initializers, braid_op_name(ref.op)) : NULL;
}

void train_set_initializer(braid_graph *g, braid_out ref, braid_op *op, braid_out value)
{
    if (!op) return;
    train_variable_store *s = train_store_of(g);
    const char *name = braid_op_name(ref.op);
    train_initializer *initializer = bd_calloc(1, sizeof *initializer);
    *initializer = (train_initializer){op, value};
    bd_free(bd_map_put(&s->initializers, name, initializer));
    train_stored *stored = bd_map_get(&s->variables, name);
    if (!stored || stored->variable.ref.op != ref.op) return;
    stored->variable.initializer = op;
    stored->variable.initial_value = value;
}

const braid_constraint *train_constraint_of(const braid_graph *g, braid_out ref)
{
    const train_variable_store *s = braid_graph_owned(g, release);
    return s && ref.op ? bd_map_get(&s->constraints, braid_op_name(ref.op)) : NULL;
}

void braid_constrain_variable(braid_graph *g, braid_out ref, const braid_constraint *constraint)
{
    if (!ref.op) return;
    bd_map *constraints = &train_store_of(g)->constraints;
    const char *name = braid_op_name(ref.op);
    bd_free(constraint && constraint->build
                ? bd_map_put(constraints, name, bd_memdup(constraint, sizeof *constraint))
                : bd_map_remove(constraints, name));
}

void train_make_copies(braid_graph *g, braid_op *at)
{
    train_store_of(g)->copies_at = at;
}

void train_make_locals(braid_graph *g, bool makes_local)
{
    train_store_of(g)->makes_local = makes_local;
}

const train_copy *train_copies(braid_graph *g, int *count)
{
    const train_variable_store *s = train_store_of(g);
    *count = (int)s->copies.len;
    return s->copies.items;
}

braid_out train_centre_of(const braid_graph *g, braid_out ref)
{
    const train_variable_store *s = braid_graph_owned(g, release);
    for (size_t i = 0; s && i < s->copies.len; i++)
        if (s->copies.items[i].copy.op == ref.op) return s->copies.items[i].centre;
    return ref;
}

// ---- How often scopes were opened, for names that are only wishes ----

static uintptr_t times_opened(const train_variable_store *s, const char *name)
{
    return (uintptr_t)bd_map_get(&s->opened, name);
}

static void count_opening(train_variable_store *s, const char *name)
{
    bd_map_put(&s->opened, name, (void *)(times_opened(s, name) + 1)); // NOLINT: a count
}

// Scopes within the one that is left (NAME with its '/') are counted anew when it is entered again, so that
// they get the same names.
static void forget_openings_within(train_variable_store *s, const char *name)
{
    size_t pos = 0, len = strlen(name);
    const char *key;
    while (bd_map_next(&s->opened, &pos, &key, NULL))
        if (strncmp(key, name, len) == 0) bd_map_put(&s->opened, key, NULL);
}

static char *unique_name(const train_variable_store *s, const char *outside, const char *wish)
{
    char *name = bd_asprintf("%s%s", outside, wish);
    for (int i = 1; times_opened(s, name); i++) {
        bd_free(name);
        name = bd_asprintf("%s%s_%d", outside, wish, i);
    }
    return name;
}

// ---- Entering and leaving ----

static braid_variable_scope_options inherit(const braid_variable_scope_options *from,
                                            const braid_variable_scope_options *o)
{
    braid_variable_scope_options r = *o;
    if (!r.reuse) r.reuse = from->reuse;
    if (!r.kind) r.kind = from->kind;
    if (!r.dtype) r.dtype = from->dtype;
    if (!r.initializer.build) r.initializer = from->initializer;
    if (!r.regularizer.build) r.regularizer = from->regularizer;
    if (!r.constraint.build) r.constraint = from->constraint;
    if (!r.partitioner.shards) r.partitioner = from->partitioner;
    return r;
}

// The full name of the scope to enter, without its '/'.
static char *full_name(const train_variable_store *s, const char *name, bool unique)
{
    const char *outside = s->scopes.items[s->scopes.len - 1].name;
    size_t len = strlen(name);
    if (name[len - 1] == '/') return bd_strndup(name, len - 1);
    return unique ? unique_name(s, outside, name) : bd_asprintf("%s%s", outside, name);
}

// A name scope of the wished name; of a scope that is entered again, its last part.
static void push_name_scope_of(braid_graph *g, const char *name)
{
    char *last = bd_strdup(name);
    size_t len = strlen(last);
    if (last[len - 1] == '/') last[len - 1] = '\0';
    const char *slash = last[len - 1] ? NULL : strrchr(last, '/');
    (void)braid_push_name_scope(g, slash ? slash + 1 : last);
    bd_free(last);
}

static const char *keep_name(train_variable_store *s, const char *name)
{
    char *kept = bd_map_get(&s->names, name);
    if (kept) return kept;
    kept = bd_strdup(name);
    bd_map_put(&s->names, name, kept);
    return kept;
}

const char *braid_push_variable_scope(braid_graph *g, const char *name,
                                      const braid_variable_scope_options *options)
{
    static const braid_variable_scope_options none;
    const braid_variable_scope_options *o = options ? options : &none;
    if (braid_graph_status(g, NULL)) return NULL;
    if (!name || !*name || strcmp(name, "/") == 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A variable scope needs a name");
        return NULL;
    }
    if (o->unique && o->reuse == BRAID_REUSE) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Variable scope '%s': reuse needs a name that is no mere wish", name);
        return NULL;
    }
    train_variable_store *s = train_store_of(g);
    const braid_variable_scope_options defaults = inherit(&train_current_scope(g)->defaults, o);
    char *full = full_name(s, name, o->unique);
    count_opening(s, full);
    bd_array_push(&s->scopes, (train_variable_scope){bd_asprintf("%s/", full), defaults});
    bd_free(full);
    push_name_scope_of(g, name);
    return keep_name(s, train_current_scope(g)->name);
}

void braid_pop_variable_scope(braid_graph *g)
{
    if (braid_graph_status(g, NULL)) return;
    train_variable_store *s = train_store_of(g);
    if (s->scopes.len == 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A variable scope is left that was not entered");
        return;
    }
    char *name = s->scopes.items[--s->scopes.len].name;
    forget_openings_within(s, name);
    bd_free(name);
    braid_pop_name_scope(g);
}
