// Keys of collectives.
#include "op/collective.h"

bd_rendezvous_key bd_collective_key(const bd_collective_group *group, int from, int to, const char *edge)
{
    bd_rendezvous_key key = bd_rendezvous_key_of(bd_rendezvous_key_format(
        group->devices[from], group->incarnations[from], group->devices[to], edge, 0, 0));
    key.is_pulled = true;
    return key;
}
