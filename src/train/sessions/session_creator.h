// What a monitored session asks of its creator.
#ifndef BD_TRAIN_SESSION_CREATOR_H
#define BD_TRAIN_SESSION_CREATOR_H

#include "train/sessions/bootstrap.h"
#include <braid/session_creator.h>

struct braid_session_request {
    train_role role;         // of this process; the built-in creators may make it the chief
    int64_t open_timeout_ms; // for missing tasks, unless the creator's options have another
    bool is_unreachable;     // set when the target does not answer, so that another try is no use
    bool has_server;         // set when the master is a server of this process
    bool has_target;         // set when it is one of another process
    bool is_hopeless;        // set when the chief that the session waits for is gone for good
};

#endif
