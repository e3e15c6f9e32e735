// The other end of a TCP connection within this host is a socket of this kernel, which tells its owner, the
// user of the process when it made the socket: by netlink (sock_diag(7)), which some kernels do not have, and
// in the lists of all sockets, which take longer.
#include "cluster/transport/socket_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
} address;

// An IPv4 connection of an IPv6 socket is listed as the socket is: its client may be of either family.
static bool as_ipv4(const address *from, address *to)
{
    if (from->any.sa_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&from->in6.sin6_addr)) return false;
    *to = (address){.in = {.sin_family = AF_INET, .sin_port = from->in6.sin6_port}};
    memcpy(&to->in.sin_addr, &from->in6.sin6_addr.s6_addr[12], 4);
    return true;
}

static bool as_ipv6(const address *from, address *to)
{
    if (from->any.sa_family != AF_INET) return false;
    *to = (address){.in6 = {.sin6_family = AF_INET6, .sin6_port = from->in.sin_port}};
    to->in6.sin6_addr.s6_addr[10] = to->in6.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&to->in6.sin6_addr.s6_addr[12], &from->in.sin_addr, 4);
    return true;
}

static void put_address(const address *a, __be16 *port, __be32 *to)
{
    if (a->any.sa_family == AF_INET) {
        *port = a->in.sin_port;
        memcpy(to, &a->in.sin_addr, 4);
    } else {
        *port = a->in6.sin6_port;
        memcpy(to, &a->in6.sin6_addr, 16);
    }
}

// Looks for the socket whose own address is `own`, connected to `other`.
static bool find(int netlink, const address *own, const address *other, uid_t *user)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 diag;
    } request = {.head = {.nlmsg_len = sizeof request,
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST},
                 .diag = {.sdiag_family = (__u8)own->any.sa_family,
                          .sdiag_protocol = IPPROTO_TCP,
                          .idiag_states = ~0U,
                          .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}};
    put_address(own, &request.diag.id.idiag_sport, request.diag.id.idiag_src);
    put_address(other, &request.diag.id.idiag_dport, request.diag.id.idiag_dst);
    char answer[4096];
    if (send(netlink, &request, sizeof request, 0) < 0) return false;
    const ssize_t len = recv(netlink, answer, sizeof answer, MSG_DONTWAIT); // the kernel has answered by now
    struct nlmsghdr head;
    struct inet_diag_msg found;
    if (len < (ssize_t)(NLMSG_HDRLEN + sizeof found)) return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY) return false; // an error: there is none
    memcpy(&found, answer + NLMSG_HDRLEN, sizeof found);
    // Without such a connection, the kernel tells a socket that listens at its address. A connection that its
    // process has closed has no owner: its inode is 0.
    if (found.id.idiag_dport != request.diag.id.idiag_dport || found.idiag_inode == 0) return false;
    *user = found.idiag_uid;
    return true;
}

static bool find_by_netlink(const address *own, const address *other, uid_t *user)
{
    const int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0) return false;
    const bool is_found = find(netlink, own, other, user);
    close(netlink);
    return is_found;
}

// As the lists have it: the words of the address and the port, all hexadecimal.
static void address_text(const address *a, char text[64])
{
    uint32_t words[4] = {0};
    __be16 port = 0;
    put_address(a, &port, words);
    const int count = a->any.sa_family == AF_INET ? 1 : 4;
    for (int i = 0; i < count; i++)
        text += snprintf(text, 9, "%08X", words[i]);
    snprintf(text, 8, ":%04X", ntohs(port));
}

static bool find_in_list(const address *own, const address *other, uid_t *user)
{
    char own_text[64], other_text[64], line[512];
    address_text(own, own_text);
    address_text(other, other_text);
    FILE *list = fopen(own->any.sa_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
    if (!list) return false;
    bool is_found = false;
    while (!is_found && fgets(line, sizeof line, list)) {
        char local[64], remote[64];
        unsigned uid;
        unsigned long inode;
        is_found =
            sscanf(line, " %*s %63s %63s %*s %*s %*s %*s %u %*s %lu", local, remote, &uid, &inode) == 4 &&
            inode != 0 && strcmp(local, own_text) == 0 && strcmp(remote, other_text) == 0;
        if (is_found) *user = uid;
    }
    fclose(list);
    return is_found;
}

static bool look_up(int fd, uid_t *user, bool (*finds)(const address *own, const address *other, uid_t *user))
{
    address own = {0}, other = {0}, own_as, other_as;
    socklen_t own_len = sizeof own, other_len = sizeof other;
    if (getsockname(fd, &own.any, &own_len) != 0 || getpeername(fd, &other.any, &other_len) != 0)
        return false;
    if (finds(&other, &own, user)) return true;
    return ((as_ipv4(&own, &own_as) && as_ipv4(&other, &other_as)) ||
            (as_ipv6(&own, &own_as) && as_ipv6(&other, &other_as))) &&
           finds(&other_as, &own_as, user);
}

bool bd_socket_user_listed(int fd, uid_t *user)
{
    return look_up(fd, user, find_in_list);
}

bool bd_socket_user(int fd, uid_t *user)
{
    struct ucred other;
    socklen_t len = sizeof other;
    int domain = AF_UNSPEC;
    socklen_t domain_len = sizeof domain;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len);
    if (domain == AF_UNIX) {
        const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &len) == 0;
        if (is_known) *user = other.uid;
        return is_known;
    }
    return look_up(fd, user, find_by_netlink) || bd_socket_user_listed(fd, user);
}
