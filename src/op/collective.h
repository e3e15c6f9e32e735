// Collectives: nodes on several devices, perhaps of several tasks, find the other members of their group.
//
// Members exchange tensors through the step's rendezvous, under keys that each member can compute
// (bd_collective_key).
#ifndef BD_OP_COLLECTIVE_H
#define BD_OP_COLLECTIVE_H

#include "op/cancellation.h"
#include "op/rendezvous.h"
#include "tensor/dtype.h"

// TensorFlow's numbers, as they are on the wire.
typedef enum bd_collective_type {
    BD_COLLECTIVE_REDUCTION = 0,
    BD_COLLECTIVE_BROADCAST = 1,
    BD_COLLECTIVE_GATHER = 2,
} bd_collective_type;

// One member that takes part in one instance.
typedef struct bd_collective_join {
    const char *name; // of the node, for messages
    const char *device, *device_type;
    uint64_t incarnation; // of the device; 0: not known
    int32_t group_key, group_size, instance_key;
    int type; // bd_collective_type, or any number from a peer
    int dtype;
    bool is_source; // of a broadcast
} bd_collective_join;

typedef struct bd_collective_group {
    int size;
    const char *const *devices; // [size], in the order of ranks: the same for all members
    const uint64_t *incarnations;
    int source; // rank of a broadcast's source; -1 for other collectives
} bd_collective_group;

// `group` is borrowed for the call; NULL on an error.
typedef void (*bd_collective_fn)(void *arg, const bd_collective_group *group, const braid_status *st);

typedef struct bd_collectives bd_collectives;
struct bd_collectives {
    // Calls back once, when all members of the group have joined, for a broadcast also the source. The
    // objects that `join` points to must be valid until `join` returns; its incarnation is filled in.
    // `leader` is the task that stores the groups (NULL: this process). Internal when members disagree.
    // Cancelling ends it with the reason.
    void (*join)(bd_collectives *c, const bd_collective_join *join, const char *leader,
                 bd_cancellation *cancellation, bd_collective_fn fn, void *arg);
    // Members of the group could not be reached: forgets the stored group, so that the leader is asked again.
    void (*forget)(bd_collectives *c, int32_t group_key);
};

// The edges of members' keys begin with it.
#define BD_COLLECTIVE_EDGE "collective "

// The key under which member `from` sends to member `to` (new memory; free key.text). The receiver always
// asks for its tensor.
bd_rendezvous_key bd_collective_key(const bd_collective_group *group, int from, int to, const char *edge);

#endif
