// Processes that are killed in the middle of transfers through shared memory. A parameter server and a worker
// of one host exchange tensors of many sizes in both directions, and by its seed each round kills one of them
// at a random moment, with certificates or without. The other one goes on with the next process. No step
// answers wrong values, no variable holds a tensor in part, and nothing is left at the end: no memory and no
// socket.
//
//     tests_cluster_shared_memory_kills_test [FIRST [LAST]]
//
// runs these seeds (1 to 1000, say); without arguments those of a short run.
// labels: concurrent
// timeout: 240
#include "base/alloc.h"
#include "base/random.h"
#include "base/timer.h"
#include "support/test_cluster.h"
#include <braid/keys.h>
#include <braid/monitoring.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_RUN 30
#define KINDS 4         // of rounds: what a seed means is its remainder
#define FDS_MAX 4096    // descriptors that are looked at
#define DELAY_MS_MAX 40 // of a kill, from then on
#define VALUES_MAX                                                                                           \
    65536 // first elements are whole numbers below; the sum with an index is a float without loss

// In floats: within a message, in memory that both have mapped, and beyond what is mapped.
static const int sizes[] = {1, 300, 20000, 300000, 2000000, 9000000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))
#define LARGE 4 // sizes from there on are rare
// Twice each size but the last: then calls and tensors go through shared memory.
#define FIRST_STEPS (2 * (SIZES - 1))

extern char **environ;

// ---- Steps ----

// Each size has a variable on the parameter server. The worker negates what is fed, a step assigns that to
// the variable, and the worker negates what the parameter server has then.
typedef struct exchange {
    braid_graph *g;
    braid_session *session;
    braid_out x[SIZES], back[SIZES], now[SIZES];
    bd_rng rng;
} exchange;

static void build(exchange *e)
{
    e->g = braid_graph_new();
    for (int i = 0; i < SIZES; i++) {
        char name[16];
        const int32_t count = sizes[i];
        snprintf(name, sizeof name, "x%d", i);
        braid_push_device(e->g, WORKER);
        e->x[i] = braid_placeholder(e->g, name, BRAID_FLOAT, BRAID_SHAPE(count));
        const braid_out there = braid_output(braid_op_add(e->g, "Neg", NULL, &e->x[i], 1), 0);
        braid_pop_device(e->g);
        braid_push_device(e->g, PS);
        braid_out fill[] = {braid_const_int32s(e->g, NULL, &count, 1), braid_const_float(e->g, NULL, 0)};
        snprintf(name, sizeof name, "v%d", i);
        const braid_variable v =
            braid_variable_new(e->g, name, braid_output(braid_op_add(e->g, "Fill", NULL, fill, 2), 0), false);
        const braid_out assigned = braid_assign(e->g, v.ref, there);
        braid_pop_device(e->g);
        braid_push_device(e->g, WORKER);
        e->back[i] = braid_output(braid_op_add(e->g, "Neg", NULL, &assigned, 1), 0);
        e->now[i] = braid_identity(e->g, NULL, v.read);
        braid_pop_device(e->g);
    }
}

// Whether a tensor is `first`, `first` + 1, ..., or that negated.
static bool is_whole(const braid_tensor *t, float first, float sign)
{
    const float *values = braid_tensor_data(t);
    const int64_t count = braid_tensor_num_elements(t);
    for (int64_t i = 0; i < count; i++)
        if (values[i] != sign * (first + (float)i)) return false;
    return true;
}

// Draws the size of the next step.
static int draw_size(exchange *e)
{
    return (int)bd_rng_below(&e->rng, bd_rng_below(&e->rng, 8) ? LARGE : SIZES);
}

// A step with values of its own, of a size. Sets *is_wrong when it answers other values.
static braid_code exchange_step(exchange *e, int of, bool *is_wrong, braid_status *st)
{
    const float first = (float)bd_rng_below(&e->rng, VALUES_MAX);
    braid_tensor *x = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(sizes[of]), NULL), *back = NULL;
    float *values = braid_tensor_data(x);
    for (int i = 0; i < sizes[of]; i++)
        values[i] = first + (float)i;
    const braid_feed feed = {e->x[of], x};
    const braid_fetch fetch = {e->back[of], &back};
    const braid_run_args args = {
        .feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1, .timeout_ms = PATIENCE_MS};
    if (!braid_session_run(e->session, &args, st) && !is_whole(back, first, 1)) *is_wrong = true;
    braid_tensor_free(back);
    braid_tensor_free(x);
    return st->code;
}

// A task that has lost the other one may take a moment until it reaches the next one. Returns whether the
// step is to be run again.
static bool is_early(int64_t deadline_ns, braid_status *st)
{
    const bool is_early = st->code == BRAID_UNAVAILABLE && bd_now_ns() < deadline_ns;
    if (is_early) braid_status_clear(st);
    return is_early;
}

// Until calls and tensors go through shared memory.
static braid_code exchange_first(exchange *e, bool *is_wrong, braid_status *st)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    for (int i = 0; i < FIRST_STEPS && !*is_wrong && !st->code;)
        if (!exchange_step(e, i % (SIZES - 1), is_wrong, st) || !is_early(deadline_ns, st)) i++;
    return st->code;
}

// Reads what a process that was killed may have assigned. False: a variable holds no whole tensor.
static bool variables_are_whole(exchange *e, braid_status *st)
{
    bool are_whole = true;
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    for (int i = 0; i < SIZES && are_whole && !st->code; i++) {
        braid_tensor *now = NULL;
        const braid_fetch fetch = {e->now[i], &now};
        const braid_run_args args = {.fetches = &fetch, .fetch_count = 1, .timeout_ms = PATIENCE_MS};
        if (braid_session_run(e->session, &args, st)) {
            if (st->code == BRAID_FAILED_PRECONDITION) braid_status_clear(st); // it has no value yet
            if (is_early(deadline_ns, st)) i--;
            continue;
        }
        are_whole = is_whole(now, -*(const float *)braid_tensor_data(now), -1);
        braid_tensor_free(now);
    }
    return are_whole;
}

// ---- The process that is killed ----

static int serve(const braid_cluster *spec)
{
    BD_STATUS(st);
    if (!braid_server_start(spec, "ps", 0, NULL, st)) return 1;
    pause();
    return 0;
}

// Says so when all ways of the transport are in use, and goes on until it is killed.
static int work(const braid_cluster *spec, uint64_t seed)
{
    BD_STATUS(st);
    exchange e = {.rng = bd_rng_init(seed)};
    braid_server *server = braid_server_start(spec, "worker", 0, NULL, st);
    build(&e);
    if (server) e.session = braid_session_open(e.g, &(braid_session_options){.server = server}, st);
    bool is_wrong = e.session && !variables_are_whole(&e, st);
    if (!is_wrong && !st->code && !exchange_first(&e, &is_wrong, st)) printf("ready\n");
    fflush(stdout);
    while (!is_wrong && !st->code)
        exchange_step(&e, draw_size(&e), &is_wrong, st);
    fprintf(stderr, "%s\n", is_wrong ? "wrong values" : st->message);
    return is_wrong ? 2 : 1;
}

static int be_killed(char **argv)
{
    BD_STATUS(st);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    braid_set_log_level(BRAID_LOG_ERROR);
    const braid_cluster *spec = braid_cluster_from_hosts(argv[2], argv[3], st);
    if (!spec) return 1;
    return strcmp(argv[1], "ps") == 0 ? serve(spec) : work(spec, strtoull(argv[4], NULL, 10));
}

// ---- The process that goes on ----

// For each kind of round: a cluster of which this process has one task.
typedef struct kind {
    bool is_ps, has_certificates; // is_ps: the other task, that is killed
    test_cluster *cluster;
    exchange e; // where this process is the worker
} kind;

typedef struct survivor {
    char keys[32], dir[48];
    kind kinds[KINDS];
    bd_timers *timers;
    int64_t steps; // that were answered between the first ones and the kills
    int linked;    // rounds in which calls went through shared memory before the kill
    int ended[BRAID_UNAUTHENTICATED + 1];
} survivor;

static void use_certificates(const survivor *s, bool uses)
{
    if (uses)
        setenv("BRAID_TLS_DIR", s->dir, 1);
    else
        unsetenv("BRAID_TLS_DIR");
}

static void begin(survivor *s)
{
    BD_STATUS(st);
    assert_int_equal(bd_timers_new(&s->timers, st), BRAID_OK);
    for (int i = 0; i < KINDS; i++) {
        kind *k = &s->kinds[i];
        *k = (kind){.is_ps = i % 2 == 0, .has_certificates = i / 2 == 1};
        use_certificates(s, k->has_certificates);
        k->cluster = test_cluster_new(TEST_GRPC, 1, 1);
        test_start(k->cluster, k->is_ps ? "worker" : "ps", 0, NULL);
        if (k->is_ps) build(&k->e);
    }
}

static void end(survivor *s)
{
    for (int i = 0; i < KINDS; i++) {
        test_cluster_free(s->kinds[i].cluster);
        braid_graph_free(s->kinds[i].e.g);
    }
    bd_timers_free(s->timers);
}

static pid_t start_other(const kind *k, uint64_t seed, FILE **out)
{
    int ends[2];
    char number[24];
    pid_t pid;
    posix_spawn_file_actions_t actions;
    char *argv[] = {"shared_memory_kills_test",
                    k->is_ps ? "ps" : "worker",
                    (char *)braid_cluster_address(k->cluster->spec, "ps", 0),
                    (char *)braid_cluster_address(k->cluster->spec, "worker", 0),
                    number,
                    NULL};
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    assert_int_equal(pipe(ends), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = fdopen(ends[0], "r");
    return pid;
}

// It was alive until it was killed: its values were right.
static void await_killed(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status)) fail_msg("the other process ended with %d", WEXITSTATUS(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void kill_it(void *arg)
{
    kill((pid_t)(intptr_t)arg, SIGKILL);
}

// Notes whether this process shares calls with the other one, and has read tensors from its memory.
static void look_at_links(survivor *s, const kind *k)
{
    BD_STATUS(st);
    const char *address = braid_cluster_address(k->cluster->spec, k->is_ps ? "worker" : "ps", 0);
    const braid_monitor_options options = {.timeout_ms = PATIENCE_MS};
    braid_task_description *d = braid_describe_task(address, &options, st);
    if (!d) fail_msg("%s", st->message);
    s->linked += d->shared_memory_links > 0 && d->memory_bytes > 0;
    braid_task_description_free(d);
}

static int64_t draw_moment(bd_rng *rng)
{
    return bd_now_ns() + (int64_t)bd_rng_below(rng, DELAY_MS_MAX * 1000000);
}

static void kill_the_parameter_server(survivor *s, kind *k, uint64_t seed)
{
    BD_STATUS(st);
    FILE *out;
    bool is_wrong = false;
    const pid_t pid = start_other(k, seed, &out);
    fclose(out);
    k->e.rng = bd_rng_init(seed);
    k->e.session = test_session(k->cluster, k->e.g, "worker", 0, NULL, st);
    if (!k->e.session) fail_msg("%s", st->message);
    if (exchange_first(&k->e, &is_wrong, st)) fail_msg("%s", st->message);
    look_at_links(s, k);
    bd_timer_add(s->timers, draw_moment(&k->e.rng), kill_it, (void *)(intptr_t)pid);
    while (!is_wrong && !exchange_step(&k->e, draw_size(&k->e), &is_wrong, st))
        s->steps++;
    assert_false(is_wrong);
    await_killed(pid);
    s->ended[st->code]++;
    braid_session_close(k->e.session, NULL);
}

static void kill_the_worker(survivor *s, const kind *k, uint64_t seed)
{
    FILE *out;
    char line[16];
    bd_event never;
    bd_rng rng = bd_rng_init(seed);
    const pid_t pid = start_other(k, seed, &out);
    if (!fgets(line, sizeof line, out)) fail_msg("the worker is not ready");
    fclose(out);
    look_at_links(s, k);
    bd_event_init(&never);
    bd_event_wait_until(&never, draw_moment(&rng));
    bd_event_fini(&never);
    kill(pid, SIGKILL);
    await_killed(pid);
}

static void run_seed(survivor *s, uint64_t seed)
{
    kind *k = &s->kinds[seed % KINDS];
    use_certificates(s, k->has_certificates);
    if (k->is_ps)
        kill_the_parameter_server(s, k, seed);
    else
        kill_the_worker(s, k, seed);
}

static void run_seeds(survivor *s, uint64_t first, uint64_t last)
{
    begin(s);
    for (uint64_t seed = first; seed <= last; seed++) {
        printf("seed %llu\n", (unsigned long long)seed);
        run_seed(s, seed);
    }
    end(s);
}

// ---- What is left ----

// What this process has of others or for them. The memory has no name in any file system.
typedef struct leftovers {
    int mapped, files, sockets; // pieces of shared memory: mapped, and open; local sockets
} leftovers;

static leftovers look(void)
{
    char line[512];
    leftovers l = {0};
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        l.mapped += strstr(line, "memfd:") != NULL;
    fclose(maps);
    for (int fd = 0; fd < FDS_MAX; fd++) {
        struct sockaddr_un address;
        socklen_t len = sizeof address;
        char path[32], target[128] = "";
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) < 0) continue;
        l.files += strstr(target, "memfd:") != NULL;
        l.sockets += getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.sun_family == AF_UNIX;
    }
    return l;
}

static uint64_t first_seed = 1, last_seed = SHORT_RUN;

static void a_killed_task_leaves_no_wrong_value_no_memory_and_no_socket(void **state)
{
    (void)state;
    BD_STATUS(st);
    survivor s = {.keys = "/tmp/braid-test-XXXXXX"};
    char remove[64];
    assert_non_null(mkdtemp(s.keys));
    assert_int_equal(braid_keys_new(s.keys, st), BRAID_OK);
    assert_int_equal(braid_keys_add(s.keys, "task", BRAID_ROLE_TASK, 2, st), BRAID_OK);
    snprintf(s.dir, sizeof s.dir, "%s/task", s.keys);
    run_seeds(&s, first_seed, first_seed + KINDS - 1); // what a process keeps for good is there now
    const leftovers before = look();
    run_seeds(&s, first_seed, last_seed);
    const leftovers after = look();
    assert_int_equal(after.mapped, before.mapped);
    assert_int_equal(after.files, before.files);
    assert_int_equal(after.sockets, before.sockets);
    const int rounds = (int)(last_seed - first_seed) + 1 + KINDS;
    printf("%d kills, %d while calls and tensors went through shared memory\n", rounds, s.linked);
    printf("%lld steps were answered before parameter servers were killed; the next ended with",
           (long long)s.steps);
    for (int code = 0; code <= BRAID_UNAUTHENTICATED; code++)
        if (s.ended[code]) printf(" %s: %d", braid_code_name((braid_code)code), s.ended[code]);
    printf("\n");
    assert_true(s.linked > rounds / 2);
    snprintf(remove, sizeof remove, "rm -rf %s", s.keys);
    assert_int_equal(system(remove), 0); // NOLINT(cert-env33-c): a path of our own
}

int main(int argc, char **argv)
{
    if (argc == 5) return be_killed(argv);
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 1) last_seed = argc > 2 ? strtoull(argv[2], NULL, 10) : first_seed;
    braid_set_log_level(BRAID_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_task_leaves_no_wrong_value_no_memory_and_no_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
