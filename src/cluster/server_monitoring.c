// What a server says of itself, and the web page that shows it.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/server_internal.h"
#include <stdlib.h>
#include <string.h>

void bd_server_make_description(braid_server *s)
{
    bd_description_env *d = &s->env.description;
    d->peers = &s->peers;
    d->worker = s->env.worker;
    d->master = s->env.master;
    d->membership = s->env.membership;
    d->address = s->target + strlen("grpc://");
    d->incarnation = s->devices[0]->incarnation;
    d->start_ns = bd_now_ns();
}

static braid_task_description *describe(void *arg)
{
    const braid_server *s = arg;
    return bd_describe_publicly(&s->env.description, bd_health_is_serving(s->env.health));
}

// What an option or else the environment says; NULL for "".
static const char *setting(const char *option, const char *variable)
{
    const char *value = option ? option : getenv(variable);
    return value && value[0] ? value : NULL;
}

braid_code bd_server_start_web(braid_server *s, const braid_server_options *options, braid_status *st)
{
    const bd_web_options web = {.address = setting(options->monitoring_address, "BRAID_MONITORING"),
                                .tls_dir = setting(options->tls_dir, "BRAID_TLS_DIR"),
                                .insecure = options->insecure,
                                .users = &s->users,
                                .describe = describe,
                                .arg = s};
    if (!web.address) return BRAID_OK;
    if (s->users.count == 0 && bd_users_parse(options->allow_users, &s->users, st)) return st->code;
    if (bd_web_new(&web, &s->web, st)) return bd_status_prefix(st, "Monitoring: ");
    bd_info("Monitoring of %s at %s", s->peers.self->label, bd_web_url(s->web));
    return BRAID_OK;
}
