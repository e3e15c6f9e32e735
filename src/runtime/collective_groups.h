// The collective groups that this process leads: their members, and the members that wait for the others.
#ifndef BD_RUNTIME_COLLECTIVE_GROUPS_H
#define BD_RUNTIME_COLLECTIVE_GROUPS_H

#include "op/collective.h"

typedef struct bd_collective_groups bd_collective_groups;

bd_collective_groups *bd_collective_groups_new(void);
// No member may be waiting: cancel all tokens before.
void bd_collective_groups_free(bd_collective_groups *g); // NULL is accepted

// As bd_collectives.join for the leader: waits for the group and then for the instance; `join->type` < 0: for
// the group only. InvalidArgument for a group size or device that cannot be, ResourceExhausted for more
// groups or instances at once than are remembered.
void bd_collective_groups_join(bd_collective_groups *g, const bd_collective_join *join,
                               bd_cancellation *cancellation, bd_collective_fn fn, void *arg);

#endif
