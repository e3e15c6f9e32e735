// Refuses the calls of a process that may not call a server, and says why.
//
// gRPC would parse the headers of its calls, and keep them. This code reads the lengths of HTTP/2 frames and
// the numbers of streams, and nothing else of what the process sends.
#ifndef BD_CLUSTER_HTTP2_REFUSAL_H
#define BD_CLUSTER_HTTP2_REFUSAL_H

#include "base/status.h"
#include <stdbool.h>

typedef struct bd_http2_refusal bd_http2_refusal;

// Takes over the socket, which does not block. Each call ends with `why`, which is copied.
bd_http2_refusal *bd_http2_refusal_new(int fd, const braid_status *why);
// Reads what has arrived and answers it. False when the connection has ended, speaks another protocol, or has
// sent more than a few calls.
bool bd_http2_refusal_serve(bd_http2_refusal *r);
void bd_http2_refusal_free(bd_http2_refusal *r); // closes the socket; NULL is accepted

#endif
