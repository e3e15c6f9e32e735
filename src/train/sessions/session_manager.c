// Sessions with initialized variables, by the code that the creators of monitored sessions use.
#include "train/sessions/session_manager.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/wait_limits.h"
#include <braid/server.h>
#include <string.h>

void train_session_manager_finalize(braid_session_manager *m, braid_graph *g)
{
    if ((m->checkpoint_dir || m->checkpoint_path) && !m->scaffold.saver)
        m->scaffold.saver = braid_saver_new(g, &(braid_saver_options){.sharded = true});
    braid_scaffold_finalize(&m->scaffold, g);
}

// The checkpoints are read and written by ops, some of which run on this task.
static braid_code allow_files(const braid_session_manager *m, braid_status *st)
{
    braid_server *server = m->session.server;
    if (server && m->checkpoint_dir) braid_server_allow_files(server, m->checkpoint_dir, st);
    if (server && m->checkpoint_path && !st->code) {
        const char *slash = strrchr(m->checkpoint_path, '/');
        char *dir =
            slash ? bd_strndup(m->checkpoint_path, (size_t)(slash + 1 - m->checkpoint_path)) : bd_strdup(".");
        braid_server_allow_files(server, dir, st);
        bd_free(dir);
    }
    return st->code;
}

braid_code train_session_manager_bootstrap(const braid_session_manager *m, train_bootstrap *b,
                                           braid_status *st)
{
    b->session = &m->session;
    b->scaffold = m->scaffold;
    b->checkpoint_dir = m->checkpoint_dir;
    b->checkpoint_path = m->checkpoint_path;
    b->wait_for_checkpoint = m->wait_for_checkpoint && !m->checkpoint_path;
    b->wait_timeout_ms = m->wait_timeout_ms;
    if (b->wait_for_checkpoint && !b->checkpoint_dir)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The session manager waits for a checkpoint (wait_for_checkpoint), but has no "
                       "checkpoint_dir to wait for it in");
    if (allow_files(m, st)) return st->code;
    return b->wait_timeout_ms ? BRAID_OK : bd_start_timeout_ms(&b->wait_timeout_ms, st);
}

braid_session *train_session_if_ok(braid_session *s, const braid_status *st)
{
    if (!st->code) return s;
    BD_STATUS(ignored);
    braid_session_close(s, ignored);
    return NULL;
}

static braid_session *open_session(braid_graph *g, braid_session_manager *m, train_bootstrap *b,
                                   braid_status *st)
{
    train_session_manager_finalize(m, g);
    return train_session_manager_bootstrap(m, b, st) ? NULL : braid_session_open(g, &m->session, st);
}

static braid_session *bring_up(braid_graph *g, braid_session_manager *m, bool is_chief, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    train_bootstrap b = {.role.is_chief = is_chief};
    braid_session *s = open_session(g, m, &b, st);
    if (s) train_bootstrap_run(&b, s, st);
    return train_session_if_ok(s, st);
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
                                     braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    *is_ready = false;
    train_bootstrap b = {0};
    braid_session *s = open_session(g, m, &b, st);
    if (s) train_bootstrap_recover(&b, s, is_ready, st);
    return train_session_if_ok(s, st);
}
