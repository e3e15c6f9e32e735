// Names of devices: parsing, merging, matching and printing.
#include "graph/device_name.h"

#include "base/strbuf.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

// ---- Parsing ----

static bool equals(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(text, word, len) == 0;
}

// Reads a number or '*' (then *has is false). Returns false when it is neither.
static bool read_number(const char *text, size_t len, bool *has, int *out)
{
    char digits[12];
    int64_t value;
    if (equals(text, len, "*")) {
        *has = false;
        return true;
    }
    if (len >= sizeof digits || !len || !isdigit((unsigned char)*text)) return false;
    memcpy(digits, text, len);
    digits[len] = 0;
    if (!bd_parse_int64(digits, &value) || value > INT_MAX) return false;
    *has = true;
    *out = (int)value;
    return true;
}

static bool read_job(const char *text, size_t len, bd_device_name *out)
{
    if (equals(text, len, "*")) {
        out->has_job = false;
        return true;
    }
    if (len == 0 || len >= BD_DEVICE_JOB_MAX || !isalpha((unsigned char)*text)) return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
    }
    memcpy(out->job, text, len);
    out->job[len] = 0;
    out->has_job = true;
    return true;
}

static bool read_type(const char *text, size_t len, bd_device_name *out)
{
    if (out->has_type) return false; // one type only
    if (equals(text, len, "*")) return true;
    if (len == 0 || len >= BD_DEVICE_TYPE_MAX || !isalpha((unsigned char)*text)) return false;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '_') return false;
        out->type[i] = (char)toupper((unsigned char)text[i]);
    }
    out->type[len] = 0;
    out->has_type = true;
    return true;
}

static bool is_short_type(const char *text, size_t len)
{
    return len == 3 && (strncasecmp(text, "cpu", 3) == 0 || strncasecmp(text, "gpu", 3) == 0);
}

// One piece between slashes: "job:ps", "device:CPU:0", "cpu:0".
static bool read_piece(const char *text, size_t len, bd_device_name *out)
{
    const char *colon = memchr(text, ':', len);
    size_t key = colon ? (size_t)(colon - text) : len;
    const char *value = colon ? colon + 1 : text + len;
    size_t rest = (size_t)(text + len - value);
    if (is_short_type(text, key))
        return read_type(text, key, out) && (!colon || read_number(value, rest, &out->has_id, &out->id));
    if (!colon) return false;
    if (equals(text, key, "job")) return read_job(value, rest, out);
    if (equals(text, key, "replica")) return read_number(value, rest, &out->has_replica, &out->replica);
    if (equals(text, key, "task")) return read_number(value, rest, &out->has_task, &out->task);
    if (!equals(text, key, "device")) return false;
    const char *second = memchr(value, ':', rest);
    size_t type = second ? (size_t)(second - value) : rest;
    return read_type(value, type, out) &&
           (!second || read_number(second + 1, rest - type - 1, &out->has_id, &out->id));
}

braid_code bd_device_name_parse(const char *text, bd_device_name *out, braid_status *st)
{
    *out = (bd_device_name){0};
    const char *rest = text ? text : "", *piece;
    size_t len;
    while (bd_split_next(&rest, '/', &piece, &len)) {
        if (len == 0 || read_piece(piece, len, out)) continue;
        *out = (bd_device_name){0};
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Malformed device specification '%.200s': \"%.*s\" is not understood", text,
                       (int)(len < 100 ? len : 100), piece);
    }
    return BRAID_OK;
}

// ---- Combining ----

static void set_job(bd_device_name *name, const bd_device_name *from)
{
    name->has_job = true;
    memcpy(name->job, from->job, sizeof name->job);
}

static void set_type(bd_device_name *name, const bd_device_name *from)
{
    name->has_type = true;
    memcpy(name->type, from->type, sizeof name->type);
}

static void set_number(bool *has, int *number, bool other_has, int other)
{
    if (!other_has) return;
    *has = true;
    *number = other;
}

void bd_device_name_merge(bd_device_name *name, const bd_device_name *over)
{
    if (over->has_job) set_job(name, over);
    if (over->has_type) set_type(name, over);
    set_number(&name->has_replica, &name->replica, over->has_replica, over->replica);
    set_number(&name->has_task, &name->task, over->has_task, over->task);
    set_number(&name->has_id, &name->id, over->has_id, over->id);
}

static bool agree(bool a_has, int a, bool b_has, int b)
{
    return !a_has || !b_has || a == b;
}

bool bd_device_name_intersect(bd_device_name *name, const bd_device_name *other, bool soft)
{
    if (name->has_job && other->has_job && strcmp(name->job, other->job) != 0) return false;
    if (!agree(name->has_replica, name->replica, other->has_replica, other->replica)) return false;
    if (!agree(name->has_task, name->task, other->has_task, other->task)) return false;
    bool device_agrees = (!name->has_type || !other->has_type || strcmp(name->type, other->type) == 0) &&
                         agree(name->has_id, name->id, other->has_id, other->id);
    if (!device_agrees && !soft) return false;
    bd_device_name_merge(name, other);
    if (!device_agrees) name->has_type = name->has_id = false;
    return true;
}

// ---- Comparing ----

bool bd_device_name_matches(const bd_device_name *spec, const bd_device_name *name)
{
    if (spec->has_job && (!name->has_job || strcmp(spec->job, name->job) != 0)) return false;
    if (spec->has_type && (!name->has_type || strcmp(spec->type, name->type) != 0)) return false;
    return (!spec->has_replica || (name->has_replica && spec->replica == name->replica)) &&
           (!spec->has_task || (name->has_task && spec->task == name->task)) &&
           (!spec->has_id || (name->has_id && spec->id == name->id));
}

bool bd_device_name_equal(const bd_device_name *a, const bd_device_name *b)
{
    return bd_device_name_matches(a, b) && bd_device_name_matches(b, a);
}

bool bd_device_name_is_full(const bd_device_name *name)
{
    return name->has_job && name->has_replica && name->has_task && name->has_type && name->has_id;
}

bool bd_device_name_same_task(const bd_device_name *a, const bd_device_name *b)
{
    return a->has_job && b->has_job && strcmp(a->job, b->job) == 0 && a->has_replica && b->has_replica &&
           a->replica == b->replica && a->has_task && b->has_task && a->task == b->task;
}

// ---- Printing ----

static size_t print_task(const bd_device_name *name, char buf[BD_DEVICE_NAME_MAX])
{
    int n = 0;
    buf[0] = 0;
    if (name->has_job) n += snprintf(buf + n, BD_DEVICE_NAME_MAX - (size_t)n, "/job:%s", name->job);
    if (name->has_replica)
        n += snprintf(buf + n, BD_DEVICE_NAME_MAX - (size_t)n, "/replica:%d", name->replica);
    if (name->has_task) n += snprintf(buf + n, BD_DEVICE_NAME_MAX - (size_t)n, "/task:%d", name->task);
    return (size_t)n;
}

const char *bd_device_name_print_task(const bd_device_name *name, char buf[BD_DEVICE_NAME_MAX])
{
    print_task(name, buf);
    return buf;
}

const char *bd_device_name_print(const bd_device_name *name, char buf[BD_DEVICE_NAME_MAX])
{
    size_t n = print_task(name, buf);
    const char *type = name->has_type ? name->type : "*";
    if (name->has_id)
        snprintf(buf + n, BD_DEVICE_NAME_MAX - n, "/device:%s:%d", type, name->id);
    else if (name->has_type)
        snprintf(buf + n, BD_DEVICE_NAME_MAX - n, "/device:%s:*", type);
    return buf;
}
