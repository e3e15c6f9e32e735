// Tests of the gRPC transport: the conformance suite, and a server process that is killed in the middle of a
// call. labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_internal.h"
#include "cluster/transport/testing/conformance.h"
#include <arpa/inet.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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

static pid_t start_server(char *how, char address[64])
{
    int out[2];
    assert_int_equal(pipe(out), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    char *argv[] = {"grpc_test", how, NULL};
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

static bd_call *begin_with(bd_transport *t, bd_channel *c, const bd_call_options *options, result *r)
{
    bd_event_init(&r->done);
    bd_message empty;
    bd_message_init(&empty);
    return t->call(c, options, &empty, store, r);
}

static bd_call *begin(bd_transport *t, bd_channel *c, const char *method, result *r)
{
    return begin_with(t, c, &(bd_call_options){.method = method, .deadline_ns = BD_FOREVER}, r);
}

static braid_code end(bd_transport *t, bd_call *call, result *r)
{
    assert_true(bd_event_wait_until(&r->done, bd_deadline_after_ms(60000)));
    bd_event_fini(&r->done);
    t->call_release(call);
    return r->code;
}

// Holds a call to a server, whose process then gets `signal`: the call ends with Unavailable. Returns the
// nanoseconds that it takes.
static int64_t ns_until_the_call_ends(int signal)
{
    char address[64];
    const pid_t pid = start_server("--serve", address);
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
    int tries = 3; // on a machine that is busy with other work
    while (ns_until_the_call_ends(SIGSTOP) >= INT64_C(10000000000))
        assert_true(--tries > 0);
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

static braid_code call_until_served(const char *address)
{
    BD_STATUS(st);
    bd_transport *t = bd_grpc_transport_new(st);
    bd_channel *c = t->connect(t, address);
    result ping;
    const bd_call_options waits = {.method = "/test/ping", .deadline_ns = BD_FOREVER, .wait_for_ready = true};
    const braid_code code = end(t, begin_with(t, c, &waits, &ping), &ping);
    t->channel_close(c);
    t->free(t);
    return code;
}

// ---- Who may call ----

#define STRANGER 54321  // a user without processes
#define NO_SUCH_USER 99 // no code of a status

// In a process of its own: calls as another user. With "waits" it connects again when a connection cannot be
// made: gRPC gives up an attempt after 5 s, and on a busy machine a thread of the server may not run for so
// long. Returns the code.
static int call_as(const char *user, const char *address, const char *waits)
{
    BD_STATUS(st);
    if (setuid((uid_t)atoi(user))) return NO_SUCH_USER;
    bd_transport *t = bd_grpc_transport_new(st);
    bd_channel *c = t->connect(t, address);
    result ping;
    const bd_call_options options = {
        .method = "/test/ping", .deadline_ns = BD_FOREVER, .wait_for_ready = strcmp(waits, "waits") == 0};
    const braid_code code = end(t, begin_with(t, c, &options, &ping), &ping);
    t->channel_close(c);
    t->free(t);
    return (int)code;
}

static int code_of_a_call_as(int user, const char *address, bool waits)
{
    char user_text[16];
    snprintf(user_text, sizeof user_text, "%d", user);
    char *argv[] = {"grpc_test", "--call-as", user_text, (char *)address, waits ? "waits" : "fails", NULL};
    pid_t pid;
    int status;
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void count_calls(void *arg, bd_incoming *call)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    BD_STATUS(ok);
    bd_message empty;
    bd_message_init(&empty);
    bd_incoming_reply(call, &empty, ok);
}

// Listens at `at` for the users of `allowed`, and calls as `user` at the address, or at 127.0.0.1 for the
// address of a port. The server gets no more of a refused call than its method. Returns the code.
static int call_at(const char *at, const char *allowed, int user, bool waits)
{
    BD_STATUS(st);
    bd_users users;
    bd_listener *l;
    char *bound;
    atomic_int calls = 0;
    bd_transport *t = bd_grpc_transport_new(st);
    assert_int_equal(bd_users_parse(allowed, &users, st), BRAID_OK);
    bd_grpc_transport_admit(t, &users, NULL);
    assert_int_equal(t->listen(t, at, count_calls, &calls, &l, &bound, st), BRAID_OK);
    char *address =
        bd_address_unix_path(at) ? bd_strdup(bound) : bd_asprintf("127.0.0.1%s", strrchr(bound, ':'));
    const int code = code_of_a_call_as(user, address, waits);
    assert_int_equal(calls, code == BRAID_OK);
    t->listener_stop(l, BD_FOREVER);
    t->listener_free(l);
    t->free(t);
    bd_users_fini(&users);
    bd_free(bound);
    bd_free(address);
    return code;
}

static void calls_of_other_users_are_refused_unless_they_are_allowed(void **state)
{
    (void)state;
    if (geteuid() != 0) skip(); // only root can call as another user
    static const struct {
        const char *allowed;
        int user;
        braid_code code, code_of_socket;
    } examples[] = {
        {NULL, 0, BRAID_OK, BRAID_OK},
        {NULL, STRANGER, BRAID_PERMISSION_DENIED, BRAID_UNAVAILABLE}, // it may not open the file
        {"54320,54322", STRANGER, BRAID_PERMISSION_DENIED, BRAID_PERMISSION_DENIED},
        {"54320,54321", STRANGER, BRAID_OK, BRAID_OK},
    };
    char dir[] = "/tmp/braid-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chmod(dir, 0755), 0);
    char *socket_address = bd_asprintf("unix:%s/socket", dir);
    bool has_user = true;
    for (size_t i = 0; i < BD_COUNTOF(examples) && has_user; i++) {
        const int code = call_at("127.0.0.1:0", examples[i].allowed, examples[i].user, true);
        has_user = code != NO_SUCH_USER; // as in a user namespace that does not have it
        if (!has_user) break;
        assert_int_equal(code, examples[i].code);
        assert_int_equal(call_at("localhost:0", examples[i].allowed, examples[i].user, true),
                         examples[i].code);
        assert_int_equal(call_at("0.0.0.0:0", examples[i].allowed, examples[i].user, true), examples[i].code);
        const bool may_connect = examples[i].code_of_socket != BRAID_UNAVAILABLE;
        assert_int_equal(call_at(socket_address, examples[i].allowed, examples[i].user, may_connect),
                         examples[i].code_of_socket);
    }
    assert_int_equal(rmdir(dir), 0); // the server has removed its socket
    bd_free(socket_address);
    if (!has_user) skip();
}

static void a_socket_that_was_left_is_replaced_and_a_file_is_not(void **state)
{
    (void)state;
    char dir[] = "/tmp/braid-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct sockaddr_un left = {.sun_family = AF_UNIX};
    snprintf(left.sun_path, sizeof left.sun_path, "%s/socket", dir);
    char *address = bd_asprintf("unix:%s", left.sun_path), *bound;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&left, sizeof left), 0);
    close(fd);
    assert_int_equal(call_at(address, NULL, (int)geteuid(), true), BRAID_OK);

    BD_STATUS(st);
    bd_listener *l, *second;
    bd_transport *t = bd_grpc_transport_new(st);
    assert_int_equal(t->listen(t, address, ping_or_nothing, NULL, &l, &bound, st), BRAID_OK);
    bd_free(bound);
    assert_int_equal(t->listen(t, address, ping_or_nothing, NULL, &second, &bound, st), BRAID_ALREADY_EXISTS);
    assert_int_equal(call_until_served(address), BRAID_OK); // the first serves on
    t->listener_stop(l, BD_FOREVER);
    t->listener_free(l);

    FILE *file = fopen(left.sun_path, "w");
    assert_non_null(file);
    fclose(file);
    braid_status_clear(st);
    assert_int_equal(t->listen(t, address, ping_or_nothing, NULL, &l, &bound, st), BRAID_ALREADY_EXISTS);
    assert_int_equal(unlink(left.sun_path), 0);
    assert_int_equal(rmdir(dir), 0);
    t->free(t);
    bd_free(address);
}

static void a_user_that_the_host_does_not_know_cannot_be_allowed(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ",", "nobody-knows", "0,", "-1", "99999999999"};
    for (size_t i = 0; i < BD_COUNTOF(bad); i++) {
        BD_STATUS(st);
        bd_users users;
        const braid_code code = bd_users_parse(bad[i], &users, st);
        assert_int_equal(code, bad[i][0] ? BRAID_INVALID_ARGUMENT : BRAID_OK);
        if (!code) bd_users_fini(&users);
    }
}

// ---- More connections than descriptors ----

#define FEW_FILES 300
#define CONNECTIONS 400

static int serve_with_few_files(void)
{
    const struct rlimit few = {FEW_FILES, FEW_FILES};
    return setrlimit(RLIMIT_NOFILE, &few) ? 1 : serve();
}

static int connect_to(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

// Whether the server has closed the connection. Reads what it has sent before.
static bool is_closed(int fd)
{
    char bytes[256];
    ssize_t len;
    while ((len = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {} // ends: it sends little
    return len == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// Waits until the server has closed so many of the connections. Closed ones become -1.
static void wait_until_closed(struct pollfd *connections, int wanted)
{
    while (wanted > 0) {
        assert_true(poll(connections, CONNECTIONS, -1) > 0);
        for (int i = 0; i < CONNECTIONS; i++) {
            if (!connections[i].revents || !is_closed(connections[i].fd)) continue;
            close(connections[i].fd);
            connections[i].fd = -1;
            wanted--;
        }
    }
}

// Connections over which nothing was called give way to later ones, and a call is served.
static void a_server_without_descriptors_ends_idle_connections_and_goes_on(void **state)
{
    (void)state;
    char address[64];
    const pid_t pid = start_server("--serve-with-few-files", address);
    struct pollfd connections[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++)
        connections[i] = (struct pollfd){.fd = connect_to(address), .events = POLLIN};
    assert_int_equal(call_until_served(address), BRAID_OK);
    wait_until_closed(connections, CONNECTIONS - FEW_FILES / 2);
    for (int i = 0; i < CONNECTIONS; i++)
        if (connections[i].fd >= 0) close(connections[i].fd);
    assert_int_equal(call_until_served(address), BRAID_OK);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--serve") == 0) return serve();
    if (argc > 1 && strcmp(argv[1], "--serve-with-few-files") == 0) return serve_with_few_files();
    if (argc > 4 && strcmp(argv[1], "--call-as") == 0) return call_as(argv[2], argv[3], argv[4]);
    const struct CMUnitTest before_it_listens[] = {
        cmocka_unit_test(connecting_does_not_change_malloc),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_is_killed_ends_calls_with_unavailable),
        cmocka_unit_test(a_target_lists_the_addresses_of_both_processes),
        cmocka_unit_test(calls_of_other_users_are_refused_unless_they_are_allowed),
        cmocka_unit_test(a_socket_that_was_left_is_replaced_and_a_file_is_not),
        cmocka_unit_test(a_user_that_the_host_does_not_know_cannot_be_allowed),
        cmocka_unit_test(a_server_without_descriptors_ends_idle_connections_and_goes_on),
        cmocka_unit_test(a_server_that_stands_still_ends_calls_within_ten_seconds),
    };
    const int failed = cmocka_run_group_tests(before_it_listens, NULL, NULL);
    return failed + bd_transport_conformance(&(bd_conformance){"gRPC", bd_grpc_transport_new, NULL}) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
