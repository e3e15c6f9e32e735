// One connection of a client through a tunnel: its socket, the TLS connection to the server, and the bytes
// between them.
#ifndef BD_CLUSTER_TUNNEL_LINK_H
#define BD_CLUSTER_TUNNEL_LINK_H

#include "cluster/transport/tunnel_tls.h"
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct bd_tunnel_link bd_tunnel_link;

// `client` does not block; the link takes over it, `tls` and `addresses` (of the server, from getaddrinfo).
// `server` is its name in errors; copied. The link adds its sockets to `epoll`, with itself as their data.
bd_tunnel_link *bd_tunnel_link_new(int epoll, int client, bd_tunnel_tls *tls, struct addrinfo *addresses,
                                   const char *server);
// Ends both connections.
void bd_tunnel_link_free(bd_tunnel_link *l);

// Does what can be done now, but not for long: sockets of other links may wait. False when it has ended: all
// was passed on, or the status says why not. Only one thread may use a link.
bool bd_tunnel_link_step(bd_tunnel_link *l, braid_status *st);
// epoll has told something of it: it is due.
void bd_tunnel_link_changed(bd_tunnel_link *l);
// When it is to be stepped (bd_now_ns scale): 0: at once; BD_FOREVER: when it has changed.
int64_t bd_tunnel_link_due_ns(const bd_tunnel_link *l);
// Fails when the certificate of the server is revoked: the link is to be freed.
braid_code bd_tunnel_link_check_revoked(const bd_tunnel_link *l, braid_status *st);
// Whether the server has sent anything.
bool bd_tunnel_link_has_answer(const bd_tunnel_link *l);

#endif
