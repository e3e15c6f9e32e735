// Resources that outlive a step: variables, queues, accumulators, in named containers of a device.
//
// A resource belongs to the client whose step has made it. The steps of a client see the table through a view
// of it (bd_resources_view) that refuses what belongs to others.
#ifndef BD_OP_RESOURCE_H
#define BD_OP_RESOURCE_H

#include "base/status.h"
#include <stdatomic.h>
#include <stddef.h>

typedef struct bd_resource bd_resource;

// A kind of resource. Each kind has names of its own: a queue and a variable may both be called "x".
typedef struct bd_resource_type {
    const char *name; // "Variable": in handles and messages
    void (*destroy)(bd_resource *r);
    // The container of the resource is cleared: executions that wait on it must end with Cancelled. May be
    // NULL.
    void (*abandon)(bd_resource *r);
} bd_resource_type;

// First member of every resource.
struct bd_resource {
    const bd_resource_type *type;
    atomic_int refs;
    bd_resource *next; // of the same name and another kind; the table's
    const char
        *owner; // of whose view it was made; NULL: no one's, only views without owner see it. The table's
};

static inline void bd_resource_init(bd_resource *r, const bd_resource_type *type)
{
    r->type = type;
    r->next = NULL;
    r->owner = NULL;
    atomic_init(&r->refs, 1);
}
static inline bd_resource *bd_resource_ref(bd_resource *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}
static inline void bd_resource_unref(bd_resource *r)
{
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1) r->type->destroy(r);
}

// What the names of the containers of steps begin with.
#define BD_STEP_CONTAINER_PREFIX "__per_step_"

// The resources of a device, by container, kind and name. Any thread.
typedef struct bd_resources bd_resources;

// Makes a table. Its default container, which "" and NULL name in handles and lookups, is called
// `default_container` (copied): the job of the device, as in TensorFlow.
bd_resources *bd_resources_new(const char *default_container);
void bd_resources_free(
    bd_resources *rs); // drops one reference to each resource, and the owner's to the table
// For holders that may outlive the owner of the table: a call that the end of the session does not wait for.
// NULL stays NULL.
bd_resources *bd_resources_ref(bd_resources *rs);
void bd_resources_unref(bd_resources *rs);

// Makes another way to the same table, for the steps of the client `owner` ("certificate 'alice'"). What is made
// through it belongs to the owner, and what belongs to others or to no one is PermissionDenied, or left as it
// is where all are meant. An owner of NULL or "" is refused nothing, as bd_resources_new's. To be given back
// by bd_resources_unref; the resources stay.
bd_resources *bd_resources_view(bd_resources *rs, const char *owner);

// Returns `container`, or the default container's name for "" and NULL.
const char *bd_resources_container(const bd_resources *rs, const char *container);

// Finds it; the caller gets a reference. NotFound, PermissionDenied.
braid_code bd_resources_lookup(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, bd_resource **out, braid_status *st);
// A resource to be found or made.
typedef struct bd_resource_spec {
    const char *container, *name; // borrowed
    const bd_resource_type *type;
    // Makes the resource. It is called under the lock of the table and must not look up.
    braid_code (*create)(void *arg, bd_resource **out, braid_status *st);
    void *arg;
} bd_resource_spec;

// Finds the resource or makes it; the caller gets a reference. PermissionDenied, and the error of `create`.
braid_code bd_resources_lookup_or_create(bd_resources *rs, const bd_resource_spec *spec, bd_resource **out,
                                         braid_status *st);
// Calls fn for each resource of the type, in all containers, under the lock of the table: fn must not look
// anything up. `container` and `name` are borrowed for the call.
void bd_resources_each(bd_resources *rs, const bd_resource_type *type,
                       void (*fn)(void *arg, const char *container, const char *name, bd_resource *r),
                       void *arg);
// Removes it from its container. NotFound, PermissionDenied.
braid_code bd_resources_delete(bd_resources *rs, const char *container, const char *name,
                               const bd_resource_type *type, braid_status *st);
// The same by the name of its kind, which is unique and part of handles.
braid_code bd_resources_delete_kind(bd_resources *rs, const char *container, const char *name,
                                    const char *kind, braid_status *st);
// Empties a container ("": the default one; NULL: all of them) of what the view may use: Reset, and the end
// of a step's container.
void bd_resources_clear(bd_resources *rs, const char *container);

#endif
