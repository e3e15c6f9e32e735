// Anonymous resources: they have a generated name and are reached by their handle alone.
#include "ops/common/anonymous.h"

#include "base/alloc.h"
#include "ops/common/handle.h"
#include "ops/common/variant.h"
#include <string.h>

typedef struct deleter {
    bd_variant base;
    bd_resource *resource; // a reference
} deleter;

static void destroy_deleter(bd_variant *v)
{
    deleter *d = BD_CONTAINER_OF(v, deleter, base);
    if (d->resource->type->abandon) d->resource->type->abandon(d->resource);
    bd_resource_unref(d->resource);
    bd_free(d);
}

static const bd_variant_type deleter_type = {.name = "tensorflow::ResourceDeleter",
                                             .destroy = destroy_deleter};

bool bd_output_anonymous(bd_op_ctx *c, const char *name, const bd_resource_type *type,
                         braid_code (*create)(void *arg, bd_resource **out, braid_status *st), void *arg)
{
    static _Atomic uint64_t last;
    BD_STATUS(st);
    bd_resource *r;
    char *full = bd_asprintf("_%s%llu", name, (unsigned long long)atomic_fetch_add(&last, 1));
    if (bd_resources_lookup_or_create(c->step->resources, &(bd_resource_spec){"", full, type, create, arg},
                                      &r, st)) {
        bd_op_fail_status(c, st);
    } else if (bd_output_handle(c, "", full, type) && c->output_count > 1) {
        deleter *d = bd_calloc(1, sizeof *d);
        bd_variant_init(&d->base, &deleter_type);
        d->resource = bd_resource_ref(r);
        bd_output_variant(c, 1, &d->base);
    }
    bd_resource_unref(r);
    bd_free(full);
    return !bd_op_failed(c);
}

#define DUMMY_NAME "dummy_resource"

bool bd_output_dummy(bd_op_ctx *c, const bd_resource_type *type)
{
    return bd_output_handle(c, "", DUMMY_NAME, type);
}

bool bd_input_is_dummy(bd_op_ctx *c, int i)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype != BRAID_RESOURCE || bd_tensor_count(t) != 1) return false;
    const bd_resource_handle *h = bd_tensor_handle(t);
    return h->name && strcmp(h->name, DUMMY_NAME) == 0;
}

void bd_delete_anonymous(bd_op_ctx *c, const bd_resource_type *type)
{
    BD_STATUS(st);
    const braid_tensor *t = bd_input(c, 0);
    if (bd_tensor_count(t) != 1 || !bd_tensor_handle(t)->name) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s': input 0 is no handle of a %s", c->node->op_type,
                   c->node->name, type->name);
        return;
    }
    const bd_resource_handle *h = bd_tensor_handle(t);
    if (!bd_handle_check_kind(c, h, type)) return;
    braid_code code = bd_resources_delete(c->step->resources, h->container, h->name, type, st);
    if (code && code != BRAID_NOT_FOUND) bd_op_fail_status(c, st);
}
