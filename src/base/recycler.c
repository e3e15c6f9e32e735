// Lists of free objects. AddressSanitizer sees every object come and go: there, nothing is recycled.
#include "base/recycler.h"

#include "base/alloc.h"
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define KEEPS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS 0
#endif
#endif
#ifndef KEEPS
#define KEEPS BD_RECYCLER_KEEPS
#endif

static size_t size_of(const bd_recycler *r)
{
    return r->size > sizeof(void *) ? r->size : sizeof(void *);
}

void *bd_recycler_take(bd_recycler *r)
{
    bd_mutex_lock(&r->mu);
    void **object = r->first;
    if (object) {
        r->first = *object;
        r->count--;
    }
    bd_mutex_unlock(&r->mu);
    return object ? memset(object, 0, r->size) : bd_calloc(1, size_of(r));
}

void bd_recycler_give(bd_recycler *r, void *object)
{
    if (!object) return;
    bd_mutex_lock(&r->mu);
    const bool is_kept = r->count < KEEPS;
    if (is_kept) {
        *(void **)object = r->first;
        r->first = object;
        r->count++;
    }
    bd_mutex_unlock(&r->mu);
    if (!is_kept) bd_free(object);
}
