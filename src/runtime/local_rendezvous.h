// A rendezvous within one process: a table of tensors that wait for their receiver and receivers that wait
// for their tensor.
#ifndef BD_RUNTIME_LOCAL_RENDEZVOUS_H
#define BD_RUNTIME_LOCAL_RENDEZVOUS_H

#include "op/rendezvous.h"

// A new rendezvous with count 1. Receivers that still wait when the last reference is dropped end with
// Cancelled.
bd_rendezvous *bd_local_rendezvous_new(void);

// Whether neither a tensor nor a receiver waits in it.
bool bd_local_rendezvous_is_empty(bd_rendezvous *r);

#endif
