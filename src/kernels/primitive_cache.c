// A cache of prepared objects: a short list, the one used last at its head.
#include "kernels/primitive_cache.h"

#include <string.h>

// Shapes change with the size of the batch: training, the rest of an epoch, evaluation. Each may be in use by
// two steps.
#define IDLE_MAX 8

void bd_primitive_cache_init(bd_primitive_cache *c)
{
    bd_mutex_init(&c->mu);
    c->idle = NULL;
}

void bd_primitive_cache_fini(bd_primitive_cache *c)
{
    for (bd_primitive *p; (p = c->idle);) {
        c->idle = p->next;
        p->free(p);
    }
    bd_mutex_fini(&c->mu);
}

bd_primitive *bd_primitive_take(bd_primitive_cache *c, const void *shape, size_t shape_size)
{
    bd_mutex_lock(&c->mu);
    bd_primitive **link = &c->idle;
    while (*link && ((*link)->shape_size != shape_size || memcmp((*link)->shape, shape, shape_size) != 0))
        link = &(*link)->next;
    bd_primitive *p = *link;
    if (p) *link = p->next;
    bd_mutex_unlock(&c->mu);
    return p;
}

void bd_primitive_give(bd_primitive_cache *c, bd_primitive *p)
{
    bd_mutex_lock(&c->mu);
    p->next = c->idle;
    c->idle = p;
    bd_primitive **link = &c->idle;
    for (int i = 0; i < IDLE_MAX && *link; i++)
        link = &(*link)->next;
    bd_primitive *last = *link;
    *link = NULL;
    bd_mutex_unlock(&c->mu);
    if (last) last->free(last); // there is at most one too many
}
