// Training in a simulated cluster: the update rules of the algorithms, in one table and a few functions.
#include "simulated_training.h"

#include "base/alloc.h"
#include "base/check.h"
#include <math.h>
#include <string.h>

enum {
    SIZE = BD_QUADRATIC_SIZE_MAX,
    RATES = 8,
    POINTS = 200 // of a curve, about
};

#define RATE_MOST 0.4F
#define MOMENTUM 0.9F
#define ELASTIC_BETA 0.9F    // n alpha
#define ADAGRAD_INITIAL 0.1F // accumulator
#define DIVERGED 10.0        // times the first loss: more is shown as so much

// ---- The rules ----

// What a worker does with its own copy at each gradient g.
typedef enum local_step {
    NO_COPY,  // s := s + g
    SGD,      // s := s + g;  x := x - eta g
    NESTEROV, // v := mu v + g;  x := x - eta (g + mu v)
} local_step;

// What an exchange of T gradients does to the centre c. Of synchronous algorithms: with the mean of all
// workers that take part.
typedef enum exchange {
    ADD_SUM,     // c := c - eta s
    ADD_MEAN,    // c := c - eta s / T
    ADD_ADAGRAD, // A := A + s^2;  c := c - eta s / sqrt(A)
    ADD_DYNAMIC, // c := c - eta s / (staleness + 1)
    DRAW,   // d := x - c;  x := x - alpha d;  c := c + alpha d: elastic; alpha d of all workers is added up
    AVERAGE // c := x
} exchange;

// As at the heads of src/train/algorithms.
typedef struct rule {
    const char *name;
    local_step step;
    exchange exchange;
} rule;

static const rule rules[] = {
    {"aeasgd", SGD, DRAW},
    {"agn", SGD, ADD_MEAN},
    {"asynchronous", NO_COPY, ADD_SUM},
    {"backup_workers", NO_COPY, ADD_SUM},
    {"bounded_staleness", SGD, ADD_SUM},
    {"downpour", SGD, ADD_ADAGRAD},
    {"downpour_sgd", SGD, ADD_SUM},
    {"dynsgd", SGD, ADD_DYNAMIC},
    {"eamsgd", NESTEROV, DRAW},
    {"easgd", SGD, DRAW},
    {"hogwild", NO_COPY, ADD_SUM},
    {"model_averaging", SGD, AVERAGE},
    {"sagn", SGD, ADD_MEAN},
    {"synchronous", NO_COPY, ADD_SUM},
    {"synchronous_rates", NO_COPY, ADD_SUM},
};

static const rule *rule_of(const char *name)
{
    for (size_t i = 0; i < BD_COUNTOF(rules); i++)
        if (strcmp(rules[i].name, name) == 0) return &rules[i];
    return NULL;
}

// ---- The state, for each learning rate ----

typedef float values[RATES][SIZE];

typedef struct replica {
    values x, s, v; // copy, sum of the gradients since the exchange, momentum
    int64_t seen;   // updates when it read the centre
} replica;

typedef struct training {
    const bd_simulated_training *t;
    const rule *rule;
    bd_rng rng;
    float curvature[SIZE], rate[RATES];
    values centre, adagrad, gathered; // gathered: of the synchronous update in progress
    int gathered_count;
    replica *replicas;
    int64_t updates;
    bd_curve_point now; // without the loss
    double staleness_sum;
    double next_point, point_every; // in steps
    bd_curve curves[RATES];
} training;

// Copies are made of all learning rates at once: element i of RATES * SIZE has the rate i / SIZE.
static float *flat(values v)
{
    return &v[0][0];
}

#define FOR_EACH(i) for (int i = 0; i < RATES * SIZE; i++)

// ---- A worker ----

static void draw_noise(training *t, float noise[SIZE])
{
    const double width = t->t->problem.noise * sqrt(12); // of a uniform distribution
    for (int k = 0; k < SIZE; k++)
        noise[k] = (float)(width * (bd_rng_double(&t->rng) - 0.5));
}

// One gradient, at the copy, and what it does.
static void take_step(training *t, replica *r)
{
    float noise[SIZE], *x = flat(r->x), *s = flat(r->s), *v = flat(r->v);
    draw_noise(t, noise);
    FOR_EACH(i)
    {
        const float g = t->curvature[i % SIZE] * x[i] + noise[i % SIZE];
        const float rate = t->rate[i / SIZE];
        s[i] += g;
        if (t->rule->step == SGD) x[i] -= rate * g;
        if (t->rule->step != NESTEROV) continue;
        v[i] = MOMENTUM * v[i] + g;
        x[i] -= rate * (g + MOMENTUM * v[i]);
    }
}

// Elastic averaging keeps its copy.
static void read_centre(training *t, replica *r)
{
    if (t->rule->exchange != DRAW) memcpy(r->x, t->centre, sizeof r->x);
    r->seen = t->updates;
}

static void compute(training *t, replica *r)
{
    memset(r->s, 0, sizeof r->s);
    for (int i = 0; i < t->t->plan->period; i++)
        take_step(t, r);
}

// ---- The centre ----

// What a worker sends, by which the centre moves.
static void message_of(const training *t, replica *r, values out)
{
    const bd_cluster_plan *plan = t->t->plan;
    const float alpha = ELASTIC_BETA / (float)plan->workers;
    const float staleness = (float)(t->updates - r->seen);
    float *o = flat(out), *x = flat(r->x);
    const float *c = &t->centre[0][0], *s = &r->s[0][0];
    FOR_EACH(i)
    {
        const float rate = t->rate[i / SIZE];
        switch (t->rule->exchange) {
        case ADD_SUM: o[i] = -rate * s[i]; break;
        case ADD_MEAN: o[i] = -rate * s[i] / (float)plan->period; break;
        case ADD_ADAGRAD: o[i] = s[i]; break; // the centre's own rates
        case ADD_DYNAMIC: o[i] = -rate * s[i] / (staleness + 1); break;
        case DRAW: o[i] = alpha * (x[i] - c[i]); break;
        case AVERAGE: o[i] = x[i] - c[i]; break;
        }
        if (t->rule->exchange == DRAW) x[i] -= o[i];
    }
}

static void move_centre(training *t, values by, float scale)
{
    float *c = flat(t->centre), *a = flat(t->adagrad);
    const float *b = flat(by);
    FOR_EACH(i)
    {
        if (t->rule->exchange == ADD_ADAGRAD) {
            a[i] += b[i] * b[i];
            c[i] -= t->rate[i / SIZE] * b[i] / sqrtf(a[i]);
        } else {
            c[i] += scale * b[i];
        }
    }
}

// Forces of elastic averaging add up; gradients and copies of several workers count by their mean.
static void update_together(training *t)
{
    move_centre(t, t->gathered, t->rule->exchange == DRAW ? 1 : 1 / (float)t->gathered_count);
    memset(t->gathered, 0, sizeof t->gathered);
    t->gathered_count = 0;
}

static void arrive(training *t, replica *r)
{
    values message;
    message_of(t, r, message);
    t->staleness_sum += (double)(t->updates - r->seen);
    t->now.steps += t->t->plan->period;
    if (t->t->plan->coordination != BD_SYNCHRONOUS) {
        move_centre(t, message, 1);
        return;
    }
    FOR_EACH(i)
    flat(t->gathered)[i] += flat(message)[i];
    t->gathered_count++;
}

// ---- The curve ----

static double loss_of(const training *t, int rate)
{
    double sum = 0;
    for (int k = 0; k < t->t->problem.size; k++)
        sum += 0.5 * (double)t->curvature[k] * (double)t->centre[rate][k] * (double)t->centre[rate][k];
    const double most = DIVERGED * bd_quadratic_first_loss(&t->t->problem);
    return sum < most ? sum : most; // also when it is no number any more
}

static void add_points(training *t)
{
    t->now.updates = (double)t->updates;
    t->now.staleness = t->updates ? t->staleness_sum / (double)t->updates : 0;
    for (int i = 0; i < RATES; i++) {
        bd_curve_point p = t->now;
        p.loss = loss_of(t, i);
        bd_array_push(&t->curves[i].points, p);
    }
    t->next_point = t->now.steps + t->point_every;
}

static void note_update(training *t, double seconds)
{
    t->updates++;
    t->now.seconds = seconds;
    if (t->now.steps >= t->next_point) add_points(t);
}

static void happened(void *arg, bd_cluster_moment what, int worker, double seconds)
{
    training *t = arg;
    if (what == BD_UPDATED) {
        if (t->gathered_count) update_together(t);
        note_update(t, seconds);
        return;
    }
    replica *r = &t->replicas[worker];
    if (what != BD_KEPT) t->now.bytes += t->t->costs->model_bytes;
    switch (what) {
    case BD_READ:
        read_centre(t, r);
        compute(t, r);
        break;
    case BD_KEPT:
        r->seen++; // its own update
        compute(t, r);
        break;
    case BD_ARRIVED: arrive(t, r); break;
    case BD_DROPPED: t->now.dropped += t->t->plan->period; break;
    case BD_UPDATED: break; // above
    }
}

// ---- The best learning rate ----

// The seconds from which on the smooth loss is at most the goal; infinite: never.
static double seconds_to(const bd_curve *c, double goal)
{
    if (!c->points.len || bd_curve_smooth(c, c->points.len - 1) > goal) return INFINITY;
    return bd_curve_reaches(c, goal)->seconds;
}

static int best_rate(const training *t)
{
    int best = 0;
    double best_seconds = INFINITY, best_loss = INFINITY;
    for (int i = 0; i < RATES; i++) {
        const bd_curve *c = &t->curves[i];
        const double seconds = seconds_to(c, t->t->goal);
        const double loss = c->points.len ? bd_curve_smooth(c, c->points.len - 1) : INFINITY;
        if (seconds > best_seconds || (seconds == best_seconds && loss >= best_loss)) continue;
        best = i;
        best_seconds = seconds;
        best_loss = loss;
    }
    return best;
}

// ---- The whole ----

static void begin(training *t)
{
    const bd_quadratic *q = &t->t->problem;
    for (int k = 0; k < q->size; k++) {
        const double part = q->size > 1 ? (double)k / (q->size - 1) : 1;
        t->curvature[k] = (float)pow(q->least_curvature, 1 - part);
    }
    for (int i = 0; i < RATES; i++)
        t->rate[i] = RATE_MOST / (float)(1 << i);
    FOR_EACH(i)
    {
        flat(t->centre)[i] = i % SIZE < q->size;
        flat(t->adagrad)[i] = ADAGRAD_INITIAL;
    }
    t->replicas = bd_calloc((size_t)t->t->plan->workers, sizeof *t->replicas);
    for (int i = 0; i < t->t->plan->workers; i++)
        memcpy(t->replicas[i].x, t->centre, sizeof t->centre);
    t->point_every = (double)t->t->rounds * t->t->plan->workers * t->t->plan->period / POINTS;
    add_points(t);
}

bd_simulated_result bd_simulate_training(const bd_simulated_training *how, bd_curve *curve)
{
    training *t = bd_calloc(1, sizeof *t);
    *t = (training){.t = how, .rule = rule_of(how->algorithm), .rng = bd_rng_init(how->seed)};
    BD_ASSERT(t->rule);
    begin(t);
    const bd_cluster_watch watch = {happened, t};
    bd_simulated_result r = {
        .forecast = bd_cluster_watch_simulation(how->costs, how->plan, how->rounds, how->seed, &watch)};
    const int best = best_rate(t);
    r.learning_rate = (double)t->rate[best];
    r.to_goal = seconds_to(&t->curves[best], how->goal);
    if (isinf(r.to_goal)) r.to_goal = 0;
    if (r.to_goal > 0) r.steps_to_goal = bd_curve_reaches(&t->curves[best], how->goal)->steps;
    for (size_t i = 0; i < t->curves[best].points.len; i++) {
        bd_curve_point p = t->curves[best].points.items[i];
        p.waiting = r.forecast.waiting * p.seconds * how->plan->workers;
        bd_array_push(&curve->points, p);
    }
    for (int i = 0; i < RATES; i++)
        bd_curve_fini(&t->curves[i]);
    bd_free(t->replicas);
    bd_free(t);
    return r;
}

bd_quadratic bd_quadratic_default(void)
{
    return (bd_quadratic){.size = SIZE, .least_curvature = 0.05, .noise = 0.5};
}

double bd_quadratic_first_loss(const bd_quadratic *q)
{
    double sum = 0;
    for (int k = 0; k < q->size; k++)
        sum += 0.5 * pow(q->least_curvature, 1 - (q->size > 1 ? (double)k / (q->size - 1) : 1));
    return sum;
}
