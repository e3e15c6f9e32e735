// The limits of a server: their names and defaults in one table, and reading them.
#include "cluster/server_limits.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "base/system_memory.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LIMITS_VARIABLE "BRAID_LIMITS"
#define SECONDS_MAX 1e9

typedef enum kind {
    COUNT,
    BYTES,
    SECONDS,
    AMOUNT
} kind;

static const struct limit {
    const char *name;
    kind kind;
    size_t at; // of the field: an int for a COUNT, a double for an AMOUNT, else an int64_t
} table[] = {
    {"connections", COUNT, offsetof(bd_server_limits, transport.connections)},
    {"calls", COUNT, offsetof(bd_server_limits, transport.calls)},
    {"messages", BYTES, offsetof(bd_server_limits, transport.message_bytes)},
    {"sessions", COUNT, offsetof(bd_server_limits, sessions)},
    {"memory", BYTES, offsetof(bd_server_limits, memory_bytes)},
    {"client-memory", BYTES, offsetof(bd_server_limits, client.memory_bytes)},
    {"processors", AMOUNT, offsetof(bd_server_limits, client.processors)},
    {"step-time", SECONDS, offsetof(bd_server_limits, step_ms)},
};

static bd_server_limits defaults(void)
{
    const int64_t memory = bd_system_memory();
    return (bd_server_limits){.transport = {.calls = 20000, .message_bytes = memory / 8},
                              .sessions = 1000,
                              .memory_bytes = memory / 10 * 9};
}

static const char *const units[] = {"", "K", "M", "G", "T"}; // powers of 1024

// A number with a unit of bytes.
static bool parse_bytes(const char *text, int64_t *out)
{
    char *unit;
    errno = 0;
    const long long number = strtoll(text, &unit, 10);
    if (errno || unit == text || number <= 0) return false;
    for (size_t i = 0; i < BD_COUNTOF(units); i++)
        if (strcmp(unit, units[i]) == 0) {
            if (number > INT64_MAX >> 10 * i) return false;
            *out = (int64_t)number << 10 * i;
            return true;
        }
    return false;
}

static bool parse_seconds(const char *text, int64_t *out)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= 0.001 && seconds <= SECONDS_MAX)) return false;
    *out = (int64_t)(seconds * 1000);
    return true;
}

static bool parse_amount(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0.01 && *out <= 1e6;
}

static bool parse_value(const struct limit *l, const char *text, void *out)
{
    if (l->kind == SECONDS) return parse_seconds(text, out);
    if (l->kind == AMOUNT) return parse_amount(text, out);
    if (l->kind == BYTES) return parse_bytes(text, out);
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number <= 0 || number > INT_MAX) return false;
    *(int *)out = (int)number;
    return true;
}

static const struct limit *find(const char *name, size_t len)
{
    for (const struct limit *l = table; l < table + BD_COUNTOF(table); l++)
        if (strlen(l->name) == len && strncmp(l->name, name, len) == 0) return l;
    return NULL;
}

static braid_code unknown(const char *part, braid_status *st)
{
    bd_strbuf names = {0};
    for (size_t i = 0; i < BD_COUNTOF(table); i++)
        bd_strbuf_appendf(&names, "%s%s", i ? ", " : "", table[i].name);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "'%s' is no limit NAME=VALUE; the names are %s", part, names.data);
    bd_strbuf_fini(&names);
    return st->code;
}

static braid_code parse_part(const char *part, bd_server_limits *out, braid_status *st)
{
    static const char *const wanted[] = {[COUNT] = "a number from 1",
                                         [BYTES] = "bytes, as 4G (K, M, G and T are powers of 1024)",
                                         [SECONDS] = "seconds, more than 0",
                                         [AMOUNT] = "a number from 0.01, as 1.5"};
    const size_t len = strcspn(part, "=");
    const struct limit *l = part[len] ? find(part, len) : NULL;
    if (!l) return unknown(part, st);
    if (parse_value(l, part + len + 1, (char *)out + l->at)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The limit '%s': its value is to be %s", part,
                   wanted[l->kind]);
}

static braid_code parse_list(const char *list, bd_server_limits *out, braid_status *st)
{
    char *copy = bd_strdup(list), *rest = copy, *part;
    while ((part = strsep(&rest, ",")) && !st->code) // ends with the list
        if (*part) parse_part(part, out, st);
    bd_free(copy);
    return st->code;
}

braid_code bd_server_limits_parse(const char *list, bd_server_limits *out, braid_status *st)
{
    const char *from_operator = getenv(LIMITS_VARIABLE);
    *out = defaults();
    if (from_operator && parse_list(from_operator, out, st))
        return bd_status_prefix(st, "The environment variable %s: ", LIMITS_VARIABLE);
    return list ? parse_list(list, out, st) : BRAID_OK;
}
