// The set-up of a step on this task, common to RunGraph (worker_run.c) and partial runs (worker_partial.c).
#include "cluster/worker/local_worker_internal.h"

// The session may be dropped meanwhile: by then its drop finds the step in the table, or the step finds that
// the session is dropped.
static braid_code begin_in_table(bd_local_worker *w, int64_t step_id, const bd_worker_session *session,
                                 bd_worker_step *s, braid_status *st)
{
    if (bd_step_table_begin(w->steps, step_id, session, bd_worker_session_peers(w, session), &s->rendezvous,
                            &s->step_cancellation, st))
        return st->code;
    if (!atomic_load(&session->is_dropped)) return BRAID_OK;
    bd_step_table_end(w->steps, step_id, false);
    bd_cancellation_unref(s->step_cancellation);
    bd_rendezvous_unref(s->rendezvous);
    return bd_fail(st, BRAID_ABORTED, "Session handle is not found: %s. It was deleted.", session->handle);
}

braid_code bd_worker_step_begin(bd_local_worker *w, const bd_run_graph *run, bd_cancellation *parent,
                                bd_worker_step *s, braid_status *st)
{
    bd_worker_graph *graph;
    if (bd_worker_graph_find(w, run->session_handle, run->graph_handle, &graph, st)) return st->code;
    if (bd_account_check_time(graph->session->account, st) ||
        begin_in_table(w, run->step_id, graph->session, s, st)) {
        bd_worker_graph_unref(graph);
        return st->code;
    }
    s->graph = graph;
    s->step = (bd_step){
        .id = run->step_id,
        .rendezvous = s->rendezvous,
        .cancellation = bd_cancellation_new(parent),
        .resources = graph->session->resources,
        .account = graph->session->account,
        .container = bd_step_container(run->step_id, s->container),
        .pool = w->device->pool,
        .io_pool = w->device->io_pool,
        .fs = w->device->fs,
        .collectives = graph->session->cluster ? bd_session_cluster_collectives()
                                               : bd_task_collectives_base(w->collectives),
        .collective_leader = graph->session->owner.collective_leader,
        .functions = graph->functions,
        .call_depth = run->call_depth,
    };
    return BRAID_OK;
}

void bd_worker_step_fini(bd_worker_step *s)
{
    bd_cancellation_unref(s->step_cancellation);
    bd_cancellation_unref(s->step.cancellation);
    bd_rendezvous_unref(s->rendezvous);
    bd_worker_graph_unref(s->graph);
}
