// Callables of the in-process session: executables found by a number instead of a signature.
#include "runtime/direct_session_internal.h"

#include "base/alloc.h"
#include <string.h>

typedef struct callable {
    bd_executable *what; // a reference
    int64_t timeout_ms;
    int order[]; // feed i of the signature is feed order[i] of the callable; the fetches follow
} callable;

static void callable_free(callable *c)
{
    bd_executable_unref(c->what);
    bd_free(c);
}

braid_code bd_direct_make_callable(bd_session *base, const bd_run_signature *signature,
                                   const bd_callable_options *options, int64_t *handle, braid_status *st)
{
    bd_direct_session *s = bd_direct_of(base);
    const size_t values = (size_t)signature->feed_count + (size_t)signature->fetch_count;
    callable *c = bd_calloc(1, sizeof *c + values * sizeof c->order[0]);
    c->timeout_ms = options->timeout_ms;
    void *what = NULL;
    bool is_stored = false;
    if (!bd_plan_cache_get(s->plans, signature, NULL, &what, c->order, st)) {
        c->what = what;
        bd_mutex_lock(&s->mu);
        is_stored = bd_imap_count(&s->callables) < BD_SESSION_HANDLES_MAX;
        *handle = s->callables_made;
        if (is_stored) bd_imap_put(&s->callables, (uint64_t)s->callables_made++, c);
        bd_mutex_unlock(&s->mu);
        if (!is_stored)
            bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The session has %d callables: release some",
                    BD_SESSION_HANDLES_MAX);
    }
    if (!is_stored) callable_free(c);
    return st->code;
}

braid_code bd_direct_run_callable(bd_session *base, int64_t handle, const bd_session_run *run,
                                  braid_status *st)
{
    bd_direct_session *s = bd_direct_of(base);
    bd_mutex_lock(&s->mu);
    const callable *c = bd_imap_get(&s->callables, (uint64_t)handle); // exists while a run uses it
    bd_mutex_unlock(&s->mu);
    bd_session_run limited = *run;
    limited.timeout_ms = c->timeout_ms;
    return bd_direct_run_compiled(s, c->what, c->order, &limited, st);
}

void bd_direct_release_callable(bd_session *base, int64_t handle)
{
    bd_direct_session *s = bd_direct_of(base);
    bd_mutex_lock(&s->mu);
    callable *c = bd_imap_remove(&s->callables, (uint64_t)handle);
    bd_mutex_unlock(&s->mu);
    callable_free(c);
}

void bd_direct_drop_callables(bd_direct_session *s)
{
    size_t pos = 0;
    void *c;
    while (bd_imap_next(&s->callables, &pos, NULL, &c))
        callable_free(c);
    bd_imap_fini(&s->callables);
}
