// What a process of a replicated task finds out about the other one.
//
// Whether the partner's process is dead is asked by a connection of its own: gRPC repeats the error of an
// earlier attempt while it pauses. A dead process's port refuses connections; a stopped process's port
// accepts them; a host that is cut off or without power does not answer. The host is looked up once, when the
// replication starts, so that a slow or broken name service does not delay a takeover.
#include "base/alloc.h"
#include "cluster/replication/replication_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/spec/cluster_spec.h"
#include "proto/pack.h"
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_refused(const struct addrinfo *at)
{
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    int error = 0;
    socklen_t len = sizeof error;
    if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
        error = errno;
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        // a signal shortens the wait: the answer is then "not refused", and is asked for again
        if (error == EINPROGRESS && poll(&p, 1, BD_PARTNER_TIMEOUT_MS) == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    }
    close(fd);
    return error == ECONNREFUSED;
}

void bd_replication_look_up_partner(bd_replication *r)
{
    char host[BD_HOST_LEN_MAX + 1], service[16];
    int port;
    BD_STATUS(malformed);
    if (r->addresses || bd_host_port_parse(r->env.partner, host, &port, malformed)) return;
    snprintf(service, sizeof service, "%d", port);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host, service, &hints, &r->addresses) != 0) r->addresses = NULL;
}

bool bd_replication_is_partner_dead(bd_replication *r)
{
    bd_replication_look_up_partner(r);
    bool is_dead = r->addresses != NULL;
    for (const struct addrinfo *at = r->addresses; at && is_dead; at = at->ai_next)
        is_dead = is_refused(at);
    return is_dead;
}

bd_rpc_options bd_replication_rpc(bd_replication *r, const char *method, int64_t deadline_ns)
{
    return (bd_rpc_options){.transport = r->env.transport,
                            .channel = r->channel,
                            .method = method,
                            .deadline_ns = deadline_ns,
                            .cancellation = r->cancellation,
                            .count = &r->calls};
}

Braid__ReplicaHello bd_replication_hello(bd_replication *r)
{
    Braid__ReplicaHello hello = BRAID__REPLICA_HELLO__INIT;
    bd_mutex_lock(&r->mu);
    hello.incarnation = r->env.incarnation;
    hello.state = r->has_ended ? BRAID__REPLICA_STATE__EMPTY : r->state; // it gives the task up
    hello.term = r->term;
    bd_mutex_unlock(&r->mu);
    return hello;
}

bd_partner bd_replication_ask(bd_replication *r, Braid__ReplicaHello *answer)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__ReplicaHello hello = bd_replication_hello(r);
    const bd_rpc_options options =
        bd_replication_rpc(r, BD_REPLICATION_SERVICE "Hello", bd_deadline_after_ms(BD_PARTNER_TIMEOUT_MS));
    bd_message request, response;
    bd_message_init(&request);
    bd_proto_pack_message(&hello.base, &request);
    const Braid__ReplicaHello *got = NULL;
    if (!bd_rpc_wait(&options, &request, NULL, NULL, &response, st))
        got = bd_proto_unpack_message(&braid__replica_hello__descriptor, &response, arena, st);
    bd_message_fini(&response);
    if (got) {
        *answer = *got;
        return BD_PARTNER_ANSWERS;
    }
    return bd_replication_is_partner_dead(r) ? BD_PARTNER_DEAD : BD_PARTNER_SILENT;
}

static void deposed(void *arg, bd_message *response, const braid_status *st)
{
    (void)arg;
    (void)response;
    (void)st;
}

void bd_replication_depose_partner(bd_replication *r)
{
    const Braid__ReplicaHello hello = bd_replication_hello(r);
    bd_rpc_options options = bd_replication_rpc(r, BD_REPLICATION_SERVICE "Hello", BD_FOREVER);
    options.wait_for_ready = true;
    bd_rpc_start_proto(&options, &hello.base, deposed, NULL);
}
