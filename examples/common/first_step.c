// How long a program took from its start to its first training step: an example of a hook of one's own.
#include "first_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct first_step {
    braid_hook hook;
    bool written;
} first_step;

// Seconds since the process started, loading of its libraries included; -1 when the system does not say.
// Field 22 of /proc/self/stat is when it started, in clock ticks since the system did.
static double process_seconds(void)
{
    FILE *file = fopen("/proc/self/stat", "r");
    char line[1024];
    size_t len = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file) fclose(file);
    line[len] = '\0';
    const char *at = strrchr(line, ')'); // field 2 is the name and may hold spaces
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    struct timespec now;
    if (!at || clock_gettime(CLOCK_BOOTTIME, &now) != 0) return -1;
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9 - strtod(at, NULL) / (double)sysconf(_SC_CLK_TCK);
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *status)
{
    (void)s, (void)values, (void)status;
    first_step *h = (first_step *)hook;
    if (!h->written) fprintf(stderr, "first step after %.2f s\n", process_seconds());
    h->written = true;
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    free(hook);
}

braid_hook *first_step_hook(void)
{
    first_step *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->hook = (braid_hook){.after_run = after_run, .free = release};
    return &h->hook;
}
