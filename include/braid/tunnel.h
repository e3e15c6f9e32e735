// Tunnels: an entrance on this host for programs that cannot speak TLS, as those of TensorFlow 1.x.
//
// A tunnel listens on a loopback address or a socket in the file system, takes connections of its own user's
// processes only, and carries their bytes to a server of a cluster over TLS, with the user's certificate
// (braid/keys.h). The server sees the certificate: whoever may use the entrance may do what its holder may.
//
//     braid_tunnel *t = braid_tunnel_open(NULL, "ps0.example:2222", "keys/alice", NULL, status);
//     printf("grpc://%s\n", braid_tunnel_address(t));  // the target of sessions
//     ...
//     braid_tunnel_free(t);
#ifndef BRAID_TUNNEL_H
#define BRAID_TUNNEL_H

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_tunnel braid_tunnel;

/// Opens a tunnel from `listen` to the server at `target`, "host:port", and carries connections from then on
/// until it is closed. The strings are copied.
///
/// `listen` is "host:port" of a loopback address, port 0 being a free one, or "unix:/path"; NULL:
/// "127.0.0.1:0". `tls_dir` is the directory of the certificate; NULL: what the environment variable
/// BRAID_TLS_DIR says. Its files are read again for each connection, so that renewed ones are used.
/// `allow_users` are other users of this host whose processes may connect: names or numbers, with commas in
/// between; NULL: none. A connection of anyone else is closed at once, with a warning.
///
/// The server must hold a certificate of the role task and of the same authority; the name of its host does
/// not matter. It need not run yet: a connection that cannot be carried is closed, and the log says why and
/// what to do about it, once until another connection was carried.
///
/// Errors: InvalidArgument for an address that is none, an unknown user, or no certificate at all;
/// PermissionDenied for an address that is not loopback; AlreadyExists for one in use; Unauthenticated,
/// NotFound or PermissionDenied for a certificate that cannot be used.
BRAID_API braid_tunnel *braid_tunnel_open(const char *listen, const char *target, const char *tls_dir,
                                          const char *allow_users, braid_status *status);

/// Returns "host:port" or "unix:/path": where the tunnel listens. Owned by the tunnel.
BRAID_API const char *braid_tunnel_address(const braid_tunnel *tunnel);

/// Blocks until the tunnel is closed.
BRAID_API void braid_tunnel_wait(braid_tunnel *tunnel);

/// Refuses connections from now on, and ends those that there are. Waits while the name of the target's host
/// is looked up, for nothing else. Any thread, any number of times.
BRAID_API void braid_tunnel_close(braid_tunnel *tunnel);

/// Closes the tunnel if need be, and frees it when no call on it is in progress; NULL is accepted.
BRAID_API void braid_tunnel_free(braid_tunnel *tunnel);

#ifdef __cplusplus
}
#endif
#endif
