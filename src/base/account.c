// Bytes are one atomic number. Time is an allowance that is used up and comes back.
#include "base/account.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#define BURST_S 60.0 // of each processor

struct bd_account {
    atomic_int refs;
    int64_t bytes_max;
    double processors;
    atomic_int_fast64_t bytes;
    bd_mutex mu;
    double used_s; // of the allowance; guarded by mu
    int64_t at_ns; // when that was so; guarded by mu
    char client[];
};

static _Thread_local bool has_refused; // bytes, which no error has explained yet
_Thread_local bd_account *bd_account_current __attribute__((tls_model("initial-exec")));

bd_account *bd_account_new(const char *client, int64_t bytes_max, double processors)
{
    bd_account *a = bd_calloc(1, sizeof *a + strlen(client) + 1);
    strcpy(a->client, client);
    a->bytes_max = bytes_max;
    a->processors = processors;
    a->at_ns = bd_now_ns();
    atomic_init(&a->refs, 1);
    bd_mutex_init(&a->mu);
    return a;
}

bd_account *bd_account_ref(bd_account *a)
{
    if (a) atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void bd_account_unref(bd_account *a)
{
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    bd_mutex_fini(&a->mu);
    bd_free(a);
}

// ---- The accounts of all clients ----

struct bd_accounts {
    int64_t bytes_max;
    double processors;
    bd_mutex mu;
    bd_map by_client; // -> bd_account, one reference each; guarded by mu
};

bd_accounts *bd_accounts_new(int64_t bytes_max, double processors)
{
    bd_accounts *as = bd_calloc(1, sizeof *as);
    as->bytes_max = bytes_max;
    as->processors = processors;
    bd_mutex_init(&as->mu);
    return as;
}

void bd_accounts_free(bd_accounts *as)
{
    if (!as) return;
    size_t pos = 0;
    void *account;
    while (bd_map_next(&as->by_client, &pos, NULL, &account))
        bd_account_unref(account);
    bd_map_fini(&as->by_client);
    bd_mutex_fini(&as->mu);
    bd_free(as);
}

bd_account *bd_accounts_of(bd_accounts *as, const char *client)
{
    if (!as || !client || !client[0] || (as->bytes_max == 0 && as->processors == 0)) return NULL;
    bd_mutex_lock(&as->mu);
    bd_account *a = bd_map_get(&as->by_client, client);
    if (!a) {
        a = bd_account_new(client, as->bytes_max, as->processors);
        bd_map_put(&as->by_client, client, a);
    }
    bd_mutex_unlock(&as->mu);
    return a;
}

// ---- Bytes ----

bool bd_account_take(bd_account *a, size_t bytes)
{
    const int64_t more = bytes <= INT64_MAX ? (int64_t)bytes : INT64_MAX;
    const int64_t before = atomic_fetch_add_explicit(&a->bytes, more, memory_order_relaxed);
    if (a->bytes_max == 0 || (before <= a->bytes_max && more <= a->bytes_max - before)) return true;
    atomic_fetch_sub_explicit(&a->bytes, more, memory_order_relaxed);
    has_refused = true;
    return false;
}

void bd_account_give(bd_account *a, size_t bytes)
{
    atomic_fetch_sub_explicit(&a->bytes, (int64_t)bytes, memory_order_relaxed);
}

void bd_account_explain(braid_status *st)
{
    const bd_account *a = bd_account_current;
    if (st->code != BRAID_RESOURCE_EXHAUSTED || !a || !has_refused) return;
    has_refused = false;
    char *message = bd_strdup(braid_status_message(st));
    braid_status_clear(st);
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
            "%s (%s has tensors and graphs of %" PRId64 " bytes, and the server allows %" PRId64
            ": start it with --limit client-memory=BYTES)",
            message, a->client, (int64_t)atomic_load_explicit(&a->bytes, memory_order_relaxed), a->bytes_max);
    bd_free(message);
}

// ---- Time ----

static void use_locked(bd_account *a, double seconds)
{
    const int64_t now_ns = bd_now_ns();
    const double back = (double)(now_ns - a->at_ns) * 1e-9 * a->processors;
    a->at_ns = now_ns;
    a->used_s = (a->used_s > back ? a->used_s - back : 0) + seconds;
}

braid_code bd_account_check_time(bd_account *a, braid_status *st)
{
    if (!a || a->processors <= 0) return BRAID_OK;
    bd_mutex_lock(&a->mu);
    use_locked(a, 0);
    const double over_s = a->used_s - BURST_S * a->processors;
    bd_mutex_unlock(&a->mu);
    if (over_s <= 0) return BRAID_OK;
    return bd_fail(
        st, BRAID_RESOURCE_EXHAUSTED,
        "%s has kept more than %g processors busy for a minute, and has to wait for %.1f s (start the "
        "server with --limit processors=N)",
        a->client, a->processors, over_s / a->processors);
}

bd_account_turn bd_account_enter(bd_account *a)
{
    bd_account_turn turn = {bd_account_current, -1};
    if (a == turn.before) return turn; // within another turn, which measures
    bd_account_current = a;
    has_refused = false;
    if (a && a->processors > 0) turn.began_ns = bd_thread_time_ns();
    return turn;
}

void bd_account_leave(bd_account_turn turn)
{
    bd_account *a = bd_account_current;
    bd_account_current = turn.before;
    if (turn.began_ns < 0) return;
    const double seconds = (double)(bd_thread_time_ns() - turn.began_ns) * 1e-9;
    bd_mutex_lock(&a->mu);
    use_locked(a, seconds);
    bd_mutex_unlock(&a->mu);
}
