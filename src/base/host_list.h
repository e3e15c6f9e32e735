// Lists of hosts with a number of tasks for each: "a:2,b" and files of hosts.
#ifndef BD_BASE_HOST_LIST_H
#define BD_BASE_HOST_LIST_H

#include "base/array.h"
#include "base/status.h"

// More hosts or tasks are a mistake.
#define BD_HOSTS_MAX 10000
#define BD_LAUNCH_TASKS_MAX 10000

typedef struct bd_host {
    char *name; // owned; an IPv6 address without brackets
    int tasks;  // at least 1
} bd_host;

typedef BD_ARRAY(bd_host) bd_host_list;

void bd_host_list_free(bd_host_list *list);

// Appends a host of `len` bytes. InvalidArgument for a name that is empty or begins with '-', and
// for more than BD_HOSTS_MAX hosts.
braid_code bd_host_list_add(bd_host_list *list, const char *name, size_t len, int tasks, braid_status *st);

// Appends the hosts of "host:tasks,host,[v6]:tasks"; a host without a number has one task, and one that is
// there already gets more. InvalidArgument for any other text. The caller frees the list after an error, too.
braid_code bd_host_list_parse(const char *text, bd_host_list *list, braid_status *st);

// The same from the text of a file of Open MPI: lines "host", "host:tasks" or "host slots=tasks", and comments
// from '#' on; max_slots is ignored. InvalidArgument names the line.
braid_code bd_host_file_parse(const char *text, bd_host_list *list, braid_status *st);

// The tasks of all hosts.
int bd_host_list_tasks(const bd_host_list *list);

// Returns "host:port" or "[v6]:port" (bd_free).
char *bd_host_address(const char *host, int port);
#define BD_PORT_MAX 65535

// Puts tasks on hosts, one after the other: fills a host before the next one, or deals tasks to the hosts in
// turn.
typedef struct bd_placing {
    const bd_host_list *hosts; // not owned
    bool is_cyclic;
    size_t host; // the next one, if it has room
    int *used;   // [hosts]: tasks that are there; owned
} bd_placing;

void bd_placing_init(bd_placing *p, const bd_host_list *hosts, bool is_cyclic);
void bd_placing_fini(bd_placing *p);
// Returns the index of the host of the next task, and which task of that host it is. The caller places at
// most bd_host_list_tasks tasks.
size_t bd_placing_next(bd_placing *p, int *task_on_host);

#endif
