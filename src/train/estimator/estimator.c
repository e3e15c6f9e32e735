// Estimators: making one, its server, and the checkpoints of its model directory.
#include "train/estimator/estimator.h"
#include "base/alloc.h"
#include "base/log.h"
#include <braid/checkpoint_reader.h>
#include <braid/monitored_session.h>
#include <string.h>

braid_estimator *braid_estimator_new(const braid_estimator_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    if (!options || !options->model_fn) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "An estimator needs a model function (options.model_fn)");
        return NULL;
    }
    train_warm_start *warm_start;
    if (train_warm_start_copy(options, &warm_start, st)) return NULL;
    braid_run_config *own = options->config ? NULL : braid_run_config_new(NULL, st);
    if (!own && !options->config) {
        train_warm_start_free(warm_start);
        return NULL;
    }
    braid_estimator *e = bd_calloc(1, sizeof *e);
    *e = (braid_estimator){.model_fn = options->model_fn,
                           .params = options->params,
                           .config = own ? own : options->config,
                           .own_config = own,
                           .warm_start = warm_start};
    return e;
}

void braid_estimator_free(braid_estimator *e)
{
    if (!e) return;
    braid_server_free(e->server);
    braid_run_config_free(e->own_config);
    train_warm_start_free(e->warm_start);
    bd_array_free(&e->metrics);
    bd_free(e->own_params);
    bd_free(e);
}

const char *braid_estimator_model_dir(const braid_estimator *e)
{
    return e->config->model_dir;
}

const braid_run_config *braid_estimator_config(const braid_estimator *e)
{
    return e->config;
}

void *braid_estimator_params(const braid_estimator *e)
{
    return e->params;
}

char *braid_estimator_latest_checkpoint(const braid_estimator *e, braid_status *status)
{
    return braid_latest_checkpoint(e->config->model_dir, status);
}

void braid_estimator_add_metrics(braid_estimator *e, braid_metric_fn metric_fn, void *arg)
{
    bd_array_push(&e->metrics, (train_more_metrics){metric_fn, arg});
}

// ---- The server ----

braid_server *train_server_of(const braid_estimator *e)
{
    return e->config->options.session.server ? e->config->options.session.server : e->server;
}

braid_code train_start_server(braid_estimator *e, braid_status *st)
{
    const braid_run_config *c = e->config;
    if (!c->is_distributed || train_server_of(e)) return BRAID_OK;
    e->server = braid_server_start(c->cluster, c->task_type, c->task_id, c->options.server, st);
    if (!e->server) return st->code;
    braid_server_stop_on_signals(e->server);
    // its nodes write checkpoints
    if (braid_checkpoint_make_dir(c->model_dir, st)) return st->code;
    return braid_server_allow_files(e->server, c->model_dir, st);
}

// ---- Checkpoints ----

int64_t train_checkpoint_step(const char *prefix)
{
    BD_STATUS(unwanted);
    braid_checkpoint_reader *reader = braid_checkpoint_reader_open(prefix, unwanted);
    braid_tensor *step = reader ? braid_checkpoint_reader_read(reader, BRAID_GLOBAL_STEP, unwanted) : NULL;
    const bool is_one = step && braid_tensor_num_elements(step) == 1;
    int64_t value = -1;
    if (is_one && braid_tensor_dtype(step) == BRAID_INT64)
        value = *(const int64_t *)braid_tensor_data(step);
    else if (is_one && braid_tensor_dtype(step) == BRAID_INT32)
        value = *(const int32_t *)braid_tensor_data(step);
    braid_tensor_free(step);
    braid_checkpoint_reader_close(reader);
    return value;
}

braid_code train_find_checkpoint(const braid_estimator *e, const char *wanted, const char *what, char **path,
                                 braid_status *st)
{
    *path = NULL;
    if (wanted) {
        if (!braid_checkpoint_exists(wanted))
            return bd_fail(st, BRAID_NOT_FOUND, "There is no checkpoint '%s' to %s", wanted, what);
        *path = bd_strdup(wanted);
        return BRAID_OK;
    }
    *path = braid_latest_checkpoint(e->config->model_dir, st);
    if (*path || st->code != BRAID_NOT_FOUND) return st->code;
    braid_status_clear(st);
    bd_warn("There is no trained model in %s. The first values of the variables are used to %s",
            e->config->model_dir, what);
    return BRAID_OK;
}

// ---- Sessions that do not train ----

// A mode's sessions do not read `checkpoint_dir`, so that the checkpoint is the one that was chosen.
braid_monitored_session *train_open_restored(const braid_estimator *e, train_model *m, const char *path,
                                             train_hook_list *hooks)
{
    const braid_session_options *wish = &e->config->options.session;
    const braid_session_manager how = {.session = {.target = e->config->evaluation_master,
                                                   .inter_op_threads = wish->inter_op_threads,
                                                   .intra_op_threads = wish->intra_op_threads,
                                                   .allow_soft_placement = wish->allow_soft_placement,
                                                   .log_device_placement = wish->log_device_placement,
                                                   .cpu_devices = wish->cpu_devices,
                                                   .tls_dir = wish->tls_dir,
                                                   .isolate_session_state = true},
                                       .scaffold = m->spec.scaffold,
                                       .checkpoint_path = path};
    bd_array_push(hooks, NULL);
    braid_monitored_session *s = braid_monitored_session_open(
        m->graph,
        &(braid_session_config){.hooks = hooks->items, .creator = braid_chief_session_creator(&how)});
    bd_array_free(hooks);
    return s;
}

braid_code train_session_result(braid_code code, braid_status *st)
{
    if (code && !st->code)
        bd_fail(st, code, "The session has ended with an error (%s), which the log describes",
                braid_code_name(code));
    return st->code;
}
