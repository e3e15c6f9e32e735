// How a server finds out that the host of a client is gone: the kernels of both test the connection (TCP
// keepalive). gRPC would do it by HTTP/2 pings, which a program answers only while it reads: one that was
// stopped, or makes no call and lets its library sleep, would lose its connection and fail at its next call.
#include "cluster/transport/grpc_internal.h"
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

// A host that is silent for QUIET_S is probed every ASK_S. If it does not answer, or does not acknowledge
// data, for GONE_S, the connection ends.
#define QUIET_S 4
#define ASK_S 1
#define GONE_S 8

static bool listens_on(int fd, int port)
{
    int listens = 0;
    socklen_t len = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens) return false;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address = {.any.sa_family = AF_UNSPEC};
    len = sizeof address;
    if (getsockname(fd, &address.any, &len) != 0) return false;
    switch (address.any.sa_family) {
    case AF_INET: return ntohs(address.in.sin_port) == port;
    case AF_INET6: return ntohs(address.in6.sin6_port) == port;
    default: return false;
    }
}

static void keep_alive(int fd)
{
    static const struct {
        int level, option, value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, QUIET_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, ASK_S},
        {IPPROTO_TCP, TCP_KEEPCNT, (GONE_S - QUIET_S) / ASK_S},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, GONE_S * 1000},
    };
    for (size_t i = 0; i < BD_COUNTOF(options); i++)
        setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}

void bd_grpc_keep_alive(int port)
{
    DIR *files = opendir("/proc/self/fd");
    if (!files) return;
    for (const struct dirent *file; (file = readdir(files));) {
        const int fd = atoi(file->d_name); // "." and "..": 0, which does not listen
        if (listens_on(fd, port)) keep_alive(fd);
    }
    closedir(files);
}
