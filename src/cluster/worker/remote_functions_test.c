// Functions that are registered on another task, in an order that only a task in the test gives.
// labels: concurrent
#include "cluster/worker/remote_functions.h"

#include "base/testing/test.h"
#include "graph/function.h"
#include <stdio.h>
#include <string.h>

#define DEVICE "/job:worker/replica:0/task:1/device:CPU:0"
#define RESULTS_MAX 40

// A registration that has not been answered.
typedef struct registration {
    bd_worker_graph_fn fn;
    void *arg;
} registration;

typedef struct fixture {
    bd_worker worker; // keeps registrations, and answers runs at once
    registration registrations[2];
    int registered;
    char dropped[64]; // the last graph that was deregistered
    int runs;
    bd_peer peer;
    bd_peers peers;
    bd_remote_functions *functions;
} fixture;

static fixture *of(bd_worker *w)
{
    return BD_CONTAINER_OF(w, fixture, worker);
}

static void register_graph(bd_worker *w, const char *session, braid_graph *graph, unsigned disabled,
                           const struct Tensorflow__DebugOptions *debug, bd_cancellation *cancellation,
                           bd_worker_graph_fn fn, void *arg)
{
    (void)session, (void)disabled, (void)debug, (void)cancellation;
    bd_graph_fini(graph);
    bd_graph_init(graph);
    of(w)->registrations[of(w)->registered++] = (registration){fn, arg};
}

static void deregister_graph(bd_worker *w, const char *session, const char *graph, bd_worker_done_fn fn,
                             void *arg)
{
    (void)session, (void)fn, (void)arg;
    snprintf(of(w)->dropped, sizeof of(w)->dropped, "%s", graph);
}

static void run_graph(bd_worker *w, bd_run_graph *run, bd_cancellation *cancellation, bd_worker_done_fn fn,
                      void *arg)
{
    (void)cancellation;
    BD_STATUS(ok);
    of(w)->runs++;
    for (int i = 0; i < run->recv_count; i++)
        bd_tensor_ref(&run->recvs[i], run->sends[0].tensor);
    fn(arg, ok);
}

static int set_up(void **state)
{
    static const bd_worker_ops ops = {
        .register_graph = register_graph, .deregister_graph = deregister_graph, .run_graph = run_graph};
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->worker.ops = &ops;
    f->peer.worker = &f->worker;
    f->peers = (bd_peers){.items = &f->peer, .count = 1};
    bd_map_put(&f->peers.by_task, "/job:worker/replica:0/task:1", &f->peer);
    f->functions = bd_remote_functions_new("session", &f->peers, NULL);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_remote_functions_unref(f->functions);
    bd_map_fini(&f->peers.by_task);
    bd_free(f);
    return 0;
}

// A library whose function f(x) gives x so many times.
static bd_library *library_of(int results)
{
    BD_STATUS(st);
    bd_strbuf text = {0};
    bd_strbuf_append(&text,
                     "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } ");
    for (int i = 0; i < results; i++)
        bd_strbuf_appendf(&text, "output_arg { name: 'y%d' type: DT_FLOAT } ", i);
    bd_strbuf_append(&text, "} ");
    for (int i = 0; i < results; i++)
        bd_strbuf_appendf(&text, "ret { key: 'y%d' value: 'x' } ", i);
    bd_strbuf_append(&text, "} }");
    char *plain = bd_strbuf_take(&text);
    for (char *p = plain; *p; p++)
        if (*p == '\'') *p = '"';
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, plain, strlen(plain), st);
    assert_ok(st);
    bd_library *library = bd_library_ref(g->library);
    braid_graph_free(g);
    bd_free(plain);
    return library;
}

typedef struct result {
    braid_status st;
    int ends, count;
} result;

static void ended(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    (void)rets;
    result *r = arg;
    r->ends++;
    r->count = ret_count;
    bd_status_copy(&r->st, st);
}

// Calls f of the library; `r` gets what comes of it.
static void call(fixture *f, bd_library *library, result *r)
{
    bd_arena arena = {0};
    const bd_func func = {.name = "f"};
    const bd_func_ref ref = {.key = bd_func_bytes(&func, &arena), .name = "f"};
    braid_tensor *x = braid_tensor_float(3);
    const bd_invocation invocation = {.args = x, .arg_count = 1, .done = ended, .arg = r};
    f->functions->ops->call(
        f->functions,
        &(bd_remote_call){.library = library, .function = &ref, .device = DEVICE, .call = &invocation});
    braid_tensor_free(x);
    bd_arena_fini(&arena);
}

static void answer(const fixture *f, int i, const char *handle)
{
    BD_STATUS(ok);
    f->registrations[i].fn(f->registrations[i].arg, handle, ok);
}

static void two_calls_that_register_at_the_same_time_share_one_graph(void **state)
{
    fixture *f = *state;
    bd_library *library = library_of(2);
    result first = {0}, second = {0}, third = {0};
    call(f, library, &first);
    call(f, library, &second);
    assert_int_equal(f->registered, 2);
    answer(f, 1, "graph 1");
    answer(f, 0, "graph 0");
    assert_string_equal(f->dropped, "graph 0");
    call(f, library, &third);
    assert_int_equal(f->registered, 2);
    assert_int_equal(f->runs, 3);
    assert_ok(&first.st);
    assert_ok(&second.st);
    assert_ok(&third.st);
    assert_int_equal(first.count, 2);
    assert_int_equal(second.count, 2);
    assert_int_equal(third.count, 2);
    bd_library_unref(library);
}

// A client may register graphs in which the same name is another function.
static void a_function_of_another_signature_does_not_take_the_place_of_one_of_the_same_name(void **state)
{
    fixture *f = *state;
    bd_library *many = library_of(RESULTS_MAX), *one = library_of(1);
    result first = {0}, second = {0};
    call(f, many, &first);
    call(f, one, &second);
    assert_int_equal(f->registered, 2);
    answer(f, 0, "graph 0");
    answer(f, 1, "graph 1");
    assert_ok(&first.st);
    assert_int_equal(first.count, RESULTS_MAX);
    assert_error(&second.st, BRAID_INVALID_ARGUMENT, "f");
    assert_int_equal(second.ends, 1);
    assert_int_equal(f->runs, 1);
    assert_string_equal(f->dropped, "graph 1");
    braid_status_clear(&second.st);
    bd_library_unref(many);
    bd_library_unref(one);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_calls_that_register_at_the_same_time_share_one_graph),
        TEST(a_function_of_another_signature_does_not_take_the_place_of_one_of_the_same_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
