// The level and the destination of Braid's log lines.
#ifndef BRAID_LOG_H
#define BRAID_LOG_H

#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum braid_log_level {
    BRAID_LOG_DEBUG = 0,
    BRAID_LOG_INFO = 1,
    BRAID_LOG_WARNING = 2,
    BRAID_LOG_ERROR = 3,
    BRAID_LOG_NONE = 4 ///< as a level: disables the log
} braid_log_level;

/// Receives each log line: `message` is the text without time and level, without a line
/// break at its end, and valid for the call only. It may be called from any thread and
/// from several at once, and must not call back into Braid except for logging.
typedef void (*braid_log_sink)(braid_log_level level, const char *message, void *arg);

/// Drops lines below `level`. The default is BRAID_LOG_INFO. Any thread.
BRAID_API void braid_set_log_level(braid_log_level level);

/// Sends log lines to `sink` with `arg`; NULL brings back the default, stderr. A line that another thread is
/// just writing may still reach the old sink, so `arg` has to stay valid. Any thread.
BRAID_API void braid_set_log_sink(braid_log_sink sink, void *arg);

#ifdef __cplusplus
}
#endif
#endif
