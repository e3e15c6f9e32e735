// Refuses a process that may not call a server, and says why: to each call of gRPC, or as the answer to
// HTTP/1.
//
// gRPC would parse the headers of its calls, and keep them. This code reads the lengths of HTTP/2 frames and
// the numbers of streams, and nothing else of what the process sends.
#ifndef BD_CLUSTER_REFUSAL_H
#define BD_CLUSTER_REFUSAL_H

#include "base/status.h"
#include <stdbool.h>

typedef struct bd_refusal bd_refusal;

// Takes over the socket, which does not block. Each call ends with `why`, which is copied.
bd_refusal *bd_refusal_new(int fd, const braid_status *why);
// Reads what has arrived and answers it. False when the connection is to be closed: it has ended, has got its
// answer to HTTP/1, or has sent more than a few calls.
bool bd_refusal_serve(bd_refusal *r);
void bd_refusal_free(bd_refusal *r); // closes the socket; NULL is accepted

#endif
