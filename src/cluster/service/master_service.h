// Declarations shared by the files of MasterService: handlers, and functions that read fields of several
// requests.
#ifndef BD_CLUSTER_SERVICE_MASTER_SERVICE_H
#define BD_CLUSTER_SERVICE_MASTER_SERVICE_H

#include "cluster/master/master.h"
#include "cluster/service/services.h"
#include "cluster/transport/transport.h"
#include "tensorflow/core/protobuf/config.pb-c.h"

// master_service.c
// The session for a call that uses it, with a reference; NULL and the errors of bd_master_find_session.
bd_master_session *bd_service_session(bd_service_env *env, const bd_incoming *call, const char *handle,
                                      braid_status *st);

// callable_service.c
void bd_serve_make_callable(bd_service_env *env, bd_incoming *call);
void bd_serve_run_callable(bd_service_env *env, bd_incoming *call);
void bd_serve_release_callable(bd_service_env *env, bd_incoming *call);

// partial_service.c
void bd_serve_partial_run_setup(bd_service_env *env, bd_incoming *call);

// run_step_request.c
// Whether text can be a name: no node's name holds a control character, and the plan cache relies on that.
bool bd_is_name(const uint8_t *text, size_t len);
// NotFound, as for unknown names, when a name of the signature contains a control character.
braid_code bd_signature_check(const bd_run_signature *signature, braid_status *st);
// Reads the RunOptions (NULL: none) that a run uses; what they watch is part of the signature, and borrowed.
braid_code bd_run_options_read(const Tensorflow__RunOptions *options, bd_master_run_args *args,
                               bd_run_signature *signature, braid_status *st);
// Aborted when a request with this id was received before; 0 is no id.
braid_code bd_run_id_check(bd_service_env *env, const char *method, int64_t request_id, braid_status *st);

#endif
