// Hogwild! (Recht, Re, Wright and Niu, NIPS 2011): threads that share memory update the variables without
// locks. Reads and writes of different threads interleave element by element; where gradients are sparse, few
// of them meet, and the loss of an update now and then does no harm:
//
//     each thread:  x_e := x_e - eta [grad f(x, sample)]_e   for each element e that the gradient has
//
// The nodes are those of asynchronous SGD with use_locking off. braid_hogwild is the loop of threads in one
// process; workers of a cluster that share a parameter server update it in the same way.
#include "train/algorithms/algorithm.h"

#include "base/alloc.h"
#include "train/sessions/monitored_session.h"
#include <stdatomic.h>

static void build(braid_algorithm *a, const braid_grad_and_var *pairs, int count)
{
    train_build_asynchronous(a, train_optimizer_or(a, train_sgd(a)), pairs, count);
}

BD_ALGORITHM(hogwild) = {
    .info = {.name = "hogwild", .about = "Threads of one process update shared variables without locks"},
    .defaults = {.learning_rate = 0.1f},
    .build = build,
};

// ---- The threads ----

typedef struct crew {
    braid_algorithm *a;
    braid_monitored_session *session;
    void (*fn)(braid_hogwild_thread *thread, int number, void *arg);
    void *arg;
    atomic_bool stops;
    bd_mutex mu;
    braid_status error;  // the first of the other threads; guarded by mu
    train_report report; // of the other threads; guarded by mu
} crew;

struct braid_hogwild_thread {
    crew *crew;
    int number;
    bd_thread thread;
};

bool braid_hogwild_should_stop(const braid_hogwild_thread *t)
{
    return atomic_load_explicit(&t->crew->stops, memory_order_relaxed);
}

// Thread 0 has the hooks; the session's end is the end of all.
static braid_code run_first(braid_hogwild_thread *t, const braid_feed *feeds, const braid_fetch *fetches,
                            braid_op *target)
{
    const braid_code code = braid_run(t->crew->session, feeds, fetches, target);
    if (braid_should_stop(t->crew->session))
        atomic_store_explicit(&t->crew->stops, true, memory_order_relaxed);
    return code;
}

typedef BD_ARRAY(braid_fetch) fetch_list;
typedef BD_ARRAY(braid_feed) feed_list;

// The program's lists as a run takes them, and the two values that tell the staleness.
static void collect(const crew *c, const braid_feed *feeds, const braid_fetch *fetches, braid_tensor **values,
                    feed_list *all_feeds, fetch_list *all_fetches)
{
    for (const braid_feed *f = feeds; f && (f->out.op || f->value); f++)
        if (f->out.op) bd_array_push(all_feeds, *f);
    for (const braid_fetch *f = fetches; f && (f->out.op || f->value); f++)
        if (f->out.op) bd_array_push(all_fetches, *f);
    bd_array_push(all_fetches, ((braid_fetch){c->a->next_step, &values[0]}));
    bd_array_push(all_fetches, ((braid_fetch){c->a->fetched, &values[1]}));
}

static void note(crew *c, braid_tensor *const *values, const braid_status *st)
{
    bd_mutex_lock(&c->mu);
    if (!st->code) {
        train_report_step(&c->report, 0);
        train_report_update(&c->report, train_step_of(values[1]) + 1 - train_step_of(values[0]));
    } else if (!c->error.code) {
        bd_status_copy(&c->error, st);
    }
    bd_mutex_unlock(&c->mu);
    if (st->code) atomic_store_explicit(&c->stops, true, memory_order_relaxed);
}

static braid_code run_other(braid_hogwild_thread *t, const braid_feed *feeds, const braid_fetch *fetches,
                            braid_op *target)
{
    crew *c = t->crew;
    BD_STATUS(st);
    braid_tensor *values[2] = {NULL, NULL};
    feed_list all_feeds = {0};
    fetch_list all_fetches = {0};
    collect(c, feeds, fetches, values, &all_feeds, &all_fetches);
    braid_session_run(c->session->session,
                      &(braid_run_args){.feeds = all_feeds.items,
                                        .feed_count = (int)all_feeds.len,
                                        .fetches = all_fetches.items,
                                        .fetch_count = (int)all_fetches.len,
                                        .targets = &target,
                                        .target_count = target != NULL},
                      st);
    note(c, values, st);
    braid_tensor_free(values[0]);
    braid_tensor_free(values[1]);
    bd_array_free(&all_feeds);
    bd_array_free(&all_fetches);
    return st->code;
}

braid_code braid_hogwild_run(braid_hogwild_thread *t, const braid_feed *feeds, const braid_fetch *fetches,
                             braid_op *target)
{
    return (t->number == 0 ? run_first : run_other)(t, feeds, fetches, target);
}

static void work(void *arg)
{
    braid_hogwild_thread *t = arg;
    t->crew->fn(t, t->number, t->crew->arg);
}

// The numbers of the other threads are this worker's, too.
static void add_report(train_report *to, const train_report *from)
{
    to->own.steps += from->own.steps;
    to->own.updates += from->own.updates;
    to->staleness_sum += from->staleness_sum;
    if (to->own.updates) to->own.mean_staleness = to->staleness_sum / (double)to->own.updates;
    if (from->own.max_staleness > to->own.max_staleness) to->own.max_staleness = from->own.max_staleness;
    for (int i = 0; i < BRAID_STALENESS_CLASSES; i++)
        to->own.staleness[i] += from->own.staleness[i];
}

static void run_crew(crew *c, int count, braid_status *st)
{
    braid_hogwild_thread *threads = bd_calloc((size_t)count, sizeof *threads);
    int started = 1;
    for (int i = 0; i < count; i++)
        threads[i] = (braid_hogwild_thread){.crew = c, .number = i};
    while (started < count &&
           !bd_thread_start(&threads[started].thread, "braid-hogwild", work, &threads[started], st))
        started++;
    if (st->code)
        atomic_store_explicit(&c->stops, true, memory_order_relaxed);
    else
        work(&threads[0]);
    // The first thread may have returned early, by itself: then training is over for the others, too.
    atomic_store_explicit(&c->stops, true, memory_order_relaxed);
    for (int i = 1; i < started; i++)
        bd_thread_join(&threads[i].thread);
    bd_free(threads);
    if (!st->code && c->error.code) bd_status_copy(st, &c->error);
}

static braid_code check(const braid_algorithm *a, const braid_monitored_session *s, int threads,
                        braid_status *st)
{
    if (threads < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Hogwild! needs at least one thread, not %d", threads);
    if (s->request.has_server || s->request.has_target)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Hogwild! is for a session in this process: workers of a cluster train by "
                       "\"asynchronous\", one thread each");
    if (a->type->info.has_copies || a->type->info.is_synchronous || !a->train)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Hogwild! needs the built step of the algorithm \"hogwild\", not of \"%s\"",
                       a->type->info.name);
    return BRAID_OK;
}

braid_code braid_hogwild(braid_algorithm *a, braid_monitored_session *s, int threads,
                         void (*fn)(braid_hogwild_thread *thread, int number, void *arg), void *arg)
{
    BD_STATUS(st);
    if (braid_monitored_session_status(s, st)) return st->code;
    crew c = {.a = a, .session = s, .fn = fn, .arg = arg};
    bd_mutex_init(&c.mu);
    if (!check(a, s, threads, st)) run_crew(&c, threads, st);
    add_report(&a->report, &c.report);
    if (st->code) braid_monitored_session_fail(s, st);
    braid_status_clear(&c.error);
    bd_mutex_fini(&c.mu);
    return braid_monitored_session_status(s, NULL);
}
