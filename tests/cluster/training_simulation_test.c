// Whole training programs in simulated time, on a simulated network and disk: monitored sessions that save
// and restore checkpoints, write summaries, train synchronously or asynchronously and recover, while tasks
// are killed, stopped, cut off or lose their power. For every seed the run ends, and its model is right.
//
//     tests_cluster_training_simulation_test [FIRST [LAST]]
//
// runs these seeds (1 to 10000, say); without arguments those of a short run. One seed alone prints its log.
// A seed always gives the same run.
// labels: concurrent
// timeout: 400
#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/testing/memory_fs.h"
#include "support/simulated_cluster.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHORT_RUN 20
#define RUNS_KNOWN_SEEDS false // their faults were in the order of events, which is the same in every build
#else
#define SHORT_RUN 200
#define RUNS_KNOWN_SEEDS true
#endif
#define REPLAYED 2 // seeds that are run twice
#define LIMIT_NS (3600 * SIM_S)
#define REAL_LIMIT_S 300
#define FAULTS_MAX 5
#define END_NS (10 * SIM_S)    // after the grace time
#define SESSION_ROUND_TRIPS 10 // to open a session
#define RESTARTS_MAX 40
#define LEARNING_RATE 0.25F
#define X_GOAL 3.0F
#define Y_GOAL (-1.0F)

// What a seed decides.
typedef struct plan {
    uint64_t seed;
    sim_options cluster;
    bool is_sync, is_deterministic;
    int required; // of synchronous training
    int64_t steps, save_steps;
    int fault_count;
    int64_t fault_span_ns; // the faults begin within this time
} plan;

static plan the_plan;
static sim_cluster the_cluster;
static int lost_sessions, restored; // lines of the log that say so

// ---- The log ----

#define TAIL 60
static char *tail[TAIL];
static uint64_t line_count, log_hash = 0xcbf29ce484222325;
static bool is_loud;

// The error that a task logs is the one that it ends with.
static void keep_error(const char *message)
{
    for (int i = 0; i < the_cluster.task_count; i++) {
        sim_life *life = the_cluster.tasks[i].life;
        if (!life || !bd_process_self() || life->process != bd_process_self()) continue;
        snprintf(life->error, sizeof life->error, "%s", message);
    }
}

static void keep_line(braid_log_level level, const char *message, void *arg)
{
    (void)arg;
    char *line = bd_asprintf("%9.4f %c %-10s %s", (double)bd_simulation_elapsed_ns() / 1e9, "DIWE"[level],
                             bd_process_name(bd_process_self()), message);
    for (const char *p = line; *p; p++)
        log_hash = (log_hash ^ (uint8_t)*p) * 0x100000001b3;
    if (is_loud) fprintf(stderr, "%s\n", line);
    if (level == BRAID_LOG_ERROR) keep_error(message);
    lost_sessions += strstr(message, "Lost the session") != NULL;
    restored += strstr(message, "Restored the checkpoint") != NULL;
    bd_free(tail[line_count % TAIL]);
    tail[line_count++ % TAIL] = line;
}

static void print_tail(int number)
{
    (void)number;
    if (is_loud) return;
    for (uint64_t i = line_count > TAIL ? line_count - TAIL : 0; i < line_count; i++)
        fprintf(stderr, "    %s\n", tail[i % TAIL]);
}

static void fail_seed(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void fail_seed(const char *format, ...)
{
    print_tail(0);
    fprintf(stderr, "seed %llu: ", (unsigned long long)the_plan.seed);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    _exit(1);
}

// ---- The model: two variables on their way to goals, and counts of updates ----

typedef struct model {
    braid_graph *graph;
    braid_out batch, loss;
    braid_op *train;
    braid_sync_replicas *sync;
} model;

static braid_variable variable(braid_graph *g, const char *name, const char *device, bool trainable)
{
    braid_push_device(g, device);
    const braid_variable v =
        braid_variable_new(g, name, braid_zeros(g, BRAID_FLOAT, BRAID_SCALAR), trainable);
    braid_pop_device(g);
    return v;
}

static braid_out distance(braid_graph *g, braid_out x, float goal)
{
    return braid_square(g, braid_sub(g, x, braid_const_float(g, NULL, goal)));
}

// A node of a step of its own: the global step counts after it.
static braid_op *count(braid_graph *g, const char *name, const char *device)
{
    const braid_variable v = variable(g, name, device, false);
    braid_push_device(g, device);
    braid_op *op = braid_assign_add(g, v.ref, braid_const_float(g, NULL, 1)).op;
    braid_pop_device(g);
    return op;
}

static model build(const sim_life *life)
{
    model m = {.graph = braid_graph_new()};
    braid_graph *g = m.graph;
    char worker[32], last_ps[32];
    snprintf(worker, sizeof worker, "/job:worker/task:%d", life->task->index);
    snprintf(last_ps, sizeof last_ps, "/job:ps/task:%d", the_plan.cluster.ps - 1);
    braid_push_device(g, "/job:ps/task:0");
    const braid_out step = braid_global_step(g);
    braid_pop_device(g);
    const braid_variable x = variable(g, "x", "/job:ps/task:0", true), y = variable(g, "y", last_ps, true);
    braid_push_device(g, worker);
    m.batch = braid_placeholder(g, "batch", BRAID_FLOAT, BRAID_SCALAR);
    const braid_out sum = braid_add(g, distance(g, x.read, X_GOAL), distance(g, y.read, Y_GOAL));
    m.loss = braid_mul(g, braid_mul(g, sum, braid_const_float(g, NULL, 0.5F)), m.batch);
    braid_optimizer *opt = braid_gradient_descent(g, LEARNING_RATE);
    if (the_plan.is_sync) {
        m.sync = braid_sync_replicas_new(
            opt, &(braid_sync_replicas_options){.replicas_to_aggregate = the_plan.required,
                                                .total_num_replicas = the_plan.cluster.workers,
                                                .deterministic = the_plan.is_deterministic,
                                                .replica = life->task->index});
        m.train = braid_sync_replicas_minimize(m.sync, m.loss, step);
    } else {
        braid_op *counts[] = {count(g, "count_x", "/job:ps/task:0"), count(g, "count_y", last_ps)};
        braid_push_control(g, counts, 2);
        m.train = braid_minimize(opt, m.loss, step);
        braid_pop_control(g);
    }
    braid_pop_device(g);
    braid_summary_scalar(g, "loss", m.loss);
    return m;
}

// The value after `steps` updates, as one process computes it.
static float expected(float goal, int64_t steps)
{
    float value = 0;
    for (int64_t i = 0; i < steps; i++)
        value -= LEARNING_RATE * (value - goal);
    return value;
}

// ---- The programs of tasks, as examples/common/mnist_task.c ----

static braid_monitored_session *open_session(const sim_life *life, const model *m)
{
    char own_task[32];
    snprintf(own_task, sizeof own_task, "/job:worker/task:%d", life->task->index);
    const char *const filters[] = {"/job:ps", own_task};
    const bool is_chief = life->task->index == 0;
    return braid_monitored_session_open(
        m->graph,
        &(braid_session_config){.session = {.server = life->server,
                                            .device_filters = filters,
                                            .device_filter_count = 2,
                                            .allow_soft_placement = true},
                                .is_chief = is_chief,
                                .checkpoint_dir = life->dir,
                                .save_checkpoint_steps = the_plan.save_steps,
                                .save_summaries_steps = the_plan.save_steps + 1,
                                .hooks = (braid_hook *const[]){
                                    braid_stop_at_step(the_plan.steps),
                                    m->sync ? braid_sync_replicas_hook(m->sync, is_chief, -1) : NULL, NULL}});
}

static int train(sim_life *life)
{
    const model m = build(life);
    braid_monitored_session *s = open_session(life, &m);
    braid_tensor *one = braid_tensor_float(1);
    while (!braid_should_stop(s))
        braid_run(s, BRAID_FEED({m.batch, one}), NULL, m.train);
    braid_tensor_free(one);
    const braid_code code = braid_monitored_session_close(s); // logs an error
    braid_graph_free(m.graph);
    return braid_exit_code(code);
}

static int program(sim_life *life, void *arg)
{
    (void)arg;
    BD_STATUS(st);
    int exit_code = 0;
    braid_server *server = sim_life_serve(life, st);
    if (server && !life->task->supervised.is_ps) exit_code = train(life);
    if (server && life->task->supervised.is_ps) braid_server_join(server, st);
    if (st->code) {
        sim_life_fail(life, st);
        exit_code = 1;
    }
    sim_life_unserve(life);
    return exit_code;
}

// ---- Faults ----

static int64_t draw_duration(sim_cluster *c)
{
    const int64_t grace_ns = c->options.grace_ms * SIM_MS;
    const int64_t longest[] = {SIM_S / 2, grace_ns * 4 / 5, grace_ns * 2};
    // Without restarts only a time that all survive.
    return (int64_t)bd_rng_below(&c->rng,
                                 (uint64_t)longest[bd_rng_below(&c->rng, c->options.max_restarts ? 3 : 2)]);
}

static void make_fault(void *arg)
{
    sim_cluster *c = arg;
    const sim_fault fault = (sim_fault)bd_rng_below(&c->rng, SIM_FAULTS);
    const int64_t duration_ns = draw_duration(c);
    if (bd_rng_below(&c->rng, 3) > 0) {
        bd_simulation_sleep((int64_t)bd_rng_below(&c->rng, (uint64_t)the_plan.fault_span_ns));
        sim_fault_run(c, fault, NULL, duration_ns);
        return;
    }
    sim_life *life = sim_fault_at_change(c, 1 + bd_rng_below(&c->rng, 150));
    if (life && fault < SIM_PAUSE) sim_fault_run(c, fault, life, duration_ns);
    sim_fault_made(c);
    if (life && fault >= SIM_PAUSE) sim_fault_run(c, fault, life, duration_ns);
}

static void make_faults(void *arg)
{
    for (int i = 0; i < the_plan.fault_count; i++)
        make_fault(arg);
}

// ---- The plan ----

static plan draw_plan(uint64_t seed)
{
    static const double loss[] = {0, 0, 0.002, 0.01}, repetition[] = {0, 0, 0.02},
                        cuts[] = {0, 0, 0.001, 0.004};
    static const int64_t delays[] = {SIM_MS / 10, SIM_MS, 20 * SIM_MS, 200 * SIM_MS};
    static const int64_t disk_delays[] = {0, SIM_MS / 10, 5 * SIM_MS}, graces[] = {5000, 20000, 60000};
    static const uint64_t switches[] = {8, 32, 128};
    static const int64_t spans[] = {SIM_S / 5, SIM_S, 10 * SIM_S};
    bd_rng rng = bd_rng_init(seed);
#define DRAW(values) ((values)[bd_rng_below(&rng, sizeof(values) / sizeof((values)[0]))])
    plan p = {.seed = seed};
    const bool is_calm = bd_rng_below(&rng, 10) == 0; // no fault at all
    p.cluster = (sim_options){.seed = seed,
                              .ps = 1 + (int)bd_rng_below(&rng, 2),
                              .workers = 1 + (int)bd_rng_below(&rng, 3),
                              .grace_ms = DRAW(graces),
                              .network = {.seed = seed, .delay_max_ns = DRAW(delays)},
                              .disk_delay_max_ns = DRAW(disk_delays),
                              .program = program};
    p.cluster.max_restarts = bd_rng_below(&rng, 4) > 0 ? RESTARTS_MAX : 0;
    p.is_sync = bd_rng_below(&rng, 2);
    p.is_deterministic = p.is_sync && bd_rng_below(&rng, 2);
    p.required = p.cluster.workers;
    if (!p.is_deterministic && p.cluster.workers > 1 && bd_rng_below(&rng, 3) == 0) p.required--;
    p.steps = 5 + (int64_t)bd_rng_below(&rng, 25);
    p.save_steps = 2 + (int64_t)bd_rng_below(&rng, 8);
    p.fault_span_ns = DRAW(spans);
    bd_simulation_switch_every(DRAW(switches));
    if (is_calm) return p;
    p.cluster.network.lose = DRAW(loss);
    // Each loss takes deterministic training back to the newest checkpoint: with more it would not get on.
    if (p.is_deterministic) p.cluster.network.lose /= 5;
    p.cluster.network.duplicate = DRAW(repetition);
    p.cluster.network.cut = DRAW(cuts);
    p.fault_count = p.cluster.max_restarts ? (int)bd_rng_below(&rng, FAULTS_MAX + 1) : 1;
    return p;
#undef DRAW
}

// ---- What must hold at the end ----

static float read_float(bd_bundle *b, const char *name)
{
    BD_STATUS(st);
    braid_tensor t;
    if (bd_bundle_read(b, name, &t, st)) fail_seed("the checkpoint: %s", st->message);
    const float value = t.dtype == BRAID_INT64 ? (float)*(const int64_t *)braid_tensor_data(&t)
                                               : *(const float *)braid_tensor_data(&t);
    bd_tensor_fini(&t);
    return value;
}

static void check_value(bd_bundle *b, const char *name, float goal, int64_t steps)
{
    const float value = read_float(b, name), wanted = expected(goal, steps);
    const float allowed = the_plan.cluster.workers < 3 ? 0 : 1e-5F; // the mean of three is rounded
    if (!(fabsf(value - wanted) <= allowed))
        fail_seed("%s is %.9g after %lld steps, not %.9g", name, (double)value, (long long)steps,
                  (double)wanted);
}

// Replicas may run ahead, an update that was cut off may be made again, and when a message is lost, a
// parameter server may go on with an update that the chief has given up (docs/internals/simulation.md). So
// the value is between that of half the steps and the goal.
static void check_progress(bd_bundle *b, const char *name, float goal, int64_t steps)
{
    const float to_go = (goal - read_float(b, name)) / goal,
                at_most = (goal - expected(goal, steps / 2)) / goal;
    if (!(to_go > -1e-6F && to_go <= at_most))
        fail_seed("%s has %g of its way to go after %lld steps", name, (double)to_go, (long long)steps);
}

// A step that failed may have been counted in one variable and not in another, and a checkpoint is not of one
// moment.
static void check_count(bd_bundle *b, const char *name, int64_t steps)
{
    const int workers = the_plan.cluster.workers;
    const float off = fabsf(read_float(b, name) - (float)steps);
    const int losses = the_cluster.crashes + lost_sessions + restored;
    const int allowed = workers * (losses + 1) - (workers == 1 && losses == 0);
    if (off > (float)allowed)
        fail_seed("%s differs by %g from %lld steps", name, (double)off, (long long)steps);
}

static void check_model(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle *b;
    if (bd_bundle_open(bd_fs_current, prefix, &b, st)) fail_seed("%s: %s", prefix, st->message);
    const int64_t steps = (int64_t)read_float(b, "global_step");
    if (steps < the_plan.steps) fail_seed("training ended at step %lld", (long long)steps);
    if (!the_plan.is_sync) {
        check_count(b, "count_x", steps);
        check_count(b, "count_y", steps);
    } else if (the_plan.is_deterministic) {
        check_value(b, "x", X_GOAL, steps);
        check_value(b, "y", Y_GOAL, steps);
    } else {
        check_progress(b, "x", X_GOAL, steps);
        check_progress(b, "y", Y_GOAL, steps);
    }
    bd_bundle_close(b);
}

static void read_tensor(const bd_bundle_info *info, void *arg)
{
    BD_STATUS(st);
    braid_tensor t;
    if (bd_bundle_read(arg, info->name, &t, st)) fail_seed("%s", st->message);
    bd_tensor_fini(&t);
}

static void check_whole(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle *b;
    if (bd_bundle_open(bd_fs_current, prefix, &b, st) || bd_bundle_list(b, read_tensor, b, st))
        fail_seed("%s: %s", prefix, st->message);
    bd_bundle_close(b);
}

static void check_file(const char *name, void *arg)
{
    (void)arg;
    char *path = bd_asprintf("/model/%s", name);
    char *end = strstr(path, ".index");
    if (end && !end[6]) {
        *end = '\0';
        check_whole(path);
    } else if (strstr(name, "temp")) {
        fail_seed("%s is left", path);
    }
    bd_free(path);
}

static void check_directory(void)
{
    BD_STATUS(st);
    bd_name_list names;
    if (braid_checkpoint_clean("/model/model.ckpt", st)) fail_seed("clean: %s", st->message);
    if (bd_dir_list(bd_fs_current, "/model", &names, st)) fail_seed("list: %s", st->message);
    for (size_t i = 0; i < names.len; i++)
        check_file(names.items[i], NULL);
    bd_name_list_fini(&names);
}

static void check_checkpoints(void)
{
    BD_STATUS(st);
    char *latest = braid_latest_checkpoint("/model", st);
    if (!latest) fail_seed("no checkpoint: %s", st->message);
    check_directory();
    check_model(latest);
    free(latest);
}

// An error of a task that ended by itself names a task, or the file that found no room.
static void check_errors(void)
{
    for (int i = 0; i < the_cluster.task_count; i++) {
        const sim_task *t = &the_cluster.tasks[i];
        if (t->life->is_crashed || !t->supervised.exit_code || t->supervised.asked_to_end) continue;
        if (strstr(t->life->error, "No space left")) continue;
        if (strstr(t->life->error, "he chief ")) continue; // which is a task
        if (!strstr(t->life->error, "/job:")) fail_seed("%s names no task: %s", t->name, t->life->error);
    }
}

static void check_threads(void)
{
    for (int i = 0; i < the_cluster.task_count; i++) {
        for (const sim_life *life = the_cluster.tasks[i].life; life; life = life->previous)
            if (!life->is_crashed && bd_process_threads(life->process) > 0)
                fail_seed("%s has %d threads left", bd_process_name(life->process),
                          bd_process_threads(life->process));
    }
}

// Workers that are enough without the one that failed train on to the last step.
static bool may_train_on(void)
{
    const int workers = the_plan.cluster.workers;
    return !the_cluster.has_ps_failed && workers > 1 && (!the_plan.is_sync || the_plan.required < workers);
}

// Without restarts, the others end soon after the first failure of a task. Each session that the network cuts
// is opened again, which takes its round trips.
static void check_time(void)
{
    const sim_cluster *c = &the_cluster;
    if (c->options.max_restarts || !c->failed_ns || may_train_on()) return;
    const int64_t took_ns = c->over_ns - c->failed_ns,
                  open_ns = SESSION_ROUND_TRIPS * 2 * c->options.network.delay_max_ns;
    if (took_ns > c->options.grace_ms * SIM_MS + END_NS + lost_sessions * open_ns)
        fail_seed("the run ended %.3f s after the first failure, with a grace time of %.3f s",
                  (double)took_ns / 1e9, (double)c->options.grace_ms / 1e3);
}

static void check(void)
{
    bd_simulation_sleep(SIM_MS);
    check_threads();
    check_errors();
    check_time();
    const bool must_succeed = the_plan.cluster.max_restarts > 0 && !the_cluster.was_long;
    if (must_succeed && the_cluster.supervision.exit_code)
        fail_seed("the run ended with exit code %d", the_cluster.supervision.exit_code);
    if (the_cluster.supervision.exit_code == 0) check_checkpoints();
}

static void run_seed(uint64_t seed)
{
    BD_STATUS(st);
    bd_simulation_begin(seed, LIMIT_NS);
    braid_set_log_sink(keep_line, NULL);
    signal(SIGABRT, print_tail);
    the_plan = draw_plan(seed);
    const plan *p = &the_plan;
    bd_info("Seed %llu: %d ps, %d workers, %s, %d required, %lld steps, saved every %lld, %s, grace %lld ms",
            (unsigned long long)seed, p->cluster.ps, p->cluster.workers,
            p->is_deterministic ? "deterministic"
            : p->is_sync        ? "sync"
                                : "async",
            p->required, (long long)p->steps, (long long)p->save_steps,
            p->cluster.max_restarts ? "restarts" : "no restarts", (long long)p->cluster.grace_ms);
    sim_cluster_begin(&the_cluster, &p->cluster);
    bd_thread faults;
    bd_thread_start(&faults, "faults", make_faults, &the_cluster, st);
    sim_cluster_run(&the_cluster);
    bd_thread_join(&faults);
    check();
    if (the_cluster.crashes == 0) sim_cluster_end(&the_cluster);
}

// ---- Many seeds: a process each ----

typedef struct child {
    uint64_t seed, history;
    pid_t pid; // 0: none
    int in;
} child;

#define CHILDREN_MAX 64

// Writes a hash of history and log to `out`.
static void be_child(uint64_t seed, int out)
{
    alarm(REAL_LIMIT_S);
    run_seed(seed);
    const uint64_t history = bd_simulation_history() ^ log_hash;
    const bool is_told = write(out, &history, sizeof history) == sizeof history;
    // Memory of crashed processes is never freed: no check for leaks.
    if (the_cluster.crashes > 0) _exit(is_told ? 0 : 1);
    for (int i = 0; i < TAIL; i++)
        bd_free(tail[i]);
    exit(is_told ? 0 : 1);
}

static bool start_child(child *c, uint64_t seed)
{
    int ends[2];
    if (pipe(ends) != 0) return false;
    fflush(NULL);
    *c = (child){.seed = seed, .pid = fork(), .in = ends[0]};
    if (c->pid == 0) be_child(seed, ends[1]);
    close(ends[1]);
    return c->pid > 0;
}

// Reads what an ended child has told; returns whether it is well.
static bool end_child(child *c, int status, const char *program_path)
{
    const bool has_told = read(c->in, &c->history, sizeof c->history) == sizeof c->history;
    close(c->in);
    c->pid = 0;
    if (has_told && status == 0) return true;
    fprintf(stderr, "seed %llu failed (%s %d); again: %s %llu\n", (unsigned long long)c->seed,
            WIFSIGNALED(status) ? "signal" : "exit code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), program_path,
            (unsigned long long)c->seed);
    return false;
}

// Waits until a child ends; returns whether it is well.
static bool wait_child(child children[], int slots, const char *program_path)
{
    int status;
    const pid_t pid = waitpid(-1, &status, 0);
    for (int i = 0; i < slots; i++)
        if (children[i].pid == pid) return end_child(&children[i], status, program_path);
    return false;
}

static int free_slot(const child children[], int slots)
{
    for (int i = 0; i < slots; i++)
        if (!children[i].pid) return i;
    return -1;
}

static bool replays(uint64_t seed, const char *program_path)
{
    child c[2];
    bool is_good = true;
    for (int i = 0; i < 2 && is_good; i++)
        is_good = start_child(&c[i], seed) && wait_child(&c[i], 1, program_path);
    if (is_good && c[0].history != c[1].history) {
        fprintf(stderr, "seed %llu does not replay\n", (unsigned long long)seed);
        is_good = false;
    }
    return is_good;
}

static uint64_t run_seeds(uint64_t first, uint64_t last, const char *program_path)
{
    child children[CHILDREN_MAX] = {0};
    const int slots = (int)bd_min(bd_cpu_count(), CHILDREN_MAX);
    uint64_t failed = 0;
    int running = 0;
    for (uint64_t seed = first; seed <= last || running > 0;) {
        const int slot = free_slot(children, slots);
        if (slot >= 0 && seed <= last) {
            running += start_child(&children[slot], seed++);
            continue;
        }
        failed += !wait_child(children, slots, program_path);
        running--;
    }
    return failed;
}

// Seeds beyond the short run that failed before a mend.
static const uint64_t known_seeds[] = {151,  178,  295,  375,  477,  554,  586,  588,  761,  890,
                                       896,  910,  976,  1017, 1057, 1290, 1345, 1351, 2133, 3119,
                                       3203, 3960, 4264, 4503, 4740, 7038, 7333, 7706, 8798, 9842};

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? first : SHORT_RUN;
    is_loud = argc == 2;
    braid_set_log_level(is_loud ? BRAID_LOG_DEBUG : BRAID_LOG_INFO);
    uint64_t failed = 0;
    for (uint64_t seed = first; seed < first + REPLAYED && !is_loud; seed++)
        failed += !replays(seed, argv[0]);
    failed += run_seeds(first, last, argv[0]);
    uint64_t count = last - first + 1;
    for (size_t i = 0; RUNS_KNOWN_SEEDS && argc == 1 && i < sizeof known_seeds / sizeof *known_seeds;
         i++, count++)
        failed += run_seeds(known_seeds[i], known_seeds[i], argv[0]);
    printf("%llu seeds, %llu failed\n", (unsigned long long)count, (unsigned long long)failed);
    return failed > 0;
}
