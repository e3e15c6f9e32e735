// The functions of the program that nodes call: a table of the process.
#include "op/callback.h"

#include "base/alloc.h"
#include "base/fork.h"
#include "base/map.h"
#include "base/status.h"
#include "base/thread.h"

struct bd_callback {
    atomic_int refs; // one of the table
    braid_callback_fn fn;
    void *arg;
    void (*release)(void *arg);
};

static bd_mutex mu = BD_MUTEX_INIT;
static bd_map by_token; // -> bd_callback; guarded by mu; empty: all zero

static void watch_forks(void *arg)
{
    (void)arg;
    bd_mutex_across_forks(&mu);
}

braid_code braid_callback_register(const char *token, braid_callback_fn fn, void *arg,
                                   void (*release)(void *arg), braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    if (!token || !fn)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A callback has no %s", token ? "function" : "token");
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    bd_mutex_lock(&mu);
    const bool is_new = !bd_map_has(&by_token, token);
    if (is_new) {
        bd_callback *c = bd_calloc(1, sizeof *c);
        atomic_init(&c->refs, 1);
        c->fn = fn;
        c->arg = arg;
        c->release = release;
        bd_map_put(&by_token, token, c);
    }
    bd_mutex_unlock(&mu);
    if (is_new) return BRAID_OK;
    return bd_fail(st, BRAID_ALREADY_EXISTS, "The callback '%.100s' is registered already", token);
}

void braid_callback_unregister(const char *token)
{
    if (!token) return;
    bd_mutex_lock(&mu);
    bd_callback *c = bd_map_remove(&by_token, token);
    if (bd_map_count(&by_token) == 0) bd_map_fini(&by_token);
    bd_mutex_unlock(&mu);
    if (c) bd_callback_unref(c);
}

bd_callback *bd_callback_find(const char *token)
{
    bd_mutex_lock(&mu);
    bd_callback *c = bd_map_get(&by_token, token);
    if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    bd_mutex_unlock(&mu);
    return c;
}

void bd_callback_unref(bd_callback *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    if (c->release) c->release(c->arg);
    bd_free(c);
}

braid_code bd_callback_run(bd_callback *c, const braid_callback_call *call, braid_status *st)
{
    return c->fn(c->arg, call, st);
}
