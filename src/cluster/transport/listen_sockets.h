// The sockets on which a server listens: those of one host and port, or one in the file system.
#ifndef BD_CLUSTER_LISTEN_SOCKETS_H
#define BD_CLUSTER_LISTEN_SOCKETS_H

#include "base/status.h"
#include <stdbool.h>
#include <sys/stat.h>

#define BD_LISTEN_SOCKETS_MAX 8 // addresses of one host

// All zero: none.
typedef struct bd_listen_sockets {
    int fds[BD_LISTEN_SOCKETS_MAX], count; // they do not block
    char *path;                            // of a socket in the file system; NULL: none
    struct stat file;
} bd_listen_sockets;

// Listens on all addresses of `host`: "0.0.0.0" and "::" are those of all interfaces. `*port` is 0 for a free
// one, which is stored there. InvalidArgument for a host that is unknown or not this one, AlreadyExists for
// an address in use, Unavailable for other failures.
braid_code bd_listen_on_host(bd_listen_sockets *s, const char *host, int *port, braid_status *st);
// Listens on a socket in the file system, which only the user of this process may open, if `is_private`. It
// takes the place of one that no process listens on any more.
braid_code bd_listen_on_path(bd_listen_sockets *s, const char *path, bool is_private, braid_status *st);
// Closes the sockets, and removes the file. Any number of times; also after an error.
void bd_listen_sockets_close(bd_listen_sockets *s);

#endif
