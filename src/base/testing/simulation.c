// The platform of simulated time.
//
// Each simulated thread is a real one, and sleeps on a condition of its own unless it is `running`. One real
// mutex guards all state; a thread holds it only in this file.
//
// A thread belongs to a simulated process, as the thread that started it; threads outside of all processes
// are the world. A thread of a process that is crashed or paused is not chosen any more: it stops where it
// waits or takes a lock. What several processes share stays usable: a mutex is private to a process if a
// thread of one has initialized it, else it is shared, and a thread that holds a shared mutex runs on until
// it has released it. The owner of a mutex is in `other`, with PRIVATE in the lowest bit.
#include "base/testing/simulation.h"
#include "base/check.h"
#include "base/platform.h"
#include "base/random.h"
#include "base/thread.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The simulated cost of reading the clock: loops that wait for a time must end.
#define LOOK_NS 100
// One lock in this number switches to another thread, unless bd_simulation_switch_every says otherwise.
#define SWITCH_EVERY 8
#define BEGIN_NS 1000000000
#define WALL_AT_BEGIN_MICROS 1700000000000000
#define THREADS_MAX 8192
#define PRIVATE ((uintptr_t)1)

struct bd_process {
    char name[24];
    int number;  // from 1
    int threads; // that have not ended
    bool is_crashed, is_paused;
    struct bd_process *next;
};

typedef struct simulated {
    char name[24];
    int number;
    pthread_cond_t wake;
    bd_thread_fn fn;
    void *arg;
    pthread_t native;
    const void *waits_for; // a bd_mutex, bd_cond or simulated thread; NULL: it can run
    int64_t deadline_ns;   // while it waits
    bool is_late, has_ended;
    bool must_be_joined; // by a thread of its process
    bd_process *process; // NULL: of the world
    int shared_held;     // shared mutexes
    struct simulated *next;
} simulated;

static struct {
    pthread_mutex_t mu;
    simulated *threads[THREADS_MAX]; // that can still run
    int count;
    simulated *all; // that ever were
    bd_process *processes;
    int process_count;
    uint64_t switch_every;
    simulated *running;
    bd_rng rng;     // chooses the running thread
    bd_rng entropy; // the program's random numbers
    int64_t now_ns, limit_ns;
    uint64_t history;
} sim = {.mu = PTHREAD_MUTEX_INITIALIZER, .switch_every = SWITCH_EVERY};

static _Thread_local simulated *self;

static void note(uint64_t value)
{
    sim.history = (sim.history ^ value) * 0x100000001b3;
}

// ---- Who runs ----

// Its process does not run.
static bool is_held_back(const simulated *t)
{
    return t->process && (t->process->is_crashed || t->process->is_paused) && t->shared_held == 0;
}

static void give_up(const char *why)
{
    fprintf(stderr, "%s after %.3f s of simulated time; threads:\n", why,
            (double)(sim.now_ns - BEGIN_NS) / 1e9);
    for (int i = 0; i < sim.count; i++) {
        const simulated *t = sim.threads[i];
        fprintf(stderr, "  %s%s%s%s%s\n", t->process ? t->process->name : "", t->process ? ": " : "", t->name,
                t->waits_for ? " waits" : " can run", is_held_back(t) ? ", paused" : "");
    }
    abort();
}

static void wake(simulated *t, bool is_late)
{
    t->waits_for = NULL;
    t->is_late = is_late;
}

// Advances the time to the first deadline, whose thread can run then.
static void pass_time(void)
{
    simulated *first = NULL;
    for (int i = 0; i < sim.count; i++) {
        simulated *t = sim.threads[i];
        if (t->deadline_ns == BD_FOREVER || is_held_back(t)) continue;
        if (!first || t->deadline_ns < first->deadline_ns) first = t;
    }
    if (!first) give_up("All threads wait for each other");
    if (first->deadline_ns > sim.now_ns) sim.now_ns = first->deadline_ns;
    if (sim.now_ns - BEGIN_NS >= sim.limit_ns) give_up("Not over");
    wake(first, true);
}

static bool is_over(const simulated *t)
{
    return t->has_ended || (t->process && t->process->is_crashed && t->shared_held == 0);
}

// Forgets threads that cannot run any more.
static void drop_threads(void)
{
    int kept = 0;
    for (int i = 0; i < sim.count; i++)
        if (!is_over(sim.threads[i])) sim.threads[kept++] = sim.threads[i];
    sim.count = kept;
}

static simulated *choose(void)
{
    static simulated *able[THREADS_MAX];
    uint64_t count = 0;
    bool is_any_over = false;
    for (int i = 0; i < sim.count; i++) {
        simulated *t = sim.threads[i];
        is_any_over = is_any_over || is_over(t);
        if (t->has_ended || is_held_back(t)) continue;
        if (t->waits_for && t->deadline_ns <= sim.now_ns) wake(t, true);
        if (!t->waits_for) able[count++] = t;
    }
    if (is_any_over) drop_threads();
    if (count == 0) {
        pass_time();
        return choose();
    }
    simulated *next = able[count == 1 ? 0 : bd_rng_below(&sim.rng, count)];
    note((uint64_t)next->number);
    note((uint64_t)sim.now_ns);
    return next;
}

// Switches to another thread, and returns when it is this thread's turn again.
static void let_another_run(void)
{
    simulated *next = choose();
    if (next == self) return;
    sim.running = next;
    pthread_cond_signal(&next->wake);
    while (sim.running != self && !self->has_ended)
        pthread_cond_wait(&self->wake, &sim.mu);
}

static void wait_for(const void *what, int64_t deadline_ns)
{
    self->waits_for = what;
    self->deadline_ns = deadline_ns;
    self->is_late = false;
    let_another_run();
    self->deadline_ns = BD_FOREVER;
}

static void wake_all(const void *what)
{
    for (int i = 0; i < sim.count; i++)
        if (sim.threads[i]->waits_for == what) wake(sim.threads[i], false);
}

static void enter(void)
{
    pthread_mutex_lock(&sim.mu);
    BD_ASSERT(sim.running == self);
}

static void leave(void)
{
    pthread_mutex_unlock(&sim.mu);
}

// ---- Clock, entropy, processors ----

static int64_t now_ns(void)
{
    enter();
    const int64_t now = sim.now_ns += LOOK_NS;
    leave();
    return now;
}

// Nothing takes time but what waits.
static int64_t thread_time_ns(void)
{
    return 0;
}

static int64_t wall_micros(void)
{
    return WALL_AT_BEGIN_MICROS + now_ns() / 1000;
}

static void random_bytes(void *out, size_t len)
{
    enter();
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)out)[i] = (uint8_t)bd_rng_next(&sim.entropy);
    leave();
}

static int cpu_count(void)
{
    return 2;
}

// ---- Mutex ----

static void mutex_init(bd_mutex *m)
{
    m->other = (void *)(self->process ? PRIVATE : 0);
}

static simulated *owner_of(const bd_mutex *m)
{
    return (simulated *)((uintptr_t)m->other & ~PRIVATE);
}

static bool is_private(const bd_mutex *m)
{
    return ((uintptr_t)m->other & PRIVATE) != 0;
}

static void set_owner(bd_mutex *m, simulated *owner)
{
    m->other = (void *)((uintptr_t)owner | ((uintptr_t)m->other & PRIVATE));
    if (!is_private(m)) self->shared_held += owner ? 1 : -1;
}

static void mutex_fini(bd_mutex *m)
{
    BD_ASSERT(!owner_of(m));
}

static void take(bd_mutex *m)
{
    BD_ASSERT(owner_of(m) != self);
    while (owner_of(m))
        wait_for(m, BD_FOREVER);
    set_owner(m, self);
}

static void release(bd_mutex *m)
{
    BD_ASSERT(owner_of(m) == self);
    set_owner(m, NULL);
    wake_all(m);
}

static void mutex_lock(bd_mutex *m)
{
    enter();
    if (bd_rng_below(&sim.rng, sim.switch_every) == 0) let_another_run();
    take(m);
    leave();
}

static bool mutex_trylock(bd_mutex *m)
{
    enter();
    const bool is_free = !owner_of(m);
    if (is_free) set_owner(m, self);
    leave();
    return is_free;
}

static void mutex_unlock(bd_mutex *m)
{
    enter();
    release(m);
    leave();
}

// ---- Condition ----

static void cond_init(bd_cond *c)
{
    c->other = NULL;
}

static void cond_fini(bd_cond *c)
{
    (void)c;
}

static void cond_signal(bd_cond *c)
{
    enter();
    for (int i = 0; i < sim.count; i++) {
        if (sim.threads[i]->waits_for != c || is_over(sim.threads[i])) continue;
        wake(sim.threads[i], false);
        break;
    }
    leave();
}

static void cond_broadcast(bd_cond *c)
{
    enter();
    wake_all(c);
    leave();
}

static bool cond_wait_until(bd_cond *c, bd_mutex *m, int64_t deadline_ns)
{
    enter();
    release(m);
    wait_for(c, deadline_ns);
    const bool is_late = self->is_late;
    take(m);
    leave();
    return is_late;
}

// ---- Thread ----

static void add_thread(simulated *t)
{
    if (sim.count == THREADS_MAX) give_up("Too many threads");
    static int last_number;
    pthread_cond_init(&t->wake, NULL);
    t->deadline_ns = BD_FOREVER;
    t->number = last_number++;
    t->next = sim.all;
    sim.all = t;
    sim.threads[sim.count++] = t;
    if (t->process) t->process->threads++;
}

static void *thread_main(void *arg)
{
    self = arg;
    pthread_mutex_lock(&sim.mu);
    while (sim.running != self)
        pthread_cond_wait(&self->wake, &sim.mu);
    pthread_mutex_unlock(&sim.mu);
    self->fn(self->arg);
    enter();
    self->has_ended = true;
    if (self->process) self->process->threads--;
    wake_all(self);
    let_another_run();
    leave();
    return NULL;
}

static braid_code start_in(bd_process *process, bd_thread *thread, const char *name, bd_thread_fn fn,
                           void *arg, braid_status *st)
{
    simulated *t = calloc(1, sizeof *t);
    BD_ASSERT(t);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->fn = fn;
    t->arg = arg;
    t->process = process;
    enter();
    add_thread(t);
    thread->other = t;
    const int rc = pthread_create(&t->native, NULL, thread_main, t);
    thread->native = t->native;
    t->must_be_joined = !rc;
    leave();
    return rc ? bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "The system gives no more threads: %s", strerror(rc))
              : BRAID_OK;
}

static braid_code thread_start(bd_thread *thread, const char *name, bd_thread_fn fn, void *arg,
                               braid_status *st)
{
    return start_in(self->process, thread, name, fn, arg, st);
}

static void thread_join(bd_thread *thread)
{
    simulated *t = thread->other;
    enter();
    while (!t->has_ended)
        wait_for(t, BD_FOREVER);
    t->must_be_joined = false;
    leave();
    pthread_join(t->native, NULL); // the thread is about to end
}

static void detach(simulated *t)
{
    t->must_be_joined = false;
    pthread_detach(t->native);
}

// ---- Processes ----

bd_process *bd_process_start(const char *name, bd_thread_fn fn, void *arg)
{
    bd_process *p = calloc(1, sizeof *p);
    BD_ASSERT(p);
    snprintf(p->name, sizeof p->name, "%s", name);
    enter();
    p->number = ++sim.process_count;
    p->next = sim.processes;
    sim.processes = p;
    leave();
    bd_process_add_thread(p, "main", fn, arg);
    return p;
}

void bd_process_add_thread(bd_process *p, const char *name, bd_thread_fn fn, void *arg)
{
    BD_STATUS(st);
    bd_thread thread;
    const braid_code code = start_in(p, &thread, name, fn, arg, st);
    BD_ASSERT(!code);
    detach(thread.other);
}

void bd_process_crash(bd_process *p)
{
    enter();
    p->is_crashed = true;
    for (simulated *t = sim.all; t; t = t->next)
        if (t->process == p && t->has_ended && t->must_be_joined) detach(t);
    if (self->process == p) let_another_run(); // for good
    leave();
}

void bd_process_pause(bd_process *p, bool is_paused)
{
    enter();
    p->is_paused = is_paused;
    leave();
}

const bd_process *bd_process_self(void)
{
    return self->process;
}

const char *bd_process_name(const bd_process *p)
{
    return p ? p->name : "world";
}

int bd_process_number(const bd_process *p)
{
    return p ? p->number : 0;
}

int bd_process_threads(const bd_process *p)
{
    enter();
    const int threads = p->threads;
    leave();
    return threads;
}

// ---- Beginning ----

void bd_simulation_switch_every(uint64_t locks)
{
    BD_ASSERT(locks > 0);
    sim.switch_every = locks;
}

int64_t bd_simulation_elapsed_ns(void)
{
    return sim.now_ns - BEGIN_NS;
}

void bd_simulation_begin(uint64_t seed, int64_t limit_ns)
{
    static simulated first = {.name = "main"};
    static const bd_platform platform = {
        .now_ns = now_ns,
        .thread_time_ns = thread_time_ns,
        .wall_micros = wall_micros,
        .random_bytes = random_bytes,
        .cpu_count = cpu_count,
        .mutex_init = mutex_init,
        .mutex_fini = mutex_fini,
        .mutex_lock = mutex_lock,
        .mutex_trylock = mutex_trylock,
        .mutex_unlock = mutex_unlock,
        .cond_init = cond_init,
        .cond_fini = cond_fini,
        .cond_signal = cond_signal,
        .cond_broadcast = cond_broadcast,
        .cond_wait_until = cond_wait_until,
        .thread_start = thread_start,
        .thread_join = thread_join,
    };
    BD_ASSERT(sim.count == 0);
    add_thread(&first);
    self = sim.running = &first;
    sim.rng = bd_rng_init(seed);
    sim.entropy = bd_rng_init(~seed);
    sim.now_ns = BEGIN_NS;
    sim.limit_ns = limit_ns;
    bd_platform_set(&platform);
}

uint64_t bd_simulation_history(void)
{
    return sim.history;
}

void bd_simulation_sleep(int64_t ns)
{
    enter();
    static const char clock[] = "the clock";
    wait_for(clock, sim.now_ns + ns);
    leave();
}
