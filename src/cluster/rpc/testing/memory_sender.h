// A process that holds a tensor in its memory for a receiver, for tests.
#ifndef BD_CLUSTER_RPC_TESTING_MEMORY_SENDER_H
#define BD_CLUSTER_RPC_TESTING_MEMORY_SENDER_H

#include "cluster/rpc/cross_memory.h"
#include <sys/types.h>

typedef struct memory_sender {
    Braid__TensorMemory memory; // where the tensor lies
    pid_t child;
    int to_child, from_child; // pipes
} memory_sender;

// Starts a child that has accepted the offer of `m` and holds `bytes` bytes of `data` as the tensor `id`.
// Asserts; the caller has no other thread.
void memory_sender_start(memory_sender *s, const bd_cross_memory *m, const void *data, size_t bytes,
                         uint64_t id);
// When this has returned, the child does not hold the tensor any more.
void memory_sender_let_go(memory_sender *s);
void memory_sender_end(memory_sender *s);

#endif
