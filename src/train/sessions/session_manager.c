// Sessions with initialized variables, by the code that monitored sessions use.
#include "base/wait_limits.h"
#include "train/sessions/bootstrap.h"
#include <braid/session_manager.h>

static braid_session *open_session(braid_graph *g, braid_session_manager *m, train_bootstrap *b,
                                   braid_status *st)
{
    if ((m->checkpoint_dir || m->checkpoint_path) && !m->scaffold.saver)
        m->scaffold.saver = braid_saver_new(g, &(braid_saver_options){.sharded = true});
    braid_scaffold_finalize(&m->scaffold, g);
    int64_t timeout_ms;
    if (bd_start_timeout_ms(&timeout_ms, st)) return NULL;
    *b = (train_bootstrap){.scaffold = m->scaffold,
                           .checkpoint_dir = m->checkpoint_dir,
                           .checkpoint_path = m->checkpoint_path,
                           .wait_timeout_ms = m->wait_timeout_ms ? m->wait_timeout_ms : timeout_ms};
    return braid_session_open(g, &m->session, st);
}

// The session, or NULL when bringing it up has failed.
static braid_session *keep_if_ok(braid_session *s, const braid_status *st)
{
    if (!st->code) return s;
    BD_STATUS(ignored);
    braid_session_close(s, ignored);
    return NULL;
}

static braid_session *bring_up(braid_graph *g, braid_session_manager *m, bool is_chief, braid_status *st)
{
    train_bootstrap b;
    braid_session *s = open_session(g, m, &b, st);
    if (!s) return NULL;
    b.is_chief = is_chief;
    train_bootstrap_run(&b, s, st);
    return keep_if_ok(s, st);
}

braid_session *braid_prepare_session(braid_graph *g, braid_session_manager *m, braid_status *st)
{
    return bring_up(g, m, true, st);
}

braid_session *braid_wait_for_session(braid_graph *g, braid_session_manager *m, braid_status *st)
{
    return bring_up(g, m, false, st);
}

braid_session *braid_recover_session(braid_graph *g, braid_session_manager *m, bool *is_ready,
                                     braid_status *st)
{
    *is_ready = false;
    train_bootstrap b;
    braid_session *s = open_session(g, m, &b, st);
    if (!s) return NULL;
    train_bootstrap_recover(&b, s, is_ready, st);
    return keep_if_ok(s, st);
}
