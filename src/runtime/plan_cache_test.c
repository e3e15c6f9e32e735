// The plan cache: equal signatures, compiling once, failures, eviction.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "runtime/plan_cache.h"

// An entry holds the signature that it was compiled for.
typedef struct entry {
    atomic_int refs;
    char text[128];
} entry;

typedef struct compiler {
    atomic_int compiled, alive;
    bool fails;
    bool is_cancelled;          // the token of the first compilation is cancelled while it runs
    bd_event *entered, *may_go; // NULL: compiles at once
} compiler;

static compiler *the_compiler;

static void append(char *text, const char *kind, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        strcat(text, kind);
        strcat(text, names[i]);
    }
}

static braid_code compile(void *arg, const bd_run_signature *s, bd_cancellation *cancellation, void **out,
                          braid_status *st)
{
    compiler *c = arg;
    const bool is_first = atomic_fetch_add(&c->compiled, 1) == 0;
    if (c->entered && (is_first || !c->is_cancelled)) {
        bd_event_set(c->entered);
        bd_event_wait(c->may_go);
    }
    if (is_first && c->is_cancelled) {
        bd_fail(st, BRAID_CANCELLED, "nobody wants it");
        bd_cancellation_cancel(cancellation, st);
        return st->code;
    }
    if (c->fails) return bd_fail(st, BRAID_INVALID_ARGUMENT, "does not compile");
    entry *e = bd_calloc(1, sizeof *e);
    atomic_init(&e->refs, 1);
    atomic_fetch_add(&c->alive, 1);
    append(e->text, "<", s->feeds, s->feed_count);
    append(e->text, ">", s->fetches, s->fetch_count);
    append(e->text, "!", s->targets, s->target_count);
    *out = e;
    return BRAID_OK;
}

static void *ref(void *e)
{
    atomic_fetch_add(&((entry *)e)->refs, 1);
    return e;
}

static void unref(void *e)
{
    if (atomic_fetch_sub(&((entry *)e)->refs, 1) != 1) return;
    atomic_fetch_sub(&the_compiler->alive, 1);
    bd_free(e);
}

static bd_plan_cache *new_cache(compiler *c, int capacity)
{
    static const bd_plan_cache_ops ops = {.compile = compile, .ref = ref, .unref = unref};
    the_compiler = c;
    return bd_plan_cache_new(&ops, c, capacity);
}

#define NAMES(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

// Gets and drops an entry; returns the signature that it was compiled for.
static const char *get(bd_plan_cache *c, bd_run_signature s, int *order_feeds, int *order_fetches)
{
    static char text[128];
    int order[8];
    void *e;
    BD_STATUS(st);
    bd_plan_cache_get(c, &s, NULL, &e, order, st);
    assert_ok(st);
    if (order_feeds) memcpy(order_feeds, order, (size_t)s.feed_count * sizeof *order);
    if (order_fetches) memcpy(order_fetches, order + s.feed_count, (size_t)s.fetch_count * sizeof *order);
    strcpy(text, ((entry *)e)->text);
    unref(e);
    return text;
}

static void names_in_any_order_are_the_same_run(void **state)
{
    (void)state;
    compiler c = {0};
    bd_plan_cache *cache = new_cache(&c, 10);
    bd_run_signature a = {.feeds = NAMES("x:0", "a:1"),
                          .feed_count = 2,
                          .fetches = NAMES("z", "y:0", "z:0"),
                          .fetch_count = 3,
                          .targets = NAMES("t", "s", "t"),
                          .target_count = 3};
    bd_run_signature b = {.feeds = NAMES("a:1", "x"),
                          .feed_count = 2,
                          .fetches = NAMES("y", "z", "z"),
                          .fetch_count = 3,
                          .targets = NAMES("s", "t"),
                          .target_count = 2};
    for (int round = 0; round < 3; round++) {
        int feeds[2], fetches[3];
        assert_string_equal(get(cache, a, feeds, fetches), "<a:1<x:0>y:0>z:0!s!t");
        assert_memory_equal(feeds, ((int[]){1, 0}), sizeof feeds);
        assert_memory_equal(fetches, ((int[]){1, 0, 1}), sizeof fetches);
        assert_string_equal(get(cache, b, feeds, fetches), "<a:1<x:0>y:0>z:0!s!t");
        assert_memory_equal(feeds, ((int[]){0, 1}), sizeof feeds);
        assert_memory_equal(fetches, ((int[]){0, 1, 1}), sizeof fetches);
    }
    assert_int_equal(atomic_load(&c.compiled), 1);
    // The same names as fetches are another signature, and so is a partial run.
    get(cache, (bd_run_signature){.fetches = a.feeds, .fetch_count = 2}, NULL, NULL);
    get(cache, (bd_run_signature){.targets = a.feeds, .target_count = 2}, NULL, NULL);
    get(cache, (bd_run_signature){.targets = a.feeds, .target_count = 2, .is_partial = true}, NULL, NULL);
    assert_int_equal(atomic_load(&c.compiled), 4);
    bd_plan_cache_free(cache);
    assert_int_equal(atomic_load(&c.alive), 0);
}

static void a_feed_that_is_given_twice_reaches_the_compiler(void **state)
{
    (void)state;
    compiler c = {0};
    bd_plan_cache *cache = new_cache(&c, 10);
    bd_run_signature s = {.feeds = NAMES("x", "x:0"), .feed_count = 2};
    assert_string_equal(get(cache, s, NULL, NULL), "<x:0<x:0");
    bd_plan_cache_free(cache);
}

static void a_failure_is_not_kept(void **state)
{
    (void)state;
    compiler c = {.fails = true};
    bd_plan_cache *cache = new_cache(&c, 10);
    bd_run_signature s = {.targets = NAMES("t"), .target_count = 1};
    BD_STATUS(st);
    void *e;
    for (int i = 0; i < 2; i++) {
        bd_plan_cache_get(cache, &s, NULL, &e, (int[1]){0}, st);
        assert_null(e);
        assert_error(st, BRAID_INVALID_ARGUMENT, "does not compile");
    }
    c.fails = false;
    assert_string_equal(get(cache, s, NULL, NULL), "!t");
    assert_int_equal(atomic_load(&c.compiled), 3);
    bd_plan_cache_free(cache);
}

static void the_oldest_goes_out_and_lives_as_long_as_it_is_used(void **state)
{
    (void)state;
    compiler c = {0};
    bd_plan_cache *cache = new_cache(&c, 2);
    bd_run_signature s[3];
    const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        s[i] = (bd_run_signature){.targets = &names[i], .target_count = 1};
    BD_STATUS(st);
    void *held;
    bd_plan_cache_get(cache, &s[0], NULL, &held, (int[1]){0}, st);
    get(cache, s[1], NULL, NULL);
    get(cache, s[2], NULL, NULL); // evicts a
    assert_int_equal(atomic_load(&c.alive), 3);
    unref(held);
    assert_int_equal(atomic_load(&c.alive), 2);
    get(cache, s[1], NULL, NULL);
    get(cache, s[2], NULL, NULL);
    assert_int_equal(atomic_load(&c.compiled), 3);
    get(cache, s[0], NULL, NULL);
    assert_int_equal(atomic_load(&c.compiled), 4);
    bd_plan_cache_clear(cache);
    assert_int_equal(atomic_load(&c.alive), 0);
    bd_plan_cache_free(cache);
}

static void recently_used_entries_stay(void **state)
{
    (void)state;
    compiler c = {0};
    bd_plan_cache *cache = new_cache(&c, 2);
    bd_run_signature s[4];
    const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        s[i] = (bd_run_signature){.targets = &names[i], .target_count = 1};
    for (int i = 0; i < 3; i++)
        get(cache, s[i], NULL, NULL); // evicts a
    get(cache, s[1], NULL, NULL);
    get(cache, s[3], NULL, NULL); // evicts c, which was not used after that
    assert_int_equal(atomic_load(&c.compiled), 4);
    get(cache, s[1], NULL, NULL);
    get(cache, s[3], NULL, NULL);
    assert_int_equal(atomic_load(&c.compiled), 4);
    bd_plan_cache_free(cache);
}

static void a_lookup_without_waiting_finds_a_cached_plan(void **state)
{
    (void)state;
    compiler c = {0};
    bd_plan_cache *cache = new_cache(&c, 2);
    bd_run_signature s = {.targets = NAMES("t"), .target_count = 1};
    void *e = NULL;
    assert_false(bd_plan_cache_try_get(cache, &s, &e, (int[1]){0}));
    get(cache, s, NULL, NULL);
    assert_true(bd_plan_cache_try_get(cache, &s, &e, (int[1]){0}));
    unref(e);
    assert_int_equal(atomic_load(&c.compiled), 1);
    bd_plan_cache_free(cache);
}

typedef struct getter {
    bd_plan_cache *cache;
    bd_cancellation *cancellation; // NULL: no token
    braid_code code;
} getter;

static void get_on_thread(void *arg)
{
    getter *g = arg;
    bd_run_signature s = {.targets = NAMES("t"), .target_count = 1};
    void *e;
    BD_STATUS(st);
    g->code = bd_plan_cache_get(g->cache, &s, g->cancellation, &e, (int[1]){0}, st);
    if (!g->code) unref(e);
}

static void threads_that_miss_together(bool fails)
{
    enum {
        THREADS = 4
    };
    bd_event entered, may_go;
    bd_event_init(&entered);
    bd_event_init(&may_go);
    compiler c = {.entered = &entered, .may_go = &may_go, .fails = fails};
    bd_plan_cache *cache = new_cache(&c, 2);
    getter getters[THREADS];
    bd_thread threads[THREADS];
    BD_STATUS(st);
    for (int i = 0; i < THREADS; i++) {
        getters[i] = (getter){.cache = cache};
        bd_thread_start(&threads[i], "get", get_on_thread, &getters[i], st);
    }
    assert_ok(st);
    bd_event_wait(&entered);
    bd_event_set(&may_go);
    for (int i = 0; i < THREADS; i++) {
        bd_thread_join(&threads[i]);
        assert_int_equal(getters[i].code, fails ? BRAID_INVALID_ARGUMENT : BRAID_OK);
    }
    if (!fails) assert_int_equal(atomic_load(&c.compiled), 1);
    bd_plan_cache_free(cache);
    assert_int_equal(atomic_load(&c.alive), 0);
    bd_event_fini(&entered);
    bd_event_fini(&may_go);
}

static void threads_that_miss_together_compile_once(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        threads_that_miss_together(false);
}

static void threads_that_miss_together_all_get_the_failure(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        threads_that_miss_together(true);
}

// One thread compiles; another one waits for it with a token of its own.
typedef struct pair {
    bd_event entered, may_go;
    compiler c;
    bd_plan_cache *cache;
    getter getters[2];
    bd_thread threads[2];
} pair;

static void start_pair(pair *p, bool is_cancelled)
{
    BD_STATUS(st);
    bd_event_init(&p->entered);
    bd_event_init(&p->may_go);
    p->c = (compiler){.entered = &p->entered, .may_go = &p->may_go, .is_cancelled = is_cancelled};
    p->cache = new_cache(&p->c, 2);
    for (int i = 0; i < 2; i++) {
        p->getters[i] = (getter){.cache = p->cache, .cancellation = bd_cancellation_new(NULL)};
        bd_thread_start(&p->threads[i], "get", get_on_thread, &p->getters[i], st);
        if (i == 0) bd_event_wait(&p->entered);
    }
    assert_ok(st);
}

static void end_pair(pair *p)
{
    bd_plan_cache_free(p->cache);
    assert_int_equal(atomic_load(&p->c.alive), 0);
    for (int i = 0; i < 2; i++)
        bd_cancellation_unref(p->getters[i].cancellation);
    bd_event_fini(&p->entered);
    bd_event_fini(&p->may_go);
}

static void a_waiter_leaves_when_its_token_is_cancelled(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        pair p;
        start_pair(&p, false);
        BD_STATUS(why);
        bd_fail(why, BRAID_DEADLINE_EXCEEDED, "too late");
        bd_cancellation_cancel(p.getters[1].cancellation, why);
        bd_thread_join(&p.threads[1]); // while the other one still compiles
        assert_int_equal(p.getters[1].code, BRAID_DEADLINE_EXCEEDED);
        bd_event_set(&p.may_go);
        bd_thread_join(&p.threads[0]);
        assert_int_equal(p.getters[0].code, BRAID_OK);
        assert_int_equal(atomic_load(&p.c.compiled), 1);
        end_pair(&p);
    }
}

static void a_waiter_for_a_cancelled_compilation_compiles(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        pair p;
        start_pair(&p, true);
        bd_event_set(&p.may_go);
        bd_thread_join(&p.threads[0]);
        bd_thread_join(&p.threads[1]);
        assert_int_equal(p.getters[0].code, BRAID_CANCELLED);
        assert_int_equal(p.getters[1].code, BRAID_OK);
        assert_int_equal(atomic_load(&p.c.compiled), 2);
        end_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_any_order_are_the_same_run),
        cmocka_unit_test(a_feed_that_is_given_twice_reaches_the_compiler),
        cmocka_unit_test(a_failure_is_not_kept),
        cmocka_unit_test(the_oldest_goes_out_and_lives_as_long_as_it_is_used),
        cmocka_unit_test(recently_used_entries_stay),
        cmocka_unit_test(a_lookup_without_waiting_finds_a_cached_plan),
        cmocka_unit_test(threads_that_miss_together_compile_once),
        cmocka_unit_test(threads_that_miss_together_all_get_the_failure),
        cmocka_unit_test(a_waiter_leaves_when_its_token_is_cancelled),
        cmocka_unit_test(a_waiter_for_a_cancelled_compilation_compiles),
    };
    return BD_RUN_TESTS(tests);
}
