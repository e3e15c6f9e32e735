// Fuzzes lists of hosts, of users and of limits, and what Slurm says in its variables.
#include "base/alloc.h"
#include "base/check.h"
#include "base/host_list.h"
#include "cluster/server_limits.h"
#include "cluster/spec/launch.h"
#include "cluster/transport/users.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_hosts(braid_code (*parse)(const char *text, bd_host_list *list, braid_status *st),
                        const char *text)
{
    bd_host_list hosts = {0};
    BD_STATUS(st);
    const braid_code code = parse(text, &hosts, st);
    BD_ASSERT(code ? st->message[0] != 0 : hosts.len <= BD_HOSTS_MAX);
    for (size_t i = 0; i < hosts.len; i++)
        BD_ASSERT(hosts.items[i].tasks >= 1 && hosts.items[i].name[0] && hosts.items[i].name[0] != '-');
    bd_host_list_free(&hosts);
}

static void check_slurm(const char *text)
{
    bd_launch launch = {0};
    bool found;
    BD_STATUS(st);
    setenv("SLURM_STEP_ID", "1", 1);
    setenv("SLURM_STEP_NUM_TASKS", "4", 1);
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_STEP_NODELIST", text, 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", text, 1);
    bd_launch_from_slurm(&launch, &found, st);
    bd_launch_fini(&launch);
}

static void check_limits(const char *text)
{
    bd_server_limits limits;
    BD_STATUS(st);
    if (bd_server_limits_parse(text, &limits, st))
        BD_ASSERT(st->message[0]);
    else
        BD_ASSERT(limits.sessions > 0 && limits.memory_bytes > 0 && limits.transport.calls > 0);
}

static void check_users(const char *text)
{
    bd_users users;
    BD_STATUS(st);
    if (bd_users_parse(text, &users, st)) return;
    BD_ASSERT(users.count >= 1);
    bd_users_fini(&users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = bd_strndup((const char *)data, size);
    check_hosts(bd_host_list_parse, text);
    check_hosts(bd_host_file_parse, text);
    check_slurm(text);
    check_limits(text);
    check_users(text);
    bd_free(text);
    return 0;
}
