// A process that comes to the socket of the shared-memory transport with messages of its own, and one that
// listens there in place of a server.
#ifndef BD_CLUSTER_TRANSPORT_SHM_PEER_H
#define BD_CLUSTER_TRANSPORT_SHM_PEER_H

#include "cluster/transport/shm_internal.h"
#include <sys/types.h>

// What a server has answered to a client that asks for a link.
typedef struct bd_test_offer {
    braid_code code;
    char socket[BD_SHM_NAME_BYTES + 1];
    bd_shm_secrets secrets;
} bd_test_offer;

// Asks a server for a link, as a channel does, in the name of a process of the host.
bd_test_offer bd_test_ask_for_link(bd_transport *t, bd_channel *channel, uint64_t host, pid_t pid);

// A socket that is connected to the one of that name. Fails the test if it cannot.
int bd_test_shm_connect(const char *name);
// A socket that listens at that name.
int bd_test_shm_listen(const char *name);
// Sends a secret, without memory of tensors, and new memory of the sizes.
void bd_test_shm_say(int socket, const uint8_t secret[BD_SHM_TOKEN_BYTES], const size_t *bytes, int count);
// Returns the length of the next message; 0 when the other end hangs up.
ssize_t bd_test_shm_hear(int socket, uint8_t secret[BD_SHM_TOKEN_BYTES]);
// Returns whether the socket of that name answers to a token.
bool bd_test_shm_show_token(const char *name, const uint8_t token[BD_SHM_TOKEN_BYTES]);

#endif
