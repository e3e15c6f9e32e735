// Clusters of Slurm: the variables that srun sets for the processes of a step.
//
//     SLURM_STEP_NODELIST=node[01-03,7],other       the hosts
//     SLURM_STEP_TASKS_PER_NODE=2(x3),1,2           the tasks of each
//     SLURM_STEP_NUM_TASKS, SLURM_PROCID            the number of tasks, and which one this is
//     SLURM_DISTRIBUTION=cyclic                     the order of ranks; unset: block
//     SLURM_NODEID, SLURM_LOCALID                   the index of the host, and of the process there
//
// A batch script has SLURM_PROCID, SLURM_NTASKS and SLURM_JOB_NODELIST, too, and is no task: the variables of
// the step decide.
#include "base/strbuf.h"
#include "cluster/spec/launch.h"
#include <stdlib.h>
#include <string.h>

// As node[1-2]rack[1-2]: Slurm itself allows fewer.
#define BRACKETS_MAX 8

typedef struct expansion {
    bd_host_list *list;
    bd_strbuf name; // what the brackets before have given
    braid_status *st;
} expansion;

static bool parse_number(const char *text, size_t len, int64_t *out)
{
    char *copy = bd_strndup(text, len);
    const bool ok = len > 0 && strspn(copy, "0123456789") == len && bd_parse_int64(copy, out);
    bd_free(copy);
    return ok;
}

static void cut(bd_strbuf *b, size_t len)
{
    b->len = len;
    if (b->data) b->data[len] = 0;
}

static braid_code expand(expansion *e, const char *text, size_t len, int brackets);

// The numbers of "01-03" or "7", each followed by the rest of the name.
static braid_code expand_range(expansion *e, const char *range, size_t range_len, const char *rest,
                               size_t rest_len, int brackets)
{
    const char *dash = memchr(range, '-', range_len);
    const size_t width = dash ? (size_t)(dash - range) : range_len, before = e->name.len;
    int64_t first, last;
    if (!parse_number(range, width, &first) ||
        !(dash ? parse_number(dash + 1, range_len - width - 1, &last) : (last = first, true)) || last < first)
        return bd_fail(e->st, BRAID_INVALID_ARGUMENT, "'%.*s' is no range of numbers", (int)range_len, range);
    for (int64_t n = first; n <= last; n++) {
        bd_strbuf_appendf(&e->name, "%0*lld", (int)width, (long long)n);
        const braid_code code = expand(e, rest, rest_len, brackets);
        if (code) return code;
        cut(&e->name, before);
    }
    return BRAID_OK;
}

// Adds the hosts of one name, which may have brackets.
static braid_code expand(expansion *e, const char *text, size_t len, int brackets)
{
    const char *open = memchr(text, '[', len);
    const size_t plain = open ? (size_t)(open - text) : len;
    bd_strbuf_append_n(&e->name, text, plain);
    if (!open) return bd_host_list_add(e->list, bd_strbuf_str(&e->name), e->name.len, 1, e->st);
    const char *close = memchr(open, ']', len - plain);
    if (!close || brackets == BRACKETS_MAX)
        return bd_fail(e->st, BRAID_INVALID_ARGUMENT,
                       close ? "'%.*s' has too many brackets" : "'%.*s' has a '[' without ']'", (int)len,
                       text);
    const char *at = open + 1;
    while (at <= close) {
        const char *end = memchr(at, ',', (size_t)(close - at));
        if (!end) end = close;
        const braid_code code = expand_range(e, at, (size_t)(end - at), close + 1,
                                             len - (size_t)(close + 1 - text), brackets + 1);
        if (code) return code;
        at = end + 1;
    }
    return BRAID_OK;
}

// The length of the name at the beginning of a list: commas within brackets do not end it.
static size_t name_len(const char *text)
{
    size_t len = 0;
    for (bool inside = false; text[len] && (inside || text[len] != ','); len++) {
        if (text[len] == '[') inside = true;
        if (text[len] == ']') inside = false;
    }
    return len;
}

static braid_code read_hosts(bd_host_list *list, const char *text, braid_status *st)
{
    for (;;) {
        const size_t len = name_len(text);
        expansion e = {.list = list, .st = st};
        const braid_code code = expand(&e, text, len, 0);
        bd_strbuf_fini(&e.name);
        if (code || !text[len]) return code;
        text += len + 1;
    }
}

// Parses "2" or "2(x3)": `repeat` hosts have so many tasks.
static bool parse_tasks(const char *text, size_t len, int64_t *tasks, int64_t *repeat)
{
    const char *times = memchr(text, '(', len);
    const size_t digits = times ? (size_t)(times - text) : len;
    *repeat = 1;
    if (!parse_number(text, digits, tasks) || *tasks < 1 || *tasks > BD_LAUNCH_TASKS_MAX) return false;
    return !times || (len > digits + 3 && times[1] == 'x' && text[len - 1] == ')' &&
                      parse_number(times + 2, len - digits - 3, repeat));
}

// The tasks of each host, in the order of the list.
static braid_code read_tasks(bd_host_list *list, const char *text, braid_status *st)
{
    const char *piece;
    size_t len, host = 0;
    bool fits = true;
    while (fits && bd_split_next(&text, ',', &piece, &len)) {
        int64_t tasks, repeat;
        if (!parse_tasks(piece, len, &tasks, &repeat))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%.*s' is no number of tasks, as 2 or 2(x3)",
                           (int)len, piece);
        fits = (uint64_t)repeat <= list->len - host;
        for (; fits && repeat > 0; repeat--)
            list->items[host++].tasks = (int)tasks;
    }
    if (fits && host == list->len) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "it does not fit the %zu host%s of SLURM_STEP_NODELIST",
                   list->len, list->len == 1 ? "" : "s");
}

static braid_code read_distribution(bd_launch *l, braid_status *st)
{
    const char *text = getenv("SLURM_DISTRIBUTION");
    if (!text || !text[0]) return BRAID_OK;
    const size_t len = strcspn(text, ":,"); // behind it: the distribution within a host
    l->is_cyclic = len == strlen("cyclic") && strncmp(text, "cyclic", len) == 0;
    if (l->is_cyclic || (len == strlen("block") && strncmp(text, "block", len) == 0)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "SLURM_DISTRIBUTION is '%s': start the tasks by srun --distribution=block or cyclic",
                   text);
}

static braid_code read_numbers(bd_launch *l, braid_status *st)
{
    braid_code code = bd_launch_number("SLURM_PROCID", -1, 0, l->task_count - 1, &l->rank, st);
    if (!code) code = bd_launch_number("SLURM_NODEID", -1, 0, BD_HOSTS_MAX - 1, &l->host, st);
    return code ? code
                : bd_launch_number("SLURM_LOCALID", -1, 0, BD_LAUNCH_TASKS_MAX - 1, &l->rank_on_host, st);
}

static braid_code read_variables(bd_launch *l, const char *hosts, braid_status *st)
{
    const char *tasks = getenv("SLURM_STEP_TASKS_PER_NODE");
    braid_code code = read_hosts(&l->hosts, hosts, st);
    if (code) return bd_status_prefix(st, "SLURM_STEP_NODELIST: ");
    if (!tasks) return bd_fail(st, BRAID_INVALID_ARGUMENT, "SLURM_STEP_TASKS_PER_NODE is not set");
    code = read_tasks(&l->hosts, tasks, st);
    if (code) return bd_status_prefix(st, "SLURM_STEP_TASKS_PER_NODE: ");
    if (bd_host_list_tasks(&l->hosts) != l->task_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "SLURM_STEP_TASKS_PER_NODE has %d tasks, SLURM_STEP_NUM_TASKS %d",
                       bd_host_list_tasks(&l->hosts), l->task_count);
    code = read_distribution(l, st);
    return code ? code : read_numbers(l, st);
}

braid_code bd_launch_from_slurm(bd_launch *l, bool *found, braid_status *st)
{
    const char *hosts = getenv("SLURM_STEP_NODELIST"), *job = getenv("SLURM_JOB_ID"),
               *step = getenv("SLURM_STEP_ID");
    *found = false;
    if (!hosts || !hosts[0]) return BRAID_OK;
    const braid_code code =
        bd_launch_number("SLURM_STEP_NUM_TASKS", -1, 1, BD_LAUNCH_TASKS_MAX, &l->task_count, st);
    *found = true;
    if (code || l->task_count == 1) return code;
    l->source = bd_asprintf("Slurm step %s.%s", job ? job : "?", step ? step : "?");
    return read_variables(l, hosts, st);
}
