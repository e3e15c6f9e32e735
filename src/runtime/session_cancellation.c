// Cancelling single calls of a public session: a token below the session's own, so that runs need no more
// than one parent for theirs.
#include "runtime/session_internal.h"

#include "base/alloc.h"

struct braid_cancellation {
    bd_cancellation *token;
    const braid_session *session; // only compared; NULL: for opening one
};

braid_cancellation *braid_cancellation_new(braid_session *session)
{
    BD_STATUS(closed);
    braid_cancellation *c = bd_calloc(1, sizeof *c);
    c->session = session;
    const bool is_open = session && bd_session_enter(session, closed);
    c->token = bd_cancellation_new(is_open ? session->impl->ops->cancellation(session->impl) : NULL);
    if (is_open)
        bd_session_leave(session, NULL);
    else if (session)
        bd_cancellation_cancel(c->token, closed);
    return c;
}

void braid_cancellation_cancel(braid_cancellation *cancellation)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "The call was cancelled by the program");
    bd_cancellation_cancel(cancellation->token, why);
}

void braid_cancellation_free(braid_cancellation *cancellation)
{
    if (!cancellation) return;
    bd_cancellation_unref(cancellation->token);
    bd_free(cancellation);
}

bd_cancellation *bd_cancellation_of(const braid_cancellation *c)
{
    return c ? c->token : NULL;
}

braid_code bd_session_check_cancellation(const braid_session *s, const braid_cancellation *c,
                                         bd_cancellation **token, braid_status *st)
{
    *token = bd_cancellation_of(c);
    if (!c || c->session == s) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The cancellation of a run is of another session");
}
