// Steps of a paced worker: the wait for the time of a gradient, and a run of its training step.
#include "paced_worker.h"

#include <stdio.h>

// ---- The time of a gradient ----

// A wait that ends at its deadline: nothing signals the condition.
static void wait_us(int us)
{
    const int64_t deadline = bd_now_ns() + (int64_t)us * 1000;
    bd_mutex mu = BD_MUTEX_INIT;
    bd_cond never = BD_COND_INIT;
    bd_mutex_lock(&mu);
    while (us > 0 && !bd_cond_wait_until(&never, &mu, deadline)) {}
    bd_mutex_unlock(&mu);
}

// ---- The graph ----

static braid_algorithm *make_algorithm(const paced_worker *w, braid_graph *g)
{
    braid_algorithm_options o = braid_algorithm_defaults(w->algorithm);
    o.num_workers = w->workers;
    o.backup_workers = w->backup;
    o.worker = w->index;
    o.is_chief = w->index == 0;
    return braid_algorithm_new(g, w->algorithm, &o);
}

static braid_op *build(braid_graph *g, braid_algorithm *a)
{
    const braid_out step = braid_global_step(g);
    braid_push_algorithm(g, a);
    const braid_variable x = braid_variable_new(g, "x", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(5)), true);
    braid_pop_algorithm(g);
    return braid_algorithm_minimize(a, braid_reduce_sum(g, braid_square(g, x.read)), step);
}

// ---- The steps ----

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    (void)clock_gettime(clock, &t); // a server that has ended has no clock any more
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void take_sample(paced_worker *w, braid_monitored_session *s)
{
    if (w->count == PACED_SAMPLES_MAX) return;
    w->samples[w->count++] = (paced_sample){.at_ns = bd_now_ns(),
                                            .step = braid_monitored_session_global_step(s),
                                            .own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
                                            .server_ns = clock_ns(w->server_clock)};
}

void paced_worker_run(paced_worker *w)
{
    braid_graph *g = braid_graph_new();
    braid_server *server = test_server(w->cluster, "worker", w->index);
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", w->index);
    const braid_device_setter_options setter = {.worker_device = device};
    braid_push_device_setter(g, braid_replica_device_setter(g, w->cluster->spec, &setter));
    braid_algorithm *a = make_algorithm(w, g);
    braid_op *train = build(g, a);
    const char *const filters[] = {"/job:ps", device};
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){
               .session = {.server = server, .device_filters = filters, .device_filter_count = 2},
               .is_chief = w->index == 0,
               .hooks = BRAID_HOOKS(braid_algorithm_sync_hook(a), braid_algorithm_hook(a),
                                    braid_stop_at_step(w->last_step))});
    for (int64_t i = 0; !braid_should_stop(s); i++) {
        if (w->pace) wait_us(w->pace(w->pace_arg, w->index, i));
        braid_run(s, NULL, NULL, train);
        take_sample(w, s);
    }
    w->code = braid_monitored_session_close(s);
    braid_server_done(server); // so that no other worker waits for this one
    braid_graph_free(g);
}

// ---- Rates ----

double paced_worker_rate(const paced_worker *w, int first)
{
    assert_true(w->count > first + 2);
    const paced_sample *from = &w->samples[first], *to = &w->samples[w->count - 2];
    return (double)(to->step - from->step) / ((double)(to->at_ns - from->at_ns) * 1e-9);
}
