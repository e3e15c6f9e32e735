// Converts the record of a traced step to the StepStats message that timeline tools read.
#ifndef BD_RUNTIME_STEP_STATS_PROTO_H
#define BD_RUNTIME_STEP_STATS_PROTO_H

#include "base/wire.h"
#include "runtime/step_stats_collector.h"

// Fields of RunMetadata.
#define BD_RUN_METADATA_STEP_STATS 1
#define BD_RUN_METADATA_PARTITION_GRAPHS 3

// Appends a StepStats message with the records of one device to `out`. Several one after the other are one
// message of all devices.
void bd_step_stats_proto_write(bd_step_stats_collector *stats, const char *device, bd_message *out);

#endif
