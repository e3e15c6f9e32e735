// The loop of a supervisor's program.
#include "base/status.h"
#include <braid/supervisor.h>

braid_code braid_basic_train_loop(braid_supervisor *sv,
                                  braid_code (*train_step)(braid_session *session, void *arg,
                                                           braid_status *status),
                                  void *arg, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    braid_session *s = braid_supervisor_managed_session(sv, st);
    if (!s) {
        BD_STATUS(ignored);
        braid_supervisor_stop(sv, ignored);
        return st->code;
    }
    while (!st->code && !braid_supervisor_should_stop(sv))
        train_step(s, arg, st);
    if (st->code) braid_supervisor_request_stop(sv, st);
    braid_status_clear(st);
    return braid_supervisor_stop(sv, st);
}
