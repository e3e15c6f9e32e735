// A training cluster in discrete events.
//
// Each worker is in one of these phases; an event ends it:
//
//   PULLING    its request is on the way to the parameter servers  -> waits in their queue
//   ANSWERING  the parameter servers work on it                    -> the model goes to the network
//   READING    the model is on the network                         -> has it
//   COMPUTING  `period` gradients                                  -> asks to send the update
//   PUSHING    the request is on the way                           -> the update goes to the network
//   SENDING    the update is on the network                        -> waits in the queue
//   APPLYING   the parameter servers take it                       -> pulls again, or waits
//   WAITING    for a token (synchronous), or for slower workers (bounded staleness): no event of its own;
//              another worker's update lets it pull again
#include "cluster_model.h"

#include "event_queue.h"

#include "base/alloc.h"
#include "base/array.h"
#include <braid/algorithms.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase {
    PULLING,
    ANSWERING,
    READING,
    COMPUTING,
    PUSHING,
    SENDING,
    APPLYING,
    WAITING
} phase;

typedef struct worker {
    phase phase;
    double factor;      // of its time to compute
    double round_begun; // when it began to pull
    double computing;   // seconds so far, and of the round in progress
    double round_computing;
    int64_t gradients; // that it has begun
    int64_t seen;      // updates that its model contains
    int64_t clock;     // rounds done
    int64_t cache;     // bounded staleness: the slowest clock that its model contains
    int64_t step;      // synchronous: the update that its gradient is for
} worker;

// The network of a parameter server: the transfers in progress share it equally. All are of the same size.
typedef struct network {
    bd_event_queue transfers; // their `at` is the `moved` at which they end
    double moved;             // seconds of the whole network that each transfer in progress has had ...
    double at;                // ... by this time
    double working;           // seconds, while counting
} network;

// Durations, for their median.
typedef struct durations {
    double *items;
    int64_t len, room;
} durations;

typedef struct simulation {
    const bd_cluster_costs *costs;
    const bd_cluster_plan *plan;
    const bd_cluster_watch *watch; // NULL: none
    bd_rng rng;
    worker *workers;
    bd_event_queue events; // one for each worker at most; the network has those of transfers
    network network;
    double now, ps_free, ps_working;
    int64_t updates;
    double updated;   // when the last update was made
    int64_t slowest;  // the least clock of the workers, ...
    int at_slowest;   // ... and how many have it
    int64_t gathered; // synchronous: gradients of the update in progress
    // Synchronous: tokens of update k are there from tokens_at[k] on; so many of all were taken.
    BD_ARRAY(double) tokens_at;
    int64_t taken;
    int64_t counted, counted_dropped; // gradients
    double staleness_sum;
    int64_t staleness_max, lead_max, counted_updates;
    durations rounds, between;
    double begun; // when counting began
    bool is_counting;
} simulation;

static void happen(const simulation *s, bd_cluster_moment what, int index)
{
    if (s->watch) s->watch->happened(s->watch->arg, what, index, s->now);
}

static void schedule(simulation *s, int index, phase next, double at)
{
    s->workers[index].phase = next;
    bd_event_queue_add(&s->events, (bd_event){at, index});
}

static void note(durations *d, double seconds)
{
    if (d->len < d->room) d->items[d->len++] = seconds;
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

static double gradient_time(simulation *s, worker *w)
{
    const bd_cluster_costs *c = s->costs;
    const int64_t index = w->gradients++;
    if (c->compute_time) return c->compute_time(c->compute_time_arg, (int)(w - s->workers), index, &s->rng);
    double seconds = c->compute * w->factor * factor(&s->rng, c->compute_spread);
    if (c->straggle_probability > 0 && bd_rng_double(&s->rng) < c->straggle_probability)
        seconds += -c->straggle * log(1 - bd_rng_double(&s->rng));
    return seconds;
}

static double compute_time(simulation *s, worker *w)
{
    double sum = 0;
    for (int i = 0; i < s->plan->period; i++)
        sum += gradient_time(s, w);
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

// The whole model through a worker's network.
static double transfer_time(const simulation *s)
{
    const double bandwidth = s->costs->bandwidth;
    return bandwidth > 0 ? s->costs->model_bytes / bandwidth : 0;
}

static double apply_time(const simulation *s)
{
    return s->costs->apply_byte * s->costs->model_bytes / s->plan->ps;
}

// ---- The network ----

// Seconds in which a transfer gets one second of a parameter server's network. A worker's own network is
// divided among all parameter servers.
static double sharing(const simulation *s)
{
    return fmax(s->network.transfers.len, s->plan->ps);
}

static void advance(simulation *s)
{
    network *n = &s->network;
    n->moved = n->transfers.len ? n->moved + (s->now - n->at) / sharing(s) : 0;
    n->at = s->now;
}

// Moves the model between a worker and the parameter servers, with a part to each of them.
static void move_model(simulation *s, int index, phase while_moving)
{
    const double work = transfer_time(s) / s->plan->ps;
    advance(s);
    bd_event_queue_add(&s->network.transfers, (bd_event){s->network.moved + work, index});
    s->workers[index].phase = while_moving;
    if (s->is_counting) s->network.working += work;
}

// When the first of the transfers in progress ends, if no other begins before.
static double next_transfer_end(const simulation *s)
{
    const network *n = &s->network;
    if (!n->transfers.len) return INFINITY;
    return n->at + fmax(0, n->transfers.items[0].at - n->moved) * sharing(s);
}

// Removes the first event, of a transfer or another one. Returns its worker.
static int next_event(simulation *s)
{
    const double end = next_transfer_end(s);
    if (s->events.len && s->events.items[0].at < end) {
        const bd_event e = bd_event_queue_next(&s->events);
        s->now = e.at;
        return e.worker;
    }
    s->now = end;
    advance(s);
    return bd_event_queue_next(&s->network.transfers).worker;
}

// What a worker takes to ask all parameter servers.
static double request_time(const simulation *s)
{
    return s->costs->worker_request * s->plan->ps + s->costs->latency;
}

// ---- Rounds ----

static void find_slowest(simulation *s)
{
    s->slowest = s->workers[0].clock;
    for (int i = 1; i < s->plan->workers; i++)
        if (s->workers[i].clock < s->slowest) s->slowest = s->workers[i].clock;
    s->at_slowest = 0;
    for (int i = 0; i < s->plan->workers; i++)
        s->at_slowest += s->workers[i].clock == s->slowest;
}

static void note_lead(simulation *s, const worker *w)
{
    const int64_t lead = w->clock - s->slowest;
    if (lead > s->lead_max) s->lead_max = lead;
}

static void begin_round(simulation *s, int index, double at)
{
    worker *w = &s->workers[index];
    note_lead(s, w);
    w->round_begun = at;
    schedule(s, index, PULLING, at + request_time(s));
}

static void compute_from(simulation *s, int index, double at)
{
    worker *w = &s->workers[index];
    w->round_computing = compute_time(s, w);
    schedule(s, index, COMPUTING, at + w->round_computing);
}

static void read(simulation *s, int index)
{
    worker *w = &s->workers[index];
    w->seen = s->updates;
    w->cache = s->plan->coordination == BD_BOUNDED_STALENESS ? s->slowest : 0;
    happen(s, BD_READ, index);
    compute_from(s, index, s->now + s->costs->latency);
}

static void push(simulation *s, int index)
{
    if (s->is_counting) s->workers[index].computing += s->workers[index].round_computing;
    schedule(s, index, PUSHING, s->now + request_time(s));
}

static void count_update(simulation *s, int64_t staleness, int64_t gradients)
{
    s->updates++;
    if (s->is_counting) {
        s->counted_updates++;
        s->counted += gradients;
        s->staleness_sum += (double)staleness;
        if (staleness > s->staleness_max) s->staleness_max = staleness;
        note(&s->between, s->now - s->updated);
    }
    s->updated = s->now;
}

// Returns whether it was the last of the slowest workers.
static bool end_round(simulation *s, int index)
{
    worker *w = &s->workers[index];
    const bool was_last = w->clock++ == s->slowest && --s->at_slowest == 0;
    if (was_last) find_slowest(s);
    if (s->is_counting) note(&s->rounds, s->now - w->round_begun);
    return was_last;
}

// ---- Synchronous: tokens ----

// With a token the worker pulls again; without one it waits.
static void take_token(simulation *s, int index)
{
    worker *w = &s->workers[index];
    w->phase = WAITING;
    const int64_t update = s->taken / s->plan->workers; // whose token is the oldest
    if (update >= (int64_t)s->tokens_at.len) return;
    s->taken++;
    w->step = update + 1;
    begin_round(s, index, fmax(s->now, s->tokens_at.items[update]) + s->costs->latency);
}

// The tokens of the update are handed out when it has been applied.
static void update_together(simulation *s)
{
    const double applied = serve(s, apply_time(s));
    count_update(s, 0, s->gathered * s->plan->period);
    happen(s, BD_UPDATED, -1);
    s->gathered = 0;
    bd_array_push(&s->tokens_at, applied);
    for (int i = 0; i < s->plan->workers; i++)
        if (s->workers[i].phase == WAITING) take_token(s, i);
}

static void arrive_synchronous(simulation *s, int index)
{
    worker *w = &s->workers[index];
    const bool is_late = w->step != s->updates;
    (void)end_round(s, index);
    happen(s, is_late ? BD_DROPPED : BD_ARRIVED, index);
    w->phase = WAITING;
    if (is_late && s->is_counting) s->counted_dropped++;
    if (!is_late && ++s->gathered == s->plan->workers - s->plan->backup) update_together(s);
    if (w->phase == WAITING) take_token(s, index);
}

// ---- Asynchronous ----

// Lets a worker go on that waits and is not too far ahead any more.
static void release(simulation *s, int index)
{
    const worker *w = &s->workers[index];
    if (w->phase == WAITING && w->clock <= s->slowest + s->plan->staleness)
        begin_round(s, index, s->now + s->costs->latency);
}

// Pulls only when the model has become too old.
static void go_on_bounded(simulation *s, int index, bool slowest_moved)
{
    worker *w = &s->workers[index];
    w->phase = WAITING;
    if (w->cache >= w->clock - s->plan->staleness) {
        const double at = s->now + s->costs->latency;
        note_lead(s, w);
        w->round_begun = at;
        w->seen++; // its own update
        happen(s, BD_KEPT, index);
        compute_from(s, index, at);
    }
    if (!slowest_moved) release(s, index);
    for (int i = 0; slowest_moved && i < s->plan->workers; i++)
        release(s, i);
}

static void arrive_alone(simulation *s, int index)
{
    happen(s, BD_ARRIVED, index);
    count_update(s, s->updates - s->workers[index].seen, s->plan->period);
    happen(s, BD_UPDATED, index);
    const bool slowest_moved = end_round(s, index);
    if (s->plan->coordination == BD_BOUNDED_STALENESS)
        go_on_bounded(s, index, slowest_moved);
    else
        begin_round(s, index, s->now + s->costs->latency);
}

// ---- Events ----

static void handle(simulation *s, int index)
{
    const bool is_synchronous = s->plan->coordination == BD_SYNCHRONOUS;
    switch (s->workers[index].phase) {
    case PULLING: schedule(s, index, ANSWERING, serve(s, s->costs->ps_request)); break;
    case ANSWERING: move_model(s, index, READING); break;
    case READING: read(s, index); break;
    case COMPUTING: push(s, index); break;
    case PUSHING: move_model(s, index, SENDING); break;
    case SENDING:
        schedule(s, index, APPLYING, serve(s, s->costs->ps_request + (is_synchronous ? 0 : apply_time(s))));
        break;
    case APPLYING: (is_synchronous ? arrive_synchronous : arrive_alone)(s, index); break;
    case WAITING: break; // has no event
    }
}

// ---- The whole ----

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(durations *d)
{
    qsort(d->items, (size_t)d->len, sizeof *d->items, by_value);
    return d->len ? d->items[d->len / 2] : 0;
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
    f.ps_busy = fmin(1, fmax(s->ps_working, s->network.working) / seconds);
    if (s->counted_updates) f.mean_staleness = s->staleness_sum / (double)s->counted_updates;
    const double all = (double)s->counted / s->plan->period + (double)s->counted_dropped;
    if (all > 0) f.dropped = (double)s->counted_dropped / all;
    f.round = median(&s->rounds);
    f.between = median(&s->between);
    return f;
}

static void run(simulation *s, int64_t total, int64_t uncounted)
{
    for (int64_t pushes = 0; pushes < total && (s->events.len || s->network.transfers.len);) {
        const int index = next_event(s);
        const bool is_push = s->workers[index].phase == APPLYING;
        handle(s, index);
        pushes += is_push;
        if (is_push && pushes == uncounted) {
            s->is_counting = true;
            s->begun = s->now;
        }
    }
}

bd_cluster_forecast bd_cluster_watch_simulation(const bd_cluster_costs *costs, const bd_cluster_plan *plan,
                                                int rounds, uint64_t seed, const bd_cluster_watch *watch)
{
    const int64_t total = (int64_t)rounds * plan->workers;
    simulation s = {.costs = costs, .plan = plan, .watch = watch, .rng = bd_rng_init(seed)};
    s.workers = bd_calloc((size_t)plan->workers, sizeof *s.workers);
    s.events = bd_event_queue_new(plan->workers);
    s.network.transfers = bd_event_queue_new(plan->workers);
    s.at_slowest = plan->workers;
    s.rounds = (durations){.items = bd_calloc((size_t)total, sizeof(double)), .room = total};
    s.between = (durations){.items = bd_calloc((size_t)total, sizeof(double)), .room = total};
    for (int i = 0; i < plan->workers; i++) {
        s.workers[i].factor = factor(&s.rng, costs->worker_spread);
        if (i == 0 && costs->slow_worker > 0) s.workers[i].factor = costs->slow_worker;
        begin_round(&s, i, 0);
    }
    run(&s, total, total / 10 + 1);
    const bd_cluster_forecast f = summarize(&s);
    bd_event_queue_free(&s.events);
    bd_event_queue_free(&s.network.transfers);
    bd_array_free(&s.tokens_at);
    bd_free(s.workers);
    bd_free(s.rounds.items);
    bd_free(s.between.items);
    return f;
}

bd_cluster_forecast bd_cluster_simulate(const bd_cluster_costs *costs, const bd_cluster_plan *plan,
                                        int rounds, uint64_t seed)
{
    return bd_cluster_watch_simulation(costs, plan, rounds, seed, NULL);
}

bd_cluster_costs bd_cluster_costs_defaults(void)
{
    return (bd_cluster_costs){.compute_spread = 0.1,
                              .worker_request = 30e-6,
                              .ps_request = 40e-6,
                              .latency = 100e-6,
                              .bandwidth = 1e9};
}

char *bd_cluster_costs_text(const bd_cluster_costs *c)
{
    char *moving = c->bandwidth > 0
                       ? bd_asprintf("a task's network moves %.4g MB/s", c->bandwidth / 1e6)
                       : bd_strdup("no step waits for the network, which is taken for unlimited");
    char *text = bd_asprintf("A gradient takes %.3g ms, the model has %.4g MB, %s", c->compute * 1e3,
                             c->model_bytes / 1e6, moving);
    bd_free(moving);
    return text;
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
