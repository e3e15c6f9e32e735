// Memory of graphs and forests in the account of a client and in the limit of the pool.
#include "tensor/charge.h"

#include "base/account.h"
#include "tensor/buffer.h"

static braid_code refuse(const char *what, size_t bytes, const char *why, braid_status *st)
{
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s would take %zu bytes: %s", what, bytes, why);
    bd_account_explain(st);
    return st->code;
}

static void give(bd_charge *c, size_t bytes)
{
    c->bytes -= bytes;
    bd_buffer_pool_unreserve(bytes);
    if (c->account) bd_account_give(c->account, bytes);
}

braid_code bd_charge_set(bd_charge *c, size_t bytes, const char *what, braid_status *st)
{
    if (bytes <= c->bytes) {
        give(c, c->bytes - bytes);
        return BRAID_OK;
    }
    bd_account *account = c->account || c->bytes ? c->account : bd_account_current;
    const size_t more = bytes - c->bytes;
    if (account && !bd_account_take(account, more))
        return refuse(what, bytes, "more than its client may have", st);
    if (!bd_buffer_pool_reserve(more)) {
        if (account) bd_account_give(account, more);
        return refuse(what, bytes, "the memory of the server is used up (--limit memory=BYTES)", st);
    }
    if (account && !c->account) c->account = bd_account_ref(account);
    c->bytes = bytes;
    return BRAID_OK;
}

void bd_charge_fini(bd_charge *c)
{
    give(c, c->bytes);
    bd_account_unref(c->account);
    *c = (bd_charge){0};
}
