// Faults of a simulated cluster.
#include "base/log.h"
#include "base/random.h"
#include "io/testing/memory_fs.h"
#include "simulated_cluster.h"

// A peer that does not answer the pings of a client's connection is given up after this, as over gRPC
// (cluster/transport/grpc.c); a server gives up a client that its kernel does not reach.
#define PING_LOST_NS (8 * SIM_S)

static uint64_t draw(sim_cluster *c, uint64_t below)
{
    return bd_rng_below(&c->rng, below);
}

const char *sim_fault_name(sim_fault fault)
{
    static const char *const names[SIM_FAULTS] = {"kill",      "power", "pause",
                                                  "partition", "reset", "full disk"};
    return names[fault];
}

static bool lives_locked(const sim_life *life)
{
    return life && !life->has_ended && !life->is_crashed && !life->is_paused;
}

// A task that runs; NULL: none does.
static sim_life *draw_victim_locked(sim_cluster *c)
{
    sim_life *able[SIM_TASKS_MAX];
    uint64_t count = 0;
    for (int i = 0; i < c->task_count; i++)
        if (lives_locked(c->tasks[i].life)) able[count++] = c->tasks[i].life;
    return count ? able[draw(c, count)] : NULL;
}

static void set_links_to(const sim_cluster *c, const sim_task *t, bd_link_state state)
{
    for (int i = 0; i < c->task_count; i++)
        if (&c->tasks[i] != t) bd_inprocess_set_link(c->network, c->tasks[i].address, t->address, state);
}

static void set_links_from(const sim_cluster *c, const sim_task *t, bd_link_state state)
{
    for (int i = 0; i < c->task_count; i++)
        if (&c->tasks[i] != t) bd_inprocess_set_link(c->network, t->address, c->tasks[i].address, state);
}

// Sleeps, but not past the end of the run.
static void wait_in_run(sim_cluster *c, int64_t ns)
{
    const int64_t deadline = bd_now_ns() + ns;
    bd_mutex_lock(&c->mu);
    while (!c->is_over && !bd_cond_wait_until(&c->changed, &c->mu, deadline)) {}
    bd_mutex_unlock(&c->mu);
}

// ---- Crashes ----

static bool crash_locked(sim_cluster *c, sim_life *life, bool silent)
{
    if (!life || life->has_ended || life->is_crashed) return false;
    life->is_crashed = true;
    c->crashes++;
    bd_process_crash(life->process);
    bd_inprocess_host_crash(c->network, life->task->address, silent);
    return true;
}

static void kill_task(sim_cluster *c, sim_life *life)
{
    bd_mutex_lock(&c->mu);
    crash_locked(c, life, false);
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
}

// The host comes back with the task's next life; until then its connections are silent, and end late.
static void cut_power(sim_cluster *c, sim_life *life)
{
    bd_mutex_lock(&c->mu);
    const bool is_crashed = crash_locked(c, life, true);
    if (is_crashed) {
        set_links_to(c, life->task, BD_LINK_SILENT);
        bd_memory_fs_lose(&c->rng, bd_process_number(life->process));
        bd_cond_broadcast(&c->changed);
    }
    bd_mutex_unlock(&c->mu);
    if (!is_crashed) return;
    wait_in_run(c, PING_LOST_NS);
    bd_mutex_lock(&c->mu);
    // A later life has its links.
    if (life->task->life == life) {
        set_links_to(c, life->task, BD_LINK_BROKEN);
        set_links_from(c, life->task, BD_LINK_BROKEN);
    }
    bd_mutex_unlock(&c->mu);
}

// ---- Others ----

static void pause_task(sim_cluster *c, sim_life *life, int64_t duration_ns)
{
    bd_mutex_lock(&c->mu);
    life->is_paused = true;
    bd_process_pause(life->process, true);
    bd_mutex_unlock(&c->mu);
    const bool is_noticed = duration_ns > PING_LOST_NS;
    wait_in_run(c, is_noticed ? PING_LOST_NS : duration_ns);
    bd_mutex_lock(&c->mu);
    if (is_noticed && !life->is_crashed) set_links_to(c, life->task, BD_LINK_BROKEN);
    bd_mutex_unlock(&c->mu);
    if (is_noticed) wait_in_run(c, duration_ns - PING_LOST_NS);
    bd_mutex_lock(&c->mu);
    bd_process_pause(life->process, false);
    life->is_paused = false;
    if (is_noticed && !life->is_crashed) set_links_to(c, life->task, BD_LINK_UP);
    bd_mutex_unlock(&c->mu);
}

static void set_between(const sim_cluster *c, const sim_task *a, const sim_task *b, bd_link_state state)
{
    if (b) {
        bd_inprocess_set_link(c->network, a->address, b->address, state);
        bd_inprocess_set_link(c->network, b->address, a->address, state);
    } else {
        set_links_from(c, a, state);
        set_links_to(c, a, state);
    }
}

static void partition(sim_cluster *c, sim_task *a, int64_t duration_ns)
{
    sim_task *b = draw(c, 2) ? &c->tasks[draw(c, (uint64_t)c->task_count)] : NULL;
    if (a == b) b = NULL;
    const bool is_noticed = duration_ns > PING_LOST_NS;
    set_between(c, a, b, BD_LINK_SILENT);
    wait_in_run(c, is_noticed ? PING_LOST_NS : duration_ns);
    if (is_noticed) {
        set_between(c, a, b, BD_LINK_BROKEN);
        wait_in_run(c, duration_ns - PING_LOST_NS);
    }
    set_between(c, a, b, BD_LINK_UP);
}

static void reset(sim_cluster *c, const sim_task *t)
{
    bd_inprocess_set_down(c->network, t->address, true);
    bd_inprocess_set_down(c->network, t->address, false);
}

static void fill_disk(sim_cluster *c, int64_t duration_ns)
{
    bd_memory_fs_set_full(true);
    wait_in_run(c, duration_ns);
    bd_memory_fs_set_full(false);
}

void sim_fault_run(sim_cluster *c, sim_fault fault, sim_life *victim, int64_t duration_ns)
{
    bd_mutex_lock(&c->mu);
    // Once the work is done, `braid run` restarts no task.
    sim_life *life = c->supervision.phase != BD_WORKING ? NULL : victim ? victim : draw_victim_locked(c);
    bd_mutex_unlock(&c->mu);
    if (!life) return;
    if (fault > SIM_POWER && duration_ns > c->options.grace_ms * SIM_MS * 8 / 10) c->was_long = true;
    bd_info("Fault: %s of %s for %.3f s", sim_fault_name(fault), bd_process_name(life->process),
            (double)duration_ns / 1e9);
    switch (fault) {
    case SIM_KILL: kill_task(c, life); break;
    case SIM_POWER: cut_power(c, life); break;
    case SIM_PAUSE: pause_task(c, life, duration_ns); break;
    case SIM_PARTITION: partition(c, life->task, duration_ns); break;
    case SIM_RESET: reset(c, life->task); break;
    case SIM_FULL: fill_disk(c, duration_ns); break;
    case SIM_FAULTS: BD_UNREACHABLE();
    }
    bd_info("The fault is over: %s of %s", sim_fault_name(fault), bd_process_name(life->process));
}

sim_life *sim_fault_at_change(sim_cluster *c, uint64_t changes)
{
    bd_mutex_lock(&c->mu);
    c->fault_at_change = c->disk_changes + changes;
    while (!c->waits_for_fault && !c->is_over)
        bd_cond_wait(&c->changed, &c->mu);
    c->fault_at_change = 0;
    sim_life *life = c->waits_for_fault;
    bd_mutex_unlock(&c->mu);
    return life;
}

void sim_fault_made(sim_cluster *c)
{
    bd_mutex_lock(&c->mu);
    c->waits_for_fault = NULL;
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
}
