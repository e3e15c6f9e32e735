// A training cluster in discrete events.
//
// Each worker is in one of these phases; an event ends it:
//
//   PULLING    its request is on the way to the parameter servers    -> waits in their queue, gets the model
//   COMPUTING  `period` gradients                                    -> sends the update
// PUSHING    the update is on the way                              -> waits in the queue, is applied or
// kept WAITING    for the update of all (synchronous), or for slower workers (bounded staleness): no event
// of its
//              own; another worker's push lets it pull again
#include "cluster_model.h"

#include "base/alloc.h"
#include "base/random.h"
#include <braid/algorithms.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase {
    PULLING,
    COMPUTING,
    PUSHING,
    WAITING
} phase;

typedef struct worker {
    phase phase;
    double factor;      // of its time to compute
    double round_begun; // when it began to pull
    double computing;   // seconds so far, and of the round in progress
    double round_computing;
    int64_t seen;  // updates that its model contains
    int64_t clock; // rounds done
    int64_t step;  // synchronous: the update that its gradient is for
} worker;

typedef struct event {
    double at;
    int worker;
} event;

typedef struct simulation {
    const bd_cluster_costs *costs;
    const bd_cluster_plan *plan;
    bd_rng rng;
    worker *workers;
    event *heap; // one event for each worker at most
    int heap_len;
    double now, ps_free, ps_working;
    int64_t updates, gradients; // counted gradients; updates of the model
    int64_t gathered;           // synchronous: gradients of the update in progress
    int64_t counted, counted_dropped;
    double staleness_sum;
    int64_t staleness_max, lead_max, counted_updates;
    double *rounds; // durations
    int64_t round_count, round_room;
    double begun; // when counting began
    bool is_counting;
} simulation;

// ---- Events: a binary heap by time ----

static bool is_before(const event *a, const event *b)
{
    return a->at < b->at || (a->at == b->at && a->worker < b->worker);
}

static void swap(event *a, event *b)
{
    const event t = *a;
    *a = *b;
    *b = t;
}

static void schedule(simulation *s, int index, phase next, double at)
{
    s->workers[index].phase = next;
    int i = s->heap_len++;
    s->heap[i] = (event){at, index};
    for (; i > 0 && is_before(&s->heap[i], &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static event next_event(simulation *s)
{
    const event first = s->heap[0];
    s->heap[0] = s->heap[--s->heap_len];
    for (int i = 0;;) {
        int least = i;
        for (int k = 2 * i + 1; k <= 2 * i + 2 && k < s->heap_len; k++)
            if (is_before(&s->heap[k], &s->heap[least])) least = k;
        if (least == i) return first;
        swap(&s->heap[i], &s->heap[least]);
        i = least;
    }
}

// ---- Costs ----

static double normal(bd_rng *r)
{
    const double u = 1 - bd_rng_double(r);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * bd_rng_double(r));
}

// A log-normal factor of mean 1.
static double factor(bd_rng *r, double spread)
{
    return spread > 0 ? exp(spread * normal(r) - spread * spread / 2) : 1;
}

static double compute_time(simulation *s, const worker *w)
{
    const bd_cluster_costs *c = s->costs;
    double sum = 0;
    for (int i = 0; i < s->plan->period; i++) {
        sum += c->compute * w->factor * factor(&s->rng, c->compute_spread);
        if (c->straggle_probability > 0 && bd_rng_double(&s->rng) < c->straggle_probability)
            sum += -c->straggle * log(1 - bd_rng_double(&s->rng));
    }
    return sum;
}

// A request waits for its turn at the parameter server. Returns when it has been served.
static double serve(simulation *s, double work)
{
    const double begin = s->now > s->ps_free ? s->now : s->ps_free;
    s->ps_free = begin + work;
    if (s->is_counting) s->ps_working += work;
    return s->ps_free;
}

static double transfer_time(const simulation *s)
{
    const double bandwidth = s->costs->bandwidth;
    return bandwidth > 0 ? s->costs->model_bytes / s->plan->ps / bandwidth : 0;
}

static double apply_time(const simulation *s)
{
    return s->costs->apply_byte * s->costs->model_bytes / s->plan->ps;
}

// ---- Rounds ----

static int64_t slowest_clock(const simulation *s)
{
    int64_t least = s->workers[0].clock;
    for (int i = 1; i < s->plan->workers; i++)
        if (s->workers[i].clock < least) least = s->workers[i].clock;
    return least;
}

static void begin_round(simulation *s, int index, double at)
{
    const bd_cluster_costs *c = s->costs;
    worker *w = &s->workers[index];
    const int64_t lead = w->clock - slowest_clock(s);
    if (lead > s->lead_max) s->lead_max = lead;
    w->round_begun = at;
    schedule(s, index, PULLING, at + c->worker_request * s->plan->ps + c->latency);
}

static void end_round(simulation *s, int index)
{
    worker *w = &s->workers[index];
    w->clock++;
    if (!s->is_counting || s->round_count == s->round_room) return;
    s->rounds[s->round_count++] = s->now - w->round_begun;
}

static void pull(simulation *s, int index)
{
    worker *w = &s->workers[index];
    const double served = serve(s, s->costs->ps_request + transfer_time(s));
    w->seen = s->updates;
    w->step = s->updates;
    w->round_computing = compute_time(s, w);
    schedule(s, index, COMPUTING, served + s->costs->latency + w->round_computing);
}

static void push(simulation *s, int index)
{
    if (s->is_counting) s->workers[index].computing += s->workers[index].round_computing;
    schedule(s, index, PUSHING, s->now + s->costs->worker_request * s->plan->ps + s->costs->latency);
}

static void count_update(simulation *s, int64_t staleness, int64_t gradients)
{
    s->updates++;
    if (!s->is_counting) return;
    s->counted_updates++;
    s->counted += gradients;
    s->staleness_sum += (double)staleness;
    if (staleness > s->staleness_max) s->staleness_max = staleness;
}

// Lets all workers that wait pull again once the parameter servers answer.
static void release(simulation *s, double at, int64_t clock_at_most)
{
    for (int i = 0; i < s->plan->workers; i++)
        if (s->workers[i].phase == WAITING && s->workers[i].clock <= clock_at_most)
            begin_round(s, i, at + s->costs->latency);
}

// The gradient counts when it is for the update in progress.
static void arrive_synchronous(simulation *s, int index)
{
    worker *w = &s->workers[index];
    const double served = serve(s, s->costs->ps_request + transfer_time(s));
    s->now = served;
    end_round(s, index);
    if (w->step != s->updates) { // too late
        if (s->is_counting) s->counted_dropped++;
        begin_round(s, index, served + s->costs->latency);
        return;
    }
    w->phase = WAITING;
    if (++s->gathered < s->plan->workers - s->plan->backup) return;
    const int64_t gathered = s->gathered;
    s->gathered = 0;
    const double applied = serve(s, apply_time(s));
    count_update(s, 0, gathered * s->plan->period);
    release(s, applied, INT64_MAX);
}

static void arrive(simulation *s, int index)
{
    worker *w = &s->workers[index];
    const double served = serve(s, s->costs->ps_request + transfer_time(s) + apply_time(s));
    s->now = served;
    count_update(s, s->updates - w->seen, s->plan->period);
    end_round(s, index);
    if (s->plan->coordination == BD_ASYNCHRONOUS) {
        begin_round(s, index, served + s->costs->latency);
        return;
    }
    const int64_t slowest = slowest_clock(s);
    w->phase = WAITING;
    release(s, served, slowest + s->plan->staleness);
}

static void handle(simulation *s, int index)
{
    switch (s->workers[index].phase) {
    case PULLING: pull(s, index); break;
    case COMPUTING: push(s, index); break;
    case PUSHING: (s->plan->coordination == BD_SYNCHRONOUS ? arrive_synchronous : arrive)(s, index); break;
    case WAITING: break; // has no event
    }
}

// ---- The whole ----

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bd_cluster_forecast summarize(simulation *s)
{
    const double seconds = s->now - s->begun;
    double computing = 0;
    for (int i = 0; i < s->plan->workers; i++)
        computing += s->workers[i].computing;
    bd_cluster_forecast f = {.seconds = seconds, .max_staleness = s->staleness_max, .max_lead = s->lead_max};
    if (!(seconds > 0)) return f;
    f.steps = (double)s->counted / seconds;
    f.updates = (double)s->counted_updates / seconds;
    f.waiting = fmax(0, 1 - computing / (seconds * s->plan->workers));
    f.ps_busy = fmin(1, s->ps_working / seconds);
    if (s->counted_updates) f.mean_staleness = s->staleness_sum / (double)s->counted_updates;
    const double all = (double)s->counted / s->plan->period + (double)s->counted_dropped;
    if (all > 0) f.dropped = (double)s->counted_dropped / all;
    qsort(s->rounds, (size_t)s->round_count, sizeof *s->rounds, by_value);
    if (s->round_count) f.round = s->rounds[s->round_count / 2];
    return f;
}

static void run(simulation *s, int64_t total, int64_t uncounted)
{
    for (int64_t pushes = 0; pushes < total && s->heap_len;) {
        const event e = next_event(s);
        const bool is_push = s->workers[e.worker].phase == PUSHING;
        s->now = e.at;
        handle(s, e.worker);
        pushes += is_push;
        if (is_push && pushes == uncounted) {
            s->is_counting = true;
            s->begun = s->now;
        }
    }
}

bd_cluster_forecast bd_cluster_simulate(const bd_cluster_costs *costs, const bd_cluster_plan *plan,
                                        int rounds, uint64_t seed)
{
    const size_t n = (size_t)plan->workers;
    const int64_t total = (int64_t)rounds * plan->workers;
    simulation s = {.costs = costs, .plan = plan, .rng = bd_rng_init(seed), .round_room = total};
    s.workers = bd_calloc(n, sizeof *s.workers);
    s.heap = bd_calloc(n, sizeof *s.heap);
    s.rounds = bd_calloc((size_t)total, sizeof *s.rounds);
    for (int i = 0; i < plan->workers; i++) {
        s.workers[i].factor = factor(&s.rng, costs->worker_spread);
        if (i == 0 && costs->slow_worker > 0) s.workers[i].factor = costs->slow_worker;
        begin_round(&s, i, 0);
    }
    run(&s, total, total / 10 + 1);
    const bd_cluster_forecast f = summarize(&s);
    bd_free(s.workers);
    bd_free(s.heap);
    bd_free(s.rounds);
    return f;
}

bd_cluster_costs bd_cluster_costs_defaults(void)
{
    return (bd_cluster_costs){.compute_spread = 0.1,
                              .worker_request = 30e-6,
                              .ps_request = 40e-6,
                              .latency = 100e-6,
                              .bandwidth = 1e9};
}

bool bd_cluster_plan_of(const char *algorithm, int workers, bd_cluster_plan *plan)
{
    const braid_algorithm_info *info;
    int i = 0;
    while ((info = braid_algorithm_at(i)) && strcmp(info->name, algorithm) != 0)
        i++;
    if (!info) return false;
    const braid_algorithm_options o = braid_algorithm_defaults(algorithm);
    *plan = (bd_cluster_plan){.ps = 1, .workers = workers, .period = o.period};
    if (strcmp(algorithm, "bounded_staleness") == 0) {
        plan->coordination = BD_BOUNDED_STALENESS;
        plan->staleness = o.staleness;
    } else if (info->is_synchronous) {
        plan->coordination = BD_SYNCHRONOUS;
    }
    if (strcmp(algorithm, "backup_workers") == 0) plan->backup = (workers + 8) / 16;
    return true;
}
