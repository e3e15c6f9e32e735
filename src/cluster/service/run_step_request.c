// Shared by the requests of MasterService that run steps: names, options and request ids.
#include "cluster/service/master_service.h"
#include "cluster/service/services.h"
#include "runtime/debug_nodes.h"
#include <string.h>

bool bd_is_name(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ') return false;
    return true;
}

static const char *find_bad(const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!bd_is_name((const uint8_t *)names[i], strlen(names[i]))) return names[i];
    return NULL;
}

braid_code bd_signature_check(const bd_run_signature *s, braid_status *st)
{
    const char *bad;
    if ((bad = find_bad(s->feeds, s->feed_count)) || (bad = find_bad(s->connect_to, s->connection_count)) ||
        (bad = find_bad(s->connect_from, s->connection_count)))
        return bd_fail(st, BRAID_NOT_FOUND,
                       "FeedInputs: unable to find feed output %.256s: the name holds a control character",
                       bad);
    if ((bad = find_bad(s->fetches, s->fetch_count)))
        return bd_fail(st, BRAID_NOT_FOUND,
                       "FetchOutputs node %.256s: not found: the name holds a control character", bad);
    if ((bad = find_bad(s->targets, s->target_count)))
        return bd_fail(
            st, BRAID_NOT_FOUND,
            "PruneForTargets: Some target nodes not found: %.256s (the name holds a control character)", bad);
    return BRAID_OK;
}

braid_code bd_run_options_read(const Tensorflow__RunOptions *o, bd_master_run_args *args,
                               bd_run_signature *signature, braid_status *st)
{
    if (!o) return BRAID_OK;
    signature->debug = bd_debug_watches(o->debug_options, st);
    if (st->code) return st->code;
    args->timeout_ms = o->timeout_in_ms;
    if (o->experimental) args->collective_graph_key = o->experimental->collective_graph_key;
    args->wants_stats = o->trace_level > TENSORFLOW__RUN_OPTIONS__TRACE_LEVEL__NO_TRACE;
    args->wants_partition_graphs = o->output_partition_graphs;
    return BRAID_OK;
}

braid_code bd_run_id_check(bd_service_env *env, const char *method, int64_t request_id, braid_status *st)
{
    if (bd_request_ids_add(&env->run_ids, request_id)) return BRAID_OK;
    return bd_fail(st, BRAID_ABORTED, "The same %s request was received twice: request %lld has come before",
                   method, (long long)request_id);
}
