// Resources of a device, in named containers.
//
// A resource is notified that it is abandoned, and loses the table's reference, only after the table's lock
// is released: both may run code of the resource.
#include "op/resource.h"

#include "base/array.h"
#include "base/map.h"
#include "base/thread.h"
#include <string.h>

typedef struct table {
    atomic_int refs; // of views
    bd_mutex mu;
    char *default_container;
    bd_map containers; // guarded by mu; -> bd_map of the first bd_resource of a name
    bd_map owners;     // guarded by mu; the names that resources and views point to, which are never removed
} table;

struct bd_resources {
    atomic_int refs;
    table *table;
    const char *owner; // NULL: may use everything
};

typedef BD_ARRAY(bd_resource *) resource_list;

static bd_resources *view_new(table *t, const char *owner)
{
    bd_resources *rs = bd_calloc(1, sizeof *rs);
    rs->table = t;
    rs->owner = owner;
    atomic_init(&rs->refs, 1);
    return rs;
}

bd_resources *bd_resources_new(const char *default_container)
{
    table *t = bd_calloc(1, sizeof *t);
    t->default_container = bd_strdup(default_container);
    atomic_init(&t->refs, 1);
    bd_mutex_init(&t->mu);
    bd_map_init(&t->containers);
    bd_map_init(&t->owners);
    return view_new(t, NULL);
}

bd_resources *bd_resources_view(bd_resources *rs, const char *owner)
{
    table *t = rs->table;
    const char *interned = NULL;
    if (owner && owner[0]) {
        bd_mutex_lock(&t->mu);
        interned = bd_map_get(&t->owners, owner);
        if (!interned) bd_map_put(&t->owners, owner, (void *)(interned = bd_strdup(owner)));
        bd_mutex_unlock(&t->mu);
    }
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return view_new(t, interned);
}

const char *bd_resources_container(const bd_resources *rs, const char *container)
{
    return container && container[0] ? container : rs->table->default_container;
}

// ---- Finding ----

static bool may_use(const bd_resources *rs, const bd_resource *r)
{
    return !rs->owner || rs->owner == r->owner;
}

static braid_code not_found(const bd_resources *rs, const char *container, const char *name, const char *kind,
                            braid_status *st)
{
    return bd_fail(st, BRAID_NOT_FOUND, "Resource %s/%s/%s does not exist.",
                   bd_resources_container(rs, container), name, kind);
}

static braid_code not_owned(const bd_resources *rs, const char *container, const char *name,
                            const bd_resource *r, braid_status *st)
{
    return bd_fail(st, BRAID_PERMISSION_DENIED,
                   "Resource %s/%s/%s belongs to %s, and the session to %s: use a container of your own, or "
                   "open the session with the role task",
                   bd_resources_container(rs, container), name, r->type->name,
                   r->owner ? r->owner : "the tasks of the cluster", rs->owner);
}

// The first resource of that name.
static bd_resource *first_locked(const bd_resources *rs, const char *container, const char *name)
{
    const bd_map *m = bd_map_get(&rs->table->containers, bd_resources_container(rs, container));
    return m ? bd_map_get(m, name) : NULL;
}

// Finds the next resource of the type from `r` on, or NULL.
static bd_resource *of_type(bd_resource *r, const bd_resource_type *type)
{
    while (r && r->type != type)
        r = r->next;
    return r;
}

braid_code bd_resources_lookup(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, bd_resource **out, braid_status *st)
{
    *out = NULL;
    bd_mutex_lock(&rs->table->mu);
    bd_resource *r = of_type(first_locked(rs, container, name), type);
    if (!r)
        not_found(rs, container, name, type->name, st);
    else if (!may_use(rs, r))
        not_owned(rs, container, name, r, st);
    else
        *out = bd_resource_ref(r);
    bd_mutex_unlock(&rs->table->mu);
    return *out ? BRAID_OK : st->code;
}

static bd_map *container_locked(bd_resources *rs, const char *container)
{
    const char *key = bd_resources_container(rs, container);
    bd_map *m = bd_map_get(&rs->table->containers, key);
    if (m) return m;
    m = bd_calloc(1, sizeof *m);
    bd_map_init(m);
    bd_map_put(&rs->table->containers, key, m);
    return m;
}

static braid_code create_locked(bd_resources *rs, const bd_resource_spec *spec, bd_resource **out,
                                braid_status *st)
{
    bd_resource *r = NULL;
    braid_code code = spec->create(spec->arg, &r, st);
    if (code) return code;
    r->owner = rs->owner;
    r->next = first_locked(rs, spec->container, spec->name);
    bd_map_put(container_locked(rs, spec->container), spec->name, r); // keeps the first reference
    *out = bd_resource_ref(r);
    return BRAID_OK;
}

braid_code bd_resources_lookup_or_create(bd_resources *rs, const bd_resource_spec *spec, bd_resource **out,
                                         braid_status *st)
{
    *out = NULL;
    braid_code code = BRAID_OK;
    bd_mutex_lock(&rs->table->mu);
    bd_resource *r = of_type(first_locked(rs, spec->container, spec->name), spec->type);
    if (!r)
        code = create_locked(rs, spec, out, st);
    else if (!may_use(rs, r))
        code = not_owned(rs, spec->container, spec->name, r, st);
    else
        *out = bd_resource_ref(r);
    bd_mutex_unlock(&rs->table->mu);
    return code;
}

void bd_resources_each(bd_resources *rs, const bd_resource_type *type,
                       void (*fn)(void *arg, const char *container, const char *name, bd_resource *r),
                       void *arg)
{
    size_t at = 0;
    const char *container;
    void *names;
    bd_mutex_lock(&rs->table->mu);
    while (bd_map_next(&rs->table->containers, &at, &container, &names)) {
        size_t pos = 0;
        const char *name;
        void *first;
        while (bd_map_next(names, &pos, &name, &first)) {
            bd_resource *r = of_type(first, type);
            if (r && may_use(rs, r)) fn(arg, container, name, r);
        }
    }
    bd_mutex_unlock(&rs->table->mu);
}

// ---- Removing ----

static void drop(bd_resource *r)
{
    if (r->type->abandon) r->type->abandon(r);
    bd_resource_unref(r);
}

static void take_out_locked(bd_resources *rs, const char *container, const char *name, bd_resource *r)
{
    bd_map *m = bd_map_get(&rs->table->containers, bd_resources_container(rs, container));
    bd_resource *first = bd_map_get(m, name);
    if (first != r) {
        while (first->next != r)
            first = first->next;
        first->next = r->next;
    } else if (r->next) {
        bd_map_put(m, name, r->next);
    } else {
        bd_map_remove(m, name);
    }
}

braid_code bd_resources_delete_kind(bd_resources *rs, const char *container, const char *name,
                                    const char *kind, braid_status *st)
{
    braid_code code = BRAID_OK;
    bd_mutex_lock(&rs->table->mu);
    bd_resource *r = first_locked(rs, container, name);
    while (r && strcmp(r->type->name, kind) != 0)
        r = r->next;
    if (!r)
        code = not_found(rs, container, name, kind, st);
    else if (!may_use(rs, r))
        code = not_owned(rs, container, name, r, st);
    else
        take_out_locked(rs, container, name, r);
    bd_mutex_unlock(&rs->table->mu);
    if (!code) drop(r);
    return code;
}

braid_code bd_resources_delete(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, braid_status *st)
{
    return bd_resources_delete_kind(rs, container, name, type->name, st);
}

// Takes what the view may use out of a container, and the container out of the table when it is empty then.
static void empty_locked(bd_resources *rs, const char *container, resource_list *taken)
{
    bd_map *m = bd_map_remove(&rs->table->containers, container);
    if (!m) return;
    bd_map kept;
    size_t pos = 0;
    const char *name;
    void *value;
    bd_map_init(&kept);
    while (bd_map_next(m, &pos, &name, &value)) {
        for (bd_resource *r = value, *next; r; r = next) {
            next = r->next;
            if (may_use(rs, r)) {
                bd_array_push(taken, r);
            } else {
                r->next = bd_map_get(&kept, name);
                bd_map_put(&kept, name, r);
            }
        }
    }
    bd_map_fini(m);
    if (bd_map_count(&kept)) {
        *m = kept;
        bd_map_put(&rs->table->containers, container, m);
    } else {
        bd_map_fini(&kept);
        bd_free(m);
    }
}

static void empty_all_locked(bd_resources *rs, resource_list *taken)
{
    BD_ARRAY(char *) names = {0};
    size_t pos = 0;
    const char *name;
    while (bd_map_next(&rs->table->containers, &pos, &name, NULL))
        bd_array_push(&names, bd_strdup(name));
    for (size_t i = 0; i < names.len; i++) {
        empty_locked(rs, names.items[i], taken);
        bd_free(names.items[i]);
    }
    bd_array_free(&names);
}

void bd_resources_clear(bd_resources *rs, const char *container)
{
    resource_list taken = {0};
    bd_mutex_lock(&rs->table->mu);
    if (container)
        empty_locked(rs, bd_resources_container(rs, container), &taken);
    else
        empty_all_locked(rs, &taken);
    bd_mutex_unlock(&rs->table->mu);
    for (size_t i = 0; i < taken.len; i++)
        drop(taken.items[i]);
    bd_array_free(&taken);
}

// ---- The end ----

bd_resources *bd_resources_ref(bd_resources *rs)
{
    if (rs) atomic_fetch_add_explicit(&rs->refs, 1, memory_order_relaxed);
    return rs;
}

void bd_resources_free(bd_resources *rs)
{
    if (!rs) return;
    bd_resources_clear(rs, NULL);
    bd_resources_unref(rs);
}

// Without containers.
static void table_free(table *t)
{
    bd_map_fini(&t->containers);
    size_t pos = 0;
    void *owner;
    while (bd_map_next(&t->owners, &pos, NULL, &owner))
        bd_free(owner);
    bd_map_fini(&t->owners);
    bd_free(t->default_container);
    bd_mutex_fini(&t->mu);
    bd_free(t);
}

void bd_resources_unref(bd_resources *rs)
{
    if (!rs || atomic_fetch_sub_explicit(&rs->refs, 1, memory_order_acq_rel) != 1) return;
    if (atomic_fetch_sub_explicit(&rs->table->refs, 1, memory_order_acq_rel) == 1) {
        rs->owner = NULL;
        bd_resources_clear(rs, NULL); // of what was added after bd_resources_free
        table_free(rs->table);
    }
    bd_free(rs);
}
