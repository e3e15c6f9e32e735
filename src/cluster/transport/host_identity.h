// Which host this process runs on, as far as shared memory is concerned.
#ifndef BD_CLUSTER_HOST_IDENTITY_H
#define BD_CLUSTER_HOST_IDENTITY_H

#include <stdint.h>

// The same number for processes of one boot of a machine, one user, and one namespace of process ids and of
// the network: a process id and a local socket mean the same to them. 0: not known.
uint64_t bd_host_identity(void);

#endif
