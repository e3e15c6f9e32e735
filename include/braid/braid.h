// All of Braid's C interface, but for the functions of single ops (raw_ops.h).
#ifndef BRAID_BRAID_H
#define BRAID_BRAID_H

#include <braid/checkpoint.h>
#include <braid/clip.h>
#include <braid/cluster.h>
#include <braid/control.h>
#include <braid/coordinator.h>
#include <braid/device_setter.h>
#include <braid/event_writer.h>
#include <braid/example.h>
#include <braid/graph.h>
#include <braid/hooks.h>
#include <braid/idx.h>
#include <braid/initializers.h>
#include <braid/layers.h>
#include <braid/learning_rate_decay.h>
#include <braid/log.h>
#include <braid/losses.h>
#include <braid/metrics.h>
#include <braid/monitored_session.h>
#include <braid/moving_average.h>
#include <braid/op_list.h>
#include <braid/ops.h>
#include <braid/optimizers.h>
#include <braid/queue_runner.h>
#include <braid/rnn.h>
#include <braid/run_metadata.h>
#include <braid/saver.h>
#include <braid/scaffold.h>
#include <braid/server.h>
#include <braid/session.h>
#include <braid/session_manager.h>
#include <braid/status.h>
#include <braid/summary.h>
#include <braid/supervisor.h>
#include <braid/sync_replicas.h>
#include <braid/tensor.h>
#include <braid/tensor_array.h>
#include <braid/tfrecord.h>
#include <braid/variable_scope.h>
#include <braid/variables.h>
#include <braid/version.h>

// Behind all others: macros of their functions.
#include <braid/locations.h>

#endif
