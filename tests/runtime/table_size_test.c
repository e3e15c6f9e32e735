// A step that looks up and updates 1,000 rows of a table does not take longer in a larger table, with any
// optimizer that updates rows alone.
// labels: concurrent
// timeout: 120
// slots: 3
//
// BRAID_TABLES=full compares tables of 10 MB and of 1.6 GB, to within 20 %. The caches are emptied before
// each step: what fits into them is read faster, whoever reads it.
#include "base/alloc.h"
#include "base/random.h"
#include "base/thread.h"
#include "runtime/testing/test_graph.h"
#include "tensor/buffer.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <time.h>

enum {
    WIDTH = 64,
    BATCH = 1000,
    ROW_BYTES = WIDTH * 4,
    PARTS_MAX = 3,
    CACHE_BYTES = 64 << 20
};

typedef braid_optimizer *(*make_optimizer_fn)(braid_graph *g);

static braid_optimizer *make_sgd(braid_graph *g)
{
    return braid_gradient_descent(g, 0.01f);
}
static braid_optimizer *make_momentum(braid_graph *g)
{
    return braid_momentum(g, 0.01f, 0.9f);
}
static braid_optimizer *make_adagrad(braid_graph *g)
{
    return braid_adagrad(g, 0.01f);
}
static braid_optimizer *make_adagrad_da(braid_graph *g)
{
    return braid_adagrad_da(g, braid_global_step(g),
                            &(braid_proximal_options){.learning_rate = 0.01f, .initial_accumulator = 0.1f});
}
static braid_optimizer *make_proximal_adagrad(braid_graph *g)
{
    return braid_proximal_adagrad(
        g, &(braid_proximal_options){.learning_rate = 0.01f, .initial_accumulator = 0.1f, .l1 = 1e-4f});
}
static braid_optimizer *make_proximal_sgd(braid_graph *g)
{
    return braid_proximal_gradient_descent(g, &(braid_proximal_options){.learning_rate = 0.01f, .l1 = 1e-4f});
}
static braid_optimizer *make_adadelta(braid_graph *g)
{
    return braid_adadelta(g, 0.01f);
}
static braid_optimizer *make_rmsprop(braid_graph *g)
{
    return braid_rmsprop(g, 0.01f);
}
static braid_optimizer *make_ftrl(braid_graph *g)
{
    return braid_ftrl(g, 0.01f);
}
static braid_optimizer *make_lazy_adam(braid_graph *g)
{
    braid_adam_options o = braid_adam_defaults();
    o.lazy = true;
    return braid_adam_with(g, &o);
}

static const struct {
    const char *name;
    make_optimizer_fn make;
} optimizers[] = {
    {"sgd", make_sgd},
    {"momentum", make_momentum},
    {"adagrad", make_adagrad},
    {"adadelta", make_adadelta},
    {"rmsprop", make_rmsprop},
    {"ftrl", make_ftrl},
    {"lazy adam", make_lazy_adam},
    {"adagrad da", make_adagrad_da},
    {"p. adagrad", make_proximal_adagrad},
    {"p. sgd", make_proximal_sgd},
};

// ---- A table and its step ----

typedef struct table_kind {
    make_optimizer_fn make; // NULL: the step only looks up
    bool is_resource;
    int parts;
    braid_partition_strategy strategy;
} table_kind;

typedef struct table {
    braid_graph *g;
    braid_session *session;
    braid_out ids;
    braid_op *step;
    int64_t rows;
    bd_rng rng;
    braid_tensor *batch;
} table;

static void run_fed(const table *t, braid_op *target, const braid_tensor *batch)
{
    BD_STATUS(st);
    const braid_feed feed = {t->ids, batch};
    const braid_run_args args = {
        .feeds = &feed, .feed_count = batch != NULL, .targets = &target, .target_count = 1};
    braid_session_run(t->session, &args, st);
    assert_ok(st);
}

static void build(table *t, const table_kind *kind, size_t bytes)
{
    *t = (table){.g = braid_graph_new(), .rows = (int64_t)(bytes / ROW_BYTES), .rng = bd_rng_init(1)};
    braid_graph *g = t->g;
    braid_out parts[PARTS_MAX];
    for (int i = 0; i < kind->parts; i++) {
        const int64_t rows = t->rows / kind->parts + (i < t->rows % kind->parts);
        const braid_out start = braid_random_uniform(g, BRAID_SHAPE(rows, WIDTH), -1, 1);
        const char *name = (const char *[]){"part_0", "part_1", "part_2"}[i];
        parts[i] = (kind->is_resource ? braid_variable_resource(g, name, start, true)
                                      : braid_variable_new(g, name, start, true))
                       .ref;
    }
    t->batch = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    t->ids = braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(-1));
    const braid_out rows = braid_embedding_lookup_parts(g, parts, kind->parts, t->ids, kind->strategy);
    t->step = kind->make ? braid_minimize(kind->make(g), braid_reduce_sum(g, braid_square(g, rows)),
                                          braid_global_step(g))
                         : rows.op;
    braid_op *init = braid_global_variables_initializer(g);
    t->session = tg_session(g, NULL);
    run_fed(t, init, NULL);
}

static void drop(table *t)
{
    tg_close(t->session, t->g);
    braid_tensor_free(t->batch);
}

static void draw(table *t)
{
    int32_t *ids = braid_tensor_data(t->batch);
    for (int i = 0; i < BATCH; i++)
        ids[i] = (int32_t)(bd_rng_next(&t->rng) % (uint64_t)t->rows);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

// Microseconds of one step on other rows than before.
static double time_step(table *t, volatile char *cache)
{
    draw(t);
    for (size_t i = 0; cache && i < CACHE_BYTES; i += 64)
        cache[i]++;
    const double begin = now_us();
    run_fed(t, t->step, t->batch);
    return now_us() - begin;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The time of a step of the larger table by that of the smaller one: of turns that change each time, the
// `percent`-th percentiles.
static double compare_sizes(const table_kind *kind, size_t small, size_t large, int rounds, int percent,
                            volatile char *cache)
{
    table t[2];
    double at[2], *times[2];
    build(&t[0], kind, small);
    build(&t[1], kind, large);
    for (int k = 0; k < 2; k++)
        times[k] = bd_calloc((size_t)rounds, sizeof(double));
    for (int r = -3; r < rounds; r++) {
        for (int k = 0; k < 2; k++) {
            const double us = time_step(&t[k], cache);
            if (r >= 0) times[k][r] = us;
        }
    }
    for (int k = 0; k < 2; k++) {
        qsort(times[k], (size_t)rounds, sizeof(double), compare);
        at[k] = times[k][rounds * percent / 100];
        bd_free(times[k]);
        drop(&t[k]);
    }
    print_message("%7.0f us, %7.0f us: %.2f\n", at[0], at[1], at[1] / at[0]);
    bd_buffer_pool_trim(0);
    return at[1] / at[0];
}

// ---- Tests ----

static const size_t mb = 1000000;

// A copy of the larger table takes at least ten times as long as the step.
static void check_kind(const char *name, const table_kind *kind)
{
    print_message("%-10s %-9s %d parts, %s: ", name, kind->is_resource ? "resource" : "reference",
                  kind->parts, kind->strategy == BRAID_PARTITION_DIV ? "div" : "mod");
    assert_true(compare_sizes(kind, 2 * mb, 40 * mb, 10, 0, NULL) < 3);
}

static void rows_are_looked_up_and_updated_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(optimizers); i++) {
        for (int is_resource = 0; is_resource < 2; is_resource++)
            check_kind(optimizers[i].name,
                       &(table_kind){optimizers[i].make, is_resource, 1, BRAID_PARTITION_MOD});
    }
}

static void rows_of_parts_are_looked_up_and_updated_alone(void **state)
{
    (void)state;
    static const braid_partition_strategy strategies[] = {BRAID_PARTITION_MOD, BRAID_PARTITION_DIV};
    for (size_t i = 0; i < BD_COUNTOF(strategies); i++) {
        for (int is_resource = 0; is_resource < 2; is_resource++) {
            check_kind("look-up", &(table_kind){NULL, is_resource, PARTS_MAX, strategies[i]});
            check_kind("adagrad", &(table_kind){make_adagrad, is_resource, PARTS_MAX, strategies[i]});
        }
    }
}

typedef struct looker {
    table *t;
    braid_op *rows;
    atomic_bool ends;
    bd_thread thread;
} looker;

static void look_up(void *arg)
{
    looker *l = arg;
    while (!atomic_load(&l->ends))
        run_fed(l->t, l->rows, l->t->batch);
}

// Each copy of the table would take as much memory again.
static void updates_beside_look_ups_do_not_copy_the_table(void **state)
{
    (void)state;
    table t;
    BD_STATUS(st);
    build(&t, &(table_kind){make_sgd, true, 1, BRAID_PARTITION_MOD}, 40 * mb);
    looker l = {.t = &t, .rows = braid_graph_find(t.g, "embedding_lookup")};
    assert_non_null(l.rows);
    draw(&t);
    run_fed(&t, t.step, t.batch);
    bd_buffer_pool_trim(0);
    assert_int_equal(bd_thread_start(&l.thread, "looker", look_up, &l, st), BRAID_OK);
    for (int i = 0; i < 300; i++)
        run_fed(&t, t.step, t.batch);
    atomic_store(&l.ends, true);
    bd_thread_join(&l.thread);
    const bd_buffer_pool_stats after = bd_buffer_pool_get_stats();
    assert_true(after.bytes_in_use + after.bytes_free < 80 * mb);
    drop(&t);
}

// With empty caches, so that the smaller table has no advantage of them.
static void a_table_of_1600_mb_takes_as_long_as_one_of_10_mb(void **state)
{
    (void)state;
    const char *form = getenv("BRAID_TABLES");
    if (!form || strcmp(form, "full") != 0) skip();
    char *cache = bd_calloc(CACHE_BYTES, 1);
    for (size_t i = 0; i < 3; i++) {
        const table_kind kind = {optimizers[i].make, false, 1, BRAID_PARTITION_MOD};
        print_message("%-10s caches as they are: ", optimizers[i].name);
        compare_sizes(&kind, 10 * mb, 1600 * mb, 1000, 50, NULL);
        print_message("%-10s caches emptied:     ", optimizers[i].name);
        assert_true(compare_sizes(&kind, 10 * mb, 1600 * mb, 300, 50, cache) < 1.2);
    }
    bd_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_looked_up_and_updated_alone),
        cmocka_unit_test(rows_of_parts_are_looked_up_and_updated_alone),
        cmocka_unit_test(updates_beside_look_ups_do_not_copy_the_table),
        cmocka_unit_test(a_table_of_1600_mb_takes_as_long_as_one_of_10_mb),
    };
    return BD_RUN_TESTS(tests);
}
