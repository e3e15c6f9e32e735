// The op registry: finds ops in the generated table and parses their definitions when they are first asked
// for.
#include "graph/op_parse.h"

#include "base/check.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/thread.h"
#include <ctype.h>
#include <string.h>

// Lives as long as the process, like the table it parses.
static struct {
    bd_mutex mu;
    _Atomic(_Atomic(const bd_op_def *) *) parsed; // [bd_op_table_len], made at the first lookup
    bd_arena arena;                               // guarded by mu
    bd_attr_tensors tensors;                      // guarded by mu
} registry = {.mu = BD_MUTEX_INIT};

static ptrdiff_t find_entry(const char *name)
{
    size_t low = 0, high = bd_op_table_len;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(name, bd_op_table[mid].name);
        if (order == 0) return (ptrdiff_t)mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

static const bd_op_def *parse_entry_locked(const bd_op_entry *entry)
{
    BD_STATUS(st);
    bd_op_def *def = BD_ARENA_NEW(&registry.arena, bd_op_def);
    def->op = entry->op;
    if (bd_op_def_parse(def, entry->name, entry->op->signature, entry->op->attrs, &registry.arena,
                        &registry.tensors, st)) {
        bd_error_log("%s", braid_status_message(st));
        BD_ASSERT(!"an op definition does not parse");
    }
    return def;
}

static void lock(void)
{
    bd_mutex_lock(&registry.mu);
}

static void unlock(void)
{
    bd_mutex_unlock(&registry.mu);
}

static void watch_forks(void *arg)
{
    (void)arg;
    bd_at_fork(lock, unlock, unlock);
}

static const bd_op_def *parse_slow(ptrdiff_t index)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    bd_mutex_lock(&registry.mu);
    _Atomic(const bd_op_def *) *parsed = atomic_load(&registry.parsed);
    if (!parsed) {
        parsed = bd_arena_calloc(&registry.arena, bd_op_table_len, sizeof *parsed);
        atomic_store(&registry.parsed, parsed);
    }
    const bd_op_def *def = atomic_load(&parsed[index]);
    if (!def) {
        def = parse_entry_locked(&bd_op_table[index]);
        atomic_store(&parsed[index], def);
    }
    bd_mutex_unlock(&registry.mu);
    return def;
}

const bd_op_def *bd_op_lookup(const char *name)
{
    ptrdiff_t index = find_entry(name);
    if (index < 0) return NULL;
    _Atomic(const bd_op_def *) *parsed = atomic_load_explicit(&registry.parsed, memory_order_acquire);
    const bd_op_def *def = parsed ? atomic_load_explicit(&parsed[index], memory_order_acquire) : NULL;
    return def ? def : parse_slow(index);
}

// The number of letters that must change to turn `a` into `b` (Levenshtein), case apart; `limit` when it is
// more.
static int distance(const char *a, const char *b, int limit)
{
    enum {
        LEN_MAX = 63
    };
    int row[LEN_MAX + 1];
    const int len = (int)strlen(b);
    if (len > LEN_MAX) return limit;
    for (int j = 0; j <= len; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= len; j++) {
            const bool differ = tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);
            const int change = diagonal + differ;
            diagonal = row[j];
            const int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[len] < limit ? row[len] : limit;
}

const char *bd_op_nearest(const char *name)
{
    const char *nearest = NULL;
    int least = (int)strlen(name) / 3 + 1; // a third of the letters may differ
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const int d = distance(name, bd_op_table[i].name, least);
        if (d >= least) continue;
        least = d;
        nearest = bd_op_table[i].name;
    }
    return nearest;
}

const bd_attr_def *bd_op_def_attr(const bd_op_def *def, const char *name)
{
    for (int i = 0; i < def->attr_count; i++) {
        if (strcmp(def->attrs[i].name, name) == 0) return &def->attrs[i];
    }
    return NULL;
}
