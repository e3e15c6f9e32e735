// Random graphs give the same with each rewrite and with all as they do as they were built, to the last bit:
// values fetched on the way, variables left behind, and no step that does not end.
#include "runtime/testing/random_effects.h"
#include <stdlib.h>

enum {
    SEEDS = 120,
    VALUES = 60, // a graph is complete with so many
    STEPS = 2,
    FETCHES = 8,
    RESULTS = STEPS * FETCHES + VARIABLES
};

typedef struct program {
    maker m;
    braid_out fetched[FETCHES], left[VARIABLES]; // in a step, and after all
} program;

// ---- Graphs ----

static void feed(maker *m, value v)
{
    m->feeds[m->feed_count++] = (braid_feed){v.out, any_tensor(m, v.dtype, v.shape)};
}

static void build(program *p, uint64_t seed)
{
    maker *m = &p->m;
    static void (*const makers[])(maker *) = {
        constant, unary,    unary,    unary,           binary,  binary,  binary,         comparison,
        cast,     shape_of, reshaped, summed,          pieces,  product, product,        ordered,
        ordered,  branches, loop,     reading,         writing, writing, random_numbers, through_a_queue,
        reading,  writing,  writing,  through_a_queue, writing};
    *m = (maker){.g = braid_graph_new(), .rng = bd_rng_init(seed)};
    m->rate = tg_float(m->g, NULL, 0.5f);
    m->condition = tg_placeholder(m->g, NULL, BRAID_BOOL);
    feed(m, (value){m->condition, BRAID_BOOL, BRAID_SCALAR});
    for (int i = 0; i < VARIABLES; i++)
        declare(m, i);
    for (int i = 0; i < 2; i++)
        feed(m, push(m, tg_placeholder(m->g, NULL, BRAID_FLOAT), BRAID_FLOAT,
                     i ? BRAID_SHAPE(3, 7) : any_shape(m)));
    static const braid_dtype types[] = {BRAID_FLOAT, BRAID_DOUBLE, BRAID_INT32, BRAID_BOOL};
    for (size_t i = 0; i < BD_COUNTOF(types); i++) {
        value v = constant_of(m, types[i], any_shape(m));
        push(m, v.out, v.dtype, v.shape);
    }
    while (m->count < VALUES)
        ANY_OF(m, makers)(m);
    for (int i = 0; i < FETCHES; i++)
        p->fetched[i] = m->values[m->count - 1 - draw(m, i % 2 ? m->count / 4 : m->count)].out;
    for (int i = 0; i < VARIABLES; i++)
        p->left[i] =
            read_of(m, &(variable){m->variables[i].handle, .is_resource = m->variables[i].is_resource});
    if (draw(m, 2)) feed(m, m->values[m->count / 2]); // on the way
    BD_STATUS(st);
    braid_graph_status(m->g, st);
    assert_ok(st);
}

static void discard(maker *m)
{
    for (int i = 0; i < m->feed_count; i++)
        braid_tensor_free((braid_tensor *)m->feeds[i].value);
    braid_graph_free(m->g);
}

// ---- Running ----

static void run(const maker *m, braid_session *s, bool is_step, const braid_out *outs, int count,
                braid_tensor **results)
{
    braid_fetch fetches[FETCHES];
    for (int i = 0; i < count; i++)
        fetches[i] = (braid_fetch){outs[i], &results[i]};
    BD_STATUS(st);
    braid_session_run(s,
                      &(braid_run_args){.feeds = m->feeds,
                                        .feed_count = is_step ? m->feed_count : 0,
                                        .fetches = fetches,
                                        .fetch_count = count,
                                        .targets = m->targets,
                                        .target_count = is_step ? m->target_count : 0,
                                        .timeout_ms = 60000},
                      st);
    assert_ok(st);
}

static void run_all(const program *p, unsigned disabled, braid_tensor *results[RESULTS])
{
    const maker *m = &p->m;
    BD_STATUS(st);
    braid_session *s = braid_session_open(
        m->g, &(braid_session_options){.disabled_rewrites = disabled, .inter_op_threads = 2}, st);
    assert_ok(st);
    braid_session_run(s, &(braid_run_args){.targets = m->starts, .target_count = VARIABLES}, st);
    assert_ok(st);
    for (int i = 0; i < STEPS; i++)
        run(m, s, true, p->fetched, FETCHES, results + i * FETCHES);
    run(m, s, false, p->left, VARIABLES, results + STEPS * FETCHES);
    braid_session_close(s, NULL);
}

static bool is_same_number(const braid_tensor *a, const braid_tensor *b, int64_t i)
{
    size_t size = braid_dtype_size(a->dtype);
    if (a->dtype == BRAID_FLOAT && isnan(bd_tensor_f32(a)[i])) return isnan(bd_tensor_f32(b)[i]);
    if (a->dtype == BRAID_DOUBLE && isnan(bd_tensor_f64(a)[i])) return isnan(bd_tensor_f64(b)[i]);
    return memcmp((char *)a->data + (size_t)i * size, (char *)b->data + (size_t)i * size, size) == 0;
}

static bool is_same(const braid_tensor *a, const braid_tensor *b)
{
    if (a->dtype != b->dtype || !bd_shape_equal(&a->shape, &b->shape)) return false;
    for (int64_t i = 0; i < bd_tensor_count(a); i++) {
        if (!is_same_number(a, b, i)) return false;
    }
    return true;
}

static void free_all(braid_tensor *results[RESULTS])
{
    for (int i = 0; i < RESULTS; i++)
        braid_tensor_free(results[i]);
}

static void check_seed(uint64_t seed)
{
    static const unsigned each_rewrite[] = {BRAID_REWRITE_CONSTANT_FOLDING,
                                            BRAID_REWRITE_COMMON_SUBEXPRESSIONS,
                                            BRAID_REWRITE_DEPENDENCIES,
                                            BRAID_REWRITE_REMAPPING,
                                            BRAID_REWRITE_ELEMENTWISE,
                                            BRAID_REWRITE_UPDATES,
                                            BRAID_REWRITE_ALL};
    program p;
    braid_tensor *plain[RESULTS], *rewritten[RESULTS];
    build(&p, seed);
    run_all(&p, BRAID_REWRITE_ALL, plain);
    for (size_t k = 0; k < BD_COUNTOF(each_rewrite); k++) {
        run_all(&p, BRAID_REWRITE_ALL & ~each_rewrite[k], rewritten);
        for (int i = 0; i < RESULTS; i++) {
            if (is_same(plain[i], rewritten[i])) continue;
            braid_out out = i < STEPS * FETCHES ? p.fetched[i % FETCHES] : p.left[i - STEPS * FETCHES];
            fail_msg("seed %d, rewrite %u, result %d ('%s')", (int)seed, each_rewrite[k], i, out.op->name);
        }
        free_all(rewritten);
    }
    free_all(plain);
    discard(&p.m);
}

static int seeds_from = 1, seeds_to = SEEDS; // or the program's arguments

static void random_graphs_give_the_same_with_each_rewrite(void **state)
{
    (void)state;
    for (int seed = seeds_from; seed <= seeds_to; seed++)
        check_seed((uint64_t)seed);
}

int main(int argc, char **argv)
{
    if (argc > 1) seeds_from = seeds_to = atoi(argv[1]);
    if (argc > 2) seeds_to = atoi(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_give_the_same_with_each_rewrite),
    };
    return BD_RUN_TESTS(tests);
}
