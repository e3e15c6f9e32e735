// The target of a gRPC channel to a task of two processes: one list of the addresses of both, because gRPC's
// resolver takes a single name.
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_internal.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>

// Appends all addresses of one process, IPv4 as IPv6, since a list is of one family. False when its host is
// not known.
static bool append_addresses(bd_strbuf *list, const char *host_port)
{
    char host[BD_HOST_LEN_MAX + 1], text[INET6_ADDRSTRLEN];
    int port;
    BD_STATUS(st);
    if (bd_host_port_parse(host_port, host, &port, st)) return false;
    const struct addrinfo hints = {
        .ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_V4MAPPED | AI_ALL};
    struct addrinfo *found = NULL;
    const int lookup = getaddrinfo(host, NULL, &hints, &found);
    if (lookup) bd_warn("The host of %s is not known: %s", host_port, gai_strerror(lookup));
    for (const struct addrinfo *at = lookup ? NULL : found; at; at = at->ai_next) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)at->ai_addr;
        inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
        bd_strbuf_appendf(list, "%s[%s]:%d", list->len ? "," : "ipv6:", text, port);
    }
    if (!lookup) freeaddrinfo(found);
    return !lookup;
}

char *bd_grpc_target(const char *address)
{
    const int replicas = bd_address_replicas(address);
    bool are_known = replicas > 1;
    bd_strbuf list = {0};
    for (int r = 0; r < replicas && are_known; r++) {
        char *one = bd_address_of_replica(address, r);
        are_known = append_addresses(&list, one);
        bd_free(one);
    }
    if (are_known) return bd_strbuf_take(&list);
    bd_strbuf_fini(&list);
    return bd_strdup(address); // of two unknown hosts: calls fail, as to any unknown host
}
