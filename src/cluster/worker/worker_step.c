// The set-up of a step on this task, common to RunGraph (worker_run.c) and partial runs (worker_partial.c).
#include "cluster/worker/local_worker_internal.h"

braid_code bd_worker_step_begin(bd_local_worker *w, const bd_run_graph *run, bd_cancellation *parent,
                                bd_worker_step *s, braid_status *st)
{
    bd_worker_graph *graph;
    if (bd_worker_graph_find(w, run->session_handle, run->graph_handle, &graph, st)) return st->code;
    if (bd_step_table_begin(w->steps, run->step_id, graph->session, &s->rendezvous, &s->step_cancellation,
                            st)) {
        bd_worker_graph_unref(graph);
        return st->code;
    }
    s->graph = graph;
    s->step = (bd_step){
        .id = run->step_id,
        .rendezvous = s->rendezvous,
        .cancellation = bd_cancellation_new(parent),
        .resources = bd_worker_session_resources(w, graph->session),
        .container = bd_step_container(run->step_id, s->container),
        .pool = w->device->pool,
        .io_pool = w->device->io_pool,
        .collectives = bd_task_collectives_base(w->collectives),
        .collective_leader = graph->session->owner.collective_leader,
        .functions = graph->functions,
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
