// The limits of waits, read from the environment.
#include "base/wait_limits.h"

#include <math.h>
#include <stdlib.h>

#define GRACE_DEFAULT_MS 60000
#define START_TIMEOUT_DEFAULT_MS 7200000
#define SECONDS_MAX 1e9

static braid_code read_ms(const char *variable, int64_t default_ms, int64_t *ms, braid_status *st)
{
    *ms = default_ms;
    const char *text = getenv(variable);
    if (!text || !*text) return BRAID_OK;
    char *end;
    const double seconds = strtod(text, &end);
    if (*end || !(seconds > 0) || seconds > SECONDS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The environment variable %s is not a number of seconds: '%.64s'", variable, text);
    *ms = (int64_t)ceil(seconds * 1e3);
    return BRAID_OK;
}

braid_code bd_grace_ms(int64_t *ms, braid_status *st)
{
    return read_ms(BD_GRACE_VARIABLE, GRACE_DEFAULT_MS, ms, st);
}

braid_code bd_start_timeout_ms(int64_t *ms, braid_status *st)
{
    return read_ms(BD_START_TIMEOUT_VARIABLE, START_TIMEOUT_DEFAULT_MS, ms, st);
}
