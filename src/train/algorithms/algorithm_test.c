// Training algorithms with a single worker: their equations, step by step, and the errors of their use.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "train/testing/evaluate.h"
#include "train/testing/hook_fixture.h"
#include <braid/braid.h>
#include <math.h>
#include <string.h>

enum {
    SIZE = 3
};

static const float first[SIZE] = {0.5f, -2, 4};

// The loss |x - target|^2 / 2 of a vector x, whose gradient is x - target.
typedef struct model {
    braid_graph *g;
    braid_variable x;
    braid_out target, loss, step;
    braid_op *train;
    braid_algorithm *algorithm;
    braid_monitored_session *s;
} model;

typedef struct making {
    bool is_resource, is_slow; // slow: see pairs
    braid_partitioner partitioner;
} making;

// Steps of slow models come in pairs: each waits in its gradient for another one, until training has ended.
static struct pairing {
    bd_mutex mu;
    bd_cond changed;
    int calls;
    bool has_ended;
} pairs = {.mu = BD_MUTEX_INIT, .changed = BD_COND_INIT};

static braid_code wait_for_another(void *arg, const braid_callback_call *call, braid_status *status)
{
    (void)arg, (void)status;
    bd_mutex_lock(&pairs.mu);
    const int own = pairs.calls++;
    bd_cond_broadcast(&pairs.changed);
    while (pairs.calls <= (own | 1) && !pairs.has_ended)
        bd_cond_wait(&pairs.changed, &pairs.mu);
    bd_mutex_unlock(&pairs.mu);
    call->outputs[0] = braid_tensor_copy(call->inputs[0]);
    return BRAID_OK;
}

static void end_pairs(bool has_ended)
{
    bd_mutex_lock(&pairs.mu);
    pairs.has_ended = has_ended;
    pairs.calls = 0;
    bd_cond_broadcast(&pairs.changed);
    bd_mutex_unlock(&pairs.mu);
}

static braid_out late(braid_graph *g, braid_out target, braid_op *after)
{
    braid_push_control(g, &after, 1);
    braid_op_desc *d = braid_op_begin(g, "PyFunc", NULL);
    braid_op_input_list(d, &target, 1);
    braid_op_attr_string(d, "token", "wait_for_another");
    braid_op_attr_type_list(d, "Tout", (braid_dtype[]){BRAID_FLOAT}, 1);
    const braid_out same = braid_op_end_out(d);
    braid_pop_control(g);
    return same;
}

static braid_variable make_x(braid_graph *g, const making *how)
{
    braid_tensor *value = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(SIZE), first, NULL);
    const braid_out initial = braid_const(g, "first", value);
    braid_tensor_free(value);
    return braid_variable_get_with(
        g, "x",
        &(braid_variable_options){.initial_value = initial,
                                  .kind = how->is_resource ? BRAID_KIND_RESOURCE : BRAID_KIND_REFERENCE,
                                  .partitioner = how->partitioner});
}

static model make_how(const char *name, const braid_algorithm_options *options, const making *how)
{
    model m = {.g = braid_graph_new()};
    m.algorithm = braid_algorithm_new(m.g, name, options);
    m.step = braid_global_step(m.g);
    braid_push_algorithm(m.g, m.algorithm);
    m.x = make_x(m.g, how);
    braid_pop_algorithm(m.g);
    m.target = braid_placeholder(m.g, "target", BRAID_FLOAT, BRAID_SHAPE(SIZE));
    const braid_out target = how->is_slow ? late(m.g, m.target, m.x.read.op) : m.target;
    const braid_out square = braid_square(m.g, braid_sub(m.g, m.x.read, target));
    m.loss = braid_mul(m.g, braid_reduce_sum(m.g, square), braid_const_float(m.g, NULL, 0.5f));
    m.train = braid_algorithm_minimize(m.algorithm, m.loss, m.step);
    return m;
}

static model make(const char *name, const braid_algorithm_options *options)
{
    return make_how(name, options, &(making){0});
}

static void open_session(model *m)
{
    BD_STATUS(st);
    braid_graph_status(m->g, st);
    assert_ok(st);
    m->s = braid_monitored_session_open(
        m->g, &(braid_session_config){.is_chief = true,
                                      .hooks = BRAID_HOOKS(braid_algorithm_sync_hook(m->algorithm),
                                                           braid_algorithm_hook(m->algorithm))});
}

static void close_session(model *m)
{
    assert_int_equal(braid_monitored_session_close(m->s), BRAID_OK);
    braid_graph_free(m->g);
}

// The target of step i.
static float target_of(int i, int k)
{
    return sinf((float)(i * SIZE + k));
}

static void step(model *m, int i)
{
    float target[SIZE];
    for (int k = 0; k < SIZE; k++)
        target[k] = target_of(i, k);
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(SIZE), target, NULL);
    braid_run(m->s, BRAID_FEED({m->target, fed}), NULL, m->train);
    braid_tensor_free(fed);
}

static void read_out(model *m, braid_out out, float values[SIZE])
{
    BD_STATUS(st);
    braid_tensor *value = NULL;
    braid_evaluate(m->s, NULL, BRAID_FETCH({out, &value}));
    braid_monitored_session_status(m->s, st);
    assert_ok(st);
    memcpy(values, braid_tensor_data(value), SIZE * sizeof *values);
    braid_tensor_free(value);
}

static void read_centre(model *m, float values[SIZE])
{
    read_out(m, braid_variable_find((braid_out){braid_graph_find(m->g, "x"), 0}).read, values);
}

static void expect_values(const float got[SIZE], const float want[SIZE], const char *what)
{
    for (int k = 0; k < SIZE; k++)
        if (!(fabsf(got[k] - want[k]) < 2e-6f))
            fail_msg("%s: element %d is %.7g, not %.7g", what, k, (double)got[k], (double)want[k]);
}

// ---- The equations, with T = 3 and eta = 0.1, over seven steps: two exchanges and a step ----

enum {
    PERIOD = 3,
    STEPS = 7
};

static const float eta = 0.1f;

// The state of the equations of one element.
typedef struct element {
    float x, c, s, v, a; // copy, centre, sum of gradients, momentum, Adagrad's accumulator
} element;

static void sgd(element *e, float g)
{
    e->x -= eta * g;
    e->s += g;
}

static void nesterov(element *e, float g)
{
    e->v = 0.9f * e->v + g;
    e->x -= eta * (g + 0.9f * e->v);
}

static void to_centre(element *e)
{
    e->x = e->c;
    e->s = 0;
}

static void exchange_downpour(element *e)
{
    e->a += e->s * e->s;
    e->c -= eta * e->s / sqrtf(e->a);
    to_centre(e);
}

static void exchange_sum(element *e)
{
    e->c -= eta * e->s;
    to_centre(e);
}

static void exchange_mean(element *e)
{
    e->c -= eta * e->s / PERIOD;
    to_centre(e);
}

static void exchange_elastic(element *e)
{
    const float force = eta * 5 * (e->x - e->c);
    e->x -= force;
    e->c += force;
}

static void exchange_average(element *e)
{
    e->c = e->x;
}

static const struct equations {
    const char *name;
    void (*step)(element *e, float g);
    void (*exchange)(element *e);
} equations[] = {
    {"downpour", sgd, exchange_downpour},
    {"downpour_sgd", sgd, exchange_sum},
    {"dynsgd", sgd, exchange_sum}, // one worker: nothing is stale
    {"bounded_staleness", sgd, exchange_sum},
    {"agn", sgd, exchange_mean},
    {"sagn", sgd, exchange_mean},
    {"aeasgd", sgd, exchange_elastic},
    {"easgd", sgd, exchange_elastic},
    {"eamsgd", nesterov, exchange_elastic},
    {"model_averaging", sgd, exchange_average},
};

static void compare(const struct equations *of, const making *how)
{
    braid_algorithm_options o = braid_algorithm_defaults(of->name);
    o.period = PERIOD;
    o.staleness = 0; // so that bounded_staleness pulls after each push
    model m = make_how(of->name, &o, how);
    open_session(&m);
    element e[SIZE];
    for (int k = 0; k < SIZE; k++)
        e[k] = (element){.x = first[k], .c = first[k], .a = 0.1f};
    for (int i = 0; i < STEPS; i++) {
        step(&m, i);
        float copy[SIZE], centre[SIZE], x[SIZE], c[SIZE];
        for (int k = 0; k < SIZE; k++) {
            of->step(&e[k], e[k].x - target_of(i, k));
            if (i % PERIOD == PERIOD - 1) of->exchange(&e[k]);
            x[k] = e[k].x;
            c[k] = e[k].c;
        }
        read_out(&m, m.x.read, copy);
        expect_values(copy, x, of->name);
        if (how->partitioner.shards) continue;
        read_centre(&m, centre);
        expect_values(centre, c, of->name);
    }
    assert_int_equal(braid_monitored_session_global_step(m.s), STEPS / PERIOD);
    braid_algorithm_pull(m.algorithm, m.s);
    float copy[SIZE], c[SIZE];
    for (int k = 0; k < SIZE; k++)
        c[k] = e[k].c;
    read_out(&m, m.x.read, copy);
    expect_values(copy, c, "after a pull");
    close_session(&m);
}

static void copies_and_centre_follow_the_equations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof equations / sizeof equations[0]; i++)
        compare(&equations[i], &(making){0});
}

static void resource_variables_follow_them_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof equations / sizeof equations[0]; i++)
        compare(&equations[i], &(making){.is_resource = true});
}

static void partitioned_variables_follow_them_too(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof equations / sizeof equations[0]; i++)
        compare(&equations[i], &(making){.partitioner = braid_fixed_size_partitioner(2, 0)});
}

static void algorithms_without_copies_are_sgd_for_one_worker(void **state)
{
    (void)state;
    int tried = 0;
    for (int n = 0; braid_algorithm_at(n); n++) {
        if (braid_algorithm_at(n)->has_copies) continue;
        const braid_algorithm_options o = braid_algorithm_defaults(braid_algorithm_at(n)->name);
        model m = make(braid_algorithm_at(n)->name, &o);
        open_session(&m);
        float x[SIZE], got[SIZE];
        memcpy(x, first, sizeof x);
        for (int i = 0; i < STEPS; i++) {
            step(&m, i);
            for (int k = 0; k < SIZE; k++)
                x[k] -= eta * (x[k] - target_of(i, k));
        }
        read_out(&m, m.x.read, got);
        expect_values(got, x, braid_algorithm_at(n)->name);
        close_session(&m);
        tried++;
    }
    assert_int_equal(tried, 5);
}

// ---- What else an algorithm does ----

static void a_checkpoint_holds_the_centre_under_the_names_of_the_variables(void **state)
{
    (void)state;
    const braid_algorithm_options o = braid_algorithm_defaults("eamsgd");
    model m = make("eamsgd", &o);
    int count;
    const braid_out *saved = braid_collection(m.g, BRAID_GLOBAL_VARIABLES, &count);
    assert_int_equal(count, 2);
    assert_string_equal(braid_op_name(saved[0].op), "global_step");
    assert_string_equal(braid_op_name(saved[1].op), "x");
    braid_graph_free(m.g);
}

// The rows of a table that the steps of a period use are pushed in one exchange.
static void sparse_gradients_are_summed_up_row_by_row(void **state)
{
    (void)state;
    braid_algorithm_options o = braid_algorithm_defaults("downpour_sgd");
    o.period = 2;
    braid_graph *g = braid_graph_new();
    braid_algorithm *a = braid_algorithm_new(g, "downpour_sgd", &o);
    braid_push_algorithm(g, a);
    const braid_variable table =
        braid_variable_new(g, "table", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(4, 1)), true);
    braid_pop_algorithm(g);
    const braid_out ids = braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(2));
    const braid_out loss = braid_reduce_sum(g, braid_embedding_lookup(g, table.ref, ids));
    braid_op *train = braid_algorithm_minimize(a, loss, braid_global_step(g));
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.is_chief = true, .hooks = BRAID_HOOKS(braid_algorithm_hook(a))});
    static const int32_t rows[2][2] = {{1, 1}, {3, 1}};
    for (int i = 0; i < 2; i++) {
        braid_tensor *fed = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(2), rows[i], NULL);
        braid_run(s, BRAID_FEED({ids, fed}), NULL, train);
        braid_tensor_free(fed);
    }
    braid_tensor *value = NULL;
    const braid_out centre = {braid_graph_find(g, "table"), 0};
    braid_evaluate(s, NULL, BRAID_FETCH({braid_variable_find(centre).read, &value}));
    assert_non_null(value);
    const float *got = braid_tensor_data(value), want[4] = {0, -0.3f, 0, -0.1f};
    for (int i = 0; i < 4; i++)
        assert_float_equal(got[i], want[i], 1e-6f);
    braid_tensor_free(value);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(g);
}

static void a_worker_reports_its_steps_and_updates(void **state)
{
    (void)state;
    braid_algorithm_options o = braid_algorithm_defaults("agn");
    o.period = PERIOD;
    model m = make("agn", &o);
    open_session(&m);
    for (int i = 0; i < STEPS; i++)
        step(&m, i);
    const braid_worker_report *reports;
    assert_int_equal(braid_algorithm_reports(m.algorithm, &reports), 1);
    assert_int_equal(reports[0].steps, STEPS);
    assert_int_equal(reports[0].updates, STEPS / PERIOD);
    assert_int_equal(reports[0].max_staleness, 0);
    assert_int_equal(reports[0].staleness[0], STEPS / PERIOD);
    assert_true(reports[0].seconds > 0 && reports[0].waiting > 0);
    assert_true(reports[0].waiting < reports[0].seconds);
    close_session(&m);
}

static void summaries_of_a_worker_are_in_its_event_file(void **state)
{
    (void)state;
    braid_algorithm_options o = braid_algorithm_defaults("agn");
    o.period = PERIOD;
    o.summary_dir = hook_dir;
    model m = make("agn", &o);
    open_session(&m);
    for (int i = 0; i < STEPS; i++)
        step(&m, i);
    close_session(&m);
    static const char *const tags[] = {"algorithm/staleness",       "algorithm/mean_staleness",
                                       "algorithm/updates",         "algorithm/dropped",
                                       "algorithm/waiting_seconds", "algorithm/bytes"};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        assert_true(hook_is_in_events(tags[i]));
}

// ---- Hogwild! ----

typedef struct crew {
    const model *m;
    int steps[4];
} crew;

static void work(braid_hogwild_thread *thread, int number, void *arg)
{
    crew *c = arg;
    const float target[SIZE] = {1, 2, 3};
    braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(SIZE), target, NULL);
    while (!braid_hogwild_should_stop(thread)) {
        braid_hogwild_run(thread, BRAID_FEED({c->m->target, fed}), NULL, c->m->train);
        c->steps[number]++;
    }
    braid_tensor_free(fed);
    end_pairs(true);
}

static model open_hogwild(int64_t last_step, const making *how)
{
    const braid_algorithm_options o = braid_algorithm_defaults("hogwild");
    model m = make_how("hogwild", &o, how);
    m.s = braid_monitored_session_open(
        m.g, &(braid_session_config){
                 .is_chief = true,
                 .hooks = BRAID_HOOKS(braid_algorithm_hook(m.algorithm), braid_stop_at_step(last_step))});
    return m;
}

static void threads_train_the_same_variables_and_stop_together(void **state)
{
    (void)state;
    model m = open_hogwild(500, &(making){0});
    crew c = {.m = &m};
    assert_int_equal(braid_hogwild(m.algorithm, m.s, 4, work, &c), BRAID_OK);
    assert_true(braid_should_stop(m.s));
    const int sum = c.steps[0] + c.steps[1] + c.steps[2] + c.steps[3];
    const braid_worker_report *r;
    assert_int_equal(braid_algorithm_reports(m.algorithm, &r), 1);
    assert_int_equal(r->steps, sum);
    assert_int_equal(r->updates, sum);
    float x[SIZE];
    read_out(&m, m.x.read, x);
    // Updates do not wait for each other: a thread that was preempted may be the last to write, an old value.
    for (int k = 0; k < SIZE; k++)
        assert_float_equal(x[k], k + 1, 0.3f * (float)(k + 1));
    close_session(&m);
}

// Both steps of a pair have read before either updates, so that one update at least comes in between.
static void threads_report_how_stale_their_updates_were(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_callback_register("wait_for_another", wait_for_another, NULL, NULL, st);
    assert_ok(st);
    for (int i = 0; i < 2; i++) {
        end_pairs(false);
        model m = open_hogwild(100, &(making){.is_slow = true, .is_resource = i == 1});
        crew c = {.m = &m};
        assert_int_equal(braid_hogwild(m.algorithm, m.s, 2, work, &c), BRAID_OK);
        const braid_worker_report *r;
        braid_algorithm_reports(m.algorithm, &r);
        assert_float_equal(r->mean_staleness, 0.75, 0.3);
        assert_true(r->max_staleness <= 2);
        close_session(&m);
    }
    braid_callback_unregister("wait_for_another");
}

static void fail_at_once(braid_hogwild_thread *thread, int number, void *arg)
{
    const crew *c = arg;
    while (!braid_hogwild_should_stop(thread)) {
        float target[SIZE] = {0};
        braid_tensor *fed = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(number == 1 ? 2 : SIZE), target, NULL);
        braid_hogwild_run(thread, BRAID_FEED({c->m->target, fed}), NULL, c->m->train);
        braid_tensor_free(fed);
    }
}

static void an_error_of_a_thread_ends_the_training_of_all(void **state)
{
    (void)state;
    model m = open_hogwild(INT64_MAX, &(making){0});
    crew c = {.m = &m};
    BD_STATUS(st);
    assert_int_equal(braid_hogwild(m.algorithm, m.s, 3, fail_at_once, &c), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_monitored_session_status(m.s, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(st->message, "target"));
    assert_int_equal(braid_monitored_session_close(m.s), BRAID_INVALID_ARGUMENT);
    braid_graph_free(m.g);
}

// ---- Errors ----

static void expect_failure(braid_graph *g, const char *text)
{
    BD_STATUS(st);
    assert_int_equal(braid_graph_status(g, st), BRAID_INVALID_ARGUMENT);
    if (!strstr(st->message, text)) fail_msg("'%s' is not in: %s", text, st->message);
    braid_graph_free(g);
}

static void an_unknown_name_is_an_error_that_lists_the_known_ones(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_algorithm_options none = braid_algorithm_defaults("sgd");
    braid_algorithm_new(g, "sgd", &none);
    expect_failure(g, "no training algorithm 'sgd'. There are: aeasgd, agn, asynchronous");
}

static void options_out_of_range_are_errors(void **state)
{
    (void)state;
    static const struct wrong {
        int num_workers, worker, period, staleness, backup_workers;
        float learning_rate, rho, momentum;
        const char *text;
    } all[] = {
        {0, 0, 1, 0, 0, 0.1f, 0, 0, "num_workers must"},  {2, 2, 1, 0, 0, 0.1f, 0, 0, "worker must"},
        {1, 0, 0, 0, 0, 0.1f, 0, 0, "period must"},       {1, 0, 1, -1, 0, 0.1f, 0, 0, "staleness must"},
        {2, 0, 1, 0, 2, 0.1f, 0, 0, "backup_workers"},    {1, 0, 1, 0, 0, 0, 0, 0, "learning_rate must"},
        {1, 0, 1, 0, 0, NAN, 0, 0, "learning_rate must"}, {1, 0, 1, 0, 0, 0.1f, -1, 0, "rho must"},
        {1, 0, 1, 0, 0, 0.1f, 0, 1, "momentum must"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        braid_graph *g = braid_graph_new();
        const struct wrong *w = &all[i];
        braid_algorithm_new(g, "eamsgd",
                            &(braid_algorithm_options){.num_workers = w->num_workers,
                                                       .worker = w->worker,
                                                       .period = w->period,
                                                       .staleness = w->staleness,
                                                       .backup_workers = w->backup_workers,
                                                       .learning_rate = w->learning_rate,
                                                       .rho = w->rho,
                                                       .momentum = w->momentum});
        expect_failure(g, w->text);
    }
}

static void a_variable_without_a_copy_is_an_error(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_algorithm_options o = braid_algorithm_defaults("agn");
    braid_algorithm *a = braid_algorithm_new(g, "agn", &o);
    const braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 1), true);
    braid_algorithm_minimize(a, braid_square(g, x.read), braid_global_step(g));
    expect_failure(g, "'x' was made outside of braid_push_algorithm");
}

static void a_second_step_and_a_missing_global_step_are_errors(void **state)
{
    (void)state;
    const braid_algorithm_options o = braid_algorithm_defaults("agn");
    model m = make("agn", &o);
    braid_algorithm_minimize(m.algorithm, m.loss, m.step);
    expect_failure(m.g, "its step is there already");

    braid_graph *g = braid_graph_new();
    braid_algorithm *a = braid_algorithm_new(g, "agn", &o);
    braid_push_algorithm(g, a);
    const braid_variable x = braid_variable_new(g, "x", braid_const_float(g, NULL, 1), true);
    braid_pop_algorithm(g);
    braid_algorithm_minimize(a, braid_square(g, x.read), BRAID_NONE);
    expect_failure(g, "needs a global step");
}

// ---- Compression ----

// Each step has the target of step 1: SGD comes as near as error feedback lets it.
static void train_compressed(const char *name, const char *method)
{
    braid_algorithm_options o = braid_algorithm_defaults(name);
    o.compression = (braid_compression_options){method, 0.3}; // one of three elements
    o.learning_rate = 0.05f;
    o.period = 2;
    model m = make(name, &o);
    open_session(&m);
    for (int i = 0; i < 400; i++)
        step(&m, 1);
    float x[SIZE];
    read_centre(&m, x);
    for (int k = 0; k < SIZE; k++)
        if (!(fabsf(x[k] - target_of(1, k)) < 0.02f))
            fail_msg("%s with %s: element %d is %g", name, method, k, (double)x[k]);
    close_session(&m);
}

static void algorithms_that_send_gradients_learn_from_compressed_ones(void **state)
{
    (void)state;
    static const char *const names[] = {
        "asynchronous", "synchronous", "bounded_staleness", "downpour_sgd", "agn", "sagn", "dynsgd"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        train_compressed(names[i], "half");
        train_compressed(names[i], "top_k");
    }
}

static void other_algorithms_refuse_to_compress(void **state)
{
    (void)state;
    static const char *const names[] = {"easgd", "aeasgd", "eamsgd", "model_averaging", "hogwild"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        BD_STATUS(st);
        braid_algorithm_options o = braid_algorithm_defaults(names[i]);
        o.compression.method = "none";
        model m = make(names[i], &o);
        assert_int_equal(braid_graph_status(m.g, st), BRAID_OK);
        braid_graph_free(m.g);
        o.compression.method = "half";
        m = make(names[i], &o);
        braid_graph_status(m.g, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "does not compress");
        braid_graph_free(m.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_that_send_gradients_learn_from_compressed_ones),
        cmocka_unit_test(other_algorithms_refuse_to_compress),
        cmocka_unit_test(copies_and_centre_follow_the_equations),
        cmocka_unit_test(resource_variables_follow_them_too),
        cmocka_unit_test(partitioned_variables_follow_them_too),
        cmocka_unit_test(algorithms_without_copies_are_sgd_for_one_worker),
        cmocka_unit_test(a_checkpoint_holds_the_centre_under_the_names_of_the_variables),
        cmocka_unit_test(sparse_gradients_are_summed_up_row_by_row),
        cmocka_unit_test(a_worker_reports_its_steps_and_updates),
        cmocka_unit_test_setup_teardown(summaries_of_a_worker_are_in_its_event_file, hook_set_up,
                                        hook_tear_down),
        cmocka_unit_test(threads_train_the_same_variables_and_stop_together),
        cmocka_unit_test(threads_report_how_stale_their_updates_were),
        cmocka_unit_test(an_error_of_a_thread_ends_the_training_of_all),
        cmocka_unit_test(an_unknown_name_is_an_error_that_lists_the_known_ones),
        cmocka_unit_test(options_out_of_range_are_errors),
        cmocka_unit_test(a_variable_without_a_copy_is_an_error),
        cmocka_unit_test(a_second_step_and_a_missing_global_step_are_errors),
    };
    return cmocka_run_group_tests_name("training algorithms with one worker", tests, NULL, NULL);
}
