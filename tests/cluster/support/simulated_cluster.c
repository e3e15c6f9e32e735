// The tasks of a simulated cluster: their lives, and `braid run` over them (src/cli/tasks.c).
#include "simulated_cluster.h"
#include "base/alloc.h"
#include "base/done_notice.h"
#include "base/log.h"
#include "cluster/spec/cluster_spec.h"
#include "io/testing/memory_fs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As in src/cli/tasks.c.
#define PS_GRACE_MS 300
#define KILL_AFTER_MS 5000
#define PS_LOST_GRACE_MS 2000
#define RESTART_PAUSE_MIN_MS 100
#define RESTART_PAUSE_MAX_MS 10000
#define RAN_FOR_A_WHILE_MS 10000
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
    if (life) life->said_done = true;
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

static void start_locked(sim_task *t)
{
    sim_life *life = bd_calloc(1, sizeof *life);
    life->task = t;
    life->started_ns = bd_now_ns();
    life->previous = t->life;
    const int number = t->restarts + t->starts_again + 1;
    snprintf(life->dir, sizeof life->dir, "/@%d.%d/model", t->number, number);
    t->life = life;
    t->restart_ns = BD_FOREVER;
    char name[40];
    snprintf(name, sizeof name, "%s.%d", t->name, number);
    if (number > 1) connect_links(t);
    life->process = bd_process_start(name, live, life);
}

// ---- `braid run` ----

typedef enum phase {
    WORKING,
    PS_MAY_END,
    PS_LOST,
    ENDING,
    KILLING
} phase;

typedef struct supervisor {
    sim_cluster *c;
    phase phase;
    int64_t phase_deadline;
    int64_t ps_lost_ns;
    bool failed;
} supervisor;

static bool runs(const sim_task *t)
{
    return t->life && !t->is_over && t->restart_ns == BD_FOREVER;
}

static int running(const sim_cluster *c, bool count_ps)
{
    int n = 0;
    for (int i = 0; i < c->task_count; i++)
        n += !c->tasks[i].is_over && (count_ps || !c->tasks[i].is_ps);
    return n;
}

static void set_phase(supervisor *s, phase p, int64_t in_ms)
{
    if (s->phase == WORKING) s->c->working_ns = bd_now_ns();
    s->phase = p;
    s->phase_deadline = in_ms < 0 ? BD_FOREVER : bd_deadline_after_ms(in_ms);
}

static void fail_run(supervisor *s, int exit_code)
{
    if (!s->failed) s->c->exit_code = exit_code;
    s->failed = true;
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
static void ask_all_to_end_locked(supervisor *s)
{
    for (int i = 0; i < s->c->task_count; i++) {
        sim_task *t = &s->c->tasks[i];
        if (t->restart_ns != BD_FOREVER) t->is_over = true;
        t->restart_ns = BD_FOREVER;
        if (!runs(t)) continue;
        t->asked_to_end = true;
        if (t->life->server) bd_process_add_thread(t->life->process, "signals", terminate, t->life);
    }
    set_phase(s, ENDING, KILL_AFTER_MS);
}

static void kill_all_locked(supervisor *s)
{
    for (int i = 0; i < s->c->task_count; i++) {
        sim_life *life = s->c->tasks[i].life;
        if (!runs(&s->c->tasks[i]) || life->has_ended || life->is_crashed) continue;
        bd_info("%s did not end in time and is killed", s->c->tasks[i].name);
        life->is_crashed = true;
        life->exit_code = 128 + 9;
        s->c->crashes++;
        bd_process_crash(life->process);
        bd_inprocess_host_crash(s->c->network, s->c->tasks[i].address, false);
    }
    set_phase(s, KILLING, -1);
}

static void plan_restart(supervisor *s, sim_task *t)
{
    const bool ran_for_a_while = bd_now_ns() - t->life->started_ns >= RAN_FOR_A_WHILE_MS * SIM_MS;
    int64_t pause_ms = RESTART_PAUSE_MIN_MS;
    for (int i = 0; i < t->restarts && !ran_for_a_while && pause_ms < RESTART_PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    t->restarts++;
    pause_ms = bd_min(pause_ms, bd_min(RESTART_PAUSE_MAX_MS, s->c->options.grace_ms / 2));
    t->restart_ns = bd_deadline_after_ms(pause_ms);
    bd_info("%s ended with exit code %d (%s); restart %d of %d in %.1f s", t->name, t->life->exit_code,
            t->life->error, t->restarts, s->c->options.max_restarts, (double)pause_ms / 1e3);
}

static const sim_task *find_restart(const sim_cluster *c, bool of_ps)
{
    for (int i = 0; i < c->task_count; i++)
        if (c->tasks[i].restart_ns != BD_FOREVER && (of_ps || !c->tasks[i].is_ps)) return &c->tasks[i];
    return NULL;
}

static bool has_ended_well(const sim_task *t)
{
    return t->is_over && !t->life->exit_code;
}

static bool has_ps_ended(const sim_cluster *c)
{
    for (int i = 0; i < c->task_count; i++)
        if (c->tasks[i].is_ps && has_ended_well(&c->tasks[i])) return true;
    return false;
}

// When a task is restarted, tasks that were started before the last loss of a parameter server and have ended
// are too.
static void start_ended_again(supervisor *s)
{
    const sim_task *with = find_restart(s->c, true);
    if (s->phase != WORKING || !with || running(s->c, false) == 0) return;
    if (has_ps_ended(s->c) && find_restart(s->c, false)) s->ps_lost_ns = bd_now_ns();
    for (int i = 0; i < s->c->task_count; i++) {
        sim_task *t = &s->c->tasks[i];
        if (!has_ended_well(t) || t->life->started_ns > s->ps_lost_ns) continue;
        t->is_over = false;
        t->starts_again++;
        t->restart_ns = with->restart_ns;
        bd_info("%s had ended and is started again, because a parameter server has lost its variables",
                t->name);
    }
}

static bool is_work_done(const sim_cluster *c)
{
    int others = 0, done = 0;
    for (int i = 0; i < c->task_count; i++) {
        const sim_task *t = &c->tasks[i];
        if (t->is_ps && t->life->said_done) return true;
        others += !t->is_ps;
        done += !t->is_ps && (t->life->said_done || has_ended_well(t));
    }
    return others > 0 && done == others;
}

static void failed_late(supervisor *s, sim_task *t)
{
    const bool is_harmless = t->life->is_crashed || (t->is_ps && !t->life->said_done);
    bd_info("%s ended with exit code %d (%s) when its work was done", t->name, t->life->exit_code,
            t->life->error);
    t->is_over = true;
    if (is_harmless && s->phase == WORKING && t->restarts < s->c->options.max_restarts)
        t->life->exit_code = 0;
    else
        fail_run(s, t->first_failure ? t->first_failure : t->life->exit_code);
}

static void task_failed(supervisor *s, sim_task *t)
{
    if (!s->c->failed_ns) {
        s->c->failed_ns = bd_now_ns();
        s->c->has_ps_failed = t->is_ps;
    }
    if (t->life->said_done || (t->is_ps && is_work_done(s->c))) {
        failed_late(s, t);
        return;
    }
    if (t->is_ps) s->ps_lost_ns = bd_now_ns();
    if (!t->first_failure) t->first_failure = t->life->exit_code;
    if (s->phase == WORKING && t->restarts < s->c->options.max_restarts) {
        plan_restart(s, t);
        return;
    }
    bd_info("%s ended with exit code %d %s", t->name, t->life->exit_code, t->life->error);
    t->is_over = true;
    fail_run(s, t->first_failure);
    if (t->is_ps && s->phase == WORKING) set_phase(s, PS_LOST, PS_LOST_GRACE_MS);
}

static void look_at_ends_locked(supervisor *s)
{
    for (int i = 0; i < s->c->task_count; i++) {
        sim_task *t = &s->c->tasks[i];
        if (!runs(t) || (!t->life->has_ended && !t->life->is_crashed)) continue;
        if (t->life->exit_code && !t->asked_to_end)
            task_failed(s, t);
        else
            t->is_over = true;
        start_ended_again(s);
        if (s->phase == WORKING && running(s->c, false) == 0 && running(s->c, true) > 0)
            set_phase(s, PS_MAY_END, PS_GRACE_MS);
    }
}

static void act_on_deadlines_locked(supervisor *s)
{
    const int64_t now = bd_now_ns();
    for (int i = 0; i < s->c->task_count; i++)
        if (now >= s->c->tasks[i].restart_ns) start_locked(&s->c->tasks[i]);
    if (now < s->phase_deadline) return;
    if (s->phase < ENDING)
        ask_all_to_end_locked(s);
    else if (s->phase == ENDING)
        kill_all_locked(s);
}

static int64_t next_deadline(const supervisor *s)
{
    int64_t next = s->phase_deadline;
    for (int i = 0; i < s->c->task_count; i++)
        next = bd_min(next, s->c->tasks[i].restart_ns);
    return next;
}

void sim_cluster_run(sim_cluster *c)
{
    supervisor s = {.c = c, .phase_deadline = BD_FOREVER};
    bd_mutex_lock(&c->mu);
    for (int i = 0; i < c->task_count; i++)
        start_locked(&c->tasks[i]);
    while (running(c, true) > 0) {
        (void)bd_cond_wait_until(&c->changed, &c->mu, next_deadline(&s));
        look_at_ends_locked(&s);
        act_on_deadlines_locked(&s);
        look_at_ends_locked(&s); // of those that it has killed
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
                        .number = c->task_count++,
                        .is_ps = strcmp(job, "ps") == 0,
                        .restart_ns = BD_FOREVER};
        snprintf(t->name, sizeof t->name, "%s/%d", job, i);
        snprintf(t->address, sizeof t->address, "127.0.0.1:%d", c->task_count);
        bd_cluster_add(c->spec, job, i, t->address, st);
        BD_ASSERT(!st->code);
    }
}

void sim_cluster_begin(sim_cluster *c, const sim_options *options)
{
    BD_STATUS(st);
    *c = (sim_cluster){
        .options = *options, .rng = bd_rng_init(options->seed ^ 0x5eed), .working_ns = BD_FOREVER};
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
