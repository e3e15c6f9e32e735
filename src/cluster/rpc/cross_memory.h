// Cross-memory attach: a task reads large tensors straight from the memory of another process of its host,
// with one copy and without the connection: from memory that both have mapped (tensor/shared_memory.h), or
// by the kernel (process_vm_readv of Linux).
//
// A receiver offers to read: with the calls by which it asks for tensors, and with its answer to a push of a
// tensor that it could have read, it sends the identity of its host and a key, which it has drawn for this
// peer. A sender on the same host keeps the key in its memory, and from then on describes large tensors to
// that receiver by their address. With each tensor the receiver also reads the key, so that no peer can
// direct it to a process that did not get this key, and then the id of the stored tensor: the sender clears
// it before it frees the tensor, so what was read before is the tensor. Otherwise the receiver fetches the
// tensor in chunks, as from another host, and renews or withdraws its offer.
//
// The kernel lets a process read another one's memory by process_vm_readv if it may trace it: both run as
// one user, and kernel.yama.ptrace_scope, where there is one, is 0.
#ifndef BD_CLUSTER_RPC_CROSS_MEMORY_H
#define BD_CLUSTER_RPC_CROSS_MEMORY_H

#include "braid/cluster.pb-c.h"
#include "op/cancellation.h"
#include <stdatomic.h>

// What a server and one of its peers know of each other. All functions: any thread.
typedef struct bd_cross_memory bd_cross_memory;

// NULL when it is turned off.
bd_cross_memory *bd_cross_memory_new(void);
void bd_cross_memory_free(bd_cross_memory *m); // NULL is accepted

#define BD_CROSS_MEMORY_OFFER_BYTES 28

// Writes the offer. Returns its length; 0 when the memory of this peer cannot be read.
size_t bd_cross_memory_offer(const bd_cross_memory *m, uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES]);
// Reads `bytes` bytes of a stored tensor, from the byte `at` on, to `to`. False: they could not be read, and
// `to` holds anything. Several threads may read parts of a tensor. What they have read is the tensor if it is
// held after that.
bool bd_cross_memory_read(bd_cross_memory *m, const Braid__TensorMemory *from, size_t at, void *to,
                          size_t bytes);
// Whether the sender still has the tensor `id` there.
bool bd_cross_memory_is_held(bd_cross_memory *m, const Braid__TensorMemory *from, uint64_t id);

// The peer's last offer; a length of 0, another host or this process: it has none.
void bd_cross_memory_accept(bd_cross_memory *m, const uint8_t *offer, size_t len);
bool bd_cross_memory_is_accepted(const bd_cross_memory *m); // of NULL: false
// Whether a large tensor is to be pushed, although there is a way without a call of its own, because the
// answer may bring an offer: once, unless there is one. Of NULL: false.
bool bd_cross_memory_asks(bd_cross_memory *m);
// Where the tensor lies. `id` is constant until the memory of the tensor may be freed or written to, and
// another value from then on.
void bd_cross_memory_describe(const bd_cross_memory *m, const _Atomic uint64_t *id, const void *data,
                              Braid__TensorMemory *out);

#endif
