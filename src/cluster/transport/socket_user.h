// The user of the process at the other end of a connected socket.
#ifndef BD_CLUSTER_SOCKET_USER_H
#define BD_CLUSTER_SOCKET_USER_H

#include <stdbool.h>
#include <sys/types.h>

// Asks the kernel. False when the process is on another host, or has closed the socket.
bool bd_socket_user(int fd, uid_t *user);
// The same by the list of all sockets, which bd_socket_user reads when the kernel has no faster way.
bool bd_socket_user_listed(int fd, uid_t *user);

#endif
