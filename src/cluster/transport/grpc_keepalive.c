// How a server finds out that the host of a client is gone: the kernels of both test the connection (TCP
// keepalive). gRPC would do it by HTTP/2 pings, which a program answers only while it reads: one that was
// stopped, or makes no call and lets its library sleep, would lose its connection and fail at its next call.
#include "cluster/transport/grpc_internal.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

// A host that is silent for QUIET_S is probed every ASK_S. If it does not answer, or does not acknowledge
// data, for GONE_S, the connection ends.
#define QUIET_S 4
#define ASK_S 1
#define GONE_S 8

void bd_grpc_keep_alive(int socket)
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
        setsockopt(socket, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}
