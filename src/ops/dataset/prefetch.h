// Prefetching, for datasets that consist of several parts.
#ifndef BD_OPS_DATASET_PREFETCH_H
#define BD_OPS_DATASET_PREFETCH_H

#include "ops/dataset/dataset.h"

// Makes a dataset that prefetches up to `size` elements of `input`.
braid_code bd_prefetch_dataset_new(bd_dataset *input, int64_t size, bd_dataset **out, braid_status *st);

// An iterator over the dataset starts prefetching, before the first element is wanted.
void bd_prefetch_begin(bd_iterator *it);

// Whether the iterator answers at once when it is pulled.
bool bd_prefetch_is_ready(bd_iterator *it);

// ---- Waiting for any of several prefetching iterators ----

// What their owner waits at, instead of pulling one of them. Counted.
typedef struct bd_any_ready bd_any_ready;

// `wake` continues the owner, on the thread that got an element ready.
bd_any_ready *bd_any_ready_new(bd_iterator *owner, bd_turn (*wake)(bd_iterator *owner));
void bd_any_ready_unref(bd_any_ready *a); // NULL is accepted

// Has the prefetching iterator wake the owner; before bd_prefetch_begin.
void bd_prefetch_set_any_ready(bd_iterator *it, bd_any_ready *a);

// Unless is_ready(owner): the owner waits, and returns BD_WAIT. True: it does, and may run already on another
// thread.
bool bd_any_ready_wait(bd_any_ready *a, bool (*is_ready)(bd_iterator *owner));

#endif
