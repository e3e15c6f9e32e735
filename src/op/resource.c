// Resources of a device, in named containers.
//
// A resource is told that it is abandoned, and loses the table's reference, only after the table's lock is released: both may
// run code of the resource.
#include "op/resource.h"

#include "base/array.h"
#include "base/map.h"
#include "base/thread.h"
#include <string.h>

struct bd_resources {
    atomic_int refs;
    bd_mutex mu;
    bd_map containers; // guarded by mu; -> bd_map of bd_resource
};

typedef BD_ARRAY(bd_resource *) resource_list;

bd_resources *bd_resources_new(void)
{
    bd_resources *rs = bd_calloc(1, sizeof *rs);
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
    bd_resources_clear(rs, NULL); // what came after bd_resources_free
    bd_map_fini(&rs->containers);
    bd_mutex_fini(&rs->mu);
    bd_free(rs);
}

static const char *container_or_default(const char *container)
{
    return container && container[0] ? container : BD_DEFAULT_CONTAINER;
}

static bd_resource *find_locked(bd_resources *rs, const char *container, const char *name)
{
    const bd_map *m = bd_map_get(&rs->containers, container_or_default(container));
    return m ? bd_map_get(m, name) : NULL;
}

static braid_code check_type(const bd_resource *r, const char *container, const char *name,
                             const bd_resource_type *type, braid_status *st)
{
    if (r->type == type) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Resource %s/%s is a %s, not a %s",
                   container_or_default(container), name, r->type->name, type->name);
}

static braid_code not_found(const char *container, const char *name, const char *kind, braid_status *st)
{
    return bd_fail(st, BRAID_NOT_FOUND, "Resource %s/%s/%s does not exist.", container_or_default(container),
                   name, kind);
}

braid_code bd_resources_lookup(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, bd_resource **out, braid_status *st)
{
    *out = NULL;
    bd_mutex_lock(&rs->mu);
    bd_resource *r = find_locked(rs, container, name);
    if (r) bd_resource_ref(r);
    bd_mutex_unlock(&rs->mu);
    if (!r) return not_found(container, name, type->name, st);
    braid_code code = check_type(r, container, name, type, st);
    if (code) {
        bd_resource_unref(r);
        return code;
    }
    *out = r;
    return BRAID_OK;
}

static bd_map *container_locked(bd_resources *rs, const char *container)
{
    const char *key = container_or_default(container);
    bd_map *m = bd_map_get(&rs->containers, key);
    if (m) return m;
    m = bd_calloc(1, sizeof *m);
    bd_map_init(m);
    bd_map_put(&rs->containers, key, m);
    return m;
}

static braid_code create_locked(bd_resources *rs, const char *container, const char *name,
                                braid_code (*create)(void *arg, bd_resource **out, braid_status *st),
                                void *arg, bd_resource **out, braid_status *st)
{
    bd_resource *r = NULL;
    braid_code code = create(arg, &r, st);
    if (code) return code;
    bd_map_put(container_locked(rs, container), name, r); // keeps the first reference
    *out = bd_resource_ref(r);
    return BRAID_OK;
}

braid_code bd_resources_lookup_or_create(bd_resources *rs, const char *container, const char *name,
                                         const bd_resource_type *type,
                                         braid_code (*create)(void *arg, bd_resource **out, braid_status *st),
                                         void *arg, bd_resource **out, braid_status *st)
{
    *out = NULL;
    braid_code code = BRAID_OK;
    bd_mutex_lock(&rs->mu);
    bd_resource *r = find_locked(rs, container, name);
    if (!r) {
        code = create_locked(rs, container, name, create, arg, out, st);
    } else {
        code = check_type(r, container, name, type, st);
        if (!code) *out = bd_resource_ref(r);
    }
    bd_mutex_unlock(&rs->mu);
    return code;
}

static void drop(bd_resource *r)
{
    if (r->type->abandon) r->type->abandon(r);
    bd_resource_unref(r);
}

// `type` NULL: of any kind.
static braid_code take_out(bd_resources *rs, const char *container, const char *name,
                           const bd_resource_type *type, const char *kind, braid_status *st)
{
    bd_mutex_lock(&rs->mu);
    bd_resource *r = find_locked(rs, container, name);
    braid_code code = BRAID_OK;
    if (!r)
        code = not_found(container, name, kind, st);
    else if (type)
        code = check_type(r, container, name, type, st);
    if (!code) bd_map_remove(bd_map_get(&rs->containers, container_or_default(container)), name);
    bd_mutex_unlock(&rs->mu);
    if (!code) drop(r);
    return code;
}

braid_code bd_resources_delete(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, braid_status *st)
{
    return take_out(rs, container, name, type, type->name, st);
}

braid_code bd_resources_delete_any(bd_resources *rs, const char *container, const char *name,
                                   const char *kind, braid_status *st)
{
    return take_out(rs, container, name, NULL, kind, st);
}

static void take_all_locked(bd_map *m, resource_list *taken)
{
    size_t pos = 0;
    void *value;
    while (bd_map_next(m, &pos, NULL, &value))
        bd_array_push(taken, value);
    bd_map_fini(m);
    bd_free(m);
}

void bd_resources_clear(bd_resources *rs, const char *container)
{
    resource_list taken = {0};
    bd_mutex_lock(&rs->mu);
    if (container) {
        bd_map *m = bd_map_remove(&rs->containers, container_or_default(container));
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
