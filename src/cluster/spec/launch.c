// Clusters of processes that a launcher starts: the jobs and ports of ranks.
#include "cluster/spec/launch.h"
#include "base/log.h"
#include "base/strbuf.h"
#include <stdlib.h>

// As TensorFlow's examples.
#define PORT_DEFAULT 2222

void bd_launch_fini(bd_launch *l)
{
    bd_free(l->source);
    bd_host_list_free(&l->hosts);
}

braid_code bd_launch_number(const char *variable, int missing, int min, int max, int *out, braid_status *st)
{
    const char *text = getenv(variable);
    int64_t value;
    if (!text || !text[0]) {
        if (missing < 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is not set", variable);
        *out = missing;
        return BRAID_OK;
    }
    if (!bd_parse_int64(text, &value) || value < min || value > max)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s is '%s', not a number from %d to %d", variable, text,
                       min, max);
    *out = (int)value;
    return BRAID_OK;
}

// A rank that is elsewhere than the others believe would never be found.
static braid_code check_place(const bd_launch *l, size_t host, int rank_on_host, braid_status *st)
{
    if ((l->host < 0 || (size_t)l->host == host) && (l->rank_on_host < 0 || l->rank_on_host == rank_on_host))
        return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "%s: by the list of hosts rank %d is process %d of %s, but it was started as process %d%s: "
        "start the tasks so that each host is filled in the order of the list",
        l->source, l->rank, rank_on_host, l->hosts.items[host].name, l->rank_on_host,
        l->host >= 0 && (size_t)l->host != host ? " of another host" : "");
}

static braid_code add_tasks(braid_cluster *c, const bd_launch *l, int ps, int port, braid_status *st)
{
    bd_placing p;
    bd_placing_init(&p, &l->hosts, l->is_cyclic);
    braid_code code = BRAID_OK;
    for (int rank = 0; rank < l->task_count && !code; rank++) {
        int on_host;
        const size_t host = bd_placing_next(&p, &on_host);
        char *address =
            bd_host_address(l->hosts.len == 1 ? "127.0.0.1" : l->hosts.items[host].name, port + on_host);
        if (port + on_host > BD_PORT_MAX)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "BRAID_PORT is %d, and %d more are needed above it",
                           port, l->hosts.items[host].tasks - 1);
        if (!code)
            code = bd_cluster_add(c, rank < ps ? "ps" : "worker", rank < ps ? rank : rank - ps, address, st);
        if (!code && rank == l->rank) code = check_place(l, host, on_host, st);
        bd_free(address);
    }
    bd_placing_fini(&p);
    return code;
}

braid_cluster *bd_launch_cluster(const bd_launch *l, braid_status *st)
{
    int ps, port;
    // A worker is needed.
    if (bd_launch_number("BRAID_PS", 1, 0, l->task_count - 1, &ps, st) ||
        bd_launch_number("BRAID_PORT", PORT_DEFAULT, 1, BD_PORT_MAX, &port, st))
        return NULL;
    braid_cluster *c = bd_cluster_new();
    if (add_tasks(c, l, ps, port, st)) {
        braid_cluster_free(c);
        return NULL;
    }
    c->is_mpi_world = l->is_mpi_world;
    c->this_job = bd_strdup(l->rank < ps ? "ps" : "worker");
    c->this_task = l->rank < ps ? l->rank : l->rank - ps;
    bd_info("%s: %d tasks on %zu host%s, %d of them parameter servers; this is /job:%s/task:%d at %s",
            l->source, l->task_count, l->hosts.len, l->hosts.len == 1 ? "" : "s", ps, c->this_job,
            c->this_task, braid_cluster_address(c, c->this_job, c->this_task));
    return c;
}
