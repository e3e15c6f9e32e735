// Lists of hosts with a number of tasks for each.
#include "base/host_list.h"
#include "base/strbuf.h"
#include <string.h>

void bd_host_list_free(bd_host_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        bd_free(list->items[i].name);
    bd_array_free(list);
}

braid_code bd_host_list_add(bd_host_list *list, const char *name, size_t len, int tasks, braid_status *st)
{
    if (len == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "the name of a host is missing");
    if (name[0] == '-')
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%.*s' is no name of a host", (int)len, name);
    if (list->len == BD_HOSTS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "more than %d hosts", BD_HOSTS_MAX);
    bd_array_push(list, (bd_host){bd_strndup(name, len), tasks});
    return BRAID_OK;
}

static bool parse_tasks(const char *text, int64_t *tasks)
{
    return bd_parse_int64(text, tasks) && *tasks >= 1 && *tasks <= BD_LAUNCH_TASKS_MAX;
}

static braid_code add_or_extend(bd_host_list *list, const char *name, size_t len, int tasks, braid_status *st)
{
    for (size_t i = 0; i < list->len; i++) {
        bd_host *host = &list->items[i];
        if (strlen(host->name) != len || memcmp(host->name, name, len) != 0) continue;
        if (host->tasks > BD_LAUNCH_TASKS_MAX - tasks)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "host '%s' has more than %d tasks", host->name,
                           BD_LAUNCH_TASKS_MAX);
        host->tasks += tasks;
        return BRAID_OK;
    }
    return bd_host_list_add(list, name, len, tasks, st);
}

static braid_code add_entry(bd_host_list *list, const char *entry, braid_status *st)
{
    const bool in_brackets = entry[0] == '[';
    const char *name = entry + in_brackets;
    const size_t len = strcspn(name, in_brackets ? "]" : ":");
    const char *rest = name + len + (in_brackets && name[len]);
    int64_t tasks = 1;
    const bool has_tasks = *rest == ':' && parse_tasks(rest + 1, &tasks);
    if ((*rest && !has_tasks) || (in_brackets && !name[len]))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no host or host:tasks", entry);
    return add_or_extend(list, name, len, (int)tasks, st);
}

braid_code bd_host_list_parse(const char *text, bd_host_list *list, braid_status *st)
{
    const char *piece;
    size_t len;
    while (bd_split_next(&text, ',', &piece, &len)) {
        char *entry = bd_strndup(piece, len);
        const braid_code code = add_entry(list, entry, st);
        bd_free(entry);
        if (code) return code;
    }
    return BRAID_OK;
}

// ---- Files ----

// The words of a line, which it cuts: the host, then options.
static braid_code add_line(bd_host_list *list, char *line, braid_status *st)
{
    line[strcspn(line, "#")] = 0;
    char *rest = NULL, *host = strtok_r(line, " \t\r", &rest), *option;
    if (!host) return BRAID_OK;
    int64_t tasks = 1;
    bool has_tasks = false;
    while ((option = strtok_r(NULL, " \t\r", &rest))) {
        const bool is_slots = bd_str_starts_with(option, "slots=");
        if (is_slots ? !parse_tasks(strchr(option, '=') + 1, &tasks)
                     : !bd_str_starts_with(option, "max_slots=") && !bd_str_starts_with(option, "max-slots="))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no slots=N", option);
        has_tasks |= is_slots;
    }
    return has_tasks ? add_or_extend(list, host, strlen(host), (int)tasks, st) : add_entry(list, host, st);
}

braid_code bd_host_file_parse(const char *text, bd_host_list *list, braid_status *st)
{
    const char *piece;
    size_t len;
    for (int number = 1; bd_split_next(&text, '\n', &piece, &len); number++) {
        char *line = bd_strndup(piece, len);
        const braid_code code = add_line(list, line, st);
        bd_free(line);
        if (code) return bd_status_prefix(st, "line %d: ", number);
    }
    if (list->len > 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "it names no host");
}

int bd_host_list_tasks(const bd_host_list *list)
{
    int64_t tasks = 0;
    for (size_t i = 0; i < list->len; i++)
        tasks += list->items[i].tasks;
    return tasks > INT32_MAX ? INT32_MAX : (int)tasks;
}

char *bd_host_address(const char *host, int port)
{
    return strchr(host, ':') ? bd_asprintf("[%s]:%d", host, port) : bd_asprintf("%s:%d", host, port);
}

// ---- Placing ----

void bd_placing_init(bd_placing *p, const bd_host_list *hosts, bool is_cyclic)
{
    *p = (bd_placing){.hosts = hosts, .is_cyclic = is_cyclic, .used = bd_calloc(hosts->len, sizeof *p->used)};
}

void bd_placing_fini(bd_placing *p)
{
    bd_free(p->used);
}

size_t bd_placing_next(bd_placing *p, int *task_on_host)
{
    while (p->used[p->host] == p->hosts->items[p->host].tasks)
        p->host = (p->host + 1) % p->hosts->len;
    const size_t host = p->host;
    *task_on_host = p->used[host]++;
    if (p->is_cyclic) p->host = (host + 1) % p->hosts->len;
    return host;
}
