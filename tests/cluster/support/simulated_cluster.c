// The tasks of a simulated cluster: their lives, and the supervision of `braid run` over them.
#include "simulated_cluster.h"
#include "base/alloc.h"
#include "base/done_notice.h"
#include "base/log.h"
#include "cluster/spec/cluster_spec.h"
#include "io/testing/memory_fs.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGTERM_GRACE_MS 500

static sim_cluster *the_cluster; // for the hooks of the disk

// ---- The disk ----

static int disk_process(void)
{
    return bd_process_number(bd_process_self());
}

static sim_life *own_life(sim_cluster *c)
{
    for (int i = 0; i < c->task_count; i++)
        if (c->tasks[i].life && c->tasks[i].life->process == bd_process_self()) return c->tasks[i].life;
    return NULL;
}

static void disk_is_used(bd_memory_fs_call call, const char *path)
{
    (void)path;
    sim_cluster *c = the_cluster;
    if (!bd_process_self() || call == BD_MEMORY_FS_READS) return;
    const int64_t delay_max = c->options.disk_delay_max_ns * (call == BD_MEMORY_FS_SYNCS ? 10 : 1);
    bd_mutex_lock(&c->mu);
    c->disk_changes++;
    const bool is_due = c->fault_at_change && c->disk_changes >= c->fault_at_change;
    if (is_due) {
        c->waits_for_fault = own_life(c);
        c->fault_at_change = 0;
        bd_cond_broadcast(&c->changed);
    }
    while (is_due && c->waits_for_fault && !c->is_over) // ends with sim_fault_made
        bd_cond_wait(&c->changed, &c->mu);
    bd_mutex_unlock(&c->mu);
    if (delay_max > 0) bd_simulation_sleep((int64_t)(bd_random_u64() % (uint64_t)delay_max));
}

// ---- Lives ----

static void take_notice(const char *job, int index)
{
    (void)job, (void)index;
    sim_cluster *c = the_cluster;
    bd_mutex_lock(&c->mu);
    sim_life *life = own_life(c);
    if (life) life->task->supervised.said_done = true;
    bd_mutex_unlock(&c->mu);
}

// The mutex is held so that a crash finds the host on the network or no host.
static bd_transport *join_network(sim_life *life, braid_status *st)
{
    sim_cluster *c = life->task->cluster;
    bd_mutex_lock(&c->mu);
    life->host = bd_inprocess_host_new(c->network, life->task->address, st);
    bd_mutex_unlock(&c->mu);
    return life->host;
}

braid_server *sim_life_serve(sim_life *life, braid_status *st)
{
    sim_task *t = life->task;
    sim_cluster *c = t->cluster;
    if (!join_network(life, st)) return NULL;
    braid_server *server = bd_server_start(c->spec, t->job, t->index, NULL, life->host, st);
    bd_mutex_lock(&c->mu);
    life->server = server;
    bd_mutex_unlock(&c->mu);
    return server;
}

void sim_life_unserve(sim_life *life)
{
    sim_cluster *c = life->task->cluster;
    bd_mutex_lock(&c->mu);
    braid_server *server = life->server;
    life->server = NULL;
    while (life->is_terminating) // ends: the server stops
        bd_cond_wait(&c->changed, &c->mu);
    bd_mutex_unlock(&c->mu);
    braid_server_free(server);
    if (life->host) life->host->free(life->host);
    life->host = NULL;
}

void sim_life_fail(sim_life *life, const braid_status *st)
{
    snprintf(life->error, sizeof life->error, "%s: %s", braid_code_name(st->code), braid_status_message(st));
}

static void live(void *arg)
{
    sim_life *life = arg;
    sim_cluster *c = life->task->cluster;
    const int exit_code = c->options.program(life, c->options.arg);
    bd_mutex_lock(&c->mu);
    life->has_ended = true;
    life->exit_code = exit_code;
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
}

// Joins the network again, if the host had lost its power.
static void connect_links(const sim_task *t)
{
    const sim_cluster *c = t->cluster;
    for (int i = 0; i < c->task_count; i++) {
        bd_inprocess_set_link(c->network, c->tasks[i].address, t->address, BD_LINK_UP);
        bd_inprocess_set_link(c->network, t->address, c->tasks[i].address, BD_LINK_UP);
    }
}

// ---- For the supervision, with the mutex held ----

static sim_task *task_of(bd_supervised *t)
{
    return BD_CONTAINER_OF(t, sim_task, supervised);
}

static bool start(void *arg, bd_supervised *supervised)
{
    (void)arg;
    sim_task *t = task_of(supervised);
    sim_life *life = bd_calloc(1, sizeof *life);
    life->task = t;
    life->previous = t->life;
    t->life = life;
    t->lives++;
    snprintf(life->dir, sizeof life->dir, "/@%d.%d/model", t->number, t->lives);
    char name[40];
    snprintf(name, sizeof name, "%s.%d", t->name, t->lives);
    if (t->lives > 1) connect_links(t);
    life->process = bd_process_start(name, live, life);
    return true;
}

static void terminate(void *arg)
{
    sim_life *life = arg;
    sim_cluster *c = life->task->cluster;
    bd_mutex_lock(&c->mu);
    braid_server *server = life->server;
    life->is_terminating = server != NULL;
    bd_mutex_unlock(&c->mu);
    if (!server) return;
    braid_server_stop(server, SIGTERM_GRACE_MS);
    bd_mutex_lock(&c->mu);
    life->is_terminating = false;
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
}

// A worker's program that is asked to end and does not stop its server would end at once: it is killed.
static void ask_to_end(void *arg, bd_supervised *t, int sig)
{
    (void)arg, (void)sig;
    sim_life *life = task_of(t)->life;
    if (life->server) bd_process_add_thread(life->process, "signals", terminate, life);
}

static void kill_life(void *arg, bd_supervised *t)
{
    sim_cluster *c = arg;
    sim_life *life = task_of(t)->life;
    if (life->has_ended || life->is_crashed) return;
    life->is_crashed = true;
    c->crashes++;
    bd_process_crash(life->process);
    bd_inprocess_host_crash(c->network, task_of(t)->address, false);
}

static void say(void *arg, const char *message)
{
    (void)arg;
    bd_info("%s", message);
}

// ---- The run ----

static void note_failure(sim_cluster *c, const sim_task *t)
{
    if (c->failed_ns) return;
    c->failed_ns = bd_now_ns();
    c->has_ps_failed = t->supervised.is_ps;
}

static void look_at_ends_locked(sim_cluster *c)
{
    for (int i = 0; i < c->task_count; i++) {
        sim_task *t = &c->tasks[i];
        const sim_life *life = t->life;
        if (!t->supervised.is_running || (!life->has_ended && !life->is_crashed)) continue;
        if ((life->is_crashed || life->exit_code) && !t->supervised.asked_to_end) note_failure(c, t);
        if (life->error[0]) bd_info("%s has failed: %s", t->name, life->error);
        bd_supervision_task_ended(&c->supervision, &t->supervised, life->exit_code,
                                  life->is_crashed ? SIGKILL : 0);
    }
}

void sim_cluster_run(sim_cluster *c)
{
    bd_supervision *s = &c->supervision;
    bd_mutex_lock(&c->mu);
    bd_supervision_begin(s);
    while (bd_supervision_running(s, true) > 0) {
        (void)bd_cond_wait_until(&c->changed, &c->mu, bd_supervision_deadline(s));
        look_at_ends_locked(c);
        bd_supervision_act(s);
        look_at_ends_locked(c); // of those that it has killed
    }
    c->is_over = true;
    c->over_ns = bd_now_ns();
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
}

// ---- Beginning and end ----

static void add_tasks(sim_cluster *c, const char *job, int count)
{
    for (int i = 0; i < count; i++) {
        BD_STATUS(st);
        sim_task *t = &c->tasks[c->task_count];
        *t = (sim_task){.cluster = c,
                        .job = job,
                        .index = i,
                        .number = c->task_count,
                        .supervised = {.name = t->name, .is_ps = strcmp(job, "ps") == 0}};
        c->supervised[c->task_count++] = &t->supervised;
        snprintf(t->name, sizeof t->name, "%s/%d", job, i);
        snprintf(t->address, sizeof t->address, "127.0.0.1:%d", c->task_count);
        bd_cluster_add(c->spec, job, i, t->address, st);
        BD_ASSERT(!st->code);
    }
}

void sim_cluster_begin(sim_cluster *c, const sim_options *options)
{
    BD_STATUS(st);
    *c = (sim_cluster){.options = *options, .rng = bd_rng_init(options->seed ^ 0x5eed)};
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->changed);
    char grace[32];
    snprintf(grace, sizeof grace, "%g", (double)options->grace_ms / 1e3);
    setenv("BRAID_GRACE_SECONDS", grace, 1);
    setenv("BRAID_START_TIMEOUT_SECONDS", grace, 1);
    c->network = bd_inprocess_transport_new(&options->network, NULL, st);
    BD_ASSERT(c->network);
    c->spec = bd_cluster_new();
    add_tasks(c, "ps", options->ps);
    add_tasks(c, "worker", options->workers);
    c->supervision = (bd_supervision){
        .env = {.start = start, .ask_to_end = ask_to_end, .kill = kill_life, .say = say, .arg = c},
        .tasks = c->supervised,
        .count = c->task_count,
        .max_restarts = options->max_restarts,
        .grace_ms = options->grace_ms};
    the_cluster = c;
    bd_done_notice_taker = take_notice;
    bd_memory_fs_install();
    bd_memory_fs_set_hooks(&(bd_memory_fs_hooks){disk_process, disk_is_used});
}

void sim_cluster_end(sim_cluster *c)
{
    bd_memory_fs_uninstall();
    c->network->free(c->network);
    braid_cluster_free(c->spec);
    for (int i = 0; i < c->task_count; i++)
        for (sim_life *life = c->tasks[i].life, *previous; life; life = previous) {
            previous = life->previous;
            bd_free(life);
        }
    bd_cond_fini(&c->changed);
    bd_mutex_fini(&c->mu);
}
