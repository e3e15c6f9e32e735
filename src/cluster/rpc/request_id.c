// Numbers of requests.
#include "cluster/rpc/request_id.h"
#include "base/random.h"

static void random_start(void *next)
{
    atomic_store_explicit((_Atomic uint64_t *)next, bd_random_u64() >> 2, memory_order_relaxed);
}

int64_t bd_request_id_next(void)
{
    static _Atomic uint64_t next;
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, random_start, &next);
    const uint64_t id = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    return id ? (int64_t)(id & INT64_MAX) : 1;
}

void bd_request_ids_init(bd_request_ids *ids)
{
    *ids = (bd_request_ids){0};
    bd_mutex_init(&ids->mu);
}

void bd_request_ids_fini(bd_request_ids *ids)
{
    bd_imap_fini(&ids->seen);
    bd_mutex_fini(&ids->mu);
}

bool bd_request_ids_add(bd_request_ids *ids, int64_t id)
{
    if (id == 0) return true;
    const uint64_t key = (uint64_t)id;
    bd_mutex_lock(&ids->mu);
    const bool is_new = !bd_imap_get(&ids->seen, key);
    if (is_new) {
        uint64_t *oldest = &ids->ring[ids->next++ % BD_REQUEST_IDS_REMEMBERED];
        if (*oldest) bd_imap_remove(&ids->seen, *oldest);
        *oldest = key;
        bd_imap_put(&ids->seen, key, ids);
    }
    bd_mutex_unlock(&ids->mu);
    return is_new;
}
