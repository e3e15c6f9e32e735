// Monitored sessions: the hooks and the session creator that a configuration asks for.
#include "train/sessions/monitored_session.h"
#include "train/sessions/sync_replicas.h"
#include <braid/hooks.h>

#define MAX_RECOVERIES_DEFAULT 10

static bool in_this_process(const braid_session_options *o)
{
    return !o->server && (!o->target || !o->target[0]);
}

braid_hook braid_hook_list;

// Takes a hook of the chief; frees it in a process that never leads.
static void add_leader_hook(braid_monitored_session *s, braid_hook *h)
{
    if (s->request.role.is_chief)
        bd_array_push(&s->hooks, h);
    else if (s->request.role.may_lead)
        bd_array_push(&s->hooks, train_hook_of_leader(h));
    else if (h->free)
        h->free(h);
}

// Takes the hooks of a list.
static void add_hooks(braid_monitored_session *s, braid_hook *const *list, bool of_chief)
{
    if (!list) return;
    braid_hook *const end = list[0] == &braid_hook_list ? &braid_hook_list : NULL;
    for (braid_hook *const *h = list + (end != NULL); *h != end; h++) {
        if (!*h) continue;
        if (of_chief) {
            add_leader_hook(s, *h);
            continue;
        }
        bd_array_push(&s->hooks, *h);
        s->request.role.may_lead =
            s->request.role.may_lead || (!s->request.role.is_chief && train_sync_may_lead(*h));
    }
}

static void add_checkpoints(braid_monitored_session *s, const braid_session_config *c, braid_saver *saver)
{
    if (c->save_checkpoint_steps <= 0 && c->save_checkpoint_seconds < 0) return;
    add_leader_hook(s, braid_checkpoint_saver(
                           &(braid_checkpoint_saver_options){.dir = c->checkpoint_dir,
                                                             .saver = saver,
                                                             .every_seconds = c->save_checkpoint_seconds,
                                                             .every_steps = c->save_checkpoint_steps}));
}

static void add_summaries(braid_monitored_session *s, const braid_session_config *c, const char *dir)
{
    const double every_seconds = c->save_summaries_seconds;
    if (every_seconds > 0 || c->save_summaries_steps >= 0)
        add_leader_hook(s, braid_summary_saver(&(braid_summary_saver_options){
                               .dir = dir,
                               .summary = c->scaffold.summary,
                               .every_steps = every_seconds > 0 ? 0 : c->save_summaries_steps,
                               .every_seconds = every_seconds}));
    if (c->log_step_count_steps >= 0)
        add_leader_hook(s, braid_step_counter(&(braid_step_counter_options){
                               .dir = dir, .every_steps = c->log_step_count_steps}));
}

// Adds the hooks that save and write for the chief. Returns the saver of checkpoints; NULL: there is none.
static braid_saver *add_savers(braid_monitored_session *s, const braid_session_config *c)
{
    const char *summary_dir = c->summary_dir ? c->summary_dir : c->checkpoint_dir;
    braid_saver *saver = c->scaffold.saver;
    if (!s->request.role.is_chief && !s->request.role.may_lead) return saver;
    if (c->checkpoint_dir && !saver)
        saver = braid_saver_new(
            s->graph, &(braid_saver_options){.sharded = true, .asynchronous = true, .policy = c->keep});
    if (c->checkpoint_dir) add_checkpoints(s, c, saver);
    if (summary_dir) add_summaries(s, c, summary_dir);
    return saver;
}

static braid_session_creator *make_creator(const braid_monitored_session *s, const braid_session_config *c,
                                           braid_saver *saver)
{
    braid_session_manager how = {.session = c->session,
                                 .scaffold = c->scaffold,
                                 .checkpoint_dir = c->checkpoint_dir,
                                 .wait_timeout_ms = c->wait_timeout_ms};
    how.scaffold.saver = saver;
    return s->request.role.is_chief ? braid_chief_session_creator(&how) : braid_worker_session_creator(&how);
}

void train_session_configure(braid_monitored_session *s, const braid_session_config *c)
{
    train_role *role = &s->request.role;
    s->server = c->session.server;
    s->max_recoveries = c->max_recoveries ? c->max_recoveries : MAX_RECOVERIES_DEFAULT;
    s->stop_grace_ms = c->stop_grace_period_ms;
    role->is_chief = c->creator ? c->creator->is_chief : c->is_chief || in_this_process(&c->session);
    s->leads_next = role->is_chief;
    add_hooks(s, c->hooks, false);
    add_hooks(s, c->chief_only_hooks, true);
    braid_saver *saver = add_savers(s, c);
    s->creator = c->creator ? c->creator : make_creator(s, c, saver);
}
