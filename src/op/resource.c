// Resources of a device, in named containers.
//
// A resource is notified that it is abandoned, and loses the table's reference, only after the table's lock
// is released: both may run code of the resource.
#include "op/resource.h"

#include "base/array.h"
#include "base/map.h"
#include "base/thread.h"
#include <string.h>

struct bd_resources {
    atomic_int refs;
    bd_mutex mu;
    char *default_container;
    bd_map containers; // guarded by mu; -> bd_map of the first bd_resource of a name
};

typedef BD_ARRAY(bd_resource *) resource_list;

bd_resources *bd_resources_new(const char *default_container)
{
    bd_resources *rs = bd_calloc(1, sizeof *rs);
    rs->default_container = bd_strdup(default_container);
    atomic_init(&rs->refs, 1);
    bd_mutex_init(&rs->mu);
    bd_map_init(&rs->containers);
    return rs;
}

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

void bd_resources_unref(bd_resources *rs)
{
    if (!rs || atomic_fetch_sub_explicit(&rs->refs, 1, memory_order_acq_rel) != 1) return;
    bd_resources_clear(rs, NULL); // resources that were added after bd_resources_free
    bd_map_fini(&rs->containers);
    bd_free(rs->default_container);
    bd_mutex_fini(&rs->mu);
    bd_free(rs);
}

const char *bd_resources_container(const bd_resources *rs, const char *container)
{
    return container && container[0] ? container : rs->default_container;
}

// The first resource of that name.
static bd_resource *first_locked(bd_resources *rs, const char *container, const char *name)
{
    const bd_map *m = bd_map_get(&rs->containers, bd_resources_container(rs, container));
    return m ? bd_map_get(m, name) : NULL;
}

// Finds the next resource of the type from `r` on, or NULL.
static bd_resource *of_type(bd_resource *r, const bd_resource_type *type)
{
    while (r && r->type != type)
        r = r->next;
    return r;
}

static braid_code not_found(const bd_resources *rs, const char *container, const char *name, const char *kind,
                            braid_status *st)
{
    return bd_fail(st, BRAID_NOT_FOUND, "Resource %s/%s/%s does not exist.",
                   bd_resources_container(rs, container), name, kind);
}

braid_code bd_resources_lookup(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, bd_resource **out, braid_status *st)
{
    bd_mutex_lock(&rs->mu);
    bd_resource *r = of_type(first_locked(rs, container, name), type);
    *out = r ? bd_resource_ref(r) : NULL;
    bd_mutex_unlock(&rs->mu);
    return r ? BRAID_OK : not_found(rs, container, name, type->name, st);
}

static bd_map *container_locked(bd_resources *rs, const char *container)
{
    const char *key = bd_resources_container(rs, container);
    bd_map *m = bd_map_get(&rs->containers, key);
    if (m) return m;
    m = bd_calloc(1, sizeof *m);
    bd_map_init(m);
    bd_map_put(&rs->containers, key, m);
    return m;
}

static braid_code create_locked(bd_resources *rs, const bd_resource_spec *spec, bd_resource **out,
                                braid_status *st)
{
    bd_resource *r = NULL;
    braid_code code = spec->create(spec->arg, &r, st);
    if (code) return code;
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
    bd_mutex_lock(&rs->mu);
    bd_resource *r = of_type(first_locked(rs, spec->container, spec->name), spec->type);
    if (r)
        *out = bd_resource_ref(r);
    else
        code = create_locked(rs, spec, out, st);
    bd_mutex_unlock(&rs->mu);
    return code;
}

void bd_resources_each(bd_resources *rs, const bd_resource_type *type,
                       void (*fn)(void *arg, const char *container, const char *name, bd_resource *r),
                       void *arg)
{
    size_t at = 0;
    const char *container;
    void *names;
    bd_mutex_lock(&rs->mu);
    while (bd_map_next(&rs->containers, &at, &container, &names)) {
        size_t pos = 0;
        const char *name;
        void *first;
        while (bd_map_next(names, &pos, &name, &first)) {
            bd_resource *r = of_type(first, type);
            if (r) fn(arg, container, name, r);
        }
    }
    bd_mutex_unlock(&rs->mu);
}

static void drop(bd_resource *r)
{
    if (r->type->abandon) r->type->abandon(r);
    bd_resource_unref(r);
}

static void take_out_locked(bd_resources *rs, const char *container, const char *name, bd_resource *r)
{
    bd_map *m = bd_map_get(&rs->containers, bd_resources_container(rs, container));
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
    bd_mutex_lock(&rs->mu);
    bd_resource *r = first_locked(rs, container, name);
    while (r && strcmp(r->type->name, kind) != 0)
        r = r->next;
    if (r) take_out_locked(rs, container, name, r);
    bd_mutex_unlock(&rs->mu);
    if (!r) return not_found(rs, container, name, kind, st);
    drop(r);
    return BRAID_OK;
}

braid_code bd_resources_delete(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, braid_status *st)
{
    return bd_resources_delete_kind(rs, container, name, type->name, st);
}

static void take_all_locked(bd_map *m, resource_list *taken)
{
    size_t pos = 0;
    void *value;
    while (bd_map_next(m, &pos, NULL, &value))
        for (bd_resource *r = value; r; r = r->next)
            bd_array_push(taken, r);
    bd_map_fini(m);
    bd_free(m);
}

void bd_resources_clear(bd_resources *rs, const char *container)
{
    resource_list taken = {0};
    bd_mutex_lock(&rs->mu);
    if (container) {
        bd_map *m = bd_map_remove(&rs->containers, bd_resources_container(rs, container));
        if (m) take_all_locked(m, &taken);
    } else {
        size_t pos = 0;
        void *m;
        while (bd_map_next(&rs->containers, &pos, NULL, &m))
            take_all_locked(m, &taken);
        bd_map_clear(&rs->containers);
    }
    bd_mutex_unlock(&rs->mu);
    for (size_t i = 0; i < taken.len; i++)
        drop(taken.items[i]);
    bd_array_free(&taken);
}
