// The user of a connection of this host, however its two ends name their addresses.
#include "base/testing/test.h"
#include "cluster/transport/socket_user.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} address;

static socklen_t size_of(const address *a)
{
    return a->any.sa_family == AF_INET ? sizeof a->in : sizeof a->in6;
}

// A connection within this host: fds[0] has been accepted, fds[1] is its other end. Returns false when the
// system has no IPv6.
static bool connect_pair(int listens, int connects, int fds[2])
{
    address at = {.any.sa_family = (sa_family_t)listens};
    address to = {.any.sa_family = (sa_family_t)connects};
    socklen_t len = sizeof at;
    const int listener = socket(listens, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fds[1] = socket(connects, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || fds[1] < 0 || bind(listener, &at.any, size_of(&at))) return false;
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, &at.any, &len), 0);
    if (connects == AF_INET)
        to.in = (struct sockaddr_in){
            .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = at.in.sin_port};
    else
        to.in6 = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback, .sin6_port = at.in6.sin6_port};
    if (connect(fds[1], &to.any, size_of(&to))) return false;
    fds[0] = accept(listener, NULL, NULL);
    assert_true(fds[0] >= 0);
    close(listener);
    return true;
}

static void the_kernel_tells_the_user_of_a_connection(void **state)
{
    (void)state;
    static const int families[][2] = {{AF_INET, AF_INET}, {AF_INET6, AF_INET}, {AF_INET6, AF_INET6}};
    for (size_t i = 0; i < BD_COUNTOF(families); i++) {
        int fds[2] = {-1, -1};
        if (!connect_pair(families[i][0], families[i][1], fds)) skip();
        uid_t user = (uid_t)-1, listed = (uid_t)-1;
        assert_true(bd_socket_user(fds[0], &user));
        assert_int_equal(user, geteuid());
        assert_true(bd_socket_user_listed(fds[0], &listed));
        assert_int_equal(listed, geteuid());
        close(fds[1]);
        assert_false(bd_socket_user(fds[0], &user)); // it has no process any more
        assert_false(bd_socket_user_listed(fds[0], &user));
        close(fds[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_tells_the_user_of_a_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
