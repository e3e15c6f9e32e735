// Clusters: jobs, tasks and addresses, and their validation.
#include "cluster/spec/cluster_spec.h"
#include "base/check.h"
#include "base/strbuf.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

// Longer job names do not fit device names (graph/device_name.h).
#define JOB_NAME_MAX 127
#define PATH_SIZE sizeof((struct sockaddr_un *)NULL)->sun_path

// ---- Addresses ----

static bool parse_port(const char *text, int *port)
{
    int64_t value;
    if (!isdigit((unsigned char)text[0]) || !bd_parse_int64(text, &value) || value < 1 || value > 65535)
        return false;
    *port = (int)value;
    return true;
}

static bool host_is_valid(const char *host, bool in_brackets)
{
    struct in6_addr v6;
    if (in_brackets) return inet_pton(AF_INET6, host, &v6) == 1;
    for (const char *at = host; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-._", *at)) return false;
    return host[0] != 0;
}

braid_code bd_host_port_parse(const char *text, char host[BD_HOST_LEN_MAX + 1], int *port, braid_status *st)
{
    if (strstr(text, "://"))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no host:port (without a scheme)", text);
    const char *colon = strrchr(text, ':');
    if (!colon) return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no host:port: the port is missing", text);
    if (!parse_port(colon + 1, port))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "'%s' is no host:port: the port is a number from 1 to 65535", text);
    size_t len = (size_t)(colon - text);
    const bool in_brackets = len >= 2 && text[0] == '[' && colon[-1] == ']';
    if (in_brackets) {
        text++;
        len -= 2;
    }
    if (len > BD_HOST_LEN_MAX) return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s': the host is too long", text);
    memcpy(host, text, len);
    host[len] = 0;
    if (!host_is_valid(host, in_brackets))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no host:port: '%s' is no host name or address",
                       text, host);
    return BRAID_OK;
}

const char *bd_address_unix_path(const char *address)
{
    return bd_str_starts_with(address, "unix:") ? address + strlen("unix:") : NULL;
}

static braid_code check_path(const char *path, const char *address, braid_status *st)
{
    if (path[0] != '/')
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no unix:/path: the path must begin with '/'",
                       address);
    for (const char *at = path; *at; at++)
        if (iscntrl((unsigned char)*at))
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "The path of the socket of a task has a control character");
    if (strlen(path) >= PATH_SIZE)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s': the path of a socket has at most %d bytes", address,
                       (int)PATH_SIZE - 1);
    if (strchr(path, '|'))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s': replicas have addresses of the form host:port",
                       address);
    return BRAID_OK;
}

// A part of an address, not terminated.
typedef struct text_part {
    const char *text;
    size_t len;
} text_part;

static bool part_is(text_part part, const char *text)
{
    return part.len == strlen(text) && strncasecmp(part.text, text, part.len) == 0;
}

static bool parts_are_same(text_part a, text_part b)
{
    return a.len == b.len && strncasecmp(a.text, b.text, a.len) == 0;
}

// Cuts a "host:port" at its last colon.
static bool split_port(text_part host_port, text_part *host, text_part *port)
{
    size_t at = host_port.len;
    while (at > 0 && host_port.text[at - 1] != ':')
        at--;
    if (at == 0) return false;
    *host = (text_part){host_port.text, at - 1};
    *port = (text_part){host_port.text + at, host_port.len - at};
    return true;
}

static bool is_localhost_at(text_part name, text_part address)
{
    return part_is(name, "localhost") && (part_is(address, "127.0.0.1") || part_is(address, "[::1]"));
}

// The same "host:port", perhaps in other words.
static bool host_ports_are_same(text_part a, text_part b)
{
    text_part a_host, a_port, b_host, b_port;
    if (parts_are_same(a, b)) return true;
    return split_port(a, &a_host, &a_port) && split_port(b, &b_host, &b_port) &&
           parts_are_same(a_port, b_port) &&
           (is_localhost_at(a_host, b_host) || is_localhost_at(b_host, a_host));
}

// Whether one of the processes of `address` listens at the "host:port" of `len` bytes.
static bool listens_at(const char *address, const char *host_port, size_t len)
{
    text_part one;
    while (bd_split_next(&address, '|', &one.text, &one.len))
        if (host_ports_are_same(one, (text_part){host_port, len})) return true;
    return false;
}

bool bd_address_is_same(const char *a, const char *b)
{
    text_part one, other;
    const char *a_path = bd_address_unix_path(a), *b_path = bd_address_unix_path(b);
    if (a_path || b_path) return a_path && b_path && strcmp(a_path, b_path) == 0;
    while (bd_split_next(&a, '|', &one.text, &one.len))
        if (!bd_split_next(&b, '|', &other.text, &other.len) || !host_ports_are_same(one, other))
            return false;
    return !bd_split_next(&b, '|', &other.text, &other.len);
}

braid_code bd_address_check(const char *address, braid_status *st)
{
    const char *rest = address, *one, *path = bd_address_unix_path(address);
    size_t len;
    if (path) return check_path(path, address, st);
    for (int count = 0; bd_split_next(&rest, '|', &one, &len); count++) {
        if (count == BD_REPLICAS_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' has more than the two addresses of replicas",
                           address);
        char host[BD_HOST_LEN_MAX + 1];
        int port;
        char *text = bd_strndup(one, len);
        const braid_code code = bd_host_port_parse(text, host, &port, st);
        bd_free(text);
        if (code) return code;
        if (rest && listens_at(rest, one, len))
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' has the same address twice", address);
    }
    return BRAID_OK;
}

int bd_address_replicas(const char *address)
{
    return strchr(address, '|') ? BD_REPLICAS_MAX : 1;
}

char *bd_address_of_replica(const char *address, int replica)
{
    const char *one;
    size_t len;
    for (int r = 0; bd_split_next(&address, '|', &one, &len); r++)
        if (r == replica) return bd_strndup(one, len);
    return NULL;
}

bool bd_host_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(host, "localhost") == 0;
}

// ---- Jobs and tasks ----

braid_cluster *bd_cluster_new(void)
{
    return bd_calloc(1, sizeof(braid_cluster));
}

void braid_cluster_free(braid_cluster *c)
{
    if (!c) return;
    for (size_t j = 0; j < c->jobs.len; j++) {
        bd_cluster_job *job = &c->jobs.items[j];
        for (size_t i = 0; i < job->tasks.len; i++)
            bd_free(job->tasks.items[i].address);
        bd_array_free(&job->tasks);
        bd_free(job->name);
    }
    bd_array_free(&c->jobs);
    bd_free(c->this_job);
    for (size_t i = 0; i < BD_CLUSTER_SETTINGS; i++)
        bd_free(c->settings[i]);
    bd_free(c);
}

braid_cluster *bd_cluster_copy(const braid_cluster *c)
{
    braid_cluster *copy = bd_cluster_new();
    for (size_t j = 0; j < c->jobs.len; j++) {
        const bd_cluster_job *from = &c->jobs.items[j];
        bd_cluster_job to = {.name = bd_strdup(from->name), .is_sparse = from->is_sparse};
        for (size_t i = 0; i < from->tasks.len; i++)
            bd_array_push(&to.tasks, (bd_cluster_task){from->tasks.items[i].index,
                                                       bd_strdup(from->tasks.items[i].address)});
        bd_array_push(&copy->jobs, to);
    }
    if (c->this_job) copy->this_job = bd_strdup(c->this_job);
    copy->is_sparse = c->is_sparse;
    copy->is_mpi_world = c->is_mpi_world;
    copy->this_task = c->this_task;
    copy->this_replica = c->this_replica;
    for (size_t i = 0; i < BD_CLUSTER_SETTINGS; i++)
        if (c->settings[i]) copy->settings[i] = bd_strdup(c->settings[i]);
    return copy;
}

const char *const bd_cluster_setting_names[BD_CLUSTER_SETTINGS] = {"model_dir", "session_master",
                                                                   "eval_session_master"};

const char *braid_cluster_setting(const braid_cluster *c, const char *name)
{
    for (size_t i = 0; i < BD_CLUSTER_SETTINGS; i++)
        if (strcmp(bd_cluster_setting_names[i], name) == 0) return c->settings[i];
    return NULL;
}

static bd_cluster_job *find_job(const braid_cluster *c, const char *name)
{
    for (size_t j = 0; j < c->jobs.len; j++)
        if (strcmp(c->jobs.items[j].name, name) == 0) return &c->jobs.items[j];
    return NULL;
}

static bd_cluster_task *find_task(const braid_cluster *c, const char *job, int index)
{
    const bd_cluster_job *found = job ? find_job(c, job) : NULL;
    for (size_t i = 0; found && i < found->tasks.len; i++)
        if (found->tasks.items[i].index == index) return &found->tasks.items[i];
    return NULL;
}

static braid_code check_job_name(const char *name, braid_status *st)
{
    bool valid = isalpha((unsigned char)name[0]) && strlen(name) <= JOB_NAME_MAX;
    for (const char *at = name; valid && *at; at++)
        valid = isalnum((unsigned char)*at) || *at == '_';
    if (valid) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "'%s' is no job name: letters, digits and '_', beginning with a letter, at most %d", name,
                   JOB_NAME_MAX);
}

static const bd_cluster_task *task_at(const braid_cluster *c, const char *host_port, size_t len,
                                      const char **job)
{
    for (size_t j = 0; j < c->jobs.len; j++)
        for (size_t i = 0; i < c->jobs.items[j].tasks.len; i++) {
            const bd_cluster_task *task = &c->jobs.items[j].tasks.items[i];
            *job = c->jobs.items[j].name;
            if (listens_at(task->address, host_port, len)) return task;
        }
    return NULL;
}

static braid_code check_new_address(const braid_cluster *c, const char *job, int64_t index,
                                    const char *address, braid_status *st)
{
    const braid_code code = bd_address_check(address, st);
    if (code) {
        bd_status_prefix(st, "/job:%s/task:%lld: ", job, (long long)index);
        return code;
    }
    // Only variables are copied: the second process of another task would not know its work.
    if (bd_address_replicas(address) > 1 && strcmp(job, "ps") != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "/job:%s/task:%lld: '%s' has two addresses; only tasks of job ps have replicas", job,
                       (long long)index, address);
    const char *one;
    size_t len;
    while (bd_split_next(&address, '|', &one, &len)) {
        const char *other_job;
        const bd_cluster_task *other = task_at(c, one, len, &other_job);
        if (other)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "/job:%s/task:%lld has the address %.*s of /job:%s/task:%d (%s)", job,
                           (long long)index, (int)len, one, other_job, other->index, other->address);
    }
    return BRAID_OK;
}

// Puts an empty item at `at` of an array with room for it.
static void make_gap(void *items, size_t item_size, size_t len, size_t at)
{
    char *base = items;
    memmove(base + (at + 1) * item_size, base + at * item_size, (len - at) * item_size);
}

static bd_cluster_job *find_or_add_job(braid_cluster *c, const char *name)
{
    bd_cluster_job *job = find_job(c, name);
    if (job) return job;
    size_t at = 0;
    while (at < c->jobs.len && strcmp(c->jobs.items[at].name, name) < 0)
        at++;
    bd_array_reserve(&c->jobs, c->jobs.len + 1);
    make_gap(c->jobs.items, sizeof c->jobs.items[0], c->jobs.len++, at);
    c->jobs.items[at] = (bd_cluster_job){.name = bd_strdup(name)};
    return &c->jobs.items[at];
}

braid_code bd_cluster_add(braid_cluster *c, const char *job_name, int64_t index, const char *address,
                          braid_status *st)
{
    braid_code code = check_job_name(job_name, st);
    if (code) return code;
    if (index < 0 || index > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "job '%s': %lld is no task index", job_name,
                       (long long)index);
    if (find_task(c, job_name, (int)index))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "/job:%s/task:%lld is given twice", job_name,
                       (long long)index);
    code = check_new_address(c, job_name, index, address, st);
    if (code) return code;
    bd_cluster_job *job = find_or_add_job(c, job_name);
    size_t at = 0;
    while (at < job->tasks.len && job->tasks.items[at].index < index)
        at++;
    bd_array_reserve(&job->tasks, job->tasks.len + 1);
    make_gap(job->tasks.items, sizeof job->tasks.items[0], job->tasks.len++, at);
    job->tasks.items[at] = (bd_cluster_task){(int)index, bd_strdup(address)};
    return BRAID_OK;
}

void bd_cluster_set_address(braid_cluster *c, const char *job, int index, const char *address)
{
    bd_cluster_task *task = find_task(c, job, index);
    BD_ASSERT(task);
    bd_free(task->address);
    task->address = bd_strdup(address);
}

bool bd_cluster_may_lack(const braid_cluster *c, const char *job)
{
    const bd_cluster_job *found = find_job(c, job);
    return c->is_sparse || (found && found->is_sparse);
}

void bd_cluster_set_sparse(braid_cluster *c, const char *job)
{
    bd_cluster_job *found = find_job(c, job);
    if (found) found->is_sparse = true;
}

char *bd_cluster_replica_address(const braid_cluster *c, const char *job, int index, int replica,
                                 braid_status *st)
{
    const bd_cluster_task *task = find_task(c, job, index);
    char *address = task ? bd_address_of_replica(task->address, replica) : NULL;
    if (!task)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The cluster has no /job:%s/task:%d", job ? job : "", index);
    else if (!address)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "/job:%s/task:%d at %s has no replica %d", job, index,
                task->address, replica);
    return address;
}

// ---- From lists of hosts ----

static braid_code add_hosts(braid_cluster *c, const char *job, const char *hosts, braid_status *st)
{
    if (!hosts || !hosts[0]) return BRAID_OK;
    const char *piece;
    size_t len;
    int64_t index = 0;
    while (bd_split_next(&hosts, ',', &piece, &len)) {
        char *address = bd_strndup(piece, len);
        const braid_code code = bd_cluster_add(c, job, index++, address, st);
        bd_free(address);
        if (code) return code;
    }
    return BRAID_OK;
}

braid_cluster *braid_cluster_from_hosts(const char *ps_hosts, const char *worker_hosts, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    braid_cluster *c = bd_cluster_new();
    if (add_hosts(c, "ps", ps_hosts, st) || add_hosts(c, "worker", worker_hosts, st)) {
        braid_cluster_free(c);
        return NULL;
    }
    return c;
}

// ---- Reading ----

int braid_cluster_num_jobs(const braid_cluster *c)
{
    return (int)c->jobs.len;
}

const char *braid_cluster_job(const braid_cluster *c, int index)
{
    return index >= 0 && (size_t)index < c->jobs.len ? c->jobs.items[index].name : NULL;
}

int braid_cluster_num_tasks(const braid_cluster *c, const char *name)
{
    const bd_cluster_job *job = name ? find_job(c, name) : NULL;
    return job ? (int)job->tasks.len : 0;
}

int braid_cluster_task_index(const braid_cluster *c, const char *name, int i)
{
    const bd_cluster_job *job = name ? find_job(c, name) : NULL;
    return job && i >= 0 && (size_t)i < job->tasks.len ? job->tasks.items[i].index : -1;
}

const char *braid_cluster_address(const braid_cluster *c, const char *job, int index)
{
    const bd_cluster_task *task = find_task(c, job, index);
    return task ? task->address : NULL;
}

const char *braid_cluster_this_job(const braid_cluster *c)
{
    return c->this_job;
}

int braid_cluster_this_task(const braid_cluster *c)
{
    return c->this_task;
}

int bd_cluster_task_count(const braid_cluster *c)
{
    int count = 0;
    for (size_t j = 0; j < c->jobs.len; j++)
        count += (int)c->jobs.items[j].tasks.len;
    return count;
}
