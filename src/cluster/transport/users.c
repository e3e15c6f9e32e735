// Users, by name and by number.
#include "cluster/transport/users.h"

#include "base/alloc.h"
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY_BYTES 4096 // of a user, as getpwnam_r wants

static bool find(const char *name, uid_t *id)
{
    char buffer[ENTRY_BYTES], *end;
    struct passwd entry, *found = NULL;
    if (getpwnam_r(name, &entry, buffer, sizeof buffer, &found) == 0 && found) {
        *id = found->pw_uid;
        return true;
    }
    const unsigned long number = strtoul(name, &end, 10);
    *id = (uid_t)number;
    return name[0] >= '0' && name[0] <= '9' && !*end && *id == number && *id != (uid_t)-1;
}

braid_code bd_users_parse(const char *list, bd_users *out, braid_status *st)
{
    const size_t len = list ? strlen(list) : 0;
    char *names = bd_strdup(list ? list : "");
    *out = (bd_users){bd_calloc(len / 2 + 2, sizeof(uid_t)), 0}; // a user of each second character, and one
    out->ids[out->count++] = geteuid();
    char *rest = names;
    for (char *name; len && !st->code && (name = strsep(&rest, ","));) {
        if (find(name, &out->ids[out->count]))
            out->count++;
        else
            bd_fail(st, BRAID_INVALID_ARGUMENT, "This host has no user '%s', who shall be allowed to call",
                    name);
    }
    bd_free(names);
    if (st->code) bd_users_fini(out);
    return st->code;
}

bool bd_users_have(const bd_users *users, uid_t user)
{
    for (int i = 0; i < users->count; i++)
        if (users->ids[i] == user) return true;
    return false;
}

void bd_users_fini(bd_users *users)
{
    bd_free(users->ids);
    *users = (bd_users){0};
}

void bd_user_append(bd_strbuf *text, uid_t user)
{
    char buffer[ENTRY_BYTES];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found)
        bd_strbuf_append(text, entry.pw_name);
    else
        bd_strbuf_appendf(text, "%u", (unsigned)user);
}
