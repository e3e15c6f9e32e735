// Users of this host who may call a server.
#ifndef BD_CLUSTER_USERS_H
#define BD_CLUSTER_USERS_H

#include "base/status.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct bd_users {
    uid_t *ids;
    int count;
} bd_users;

// The user of this process and those of `list`: names or numbers with commas in between; NULL: no others.
// InvalidArgument for one that this host does not know.
braid_code bd_users_parse(const char *list, bd_users *out, braid_status *st);
bool bd_users_have(const bd_users *users, uid_t user);
void bd_users_fini(bd_users *users);

// Appends the name of a user, or its number when it has none.
void bd_user_append(bd_strbuf *text, uid_t user);

#endif
