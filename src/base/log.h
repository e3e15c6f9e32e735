// Logging inside Braid: one line per call, `2026-11-21 01:02:03.123456 I text`, through the sink of
// braid/log.h.
#ifndef BD_BASE_LOG_H
#define BD_BASE_LOG_H

#include <braid/log.h>
#include <stdarg.h>
#include <stdbool.h>

// Formats and writes a line, unless the level is below the one that is set. Any thread; no lock is held while
// a sink runs. Line breaks in the text stay; one at the end is not needed.
void bd_log(braid_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bd_vlog(braid_log_level level, const char *format, va_list args);

// Whether a line of this level would be written: guards expensive log arguments.
bool bd_log_enabled(braid_log_level level);

#define BD_DEBUG BRAID_LOG_DEBUG
#define BD_INFO BRAID_LOG_INFO
#define BD_WARNING BRAID_LOG_WARNING
#define BD_ERROR BRAID_LOG_ERROR

// The arguments are evaluated only when the line is written.
#define bd_log_at(level, ...) (bd_log_enabled(level) ? bd_log((level), __VA_ARGS__) : (void)0)
#define bd_debug(...) bd_log_at(BD_DEBUG, __VA_ARGS__)
#define bd_info(...) bd_log_at(BD_INFO, __VA_ARGS__)
#define bd_warn(...) bd_log_at(BD_WARNING, __VA_ARGS__)
#define bd_error_log(...) bd_log_at(BD_ERROR, __VA_ARGS__)

#endif
