// Memory outside of the pool of tensors, that of graphs and of forests, counted as if it were the pool's:
// against the limit of the pool, and the account of a client.
#ifndef BD_TENSOR_CHARGE_H
#define BD_TENSOR_CHARGE_H

#include "base/status.h"
#include <stddef.h>

// Zero-initialized counts nothing. Not thread safe.
typedef struct bd_charge {
    struct bd_account *account; // that it counts against, a reference; NULL: none
    size_t bytes;
} bd_charge;

// Counts `bytes` from now on, in place of what it has counted. The account is that of this thread when it
// first counts anything. ResourceExhausted, naming `what` ("The graph of the session"), when that is more than
// the account or the pool's limit allows: it counts what it has counted before.
braid_code bd_charge_set(bd_charge *c, size_t bytes, const char *what, braid_status *st);
void bd_charge_fini(bd_charge *c); // counts nothing afterwards

#endif
