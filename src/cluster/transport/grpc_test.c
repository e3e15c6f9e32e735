// Tests of the gRPC transport: the conformance suite, and a server process that is killed in the middle of a
// call. labels: concurrent
#include "base/alloc.h"
#include "base/thread.h"
#include "cluster/transport/grpc_internal.h"
#include "cluster/transport/testing/conformance.h"
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

// ---- The process that is killed: writes its address, answers "ping", never answers anything else ----

static void ping_or_nothing(void *arg, bd_incoming *call)
{
    (void)arg;
    if (strcmp(call->method, "/test/ping") != 0) return;
    BD_STATUS(ok);
    bd_message empty;
    bd_message_init(&empty);
    bd_incoming_reply(call, &empty, ok);
}

static int serve(void)
{
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    bd_listener *l;
    char *bound;
    if (t->listen(t, "127.0.0.1:0", ping_or_nothing, NULL, &l, &bound, st)) return 1;
    printf("%s\n", bound);
    fflush(stdout);
    pause();
    return 0;
}

static pid_t start_server(char address[64])
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    char *argv[] = {"grpc_test", "--serve", NULL};
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    assert_non_null(fgets(address, 64, lines));
    address[strcspn(address, "\n")] = 0;
    fclose(lines);
    return pid;
}

typedef struct result {
    bd_event done;
    braid_code code;
} result;

static void store(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    result *r = arg;
    r->code = st->code;
    bd_event_set(&r->done);
}

static bd_call *begin(bd_transport *t, bd_channel *c, const char *method, result *r)
{
    bd_event_init(&r->done);
    bd_message empty;
    bd_message_init(&empty);
    return t->call(c, &(bd_call_options){.method = method, .deadline_ns = BD_FOREVER}, &empty, store, r);
}

static braid_code end(bd_transport *t, bd_call *call, result *r)
{
    assert_true(bd_event_wait_until(&r->done, bd_deadline_after_ms(30000)));
    bd_event_fini(&r->done);
    t->call_release(call);
    return r->code;
}

// Holds a call to a server, whose process then gets `signal`: the call ends with Unavailable. Returns the
// nanoseconds that it takes.
static int64_t ns_until_the_call_ends(int signal)
{
    char address[64];
    const pid_t pid = start_server(address);
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    bd_channel *c = t->connect(t, address);
    result ping, hold;
    assert_int_equal(end(t, begin(t, c, "/test/ping", &ping), &ping), BRAID_OK);
    bd_call *call = begin(t, c, "/test/hold", &hold);
    const int64_t begin_ns = bd_now_ns();
    assert_int_equal(kill(pid, signal), 0);
    assert_int_equal(end(t, call, &hold), BRAID_UNAVAILABLE);
    const int64_t ns = bd_now_ns() - begin_ns;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    t->channel_close(c);
    t->free(t);
    return ns;
}

static void a_server_that_is_killed_ends_calls_with_unavailable(void **state)
{
    (void)state;
    ns_until_the_call_ends(SIGKILL);
}

// As the program of a host without power.
static void a_server_that_stands_still_ends_calls_within_ten_seconds(void **state)
{
    (void)state;
    assert_true(ns_until_the_call_ends(SIGSTOP) < INT64_C(10000000000));
}

// Whether malloc asks the system for a block larger than all that were freed before, as it does by default.
static bool maps(size_t size)
{
    const size_t before = mallinfo2().hblks;
    void *volatile block = malloc(size);
    const bool is_mapped = mallinfo2().hblks > before;
    free(block);
    return is_mapped;
}

static void connecting_does_not_change_malloc(void **state)
{
    (void)state;
    if (!maps(20 << 20)) skip(); // another malloc, of a sanitizer
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    bd_channel *c = t->connect(t, "127.0.0.1:1");
    assert_true(maps(24 << 20));
    t->channel_close(c);
    t->free(t);
}

static void a_target_lists_the_addresses_of_both_processes(void **state)
{
    (void)state;
    static const struct {
        const char *address, *expected;
    } examples[] = {
        {"localhost:1", "localhost:1"},
        {"[::1]:1", "[::1]:1"},
        {"127.0.0.1:1|10.0.0.2:65535", "ipv6:[::ffff:127.0.0.1]:1,[::ffff:10.0.0.2]:65535"},
        {"[fe80::12]:1|[::1]:2", "ipv6:[fe80::12]:1,[::1]:2"},
        {"127.0.0.1:1|[::1]:1", "ipv6:[::ffff:127.0.0.1]:1,[::1]:1"},
    };
    for (size_t i = 0; i < BD_COUNTOF(examples); i++) {
        char *target = bd_grpc_target(examples[i].address);
        assert_string_equal(target, examples[i].expected);
        bd_free(target);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--serve") == 0) return serve();
    const struct CMUnitTest before_it_listens[] = {
        cmocka_unit_test(connecting_does_not_change_malloc),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_killed_ends_calls_with_unavailable),
        cmocka_unit_test(a_target_lists_the_addresses_of_both_processes),
        cmocka_unit_test(a_server_that_stands_still_ends_calls_within_ten_seconds),
    };
    const int failed = cmocka_run_group_tests(before_it_listens, NULL, NULL);
    return failed + bd_transport_conformance("gRPC", bd_grpc_transport_new) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
