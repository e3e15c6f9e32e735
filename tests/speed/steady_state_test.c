// A step in the steady state allocates no memory from the system.
//
// malloc and its kin, and mmap, are replaced by counting versions, for Braid and all libraries it uses. Only
// oneDNN calls malloc in a step, for temporary memory of a product or a convolution: its calls are counted
// separately, and malloc's memory from the system must not grow. (Sanitizers replace malloc, too: there this
// is skipped.)
#include "base/alloc.h"
#include "cli/ports.h"
#include <braid/braid.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

// ---- What counts ----

static atomic_long asked, asked_by_dnnl;

#ifndef BD_SANITIZED
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BD_SANITIZED 1
#endif
#endif
#endif

#ifndef BD_SANITIZED
// glibc's own, under the names it exports them by. The others are to be seen by all libraries.
#pragma GCC visibility push(default)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

// By the place that called: oneDNN is the one part of a step that is in C++.
static void count(const void *caller)
{
    Dl_info info;
    const bool by_dnnl = dladdr(caller, &info) && info.dli_fname &&
                         (strstr(info.dli_fname, "libdnnl") || strstr(info.dli_fname, "libstdc++"));
    atomic_fetch_add(by_dnnl ? &asked_by_dnnl : &asked, 1);
}

void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    count(__builtin_return_address(0));
    return (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}
#pragma GCC visibility pop
#endif

// ---- Steps ----

typedef struct program {
    braid_graph *graph;
    braid_op *init, *target;
    braid_feed feeds[2];
    int feed_count;
} program;

static void run(braid_session *s, const program *p, braid_op *target, braid_status *st)
{
    const bool is_step = target == p->target;
    const braid_run_args args = {
        .feeds = p->feeds, .feed_count = is_step ? p->feed_count : 0, .targets = &target, .target_count = 1};
    if (braid_session_run(s, &args, st)) fail_msg("%s", braid_status_message(st));
}

static void null_step(program *p)
{
    p->target = braid_no_op(p->graph, "nothing");
}

static void mnist(program *p, braid_optimizer *optimizer)
{
    braid_graph *g = p->graph;
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 784)),
              labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, 10));
    braid_out hidden = braid_relu(g, braid_dense(g, "hidden", x, 100));
    braid_out y = braid_softmax(g, braid_dense(g, "softmax", hidden, 10));
    braid_out log_y = braid_log(g, braid_clip_by_value(g, y, 1e-10, 1));
    braid_out loss = braid_neg(g, braid_reduce_sum(g, braid_mul(g, labels, log_y)));
    p->target = braid_minimize(optimizer, loss, braid_global_step(g));
    p->feeds[0] = (braid_feed){x, braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(100, 784), NULL)};
    p->feeds[1] = (braid_feed){labels, braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(100, 10), NULL)};
    p->feed_count = 2;
}

static void mnist_sgd(program *p)
{
    mnist(p, braid_gradient_descent(p->graph, 0.01f));
}

static void mnist_adam(program *p)
{
    mnist(p, braid_adam(p->graph, 0.01f));
}

// Convolutions, pools and dropout.
static void deep_mnist(program *p)
{
    braid_graph *g = p->graph;
    braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, 28, 28, 1)),
              labels = braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, 10));
    braid_out h = braid_relu(g, braid_conv2d_layer(g, "conv1", x, 8, 5, 1, BRAID_SAME));
    h = braid_max_pool(g, h, 2, 2, BRAID_SAME);
    h = braid_relu(g, braid_conv2d_layer(g, "conv2", h, 16, 5, 1, BRAID_SAME));
    h = braid_reshape(g, braid_max_pool(g, h, 2, 2, BRAID_SAME), BRAID_SHAPE(-1, 7 * 7 * 16));
    h = braid_dropout(g, braid_relu(g, braid_dense(g, "fc1", h, 64)), braid_const_float(g, NULL, 0.5f));
    braid_out loss =
        braid_reduce_mean(g, braid_softmax_cross_entropy(g, braid_dense(g, "fc2", h, 10), labels));
    p->target = braid_minimize(braid_adam(g, 1e-3f), loss, braid_global_step(g));
    p->feeds[0] = (braid_feed){x, braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(20, 28, 28, 1), NULL)};
    p->feeds[1] = (braid_feed){labels, braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(20, 10), NULL)};
    p->feed_count = 2;
}

// The allocations of some steps.
typedef struct demand {
    long braid_calls; // of Braid's own allocator; each is one of calls, too
    long calls, dnnl_calls;
    long long system_bytes;
} demand;

enum {
    STEPS = 100,
    WINDOWS = 10
};

static demand demand_until_now(void)
{
    const struct mallinfo2 info = mallinfo2();
    return (demand){(long)bd_alloc_count(), atomic_load(&asked), atomic_load(&asked_by_dnnl),
                    (long long)info.arena + (long long)info.hblkhd};
}

static demand measure_window(braid_session *s, const program *p, braid_status *st)
{
    const demand before = demand_until_now();
    for (int i = 0; i < STEPS; i++)
        run(s, p, p->target, st);
    const demand after = demand_until_now();
    return (demand){after.braid_calls - before.braid_calls, after.calls - before.calls,
                    after.dnnl_calls - before.dnnl_calls, after.system_bytes - before.system_bytes};
}

static bool is_less(const demand *a, const demand *b)
{
    if (a->braid_calls != b->braid_calls) return a->braid_calls < b->braid_calls;
    if (a->calls != b->calls) return a->calls < b->calls;
    return a->system_bytes < b->system_bytes;
}

// The window of the least demand, after one window to warm up. Threads take turns differently on a busy
// machine: now and then more is in use at once than ever before, or another thread is the first to use
// malloc's memory of its own. That is not in each window; what each step allocates is.
static demand measure_steady_state(braid_session *s, const program *p, braid_status *st)
{
    run(s, p, p->init, st);
    measure_window(s, p, st);
    demand least = measure_window(s, p, st);
    for (int i = 1; i < WINDOWS && (least.calls || least.system_bytes > 0); i++) {
        const demand d = measure_window(s, p, st);
        if (is_less(&d, &least)) least = d;
    }
    return least;
}

static demand measure(void (*build)(program *p))
{
    program p = {.graph = braid_graph_new()};
    build(&p);
    p.init = braid_global_variables_initializer(p.graph);
    braid_status *st = braid_status_new();
    const braid_session_options options = {.inter_op_threads = 1, .intra_op_threads = 1};
    braid_session *s = braid_session_open(p.graph, &options, st);
    assert_non_null(s);
    const demand d = measure_steady_state(s, &p, st);
    assert_int_equal(braid_session_close(s, st), BRAID_OK);
    for (int i = 0; i < p.feed_count; i++)
        braid_tensor_free((braid_tensor *)p.feeds[i].value);
    braid_graph_free(p.graph);
    braid_status_free(st);
    return d;
}

static void steps_of_one_process_allocate_no_memory(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        void (*build)(program *p);
    } cases[] = {{"null step", null_step},
                 {"MNIST, SGD", mnist_sgd},
                 {"MNIST, Adam", mnist_adam},
                 {"deep MNIST", deep_mnist}};
    assert_true(atomic_load(&asked) > 0); // it counts
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const demand d = measure(cases[i].build);
        print_message("%s: 100 steps: %ld calls for memory, %ld of oneDNN, %lld bytes more of the system\n",
                      cases[i].what, d.calls, d.dnnl_calls, d.system_bytes);
        assert_int_equal(d.calls, 0);
        assert_true(d.system_bytes <= 0);
    }
}

// ---- A parameter server and a worker, over gRPC ----

static braid_server *serve(const braid_cluster *cluster, const char *job, braid_status *st)
{
    braid_server *s = braid_server_start(cluster, job, 0, &(braid_server_options){.inter_op_threads = 1}, st);
    if (!s) fail_msg("%s", braid_status_message(st));
    return s;
}

// gRPC allocates as it likes; Braid does not.
static void steps_of_a_cluster_allocate_no_memory_in_braid(void **state)
{
    (void)state;
    char json[128];
    bd_port ports[2];
    assert_true(bd_ports_take(ports, 2));
    snprintf(json, sizeof json, "{\"ps\": [\"127.0.0.1:%d\"], \"worker\": [\"127.0.0.1:%d\"]}",
             ports[0].number, ports[1].number);
    braid_status *st = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_json(json, st);
    assert_non_null(cluster);
    braid_server *ps = serve(cluster, "ps", st), *worker = serve(cluster, "worker", st);
    program p = {.graph = braid_graph_new()};
    braid_push_device_setter(p.graph, braid_replica_device_setter(p.graph, cluster, NULL));
    mnist_adam(&p);
    p.init = braid_global_variables_initializer(p.graph);
    braid_session *s = braid_session_open(p.graph, &(braid_session_options){.server = worker}, st);
    if (!s) fail_msg("%s", braid_status_message(st));
    const demand d = measure_steady_state(s, &p, st);
    print_message("a step of a cluster: %.2f calls for memory of Braid, %.1f of gRPC and oneDNN\n",
                  (double)d.braid_calls / STEPS, (double)(d.calls + d.dnnl_calls - d.braid_calls) / STEPS);
    // The tasks' heartbeats go on beside the steps. An allocation in each step would be STEPS.
    assert_in_range(d.braid_calls, 0, STEPS / 4);
    assert_int_equal(braid_session_close(s, st), BRAID_OK);
    braid_server_free(worker);
    braid_server_free(ps);
    for (int i = 0; i < p.feed_count; i++)
        braid_tensor_free((braid_tensor *)p.feeds[i].value);
    braid_graph_free(p.graph);
    braid_cluster_free(cluster);
    braid_status_free(st);
    bd_ports_release(ports, 2);
}

int main(void)
{
#ifdef BD_SANITIZED
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_one_process_allocate_no_memory),
        cmocka_unit_test(steps_of_a_cluster_allocate_no_memory_in_braid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
