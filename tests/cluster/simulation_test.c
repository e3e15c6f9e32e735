// Training in simulated time on a network that loses, repeats, delays and reorders messages, cuts connections
// and isolates tasks: for every seed it ends, and every step is applied at most once.
//
//     tests_cluster_simulation_test [FIRST [LAST]]
//
// runs these seeds (1 to 1000, say); without arguments those of a short run. A seed always gives the same
// run.
// labels: concurrent
// timeout: 240
#include "base/alloc.h"
#include "base/log.h"
#include "base/random.h"
#include "base/testing/simulation.h"
#include "cluster/session/client_session.h"
#include "cluster/spec/cluster_spec.h"
#include "support/test_cluster.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS ((int64_t)1000000000)
#define SHORT_RUN 25
#define REPLAYED 2 // seeds that are run twice
#define WORKERS 2
#define STEPS 12
#define ATTEMPTS_MAX 300 // a worker that needs more does not get on
#define STEP_TIMEOUT_MS 6000
#define OPERATION_TIMEOUT_MS 20000
#define PAUSE_NS (SECOND_NS / 20)
// The time until abandoned calls have ended: a late message of an initialization would undo the training.
#define SETTLE_NS (10 * SECOND_NS)
// The limit of a run in simulated time; a run without faults takes less than a minute.
#define LIMIT_NS (3600 * SECOND_NS)
// The same for the processor: a seed that never waits has a fault, too.
#define REAL_LIMIT_S 200

static const char *const addresses[] = {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}; // ps, workers

typedef struct simulated_cluster {
    uint64_t seed;
    bd_transport *network;
    braid_cluster *spec;
    braid_server *ps, *workers[WORKERS];
} simulated_cluster;

typedef struct worker {
    simulated_cluster *cluster;
    int index;
    bd_thread thread;
    braid_graph *graph;
    braid_session *session;
    braid_op *init, *train, *mark;
    braid_out features, labels, loss, step, attempt, marks[WORKERS];
    int succeeded, attempted;
    bool has_succeeded[ATTEMPTS_MAX];
} worker;

static void fail_seed(const simulated_cluster *c, const char *what, const braid_status *st)
{
    fprintf(stderr, "seed %llu: %s: %s: %s\n", (unsigned long long)c->seed, what, braid_code_name(st->code),
            braid_status_message(st));
    _exit(1);
}

static void wrong(const simulated_cluster *c, const char *what, double value)
{
    fprintf(stderr, "seed %llu: %s %g\n", (unsigned long long)c->seed, what, value);
    _exit(1);
}

// ---- The model: softmax regression; each attempt to make a step adds one to a number of its own ----

static void build(worker *w)
{
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", w->index);
    braid_graph *g = w->graph = braid_graph_new();
    braid_op *inits[3 + WORKERS];
    braid_tensor *zero = braid_tensor_int32(0);
    braid_push_device(g, PS);
    const braid_variable step = braid_variable_of(g, "global_step", zero, false);
    const braid_variable weights =
        braid_variable_new(g, "weights", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(3, 2)), true);
    const braid_variable biases =
        braid_variable_new(g, "biases", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(2)), true);
    braid_pop_device(g);
    braid_tensor_free(zero);
    inits[0] = step.initializer;
    inits[1] = weights.initializer;
    inits[2] = biases.initializer;
    for (int i = 0; i < WORKERS; i++) {
        char name[24];
        snprintf(name, sizeof name, "marks_%d", i);
        braid_push_device(g, PS);
        const braid_out zeros = braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(ATTEMPTS_MAX));
        const braid_variable marks = braid_variable_new(g, name, zeros, false);
        braid_pop_device(g);
        w->marks[i] = marks.ref;
        inits[3 + i] = marks.initializer;
    }
    w->init = braid_group(g, "init", inits, 3 + WORKERS);
    w->step = step.ref;
    braid_push_device(g, device);
    w->features = braid_placeholder(g, "features", BRAID_FLOAT, BRAID_SHAPE(-1, 3));
    w->labels = braid_placeholder(g, "labels", BRAID_INT32, BRAID_SHAPE(-1));
    const braid_out logits = braid_xw_plus_b(g, w->features, weights.read, biases.read);
    w->loss = braid_reduce_mean(g, braid_sparse_softmax_cross_entropy(g, logits, w->labels));
    braid_pop_device(g);
    w->train = braid_minimize(braid_gradient_descent(g, 0.5F), w->loss, step.ref);
    // The feed on the worker crosses the network.
    braid_push_device(g, device);
    w->attempt = braid_placeholder(g, "attempt", BRAID_FLOAT, BRAID_SHAPE(ATTEMPTS_MAX));
    braid_pop_device(g);
    const braid_out mark = NODE(g, "Abs", "mark", device, w->attempt);
    w->mark = NODE(g, "AssignAdd", "add_mark", PS, w->marks[w->index], mark).op;
}

// Points on either side of a plane.
static void draw_batch(float features[4][3], int32_t labels[4])
{
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 3; j++)
            features[i][j] = (float)(bd_random_u64() % 2001) / 1000 - 1;
        labels[i] = features[i][0] + features[i][1] > 0;
    }
}

// ---- A client that recovers as clients do ----

// Returns whether a client recovers from the error by a new session or by trying again after a pause.
static bool is_explained(braid_code code)
{
    return code == BRAID_UNAVAILABLE || code == BRAID_ABORTED || code == BRAID_DEADLINE_EXCEEDED;
}

static void pause_after(const worker *w, const char *what, braid_status *st)
{
    if (!is_explained(st->code)) fail_seed(w->cluster, what, st);
    bd_debug("%s: %s: %s", what, braid_code_name(st->code), st->message);
    braid_status_clear(st);
    bd_simulation_sleep(PAUSE_NS);
}

static void close_session(worker *w)
{
    BD_STATUS(st);
    if (braid_session_close(w->session, st) && !is_explained(st->code)) fail_seed(w->cluster, "close", st);
    w->session = NULL;
}

// By direct call on the one worker, and over the network on the other.
static void open_session(worker *w)
{
    static const char *const filters[] = {"/job:ps"};
    char target[32];
    snprintf(target, sizeof target, "grpc://%s", addresses[1 + w->index]);
    while (!w->session) {
        BD_STATUS(st);
        braid_session_options options = {.device_filters = filters,
                                         .device_filter_count = 1,
                                         .operation_timeout_ms = OPERATION_TIMEOUT_MS,
                                         .server = w->cluster->workers[w->index],
                                         .target = target};
        bd_session *impl;
        if (w->index == 0)
            w->session = braid_session_open(w->graph, &options, st);
        else if (!bd_remote_session_new(&options, w->cluster->network, &impl, st))
            w->session = bd_session_wrap(w->graph, impl);
        if (!w->session) pause_after(w, "open", st);
    }
}

// Makes one attempt; opens a new session after an error that ends the session.
static braid_code try(worker *w, const braid_run_args *args, const char *what)
{
    BD_STATUS(st);
    open_session(w);
    const braid_code code = braid_session_run(w->session, args, st);
    if (code) pause_after(w, what, st);
    if (code == BRAID_UNAVAILABLE || code == BRAID_ABORTED) close_session(w);
    return code;
}

static void initialize(worker *w)
{
    const braid_run_args args = {.targets = &w->init, .target_count = 1, .timeout_ms = STEP_TIMEOUT_MS};
    while (try(w, &args, "initialization")) {}
    bd_simulation_sleep(SETTLE_NS);
    BD_STATUS(st);
    while (braid_session_notify(w->session, "ready", st))
        pause_after(w, "announce", st);
}

static void wait_for_chief(worker *w)
{
    BD_STATUS(st);
    int64_t generation;
    open_session(w);
    while (braid_session_wait_notification(
        w->session, &(braid_notification_wait){.key = "ready", .seen = 0, .timeout_ms = OPERATION_TIMEOUT_MS},
        &generation, st)) {
        pause_after(w, "await", st);
        close_session(w);
        open_session(w);
    }
}

static braid_code train_once(worker *w, float *loss)
{
    float features[4][3], attempt[ATTEMPTS_MAX] = {0};
    int32_t labels[4];
    draw_batch(features, labels);
    attempt[w->attempted] = 1;
    braid_tensor *x = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(4, 3), features, NULL);
    braid_tensor *y = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(4), labels, NULL);
    braid_tensor *a = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(ATTEMPTS_MAX), attempt, NULL);
    braid_tensor *t = NULL;
    const braid_feed feeds[] = {{w->features, x}, {w->labels, y}, {w->attempt, a}};
    const braid_fetch fetch = {w->loss, &t};
    braid_op *const targets[] = {w->train, w->mark};
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = 3,
                                 .fetches = &fetch,
                                 .fetch_count = 1,
                                 .targets = targets,
                                 .target_count = 2,
                                 .timeout_ms = STEP_TIMEOUT_MS};
    const braid_code code = try(w, &args, "step");
    if (!code) *loss = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    braid_tensor_free(x);
    braid_tensor_free(y);
    braid_tensor_free(a);
    return code;
}

static void work(void *arg)
{
    worker *w = arg;
    build(w);
    open_session(w);
    if (w->index == 0)
        initialize(w);
    else
        wait_for_chief(w);
    while (w->succeeded < STEPS) {
        float loss = 0;
        const bool is_good = train_once(w, &loss) == BRAID_OK;
        w->has_succeeded[w->attempted++] = is_good;
        w->succeeded += is_good;
        if (!(loss >= 0 && loss < 100)) wrong(w->cluster, "the loss is", (double)loss);
        if (w->attempted == ATTEMPTS_MAX) wrong(w->cluster, "too many attempts for steps:", w->succeeded);
    }
}

// ---- Faults ----

static bd_inprocess_faults draw_faults(uint64_t seed)
{
    static const double loss[] = {0, 0.002, 0.01}, repetition[] = {0, 0.02, 0.2}, cuts[] = {0, 0.001, 0.004};
    static const int64_t delays[] = {0, SECOND_NS / 1000, SECOND_NS / 50, SECOND_NS / 2};
    return (bd_inprocess_faults){.seed = seed,
                                 .lose = loss[bd_random_u64() % 3],
                                 .duplicate = repetition[bd_random_u64() % 3],
                                 .cut = cuts[bd_random_u64() % 3],
                                 .delay_max_ns = delays[bd_random_u64() % 4]};
}

// Cuts tasks off for a while.
static void cut_off(void *arg)
{
    const simulated_cluster *c = arg;
    for (uint64_t times = bd_random_u64() % 4; times > 0; times--) {
        const char *address = addresses[bd_random_u64() % 3];
        bd_simulation_sleep((int64_t)(bd_random_u64() % (uint64_t)(15 * SECOND_NS)));
        bd_inprocess_set_down(c->network, address, true);
        bd_simulation_sleep((int64_t)(bd_random_u64() % (uint64_t)(5 * SECOND_NS)));
        bd_inprocess_set_down(c->network, address, false);
    }
}

// ---- One seed ----

static braid_tensor *fetch(worker *w, braid_out out)
{
    braid_tensor *t = NULL;
    const braid_fetch f = {out, &t};
    const braid_run_args args = {.fetches = &f, .fetch_count = 1, .timeout_ms = STEP_TIMEOUT_MS};
    while (try(w, &args, "reading")) {}
    return t;
}

// An attempt that succeeded has left its mark once, one that failed once at most.
static void check_marks(worker *reader, const worker *w)
{
    braid_tensor *t = fetch(reader, reader->marks[w->index]);
    const float *marks = braid_tensor_data(t);
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        const bool may_be = i < w->attempted && (marks[i] == 0 || marks[i] == 1);
        if (i < w->attempted && w->has_succeeded[i] && marks[i] != 1)
            wrong(w->cluster, "a step was done times:", (double)marks[i]);
        if (!may_be && marks[i] != 0) wrong(w->cluster, "a failed step was done times:", (double)marks[i]);
    }
    braid_tensor_free(t);
}

static void check_step(worker *reader, const worker workers[])
{
    int succeeded = 0, attempted = 0;
    for (int i = 0; i < WORKERS; i++) {
        succeeded += workers[i].succeeded;
        attempted += workers[i].attempted;
    }
    braid_tensor *t = fetch(reader, reader->step);
    const int32_t step = *(const int32_t *)braid_tensor_data(t);
    if (step < succeeded || step > attempted) wrong(reader->cluster, "global_step is", step);
    braid_tensor_free(t);
}

static braid_server *start(simulated_cluster *c, const char *job, int index)
{
    BD_STATUS(st);
    braid_server *s = bd_server_start(c->spec, job, index, NULL, c->network, st);
    if (!s) fail_seed(c, "start", st);
    return s;
}

static void start_cluster(simulated_cluster *c)
{
    BD_STATUS(st);
    const bd_inprocess_faults faults = draw_faults(c->seed);
    c->network = bd_inprocess_transport_new(&faults, NULL, st);
    c->spec = bd_cluster_new();
    bd_cluster_add(c->spec, "ps", 0, addresses[0], st);
    for (int i = 0; i < WORKERS; i++)
        bd_cluster_add(c->spec, "worker", i, addresses[1 + i], st);
    if (st->code) fail_seed(c, "cluster", st);
    c->ps = start(c, "ps", 0);
    for (int i = 0; i < WORKERS; i++)
        c->workers[i] = start(c, "worker", i);
}

// The parameter server ends by itself when the workers have.
static void end_cluster(simulated_cluster *c)
{
    BD_STATUS(st);
    for (int i = 0; i < WORKERS; i++)
        braid_server_free(c->workers[i]);
    braid_server_join(c->ps, st);
    braid_server_free(c->ps);
    c->network->free(c->network);
    braid_cluster_free(c->spec);
}

static void run_seed(uint64_t seed)
{
    BD_STATUS(st);
    bd_simulation_begin(seed, LIMIT_NS);
    simulated_cluster c = {.seed = seed};
    worker workers[WORKERS] = {0};
    bd_thread cutter;
    start_cluster(&c);
    bd_thread_start(&cutter, "cutter", cut_off, &c, st);
    for (int i = 0; i < WORKERS; i++) {
        workers[i].cluster = &c;
        workers[i].index = i;
        bd_thread_start(&workers[i].thread, "worker", work, &workers[i], st);
    }
    for (int i = 0; i < WORKERS; i++)
        bd_thread_join(&workers[i].thread);
    for (int i = 0; i < WORKERS; i++)
        check_marks(&workers[0], &workers[i]);
    check_step(&workers[0], workers);
    for (int i = 0; i < WORKERS; i++) {
        close_session(&workers[i]);
        braid_graph_free(workers[i].graph);
    }
    bd_thread_join(&cutter);
    end_cluster(&c);
}

// ---- Many seeds: a process each ----

// Writes the history to `out`.
static pid_t start_seed(uint64_t seed, int out)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    alarm(REAL_LIMIT_S);
    run_seed(seed);
    const uint64_t history = bd_simulation_history();
    exit(write(out, &history, sizeof history) == sizeof history ? 0 : 1);
}

static bool run_in_process(const char *program, uint64_t seed, uint64_t *history)
{
    int ends[2], status = -1;
    if (pipe(ends) != 0) return false;
    const pid_t pid = start_seed(seed, ends[1]);
    close(ends[1]);
    const bool has_told = read(ends[0], history, sizeof *history) == sizeof *history;
    close(ends[0]);
    waitpid(pid, &status, 0);
    if (has_told && status == 0) return true;
    fprintf(stderr, "seed %llu failed (%s %d); again: %s %llu\n", (unsigned long long)seed,
            WIFSIGNALED(status) ? "signal" : "exit code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), program, (unsigned long long)seed);
    return false;
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? first : SHORT_RUN;
    braid_set_log_level(argc == 2 ? BRAID_LOG_DEBUG : BRAID_LOG_ERROR);
    uint64_t failed = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        uint64_t history = 0, again = 0;
        bool is_good = run_in_process(argv[0], seed, &history);
        if (is_good && seed < first + REPLAYED) {
            is_good = run_in_process(argv[0], seed, &again) && again == history;
            if (!is_good) fprintf(stderr, "seed %llu does not replay\n", (unsigned long long)seed);
        }
        failed += !is_good;
    }
    printf("%llu seeds, %llu failed\n", (unsigned long long)(last - first + 1), (unsigned long long)failed);
    return failed > 0;
}
