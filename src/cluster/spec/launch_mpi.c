// Clusters of MPI: the variables that mpirun of Open MPI and other launchers with PMIx set for each process.
//
//     OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE                which rank this is, and of how many
//     OMPI_COMM_WORLD_LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_SIZE    likewise, of those on this host
//     PMIX_RANK                                                 the rank; no variable has the size
//
// No variable names the hosts of the other ranks; only a program that is linked with MPI or PMIx can ask for
// them. If all ranks are on this host, that does not matter; otherwise the user gives the list of hosts, in
// which mpirun fills one after the other, in BRAID_HOSTS.
#include "base/strbuf.h"
#include "cluster/spec/launch.h"
#include <stdlib.h>
#include <string.h>

#define HOSTS_VARIABLE "BRAID_HOSTS"

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0];
}

static braid_code read_hosts(bd_launch *l, braid_status *st)
{
    const braid_code code = bd_host_list_parse(getenv(HOSTS_VARIABLE), &l->hosts, st);
    return code ? bd_status_prefix(st, HOSTS_VARIABLE ": ") : BRAID_OK;
}

static braid_code find_hosts(bd_launch *l, int local_size, braid_status *st)
{
    if (is_set(HOSTS_VARIABLE)) {
        const braid_code code = read_hosts(l, st);
        if (code) return code;
        if (bd_host_list_tasks(&l->hosts) >= l->task_count) return BRAID_OK;
        return bd_fail(st, BRAID_INVALID_ARGUMENT, HOSTS_VARIABLE " has %d tasks, OMPI_COMM_WORLD_SIZE is %d",
                       bd_host_list_tasks(&l->hosts), l->task_count);
    }
    if (local_size == l->task_count)
        return bd_host_list_add(&l->hosts, "localhost", strlen("localhost"), local_size, st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "OMPI_COMM_WORLD_SIZE is %d and OMPI_COMM_WORLD_LOCAL_SIZE %d: the other tasks are on "
                   "hosts that mpirun does not name. Name all: export " HOSTS_VARIABLE
                   "=host:tasks,host:tasks and add -x " HOSTS_VARIABLE " to mpirun",
                   l->task_count, local_size);
}

braid_code bd_launch_from_open_mpi(bd_launch *l, bool *found, braid_status *st)
{
    *found = false;
    if (!is_set("OMPI_COMM_WORLD_RANK")) return BRAID_OK;
    *found = true;
    braid_code code =
        bd_launch_number("OMPI_COMM_WORLD_SIZE", -1, 1, BD_LAUNCH_TASKS_MAX, &l->task_count, st);
    if (code || l->task_count == 1) return code;
    const int last = l->task_count - 1;
    int local_size = 0;
    l->source = bd_strdup("mpirun");
    l->is_mpi_world = true;
    l->host = -1;
    code = bd_launch_number("OMPI_COMM_WORLD_RANK", -1, 0, last, &l->rank, st);
    if (!code) code = bd_launch_number("OMPI_COMM_WORLD_LOCAL_RANK", -1, 0, last, &l->rank_on_host, st);
    if (!code) code = bd_launch_number("OMPI_COMM_WORLD_LOCAL_SIZE", -1, 1, last + 1, &local_size, st);
    return code ? code : find_hosts(l, local_size, st);
}

braid_code bd_launch_from_pmix(bd_launch *l, bool *found, braid_status *st)
{
    *found = false;
    if (!is_set("PMIX_RANK")) return BRAID_OK;
    *found = true;
    l->source = bd_strdup("PMIx");
    l->host = l->rank_on_host = -1;
    if (!is_set(HOSTS_VARIABLE))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "PMIX_RANK is set, and no variable tells the number of tasks and their hosts. Name "
                       "them: " HOSTS_VARIABLE "=host:tasks,host:tasks");
    const braid_code code = read_hosts(l, st);
    l->task_count = bd_host_list_tasks(&l->hosts);
    if (code || l->task_count <= BD_LAUNCH_TASKS_MAX)
        return code ? code : bd_launch_number("PMIX_RANK", -1, 0, l->task_count - 1, &l->rank, st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, HOSTS_VARIABLE " has more than %d tasks", BD_LAUNCH_TASKS_MAX);
}
