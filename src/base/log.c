// Log lines to stderr, one write each, or to a sink of the program's.
#include "base/log.h"
#include "base/alloc.h"
#include "base/clock.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A sink with its argument; immutable once it is published. Old ones stay linked, because a thread may still
// use them.
struct sink {
    braid_log_sink fn;
    void *arg;
    struct sink *previous;
};

static atomic_int level_min = BRAID_LOG_INFO;
static _Atomic(struct sink *) current_sink;

void braid_set_log_level(braid_log_level level)
{
    atomic_store_explicit(&level_min, (int)level, memory_order_relaxed);
}

void braid_set_log_sink(braid_log_sink fn, void *arg)
{
    struct sink *sink = bd_malloc(sizeof *sink);
    struct sink *previous = atomic_load(&current_sink);
    do {
        *sink = (struct sink){.fn = fn, .arg = arg, .previous = previous};
    } while (!atomic_compare_exchange_weak(&current_sink, &previous, sink));
}

bool bd_log_enabled(braid_log_level level)
{
    return (int)level >= atomic_load_explicit(&level_min, memory_order_relaxed);
}

static void write_all(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t written = write(STDERR_FILENO, data, len);
        if (written < 0 && errno != EINTR) return; // the error cannot be reported
        if (written > 0) {
            data += written;
            len -= (size_t)written;
        }
    }
}

static void write_line(braid_log_level level, const char *message)
{
    static const char letters[] = "DIWE";
    static const char *const colours[] = {"\033[2m", "", "\033[33m", "\033[31m"};
    int index = level < BRAID_LOG_DEBUG ? 0 : level > BRAID_LOG_ERROR ? 3 : (int)level;
    const char *colour = isatty(STDERR_FILENO) ? colours[index] : "";
    int64_t micros = bd_wall_micros();
    time_t seconds = (time_t)(micros / 1000000);
    struct tm local;
    localtime_r(&seconds, &local);
    char time_text[32];
    strftime(time_text, sizeof time_text, "%Y-%m-%d %H:%M:%S", &local);
    char *line = bd_asprintf("%s%s.%06d %c %s%s\n", colour, time_text, (int)(micros % 1000000),
                             letters[index], message, *colour ? "\033[0m" : "");
    write_all(line, strlen(line));
    bd_free(line);
}

void bd_vlog(braid_log_level level, const char *format, va_list args)
{
    if (!bd_log_enabled(level)) return;
    char *message = bd_vasprintf(format, args);
    size_t len = strlen(message);
    if (len > 0 && message[len - 1] == '\n') message[len - 1] = '\0';
    const struct sink *sink = atomic_load(&current_sink);
    if (sink && sink->fn)
        sink->fn(level, message, sink->arg);
    else
        write_line(level, message);
    bd_free(message);
}

void bd_log(braid_log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bd_vlog(level, format, args);
    va_end(args);
}
