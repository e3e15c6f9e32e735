// Numbers of requests: unique for a task, so that a request that arrives twice is done once.
#ifndef BD_CLUSTER_RPC_REQUEST_ID_H
#define BD_CLUSTER_RPC_REQUEST_ID_H

#include "base/map.h"
#include "base/thread.h"

// A new number, never 0. Random from process to process.
int64_t bd_request_id_next(void);

// The number of ids that are remembered: a duplicate arrives soon after its original or never.
#define BD_REQUEST_IDS_REMEMBERED 4096

typedef struct bd_request_ids {
    bd_mutex mu;
    bd_imap seen;
    uint64_t ring[BD_REQUEST_IDS_REMEMBERED];
    size_t next;
} bd_request_ids;

void bd_request_ids_init(bd_request_ids *ids);
void bd_request_ids_fini(bd_request_ids *ids);
// Returns false when the id was added before. 0 is no id: always true.
bool bd_request_ids_add(bd_request_ids *ids, int64_t id);

#endif
